//! A simulated drive: what a host gets from it, what heat that makes, and what the firmware
//! does about it.
//!
//! [`Drive`] is the whole of it, in virtual time: [`Drive::begin`] workloads, [`Drive::advance`]
//! the clock, and read [`Samples`]; or take I/Os from outside, each at its time:
//! [`Drive::begin_live`], [`Drive::submit`], [`Drive::elapse`]. Below it, [`host`] keeps a queue of I/Os full, [`replay`]
//! issues those of a trace, [`load`] brings both into one order, [`Transfer`] copies from one drive to another, [`firmware`] says what becomes of each of them, with [`ftl`] the map of the flash and [`nand`] its dies;
//! [`map_cache`] is what of the map a drive without DRAM keeps at hand;
//! [`heat`] carries what that draws through a thermal network, [`governor`] throttles, and
//! [`power`] saves where nothing is to do. [`spec`] and [`workload`] are what all of them are
//! told. [`lumped`] is heat and governor alone, for fits; [`slow`] makes a drive that a host can
//! keep up with.
//!
//! Nothing here reads a file or a clock, so that the same specification, workload and seed give
//! the same samples. Units are at the end of a name; MB is 10^6 bytes, a page 4 KiB.

pub mod drive;
pub mod firmware;
pub mod ftl;
pub mod governor;
pub mod heat;
pub mod host;
mod in_flight;
pub mod latency;
pub mod load;
pub mod lumped;
pub mod map_cache;
pub mod nand;
pub mod power;
pub mod replay;
#[cfg(test)]
mod sample;
pub mod samples;
pub mod slow;
pub mod spec;
pub mod workload;

pub use drive::{Answer, Drive, DriveError, LiveCounts, Transfer};
pub use heat::Work;
pub use lumped::{Demand, Followed, Lumped, Others, Recorded, Served};
pub use replay::{Op, ReplayOptions, Source, TraceIo};
pub use samples::Samples;
pub use spec::{DriveSpec, EnclosureSpec, SpecError};
pub use workload::{Pattern, Workload};
