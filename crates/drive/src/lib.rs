//! A simulated drive: what heats it, where that heat goes, and what the firmware does about it.
//!
//! [`heat`] carries the heat of a drive in its place, [`governor`] is the firmware's throttling,
//! [`power`] its states without load. [`spec`] and [`workload`] are what all of them are told.
//!
//! Nothing here reads a file or a clock, so that the same specification, workload and seed give
//! the same samples. Units stand at the end of a name; MB is 10^6 bytes.

pub mod governor;
pub mod heat;
pub mod power;
#[cfg(test)]
mod sample;
pub mod spec;
pub mod workload;

pub use spec::{DriveSpec, EnclosureSpec, SpecError};
pub use workload::{Pattern, Workload};
