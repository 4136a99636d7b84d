//! What a drive and its place are, as read from JSON.
//!
//! The numbers and their sources live in the catalog; here is what each of them means, and what
//! it may be. Unknown keys are errors. A page is 4 KiB, MB is 10^6 bytes.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

/// Bytes of the unit that the drive maps, moves and counts its energy by.
pub const PAGE_BYTES: u64 = 4096;

/// The name that links use for the slot's air.
pub const AIR: &str = "air";
/// The node that firmware cores, data paths and leakage heat, and that throttles.
pub const CONTROLLER: &str = "controller";
/// The node that reads, programs and erases heat.
pub const NAND: &str = "nand";
/// The node that the losses of voltage regulators heat.
pub const BOARD: &str = "board";

/// A value that no drive, place or workload can have. The message starts with its key.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{key} is {value}: {expected}")]
pub struct SpecError {
    /// The key, with the tables it is in: `energy.idle_w`.
    pub key: String,
    /// The value as it was read.
    pub value: String,
    /// What would be right.
    pub expected: String,
}

impl SpecError {
    /// Say that `key` is `value` where it must be `expected`.
    pub fn new(key: &str, value: impl ToString, expected: impl Into<String>) -> Self {
        SpecError {
            key: key.to_owned(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }
}

pub(crate) fn check(ok: bool, key: &str, value: f64, expected: &str) -> Result<(), SpecError> {
    if ok && value.is_finite() {
        return Ok(());
    }
    Err(SpecError::new(key, value, expected))
}

pub(crate) fn positive(key: &str, value: f64) -> Result<(), SpecError> {
    check(value > 0.0, key, value, "it has to be more than 0")
}

pub(crate) fn not_negative(key: &str, value: f64) -> Result<(), SpecError> {
    check(value >= 0.0, key, value, "it has to be 0 or more")
}

pub(crate) fn share(key: &str, value: f64) -> Result<(), SpecError> {
    check(
        (0.0..=1.0).contains(&value),
        key,
        value,
        "a share lies between 0 and 1",
    )
}

pub(crate) fn temperature(key: &str, value: f64) -> Result<(), SpecError> {
    check(
        (-100.0..=300.0).contains(&value),
        key,
        value,
        "a temperature lies between -100 and 300 C",
    )
}

fn optional_positive(key: &str, value: Option<f64>) -> Result<(), SpecError> {
    value.map_or(Ok(()), |value| positive(key, value))
}

/// A drive: what it holds, how fast its parts are, what they draw and how it guards itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Bytes and spare area.
    pub capacity: Capacity,
    /// Dies, their timings and their channels.
    pub nand: NandSpec,
    /// Firmware, data paths and write buffer.
    pub controller: ControllerSpec,
    /// How stale flash is won back.
    pub collection: CollectionSpec,
    /// Flash that is written with one bit a cell first.
    #[serde(default)]
    pub cache: Option<CacheSpec>,
    /// What operations and states draw.
    pub energy: EnergySpec,
    /// The drive's own part of the thermal network.
    pub thermal: ThermalSpec,
    /// The firmware's throttling.
    pub governor: GovernorSpec,
    /// Temperatures that the drive reports, by name; the first is the composite temperature.
    pub sensors: BTreeMap<String, SensorSpec>,
    /// States without load, in the order they are entered.
    #[serde(default)]
    pub power_states: Vec<PowerStateSpec>,
    /// States under load, from the one of most power on.
    #[serde(default)]
    pub operational_states: Vec<OperationalStateSpec>,
}

/// Bytes that a drive has and offers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Bytes that a host can address.
    pub user_bytes: u64,
    /// Bytes of its flash.
    pub raw_bytes: u64,
    /// Bytes of its flash that never take data: replacement blocks, tables.
    #[serde(default)]
    pub reserve_bytes: u64,
    /// How long forgetting all data takes.
    pub purge_s: f64,
}

