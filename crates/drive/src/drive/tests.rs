use proptest::prelude::*;

use super::*;
use crate::sample;
use crate::spec::{CacheKind, CacheSpec, Law, Level, Pacing, Policy};
use crate::workload::Pattern;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn new(spec: DriveSpec) -> Drive {
    Drive::new(spec, sample::place(), 1).unwrap()
}

fn load(rw: Pattern, bs: u64, iodepth: u32) -> Workload {
    Workload {
        rw,
        rwmixread: None,
        bs,
        iodepth,
        numjobs: 1,
        span_bytes: GIB,
        offset_bytes: 0,
        io_bytes: None,
        runtime_s: None,
        rate: None,
        rate_iops: None,
    }
}

fn for_s(runtime_s: f64, workload: Workload) -> Workload {
    Workload {
        runtime_s: Some(runtime_s),
        ..workload
    }
}

fn for_bytes(io_bytes: u64, workload: Workload) -> Workload {
    Workload {
        io_bytes: Some(io_bytes),
        ..workload
    }
}

fn append(all: &mut Samples, more: &Samples) {
    for (column, new) in all.columns.iter_mut().zip(&more.columns) {
        column.extend(new);
    }
}

/// Run workloads to their end.
fn run_all(drive: &mut Drive, workloads: &[Workload], sample_s: f64) -> Samples {
    drive.begin(workloads).unwrap();
    let mut samples = Samples::new(drive.columns());
    while !drive.is_done() {
        assert!(samples.len() < 100_000, "it never ends");
        append(
            &mut samples,
            &drive.advance(10.0 * sample_s, sample_s).unwrap(),
        );
    }
    samples
}

fn run_one(drive: &mut Drive, workload: Workload, sample_s: f64) -> Samples {
    run_all(drive, &[workload], sample_s)
}

fn fill(drive: &mut Drive) -> Samples {
    run_one(
        drive,
        for_bytes(GIB, load(Pattern::Write, 128 * KIB, 32)),
        0.01,
    )
}

fn column<'a>(samples: &'a Samples, name: &str) -> &'a [f64] {
    samples.column(name).unwrap()
}

/// A rate times its intervals; 0 where nothing was asked for in its direction.
fn sum(samples: &Samples, name: &str) -> f64 {
    let pairs = column(samples, name)
        .iter()
        .zip(column(samples, "interval_s"));
    pairs
        .filter(|(rate, _)| !rate.is_nan())
        .map(|(rate, length)| rate * length)
        .sum()
}

/// The mean over time from a time on.
fn mean_from(samples: &Samples, name: &str, from_s: f64) -> f64 {
    let (mut total, mut time_s) = (0.0, 0.0);
    for (row, value) in column(samples, name).iter().enumerate() {
        let length_s = column(samples, "interval_s")[row];
        if column(samples, "t_s")[row] - length_s >= from_s - 1e-9 {
            total += value * length_s;
            time_s += length_s;
        }
    }
    total / time_s
}

fn mean(samples: &Samples, name: &str) -> f64 {
    mean_from(samples, name, 0.0)
}

fn mb(samples: &Samples) -> f64 {
    sum(samples, "read_bw_mb_s") + sum(samples, "write_bw_mb_s")
}

fn ios(samples: &Samples) -> f64 {
    sum(samples, "read_iops") + sum(samples, "write_iops")
}

fn truth(drive: &Drive, name: &str) -> f64 {
    let all = drive.truth();
    all.iter().find(|(key, _)| *key == name).unwrap().1
}

fn near(found: f64, expected: f64, within: f64) {
    assert!(
        (found / expected - 1.0).abs() <= within,
        "{found} instead of {expected}"
    );
}

fn same(one: &Samples, other: &Samples) {
    assert_eq!(one.names, other.names);
    for (name, (one, other)) in one.names.iter().zip(one.columns.iter().zip(&other.columns)) {
        let bits = |values: &[f64]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(one), bits(other), "{name}");
    }
}

fn cache(kind: CacheKind, bytes: u64) -> CacheSpec {
    CacheSpec {
        kind,
        bytes,
        bits: 3,
        read_us: 30.0,
        program_us: 60.0,
        fold_after_s: 2.0,
        fold_mb_s: 200.0,
    }
}

mod conservation {
    use super::*;

    fn patterns() -> impl Strategy<Value = Pattern> {
        prop::sample::select(vec![
            Pattern::Read,
            Pattern::Write,
            Pattern::RandRead,
            Pattern::RandWrite,
            Pattern::Rw,
            Pattern::RandRw,
        ])
    }

    fn user_bytes() -> u64 {
        tiny(Pacing::None, None).capacity.user_bytes
    }

    /// 64 MiB, so that every run gets to collection.
    fn tiny(pacing: Pacing, cache: Option<CacheSpec>) -> DriveSpec {
        let mut spec = sample::small_drive();
        spec.capacity.user_bytes = 64 * MIB;
        spec.capacity.raw_bytes = 136 * MIB;
        spec.capacity.reserve_bytes = 64 * MIB;
        spec.nand.block_bytes = MIB;
        spec.collection.pacing = pacing;
        spec.cache = cache;
        spec
    }

    prop_compose! {
        fn workloads()(
            rw in patterns(),
            mix in prop::option::of(0.0..=100.0f64),
            sectors in prop::sample::select(vec![1u64, 3, 8, 9, 32, 100, 256, 2048]),
            iodepth in prop::sample::select(vec![1u32, 2, 7, 32, 256]),
            numjobs in 1..=4u32,
            offset in 0..10_000u64,
            span in 2048..100_000u64,
            bytes in prop::option::of(1..60_000_000u64),
            runtime_s in 0.001..0.8f64,
            rate in prop::option::of(1e6..1e9f64),
            rate_iops in prop::option::of(100.0..1e6f64),
        ) -> Workload {
            Workload {
                rw,
                rwmixread: mix,
                bs: 512 * sectors,
                iodepth,
                numjobs,
                offset_bytes: 512 * offset,
                span_bytes: (512 * span).min(user_bytes() - 512 * offset),
                io_bytes: bytes,
                // a rate makes the end far away
                runtime_s: (bytes.is_none() || rate.is_some() || rate_iops.is_some())
                    .then_some(runtime_s),
                rate,
                rate_iops,
            }
        }
    }

