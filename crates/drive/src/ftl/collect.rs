//! Winning stale pages back: collection of native blocks, and folding of the cache's.

use super::{CacheKind, Ftl, Policy, Stream};

/// Pages ahead of a move that their logical page's cell is asked for.
const AHEAD: u32 = 64;

/// A block that is being emptied, and how far it was looked through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Victim {
    pub(super) block: u32,
    next: u32,
    end: u32,
}

/// What a step of collection or folding did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    /// Pages that it moved.
    pub moved: u32,
    /// The first physical page that it looked at.
    pub scanned_from: u32,
    /// The physical page after the last that it looked at. Only valid pages have to be read.
    pub scanned_to: u32,
    /// The first physical page of the program operation that it completed. Earlier pages of it
    /// may be the host's.
    pub programmed: Option<u32>,
    /// The block that it erased.
    pub erased: Option<u32>,
    /// Whether the block that it looked at is in pSLC mode.
    pub was_slc: bool,
}

impl Ftl {
    /// Free blocks at which collection should be under way: none, for the open block is where
    /// victims go, or one where the host has an open block of its own.
    pub fn low_water_blocks(&self) -> u32 {
        u32::from(self.separate)
    }

    /// Whether collection should be under way.
    pub fn needs_collection(&self) -> bool {
        self.blocks.free() <= self.low_water_blocks()
    }

    /// Whether the host has to wait for collection.
    pub fn must_collect(&self) -> bool {
        !self.can_write()
    }

    /// Valid pages of what collection is at, or would take next, if that gains anything.
    pub fn victim_valid(&self) -> Option<u32> {
        match self.victim {
            Some(victim) => Some(self.blocks.valid(victim.block)),
            None => self.next_valid(),
        }
    }

    /// Pages that collection moves for each page that it wins, were it to take a whole block
    /// now. Infinite where nothing can be won.
    pub fn moves_per_free_page(&self) -> f64 {
        let pages = f64::from(self.config.pages_per_block);
        self.next_valid().map_or(f64::INFINITY, |valid| {
            f64::from(valid) / (pages - f64::from(valid))
        })
    }

    fn next_valid(&self) -> Option<u32> {
        let greedy = || self.blocks.greedy();
        let pages = self.config.pages_per_block;
        let standing = self.candidate.filter(|&block| {
            self.config.policy == Policy::CostBenefit && self.blocks.valid(block) < pages
        });
        let native = standing.or_else(greedy);
        let native = native.map_or(u32::MAX, |block| self.blocks.valid(block));
        let least = native.min(self.fold_cost());
        (least < pages).then_some(least)
    }

    /// Valid pages of what collection is at that it has still to move.
    pub fn moves_left(&self) -> u32 {
        self.victim
            .map_or(0, |victim| self.blocks.valid(victim.block))
    }

    /// Move valid pages of a victim until a program operation is complete or the victim is
    /// erased; `None` where no block has a stale page. A dynamic cache's oldest block is the
    /// victim where it has less valid pages than any other.
    #[inline]
    pub fn collect_unit(&mut self) -> Option<Collected> {
        if let Some(victim) = self.victim {
            let valid = self.blocks.valid(victim.block);
            if valid <= self.fold_cost() {
                return Some(self.step(victim, false, valid));
            }
        }
        self.collect_next()
    }

    #[inline(never)]
    fn collect_next(&mut self) -> Option<Collected> {
        if let Some(victim) = self.victim {
            // A block of the cache is cheaper, and may need all that is left.
            let room = self.room();
            if room > 0 {
                return Some(self.step(victim, false, room));
            }
            return self.fold_step();
        }
        self.candidate = self.choose();
        let cost = self.native_cost();
        if self.fold_cost() < cost {
            return self.fold_step();
        }
        let pages = self.config.pages_per_block;
        let block = self.candidate.filter(|_| cost < pages)?;
        self.candidate = None;
        self.blocks.take_closed(block);
        let victim = self.begin(block, pages);
        self.victim = Some(victim);
        // It may need more free pages than what was last looked at, though no more than there are.
        self.refresh();
        Some(self.step(victim, false, cost))
    }

    /// Move valid pages out of the cache's oldest block until a program operation is complete or
    /// the block is erased; `None` where the cache is empty. Where free pages do not allow it,
    /// collection goes first. A block that the host has not filled is the last to be folded.
    pub fn fold_unit(&mut self) -> Option<Collected> {
        if !self.can_fold() {
            return None;
        }
        if self.fold.is_none() && self.cached.is_empty() {
            self.shut_slc();
            self.refresh();
        }
        self.fold_step()
    }

    /// Whether the cache holds anything to be folded.
    pub fn can_fold(&self) -> bool {
        let begun = self.slc.open && self.slc.next > self.slc.block << self.shift;
        self.fold.is_some() || !self.cached.is_empty() || begun
    }

    fn fold_step(&mut self) -> Option<Collected> {
        if self.fold.is_none() {
            let (block, pages) = self.cached.pop_front()?;
            self.fold = Some(self.begin(block, pages));
        }
        let fold = self.fold?;
        let limit = self.fold_limit();
        if limit == 0 && self.blocks.valid(fold.block) > 0 {
            return self.collect_unit();
        }
        Some(self.step(fold, true, limit))
    }

