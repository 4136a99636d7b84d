//! Traces have the shape that they are made in.

use std::collections::HashMap;

use super::*;
use crate::record::{Op, Record, Source};
use crate::stats::{Statistics, Summary};
use proptest::prelude::*;

const SIZES: [(u32, f64); 6] = [
    (4096, 0.28),
    (8192, 0.03),
    (16384, 0.08),
    (32768, 0.07),
    (65536, 0.05),
    (131_072, 0.26),
];
const ENDS: [(u32, Option<u32>); 8] = [
    (1, Some(1)),
    (2, Some(2)),
    (3, Some(3)),
    (4, Some(5)),
    (6, Some(10)),
    (11, Some(20)),
    (21, Some(32)),
    (33, None),
];

fn shape(reads: u64, writes: u64, read_mean: f64, write_mean: f64, depths: &[f64]) -> Shape {
    let mut sizes = vec![SizeClass {
        bytes: None,
        below: Some(4096),
        share: 0.06,
    }];
    sizes.extend(SIZES.map(|(bytes, share)| SizeClass {
        bytes: Some(bytes),
        below: None,
        share,
    }));
    Shape {
        reads,
        writes,
        read_bytes: (reads as f64 * read_mean) as u64,
        write_bytes: (writes as f64 * write_mean) as u64,
        sizes,
        depths: ENDS
            .iter()
            .zip(depths)
            .map(|(&(from, to), &share)| DepthClass { from, to, share })
            .collect(),
        mean_depth: None,
        sequential_share: 0.6,
        span_bytes: 16 << 30,
        hot: Hot {
            span_share: 0.2,
            read_share: 0.5,
            write_share: 0.8,
        },
        pauses: Pauses {
            think_us: 300.0,
            task_bursts: 500.0,
            rest_s: 5.0,
        },
        reference: Reference {
            read_us: 100.0,
            write_us: 50.0,
            mb_s: 500.0,
        },
    }
}

const FALLING: [f64; 8] = [0.734, 0.168, 0.026, 0.023, 0.031, 0.015, 0.002, 0.001];

fn light() -> Shape {
    shape(90_000, 110_000, 52_000.0, 54_000.0, &FALLING)
}

fn made(shape: Shape, scale: f64, seed: u64) -> Vec<Record> {
    let mut source = Synthetic::new(shape, scale, seed).unwrap();
    let ios = source.ios();
    let mut records = Vec::new();
    while source.fill(&mut records, 777).unwrap() > 0 {}
    assert_eq!(records.len() as u64, ios);
    records
}

fn counted(records: &[Record]) -> Summary {
    let mut statistics = Statistics::new(25_000_000);
    statistics.feed(records);
    statistics.summary()
}