/// The flash. A block here is one erase block of every die together: what is erased at once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NandSpec {
    /// Dies that work in parallel.
    pub dies: u32,
    /// Channels that the dies share.
    pub channels: u32,
    /// What one channel carries.
    pub channel_mb_s: f64,
    /// Bytes that a die programs at once, all its planes together.
    pub unit_bytes: u64,
    /// Bytes of a block, a power of two of pages.
    pub block_bytes: u64,
    /// One read of a die, up to `unit_bytes`.
    pub read_us: f64,
    /// One program of `unit_bytes`.
    pub program_us: f64,
    /// One erase.
    pub erase_us: f64,
}

/// The controller: one server of firmware time, a data path each way, and a buffer for writes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerSpec {
    /// The data path of reads.
    pub read_mb_s: f64,
    /// The data path of writes.
    pub write_mb_s: f64,
    /// Firmware time of a read command.
    pub read_command_us: f64,
    /// Firmware time of a write command.
    pub write_command_us: f64,
    /// Firmware time of a page that collection moves.
    pub move_us: f64,
    /// What a read takes on top of all service.
    pub read_latency_us: f64,
    /// What a write takes on top of all service.
    pub write_latency_us: f64,
    /// Data that was acknowledged and is not yet in flash, at most.
    pub buffer_bytes: u64,
    /// What of the map is at hand; all of it where this is left out.
    #[serde(default)]
    pub map_cache: Option<MapCacheSpec>,
}

/// The map of a drive without DRAM, of which a part is in the host's memory or the controller's.
///
/// An I/O whose piece of the map is not there waits until it was read from flash, which takes
/// `nand.read_us` of a die. In reads over a span of S bytes that is the share
/// `1 - bytes_covered / S`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapCacheSpec {
    /// User data whose pieces of the map fit.
    pub bytes_covered: u64,
    /// User data of one piece: 4 MiB for a page of 4 KiB that holds 4 bytes for each page.
    pub piece_bytes: u64,
}

/// Which block is collected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The one with the least valid pages.
    Greedy,
    /// The one with the best ratio of age and free space to valid pages.
    CostBenefit,
}

/// How host writes wait for collection once free blocks run low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Whole blocks are collected while the host waits.
    None,
    /// Each host page waits for as many moved pages as the block at hand asks for.
    Victim,
    /// Each host page waits for the time of `level_moves` moved pages, whatever the block at hand
    /// asks for, as long as that is enough and not far too much.
    Level,
}

/// How stale flash is won back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionSpec {
    /// Which block is next.
    pub policy: Policy,
    /// How host writes wait for it.
    pub pacing: Pacing,
    /// Moved pages that `level` pacing allows for each page of the host.
    #[serde(default)]
    pub level_moves: f64,
    /// Stale data that is collected in a second without load.
    pub idle_mb_s: f64,
}

/// Where the cells of a cache are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// Blocks that are never used otherwise; part of the reserve.
    Static,
    /// Any free block.
    Dynamic,
}

/// Flash that is written with one bit a cell first, and folded into denser blocks later.
///
/// A purged drive that is written from end to end has up to three rates, in MB/s as bytes per us:
///
/// - into the cache, the least of `controller.write_mb_s` and of what its cells take,
///   `nand.dies * nand.unit_bytes / bits / program_us`, for `bytes`;
/// - past a full dynamic cache, into free blocks, what dense cells take,
///   `nand.dies * nand.unit_bytes / nand.program_us`, for the rest of the flash,
///   `raw_bytes - reserve_bytes - bits * bytes`;
/// - then into what folding wins. A block of the cache holds `1 / bits` of a block's pages, so
///   that `bits - 1` pages of the host follow each folded one: `(bits - 1) * 4096 / fold_us`, at
///   most what the dies take for reading and programming them,
///   `nand.dies * nand.unit_bytes / (p + (p + bits * read_us) / (bits - 1))` where p is
///   `nand.program_us`, for `(bits - 1) * bytes`.
///
/// A dynamic cache takes no more than the free blocks: of a drive that is filled in part, it holds
/// their bytes divided by `bits`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Where its cells are.
    pub kind: CacheKind,
    /// User data that it holds at most.
    pub bytes: u64,
    /// Bits of a cell outside of it.
    pub bits: u32,
    /// One read of a die.
    pub read_us: f64,
    /// One program of `nand.unit_bytes / bits`.
    pub program_us: f64,
    /// Time without load before it is folded.
    pub fold_after_s: f64,
    /// Data folded in a second without load.
    pub fold_mb_s: f64,
    /// Firmware time of a folded page; without it, `controller.move_us`.
    #[serde(default)]
    pub fold_us: Option<f64>,
}

