//! What is touched, in a bitmap whose grain doubles where the addresses would not fit.

use super::summary::Footprint;

/// Bits of a map, at most: 512 GiB in grains of 4 KiB take 16 MiB.
const MAX_BITS: u64 = 1 << 27;
const FINEST_SHIFT: u32 = 12;
const WORD: u64 = u64::BITS as u64;

/// A bit for each grain, of reads and of writes.
pub struct Map {
    shift: u32,
    words: [Vec<u64>; 2],
}

impl Default for Map {
    fn default() -> Self {
        Map {
            shift: FINEST_SHIFT,
            words: [Vec::new(), Vec::new()],
        }
    }
}

impl Map {
    /// Mark bytes from `offset` to before `end`; direction 0 reads, 1 writes.
    pub fn mark(&mut self, direction: usize, offset: u64, end: u64) {
        if end <= offset {
            return;
        }
        while (end - 1) >> self.shift >= MAX_BITS {
            self.coarsen();
        }
        let (first, last) = (offset >> self.shift, (end - 1) >> self.shift);
        let words = &mut self.words[direction];
        let (from, to) = ((first / WORD) as usize, (last / WORD) as usize);
        if to >= words.len() {
            words.resize((to + 1).next_power_of_two(), 0);
        }
        let head = u64::MAX << (first % WORD);
        let tail = u64::MAX >> (WORD - 1 - last % WORD);
        if from == to {
            words[from] |= head & tail;
            return;
        }
        words[from] |= head;
        words[from + 1..to].fill(u64::MAX);
        words[to] |= tail;
    }

    fn coarsen(&mut self) {
        self.shift += 1;
        for words in &mut self.words {
            for at in 0..words.len().div_ceil(2) {
                let high = words.get(2 * at + 1).map_or(0, |&word| halved(word));
                words[at] = halved(words[2 * at]) | high << 32;
            }
            words.truncate(words.len().div_ceil(2));
        }
    }

    /// How much is marked.
    pub fn summary(&self) -> Footprint {
        let [reads, writes] = &self.words;
        let count = |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum();
        let read: u64 = count(reads);
        let written: u64 = count(writes);
        let both: u64 = reads
            .iter()
            .zip(writes)
            .map(|(read, written)| u64::from((read & written).count_ones()))
            .sum();
        Footprint {
            bytes: (read + written - both) << self.shift,
            read_bytes: read << self.shift,
            write_bytes: written << self.shift,
            granularity_bytes: 1 << self.shift,
        }
    }
}

/// Each pair of bits as one that is set if either is, in the lower half.
fn halved(word: u64) -> u64 {
    let mut bits = (word | word >> 1) & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) & 0x0000_0000_ffff_ffff
}
