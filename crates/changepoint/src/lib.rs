//! Exact segmentation.
