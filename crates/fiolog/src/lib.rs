//! fio's per-job logs (`write_bw_log` and its kin) as a stream.
//!
//! A [`FioLog`] is fed bytes in whatever pieces they come; each row falls into the bin of 0.1 s
//! and direction that it belongs to, and a bin that no later row can reach is summed up. Memory
//! grows with the number of bins in use, never with rows, and never with the span of the times.
//!
//! What the values are (bandwidth, IOPS, latency) is not in such a file; that is for the caller
//! to find out from the bins.

mod bins;
mod log;
mod row;

pub use bins::{BIN_MS, Bin};
pub use log::{FioLog, MAX_RUNS, Rows, Run};
pub use row::Layout;
