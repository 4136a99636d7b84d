use std::collections::BTreeMap;

use proptest::prelude::*;

use super::sensor::Lag;
use super::*;
use crate::sample::{self, shares};
use crate::spec::{AIR, LinkSpec, NodeSpec, ProbeSpec, ThermalSpec};

/// A network, as what it is made from.
#[derive(Debug, Clone)]
struct Wiring {
    thermal: ThermalSpec,
    place: EnclosureSpec,
}

impl Wiring {
    fn network(&self) -> Network {
        Network::new(&self.thermal, &self.place).expect("a sound network")
    }

    fn n(&self) -> usize {
        self.thermal.nodes.len() + self.place.nodes.len()
    }

    /// Kelvin a second, by Kirchhoff's law from the links themselves, still air.
    fn slope(&self, network: &Network, above_k: &[f64], power_w: &[f64]) -> Vec<f64> {
        let mut watts = power_w.to_vec();
        for link in self.thermal.links.values().chain(self.place.links.values()) {
            let find = |name: &String| network.names().iter().position(|node| node == name);
            let (from, to) = (find(&link.between[0]), find(&link.between[1]));
            let at = |node: Option<usize>| node.map_or(0.0, |node| above_k[node]);
            let flow = (at(from) - at(to)) / link.k_per_w;
            if let Some(from) = from {
                watts[from] -= flow;
            }
            if let Some(to) = to {
                watts[to] += flow;
            }
        }
        let capacity = network.capacity_j_per_k();
        watts.iter().zip(capacity).map(|(w, c)| w / c).collect()
    }
}

fn log(range: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
    (range.start.ln()..range.end.ln()).prop_map(f64::exp)
}

/// 3 to 8 nodes: a tree, further links, and one or several ways to the air.
fn wirings(
    capacities: std::ops::Range<f64>,
    resistances: std::ops::Range<f64>,
) -> impl Strategy<Value = Wiring> {
    (3..=8usize)
        .prop_flat_map(move |n| {
            let end = || (0..n, 0..n, log(resistances.clone()));
            (
                prop::collection::vec(log(capacities.clone()), n),
                prop::collection::vec(end(), n - 1),
                prop::collection::vec(end(), 0..4),
                prop::collection::vec((0..n, log(resistances.clone())), 1..4),
                3..=n,
            )
        })
        .prop_map(|(capacity, tree, more, to_air, own)| {
            let always = ["controller", "nand", "board"];
            let name = |node: usize| {
                always
                    .get(node)
                    .map_or_else(|| format!("part{node}"), |name| (*name).to_owned())
            };
            let mut wiring = Wiring {
                thermal: ThermalSpec {
                    nodes: BTreeMap::new(),
                    links: BTreeMap::new(),
                },
                place: sample::place(),
            };
            wiring.place.air_speed_m_s = 0.0;
            wiring.place.nodes.clear();
            wiring.place.links.clear();
            wiring.place.heat_w.clear();
            for (node, j_per_k) in capacity.into_iter().enumerate() {
                let nodes = if node < own {
                    &mut wiring.thermal.nodes
                } else {
                    &mut wiring.place.nodes
                };
                nodes.insert(name(node), NodeSpec { j_per_k });
            }
            let mut add = |between: [String; 2], owned: bool, k_per_w: f64| {
                let links = if owned {
                    &mut wiring.thermal.links
                } else {
                    &mut wiring.place.links
                };
                let link = LinkSpec {
                    between,
                    k_per_w,
                    halved_at_m_s: None,
                    radiated: None,
                };
                links.insert(format!("link{}", links.len()), link);
            };
            for (index, (_, earlier, k_per_w)) in tree.into_iter().enumerate() {
                let node = index + 1;
                add([name(node), name(earlier % node)], node < own, k_per_w);
            }
            for (from, to, k_per_w) in more {
                if from != to {
                    add([name(from), name(to)], from.max(to) < own, k_per_w);
                }
            }
            for (node, k_per_w) in to_air {
                add([name(node), AIR.to_owned()], node < own, k_per_w);
            }
            wiring
        })
}

/// Networks as drives have them.
fn drives() -> impl Strategy<Value = Wiring> {
    wirings(0.2..100.0, 0.3..60.0)
}

fn powers() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..10.0f64, 8)
}

fn close(a: &[f64], b: &[f64], by: f64) -> Result<(), TestCaseError> {
    for (a, b) in a.iter().zip(b) {
        prop_assert!((a - b).abs() <= by * (1.0 + a.abs()), "{a} is not {b}");
    }
    Ok(())
}