/// Energies of operations on a page, and powers of states.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergySpec {
    /// Awake and without work.
    pub idle_w: f64,
    /// On top, while there is a load: clocks, link and DRAM.
    pub active_w: f64,
    /// The share of that which is drawn whatever is permitted; firmware gates the rest while it
    /// holds commands back.
    #[serde(default = "all")]
    pub ungated_active: f64,
    /// On top, for the share of time that firmware works.
    pub busy_w: f64,
    /// Queue and map of a read command.
    pub read_command_uj: f64,
    /// Queue, map and journal of a write command.
    pub write_command_uj: f64,
    /// The link and data path, a page read by the host.
    pub host_read_uj: f64,
    /// The link and data path, a page written by the host.
    pub host_write_uj: f64,
    /// Reading a page from flash.
    pub read_uj: f64,
    /// Programming a page.
    pub program_uj: f64,
    /// Programming a page of the cache; without one, as any other.
    #[serde(default)]
    pub cache_program_uj: Option<f64>,
    /// Erasing a page's share of a block.
    pub erase_uj: f64,
    /// What a page that collection moves costs besides its read and its program.
    pub move_uj: f64,
    /// The controller's leakage at 25 C.
    pub leakage_w: f64,
    /// The warming that doubles it.
    pub leakage_doubling_k: f64,
    /// The share of all power that is lost in the board's regulators.
    pub board_share: f64,
}

/// A thermal capacity.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Heat that warms it by a kelvin.
    pub j_per_k: f64,
}

/// A way for heat.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Two nodes, or a node and `air`.
    pub between: [String; 2],
    /// Its resistance; to the air, in still air that is 50 K cooler.
    pub k_per_w: f64,
    /// The air's speed that halves it; without one, moving air does nothing to it.
    #[serde(default)]
    pub halved_at_m_s: Option<f64>,
    /// What part of its heat radiates in still air, to the air only; without one, a bare board's.
    #[serde(default)]
    pub radiated: Option<f64>,
}

/// The drive's own part of the network: `controller`, `nand`, `board`, and what it likes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalSpec {
    /// Capacities by name.
    pub nodes: BTreeMap<String, NodeSpec>,
    /// Ways by name.
    pub links: BTreeMap<String, LinkSpec>,
}

/// How the firmware keeps the drive from harm.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GovernorSpec {
    /// The law that it follows.
    pub law: Law,
    /// The temperature that it acts on: shares of nodes, which add up to 1.
    #[serde(default)]
    pub weights: BTreeMap<String, f64>,
    /// Instead of shares: it acts on the hottest of several.
    #[serde(default)]
    pub hottest: Vec<ProbeSpec>,
    /// How slowly that temperature is followed.
    #[serde(default)]
    pub lag_s: f64,
    /// Where it stops serving for good, until it is below `restart_c`.
    #[serde(default)]
    pub shutdown_c: Option<f64>,
    /// Where it serves again.
    #[serde(default)]
    pub restart_c: Option<f64>,
    /// Whether it counts NVMe's thermal transitions, and reports them.
    #[serde(default)]
    pub counters: bool,
    /// Whether it acts at all.
    #[serde(default = "yes")]
    pub on: bool,
}

/// A level of a table.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Entered at this temperature from the level above.
    pub enter_c: f64,
    /// Left for the level above at this one.
    pub leave_c: f64,
    /// What is permitted, as a share of everything.
    #[serde(default)]
    pub share: Option<f64>,
    /// Instead of a share: the operational state whose power the drive stays at or below.
    #[serde(default)]
    pub state: Option<u32>,
}

