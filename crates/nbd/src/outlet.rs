//! Where the drive reports about itself: files that sensors are read from, and its own truth.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use heatsoak_drive::{LiveCounts, Samples};
use serde_json::{Map, Value, json};

use crate::clock::Clock;

const ZERO_K: f64 = 273.15;
/// Columns of the truth, besides those that start with one of [`TOLD_PREFIXES`].
const TOLD: [&str; 7] = [
    "t_s",
    "interval_s",
    "read_bw_mb_s",
    "write_bw_mb_s",
    "read_iops",
    "write_iops",
    "power_w",
];
const TOLD_PREFIXES: [&str; 4] = ["sim.", "temp_c.", "throttle_count.", "throttle_time_s."];

/// What is written while the drive is served.
pub struct Outlet {
    inputs: BTreeMap<String, Input>,
    truth: Option<BufWriter<File>>,
}

struct Input {
    path: PathBuf,
    last_millidegrees: Option<i64>,
}

/// Millidegrees as the kernel writes them: NVMe's whole kelvins less 273150.
fn millidegrees(temp_c: f64) -> i64 {
    (temp_c + ZERO_K).round() as i64 * 1000 - (ZERO_K * 1000.0) as i64
}

impl Outlet {
    pub fn open(
        inputs: &BTreeMap<String, PathBuf>,
        truth: Option<&PathBuf>,
    ) -> Result<Outlet, String> {
        let open = |path: &PathBuf| {
            let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()));
            file.map(BufWriter::new)
        };
        let input = |(name, path): (&String, &PathBuf)| {
            let path = path.clone();
            let last_millidegrees = None;
            (
                name.clone(),
                Input {
                    path,
                    last_millidegrees,
                },
            )
        };
        Ok(Outlet {
            inputs: inputs.iter().map(input).collect(),
            truth: truth.map(open).transpose()?,
        })
    }

    /// Write what sensors report now, each file at once.
    pub fn sensors<'a>(
        &mut self,
        reported_c: impl Iterator<Item = (&'a str, f64)>,
    ) -> io::Result<()> {
        for (name, temp_c) in reported_c {
            let Some(input) = self.inputs.get_mut(name) else {
                continue;
            };
            let milli = millidegrees(temp_c);
            if input.last_millidegrees == Some(milli) {
                continue;
            }
            // a concurrent reader gets the old or the new one, never half of it
            let new = input.path.with_extension("new");
            fs::write(&new, format!("{milli}\n"))?;
            fs::rename(&new, &input.path)?;
            input.last_millidegrees = Some(milli);
        }
        Ok(())
    }

    /// Write a line for each sample.
    pub fn samples(&mut self, samples: &Samples, clock: &Clock) -> io::Result<()> {
        let told = |name: &str| {
            TOLD.contains(&name) || TOLD_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        };
        let columns: Vec<usize> = (0..samples.names.len())
            .filter(|&column| told(&samples.names[column]))
            .collect();
        for row in 0..samples.len() {
            let mut line = Map::new();
            for &column in &columns {
                let (name, value) = (&samples.names[column], samples.columns[column][row]);
                if value.is_finite() {
                    line.insert(name.clone(), json!(value));
                }
                if name == "t_s" {
                    line.insert("unix_s".to_owned(), json!(clock.unix_s(value)));
                }
            }
            self.line(&Value::Object(line))?;
        }
        self.truth.as_mut().map_or(Ok(()), Write::flush)
    }

    /// Say what was served in total.
    pub fn end(&mut self, counts: &LiveCounts, flushes: u64, t_s: f64) -> io::Result<()> {
        let [reads, writes, trims] = counts.ios;
        let [read_bytes, written_bytes, trimmed_bytes] = counts.bytes;
        self.line(&json!({"ended": {
            "t_s": t_s,
            "reads": reads, "writes": writes, "trims": trims, "flushes": flushes,
            "read_bytes": read_bytes, "written_bytes": written_bytes,
            "trimmed_bytes": trimmed_bytes, "purges": counts.purges,
        }}))?;
        self.truth.as_mut().map_or(Ok(()), Write::flush)
    }

    fn line(&mut self, value: &Value) -> io::Result<()> {
        match &mut self.truth {
            Some(file) => writeln!(file, "{value}"),
            None => Ok(()),
        }
    }
}
