//! States without load: deeper the longer a drive idles, and left with a wait.

use crate::spec::{PowerStateSpec, SpecError, not_negative};

/// Idle time within which a state counts as entered, so that a stretch that was cut by
/// [`PowerStates::next_change_s`] reaches it whatever the rounding.
const TOLERANCE_S: f64 = 1e-9;

/// The power state of a drive, by the time that it has been idle for.
#[derive(Debug, Clone)]
pub struct PowerStates {
    states: Vec<PowerStateSpec>,
    idle_s: f64,
    /// How many of `states` have been entered.
    entered: usize,
}

impl PowerStates {
    /// An awake drive. States are in the order they are entered: each later, with less power, and
    /// with a number of its own; 0 is the number of a drive that is awake.
    pub fn new(states: &[PowerStateSpec]) -> Result<PowerStates, SpecError> {
        for (index, state) in states.iter().enumerate() {
            let key = |last: &str| format!("power_states[{index}].{last}");
            not_negative(&key("power_w"), state.power_w)?;
            not_negative(&key("after_s"), state.after_s)?;
            not_negative(&key("entry_us"), state.entry_us)?;
            not_negative(&key("exit_us"), state.exit_us)?;
            let before = &states[..index];
            if state.state == 0 {
                return Err(SpecError::new(
                    &key("state"),
                    0,
                    "that is the number of a drive that is awake",
                ));
            }
            if before.iter().any(|other| other.state == state.state) {
                return Err(SpecError::new(
                    &key("state"),
                    state.state,
                    "another state has this number",
                ));
            }
            let Some(last) = before.last() else {
                continue;
            };
            if state.after_s <= last.after_s {
                return Err(SpecError::new(
                    &key("after_s"),
                    state.after_s,
                    format!("it has to be more than {} of the one before", last.after_s),
                ));
            }
            if state.power_w >= last.power_w {
                return Err(SpecError::new(
                    &key("power_w"),
                    state.power_w,
                    format!("it has to be less than {} of the one before", last.power_w),
                ));
            }
        }
        Ok(PowerStates {
            states: states.to_vec(),
            idle_s: 0.0,
            entered: 0,
        })
    }

    fn current(&self) -> Option<&PowerStateSpec> {
        self.entered.checked_sub(1).map(|last| &self.states[last])
    }

    /// Let `dt_s` pass without load. `f64::INFINITY` ends in the deepest state.
    pub fn rest(&mut self, dt_s: f64) {
        self.idle_s += dt_s;
        while let Some(next) = self.states.get(self.entered)
            && self.idle_s + TOLERANCE_S >= next.after_s
        {
            self.entered += 1;
        }
    }

    /// How much idle time is left until the power changes; none in the deepest state.
    pub fn next_change_s(&self) -> Option<f64> {
        let next = self.states.get(self.entered)?;
        Some((next.after_s - self.idle_s).max(0.0))
    }

    /// What the state draws, from its entry on; none while awake.
    pub fn power_w(&self) -> Option<f64> {
        self.current().map(|state| state.power_w)
    }

    /// NVMe's number of the state; 0 while awake.
    pub fn state(&self) -> u32 {
        self.current().map_or(0, |state| state.state)
    }

    /// End the idling. Returns what the first command waits for, in us: the exit, and before it
    /// whatever is left of an entry that had begun.
    pub fn wake(&mut self) -> f64 {
        let wait_us = self.current().map_or(0.0, |state| {
            let entering_us = (self.idle_s - state.after_s).max(0.0) * 1e6;
            (state.entry_us - entering_us).max(0.0) + state.exit_us
        });
        self.idle_s = 0.0;
        self.entered = 0;
        wait_us
    }
}
