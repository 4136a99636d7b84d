//! The drive as a whole, in virtual time.

use thiserror::Error;

use crate::firmware::Firmware;
use crate::ftl::{Cache, Ftl, FtlConfig};
use crate::governor::{Governor, MIN_SHARE, Permit};
use crate::heat::{Heat, HeatError, Work};
use crate::host::{Host, Tally};
use crate::latency::{Histogram, Latencies};
use crate::load::{Load, Quiet, run};
use crate::power::PowerStates;
use crate::replay::{Replay, ReplayOptions, Source};
use crate::samples::{self, Samples};
use crate::spec::{DriveSpec, EnclosureSpec, PAGE_BYTES, SpecError};
use crate::workload::Workload;

/// The longest step that power is held constant and the governor waits in, under load.
const LOADED_STEP_S: f64 = 0.01;
/// The same without load.
const RESTING_STEP_S: f64 = 0.1;
/// How far two times may be apart and still be the same.
const SAME_S: f64 = 1e-9;
/// The least length of a sample.
const SHORTEST_SAMPLE_S: f64 = 1e-6;
/// Reported temperatures are polled once a second, as tools do.
const POLL_S: f64 = 1.0;
const MB: f64 = 1e6;
const GB: f64 = 1e9;
const US: f64 = 1e6;

/// What cannot be simulated.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DriveError {
    /// A number of the drive.
    #[error("drive: {0}")]
    Drive(SpecError),
    /// A number of its place.
    #[error("enclosure: {0}")]
    Enclosure(SpecError),
    /// A number of a workload.
    #[error("workload: {0}")]
    Workload(SpecError),
    /// A number of a replay.
    #[error("replay: {0}")]
    Replay(SpecError),
    /// What the trace says of why it has no more.
    #[error("{0}")]
    Trace(String),
    /// A trace is read once.
    #[error("a drive cannot be copied in the middle of a replay: let it come to its end before")]
    Copied,
    /// A number of a copy from one drive to another.
    #[error("copy: {0}")]
    Transfer(SpecError),
    /// A stretch of time.
    #[error("{0}")]
    Time(SpecError),
    /// An I/O from outside.
    #[error("I/O: {0}")]
    Io(SpecError),
    /// What cannot be asked of a drive in this state.
    #[error("{0}")]
    State(&'static str),
    /// A defect of the simulator: I/Os that were issued and never completed.
    #[error("{submitted} I/Os were issued and {served} came back")]
    Lost {
        /// I/Os issued.
        submitted: u64,
        /// I/Os that completed or are in flight.
        served: u64,
    },
}

enum Activity {
    Idle,
    Purging { end_s: f64 },
    Running(Vec<Load>),
    Live(Box<Live>),
}

impl Activity {
    /// None for a replay: its trace is read once.
    fn copy(&self) -> Option<Activity> {
        Some(match self {
            Activity::Idle => Activity::Idle,
            Activity::Purging { end_s } => Activity::Purging { end_s: *end_s },
            Activity::Running(loads) => {
                let copy = |load: &Load| match load {
                    Load::Loop(host) => Some(Load::Loop(host.clone())),
                    Load::Replay(_) => None,
                };
                Activity::Running(loads.iter().map(copy).collect::<Option<_>>()?)
            }
            Activity::Live(live) => Activity::Live(live.clone()),
        })
    }
}

/// What a sample sums up besides what the hosts got.
#[derive(Debug, Clone, Default)]
struct Sums {
    energy_j: f64,
    permitted_s: f64,
}

/// What was done since the drive was made, for whoever asks what a workload is made of.
pub type Totals = Work;

/// A simulated drive in a place, with a clock that starts at 0 and everything at rest.
pub struct Drive {
    spec: DriveSpec,
    place: EnclosureSpec,
    firmware: Firmware,
    heat: Heat,
    governor: Governor,
    power: PowerStates,
    names: Vec<String>,
    seed: u64,
    begun: u64,
    t_s: f64,
    activity: Activity,
    permit: Permit,
    /// A share that is permitted whatever the temperature, for measuring what it gives.
    held: Option<f64>,
    tallies: [Tally; 2],
    /// How long the I/Os of the loads took so far.
    histograms: [Histogram; 2],
    /// I/Os that completed since it was last told to advance.
    sampled_ios: u64,
    quiet: Quiet,
    /// Whether it rests between two I/Os of a trace.
    resting: bool,
    directions: (bool, bool),
    next_poll_s: f64,
    began_s: f64,
    onset_s: Option<f64>,
    onset_sensor_c: f64,
    served_bytes: u64,
    rested_s: f64,
    /// When it shut itself down for good, and what its governor saw then.
    shutdown: Option<(f64, f64)>,
    totals: Totals,
    moved_before: (u64, u64),
    grid: Grid,
}

