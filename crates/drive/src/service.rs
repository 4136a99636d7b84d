//! What the drive would give if nothing forbade it, and the spare area that random writes use up.
//!
//! A fluid of closed-loop rates. In a closed loop the rate is bounded twice: by the slowest part
//! (the drive's own rate, the link, the host) and by the queue over the time of a lone I/O; the
//! lesser bound is taken, and the latency follows from Little's law (Denning and Buzen, Computing
//! Surveys 10, 1978).
//!
//! Flash that was written over lies stale until it is collected. Random writes leave it scattered;
//! once no spare area is left every one of them pays for moving pages, by the usual approximation
//! of write amplification (1 + rho) / (2 rho) (Agarwal and Marrow, GLOBECOM 2010), with rho the
//! spare area over the data of the span, and a time for each moved page that makes a full drive
//! reach its steady rate. Sequential writes free what they overwrite, idle time collects slowly,
//! and a purge forgets everything. On a purged drive a random write takes no spare area where
//! nothing was written before.

use crate::spec::{Capacity, DriveSpec, EnclosureSpec, PowerSpec, ServiceSpec};
use crate::workload::Workload;

/// Bytes of a flash translation layer's page, and of the I/O that drives are rated with.
const PAGE_BYTES: f64 = 4096.0;
const MB: f64 = 1e6;

/// A stretch of the drive and how much of it holds data.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    start: f64,
    end: f64,
    filled: f64,
}

/// A workload, and what of it stays the same from step to step.
#[derive(Debug, Clone)]
struct Work {
    workload: Workload,
    start: f64,
    span: f64,
    cursor: f64,
    stale_per_byte: f64,
    span_full: bool,
}

/// What the drive would do with all it was permitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Reads in a second.
    pub read_iops: f64,
    /// Writes in a second.
    pub write_iops: f64,
    /// What it would draw.
    pub power_w: f64,
    /// A lone read.
    pub read_alone_us: f64,
    /// A lone write.
    pub write_alone_us: f64,
    /// How many times longer an I/O takes with the whole queue in flight at these rates.
    pub queued: f64,
    /// Whether the host holds itself back, so that its queue stays empty.
    pub paced: bool,
}

/// The drive's speeds and its flash.
#[derive(Debug, Clone)]
pub struct Service {
    capacity: Capacity,
    rates: ServiceSpec,
    power: PowerSpec,
    link_mb_s: f64,
    host_read_iops: f64,
    host_write_iops: f64,
    move_s: f64,
    full_amplification: f64,
    stretches: Vec<Stretch>,
    stale_bytes: f64,
    work: Option<Work>,
}

fn amplification(rho: f64) -> f64 {
    ((1.0 + rho) / (2.0 * rho)).max(1.0)
}

impl Service {
    /// A drive without data.
    pub fn new(drive: &DriveSpec, place: &EnclosureSpec) -> Service {
        let (user, raw) = (
            drive.capacity.user_bytes as f64,
            drive.capacity.raw_bytes as f64,
        );
        let full_amplification = amplification((raw - user) / user);
        let rates = drive.service.clone();
        let slower_s = 1.0 / rates.steady_write_iops - 1.0 / rates.rand_write_iops;
        Service {
            capacity: drive.capacity.clone(),
            power: drive.power.clone(),
            link_mb_s: place.link_mb_s.unwrap_or(f64::INFINITY),
            host_read_iops: place.host_read_iops.unwrap_or(f64::INFINITY),
            host_write_iops: place.host_write_iops.unwrap_or(f64::INFINITY),
            move_s: if full_amplification > 1.0 {
                slower_s / (full_amplification - 1.0)
            } else {
                0.0
            },
            full_amplification,
            stretches: vec![Stretch {
                start: 0.0,
                end: user,
                filled: 0.0,
            }],
            stale_bytes: 0.0,
            work: None,
            rates,
        }
    }

    /// Take up a workload.
    pub fn begin(&mut self, workload: &Workload) {
        let start = workload.offset_bytes as f64;
        let span = workload.span_bytes as f64;
        self.split(start);
        self.split(start + span);
        self.work = Some(Work {
            workload: workload.clone(),
            start,
            span,
            cursor: 0.0,
            stale_per_byte: 0.0,
            span_full: false,
        });
        self.start_pass();
    }

    /// Drop the workload.
    pub fn end(&mut self) {
        self.work = None;
        self.stretches.dedup_by(|next, before| {
            let same = next.filled == before.filled;
            if same {
                before.end = next.end;
            }
            same
        });
    }

