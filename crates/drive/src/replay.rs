//! A replaying host: issues what a trace says, at the trace's pace and queue depths.

use std::collections::VecDeque;

use crate::host::{MAX_AHEAD_STREAMS, Request, Tally};
use crate::spec::SpecError;
use crate::workload::MAX_IN_FLIGHT;

/// I/Os that are known ahead, so that the map's lines are there when they are wanted.
const AHEAD: usize = 32;

/// What an I/O of a trace does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// It writes.
    Write,
    /// It reads.
    Read,
    /// It forgets what it covers.
    Trim,
}

/// One I/O of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceIo {
    /// When it was issued, in the trace's time.
    pub at_s: f64,
    /// What it does.
    pub op: Op,
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub bytes: u32,
    /// I/Os in flight as it was issued, itself among them; 0 where the trace does not say.
    pub depth: u32,
}

/// What gives I/Os in the order of their issue.
pub trait Source: Send + Sync {
    /// The next one, none at the end, or why there is no more.
    fn next_io(&mut self) -> Result<Option<TraceIo>, String>;
}

/// How a trace is replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayOptions {
    /// The longest time between the issues of two I/Os; what is longer is cut to it.
    pub idle_limit_s: f64,
    /// I/Os in flight at most.
    pub iodepth: u32,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        ReplayOptions {
            idle_limit_s: 0.025,
            iodepth: 32,
        }
    }
}

impl ReplayOptions {
    /// Check them.
    pub fn validate(&self) -> Result<(), SpecError> {
        // as long as the trace has it is fine
        if self.idle_limit_s.is_nan() || self.idle_limit_s < 0.0 {
            let expected = "it has to be 0 or more";
            return Err(SpecError::new("idle_limit_s", self.idle_limit_s, expected));
        }
        if self.iodepth == 0 || u64::from(self.iodepth) > MAX_IN_FLIGHT {
            let expected = format!("it has to be 1 or more, up to {MAX_IN_FLIGHT}");
            return Err(SpecError::new("iodepth", self.iodepth, expected));
        }
        Ok(())
    }
}

/// An I/O in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) done_s: f64,
    pub(crate) issued_s: f64,
    pub(crate) bytes: u32,
    pub(crate) op: Op,
}

impl Flight {
    /// Count what completed; a trim carries no data.
    #[inline]
    pub(crate) fn count(&self, tallies: &mut [Tally; 2]) {
        if let Some(tally) = tallies.get_mut(self.op as usize) {
            tally.bytes += u64::from(self.bytes);
            tally.latencies.add(self.done_s - self.issued_s);
        }
    }
}

/// The I/Os that are done last, by that time, in flight or already back: as many as may be in
/// flight at once, so that the time from which fewer than any number of them are is at hand.
#[derive(Debug, Clone)]
pub(crate) struct Flights {
    ring: Box<[Flight]>,
    most: usize,
    /// The oldest that is kept, the oldest that is not back, and the end.
    first: usize,
    out: usize,
    end: usize,
}

impl Flights {
    pub(crate) fn new(most: usize) -> Flights {
        let nothing = Flight {
            done_s: 0.0,
            issued_s: 0.0,
            bytes: 0,
            op: Op::Trim,
        };
        Flights {
            ring: vec![nothing; (most + 1).next_power_of_two()].into(),
            most,
            first: 0,
            out: 0,
            end: 0,
        }
    }

    #[inline]
    fn at(&self, place: usize) -> &Flight {
        &self.ring[place & (self.ring.len() - 1)]
    }

    #[inline]
    fn put(&mut self, place: usize, flight: Flight) {
        let mask = self.ring.len() - 1;
        self.ring[place & mask] = flight;
    }

    #[inline]
    pub(crate) fn push(&mut self, flight: Flight) {
        let mut place = self.end;
        self.end += 1;
        while place > self.out {
            let before = *self.at(place - 1);
            if before.done_s <= flight.done_s {
                break;
            }
            self.put(place, before);
            place -= 1;
        }
        self.put(place, flight);
        if self.end - self.first > self.most {
            self.first += 1;
        }
    }

