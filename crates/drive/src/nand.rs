//! The flash: dies that do one thing at a time, and the channels that they share.

use strength_reduce::StrengthReducedU32;

use crate::spec::{DriveSpec, PAGE_BYTES};

const US: f64 = 1e-6;
const MB: f64 = 1e6;

/// The later of two times. `f64::max` minds NaN too, which takes several times as long.
#[inline(always)]
pub fn later(one_s: f64, other_s: f64) -> f64 {
    if one_s > other_s { one_s } else { other_s }
}

/// Where a page is: the die that holds it, and what is left of its program unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The die.
    pub die: usize,
    /// Pages from the first that it was asked for to the end of its unit.
    pub pages_left: u32,
}

/// Times of the two kinds of cells.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Timing {
    read_s: f64,
    program_s: f64,
}

/// A die.
#[derive(Debug, Clone, Copy)]
struct Die {
    free_s: f64,
    channel: u32,
}

/// Dies and channels with the times that they are free from.
#[derive(Debug, Clone)]
pub struct Array {
    dies: Vec<Die>,
    channel_free_s: Vec<f64>,
    by_dies: StrengthReducedU32,
    page_shift: u32,
    by_unit: [StrengthReducedU32; 2],
    timing: [Timing; 2],
    erase_s: f64,
    page_transfer_s: f64,
}

impl Array {
    /// All of it at rest.
    pub fn new(spec: &DriveSpec) -> Array {
        let nand = &spec.nand;
        let unit_pages = (nand.unit_bytes / PAGE_BYTES) as u32;
        let native = Timing {
            read_s: nand.read_us * US,
            program_s: nand.program_us * US,
        };
        let (cached, cached_pages) = spec.cache.as_ref().map_or((native, unit_pages), |cache| {
            let timing = Timing {
                read_s: cache.read_us * US,
                program_s: cache.program_us * US,
            };
            (timing, (unit_pages / cache.bits).max(1))
        });
        Array {
            dies: (0..nand.dies)
                .map(|die| Die {
                    free_s: 0.0,
                    channel: die % nand.channels,
                })
                .collect(),
            channel_free_s: vec![0.0; nand.channels as usize],
            by_dies: StrengthReducedU32::new(nand.dies),
            page_shift: (nand.block_bytes / PAGE_BYTES).trailing_zeros(),
            by_unit: [unit_pages, cached_pages].map(StrengthReducedU32::new),
            timing: [native, cached],
            erase_s: nand.erase_us * US,
            page_transfer_s: PAGE_BYTES as f64 / (nand.channel_mb_s * MB),
        }
    }

    /// Where a page is; blocks start on different dies.
    #[inline]
    pub fn unit(&self, ppn: u32, slc: bool) -> Unit {
        let block = ppn >> self.page_shift;
        let offset = ppn & ((1 << self.page_shift) - 1);
        let pages = self.by_unit[usize::from(slc)];
        let (unit, within) = StrengthReducedU32::div_rem(offset, pages);
        Unit {
            die: self.spread(block + unit),
            pages_left: pages.get() - within,
        }
    }

    /// A die for each number of a series, one after the other.
    #[inline]
    pub fn spread(&self, number: u32) -> usize {
        (number % self.by_dies) as usize
    }

    /// The channel's share of an operation: bandwidth is kept, but a transfer that waits for its
    /// die does not hold up those of other dies.
    #[inline]
    fn transfer(&mut self, channel: u32, pages: u32, at_s: f64) -> f64 {
        let free = &mut self.channel_free_s[channel as usize];
        *free = later(*free, at_s) + f64::from(pages) * self.page_transfer_s;
        *free
    }

    /// Read up to a unit from a die; when the data is there.
    #[inline]
    pub fn read(&mut self, die: usize, pages: u32, slc: bool, at_s: f64) -> f64 {
        let Die { free_s, channel } = &mut self.dies[die];
        *free_s = later(*free_s, at_s) + self.timing[usize::from(slc)].read_s;
        let sensed_s = *free_s + f64::from(pages) * self.page_transfer_s;
        let channel = *channel;
        later(self.transfer(channel, pages, at_s), sensed_s)
    }

    /// Read without handing the data to anyone who waits: collection's reads.
    #[inline]
    pub fn sense(&mut self, die: usize, slc: bool, at_s: f64) {
        let free_s = &mut self.dies[die].free_s;
        *free_s = later(*free_s, at_s) + self.timing[usize::from(slc)].read_s;
    }

    /// Program a unit on a die; when it is done.
    #[inline]
    pub fn program(&mut self, die: usize, pages: u32, slc: bool, at_s: f64) -> f64 {
        let loaded_s = self.transfer(self.dies[die].channel, pages, at_s);
        let free_s = &mut self.dies[die].free_s;
        *free_s = later(*free_s, loaded_s) + self.timing[usize::from(slc)].program_s;
        *free_s
    }

    /// Pages that a die programs at once.
    pub fn unit_pages(&self, slc: bool) -> u32 {
        self.by_unit[usize::from(slc)].get()
    }

    /// What a program takes.
    pub fn program_s(&self, slc: bool) -> f64 {
        self.timing[usize::from(slc)].program_s
    }

    /// Erase a block, which is on every die.
    pub fn erase(&mut self, at_s: f64) {
        for die in &mut self.dies {
            die.free_s = later(die.free_s, at_s) + self.erase_s;
        }
    }
}