/// Where samples end: at multiples of their length, so that it does not matter how a stretch of
/// time is cut up.
#[derive(Debug, Clone, Copy, Default)]
struct Grid {
    began_s: f64,
    sample_s: f64,
    count: f64,
}

impl Grid {
    fn next_s(&self, count: f64) -> f64 {
        self.began_s + (self.count + count) * self.sample_s
    }

    /// Continue with the same grid if time is on it, or start another.
    fn align(&mut self, t_s: f64, sample_s: f64) {
        if sample_s != self.sample_s || t_s != self.next_s(0.0) {
            *self = Grid {
                began_s: t_s,
                sample_s,
                count: 0.0,
            };
        }
    }
}

/// The longest step that divides what is left evenly.
fn even_step_s(left_s: f64, longest_s: f64) -> f64 {
    left_s / (left_s / longest_s - SAME_S).ceil().max(1.0)
}

/// Whether anything is served at what is permitted, or held.
fn serves(permit: Permit, held: Option<f64>) -> bool {
    let stopped = permit.stopped && held.is_none();
    !stopped && held.unwrap_or(permit.share) >= MIN_SHARE
}

pub(crate) fn of_heat(error: HeatError) -> DriveError {
    match error {
        HeatError::Drive(error) => DriveError::Drive(error),
        HeatError::Enclosure(error) => DriveError::Enclosure(error),
    }
}

fn ftl_of(spec: &DriveSpec) -> Result<Ftl, SpecError> {
    let pages = |bytes: u64| (bytes / PAGE_BYTES) as u32;
    let config = FtlConfig {
        user_pages: pages(spec.capacity.user_bytes),
        blocks: spec.blocks() as u32,
        pages_per_block: pages(spec.nand.block_bytes),
        unit_pages: pages(spec.nand.unit_bytes),
        policy: spec.collection.policy,
        cache: spec.cache.as_ref().map(|cache| Cache {
            kind: cache.kind,
            pages: pages(cache.bytes),
            bits: cache.bits,
            slc_unit_pages: (pages(spec.nand.unit_bytes) / cache.bits).max(1),
        }),
    };
    Ftl::new(&config).map_err(|error| {
        SpecError::new(
            "capacity.raw_bytes",
            spec.capacity.raw_bytes,
            error.to_string(),
        )
    })
}

fn check_times(duration_s: f64, sample_s: f64) -> Result<(), DriveError> {
    for (key, value, least) in [
        ("duration_s", duration_s, 0.0),
        ("sample_s", sample_s, SHORTEST_SAMPLE_S),
    ] {
        if !(value.is_finite() && value > 0.0 && value >= least) {
            let expected = if least > 0.0 {
                format!("it has to be {least} or more")
            } else {
                "it has to be more than 0".to_owned()
            };
            return Err(DriveError::Time(SpecError::new(key, value, expected)));
        }
    }
    Ok(())
}

impl Drive {
    /// A purged drive, as warm as its place makes it without load.
    pub fn new(spec: DriveSpec, place: EnclosureSpec, seed: u64) -> Result<Drive, DriveError> {
        spec.validate().map_err(DriveError::Drive)?;
        place.validate().map_err(DriveError::Enclosure)?;
        let governor = Governor::new(&spec).map_err(DriveError::Drive)?;
        let power = PowerStates::at(&place, &spec.power_states).map_err(DriveError::Drive)?;
        let heat = Heat::new(&spec, &place).map_err(of_heat)?;
        let ftl = ftl_of(&spec).map_err(DriveError::Drive)?;
        let firmware = Firmware::new(&spec, &place, ftl);
        Ok(Drive {
            names: samples::columns(heat.sensor_names(), spec.governor.counters),
            firmware,
            heat,
            governor,
            power,
            seed,
            begun: 0,
            t_s: 0.0,
            activity: Activity::Idle,
            permit: Permit {
                share: 1.0,
                stopped: false,
                level: 0,
            },
            held: None,
            tallies: Default::default(),
            histograms: Default::default(),
            sampled_ios: 0,
            quiet: Quiet::default(),
            resting: false,
            directions: (true, true),
            next_poll_s: 0.0,
            began_s: 0.0,
            onset_s: None,
            onset_sensor_c: f64::NAN,
            served_bytes: 0,
            rested_s: 0.0,
            shutdown: None,
            totals: Totals::default(),
            moved_before: (0, 0),
            grid: Grid::default(),
            spec,
            place,
        })
    }

