//! What is read off the drive while time passes.

/// Columns that every drive has: means over the interval that ends at `t_s`, latencies of the I/Os
/// that completed in it, and the simulator's own truth (`sim.`) at its end.
const COMMON: [&str; 31] = [
    "t_s",
    "interval_s",
    "read_bw_mb_s",
    "write_bw_mb_s",
    "read_iops",
    "write_iops",
    "read_lat_us",
    "write_lat_us",
    "read_lat_p50_us",
    "write_lat_p50_us",
    "read_lat_p99_us",
    "write_lat_p99_us",
    "read_lat_p999_us",
    "write_lat_p999_us",
    "read_lat_max_us",
    "write_lat_max_us",
    "read_over_10ms",
    "write_over_10ms",
    "read_over_100ms",
    "write_over_100ms",
    "queue",
    "busy_pct",
    "power_w",
    "power_state",
    "sim.controller_c",
    "sim.nand_c",
    "sim.board_c",
    "sim.permitted",
    "sim.spare_gb",
    "sim.cached_gb",
    "sim.moved_per_write",
];

/// Counters of drives that keep NVMe's thermal statistics.
const COUNTERS: [&str; 4] = [
    "throttle_count.1",
    "throttle_count.2",
    "throttle_time_s.1",
    "throttle_time_s.2",
];

/// Names of the columns of a drive with these sensors.
pub fn columns(sensors: &[String], counters: bool) -> Vec<String> {
    let mut names: Vec<String> = COMMON.map(str::to_owned).to_vec();
    names.extend(sensors.iter().map(|sensor| format!("temp_c.{sensor}")));
    if counters {
        names.extend(COUNTERS.map(str::to_owned));
    }
    names
}

/// Values by column; NaN where nothing was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// Names of the columns.
    pub names: Vec<String>,
    /// One series for each column, all of one length.
    pub columns: Vec<Vec<f64>>,
}

impl Samples {
    /// No rows yet.
    pub fn new(names: &[String]) -> Samples {
        Samples {
            names: names.to_vec(),
            columns: vec![Vec::new(); names.len()],
        }
    }

    /// Add a row, in the order of the columns.
    pub fn push(&mut self, row: &[f64]) {
        debug_assert_eq!(row.len(), self.columns.len());
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value);
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Whether no time has passed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A series by the name of its column.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let index = self.names.iter().position(|column| column == name)?;
        Some(&self.columns[index])
    }
}