proptest! {
    // rounding grows with the ratio of the fastest rate to the slowest: a hundred times beyond
    // what drives are made of, it stays ten times below what is asked for
    #[test]
    fn heat_in_is_heat_out_and_heat_stored(
        wiring in wirings(1e-2..1e4, 1e-2..1e3),
        start in powers(),
        steps in prop::collection::vec((log(1e-4..100.0), powers()), 1..300),
    ) {
        let (network, n) = (wiring.network(), wiring.n());
        let mut state = network.settled(&start[..n]);
        let before = network.stored_j(&state);
        let (mut fed, mut out) = (0.0, 0.0);
        for (length_s, power_w) in steps {
            out += network.step(&mut state, length_s, &power_w[..n]);
            fed += power_w[..n].iter().sum::<f64>() * length_s;
        }
        let kept = network.stored_j(&state) - before;
        let scale = fed.abs().max(out.abs()).max(before.abs());
        prop_assert!((fed - out - kept).abs() <= 1e-9 * scale, "{fed} {out} {kept}");
    }

    #[test]
    fn what_leaves_is_what_the_means_drive_out(
        wiring in drives(),
        start in powers(),
        power_w in powers(),
        length_s in log(1e-3..100.0),
    ) {
        let (network, n) = (wiring.network(), wiring.n());
        let mut state = network.settled(&start[..n]);
        let out_j = network.step(&mut state, length_s, &power_w[..n]);
        let by_means: f64 = (0..n)
            .map(|node| network.to_air_w_per_k()[node] * network.mean_above_k(&state, node))
            .sum();
        prop_assert!((out_j - by_means * length_s).abs() <= 1e-9 * (1.0 + out_j.abs()));
    }

    #[test]
    fn one_exact_step_is_many_fine_ones(
        wiring in drives(),
        start in prop::collection::vec(0.0..60.0f64, 8),
        power_w in powers(),
    ) {
        let (network, n) = (wiring.network(), wiring.n());
        let mut state = network.state_at(&start[..n]);
        network.step(&mut state, 1.0, &power_w[..n]);
        // classical Runge-Kutta of the fourth order
        let mut x = start[..n].to_vec();
        let count = 2000;
        let h = 1.0 / f64::from(count);
        let along = |x: &[f64], slope: &[f64], h: f64| -> Vec<f64> {
            x.iter().zip(slope).map(|(x, s)| x + h * s).collect()
        };
        for _ in 0..count {
            let slope = |x: &[f64]| wiring.slope(&network, x, &power_w[..n]);
            let k1 = slope(&x);
            let k2 = slope(&along(&x, &k1, h / 2.0));
            let k3 = slope(&along(&x, &k2, h / 2.0));
            let k4 = slope(&along(&x, &k3, h));
            for i in 0..n {
                x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
            }
        }
        close(state.above_k(), &x, 1e-7)?;
    }

    #[test]
    fn a_lasting_power_ends_where_it_settles(wiring in drives(), power_w in powers()) {
        let (network, n) = (wiring.network(), wiring.n());
        let settled = network.settled(&power_w[..n]);
        let mut state = network.state_at(&vec![0.0; n]);
        let long_s = 40.0 * network.time_constants_s()[0];
        network.step(&mut state, long_s, &power_w[..n]);
        close(state.above_k(), settled.above_k(), 1e-9)?;
        let slope = wiring.slope(&network, settled.above_k(), &power_w[..n]);
        close(&slope, &vec![0.0; n], 1e-6)?;
    }

    #[test]
    fn two_steps_are_one_of_both_lengths(
        wiring in drives(),
        start in powers(),
        power_w in powers(),
        a in log(1e-3..100.0),
        b in log(1e-3..100.0),
    ) {
        let (network, n) = (wiring.network(), wiring.n());
        let mut twice = network.settled(&start[..n]);
        let mut once = twice.clone();
        let out_j = network.step(&mut twice, a, &power_w[..n])
            + network.step(&mut twice, b, &power_w[..n]);
        let out_once_j = network.step(&mut once, a + b, &power_w[..n]);
        close(twice.above_k(), once.above_k(), 1e-9)?;
        close(&[out_j], &[out_once_j], 1e-9)?;
    }

    #[test]
    fn heats_add_up(
        wiring in drives(),
        (start, power_w) in (powers(), powers()),
        (other_start, other_w) in (powers(), powers()),
        length_s in log(1e-3..100.0),
    ) {
        let (network, n) = (wiring.network(), wiring.n());
        let sum = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).take(n).map(|(a, b)| a + b).collect()
        };
        let after = |start: &[f64], power_w: &[f64]| {
            let mut state = network.settled(&start[..n]);
            network.step(&mut state, length_s, &power_w[..n]);
            state.above_k().to_vec()
        };
        let together = after(&sum(&start, &other_start), &sum(&power_w, &other_w));
        let apart = sum(&after(&start, &power_w), &after(&other_start, &other_w));
        close(&together, &apart, 1e-9)?;
    }

    #[test]
    fn more_air_never_makes_a_node_hotter(
        wiring in drives(),
        halved_at_m_s in 0.1..5.0f64,
        (slow, more) in (0.0..5.0f64, 0.0..5.0f64),
        power_w in powers(),
        length_s in log(1e-2..1000.0),
    ) {
        let n = wiring.n();
        let blown = |air_speed_m_s: f64| {
            let mut wiring = wiring.clone();
            wiring.place.air_speed_m_s = air_speed_m_s;
            let links = wiring.thermal.links.values_mut();
            for link in links.chain(wiring.place.links.values_mut()) {
                if link.between.contains(&AIR.to_owned()) {
                    link.halved_at_m_s = Some(halved_at_m_s);
                }
            }
            let network = wiring.network();
            let mut state = network.state_at(&vec![0.0; n]);
            network.step(&mut state, length_s, &power_w[..n]);
            let settled = network.settled(&power_w[..n]);
            [state.above_k(), settled.above_k()].concat()
        };
        for (slower, faster) in blown(slow).iter().zip(blown(slow + more)) {
            prop_assert!(faster <= slower + 1e-9 * (1.0 + slower.abs()));
        }
    }

    #[test]
    fn a_drive_keeps_its_ledger(
        wiring in drives(),
        leakage_w in 0.0..0.02f64,
        steps in prop::collection::vec((log(1e-3..30.0), 0.0..2.0f64, any::<bool>()), 1..200),
    ) {
        let mut spec = sample::drive();
        spec.thermal = wiring.thermal;
        spec.energy.leakage_w = leakage_w;
        spec.energy.leakage_doubling_k = 40.0;
        spec.energy.idle_w = 0.1;
        spec.governor.on = false;
        let mut place = wiring.place;
        place.heat_w.insert("nand".into(), 0.02);
        // not every random network can carry its leakage away
        let sound = Heat::new(&spec, &place);
        prop_assume!(sound.is_ok());
        let mut heat = sound.unwrap();
        let mut own_j = 0.0;
        let mut passed_s = 0.0;
        for (dt_s, load, rest) in steps {
            let work = full_load(dt_s).scaled(load);
            own_j += if rest {
                heat.step(dt_s, &Work::default(), Some(0.01))
            } else {
                heat.step(dt_s, &work, None)
            } * dt_s;
            passed_s += dt_s;
        }
        let ledger = heat.ledger();
        let capacities = heat.network().capacity_j_per_k().iter().enumerate();
        let held_j: f64 = capacities
            .map(|(node, capacity)| capacity * (heat.node_c(node) - heat.air_c()))
            .sum();
        let scale = ledger.fed_j.max(held_j);
        prop_assert!(
            (ledger.fed_j - ledger.out_j - ledger.stored_j).abs() <= 1e-9 * scale,
            "{ledger:?}"
        );
        prop_assert!((ledger.fed_j - own_j - 0.02 * passed_s).abs() <= 1e-9 * scale);
    }

    #[test]
    fn a_lag_follows_a_line_exactly(
        lag_s in log(1e-2..100.0),
        start in -50.0..100.0f64,
        slope in -10.0..10.0f64,
        a in log(1e-3..100.0),
        b in log(1e-3..100.0),
    ) {
        let mut twice = Lag::new("lag_s", lag_s, start).unwrap();
        let mut once = twice.clone();
        twice.step(a, start + slope * a);
        twice.step(b, start + slope * (a + b));
        once.step(a + b, start + slope * (a + b));
        let law = |t: f64| start + slope * (t - lag_s * (1.0 - (-t / lag_s).exp()));
        close(&[once.value(), twice.value()], &[law(a + b), law(a + b)], 1e-7)?;
    }

    #[test]
    fn a_lag_stays_within_what_it_followed(
        lag_s in 0.0..100.0f64,
        values in prop::collection::vec(-50.0..150.0f64, 2..50),
        dt_s in log(1e-3..100.0),
    ) {
        let mut lag = Lag::new("lag_s", lag_s, values[0]).unwrap();
        let (mut least, mut most) = (values[0], values[0]);
        for &value in &values {
            (least, most) = (least.min(value), most.max(value));
            lag.step(dt_s, value);
            prop_assert!((least - 1e-6..=most + 1e-6).contains(&lag.value()));
        }
        let distance = lag.value() - values[values.len() - 1];
        lag.step(dt_s, values[values.len() - 1]);
        let left = lag.value() - values[values.len() - 1];
        let kept = if lag_s > 0.0 { (-dt_s / lag_s).exp() } else { 0.0 };
        prop_assert!((left - distance * kept).abs() < 1e-9);
    }
}

