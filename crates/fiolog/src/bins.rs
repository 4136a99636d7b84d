//! Rows summed up by direction and time.

use std::collections::VecDeque;

use crate::row::Row;

/// How long a bin is.
pub const BIN_MS: i64 = 100;
/// Read, write and trim.
const DIRECTIONS: usize = 3;

/// Up to this many values of a bin are kept as they are; more are counted in buckets.
const KEPT: usize = 4096;
/// Buckets for each power of two: percentiles are exact to 0.4 %.
const SUB_BITS: u32 = 7;
const SUBS: usize = 1 << SUB_BITS;

/// The rows of one direction whose times fall into the same 0.1 s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    pub ddir: u8,
    /// Time of the earliest and of the latest row.
    pub first_ms: i64,
    pub last_ms: i64,
    pub count: u64,
    /// The sum of block sizes.
    pub bytes: u64,
    pub mean: f64,
    /// The value that 50, 99 and 99.9 % of the rows do not exceed.
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: u64,
}

enum Values {
    Kept(Vec<u64>),
    Counted(Box<[u32]>),
}

/// A bin that rows can still reach.
struct Open {
    first_ms: i64,
    last_ms: i64,
    count: u64,
    bytes: u64,
    sum: u128,
    max: u64,
    values: Values,
}

/// The bins of one run: those that are open, in the order of time.
#[derive(Default)]
pub(crate) struct Bins {
    open: VecDeque<(i64, [Option<Box<Open>>; DIRECTIONS])>,
}

impl Bins {
    pub fn add(&mut self, row: &Row) {
        let index = row.time_ms / BIN_MS;
        let behind = self
            .open
            .iter()
            .rev()
            .take_while(|bin| bin.0 > index)
            .count();
        let place = self.open.len() - behind;
        let exists = place > 0 && self.open[place - 1].0 == index;
        if !exists {
            self.open.insert(place, (index, [None, None, None]));
        }
        let slot = &mut self.open[if exists { place - 1 } else { place }].1[row.ddir as usize];
        slot.get_or_insert_with(|| Box::new(Open::new(row.time_ms)))
            .add(row);
    }

    /// Sum up the bins that end before `time_ms`.
    pub fn close_before(&mut self, time_ms: i64, closed: &mut Vec<Bin>) {
        while let Some((index, _)) = self.open.front() {
            if (index + 1) * BIN_MS > time_ms {
                break;
            }
            let (_, directions) = self.open.pop_front().expect("there is a first one");
            for (ddir, open) in directions.into_iter().enumerate() {
                closed.extend(open.map(|open| open.close(ddir as u8)));
            }
        }
    }
}

impl Open {
    fn new(time_ms: i64) -> Open {
        Open {
            first_ms: time_ms,
            last_ms: time_ms,
            count: 0,
            bytes: 0,
            sum: 0,
            max: 0,
            values: Values::Kept(Vec::new()),
        }
    }

    fn add(&mut self, row: &Row) {
        self.first_ms = self.first_ms.min(row.time_ms);
        self.last_ms = self.last_ms.max(row.time_ms);
        self.count += 1;
        self.bytes = self.bytes.saturating_add(row.bs);
        self.sum += u128::from(row.value);
        self.max = self.max.max(row.greatest);
        match &mut self.values {
            Values::Kept(kept) if kept.len() < KEPT => kept.push(row.value),
            Values::Kept(kept) => {
                let mut counts = vec![0u32; SUBS * 58].into_boxed_slice();
                for value in kept.iter().chain([&row.value]) {
                    counts[bucket(*value)] += 1;
                }
                self.values = Values::Counted(counts);
            }
            Values::Counted(counts) => {
                let count = &mut counts[bucket(row.value)];
                *count = count.saturating_add(1);
            }
        }
    }

