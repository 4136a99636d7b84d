//! The firmware's throttling: what share of everything it permits at a temperature.
//!
//! A [`Governor`] is told the time and the temperature, every 10 ms or at any other pace, and
//! answers with a [`Permit`]. What a share is of, rate or power or delays between commands, is
//! the engine's matter.

mod laws;
#[cfg(test)]
mod tests;

use crate::spec::{self, DriveSpec, GovernorSpec, OperationalStateSpec, SpecError, temperature};
use laws::{Band, Delay, Steps};

/// Nothing is served for a smaller share: a command would take longer than the share may last.
pub const MIN_SHARE: f64 = 1e-3;

/// What firmware permits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Permit {
    /// The share of everything, 0 to 1.
    pub share: f64,
    /// Whether it serves nothing at all, because of `shutdown_c`.
    pub stopped: bool,
    /// The level of a table, from 1; for the other laws 1 where less than everything is
    /// permitted, and 2 at the floor. 0 where everything is.
    pub level: u32,
}

impl Permit {
    const ALL: Permit = Permit {
        share: 1.0,
        stopped: false,
        level: 0,
    };
}

/// What NVMe's SMART log counts of thermal management (NVM Express Base Specification, thermal
/// management temperature 1 and 2), whether or not the drive reports it.
///
/// Light throttling is the first level of a table, or a share of less than 1; heavy throttling is
/// a later level, or the floor. As in the specification, a transition counts where the
/// temperature rises, and one that passes light throttling on its way counts there too. Where the
/// drive has stopped, neither counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// Transitions into light throttling.
    pub light_count: u64,
    /// Transitions into heavy throttling.
    pub heavy_count: u64,
    /// Time in light throttling.
    pub light_s: f64,
    /// Time in heavy throttling.
    pub heavy_s: f64,
    /// Time in which it had stopped.
    pub stopped_s: f64,
}

#[derive(Debug, Clone)]
enum Law {
    Band(Band),
    Steps(Steps),
    Delay(Delay),
}