    /// From when on fewer than `limit` of those that were issued are in flight.
    #[inline]
    fn room_s(&self, limit: usize) -> f64 {
        if self.end - self.first < limit {
            return f64::NEG_INFINITY;
        }
        self.at(self.end - limit).done_s
    }

    /// The next one that is back by `now_s`.
    #[inline]
    pub(crate) fn back(&mut self, now_s: f64) -> Option<Flight> {
        if self.out == self.end {
            return None;
        }
        let flight = *self.at(self.out);
        if flight.done_s > now_s {
            return None;
        }
        self.out += 1;
        Some(flight)
    }

    /// How many are back.
    pub(crate) fn served(&self) -> u64 {
        self.out as u64
    }

    /// When the last of all is done, in flight or already back.
    pub(crate) fn last_done_s(&self) -> Option<f64> {
        (self.end > self.first).then(|| self.at(self.end - 1).done_s)
    }
}

/// Where reads may continue in a sequence: the ends of the streams that were read from last.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    ends: [u64; MAX_AHEAD_STREAMS],
    used: [u64; MAX_AHEAD_STREAMS],
    reads: u64,
}

impl Streams {
    pub(crate) fn new() -> Streams {
        Streams {
            ends: [u64::MAX; MAX_AHEAD_STREAMS],
            used: [0; MAX_AHEAD_STREAMS],
            reads: 0,
        }
    }

    /// The stream of a read, and whether it continues where an earlier one ended. One that does not
    /// takes the place of the stream that was not used for longest.
    #[inline]
    pub(crate) fn of(&mut self, offset: u64, end: u64) -> (usize, bool) {
        self.reads += 1;
        let known = self.ends.iter().position(|&at| at == offset);
        let stream = known.unwrap_or_else(|| {
            let places = 0..MAX_AHEAD_STREAMS;
            places.min_by_key(|&place| self.used[place]).unwrap_or(0)
        });
        self.ends[stream] = end;
        self.used[stream] = self.reads;
        (stream, known.is_some())
    }
}

/// A trace as it is replayed.
pub struct Replay {
    /// None once it has ended, or failed.
    source: Option<Box<dyn Source>>,
    failure: Option<String>,
    user_bytes: u64,
    idle_limit_s: f64,
    iodepth: usize,
    upcoming: VecDeque<TraceIo>,
    taken: u64,
    /// When the next I/O is issued; never where there is none.
    next_s: f64,
    /// When the one before it was, here and in the trace.
    issued_s: f64,
    traced_s: f64,
    /// Nothing was served up to then.
    served_from_s: f64,
    began_s: f64,
    flights: Flights,
    streams: Streams,
    submitted: u64,
}

impl Replay {
    /// Start with checked options, on a drive of `user_bytes`.
    pub fn new(
        source: Box<dyn Source>,
        options: &ReplayOptions,
        user_bytes: u64,
        began_s: f64,
    ) -> Replay {
        let iodepth = options.iodepth as usize;
        let mut replay = Replay {
            source: Some(source),
            failure: None,
            user_bytes,
            idle_limit_s: options.idle_limit_s,
            iodepth,
            upcoming: VecDeque::with_capacity(AHEAD),
            taken: 0,
            next_s: f64::INFINITY,
            issued_s: began_s,
            traced_s: 0.0,
            served_from_s: began_s,
            began_s,
            flights: Flights::new(iodepth),
            streams: Streams::new(),
            submitted: 0,
        };
        while replay.upcoming.len() < AHEAD && replay.look_ahead().is_some() {}
        replay.traced_s = replay.upcoming.front().map_or(0.0, |io| io.at_s);
        replay.plan();
        replay
    }

    /// Take one more from the trace.
    #[inline]
    fn look_ahead(&mut self) -> Option<TraceIo> {
        let next = self.source.as_mut()?.next_io();
        let checked = next.and_then(|io| io.map(|io| self.check(io)).transpose());
        match checked {
            Ok(Some(io)) => {
                self.taken += 1;
                self.upcoming.push_back(io);
                Some(io)
            }
            Ok(None) => {
                self.source = None;
                None
            }
            Err(failure) => {
                self.source = None;
                self.failure = Some(failure);
                None
            }
        }
    }