    prop_compose! {
        fn drives()(
            pacing in prop::sample::select(vec![Pacing::None, Pacing::Victim, Pacing::Level]),
            policy in prop::sample::select(vec![Policy::Greedy, Policy::CostBenefit]),
            cache_kind in prop::option::of(
                prop::sample::select(vec![CacheKind::Static, CacheKind::Dynamic])),
            cache_mib in 1..16u64,
            buffer in prop::sample::select(vec![65536u64, 131_072, 1 << 22]),
            (dies, channels) in prop::sample::select(vec![(1u32, 1u32), (3, 2), (16, 8)]),
            law in prop::sample::select(vec![0, 1, 2, 3]),
            restart in any::<bool>(),
            states in any::<bool>(),
        ) -> DriveSpec {
            let mut spec = tiny(pacing, cache_kind.map(|kind| cache(kind, cache_mib * MIB)));
            spec.collection.policy = policy;
            spec.controller.buffer_bytes = buffer;
            spec.nand.dies = dies;
            spec.nand.channels = channels;
            if !states {
                spec.power_states.clear();
            }
            // so little to warm that every law acts within the run
            for node in spec.thermal.nodes.values_mut() {
                node.j_per_k *= 0.01;
            }
            spec.governor.on = law != 0;
            spec.governor.lag_s = 0.0;
            spec.governor.law = match law {
                2 => Law::Steps {
                    levels: vec![
                        Level { enter_c: 60.0, leave_c: 57.0, share: 0.5 },
                        Level { enter_c: 70.0, leave_c: 65.0, share: 0.0 },
                    ],
                    dwell_s: 0.05,
                },
                3 => Law::Delay {
                    engage_c: 60.0,
                    release_c: 50.0,
                    target_c: 58.0,
                    gain_per_k: 1.0,
                    damping_s_per_k: 0.01,
                    floor: 0.1,
                },
                _ => Law::Band { engage_c: 60.0, band_k: 5.0, floor: 0.0 },
            };
            spec.governor.shutdown_c = Some(62.0);
            spec.governor.restart_c = restart.then_some(58.0);
            spec
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn no_io_is_lost(
            spec in drives(),
            stages in prop::collection::vec(prop::collection::vec(workloads(), 1..4), 1..4),
            seed in any::<u64>(),
        ) {
            let mut drive = Drive::new(spec, sample::place(), seed).unwrap();
            for workloads in &stages {
                let began_s = drive.t_s();
                drive.begin(workloads).unwrap();
                let (mut served, mut rows) = (0.0, 0);
                while !drive.is_done() && rows < 2000 {
                    let samples = drive.advance(0.1, 0.02).unwrap();
                    served += mb(&samples) * 1e6;
                    rows += samples.len();
                    let lengths: f64 = column(&samples, "interval_s").iter().sum();
                    prop_assert!(lengths > 0.0 || drive.is_done());
                    for name in ["interval_s", "queue", "power_w", "sim.controller_c"] {
                        prop_assert!(column(&samples, name).iter().all(|v| *v >= 0.0), "{}", name);
                    }
                    let times = column(&samples, "t_s");
                    prop_assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
                }
                let done = drive.is_done();
                // counts what was issued and what came back
                drive.end().unwrap();
                let counted = truth(&drive, "served_bytes");
                prop_assert!((served - counted).abs() <= 1e-9 * counted.max(1.0));
                if drive.is_stopped() || !done {
                    continue;
                }
                let runtime_s = workloads
                    .iter()
                    .filter(|workload| workload.io_bytes.is_none())
                    .map(|workload| workload.runtime_s.unwrap())
                    .fold(0.0, f64::max);
                prop_assert!(drive.t_s() - began_s >= runtime_s - 1e-9);
                if workloads.iter().all(|load| load.io_bytes.is_some() && load.runtime_s.is_none()) {
                    let asked: u64 = workloads.iter().filter_map(|load| load.io_bytes).sum();
                    prop_assert_eq!(counted, asked as f64);
                }
                drive.advance(1.0, 0.25).unwrap();
            }
            let ledger = drive.heat.ledger();
            let wrong_j = (ledger.fed_j - ledger.out_j - ledger.stored_j).abs();
            prop_assert!(wrong_j <= 1e-9 * ledger.fed_j.max(1000.0), "{}", wrong_j);
        }
    }
}

mod ends {
    use super::*;

    #[test]
    fn a_runtime_ends_with_its_last_ios() {
        let mut drive = new(sample::small_drive());
        for (index, runtime_s) in [0.5, 1.0, 1.7003].into_iter().enumerate() {
            let began_s = drive.t_s();
            let workload = for_s(runtime_s, load(Pattern::RandWrite, 4096, 32 << index));
            let samples = run_one(&mut drive, workload, 0.25);
            let late_s = drive.t_s() - began_s - runtime_s;
            assert!((0.0..0.01).contains(&late_s), "{late_s}");
            assert_eq!(*column(&samples, "t_s").last().unwrap(), drive.t_s());
        }
    }

    #[test]
    fn bytes_end_with_the_last_one() {
        let mut drive = new(sample::small_drive());
        for bytes in [1, 511, 4096, 1_000_001, 77 * MIB] {
            let samples = run_one(
                &mut drive,
                for_bytes(bytes, load(Pattern::Write, 128 * KIB, 8)),
                0.1,
            );
            near(mb(&samples) * 1e6, bytes as f64, 1e-12);
            assert_eq!(ios(&samples).round() as u64, bytes.div_ceil(128 * KIB));
        }
    }

    #[test]
    fn idle_time_passes_all() {
        let mut drive = new(sample::small_drive());
        let samples = drive.advance(2.25, 0.5).unwrap();
        assert_eq!(column(&samples, "t_s"), [0.5, 1.0, 1.5, 2.0, 2.25]);
        assert_eq!(column(&samples, "interval_s")[4], 0.25);
        assert_eq!(drive.t_s(), 2.25);
    }

    #[test]
    fn a_purge_takes_its_time() {
        let mut drive = new(sample::small_drive());
        fill(&mut drive);
        let began_s = drive.t_s();
        drive.purge().unwrap();
        assert!(!drive.is_done());
        drive.advance(100.0, 1.0).unwrap();
        assert!(drive.is_done());
        near(drive.t_s() - began_s, 5.0, 1e-9);
        assert_eq!(truth(&drive, "filled_gb"), 0.0);
    }

    fn mixed() -> Vec<Workload> {
        vec![
            Workload {
                rwmixread: Some(30.0),
                ..load(Pattern::RandRw, 4096, 16)
            },
            Workload {
                rate: Some(50e6),
                ..load(Pattern::Write, 64 * KIB, 4)
            },
        ]
    }

    fn hot() -> DriveSpec {
        let mut spec = sample::small_drive();
        spec.cache = Some(cache(CacheKind::Dynamic, 20 * MIB));
        spec.governor.on = true;
        spec.governor.law = Law::Band {
            engage_c: 40.0,
            band_k: 10.0,
            floor: 0.1,
        };
        spec
    }

    #[test]
    fn time_may_be_cut_up_in_any_way() {
        for sample_s in [0.1, 0.25, 1.0 / 3.0] {
            let mut whole = new(hot());
            whole.begin(&mixed()).unwrap();
            let all = whole.advance(24.0 * sample_s, sample_s).unwrap();
            for cuts in [vec![1.0; 24], vec![5.0, 7.0, 1.0, 11.0], vec![23.0, 1.0]] {
                let mut drive = new(hot());
                drive.begin(&mixed()).unwrap();
                let mut parts = Samples::new(drive.columns());
                for cut in cuts {
                    append(
                        &mut parts,
                        &drive.advance(cut * sample_s, sample_s).unwrap(),
                    );
                }
                same(&all, &parts);
            }
        }
    }

