//! The host: keeps its queue full, or its pace, and counts what completes.

use std::collections::VecDeque;

use fastrand::Rng;

use crate::in_flight::{Flight, InFlight};
use crate::latency::Latencies;
use crate::nand::later;
use crate::spec::PAGE_BYTES;
use crate::workload::Workload;

/// I/Os whose places are drawn ahead, so that the map's lines are there when they are wanted.
const AHEAD: usize = 64;
/// I/Os that are drawn at once. A line of a large map is mostly on a page of memory that must be
/// looked up first, and the processor does that for several lines at a time where nothing else is
/// between them.
const DRAWN: usize = 16;
/// Room for those that are drawn and not yet issued.
const UPCOMING: usize = (AHEAD + DRAWN).next_power_of_two();
/// Streams of reads that firmware tells apart to read ahead.
pub const MAX_AHEAD_STREAMS: usize = 16;

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// When it was issued.
    pub at_s: f64,
    /// Whether it reads.
    pub read: bool,
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Whether it continues where the one before of its stream ended.
    pub sequential: bool,
    /// Of a read, the stream that it belongs to, below [`MAX_AHEAD_STREAMS`].
    pub stream: usize,
}

/// What completed in one direction since it was last asked.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Bytes.
    pub bytes: u64,
    /// I/Os, and how long each took.
    pub latencies: Latencies,
}

impl Tally {
    /// Begin again.
    pub fn clear(&mut self) {
        self.bytes = 0;
        self.latencies.clear();
    }
}

/// A workload as it runs.
#[derive(Debug, Clone)]
pub struct Host {
    /// When the slot of the next I/O became free, where one is free.
    slot_s: f64,
    /// Whether its I/Os wait for the drive to accept them, and since when each free slot was free.
    held_back: bool,
    slots_s: VecDeque<f64>,
    /// When it stops issuing.
    end_s: f64,
    bs: u64,
    start: u64,
    span: u64,
    blocks: u64,
    random: bool,
    read_share: f64,
    in_flight: InFlight,
    /// The slot of the I/O that is being served.
    slot: u32,
    /// Seconds between two I/Os of a direction (writes, reads), and when the next is due.
    pace_s: f64,
    due_s: [f64; 2],
    /// Next blocks: of each job and direction in a sequence, or drawn ahead.
    cursors: Vec<[u64; 2]>,
    turn: usize,
    upcoming: [u64; UPCOMING],
    /// Whether those to come read.
    upcoming_reads: [bool; UPCOMING],
    next_read: bool,
    rng: Rng,
    /// What is left to issue: of what is permitted, and of what is not yet.
    left_bytes: u64,
    withheld_bytes: u64,
    permitted_bytes: u64,
    /// When the last of those that completed did.
    came_back_s: f64,
    submitted: u64,
    served: u64,
    has_runtime: bool,
}

impl Host {
    /// Start a workload that was checked.
    pub fn new(workload: &Workload, began_s: f64, seed: u64) -> Host {
        let queue = workload.iodepth as usize * workload.numjobs as usize;
        // in a sequence the last block may be a short one
        let blocks = if workload.is_random() {
            workload.span_bytes / workload.bs
        } else {
            workload.span_bytes.div_ceil(workload.bs)
        };
        let mut rng = Rng::with_seed(seed);
        let mut upcoming = [0; UPCOMING];
        if workload.is_random() {
            upcoming[..AHEAD].fill_with(|| rng.u64(0..blocks));
        }
        let mut host = Host {
            slot_s: began_s,
            held_back: false,
            slots_s: VecDeque::new(),
            end_s: workload
                .runtime_s
                .map_or(f64::INFINITY, |runtime| began_s + runtime),
            bs: workload.bs,
            start: workload.offset_bytes,
            span: workload.span_bytes,
            blocks,
            random: workload.is_random(),
            read_share: workload.read_share(),
            in_flight: InFlight::new(queue as u32),
            slot: 0,
            pace_s: 1.0 / workload.iops_cap(),
            due_s: [began_s; 2],
            cursors: vec![[0; 2]; workload.numjobs as usize],
            turn: 0,
            upcoming,
            upcoming_reads: [false; UPCOMING],
            next_read: false,
            rng,
            left_bytes: workload.io_bytes.unwrap_or(u64::MAX),
            withheld_bytes: 0,
            permitted_bytes: workload.io_bytes.unwrap_or(u64::MAX),
            came_back_s: began_s,
            submitted: 0,
            served: 0,
            has_runtime: workload.runtime_s.is_some(),
        };
        host.next_read = host.draw_direction();
        host
    }

