//! How fast the translation layer is on this machine, compared with how fast its memory is.
//!
//! `cargo run --release -p heatsoak-drive --example ftl_speed [drive_writes]`

use std::hint::black_box;
use std::time::Instant;

use heatsoak_drive::ftl::{Ftl, FtlConfig, Policy};

/// 512 GB of which 7 % is spare.
const CONFIG: FtlConfig = FtlConfig {
    user_pages: 125_026_902,
    blocks: 2048,
    pages_per_block: 65_536,
    unit_pages: 8,
    policy: Policy::Greedy,
    cache: None,
};
/// Host writes that are known ahead, so that their cells can be asked for.
const AHEAD: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let drive_writes = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 1.0,
    };
    let updates = memory_updates_per_s(CONFIG.user_pages as usize)?;
    println!("memory alone: {:.1} M random updates/s", updates / 1e6);
    for (blocks, pages_per_block) in [(2048, 65_536), (131_072, 1024)] {
        let config = FtlConfig {
            blocks,
            pages_per_block,
            ..CONFIG
        };
        measure(&config, drive_writes, updates)?;
    }
    Ok(())
}

fn measure(
    config: &FtlConfig,
    drive_writes: f64,
    memory_updates_per_s: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{} blocks of {} pages",
        config.blocks, config.pages_per_block
    );
    let before = resident_bytes();
    let began = Instant::now();
    let mut ftl = Ftl::new(config)?;
    println!("  made in {:.3} s", began.elapsed().as_secs_f64());
    for pass in ["first", "second"] {
        let began = Instant::now();
        let mut lpn = 0;
        while lpn < config.user_pages {
            while ftl.must_collect() {
                ftl.collect_unit();
            }
            lpn += ftl.write(lpn, config.user_pages - lpn).pages;
        }
        let fill_s = began.elapsed().as_secs_f64();
        println!("  {pass} sequential fill in {fill_s:.3} s");
    }
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let gb = f64::from(config.user_pages) * 4096.0 / 1e9;
        let mb = (after - before) / 1e6;
        println!("  {:.2} MB of memory per GB", mb / gb);
    }
    let mut random = fastrand::Rng::with_seed(1);
    let mut next = [0; AHEAD];
    next.fill_with(|| random.u32(0..config.user_pages));
    let writes = (f64::from(config.user_pages) * drive_writes) as u64;
    for part in ["unsteady", "steady", "steady"] {
        let start = ftl.counters();
        let began = Instant::now();
        for count in 0..writes {
            while ftl.must_collect() {
                ftl.collect_unit();
            }
            let slot = &mut next[count as usize % AHEAD];
            black_box(ftl.write(*slot, 1));
            *slot = random.u32(0..config.user_pages);
            ftl.prefetch(*slot);
        }
        let took_s = began.elapsed().as_secs_f64();
        let moved = ftl.counters().moved_pages - start.moved_pages;
        let amplification = 1.0 + moved as f64 / writes as f64;
        // The map is touched for each write and for each page of a block that is collected.
        let erased = ftl.counters().erased_blocks - start.erased_blocks;
        let touches = writes + erased * u64::from(config.pages_per_block);
        let ratio = touches as f64 / took_s / memory_updates_per_s;
        let rate = writes as f64 / took_s / 1e6;
        println!(
            "  {part}: {rate:.1} M host writes/s, {:.1} M programmed pages/s, \
             write amplification {amplification:.3}, {ratio:.2} of the memory's rate",
            rate * amplification,
        );
    }
    Ok(())
}

/// Random updates of a table of as many cells as the map has, with the same page size.
fn memory_updates_per_s(cells: usize) -> Result<f64, Box<dyn std::error::Error>> {
    const AHEAD: usize = 128;
    let mut map = memmap2::MmapMut::map_anon(cells * 4)?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    let table: &mut [u32] = bytemuck::cast_slice_mut(&mut map);
    table.fill(1);
    let mut random = fastrand::Rng::with_seed(1);
    let mut next = [0; AHEAD];
    next.fill_with(|| random.usize(0..cells));
    let updates = 500_000_000;
    let began = Instant::now();
    for count in 0..updates {
        let slot = &mut next[count % AHEAD];
        table[*slot] = table[*slot].wrapping_add(1);
        *slot = random.u32(0..cells as u32) as usize;
        heatsoak_drive::ftl::prefetch(table, *slot as u32);
    }
    Ok(updates as f64 / began.elapsed().as_secs_f64())
}

/// What this process holds in memory, where the system says.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0)
}
