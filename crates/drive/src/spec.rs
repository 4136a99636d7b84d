//! What a drive and its place are, as read from JSON.
//!
//! The numbers and their sources live in the catalog; here is what each of them means, and what
//! it may be. Unknown keys are errors.

use serde::Deserialize;
use thiserror::Error;

/// A value that no drive, place or workload can have. The message begins with its key.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{key} is {value}: {expected}")]
pub struct SpecError {
    /// The key, with the tables it lies in: `thermal.controller_share`.
    pub key: String,
    /// The value as it was read.
    pub value: String,
    /// What would be right.
    pub expected: String,
}

impl SpecError {
    /// Say that `key` is `value` where it has to be `expected`.
    pub fn new(key: &str, value: impl ToString, expected: impl Into<String>) -> Self {
        SpecError {
            key: key.to_owned(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }
}

fn check(ok: bool, key: &str, value: f64, expected: &str) -> Result<(), SpecError> {
    if ok && value.is_finite() {
        return Ok(());
    }
    Err(SpecError::new(key, value, expected))
}

fn positive(key: &str, value: f64) -> Result<(), SpecError> {
    check(value > 0.0, key, value, "it has to be more than 0")
}

fn not_negative(key: &str, value: f64) -> Result<(), SpecError> {
    check(value >= 0.0, key, value, "it has to be 0 or more")
}

fn share(key: &str, value: f64) -> Result<(), SpecError> {
    check(
        (0.0..=1.0).contains(&value),
        key,
        value,
        "a share lies between 0 and 1",
    )
}

fn temperature(key: &str, value: f64) -> Result<(), SpecError> {
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

/// A drive: what it holds, what it serves, what it draws and how it guards itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// Bytes and spare area.
    pub capacity: Capacity,
    /// Speeds with nothing in the way.
    pub service: ServiceSpec,
    /// Power against load.
    pub power: PowerSpec,
    /// The controller above the board.
    pub thermal: ThermalSpec,
    /// The firmware's throttling.
    pub governor: GovernorSpec,
    /// The temperature that the drive reports.
    pub sensor: SensorSpec,
}

/// Bytes that a drive has and offers, and what it does with the difference.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Bytes that a host can address.
    pub user_bytes: u64,
    /// Bytes of its flash.
    pub raw_bytes: u64,
    /// How long forgetting all data takes.
    pub purge_s: f64,
    /// Stale data that it collects in a second without load.
    pub idle_collection_mb_s: f64,
}

/// What it would serve to a host that asks for more and more.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    /// Sequential reads, 10^6 bytes in a second.
    pub seq_read_mb_s: f64,
    /// Sequential writes, 10^6 bytes in a second.
    pub seq_write_mb_s: f64,
    /// Random reads of 4 KiB in a second.
    pub rand_read_iops: f64,
    /// Random writes of 4 KiB in a second, as long as there is spare area.
    pub rand_write_iops: f64,
    /// Random writes of 4 KiB in a second once a full drive has no spare area left.
    pub steady_write_iops: f64,
    /// A single read of 4 KiB, alone.
    pub read_latency_us: f64,
    /// A single write of 4 KiB, alone.
    pub write_latency_us: f64,
}

/// What it draws: at rest, and with each kind of load at its full speed; linear between.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// Without load.
    pub idle_w: f64,
    /// Sequential reads at full speed.
    pub seq_read_w: f64,
    /// Sequential writes at full speed.
    pub seq_write_w: f64,
    /// Random reads at full speed.
    pub rand_read_w: f64,
    /// Random writes at full speed, as long as there is spare area.
    pub rand_write_w: f64,
    /// Random writes at full speed once a full drive has no spare area left.
    pub steady_write_w: f64,
}

/// The controller, its package, and the way of its heat into the board.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalSpec {
    /// The share of the power that is spent in the controller; the board's NAND takes the rest.
    pub controller_share: f64,
    /// Controller above board.
    pub controller_k_per_w: f64,
    /// With the board held still, how fast the controller follows its power.
    pub controller_time_constant_s: f64,
}

/// How the firmware keeps the controller from harm.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GovernorSpec {
    /// The temperature that the controller is held at.
    pub limit_c: f64,
    /// The least that is permitted, as a share of what a workload would get.
    pub floor: f64,
    /// Whether it acts at all.
    #[serde(default = "yes")]
    pub on: bool,
}

fn yes() -> bool {
    true
}

