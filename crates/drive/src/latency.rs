//! How long I/Os took, in buckets.

use std::ops::Range;

use crate::nand::later;

/// Buckets of an octave, as a power of two: a bucket is 3 % wide.
const FINE: u32 = 5;
/// The shortest and the longest time that is told apart, as powers of two of a second.
const SHORTEST: i32 = -24;
const LONGEST: i32 = 12;
const BUCKETS: usize = ((LONGEST - SHORTEST) as usize) << FINE;
const MANTISSA: u32 = 52;
const BIAS: i32 = 1023;

/// Limits; reviews count the times that are longer.
const LONG_S: f64 = 0.01;
const VERY_LONG_S: f64 = 0.1;

/// Counts of times in logarithmic buckets, their sum and their greatest.
#[derive(Debug, Clone)]
pub struct Latencies {
    buckets: Box<[u32; BUCKETS]>,
    count: u64,
    sum_s: f64,
    min_s: f64,
    max_s: f64,
    over_10ms: u64,
    over_100ms: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies {
            buckets: vec![0; BUCKETS].into_boxed_slice().try_into().unwrap(),
            count: 0,
            sum_s: 0.0,
            min_s: f64::INFINITY,
            max_s: 0.0,
            over_10ms: 0,
            over_100ms: 0,
        }
    }
}

fn bucket(time_s: f64) -> usize {
    let first = ((BIAS + SHORTEST) as i64) << FINE;
    let here = (time_s.to_bits() >> (MANTISSA - FINE)) as i64 - first;
    here.clamp(0, BUCKETS as i64 - 1) as usize
}

/// Where a bucket starts.
fn edge_s(bucket: usize) -> f64 {
    let first = ((BIAS + SHORTEST) as u64) << FINE;
    f64::from_bits((bucket as u64 + first) << (MANTISSA - FINE))
}

impl Latencies {
    /// Count a time.
    #[inline(always)]
    pub fn add(&mut self, time_s: f64) {
        self.buckets[bucket(time_s)] += 1;
        self.count += 1;
        self.sum_s += time_s;
        self.max_s = later(self.max_s, time_s);
        self.min_s = if time_s < self.min_s {
            time_s
        } else {
            self.min_s
        };
        if time_s > LONG_S {
            self.over_10ms += 1;
            self.over_100ms += u64::from(time_s > VERY_LONG_S);
        }
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        let filled = self.filled();
        self.buckets[filled].fill(0);
        (self.count, self.sum_s) = (0, 0.0);
        (self.min_s, self.max_s) = (f64::INFINITY, 0.0);
        (self.over_10ms, self.over_100ms) = (0, 0);
    }

    /// The buckets from the shortest to the longest.
    fn filled(&self) -> Range<usize> {
        if self.count == 0 {
            return 0..0;
        }
        bucket(self.min_s)..bucket(self.max_s) + 1
    }

    /// How many took longer than 10 ms.
    pub fn over_10ms(&self) -> u64 {
        self.over_10ms
    }

    /// How many took longer than 100 ms.
    pub fn over_100ms(&self) -> u64 {
        self.over_100ms
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All times together.
    pub fn sum_s(&self) -> f64 {
        self.sum_s
    }

    /// Their mean; NaN where there are none.
    pub fn mean_s(&self) -> f64 {
        self.sum_s / self.count as f64
    }

    /// The longest; NaN where there are none.
    pub fn max_s(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.max_s
        }
    }

    /// The time that a share of them does not exceed, within a bucket; NaN where there are none.
    pub fn quantile_s(&self, share: f64) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        let wanted = share * self.count as f64;
        let mut below = 0.0;
        let last = bucket(self.max_s);
        for index in bucket(self.min_s)..last {
            let here = f64::from(self.buckets[index]);
            if below + here >= wanted && here > 0.0 {
                let part = ((wanted - below) / here).clamp(0.0, 1.0);
                let (begin, end) = (edge_s(index), edge_s(index + 1));
                return (begin + part * (end - begin)).min(self.max_s);
            }
            below += here;
        }
        // the last one ends at the longest
        let here = f64::from(self.buckets[last]);
        let part = ((wanted - below) / here).clamp(0.0, 1.0);
        let begin = edge_s(last).min(self.max_s);
        begin + part * (self.max_s - begin)
    }
}

