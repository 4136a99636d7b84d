//! What a trace should be like.

use serde::Deserialize;

/// The deepest queue that a shape may ask for.
pub(super) const MAX_DEPTH: u32 = 4096;

/// Why no trace can have a shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShapeError(pub String);

impl ShapeError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        ShapeError(text.into())
    }
}

/// A share of I/Os, by size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeClass {
    /// Exactly this many bytes.
    #[serde(default)]
    pub bytes: Option<u32>,
    /// Or fewer, in whole sectors of 512 bytes, evenly.
    #[serde(default)]
    pub below: Option<u32>,
    /// The share, 0 to 1.
    pub share: f64,
}

/// A share of I/Os, by queue depth at issue, itself included.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepthClass {
    /// The least depth.
    pub from: u32,
    /// The greatest; none where there is no end.
    #[serde(default)]
    pub to: Option<u32>,
    /// The share, 0 to 1.
    pub share: f64,
}

/// The part of the span that most of the random I/O goes to; it is at its beginning.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hot {
    /// How much of the span it is, 0 to 1.
    pub span_share: f64,
    /// How much of the random reads goes there.
    pub read_share: f64,
    /// How much of the random writes goes there.
    pub write_share: f64,
}

/// Time without I/O.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pauses {
    /// Mean time between the bursts of a task.
    pub think_us: f64,
    /// Bursts of a task, on average.
    pub task_bursts: f64,
    /// Mean time between tasks.
    pub rest_s: f64,
}

/// The drive that completions are recorded of: an I/O completes after its latency, but not before
/// the one ahead of it, and its bytes, have been through the link.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Latency of a read.
    pub read_us: f64,
    /// Latency of a write.
    pub write_us: f64,
    /// What the link carries.
    pub mb_s: f64,
}

/// What a trace should be like, at a scale of 1.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// How many I/Os read.
    pub reads: u64,
    /// How many write.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Shares of sizes; what is missing to 1 has sizes in between, such that the bytes hold.
    pub sizes: Vec<SizeClass>,
    /// Shares of depths.
    pub depths: Vec<DepthClass>,
    /// Mean depth, where it is known.
    #[serde(default)]
    pub mean_depth: Option<f64>,
    /// Share of I/Os that continue where one before them ended.
    pub sequential_share: f64,
    /// Bytes from the first address to the last one.
    pub span_bytes: u64,
    /// Where random I/O goes.
    pub hot: Hot,
    /// Idle time.
    pub pauses: Pauses,
    /// Service times.
    pub reference: Reference,
}

/// How far shares may miss their whole, as published tables do that are rounded.
const ROUNDING: f64 = 0.006;

impl Shape {
    /// Refuse what no trace can be, and make the shares of depths whole.
    pub(super) fn checked(mut self) -> Result<Self, ShapeError> {
        self.check_sizes()?;
        self.check_depths()?;
        let shares = [
            ("sequential_share", self.sequential_share),
            ("hot.span_share", self.hot.span_share),
            ("hot.read_share", self.hot.read_share),
            ("hot.write_share", self.hot.write_share),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(ShapeError(format!("{name}: it has to be 0 to 1")));
            }
        }
        let times = [
            ("pauses.think_us", self.pauses.think_us, 0.0),
            ("pauses.rest_s", self.pauses.rest_s, 0.0),
            ("pauses.task_bursts", self.pauses.task_bursts, 1.0),
            ("reference.read_us", self.reference.read_us, 0.0),
            ("reference.write_us", self.reference.write_us, 0.0),
            ("reference.mb_s", self.reference.mb_s, 1e-3),
        ];
        for (name, value, least) in times {
            if !value.is_finite() || value < least || value > 1e9 {
                return Err(ShapeError(format!("{name}: it has to be {least} to 1e9")));
            }
        }
        let largest = u64::from(
            self.sizes
                .iter()
                .filter_map(|class| class.bytes)
                .max()
                .unwrap_or(0),
        );
        if self.span_bytes < 64 * largest.max(4096) || self.span_bytes > 1 << 60 {
            return Err(ShapeError(format!(
                "span_bytes: it has to be {} or more, 64 times the largest I/O",
                64 * largest.max(4096)
            )));
        }
        Ok(self)
    }

    fn check_sizes(&mut self) -> Result<(), ShapeError> {
        if self.reads + self.writes == 0 || self.reads.max(self.writes) > 1 << 40 {
            return Err(ShapeError::new(
                "reads, writes: together they have to be 1 or more",
            ));
        }
        for class in &self.sizes {
            match (class.bytes, class.below) {
                (Some(512..=67_108_864), None) | (None, Some(1024..=67_108_864)) => {}
                _ => {
                    return Err(ShapeError::new(
                        "sizes: each needs bytes of 512 to 64 MiB, or below of 1024 to 64 MiB",
                    ));
                }
            }
            if class
                .bytes
                .or(class.below)
                .is_some_and(|bytes| bytes % 512 != 0)
            {
                return Err(ShapeError::new(
                    "sizes: each has to be whole sectors of 512 bytes",
                ));
            }
        }
        let shares = self.sizes.iter_mut().map(|class| &mut class.share);
        let whole = whole("sizes", shares, false)?;
        if whole <= 0.0 {
            return Err(ShapeError::new(
                "sizes: one share at least has to be more than 0",
            ));
        }
        Ok(())
    }

    fn check_depths(&mut self) -> Result<(), ShapeError> {
        let mut least = 1;
        for class in &self.depths {
            let to = class.to.unwrap_or(class.from);
            if class.from < least || to < class.from || to > MAX_DEPTH {
                return Err(ShapeError(format!(
                    "depths: they have to rise from 1, each from where the one before ends, to {} \
                     at most",
                    MAX_DEPTH
                )));
            }
            // nothing comes after a class without an end
            least = class.to.map_or(u32::MAX, |to| to + 1);
        }
        let shares = self.depths.iter_mut().map(|class| &mut class.share);
        whole("depths", shares, true).map(|_| ())
    }
}

/// Check shares, and make them whole where only rounding keeps them from it: their sum.
fn whole<'a>(
    name: &str,
    shares: impl Iterator<Item = &'a mut f64>,
    complete: bool,
) -> Result<f64, ShapeError> {
    let mut shares: Vec<&mut f64> = shares.collect();
    if shares
        .iter()
        .any(|share| !(0.0..=1.0 + ROUNDING).contains(&**share))
    {
        return Err(ShapeError(format!("{name}: each share has to be 0 to 1")));
    }
    let sum: f64 = shares.iter().map(|share| **share).sum();
    let off = (sum - 1.0).abs();
    if sum > 1.0 + ROUNDING || (complete && off > ROUNDING) {
        let asked = if complete { "" } else { "at most " };
        return Err(ShapeError(format!(
            "{name}: the shares have to make {asked}1 (make {sum:.4})"
        )));
    }
    if sum > 1.0 || complete {
        for share in &mut shares {
            **share /= sum;
        }
        return Ok(1.0);
    }
    Ok(sum)
}
