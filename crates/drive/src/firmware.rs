//! The controller: what becomes of one I/O.
//!
//! Firmware is one server of time, each direction has a data path, and flash is an [`Array`] of
//! dies. Every one of them has a time that it is free from; an I/O takes the later of that and its
//! own, and moves it on. So queues, reads that wait behind programs, a full write buffer and
//! collection that steals time from the host come out by themselves.

use crate::ftl::{Collected, Ftl, UNMAPPED};
use crate::heat::Work;
use crate::host::{Host, MAX_AHEAD_STREAMS, Request};
use crate::map_cache::MapCache;
use crate::nand::{Array, later};
use crate::spec::{DriveSpec, EnclosureSpec, PAGE_BYTES, Pacing};

const US: f64 = 1e-6;
const MB: f64 = 1e6;
/// What is kept for each direction is of writes, then of reads.
const WRITE: usize = 0;
/// Blocks between the first collection for the host and the last free one.
const MARGIN_BLOCKS: u32 = 2;
/// Blocks over which firmware that holds a level sees what its victims ask for.
const LEVEL_BLOCKS: f64 = 8.0;
/// The least share of its level that victims may ask for before it lets go of it.
const LEVEL_HOLDS: f64 = 0.7;
/// Free blocks at which it rests, or keeps its pace.
const LEVEL_FULL_BLOCKS: u32 = 2 * MARGIN_BLOCKS;
/// Programs that collection queues on a die before it waits for it.
const QUEUED_PROGRAMS: f64 = 2.0;

/// Where data waits between its acknowledgement and its program: the ends of programs in flight.
#[derive(Debug, Clone)]
struct Buffer {
    ends_s: Vec<f64>,
    next: usize,
}

impl Buffer {
    fn new(units: usize) -> Buffer {
        Buffer {
            ends_s: vec![f64::NEG_INFINITY; units.max(1)],
            next: 0,
        }
    }

    /// When there is room for another unit.
    fn room_s(&self) -> f64 {
        self.ends_s[self.next]
    }

    /// When it is empty, where nothing more comes.
    fn empty_s(&self) -> f64 {
        self.ends_s
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max)
    }

    fn push(&mut self, end_s: f64) {
        self.ends_s[self.next] = end_s;
        self.next += 1;
        if self.next == self.ends_s.len() {
            self.next = 0;
        }
    }
}

/// How many pages collection moves for a page of the host.
#[derive(Debug, Clone)]
struct Pace {
    pacing: Pacing,
    /// Moved pages for each host page that are allowed for.
    level: f64,
    /// What recent victims asked for.
    asked: f64,
    /// Pages that are still to be moved for the host's last ones.
    debt: f64,
    /// Time that the host has already waited for moves to come.
    credit_s: f64,
    /// Whether free blocks have run low since there were plenty.
    engaged: bool,
    /// Pages of the victim at hand that were moved already.
    valid: u32,
}

impl Pace {
    fn new(pacing: Pacing, level: f64) -> Pace {
        Pace {
            pacing,
            level,
            asked: level,
            debt: 0.0,
            credit_s: 0.0,
            engaged: false,
            valid: 0,
        }
    }
}

/// What commands and bytes take, writes and reads, with a share of everything permitted.
#[derive(Debug, Clone, Default)]
struct Rated {
    share: f64,
    command_s: [f64; 2],
    byte_s: [f64; 2],
}

/// Firmware, data paths, buffer and flash.
#[derive(Debug, Clone)]
pub struct Firmware {
    /// The map.
    pub ftl: Ftl,
    /// What of the map is at hand, where that is not all of it.
    map_cache: Option<MapCache>,
    array: Array,
    buffer: Buffer,
    pace: Pace,
    free_s: f64,
    path_s: [f64; 2],
    host_s: [f64; 2],
    host_gap_s: [f64; 2],
    command_s: [f64; 2],
    latency_s: [f64; 2],
    link_s_per_byte: f64,
    path_s_per_byte: [f64; 2],
    rated: Rated,
    move_s: f64,
    fold_s: f64,
    block_pages: u32,
    margin_pages: u32,
    /// By stream, since when what comes next is read ahead.
    ahead_s: [f64; MAX_AHEAD_STREAMS],
    /// Pages that are to be tidied; less than 0 where more were than the time asked for.
    to_tidy: f64,
}