    /// Another drive in the same state; not in the middle of a replay, whose trace is read once.
    pub fn copy(&self) -> Result<Drive, DriveError> {
        Ok(Drive {
            activity: self.activity.copy().ok_or(DriveError::Copied)?,
            spec: self.spec.clone(),
            place: self.place.clone(),
            firmware: self.firmware.clone(),
            heat: self.heat.clone(),
            governor: self.governor.clone(),
            power: self.power.clone(),
            names: self.names.clone(),
            tallies: self.tallies.clone(),
            histograms: self.histograms.clone(),
            sampled_ios: self.sampled_ios,
            quiet: self.quiet.clone(),
            ..*self
        })
    }

    /// Bytes that a host can address.
    pub fn user_bytes(&self) -> u64 {
        self.spec.capacity.user_bytes
    }

    /// Simulated time since the drive was made.
    pub fn t_s(&self) -> f64 {
        self.t_s
    }

    /// Whether there is nothing to do: no workload, or it has come to its end.
    pub fn is_done(&self) -> bool {
        matches!(self.activity, Activity::Idle)
    }

    /// Whether it shut itself down for good: it serves nothing any more.
    pub fn is_stopped(&self) -> bool {
        self.shutdown.is_some()
    }

    /// Names of the columns of its samples.
    pub fn columns(&self) -> &[String] {
        &self.names
    }

    /// Permit this share of everything whatever the temperature; `None` lets the governor act.
    pub fn hold(&mut self, share: Option<f64>) -> Result<(), DriveError> {
        if let Some(value) = share
            && !(value > 0.0 && value <= 1.0)
        {
            let expected = "a share that is permitted lies above 0 and up to 1";
            return Err(DriveError::Time(SpecError::new("share", value, expected)));
        }
        self.held = share;
        Ok(())
    }

    /// Everything that was done since the drive was made.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How long the reads and the writes of the last loads took: upper ends in seconds and counts.
    pub fn latency_bins(&self) -> [Vec<(f64, u64)>; 2] {
        let [written, read] = &self.histograms;
        [read.bins(), written.bins()]
    }

    /// Start workloads in parallel; whatever ran before is dropped.
    pub fn begin(&mut self, workloads: &[Workload]) -> Result<(), DriveError> {
        self.begin_beside(workloads, Vec::new())
    }

    /// Start the replay of a trace; whatever ran before is dropped.
    ///
    /// An I/O is issued as long after the one before it as in the trace, at most `idle_limit_s`,
    /// and once fewer than `iodepth` I/Os are in flight, and fewer than the depth that the trace
    /// tells: where the drive is slower than the one of the trace, it falls behind instead of
    /// being asked for more at once. What the trace has to say of its own failure is the error of
    /// the [`Drive::advance`] in which everything before it was issued.
    pub fn begin_replay(
        &mut self,
        source: Box<dyn Source>,
        options: ReplayOptions,
    ) -> Result<(), DriveError> {
        self.begin_beside(&[], vec![(source, options)])
    }

    /// Start workloads and replays in parallel; whatever ran before is dropped.
    pub fn begin_beside(
        &mut self,
        workloads: &[Workload],
        replays: Vec<(Box<dyn Source>, ReplayOptions)>,
    ) -> Result<(), DriveError> {
        let user_bytes = self.user_bytes();
        for workload in workloads {
            workload
                .validate(user_bytes)
                .map_err(DriveError::Workload)?;
        }
        for (_, options) in &replays {
            options.validate().map_err(DriveError::Replay)?;
        }
        self.end()?;
        let mut loads = Vec::with_capacity(workloads.len() + replays.len());
        for workload in workloads {
            self.begun += 1;
            // one stream of chance for each workload of a drive
            let seed = self.seed ^ self.begun.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            loads.push(Load::Loop(Box::new(Host::new(workload, self.t_s, seed))));
        }
        for (source, options) in replays {
            let replay = Replay::new(source, &options, user_bytes, self.t_s);
            loads.push(Load::Replay(Box::new(replay)));
        }
        self.directions = (
            loads.iter().any(|load| load.directions().0),
            loads.iter().any(|load| load.directions().1),
        );
        self.start(Activity::Running(loads));
        Ok(())
    }

