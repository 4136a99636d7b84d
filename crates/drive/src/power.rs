//! States without load: deeper the longer a drive idles, and left with a wait.

use crate::spec::{EnclosureSpec, PowerStateSpec, SpecError, not_negative};

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
    /// Those of a drive whose host may keep it awake.
    pub fn at(place: &EnclosureSpec, states: &[PowerStateSpec]) -> Result<PowerStates, SpecError> {
        let mut power = PowerStates::new(states)?;
        if place.keeps_awake {
            power.states.clear();
        }
        Ok(power)
    }

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
    /// whatever is left of an entry that had started.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sample;

    fn states() -> PowerStates {
        PowerStates::new(&sample::drive().power_states).unwrap()
    }

    #[test]
    fn each_state_is_entered_in_its_time() {
        let mut states = states();
        assert_eq!((states.state(), states.power_w()), (0, None));
        assert_eq!(states.next_change_s(), Some(0.1));
        states.rest(0.05);
        assert_eq!(states.state(), 0);
        states.rest(states.next_change_s().unwrap());
        assert_eq!((states.state(), states.power_w()), (3, Some(0.05)));
        states.rest(states.next_change_s().unwrap());
        assert_eq!((states.state(), states.power_w()), (4, Some(0.005)));
        assert_eq!(states.next_change_s(), None);
    }

    #[test]
    fn the_first_command_waits_for_exit_and_entry() {
        let mut states = states();
        assert_eq!(states.wake(), 0.0);
        states.rest(0.1);
        assert!((states.wake() - 4000.0).abs() < 1e-6);
        assert_eq!((states.state(), states.next_change_s()), (0, Some(0.1)));
        states.rest(0.1005);
        assert!((states.wake() - 3500.0).abs() < 1e-6);
        states.rest(1.0);
        assert_eq!(states.wake(), 3000.0);
        states.rest(f64::INFINITY);
        assert_eq!((states.state(), states.wake()), (4, 45000.0));
        assert_eq!(states.wake(), 0.0);
    }

    #[test]
    fn a_drive_without_states_stays_awake() {
        let mut states = PowerStates::new(&[]).unwrap();
        states.rest(1e6);
        assert_eq!((states.state(), states.power_w()), (0, None));
        assert_eq!((states.next_change_s(), states.wake()), (None, 0.0));
    }

    #[test]
    fn a_host_that_keeps_drives_awake_lets_none_rest() {
        let mut place = sample::place();
        place.keeps_awake = true;
        let mut states = PowerStates::at(&place, &sample::drive().power_states).unwrap();
        states.rest(1e6);
        assert_eq!((states.state(), states.power_w()), (0, None));
    }

    fn error(change: impl FnOnce(&mut PowerStateSpec)) -> String {
        let mut states = sample::drive().power_states;
        change(&mut states[1]);
        PowerStates::new(&states).unwrap_err().to_string()
    }

    #[test]
    fn states_are_in_order() {
        assert_eq!(
            error(|state| state.after_s = 0.1),
            "power_states[1].after_s is 0.1: it has to be more than 0.1 of the one before"
        );
        assert_eq!(
            error(|state| state.power_w = 0.06),
            "power_states[1].power_w is 0.06: it has to be less than 0.05 of the one before"
        );
        assert!(error(|state| state.state = 3).starts_with("power_states[1].state is 3: another"));
        assert!(error(|state| state.state = 0).starts_with("power_states[1].state is 0:"));
    }

    proptest! {
        #[test]
        fn stretches_cut_at_changes_enter_each_state(
            after_s in prop::collection::vec(1e-3..100.0f64, 1..5),
            stretches in prop::collection::vec(1e-3..100.0f64, 1..30),
        ) {
            let mut when = 0.0;
            let specs: Vec<PowerStateSpec> = after_s
                .iter()
                .enumerate()
                .map(|(index, after)| {
                    when += after;
                    PowerStateSpec {
                        state: index as u32 + 1,
                        power_w: 1.0 / (index as f64 + 1.0),
                        after_s: when,
                        entry_us: 0.0,
                        exit_us: 1.0,
                    }
                })
                .collect();
            let mut states = PowerStates::new(&specs).unwrap();
            let (mut idle_s, mut cuts, mut seen) = (0.0, 0, vec![0]);
            for stretch_s in stretches {
                let mut left_s = stretch_s;
                while let Some(next_s) = states.next_change_s().filter(|&next| next <= left_s) {
                    states.rest(next_s);
                    left_s -= next_s;
                    seen.push(states.state());
                    cuts += 1;
                    prop_assert!(cuts <= specs.len());
                }
                states.rest(left_s);
                idle_s += stretch_s;
            }
            prop_assert!(seen.windows(2).all(|pair| pair[1] == pair[0] + 1));
            let entered = specs.iter().filter(|spec| spec.after_s <= idle_s - 1e-6).count();
            prop_assert!(states.state() as usize >= entered);
            let near = specs.iter().filter(|spec| spec.after_s <= idle_s + 1e-6).count();
            prop_assert!(states.state() as usize <= near);
        }
    }
}