    fn close(self, ddir: u8) -> Bin {
        let mean = self.sum as f64 / self.count as f64;
        let [p50, p99, p999] = match self.values {
            Values::Kept(mut kept) => {
                kept.sort_unstable();
                [0.5, 0.99, 0.999].map(|share| {
                    let rank = (share * kept.len() as f64).ceil() as usize;
                    kept[rank.max(1) - 1] as f64
                })
            }
            Values::Counted(counts) => [0.5, 0.99, 0.999].map(|share| {
                let rank = (share * self.count as f64).ceil() as u64;
                let mut seen = 0;
                let within = counts.iter().position(|count| {
                    seen += u64::from(*count);
                    seen >= rank
                });
                within.map_or(self.max as f64, middle).min(self.max as f64)
            }),
        };
        Bin {
            ddir,
            first_ms: self.first_ms,
            last_ms: self.last_ms,
            count: self.count,
            bytes: self.bytes,
            mean,
            p50,
            p99,
            p999,
            max: self.max,
        }
    }
}

/// The bucket of a value: exact below 256, then 128 for each power of two.
fn bucket(value: u64) -> usize {
    let bits = 64 - value.leading_zeros();
    let shift = bits.saturating_sub(SUB_BITS + 1);
    shift as usize * SUBS + (value >> shift) as usize
}

/// The middle of a bucket's values.
fn middle(bucket: usize) -> f64 {
    let shift = (bucket / SUBS).saturating_sub(1);
    let least = (bucket - shift * SUBS) as f64;
    let width = (1u64 << shift) as f64;
    least * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn closed(rows: &[Row]) -> Vec<Bin> {
        let (mut bins, mut closed) = (Bins::default(), Vec::new());
        rows.iter().for_each(|row| bins.add(row));
        bins.close_before(i64::MAX, &mut closed);
        closed
    }

    fn row(time_ms: i64, value: u64, ddir: u8) -> Row {
        Row {
            time_ms,
            value,
            greatest: value,
            ddir,
            bs: 4096,
            offset: 0,
        }
    }

    #[test]
    fn rows_out_of_order_fall_into_their_bins() {
        let bins = closed(&[row(250, 1, 0), row(99, 2, 0), row(100, 3, 1), row(0, 4, 0)]);
        let seen: Vec<_> = bins
            .iter()
            .map(|b| (b.first_ms, b.last_ms, b.ddir, b.count))
            .collect();
        assert_eq!(seen, [(0, 99, 0, 2), (100, 100, 1, 1), (250, 250, 0, 1)]);
        assert_eq!((bins[0].mean, bins[0].max, bins[0].bytes), (3.0, 4, 8192));
    }

    #[test]
    fn a_bin_is_closed_only_when_its_end_has_passed() {
        let (mut bins, mut done) = (Bins::default(), Vec::new());
        bins.add(&row(150, 1, 0));
        bins.close_before(199, &mut done);
        assert!(done.is_empty());
        bins.close_before(200, &mut done);
        assert_eq!(done.len(), 1);
    }

    proptest! {
        #[test]
        fn a_buckets_middle_is_within_half_a_percent(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let found = middle(bucket(value));
            prop_assert!((found - value as f64).abs() <= value as f64 * 0.004);
            prop_assert!(bucket(value) < SUBS * 58);
        }

        #[test]
        fn percentiles_of_many_values_are_close_to_those_sorted(
            seed in any::<u64>(), count in 1usize..12_000, bits in 1u32..40
        ) {
            let mut state = seed | 1;
            let mut values: Vec<u64> = (0..count).map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state >> (64 - bits)
            }).collect();
            let rows: Vec<Row> = values.iter().map(|v| row(5, *v, 0)).collect();
            let bin = closed(&rows)[0];
            values.sort_unstable();
            for (share, found) in [(0.5, bin.p50), (0.99, bin.p99), (0.999, bin.p999)] {
                let rank = (share * count as f64).ceil() as usize;
                let exact = values[rank.max(1) - 1] as f64;
                prop_assert!((found - exact).abs() <= exact * 0.004, "{found} for {exact}");
            }
            prop_assert_eq!(bin.max, *values.last().unwrap());
        }
    }
}