/// What a drive that reads at 7 GB/s does.
fn full_load(dt_s: f64) -> Work {
    let pages = 1.7e6 * dt_s;
    Work {
        host_read_pages: pages,
        read_pages: pages,
        busy_s: dt_s,
        active_s: dt_s,
        ..Work::default()
    }
}

#[test]
fn the_first_nodes_are_the_ones_that_every_drive_has() {
    let heat = Heat::new(&sample::drive(), &sample::place()).unwrap();
    assert_eq!(
        heat.node_names(),
        ["controller", "nand", "board", "dram", "sink"]
    );
    assert_eq!(heat.node_c(0), heat.controller_c());
    assert_eq!(heat.node_c(1), heat.nand_c());
    assert_eq!(heat.node_c(2), heat.board_c());
    assert_eq!(heat.sensor_names(), ["composite", "sensor2"]);
    // 9 of the drive's board and 3 that the slot couples to it
    assert_eq!(heat.network().capacity_j_per_k()[2], 12.0);
}

#[test]
fn a_drive_at_rest_stays_as_it_is() {
    let spec = sample::drive();
    let mut heat = Heat::new(&spec, &sample::place()).unwrap();
    let before: Vec<f64> = (0..5).map(|node| heat.node_c(node)).collect();
    let power_w = heat.step(1000.0, &Work::default(), Some(spec.power_states[1].power_w));
    assert!((power_w - 0.005).abs() < 1e-15);
    for (node, before) in before.into_iter().enumerate() {
        assert!((heat.node_c(node) - before).abs() < 1e-9);
        assert!((heat.node_mean_c(node) - before).abs() < 1e-9);
    }
    // it rests in the deepest state, not awake
    assert!(heat.controller_c() + 1.0 < heat.idle_c());

    let mut awake = spec.clone();
    awake.power_states.clear();
    let mut heat = Heat::new(&awake, &sample::place()).unwrap();
    let before = heat.controller_c();
    assert!((before - heat.idle_c()).abs() < 1e-6);
    let power_w = heat.step(1000.0, &Work::default(), None);
    assert!((power_w - 0.8 - awake.energy.leakage_at_w(before)).abs() < 1e-9);
    assert!((heat.controller_c() - before).abs() < 1e-6);
}

