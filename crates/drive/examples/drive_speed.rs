//! How fast the whole simulated drive is on this machine, compared with how fast its memory is.
//!
//! `cargo run --release -p heatsoak-drive --example drive_speed -- DRIVE.json ENCLOSURE.json`
//! fills the drive in a sequence, then runs 300 s of each simple load and an hour of 4 KiB random
//! writes at 50 thousand a second, with latencies, heat and governor, and last the same number of
//! random updates of a table as large as the drive's map. One JSON document is printed. Seconds
//! are those of the processor, which other work on the machine disturbs least.

use std::fs::read_to_string;

use heatsoak_drive::{Drive, DriveSpec, EnclosureSpec, Samples, Workload};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [drive, place] = paths.as_slice() else {
        return Err("name a drive's and an enclosure's JSON file".into());
    };
    let spec: DriveSpec = serde_json::from_str(&read_to_string(drive)?)?;
    let place: EnclosureSpec = serde_json::from_str(&read_to_string(place)?)?;
    let before = resident_bytes();
    let mut drive = Drive::new(spec, place, 0)?;
    let user = drive.user_bytes();
    let mut loads = Vec::new();
    for (name, load) in [
        (
            "fill",
            json!({"rw": "write", "bs": 131_072, "io_bytes": user}),
        ),
        (
            "sequential read",
            json!({"rw": "read", "bs": 131_072, "runtime_s": 300}),
        ),
        (
            "sequential write",
            json!({"rw": "write", "bs": 131_072, "runtime_s": 300}),
        ),
        (
            "random read",
            json!({"rw": "randread", "bs": 4096, "runtime_s": 300}),
        ),
        (
            "an hour of random writes",
            json!({"rw": "randwrite", "bs": 4096, "runtime_s": 3600, "rate_iops": 50_000}),
        ),
    ] {
        loads.push(run(&mut drive, name, load)?);
    }
    let held = before.zip(resident_bytes());
    let gb = user as f64 / 1e9;
    let memory_mb_per_gb = held.map(|(before, after)| (after - before) / 1e6 / gb);
    let updates_m_s = memory_updates_m_s((user / 4096) as usize)?;
    let document = json!({
        "user_gb": gb,
        "loads": loads,
        "memory_mb_per_gb": memory_mb_per_gb,
        "table_updates_m_s": updates_m_s,
    });
    println!("{document:#}");
    Ok(())
}

fn run(drive: &mut Drive, name: &str, load: Value) -> Result<Value, Failure> {
    let mut load = load;
    load["iodepth"] = json!(32);
    load["span_bytes"] = json!(drive.user_bytes());
    let load: Workload = serde_json::from_value(load)?;
    let (began_s, from_s) = (processor_s()?, drive.t_s());
    let moved_before = truth(drive, "moved_pages");
    drive.begin(&[load])?;
    let (mut ios, mut mb) = (0.0, 0.0);
    while !drive.is_done() {
        let samples = drive.advance(60.0, 0.1)?;
        ios += total(&samples, &["read_iops", "write_iops"]);
        mb += total(&samples, &["read_bw_mb_s", "write_bw_mb_s"]);
    }
    let took_s = processor_s()? - began_s;
    let simulated_s = drive.t_s() - from_s;
    Ok(json!({
        "load": name,
        "simulated_s": simulated_s,
        "processor_s": took_s,
        "m_ios": ios / 1e6,
        "m_ios_s": ios / 1e6 / took_s,
        "mb_s": mb / simulated_s,
        "moved_per_write": (truth(drive, "moved_pages") - moved_before) / ios,
        "controller_c": truth(drive, "controller_c"),
    }))
}

fn truth(drive: &Drive, name: &str) -> f64 {
    let found = drive.truth().into_iter().find(|(key, _)| *key == name);
    found.map_or(f64::NAN, |(_, value)| value)
}

fn total(samples: &Samples, names: &[&str]) -> f64 {
    let series = |name: &str| samples.column(name).unwrap_or_default();
    let lengths = series("interval_s");
    names
        .iter()
        .flat_map(|name| series(name).iter().zip(lengths))
        .filter(|(rate, _)| !rate.is_nan())
        .map(|(rate, length_s)| rate * length_s)
        .sum()
}

/// Random updates of a table of as many cells as the map has, asked for ahead, in millions.
fn memory_updates_m_s(cells: usize) -> Result<f64, Failure> {
    const AHEAD: usize = 128;
    const UPDATES: usize = 300_000_000;
    let mut map = memmap2::MmapMut::map_anon(cells * 4)?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    let table: &mut [u32] = bytemuck::cast_slice_mut(&mut map);
    table.fill(1);
    let mut random = fastrand::Rng::with_seed(1);
    let mut next = [0; AHEAD];
    next.fill_with(|| random.usize(0..cells));
    let began_s = processor_s()?;
    for count in 0..UPDATES {
        let slot = &mut next[count % AHEAD];
        table[*slot] = table[*slot].wrapping_add(1);
        *slot = random.u32(0..cells as u32) as usize;
        heatsoak_drive::ftl::prefetch(table, *slot as u32);
    }
    Ok(UPDATES as f64 / 1e6 / (processor_s()? - began_s))
}

/// What this process has used of a processor, in seconds.
fn processor_s() -> Result<f64, Failure> {
    let stat = read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = stat.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

/// What this process holds in memory, where the system says.
fn resident_bytes() -> Option<f64> {
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0)
}
