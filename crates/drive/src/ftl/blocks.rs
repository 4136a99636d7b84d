//! What is known of each block: how many of its pages are valid, and whether it may be collected.

use std::collections::VecDeque;

/// Set in the key of a block that collection may not choose: free, open, being collected or in
/// pSLC mode.
const APART: u32 = 1 << 31;
/// Set in the key of a block in pSLC mode, and only together with [`APART`].
const SLC: u32 = 1 << 30;
/// Blocks of a group, and groups of a group of groups. A search looks down from the top.
const GROUP: usize = 64;
/// Blocks that one search by cost and benefit looks at.
const WINDOW: usize = 2048;

/// What a block is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Erased.
    Free,
    /// In use in native mode.
    Native,
    /// In use in pSLC mode.
    Slc,
}

/// All blocks of a drive.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    /// By block, its valid pages and flags. An open block counts pages as valid that are not yet
    /// written, so that writing one touches nothing here.
    keys: Vec<u32>,
    /// By group, its least key, or [`APART`] where no block may be collected. Keys only fall
    /// while a block is closed, so that this costs an invalidation one comparison, and the least
    /// of all is exact.
    least: Vec<u32>,
    /// By group of groups, the least of `least`.
    least_of_all: Vec<u32>,
    /// By block, when it was closed, in programmed pages.
    closed_at: Vec<u64>,
    in_use: Vec<bool>,
    free: VecDeque<u32>,
    cursor: usize,
}

impl Blocks {
    /// `count` blocks, of which the first `shared` are free for all; the rest is the cache's own.
    pub(super) fn new(count: u32, shared: u32) -> Self {
        let groups = (count as usize).div_ceil(GROUP);
        Blocks {
            keys: vec![APART; count as usize],
            least: vec![APART; groups],
            least_of_all: vec![APART; groups.div_ceil(GROUP)],
            closed_at: vec![0; count as usize],
            in_use: vec![false; count as usize],
            free: (0..shared).collect(),
            cursor: 0,
        }
    }

    /// Valid pages of a block, and pages of it that are open.
    pub(super) fn valid(&self, block: u32) -> u32 {
        self.keys[block as usize] & !(APART | SLC)
    }

    pub(super) fn is_slc(&self, block: u32) -> bool {
        self.keys[block as usize] & SLC != 0
    }

    pub(super) fn state(&self, block: u32) -> State {
        match (self.in_use[block as usize], self.is_slc(block)) {
            (false, _) => State::Free,
            (true, false) => State::Native,
            (true, true) => State::Slc,
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.keys.len() as u32
    }

    pub(super) fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// The block that has been free for longest, which levels wear a little.
    pub(super) fn take_free(&mut self) -> Option<u32> {
        self.free.pop_front()
    }

    pub(super) fn give_free(&mut self, block: u32) {
        self.free.push_back(block);
    }

    /// Start to write a block, up to `pages` of it.
    pub(super) fn open(&mut self, block: u32, pages: u32, slc: bool) {
        self.keys[block as usize] = APART | if slc { SLC } else { 0 } | pages;
        self.in_use[block as usize] = true;
    }

    /// Count out pages of an open block that will not be written.
    pub(super) fn forgo(&mut self, block: u32, pages: u32) {
        self.keys[block as usize] -= pages;
    }

    /// Let a full native block be collected.
    pub(super) fn close(&mut self, block: u32, now: u64) {
        let key = &mut self.keys[block as usize];
        *key &= !APART;
        let key = *key;
        self.lower(block, key);
        self.closed_at[block as usize] = now;
    }

    /// Start to collect a closed block: it will not be chosen again.
    pub(super) fn take_closed(&mut self, block: u32) {
        self.keys[block as usize] |= APART;
        let group = block as usize / GROUP;
        self.least[group] = least_of_group(&self.keys, group);
        let group_of_groups = group / GROUP;
        self.least_of_all[group_of_groups] = least_of_group(&self.least, group_of_groups);
    }

    /// Forget a block of which no page is valid.
    pub(super) fn erase(&mut self, block: u32) {
        debug_assert_eq!(self.valid(block), 0);
        self.keys[block as usize] = APART;
        self.in_use[block as usize] = false;
    }

    /// Neighbouring pages are no longer valid, in blocks of `1 << shift` pages.
    #[inline(always)]
    pub(super) fn invalidate_run(&mut self, ppn: u32, pages: u32, shift: u32) {
        let (mut ppn, end) = (ppn, ppn + pages);
        while ppn < end {
            let block = ppn >> shift;
            let next = end.min((block + 1) << shift);
            self.invalidate(block, next - ppn);
            ppn = next;
        }
    }

    /// This many pages of a block are no longer valid.
    #[inline(always)]
    pub(super) fn invalidate(&mut self, block: u32, pages: u32) {
        let key = &mut self.keys[block as usize];
        *key -= pages;
        let key = *key;
        self.lower(block, key);
    }

    #[inline(always)]
    fn lower(&mut self, block: u32, key: u32) {
        let group = block as usize / GROUP;
        let least = &mut self.least[group];
        if key < *least {
            *least = key;
            let least_of_all = &mut self.least_of_all[group / GROUP];
            *least_of_all = key.min(*least_of_all);
        }
    }

    /// The closed native block with the least valid pages.
    pub(super) fn greedy(&self) -> Option<u32> {
        let least = least(&self.least_of_all);
        if least == APART {
            return None;
        }
        let mut at = 0;
        for level in [&self.least_of_all, &self.least, &self.keys] {
            at *= GROUP;
            at += level[at..].iter().position(|&key| key == least)?;
        }
        Some(at as u32)
    }

    /// Among the closed native blocks with at most `fit` valid pages the one with the largest
    /// age * stale / valid (Kawaguchi et al., USENIX 1995), its age counted from its closing.
    /// Of more than [`WINDOW`] blocks, each search looks at the next [`WINDOW`].
    pub(super) fn cost_benefit(&mut self, fit: u32, pages: u32, now: u64) -> Option<u32> {
        let (mut best, mut best_score) = (None, 0.0);
        let count = self.keys.len();
        let fit = fit.min(pages - 1);
        for step in 0..count.min(WINDOW) {
            let block = (self.cursor + step) % count;
            let key = self.keys[block];
            if key > fit {
                continue;
            }
            let age = (now - self.closed_at[block]) as f64 + 1.0;
            // A block without valid pages is better than any other, the older the better.
            let score = age * f64::from(pages - key) / (f64::from(key) + 1e-9);
            if score > best_score {
                (best, best_score) = (Some(block as u32), score);
            }
        }
        if count > WINDOW {
            self.cursor = (self.cursor + WINDOW) % count;
        }
        best
    }
}

fn least(keys: &[u32]) -> u32 {
    keys.iter().fold(APART, |least, &key| least.min(key))
}

fn least_of_group(keys: &[u32], group: usize) -> u32 {
    least(&keys[group * GROUP..keys.len().min((group + 1) * GROUP)])
}
