//! The drive without its flash: heat and governor over a workload of which it is known what it
//! does at each permitted share.
//!
//! A fit runs the same minutes hundreds of times with other resistances and energies. None of
//! those changes how often the drive reads, programs and moves at a permitted share, so that is
//! measured once on the exact engine (a [`Profile`]) and only heat and governor are run again.
//! Where a drive was recorded, what it did is known, and only heat follows it ([`Recorded`]).

use serde::Deserialize;

use crate::drive::{DriveError, of_heat};
use crate::governor::Governor;
use crate::heat::{Heat, Work};
use crate::power::PowerStates;
use crate::spec::{DriveSpec, EnclosureSpec, PAGE_BYTES, SpecError, not_negative, positive, share};

/// Lengths of steps: under load, and without, where only leakage changes.
const LOADED_STEP_S: f64 = 0.04;
const RESTING_STEP_S: f64 = 1.0;
/// Stretches of a recording are followed in steps of at most this: a sensor's lag is exact over a
/// line, and no temperature leaves one by much in so short a time.
const FOLLOWED_STEP_S: f64 = 4.0;
/// Rates past the cache vary by less than this.
const DIRECT_X: f64 = 1.2;
/// So many loaded steps are taken at once where the governor cannot begin to act within them: those
/// of a second, or fewer.
const COARSE_STEPS: [u32; 2] = [25, 5];

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
    /// What the governor acted on then.
    pub governed_c: Vec<f64>,
}

/// A part of a load in which it does the same throughout, with everything permitted.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// How much is moved in it, 10^6 bytes.
    pub mb: f64,
    /// Bytes served in a second, 10^6.
    pub mb_s: f64,
    /// Operations in a second.
    pub work: Work,
}

/// What a drive was seen to do, stretch by stretch: series of one length.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// How long each stretch was; four seconds or less is followed in one step.
    pub dt_s: &'a [f64],
    /// Mean rates in it, 10^6 bytes; not a number where nothing is known, which counts as none.
    pub read_mb_s: &'a [f64],
    /// Likewise of writes.
    pub write_mb_s: &'a [f64],
    /// Commands in a second.
    pub read_iops: &'a [f64],
    /// Likewise of writes.
    pub write_iops: &'a [f64],
    /// The drive's mean power; where it is not a number, it is what its work costs.
    pub power_w: &'a [f64],
    /// How much warmer the air is than the place's own.
    pub air_k: &'a [f64],
}

impl Recorded<'_> {
    /// Check that the series are of one length, of numbers that can be.
    pub fn validate(&self) -> Result<(), SpecError> {
        let series = [
            ("read_mb_s", self.read_mb_s),
            ("write_mb_s", self.write_mb_s),
            ("read_iops", self.read_iops),
            ("write_iops", self.write_iops),
            ("power_w", self.power_w),
        ];
        for (name, values) in series.into_iter().chain([("air_k", self.air_k)]) {
            if values.len() != self.dt_s.len() {
                let expected = format!("it has to be {}, as dt_s is", self.dt_s.len());
                return Err(SpecError::new(
                    &format!("the length of {name}"),
                    values.len(),
                    expected,
                ));
            }
        }
        for (name, values) in series {
            for value in values.iter().filter(|value| !value.is_nan()) {
                not_negative(name, *value)?;
            }
        }
        if let Some(value) = self.air_k.iter().find(|value| !value.is_finite()) {
            return Err(SpecError::new("air_k", *value, "it has to be a number"));
        }
        self.dt_s
            .iter()
            .try_for_each(|dt_s| positive("dt_s", *dt_s))
    }
}

/// What heat made of a recording, at the end of each stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// The drive's mean power, by its work alone: what it would be had nobody measured it.
    pub power_w: Vec<f64>,
    /// The temperature that the governor acts on.
    pub governed_c: Vec<f64>,
    /// What each sensor shows, before it is rounded.
    pub sensors_c: Vec<Vec<f64>>,
}

