//! I/Os that come from outside, each at its own time, such as a server's clock gives them.
//!
//! Nothing is known of what comes next, so the drive is looked at late: an I/O that is issued at a
//! time says that none came before it, and [`Drive::elapse`] that none comes before a time. What
//! happens up to then is what happens in the replay of a trace with these I/Os.

use super::pauses::SHORTEST_S;
use super::{
    Activity, Drive, DriveError, LOADED_STEP_S, SAME_S, SHORTEST_SAMPLE_S, Sums, even_step_s,
    serves,
};
use crate::heat::Work;
use crate::host::{Request, Tally};
use crate::replay::{Flight, Flights, Op, Streams, TraceIo};
use crate::samples::Samples;
use crate::spec::SpecError;
use crate::workload::MAX_IN_FLIGHT;

/// What becomes of an I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// It is done then.
    Done(f64),
    /// Nothing is served before then: it was not taken, and is to be submitted again.
    Later(f64),
}

/// What came from outside since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// I/Os, of reads, writes and trims.
    pub ios: [u64; 3],
    /// Their bytes.
    pub bytes: [u64; 3],
    /// How often all data was forgotten.
    pub purges: u64,
}

/// A step in which I/Os are issued as they come.
#[derive(Debug, Clone)]
struct Step {
    from_s: f64,
    length_s: f64,
    until_s: f64,
    share: f64,
    work: Work,
}

/// What a step from one moment to the next was.
enum Passed {
    Time,
    Row,
    /// It has not passed: the next I/O is issued in it.
    Nothing,
}

/// I/Os from outside as they are served.
#[derive(Clone)]
pub(super) struct Live {
    flights: Flights,
    streams: Streams,
    came_back_s: f64,
    /// No I/O is issued before this any more.
    from_s: f64,
    submitted: u64,
    served: u64,
    counts: LiveCounts,
    /// Bytes trimmed since the last write.
    trimmed_bytes: u64,
    step: Option<Step>,
    row_began_s: f64,
    sums: Sums,
    rows: Samples,
}

impl Live {
    fn new(now_s: f64, columns: &[String]) -> Live {
        Live {
            flights: Flights::new(MAX_IN_FLIGHT as usize),
            streams: Streams::new(),
            came_back_s: now_s,
            from_s: now_s,
            submitted: 0,
            served: 0,
            counts: LiveCounts::default(),
            trimmed_bytes: 0,
            step: None,
            row_began_s: now_s,
            sums: Sums::default(),
            rows: Samples::new(columns),
        }
    }

    pub(super) fn settle(&mut self, now_s: f64, tallies: &mut [Tally; 2]) {
        while let Some(flight) = self.flights.back(now_s) {
            self.served += 1;
            self.came_back_s = flight.done_s;
            flight.count(tallies);
        }
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        (self.submitted, self.served)
    }

    fn last_back_s(&self) -> f64 {
        self.flights.last_done_s().unwrap_or(self.came_back_s)
    }

    fn request(&mut self, io: &TraceIo) -> Request {
        let bytes = u64::from(io.bytes);
        let read = io.op == Op::Read;
        let (stream, sequential) = if read {
            self.streams.of(io.offset, io.offset + bytes)
        } else {
            (0, false)
        };
        Request {
            at_s: io.at_s,
            read,
            offset: io.offset,
            bytes,
            sequential,
            stream,
        }
    }

    fn take(&mut self, io: &TraceIo, done_s: f64) {
        self.submitted += 1;
        let way = match io.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
        };
        self.counts.ios[way] += 1;
        self.counts.bytes[way] += u64::from(io.bytes);
        self.flights.push(Flight {
            done_s,
            issued_s: io.at_s,
            bytes: io.bytes,
            op: io.op,
        });
    }
}

const NOT_LIVE: DriveError = DriveError::State("no I/Os come from outside: `begin_live` first");

impl Drive {
    /// Take I/Os from outside from now on; whatever ran before is dropped. Rows are of `sample_s`.
    pub fn begin_live(&mut self, sample_s: f64) -> Result<(), DriveError> {
        if !(sample_s.is_finite() && sample_s >= SHORTEST_SAMPLE_S) {
            let expected = format!("it has to be {SHORTEST_SAMPLE_S} or more");
            return Err(DriveError::Time(SpecError::new(
                "sample_s", sample_s, expected,
            )));
        }
        self.end()?;
        self.grid.align(self.t_s, sample_s);
        let live = Live::new(self.t_s, &self.names);
        self.start(Activity::Live(Box::new(live)));
        Ok(())
    }

