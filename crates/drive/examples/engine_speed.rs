//! Prints how fast the simulated drive is: `cargo run --release --example engine_speed -- DRIVE.json ENCLOSURE.json`.

use std::time::Instant;

use heatsoak_drive::{Drive, DriveSpec, EnclosureSpec, Workload};

fn main() {
    let mut paths = std::env::args().skip(1);
    let mut read = || std::fs::read_to_string(paths.next().expect("a path")).expect("a file");
    let spec: DriveSpec = serde_json::from_str(&read()).expect("a drive");
    let place: EnclosureSpec = serde_json::from_str(&read()).expect("an enclosure");
    let mut drive = Drive::new(spec, place, 0).expect("a drive in a place");
    let user = drive.user_bytes();
    let workload = |rw: &str, bs: u64, runtime: &str| -> Workload {
        serde_json::from_str(&format!(
            r#"{{"rw":"{rw}","bs":{bs},"iodepth":32,"span_bytes":{user}{runtime}}}"#
        ))
        .expect("a workload")
    };
    for (name, load) in [
        (
            "fill",
            workload("write", 131_072, &format!(",\"io_bytes\":{user}")),
        ),
        (
            "sequential read",
            workload("read", 131_072, ",\"runtime_s\":300"),
        ),
        (
            "sequential write",
            workload("write", 131_072, ",\"runtime_s\":300"),
        ),
        (
            "random read",
            workload("randread", 4096, ",\"runtime_s\":300"),
        ),
        (
            "random write",
            workload("randwrite", 4096, ",\"runtime_s\":3600"),
        ),
    ] {
        let began = Instant::now();
        drive.begin(&[load]).expect("a workload that fits");
        let (mut ios, mut mb, mut last, mut moved) = (0.0, 0.0, 0.0, 0.0);
        let before = drive.t_s();
        while !drive.is_done() {
            let samples = drive.advance(60.0, 1.0).expect("time to pass");
            if std::env::var_os("V").is_some() {
                eprintln!(
                    "{} {:?} {:?}",
                    drive.t_s(),
                    samples.column("read_bw_mb_s").unwrap().last(),
                    samples.column("interval_s").unwrap().last()
                );
            }
            let sum = |name: &str| -> f64 {
                let values = samples.column(name).unwrap();
                let lengths = samples.column("interval_s").unwrap();
                values
                    .iter()
                    .zip(lengths)
                    .map(|(v, h)| if v.is_nan() { 0.0 } else { v * h })
                    .sum()
            };
            ios += sum("read_iops") + sum("write_iops");
            mb += sum("read_bw_mb_s") + sum("write_bw_mb_s");
            last = samples
                .column("write_iops")
                .unwrap()
                .last()
                .copied()
                .unwrap_or(0.0);
            moved = samples
                .column("sim.moved_per_write")
                .unwrap()
                .last()
                .copied()
                .unwrap_or(0.0);
        }
        let took = began.elapsed().as_secs_f64();
        println!(
            "{name:18} {:8.1} s simulated in {took:6.2} s: {:7.2} M I/Os, {:6.2} M I/Os/s, {:8.1} MB/s, last {last:8.1} write IOPS, moved {moved:.3}, {:.1} C {:.2}",
            drive.t_s() - before,
            ios / 1e6,
            ios / 1e6 / took,
            mb / (drive.t_s() - before),
            drive
                .truth()
                .iter()
                .find(|(name, _)| *name == "controller_c")
                .unwrap()
                .1,
            drive
                .truth()
                .iter()
                .find(|(name, _)| *name == "permitted")
                .unwrap()
                .1,
        );
    }
}