    #[test]
    fn a_seed_is_all_that_chance_has() {
        let run = |seed| {
            let mut drive = Drive::new(hot(), sample::place(), seed).unwrap();
            run_one(&mut drive, for_s(3.0, mixed().remove(0)), 0.5)
        };
        same(&run(7), &run(7));
        assert_ne!(run(7), run(8));
    }

    #[test]
    fn a_clone_goes_on_the_same() {
        let mut drive = new(hot());
        drive.begin(&mixed()).unwrap();
        drive.advance(1.03, 0.1).unwrap();
        let mut other = drive.clone();
        let first = drive.advance(2.0, 0.1).unwrap();
        same(&first, &other.advance(2.0, 0.1).unwrap());
        drive.end().unwrap();
        other.end().unwrap();
        same(
            &drive.advance(5.0, 1.0).unwrap(),
            &other.advance(5.0, 1.0).unwrap(),
        );
    }
}

mod rates {
    use super::*;

    #[test]
    fn a_read_takes_the_sum_of_its_parts() {
        let spec = sample::small_drive();
        let transfer_us = 4096.0 / 1200.0;
        let expected_us = 1.0 + 50.0 + transfer_us + 10.0;
        let mut drive = new(spec);
        fill(&mut drive);
        drive.advance(1.0, 1.0).unwrap();
        let samples = run_one(
            &mut drive,
            for_s(1.0, load(Pattern::RandRead, 4096, 1)),
            0.5,
        );
        // the first waits for the drive to wake
        near(column(&samples, "read_lat_us")[1], expected_us, 1e-6);
        near(column(&samples, "read_iops")[1], 1e6 / expected_us, 1e-3);
        let unmapped = {
            let mut drive = new(sample::small_drive());
            run_one(
                &mut drive,
                for_s(1.0, load(Pattern::RandRead, 4096, 1)),
                0.5,
            )
        };
        near(column(&unmapped, "read_lat_us")[1], 1.0 + 10.0, 1e-6);
    }

    #[test]
    fn a_write_takes_the_sum_of_its_parts() {
        let mut drive = new(sample::small_drive());
        let samples = run_one(
            &mut drive,
            for_s(0.5, load(Pattern::RandWrite, 4096, 1)),
            0.5,
        );
        near(column(&samples, "write_lat_us")[0], 1.2 + 8.0, 1e-6);
        // a page that is written in part is read before
        fill(&mut drive);
        drive.advance(1.0, 1.0).unwrap();
        let samples = run_one(
            &mut drive,
            for_s(0.5, load(Pattern::RandWrite, 512, 1)),
            0.1,
        );
        assert!(column(&samples, "write_lat_us")[1] > 1.2 + 8.0 + 50.0);
    }

    #[test]
    fn a_closed_loop_obeys_littles_law() {
        for pacing in [Pacing::None, Pacing::Victim, Pacing::Level] {
            let mut spec = sample::small_drive();
            spec.collection.pacing = pacing;
            let mut drive = new(spec);
            fill(&mut drive);
            for (rw, iodepth, numjobs) in [
                (Pattern::RandRead, 32, 1),
                (Pattern::RandRead, 1, 4),
                (Pattern::RandWrite, 32, 2),
                (Pattern::RandRw, 64, 1),
                (Pattern::Write, 8, 1),
            ] {
                let workload = Workload {
                    numjobs,
                    ..load(rw, 4096, iodepth)
                };
                let samples = run_one(&mut drive, for_s(6.0, workload), 2.0);
                near(
                    mean_from(&samples, "queue", 0.0),
                    f64::from(iodepth * numjobs),
                    0.01,
                );
            }
        }
    }

    #[test]
    fn hosts_beside_each_other_keep_their_queues_full() {
        let mut spec = sample::small_drive();
        spec.collection.pacing = Pacing::None;
        let mut drive = new(spec);
        fill(&mut drive);
        let both = [
            for_s(20.0, load(Pattern::RandWrite, 4096, 16)),
            for_s(20.0, load(Pattern::RandRead, 4096, 3)),
        ];
        near(mean(&run_all(&mut drive, &both, 5.0), "queue"), 19.0, 0.01);
    }

    fn mb_s(spec: DriveSpec, place: EnclosureSpec, rw: Pattern, bs: u64, iodepth: u32) -> f64 {
        let mut drive = Drive::new(spec, place, 3).unwrap();
        fill(&mut drive);
        // long enough that neither buffer nor waking counts
        let samples = run_one(&mut drive, for_s(2.0, load(rw, bs, iodepth)), 0.5);
        mb(&samples) / 2.0
    }

    #[test]
    fn nothing_is_faster_than_its_narrowest_part() {
        let wide = |mut spec: DriveSpec| {
            // each bound alone
            spec.nand.read_us = 1.0;
            spec.nand.program_us = 10.0;
            spec.nand.channel_mb_s = 1e5;
            spec.controller.read_mb_s = 20_000.0;
            spec.controller.write_mb_s = 20_000.0;
            spec.controller.read_command_us = 0.1;
            spec.controller.write_command_us = 0.1;
            spec.controller.move_us = 0.0;
            spec.nand.erase_us = 0.0;
            spec
        };
        let place = sample::place;
        let run = |spec: DriveSpec, rw: Pattern, bs: u64| mb_s(spec, place(), rw, bs, 64);
        let bound = |change: &dyn Fn(&mut DriveSpec), rw, bs, expected: f64| {
            let mut spec = wide(sample::small_drive());
            change(&mut spec);
            let found = run(spec, rw, bs);
            assert!(
                found <= 1.005 * expected && found > 0.98 * expected,
                "{found} of {expected}"
            );
        };
        use Pattern::*;
        bound(
            &|spec| spec.controller.read_mb_s = 3000.0,
            Read,
            128 * KIB,
            3000.0,
        );
        bound(
            &|spec| spec.controller.write_mb_s = 2000.0,
            Write,
            128 * KIB,
            2000.0,
        );
        bound(
            &|spec| spec.controller.read_command_us = 2.0,
            RandRead,
            4096,
            2048.0,
        );
        bound(
            &|spec| spec.controller.write_command_us = 40.0,
            RandWrite,
            4096,
            102.4,
        );
        bound(
            &|spec| spec.nand.channel_mb_s = 300.0,
            Read,
            128 * KIB,
            2400.0,
        );
        bound(
            &|spec| spec.nand.program_us = 600.0,
            Write,
            128 * KIB,
            16.0 * 65536.0 / 600.0,
        );
        for (link, iops) in [(true, false), (false, true)] {
            let mut slow = place();
            slow.link_mb_s = link.then_some(1000.0);
            slow.host_read_iops = iops.then_some(10_000.0);
            slow.host_write_iops = iops.then_some(5000.0);
            let expected = if link { [1000.0; 2] } else { [1310.72, 660.0] };
            for (rw, expected) in [Read, Write].into_iter().zip(expected) {
                let found = mb_s(wide(sample::small_drive()), slow.clone(), rw, 128 * KIB, 64);
                assert!(
                    found <= 1.005 * expected && found > 0.98 * expected,
                    "{found} of {expected}"
                );
            }
        }
    }

