//! The laws: what is permitted at a temperature, and after which.

use super::MIN_SHARE;
use crate::spec::{
    self, Level, OperationalStateSpec, SpecError, not_negative, positive, share, temperature,
};

/// Over how long firmware keeps mean power to a state's: short for heat, and many commands.
const POWER_MEAN_S: f64 = 0.1;

fn above(key: &str, value: f64, other: f64, other_key: &str) -> Result<(), SpecError> {
    spec::check(
        value > other,
        key,
        value,
        &format!("it has to be more than {other_key}, {other}"),
    )
}

/// Falls in a line with the temperature; it has no memory (Samsung, US 10120593).
#[derive(Debug, Clone)]
pub(super) struct Band {
    pub(super) engage_c: f64,
    pub(super) band_k: f64,
    pub(super) floor: f64,
}

impl Band {
    pub(super) fn check(&self) -> Result<(), SpecError> {
        temperature("governor.law.engage_c", self.engage_c)?;
        positive("governor.law.band_k", self.band_k)?;
        share("governor.law.floor", self.floor)
    }

    pub(super) fn share(&self, temp_c: f64) -> f64 {
        let part = ((temp_c - self.engage_c) / self.band_k).clamp(0.0, 1.0);
        (1.0 - (1.0 - self.floor) * part).clamp(self.floor, 1.0)
    }
}

/// Levels with hysteresis, one at a time.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    pub(super) levels: Vec<Level>,
    pub(super) dwell_s: f64,
    /// 0 where everything is permitted.
    pub(super) level: usize,
    since_s: f64,
    states: Vec<OperationalStateSpec>,
    /// What is permitted now.
    share: f64,
}

impl Steps {
    pub(super) fn new(levels: &[Level], dwell_s: f64, states: &[OperationalStateSpec]) -> Steps {
        Steps {
            levels: levels.to_vec(),
            dwell_s,
            level: 0,
            // nothing was changed before the beginning
            since_s: f64::INFINITY,
            states: states.to_vec(),
            share: 1.0,
        }
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        if self.levels.is_empty() {
            return Err(SpecError::new(
                "governor.law.levels",
                "empty",
                "it has to have a level or more",
            ));
        }
        for (index, level) in self.levels.iter().enumerate() {
            let key = |last: &str| format!("governor.law.levels[{index}].{last}");
            let (enter, leave) = (key("enter_c"), key("leave_c"));
            temperature(&enter, level.enter_c)?;
            temperature(&leave, level.leave_c)?;
            spec::check(
                level.leave_c < level.enter_c,
                &leave,
                level.leave_c,
                &format!(
                    "it has to be less than enter_c of its level, {}",
                    level.enter_c
                ),
            )?;
            let before = index.checked_sub(1).map(|before| &self.levels[before]);
            self.check_permitted(index)?;
            if let Some(before) = before {
                let name = |last: &str| format!("{last} of the level before");
                above(&enter, level.enter_c, before.enter_c, &name("enter_c"))?;
                above(&leave, level.leave_c, before.leave_c, &name("leave_c"))?;
            }
        }
        not_negative("governor.law.dwell_s", self.dwell_s)
    }

    /// A level's share is less than those before, and its state has less power.
    fn check_permitted(&self, index: usize) -> Result<(), SpecError> {
        let key = |last: &str| format!("governor.law.levels[{index}].{last}");
        let (before, level) = (&self.levels[..index], &self.levels[index]);
        match (level.share, level.state) {
            (Some(permitted), None) => {
                share(&key("share"), permitted)?;
                let most = before.iter().rev().find_map(|before| before.share);
                let most = most.unwrap_or(1.0);
                spec::check(
                    permitted < most,
                    &key("share"),
                    permitted,
                    &format!("it has to be less than that of the level before, {most}"),
                )
            }
            (None, Some(state)) => {
                if self.max_w(state).is_none() {
                    let expected = "operational_states has no such state";
                    return Err(SpecError::new(&key("state"), state, expected));
                }
                let last = before.iter().rev().find_map(|before| before.state);
                if last.is_some_and(|last| state <= last) {
                    let expected = "it has to be more than that of the level before";
                    return Err(SpecError::new(&key("state"), state, expected));
                }
                Ok(())
            }
            (Some(permitted), Some(_)) => Err(SpecError::new(
                &key("share"),
                permitted,
                "a level has a share or a state, not both",
            )),
            (None, None) => Err(SpecError::new(
                &key("share"),
                "missing",
                "a level has a share or a state",
            )),
        }
    }