/// What is asked of a drive, second by second, whether or not it keeps up: series of one length.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// What is asked for in each second, 10^6 bytes.
    pub read_mb_s: &'a [f64],
    /// Likewise of writes.
    pub write_mb_s: &'a [f64],
    /// Commands in each second.
    pub read_iops: &'a [f64],
    /// Likewise of writes.
    pub write_iops: &'a [f64],
    /// How much of its time the drive needs for that at full speed: over 1 where it is asked for
    /// more than it can do.
    pub full_share: &'a [f64],
}

impl Demand<'_> {
    /// Check that the series are of one length, of numbers that can be.
    pub fn validate(&self) -> Result<(), SpecError> {
        let count = self.full_share.len();
        let amounts = self.amounts();
        for (name, values) in amounts {
            if values.len() != count {
                let expected = format!("it has to be {count}, as full_share is");
                let name = format!("the length of {name}");
                return Err(SpecError::new(&name, values.len(), expected));
            }
            values
                .iter()
                .try_for_each(|value| not_negative(name, *value))?;
        }
        for (index, share) in self.full_share.iter().enumerate() {
            not_negative("full_share", *share)?;
            if *share == 0.0 && amounts.iter().any(|(_, values)| values[index] > 0.0) {
                let expected = "it has to be more than 0 where something is asked for";
                return Err(SpecError::new("full_share", *share, expected));
            }
        }
        Ok(())
    }

    fn amounts(&self) -> [(&'static str, &[f64]); 4] {
        [
            ("read_mb_s", self.read_mb_s),
            ("write_mb_s", self.write_mb_s),
            ("read_iops", self.read_iops),
            ("write_iops", self.write_iops),
        ]
    }

    /// Of a second; writes faster than `direct_mb_s` go to the cache.
    fn second(&self, index: usize, direct_mb_s: f64) -> Amount {
        let write_mb = self.write_mb_s[index];
        Amount {
            read_mb: self.read_mb_s[index],
            write_mb,
            cached_mb: if write_mb > direct_mb_s {
                write_mb
            } else {
                0.0
            },
            read_commands: self.read_iops[index],
            write_commands: self.write_iops[index],
            full_s: self.full_share[index],
        }
    }
}

/// Something to be moved.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    read_mb: f64,
    write_mb: f64,
    /// How much of the writes goes to the cache.
    cached_mb: f64,
    read_commands: f64,
    write_commands: f64,
    /// How long that takes at full speed.
    full_s: f64,
}

impl Amount {
    fn scaled(&self, factor: f64) -> Amount {
        Amount {
            read_mb: self.read_mb * factor,
            write_mb: self.write_mb * factor,
            cached_mb: self.cached_mb * factor,
            read_commands: self.read_commands * factor,
            write_commands: self.write_commands * factor,
            full_s: self.full_s * factor,
        }
    }

    fn add(&mut self, other: &Amount) {
        self.read_mb += other.read_mb;
        self.write_mb += other.write_mb;
        self.cached_mb += other.cached_mb;
        self.read_commands += other.read_commands;
        self.write_commands += other.write_commands;
        self.full_s += other.full_s;
    }

    fn mb(&self) -> f64 {
        self.read_mb + self.write_mb
    }

    /// Take out what so long at full speed is enough for: the same part of all of it.
    fn take(&mut self, full_s: f64) -> Amount {
        if self.full_s <= full_s {
            return std::mem::take(self);
        }
        let part = full_s / self.full_s;
        let taken = self.scaled(part);
        *self = self.scaled(1.0 - part);
        taken
    }
}

/// What became of a demand, one value for each second.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// What was moved in it, 10^6 bytes.
    pub mb_s: Vec<f64>,
    /// What waited at its end, 10^6 bytes.
    pub waiting_mb: Vec<f64>,
    /// How much more waited than without heat, as the time that it takes at full speed.
    pub late_s: Vec<f64>,
    /// What the first sensor measured at its end.
    pub sensor_c: Vec<f64>,
    /// What the governor acted on then.
    pub governed_c: Vec<f64>,
}