    #[test]
    fn random_reads_use_as_many_dies_as_are_asked() {
        let mut spec = sample::small_drive();
        spec.nand.dies = 32;
        let mut drive = new(spec);
        fill(&mut drive);
        let mut iops = |iodepth| {
            let workload = for_s(1.0, load(Pattern::RandRead, 4096, iodepth));
            ios(&run_one(&mut drive, workload, 1.0))
        };
        let (one, many, all) = (iops(1), iops(32), iops(1024));
        // of 32 balls in 32 urns some 20 urns have one; a closed loop queues at the others
        let busy = many / (1e6 / 50.0);
        assert!((14.0..22.0).contains(&busy), "{busy} dies");
        assert!(all > many && all <= 32.0 * 1e6 / 50.0 * 1.001, "{all}");
        assert!(many < 32.0 * one && many > 12.0 * one);
    }

    #[test]
    fn reads_wait_behind_programs() {
        let mut drive = new(sample::small_drive());
        fill(&mut drive);
        let alone = run_one(
            &mut drive,
            for_s(2.0, load(Pattern::RandRead, 4096, 4)),
            2.0,
        );
        let mix = Workload {
            rwmixread: Some(70.0),
            ..load(Pattern::RandRw, 4096, 4)
        };
        let beside = run_one(&mut drive, for_s(2.0, mix), 2.0);
        let p99 = |samples: &Samples| column(samples, "read_lat_p99_us")[0];
        assert!(
            p99(&alone) < 300.0 && p99(&beside) > 600.0,
            "{} {}",
            p99(&alone),
            p99(&beside)
        );
    }

    #[test]
    fn a_burst_into_the_buffer_is_faster_than_the_flash() {
        let mut spec = sample::small_drive();
        spec.controller.buffer_bytes = 64 * MIB;
        let mut drive = new(spec);
        let burst = run_one(
            &mut drive,
            for_bytes(48 * MIB, load(Pattern::Write, 128 * KIB, 8)),
            0.001,
        );
        let fast = mb(&burst) / column(&burst, "interval_s").iter().sum::<f64>();
        near(fast, 5000.0, 0.02);
        let long = run_one(
            &mut drive,
            for_bytes(900 * MIB, load(Pattern::Write, 128 * KIB, 8)),
            0.01,
        );
        let end_s = drive.t_s();
        near(
            mean_from(&long, "write_bw_mb_s", end_s - 0.3),
            16.0 * 65536.0 / 600.0,
            0.05,
        );
    }

    #[test]
    fn a_held_share_scales_what_firmware_and_path_bound() {
        let mut spec = sample::small_drive();
        // firmware is what limits
        spec.controller.read_command_us = 10.0;
        spec.controller.write_command_us = 100.0;
        spec.controller.read_mb_s = 1000.0;
        let mut drive = new(spec);
        fill(&mut drive);
        let cases = [
            load(Pattern::RandRead, 4096, 256),
            load(Pattern::Write, 4096, 64),
            load(Pattern::Read, MIB, 8),
        ];
        for case in cases {
            let mut rate = |share: f64| {
                drive.hold(Some(share)).unwrap();
                let samples = run_one(&mut drive, for_s(2.0, case.clone()), 1.0);
                mean(&samples, "read_bw_mb_s").max(mean(&samples, "write_bw_mb_s"))
            };
            let full = rate(1.0);
            for share in [0.1, 0.25, 0.5, 0.8] {
                near(rate(share), share * full, 0.01);
            }
        }
        let error = drive.hold(Some(0.0)).unwrap_err().to_string();
        assert!(error.starts_with("share is 0:"), "{error}");
        assert!(drive.hold(Some(f64::NAN)).is_err() && drive.hold(Some(1.1)).is_err());
    }
}

mod collection {
    use super::*;

    fn paced(pacing: Pacing) -> Drive {
        let mut spec = sample::small_drive();
        spec.collection.pacing = pacing;
        let mut drive = new(spec);
        fill(&mut drive);
        drive
    }

    fn random_writes(runtime_s: f64) -> Workload {
        for_s(runtime_s, load(Pattern::RandWrite, 4096, 32))
    }

    fn deviation(samples: &Samples, from_s: f64) -> f64 {
        let values: Vec<f64> = column(samples, "write_iops")
            .iter()
            .zip(column(samples, "t_s"))
            .filter(|(_, t_s)| **t_s > from_s)
            .map(|(iops, _)| *iops)
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / values.len() as f64).sqrt()
    }

    #[test]
    fn pacing_changes_the_evenness_and_not_the_mean() {
        // an interval in which some two blocks are collected, as a second is for a large drive
        let seen = [Pacing::None, Pacing::Victim, Pacing::Level].map(|pacing| {
            let mut spec = sample::small_drive();
            spec.capacity.user_bytes *= 4;
            spec.capacity.raw_bytes *= 4;
            // firmware is what limits, as in the drives that were measured
            spec.controller.write_command_us = 9.0;
            spec.controller.move_us = 13.0;
            // a little more than greedy collection moves with this spare area
            spec.collection.level_moves = 3.8;
            spec.collection.pacing = pacing;
            let mut drive = new(spec);
            let all = |workload| Workload {
                span_bytes: 4 * GIB,
                ..workload
            };
            let sequential = all(load(Pattern::Write, 128 * KIB, 32));
            run_one(&mut drive, for_bytes(4 * GIB, sequential), 0.1);
            let began_s = drive.t_s();
            let samples = run_one(&mut drive, all(random_writes(300.0)), 0.02);
            let from_s = began_s + 200.0;
            (
                mean_from(&samples, "write_iops", from_s),
                deviation(&samples, from_s),
            )
        });
        let [none, victim, level] = seen;
        near(victim.0, none.0, 0.03);
        near(level.0, none.0, 0.03);
        assert!(victim.1 < 0.1 * none.1, "{seen:?}");
        assert!(level.1 < 0.5 * victim.1, "{seen:?}");
    }

    #[test]
    fn writes_held_back_by_a_whole_block_take_that_long() {
        let longest_us = |pacing| {
            let mut drive = paced(pacing);
            let samples = run_one(&mut drive, random_writes(20.0), 5.0);
            *column(&samples, "write_lat_max_us").last().unwrap()
        };
        let (none, victim) = (longest_us(Pacing::None), longest_us(Pacing::Victim));
        // a block of 1024 pages, most of them valid
        assert!(none > 2000.0 && victim < 1500.0, "{none} {victim}");
    }

