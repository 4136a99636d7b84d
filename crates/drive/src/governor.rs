//! The firmware's throttling: the controller is never let above its limit.
//!
//! The law is ideal: in every step it permits exactly the share of the load that brings the
//! controller to its limit at the step's end. So throughput falls steeply at the onset, as the
//! fast node's head start is used up, and then slides as the board warms on. Real firmware acts
//! in tables and with hysteresis; over the tens of seconds that reviewers plot it holds its limit
//! just the same.

use crate::spec::GovernorSpec;
use crate::thermal::{State, Step};

/// What a step may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permit {
    /// The share of the load, 0 to 1.
    pub share: f64,
    /// Where `share` is below 1: how far into the step the limit would have been met.
    pub reached_s: f64,
}

/// Permit a share of a load that would draw `full_w` where the drive at rest draws `idle_w`.
pub fn permit(
    spec: &GovernorSpec,
    limit_k: f64,
    step: &Step,
    state: &State,
    idle_w: f64,
    full_w: f64,
) -> Permit {
    let all = Permit {
        share: 1.0,
        reached_s: step.duration_s,
    };
    if !spec.on || full_w <= idle_w {
        return all;
    }
    let unheld_k = step.controller_after(state, full_w);
    if unheld_k <= limit_k {
        return all;
    }
    let share = (step.power_for(state, limit_k) - idle_w) / (full_w - idle_w);
    let rise_k = unheld_k - state.controller_k;
    let part = if rise_k > 0.0 {
        ((limit_k - state.controller_k) / rise_k).clamp(0.0, 1.0)
    } else {
        0.0
    };
    Permit {
        share: share.clamp(spec.floor, 1.0),
        reached_s: part * step.duration_s,
    }
}
