//! The drive without its flash: heat and governor over work that is known.
//!
//! None of a fit's resistances and energies changes how often a drive reads, programs and moves for
//! what it is asked for. So that is given, and only heat and governor are run: over what somebody
//! asks for ([`Demand`]), which a governor holds back, or over what was recorded ([`Recorded`]).

use crate::drive::{DriveError, of_heat};
use crate::governor::Governor;
use crate::heat::beside::{Beside, Fed};
use crate::heat::{Heat, Work};
use crate::power::PowerStates;
use crate::spec::{DriveSpec, EnclosureSpec, SpecError, not_negative, positive};

/// Lengths of steps: under load, and without, where only leakage changes.
const LOADED_STEP_S: f64 = 0.04;
const RESTING_STEP_S: f64 = 1.0;
/// Stretches of a recording are followed in steps of at most this: a sensor's lag is exact over a
/// line, and no temperature leaves one by much in so short a time.
const FOLLOWED_STEP_S: f64 = 4.0;
/// So many loaded steps are taken at once where the governor cannot begin to act within them: those
/// of a second, or fewer.
const COARSE_STEPS: [u32; 2] = [25, 5];

/// What a drive was seen to do, stretch by stretch: series of one length.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// How long each stretch was; four seconds or less is followed in one step.
    pub dt_s: &'a [f64],
    /// Operations in a second; a stretch without any is one at rest. `active_s` is the share that
    /// was permitted; where it is 0, nobody tells, and it counts as all: rates do not tell paced
    /// loads from hot drives.
    pub work: &'a [Work],
    /// The drive's mean power; where it is not a number, it is what its work costs.
    pub power_w: &'a [f64],
    /// How much warmer the air is than the place's own.
    pub air_k: &'a [f64],
}

impl Recorded<'_> {
    /// Check that the series are of one length, of numbers that can be.
    pub fn validate(&self) -> Result<(), SpecError> {
        validate(
            self.dt_s,
            self.work,
            &[("power_w", self.power_w), ("air_k", self.air_k)],
        )?;
        for value in self.power_w.iter().filter(|value| !value.is_nan()) {
            not_negative("power_w", *value)?;
        }
        if let Some(value) = self.air_k.iter().find(|value| !value.is_finite()) {
            return Err(SpecError::new("air_k", *value, "it has to be a number"));
        }
        Ok(())
    }
}

/// Check stretches, the work in them, and that series are as long.
fn validate(dt_s: &[f64], work: &[Work], series: &[(&str, &[f64])]) -> Result<(), SpecError> {
    let lengths = series.iter().map(|(name, values)| (*name, values.len()));
    for (name, count) in lengths.chain([("work", work.len())]) {
        if count != dt_s.len() {
            let expected = format!("it has to be {}, as dt_s is", dt_s.len());
            return Err(SpecError::new(
                &format!("the length of {name}"),
                count,
                expected,
            ));
        }
    }
    for (name, value) in work.iter().flat_map(Work::by_name) {
        // the key costs more than a step: it is made where it is read
        if value.is_nan() || value < 0.0 {
            not_negative(&format!("work.{name}"), value)?;
        }
    }
    dt_s.iter().try_for_each(|dt_s| positive("dt_s", *dt_s))
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

/// Drives that differ a little from one that is followed.
#[derive(Debug, Clone, Default)]
pub struct Others<'a> {
    /// Each as it begins, at rest or warmed.
    pub drives: Vec<Lumped>,
    /// What each measured power is multiplied by.
    pub measured_x: Vec<f64>,
    /// How much warmer the air is than their own, of all in a stretch, stretch by stretch.
    pub air_k: &'a [f64],
}

/// Those, and what power states they rest in.
struct Rest {
    drives: Beside,
    power: Vec<PowerStates>,
    rest_w: Vec<f64>,
    from_k: Vec<f64>,
}

/// What is asked of a drive, part by part, whether or not it keeps up: series of one length.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// In how much time each part is asked for.
    pub dt_s: &'a [f64],
    /// What is asked for in a second, 10^6 bytes.
    pub mb_s: &'a [f64],
    /// The least share of everything that is enough for it: over 1 where it is asked for more than
    /// it can do.
    pub full_share: &'a [f64],
    /// How much of its time it takes whatever is permitted, for what no governor slows: a link,
    /// flash. 1 for a load that is no faster after it was held back.
    pub least_share: &'a [f64],
    /// Operations for what is asked for in a second.
    pub work: &'a [Work],
    /// How much warmer the air is than it was, second by second; it stays as it is at the end.
    pub air_k: &'a [f64],
}