#[test]
fn each_joule_goes_where_it_is_spent() {
    let mut energy = sample::drive().energy;
    energy.board_share = 0.25;
    let work = Work {
        read_commands: 0.0,
        write_commands: 0.0,
        host_read_pages: 1e6,
        host_write_pages: 2e6,
        read_pages: 3e6,
        programmed_pages: 4e6,
        cached_pages: 1e6,
        erased_pages: 5e6,
        moved_pages: 6e6,
        busy_s: 0.5,
        active_s: 2.0,
    };
    let leakage_w = 0.08 * 2f64.powf((75.0 - 25.0) / 25.0);
    let nand = 3.0 * 1.0 + 4.0 * 4.0 + 5.0 * 0.5;
    let commands = 1.6 + 2.0 * 2.0 + 6.0 * 0.5 + 0.5 * 1.2 + 2.0 * 1.5;
    let spent = energy.spent_j(10.0, &work, 75.0, None);
    let controller = commands + 10.0 * (0.8 + leakage_w);
    assert!((spent.nand - 0.75 * nand).abs() < 1e-9);
    assert!((spent.controller - 0.75 * controller).abs() < 1e-9);
    assert!((spent.board - 0.25 * (nand + controller)).abs() < 1e-9);
    assert!((spent.total() - nand - controller).abs() < 1e-9);
    // pages of the cache cost as much as any other unless it is said otherwise
    energy.cache_program_uj = Some(1.0);
    let cached = energy.spent_j(10.0, &work, 75.0, None);
    assert!((spent.total() - cached.total() - 3.0).abs() < 1e-9);
    // a power state's power has its leakage in it
    let resting = energy.spent_j(10.0, &Work::default(), 75.0, Some(0.05));
    assert!((resting.total() - 0.5).abs() < 1e-12);
}

#[test]
fn a_long_step_feels_its_own_leakage() {
    let mut spec = sample::drive();
    spec.governor.on = false;
    let heat = Heat::new(&spec, &sample::place()).unwrap();
    let (mut long, mut short) = (heat.clone(), heat);
    long.step(60.0, &full_load(60.0), None);
    for _ in 0..6000 {
        short.step(0.01, &full_load(0.01), None);
    }
    assert!(short.controller_c() > short.idle_c() + 10.0);
    assert!((long.controller_c() - short.controller_c()).abs() < 0.1);
}

#[test]
fn sensors_mix_nodes_and_air_and_round() {
    let spec = sample::drive();
    let place = sample::place();
    let mut heat = Heat::new(&spec, &place).unwrap();
    for _ in 0..100 {
        heat.step(0.01, &full_load(0.01), None);
    }
    let shown = heat.sensor_c(1);
    assert!((shown - (0.95 * heat.controller_c() + 0.05 * place.air_c)).abs() < 1e-9);
    assert_eq!(heat.reported_c(1), (shown * 2.0).round() / 2.0);
    // the first is late, and so is what the governor acts on
    let now = 0.3 * heat.controller_c() + 0.7 * heat.nand_c();
    assert!(heat.sensor_c(0) < 0.95 * now + 0.05 * place.air_c + 1.0);
    assert!(heat.governed_c() < 0.8 * heat.controller_c() + 0.2 * heat.nand_c());
    // at rest they show it all
    let mut rested = Heat::new(&spec, &place).unwrap();
    rested.step(1.0, &Work::default(), Some(0.005));
    let now = 0.3 * rested.controller_c() + 0.7 * rested.nand_c();
    assert!((rested.sensor_c(0) - (0.95 * now + 0.05 * place.air_c + 1.0)).abs() < 1e-9);
    assert_eq!(rested.reported_c(0), rested.sensor_c(0).round());
}

fn error(change: impl FnOnce(&mut DriveSpec, &mut EnclosureSpec)) -> HeatError {
    let (mut drive, mut place) = (sample::drive(), sample::place());
    change(&mut drive, &mut place);
    Heat::new(&drive, &place).expect_err("an unsound drive or place")
}

