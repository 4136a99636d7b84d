//! Which I/Os continue where one before them ended.

use super::percent;
use super::summary::{ByDirection, Sequential};

/// How many ends are remembered in each direction: as many as a SATA queue holds, so that streams
/// that a queue mixes with each other are still found.
pub const REMEMBERED: usize = 32;

/// The last ends of each direction, and how many I/Os started at one of them.
pub struct Runs {
    ends: [[u64; REMEMBERED]; 2],
    next: [usize; 2],
    sequential: [u64; 2],
}

impl Default for Runs {
    fn default() -> Self {
        Runs {
            ends: [[u64::MAX; REMEMBERED]; 2],
            next: [0; 2],
            sequential: [0; 2],
        }
    }
}

impl Runs {
    /// Count an I/O; direction 0 reads, 1 writes.
    pub fn count(&mut self, direction: usize, offset: u64, end: u64) {
        let ends = &mut self.ends[direction];
        let next = self.next[direction];
        let last = ends[(next + REMEMBERED - 1) % REMEMBERED];
        // without a way out early, it compares several at once
        let goes_on = last == offset
            || ends
                .iter()
                .fold(false, |found, &end| found | (end == offset));
        self.sequential[direction] += u64::from(goes_on);
        ends[next] = end;
        self.next[direction] = (next + 1) % REMEMBERED;
    }

    /// The shares of this many reads and writes.
    pub fn summary(&self, ios: [u64; 2]) -> Sequential {
        let [reads, writes] = self.sequential;
        Sequential {
            pct: ByDirection {
                all: percent(reads + writes, ios[0] + ios[1]),
                reads: percent(reads, ios[0]),
                writes: percent(writes, ios[1]),
            },
            definition: format!(
                "begins where one of the last {REMEMBERED} I/Os of its direction ended"
            ),
        }
    }
}
