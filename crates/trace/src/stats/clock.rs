//! Busy and idle time, and the bursts between pauses.

use super::ratio;
use super::summary::{Bursts, Time};
use crate::record::{Record, UNKNOWN_NS};

/// A pause between issues that ends a burst where completions are not known.
pub const BURST_GAP_NS: u64 = 1_000_000;

/// The time of a trace.
pub struct Clock {
    limit_ns: u64,
    first_ns: Option<u64>,
    /// When the last one so far completed, or was issued where that is not stated.
    horizon_ns: u64,
    idle_ns: u64,
    left_ns: u64,
    pauses: u64,
    cut: u64,
    bursts: u64,
    ios: u64,
    untold: bool,
}

impl Clock {
    /// Nothing counted yet.
    pub fn new(limit_ns: u64) -> Self {
        Clock {
            limit_ns,
            first_ns: None,
            horizon_ns: 0,
            idle_ns: 0,
            left_ns: 0,
            pauses: 0,
            cut: 0,
            bursts: 0,
            ios: 0,
            untold: false,
        }
    }

    /// Count an I/O.
    pub fn count(&mut self, record: &Record) {
        self.ios += 1;
        let told = record.done_ns != UNKNOWN_NS;
        self.untold |= !told;
        let done_ns = if told { record.done_ns } else { record.at_ns };
        if self.first_ns.is_none() {
            self.first_ns = Some(record.at_ns);
            self.bursts = 1;
        } else if record.at_ns > self.horizon_ns {
            let pause_ns = record.at_ns - self.horizon_ns;
            self.idle_ns += pause_ns;
            self.left_ns += pause_ns.min(self.limit_ns);
            self.pauses += 1;
            self.cut += u64::from(pause_ns > self.limit_ns);
            self.bursts += u64::from(!self.untold || pause_ns > BURST_GAP_NS);
        }
        self.horizon_ns = self.horizon_ns.max(done_ns).max(record.at_ns);
    }

    /// How the time went.
    pub fn summary(&self) -> Time {
        let duration_ns = self.horizon_ns - self.first_ns.unwrap_or(0);
        Time {
            duration_s: seconds(duration_ns),
            busy_s: (!self.untold).then(|| seconds(duration_ns - self.idle_ns)),
            idle_s: seconds(self.idle_ns),
            pauses: self.pauses,
            idle_limit_s: seconds(self.limit_ns),
            pauses_cut: self.cut,
            idle_left_s: seconds(self.left_ns),
            completions_known: !self.untold,
        }
    }

    /// The bursts.
    pub fn bursts(&self) -> Bursts {
        Bursts {
            count: self.bursts,
            mean_ios: ratio(self.ios, self.bursts),
            definition: if self.untold {
                "ends with more than 1 ms between two issues"
            } else {
                "ends when nothing is in flight"
            },
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
