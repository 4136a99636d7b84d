//! Pruned exact linear time search for changes of mean and variance.
//!
//! Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational
//! cost", Journal of the American Statistical Association 107 (2012): the best segmentation up to
//! a value ends with the best of all last segments, and a change that costs more than another
//! even without its penalty can never win again.

use crate::error::{SeriesError, check_finite, check_penalty, check_range};

/// Returns the end of each segment (exclusive) of the optimal segmentation into normally
/// distributed segments; the last is the series' length, and an empty series has none.
///
/// A segment costs twice its negative log-likelihood but for a constant, `count * ln(variance)`,
/// each change `penalty`. Segments have `min_length` values or more; a series with fewer is one.
/// No segment's variance is taken to be below `least_variance`, since the likelihood of values
/// that are all the same has no bound: such a segment costs
/// `count * (ln(least_variance) + variance / least_variance - 1)`.
///
/// # Errors
/// A value that is not finite, values too far apart to be squared, a penalty or a least variance
/// that is not a positive number, or a `min_length` below 2.
pub fn pelt_mean_var(
    values: &[f64],
    penalty: f64,
    min_length: usize,
    least_variance: f64,
) -> Result<Vec<usize>, SeriesError> {
    check_penalty(penalty)?;
    if min_length < 2 {
        return Err(SeriesError::MinLength(min_length));
    }
    if !(least_variance.is_finite() && least_variance > 0.0) {
        return Err(SeriesError::LeastVariance(least_variance));
    }
    check_finite(values)?;
    check_range(values)?;

    let floor = Floor::new(least_variance);
    // The first segment brings no change with it.
    let mut least = -penalty;
    let mut starts = Vec::with_capacity(values.len());
    let mut candidates = Candidates::default();
    for (index, &value) in values.iter().enumerate() {
        // What is shorter than a segment is none, and no segment can follow it.
        if index == 0 || index >= min_length {
            candidates.push(index, least);
        }
        candidates.add(value);
        let end = index + 1;
        let (cost, start) = candidates.cheapest(end, min_length, &floor);
        least = cost + penalty;
        starts.push(start);
        if end % PRUNE_EVERY == 0 {
            candidates.prune(end, least, min_length);
        }
    }
    Ok(crate::ends(&starts))
}

/// Pruning may come late, it only may not come early: doing it now and then costs less.
const PRUNE_EVERY: usize = 8;

/// The least variance, and its logarithm.
struct Floor {
    variance: f64,
    log: f64,
}

impl Floor {
    fn new(variance: f64) -> Self {
        let log = variance.ln();
        Floor { variance, log }
    }

    /// The cost of each value of a segment. It is concave in the variance, down to 0: else two
    /// segments could cost more than both in one, and pruning would not be exact.
    fn cost(&self, variance: f64) -> f64 {
        if variance >= self.variance {
            variance.ln()
        } else {
            self.log + variance / self.variance - 1.0
        }
    }
}

/// Starts that the last segment may have, in rising order.
#[derive(Default)]
struct Candidates {
    starts: Vec<usize>,
    /// The least cost of all that is before the start.
    before: Vec<f64>,
    /// The last segment's values: their number, mean, and squared distances from the mean.
    count: Vec<f64>,
    mean: Vec<f64>,
    error: Vec<f64>,
    /// The cost with the last segment, for those that are long enough.
    cost: Vec<f64>,
    /// The end at which another was found to be cheaper even with the penalty for a change.
    beaten: Vec<usize>,
}

impl Candidates {
    fn push(&mut self, start: usize, before: f64) {
        self.starts.push(start);
        self.before.push(before);
        self.count.push(0.0);
        self.mean.push(0.0);
        self.error.push(0.0);
        self.cost.push(f64::INFINITY);
        self.beaten.push(usize::MAX);
    }

    fn add(&mut self, value: f64) {
        let moments = self.count.iter_mut().zip(&mut self.mean);
        for ((count, mean), error) in moments.zip(&mut self.error) {
            *count += 1.0;
            let distance = value - *mean;
            *mean += distance / *count;
            *error += distance * (value - *mean);
        }
    }

    /// The least cost up to `end`, without the last change's penalty, and the start that has it;
    /// infinite, and 0, where no segment is long enough yet.
    fn cheapest(&mut self, end: usize, min_length: usize, floor: &Floor) -> (f64, usize) {
        let long = self.long(end, min_length);
        let moments = self.count.iter().zip(&self.error);
        let mut least = (f64::INFINITY, 0);
        for (index, ((cost, before), (count, error))) in self.cost[..long]
            .iter_mut()
            .zip(&self.before)
            .zip(moments)
            .enumerate()
        {
            *cost = before + count * floor.cost(error / count);
            if *cost < least.0 {
                least = (*cost, self.starts[index]);
            }
        }
        least
    }

    /// Drops what cannot win from the next end on. A change at `end` is not an option until a
    /// segment fits behind it, so what it beats may win until then.
    fn prune(&mut self, end: usize, least: f64, min_length: usize) {
        for (beaten, cost) in self.beaten.iter_mut().zip(&self.cost) {
            if *cost >= least && cost.is_finite() {
                *beaten = end.min(*beaten);
            }
        }
        let keep: Vec<bool> = self
            .beaten
            .iter()
            .map(|beaten| end + 1 - (*beaten).min(end + 1) < min_length)
            .collect();
        if keep.contains(&false) {
            retain(&mut self.starts, &keep);
            retain(&mut self.before, &keep);
            retain(&mut self.count, &keep);
            retain(&mut self.mean, &keep);
            retain(&mut self.error, &keep);
            retain(&mut self.cost, &keep);
            retain(&mut self.beaten, &keep);
        }
    }

