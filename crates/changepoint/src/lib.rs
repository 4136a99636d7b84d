//! Exact segmentation of a series, and the filter that goes before it.
//!
//! [`decafs`] finds, over all segmentations into levels, the one with the least squared error
//! under AR(1) noise plus a penalty for each change; a slide appears as a staircase. [`pieces`]
//! describes a series between such edges as levels, lines and approaches. [`pelt_mean_var`] lets
//! the noise change too: normally distributed segments with a mean and a variance each. [`hampel`]
//! takes lone outliers out of a series, and [`whiten`] what readings have in common with those
//! before them.

mod decafs;
mod error;
mod hampel;
mod pelt;
mod pieces;
mod whiten;

pub use decafs::decafs;
pub use error::SeriesError;
pub use hampel::hampel;
pub use pelt::pelt_mean_var;
pub use pieces::{Piece, pieces};
pub use whiten::{LastingNoise, whiten};

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
