//! What loads the drive: closed loops and traces in parallel, in one order of issue.

use crate::firmware::Firmware;
use crate::heat::Work;
use crate::host::{Host, Tally};
use crate::nand::later;
use crate::replay::{Op, Replay};
use crate::spec::PAGE_BYTES;

/// Pages of an I/O to come whose cells of the map are asked for; memory itself looks on from there.
const ASKED_PAGES: u64 = 256;
/// Cells of one line of the processor's cache.
const LINE_PAGES: usize = 16;

/// A host.
pub enum Load {
    /// A workload.
    Loop(Box<Host>),
    /// A trace.
    Replay(Box<Replay>),
}

impl Load {
    /// Whether it ever reads, and whether it ever writes, as far as is known.
    pub fn directions(&self) -> (bool, bool) {
        match self {
            Load::Loop(host) => host.directions(),
            Load::Replay(_) => (true, true),
        }
    }

    /// When it issues its next I/O; none where it has issued all.
    #[inline]
    pub fn next_at(&self) -> Option<f64> {
        match self {
            Load::Loop(host) => host.next_at(),
            Load::Replay(replay) => replay.next_at(),
        }
    }

    #[inline]
    fn writes_next(&self) -> bool {
        match self {
            Load::Loop(host) => !host.reads_next(),
            Load::Replay(replay) => replay.writes_next(),
        }
    }

    /// Count everything that is done by `now_s`.
    pub fn settle(&mut self, now_s: f64, tallies: &mut [Tally; 2]) {
        match self {
            Load::Loop(host) => host.settle(now_s, tallies),
            Load::Replay(replay) => replay.settle(now_s, tallies),
        }
    }

    /// Have its I/Os wait for firmware. A replay's are issued in their order and in their time
    /// whenever that is looked at.
    fn hold_back(&mut self, tallies: &mut [Tally; 2]) {
        if let Load::Loop(host) = self {
            host.hold_back(tallies);
        }
    }

    /// The drive serves nothing up to `until_s`. A closed loop starts again from there on its own.
    pub fn wait_until(&mut self, until_s: f64) {
        if let Load::Replay(replay) = self {
            replay.wait_until(until_s);
        }
    }

    /// When it is over, once it has issued all.
    pub fn over_at(&self) -> Option<f64> {
        match self {
            Load::Loop(host) => host.over_at(),
            Load::Replay(replay) => replay.over_at(),
        }
    }

    /// When the last of the I/Os that were issued completes, or completed.
    pub fn last_back_s(&self) -> f64 {
        match self {
            Load::Loop(host) => host.last_back_s(),
            Load::Replay(replay) => replay.last_back_s(),
        }
    }

    /// I/Os issued, and I/Os that completed.
    pub fn counts(&self) -> (u64, u64) {
        match self {
            Load::Loop(host) => host.counts(),
            Load::Replay(replay) => replay.counts(),
        }
    }
}

/// For how long nothing was in flight. I/Os are counted in the order of their issue, so that the
/// union of their times is known from the latest end alone.
#[derive(Debug, Clone, Default)]
pub struct Quiet {
    busy_until_s: f64,
    quiet_s: f64,
}

impl Quiet {
    /// Count an I/O.
    #[inline]
    pub fn count(&mut self, at_s: f64, done_s: f64) {
        if at_s > self.busy_until_s {
            self.quiet_s += at_s - self.busy_until_s;
        }
        self.busy_until_s = later(self.busy_until_s, done_s);
    }

    /// Whatever is in flight completes now.
    pub fn cut(&mut self, now_s: f64) {
        self.busy_until_s = self.busy_until_s.min(now_s);
    }

    /// The time up to `now_s` in which nothing was in flight, since it was last asked.
    pub fn take(&mut self, now_s: f64) -> f64 {
        self.count(now_s, now_s);
        std::mem::take(&mut self.quiet_s)
    }
}