    /// How many candidates have a last segment of `min_length` values or more.
    fn long(&self, end: usize, min_length: usize) -> usize {
        self.starts
            .partition_point(|&start| end - start >= min_length)
    }
}

/// Keeps the elements whose flag is set.
fn retain<T>(elements: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    elements.retain(|_| *flags.next().expect("a flag for each element"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment_cost(values: &[f64], least_variance: f64) -> f64 {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
        likelihood(count, variance, least_variance)
    }

    fn likelihood(count: f64, variance: f64, least_variance: f64) -> f64 {
        let held = variance.max(least_variance);
        count * (held.ln() + variance / held - 1.0)
    }

    fn cost(values: &[f64], ends: &[usize], penalty: f64, least_variance: f64) -> f64 {
        let mut start = 0;
        let mut total = penalty * (ends.len() as f64 - 1.0);
        for &end in ends {
            total += segment_cost(&values[start..end], least_variance);
            start = end;
        }
        total
    }

    /// Optimal partitioning by trying every last segment that is long enough, for every end.
    fn lowest_cost(values: &[f64], penalty: f64, min_length: usize, least_variance: f64) -> f64 {
        let mut least = vec![f64::INFINITY; values.len() + 1];
        least[0] = -penalty;
        for end in min_length..=values.len() {
            let (mut count, mut mean, mut error) = (0.0, 0.0, 0.0);
            for start in (0..end).rev() {
                let distance = values[start] - mean;
                count += 1.0;
                mean += distance / count;
                error += distance * (values[start] - mean);
                if end - start >= min_length {
                    let segment = likelihood(count, error / count, least_variance);
                    least[end] = least[end].min(least[start] + segment + penalty);
                }
            }
        }
        least[values.len()]
    }

    proptest! {
        // Pruning too early shows in one of a thousand only.
        #![proptest_config(ProptestConfig::with_cases(8000))]
        #[test]
        fn no_segmentation_is_cheaper(
            parts in prop::collection::vec((0.0..9.0f64, 0.0..3.0f64, 1..25usize), 1..16),
            chance in prop::collection::vec((-1.0..1.0f64, -1.0..1.0f64), 200),
            // Steps of the values bring ties, and stretches that are all the same.
            step in prop_oneof![Just(1e-9), Just(0.5), Just(4.0)],
            (penalty, min_length) in (0.1..20.0f64, 2..20usize),
            least_variance in prop_oneof![Just(1e-6), 0.01..4.0f64],
        ) {
            let values: Vec<f64> = parts
                .iter()
                .flat_map(|&(level, spread, length)| std::iter::repeat_n((level, spread), length))
                .zip(&chance)
                .map(|((level, spread), (a, b))| {
                    ((1e3 + level + spread * (a + b)) / step).round() * step
                })
                .collect();
            let ends = pelt_mean_var(&values, penalty, min_length, least_variance).unwrap();
            prop_assert_eq!(*ends.last().unwrap(), values.len());
            if values.len() < min_length {
                prop_assert_eq!(ends.len(), 1);
                return Ok(());
            }
            let starts = std::iter::once(&0).chain(&ends);
            prop_assert!(starts.zip(&ends).all(|(start, end)| end - start >= min_length));
            let found = cost(&values, &ends, penalty, least_variance);
            let least = lowest_cost(&values, penalty, min_length, least_variance);
            prop_assert!(found <= least + 1e-6 * (1.0 + least.abs()), "{} > {}", found, least);
        }
    }

    #[test]
    fn a_change_of_variance_alone_is_found_where_it_is() {
        let values: Vec<f64> = (0..400)
            .map(|i| if i < 250 { 1.0 } else { 8.0 } * if i % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        assert_eq!(
            pelt_mean_var(&values, 10.0, 2, 1e-6).unwrap(),
            vec![250, 400]
        );
    }

    #[test]
    fn values_that_are_all_the_same_are_one_segment() {
        assert_eq!(pelt_mean_var(&[7.0; 50], 1.0, 2, 1e-6).unwrap(), vec![50]);
    }

    #[test]
    fn a_series_shorter_than_a_segment_is_one() {
        assert_eq!(pelt_mean_var(&[1.0, 9.0], 1.0, 3, 1e-6).unwrap(), vec![2]);
        assert!(pelt_mean_var(&[], 1.0, 3, 1e-6).unwrap().is_empty());
    }

    #[test]
    fn what_means_nothing_is_named() {
        let said = |values: &[f64], min_length, least_variance| {
            let error = pelt_mean_var(values, 1.0, min_length, least_variance).unwrap_err();
            error.to_string()
        };
        assert!(said(&[1.0, f64::NAN], 2, 1.0).starts_with("value 1 is NaN"));
        assert!(said(&[1.0, 2.0], 1, 1.0).starts_with("min_length is 1"));
        assert!(said(&[1.0, 2.0], 2, 0.0).starts_with("least_variance is 0"));
        assert!(said(&[1e160, -1e160], 2, 1.0).contains("too far apart"));
    }
}
