//! The part of the map that a drive without DRAM of its own keeps at hand; the rest is in flash.

use crate::spec::{MapCacheSpec, PAGE_BYTES};

/// Where a piece is that was never written: there is nothing to read.
const NOWHERE: u32 = u32::MAX;
const IN_FLASH: u32 = u32::MAX - 1;

/// Pieces at hand, of which one that was not used for a turn of the clock makes room (Corbato,
/// MIT, 1968).
#[derive(Debug, Clone)]
pub struct MapCache {
    piece_pages: u32,
    /// By piece, its slot.
    slots: Vec<u32>,
    /// By slot, its piece.
    pieces: Vec<u32>,
    used: Vec<bool>,
    hand: usize,
}

impl MapCache {
    /// One of a drive without data, for so many pages.
    pub fn new(spec: &MapCacheSpec, user_pages: u32) -> MapCache {
        let piece_pages = (spec.piece_bytes / PAGE_BYTES) as u32;
        let pieces = user_pages.div_ceil(piece_pages);
        let at_hand = (spec.bytes_covered / spec.piece_bytes).min(u64::from(pieces)) as usize;
        MapCache {
            piece_pages,
            slots: vec![NOWHERE; pieces as usize],
            pieces: vec![NOWHERE; at_hand],
            used: vec![false; at_hand],
            hand: 0,
        }
    }

    /// Forget all pieces: nothing is written.
    pub fn purge(&mut self) {
        self.slots.fill(NOWHERE);
        self.pieces.fill(NOWHERE);
    }

    /// The pieces of some pages.
    #[inline]
    pub fn of(&self, first: u32, pages: u32) -> std::ops::RangeInclusive<u32> {
        let last = first + pages.max(1) - 1;
        first / self.piece_pages..=last / self.piece_pages
    }

    /// Have a piece at hand, if it is written or has something written; whether it has to be read
    /// from flash.
    #[inline]
    pub fn misses(&mut self, piece: u32, read: bool) -> bool {
        let slot = self.slots[piece as usize];
        if slot < IN_FLASH {
            self.used[slot as usize] = true;
            return false;
        }
        if slot == NOWHERE && read {
            return false;
        }
        self.take_slot(piece);
        slot == IN_FLASH
    }

    fn take_slot(&mut self, piece: u32) {
        while std::mem::take(&mut self.used[self.hand]) {
            self.hand = (self.hand + 1) % self.used.len();
        }
        let out = std::mem::replace(&mut self.pieces[self.hand], piece);
        if out != NOWHERE {
            self.slots[out as usize] = IN_FLASH;
        }
        self.slots[piece as usize] = self.hand as u32;
        self.used[self.hand] = true;
        self.hand = (self.hand + 1) % self.used.len();
    }
}
