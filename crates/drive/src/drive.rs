//! The drive as a whole, in virtual time.

use thiserror::Error;

use crate::governor;
use crate::service::{Offer, Service};
use crate::spec::{self, DriveSpec, EnclosureSpec, SpecError};
use crate::thermal::{Network, State, Step};
use crate::workload::Workload;

/// The longest step that power and rates are held constant in.
const STEP_S: f64 = 0.02;
/// How far two times may lie apart and still be the same.
const SAME_S: f64 = 1e-9;
/// Reported temperatures are polled once a second, as tools do.
const POLL_S: f64 = 1.0;
const MB: f64 = 1e6;

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
    /// A stretch of time.
    #[error("{0}")]
    Time(SpecError),
}

/// The columns of [`Samples`], in their order: means over the interval that ends at `t_s`, and
/// at its end the reported temperature and the simulator's own truth.
pub const COLUMNS: [&str; 14] = [
    "t_s",
    "interval_s",
    "read_bw_mb_s",
    "write_bw_mb_s",
    "read_iops",
    "write_iops",
    "read_lat_us",
    "write_lat_us",
    "temp_c.composite",
    "power_w",
    "sim.controller_c",
    "sim.board_c",
    "sim.permitted",
    "sim.spare_gb",
];

/// Values by column, in the order of [`COLUMNS`]; NaN where nothing was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// One series for each column, all of one length.
    pub columns: [Vec<f64>; COLUMNS.len()],
}

impl Samples {
    fn push(&mut self, row: [f64; COLUMNS.len()]) {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// Whether no time has passed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A series by the name of its column.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let index = COLUMNS.iter().position(|column| *column == name)?;
        Some(&self.columns[index])
    }
}

/// A workload that runs.
#[derive(Debug, Clone)]
struct Run {
    began_s: f64,
    end_s: Option<f64>,
    bytes_left: Option<f64>,
    reads: bool,
    writes: bool,
    bs: f64,
}

#[derive(Debug, Clone)]
enum Activity {
    Idle,
    Purging { end_s: f64 },
    Running(Run),
}

/// What a sample sums up.
#[derive(Default)]
struct Sums {
    elapsed_s: f64,
    read_bytes: f64,
    write_bytes: f64,
    read_ios: f64,
    write_ios: f64,
    read_wait: f64,
    write_wait: f64,
    energy_j: f64,
    permitted_s: f64,
}

struct Solved {
    step: Step,
    sensor_keeps: f64,
}

/// A simulated drive in a place, with a clock that starts at 0 and everything at rest.
pub struct Drive {
    spec: DriveSpec,
    place: EnclosureSpec,
    network: Network,
    limit_k: f64,
    service: Service,
    state: State,
    sensor_k: f64,
    t_s: f64,
    activity: Activity,
    next_poll_s: f64,
    onset_s: Option<f64>,
    onset_sensor_c: f64,
    permitted: f64,
    fed_j: f64,
    lost_j: f64,
    stored_at_start_j: f64,
    served_bytes: f64,
    solved: Vec<Solved>,
}