fn refusal(shape: Shape) -> String {
    Synthetic::new(shape, 1.0, 0).err().unwrap().to_string()
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_one_another() {
    assert_eq!(made(light(), 0.01, 7), made(light(), 0.01, 7));
    assert_ne!(made(light(), 0.01, 7), made(light(), 0.01, 8));
}

#[test]
fn how_the_records_are_fetched_changes_nothing() {
    let mut source = Synthetic::new(light(), 0.01, 7).unwrap();
    let mut one_by_one = Vec::new();
    while source.fill(&mut one_by_one, 1).unwrap() > 0 {}
    assert_eq!(one_by_one, made(light(), 0.01, 7));
}

#[test]
fn a_mean_depth_that_is_asked_for_sets_how_deep_the_open_class_goes() {
    let asked = Shape {
        mean_depth: Some(1.9),
        ..light()
    };
    let depth = counted(&made(asked, 1.0, 0)).depth.unwrap();
    assert!((depth.mean / 1.9 - 1.0).abs() < 0.005, "{}", depth.mean);
    assert!(depth.max > 150);
}

#[test]
fn a_mean_depth_can_be_had_within_closed_classes() {
    for mean in [3.3, 3.5, 4.0, 4.3] {
        let depths = [0.5, 0.1, 0.1, 0.1, 0.1, 0.1];
        let asked = Shape {
            mean_depth: Some(mean),
            ..shape(90_000, 110_000, 52_000.0, 54_000.0, &depths)
        };
        let found = counted(&made(asked, 1.0, 0)).depth.unwrap();
        assert!(
            (found.mean / mean - 1.0).abs() < 0.005,
            "{mean}: {}",
            found.mean
        );
    }
}

#[test]
fn depths_that_do_not_fall_are_hovered_at() {
    let steady = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let asked = Shape {
        mean_depth: Some(32.0),
        ..shape(90_000, 110_000, 52_000.0, 54_000.0, &steady)
    };
    let depth = counted(&made(asked, 1.0, 0)).depth.unwrap();
    assert_eq!(depth.max, 32);
    assert!((depth.mean / 32.0 - 1.0).abs() < 0.005, "{}", depth.mean);
}

#[test]
fn the_depth_that_is_told_is_the_one_that_completions_make() {
    let humped = [0.3, 0.1, 0.05, 0.05, 0.2, 0.1, 0.15, 0.05];
    let records = made(shape(9000, 11_000, 52_000.0, 54_000.0, &humped), 1.0, 3);
    let mut in_flight: Vec<u64> = Vec::new();
    for record in &records {
        in_flight.retain(|&done| done > record.at_ns);
        in_flight.push(record.done_ns);
        assert_eq!(usize::from(record.depth), in_flight.len());
    }
}

#[test]
fn time_never_runs_backwards_and_nothing_leaves_the_span() {
    let mut before = 0;
    for record in made(light(), 0.2, 5) {
        assert!(record.at_ns >= before && record.done_ns > record.at_ns);
        assert!(record.offset + u64::from(record.bytes) <= 16 << 30);
        assert_eq!(record.offset % 512, 0);
        if record.bytes.is_multiple_of(4096) {
            assert_eq!(record.offset % 4096, 0);
        }
        before = record.at_ns;
    }
}

#[test]
fn random_writes_prefer_the_hot_part_and_reads_do_so_less() {
    let records = made(
        Shape {
            sequential_share: 0.0,
            ..light()
        },
        1.0,
        1,
    );
    let hot = |op: Op| {
        let all = records.iter().filter(|record| record.op == op);
        let inside = all.clone().filter(|record| record.offset < (16 << 30) / 5);
        inside.count() as f64 / all.count() as f64
    };
    assert!((hot(Op::Read) - 0.5).abs() < 0.01);
    assert!((hot(Op::Write) - 0.8).abs() < 0.01);
}

#[test]
fn every_part_of_a_trace_is_like_the_whole() {
    let records = made(light(), 1.0, 2);
    let whole = counted(&records);
    for part in records.chunks_exact(records.len() / 10) {
        let found = counted(part);
        let reads = found.reads as f64 / found.ios as f64;
        assert!((reads - 0.45).abs() < 0.01);
        assert!((found.mean_bytes.all.unwrap() / whole.mean_bytes.all.unwrap() - 1.0).abs() < 0.02);
    }
}

#[test]
fn a_shape_of_one_size_in_one_direction_is_made_as_asked() {
    let asked = Shape {
        sizes: vec![SizeClass {
            bytes: Some(4096),
            below: None,
            share: 1.0,
        }],
        ..shape(0, 5000, 0.0, 4096.0, &[1.0])
    };
    let found = counted(&made(asked, 1.0, 0));
    assert_eq!((found.reads, found.writes), (0, 5000));
    assert_eq!(found.write_bytes, 5000 * 4096);
    assert_eq!(found.bursts.count, 5000);
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let heavy = shape(90_000, 110_000, 120_000.0, 120_000.0, &FALLING);
    let text = refusal(heavy);
    assert!(
        text.contains("sizes: the shares make a mean size of"),
        "{text}"
    );
    let split = shape(100_000, 100_000, 104_000.0, 2200.0, &FALLING);
    assert!(refusal(split).contains("read_bytes: no division of these sizes"));
    let mean = Shape {
        mean_depth: Some(9.0),
        ..shape(90_000, 110_000, 52_000.0, 54_000.0, &[0.5, 0.5])
    };
    assert!(refusal(mean).contains("mean_depth: the shares of depths make 1.50 to 1.50"));
    let sum = shape(90_000, 110_000, 52_000.0, 54_000.0, &[0.5, 0.4]);
    assert!(refusal(sum).contains("depths: the shares have to make 1 (make 0.9000)"));
    assert!(Synthetic::new(light(), 0.0, 0).is_err());
    assert!(Synthetic::new(light(), 1e-9, 0).is_err());
}

/// The mean of `SIZES` and of odd sizes under a page, with the rest at `other` bytes.
fn mean_with(other: f64) -> f64 {
    let listed: f64 = SIZES
        .map(|(bytes, share)| f64::from(bytes) * share)
        .iter()
        .sum();
    let rest = 1.0 - 0.06 - SIZES.map(|(_, share)| share).iter().sum::<f64>();
    listed + 0.06 * 2048.0 + rest * other
}

fn least_mean() -> f64 {
    mean_with(12_288.0)
}

fn most_mean() -> f64 {
    mean_with(126_976.0)
}

#[test]
fn rounded_figures_a_little_past_what_the_sizes_make_keep_their_shares() {
    // found by the property below: published shares are rounded, so this must be a trace
    let asked = shape(105_494, 75_542, 41_900.0, 47_955.0, &[0.125; 8]);
    let ios = (asked.reads + asked.writes) as f64;
    let wanted = (asked.read_bytes + asked.write_bytes) as f64;
    assert!(wanted / ios < least_mean(), "{wanted}");
    let found = counted(&made(asked, 1.0, 0));
    let got = (found.read_bytes + found.write_bytes) as f64;
    assert!((got / wanted - 1.0).abs() <= 0.0051, "{got} of {wanted}");
    let sizes: HashMap<&str, Option<f64>> = found.size_pct.all.into_iter().collect();
    assert!((sizes["128K"].unwrap() - 26.0).abs() < 100.0 / ios);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the shape and the scale, counts, bytes and shares are what was asked, to an I/O.
    #[test]
    fn counts_bytes_and_shares_are_exact_at_any_scale(
        reads in 20_000u64..120_000,
        writes in 20_000u64..120_000,
        read_mean in 40_000.0..60_000.0f64,
        write_mean in 46_000.0..56_000.0f64,
        weights in prop::array::uniform8(0.01..1.0f64),
        sequential_share in 0.0..1.0f64,
        scale in prop::sample::select(vec![1.0, 0.3, 0.05]),
        seed in any::<u64>(),
    ) {
        let sum: f64 = weights.iter().sum();
        let shares = weights.map(|weight| weight / sum);
        let asked = Shape {
            sequential_share,
            ..shape(reads, writes, read_mean, write_mean, &shares)
        };
        let Ok(_) = Synthetic::new(asked.clone(), scale, seed) else {
            // reads and writes that these sizes cannot be divided into
            return Err(TestCaseError::reject("no such shape"));
        };
        let ios = (asked.reads + asked.writes) as f64;
        let mean = (asked.read_bytes + asked.write_bytes) as f64 / ios;
        // at the edge of what the sizes make, the shares hold and the bytes are only near
        prop_assume!((least_mean()..most_mean()).contains(&mean));
        let found = counted(&made(asked.clone(), scale, seed));
        prop_assert_eq!(found.reads, (reads as f64 * scale).round() as u64);
        prop_assert_eq!(found.writes, (writes as f64 * scale).round() as u64);
        let near = |got: u64, asked: u64| (got as f64 - asked as f64 * scale).abs() <= 4096.0;
        prop_assert!(near(found.read_bytes, asked.read_bytes));
        prop_assert!(near(found.write_bytes, asked.write_bytes));
        let one_pct = 100.0 / found.ios as f64;
        let sizes: HashMap<&str, Option<f64>> = found.size_pct.all.into_iter().collect();
        let listed = ["4K", "8K", "16K", "32K", "64K", "128K"].into_iter().zip(SIZES);
        for (name, (_, share)) in listed {
            prop_assert!((sizes[name].unwrap() - share * 100.0).abs() <= one_pct);
        }
        let depth = found.depth.unwrap();
        for ((_, got), share) in depth.pct.into_iter().zip(shares) {
            prop_assert!((got - share * 100.0).abs() <= one_pct * 1.001);
        }
        let sequential = found.sequential.pct.all.unwrap();
        prop_assert!((sequential - sequential_share * 100.0).abs() <= 3.5 * one_pct);
        prop_assert_eq!(found.span.bytes, asked.span_bytes);
        let rests = (found.bursts.count as f64 / 500.0).round().max(1.0) - 1.0;
        let idle_s = (found.bursts.count as f64 - 1.0 - rests) * 3e-4 + rests * 5.0;
        prop_assert!((found.time.idle_s - idle_s).abs() <= 1e-6 + idle_s * 1e-4);
    }
}
