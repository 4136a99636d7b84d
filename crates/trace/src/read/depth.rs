//! How many I/Os are in flight, from when each was issued and completed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::record::{Record, UNKNOWN_NS};

/// Counts what is in flight; fed in the order of issue.
#[derive(Default)]
pub(super) struct Depth {
    done_ns: BinaryHeap<Reverse<u64>>,
}

impl Depth {
    /// I/Os in flight as this one is issued, itself among them; 0 where its end is not known.
    #[inline]
    pub(super) fn at(&mut self, record: &Record) -> u16 {
        if record.done_ns == UNKNOWN_NS {
            return 0;
        }
        while (self.done_ns.peek()).is_some_and(|&Reverse(done)| done <= record.at_ns) {
            self.done_ns.pop();
        }
        // more than a record can state need not be counted
        if self.done_ns.len() < usize::from(u16::MAX) {
            self.done_ns.push(Reverse(record.done_ns));
        }
        self.done_ns.len() as u16
    }
}
