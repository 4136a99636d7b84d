//! Statistics of traces whose answer is known.

use super::*;
use crate::record::UNKNOWN_NS;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn record(op: Op, at_ns: u64, done_ns: u64, offset: u64, bytes: u32) -> Record {
    Record {
        at_ns,
        done_ns,
        offset,
        bytes,
        op,
        depth: 0,
    }
}

fn summary(records: &[Record]) -> Summary {
    let mut statistics = Statistics::new(25 * MS);
    statistics.feed(records);
    statistics.summary()
}

fn share(pairs: &[(&str, f64)], name: &str) -> f64 {
    pairs.iter().find(|pair| pair.0 == name).unwrap().1
}

#[test]
fn nothing_has_no_shares_and_no_depth() {
    let found = summary(&[]);
    assert_eq!(found.ios, 0);
    assert_eq!(found.mean_bytes.all, None);
    assert_eq!(found.depth, None);
    assert_eq!(found.service, None);
    assert_eq!(found.bursts.count, 0);
    assert_eq!(found.span.bytes, 0);
}

#[test]
fn without_completions_depth_and_service_times_are_not_told() {
    let records: Vec<Record> = (0..10)
        .map(|at| record(Op::Read, at * 40 * MS, UNKNOWN_NS, 0, 4096))
        .collect();
    let found = summary(&records);
    assert_eq!(found.depth, None);
    assert_eq!(found.service, None);
    assert_eq!(found.time.busy_s, None);
    assert_eq!(found.time.idle_s, 0.36);
    assert_eq!(found.time.idle_left_s, 0.225);
    assert_eq!(found.bursts.count, 10);
}

#[test]
fn a_depth_that_the_trace_states_is_taken_where_completions_are_not_known() {
    let stated = [1, 2, 33].map(|depth| Record {
        depth,
        ..record(Op::Read, 0, UNKNOWN_NS, 0, 4096)
    });
    let depth = summary(&stated).depth.unwrap();
    assert_eq!(depth.mean, 12.0);
    assert!((share(&depth.pct, ">32") - 100.0 / 3.0).abs() < 1e-9);
}

#[test]
fn depth_counts_itself_and_what_has_not_come_back() {
    let records = [
        record(Op::Write, 0, 10, 0, 512),
        record(Op::Write, 0, 20, 0, 512),
        // the first completed at this very moment
        record(Op::Write, 10, 30, 0, 512),
        record(Op::Write, 30, 40, 0, 512),
    ];
    let depth = summary(&records).depth.unwrap();
    assert_eq!(share(&depth.pct, "1"), 50.0);
    assert_eq!(share(&depth.pct, "2"), 50.0);
    assert_eq!(depth.max, 2);
}

#[test]
fn idle_time_is_when_nothing_is_in_flight_and_each_pause_is_cut() {
    let records = [
        record(Op::Read, 0, 10 * MS, 0, 4096),
        record(Op::Read, 5 * MS, 6 * MS, 0, 4096),
        record(Op::Read, 110 * MS, 111 * MS, 0, 4096),
        record(Op::Read, 121 * MS, 231 * MS, 0, 4096),
    ];
    let found = summary(&records);
    assert_eq!(found.time.idle_s, 0.11);
    assert_eq!(found.time.idle_left_s, 0.035);
    assert_eq!(found.time.pauses, 2);
    assert_eq!(found.time.pauses_cut, 1);
    assert_eq!(found.time.busy_s, Some(0.121));
    assert_eq!(found.bursts.count, 3);
    let service = found.service.unwrap();
    assert_eq!(service.over_10ms_pct.all, Some(25.0));
    assert_eq!(service.over_100ms_pct.all, Some(25.0));
    assert_eq!(service.mean_us.all, Some(30_500.0));
    assert_eq!(service.mean_us.writes, None);
}

#[test]
fn streams_that_are_mixed_with_each_other_are_sequential_up_to_a_queue_s_length() {
    let mixed = |streams: u64| -> f64 {
        let records: Vec<Record> = (0..streams * 100)
            .map(|at| {
                let offset = (at % streams) * (1 << 30) + at / streams * 4096;
                record(Op::Read, at, UNKNOWN_NS, offset, 4096)
            })
            .collect();
        summary(&records).sequential.pct.all.unwrap()
    };
    assert_eq!(mixed(1), 99.0);
    assert_eq!(mixed(REMEMBERED as u64), 99.0);
    assert_eq!(mixed(REMEMBERED as u64 + 1), 0.0);
}