/// Heat and governor of a drive in a place.
#[derive(Debug, Clone)]
pub struct Lumped {
    heat: Heat,
    governor: Governor,
    power: PowerStates,
    share: f64,
    /// Firmware time of a read and of a write command.
    command_us: [f64; 2],
    /// Writes that are faster than the flash takes them directly go to its cache.
    direct_mb_s: f64,
}

impl Lumped {
    /// A drive at rest.
    pub fn new(spec: &DriveSpec, place: &EnclosureSpec) -> Result<Lumped, DriveError> {
        spec.validate().map_err(DriveError::Drive)?;
        place.validate().map_err(DriveError::Enclosure)?;
        Ok(Lumped {
            heat: Heat::new(spec, place).map_err(of_heat)?,
            governor: Governor::new(spec).map_err(DriveError::Drive)?,
            power: PowerStates::at(place, &spec.power_states).map_err(DriveError::Drive)?,
            share: 1.0,
            command_us: [
                spec.controller.read_command_us,
                spec.controller.write_command_us,
            ],
            direct_mb_s: spec.cache.as_ref().map_or(f64::INFINITY, |_| {
                let unit_mb = spec.nand.unit_bytes as f64 * 1e-6;
                DIRECT_X * f64::from(spec.nand.dies) * unit_mb / (spec.nand.program_us * 1e-6)
            }),
        })
    }

    /// The sensors, by name.
    pub fn sensor_names(&self) -> &[String] {
        self.heat.sensor_names()
    }

    /// Make all of it warmer, as a drive is that has not rested for long enough.
    pub fn warm(&mut self, above_k: f64) {
        self.heat.warm(above_k);
    }

    /// Let a recording pass: the governor is left out, for what it permitted shows in the rates.
    ///
    /// Writes are taken to be programmed once, into the cache where they are faster than the flash
    /// takes them directly, and reads to come from flash: what collection adds is not in a recording.
    pub fn follow(&mut self, recorded: &Recorded) -> Result<Followed, SpecError> {
        recorded.validate()?;
        let count = recorded.dt_s.len();
        let mut followed = Followed {
            power_w: Vec::with_capacity(count),
            governed_c: Vec::with_capacity(count),
            sensors_c: vec![Vec::with_capacity(count); self.sensor_names().len()],
        };
        let own_air_c = self.heat.air_c();
        if let Some(first_k) = recorded.air_k.first() {
            self.heat.begin_in_air(own_air_c + first_k);
        }
        for index in 0..count {
            let dt_s = recorded.dt_s[index];
            let air_c = own_air_c + recorded.air_k[index];
            if air_c != self.heat.air_c() {
                self.heat.change_air(air_c);
            }
            let work = self.work_of(recorded, index);
            let measured_w = recorded.power_w[index];
            followed.power_w.push(if work.active_s > 0.0 {
                self.power.wake();
                self.follow_work(dt_s, &work, measured_w)
            } else {
                self.follow_rest(dt_s, measured_w)
            });
            followed.governed_c.push(self.heat.governed_c());
            for (sensor, values) in followed.sensors_c.iter_mut().enumerate() {
                values.push(self.heat.sensor_c(sensor));
            }
        }
        Ok(followed)
    }

    fn work_of(&self, recorded: &Recorded, index: usize) -> Work {
        let dt_s = recorded.dt_s[index];
        // a NaN is less than any number
        let of = |series: &[f64]| series[index].max(0.0) * dt_s;
        let write_mb = of(recorded.write_mb_s);
        let is_cached = write_mb > self.direct_mb_s * dt_s;
        let amount = Amount {
            read_mb: of(recorded.read_mb_s),
            write_mb,
            cached_mb: if is_cached { write_mb } else { 0.0 },
            read_commands: of(recorded.read_iops),
            write_commands: of(recorded.write_iops),
            full_s: 0.0,
        };
        self.work(dt_s, &amount)
    }

