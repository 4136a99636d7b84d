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
        program_us: 150.0,
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
            let expected = if link { [1000.0; 2] } else { [1310.72, 655.36] };
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