fn drive_error(change: impl FnOnce(&mut DriveSpec, &mut EnclosureSpec)) -> String {
    match error(change) {
        HeatError::Drive(error) => error.to_string(),
        HeatError::Enclosure(error) => panic!("the enclosure's {error}"),
    }
}

fn place_error(change: impl FnOnce(&mut DriveSpec, &mut EnclosureSpec)) -> String {
    match error(change) {
        HeatError::Enclosure(error) => error.to_string(),
        HeatError::Drive(error) => panic!("the drive's {error}"),
    }
}

#[test]
fn an_unsound_network_is_named() {
    let message = drive_error(|drive, _| {
        drive.thermal.links.get_mut("die").unwrap().between[0] = "sink".into();
    });
    assert_eq!(
        message,
        "thermal.links.die.between is sink: it has to be air or one of controller, nand, board, \
         dram"
    );
    let message = place_error(|_, place| {
        place.links.get_mut("pad").unwrap().between[0] = "lid".into();
    });
    assert_eq!(
        message,
        "links.pad.between is lid: it has to be air or one of controller, nand, board, dram, sink"
    );
    let message = place_error(|_, place| {
        place.links.get_mut("pad").unwrap().between = ["sink".into(), "sink".into()];
    });
    assert!(message.starts_with("links.pad.between is sink twice:"));
    let message = drive_error(|drive, _| {
        drive.thermal.links.get_mut("lid").unwrap().between = ["air".into(), "air".into()];
    });
    assert!(message.starts_with("thermal.links.lid.between is air twice:"));
    let message = drive_error(|drive, _| {
        drive.thermal.nodes.remove("nand");
    });
    assert!(message.starts_with("thermal.nodes.nand is missing:"));
    let message = drive_error(|drive, _| {
        drive
            .thermal
            .nodes
            .insert("air".into(), NodeSpec { j_per_k: 1.0 });
    });
    assert!(message.starts_with("thermal.nodes.air is a node:"));
    let message = place_error(|_, place| {
        place.nodes.insert("air".into(), NodeSpec { j_per_k: 1.0 });
    });
    assert!(message.starts_with("nodes.air is a node:"));
}

#[test]
fn a_node_that_heat_cannot_leave_is_named() {
    let message = drive_error(|drive, _| {
        drive.thermal.links.remove("memory");
    });
    assert_eq!(
        message,
        "thermal.nodes.dram is floating: no way leads from dram to air, so that heat cannot \
         leave it"
    );
    let message = place_error(|_, place| {
        place.links.remove("pad");
        place.links.remove("fins");
    });
    assert!(message.starts_with("nodes.sink is floating:"));
    let message = place_error(|drive, place| {
        drive.thermal.links.remove("lid");
        place.links.remove("fins");
        place.links.remove("slot");
    });
    assert_eq!(
        message,
        "links is pad: one of them has to lead from the drive to air"
    );
}

#[test]
fn weights_are_of_the_drives_nodes_and_add_up() {
    let message = drive_error(|drive, _| {
        drive.governor.weights.insert("sink".into(), 0.0);
    });
    assert!(message.starts_with("governor.weights.sink is 0: the nodes of the drive are"));
    let message = drive_error(|drive, _| {
        drive.governor.weights.insert("nand".into(), 0.3);
    });
    assert!(message.starts_with("governor.weights is 1.1 in all:"));
    let message = drive_error(|drive, _| {
        drive.sensors.get_mut("composite").unwrap().weights.clear();
    });
    assert!(message.starts_with("sensors.composite.weights is empty:"));
    let message = drive_error(|drive, _| drive.sensors.clear());
    assert!(message.starts_with("sensors is empty:"));
    let message = place_error(|_, place| {
        place.heat_w.insert("lights".into(), 1.0);
    });
    assert!(message.starts_with("heat_w.lights is 1: the nodes are"));
}

fn probe(node: &str, offset_c: f64) -> ProbeSpec {
    ProbeSpec {
        weights: shares(&[(node, 1.0)]),
        offset_c,
    }
}

#[test]
fn a_temperature_is_of_shares_or_of_the_hottest() {
    let message = drive_error(|drive, _| drive.governor.hottest = vec![probe("nand", 0.0)]);
    assert_eq!(
        message,
        "governor.hottest is 1 in all: a temperature has weights or hottest, not both"
    );
    let composite = |hottest: Vec<ProbeSpec>| {
        drive_error(|drive, _| {
            let sensor = drive.sensors.get_mut("composite").unwrap();
            sensor.weights.clear();
            sensor.hottest = hottest;
        })
    };
    let message = composite(vec![probe("nand", 0.0), probe("sink", 0.0)]);
    assert!(message.starts_with("sensors.composite.hottest[1].weights.sink is 1:"));
    let message = composite(vec![probe("nand", 400.0)]);
    assert!(message.starts_with("sensors.composite.hottest[0].offset_c is 400:"));
}