/// A sensor between the controller and the board's NAND.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensorSpec {
    /// How much of the reading is the controller; the board is the rest.
    pub controller_share: f64,
    /// How slowly it follows.
    pub lag_s: f64,
}

/// The place of a drive: the air around it, and the host that it is plugged into.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnclosureSpec {
    /// The air at the slot.
    pub air_c: f64,
    /// Board above the slot's air.
    pub board_k_per_w: f64,
    /// How fast the board, with whatever the slot couples to it, follows its power.
    pub board_time_constant_s: f64,
    /// How much of the reported temperature is the slot's air instead of the drive.
    #[serde(default)]
    pub sensor_air_share: f64,
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

impl DriveSpec {
    /// Check every number by itself and against its neighbours.
    pub fn validate(&self) -> Result<(), SpecError> {
        let capacity = &self.capacity;
        if capacity.user_bytes == 0 {
            return Err(SpecError::new(
                "capacity.user_bytes",
                0,
                "a drive holds more than nothing",
            ));
        }
        if capacity.raw_bytes <= capacity.user_bytes {
            return Err(SpecError::new(
                "capacity.raw_bytes",
                capacity.raw_bytes,
                format!(
                    "it has to be more than capacity.user_bytes, {}",
                    capacity.user_bytes
                ),
            ));
        }
        not_negative("capacity.purge_s", capacity.purge_s)?;
        not_negative(
            "capacity.idle_collection_mb_s",
            capacity.idle_collection_mb_s,
        )?;
        let service = &self.service;
        positive("service.seq_read_mb_s", service.seq_read_mb_s)?;
        positive("service.seq_write_mb_s", service.seq_write_mb_s)?;
        positive("service.rand_read_iops", service.rand_read_iops)?;
        positive("service.rand_write_iops", service.rand_write_iops)?;
        positive("service.steady_write_iops", service.steady_write_iops)?;
        check(
            service.steady_write_iops <= service.rand_write_iops,
            "service.steady_write_iops",
            service.steady_write_iops,
            "it cannot be more than service.rand_write_iops",
        )?;
        positive("service.read_latency_us", service.read_latency_us)?;
        positive("service.write_latency_us", service.write_latency_us)?;
        let power = &self.power;
        not_negative("power.idle_w", power.idle_w)?;
        for (key, value) in [
            ("power.seq_read_w", power.seq_read_w),
            ("power.seq_write_w", power.seq_write_w),
            ("power.rand_read_w", power.rand_read_w),
            ("power.rand_write_w", power.rand_write_w),
            ("power.steady_write_w", power.steady_write_w),
        ] {
            check(
                value >= power.idle_w,
                key,
                value,
                "it cannot be less than power.idle_w",
            )?;
        }
        let thermal = &self.thermal;
        share("thermal.controller_share", thermal.controller_share)?;
        positive("thermal.controller_share", thermal.controller_share)?;
        positive("thermal.controller_k_per_w", thermal.controller_k_per_w)?;
        positive(
            "thermal.controller_time_constant_s",
            thermal.controller_time_constant_s,
        )?;
        temperature("governor.limit_c", self.governor.limit_c)?;
        share("governor.floor", self.governor.floor)?;
        positive("governor.floor", self.governor.floor)?;
        share("sensor.controller_share", self.sensor.controller_share)?;
        not_negative("sensor.lag_s", self.sensor.lag_s)
    }
}

impl EnclosureSpec {
    /// Check every number by itself.
    pub fn validate(&self) -> Result<(), SpecError> {
        temperature("air_c", self.air_c)?;
        positive("board_k_per_w", self.board_k_per_w)?;
        positive("board_time_constant_s", self.board_time_constant_s)?;
        share("sensor_air_share", self.sensor_air_share)?;
        optional_positive("link_mb_s", self.link_mb_s)?;
        optional_positive("host_read_iops", self.host_read_iops)?;
        optional_positive("host_write_iops", self.host_write_iops)
    }
}

/// Check that a drive can be at rest in a place without throttling.
pub fn validate_together(drive: &DriveSpec, place: &EnclosureSpec) -> Result<(), SpecError> {
    let thermal = &drive.thermal;
    let idle_c = place.air_c
        + drive.power.idle_w
            * (place.board_k_per_w + thermal.controller_share * thermal.controller_k_per_w);
    check(
        drive.governor.limit_c > idle_c,
        "governor.limit_c",
        drive.governor.limit_c,
        &format!(
            "it has to be above the idle drive in air of {} C, which is {idle_c:.1} C",
            place.air_c
        ),
    )
}
