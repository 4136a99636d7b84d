//! The stream of records of a shape.

use std::collections::VecDeque;

use fastrand::Rng;

use super::apportion::apportion;
use super::pauses::Pauses;
use super::place::Places;
use super::quota::Quota;
use super::reference::Reference;
use super::shape::{Shape, ShapeError};
use super::sizes::Row;
use super::{depths, sizes};
use crate::record::{Op, Record, Source, SourceError};

/// What one draw decides.
#[derive(Clone, Copy)]
struct Kind {
    op: Op,
    bytes: u32,
    sequential: bool,
}

/// How many I/Os hover at a depth as bursts pass it: spread evenly over them.
#[derive(Clone, Copy)]
struct Hover {
    ios: u64,
    passes: u64,
    sum: u64,
}

/// The current burst.
#[derive(Default)]
struct Burst {
    peak: usize,
    depth: usize,
    hovers: u64,
    in_flight: VecDeque<u64>,
}

/// A trace made from a shape: the same shape, scale and seed give the same records.
pub struct Synthetic {
    ios: u64,
    left: u64,
    at_ns: u64,
    kinds: Vec<Kind>,
    kind: Quota,
    peaks: Quota,
    hovers: Option<Vec<Hover>>,
    burst: Burst,
    pauses: Pauses,
    places: Places,
    reference: Reference,
}

impl Synthetic {
    /// A trace of a shape, with `scale` times its I/Os and its bytes in the same span.
    pub fn new(shape: Shape, scale: f64, seed: u64) -> Result<Self, ShapeError> {
        if !(scale > 0.0 && scale <= 1000.0) {
            return Err(ShapeError(format!(
                "scale: it has to be more than 0, and at most 1000 (is {scale})"
            )));
        }
        let shape = shape.checked()?;
        let rows = sizes::table(&shape, scale)?;
        let ios = rows.iter().map(|row| row.ios[0] + row.ios[1]).sum();
        if ios == 0 {
            return Err(ShapeError(format!(
                "scale: {scale} of {} I/Os is less than one",
                shape.reads + shape.writes
            )));
        }
        let depths = depths::plan(&shape, ios)?;
        let mut rng = Rng::with_seed(seed);
        let (kinds, counts) = kinds(&rows, shape.sequential_share);
        let hovers = depths
            .hovering
            .iter()
            .zip(&depths.reaching)
            .map(|(&ios, &passes)| Hover {
                ios,
                passes,
                sum: 0,
            })
            .collect();
        let is_hovering = depths.hovering.iter().any(|&ios| ios > 0);
        Ok(Synthetic {
            ios,
            left: ios,
            at_ns: 0,
            kinds,
            kind: Quota::new(counts, rng.fork()),
            hovers: is_hovering.then_some(hovers),
            burst: Burst::default(),
            pauses: Pauses::new(&shape.pauses, depths.reaching[0], &mut rng),
            peaks: Quota::new(depths.bursts, rng.fork()),
            places: Places::new(&shape, rng.fork()),
            reference: Reference::new(&shape.reference),
        })
    }

    /// How many records it gives in all.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// Continue with the next I/O of the burst, or the first of the next one.
    #[inline]
    fn step(&mut self) {
        let burst = &mut self.burst;
        if burst.hovers > 0 {
            burst.hovers -= 1;
            self.at_ns = burst.in_flight.pop_front().unwrap_or(self.at_ns);
            return;
        }
        if burst.depth == burst.peak {
            if self.left < self.ios {
                self.at_ns = self.reference.last_ns() + self.pauses.draw();
            }
            burst.peak = self.peaks.draw().map_or(1, |peak| peak + 1);
            burst.depth = 0;
            burst.in_flight.clear();
        }
        burst.depth += 1;
        if let Some(hovers) = &mut self.hovers {
            let hover = &mut hovers[burst.depth - 1];
            hover.sum += hover.ios;
            burst.hovers = hover.sum / hover.passes;
            hover.sum %= hover.passes;
        }
    }

    #[inline]
    fn next_record(&mut self) -> Option<Record> {
        let Kind {
            op,
            bytes,
            sequential,
        } = self.kinds[self.kind.draw()?];
        self.step();
        let offset = self.places.place(op, bytes, sequential);
        let done_ns = self.reference.serve(self.at_ns, op, bytes);
        if self.hovers.is_some() {
            self.burst.in_flight.push_back(done_ns);
        }
        self.left -= 1;
        Some(Record {
            at_ns: self.at_ns,
            done_ns,
            offset,
            bytes,
            op,
            depth: self.burst.depth as u16,
        })
    }
}

impl Source for Synthetic {
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
        let before = into.len();
        into.reserve(most.min(self.left as usize));
        for _ in 0..most {
            match self.next_record() {
                Some(record) => into.push(record),
                None => break,
            }
        }
        Ok(into.len() - before)
    }
}

/// What can be drawn, and how often each is: the sequential ones are I/Os of whole pages as far as
/// those suffice.
fn kinds(rows: &[Row], sequential_share: f64) -> (Vec<Kind>, Vec<u64>) {
    let mut kinds = Vec::new();
    let mut ios = Vec::new();
    for (direction, op) in [Op::Read, Op::Write].into_iter().enumerate() {
        for row in rows {
            kinds.push(Kind {
                op,
                bytes: row.bytes,
                sequential: false,
            });
            ios.push(row.ios[direction]);
        }
    }
    let whole: u64 = ios.iter().sum();
    let wanted = (whole as f64 * sequential_share).round() as u64;
    let only = |aligned: bool| -> Vec<u64> {
        let fits = |kind: &Kind| kind.bytes.is_multiple_of(4096) == aligned;
        let ios = kinds.iter().zip(&ios);
        ios.map(|(kind, &count)| if fits(kind) { count } else { 0 })
            .collect()
    };
    let (aligned, odd) = (only(true), only(false));
    let first = wanted.min(aligned.iter().sum());
    let deal = |whole: u64, room: &[u64]| {
        let weights: Vec<f64> = room.iter().map(|&count| count as f64).collect();
        apportion(whole, &weights, Some(room))
    };
    let runs = deal(first, &aligned)
        .into_iter()
        .zip(deal(wanted - first, &odd));
    let sequential: Vec<u64> = runs.map(|(one, other)| one + other).collect();
    let continued: Vec<Kind> = kinds
        .iter()
        .map(|kind| Kind {
            sequential: true,
            ..*kind
        })
        .collect();
    let mut counts: Vec<u64> = ios
        .iter()
        .zip(&sequential)
        .map(|(all, runs)| all - runs)
        .collect();
    counts.extend(sequential);
    kinds.extend(continued);
    (kinds, counts)
}