impl Firmware {
    /// A drive without data.
    pub fn new(drive: &DriveSpec, place: &EnclosureSpec, ftl: Ftl) -> Firmware {
        let controller = &drive.controller;
        let gap = |iops: Option<f64>| iops.map_or(0.0, |iops| 1.0 / iops);
        let block_pages = (drive.nand.block_bytes / PAGE_BYTES) as u32;
        Firmware {
            map_cache: controller
                .map_cache
                .as_ref()
                .map(|spec| MapCache::new(spec, ftl.config().user_pages)),
            array: Array::new(drive),
            buffer: Buffer::new((controller.buffer_bytes / drive.nand.unit_bytes) as usize),
            pace: Pace::new(drive.collection.pacing, drive.collection.level_moves),
            free_s: 0.0,
            path_s: [0.0; 2],
            host_s: [0.0; 2],
            host_gap_s: [gap(place.host_write_iops), gap(place.host_read_iops)],
            command_s: [
                controller.write_command_us * US,
                controller.read_command_us * US,
            ],
            latency_s: [
                controller.write_latency_us * US,
                controller.read_latency_us * US,
            ],
            link_s_per_byte: place.link_mb_s.map_or(0.0, |rate| 1.0 / (rate * MB)),
            path_s_per_byte: [
                1.0 / (controller.write_mb_s * MB),
                1.0 / (controller.read_mb_s * MB),
            ],
            rated: Rated::default(),
            move_s: controller.move_us * US,
            fold_s: drive
                .cache
                .as_ref()
                .and_then(|cache| cache.fold_us)
                .unwrap_or(controller.move_us)
                * US,
            block_pages,
            margin_pages: MARGIN_BLOCKS * block_pages,
            ahead_s: [0.0; MAX_AHEAD_STREAMS],
            to_tidy: 0.0,
            ftl,
        }
    }

    /// Start at `now_s` with `wake_s` of waking up.
    pub fn wake(&mut self, now_s: f64, wake_s: f64) {
        self.free_s = self.free_s.max(now_s + wake_s);
    }

    /// Whether the host's writes have to wait until a whole block was won back.
    pub fn is_blocked(&self) -> bool {
        self.pace.pacing == Pacing::None && self.ftl.must_collect()
    }

    /// Serve an I/O with a share of everything permitted; when it is done. Closed loops and traces
    /// have a copy of it each, without a call in the loop.
    #[inline(always)]
    pub fn serve(&mut self, request: &Request, share: f64, work: &mut Work) -> f64 {
        let way = usize::from(request.read);
        let (first, pages, whole) = Host::pages(request);
        let host_s = later(self.host_s[way], request.at_s);
        self.host_s[way] = host_s + self.host_gap_s[way];
        if !request.read {
            self.keep_pace(pages, host_s, share, work);
        }
        if share != self.rated.share {
            self.rate(share);
        }
        let begin_s = later(self.free_s, host_s);
        self.free_s = begin_s + self.rated.command_s[way];
        work.busy_s += self.command_s[way];
        if request.read {
            work.read_commands += 1.0;
        } else {
            work.write_commands += 1.0;
        }
        let path_s =
            later(self.path_s[way], begin_s) + request.bytes as f64 * self.rated.byte_s[way];
        self.path_s[way] = path_s;
        let done_s = if request.read {
            work.host_read_pages += f64::from(pages);
            // what a stream asks for next is read ahead of it
            let ahead_s = &mut self.ahead_s[request.stream];
            let from_s = if request.sequential {
                ahead_s.min(self.free_s)
            } else {
                self.free_s
            };
            *ahead_s = self.free_s;
            let from_s = self.map(first, pages, true, from_s, work);
            later(self.read(first, pages, from_s, work), path_s)
        } else {
            work.host_write_pages += f64::from(pages);
            let at_s = later(self.free_s, path_s);
            let mut at_s = self.map(first, pages, false, at_s, work);
            if !whole {
                at_s = self.read_partial(request, at_s, work);
            }
            self.write(first, pages, at_s, share, work)
        };
        done_s + self.latency_s[way]
    }

