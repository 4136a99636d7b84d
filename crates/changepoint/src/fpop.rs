//! Functional pruning optimal partitioning.
//!
//! Maidstone, Hocking, Rigaill and Fearnhead, "On optimal multiple changepoint algorithms for
//! large data", Statistics and Computing 27 (2017): the cost of the best segmentation up to `t`
//! is kept as a function of the last segment's mean. It is the lower envelope of one parabola
//! for each candidate of the last change; a candidate that is nowhere lowest can never win again.

use crate::error::{SeriesError, check_finite, check_penalty};

/// A stretch of means on which one candidate is the lowest.
///
/// Its cost is `count * (mean - centre)^2 + least`: centred, so that long series keep precision.
#[derive(Debug, Clone, Copy)]
struct Piece {
    low: f64,
    high: f64,
    count: f64,
    centre: f64,
    least: f64,
    /// Where the last segment begins.
    start: usize,
}

impl Piece {
    fn add(&mut self, value: f64) {
        let difference = value - self.centre;
        let count = self.count + 1.0;
        self.least += self.count / count * difference * difference;
        self.centre += difference / count;
        self.count = count;
    }

    /// The lowest cost on the stretch.
    fn minimum(&self) -> f64 {
        let offset = self.centre.clamp(self.low, self.high) - self.centre;
        self.least + self.count * offset * offset
    }
}

/// Returns the end of each segment (exclusive) of the optimal segmentation; the last is the
/// series' length, and an empty series has none.
///
/// # Errors
/// A value that is not finite, or a penalty that is not a positive number.
pub fn fpop(values: &[f64], penalty: f64) -> Result<Vec<usize>, SeriesError> {
    check_penalty(penalty)?;
    check_finite(values)?;
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);

    let fresh = |low, high, start, least| Piece {
        low,
        high,
        count: 0.0,
        centre: 0.0,
        least,
        start,
    };
    let mut pieces = vec![fresh(lowest, highest, 0, 0.0)];
    let mut next = Vec::new();
    let mut starts = Vec::with_capacity(values.len());
    for (index, &value) in values.iter().enumerate() {
        let mut best = f64::INFINITY;
        let mut best_start = 0;
        for piece in &mut pieces {
            piece.add(value);
            let minimum = piece.minimum();
            if minimum < best {
                best = minimum;
                best_start = piece.start;
            }
        }
        starts.push(best_start);

        // A change after this value costs the same whatever the next mean: candidates keep only
        // the means on which they are no dearer, the new candidate takes the rest.
        let ceiling = best + penalty;
        let mut covered = lowest;
        next.clear();
        for piece in &pieces {
            let reach = ((ceiling - piece.least) / piece.count).max(0.0).sqrt();
            let low = piece.low.max(piece.centre - reach);
            let high = piece.high.min(piece.centre + reach);
            if piece.least > ceiling || low > high {
                continue;
            }
            if low > covered {
                next.push(fresh(covered, low, index + 1, ceiling));
            }
            next.push(Piece {
                low,
                high,
                ..*piece
            });
            covered = high;
        }
        if covered < highest {
            next.push(fresh(covered, highest, index + 1, ceiling));
        }
        std::mem::swap(&mut pieces, &mut next);
    }

    let mut ends = Vec::new();
    let mut end = values.len();
    while end > 0 {
        ends.push(end);
        end = starts[end - 1];
    }
    ends.reverse();
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cost(values: &[f64], ends: &[usize], penalty: f64) -> f64 {
        let mut start = 0;
        let mut total = penalty * (ends.len() as f64 - 1.0);
        for &end in ends {
            let segment = &values[start..end];
            let mean = segment.iter().sum::<f64>() / segment.len() as f64;
            total += segment.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
            start = end;
        }
        total
    }

    /// Optimal partitioning by trying every last change: O(n^2) costs, each O(n).
    fn least_cost(values: &[f64], penalty: f64) -> f64 {
        let mut least = vec![-penalty];
        for end in 1..=values.len() {
            let best = (0..end)
                .map(|start| least[start] + cost(&values[start..end], &[end - start], penalty))
                .fold(f64::INFINITY, f64::min);
            least.push(best + penalty);
        }
        least[values.len()]
    }

    proptest! {
        #[test]
        fn no_segmentation_is_cheaper(
            levels in prop::collection::vec((0.0..100.0f64, 1..12usize), 1..8),
            noise in prop::collection::vec(-5.0..5.0f64, 90),
            penalty in 0.1..500.0f64,
        ) {
            let values: Vec<f64> = levels
                .iter()
                .flat_map(|&(level, length)| std::iter::repeat_n(level, length))
                .zip(&noise)
                .map(|(level, noise)| level + noise)
                .collect();
            let ends = fpop(&values, penalty).unwrap();
            prop_assert_eq!(*ends.last().unwrap(), values.len());
            prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
            let found = cost(&values, &ends, penalty);
            let least = least_cost(&values, penalty);
            prop_assert!(found <= least * (1.0 + 1e-9) + 1e-6, "{} > {}", found, least);
        }
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let values: Vec<f64> = (0..100).map(|i| if i < 37 { 10.0 } else { 4.0 }).collect();
        assert_eq!(fpop(&values, 1.0).unwrap(), vec![37, 100]);
    }

    #[test]
    fn a_constant_series_is_one_segment() {
        assert_eq!(fpop(&[0.0; 50], 1.0).unwrap(), vec![50]);
    }

    #[test]
    fn an_empty_series_has_no_segments() {
        assert!(fpop(&[], 1.0).unwrap().is_empty());
    }

    #[test]
    fn what_is_not_a_number_is_named() {
        let error = fpop(&[1.0, f64::NAN], 1.0).unwrap_err();
        assert!(error.to_string().starts_with("value 1 is NaN"));
        assert!(matches!(fpop(&[1.0], 0.0), Err(SeriesError::Penalty(_))));
    }
}
