//! What a trace is like, found in one pass and in memory that does not grow with it.

mod clock;
mod depth;
mod footprint;
mod runs;
mod service;
mod sizes;
mod summary;

#[cfg(test)]
mod tests;

pub use clock::BURST_GAP_NS;
pub use runs::REMEMBERED;
pub use sizes::SIZE_NAMES;
pub use summary::{
    Bursts, ByDirection, Depth, Footprint, Sequential, Service, Sizes, Span, Summary, Time,
};

use crate::record::{Op, Record};

/// What a summary is made from, fed with records in the order of their issue.
pub struct Statistics {
    ios: [u64; 3],
    bytes: [u64; 3],
    first_byte: u64,
    end_byte: u64,
    sizes: sizes::Counts,
    runs: runs::Runs,
    depth: depth::Depths,
    clock: clock::Clock,
    service: service::Times,
    footprint: footprint::Map,
}

impl Statistics {
    /// Nothing counted yet. Idle time longer than the limit is cut to it in `idle_left_s`.
    pub fn new(idle_limit_ns: u64) -> Self {
        Statistics {
            ios: [0; 3],
            bytes: [0; 3],
            first_byte: u64::MAX,
            end_byte: 0,
            sizes: sizes::Counts::default(),
            runs: runs::Runs::default(),
            depth: depth::Depths::default(),
            clock: clock::Clock::new(idle_limit_ns),
            service: service::Times::default(),
            footprint: footprint::Map::default(),
        }
    }

    /// Count the next records.
    pub fn feed(&mut self, records: &[Record]) {
        for record in records {
            self.count(record);
        }
    }

    fn count(&mut self, record: &Record) {
        let direction = match record.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim => 2,
        };
        self.ios[direction] += 1;
        self.bytes[direction] += u64::from(record.bytes);
        self.depth.count(record);
        self.clock.count(record);
        if direction == 2 {
            return;
        }
        let end = record.offset.saturating_add(u64::from(record.bytes));
        self.first_byte = self.first_byte.min(record.offset);
        self.end_byte = self.end_byte.max(end);
        self.sizes.count(direction, record.bytes);
        self.runs.count(direction, record.offset, end);
        self.service.count(direction, record);
        self.footprint.mark(direction, record.offset, end);
    }

    /// Everything that was found.
    pub fn summary(&self) -> Summary {
        let [reads, writes, trims] = self.ios;
        let [read_bytes, write_bytes, trim_bytes] = self.bytes;
        let found = reads + writes > 0;
        let first_byte = if found { self.first_byte } else { 0 };
        Summary {
            ios: reads + writes + trims,
            reads,
            writes,
            trims,
            read_bytes,
            write_bytes,
            trim_bytes,
            read_gb: read_bytes as f64 / 1e9,
            write_gb: write_bytes as f64 / 1e9,
            mean_bytes: ByDirection {
                all: ratio(read_bytes + write_bytes, reads + writes),
                reads: ratio(read_bytes, reads),
                writes: ratio(write_bytes, writes),
            },
            size_pct: self.sizes.shares(),
            depth: self.depth.summary(),
            sequential: self.runs.summary([reads, writes]),
            span: Span {
                first_byte,
                end_byte: self.end_byte,
                bytes: self.end_byte - first_byte,
            },
            footprint: self.footprint.summary(),
            time: self.clock.summary(),
            bursts: self.clock.bursts(),
            service: self.service.summary(),
        }
    }
}

/// A quotient, where there is one.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A share in percent, where there is one.
fn percent(part: u64, whole: u64) -> Option<f64> {
    ratio(part, whole).map(|share| share * 100.0)
}