impl Drive {
    /// A purged drive, as warm as its place makes it without load.
    ///
    /// The service model has no chance in it: `seed` is for the engine that will have.
    pub fn new(spec: DriveSpec, place: EnclosureSpec, _seed: u64) -> Result<Drive, DriveError> {
        spec.validate().map_err(DriveError::Drive)?;
        place.validate().map_err(DriveError::Enclosure)?;
        spec::validate_together(&spec, &place).map_err(DriveError::Drive)?;
        let thermal = &spec.thermal;
        let network = Network {
            air_c: place.air_c,
            controller_share: thermal.controller_share,
            controller_k_per_w: thermal.controller_k_per_w,
            controller_j_per_k: thermal.controller_time_constant_s / thermal.controller_k_per_w,
            board_k_per_w: place.board_k_per_w,
            board_j_per_k: place.board_time_constant_s / place.board_k_per_w,
        };
        let state = network.settled(spec.power.idle_w);
        let mut drive = Drive {
            limit_k: spec.governor.limit_c - place.air_c,
            service: Service::new(&spec, &place),
            stored_at_start_j: network.stored_j(&state),
            network,
            state,
            sensor_k: 0.0,
            t_s: 0.0,
            activity: Activity::Idle,
            next_poll_s: 0.0,
            onset_s: None,
            onset_sensor_c: f64::NAN,
            permitted: 1.0,
            fed_j: 0.0,
            lost_j: 0.0,
            served_bytes: 0.0,
            solved: Vec::new(),
            spec,
            place,
        };
        drive.sensor_k = drive.sensed_k();
        Ok(drive)
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

    /// Start a workload; whatever ran before is dropped.
    pub fn begin(&mut self, workload: &Workload) -> Result<(), DriveError> {
        workload
            .validate(self.user_bytes())
            .map_err(DriveError::Workload)?;
        self.service.begin(workload);
        self.onset_s = None;
        self.onset_sensor_c = f64::NAN;
        self.served_bytes = 0.0;
        self.activity = Activity::Running(Run {
            began_s: self.t_s,
            end_s: workload.runtime_s.map(|runtime| self.t_s + runtime),
            bytes_left: workload.io_bytes.map(|bytes| bytes as f64),
            reads: workload.read_share() > 0.0,
            writes: workload.read_share() < 1.0,
            bs: workload.bs as f64,
        });
        Ok(())
    }

    /// Drop whatever runs, so that the drive idles.
    pub fn end(&mut self) {
        self.service.end();
        self.activity = Activity::Idle;
        self.permitted = 1.0;
    }

    /// Forget all data; done once the time that the drive needs for it has passed.
    pub fn purge(&mut self) {
        self.end();
        self.service.purge();
        if self.spec.capacity.purge_s > 0.0 {
            self.activity = Activity::Purging {
                end_s: self.t_s + self.spec.capacity.purge_s,
            };
        }
    }

    /// Let `duration_s` pass, or less where the workload ends before; one row for `sample_s`.
    ///
    /// The last row is shorter where the end falls within it. Without a workload all of the time
    /// passes.
    pub fn advance(&mut self, duration_s: f64, sample_s: f64) -> Result<Samples, DriveError> {
        for (key, value) in [("duration_s", duration_s), ("sample_s", sample_s)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(DriveError::Time(SpecError::new(
                    key,
                    value,
                    "it has to be more than 0",
                )));
            }
        }
        let mut samples = Samples::default();
        let began_s = self.t_s;
        let whole = (duration_s / sample_s + SAME_S).floor();
        let rest_s = duration_s - whole * sample_s;
        let mut count = 0.0;
        while count < whole {
            count += 1.0;
            if self.sample(sample_s, began_s + count * sample_s, &mut samples) {
                return Ok(samples);
            }
        }
        if rest_s > SAME_S {
            self.sample(rest_s, began_s + duration_s, &mut samples);
        }
        Ok(samples)
    }

    /// Let one sample pass; whether that was the end of whatever ran.
    fn sample(&mut self, length_s: f64, end_s: f64, samples: &mut Samples) -> bool {
        let parts = (length_s / STEP_S - SAME_S).ceil().max(1.0);
        let step_s = length_s / parts;
        let busy = !self.is_done();
        let directions = match &self.activity {
            Activity::Running(run) => (run.reads, run.writes),
            _ => (true, true),
        };
        let began_s = self.t_s;
        let mut sums = Sums::default();
        let mut part = 0.0;
        let mut over = false;
        while part < parts && !over {
            part += 1.0;
            over = self.step(step_s, &mut sums);
        }
        if !over {
            self.t_s = end_s;
        }
        sums.elapsed_s = self.t_s - began_s;
        if sums.elapsed_s > 0.0 {
            samples.push(self.row(&sums, directions));
        }
        busy && self.is_done()
    }