    #[test]
    fn moved_pages_are_those_of_the_translation_layer() {
        let mut drive = paced(Pacing::Victim);
        let samples = run_one(&mut drive, random_writes(20.0), 1.0);
        let per_write = column(&samples, "sim.moved_per_write");
        let writes = column(&samples, "write_iops")
            .iter()
            .zip(column(&samples, "interval_s"));
        let moved: f64 = per_write
            .iter()
            .zip(writes)
            .map(|(moved, (iops, length_s))| moved * iops * length_s)
            .sum();
        let counters = drive.firmware.ftl.counters();
        let (host, exact) = (counters.host_pages as f64, counters.moved_pages as f64);
        // those in flight at the edge of a sample are written in one and come back in the next
        near(moved, exact, 0.001);
        assert_eq!(truth(&drive, "host_pages"), host);
        assert_eq!(truth(&drive, "moved_pages"), exact);
        near(drive.totals().moved_pages, exact, 1e-12);
        near(drive.totals().host_write_pages, host, 1e-12);
        // every program is of pages of the host or of moved ones
        let programmed = drive.totals().programmed_pages;
        assert!(
            (programmed - host - exact).abs() <= 32.0,
            "{programmed} {}",
            host + exact
        );
        // greedy collection with an eighth of spare, after Desnoyers
        let steady = per_write.last().unwrap();
        assert!((2.0..5.0).contains(steady), "{steady}");
    }

    #[test]
    fn the_first_fall_comes_when_the_spare_area_is_used_up() {
        for pacing in [Pacing::None, Pacing::Victim, Pacing::Level] {
            let mut drive = paced(pacing);
            let spare = truth(&drive, "spare_gb") * 1e9;
            near(spare, (1u64 << 27) as f64, 0.03);
            let samples = run_one(&mut drive, random_writes(3.0), 0.01);
            let iops = column(&samples, "write_iops");
            let fresh = iops[2..5].iter().sum::<f64>() / 3.0;
            let first = iops
                .iter()
                .skip(5)
                .position(|iops| *iops < 0.9 * fresh)
                .unwrap()
                + 5;
            let written: f64 = iops[..first].iter().sum::<f64>() * 0.01 * 4096.0;
            near(written, spare, 0.1);
        }
    }

    #[test]
    fn sequential_overwrites_never_fall() {
        for pacing in [Pacing::None, Pacing::Victim, Pacing::Level] {
            let mut drive = paced(pacing);
            let workload = for_s(5.0, load(Pattern::Write, 128 * KIB, 32));
            let samples = run_one(&mut drive, workload, 0.1);
            let rates = &column(&samples, "write_bw_mb_s")[2..];
            let least = rates[..rates.len() - 1]
                .iter()
                .copied()
                .fold(f64::INFINITY, f64::min);
            assert!(least > 0.95 * 1747.0, "{pacing:?} {least}");
            let moved = truth(&drive, "moved_pages") / truth(&drive, "host_pages");
            assert!(moved < 0.001, "{moved}");
        }
    }

    #[test]
    fn purge_brings_all_back_and_idling_some() {
        let mut drive = paced(Pacing::Victim);
        let start = |drive: &mut Drive| {
            let samples = run_one(drive, random_writes(0.09), 0.01);
            column(&samples, "write_iops")[..8]
                .iter()
                .copied()
                .fold(0.0, f64::max)
        };
        let fresh = start(&mut drive);
        run_one(&mut drive, random_writes(10.0), 1.0);
        let worn = start(&mut drive);
        let spare = truth(&drive, "spare_gb");
        drive.advance(0.5, 0.1).unwrap();
        let won = (truth(&drive, "spare_gb") - spare) * 1e9;
        // 100 MB of blocks in a second, of which some are stale
        assert!(won > 0.0 && won < 0.5 * 100e6, "{won}");
        drive.advance(60.0, 1.0).unwrap();
        assert_eq!(drive.firmware.ftl.stale_pages(), 0);
        let rested = start(&mut drive);
        assert!(
            worn < 0.6 * fresh && rested > 0.9 * fresh,
            "{fresh} {worn} {rested}"
        );
        run_one(&mut drive, random_writes(10.0), 1.0);
        drive.purge().unwrap();
        drive.advance(10.0, 1.0).unwrap();
        let purged = start(&mut drive);
        assert!(purged > 0.99 * fresh, "{purged} {fresh}");
    }

    #[test]
    fn idle_collection_keeps_its_rate() {
        let mut spec = sample::small_drive();
        spec.collection.idle_mb_s = 20.0;
        let mut drive = new(spec);
        fill(&mut drive);
        // whole blocks go stale, and nothing has to be moved
        run_one(
            &mut drive,
            for_bytes(100 * MIB, load(Pattern::Write, 128 * KIB, 32)),
            0.1,
        );
        let spare = truth(&drive, "spare_gb");
        let samples = drive.advance(3.0, 1.0).unwrap();
        let won = (truth(&drive, "spare_gb") - spare) * 1e9;
        near(won, 3.0 * 20e6, 0.08);
        assert!(
            column(&samples, "power_state")
                .iter()
                .all(|state| *state == 0.0)
        );
        drive.advance(10.0, 1.0).unwrap();
        assert_eq!(drive.firmware.ftl.stale_pages(), 0);
        assert_eq!(
            column(&drive.advance(5.0, 5.0).unwrap(), "power_state"),
            [4.0]
        );
    }
}

mod caches {
    use super::*;

    fn cached(kind: CacheKind) -> DriveSpec {
        let mut spec = sample::small_drive();
        spec.capacity.raw_bytes += 400 * MIB;
        if kind == CacheKind::Static {
            spec.capacity.reserve_bytes = 400 * MIB;
        }
        spec.cache = Some(cache(kind, 128 * MIB));
        spec
    }

    #[test]
    fn writes_fall_once_the_cache_is_full_and_rest_brings_it_back() {
        for kind in [CacheKind::Static, CacheKind::Dynamic] {
            let mut drive = new(cached(kind));
            let write = for_bytes(400 * MIB, load(Pattern::Write, 128 * KIB, 32));
            let fast_bytes = |samples: &Samples| -> f64 {
                let rates = column(samples, "write_bw_mb_s");
                // at first it may have to wake
                let fast = rates.iter().skip_while(|rate| **rate < 2000.0);
                let fast = fast.take_while(|rate| **rate > 2000.0);
                fast.sum::<f64>() * 0.002 * 1e6
            };
            let samples = run_one(&mut drive, write.clone(), 0.002);
            near(fast_bytes(&samples), (128 * MIB) as f64, 0.08);
            near(mean_from(&samples, "write_bw_mb_s", 0.1), 1747.6, 0.03);
            near(truth(&drive, "cached_gb") * 1e9, (128 * MIB) as f64, 0.04);
            // too short a rest
            drive.advance(1.5, 0.5).unwrap();
            let samples = run_one(&mut drive, write.clone(), 0.002);
            assert!(fast_bytes(&samples) < 0.2 * 128.0 * MIB as f64, "{kind:?}");
            drive.advance(2.0, 0.5).unwrap();
            let before = truth(&drive, "cached_gb");
            drive.advance(0.4, 0.2).unwrap();
            let folded = (before - truth(&drive, "cached_gb")) * 1e9;
            assert!(folded < 1.2 * 0.4 * 200e6, "{kind:?} {folded}");
            drive.advance(10.0, 0.5).unwrap();
            assert_eq!(truth(&drive, "cached_gb"), 0.0);
            let samples = run_one(&mut drive, write.clone(), 0.002);
            near(fast_bytes(&samples), (128 * MIB) as f64, 0.08);
        }
    }

