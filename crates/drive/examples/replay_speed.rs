//! How fast traces of the size of published ones are replayed on this machine.
//!
//! `cargo run --release -p heatsoak-drive --example replay_speed -- DRIVE.json ENCLOSURE.json
//! [SCALE]` replays I/Os of two mixes (reads, writes and bytes of AnandTech's "Light" and
//! "Destroyer"), with random and sequential places, bursts and pauses, on an empty and on a full
//! drive. They are drawn while they are replayed, which the time includes, and is told for itself.
//! One JSON document is printed. Seconds are those of the processor.

use std::fs::read_to_string;

use heatsoak_drive::replay::Op;
use heatsoak_drive::{Drive, DriveSpec, EnclosureSpec, ReplayOptions, Source, TraceIo, Workload};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

/// What a trace is made of.
#[derive(Clone, Copy)]
struct Mix {
    name: &'static str,
    reads: u64,
    writes: u64,
    sequential: f64,
    /// Sizes with their weights, of reads and of writes.
    sizes: [&'static [(u32, u32)]; 2],
}

const LIGHT: Mix = Mix {
    name: "light",
    reads: 372_630,
    writes: 459_709,
    sequential: 0.7,
    sizes: [
        &[(4096, 45), (16_384, 15), (65_536, 15), (131_072, 25)],
        &[(512, 3), (4096, 47), (8192, 10), (65_536, 8), (131_072, 32)],
    ],
};
const DESTROYER: Mix = Mix {
    name: "destroyer",
    reads: 38_830_000,
    writes: 10_980_000,
    sequential: 0.67,
    sizes: [
        &[
            (512, 6),
            (4096, 34),
            (16_384, 6),
            (65_536, 45),
            (131_072, 9),
        ],
        &[
            (4096, 22),
            (16_384, 5),
            (65_536, 28),
            (131_072, 41),
            (262_144, 4),
        ],
    ],
};

/// I/Os of a mix.
struct Drawn {
    mix: Mix,
    left: u64,
    at_s: f64,
    user_bytes: u64,
    random: fastrand::Rng,
    ends: [[u64; 4]; 2],
}

impl Drawn {
    fn new(mix: Mix, scale: f64, user_bytes: u64) -> Drawn {
        Drawn {
            mix,
            left: ((mix.reads + mix.writes) as f64 * scale) as u64,
            at_s: 0.0,
            user_bytes,
            random: fastrand::Rng::with_seed(1),
            ends: [[0; 4]; 2],
        }
    }

    fn draw(&mut self) -> Option<TraceIo> {
        self.left = self.left.checked_sub(1)?;
        let random = &mut self.random;
        let write = random.u64(0..self.mix.reads + self.mix.writes) >= self.mix.reads;
        let sizes = self.mix.sizes[usize::from(write)];
        let mut place = random.u32(0..100);
        let mut bytes = sizes[0].0;
        for &(size, weight) in sizes {
            bytes = size;
            if place < weight {
                break;
            }
            place -= weight;
        }
        let end = &mut self.ends[usize::from(write)][random.usize(0..4)];
        if random.f64() >= self.mix.sequential || *end + u64::from(bytes) > self.user_bytes {
            *end = random.u64(0..(self.user_bytes - u64::from(bytes)) / 4096) * 4096;
        }
        let offset = *end;
        *end += u64::from(bytes);
        // bursts, and a pause beyond the limit for one in a hundred
        self.at_s += match random.u32(0..100) {
            0 => 1.0,
            1..=9 => 1e-3,
            _ => 2e-5,
        };
        let depths = [1, 1, 1, 1, 1, 2, 2, 3, 5, 8, 16, 32];
        Some(TraceIo {
            at_s: self.at_s,
            op: if write { Op::Write } else { Op::Read },
            offset,
            bytes,
            depth: depths[random.usize(0..depths.len())],
        })
    }
}

impl Source for Drawn {
    fn next_io(&mut self) -> Result<Option<TraceIo>, String> {
        Ok(self.draw())
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (files, scale) = match arguments.as_slice() {
        [drive, place] => ([drive, place], 1.0),
        [drive, place, scale] => ([drive, place], scale.parse()?),
        _ => return Err("name a drive's and an enclosure's JSON file, and a scale".into()),
    };
    let spec: DriveSpec = serde_json::from_str(&read_to_string(files[0])?)?;
    let place: EnclosureSpec = serde_json::from_str(&read_to_string(files[1])?)?;
    let mut replays = Vec::new();
    for full in [false, true] {
        for mix in [LIGHT, DESTROYER] {
            let mut drive = Drive::new(spec.clone(), place.clone(), 0)?;
            if full {
                let user = drive.user_bytes();
                let fill = json!({"rw": "write", "bs": 131_072, "iodepth": 32,
                    "span_bytes": user, "io_bytes": user});
                let fill: Workload = serde_json::from_value(fill)?;
                drive.begin(&[fill])?;
                while !drive.is_done() {
                    drive.advance(60.0, 0.1)?;
                }
            }
            replays.push(replay(&mut drive, mix, scale, full)?);
        }
    }
    let document = json!({ "replays": replays });
    println!("{document:#}");
    Ok(())
}

fn replay(drive: &mut Drive, mix: Mix, scale: f64, full: bool) -> Result<Value, Failure> {
    let began_s = processor_s()?;
    let mut drawn = Drawn::new(mix, scale, drive.user_bytes());
    let (mut ios, mut bytes) = (0, [0; 2]);
    while let Some(io) = drawn.draw() {
        ios += 1;
        bytes[usize::from(io.op == Op::Write)] += u64::from(io.bytes);
    }
    let drawing_s = processor_s()? - began_s;
    let (began_s, from_s) = (processor_s()?, drive.t_s());
    let before = *drive.totals();
    let drawn = Box::new(Drawn::new(mix, scale, drive.user_bytes()));
    drive.begin_replay(drawn, ReplayOptions::default())?;
    let mut busy_s = 0.0;
    while !drive.is_done() {
        let samples = drive.advance(60.0, 0.1)?;
        let column = |name: &str| samples.column(name).unwrap_or_default().iter();
        let busy = column("busy_pct").zip(column("interval_s"));
        busy_s += busy
            .map(|(share, length_s)| share / 100.0 * length_s)
            .sum::<f64>();
    }
    let took_s = processor_s()? - began_s;
    let totals = drive.totals();
    let written = totals.host_write_pages - before.host_write_pages;
    Ok(json!({
        "mix": mix.name,
        "full": full,
        "m_ios": ios as f64 / 1e6,
        "gb_read": bytes[0] as f64 / 1e9,
        "gb_written": bytes[1] as f64 / 1e9,
        "simulated_s": drive.t_s() - from_s,
        "busy_s": busy_s,
        "moved_per_write": (totals.moved_pages - before.moved_pages) / written,
        "processor_s": took_s,
        "of_that_drawing_s": drawing_s,
        "m_ios_s": ios as f64 / 1e6 / took_s,
    }))
}

/// What this process has used of a processor, in seconds.
fn processor_s() -> Result<f64, Failure> {
    let stat = read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = stat.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}
