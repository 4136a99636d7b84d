//! Shares of I/O sizes, in the classes of the published tables.

use super::percent;
use super::summary::{ByDirection, Sizes};

/// The classes: exactly a size, less than the least, and all others.
pub const SIZE_NAMES: [&str; 8] = ["<4K", "4K", "8K", "16K", "32K", "64K", "128K", "others"];

const OTHERS: usize = 7;

/// How many I/Os of each class, of reads and of writes.
#[derive(Default)]
pub struct Counts([[u64; 8]; 2]);

fn class(bytes: u32) -> usize {
    const LEAST: u32 = 4096;
    if bytes < LEAST {
        return 0;
    }
    let doublings = (bytes / LEAST).trailing_zeros();
    if bytes == LEAST << doublings && doublings <= 5 {
        1 + doublings as usize
    } else {
        OTHERS
    }
}

impl Counts {
    /// Count an I/O; direction 0 reads, 1 writes.
    pub fn count(&mut self, direction: usize, bytes: u32) {
        self.0[direction][class(bytes)] += 1;
    }

    /// The shares.
    pub fn shares(&self) -> ByDirection<Sizes> {
        let [reads, writes] = self.0;
        ByDirection {
            all: shares(std::array::from_fn(|class| reads[class] + writes[class])),
            reads: shares(reads),
            writes: shares(writes),
        }
    }
}

fn shares(counts: [u64; 8]) -> Sizes {
    let all = counts.iter().sum();
    SIZE_NAMES
        .into_iter()
        .zip(counts.map(|count| percent(count, all)))
        .collect()
}