    fn live(&mut self) -> Result<&mut Live, DriveError> {
        match &mut self.activity {
            Activity::Live(live) => Ok(live),
            _ => Err(NOT_LIVE),
        }
    }

    /// Serve an I/O that is issued at `io.at_s`, and say when it is done; `io.depth` says nothing.
    ///
    /// I/Os come in the order of their times, and none before a time that has elapsed. A trim that
    /// leaves nothing mapped, once as much as the drive holds was trimmed since anything was
    /// written, is a purge, and takes its time. A drive that has shut down for good serves nothing.
    pub fn submit(&mut self, io: &TraceIo) -> Result<Answer, DriveError> {
        self.check(io)?;
        self.live()?.from_s = io.at_s;
        loop {
            if self.is_stopped() {
                return Err(DriveError::State("the drive has shut down for good"));
            }
            if let Passed::Nothing = self.go_on(io.at_s) {
                return self.issue(io);
            }
        }
    }

    /// No I/O comes before `until_s`: the rows that are complete by then, but for the last moments.
    pub fn elapse(&mut self, until_s: f64) -> Result<Samples, DriveError> {
        if !until_s.is_finite() {
            let expected = "it has to be a time";
            return Err(DriveError::Time(SpecError::new(
                "until_s", until_s, expected,
            )));
        }
        let live = self.live()?;
        live.from_s = live.from_s.max(until_s);
        // whether a row ends in a pause is known once the pause is too long to be none
        while self.grid.next_s(1.0) + SHORTEST_S + 2.0 * SAME_S <= until_s {
            self.go_on(until_s);
        }
        let names = self.names.clone();
        let rows = &mut self.live()?.rows;
        Ok(std::mem::replace(rows, Samples::new(&names)))
    }

    /// When all that was written so far is in flash.
    pub fn flushed_s(&self) -> f64 {
        self.firmware.flushed_s()
    }

    /// What came from outside since [`Drive::begin_live`].
    pub fn live_counts(&self) -> LiveCounts {
        match &self.activity {
            Activity::Live(live) => live.counts,
            _ => LiveCounts::default(),
        }
    }

    /// The temperatures that it reports, by sensor.
    pub fn reported_c(&self) -> impl Iterator<Item = (&str, f64)> {
        let names = self.heat.sensor_names().iter().enumerate();
        names.map(|(index, name)| (name.as_str(), self.heat.reported_c(index)))
    }

    fn check(&mut self, io: &TraceIo) -> Result<(), DriveError> {
        let user_bytes = self.user_bytes();
        let live = self.live()?;
        let wrong = |key: &str, value: f64, expected: String| {
            Err(DriveError::Io(SpecError::new(key, value, expected)))
        };
        if !(io.at_s.is_finite() && io.at_s >= live.from_s) {
            let expected = format!("{} s has passed already", live.from_s);
            return wrong("at_s", io.at_s, expected);
        }
        if io.bytes == 0 {
            return wrong("bytes", 0.0, "it has to be more than 0".to_owned());
        }
        let end = io.offset.checked_add(u64::from(io.bytes));
        if end.is_none_or(|end| end > user_bytes) {
            let expected = format!(
                "its {} bytes have to lie within the drive's {user_bytes}",
                io.bytes
            );
            return wrong("offset", io.offset as f64, expected);
        }
        if live.submitted - live.served >= MAX_IN_FLIGHT {
            let expected = format!("at most {MAX_IN_FLIGHT} I/Os are in flight");
            return wrong("in flight", MAX_IN_FLIGHT as f64, expected);
        }
        Ok(())
    }

