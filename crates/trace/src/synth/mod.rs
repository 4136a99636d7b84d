//! Traces made from statistics: the shape that is asked for, what is solved from it, and the
//! stream of records that has it.
//!
//! What is asked as a share is dealt out as a quota (`quota`), so that it holds exactly and not on
//! average, at any scale.

mod apportion;
mod depths;
mod entropy;
mod pauses;
mod place;
mod quota;
mod reference;
mod shape;
mod sizes;
mod stream;

#[cfg(test)]
mod tests;

pub use shape::{DepthClass, Hot, Pauses, Reference, Shape, ShapeError, SizeClass};
pub use stream::Synthetic;