    #[test]
    fn a_cache_of_stale_data_comes_back_too() {
        for kind in [CacheKind::Static, CacheKind::Dynamic] {
            let mut spec = cached(kind);
            spec.collection.idle_mb_s = 0.0;
            let mut drive = new(spec);
            let write = |bytes| for_bytes(bytes, load(Pattern::Write, 128 * KIB, 32));
            run_one(&mut drive, write(128 * MIB), 0.1);
            // the same bytes again, past the cache
            run_one(&mut drive, write(128 * MIB), 0.1);
            assert_eq!(truth(&drive, "cached_gb"), 0.0, "{kind:?}");
            assert!(!drive.firmware.ftl.writes_go_to_cache());
            drive.advance(10.0, 1.0).unwrap();
            run_one(&mut drive, write(MIB), 0.1);
            assert!(drive.firmware.ftl.writes_go_to_cache(), "{kind:?}");
        }
    }

    #[test]
    fn reads_of_cached_data_take_the_times_of_its_cells() {
        let mut drive = new(cached(CacheKind::Dynamic));
        let write = |bytes| for_bytes(bytes, load(Pattern::Write, 128 * KIB, 32));
        run_one(&mut drive, write(256 * MIB), 0.1);
        drive.advance(1.0, 1.0).unwrap();
        let mut latency_us = |offset_bytes| {
            let reads = Workload {
                offset_bytes,
                span_bytes: 100 * MIB,
                ..load(Pattern::RandRead, 4096, 1)
            };
            column(&run_one(&mut drive, for_s(0.3, reads), 0.1), "read_lat_us")[1]
        };
        let rest_us = 1.0 + 4096.0 / 1200.0 + 10.0;
        near(latency_us(0), 30.0 + rest_us, 1e-6);
        near(latency_us(150 * MIB), 50.0 + rest_us, 1e-6);
    }
}

mod heat {
    use super::*;

    fn balanced(drive: &Drive) {
        let ledger = drive.heat.ledger();
        let wrong_j = (ledger.fed_j - ledger.out_j - ledger.stored_j).abs();
        assert!(
            wrong_j <= 1e-9 * ledger.fed_j,
            "{wrong_j} of {}",
            ledger.fed_j
        );
    }

    fn governed(law: Law) -> DriveSpec {
        let mut spec = sample::small_drive();
        spec.governor.on = true;
        spec.governor.law = law;
        spec
    }

    fn writes(runtime_s: f64) -> Workload {
        for_s(runtime_s, load(Pattern::Write, 128 * KIB, 32))
    }

    #[test]
    fn energy_is_kept_with_everything_on() {
        let mut spec = governed(Law::Band {
            engage_c: 45.0,
            band_k: 5.0,
            floor: 0.1,
        });
        spec.cache = Some(cache(CacheKind::Dynamic, 40 * MIB));
        let mut drive = new(spec);
        let mut drawn_j = 0.0;
        let mut note = |samples: &Samples| drawn_j += sum(samples, "power_w");
        note(&fill(&mut drive));
        note(&run_one(
            &mut drive,
            for_s(20.0, load(Pattern::RandRw, 4096, 32)),
            0.25,
        ));
        note(&drive.advance(30.0, 0.3).unwrap());
        drive.purge().unwrap();
        note(&drive.advance(30.0, 1.0).unwrap());
        note(&run_one(&mut drive, writes(20.0), 1.0));
        balanced(&drive);
        // the samples' power is all but what the place feeds
        near(
            drawn_j + 0.2 * drive.t_s(),
            truth(&drive, "energy_in_j"),
            1e-9,
        );
    }

    #[test]
    fn a_band_holds_its_band_and_counts() {
        let mut drive = new(governed(Law::Band {
            engage_c: 55.0,
            band_k: 10.0,
            floor: 0.05,
        }));
        drive.begin(&[writes(900.0)]).unwrap();
        drive.advance(600.0, 1.0).unwrap();
        let samples = drive.advance(200.0, 1.0).unwrap();
        let governed_c = drive.heat.governed_c();
        assert!((55.0..65.0).contains(&governed_c), "{governed_c}");
        let permitted = column(&samples, "sim.permitted");
        assert!(permitted.iter().all(|share| *share < 1.0 && *share > 0.05));
        near(permitted[199], permitted[100], 0.01);
        near(
            permitted[199],
            1.0 - 0.95 * (governed_c - 55.0) / 10.0,
            0.01,
        );
        assert_eq!(column(&samples, "throttle_count.1")[0], 1.0);
        let time_s = column(&samples, "throttle_time_s.1");
        near(time_s[199] - time_s[0], 199.0, 0.01);
        let onset_s = truth(&drive, "onset_s");
        assert!(onset_s > 1.0 && onset_s < 600.0, "{onset_s}");
        balanced(&drive);
    }

    #[test]
    fn steps_make_a_limit_cycle() {
        let mut drive = new(governed(Law::Steps {
            levels: vec![Level {
                enter_c: 64.0,
                leave_c: 63.5,
                share: 0.2,
            }],
            dwell_s: 1.0,
        }));
        let samples = run_one(&mut drive, writes(900.0), 1.0);
        let permitted = &column(&samples, "sim.permitted")[400..900];
        assert!(permitted.iter().any(|share| *share > 0.999));
        assert!(permitted.iter().any(|share| *share < 0.201));
        let counts = column(&samples, "throttle_count.1");
        assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(counts[899] > counts[400] + 2.0, "{}", counts[899]);
        let fell = permitted
            .windows(2)
            .filter(|pair| pair[1] < pair[0])
            .count() as f64;
        assert!(fell >= counts[899] - counts[400] - 1.0);
    }

    fn cooking(restart_c: Option<f64>) -> DriveSpec {
        let mut spec = governed(Law::Band {
            engage_c: 57.0,
            band_k: 50.0,
            floor: 0.5,
        });
        spec.governor.shutdown_c = Some(60.0);
        spec.governor.restart_c = restart_c;
        spec
    }

    #[test]
    fn a_shutdown_is_for_good_where_nothing_restarts() {
        let mut drive = new(cooking(None));
        let samples = run_one(&mut drive, writes(900.0), 1.0);
        assert!(drive.is_stopped() && drive.is_done());
        assert!(drive.t_s() < 900.0);
        near(mb(&samples) * 1e6, truth(&drive, "served_bytes"), 1e-12);
        drive.advance(600.0, 10.0).unwrap();
        let later = run_one(&mut drive, writes(10.0), 1.0);
        assert_eq!(mb(&later), 0.0);
        assert!(drive.is_done() && drive.is_stopped());
        // it never warms for it
        let mut held = new(cooking(None));
        held.hold(Some(1.0)).unwrap();
        run_one(&mut held, writes(900.0), 1.0);
        assert!(!held.is_stopped() && held.t_s() >= 900.0);
    }

