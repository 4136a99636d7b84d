//! The summary as it is printed: names as in the tables that reviewers publish.

use serde::Serialize;

/// A figure of all I/Os, and of reads and writes apart; none where there is no such I/O.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByDirection<T> {
    /// Of reads and writes together.
    pub all: T,
    /// Of reads.
    pub reads: T,
    /// Of writes.
    pub writes: T,
}

/// Shares of I/O sizes, in percent, in the order of `SIZE_NAMES`.
pub type Sizes = Vec<(&'static str, Option<f64>)>;

/// Queue depth as each I/O was issued, itself included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Depth {
    /// I/Os whose depth the trace states.
    pub known: u64,
    /// Their mean.
    pub mean: f64,
    /// The greatest.
    pub max: u32,
    /// Shares of depths, in percent.
    #[serde(serialize_with = "as_map")]
    pub pct: Vec<(&'static str, f64)>,
}

/// I/Os that continue where one before them ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sequential {
    /// Shares, in percent.
    pub pct: ByDirection<Option<f64>>,
    /// What counts as sequential.
    pub definition: String,
}

/// The addresses that are used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// The first byte that is read or written.
    pub first_byte: u64,
    /// The byte after the last one.
    pub end_byte: u64,
    /// From one to the other.
    pub bytes: u64,
}

/// How much is touched at all, each byte counted once.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Footprint {
    /// Read or written.
    pub bytes: u64,
    /// Read.
    pub read_bytes: u64,
    /// Written.
    pub write_bytes: u64,
    /// Bytes that are told apart; the figures count any part of so many as the whole.
    pub granularity_bytes: u64,
}

/// How the time goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Time {
    /// From the first issue to the last issue or completion.
    pub duration_s: f64,
    /// At least one I/O in flight; none where completions are not known.
    pub busy_s: Option<f64>,
    /// Nothing in flight, or where completions are not known, time between issues.
    pub idle_s: f64,
    /// How many pauses make it.
    pub pauses: u64,
    /// What pauses are cut to in `idle_left_s`.
    pub idle_limit_s: f64,
    /// How many are longer than the limit.
    pub pauses_cut: u64,
    /// Idle time that is left after the cut.
    pub idle_left_s: f64,
    /// Whether it is stated for every I/O when it completed.
    pub completions_known: bool,
}

/// Stretches of I/O without a pause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bursts {
    /// How many.
    pub count: u64,
    /// I/Os in one, on average.
    pub mean_ios: Option<f64>,
    /// What ends one.
    pub definition: &'static str,
}

/// How long I/Os took, as recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Service {
    /// I/Os whose completion the trace states.
    pub known: u64,
    /// Their means.
    pub mean_us: ByDirection<Option<f64>>,
    /// Shares that took longer than 10 ms, in percent.
    pub over_10ms_pct: ByDirection<Option<f64>>,
    /// Shares that took longer than 100 ms, in percent.
    pub over_100ms_pct: ByDirection<Option<f64>>,
}

/// What a trace is like. Sizes, sequential shares, addresses and service times are those of reads
/// and writes; depth, time and bursts count trims too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// All of them.
    pub ios: u64,
    /// How many read.
    pub reads: u64,
    /// How many write.
    pub writes: u64,
    /// How many trim.
    pub trims: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// Read, in 10^9 bytes.
    pub read_gb: f64,
    /// Written, in 10^9 bytes.
    pub write_gb: f64,
    /// Mean sizes.
    pub mean_bytes: ByDirection<Option<f64>>,
    /// Shares of sizes.
    #[serde(serialize_with = "sizes_as_maps")]
    pub size_pct: ByDirection<Sizes>,
    /// Queue depth; none where the trace does not say.
    pub depth: Option<Depth>,
    /// Sequential shares.
    pub sequential: Sequential,
    /// Addresses.
    pub span: Span,
    /// What is touched.
    pub footprint: Footprint,
    /// Busy and idle.
    pub time: Time,
    /// Bursts.
    pub bursts: Bursts,
    /// Service times; none where the trace does not say.
    pub service: Option<Service>,
}

fn as_map<T: Serialize, S: serde::Serializer>(
    pairs: &[(&'static str, T)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

fn sizes_as_maps<S: serde::Serializer>(
    sizes: &ByDirection<Sizes>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a>(#[serde(serialize_with = "borrowed")] &'a Sizes);
    fn borrowed<S: serde::Serializer>(sizes: &&Sizes, serializer: S) -> Result<S::Ok, S::Error> {
        as_map(sizes, serializer)
    }
    ByDirection {
        all: Named(&sizes.all),
        reads: Named(&sizes.reads),
        writes: Named(&sizes.writes),
    }
    .serialize(serializer)
}
