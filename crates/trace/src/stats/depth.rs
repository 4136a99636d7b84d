//! Queue depth at issue, from completions or as the trace states it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::summary::Depth;
use crate::record::{Record, UNKNOWN_NS};

/// The classes of the published tables: their names, and their greatest depths.
const CLASSES: [(&str, u32); 8] = [
    ("1", 1),
    ("2", 2),
    ("3", 3),
    ("4-5", 5),
    ("6-10", 10),
    ("11-20", 20),
    ("21-32", 32),
    (">32", u32::MAX),
];

/// More are not remembered: what completed first is taken to have completed already.
const MAX_IN_FLIGHT: usize = 1 << 16;

/// How many I/Os were issued at each depth.
#[derive(Default)]
pub struct Depths {
    in_flight: BinaryHeap<Reverse<u64>>,
    counts: [u64; 8],
    sum: u64,
    max: u32,
}

impl Depths {
    /// Count an I/O. Its completion says more than the depth that a trace states.
    pub fn count(&mut self, record: &Record) {
        let depth = if record.done_ns != UNKNOWN_NS {
            self.enter(record)
        } else if record.depth > 0 {
            u32::from(record.depth)
        } else {
            return;
        };
        let class = CLASSES.iter().position(|&(_, most)| depth <= most);
        self.counts[class.unwrap_or(CLASSES.len() - 1)] += 1;
        self.sum += u64::from(depth);
        self.max = self.max.max(depth);
    }

    fn enter(&mut self, record: &Record) -> u32 {
        // what completed at this very moment is not in flight any more
        while self
            .in_flight
            .peek()
            .is_some_and(|&Reverse(done)| done <= record.at_ns)
        {
            self.in_flight.pop();
        }
        if self.in_flight.len() == MAX_IN_FLIGHT {
            self.in_flight.pop();
        }
        self.in_flight.push(Reverse(record.done_ns));
        self.in_flight.len() as u32
    }

    /// The shares; none where no I/O states it.
    pub fn summary(&self) -> Option<Depth> {
        let known: u64 = self.counts.iter().sum();
        (known > 0).then(|| Depth {
            known,
            mean: self.sum as f64 / known as f64,
            max: self.max,
            pct: CLASSES
                .iter()
                .zip(self.counts)
                .map(|(&(name, _), count)| (name, count as f64 / known as f64 * 100.0))
                .collect(),
        })
    }
}
