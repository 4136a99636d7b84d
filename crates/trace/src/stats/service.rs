//! Service times as the trace states them.

use super::summary::{ByDirection, Service};
use super::{percent, ratio};
use crate::record::{Record, UNKNOWN_NS};

const MS_NS: u64 = 1_000_000;

#[derive(Default, Clone, Copy)]
struct Of {
    ios: u64,
    sum_ns: u64,
    over_10ms: u64,
    over_100ms: u64,
}

/// Service times of reads and of writes.
#[derive(Default)]
pub struct Times([Of; 2]);

impl Times {
    /// Count an I/O; direction 0 reads, 1 writes.
    pub fn count(&mut self, direction: usize, record: &Record) {
        if record.done_ns == UNKNOWN_NS {
            return;
        }
        let took_ns = record.done_ns.saturating_sub(record.at_ns);
        let of = &mut self.0[direction];
        of.ios += 1;
        of.sum_ns = of.sum_ns.saturating_add(took_ns);
        of.over_10ms += u64::from(took_ns > 10 * MS_NS);
        of.over_100ms += u64::from(took_ns > 100 * MS_NS);
    }

    /// The means and shares; none where no I/O states it.
    pub fn summary(&self) -> Option<Service> {
        let [reads, writes] = self.0;
        let all = Of {
            ios: reads.ios + writes.ios,
            sum_ns: reads.sum_ns.saturating_add(writes.sum_ns),
            over_10ms: reads.over_10ms + writes.over_10ms,
            over_100ms: reads.over_100ms + writes.over_100ms,
        };
        let each = |figure: fn(Of) -> Option<f64>| ByDirection {
            all: figure(all),
            reads: figure(reads),
            writes: figure(writes),
        };
        (all.ios > 0).then(|| Service {
            known: all.ios,
            mean_us: each(|of| ratio(of.sum_ns, of.ios).map(|ns| ns / 1e3)),
            over_10ms_pct: each(|of| percent(of.over_10ms, of.ios)),
            over_100ms_pct: each(|of| percent(of.over_100ms, of.ios)),
        })
    }
}