/// What is permitted at a temperature.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Law {
    /// Falls in a line from everything at `engage_c` to `floor` at `engage_c + band_k`
    /// (Samsung, US 10120593).
    Band {
        /// Where it starts.
        engage_c: f64,
        /// Over how many kelvins.
        band_k: f64,
        /// The least.
        floor: f64,
    },
    /// Levels with hysteresis, as NVMe's light and heavy throttling (TMT1, TMT2).
    Steps {
        /// From the lightest to the heaviest.
        levels: Vec<Level>,
        /// The least time between two changes.
        dwell_s: f64,
    },
    /// Delays from a proportional and a derivative term (Micron's client drives).
    Delay {
        /// Where it starts.
        engage_c: f64,
        /// Where it ends.
        release_c: f64,
        /// The temperature it aims at.
        target_c: f64,
        /// What a kelvin of error takes from the permitted share, each second.
        gain_per_k: f64,
        /// What a kelvin a second of slope takes from it.
        damping_s_per_k: f64,
        /// The least.
        floor: f64,
    },
}

fn yes() -> bool {
    true
}

fn all() -> f64 {
    1.0
}

/// One of several temperatures of which the hottest counts. Where each part has a limit of its own,
/// offsets that bring the limits together make this the least margin to any of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// Shares of nodes, which add up to 1.
    pub weights: BTreeMap<String, f64>,
    /// What it adds.
    #[serde(default)]
    pub offset_c: f64,
}

/// A temperature that the drive reports.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensorSpec {
    /// Shares of nodes, which add up to 1.
    #[serde(default)]
    pub weights: BTreeMap<String, f64>,
    /// Instead of shares: it shows the hottest of several.
    #[serde(default)]
    pub hottest: Vec<ProbeSpec>,
    /// How slowly it follows.
    pub lag_s: f64,
    /// What it adds.
    #[serde(default)]
    pub offset_c: f64,
    /// What it rounds to.
    pub step_c: f64,
}

/// A state without load.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerStateSpec {
    /// NVMe's number of it.
    pub state: u32,
    /// What it draws.
    pub power_w: f64,
    /// Time without load before it is entered.
    pub after_s: f64,
    /// What entering it takes.
    pub entry_us: f64,
    /// What leaving it takes: the first command waits for it.
    pub exit_us: f64,
}

/// A state under load.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationalStateSpec {
    /// NVMe's number of it.
    pub state: u32,
    /// What it draws at most, as a mean.
    pub max_w: f64,
}

/// The place of a drive: the air around it, the ways of its heat, and the host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnclosureSpec {
    /// The air at the slot.
    pub air_c: f64,
    /// How fast it moves.
    #[serde(default)]
    pub air_speed_m_s: f64,
    /// Capacities: new nodes, or more of one of the drive's.
    #[serde(default)]
    pub nodes: BTreeMap<String, NodeSpec>,
    /// Ways, one of them to `air`.
    pub links: BTreeMap<String, LinkSpec>,
    /// Watts that something else puts into a node, such as a heatsink's lights.
    #[serde(default)]
    pub heat_w: BTreeMap<String, f64>,
    /// How much of every reported temperature is the slot's air instead of the drive.
    #[serde(default)]
    pub sensor_air_share: f64,
    /// Whether the host lets no idle drive enter a power state.
    #[serde(default)]
    pub keeps_awake: bool,
    /// What the link carries, each way.
    #[serde(default)]
    pub link_mb_s: Option<f64>,
    /// Random reads that the host brings about in a second.
    #[serde(default)]
    pub host_read_iops: Option<f64>,
    /// Random writes that the host brings about in a second.
    #[serde(default)]
    pub host_write_iops: Option<f64>,
}

fn whole_pages(key: &str, bytes: u64) -> Result<(), SpecError> {
    if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) {
        return Err(SpecError::new(
            key,
            bytes,
            "it has to be a multiple of 4096 and more than 0",
        ));
    }
    Ok(())
}

/// More dies or channels than any drive has, and few enough for their tables.
const MAX_DIES: u32 = 65_536;

fn some_dies(key: &str, value: u32) -> Result<(), SpecError> {
    if !(1..=MAX_DIES).contains(&value) {
        let expected = format!("it has to be 1 or more, up to {MAX_DIES}");
        return Err(SpecError::new(key, value, expected));
    }
    Ok(())
}

