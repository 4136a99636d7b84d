//! What of the map is at hand.

use super::*;
use crate::spec::MapCacheSpec;

/// Filled; its map at hand is that of a quarter of its data, in pieces of 4 MiB.
fn filled(map_cache: Option<u64>) -> Drive {
    let mut spec = sample::small_drive();
    spec.controller.map_cache = map_cache.map(|bytes_covered| MapCacheSpec {
        bytes_covered,
        piece_bytes: 4 * MIB,
    });
    let mut drive = new(spec);
    fill(&mut drive);
    drive
}

fn reads(span_bytes: u64) -> Workload {
    let reads = load(Pattern::RandRead, 4096, 1);
    for_s(
        5.0,
        Workload {
            span_bytes,
            ..reads
        },
    )
}

#[test]
fn reads_wait_for_the_share_of_the_map_that_is_not_at_hand() {
    let mut drive = filled(Some(256 * MIB));
    let at_hand_us = 1.0 + 50.0 + 4096.0 / 1200.0 + 10.0;
    for (span_bytes, missing) in [(GIB, 0.75), (512 * MIB, 0.5), (256 * MIB, 0.0)] {
        // until what is at hand is of this span
        run_one(&mut drive, reads(span_bytes), 1.0);
        let before = drive.totals().read_pages;
        let samples = run_one(&mut drive, reads(span_bytes), 1.0);
        let expected_us = at_hand_us + missing * (50.0 + 4096.0 / 1200.0);
        near(mean(&samples, "read_lat_us"), expected_us, 0.01);
        let read = drive.totals().read_pages - before;
        near(read / ios(&samples), 1.0 + missing, 0.01);
    }
}

#[test]
fn writes_wait_for_the_map_too() {
    let rate = |drive: &mut Drive| {
        let writes = for_s(0.5, load(Pattern::RandWrite, 4096, 1));
        mean(&run_one(drive, writes, 0.1), "write_lat_us")
    };
    let slower_us = rate(&mut filled(Some(256 * MIB))) - rate(&mut filled(None));
    assert!(slower_us > 0.7 * 50.0, "{slower_us}");
}

#[test]
fn in_sequence_each_piece_is_read_once() {
    let mut drive = filled(Some(64 * MIB));
    let sequential = for_bytes(GIB, load(Pattern::Read, 128 * KIB, 32));
    let mut read_pages = || {
        let before = drive.totals().read_pages;
        run_one(&mut drive, sequential.clone(), 0.1);
        drive.totals().read_pages - before
    };
    let data_pages = (GIB / 4096) as f64;
    for _ in 0..2 {
        let pieces = read_pages() - data_pages;
        // the last pieces of what was done before are at hand, until their place is needed
        assert!((240.0..=256.0).contains(&pieces), "{pieces}");
    }
}

#[test]
fn a_map_at_hand_changes_nothing() {
    let mut with = filled(Some(GIB));
    let mut without = filled(None);
    for rw in [Pattern::RandRead, Pattern::RandWrite, Pattern::Read] {
        let workload = for_s(0.5, load(rw, 4096, 8));
        same(
            &run_one(&mut with, workload.clone(), 0.1),
            &run_one(&mut without, workload, 0.1),
        );
    }
}

#[test]
fn a_map_cache_holds_a_piece_or_more() {
    let mut spec = sample::small_drive();
    spec.controller.map_cache = Some(MapCacheSpec {
        bytes_covered: MIB,
        piece_bytes: 4 * MIB,
    });
    let error = Drive::new(spec, sample::place(), 1).err().unwrap();
    assert_eq!(
        error.to_string(),
        "drive: controller.map_cache.bytes_covered is 1048576: it has to be that of a piece or \
         more, 4194304"
    );
}