    fn start(&mut self, activity: Activity) {
        self.began_s = self.t_s;
        self.onset_s = None;
        self.onset_sensor_c = f64::NAN;
        self.served_bytes = 0;
        self.histograms = Default::default();
        self.wake();
        self.activity = activity;
    }

    /// Have what is issued from now on wait until the drive is awake.
    fn wake(&mut self) {
        let wake_s = self.power.wake() / US;
        self.firmware.wake(self.t_s, wake_s);
        self.rested_s = 0.0;
        self.resting = false;
    }

    /// Drop whatever runs, so that the drive idles; what is in flight completes at once.
    pub fn end(&mut self) -> Result<(), DriveError> {
        self.quiet.cut(self.t_s);
        self.resting = false;
        let lost = |(submitted, served)| {
            (submitted != served).then_some(DriveError::Lost { submitted, served })
        };
        match &mut self.activity {
            Activity::Running(loads) => {
                for load in loads {
                    load.settle(f64::INFINITY, &mut self.tallies);
                    lost(load.counts()).map_or(Ok(()), Err)?;
                }
            }
            Activity::Live(live) => {
                live.settle(f64::INFINITY, &mut self.tallies);
                lost(live.counts()).map_or(Ok(()), Err)?;
            }
            Activity::Idle | Activity::Purging { .. } => {}
        }
        self.activity = Activity::Idle;
        self.directions = (true, true);
        self.tallies.iter_mut().for_each(Tally::clear);
        Ok(())
    }

    /// Forget all data; done once the time that the drive needs for it has passed.
    pub fn purge(&mut self) -> Result<(), DriveError> {
        self.end()?;
        self.firmware.purge();
        self.power.wake();
        self.rested_s = 0.0;
        if self.spec.capacity.purge_s > 0.0 {
            self.activity = Activity::Purging {
                end_s: self.t_s + self.spec.capacity.purge_s,
            };
        }
        Ok(())
    }

    /// Let `duration_s` pass, or less where the workload ends before; one row for `sample_s`.
    ///
    /// The last row is shorter where the end falls within it, and a little longer where the last
    /// I/Os complete just after it. Without a workload all of the time passes.
    pub fn advance(&mut self, duration_s: f64, sample_s: f64) -> Result<Samples, DriveError> {
        self.advance_some(duration_s, sample_s, u64::MAX)
    }

    /// The same, but only to the end of the sample in which `most_ios` I/Os have completed: a trace
    /// can hold hours of rest, and a million I/Os in the second after them.
    pub fn advance_some(
        &mut self,
        duration_s: f64,
        sample_s: f64,
        most_ios: u64,
    ) -> Result<Samples, DriveError> {
        if matches!(self.activity, Activity::Live(_)) {
            return Err(DriveError::State(
                "while I/Os come from outside, they and `elapse` let time pass",
            ));
        }
        check_times(duration_s, sample_s)?;
        let mut samples = Samples::new(&self.names);
        let began_s = self.t_s;
        self.grid.align(began_s, sample_s);
        self.sampled_ios = 0;
        let whole = (duration_s / sample_s + SAME_S).floor();
        let rest_s = duration_s - whole * sample_s;
        for _ in 0..whole as u64 {
            if self.sample(sample_s, self.grid.next_s(1.0), &mut samples)? {
                return Ok(samples);
            }
            self.grid.count += 1.0;
            if self.sampled_ios >= most_ios {
                return Ok(samples);
            }
        }
        if rest_s > SAME_S {
            self.sample(rest_s, began_s + duration_s, &mut samples)?;
        }
        Ok(samples)
    }