#[test]
fn the_hottest_of_several_is_the_least_margin_to_their_limits() {
    // limits of 95 C and 85 C, as one of 95 C
    let hottest = vec![probe("controller", 0.0), probe("nand", 10.0)];
    let mut drive = sample::drive();
    drive.governor.on = false;
    drive.governor.lag_s = 0.0;
    drive.governor.weights.clear();
    drive.governor.hottest = hottest.clone();
    let sensor = drive.sensors.get_mut("composite").unwrap();
    sensor.weights.clear();
    sensor.hottest = hottest;
    (sensor.lag_s, sensor.offset_c) = (0.0, 0.0);
    let mut place = sample::place();
    place.sensor_air_share = 0.0;
    let mut heat = Heat::new(&drive, &place).unwrap();
    let mut was_controller = [false; 2];
    for second in 0..2000 {
        let busy_s = if second < 1000 { 1.0 } else { 0.0 };
        let work = Work {
            busy_s,
            host_read_pages: 3e6 * busy_s,
            active_s: 1.0,
            ..Work::default()
        };
        heat.step(1.0, &work, None);
        let (controller_c, nand_c) = (heat.controller_c(), heat.nand_c());
        let margin_k = (95.0 - controller_c).min(85.0 - nand_c);
        assert!((95.0 - heat.governed_c() - margin_k).abs() < 1e-9);
        assert!((95.0 - heat.sensor_c(0) - margin_k).abs() < 1e-9);
        was_controller[usize::from(controller_c > nand_c + 10.0)] = true;
    }
    assert_eq!(was_controller, [true; 2], "both were the hottest");
}

#[test]
fn a_drive_that_would_throttle_at_rest_cannot_be() {
    let message = drive_error(|_, place| place.air_c = 80.0);
    assert!(
        message.starts_with("governor.law.engage_c is 75: it has to be more than the 8"),
        "{message}"
    );
    assert!(message.ends_with("of the drive at rest in air of 80 C"));
    let message = drive_error(|drive, place| {
        drive.governor.law = crate::spec::Law::Steps {
            levels: vec![crate::spec::Level {
                enter_c: 70.0,
                leave_c: 60.0,
                share: Some(0.5),
                state: None,
            }],
            dwell_s: 0.0,
        };
        place.air_c = 70.0;
    });
    assert!(message.starts_with("governor.law.levels[0].enter_c is 70:"));
    // nothing is wrong with that for one that does not act
    let (mut drive, mut place) = (sample::drive(), sample::place());
    drive.governor.on = false;
    place.air_c = 80.0;
    Heat::new(&drive, &place).unwrap();
}

#[test]
fn leakage_that_runs_away_at_idle_is_named() {
    let message = drive_error(|drive, _| drive.energy.leakage_w = 5.0);
    assert!(message.starts_with("energy.leakage_w is 5:"), "{message}");
    let message = drive_error(|drive, _| drive.energy.leakage_doubling_k = 1e-3);
    assert!(message.starts_with("energy.leakage_w is 0.08:"));
    // no leakage stays none, however fast it would double
    let mut drive = sample::drive();
    drive.energy.leakage_w = 0.0;
    drive.energy.leakage_doubling_k = 1e-3;
    let mut heat = Heat::new(&drive, &sample::place()).unwrap();
    assert!((heat.step(0.01, &Work::default(), None) - 0.8).abs() < 1e-9);
}

#[test]
fn leakage_that_runs_away_under_load_stays_a_number() {
    let mut spec = sample::drive();
    spec.governor.on = false;
    spec.energy.leakage_w = 0.25;
    let mut heat = Heat::new(&spec, &sample::place()).unwrap();
    for _ in 0..600 {
        heat.step(1.0, &full_load(1.0).scaled(3.0), None);
    }
    assert!(heat.controller_c() > energy::HOTTEST_C);
    let power_w = heat.step(1.0, &Work::default(), None);
    assert!((power_w - 100.8).abs() < 1e-9);
    let ledger = heat.ledger();
    assert!((ledger.fed_j - ledger.out_j - ledger.stored_j).abs() < 1e-9 * ledger.fed_j);
}

/// A number of a specification: its key, whether it may be less than 0, and where it is.
type Number<'a> = (String, bool, &'a mut f64);

fn network_numbers<'a>(
    prefix: &str,
    nodes: &'a mut BTreeMap<String, NodeSpec>,
    links: &'a mut BTreeMap<String, LinkSpec>,
) -> Vec<Number<'a>> {
    let mut all: Vec<Number> = Vec::new();
    for (name, NodeSpec { j_per_k }) in nodes {
        all.push((format!("{prefix}nodes.{name}.j_per_k"), false, j_per_k));
    }
    for (name, link) in links {
        let LinkSpec {
            between: _,
            k_per_w,
            halved_at_m_s,
            radiated,
        } = link;
        all.push((format!("{prefix}links.{name}.k_per_w"), false, k_per_w));
        if let Some(halved) = halved_at_m_s {
            let key = format!("{prefix}links.{name}.halved_at_m_s");
            all.push((key, false, halved));
        }
        if let Some(radiated) = radiated {
            let key = format!("{prefix}links.{name}.radiated");
            all.push((key, false, radiated));
        }
    }
    all
}