/// Serve the I/Os of all in the order they are issued, up to `until_s`.
pub fn run(
    loads: &mut [Load],
    firmware: &mut Firmware,
    (tallies, quiet): (&mut [Tally; 2], &mut Quiet),
    until_s: f64,
    share: f64,
    work: &mut Work,
) {
    while let Some((index, at_s, before_s)) = next(loads, until_s) {
        let load = &mut loads[index];
        if load.writes_next() && firmware.is_blocked() {
            firmware.collect_until(at_s, until_s, share, work);
            if firmware.is_blocked() {
                // firmware has no time for anyone up to then
                loads.iter_mut().for_each(|load| load.hold_back(tallies));
                quiet.count(at_s, until_s);
                return;
            }
        }
        match load {
            // compiled apart, reads alone are 8 % faster
            Load::Loop(host) if host.directions() == (true, false) => {
                serve_loop(
                    host,
                    true,
                    firmware,
                    (tallies, quiet),
                    before_s,
                    share,
                    work,
                );
            }
            Load::Loop(host) => {
                serve_loop(
                    host,
                    false,
                    firmware,
                    (tallies, quiet),
                    before_s,
                    share,
                    work,
                );
            }
            Load::Replay(replay) => {
                let done_s = serve_traced(replay, firmware, tallies, at_s, share, work);
                quiet.count(at_s, done_s);
            }
        }
    }
}

/// The load that issues next, when that is, and the time before which it is the only one; none
/// where nothing is issued up to `until_s`. Of two at the same time the first one is first.
#[inline]
fn next(loads: &[Load], until_s: f64) -> Option<(usize, f64, f64)> {
    let (mut next, mut earliest_s, mut before_s) = (None, until_s, until_s);
    for (index, load) in loads.iter().enumerate() {
        let Some(at_s) = load.next_at() else {
            continue;
        };
        if at_s < earliest_s {
            before_s = earliest_s;
            (next, earliest_s) = (Some(index), at_s);
        } else {
            before_s = before_s.min(at_s.next_up());
        }
    }
    next.map(|index| (index, earliest_s, before_s))
}

/// Serve a closed loop up to `before_s`, or until firmware has to collect before its next write.
#[inline(always)]
fn serve_loop(
    host: &mut Host,
    only_reads: bool,
    firmware: &mut Firmware,
    (tallies, quiet): (&mut [Tally; 2], &mut Quiet),
    before_s: f64,
    share: f64,
    work: &mut Work,
) {
    while let Some(at_s) = host.next_at()
        && at_s < before_s
    {
        let read = only_reads || host.reads_next();
        if !read && firmware.is_blocked() {
            return;
        }
        let request = host.issue(at_s, read, tallies, |offset| {
            firmware.ftl.prefetch((offset / PAGE_BYTES) as u32);
        });
        let done_s = firmware.serve(&request, share, work);
        host.sent(&request, done_s);
        quiet.count(at_s, done_s);
    }
}

/// Separate from closed loops, whose code it would make larger.
#[inline(never)]
fn serve_traced(
    replay: &mut Replay,
    firmware: &mut Firmware,
    tallies: &mut [Tally; 2],
    at_s: f64,
    share: f64,
    work: &mut Work,
) -> f64 {
    let (op, request) = replay.issue(at_s, tallies, |soon| {
        let first = soon.offset / PAGE_BYTES;
        let last = (soon.offset + u64::from(soon.bytes) - 1) / PAGE_BYTES;
        for page in (first..last.min(first + ASKED_PAGES)).step_by(LINE_PAGES) {
            firmware.ftl.prefetch(page as u32);
        }
        firmware.ftl.prefetch(last as u32);
    });
    let done_s = match op {
        Op::Trim => firmware.trim(&request, share, work),
        Op::Read | Op::Write => firmware.serve(&request, share, work),
    };
    replay.sent(op, &request, done_s);
    done_s
}
