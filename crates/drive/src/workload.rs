//! What a host asks of the drive, in fio's words.

use serde::Deserialize;

use crate::spec::SpecError;

/// The most I/Os in flight: NVMe's deepest queue.
pub(crate) const MAX_IN_FLIGHT: u64 = 65_536;

/// fio's access pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes.
    Rw,
    /// Random reads and writes.
    RandRw,
}

/// A closed loop: `iodepth` I/Os in flight for each of `numjobs`, until it ends.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Access pattern.
    pub rw: Pattern,
    /// Percentage of reads of a mixed pattern; 50 where it is not given, as in fio.
    #[serde(default)]
    pub rwmixread: Option<f64>,
    /// Bytes of one I/O.
    pub bs: u64,
    /// I/Os in flight for each job.
    pub iodepth: u32,
    /// Jobs that do the same in parallel.
    #[serde(default = "one")]
    pub numjobs: u32,
    /// Bytes that offsets are drawn from.
    pub span_bytes: u64,
    /// Where the span starts.
    #[serde(default)]
    pub offset_bytes: u64,
    /// Bytes after which it ends.
    #[serde(default)]
    pub io_bytes: Option<u64>,
    /// Seconds after which it ends; with neither, it continues until it is dropped.
    #[serde(default)]
    pub runtime_s: Option<f64>,
    /// Bytes in a second, at most, for each job and direction.
    #[serde(default)]
    pub rate: Option<f64>,
    /// I/Os in a second, at most, for each job and direction.
    #[serde(default)]
    pub rate_iops: Option<f64>,
}

fn one() -> u32 {
    1
}

impl Workload {
    /// Whether offsets are random.
    pub fn is_random(&self) -> bool {
        matches!(
            self.rw,
            Pattern::RandRead | Pattern::RandWrite | Pattern::RandRw
        )
    }

    /// The share of I/Os that are reads.
    pub fn read_share(&self) -> f64 {
        match self.rw {
            Pattern::Read | Pattern::RandRead => 1.0,
            Pattern::Write | Pattern::RandWrite => 0.0,
            Pattern::Rw | Pattern::RandRw => self.rwmixread.unwrap_or(50.0) / 100.0,
        }
    }

    /// I/Os in flight in all jobs together.
    pub fn queue(&self) -> f64 {
        f64::from(self.iodepth) * f64::from(self.numjobs)
    }

    /// The most I/Os in a second that the host asks for in one direction.
    pub fn iops_cap(&self) -> f64 {
        let by_bytes = self
            .rate
            .map_or(f64::INFINITY, |rate| rate / self.bs as f64);
        let by_count = self.rate_iops.unwrap_or(f64::INFINITY);
        by_bytes.min(by_count) * f64::from(self.numjobs)
    }

    /// Check it against a drive of `user_bytes`.
    pub fn validate(&self, user_bytes: u64) -> Result<(), SpecError> {
        let wrong =
            |key: &str, value: String, expected: &str| Err(SpecError::new(key, value, expected));
        if self.bs == 0 {
            return wrong("bs", "0".into(), "an I/O has more than no bytes");
        }
        if self.bs > u64::from(u32::MAX) {
            return wrong("bs", self.bs.to_string(), "an I/O has less than 4 GiB");
        }
        if self.iodepth == 0 {
            return wrong("iodepth", "0".into(), "it has to be 1 or more");
        }
        if self.numjobs == 0 {
            return wrong("numjobs", "0".into(), "it has to be 1 or more");
        }
        if u64::from(self.iodepth) * u64::from(self.numjobs) > MAX_IN_FLIGHT {
            return wrong(
                "iodepth",
                self.iodepth.to_string(),
                &format!(
                    "all {} jobs have at most {MAX_IN_FLIGHT} I/Os in flight",
                    self.numjobs
                ),
            );
        }
        if self.span_bytes < self.bs {
            return wrong(
                "span_bytes",
                self.span_bytes.to_string(),
                "it has to hold one I/O of bs bytes",
            );
        }
        if self
            .offset_bytes
            .checked_add(self.span_bytes)
            .is_none_or(|end| end > user_bytes)
        {
            return wrong(
                "span_bytes",
                self.span_bytes.to_string(),
                &format!(
                    "offset_bytes + span_bytes has to lie within the drive's {user_bytes} bytes"
                ),
            );
        }
        if self.io_bytes == Some(0) {
            return wrong("io_bytes", "0".into(), "it has to be more than 0");
        }
        for (key, value) in [
            ("runtime_s", self.runtime_s),
            ("rate", self.rate),
            ("rate_iops", self.rate_iops),
        ] {
            if let Some(value) = value
                && !(value.is_finite() && value > 0.0)
            {
                return wrong(key, value.to_string(), "it has to be more than 0");
            }
        }
        if let Some(mix) = self.rwmixread
            && !(0.0..=100.0).contains(&mix)
        {
            return wrong(
                "rwmixread",
                mix.to_string(),
                "a percentage lies between 0 and 100",
            );
        }
        Ok(())
    }
}
