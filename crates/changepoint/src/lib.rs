//! Exact segmentation of a series, and the filter that goes before it.
//!
//! [`fpop`] finds, over all segmentations, the one with the least squared error plus a penalty
//! for each change. It models a signal of constant levels under white noise; a slide appears as
//! a staircase, and autocorrelated noise needs a penalty scaled by its long-run variance. Both
//! are the caller's to handle. [`pelt_mean_var`] lets the noise change too: it does the same for
//! normally distributed segments with a mean and a variance each. [`hampel`] takes lone outliers
//! out of a series.

mod decafs;
mod envelope;
mod error;
mod fpop;
mod hampel;
mod pelt;
mod pieces;

pub use decafs::decafs;
pub use error::SeriesError;
pub use fpop::fpop;
pub use hampel::hampel;
pub use pelt::pelt_mean_var;
pub use pieces::{Piece, pieces};

/// The end of each segment, from where the best last segment up to each value starts.
fn ends(starts: &[usize]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut end = starts.len();
    while end > 0 {
        ends.push(end);
        end = starts[end - 1];
    }
    ends.reverse();
    ends
}
