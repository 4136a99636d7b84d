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

/// Four times the small drive: a cache of one GiB takes three, and half of what it was leaves more
/// than one.
fn with_large_cache(fold_us: Option<f64>) -> DriveSpec {
    let mut spec = sample::small_drive();
    spec.capacity.user_bytes *= 4;
    spec.capacity.raw_bytes *= 4;
    spec.cache = Some(CacheSpec {
        fold_us,
        ..cache(CacheKind::Dynamic, GIB)
    });
    spec
}

/// What it writes in a stretch of its user data, in sequence.
fn write_part(drive: &mut Drive, offset_bytes: u64, bytes: u64) -> Samples {
    let write = Workload {
        span_bytes: bytes,
        offset_bytes,
        ..load(Pattern::Write, MIB, 8)
    };
    run_one(drive, for_bytes(bytes, write), 0.02)
}

/// Its rate in such a stretch.
fn rate_of(drive: &mut Drive, offset_bytes: u64, bytes: u64) -> f64 {
    let began_s = drive.t_s();
    write_part(drive, offset_bytes, bytes);
    bytes as f64 / MB / (drive.t_s() - began_s)
}

#[test]
fn a_drive_written_from_end_to_end_has_a_rate_for_its_cache_for_free_blocks_and_for_folding() {
    let direct_mb_s = 16.0 * 65536.0 / 600.0;
    // a program for each of the host's, and half a one with its reads that is folded
    let dies_mb_s = 16.0 * 65536.0 / (600.0 + (600.0 + 3.0 * 30.0) / 2.0);
    for (fold_us, folding_mb_s) in [(20.0, 2.0 * 4096.0 / 20.0), (0.0, dies_mb_s)] {
        let mut drive = new(with_large_cache(Some(fold_us)));
        // past each change by what is under way
        let ends = [16, 1008, 1056, 2368, 2560, 4000].map(|mib| mib * MIB);
        let mut rates = [0.0; 5];
        write_part(&mut drive, 0, ends[0]);
        for (part, rate) in rates.iter_mut().enumerate() {
            *rate = rate_of(&mut drive, ends[part], ends[part + 1] - ends[part]);
        }
        near(rates[0], 5000.0, 0.03);
        near(rates[2], direct_mb_s, 0.03);
        near(rates[4], folding_mb_s, 0.08);
    }
}

#[test]
fn a_drive_filled_in_part_has_a_cache_of_what_is_free() {
    for filled in [1, 2, 3] {
        let mut drive = new(with_large_cache(None));
        write_part(&mut drive, 0, filled * GIB);
        drive.advance(60.0, 1.0).unwrap();
        assert_eq!(truth(&drive, "cached_gb"), 0.0);
        let free_gb = truth(&drive, "spare_gb");
        let samples = write_part(&mut drive, filled * GIB, GIB);
        let most_gb = (free_gb / 3.0).min(GIB as f64 / GB);
        let cached = column(&samples, "sim.cached_gb");
        let cached_gb = cached.iter().copied().fold(0.0, f64::max);
        assert!(
            cached_gb < most_gb + 1e-9,
            "{filled}: {cached_gb} of {most_gb}"
        );
        near(cached_gb, most_gb, 0.06);
    }
}