    fn row(&mut self, sums: &Sums, (reads, writes): (bool, bool)) -> [f64; COLUMNS.len()] {
        let mean = |sum: f64, wanted: bool| {
            if wanted {
                sum / sums.elapsed_s
            } else {
                f64::NAN
            }
        };
        let wait = |sum: f64, ios: f64| if ios > 0.0 { sum / ios } else { f64::NAN };
        let mut reading = f64::NAN;
        if self.t_s >= self.next_poll_s - SAME_S {
            reading = self.reported_c();
            self.next_poll_s = ((self.t_s + SAME_S) / POLL_S).floor() * POLL_S + POLL_S;
        }
        [
            self.t_s,
            sums.elapsed_s,
            mean(sums.read_bytes, reads) / MB,
            mean(sums.write_bytes, writes) / MB,
            mean(sums.read_ios, reads),
            mean(sums.write_ios, writes),
            wait(sums.read_wait, sums.read_ios),
            wait(sums.write_wait, sums.write_ios),
            reading,
            sums.energy_j / sums.elapsed_s,
            self.controller_c(),
            self.board_c(),
            sums.permitted_s / sums.elapsed_s,
            self.service.spare_bytes() / 1e9,
        ]
    }

    /// Let one step pass; whether that was the end of whatever ran.
    fn step(&mut self, step_s: f64, sums: &mut Sums) -> bool {
        match &self.activity {
            Activity::Idle => {
                let power_w = self.service.idle_power_w();
                self.service.rest(step_s);
                self.pass(step_s, power_w, 1.0, sums);
                false
            }
            Activity::Purging { end_s } => {
                let end_s = *end_s;
                let last = end_s - self.t_s <= step_s + SAME_S;
                let length_s = if last { end_s - self.t_s } else { step_s };
                self.pass(length_s, self.spec.power.idle_w, 1.0, sums);
                if last {
                    self.t_s = end_s;
                    self.end();
                }
                last
            }
            Activity::Running(_) => self.serve(step_s, sums),
        }
    }

    fn serve(&mut self, step_s: f64, sums: &mut Sums) -> bool {
        let (Activity::Running(run), Some(offer)) = (&self.activity, self.service.offer()) else {
            return true;
        };
        let run = run.clone();
        let mut length_s = step_s;
        let mut over = false;
        if let Some(end_s) = run.end_s
            && end_s - self.t_s <= step_s + SAME_S
        {
            over = true;
            if (end_s - self.t_s - step_s).abs() > SAME_S {
                length_s = (end_s - self.t_s).max(0.0);
            }
        }
        let share = self.permit(length_s, &offer, run.began_s);
        let rate_s = share * (offer.read_iops + offer.write_iops) * run.bs;
        let mut bytes = rate_s * length_s;
        let mut by_bytes = false;
        if let Some(left) = run.bytes_left
            && left <= bytes
        {
            length_s = left / rate_s;
            bytes = left;
            over = true;
            by_bytes = true;
        }
        let reads = offer.read_iops / (offer.read_iops + offer.write_iops);
        let (read_bytes, write_bytes) = (bytes * reads, bytes * (1.0 - reads));
        sums.read_bytes += read_bytes;
        sums.write_bytes += write_bytes;
        sums.read_ios += read_bytes / run.bs;
        sums.write_ios += write_bytes / run.bs;
        // a host that paces itself has no queue until the drive is slower than its pace
        let longer = if offer.paced && share >= 1.0 {
            1.0
        } else {
            offer.queued / share
        };
        sums.read_wait += offer.read_alone_us * longer * read_bytes / run.bs;
        sums.write_wait += offer.write_alone_us * longer * write_bytes / run.bs;
        self.served_bytes += bytes;
        self.service.store(write_bytes);
        let idle_w = self.spec.power.idle_w;
        let power_w = idle_w + share * (offer.power_w - idle_w);
        self.pass(length_s, power_w, share, sums);
        if let Activity::Running(run) = &mut self.activity
            && let Some(left) = &mut run.bytes_left
        {
            *left -= bytes;
        }
        if over {
            if let (Some(end_s), false) = (run.end_s, by_bytes) {
                self.t_s = end_s;
            }
            self.end();
        }
        over
    }

    fn permit(&mut self, length_s: f64, offer: &Offer, began_s: f64) -> f64 {
        let index = self.solve(length_s);
        let permit = governor::permit(
            &self.spec.governor,
            self.limit_k,
            &self.solved[index].step,
            &self.state,
            self.spec.power.idle_w,
            offer.power_w,
        );
        if permit.share < 1.0 && self.onset_s.is_none() {
            self.onset_s = Some(self.t_s - began_s + permit.reached_s);
            self.onset_sensor_c = self.place.air_c + self.sensor_k;
        }
        permit.share
    }