    /// Forget all data.
    pub fn purge(&mut self) {
        self.end();
        self.stale_bytes = 0.0;
        self.stretches = vec![Stretch {
            start: 0.0,
            end: self.capacity.user_bytes as f64,
            filled: 0.0,
        }];
    }

    /// Flash that neither holds data nor lies stale.
    pub fn spare_bytes(&self) -> f64 {
        (self.capacity.raw_bytes as f64 - self.filled_bytes() - self.stale_bytes).max(0.0)
    }

    /// Bytes that hold data of the host.
    pub fn filled_bytes(&self) -> f64 {
        self.filled_between(0.0, f64::INFINITY)
    }

    fn filled_between(&self, start: f64, end: f64) -> f64 {
        self.stretches
            .iter()
            .map(|s| (s.end.min(end) - s.start.max(start)).max(0.0) * s.filled)
            .sum()
    }

    fn split(&mut self, at: f64) {
        if let Some(index) = self
            .stretches
            .iter()
            .position(|s| s.start < at && at < s.end)
        {
            let mut right = self.stretches[index];
            right.start = at;
            self.stretches[index].end = at;
            self.stretches.insert(index + 1, right);
        }
    }

    /// What the workload would get now, or nothing without one.
    pub fn offer(&self) -> Option<Offer> {
        let work = self.work.as_ref()?;
        let workload = &work.workload;
        let (reads, writes) = (workload.read_share(), 1.0 - workload.read_share());
        let bs = workload.bs as f64;
        let random = workload.is_random();
        let rates = &self.rates;
        let amplified = self.amplified(work);

        // what one I/O costs of the drive's time when many are in flight
        let read_bytes_s = bs / (rates.seq_read_mb_s * MB);
        let write_bytes_s = bs / (rates.seq_write_mb_s * MB);
        let commands_s = 1.0 / rates.rand_read_iops.max(rates.rand_write_iops);
        let (read_s, write_s) = if random {
            let moved = (bs / PAGE_BYTES).max(1.0) * (amplified - 1.0) * self.move_s;
            (
                read_bytes_s.max(1.0 / rates.rand_read_iops),
                write_bytes_s.max(1.0 / rates.rand_write_iops) + moved,
            )
        } else {
            (read_bytes_s.max(commands_s), write_bytes_s.max(commands_s))
        };
        // and alone
        let more = (bs - PAGE_BYTES).max(0.0) / bs;
        let read_alone_s = rates.read_latency_us * 1e-6 + more * read_bytes_s;
        let write_alone_s = rates.write_latency_us * 1e-6 + more * write_bytes_s;

        let queue = workload.queue();
        let alone_s = reads * read_alone_s + writes * write_alone_s;
        let each = |share: f64, limit: f64| {
            if share > 0.0 {
                limit / share
            } else {
                f64::INFINITY
            }
        };
        let link_iops = self.link_mb_s * MB / bs;
        let mut free_iops = (1.0 / (reads * read_s + writes * write_s))
            .min(queue / alone_s)
            .min(each(reads, link_iops))
            .min(each(writes, link_iops));
        if random {
            free_iops = free_iops
                .min(each(reads, self.host_read_iops))
                .min(each(writes, self.host_write_iops));
        }
        let cap = workload.iops_cap();
        let iops = free_iops.min(each(reads, cap)).min(each(writes, cap));

        let power = &self.power;
        let (read_w, write_w) = if random {
            let tired = if self.full_amplification > 1.0 {
                (amplified - 1.0) / (self.full_amplification - 1.0)
            } else {
                0.0
            };
            (
                power.rand_read_w,
                power.rand_write_w + tired.min(1.0) * (power.steady_write_w - power.rand_write_w),
            )
        } else {
            (power.seq_read_w, power.seq_write_w)
        };
        let busy_read = iops * reads * read_s;
        let busy_write = iops * writes * write_s;
        Some(Offer {
            read_iops: iops * reads,
            write_iops: iops * writes,
            power_w: power.idle_w
                + busy_read * (read_w - power.idle_w)
                + busy_write * (write_w - power.idle_w),
            read_alone_us: 1e6 * read_alone_s,
            write_alone_us: 1e6 * write_alone_s,
            // Little's law; the queue is shared out in proportion to the times of lone I/Os
            queued: queue / (iops * alone_s),
            paced: iops < free_iops,
        })
    }