    /// Whether it ever reads, and whether it ever writes.
    pub fn directions(&self) -> (bool, bool) {
        (self.read_share > 0.0, self.read_share < 1.0)
    }

    /// Issue nothing but what is permitted from here on; before the first I/O.
    pub fn withhold(&mut self) {
        self.withheld_bytes = std::mem::take(&mut self.left_bytes);
        self.permitted_bytes = 0;
    }

    /// Permit I/Os up to `bytes` in all, in whole blocks, to be issued from `now_s` on.
    pub fn permit(&mut self, bytes: u64, now_s: f64) {
        let more = bytes.saturating_sub(self.permitted_bytes);
        let more = if more >= self.withheld_bytes {
            self.withheld_bytes
        } else {
            more - more % self.bs
        };
        if more == 0 {
            return;
        }
        if self.left_bytes == 0 {
            // nothing waited for the drive in that time
            self.slot_s = self.slot_s.max(now_s);
            for free_s in &mut self.slots_s {
                *free_s = free_s.max(now_s);
            }
        }
        self.permitted_bytes += more;
        self.withheld_bytes -= more;
        self.left_bytes += more;
    }

    /// When it issues its next I/O; none where it has issued all that is permitted.
    #[inline(always)]
    pub fn next_at(&self) -> Option<f64> {
        if self.left_bytes == 0 {
            return None;
        }
        let at_s = later(self.slot_s, self.in_flight.slot_free_s());
        let at_s = later(at_s, self.due_s[usize::from(self.next_read)]);
        (at_s < self.end_s).then_some(at_s)
    }

    /// Whether its next I/O reads.
    pub fn reads_next(&self) -> bool {
        self.next_read
    }

    /// Issue the next I/O at `at_s`, after [`Host::next_at`], a read if [`Host::reads_next`];
    /// `soon` gets offsets to come.
    #[inline(always)]
    pub fn issue(
        &mut self,
        at_s: f64,
        read: bool,
        tallies: &mut [Tally; 2],
        soon: impl Fn(u64),
    ) -> Request {
        if self.in_flight.is_full() && !self.held_back {
            // it gets the slot of the first one; others that are done may wait to be counted
            let first_s = self.in_flight.slot_free_s();
            self.slot = self.count_first(first_s, tallies);
            self.slot_s = at_s;
        } else {
            self.settle(at_s, tallies);
            self.slot = self.in_flight.take_slot();
            if self.held_back {
                self.take_slot(at_s);
            }
        }
        let way = usize::from(read);
        let number = self.submitted as usize;
        if number.is_multiple_of(DRAWN) {
            self.draw(number, soon);
        }
        let (block, sequential) = if self.random {
            (self.upcoming[number % UPCOMING], false)
        } else {
            let jobs = self.cursors.len();
            let cursor = &mut self.cursors[self.turn][way];
            let block = *cursor;
            *cursor = if block + 1 == self.blocks {
                0
            } else {
                block + 1
            };
            if jobs > 1 {
                self.turn = (self.turn + 1) % jobs;
            }
            (block, block > 0 && jobs == 1)
        };
        let bytes = self
            .bs
            .min(self.span - block * self.bs)
            .min(self.left_bytes);
        self.left_bytes -= bytes;
        self.submitted += 1;
        if self.pace_s > 0.0 {
            self.due_s[way] += self.pace_s;
        }
        self.next_read = self.upcoming_reads[(number + 1) % UPCOMING];
        Request {
            at_s,
            read,
            offset: self.start + block * self.bs,
            bytes,
            sequential,
            stream: 0,
        }
    }