impl Demand<'_> {
    /// Check that the series are of one length, of numbers that can be.
    pub fn validate(&self) -> Result<(), SpecError> {
        let series = [
            ("mb_s", self.mb_s),
            ("full_share", self.full_share),
            ("least_share", self.least_share),
        ];
        validate(self.dt_s, self.work, &series)?;
        for (name, values) in series {
            values
                .iter()
                .try_for_each(|value| not_negative(name, *value))?;
        }
        if let Some(value) = self.air_k.iter().find(|value| !value.is_finite()) {
            return Err(SpecError::new("air_k", *value, "it has to be a number"));
        }
        let mut shares = self.full_share.iter().zip(self.mb_s);
        if shares.any(|(share, mb_s)| *share == 0.0 && *mb_s > 0.0) {
            let expected = "it has to be more than 0 where something is asked for";
            return Err(SpecError::new("full_share", 0.0, expected));
        }
        Ok(())
    }

    /// How much time a second's demand takes at a share.
    fn takes(&self, part: usize, share: f64) -> f64 {
        let (full, least) = (self.full_share[part], self.least_share[part]);
        if full > 0.0 {
            (full / share).max(least)
        } else {
            0.0
        }
    }
}

/// How far a demand is served.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    part: usize,
    /// Seconds of that part, and of all.
    inside_s: f64,
    at_s: f64,
    /// How long what was served takes at full speed, and how much it is.
    full_s: f64,
    mb: f64,
}

impl Progress {
    /// Serve what is asked for up to `until_s` for `left_s` at a share; the work of that.
    fn serve(&mut self, demand: &Demand, until_s: f64, share: f64, mut left_s: f64) -> Work {
        let mut work = Work::default();
        while self.at_s < until_s && self.part < demand.dt_s.len() && left_s > 0.0 {
            let takes = demand.takes(self.part, share);
            let rest_s = demand.dt_s[self.part] - self.inside_s;
            let there_s = rest_s.min(until_s - self.at_s);
            let served_s = there_s.min(left_s / takes);
            left_s = if served_s < there_s {
                0.0
            } else {
                left_s - served_s * takes
            };
            work.add(&demand.work[self.part].scaled(served_s));
            self.mb += demand.mb_s[self.part] * served_s;
            self.full_s += demand.takes(self.part, 1.0) * served_s;
            self.at_s += served_s;
            self.inside_s += served_s;
            // sums of steps do not add up to a part exactly
            if served_s >= rest_s - 1e-9 {
                self.part += 1;
                self.inside_s = 0.0;
            }
        }
        work
    }

    /// Whether nothing is to be done before `until_s`.
    fn rests(&self, demand: &Demand, until_s: f64) -> bool {
        let mut begins_s = self.at_s - self.inside_s;
        for (dt_s, share) in demand.dt_s.iter().zip(demand.full_share).skip(self.part) {
            // nor do parts add up to seconds exactly
            if begins_s >= until_s - 1e-6 {
                break;
            }
            if *share > 0.0 {
                return false;
            }
            begins_s += dt_s;
        }
        true
    }
}