    fn amplified(&self, work: &Work) -> f64 {
        if !work.workload.is_random() || work.workload.read_share() >= 1.0 {
            return 1.0;
        }
        let filled = self.filled_bytes();
        let raw = self.capacity.raw_bytes as f64;
        if raw - filled - self.stale_bytes > 0.0 {
            return 1.0;
        }
        let data = self.filled_between(work.start, work.start + work.span);
        amplification((raw - filled) / data.max(PAGE_BYTES))
    }

    /// Take `write_bytes` of the workload's writes into the flash.
    pub fn store(&mut self, write_bytes: f64) {
        let Some(work) = self.work.as_ref() else {
            return;
        };
        if write_bytes <= 0.0 {
            return;
        }
        if work.workload.is_random() {
            self.store_scattered(write_bytes);
        } else {
            self.store_in_order(write_bytes);
        }
        let room = self.capacity.raw_bytes as f64 - self.filled_bytes();
        self.stale_bytes = self.stale_bytes.clamp(0.0, room);
    }

    fn store_scattered(&mut self, write_bytes: f64) {
        let Some(work) = self.work.as_mut() else {
            return;
        };
        if work.span_full {
            self.stale_bytes += write_bytes;
            return;
        }
        let (start, end) = (work.start, work.start + work.span);
        work.span_full = true;
        for stretch in &mut self.stretches {
            if stretch.start < start || stretch.end > end {
                continue;
            }
            let length = stretch.end - stretch.start;
            let written = write_bytes * length / work.span;
            let fresh = (1.0 - stretch.filled) * -(-written / length).exp_m1();
            stretch.filled = (stretch.filled + fresh).min(1.0);
            if 1.0 - stretch.filled < 1e-12 {
                stretch.filled = 1.0;
            } else {
                work.span_full = false;
            }
            self.stale_bytes += written - fresh * length;
        }
    }

    fn store_in_order(&mut self, write_bytes: f64) {
        let mut left = write_bytes;
        while left > 0.0 {
            let Some(work) = self.work.as_mut() else {
                return;
            };
            let from = work.start + work.cursor;
            let now = left.min(work.span - work.cursor);
            left -= now;
            work.cursor += now;
            self.stale_bytes = (self.stale_bytes - work.stale_per_byte * now).max(0.0);
            let pass_over = work.cursor >= work.span;
            let full = work.span_full;
            if !full {
                self.fill(from, from + now);
            }
            if pass_over {
                self.start_pass();
            }
        }
    }

    fn start_pass(&mut self) {
        let filled = self.filled_bytes();
        let Some(work) = self.work.as_ref() else {
            return;
        };
        let data = self.filled_between(work.start, work.start + work.span);
        let stale_per_byte = if filled > 0.0 {
            self.stale_bytes * (data / filled) / work.span
        } else {
            0.0
        };
        let span_full = data >= work.span;
        if let Some(work) = self.work.as_mut() {
            work.cursor = 0.0;
            work.stale_per_byte = stale_per_byte;
            work.span_full = span_full;
        }
    }

    fn fill(&mut self, start: f64, end: f64) {
        self.split(start);
        self.split(end);
        for stretch in &mut self.stretches {
            if stretch.start >= start && stretch.end <= end {
                stretch.filled = 1.0;
            }
        }
        self.stretches.dedup_by(|next, before| {
            let same = next.filled == 1.0 && before.filled == 1.0;
            if same {
                before.end = next.end;
            }
            same
        });
    }

    /// What the drive draws without a workload: it collects while anything lies stale.
    pub fn idle_power_w(&self) -> f64 {
        let power = &self.power;
        if self.stale_bytes <= 0.0 {
            return power.idle_w;
        }
        let busy = (self.capacity.idle_collection_mb_s / self.rates.seq_write_mb_s).min(1.0);
        power.idle_w + busy * (power.seq_write_w - power.idle_w)
    }

    /// Let time pass without a workload.
    pub fn rest(&mut self, duration_s: f64) {
        let collected = self.capacity.idle_collection_mb_s * MB * duration_s;
        self.stale_bytes = (self.stale_bytes - collected).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive, place, random_writes, sequential};
    use crate::workload::Pattern;
    use proptest::prelude::*;

    fn full() -> Service {
        let mut service = Service::new(&drive(), &place());
        service.begin(&sequential(Pattern::Write));
        service.store(drive().capacity.user_bytes as f64);
        service.end();
        service
    }