    /// Take note of when an I/O will be done.
    #[inline(always)]
    pub fn sent(&mut self, request: &Request, done_s: f64) {
        self.in_flight.put(
            self.slot,
            done_s,
            Flight {
                issued_s: request.at_s,
                bytes: request.bytes as u32,
                read: request.read,
            },
        );
    }

    /// Count everything that is done by `now_s`.
    #[inline(always)]
    pub fn settle(&mut self, now_s: f64, tallies: &mut [Tally; 2]) {
        if !self.held_back {
            self.slot_s = now_s;
        }
        while let Some(done_s) = self.in_flight.first_s()
            && done_s <= now_s
        {
            self.count_first(done_s, tallies);
            self.in_flight.remove_first();
            if self.held_back {
                self.slots_s.push_back(done_s);
                self.slot_s = self.slots_s[0];
            }
        }
    }

    /// Count the first that is done; its slot.
    #[inline(always)]
    fn count_first(&mut self, done_s: f64, tallies: &mut [Tally; 2]) -> u32 {
        let (slot, flight) = self.in_flight.first();
        let tally = &mut tallies[usize::from(flight.read)];
        tally.bytes += u64::from(flight.bytes);
        tally.latencies.add(done_s - flight.issued_s);
        self.served += 1;
        self.came_back_s = done_s;
        slot
    }

    /// Have its I/Os wait, from when they would have been issued: that is part of what they take.
    #[cold]
    pub fn hold_back(&mut self, tallies: &mut [Tally; 2]) {
        if !self.held_back {
            self.settle(self.slot_s, tallies);
            self.held_back = true;
            let free = self.in_flight.free();
            self.slots_s.extend(std::iter::repeat_n(self.slot_s, free));
        }
    }

    /// Use the slot that was free for longest.
    #[cold]
    fn take_slot(&mut self, at_s: f64) {
        self.slots_s.pop_front();
        if self.slots_s.back().is_none_or(|latest_s| *latest_s <= at_s) {
            self.held_back = false;
            self.slots_s.clear();
            self.slot_s = at_s;
        } else {
            self.slot_s = self.slots_s[0];
        }
    }

    /// When it is over, once it has issued all: its last I/O is done, and its time is up.
    pub fn over_at(&self) -> Option<f64> {
        if self.withheld_bytes > 0 || self.next_at().is_some() {
            return None;
        }
        let by_bytes = self.left_bytes == 0;
        let last_s = self.last_back_s();
        if self.has_runtime && !by_bytes {
            return Some(last_s.max(self.end_s));
        }
        Some(last_s)
    }

    /// When the last of the I/Os that were issued completes, or completed.
    pub fn last_back_s(&self) -> f64 {
        self.in_flight.last_s().unwrap_or(self.came_back_s)
    }

    /// I/Os issued, and I/Os that completed.
    pub fn counts(&self) -> (u64, u64) {
        (self.submitted, self.served)
    }

    /// Draw the directions of the next I/Os after one, and the places of those further ahead.
    fn draw(&mut self, from: usize, soon: impl Fn(u64)) {
        for number in from..from + DRAWN {
            if self.random {
                let drawn = self.rng.u64(0..self.blocks);
                self.upcoming[(number + AHEAD) % UPCOMING] = drawn;
                soon(self.start + drawn * self.bs);
            }
            self.upcoming_reads[(number + 1) % UPCOMING] = self.draw_direction();
        }
    }

    fn draw_direction(&mut self) -> bool {
        if self.read_share <= 0.0 {
            false
        } else if self.read_share >= 1.0 {
            true
        } else {
            self.rng.f64() < self.read_share
        }
    }

    /// The pages that a request touches, and whether it covers its first and its last wholly.
    #[inline]
    pub fn pages(request: &Request) -> (u32, u32, bool) {
        let first = request.offset / PAGE_BYTES;
        let end = (request.offset + request.bytes).div_ceil(PAGE_BYTES);
        let whole =
            request.offset.is_multiple_of(PAGE_BYTES) && request.bytes.is_multiple_of(PAGE_BYTES);
        (first as u32, (end - first) as u32, whole)
    }
}
