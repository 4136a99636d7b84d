//! What the plugin is told: one JSON file, written by `heatsoak lab nbd`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use heatsoak_drive::{Drive, DriveSpec, EnclosureSpec};
use serde::Deserialize;

/// A drive in a place, its clock, and where it reports about itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub drive: DriveSpec,
    pub enclosure: EnclosureSpec,
    /// The share of its speed that it is served at.
    pub speed_share: f64,
    /// Seconds of the drive that pass in one of the clock.
    pub time_factor: f64,
    /// Where each sensor's temperature is written, by the sensor's name.
    pub inputs: BTreeMap<String, PathBuf>,
    /// Where the drive's own truth is written, a line for each sample.
    pub truth: Option<PathBuf>,
}

impl Config {
    /// Read the file; the error says what is wrong with it.
    pub fn read(path: &Path) -> Result<Config, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let config: Config =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let factor = config.time_factor;
        if !(factor.is_finite() && factor > 0.0) {
            return Err(format!("time_factor is {factor}: it has to be more than 0"));
        }
        Ok(config)
    }

    /// Make the drive, at its share of its speed.
    pub fn make(&self) -> Result<Drive, String> {
        let drive = self.drive.slowed(self.speed_share);
        let enclosure = self.enclosure.slowed(self.speed_share);
        let (drive, enclosure) = drive
            .and_then(|drive| Ok((drive, enclosure?)))
            .map_err(|error| error.to_string())?;
        // its seed is for workloads of its own, and it has none
        Drive::new(drive, enclosure, 0).map_err(|error| error.to_string())
    }
}
