//! Exact segmentation of a series, and the filter that goes before it.
//!
//! [`fpop`] finds, over all segmentations, the one with the least squared error plus a penalty
//! for each change. It models a signal of constant levels under white noise; a slide appears as
//! a staircase, and autocorrelated noise needs a penalty scaled by its long-run variance. Both
//! are the caller's to handle. [`hampel`] takes lone outliers out of a series.

mod error;
mod fpop;
mod hampel;

pub use error::SeriesError;
pub use fpop::fpop;
pub use hampel::hampel;
