//! Draws without replacement that stay exact from beginning to end, in constant memory.

use fastrand::Rng;

/// About how many draws are mixed with each other.
const BLOCK: u64 = 4096;

/// Draws kinds 0, 1, ..., each as often as was asked.
///
/// The draws are cut into blocks; what a block holds of a kind is the difference of its quota's
/// rounded sums before and after, so no rounding is ever lost. Within a block the order is random.
pub struct Quota {
    counts: Vec<u64>,
    phases: Vec<u64>,
    blocks: u64,
    block: u64,
    pool: Vec<u16>,
    rng: Rng,
}

impl Quota {
    /// As many of each kind as `counts` says.
    pub fn new(counts: Vec<u64>, mut rng: Rng) -> Self {
        debug_assert!(counts.len() <= usize::from(u16::MAX));
        let blocks = counts.iter().sum::<u64>().div_ceil(BLOCK).max(1);
        let phases = counts.iter().map(|_| rng.u64(0..blocks)).collect();
        Quota {
            counts,
            phases,
            blocks,
            block: 0,
            pool: Vec::new(),
            rng,
        }
    }

    /// The next draw; none once all are drawn.
    #[inline]
    pub fn draw(&mut self) -> Option<usize> {
        if let Some(kind) = self.pool.pop() {
            return Some(usize::from(kind));
        }
        self.refill();
        self.pool.pop().map(usize::from)
    }

    fn refill(&mut self) {
        while self.pool.is_empty() && self.block < self.blocks {
            let upto = |block: u64, kind: usize| {
                let sum = u128::from(self.counts[kind]) * u128::from(block);
                ((sum + u128::from(self.phases[kind])) / u128::from(self.blocks)) as usize
            };
            for kind in 0..self.counts.len() {
                let held = upto(self.block + 1, kind) - upto(self.block, kind);
                self.pool.extend(std::iter::repeat_n(kind as u16, held));
            }
            self.block += 1;
            self.rng.shuffle(&mut self.pool);
        }
    }
}