    /// Let one sample pass; whether that was the end of whatever ran.
    fn sample(
        &mut self,
        length_s: f64,
        end_s: f64,
        samples: &mut Samples,
    ) -> Result<bool, DriveError> {
        let busy = !self.is_done();
        let directions = self.directions;
        let began_s = self.t_s;
        let mut sums = Sums::default();
        let mut over = self.pass_until(end_s, &mut sums)?;
        if !over {
            self.t_s = end_s;
            if let Some(last_s) = self.draining_until(end_s + 0.5 * length_s) {
                over = self.pass_until(last_s, &mut sums)?;
            }
        }
        let elapsed_s = self.t_s - began_s;
        if elapsed_s > 0.0 {
            let row = self.row(&sums, elapsed_s, directions);
            samples.push(&row);
        }
        self.sum_up();
        if over && busy {
            self.end()?;
        }
        Ok(busy && self.is_done())
    }

    /// Add what completed in a sample to what is known of the whole load, and start again.
    fn sum_up(&mut self) {
        for (tally, histogram) in self.tallies.iter_mut().zip(&mut self.histograms) {
            histogram.add(&tally.latencies);
            self.sampled_ios += tally.latencies.count();
            tally.clear();
        }
    }

    /// Let steps pass; whether whatever ran came to its end before.
    fn pass_until(&mut self, end_s: f64, sums: &mut Sums) -> Result<bool, DriveError> {
        let mut over = false;
        while !over && end_s - self.t_s > SAME_S {
            if let Some(next_s) = self.rests_until() {
                self.rest_between(next_s, end_s, sums);
                continue;
            }
            let longest_s = if matches!(self.activity, Activity::Running(_)) {
                LOADED_STEP_S
            } else {
                RESTING_STEP_S
            };
            over = self.step(even_step_s(end_s - self.t_s, longest_s), sums);
            if let Some(text) = self.failure() {
                let error = DriveError::Trace(text.to_owned());
                self.end()?;
                return Err(error);
            }
        }
        Ok(over)
    }

    /// When the last I/Os complete, where none is issued any more and that is soon.
    fn draining_until(&self, latest_s: f64) -> Option<f64> {
        let Activity::Running(loads) = &self.activity else {
            return None;
        };
        let mut last_s = self.t_s;
        for load in loads {
            last_s = last_s.max(load.over_at()?);
        }
        (last_s <= latest_s).then_some(last_s + 2.0 * SAME_S)
    }

    fn row(&mut self, sums: &Sums, elapsed_s: f64, (reads, writes): (bool, bool)) -> Vec<f64> {
        let mean = |sum: f64, wanted: bool| if wanted { sum / elapsed_s } else { f64::NAN };
        let quiet_s = self.quiet.take(self.t_s);
        let [written, read] = &self.tallies;
        let count = |of: fn(&Latencies) -> u64, tally: &Tally, wanted: bool| {
            if wanted {
                of(&tally.latencies) as f64
            } else {
                f64::NAN
            }
        };
        let us = |of: fn(&Latencies) -> f64, tally: &Tally| of(&tally.latencies) * US;
        let p50 = |seen: &Latencies| seen.quantile_s(0.5);
        let p99 = |seen: &Latencies| seen.quantile_s(0.99);
        let p999 = |seen: &Latencies| seen.quantile_s(0.999);
        let (host_pages, moved_pages) = self.written();
        let (host_before, moved_before) = self.moved_before;
        let moved = (moved_pages - moved_before) as f64 / (host_pages - host_before) as f64;
        self.moved_before = (host_pages, moved_pages);
        let mut row = vec![
            self.t_s,
            elapsed_s,
            mean(read.bytes as f64 / MB, reads),
            mean(written.bytes as f64 / MB, writes),
            mean(read.latencies.count() as f64, reads),
            mean(written.latencies.count() as f64, writes),
            us(Latencies::mean_s, read),
            us(Latencies::mean_s, written),
            us(p50, read),
            us(p50, written),
            us(p99, read),
            us(p99, written),
            us(p999, read),
            us(p999, written),
            us(Latencies::max_s, read),
            us(Latencies::max_s, written),
            count(Latencies::over_10ms, read, reads),
            count(Latencies::over_10ms, written, writes),
            count(Latencies::over_100ms, read, reads),
            count(Latencies::over_100ms, written, writes),
            (read.latencies.sum_s() + written.latencies.sum_s()) / elapsed_s,
            100.0 * (1.0 - quiet_s / elapsed_s).clamp(0.0, 1.0),
            sums.energy_j / elapsed_s,
            f64::from(self.power.state()),
            self.heat.controller_c(),
            self.heat.nand_c(),
            self.heat.board_c(),
            (sums.permitted_s / elapsed_s).min(1.0),
            f64::from(self.firmware.ftl.free_pages()) * PAGE_BYTES as f64 / GB,
            f64::from(self.firmware.ftl.cached_pages()) * PAGE_BYTES as f64 / GB,
            if moved.is_finite() { moved } else { f64::NAN },
        ];
        let polled = self.t_s >= self.next_poll_s - SAME_S;
        if polled {
            self.next_poll_s = ((self.t_s + SAME_S) / POLL_S).floor() * POLL_S + POLL_S;
        }
        let when = |value: f64| if polled { value } else { f64::NAN };
        for sensor in 0..self.heat.sensor_names().len() {
            row.push(when(self.heat.reported_c(sensor)));
        }
        if self.spec.governor.counters {
            let counters = self.governor.counters();
            row.push(when(counters.light_count as f64));
            row.push(when(counters.heavy_count as f64));
            // NVMe counts whole seconds
            row.push(when(counters.light_s.floor()));
            row.push(when(counters.heavy_s.floor()));
        }
        self.served_bytes += read.bytes + written.bytes;
        row
    }

