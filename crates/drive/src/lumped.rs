//! The drive without its flash: heat and governor over a workload of which it is known what it
//! does at each permitted share.
//!
//! A fit runs the same minutes hundreds of times with other resistances and energies. None of
//! those changes how often the drive reads, programs and moves at a permitted share, so that is
//! measured once on the exact engine (a [`Profile`]) and only heat and governor are run again.

use serde::Deserialize;

use crate::drive::{DriveError, of_heat};
use crate::governor::Governor;
use crate::heat::{Heat, Work};
use crate::power::PowerStates;
use crate::spec::{DriveSpec, EnclosureSpec, SpecError, not_negative, positive, share};

/// Lengths of steps: under load, and without, where only leakage changes.
const LOADED_STEP_S: f64 = 0.04;
const RESTING_STEP_S: f64 = 1.0;

/// What a workload does in a second at one permitted share.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The share that is permitted.
    pub share: f64,
    /// Bytes served in a second, 10^6.
    pub mb_s: f64,
    /// Operations in a second.
    pub work: Work,
}

/// A workload by its levels, from the least share to the greatest.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Profile {
    levels: Vec<Level>,
}

impl Profile {
    /// Check that there are levels, with rising shares.
    pub fn validate(&self) -> Result<(), SpecError> {
        let rising = self
            .levels
            .windows(2)
            .all(|pair| pair[0].share < pair[1].share);
        if self.levels.is_empty() || !rising {
            let expected = "a profile has one level or more, with rising shares";
            return Err(SpecError::new("profile", self.levels.len(), expected));
        }
        for (index, level) in self.levels.iter().enumerate() {
            let key = |last: &str| format!("profile[{index}].{last}");
            positive(&key("share"), level.share)?;
            share(&key("share"), level.share)?;
            not_negative(&key("mb_s"), level.mb_s)?;
            for (name, value) in level.work.by_name() {
                not_negative(&key(&format!("work.{name}")), value)?;
            }
        }
        Ok(())
    }

    /// Rate and operations at a share, in a line between its neighbours.
    pub fn at(&self, share: f64) -> (f64, Work) {
        let above = self.levels.partition_point(|level| level.share < share);
        if above == 0 {
            let (first, part) = (&self.levels[0], share / self.levels[0].share);
            return (first.mb_s * part, first.work.scaled(part));
        }
        let Some(high) = self.levels.get(above) else {
            let last = &self.levels[above - 1];
            return (last.mb_s, last.work);
        };
        let low = &self.levels[above - 1];
        let part = (share - low.share) / (high.share - low.share);
        let mut work = low.work.scaled(1.0 - part);
        work.add(&high.work.scaled(part));
        (low.mb_s + part * (high.mb_s - low.mb_s), work)
    }
}

/// The result of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// When the governor first held it back; none if it never did.
    pub onset_s: Option<f64>,
    /// What the first sensor measured then.
    pub onset_sensor_c: f64,
    /// Mean rates, one for each second.
    pub mb_s: Vec<f64>,
    /// Mean powers, one for each second.
    pub power_w: Vec<f64>,
    /// What the first sensor measured at the end of each second.
    pub sensor_c: Vec<f64>,
}

/// Heat and governor of a drive in a place.
#[derive(Debug, Clone)]
pub struct Lumped {
    heat: Heat,
    governor: Governor,
    power: PowerStates,
    share: f64,
}

impl Lumped {
    /// A drive at rest.
    pub fn new(spec: &DriveSpec, place: &EnclosureSpec) -> Result<Lumped, DriveError> {
        spec.validate().map_err(DriveError::Drive)?;
        place.validate().map_err(DriveError::Enclosure)?;
        Ok(Lumped {
            heat: Heat::new(spec, place).map_err(of_heat)?,
            governor: Governor::new(&spec.governor).map_err(DriveError::Drive)?,
            power: PowerStates::new(&spec.power_states).map_err(DriveError::Drive)?,
            share: 1.0,
        })
    }

    /// Let time pass without load.
    pub fn rest(&mut self, duration_s: f64) -> Result<(), SpecError> {
        positive("duration_s", duration_s)?;
        let mut left_s = duration_s;
        while left_s > 0.0 {
            // a state's power holds from its entry on
            let change_s = self
                .power
                .next_change_s()
                .filter(|change_s| *change_s > 0.0);
            let step_s = change_s.map_or(RESTING_STEP_S, |change_s| change_s.min(RESTING_STEP_S));
            let step_s = step_s.min(left_s);
            left_s -= step_s;
            self.heat
                .step(step_s, &Work::default(), self.power.power_w());
            self.share = self.governor.update(step_s, self.heat.governed_c()).share;
            self.power.rest(step_s);
        }
        Ok(())
    }

    /// Run a load for a whole number of seconds.
    pub fn load(&mut self, profile: &Profile, duration_s: u32) -> Load {
        self.power.wake();
        let mut load = Load {
            onset_s: None,
            onset_sensor_c: f64::NAN,
            mb_s: Vec::with_capacity(duration_s as usize),
            power_w: Vec::with_capacity(duration_s as usize),
            sensor_c: Vec::with_capacity(duration_s as usize),
        };
        let steps = (1.0 / LOADED_STEP_S).round() as u32;
        for second in 0..duration_s {
            let (mut mb, mut joules) = (0.0, 0.0);
            for step in 0..steps {
                let before_c = self.heat.governed_c();
                let (mb_s, rates) = profile.at(self.share);
                let mut work = rates.scaled(LOADED_STEP_S);
                work.active_s = LOADED_STEP_S;
                mb += mb_s * LOADED_STEP_S;
                joules += self.heat.step(LOADED_STEP_S, &work, None) * LOADED_STEP_S;
                let after_c = self.heat.governed_c();
                let permit = self.governor.update(LOADED_STEP_S, after_c);
                self.share = if permit.stopped { 0.0 } else { permit.share };
                if self.share < 1.0 && load.onset_s.is_none() {
                    // within the step, so that a fit sees it move
                    let part = (self.governor.begins_c() - before_c) / (after_c - before_c);
                    let part = if part.is_finite() {
                        part.clamp(0.0, 1.0)
                    } else {
                        0.0
                    };
                    let steps = f64::from(step) + part;
                    load.onset_s = Some(f64::from(second) + steps * LOADED_STEP_S);
                    load.onset_sensor_c = self.heat.sensor_c(0);
                }
            }
            load.mb_s.push(mb);
            load.power_w.push(joules);
            load.sensor_c.push(self.heat.sensor_c(0));
        }
        load
    }
}