/// What became of a demand; series have one value for each second.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// When the governor first permitted less than was needed; none if it never did.
    pub onset_s: Option<f64>,
    /// What the first sensor measured then.
    pub onset_sensor_c: f64,
    /// When it was so hot that it shut itself down, to the second; none if it never did.
    pub stopped_s: Option<f64>,
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
    pub fn follow(&mut self, recorded: &Recorded) -> Result<Followed, SpecError> {
        self.follow_beside(recorded, Others::default())
    }

    /// Let a recording pass on it, and on others that differ from it a little: series have their
    /// own value first, then those of the others, stretch by stretch.
    pub fn follow_beside(
        &mut self,
        recorded: &Recorded,
        others: Others,
    ) -> Result<Followed, SpecError> {
        recorded.validate()?;
        let (count, width) = (recorded.dt_s.len(), others.drives.len());
        if others.air_k.len() != count * width {
            let expected = format!(
                "it has to be {}: one for each stretch and drive",
                count * width
            );
            return Err(SpecError::new("air_k beside", others.air_k.len(), expected));
        }
        let (heats, power) = others
            .drives
            .into_iter()
            .map(|one| (one.heat, one.power))
            .unzip();
        let mut beside = Rest {
            drives: Beside::new(&self.heat, heats, others.measured_x)?,
            power,
            rest_w: vec![0.0; width],
            from_k: Vec::new(),
        };
        let cells = count * (1 + width);
        let mut followed = Followed {
            power_w: Vec::with_capacity(cells),
            governed_c: Vec::with_capacity(cells),
            sensors_c: vec![Vec::with_capacity(cells); self.sensor_names().len()],
        };
        let own_air_c = self.heat.air_c();
        for index in 0..count {
            let dt_s = recorded.dt_s[index];
            let air_k = &others.air_k[index * width..][..width];
            self.meet_air(
                own_air_c + recorded.air_k[index],
                air_k,
                index == 0,
                &mut beside.drives,
            );
            let mut work = recorded.work[index].scaled(dt_s);
            work.busy_s = work.busy_s.min(dt_s);
            let told = std::mem::take(&mut work.active_s) / dt_s;
            let permitted = if told > 0.0 { told.min(1.0) } else { 1.0 };
            let is_loaded = work.by_name().iter().any(|(_, value)| *value > 0.0);
            if is_loaded {
                work.active_s = self.heat.active_s(dt_s, permitted);
                self.power.wake();
                for power in &mut beside.power {
                    power.wake();
                }
            }
            let first = followed.power_w.len();
            followed.power_w.resize(first + 1 + width, 0.0);
            let measured_w = Some(recorded.power_w[index]).filter(|power_w| !power_w.is_nan());
            let powers_w = &mut followed.power_w[first..];
            self.follow_stretch(dt_s, &work, is_loaded, measured_w, &mut beside, powers_w);
            let others = &beside.drives;
            followed.governed_c.push(self.heat.governed_c());
            followed
                .governed_c
                .extend((0..width).map(|one| others.governed_c(one)));
            for (sensor, values) in followed.sensors_c.iter_mut().enumerate() {
                values.push(self.heat.sensor_c(sensor));
                values.extend((0..width).map(|one| others.sensor_c(sensor, one)));
            }
        }
        Ok(followed)
    }

    /// Let the air be what it is in a stretch: that of others is so much warmer than their own.
    fn meet_air(&mut self, air_c: f64, others_k: &[f64], is_first: bool, beside: &mut Beside) {
        let by_k = air_c - self.heat.air_c();
        if is_first {
            self.heat.begin_in_air(air_c);
        } else if by_k != 0.0 {
            self.heat.change_air(air_c);
        }
        for (index, air_k) in others_k.iter().enumerate() {
            let air_c = beside.own_air_c(index) + air_k;
            if is_first {
                beside.begin_in_air(index, air_c);
            } else {
                beside.change_air(index, air_c, by_k);
            }
        }
    }

    /// Let a stretch pass; adds the mean power that its work costs to `powers_w`.
    fn follow_stretch(
        &mut self,
        dt_s: f64,
        work: &Work,
        is_loaded: bool,
        measured_w: Option<f64>,
        beside: &mut Rest,
        powers_w: &mut [f64],
    ) {
        let mut left_s = dt_s;
        while left_s > 0.0 {
            let rest_w = if is_loaded {
                None
            } else {
                self.power.power_w()
            };
            let longest_s = match measured_w {
                Some(_) => FOLLOWED_STEP_S,
                None => self.heat.longest_s(rest_w.is_some()),
            };
            let step_s = if is_loaded {
                left_s / (left_s / longest_s).ceil()
            } else {
                self.resting_step_s(left_s, longest_s)
            };
            left_s = if step_s < left_s {
                left_s - step_s
            } else {
                0.0
            };
            let part = work.scaled(step_s / dt_s);
            beside.from_k.clear();
            beside.from_k.extend_from_slice(self.heat.above_k());
            powers_w[0] += match measured_w {
                Some(power_w) => {
                    let expected_w = self.heat.expected_w(step_s, &part, rest_w);
                    self.heat.step_measured(step_s, &part, power_w);
                    expected_w
                }
                None => self.heat.step(step_s, &part, rest_w),
            } * (step_s / dt_s);
            if !is_loaded {
                self.power.rest(step_s);
            }
            if beside.power.is_empty() {
                continue;
            }
            for (rest_w, power) in beside.rest_w.iter_mut().zip(&beside.power) {
                *rest_w = power.power_w().unwrap_or(0.0);
            }
            let fed = Fed {
                dt_s: step_s,
                work: &part,
                rest_w: rest_w.map(|own_w| (own_w, beside.rest_w.as_slice())),
                measured_w,
            };
            beside.drives.step(&self.heat, &beside.from_k, &fed);
            for (sum_w, power_w) in powers_w[1..].iter_mut().zip(beside.drives.expected_w()) {
                *sum_w += power_w * (step_s / dt_s);
            }
            if !is_loaded {
                beside.power.iter_mut().for_each(|power| power.rest(step_s));
            }
        }
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

    /// Serve what is asked for over time: what is held back waits, and is served in its order as
    /// soon as that is permitted, but what comes next comes when it came.
    ///
    /// It goes on for `seconds`, or else until all is served or the drive has stopped. It ends
    /// after a second in which more than `most_late_s` got late.
    pub fn serve(
        &mut self,
        demand: &Demand,
        seconds: Option<u32>,
        most_late_s: f64,
    ) -> Result<Served, SpecError> {
        demand.validate()?;
        let mut served = Served {
            onset_s: None,
            onset_sensor_c: f64::NAN,
            stopped_s: None,
            mb_s: Vec::new(),
            waiting_mb: Vec::new(),
            late_s: Vec::new(),
            sensor_c: Vec::new(),
            governed_c: Vec::new(),
        };
        let at_full_speed: Vec<Work> = (0..demand.dt_s.len())
            .filter(|part| demand.full_share[*part] > 0.0)
            .map(|part| Work {
                active_s: 1.0,
                ..demand.work[part].scaled(1.0 / demand.takes(part, 1.0))
            })
            .collect();
        let careful_c = self.careful_c(&at_full_speed);
        let own_air_c = self.heat.air_c();
        let (mut done, mut unheated, mut asked) = <[Progress; 3]>::default().into();
        for second in 0..seconds.unwrap_or(u32::MAX) {
            let is_over = done.part == demand.dt_s.len() || self.governor.permit().stopped;
            if seconds.is_none() && is_over {
                break;
            }
            if let Some(air_k) = demand.air_k.get(second as usize) {
                self.heat.change_air(own_air_c + air_k);
            }
            let began_mb = done.mb;
            let end_s = f64::from(second) + 1.0;
            if done.rests(demand, end_s) {
                self.pass(1.0);
                done.serve(demand, end_s, 1.0, 1.0);
                unheated.serve(demand, end_s, 1.0, 1.0);
            } else {
                self.power.wake();
                let mut left = COARSE_STEPS[0];
                while left > 0 {
                    let steps = self.steps_at_once(left, careful_c);
                    left -= steps;
                    let step_s = f64::from(steps) * LOADED_STEP_S;
                    let come_s = end_s - f64::from(left) * LOADED_STEP_S;
                    unheated.serve(demand, come_s, 1.0, step_s);
                    let mut work = done.serve(demand, come_s, self.share, step_s);
                    work.active_s = self.heat.active_s(step_s, self.share);
                    let before = (self.heat.governed_c(), self.heat.sensor_c(0));
                    let power_w = self.heat.step(step_s, &work, None);
                    self.govern(step_s, power_w);
                    let needed = demand
                        .full_share
                        .get(done.part)
                        .map_or(0.0, |full| full.min(1.0));
                    if self.share < needed && served.onset_s.is_none() {
                        // within the step, so that a fit sees it move
                        let part = (self.governor.begins_c() - before.0)
                            / (self.heat.governed_c() - before.0);
                        let part = if part.is_nan() {
                            0.0
                        } else {
                            part.clamp(0.0, 1.0)
                        };
                        served.onset_s = Some(come_s - (1.0 - part) * step_s);
                        served.onset_sensor_c =
                            before.1 + part * (self.heat.sensor_c(0) - before.1);
                    }
                }
            }
            if self.governor.permit().stopped && served.stopped_s.is_none() {
                served.stopped_s = Some(end_s);
            }
            asked.serve(demand, end_s, 1.0, f64::INFINITY);
            // sums that were made in other steps differ a little
            let late_s = unheated.full_s - done.full_s;
            let late_s = if late_s > 1e-6 { late_s } else { 0.0 };
            served.mb_s.push(done.mb - began_mb);
            served.waiting_mb.push((asked.mb - done.mb).max(0.0));
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
}