impl Law {
    fn new(law: &spec::Law, states: &[OperationalStateSpec]) -> Law {
        match law {
            &spec::Law::Band {
                engage_c,
                band_k,
                floor,
            } => Law::Band(Band {
                engage_c,
                band_k,
                floor,
            }),
            spec::Law::Steps { levels, dwell_s } => {
                Law::Steps(Steps::new(levels, *dwell_s, states))
            }
            &spec::Law::Delay {
                engage_c,
                release_c,
                target_c,
                gain_per_k,
                damping_s_per_k,
                floor,
            } => Law::Delay(Delay::new(
                [engage_c, release_c, target_c],
                gain_per_k,
                damping_s_per_k,
                floor,
            )),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        match self {
            Law::Band(band) => band.check(),
            Law::Steps(steps) => steps.check(),
            Law::Delay(delay) => delay.check(),
        }
    }

    /// The share and the level.
    fn update(&mut self, dt_s: f64, temp_c: f64, power_w: f64) -> (f64, u32) {
        let of = |share: f64, floor: f64| {
            let level = if share >= 1.0 {
                0
            } else if share > floor {
                1
            } else {
                2
            };
            (share, level)
        };
        match self {
            Law::Band(band) => of(band.share(temp_c), band.floor),
            Law::Steps(steps) => (steps.update(dt_s, temp_c, power_w), steps.level as u32),
            Law::Delay(delay) => of(delay.update(dt_s, temp_c), delay.floor),
        }
    }
}

/// The first temperature at which less than everything is permitted, and its key.
fn begins(law: &spec::Law) -> (&'static str, f64) {
    match law {
        spec::Law::Band { engage_c, .. } | spec::Law::Delay { engage_c, .. } => {
            ("governor.law.engage_c", *engage_c)
        }
        spec::Law::Steps { levels, .. } => ("governor.law.levels[0].enter_c", levels[0].enter_c),
    }
}

/// Check that each operational state has a higher number and less power than the one before, and
/// more than the drive draws awake, which no pacing can save.
fn check_states(drive: &DriveSpec) -> Result<(), SpecError> {
    let energy = &drive.energy;
    let awake_w = energy.idle_w + energy.ungated_active * energy.active_w;
    let mut before: Option<&OperationalStateSpec> = None;
    for (index, state) in drive.operational_states.iter().enumerate() {
        let key = |last: &str| format!("operational_states[{index}].{last}");
        if before.is_some_and(|before| state.state <= before.state) {
            let expected = "it has to be more than that of the state before";
            return Err(SpecError::new(&key("state"), state.state, expected));
        }
        let most_w = before.map_or(f64::INFINITY, |before| before.max_w);
        spec::check(
            state.max_w < most_w,
            &key("max_w"),
            state.max_w,
            &format!("it has to be less than that of the state before, {most_w}"),
        )?;
        spec::check(
            state.max_w > awake_w,
            &key("max_w"),
            state.max_w,
            &format!(
                "it has to be more than energy.idle_w and what is not gated of energy.active_w, \
                 {awake_w}"
            ),
        )?;
        before = Some(state);
    }
    Ok(())
}

/// Check that a drive that rests at `rest_c` in air of `air_c` is neither throttled nor stopped.
pub(crate) fn validate_at_rest(
    spec: &GovernorSpec,
    rest_c: f64,
    air_c: f64,
) -> Result<(), SpecError> {
    if !spec.on {
        return Ok(());
    }
    let shutdown = spec
        .shutdown_c
        .map(|shutdown_c| ("governor.shutdown_c", shutdown_c));
    for (key, limit_c) in [begins(&spec.law)].into_iter().chain(shutdown) {
        spec::check(
            rest_c < limit_c,
            key,
            limit_c,
            &format!(
                "it has to be more than the {rest_c:.1} C of the drive at rest in air of {air_c} C"
            ),
        )?;
    }
    Ok(())
}

/// The firmware's throttling.
#[derive(Debug, Clone)]
pub struct Governor {
    begins_c: f64,
    law: Law,
    shutdown_c: Option<f64>,
    restart_c: Option<f64>,
    on: bool,
    permit: Permit,
    counters: Counters,
}

impl Governor {
    /// A drive's, which permits everything so far. Checks all of its numbers but those of the
    /// temperature that it acts on, which [`Heat`](crate::heat::Heat) makes.
    pub fn new(drive: &DriveSpec) -> Result<Governor, SpecError> {
        let spec = &drive.governor;
        check_states(drive)?;
        let law = Law::new(&spec.law, &drive.operational_states);
        law.check()?;
        if let Some(shutdown_c) = spec.shutdown_c {
            let key = "governor.shutdown_c";
            temperature(key, shutdown_c)?;
            let (begins_key, begins_c) = begins(&spec.law);
            spec::check(
                shutdown_c > begins_c,
                key,
                shutdown_c,
                &format!("it has to be more than {begins_key}, {begins_c}"),
            )?;
        }
        if let Some(restart_c) = spec.restart_c {
            let key = "governor.restart_c";
            temperature(key, restart_c)?;
            let shutdown_c = spec.shutdown_c.unwrap_or(f64::INFINITY);
            spec::check(
                restart_c < shutdown_c,
                key,
                restart_c,
                &format!("it has to be less than governor.shutdown_c, {shutdown_c}"),
            )?;
        }
        Ok(Governor {
            begins_c: begins(&spec.law).1,
            law,
            shutdown_c: spec.shutdown_c,
            restart_c: spec.restart_c,
            on: spec.on,
            permit: Permit::ALL,
            counters: Counters::default(),
        })
    }

    /// Let `dt_s` pass, which ended at `temp_c` and in which the drive drew `power_w`; what it
    /// permits from now on.
    ///
    /// From `shutdown_c` on nothing is served, until it is below `restart_c`; without that one,
    /// never again. Its law continues meanwhile.
    pub fn update(&mut self, dt_s: f64, temp_c: f64, power_w: f64) -> Permit {
        if !self.on {
            return self.permit;
        }
        let before = self.permit;
        match (before.stopped, before.level) {
            (true, _) => self.counters.stopped_s += dt_s,
            (false, 0) => {}
            (false, 1) => self.counters.light_s += dt_s,
            (false, _) => self.counters.heavy_s += dt_s,
        }
        let stopped = if before.stopped {
            self.restart_c.is_none_or(|restart_c| temp_c >= restart_c)
        } else {
            self.shutdown_c
                .is_some_and(|shutdown_c| temp_c >= shutdown_c)
        };
        let (share, level) = self.law.update(dt_s, temp_c, power_w);
        if !stopped && !before.stopped {
            self.counters.light_count += u64::from(before.level < 1 && level >= 1);
            self.counters.heavy_count += u64::from(before.level < 2 && level >= 2);
        }
        self.permit = Permit {
            share: if stopped { 0.0 } else { share },
            stopped,
            level,
        };
        self.permit
    }

    /// What it permits.
    pub fn permit(&self) -> Permit {
        self.permit
    }

    /// Where it starts to act.
    pub fn begins_c(&self) -> f64 {
        self.begins_c
    }

    /// What it counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}