    #[test]
    fn a_deep_queue_gets_what_the_drive_is_rated_for() {
        let mut service = full();
        service.begin(&sequential(Pattern::Read));
        let offer = service.offer().unwrap();
        assert!((offer.read_iops * 131072.0 / 2.5e9 - 1.0).abs() < 1e-12);
        assert!((offer.power_w - 7.0).abs() < 1e-12);
        service.begin(&random_writes());
        assert!((service.offer().unwrap().write_iops - 110e3).abs() < 1e-6);
    }

    #[test]
    fn a_queue_of_one_waits_for_each_io() {
        let mut service = full();
        service.begin(&Workload {
            rw: Pattern::RandRead,
            iodepth: 1,
            ..random_writes()
        });
        let offer = service.offer().unwrap();
        assert!((offer.read_iops - 1e6 / 85.0).abs() < 1e-6);
        assert!((offer.read_alone_us * offer.queued - 85.0).abs() < 1e-9);
    }

    #[test]
    fn the_host_and_the_link_can_be_slower_than_the_drive() {
        let slow = EnclosureSpec {
            link_mb_s: Some(1000.0),
            host_read_iops: Some(50e3),
            ..place()
        };
        let mut service = Service::new(&drive(), &slow);
        service.begin(&sequential(Pattern::Read));
        assert!((service.offer().unwrap().read_iops * 131072.0 - 1e9).abs() < 1.0);
        service.begin(&Workload {
            rw: Pattern::RandRead,
            ..random_writes()
        });
        assert!((service.offer().unwrap().read_iops - 50e3).abs() < 1e-6);
    }

    #[test]
    fn random_writes_on_a_full_drive_fall_to_the_steady_rate_after_the_spare_area() {
        let mut service = full();
        service.begin(&random_writes());
        let spare = (drive().capacity.raw_bytes - drive().capacity.user_bytes) as f64;
        service.store(spare - 1e6);
        assert!((service.offer().unwrap().write_iops - 110e3).abs() < 1e-6);
        service.store(2e6);
        let offer = service.offer().unwrap();
        assert!((offer.write_iops - 6e3).abs() < 1e-6);
        assert!((offer.power_w - 4.4).abs() < 1e-9);
        service.purge();
        service.begin(&random_writes());
        assert!((service.offer().unwrap().write_iops - 110e3).abs() < 1e-6);
    }

    #[test]
    fn random_writes_on_a_purged_drive_first_take_what_was_never_written() {
        let mut service = Service::new(&drive(), &place());
        service.begin(&random_writes());
        for _ in 0..1000 {
            service.store(100e6);
        }
        let spent = drive().capacity.raw_bytes as f64 - service.spare_bytes();
        assert!((spent - 100e9).abs() < 1.0);
        let user = drive().capacity.user_bytes as f64;
        let expected = user * -(-100e9 / user).exp_m1();
        assert!((service.filled_bytes() - expected).abs() < 1e3);
    }

    #[test]
    fn a_sequential_pass_gives_the_spare_area_back() {
        let mut service = full();
        service.begin(&random_writes());
        service.store(100e9);
        assert_eq!(service.spare_bytes(), 0.0);
        service.begin(&sequential(Pattern::Write));
        service.store(drive().capacity.user_bytes as f64);
        assert!(service.spare_bytes() > 37e9);
    }

    proptest! {
        #[test]
        fn data_stale_and_spare_fill_the_flash(
            writes in prop::collection::vec((any::<bool>(), 0.0..80e9f64, 0..6u64, 1..4u64), 1..20),
        ) {
            let mut service = Service::new(&drive(), &place());
            for (random, bytes, offset, span) in writes {
                let pattern = if random { Pattern::RandWrite } else { Pattern::Write };
                service.begin(&Workload {
                    rw: pattern,
                    offset_bytes: offset * 50_000_000_000,
                    span_bytes: span * 50_000_000_000,
                    ..random_writes()
                });
                for _ in 0..10 {
                    service.store(bytes / 10.0);
                }
                let raw = drive().capacity.raw_bytes as f64;
                let sum = service.spare_bytes() + service.stale_bytes + service.filled_bytes();
                prop_assert!((sum - raw).abs() < 1e-9 * raw);
                prop_assert!(service.filled_bytes() <= drive().capacity.user_bytes as f64 + 1.0);
                prop_assert!(service.stretches.len() < 64);
            }
        }
    }
}