    fn pass(&mut self, length_s: f64, power_w: f64, share: f64, sums: &mut Sums) {
        let index = self.solve(length_s);
        let Solved { step, sensor_keeps } = &self.solved[index];
        let passed = step.pass(&self.state, power_w);
        let keeps = *sensor_keeps;
        self.state = passed.state;
        self.sensor_k = self.sensed_k() + keeps * (self.sensor_k - self.sensed_k());
        self.t_s += length_s;
        self.permitted = share;
        let energy_j = power_w * length_s;
        self.fed_j += energy_j;
        self.lost_j += passed.out_j;
        sums.energy_j += energy_j;
        sums.permitted_s += share * length_s;
    }

    /// The solution for a length of step; there are few lengths, and the last one is wanted most.
    fn solve(&mut self, length_s: f64) -> usize {
        let known = self
            .solved
            .iter()
            .position(|solved| solved.step.duration_s == length_s);
        known.unwrap_or_else(|| {
            if self.solved.len() >= 8 {
                self.solved.remove(0);
            }
            let lag_s = self.spec.sensor.lag_s;
            self.solved.push(Solved {
                step: Step::new(&self.network, length_s),
                sensor_keeps: if lag_s > 0.0 {
                    (-length_s / lag_s).exp()
                } else {
                    0.0
                },
            });
            self.solved.len() - 1
        })
    }

    fn sensed_k(&self) -> f64 {
        let share = self.spec.sensor.controller_share;
        let drive = share * self.state.controller_k + (1.0 - share) * self.state.board_k;
        (1.0 - self.place.sensor_air_share) * drive
    }

    /// What the drive reports: whole degrees, as NVMe's composite temperature is whole kelvins.
    fn reported_c(&self) -> f64 {
        (self.place.air_c + self.sensor_k).round()
    }

    fn controller_c(&self) -> f64 {
        self.place.air_c + self.state.controller_k
    }

    fn board_c(&self) -> f64 {
        self.place.air_c + self.state.board_k
    }