    #[inline]
    fn check(&self, io: TraceIo) -> Result<TraceIo, String> {
        let wrong = |what: String| Err(format!("I/O {} of the trace {what}", self.taken + 1));
        let end = io.offset.checked_add(u64::from(io.bytes));
        if end.is_none_or(|end| end > self.user_bytes) {
            return wrong(format!(
                "is of {} bytes at {}: it has to lie within the drive's {} bytes",
                io.bytes, io.offset, self.user_bytes
            ));
        }
        if io.bytes == 0 {
            return wrong("is of no bytes: it has to have more than 0".to_owned());
        }
        if !io.at_s.is_finite() {
            return wrong(format!("is issued at {} s: it has to be a time", io.at_s));
        }
        Ok(io)
    }

    /// See when the next one is issued: after the trace's time, cut to the limit, and once fewer
    /// are in flight than may be and than were in the trace.
    #[inline]
    fn plan(&mut self) {
        let Some(io) = self.upcoming.front() else {
            self.next_s = f64::INFINITY;
            return;
        };
        let gap_s = (io.at_s - self.traced_s).max(0.0).min(self.idle_limit_s);
        let depth = match io.depth as usize {
            0 => self.iodepth,
            depth => depth.min(self.iodepth),
        };
        let due_s = (self.issued_s + gap_s).max(self.served_from_s);
        self.next_s = due_s.max(self.flights.room_s(depth));
    }

    /// When it issues its next I/O; none where it has issued all.
    #[inline]
    pub fn next_at(&self) -> Option<f64> {
        (self.next_s < f64::INFINITY).then_some(self.next_s)
    }

    /// Whether its next I/O writes.
    #[inline]
    pub fn writes_next(&self) -> bool {
        self.upcoming.front().is_some_and(|io| io.op == Op::Write)
    }

    /// Issue the next I/O at `at_s`, after [`Replay::next_at`]; `soon` gets one to come.
    ///
    /// # Panics
    ///
    /// Where there is none.
    #[inline]
    pub fn issue(
        &mut self,
        at_s: f64,
        tallies: &mut [Tally; 2],
        soon: impl Fn(&TraceIo),
    ) -> (Op, Request) {
        self.settle(at_s, tallies);
        let io = self.upcoming.pop_front().expect("an I/O that was planned");
        if let Some(ahead) = self.look_ahead() {
            soon(&ahead);
        }
        self.submitted += 1;
        (self.issued_s, self.traced_s) = (at_s, io.at_s);
        let bytes = u64::from(io.bytes);
        let read = io.op == Op::Read;
        let (stream, sequential) = if read {
            self.streams.of(io.offset, io.offset + bytes)
        } else {
            (0, false)
        };
        let request = Request {
            at_s,
            read,
            offset: io.offset,
            bytes,
            sequential,
            stream,
        };
        (io.op, request)
    }

    /// Take note of when an I/O will be done.
    #[inline]
    pub fn sent(&mut self, op: Op, request: &Request, done_s: f64) {
        self.flights.push(Flight {
            done_s,
            issued_s: request.at_s,
            bytes: request.bytes as u32,
            op,
        });
        self.plan();
    }

    /// Count everything that is done by `now_s`.
    #[inline]
    pub fn settle(&mut self, now_s: f64, tallies: &mut [Tally; 2]) {
        while let Some(flight) = self.flights.back(now_s) {
            flight.count(tallies);
        }
    }

    /// Issue nothing up to `until_s`: the drive serves nothing.
    pub fn wait_until(&mut self, until_s: f64) {
        self.served_from_s = until_s;
        self.plan();
    }

    /// When it is over, once it has issued all: its last I/O is done.
    pub fn over_at(&self) -> Option<f64> {
        self.next_at().is_none().then(|| self.last_back_s())
    }

    /// When the last of the I/Os that were issued completes, or completed.
    pub fn last_back_s(&self) -> f64 {
        self.flights.last_done_s().unwrap_or(self.began_s)
    }

    /// I/Os issued, and I/Os that completed.
    pub fn counts(&self) -> (u64, u64) {
        (self.submitted, self.flights.served())
    }

    /// Why the trace has no more, once all before that was issued.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref().filter(|_| self.upcoming.is_empty())
    }
}
