//! A flash translation layer, exact to the page of 4 KiB: where each page of a host is, which
//! pages went stale, and what it takes to win them back.
//!
//! Two tables are all that it keeps per page: from logical to physical pages and back. A physical
//! page is valid while its logical page still points to it, so that writing a page changes two
//! cells and one count per block. A physical page is `block << shift | offset`.
//!
//! Hosts and collection share one append point, as in Desnoyers' model (SYSTOR 2012), whose
//! figure for the write amplification of greedy collection this layer matches. No block is set
//! aside: a victim is moved into the rest of the open block. The one rule that keeps this from a
//! dead end is that free pages, those of the open block and of free blocks, are never less than
//! the valid pages of the cheapest victim. Hosts are held where one more page would break it.
//! Since the victim is erased in the end, at least a block of free pages follows, and because
//! user pages leave more than a block of spare, a victim with stale pages always exists.
//!
//! Cost and benefit can only tell blocks apart whose pages are unlike, so with
//! [`Policy::CostBenefit`] hosts have an append point of their own, and moved pages, which are
//! the colder ones, stay among themselves. That takes a second block of spare; a drive without
//! one shares the append point after all.
//!
//! A cache of pSLC blocks, with one bit a cell, is a second append point, of hosts alone. Its
//! blocks are folded in the order they were filled, into the native append point.
//!
//! Time is not part of this module: it says what was moved, and its caller what that costs.

mod blocks;
mod collect;
mod table;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;

use thiserror::Error;

pub use crate::spec::{CacheKind, Policy};
use blocks::Blocks;
pub use blocks::State;
pub use collect::Collected;
use collect::Victim;
use table::Table;
pub use table::prefetch;

/// What [`Ftl::lookup`] says of a page that holds nothing.
pub const UNMAPPED: u32 = u32::MAX;

/// Free blocks without which no block of a dynamic cache is opened. Collection under load wins
/// back one at a time, so that a cache which was used up stays so until the drive had rest.
pub const CACHE_FREE_BLOCKS: u32 = 3;

/// A cache of blocks in pSLC mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// Where its blocks are from.
    pub kind: CacheKind,
    /// Pages that it holds at most, stale ones with them.
    pub pages: u32,
    /// Bits of a cell in native mode: a block in pSLC mode holds `pages_per_block / bits`.
    pub bits: u32,
    /// Pages of one program operation in pSLC mode.
    pub slc_unit_pages: u32,
}

/// A drive's size and the way it collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FtlConfig {
    /// Logical pages.
    pub user_pages: u32,
    /// Blocks that hold data, those of a static cache not counted.
    pub blocks: u32,
    /// Pages of a block in native mode, a power of two.
    pub pages_per_block: u32,
    /// Pages of one program operation in native mode.
    pub unit_pages: u32,
    /// Which block is collected next.
    pub policy: Policy,
    /// Blocks in pSLC mode.
    pub cache: Option<Cache>,
}

/// Why there is no such drive.
#[derive(Debug, Error)]
pub enum FtlError {
    /// Sizes that do not fit each other.
    #[error("{0}")]
    Config(&'static str),
    /// There is no memory for its tables.
    #[error("no memory for the tables of a drive: {0}")]
    Memory(#[from] io::Error),
}

/// Where neighbouring pages were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first physical page.
    pub ppn: u32,
    /// Pages that were written, from 1 to as many as were asked for.
    pub pages: u32,
    unit_left: u32,
    unit_pages: u32,
    block_end: u32,
}

impl Run {
    /// The program operations that it completed: for each, how many pages of the run it took to
    /// its end, earlier ones counted.
    #[inline(always)]
    pub fn ends_of_units(self) -> impl Iterator<Item = u32> {
        let whole = self.block_end - self.ppn;
        let mut next = self.unit_left;
        std::iter::from_fn(move || {
            let end = next;
            // the last unit of a block may be a short one
            next = (end + self.unit_pages).min(whole.max(end + 1));
            (end <= self.pages).then_some(end)
        })
    }
}

/// Totals since the drive was made; a purge changes none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages written by the host.
    pub host_pages: u64,
    /// Pages moved between native blocks.
    pub moved_pages: u64,
    /// Pages moved out of the cache.
    pub folded_pages: u64,
    /// Blocks erased, in either mode.
    pub erased_blocks: u64,
}