/// The numbers of a drive that bear on its heat.
fn drive_numbers(drive: &mut DriveSpec) -> Vec<Number<'_>> {
    let ThermalSpec { nodes, links } = &mut drive.thermal;
    let mut all = network_numbers("thermal.", nodes, links);
    let EnergySpec {
        idle_w,
        active_w,
        ungated_active,
        busy_w,
        read_command_uj,
        write_command_uj,
        host_read_uj,
        host_write_uj,
        read_uj,
        program_uj,
        cache_program_uj: _,
        erase_uj,
        move_uj,
        leakage_w,
        leakage_doubling_k,
        board_share,
    } = &mut drive.energy;
    for (name, number) in [
        ("idle_w", idle_w),
        ("active_w", active_w),
        ("ungated_active", ungated_active),
        ("busy_w", busy_w),
        ("read_command_uj", read_command_uj),
        ("write_command_uj", write_command_uj),
        ("host_read_uj", host_read_uj),
        ("host_write_uj", host_write_uj),
        ("read_uj", read_uj),
        ("program_uj", program_uj),
        ("erase_uj", erase_uj),
        ("move_uj", move_uj),
        ("leakage_w", leakage_w),
        ("leakage_doubling_k", leakage_doubling_k),
        ("board_share", board_share),
    ] {
        all.push((format!("energy.{name}"), false, number));
    }
    let crate::spec::GovernorSpec {
        law: _,
        weights,
        hottest: _,
        lag_s,
        shutdown_c,
        restart_c,
        counters: _,
        on: _,
    } = &mut drive.governor;
    for (name, weight) in weights {
        all.push((format!("governor.weights.{name}"), false, weight));
    }
    all.push(("governor.lag_s".into(), false, lag_s));
    for (name, number) in [("shutdown_c", shutdown_c), ("restart_c", restart_c)] {
        if let Some(number) = number {
            all.push((format!("governor.{name}"), true, number));
        }
    }
    for (name, sensor) in &mut drive.sensors {
        let crate::spec::SensorSpec {
            weights,
            hottest: _,
            lag_s,
            offset_c,
            step_c,
        } = sensor;
        for (node, weight) in weights {
            all.push((format!("sensors.{name}.weights.{node}"), false, weight));
        }
        all.push((format!("sensors.{name}.lag_s"), false, lag_s));
        all.push((format!("sensors.{name}.offset_c"), true, offset_c));
        all.push((format!("sensors.{name}.step_c"), false, step_c));
    }
    for (index, state) in drive.power_states.iter_mut().enumerate() {
        let crate::spec::PowerStateSpec {
            state: _,
            power_w,
            after_s,
            entry_us,
            exit_us,
        } = state;
        for (name, number) in [
            ("power_w", power_w),
            ("after_s", after_s),
            ("entry_us", entry_us),
            ("exit_us", exit_us),
        ] {
            all.push((format!("power_states[{index}].{name}"), false, number));
        }
    }
    all
}

fn place_numbers(place: &mut EnclosureSpec) -> Vec<Number<'_>> {
    let EnclosureSpec {
        air_c,
        air_speed_m_s,
        nodes,
        links,
        heat_w,
        sensor_air_share,
        link_mb_s,
        host_read_iops,
        host_write_iops,
        keeps_awake: _,
    } = place;
    let mut all = network_numbers("", nodes, links);
    all.push(("air_c".into(), true, air_c));
    all.push(("air_speed_m_s".into(), false, air_speed_m_s));
    for (name, heat_w) in heat_w {
        all.push((format!("heat_w.{name}"), false, heat_w));
    }
    all.push(("sensor_air_share".into(), false, sensor_air_share));
    for (name, number) in [
        ("link_mb_s", link_mb_s),
        ("host_read_iops", host_read_iops),
        ("host_write_iops", host_write_iops),
    ] {
        all.push((name.into(), false, number.get_or_insert(1000.0)));
    }
    all
}

const WRONG: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0];

#[test]
fn every_wrong_number_of_a_drive_is_named() {
    let count = drive_numbers(&mut sample::drive()).len();
    assert!(count > 40);
    for index in 0..count {
        for wrong in WRONG {
            let mut drive = sample::drive();
            let (key, may_be_negative, number) = drive_numbers(&mut drive).swap_remove(index);
            if wrong == -1.0 && may_be_negative {
                continue;
            }
            *number = wrong;
            match Heat::new(&drive, &sample::place()) {
                Err(HeatError::Drive(error)) => assert_eq!(error.key, key, "{error}"),
                other => panic!("{key} of {wrong}: {other:?}"),
            }
        }
    }
}

#[test]
fn every_wrong_number_of_a_place_is_named() {
    let count = place_numbers(&mut sample::place()).len();
    for index in 0..count {
        for wrong in WRONG {
            let mut place = sample::place();
            let (key, may_be_negative, number) = place_numbers(&mut place).swap_remove(index);
            if wrong == -1.0 && may_be_negative {
                continue;
            }
            *number = wrong;
            match Heat::new(&sample::drive(), &place) {
                Err(HeatError::Enclosure(error)) => assert_eq!(error.key, key, "{error}"),
                other => panic!("{key} of {wrong}: {other:?}"),
            }
        }
    }
}