    fn max_w(&self, state: u32) -> Option<f64> {
        let found = self.states.iter().find(|found| found.state == state);
        found.map(|found| found.max_w)
    }

    pub(super) fn update(&mut self, dt_s: f64, temp_c: f64, power_w: f64) -> f64 {
        self.since_s += dt_s;
        // steps of 10 ms do not add up to a dwell exactly
        while self.since_s + 1e-9 >= self.dwell_s {
            let next = self.levels.get(self.level);
            let current = self.level.checked_sub(1).map(|index| &self.levels[index]);
            if next.is_some_and(|next| temp_c >= next.enter_c) {
                self.level += 1;
            } else if current.is_some_and(|current| temp_c <= current.leave_c) {
                self.level -= 1;
            } else {
                break;
            }
            self.since_s = 0.0;
        }
        self.share = match self.level.checked_sub(1).map(|index| self.levels[index]) {
            None => 1.0,
            Some(level) => level
                .share
                .or_else(|| Some(self.paced(dt_s, power_w, self.max_w(level.state?)?)))
                .unwrap_or(1.0),
        };
        self.share
    }

    /// The share that brings power to `max_w`: what is drawn above it takes from the share's
    /// logarithm, so that it comes to rest where the mean is `max_w`.
    fn paced(&self, dt_s: f64, power_w: f64, max_w: f64) -> f64 {
        let change = dt_s / POWER_MEAN_S * (1.0 - power_w / max_w);
        (self.share * change.exp()).clamp(MIN_SHARE, 1.0)
    }
}

/// A proportional and a derivative term change the permitted share, so that it comes to rest
/// where the temperature is its target.
#[derive(Debug, Clone)]
pub(super) struct Delay {
    pub(super) engage_c: f64,
    pub(super) release_c: f64,
    pub(super) target_c: f64,
    pub(super) gain_per_k: f64,
    pub(super) damping_s_per_k: f64,
    pub(super) floor: f64,
    share: f64,
    engaged: bool,
    /// The temperature of the last update; the first has none, and no slope.
    last_c: Option<f64>,
}

impl Delay {
    pub(super) fn new(
        [engage_c, release_c, target_c]: [f64; 3],
        gain_per_k: f64,
        damping_s_per_k: f64,
        floor: f64,
    ) -> Delay {
        Delay {
            engage_c,
            release_c,
            target_c,
            gain_per_k,
            damping_s_per_k,
            floor,
            share: 1.0,
            engaged: false,
            last_c: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        temperature("governor.law.engage_c", self.engage_c)?;
        temperature("governor.law.release_c", self.release_c)?;
        temperature("governor.law.target_c", self.target_c)?;
        positive("governor.law.gain_per_k", self.gain_per_k)?;
        not_negative("governor.law.damping_s_per_k", self.damping_s_per_k)?;
        share("governor.law.floor", self.floor)?;
        spec::check(
            self.release_c < self.engage_c,
            "governor.law.release_c",
            self.release_c,
            &format!(
                "it has to be less than governor.law.engage_c, {}",
                self.engage_c
            ),
        )?;
        above(
            "governor.law.target_c",
            self.target_c,
            self.release_c,
            "governor.law.release_c",
        )
    }

    pub(super) fn update(&mut self, dt_s: f64, temp_c: f64) -> f64 {
        let warming_k = temp_c - self.last_c.replace(temp_c).unwrap_or(temp_c);
        if temp_c < self.release_c {
            self.engaged = false;
            self.share = 1.0;
        } else if self.engaged || temp_c >= self.engage_c {
            self.engaged = true;
            // the slope times the time is the warming
            let taken = self.gain_per_k * (temp_c - self.target_c) * dt_s
                + self.damping_s_per_k * warming_k;
            self.share = (self.share - taken).clamp(self.floor, 1.0);
        }
        self.share
    }
}
