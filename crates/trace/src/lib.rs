//! Recorded I/O: read as a stream, counted, and made from statistics.

pub mod fit;
pub mod read;
pub mod record;
pub mod stats;
pub mod synth;
pub mod write;

pub use record::{Op, Record, Source, SourceError, UNKNOWN_NS};