#[test]
fn no_capacity_or_resistance_is_0() {
    let message = drive_error(|drive, _| {
        drive.thermal.nodes.get_mut("nand").unwrap().j_per_k = 0.0;
    });
    assert_eq!(
        message,
        "thermal.nodes.nand.j_per_k is 0: it has to be more than 0"
    );
    let message = place_error(|_, place| place.links.get_mut("pad").unwrap().k_per_w = 0.0);
    assert_eq!(message, "links.pad.k_per_w is 0: it has to be more than 0");
    let message = place_error(|_, place| place.nodes.get_mut("sink").unwrap().j_per_k = 1e9);
    assert_eq!(
        message,
        "nodes.sink.j_per_k is 1000000000: it has to lie between 0.001 and 100000 J/K"
    );
    let message = drive_error(|_, place| place.air_speed_m_s = 1e12);
    assert!(message.starts_with("thermal.links.lid.halved_at_m_s is 1.5: air of"));
}

/// A way of 10 K/W to the air.
fn way(radiated: f64, air_speed_m_s: f64) -> air::WayToAir {
    let link = LinkSpec {
        radiated: Some(radiated),
        ..sample::link("board", AIR, 10.0, Some(2.0))
    };
    air::WayToAir::new(2, &link, air_speed_m_s)
}

/// What leaves by it in air of 25 C.
fn out_w(way: &air::WayToAir, above_k: f64) -> f64 {
    way.linear_w_per_k() * above_k + way.beyond_w(above_k, 25.0)
}

#[test]
fn moving_air_halves_a_resistance_at_its_speed() {
    for radiated in [0.0, 0.1, 0.4, 0.9] {
        let at = |air_speed_m_s: f64| out_w(&way(radiated, air_speed_m_s), air::GIVEN_AT_K);
        assert!((at(0.0) - 5.0).abs() < 1e-12);
        assert!((at(2.0) - 10.0).abs() < 1e-12);
    }
    // where all is forced, with the root of the speed
    let at = |air_speed_m_s: f64| out_w(&way(0.0, air_speed_m_s), 50.0);
    assert!((at(800.0) / at(200.0) - 2.0).abs() < 1e-3);
}

#[test]
fn convection_goes_with_the_fourth_root_and_radiation_with_the_fourth_powers() {
    let convected = |above_k: f64| out_w(&way(0.0, 0.0), above_k);
    assert!((convected(10.0) / convected(50.0) - 0.2_f64.powf(1.25)).abs() < 1e-12);
    assert!((convected(-10.0) + convected(10.0)).abs() < 1e-12);
    let half = |above_k: f64| out_w(&way(0.5, 0.0), above_k) - 0.5 * convected(above_k);
    let fourth = |above_k: f64| (298.15 + above_k).powi(4) - 298.15_f64.powi(4);
    for above_k in [-10.0, 10.0, 30.0, 80.0] {
        let radiated = half(above_k) / half(50.0);
        assert!((radiated - fourth(above_k) / fourth(50.0)).abs() < 1e-12);
    }
}

proptest! {
    #[test]
    fn more_leaves_from_what_is_warmer_and_by_faster_air(
        radiated in 0.0..0.9f64,
        above_k in -60.0..300.0f64,
        more_k in 1e-3..50.0f64,
        (slow, more) in (0.0..5.0f64, 1e-3..5.0f64),
    ) {
        let out_w = |above_k: f64, speed: f64| out_w(&way(radiated, speed), above_k);
        prop_assert!(out_w(above_k + more_k, slow) > out_w(above_k, slow));
        prop_assert!(out_w(above_k, slow) * above_k >= 0.0);
        let faster = out_w(above_k, slow + more).abs();
        prop_assert!(faster >= out_w(above_k, slow).abs() * (1.0 - 1e-12));
    }

    #[test]
    fn a_drive_settles_where_nothing_changes_any_more(
        wiring in drives(),
        power_w in powers(),
        air_c in -20.0..60.0f64,
    ) {
        let (network, n) = (wiring.network(), wiring.n());
        let settled = network.settled_in(&power_w[..n], air_c);
        // what is that hot has left what the law is for
        prop_assume!(settled.above_k().iter().all(|above_k| *above_k < 120.0));
        let mut fed = power_w[..n].to_vec();
        network.beyond_w(&settled, air_c, &mut fed);
        let mut after = settled.clone();
        network.step(&mut after, 100.0, &fed);
        close(after.above_k(), settled.above_k(), 1e-9)?;
    }
}

#[test]
fn no_more_than_nine_tenths_radiate_and_only_to_the_air() {
    let message = place_error(|_, place| place.links.get_mut("fins").unwrap().radiated = Some(1.0));
    assert_eq!(
        message,
        "links.fins.radiated is 1: it has to lie between 0 and 0.9"
    );
    let message = place_error(|_, place| place.links.get_mut("pad").unwrap().radiated = Some(0.1));
    assert_eq!(
        message,
        "links.pad.radiated is 0.1: only a way to the air has one"
    );
    let message = drive_error(|drive, _| {
        drive.thermal.links.get_mut("die").unwrap().halved_at_m_s = Some(1.0);
    });
    assert_eq!(
        message,
        "thermal.links.die.halved_at_m_s is 1: only a way to the air has one"
    );
}
