//! The Hampel filter: outliers give way to the median around them.
//!
//! Hampel, "The influence curve and its role in robust estimation", Journal of the American
//! Statistical Association 69 (1974): the median and the median absolute deviation (MAD) tell
//! an outlier, since up to half of the values can be outliers without moving either far.

use crate::error::{SeriesError, check_finite};

/// A normal distribution's standard deviation over its median absolute deviation.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Returns the series with each outlier replaced by the median around it.
///
/// An outlier is farther than `limit` standard deviations (1.4826 times the MAD) from the median
/// of the `2 * half_width + 1` values about it; beyond the ends the series is reflected, the
/// value at the end not repeated. A series shorter than a window is returned as it is, as is
/// every series with a `half_width` of 0.
///
/// # Errors
/// A value that is not finite, or a limit that is not a number of 0 or more.
pub fn hampel(values: &[f64], half_width: usize, limit: f64) -> Result<Vec<f64>, SeriesError> {
    if !(limit.is_finite() && limit >= 0.0) {
        return Err(SeriesError::Limit(limit));
    }
    check_finite(values)?;
    if half_width == 0 || values.len() / 2 < half_width || values.len() == 2 * half_width {
        return Ok(values.to_vec());
    }

    let width = 2 * half_width + 1;
    let padded = reflected(values, half_width);
    let mut sorted = padded[..width].to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut filtered = Vec::with_capacity(values.len());
    for (index, &value) in values.iter().enumerate() {
        let window = &padded[index..index + width];
        let median = sorted[half_width];
        filtered.push(if is_outlier(value, median, window, limit) {
            median
        } else {
            value
        });
        if let Some(&coming) = padded.get(index + width) {
            replace(&mut sorted, window[0], coming);
        }
    }
    Ok(filtered)
}

/// The series with `half_width` more values at each end, mirrored about the first and the last.
fn reflected(values: &[f64], half_width: usize) -> Vec<f64> {
    let last = values.len() - 1;
    let mut padded = Vec::with_capacity(values.len() + 2 * half_width);
    padded.extend(values[1..=half_width].iter().rev());
    padded.extend_from_slice(values);
    padded.extend(values[last - half_width..last].iter().rev());
    padded
}

/// Whether a value is farther from the median than `limit` standard deviations.
///
/// It is beyond the MAD's multiple just when it is beyond that of most deviations: rounded
/// products keep their order, so counting gives what finding the MAD would give.
fn is_outlier(value: f64, median: f64, window: &[f64], limit: f64) -> bool {
    let distance = (value - median).abs();
    let exceeded = window
        .iter()
        .filter(|&&other| distance > limit * (MAD_TO_SIGMA * (other - median).abs()))
        .count();
    exceeded > window.len() / 2
}

/// Puts one value into a sorted window in place of another that is there.
fn replace(sorted: &mut [f64], going: f64, coming: f64) {
    let from = sorted.partition_point(|&value| value < going);
    if coming > going {
        let to = sorted.partition_point(|&value| value < coming) - 1;
        sorted.copy_within(from + 1..=to, from);
        sorted[to] = coming;
    } else {
        let to = sorted.partition_point(|&value| value < coming);
        sorted.copy_within(to..from, to + 1);
        sorted[to] = coming;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// The definition, word by word.
    fn by_definition(values: &[f64], half_width: usize, limit: f64) -> Vec<f64> {
        let mirror = |index: isize| {
            let last = values.len() as isize - 1;
            let inside = if index > last {
                2 * last - index
            } else {
                index.abs()
            };
            values[inside as usize]
        };
        let half = half_width as isize;
        (0..values.len() as isize)
            .map(|index| {
                let window: Vec<f64> = (index - half..=index + half).map(mirror).collect();
                let middle = median(window.clone());
                let mad = median(window.iter().map(|v| (v - middle).abs()).collect());
                let value = values[index as usize];
                if (value - middle).abs() > limit * (1.4826 * mad) {
                    middle
                } else {
                    value
                }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn it_is_what_its_definition_says(
            half_width in 1..12usize,
            limit in 0.0..5.0f64,
            // Whole numbers bring ties, and a MAD of 0.
            values in prop_oneof![
                prop::collection::vec(-50.0..50.0f64, 25..120),
                prop::collection::vec((-3..3i32).prop_map(f64::from), 25..120),
            ],
        ) {
            let filtered = hampel(&values, half_width, limit).unwrap();
            prop_assert_eq!(filtered, by_definition(&values, half_width, limit));
        }
    }

    #[test]
    fn a_lone_outlier_becomes_the_median() {
        let values = [1.0, 2.0, 1.0, 90.0, 1.0, 2.0, 1.0];
        let filtered = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0];
        assert_eq!(hampel(&values, 2, 3.0).unwrap(), filtered);
    }

    #[test]
    fn a_series_shorter_than_a_window_stays_as_it_is() {
        for count in 0..5 {
            let mut values = vec![1.0; count];
            values.iter_mut().take(1).for_each(|value| *value = 100.0);
            assert_eq!(hampel(&values, 2, 3.0).unwrap(), values);
        }
        assert_eq!(hampel(&[1.0, 9.0, 1.0], 0, 3.0).unwrap(), [1.0, 9.0, 1.0]);
        assert_eq!(hampel(&[1.0, 9.0], usize::MAX, 3.0).unwrap(), [1.0, 9.0]);
    }

    #[test]
    fn what_cannot_be_filtered_is_named() {
        let error = hampel(&[1.0, f64::INFINITY], 1, 3.0).unwrap_err();
        assert!(error.to_string().starts_with("value 1 is inf"));
        assert!(matches!(hampel(&[], 1, -1.0), Err(SeriesError::Limit(_))));
        assert!(matches!(
            hampel(&[], 1, f64::NAN),
            Err(SeriesError::Limit(_))
        ));
    }
}
