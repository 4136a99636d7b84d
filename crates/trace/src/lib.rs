//! Recorded I/O: read as a stream, counted, and made from statistics.

pub mod read;
pub mod record;
pub mod write;
pub mod stats;
pub mod synth;

pub use record::{Op, Record, Source, SourceError, UNKNOWN_NS};