    fn work(&self, dt_s: f64, amount: &Amount) -> Work {
        let pages_a_mb = 1e6 / PAGE_BYTES as f64;
        let (reads, writes) = (amount.read_mb * pages_a_mb, amount.write_mb * pages_a_mb);
        let (read_commands, write_commands) = (amount.read_commands, amount.write_commands);
        let [read_us, write_us] = self.command_us;
        let busy_s = (read_commands * read_us + write_commands * write_us) * 1e-6;
        let is_loaded = reads + writes + read_commands + write_commands > 0.0;
        Work {
            read_commands,
            write_commands,
            host_read_pages: reads,
            host_write_pages: writes,
            read_pages: reads,
            programmed_pages: writes,
            cached_pages: amount.cached_mb * pages_a_mb,
            erased_pages: writes,
            moved_pages: 0.0,
            busy_s: busy_s.min(dt_s),
            active_s: if is_loaded { dt_s } else { 0.0 },
        }
    }

    fn follow_work(&mut self, dt_s: f64, work: &Work, measured_w: f64) -> f64 {
        let parts = (dt_s / FOLLOWED_STEP_S).ceil();
        let (part_s, part) = (dt_s / parts, work.scaled(1.0 / parts));
        let mut power_w = 0.0;
        for _ in 0..parts as u64 {
            if measured_w.is_nan() {
                power_w += self.heat.step(part_s, &part, None) / parts;
            } else {
                power_w += self.heat.expected_w(part_s, &part, None) / parts;
                self.heat.step_measured(part_s, &part, measured_w);
            }
        }
        power_w
    }

    fn follow_rest(&mut self, dt_s: f64, measured_w: f64) -> f64 {
        let none = Work::default();
        let (mut left_s, mut joules) = (dt_s, 0.0);
        while left_s > 0.0 {
            let step_s = self.resting_step_s(left_s, FOLLOWED_STEP_S);
            left_s -= step_s;
            let rest_w = self.power.power_w();
            if measured_w.is_nan() {
                joules += self.heat.step(step_s, &none, rest_w) * step_s;
            } else {
                joules += self.heat.expected_w(step_s, &none, rest_w) * step_s;
                self.heat.step_measured(step_s, &none, measured_w);
            }
            self.power.rest(step_s);
        }
        joules / dt_s
    }

    /// How long a step may be without load: a state's power holds from its entry on.
    fn resting_step_s(&self, left_s: f64, most_s: f64) -> f64 {
        let change_s = self
            .power
            .next_change_s()
            .filter(|change_s| *change_s > 0.0);
        change_s
            .map_or(most_s, |change_s| change_s.min(most_s))
            .min(left_s)
    }

    /// Let time pass without load.
    pub fn rest(&mut self, duration_s: f64) -> Result<(), SpecError> {
        positive("duration_s", duration_s)?;
        self.pass(duration_s);
        Ok(())
    }

    fn pass(&mut self, duration_s: f64) {
        let mut left_s = duration_s;
        while left_s > 0.0 {
            let step_s = self.resting_step_s(left_s, RESTING_STEP_S);
            left_s -= step_s;
            let rest_w = self.power.power_w();
            let power_w = self.heat.step(step_s, &Work::default(), rest_w);
            self.govern(step_s, power_w);
            self.power.rest(step_s);
        }
    }

    fn govern(&mut self, step_s: f64, power_w: f64) {
        let temp_c = self.heat.governed_c();
        self.share = self.governor.update(step_s, temp_c, power_w).share;
    }