impl Counters {
    /// Pages programmed for each page that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        let moved = (self.moved_pages + self.folded_pages) as f64;
        1.0 + moved / (self.host_pages as f64).max(1.0)
    }
}

/// Where pages are appended: the rest of an open block, if there is one.
#[derive(Debug, Clone, Copy, Default)]
struct Append {
    block: u32,
    open: bool,
    next: u32,
    end: u32,
    unit_left: u32,
    unit_pages: u32,
}

impl Append {
    fn new(unit_pages: u32) -> Self {
        Append {
            unit_pages,
            ..Append::default()
        }
    }

    fn open(&mut self, block: u32, first: u32, pages: u32) {
        (self.block, self.open) = (block, true);
        (self.next, self.end) = (first, first + pages);
        self.begin_unit();
    }

    fn shut(&mut self) {
        *self = Append::new(self.unit_pages);
    }

    fn left(&self) -> u32 {
        self.end - self.next
    }

    /// The last unit of a block may be a short one.
    #[inline(always)]
    fn begin_unit(&mut self) {
        self.unit_left = self.unit_pages.min(self.left());
    }

    /// Count pages that were written; whether they ended a unit.
    #[inline(always)]
    fn advance(&mut self, pages: u32) -> bool {
        self.next += pages;
        let unit_full = pages >= self.unit_left;
        if unit_full {
            let beyond = (pages - self.unit_left) % self.unit_pages;
            self.unit_left = (self.unit_pages - beyond).min(self.left());
        } else {
            self.unit_left -= pages;
        }
        unit_full
    }
}

/// An append point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    /// Collection's, and the host's if it shares it.
    Native,
    /// The host's own.
    Host,
    /// The cache's.
    Slc,
}

/// A drive's translation layer.
#[derive(Debug, Clone)]
pub struct Ftl {
    /// By logical page, its physical page, counted from 1.
    l2p: Table,
    /// By physical page, the logical page that was last written there, counted from 1.
    p2l: Table,
    blocks: Blocks,
    shift: u32,
    native: Append,
    host: Append,
    slc: Append,
    /// Where the host appends now.
    stream: Stream,
    /// Whether the host has an append point of its own in native mode.
    separate: bool,
    /// Pages that hosts may append before [`Ftl::refresh`] has to look again.
    host_left: u32,
    /// What collection and folding are at.
    victim: Option<Victim>,
    fold: Option<Victim>,
    /// What collection would take next, as far as was last looked. It is closed.
    candidate: Option<u32>,
    /// Full blocks of the cache and their pages, the oldest first.
    cached: VecDeque<(u32, u32)>,
    /// Pages of all blocks of the cache that are not free.
    cache_capacity: u32,
    cache_free: VecDeque<u32>,
    mapped: u32,
    counters: Counters,
    /// Pages of erased blocks, which were programmed but are no longer there.
    erased_pages: u64,
    config: FtlConfig,
}