    #[cold]
    fn rate(&mut self, share: f64) {
        let byte_s = |each_s: f64| (each_s / share).max(self.link_s_per_byte);
        self.rated = Rated {
            share,
            command_s: self.command_s.map(|command_s| command_s / share),
            byte_s: self.path_s_per_byte.map(byte_s),
        };
    }

    /// Forget the pages that an I/O covers wholly; when that is done. It costs a write command.
    pub fn trim(&mut self, request: &Request, share: f64, work: &mut Work) -> f64 {
        let first = request.offset.div_ceil(PAGE_BYTES) as u32;
        let end = ((request.offset + request.bytes) / PAGE_BYTES) as u32;
        if end > first {
            self.ftl.trim(first, end - first);
        }
        let command_s = self.command_s[WRITE];
        self.free_s = self.free_s.max(request.at_s) + command_s / share;
        work.busy_s += command_s;
        work.write_commands += 1.0;
        self.free_s + self.latency_s[WRITE]
    }

    /// Have what the map says of some pages; when it is there.
    #[inline(always)]
    fn map(&mut self, first: u32, pages: u32, read: bool, at_s: f64, work: &mut Work) -> f64 {
        if self.map_cache.is_none() {
            return at_s;
        }
        self.read_map(first, pages, read, at_s, work)
    }

    #[inline(never)]
    fn read_map(&mut self, first: u32, pages: u32, read: bool, at_s: f64, work: &mut Work) -> f64 {
        let Some(map) = &mut self.map_cache else {
            return at_s;
        };
        let mut done_s = at_s;
        for piece in map.of(first, pages) {
            if map.misses(piece, read) {
                let die = self.array.spread(piece);
                done_s = done_s.max(self.array.read(die, 1, false, at_s));
                work.read_pages += 1.0;
            }
        }
        done_s
    }

    /// Read the pages that a write covers in part, its first and its last; when they are there.
    #[cold]
    fn read_partial(&mut self, request: &Request, at_s: f64, work: &mut Work) -> f64 {
        let (begin, end) = (request.offset, request.offset + request.bytes);
        let (first, last) = (begin / PAGE_BYTES, end / PAGE_BYTES);
        let mut done_s = at_s;
        if begin % PAGE_BYTES != 0 {
            done_s = self.read(first as u32, 1, at_s, work);
        }
        if end % PAGE_BYTES != 0 && (last > first || begin % PAGE_BYTES == 0) {
            done_s = done_s.max(self.read(last as u32, 1, at_s, work));
        }
        done_s
    }

    /// Read pages; when the last one is there.
    #[inline(always)]
    fn read(&mut self, first: u32, pages: u32, at_s: f64, work: &mut Work) -> f64 {
        let mut done_s = at_s;
        let mut page = 0;
        while page < pages {
            let ppn = self.ftl.lookup(first + page);
            if ppn == UNMAPPED {
                page += 1;
                continue;
            }
            let slc = self.ftl.is_slc(ppn);
            let unit = self.array.unit(ppn, slc);
            let most = unit.pages_left.min(pages - page);
            // most reads are of one page: no call for those
            let run = match most {
                1 => 1,
                _ => self.ftl.following(first + page, ppn, most),
            };
            done_s = later(done_s, self.array.read(unit.die, run, slc, at_s));
            work.read_pages += f64::from(run);
            page += run;
        }
        done_s
    }

