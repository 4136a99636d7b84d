//! The same drive, slower: for hosts that cannot load it at its own speed.
//!
//! At a share `k` of its speed everything that happens to an I/O takes `1/k` times as long, and each
//! operation costs `1/k` times its energy. So at the same share of its full rate the drive draws the
//! same watts, second by second, and its network, its governor and its sensors, of which nothing is
//! changed, see the same heat: it throttles after as many seconds, and by as much of its rate.
//!
//! Flash and cache are `k` times as large, so that they last as many seconds too. What an I/O
//! meets stays: pages, units, dies and the write buffer, so that queues and latencies are those of
//! the drive, `1/k` times as long. Blocks shrink with the flash, by a power of two and down to a
//! unit of each die, with as much of the time spent on erasing them. Waking up, purging and idling
//! take their own time.

use crate::spec::{DriveSpec, EnclosureSpec, PAGE_BYTES, SpecError, check};

const MIB: u64 = 1 << 20;

fn valid(share: f64) -> Result<(), SpecError> {
    check(
        share > 0.0 && share <= 1.0,
        "speed",
        share,
        "a share of a drive's speed lies above 0 and up to 1",
    )
}

fn part(bytes: u64, share: f64, of: u64) -> u64 {
    (bytes as f64 * share) as u64 / of * of
}

impl DriveSpec {
    /// The same drive at a share of its speed, above 0 and up to 1.
    pub fn slowed(&self, share: f64) -> Result<DriveSpec, SpecError> {
        valid(share)?;
        let mut spec = self.clone();
        if share == 1.0 {
            return Ok(spec);
        }
        let capacity = &mut spec.capacity;
        capacity.user_bytes = part(capacity.user_bytes, share, MIB);
        capacity.raw_bytes = part(capacity.raw_bytes, share, PAGE_BYTES);
        capacity.reserve_bytes = part(capacity.reserve_bytes, share, PAGE_BYTES);

        let nand = &mut spec.nand;
        let least_bytes = (u64::from(nand.dies) * nand.unit_bytes).next_power_of_two();
        let whole_bytes = nand.block_bytes;
        while nand.block_bytes / 2 >= least_bytes
            && nand.block_bytes as f64 >= 2.0 * share * whole_bytes as f64
        {
            nand.block_bytes /= 2;
        }
        let block_share = nand.block_bytes as f64 / whole_bytes as f64;
        nand.channel_mb_s *= share;
        nand.read_us /= share;
        nand.program_us /= share;
        nand.erase_us *= block_share / share;

        let controller = &mut spec.controller;
        controller.read_mb_s *= share;
        controller.write_mb_s *= share;
        controller.read_command_us /= share;
        controller.write_command_us /= share;
        controller.move_us /= share;
        controller.read_latency_us /= share;
        controller.write_latency_us /= share;
        if let Some(map) = &mut controller.map_cache {
            map.bytes_covered = part(map.bytes_covered, share, PAGE_BYTES).max(map.piece_bytes);
        }

        spec.collection.idle_mb_s *= share;
        if let Some(cache) = &mut spec.cache {
            cache.bytes = part(cache.bytes, share, PAGE_BYTES);
            cache.read_us /= share;
            cache.program_us /= share;
            cache.fold_mb_s *= share;
            cache.fold_us = cache.fold_us.map(|fold_us| fold_us / share);
        }

        let energy = &mut spec.energy;
        for each_uj in [
            &mut energy.read_command_uj,
            &mut energy.write_command_uj,
            &mut energy.host_read_uj,
            &mut energy.host_write_uj,
            &mut energy.read_uj,
            &mut energy.program_uj,
            &mut energy.erase_uj,
            &mut energy.move_uj,
        ] {
            *each_uj /= share;
        }
        energy.cache_program_uj = energy.cache_program_uj.map(|each_uj| each_uj / share);
        Ok(spec)
    }
}

impl EnclosureSpec {
    /// The same place for a drive at a share of its speed: what its link and its host bring about.
    pub fn slowed(&self, share: f64) -> Result<EnclosureSpec, SpecError> {
        valid(share)?;
        let of = |rate: Option<f64>| rate.map(|rate| rate * share);
        Ok(EnclosureSpec {
            link_mb_s: of(self.link_mb_s),
            host_read_iops: of(self.host_read_iops),
            host_write_iops: of(self.host_write_iops),
            ..self.clone()
        })
    }
}