impl Ftl {
    /// A purged drive.
    pub fn new(config: &FtlConfig) -> Result<Self, FtlError> {
        let blocks = check(config)?;
        let pages = blocks as usize * config.pages_per_block as usize;
        let mut ftl = Ftl {
            l2p: Table::new(config.user_pages as usize)?,
            p2l: Table::new(pages)?,
            blocks: Blocks::new(blocks, config.blocks),
            shift: config.pages_per_block.trailing_zeros(),
            native: Append::new(config.unit_pages),
            host: Append::new(config.unit_pages),
            slc: Append::new(config.cache.map_or(1, |cache| cache.slc_unit_pages)),
            stream: Stream::Native,
            separate: config.policy == Policy::CostBenefit
                && config.user_pages < (config.blocks - 2) * config.pages_per_block,
            host_left: 0,
            victim: None,
            fold: None,
            candidate: None,
            cached: VecDeque::new(),
            cache_capacity: 0,
            cache_free: (config.blocks..blocks).collect(),
            mapped: 0,
            counters: Counters::default(),
            erased_pages: 0,
            config: *config,
        };
        ftl.refresh();
        Ok(ftl)
    }

    /// What it was made from.
    pub fn config(&self) -> &FtlConfig {
        &self.config
    }

    /// Forget all data; all blocks are free. Their erasing is not counted.
    pub fn purge(&mut self) {
        let blocks = self.blocks.count();
        // a new drive's table has not been touched yet
        if self.programmed_pages() > 0 {
            self.l2p.clear();
        }
        self.blocks = Blocks::new(blocks, self.config.blocks);
        self.native.shut();
        self.host.shut();
        self.slc.shut();
        (self.victim, self.fold, self.candidate) = (None, None, None);
        self.cached.clear();
        self.cache_capacity = 0;
        self.cache_free = (self.config.blocks..blocks).collect();
        self.mapped = 0;
        self.erased_pages = self.programmed_pages();
        self.refresh();
    }

    /// Forget `count` logical pages from `first` on.
    pub fn trim(&mut self, first: u32, count: u32) {
        let (mapped, blocks, shift) = (&mut self.mapped, &mut self.blocks, self.shift);
        self.l2p.put_run(first, count, 0, |old, count| {
            *mapped -= count;
            blocks.invalidate_run(old - 1, count, shift);
        });
        self.refresh();
    }

    /// The physical page of a logical one, or [`UNMAPPED`].
    #[inline]
    pub fn lookup(&self, lpn: u32) -> u32 {
        self.l2p.get(lpn).wrapping_sub(1)
    }

    /// How many logical pages from `lpn` on, at most `most`, are in physical ones from `ppn` on.
    #[inline(always)]
    pub fn following(&self, lpn: u32, ppn: u32, most: u32) -> u32 {
        if most == 1 {
            return u32::from(self.lookup(lpn) == ppn);
        }
        self.l2p.following(lpn, ppn + 1, most)
    }

    /// The logical page that a physical page holds, if it is valid.
    pub fn holds(&self, ppn: u32) -> Option<u32> {
        let lpn = self.p2l.get(ppn).checked_sub(1)?;
        (self.lookup(lpn) == ppn).then_some(lpn)
    }

    /// Ask for what is known of a logical page to be brought near, some 32 to 64 calls before it
    /// is used.
    #[inline]
    pub fn prefetch(&self, lpn: u32) {
        self.l2p.prefetch(lpn);
    }

    /// Whether the host may write a page now.
    #[inline]
    pub fn can_write(&self) -> bool {
        self.host_left > 0
    }

    /// Pages that the host may write at least before this is 0 and collection has to go first.
    /// It is looked at again when it is used up and at the end of a block, so that it may grow
    /// without collection.
    #[inline]
    pub fn host_room(&self) -> u32 {
        self.host_left
    }