    /// Write pages; when the last one was accepted.
    #[inline(always)]
    fn write(&mut self, first: u32, pages: u32, at_s: f64, share: f64, work: &mut Work) -> f64 {
        let mut at_s = later(at_s, self.buffer.room_s());
        let mut page = 0;
        while page < pages {
            while self.ftl.must_collect() {
                self.collect(at_s, share, work)
                    .expect("a drive with spare area always has something to collect");
                at_s = at_s.max(self.free_s);
            }
            let run = self.ftl.write(first + page, pages - page);
            for end in run.ends_of_units() {
                let ppn = run.ppn + end - 1;
                let slc = self.ftl.is_slc(ppn);
                let unit = self.array.unit(ppn, slc);
                let unit_pages = self.array.unit_pages(slc);
                let end_s = self.array.program(unit.die, unit_pages, slc, at_s);
                work.programmed_pages += f64::from(unit_pages);
                work.cached_pages += f64::from(u32::from(slc) * unit_pages);
                self.buffer.push(end_s);
                if page + end < pages {
                    at_s = later(at_s, self.buffer.room_s());
                }
            }
            page += run.pages;
        }
        at_s
    }

    /// Let collection have its share before `pages` of the host are written.
    #[inline(always)]
    fn keep_pace(&mut self, pages: u32, at_s: f64, share: f64, work: &mut Work) {
        match self.pace.pacing {
            Pacing::None => {}
            Pacing::Victim => {
                if self.ftl.free_pages() <= self.margin_pages {
                    self.pace.debt += f64::from(pages) * self.victim_ratio();
                    self.pay(at_s, share, work);
                }
            }
            Pacing::Level => self.keep_level(pages, at_s, share, work),
        }
    }

    /// Moved pages for each page that the block at hand frees.
    fn victim_ratio(&self) -> f64 {
        let valid = f64::from(self.ftl.victim_valid().unwrap_or(0) + self.pace.valid);
        valid / (f64::from(self.block_pages) - valid).max(1.0)
    }

    fn pay(&mut self, at_s: f64, share: f64, work: &mut Work) {
        while self.pace.debt > 0.0 {
            let Some(moved) = self.collect(at_s, share, work) else {
                self.pace.debt = 0.0;
                break;
            };
            self.pace.debt -= f64::from(moved);
        }
    }

    /// The host waits for the same time before each page, and collection uses what it needs of it.
    fn keep_level(&mut self, pages: u32, at_s: f64, share: f64, work: &mut Work) {
        let free = self.ftl.free_pages();
        let full = LEVEL_FULL_BLOCKS * self.block_pages;
        if free > 2 * full {
            self.pace.engaged = false;
        } else if free <= self.margin_pages {
            self.pace.engaged = true;
        }
        if !self.pace.engaged {
            return;
        }
        let holds = self.pace.asked >= LEVEL_HOLDS * self.pace.level;
        let moves = if holds {
            self.pace.level
        } else {
            self.pace.asked
        };
        let wait_s = f64::from(pages) * moves * self.move_s;
        self.free_s = self.free_s.max(at_s) + wait_s / share;
        self.pace.credit_s += wait_s;
        let unit_s = f64::from(self.array.unit_pages(false)) * self.move_s;
        while self.ftl.free_pages() < full && (self.pace.credit_s >= unit_s || !holds) {
            if self.collect(at_s, share, work).is_none() {
                break;
            }
            if !holds && self.ftl.free_pages() > self.margin_pages {
                break;
            }
        }
        // time that nothing had to be moved in is not saved for later
        self.pace.credit_s = self.pace.credit_s.min(unit_s * 2.0);
    }

    /// Move up to one unit of pages; how many, or none where nothing can be won.
    fn collect(&mut self, at_s: f64, share: f64, work: &mut Work) -> Option<u32> {
        let collected = self.ftl.collect_unit()?;
        // or its caller would wait forever
        assert!(
            collected.moved > 0 || collected.erased.is_some(),
            "collection has no free page to move to"
        );
        self.account(&collected, at_s, share, work);
        Some(collected.moved)
    }

