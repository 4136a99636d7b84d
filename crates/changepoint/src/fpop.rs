//! Functional pruning optimal partitioning.
//!
//! Maidstone, Hocking, Rigaill and Fearnhead, "On optimal multiple changepoint algorithms for
//! large data", Statistics and Computing 27 (2017): the cost of the best segmentation up to `t`
//! is kept as a function of the last segment's mean. It is the lower envelope of one parabola
//! for each candidate of the last change; a candidate that is nowhere lowest can never win again.

use crate::envelope::Envelope;
use crate::error::{SeriesError, check_finite, check_penalty, check_range};

/// Returns the end of each segment (exclusive) of the optimal segmentation; the last is the
/// series' length, and an empty series has none.
///
/// # Errors
/// A value that is not finite, values too far apart to be squared, or a penalty that is not a
/// positive number.
pub fn fpop(values: &[f64], penalty: f64) -> Result<Vec<usize>, SeriesError> {
    check_penalty(penalty)?;
    check_finite(values)?;
    let (lowest, highest) = check_range(values)?;
    // Sums stay small, and precise, about the middle.
    let middle = lowest + (highest - lowest) / 2.0;
    let mut envelope = Envelope::new(lowest - middle, highest - middle);
    let starts: Vec<usize> = values
        .iter()
        .map(|&value| envelope.add(value - middle, penalty))
        .collect();
    Ok(crate::ends(&starts))
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

    /// Optimal partitioning by trying every last change, for every end: O(n^2).
    fn least_cost(values: &[f64], penalty: f64) -> f64 {
        let mut least = vec![-penalty];
        for end in 1..=values.len() {
            let (mut count, mut mean, mut error, mut best) = (0.0, 0.0, 0.0, f64::INFINITY);
            for start in (0..end).rev() {
                let distance = values[start] - mean;
                count += 1.0;
                mean += distance / count;
                error += distance * (values[start] - mean);
                best = best.min(least[start] + error + penalty);
            }
            least.push(best);
        }
        least[values.len()]
    }

    fn assert_optimal(values: &[f64], penalty: f64) -> Result<(), TestCaseError> {
        let ends = fpop(values, penalty).unwrap();
        prop_assert_eq!(*ends.last().unwrap(), values.len());
        prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
        let found = cost(values, &ends, penalty);
        let least = least_cost(values, penalty);
        prop_assert!(
            found <= least * (1.0 + 1e-9) + 1e-9 * penalty,
            "{} > {}",
            found,
            least
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn no_segmentation_of_noisy_levels_is_cheaper(
            levels in prop::collection::vec((0.0..100.0f64, 1..40usize), 1..8),
            noise in prop::collection::vec(-1.0..1.0f64, 320),
            (size, penalty) in (-3.0..1.5f64, -6.0..3.0f64),
        ) {
            let values: Vec<f64> = levels
                .iter()
                .flat_map(|&(level, length)| std::iter::repeat_n(level, length))
                .zip(&noise)
                .map(|(level, noise)| 1e4 + level + noise * 10f64.powf(size))
                .collect();
            assert_optimal(&values, 10f64.powf(penalty))?;
        }

        #[test]
        fn no_segmentation_of_whole_numbers_is_cheaper(
            values in prop::collection::vec((-4..4i8).prop_map(f64::from), 1..200),
            penalty in prop_oneof![(1..40u8).prop_map(f64::from), 0.1..40.0f64],
        ) {
            assert_optimal(&values, penalty)?;
        }

        /// Slides keep many more candidates alive than levels do.
        #[test]
        fn no_segmentation_of_a_slide_is_cheaper(
            noise in prop::collection::vec(-1.0..1.0f64, 1..400),
            size in prop_oneof![Just(0.0), 0.0..20.0f64],
            (slope, bend) in (-3.0..3.0f64, -0.05..0.05f64),
            penalty in 0.0..7.0f64,
        ) {
            let values: Vec<f64> = noise
                .iter()
                .enumerate()
                .map(|(index, noise)| {
                    let t = index as f64;
                    slope * t + bend * t * t + size * noise
                })
                .collect();
            assert_optimal(&values, 10f64.powf(penalty))?;
        }
    }

    #[test]
    fn a_small_step_far_from_others_is_found_where_it_is() {
        let noise = |index: usize| ((index * 7919) % 1009) as f64 / 1009.0 - 0.5;
        let values: Vec<f64> = (0..300_000)
            .map(|index| match index {
                0..1_000 => 10_000.0,
                1_000..200_000 => 1e-3 * noise(index),
                _ => 1e-3 * noise(index) + 1e-3,
            })
            .collect();
        assert_eq!(fpop(&values, 1e-5).unwrap(), vec![1_000, 200_000, 300_000]);
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
        let error = fpop(&[1e160, 0.0, -1e160], 1.0).unwrap_err();
        assert!(error.to_string().contains("too far apart"));
        assert!(matches!(fpop(&[1.0], 0.0), Err(SeriesError::Penalty(_))));
    }
}