    /// Write up to `count` neighbouring pages from `lpn` on, as many as may be written before
    /// [`Ftl::can_write`] has to be asked again.
    ///
    /// # Panics
    ///
    /// Where [`Ftl::can_write`] is false, for pages that are not the drive's, and for a `count`
    /// of 0.
    #[inline(always)]
    pub fn write(&mut self, lpn: u32, count: u32) -> Run {
        assert!(count > 0, "a run has at least one page");
        assert!(self.host_left > 0, "a write has to wait for collection");
        let append = match self.stream {
            Stream::Native => &mut self.native,
            Stream::Host => &mut self.host,
            Stream::Slc => &mut self.slc,
        };
        let pages = count.min(self.host_left);
        let ppn = append.next;
        let (mapped, blocks, shift) = (&mut self.mapped, &mut self.blocks, self.shift);
        *mapped += pages;
        if pages == 1 {
            let old = self.l2p.put(lpn, ppn + 1);
            self.p2l.put(ppn, lpn + 1);
            if old != 0 {
                *mapped -= 1;
                blocks.invalidate((old - 1) >> shift, 1);
            }
        } else {
            assert!(pages <= self.config.user_pages - lpn, "not a page of it");
            self.l2p.put_run(lpn, pages, ppn + 1, |old, count| {
                *mapped -= count;
                blocks.invalidate_run(old - 1, count, shift);
            });
            self.p2l.put_run(ppn, pages, lpn + 1, |_, _| {});
        }
        let unit_left = append.unit_left;
        append.advance(pages);
        self.counters.host_pages += u64::from(pages);
        self.host_left -= pages;
        let run = Run {
            ppn,
            pages,
            unit_left,
            unit_pages: append.unit_pages,
            block_end: append.end,
        };
        if self.host_left == 0 {
            self.refresh();
        }
        run
    }

    /// Whether a physical page is in a block in pSLC mode.
    #[inline]
    pub fn is_slc(&self, ppn: u32) -> bool {
        self.blocks.is_slc(ppn >> self.shift)
    }

    /// Whether the host's next page goes to the cache.
    #[inline]
    pub fn writes_go_to_cache(&self) -> bool {
        self.stream == Stream::Slc
    }

    /// Totals.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Logical pages that hold something.
    pub fn valid_pages(&self) -> u32 {
        self.mapped
    }

    /// Physical pages that were written and are no longer valid, until their block is erased.
    pub fn stale_pages(&self) -> u32 {
        (self.programmed_pages() - self.erased_pages) as u32 - self.mapped
    }

    /// Valid pages in the cache. Looks at each of its blocks.
    pub fn cached_pages(&self) -> u32 {
        let full = self.cached.iter().map(|&(block, _)| block);
        let folding = self.fold.map(|victim| victim.block);
        let open = self.slc.open.then_some(self.slc.block);
        let valid = |block| self.blocks.valid(block);
        let unwritten = self.slc.left();
        full.chain(folding).chain(open).map(valid).sum::<u32>() - unwritten
    }

    /// Pages of the cache that are not erased, and those that its open block has left.
    pub fn cache_capacity_used(&self) -> u32 {
        self.cache_capacity
    }

    /// Blocks of all kinds, those of a static cache last.
    pub fn blocks(&self) -> u32 {
        self.blocks.count()
    }

    /// Erased blocks, those of a static cache not counted.
    pub fn free_blocks(&self) -> u32 {
        self.blocks.free()
    }

    /// Pages that can be programmed in native mode before anything is erased.
    pub fn free_pages(&self) -> u32 {
        self.host.left() + self.collection_pages()
    }

    /// What a block is at the moment.
    pub fn block_state(&self, block: u32) -> State {
        self.blocks.state(block)
    }

    /// Valid pages of a block.
    pub fn block_valid(&self, block: u32) -> u32 {
        let open = [self.native, self.host, self.slc]
            .iter()
            .filter(|append| append.open && append.block == block)
            .map(Append::left)
            .sum::<u32>();
        self.blocks.valid(block) - open
    }

    /// Free pages that collection may append to.
    fn collection_pages(&self) -> u32 {
        self.native.left() + (self.blocks.free() << self.shift)
    }

    fn programmed_pages(&self) -> u64 {
        let counters = &self.counters;
        counters.host_pages + counters.moved_pages + counters.folded_pages
    }

    fn cache_is(&self, kind: CacheKind) -> bool {
        self.config.cache.is_some_and(|cache| cache.kind == kind)
    }

