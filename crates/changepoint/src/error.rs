//! Why a series or a setting can be refused.

/// Why a series cannot be segmented or filtered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SeriesError {
    /// A value is NaN or infinite.
    #[error("value {index} is {value}: every value must be finite")]
    NotFinite {
        /// Where it is.
        index: usize,
        /// What it is.
        value: f64,
    },
    /// Squares of what is between the values would be infinite.
    #[error("values from {lowest} to {highest} are too far apart for their squares to be added up")]
    Range {
        /// The least value.
        lowest: f64,
        /// The greatest value.
        highest: f64,
    },
    /// The penalty is not a positive number.
    #[error("penalty is {0}: it must be a positive number")]
    Penalty(f64),
    /// The correlation of neighbours is not from 0 to below 1.
    #[error("correlation is {0}: it must be 0 or more, and below 1")]
    Correlation(f64),
    /// The pieces' candidate edges do not rise from above 0 to the series' length.
    #[error("edges must rise, and end with the number of values")]
    Edges,
    /// The segments asked for are too short to have a variance.
    #[error("min_length is {0}: it must be 2 or more")]
    MinLength(usize),
    /// The least variance is not a positive number.
    #[error("least_variance is {0}: it must be a positive number")]
    LeastVariance(f64),
    /// The limit beyond which a value is an outlier is not a number of 0 or more.
    #[error("limit is {0}: it must be a number, 0 or more")]
    Limit(f64),
}

/// Refuses a series with a value that is not finite.
pub(crate) fn check_finite(values: &[f64]) -> Result<(), SeriesError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(SeriesError::NotFinite {
            index,
            value: values[index],
        }),
    }
}

/// The least and the greatest value, if squares of sums of what is between can be had.
pub(crate) fn check_range(values: &[f64]) -> Result<(f64, f64), SeriesError> {
    let (lowest, highest) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
            (low.min(value), high.max(value))
        });
    if ((highest - lowest) * values.len() as f64)
        .powi(2)
        .is_finite()
        || values.is_empty()
    {
        Ok((lowest, highest))
    } else {
        Err(SeriesError::Range { lowest, highest })
    }
}

/// Refuses a penalty that is not a positive number.
pub(crate) fn check_penalty(penalty: f64) -> Result<(), SeriesError> {
    if penalty.is_finite() && penalty > 0.0 {
        Ok(())
    } else {
        Err(SeriesError::Penalty(penalty))
    }
}

/// Refuses a correlation of neighbours that is negative, or that of a random walk.
pub(crate) fn check_correlation(correlation: f64) -> Result<(), SeriesError> {
    if (0.0..1.0).contains(&correlation) {
        Ok(())
    } else {
        Err(SeriesError::Correlation(correlation))
    }
}
