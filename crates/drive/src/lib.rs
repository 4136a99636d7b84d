//! A simulated drive: what a host gets from it, what heat that makes, and what the firmware
//! does about it.
//!
//! [`Drive`] is the whole of it, in virtual time: [`Drive::begin`] a workload, [`Drive::advance`]
//! the clock, and read [`Samples`]. Below it, [`service`] says what the drive would give if
//! nothing forbade it and keeps its spare area, [`thermal`] carries the heat, and [`governor`]
//! holds the controller at its limit. [`spec`] and [`workload`] are what all of them are told.
//!
//! Nothing here reads a file or a clock, so that the same specification, workload and seed give
//! the same samples. Units stand at the end of a name; MB is 10^6 bytes.
//!
//! Left out in this version: single I/Os (service is a fluid of closed-loop rates), a write
//! cache, and reads of places that were never written, which cost as much as any other.

pub mod drive;
pub mod ftl;
pub mod governor;
pub mod service;
pub mod spec;
#[cfg(test)]
mod testing;
pub mod thermal;
pub mod workload;

pub use drive::{COLUMNS, Drive, DriveError, Samples};
pub use spec::{DriveSpec, EnclosureSpec, SpecError};
pub use workload::{Pattern, Workload};