    /// Let one step pass; whether that was the end of whatever ran.
    fn step(&mut self, step_s: f64, sums: &mut Sums) -> bool {
        match &self.activity {
            Activity::Idle | Activity::Live(_) => {
                self.rest(step_s, sums);
                false
            }
            Activity::Purging { end_s } => {
                let end_s = *end_s;
                let last = end_s - self.t_s <= step_s + SAME_S;
                let length_s = if last { end_s - self.t_s } else { step_s };
                let power_w = self.pass(length_s, &Work::default(), None, 1.0, sums);
                self.govern(length_s, power_w);
                if last {
                    self.t_s = end_s;
                }
                last
            }
            Activity::Running(_) => self.serve(step_s, sums),
        }
    }

    /// A step without load: states of less power, and what firmware does meanwhile.
    fn rest(&mut self, step_s: f64, sums: &mut Sums) {
        let (work, tidied) = self.tidy(step_s);
        if !tidied {
            self.power.rest(step_s);
        }
        let rest_w = self.power.power_w();
        let power_w = self.pass(step_s, &work, rest_w, 1.0, sums);
        self.govern(step_s, power_w);
    }

    /// What firmware does without load, for which it stays awake; whether it did anything.
    fn tidy(&mut self, step_s: f64) -> (Work, bool) {
        let mut work = Work::default();
        self.rested_s += step_s;
        let cache = self.spec.cache.as_ref();
        // blocks of the cache without a valid page have to be won back as well
        let folds = cache.is_some_and(|cache| {
            self.firmware.ftl.can_fold() && self.rested_s + SAME_S >= cache.fold_after_s
        });
        let mb_s = if folds {
            cache.map_or(0.0, |cache| cache.fold_mb_s)
        } else {
            self.spec.collection.idle_mb_s
        };
        // a governor rules what nobody asked for as well
        let permitted = if self.permit.stopped {
            0.0
        } else {
            self.permit.share
        };
        let share = self.held.unwrap_or(permitted);
        let pages = share * mb_s * MB * step_s / PAGE_BYTES as f64;
        let to_tidy = folds || self.firmware.ftl.stale_pages() > 0;
        let until_s = self.t_s + step_s;
        let tidied = to_tidy
            && self
                .firmware
                .tidy(pages, folds, (self.t_s, until_s), &mut work);
        if tidied {
            self.power.wake();
            work.active_s = self.heat.active_s(step_s, share);
        }
        (work, tidied)
    }