/// Buckets of [`Latencies`] in one of [`Histogram`], as a power of two: one is 9 % wide at least.
const COARSE: u32 = 2;
const BINS: usize = BUCKETS >> COARSE;

/// Counts of times over a whole step.
#[derive(Debug, Clone)]
pub struct Histogram([u64; BINS]);

impl Default for Histogram {
    fn default() -> Self {
        Histogram([0; BINS])
    }
}

impl Histogram {
    /// Add what was counted.
    pub fn add(&mut self, seen: &Latencies) {
        for index in seen.filled() {
            self.0[index >> COARSE] += u64::from(seen.buckets[index]);
        }
    }

    /// Upper ends in seconds and counts, from the last empty bin before the first to the last that
    /// is not; nothing where there are no times.
    pub fn bins(&self) -> Vec<(f64, u64)> {
        let filled = |&count: &u64| count > 0;
        let Some(first) = self.0.iter().position(filled) else {
            return Vec::new();
        };
        let last = self.0.iter().rposition(filled).unwrap_or(first);
        (first.saturating_sub(1)..=last)
            .map(|bin| (edge_s((bin + 1) << COARSE), self.0[bin]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_a_bucket_of_the_sorted_times(
            times in prop::collection::vec(1e-6..10.0f64, 1..300),
            share in 0.01..1.0f64,
        ) {
            let mut seen = Latencies::default();
            times.iter().for_each(|time| seen.add(*time));
            let mut sorted = times.clone();
            sorted.sort_by(f64::total_cmp);
            let rank = ((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            let exact = sorted[rank - 1];
            let found = seen.quantile_s(share);
            prop_assert!((found / exact - 1.0).abs() < 0.04, "{found} and {exact}");
            prop_assert_eq!(seen.max_s(), *sorted.last().unwrap());
            let over = |limit_s: f64| times.iter().filter(|time| **time > limit_s).count() as u64;
            prop_assert_eq!((seen.over_10ms(), seen.over_100ms()), (over(0.01), over(0.1)));
            let sum: f64 = times.iter().sum();
            prop_assert!((seen.mean_s() * times.len() as f64 - sum).abs() < 1e-9 * sum);
        }
    }

    proptest! {
        #[test]
        fn a_histogram_counts_each_time_where_it_lies(
            times in prop::collection::vec(prop::collection::vec(1e-6..10.0f64, 0..40), 0..5),
        ) {
            let mut histogram = Histogram::default();
            for part in &times {
                let mut seen = Latencies::default();
                part.iter().for_each(|time| seen.add(*time));
                histogram.add(&seen);
            }
            let times = times.concat();
            let bins = histogram.bins();
            prop_assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), times.len() as u64);
            for pair in bins.windows(2) {
                let (low, high) = (pair[0].0, pair[1].0);
                let inside = times.iter().filter(|time| (low..high).contains(*time)).count();
                prop_assert_eq!(pair[1].1, inside as u64);
                prop_assert!(high / low < 1.13);
            }
        }
    }

    #[test]
    fn nothing_is_left_after_it_was_cleared() {
        let mut seen = Latencies::default();
        seen.add(0.5);
        seen.add(1e-30);
        seen.add(1e30);
        assert_eq!(seen.quantile_s(1.0), 1e30);
        seen.clear();
        assert_eq!((seen.over_10ms(), seen.over_100ms()), (0, 0));
        assert!(seen.quantile_s(0.5).is_nan() && seen.max_s().is_nan() && seen.mean_s().is_nan());
        seen.add(2.0);
        assert_eq!(seen.quantile_s(0.99), 2.0);
    }
}
