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
                    Level { enter_c: 60.0, leave_c: 57.0, share: Some(0.5), state: None },
                    Level { enter_c: 70.0, leave_c: 65.0, share: Some(0.0), state: None },
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
            // counts what was issued and what completed
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