    /// Close full blocks, open new ones, and see how far the host may go.
    #[cold]
    #[inline(never)]
    fn refresh(&mut self) {
        self.close_full();
        (self.stream, self.host_left) = if self.open_slc() {
            (Stream::Slc, self.slc.left())
        } else if self.separate {
            if !self.host.open {
                // A whole block is at stake: look at what is cheapest now.
                self.candidate = None;
                if self.room() >= self.config.pages_per_block {
                    self.host = self.open_block(self.host);
                }
            }
            (Stream::Host, self.host.left())
        } else {
            self.open_native();
            (Stream::Native, self.room().min(self.native.left()))
        };
    }

    fn close_full(&mut self) {
        let now = self.programmed_pages();
        for append in [&mut self.native, &mut self.host] {
            if append.open && append.left() == 0 {
                self.blocks.close(append.block, now);
                append.shut();
            }
        }
        if self.slc.open && self.slc.left() == 0 {
            self.shut_slc();
        }
    }

    /// Close the cache's open block, full or not.
    fn shut_slc(&mut self) {
        let first = self.slc.block << self.shift;
        self.blocks.forgo(self.slc.block, self.slc.left());
        self.cache_capacity -= self.slc.left();
        self.cached
            .push_back((self.slc.block, self.slc.next - first));
        self.slc.shut();
    }

    fn open_native(&mut self) {
        if !self.native.open {
            self.native = self.open_block(self.native);
        }
    }

    /// An append point in a free block, or as it was where there is none.
    fn open_block(&mut self, mut append: Append) -> Append {
        if let Some(block) = self.blocks.take_free() {
            let pages = self.config.pages_per_block;
            self.blocks.open(block, pages, false);
            append.open(block, block << self.shift, pages);
        }
        append
    }

    /// Have an open block in the cache, if the cache may take more.
    fn open_slc(&mut self) -> bool {
        if self.slc.open {
            return true;
        }
        let Some(cache) = self.config.cache else {
            return false;
        };
        let budget = cache.pages - self.cache_capacity;
        let pages = budget.min(self.config.pages_per_block / cache.bits);
        if pages == 0 {
            return false;
        }
        let block = match cache.kind {
            CacheKind::Static => self.cache_free.pop_front(),
            CacheKind::Dynamic if self.blocks.free() < CACHE_FREE_BLOCKS => None,
            CacheKind::Dynamic => self.blocks.take_free(),
        };
        let Some(block) = block else {
            return false;
        };
        self.blocks.open(block, pages, true);
        self.slc.open(block, block << self.shift, pages);
        self.cache_capacity += pages;
        true
    }
}

/// The number of blocks, with those of a static cache.
fn check(config: &FtlConfig) -> Result<u32, FtlError> {
    let bad = |message| Err(FtlError::Config(message));
    let pages_per_block = u64::from(config.pages_per_block);
    if !config.pages_per_block.is_power_of_two() || !(2..1 << 30).contains(&pages_per_block) {
        return bad("pages of a block have to be a power of two from 2 to 2^29");
    }
    if config.user_pages == 0 || config.unit_pages == 0 {
        return bad("a drive has at least one user page and one page of a program operation");
    }
    let spare_for = u64::from(config.blocks).saturating_sub(1) * pages_per_block;
    if u64::from(config.user_pages) >= spare_for {
        return bad("user pages have to leave more than one block of spare");
    }
    let mut blocks = u64::from(config.blocks);
    if let Some(cache) = config.cache {
        if cache.bits < 2 || cache.bits > config.pages_per_block || cache.slc_unit_pages == 0 {
            return bad("cells outside of a cache have at least 2 bits, and its units a page");
        }
        if cache.kind == CacheKind::Static {
            blocks += u64::from(cache.pages.div_ceil(config.pages_per_block / cache.bits));
        }
    }
    if blocks * pages_per_block > u64::from(u32::MAX) {
        return bad("physical pages have to be less than 2^32");
    }
    Ok(blocks as u32)
}