impl DriveSpec {
    /// Blocks that can hold data.
    pub fn blocks(&self) -> u64 {
        let usable = self.capacity.raw_bytes - self.capacity.reserve_bytes;
        usable / self.nand.block_bytes
    }

    /// Check every number of flash, controller and energy; [`crate::heat`] and
    /// [`crate::governor`] check theirs.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.validate_capacity()?;
        self.validate_nand()?;
        self.validate_controller()?;
        self.validate_cache()?;
        not_negative("collection.idle_mb_s", self.collection.idle_mb_s)?;
        not_negative("collection.level_moves", self.collection.level_moves)?;
        if self.collection.pacing == Pacing::Level {
            positive("collection.level_moves", self.collection.level_moves)?;
        }
        self.energy.validate()
    }

    fn validate_capacity(&self) -> Result<(), SpecError> {
        let capacity = &self.capacity;
        whole_pages("capacity.user_bytes", capacity.user_bytes)?;
        if capacity.raw_bytes <= capacity.user_bytes.saturating_add(capacity.reserve_bytes) {
            return Err(SpecError::new(
                "capacity.raw_bytes",
                capacity.raw_bytes,
                format!(
                    "it has to be more than capacity.user_bytes and capacity.reserve_bytes \
                     together, {}, or there is no spare area",
                    capacity.user_bytes.saturating_add(capacity.reserve_bytes)
                ),
            ));
        }
        if capacity.raw_bytes / PAGE_BYTES >= u64::from(u32::MAX) {
            return Err(SpecError::new(
                "capacity.raw_bytes",
                capacity.raw_bytes,
                "drives of up to 16 TiB can be simulated",
            ));
        }
        not_negative("capacity.purge_s", capacity.purge_s)
    }

    fn validate_nand(&self) -> Result<(), SpecError> {
        let nand = &self.nand;
        some_dies("nand.dies", nand.dies)?;
        some_dies("nand.channels", nand.channels)?;
        if nand.channels > nand.dies {
            return Err(SpecError::new(
                "nand.channels",
                nand.channels,
                format!("a channel without a die: there are {}", nand.dies),
            ));
        }
        positive("nand.channel_mb_s", nand.channel_mb_s)?;
        whole_pages("nand.unit_bytes", nand.unit_bytes)?;
        whole_pages("nand.block_bytes", nand.block_bytes)?;
        let pages = nand.block_bytes / PAGE_BYTES;
        if !pages.is_power_of_two() || pages < 2 || pages < nand.unit_bytes / PAGE_BYTES {
            return Err(SpecError::new(
                "nand.block_bytes",
                nand.block_bytes,
                "it has to be a power of two of 4 KiB pages from 2 on, and hold nand.unit_bytes",
            ));
        }
        positive("nand.read_us", nand.read_us)?;
        positive("nand.program_us", nand.program_us)?;
        not_negative("nand.erase_us", nand.erase_us)?;
        let spare_blocks =
            self.blocks() as f64 - self.capacity.user_bytes as f64 / nand.block_bytes as f64;
        check(
            spare_blocks >= 4.0,
            "nand.block_bytes",
            nand.block_bytes as f64,
            "it has to leave at least four blocks of spare area",
        )
    }

    fn validate_controller(&self) -> Result<(), SpecError> {
        let controller = &self.controller;
        positive("controller.read_mb_s", controller.read_mb_s)?;
        positive("controller.write_mb_s", controller.write_mb_s)?;
        positive("controller.read_command_us", controller.read_command_us)?;
        positive("controller.write_command_us", controller.write_command_us)?;
        not_negative("controller.move_us", controller.move_us)?;
        not_negative("controller.read_latency_us", controller.read_latency_us)?;
        not_negative("controller.write_latency_us", controller.write_latency_us)?;
        if let Some(map) = &controller.map_cache {
            whole_pages("controller.map_cache.piece_bytes", map.piece_bytes)?;
            if map.bytes_covered < map.piece_bytes {
                return Err(SpecError::new(
                    "controller.map_cache.bytes_covered",
                    map.bytes_covered,
                    format!("it has to be that of a piece or more, {}", map.piece_bytes),
                ));
            }
        }
        whole_pages("controller.buffer_bytes", controller.buffer_bytes)?;
        if controller.buffer_bytes > self.capacity.raw_bytes {
            return Err(SpecError::new(
                "controller.buffer_bytes",
                controller.buffer_bytes,
                format!(
                    "it cannot be more than capacity.raw_bytes, {}",
                    self.capacity.raw_bytes
                ),
            ));
        }
        if controller.buffer_bytes < self.nand.unit_bytes {
            return Err(SpecError::new(
                "controller.buffer_bytes",
                controller.buffer_bytes,
                format!("it has to hold nand.unit_bytes, {}", self.nand.unit_bytes),
            ));
        }
        Ok(())
    }

    fn validate_cache(&self) -> Result<(), SpecError> {
        let Some(cache) = &self.cache else {
            return Ok(());
        };
        whole_pages("cache.bytes", cache.bytes)?;
        if !(2..=5).contains(&cache.bits) {
            return Err(SpecError::new(
                "cache.bits",
                cache.bits,
                "a cell that a cache spares holds 2 to 5 bits",
            ));
        }
        let block_pages = self.nand.block_bytes / PAGE_BYTES;
        if u64::from(cache.bits) > block_pages {
            return Err(SpecError::new(
                "cache.bits",
                cache.bits,
                format!("a block of one bit a cell would hold nothing: it has {block_pages} pages"),
            ));
        }
        let flash = |bytes: u64| bytes.saturating_mul(u64::from(cache.bits));
        let (most, of) = match cache.kind {
            CacheKind::Static => (self.capacity.reserve_bytes, "capacity.reserve_bytes"),
            CacheKind::Dynamic => (self.capacity.raw_bytes, "capacity.raw_bytes"),
        };
        if flash(cache.bytes) > most {
            return Err(SpecError::new(
                "cache.bytes",
                cache.bytes,
                format!("with cache.bits it has to fit {of}, {most}"),
            ));
        }
        positive("cache.read_us", cache.read_us)?;
        positive("cache.program_us", cache.program_us)?;
        not_negative("cache.fold_after_s", cache.fold_after_s)?;
        not_negative("cache.fold_mb_s", cache.fold_mb_s)?;
        cache
            .fold_us
            .map_or(Ok(()), |fold_us| not_negative("cache.fold_us", fold_us))
    }
}

