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