    /// Serve what is asked for over time: what is held back waits, and is served as soon as that is
    /// permitted, but what comes next comes when it came.
    ///
    /// Of what waits, all kinds are served alike. Writes and reads cost what [`Lumped::follow`]
    /// takes them to. It ends after a second in which more than `most_late_s` got late.
    pub fn serve(&mut self, demand: &Demand, most_late_s: f64) -> Result<Served, SpecError> {
        demand.validate()?;
        let count = demand.full_share.len();
        let mut served = Served {
            mb_s: Vec::with_capacity(count),
            waiting_mb: Vec::with_capacity(count),
            late_s: Vec::with_capacity(count),
            sensor_c: Vec::with_capacity(count),
            governed_c: Vec::with_capacity(count),
        };
        let at_full_speed: Vec<Work> = (0..count)
            .map(|index| demand.second(index, self.direct_mb_s))
            .filter(|asked| asked.full_s > 0.0)
            .map(|asked| self.work(1.0, &asked.scaled(1.0 / asked.full_s)))
            .collect();
        let careful_c = self.careful_c(&at_full_speed);
        let mut waiting = Amount::default();
        let mut unheated = Amount::default();
        for index in 0..count {
            let asked = demand.second(index, self.direct_mb_s);
            let mut mb = 0.0;
            if waiting.full_s + asked.full_s > 0.0 {
                self.power.wake();
                let mut left = COARSE_STEPS[0];
                while left > 0 {
                    let steps = self.steps_at_once(left, careful_c);
                    left -= steps;
                    let step_s = f64::from(steps) * LOADED_STEP_S;
                    let asked = asked.scaled(step_s);
                    unheated.add(&asked);
                    unheated.take(step_s);
                    waiting.add(&asked);
                    let moved = waiting.take(self.share * step_s);
                    mb += moved.mb();
                    let work = self.work(step_s, &moved);
                    let power_w = self.heat.step(step_s, &work, None);
                    self.govern(step_s, power_w);
                }
            } else {
                self.pass(1.0);
            }
            let late_s = (waiting.full_s - unheated.full_s).max(0.0);
            served.mb_s.push(mb);
            served.waiting_mb.push(waiting.mb());
            served.late_s.push(late_s);
            served.sensor_c.push(self.heat.sensor_c(0));
            served.governed_c.push(self.heat.governed_c());
            if late_s > most_late_s {
                break;
            }
        }
        Ok(served)
    }

    /// How many of the `left` steps of a second can be taken at once, so that the governor does not
    /// begin to act within them; `careful_c` is what [`Lumped::careful_c`] gave.
    fn steps_at_once(&self, left: u32, careful_c: [f64; 2]) -> u32 {
        let acts = self.share < 1.0 || self.governor.permit().level > 0;
        let is_free = |careful_c| !acts && self.heat.governed_c() < careful_c;
        COARSE_STEPS
            .into_iter()
            .zip(careful_c)
            .find(|&(steps, careful_c)| steps <= left && is_free(careful_c))
            .map_or(1, |(steps, _)| steps)
    }

    /// How warm the drive may be for each of [`COARSE_STEPS`], by what it does in seconds at full
    /// speed.
    fn careful_c(&self, at_full_speed: &[Work]) -> [f64; 2] {
        // how fast the hottest warms says nothing of another that becomes it
        if self.heat.is_governed_by_several() {
            return [f64::NEG_INFINITY; 2];
        }
        COARSE_STEPS.map(|steps| self.governor.begins_c() - self.most_rise_k(at_full_speed, steps))
    }

