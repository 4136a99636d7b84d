//! Pauses between bursts: short ones within a task, long ones between tasks.

use fastrand::Rng;

use super::quota::Quota;
use super::shape;

/// How many durations are drawn at once.
const BLOCK: u64 = 256;

/// Exponentially distributed durations whose sum is exact: every block of them holds the
/// distribution's quantiles, in any order.
struct Durations {
    mean_ns: f64,
    left: u64,
    pool: Vec<u64>,
    rng: Rng,
}

impl Durations {
    fn draw(&mut self) -> u64 {
        if self.pool.is_empty() {
            let size = self.left.clamp(1, BLOCK);
            self.left = self.left.saturating_sub(size);
            let quantile = |at: u64| -(-(at as f64 + 0.5) / size as f64).ln_1p();
            let sum: f64 = (0..size).map(quantile).sum();
            let unit_ns = self.mean_ns * size as f64 / sum;
            self.pool
                .extend((0..size).map(|at| (quantile(at) * unit_ns) as u64));
            self.rng.shuffle(&mut self.pool);
        }
        self.pool.pop().unwrap_or(0)
    }
}

/// The pauses of a trace.
pub struct Pauses {
    kinds: Quota,
    think: Durations,
    rest: Durations,
}

impl Pauses {
    /// Those between this many bursts.
    pub fn new(shape: &shape::Pauses, bursts: u64, rng: &mut Rng) -> Self {
        let tasks = ((bursts as f64 / shape.task_bursts).round() as u64).clamp(1, bursts.max(1));
        let rests = tasks - 1;
        let thinks = bursts.saturating_sub(1) - rests;
        let mut durations = |mean_ns, left| Durations {
            mean_ns,
            left,
            pool: Vec::new(),
            rng: rng.fork(),
        };
        Pauses {
            think: durations(shape.think_us * 1e3, thinks),
            rest: durations(shape.rest_s * 1e9, rests),
            kinds: Quota::new(vec![thinks, rests], rng.fork()),
        }
    }

    /// How long the next one is.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        match self.kinds.draw() {
            Some(0) => self.think.draw(),
            Some(_) => self.rest.draw(),
            None => 0,
        }
    }
}