impl EnergySpec {
    pub(crate) fn validate(&self) -> Result<(), SpecError> {
        for (key, value) in [
            ("energy.idle_w", self.idle_w),
            ("energy.active_w", self.active_w),
            ("energy.busy_w", self.busy_w),
            ("energy.read_command_uj", self.read_command_uj),
            ("energy.write_command_uj", self.write_command_uj),
            ("energy.host_read_uj", self.host_read_uj),
            ("energy.host_write_uj", self.host_write_uj),
            ("energy.read_uj", self.read_uj),
            ("energy.program_uj", self.program_uj),
            ("energy.erase_uj", self.erase_uj),
            ("energy.move_uj", self.move_uj),
            ("energy.leakage_w", self.leakage_w),
        ] {
            not_negative(key, value)?;
        }
        not_negative(
            "energy.cache_program_uj",
            self.cache_program_uj.unwrap_or(0.0),
        )?;
        positive("energy.leakage_doubling_k", self.leakage_doubling_k)?;
        share("energy.ungated_active", self.ungated_active)?;
        share("energy.board_share", self.board_share)
    }
}

impl EnclosureSpec {
    /// Check every number but those of the network, which [`crate::heat`] checks.
    pub fn validate(&self) -> Result<(), SpecError> {
        temperature("air_c", self.air_c)?;
        not_negative("air_speed_m_s", self.air_speed_m_s)?;
        share("sensor_air_share", self.sensor_air_share)?;
        optional_positive("link_mb_s", self.link_mb_s)?;
        optional_positive("host_read_iops", self.host_read_iops)?;
        optional_positive("host_write_iops", self.host_write_iops)
    }
}