    /// Pages that folding may move now. It may go to the end of the block where that gives a
    /// block back to all.
    fn fold_limit(&mut self) -> u32 {
        let cost = self.fold_cost();
        if cost <= self.native_cost() && cost <= self.collection_pages() {
            return cost;
        }
        self.room()
    }

    /// Free pages without which folding cannot give a block back to all.
    fn fold_cost(&self) -> u32 {
        if !self.cache_is(CacheKind::Dynamic) {
            return u32::MAX;
        }
        let folding = self.fold.map(|victim| victim.block);
        let next = || self.cached.front().map(|&(block, _)| block);
        folding
            .or_else(next)
            .map_or(u32::MAX, |block| self.blocks.valid(block))
    }

    /// Free pages without which collection cannot give a block back, as far as was last looked.
    fn native_cost(&self) -> u32 {
        let at = self.victim.map(|victim| victim.block).or(self.candidate);
        at.map_or(u32::MAX, |block| self.blocks.valid(block))
    }

    /// Free pages that may be programmed while those remain that the cheapest victim needs.
    pub(super) fn room(&mut self) -> u32 {
        let free = self.collection_pages();
        let spent = |ftl: &Ftl| match ftl.native_cost().min(ftl.fold_cost()) {
            u32::MAX => 0,
            cost => cost,
        };
        // A block once chosen only gets cheaper, so it serves until there seems to be no room.
        if self.candidate.is_none() && self.victim.is_none() || free <= spent(self) {
            self.candidate = match self.victim {
                Some(_) => None,
                None => self.choose(),
            };
        }
        free.saturating_sub(spent(self))
    }

    fn choose(&mut self) -> Option<u32> {
        let (pages, now) = (self.config.pages_per_block, self.programmed_pages());
        let fit = self.collection_pages();
        match self.config.policy {
            Policy::Greedy => None,
            Policy::CostBenefit => self.blocks.cost_benefit(fit, pages, now),
        }
        .or_else(|| self.blocks.greedy())
    }

    fn begin(&self, block: u32, pages: u32) -> Victim {
        let next = block << self.shift;
        let ahead = next..next + pages.min(AHEAD);
        for ppn in ahead {
            self.l2p.prefetch(self.p2l.get(ppn).wrapping_sub(1));
        }
        Victim {
            block,
            next,
            end: next + pages,
        }
    }

    /// Move at most `limit` pages of a victim.
    #[inline]
    fn step(&mut self, mut victim: Victim, was_slc: bool, limit: u32) -> Collected {
        let mut valid = self.blocks.valid(victim.block);
        let mut limit = limit.min(valid);
        if limit > 0 {
            if !self.native.open {
                self.open_native();
            }
            limit = limit.min(self.native.unit_left);
        }
        let scanned_from = victim.next;
        let begin = self.native.next;
        let unit = begin + self.native.unit_left;
        let (mut l2p, mut p2l) = (self.l2p.open(), self.p2l.open());
        let mut moved = 0;
        while moved < limit {
            let from = victim.next;
            victim.next += 1;
            if from + AHEAD < victim.end {
                l2p.prefetch(p2l.get(from + AHEAD).wrapping_sub(1));
            }
            let number = p2l.get(from);
            let to = begin + moved;
            let valid = l2p.put_if(number - 1, from + 1, to + 1);
            // a page that was not moved leaves its number where the next will overwrite it
            p2l.put(to, number);
            moved += u32::from(valid);
        }
        let mut programmed = None;
        if moved > 0 {
            self.blocks.invalidate(victim.block, moved);
            valid -= moved;
            let first = self.native.block << self.shift;
            let unit_pages = self.native.unit_pages;
            if self.native.advance(moved) {
                programmed = Some(first + (unit - 1 - first) / unit_pages * unit_pages);
            }
        }
        if was_slc {
            self.counters.folded_pages += u64::from(moved);
        } else {
            self.counters.moved_pages += u64::from(moved);
        }
        let done = valid == 0;
        let slot = if was_slc {
            &mut self.fold
        } else {
            &mut self.victim
        };
        *slot = (!done).then_some(victim);
        if done {
            self.erase(victim, was_slc);
        }
        // A native victim needs one free page less for each that it took: nothing changed for
        // the host but the end of the block.
        let left = self.native.left();
        if done || was_slc || left == 0 || self.cache_is(CacheKind::Dynamic) {
            self.refresh();
        } else if self.stream == Stream::Native {
            self.host_left = self.host_left.min(left);
        }
        Collected {
            moved,
            scanned_from,
            scanned_to: victim.next,
            programmed,
            erased: done.then_some(victim.block),
            was_slc,
        }
    }

    fn erase(&mut self, victim: Victim, was_slc: bool) {
        let pages = victim.end - (victim.block << self.shift);
        self.blocks.erase(victim.block);
        self.counters.erased_blocks += 1;
        self.erased_pages += u64::from(pages);
        if was_slc {
            self.cache_capacity -= pages;
        }
        if was_slc && self.cache_is(CacheKind::Static) {
            self.cache_free.push_back(victim.block);
        } else {
            self.blocks.give_free(victim.block);
        }
    }
}