    /// Let the next step pass where it ends before `next_s`, before which no I/O is issued.
    fn go_on(&mut self, next_s: f64) -> Passed {
        let end_s = self.grid.next_s(1.0);
        let share = self.held.unwrap_or(self.permit.share);
        let Activity::Live(live) = &mut self.activity else {
            return Passed::Nothing;
        };
        if live.step.is_none() {
            if end_s - self.t_s <= SAME_S {
                self.end_row(end_s);
                return Passed::Row;
            }
            let quiet = live.last_back_s() <= self.t_s + SAME_S;
            if quiet && (self.resting || next_s - self.t_s > SHORTEST_S) {
                let mut sums = std::mem::take(&mut live.sums);
                self.rest_between(next_s, end_s, &mut sums);
                self.put_back(sums);
                return Passed::Time;
            }
            let length_s = even_step_s(end_s - self.t_s, LOADED_STEP_S);
            live.step = Some(Step {
                from_s: self.t_s,
                length_s,
                until_s: self.t_s + length_s,
                share,
                work: Work::default(),
            });
        }
        if live.step.as_ref().is_some_and(|step| next_s < step.until_s) {
            return Passed::Nothing;
        }
        if let Some(step) = live.step.take() {
            self.close(step, next_s);
        }
        Passed::Time
    }

    fn close(&mut self, mut step: Step, next_s: f64) {
        let Activity::Live(live) = &mut self.activity else {
            return;
        };
        live.settle(step.until_s, &mut self.tallies);
        let last_s = live.last_back_s();
        let mut length_s = step.length_s;
        let pauses = next_s - last_s > SHORTEST_S;
        if pauses && last_s > step.from_s + SAME_S && last_s < step.until_s {
            length_s = last_s - step.from_s;
        }
        step.work.active_s = self.heat.active_s(length_s, step.share);
        let mut sums = std::mem::take(&mut live.sums);
        let power_w = self.pass(length_s, &step.work, None, step.share, &mut sums);
        self.govern(length_s, power_w);
        self.put_back(sums);
    }

    fn put_back(&mut self, sums: Sums) {
        if let Activity::Live(live) = &mut self.activity {
            live.sums = sums;
        }
    }

    fn end_row(&mut self, end_s: f64) {
        self.t_s = end_s;
        let Activity::Live(live) = &mut self.activity else {
            return;
        };
        let sums = std::mem::take(&mut live.sums);
        let began_s = std::mem::replace(&mut live.row_began_s, end_s);
        let row = self.row(&sums, end_s - began_s, (true, true));
        if let Activity::Live(live) = &mut self.activity {
            live.rows.push(&row);
        }
        self.sum_up();
        self.grid.count += 1.0;
    }

    /// Issue an I/O in the step that has started.
    fn issue(&mut self, io: &TraceIo) -> Result<Answer, DriveError> {
        let serves = serves(self.permit, self.held);
        let user_bytes = self.spec.capacity.user_bytes;
        let Activity::Live(live) = &mut self.activity else {
            return Err(NOT_LIVE);
        };
        let Some(mut step) = live.step.take() else {
            return Err(NOT_LIVE);
        };
        let mut answer = Answer::Later(step.until_s);
        let mut waits = !serves;
        if serves && io.op == Op::Write && self.firmware.is_blocked() {
            let until_s = step.until_s;
            self.firmware
                .collect_until(io.at_s, until_s, step.share, &mut step.work);
            waits = self.firmware.is_blocked();
            if waits {
                self.quiet.count(io.at_s, until_s);
            }
        }
        if !waits {
            live.settle(io.at_s, &mut self.tallies);
            let request = live.request(io);
            let mut done_s = match io.op {
                Op::Trim => self.firmware.trim(&request, step.share, &mut step.work),
                _ => self.firmware.serve(&request, step.share, &mut step.work),
            };
            match io.op {
                Op::Read => {}
                Op::Write => live.trimmed_bytes = 0,
                Op::Trim => live.trimmed_bytes += request.bytes,
            }
            if live.trimmed_bytes >= user_bytes && self.firmware.ftl.valid_pages() == 0 {
                live.trimmed_bytes = 0;
                live.counts.purges += 1;
                self.firmware.purge();
                self.firmware.wake(done_s, self.spec.capacity.purge_s);
                done_s += self.spec.capacity.purge_s;
            }
            live.take(io, done_s);
            self.quiet.count(io.at_s, done_s);
            answer = Answer::Done(done_s);
        }
        live.step = Some(step);
        Ok(answer)
    }
}
