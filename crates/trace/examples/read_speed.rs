//! How fast traces are read, and how much memory that takes.
//!
//! `read_speed make FORMAT IOS FILE` writes a trace, packed as the name's ending says;
//! `read_speed FILE...` reads traces and prints, for each, records and bytes per second and this
//! process's greatest memory so far. Time is the CPU's, since others may share it.

use std::path::Path;

use heatsoak_trace::read::{Format, Options, open};
use heatsoak_trace::write::to_file;
use heatsoak_trace::{Op, Record, Source, SourceError};

/// I/O of mixed sizes, up to 32 in flight.
struct Made {
    left: u64,
    number: u64,
    chance: u64,
}

impl Source for Made {
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
        let count = self.left.min(most as u64);
        for _ in 0..count {
            // Knuth's multiplier for a linear congruential series
            self.chance = self
                .chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let chance = self.chance >> 33;
            let at_ns = self.number * 10_000;
            into.push(Record {
                at_ns,
                done_ns: at_ns + 20_000 + chance % 300_000,
                offset: chance % 100_000_000 * 4096,
                bytes: 4096 << (chance % 6),
                op: if chance % 5 < 3 { Op::Read } else { Op::Write },
                depth: 0,
            });
            self.number += 1;
        }
        self.left -= count;
        Ok(count as usize)
    }
}

fn memory_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// Seconds that this process has spent on a CPU, as Linux counts them.
fn cpu_s() -> f64 {
    let counts = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = counts
        .split_whitespace()
        .next()
        .and_then(|ns| ns.parse::<f64>().ok());
    ns.unwrap_or(f64::NAN) / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [make, format, ios, file] = &words[..]
        && make == "make"
    {
        let known = Format::ALL.into_iter().find(|known| known.name() == format);
        let mut made = Made {
            left: ios.parse()?,
            number: 0,
            chance: 1,
        };
        to_file(
            &mut made,
            Path::new(file),
            known.ok_or("no such format")?,
            "/d/trace.bin",
        )?;
        return Ok(());
    }
    for file in &words {
        let start_s = cpu_s();
        let mut opened = open(Path::new(file), Options::default())?;
        let mut records = Vec::new();
        let mut count = 0;
        loop {
            records.clear();
            match opened.source.fill(&mut records, 4096)? {
                0 => break,
                some => count += some,
            }
        }
        let took_s = cpu_s() - start_s;
        let mb = std::fs::metadata(file)?.len() as f64 / 1e6;
        println!(
            "{file}: {count} records in {took_s:.2} s, {:.2} M records/s, {:.0} MB/s of {mb:.0} MB, {:.1} MiB",
            count as f64 / took_s / 1e6,
            mb / took_s,
            memory_mib(),
        );
    }
    Ok(())
}