    /// By how much so many steps warm what the governor acts on, at most: heat adds up, so that
    /// this is the fastest that full load warms a drive from rest, later where the governor lags.
    fn most_rise_k(&self, at_full_speed: &[Work], steps: u32) -> f64 {
        let step_s = f64::from(steps) * LOADED_STEP_S;
        let works = at_full_speed.iter().map(|work| work.scaled(step_s));
        let cost_w = |work: &Work| self.heat.expected_w(step_s, work, None);
        let Some(hottest) = works.max_by(|a, b| cost_w(a).total_cmp(&cost_w(b))) else {
            return 0.0;
        };
        let (mut heat, mut most_k) = (self.heat.clone(), 0.0_f64);
        // beyond that it is gone through step by step anyway
        while heat.governed_c() < self.governor.begins_c() {
            let before_c = heat.governed_c();
            heat.step(step_s, &hottest, None);
            let rise_k = heat.governed_c() - before_c;
            if rise_k <= most_k {
                break;
            }
            most_k = rise_k;
        }
        most_k
    }

    /// Where the governor starts to act.
    pub fn begins_c(&self) -> f64 {
        self.governor.begins_c()
    }

    /// Run a load for a whole number of seconds.
    pub fn load(&mut self, profile: &Profile, duration_s: u32) -> Load {
        self.run(duration_s, [f64::NEG_INFINITY; 2], |share, _| {
            profile.at(share)
        })
    }

    /// Run a load whose rate changes as it goes on, for a whole number of seconds.
    ///
    /// What is permitted in part takes as much longer; the last phase goes on for as long as asked.
    pub fn play(&mut self, phases: &[Phase], duration_s: u32) -> Result<Load, SpecError> {
        if phases.is_empty() {
            return Err(SpecError::new("phases", 0, "there has to be one"));
        }
        for (index, phase) in phases.iter().enumerate() {
            positive(&format!("phases[{index}].mb"), phase.mb)?;
            positive(&format!("phases[{index}].mb_s"), phase.mb_s)?;
            for (name, value) in phase.work.by_name() {
                not_negative(&format!("phases[{index}].work.{name}"), value)?;
            }
        }
        let works: Vec<Work> = phases
            .iter()
            .map(|phase| Work {
                active_s: 1.0,
                ..phase.work
            })
            .collect();
        let careful_c = self.careful_c(&works);
        let (mut index, mut before_mb) = (0, 0.0);
        Ok(self.run(duration_s, careful_c, |share, moved_mb| {
            while index + 1 < phases.len() && moved_mb >= before_mb + phases[index].mb {
                before_mb += phases[index].mb;
                index += 1;
            }
            let phase = &phases[index];
            (share * phase.mb_s, phase.work.scaled(share))
        }))
    }

    /// Run for a whole number of seconds what `rates` says at a share, once so much was moved.
    ///
    /// Several steps are taken at once below `careful_c`.
    fn run(
        &mut self,
        duration_s: u32,
        careful_c: [f64; 2],
        mut rates: impl FnMut(f64, f64) -> (f64, Work),
    ) -> Load {
        self.power.wake();
        let mut moved_mb = 0.0;
        let mut load = Load {
            onset_s: None,
            onset_sensor_c: f64::NAN,
            mb_s: Vec::with_capacity(duration_s as usize),
            power_w: Vec::with_capacity(duration_s as usize),
            sensor_c: Vec::with_capacity(duration_s as usize),
            governed_c: Vec::with_capacity(duration_s as usize),
        };
        for second in 0..duration_s {
            let (mut mb, mut joules) = (0.0, 0.0);
            let mut left = COARSE_STEPS[0];
            while left > 0 {
                let before_c = self.heat.governed_c();
                let step = COARSE_STEPS[0] - left;
                let steps = self.steps_at_once(left, careful_c);
                left -= steps;
                let step_s = f64::from(steps) * LOADED_STEP_S;
                let (mb_s, work) = rates(self.share, moved_mb);
                let mut work = work.scaled(step_s);
                work.active_s = step_s;
                mb += mb_s * step_s;
                moved_mb += mb_s * step_s;
                let power_w = self.heat.step(step_s, &work, None);
                joules += power_w * step_s;
                let after_c = self.heat.governed_c();
                self.govern(step_s, power_w);
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
            load.governed_c.push(self.heat.governed_c());
        }
        load
    }
}