    #[test]
    fn a_shutdown_ends_where_it_cooled() {
        let mut drive = new(cooking(Some(50.0)));
        let samples = run_one(&mut drive, writes(900.0), 1.0);
        assert!(!drive.is_stopped() && drive.t_s() >= 900.0);
        let rates = column(&samples, "write_bw_mb_s");
        let last = rates.len() - 1;
        assert!(
            rates[..last]
                .windows(2)
                .any(|pair| pair[0] == 0.0 && pair[1] > 0.0)
        );
        assert!(
            column(&samples, "sim.controller_c")
                .iter()
                .all(|temp_c| *temp_c < 75.0)
        );
        balanced(&drive);
    }

    #[test]
    fn rest_saves_power_and_the_first_command_pays() {
        let mut spec = sample::small_drive();
        spec.collection.idle_mb_s = 0.0;
        let mut drive = new(spec);
        fill(&mut drive);
        let samples = drive.advance(4.0, 0.05).unwrap();
        let states = column(&samples, "power_state");
        let power_w = column(&samples, "power_w");
        assert_eq!((states[0], states[10], states[79]), (0.0, 3.0, 4.0));
        assert!(power_w[0] >= 0.8);
        near(power_w[10], 0.05, 1e-6);
        near(power_w[79], 0.005, 1e-6);
        let samples = run_one(
            &mut drive,
            for_bytes(8192, load(Pattern::Read, 4096, 1)),
            0.1,
        );
        let [longest_us, mean_us] =
            ["read_lat_max_us", "read_lat_us"].map(|name| column(&samples, name)[0]);
        near(longest_us, 45_000.0 + 64.4, 1e-4);
        near(mean_us, 22_500.0 + 64.4, 1e-3);
    }
}

mod lumped {
    use super::*;
    use crate::lumped::{Level, Lumped, Profile};

    /// What a workload does in a second at a share, on the exact engine.
    fn level(spec: &DriveSpec, workload: &Workload, share: f64) -> String {
        let mut drive = new(spec.clone());
        fill(&mut drive);
        drive.hold(Some(share)).unwrap();
        drive.begin(std::slice::from_ref(workload)).unwrap();
        drive.advance(2.0, 1.0).unwrap();
        let (before, began_s) = (*drive.totals(), drive.t_s());
        let samples = drive.advance(4.0, 1.0).unwrap();
        let mut work = *drive.totals();
        work.add(&before.scaled(-1.0));
        let work = work.scaled(1.0 / (drive.t_s() - began_s));
        let work: Vec<String> = work
            .by_name()
            .iter()
            .map(|(name, value)| format!("\"{name}\":{}", value.max(0.0)))
            .collect();
        let mb_s = mb(&samples) / 4.0;
        let work = work.join(",");
        format!("{{\"share\":{share},\"mb_s\":{mb_s},\"work\":{{{work}}}}}")
    }

    fn profile(spec: &DriveSpec, workload: &Workload) -> Profile {
        let levels: Vec<String> = (1..=10)
            .map(|tenths| level(spec, workload, f64::from(tenths) / 10.0))
            .collect();
        serde_json::from_str(&format!("[{}]", levels.join(","))).unwrap()
    }

    #[test]
    fn a_profile_gives_what_the_engine_gives() {
        let mut spec = sample::small_drive();
        spec.governor.on = true;
        spec.governor.law = Law::Band {
            engage_c: 50.0,
            band_k: 5.0,
            floor: 0.05,
        };
        // the engine is filled first, and cooled again
        for rw in [Pattern::Read, Pattern::Write] {
            let workload = load(rw, 128 * KIB, 32);
            let profile = profile(&spec, &workload);
            profile.validate().unwrap();
            let mut drive = new(spec.clone());
            fill(&mut drive);
            drive.advance(3000.0, 100.0).unwrap();
            let samples = run_one(&mut drive, for_s(400.0, workload), 1.0);
            let mut lumped = Lumped::new(&spec, &sample::place()).unwrap();
            lumped.rest(3000.0).unwrap();
            let found = lumped.load(&profile, 400);
            let onset_s = truth(&drive, "onset_s");
            assert!(
                (found.onset_s.unwrap() - onset_s).abs() <= 1.0,
                "{found:?} {onset_s}"
            );
            let throttled = found.mb_s[300..].iter().sum::<f64>() / 100.0;
            let name = ["write_bw_mb_s", "read_bw_mb_s"][usize::from(rw == Pattern::Read)];
            let exact = column(&samples, name)[300..400].iter().sum::<f64>() / 100.0;
            near(throttled, exact, 0.01);
        }
    }

    #[test]
    fn a_wrong_profile_is_named() {
        let parse = |text: &str| serde_json::from_str::<Profile>(text).unwrap();
        let work = "{\"read_commands\":0,\"write_commands\":0,\"host_read_pages\":0,\
            \"host_write_pages\":0,\"read_pages\":-1,\"programmed_pages\":0,\
            \"erased_pages\":0,\"moved_pages\":0,\"busy_s\":0,\"active_s\":1}";
        for (share, mb_s, begins) in [
            ("0", "1", "profile[0].share is 0:"),
            ("1.5", "1", "profile[0].share is 1.5:"),
            ("1", "-1", "profile[0].mb_s is -1:"),
            ("1", "1", "profile[0].work.read_pages is -1:"),
        ] {
            let text = format!("[{{\"share\":{share},\"mb_s\":{mb_s},\"work\":{work}}}]");
            let error = parse(&text).validate().unwrap_err().to_string();
            assert!(error.starts_with(begins), "{error}");
        }
        assert!(parse("[]").validate().is_err());
        assert!(size_of::<Level>() > 0);
    }
}

mod errors {
    use super::*;

    type Change = fn(&mut DriveSpec, f64);

    /// A number of a drive by its key, and what it may not be.
    const NUMBERS: [(&str, Change, bool); 26] = [
        (
            "capacity.purge_s",
            |spec, value| spec.capacity.purge_s = value,
            true,
        ),
        (
            "nand.channel_mb_s",
            |spec, value| spec.nand.channel_mb_s = value,
            false,
        ),
        (
            "nand.read_us",
            |spec, value| spec.nand.read_us = value,
            false,
        ),
        (
            "nand.program_us",
            |spec, value| spec.nand.program_us = value,
            false,
        ),
        (
            "nand.erase_us",
            |spec, value| spec.nand.erase_us = value,
            true,
        ),
        (
            "controller.read_mb_s",
            |spec, value| spec.controller.read_mb_s = value,
            false,
        ),
        (
            "controller.write_mb_s",
            |spec, value| spec.controller.write_mb_s = value,
            false,
        ),
        (
            "controller.read_command_us",
            |s, value| s.controller.read_command_us = value,
            false,
        ),
        (
            "controller.write_command_us",
            |s, value| s.controller.write_command_us = value,
            false,
        ),
        (
            "controller.move_us",
            |spec, value| spec.controller.move_us = value,
            true,
        ),
        (
            "controller.read_latency_us",
            |s, value| s.controller.read_latency_us = value,
            true,
        ),
        (
            "controller.write_latency_us",
            |s, value| s.controller.write_latency_us = value,
            true,
        ),
        (
            "collection.idle_mb_s",
            |spec, value| spec.collection.idle_mb_s = value,
            true,
        ),
        (
            "cache.read_us",
            |spec, value| spec.cache.as_mut().unwrap().read_us = value,
            false,
        ),
        (
            "cache.program_us",
            |spec, value| spec.cache.as_mut().unwrap().program_us = value,
            false,
        ),
        (
            "cache.fold_after_s",
            |s, value| s.cache.as_mut().unwrap().fold_after_s = value,
            true,
        ),
        (
            "cache.fold_mb_s",
            |spec, value| spec.cache.as_mut().unwrap().fold_mb_s = value,
            true,
        ),
        (
            "energy.idle_w",
            |spec, value| spec.energy.idle_w = value,
            true,
        ),
        (
            "energy.active_w",
            |spec, value| spec.energy.active_w = value,
            true,
        ),
        (
            "energy.host_read_uj",
            |spec, value| spec.energy.host_read_uj = value,
            true,
        ),
        (
            "energy.program_uj",
            |spec, value| spec.energy.program_uj = value,
            true,
        ),
        (
            "energy.move_uj",
            |spec, value| spec.energy.move_uj = value,
            true,
        ),
        (
            "energy.leakage_w",
            |spec, value| spec.energy.leakage_w = value,
            true,
        ),
        (
            "energy.leakage_doubling_k",
            |s, value| s.energy.leakage_doubling_k = value,
            false,
        ),
        (
            "energy.board_share",
            |spec, value| spec.energy.board_share = value,
            true,
        ),
        (
            "power_states[0].exit_us",
            |spec, value| spec.power_states[0].exit_us = value,
            true,
        ),
    ];

