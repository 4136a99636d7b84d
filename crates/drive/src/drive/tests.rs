//! The drive as a whole, through its public doors: a file for each kind of law.

mod caches;
mod collection;
mod conservation;
mod ends;
mod errors;
mod heat;
mod live;
mod lumped;
mod map;
mod rates;
mod replay;
mod slow;
mod transfer;

use proptest::prelude::*;

use super::*;
use crate::sample;
use crate::spec::{CacheKind, CacheSpec, Law, Level, OperationalStateSpec, Pacing, Policy};
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
        fold_us: None,
    }
}
