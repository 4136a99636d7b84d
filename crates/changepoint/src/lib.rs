//! Exact segmentation of a series into constant levels.
//!
//! [`fpop`] finds, over all segmentations, the one with the least squared error plus a penalty
//! for each change. It models a signal of constant levels under white noise; a slide appears as
//! a staircase, and autocorrelated noise needs a penalty scaled by its long-run variance. Both
//! are the caller's to handle.

mod fpop;

pub use fpop::{SegmentError, fpop};