    fn error(change: impl FnOnce(&mut DriveSpec)) -> String {
        let mut spec = sample::small_drive();
        spec.cache = Some(cache(CacheKind::Dynamic, 16 * MIB));
        change(&mut spec);
        let error = Drive::new(spec, sample::place(), 0).err();
        error.map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn a_wrong_number_of_a_drive_is_named() {
        for (key, change, zero_is_fine) in NUMBERS {
            for value in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
                let message = error(|spec| change(spec, value));
                if value == 0.0 && zero_is_fine {
                    assert_eq!(message, "", "{key}");
                    continue;
                }
                assert!(
                    message.starts_with(&format!("drive: {key} is {value}:")),
                    "{key} {message}"
                );
                assert!(!message.contains('\n'));
            }
        }
    }

    #[test]
    fn a_size_that_cannot_be_is_named() {
        type Case = (&'static str, fn(&mut DriveSpec));
        let cases: [Case; 20] = [
            ("capacity.user_bytes is 0:", |spec| {
                spec.capacity.user_bytes = 0
            }),
            ("capacity.user_bytes is 5000:", |spec| {
                spec.capacity.user_bytes = 5000
            }),
            ("capacity.raw_bytes is 0:", |spec| {
                spec.capacity.raw_bytes = 0
            }),
            ("capacity.raw_bytes is 18446744073709551615:", |s| {
                s.capacity.raw_bytes = u64::MAX
            }),
            ("capacity.raw_bytes is 1", |spec| {
                spec.capacity.reserve_bytes = u64::MAX
            }),
            ("nand.dies is 0:", |spec| spec.nand.dies = 0),
            ("nand.dies is 4294967295:", |spec| spec.nand.dies = u32::MAX),
            ("nand.channels is 0:", |spec| spec.nand.channels = 0),
            ("nand.channels is 17:", |spec| spec.nand.channels = 17),
            ("nand.unit_bytes is 0:", |spec| spec.nand.unit_bytes = 0),
            ("nand.block_bytes is 0:", |spec| spec.nand.block_bytes = 0),
            ("nand.block_bytes is 12288:", |spec| {
                spec.nand.block_bytes = 12288
            }),
            ("nand.block_bytes is 4096:", |spec| {
                (spec.nand.block_bytes, spec.nand.unit_bytes) = (4096, 4096);
            }),
            ("nand.block_bytes is 67108864:", |spec| {
                spec.nand.block_bytes = 64 * MIB
            }),
            ("controller.buffer_bytes is 4096:", |spec| {
                spec.controller.buffer_bytes = 4096
            }),
            ("controller.buffer_bytes is 0:", |spec| {
                spec.controller.buffer_bytes = 0
            }),
            ("cache.bytes is 0:", |spec| {
                spec.cache.as_mut().unwrap().bytes = 0
            }),
            ("cache.bytes is 4503599627370496:", |s| {
                s.cache.as_mut().unwrap().bytes = 1 << 52
            }),
            ("cache.bytes is 16777216:", |spec| {
                spec.cache.as_mut().unwrap().kind = CacheKind::Static;
            }),
            ("cache.bits is 1:", |spec| {
                spec.cache.as_mut().unwrap().bits = 1
            }),
        ];
        for (begins, change) in cases {
            let message = error(change);
            assert!(
                message.starts_with(&format!("drive: {begins}")),
                "{begins} {message}"
            );
        }
    }

    #[test]
    fn a_wrong_workload_is_named() {
        type Case = (&'static str, fn(&mut Workload));
        let cases: [Case; 17] = [
            ("bs is 0:", |load| load.bs = 0),
            ("bs is 4294967296:", |load| load.bs = 1 << 32),
            ("iodepth is 0:", |load| load.iodepth = 0),
            ("numjobs is 0:", |load| load.numjobs = 0),
            ("iodepth is 4294967295:", |load| load.iodepth = u32::MAX),
            ("span_bytes is 100:", |load| load.span_bytes = 100),
            ("span_bytes is 2147483648:", |load| {
                load.span_bytes = 2 * GIB
            }),
            ("span_bytes is 1073741824:", |load| {
                load.offset_bytes = u64::MAX
            }),
            ("io_bytes is 0:", |load| load.io_bytes = Some(0)),
            ("runtime_s is 0:", |load| load.runtime_s = Some(0.0)),
            ("runtime_s is NaN:", |load| load.runtime_s = Some(f64::NAN)),
            ("rate is -1:", |load| load.rate = Some(-1.0)),
            ("rate is inf:", |load| load.rate = Some(f64::INFINITY)),
            ("rate_iops is 0:", |load| load.rate_iops = Some(0.0)),
            ("rwmixread is 101:", |load| load.rwmixread = Some(101.0)),
            ("rwmixread is -1:", |load| load.rwmixread = Some(-1.0)),
            ("rwmixread is NaN:", |load| load.rwmixread = Some(f64::NAN)),
        ];
        let mut drive = new(sample::small_drive());
        for (begins, change) in cases {
            let mut workload = load(Pattern::RandRw, 4096, 32);
            change(&mut workload);
            let message = drive.begin(&[workload]).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("workload: {begins}")),
                "{begins} {message}"
            );
        }
    }

    #[test]
    fn a_stretch_of_time_that_cannot_be_is_named() {
        let mut drive = new(sample::small_drive());
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let message = drive.advance(value, 1.0).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("duration_s is {value}:")),
                "{message}"
            );
            let message = drive.advance(1.0, value).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("sample_s is {value}:")),
                "{message}"
            );
        }
        assert!(drive.advance(1.0, 1e-9).is_err());
    }
}