    /// Time and energy of what was collected.
    fn account(&mut self, collected: &Collected, at_s: f64, share: f64, work: &mut Work) {
        let moved = f64::from(collected.moved);
        let begin_s = later(self.free_s, at_s);
        let each_s = if collected.was_slc {
            self.fold_s
        } else {
            self.move_s
        };
        let cost_s = moved * each_s;
        let paid_s = cost_s.min(self.pace.credit_s);
        self.pace.credit_s -= paid_s;
        let mut end_s = begin_s + (cost_s - paid_s) / share;
        work.busy_s += cost_s;
        work.moved_pages += moved;
        if collected.moved > 0 {
            work.read_pages += moved;
            let mut ppn = collected.scanned_from;
            while ppn < collected.scanned_to {
                let unit = self.array.unit(ppn, collected.was_slc);
                self.array.sense(unit.die, collected.was_slc, begin_s);
                ppn += unit.pages_left;
            }
        }
        if let Some(ppn) = collected.programmed {
            let unit = self.array.unit(ppn, false);
            let pages = self.array.unit_pages(false);
            work.programmed_pages += f64::from(pages);
            let done_s = self.array.program(unit.die, pages, false, end_s);
            end_s = end_s.max(done_s - QUEUED_PROGRAMS * self.array.program_s(false));
        }
        self.pace.valid += collected.moved;
        if collected.erased.is_some() {
            self.array.erase(end_s);
            work.erased_pages += f64::from(self.block_pages);
            let valid = f64::from(self.pace.valid);
            let seen = valid / (f64::from(self.block_pages) - valid).max(1.0);
            self.pace.asked += (seen - self.pace.asked) / LEVEL_BLOCKS;
            self.pace.valid = 0;
        }
        self.free_s = end_s;
    }

    /// Collect while the host waits, up to `until_s`.
    pub fn collect_until(&mut self, from_s: f64, until_s: f64, share: f64, work: &mut Work) {
        while self.is_blocked() && self.free_s < until_s {
            self.collect(from_s, share, work)
                .expect("a drive with spare area always has something to collect");
        }
    }

    /// Collect stale pages, or fold the cache, without load: for another `pages` of blocks that
    /// are gone through, in the time there is. Whether there was anything to do.
    pub fn tidy(
        &mut self,
        pages: f64,
        fold: bool,
        (from_s, until_s): (f64, f64),
        work: &mut Work,
    ) -> bool {
        // whole units are moved, and whole blocks erased, so that what was too much is carried on
        self.to_tidy = self.to_tidy.min(0.0) + pages;
        while self.to_tidy > 0.0 && self.free_s < until_s {
            let collected = if fold {
                self.ftl.fold_unit()
            } else {
                self.ftl.collect_unit()
            };
            let Some(collected) = collected else {
                self.to_tidy = 0.0;
                return false;
            };
            self.account(&collected, from_s, 1.0, work);
            let through = if fold {
                collected.moved
            } else {
                self.gone_through(&collected)
            };
            self.to_tidy -= f64::from(through.max(1));
        }
        pages > 0.0
    }

    /// Pages of a block that need not be looked at again: the rest of one without valid pages too.
    fn gone_through(&self, collected: &Collected) -> u32 {
        let end = collected
            .erased
            .map_or(collected.scanned_to, |block| (block + 1) * self.block_pages);
        end - collected.scanned_from
    }

    /// When all that was accepted for writing is in flash, but for less than a unit.
    pub fn flushed_s(&self) -> f64 {
        self.buffer.empty_s()
    }

    /// Forget all data.
    pub fn purge(&mut self) {
        self.ftl.purge();
        if let Some(map) = &mut self.map_cache {
            map.purge();
        }
        self.pace = Pace::new(self.pace.pacing, self.pace.level);
        self.to_tidy = 0.0;
    }
}