    /// State that no real drive tells.
    ///
    /// `onset_s` is when the governor first held the last workload back, counted from its begin,
    /// NaN where it never did, and `onset_sensor_c` what the sensor felt then. Energies count from the drive's making.
    pub fn truth(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("controller_c", self.controller_c()),
            ("board_c", self.board_c()),
            ("air_c", self.place.air_c),
            ("sensor_c", self.place.air_c + self.sensor_k),
            ("permitted", self.permitted),
            ("onset_s", self.onset_s.unwrap_or(f64::NAN)),
            ("onset_sensor_c", self.onset_sensor_c),
            ("served_bytes", self.served_bytes),
            ("spare_gb", self.service.spare_bytes() / 1e9),
            ("filled_gb", self.service.filled_bytes() / 1e9),
            ("energy_in_j", self.fed_j),
            ("energy_out_j", self.lost_j),
            (
                "energy_stored_j",
                self.network.stored_j(&self.state) - self.stored_at_start_j,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, place, random_writes, sequential};
    use crate::workload::Pattern;
    use proptest::prelude::*;

    fn made() -> Drive {
        Drive::new(drive(), place(), 0).unwrap()
    }

    fn truth(drive: &Drive, name: &str) -> f64 {
        drive
            .truth()
            .iter()
            .find(|(key, _)| *key == name)
            .unwrap()
            .1
    }

    fn bytes(samples: &Samples) -> f64 {
        let interval = samples.column("interval_s").unwrap();
        ["read_bw_mb_s", "write_bw_mb_s"]
            .iter()
            .flat_map(|name| samples.column(name).unwrap().iter().zip(interval))
            .filter(|(rate, _)| rate.is_finite())
            .map(|(rate, interval)| rate * 1e6 * interval)
            .sum()
    }

    #[test]
    fn a_long_read_throttles_and_goes_on_falling_as_the_board_warms() {
        let mut drive = made();
        drive
            .begin(&Workload {
                runtime_s: Some(300.0),
                ..sequential(Pattern::Read)
            })
            .unwrap();
        let samples = drive.advance(1e4, 0.1).unwrap();
        assert!(drive.is_done());
        assert_eq!(drive.t_s(), 300.0);
        let onset = truth(&drive, "onset_s");
        assert!(onset > 5.0 && onset < 100.0, "{onset}");
        let rate = samples.column("read_bw_mb_s").unwrap();
        assert!((rate[10] - 2500.0).abs() < 1e-6);
        assert!(rate[1500] > rate[2500] && rate[2500] > rate[2999]);
        let hottest = samples.column("sim.controller_c").unwrap();
        assert!(hottest.iter().all(|c| *c <= 80.0 + 1e-9));
    }

    #[test]
    fn temperatures_are_polled_once_a_second_in_whole_degrees() {
        let mut drive = made();
        let samples = drive.advance(10.0, 0.1).unwrap();
        let read: Vec<f64> = samples
            .column("temp_c.composite")
            .unwrap()
            .iter()
            .copied()
            .filter(|c| !c.is_nan())
            .collect();
        assert!((10..=11).contains(&read.len()), "{}", read.len());
        assert!(read.iter().all(|c| c.fract() == 0.0));
    }

    #[test]
    fn a_paced_host_keeps_its_latency_and_its_pace() {
        let mut drive = made();
        drive
            .begin(&Workload {
                rate: Some(100e6),
                runtime_s: Some(60.0),
                ..sequential(Pattern::Write)
            })
            .unwrap();
        let samples = drive.advance(60.0, 1.0).unwrap();
        assert!((bytes(&samples) - 6e9).abs() < 1.0);
        let alone_us = 23.0 + 126_976.0 / 1500.0;
        assert!((samples.column("write_lat_us").unwrap()[5] - alone_us).abs() < 1e-9);
        assert!(truth(&drive, "onset_s").is_nan());
    }

    #[test]
    fn a_purge_takes_its_time_and_forgets() {
        let mut drive = made();
        drive
            .begin(&Workload {
                io_bytes: Some(1 << 30),
                ..sequential(Pattern::Write)
            })
            .unwrap();
        drive.advance(100.0, 0.1).unwrap();
        assert!(truth(&drive, "filled_gb") > 1.0);
        drive.purge();
        let began = drive.t_s();
        assert!(!drive.is_done());
        drive.advance(100.0, 0.1).unwrap();
        assert!((drive.t_s() - began - 10.0).abs() < 1e-9);
        assert_eq!(truth(&drive, "filled_gb"), 0.0);
    }

    #[test]
    fn every_wrong_number_is_named() {
        let mut spec = drive();
        spec.service.seq_read_mb_s = f64::NAN;
        let error = Drive::new(spec, place(), 0).err().unwrap().to_string();
        assert!(
            error.starts_with("drive: service.seq_read_mb_s is NaN"),
            "{error}"
        );
        let mut spec = drive();
        spec.capacity.user_bytes = 0;
        let error = Drive::new(spec, place(), 0).err().unwrap().to_string();
        assert!(error.contains("capacity.user_bytes is 0"), "{error}");
        let mut spec = drive();
        spec.governor.limit_c = 25.0;
        let error = Drive::new(spec, place(), 0).err().unwrap().to_string();
        assert!(error.contains("governor.limit_c is 25"), "{error}");
        let cold = EnclosureSpec {
            board_k_per_w: -1.0,
            ..place()
        };
        let error = Drive::new(drive(), cold, 0).err().unwrap().to_string();
        assert!(
            error.starts_with("enclosure: board_k_per_w is -1"),
            "{error}"
        );
        let error = made()
            .begin(&Workload {
                bs: 0,
                ..random_writes()
            })
            .err()
            .unwrap()
            .to_string();
        assert!(error.starts_with("workload: bs is 0"), "{error}");
        assert!(made().advance(f64::INFINITY, 0.1).is_err());
        assert!(made().advance(1.0, 0.0).is_err());
    }

    fn workloads() -> impl Strategy<Value = Workload> {
        let pattern = prop::sample::select(vec![
            Pattern::Read,
            Pattern::Write,
            Pattern::RandRead,
            Pattern::RandWrite,
            Pattern::Rw,
            Pattern::RandRw,
        ]);
        (
            (pattern, 0.0..100.0f64, 9..21u32, 1..64u32),
            (1..40_000_000_000u64, 0.01..120.0f64, 1..3u8),
        )
            .prop_map(
                |((rw, mix, shift, iodepth), (io, runtime, kind))| Workload {
                    rwmixread: Some(mix),
                    bs: 1 << shift,
                    iodepth,
                    io_bytes: (kind & 1 > 0).then_some(io),
                    runtime_s: (kind & 2 > 0).then_some(runtime),
                    ..sequential(rw)
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn bytes_balance_and_ends_are_exact(
            workload in workloads(),
            sample_s in prop::sample::select(vec![0.1, 0.25, 1.0, 0.0317]),
            chunk_s in 0.5..40.0f64,
        ) {
            let mut drive = made();
            drive.begin(&workload).unwrap();
            let mut sum = 0.0;
            while !drive.is_done() {
                sum += bytes(&drive.advance(chunk_s, sample_s).unwrap());
            }
            let served = truth(&drive, "served_bytes");
            prop_assert!((sum - served).abs() <= 1e-9 * served);
            let by_time = workload.runtime_s.is_some_and(|end| drive.t_s() == end);
            let by_bytes = workload
                .io_bytes
                .is_some_and(|io| (served - io as f64).abs() <= 1e-9 * io as f64);
            prop_assert!(by_time || by_bytes);
            if let Some(end) = workload.runtime_s {
                prop_assert!(drive.t_s() <= end);
            }
            if let Some(io) = workload.io_bytes {
                prop_assert!(served <= io as f64 * (1.0 + 1e-12));
            }
        }

        #[test]
        fn energy_is_conserved_and_the_limit_is_held(
            list in prop::collection::vec((workloads(), 0.0..60.0f64), 1..4),
            air_c in 20.0..60.0f64,
        ) {
            let hot = EnclosureSpec { air_c, ..place() };
            let mut spec = drive();
            spec.governor.floor = 0.001;
            let mut drive = Drive::new(spec, hot, 0).unwrap();
            for (workload, pause_s) in list {
                drive.begin(&workload).unwrap();
                let samples = drive.advance(100.0, 0.1).unwrap();
                let hottest = samples.column("sim.controller_c").unwrap();
                prop_assert!(hottest.iter().all(|c| *c <= 80.0 + 1e-9));
                drive.end();
                if pause_s > 0.0 {
                    drive.advance(pause_s, 0.1).unwrap();
                }
            }
            let fed = truth(&drive, "energy_in_j");
            let left = truth(&drive, "energy_out_j") + truth(&drive, "energy_stored_j");
            prop_assert!((fed - left).abs() <= 1e-9 * fed.max(1.0));
        }

        #[test]
        fn the_same_drive_does_the_same(workload in workloads()) {
            let run = || {
                let mut drive = made();
                drive.begin(&workload).unwrap();
                let samples = drive.advance(30.0, 0.1).unwrap();
                format!("{samples:?}{:?}", drive.truth())
            };
            prop_assert_eq!(run(), run());
        }

        #[test]
        fn how_time_is_cut_up_changes_nothing(workload in workloads(), cut in 1..299u32) {
            let whole = {
                let mut drive = made();
                drive.begin(&workload).unwrap();
                drive.advance(30.0, 0.1).unwrap();
                drive.truth()
            };
            let mut drive = made();
            drive.begin(&workload).unwrap();
            drive.advance(f64::from(cut) * 0.1, 0.1).unwrap();
            let left = 30.0 - drive.t_s();
            if !drive.is_done() && left > 1e-6 {
                drive.advance(left, 0.1).unwrap();
                for ((name, one), (_, other)) in whole.iter().zip(drive.truth()) {
                    let same = (one - other).abs() <= 1e-6 * one.abs().max(1.0)
                        || (one.is_nan() && other.is_nan());
                    prop_assert!(same, "{}: {} and {}", name, one, other);
                }
            }
        }
    }
}
