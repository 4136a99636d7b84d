//! A drive and a place for tests: a 1 TB drive of PCIe 4, in the open.

use std::collections::BTreeMap;

use crate::spec::*;

pub(crate) fn shares(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
    of.iter()
        .map(|&(name, share)| (name.to_owned(), share))
        .collect()
}

pub(crate) fn nodes(of: &[(&str, f64)]) -> BTreeMap<String, NodeSpec> {
    let node = |&(name, j_per_k): &(&str, f64)| (name.to_owned(), NodeSpec { j_per_k });
    of.iter().map(node).collect()
}

pub(crate) fn link(one: &str, other: &str, k_per_w: f64, halved_at_m_s: Option<f64>) -> LinkSpec {
    LinkSpec {
        between: [one.to_owned(), other.to_owned()],
        k_per_w,
        halved_at_m_s,
        radiated: None,
    }
}

pub(crate) fn links(of: &[(&str, LinkSpec)]) -> BTreeMap<String, LinkSpec> {
    of.iter()
        .map(|(name, link)| ((*name).to_owned(), link.clone()))
        .collect()
}

/// A node of its own, a band, two sensors and two power states.
pub(crate) fn drive() -> DriveSpec {
    DriveSpec {
        capacity: Capacity {
            user_bytes: 1_000_204_886_016,
            raw_bytes: 1_099_511_627_776,
            reserve_bytes: 0,
            purge_s: 5.0,
        },
        nand: NandSpec {
            dies: 16,
            channels: 8,
            channel_mb_s: 1200.0,
            unit_bytes: 65536,
            block_bytes: 268_435_456,
            read_us: 50.0,
            program_us: 600.0,
            erase_us: 3000.0,
        },
        controller: ControllerSpec {
            read_mb_s: 7000.0,
            write_mb_s: 5000.0,
            read_command_us: 1.0,
            write_command_us: 1.2,
            move_us: 1.0,
            read_latency_us: 10.0,
            write_latency_us: 8.0,
            buffer_bytes: 33_554_432,
            map_cache: None,
        },
        collection: CollectionSpec {
            policy: Policy::Greedy,
            pacing: Pacing::Victim,
            level_moves: 6.0,
            idle_mb_s: 100.0,
        },
        cache: None,
        energy: EnergySpec {
            idle_w: 0.8,
            active_w: 1.5,
            ungated_active: 0.5,
            busy_w: 1.2,
            read_command_uj: 1.0,
            write_command_uj: 5.0,
            host_read_uj: 1.6,
            host_write_uj: 2.0,
            read_uj: 1.0,
            program_uj: 4.0,
            cache_program_uj: None,
            erase_uj: 0.5,
            move_uj: 0.5,
            leakage_w: 0.08,
            leakage_doubling_k: 25.0,
            board_share: 0.12,
        },
        thermal: ThermalSpec {
            nodes: nodes(&[
                ("controller", 1.5),
                ("nand", 4.0),
                ("board", 9.0),
                ("dram", 1.0),
            ]),
            links: links(&[
                ("die", link("controller", "board", 4.0, None)),
                ("packages", link("nand", "board", 3.0, None)),
                ("memory", link("dram", "board", 6.0, None)),
                ("lid", link("controller", "air", 90.0, Some(1.5))),
            ]),
        },
        governor: GovernorSpec {
            law: Law::Band {
                engage_c: 75.0,
                band_k: 10.0,
                floor: 0.1,
            },
            weights: shares(&[("controller", 0.8), ("nand", 0.2)]),
            hottest: Vec::new(),
            lag_s: 1.0,
            shutdown_c: Some(110.0),
            restart_c: Some(70.0),
            counters: true,
            on: true,
        },
        sensors: BTreeMap::from([
            (
                "composite".to_owned(),
                SensorSpec {
                    weights: shares(&[("controller", 0.3), ("nand", 0.7)]),
                    hottest: Vec::new(),
                    lag_s: 2.0,
                    offset_c: 1.0,
                    step_c: 1.0,
                },
            ),
            (
                "sensor2".to_owned(),
                SensorSpec {
                    weights: shares(&[("controller", 1.0)]),
                    hottest: Vec::new(),
                    lag_s: 0.0,
                    offset_c: 0.0,
                    step_c: 0.5,
                },
            ),
        ]),
        power_states: vec![
            PowerStateSpec {
                state: 3,
                power_w: 0.05,
                after_s: 0.1,
                entry_us: 1000.0,
                exit_us: 3000.0,
            },
            PowerStateSpec {
                state: 4,
                power_w: 0.005,
                after_s: 2.0,
                entry_us: 5000.0,
                exit_us: 45000.0,
            },
        ],
        operational_states: Vec::new(),
    }
}

/// Air that moves a little, more of one of the drive's nodes, a heatsink, and its light.
pub(crate) fn place() -> EnclosureSpec {
    EnclosureSpec {
        air_c: 25.0,
        air_speed_m_s: 0.4,
        nodes: nodes(&[("sink", 20.0), ("board", 3.0)]),
        links: links(&[
            ("pad", link("controller", "sink", 6.0, None)),
            ("fins", link("sink", "air", 24.0, Some(1.0))),
            ("slot", link("board", "air", 21.0, Some(2.0))),
        ]),
        heat_w: shares(&[("sink", 0.2)]),
        sensor_air_share: 0.05,
        keeps_awake: false,
        link_mb_s: None,
        host_read_iops: None,
        host_write_iops: None,
    }
}

/// A drive like it with a hundredth of the flash, which never throttles: for runs to a steady
/// state. 1 GiB for the host, an eighth of it spare, blocks of 4 MiB.
pub(crate) fn small_drive() -> DriveSpec {
    let mut spec = drive();
    spec.capacity = Capacity {
        user_bytes: 1 << 30,
        raw_bytes: (1 << 30) + (1 << 27),
        reserve_bytes: 0,
        purge_s: 5.0,
    };
    spec.nand.block_bytes = 1 << 22;
    // as long for a byte of a block
    spec.nand.erase_us /= 64.0;
    spec.controller.buffer_bytes = 1 << 22;
    spec.governor.on = false;
    spec
}