#[test]
fn a_write_does_not_go_on_from_a_read() {
    let records = [
        record(Op::Read, 0, UNKNOWN_NS, 0, 4096),
        record(Op::Write, 0, UNKNOWN_NS, 4096, 4096),
        record(Op::Read, 0, UNKNOWN_NS, 4096, 4096),
    ];
    let found = summary(&records).sequential.pct;
    assert_eq!(found.reads, Some(50.0));
    assert_eq!(found.writes, Some(0.0));
}

#[test]
fn trims_are_counted_but_are_no_data() {
    let found = summary(&[
        record(Op::Trim, 0, UNKNOWN_NS, 1 << 40, 1 << 30),
        record(Op::Write, 0, UNKNOWN_NS, 0, 4096),
    ]);
    assert_eq!((found.ios, found.trims, found.writes), (2, 1, 1));
    assert_eq!(found.trim_bytes, 1 << 30);
    assert_eq!(found.span.bytes, 4096);
    assert_eq!(found.footprint.bytes, 4096);
    assert_eq!(found.size_pct.all[1], ("4K", Some(100.0)));
}

#[test]
fn the_footprint_of_a_wide_trace_has_coarser_grains() {
    let far = 1u64 << 50;
    let found = summary(&[
        record(Op::Read, 0, UNKNOWN_NS, 0, 4096),
        record(Op::Write, 0, UNKNOWN_NS, 4096, 4096),
        record(Op::Read, 0, UNKNOWN_NS, far - 4096, 4096),
    ]);
    let grain = found.footprint.granularity_bytes;
    assert_eq!(grain, far >> 27);
    assert_eq!(found.footprint.read_bytes, 2 * grain);
    assert_eq!(found.footprint.write_bytes, grain);
    assert_eq!(found.footprint.bytes, 2 * grain);
}

#[test]
fn an_offset_at_the_end_of_all_addresses_is_no_panic() {
    let found = summary(&[record(Op::Write, 0, UNKNOWN_NS, u64::MAX - 511, 4096)]);
    assert_eq!(found.span.end_byte, u64::MAX);
}

proptest! {
    /// Whatever is read and written where, the footprint is that of a set of pages.
    #[test]
    fn the_footprint_is_that_of_a_set_of_pages(
        ios in prop::collection::vec((any::<bool>(), 0u64..2000, 1u64..40), 1..200),
    ) {
        let mut sets = [std::collections::HashSet::new(), std::collections::HashSet::new()];
        let records: Vec<Record> = ios
            .iter()
            .map(|&(writes, page, pages)| {
                sets[usize::from(writes)].extend(page..page + pages);
                let op = if writes { Op::Write } else { Op::Read };
                record(op, 0, UNKNOWN_NS, page * 4096, (pages * 4096) as u32)
            })
            .collect();
        let found = summary(&records).footprint;
        prop_assert_eq!(found.read_bytes, sets[0].len() as u64 * 4096);
        prop_assert_eq!(found.write_bytes, sets[1].len() as u64 * 4096);
        prop_assert_eq!(found.bytes, sets[0].union(&sets[1]).count() as u64 * 4096);
    }

    /// Depths and busy time are those that a count of every moment gives.
    #[test]
    fn depth_and_busy_time_are_those_of_a_count_of_every_moment(
        ios in prop::collection::vec((0u64..5, 1u64..20), 1..100),
    ) {
        let mut at = 0;
        let records: Vec<Record> = ios
            .iter()
            .map(|&(gap, took)| {
                at += gap;
                record(Op::Read, at, at + took, 0, 4096)
            })
            .collect();
        let found = summary(&records);
        let in_flight = |until: usize, at: u64| {
            records[..until].iter().filter(|one| one.at_ns <= at && one.done_ns > at).count()
        };
        let depths: usize =
            records.iter().enumerate().map(|(index, one)| 1 + in_flight(index, one.at_ns)).sum();
        let end = records.iter().map(|one| one.done_ns).max().unwrap();
        let busy = (records[0].at_ns..end).filter(|&at| in_flight(records.len(), at) > 0).count();
        let mean = depths as f64 / records.len() as f64;
        prop_assert!((found.depth.unwrap().mean - mean).abs() < 1e-9);
        prop_assert!((found.time.busy_s.unwrap() - busy as f64 / 1e9).abs() < 1e-15);
    }
}