    /// A step of a workload or a trace.
    fn serve(&mut self, step_s: f64, sums: &mut Sums) -> bool {
        let Activity::Running(loads) = &mut self.activity else {
            return true;
        };
        let (from_s, until_s) = (self.t_s, self.t_s + step_s);
        let share = self.held.unwrap_or(self.permit.share);
        let mut work = Work::default();
        if serves(self.permit, self.held) {
            run(
                loads,
                &mut self.firmware,
                (&mut self.tallies, &mut self.quiet),
                until_s,
                share,
                &mut work,
            );
        } else {
            loads.iter_mut().for_each(|load| load.wait_until(until_s));
        }
        let mut over_s: Option<f64> = Some(from_s);
        for load in loads.iter_mut() {
            load.settle(until_s, &mut self.tallies);
            let load_over_s = if self.shutdown.is_some() {
                Some(load.last_back_s())
            } else {
                load.over_at()
            };
            over_s = over_s.zip(load_over_s).map(|(one, other)| one.max(other));
        }
        let over_s = over_s.filter(|over_s| *over_s <= until_s + SAME_S);
        let mut length_s = over_s.map_or(step_s, |over_s| (over_s - from_s).clamp(0.0, step_s));
        if let Some(over_s) = over_s {
            // what completes within SAME_S of the end completes
            for load in loads.iter_mut() {
                load.settle(over_s, &mut self.tallies);
            }
        } else if let Some((last_s, next_s)) = self.pause()
            && next_s - last_s > pauses::SHORTEST_S
            && last_s > from_s + SAME_S
            && last_s < until_s
        {
            length_s = last_s - from_s;
        }
        work.active_s = self.heat.active_s(length_s, share);
        let power_w = self.pass(length_s, &work, None, share, sums);
        self.govern(length_s, power_w);
        if let Some(over_s) = over_s {
            self.t_s = over_s.max(from_s);
        }
        over_s.is_some()
    }

    fn govern(&mut self, length_s: f64, power_w: f64) {
        let temp_c = self.heat.governed_c();
        self.permit = self.governor.update(length_s, temp_c, power_w);
        let held_back = self.permit.share < 1.0 || self.permit.stopped;
        let running = matches!(self.activity, Activity::Running(_) | Activity::Live(_));
        if held_back && self.onset_s.is_none() && running && self.held.is_none() {
            self.onset_s = Some(self.t_s - self.began_s);
            self.onset_sensor_c = self.heat.sensor_c(0);
        }
        let stopped =
            self.permit.stopped && self.spec.governor.restart_c.is_none() && self.held.is_none();
        let now = Some((self.t_s, temp_c));
        self.shutdown = self.shutdown.or(now).filter(|_| stopped);
    }

    /// Heat of a stretch of time; the mean power in it.
    fn pass(
        &mut self,
        length_s: f64,
        work: &Work,
        rest_w: Option<f64>,
        share: f64,
        sums: &mut Sums,
    ) -> f64 {
        if length_s <= 0.0 {
            return 0.0;
        }
        let power_w = self.heat.step(length_s, work, rest_w);
        self.totals.add(work);
        self.t_s += length_s;
        sums.energy_j += power_w * length_s;
        sums.permitted_s += share * length_s;
        power_w
    }

    /// Pages that the host wrote, and pages that were moved.
    fn written(&self) -> (u64, u64) {
        let counters = self.firmware.ftl.counters();
        (
            counters.host_pages,
            counters.moved_pages + counters.folded_pages,
        )
    }

    /// State that no real drive reports.
    pub fn truth(&self) -> Vec<(&'static str, f64)> {
        let ledger = self.heat.ledger();
        let (host_pages, moved_pages) = self.written();
        let gb = |pages: f64| pages * PAGE_BYTES as f64 / GB;
        vec![
            ("onset_s", self.onset_s.unwrap_or(f64::NAN)),
            ("onset_sensor_c", self.onset_sensor_c),
            ("controller_c", self.heat.controller_c()),
            ("nand_c", self.heat.nand_c()),
            ("board_c", self.heat.board_c()),
            ("sensor_c", self.heat.sensor_c(0)),
            ("air_c", self.place.air_c),
            ("permitted", self.permit.share),
            ("level", f64::from(self.permit.level)),
            ("stopped", f64::from(u8::from(self.is_stopped()))),
            ("shutdown_s", self.shutdown.map_or(f64::NAN, |at| at.0)),
            ("shutdown_c", self.shutdown.map_or(f64::NAN, |at| at.1)),
            ("served_bytes", self.served_bytes as f64),
            ("filled_gb", gb(f64::from(self.firmware.ftl.valid_pages()))),
            ("spare_gb", gb(f64::from(self.firmware.ftl.free_pages()))),
            ("cached_gb", gb(f64::from(self.firmware.ftl.cached_pages()))),
            ("host_pages", host_pages as f64),
            ("moved_pages", moved_pages as f64),
            ("energy_in_j", ledger.fed_j),
            ("energy_out_j", ledger.out_j),
            ("energy_stored_j", ledger.stored_j),
        ]
    }
}

mod live;
mod pauses;
mod transfer;

pub use transfer::Transfer;

#[cfg(test)]
mod tests;

use live::Live;
pub use live::{Answer, LiveCounts};
