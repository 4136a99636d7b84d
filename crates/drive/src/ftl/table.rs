//! A table of page numbers, as large as the drive and touched at random.
//!
//! What was written in order lies in order, so that the first number of a group of places mostly
//! tells the others. A group of which that is not so is kept apart, number by number: the one that
//! is being written, and one at each end of a block. A region with many of them has a cell for each
//! place instead. So a drive that was filled in a sequence takes a 32nd of the memory, whose first
//! touch would cost more than the filling; and whether a place has a cell is known from one byte
//! for 32768.

use std::io;
use std::sync::Mutex;

use memmap2::MmapMut;

/// Places of a group.
const GROUP: usize = 32;
/// Places of a region.
const REGION: usize = 1 << 15;
/// Groups of a region that are kept apart before its places get cells.
const MOST_ODD: u16 = 64;
/// Groups of a table that are.
const MAX_ODD: u32 = 1 << 20;
/// The highest number that a group's first may be; what is above names a group that is kept apart.
const LAST_FIRST: u32 = u32::MAX - MAX_ODD;

/// Memory of cells that is no longer used. On a virtual machine it costs more to get memory from
/// the host than to fill the drive that it is for, and a matrix makes one drive after the other.
static SPARE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());
/// Tables of one drive: a matrix drops one before it makes the next.
const MAX_SPARE: usize = 2;
/// Less is not worth keeping, more too much to hold for nothing.
const SPARE_BYTES: std::ops::RangeInclusive<usize> = 1 << 26..=1 << 30;

/// Page numbers from 1 on; 0 is none, as all are at first.
#[derive(Debug)]
pub(super) struct Table {
    /// By region, whether its places have cells.
    apart: Vec<bool>,
    /// By group its first number, from which the others follow; 0 where it has none, and more than
    /// [`LAST_FIRST`] where it is one of `odd`.
    firsts: MmapMut,
    odd: Odd,
    /// By place, where its region has cells; the rest is whatever it was.
    cells: MmapMut,
}

/// Groups whose numbers do not follow on each other.
#[derive(Debug, Clone)]
struct Odd {
    groups: Vec<[u32; GROUP]>,
    free: Vec<u32>,
    /// By region, how many it has.
    count: Vec<u16>,
}

impl Odd {
    fn new(regions: usize) -> Self {
        Odd {
            groups: Vec::new(),
            free: Vec::new(),
            count: vec![0; regions],
        }
    }

    /// Where there is room for one more.
    fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let slot = self.groups.len() as u32;
            (slot < MAX_ODD).then(|| {
                self.groups.push([0; GROUP]);
                slot
            })
        })
    }
}

/// Which of the odd groups a group is, by its first number.
#[inline(always)]
fn slot_of(first: u32) -> Option<usize> {
    (first > LAST_FIRST).then(|| (first - LAST_FIRST - 1) as usize)
}

impl Table {
    /// A table of `count` numbers.
    pub(super) fn new(count: usize) -> io::Result<Self> {
        let regions = count.div_ceil(REGION).max(1);
        let bytes = regions * REGION * size_of::<u32>();
        Ok(Table {
            apart: vec![false; regions],
            firsts: memory(bytes / GROUP)?,
            odd: Odd::new(regions),
            cells: take_spare(bytes).map_or_else(|| memory(bytes), Ok)?,
        })
    }

    /// Set all to 0.
    pub(super) fn clear(&mut self) {
        self.apart.fill(false);
        self.firsts.fill(0);
        self.odd = Odd::new(self.apart.len());
    }

    #[inline(always)]
    fn cells(&self) -> &[u32] {
        bytemuck::cast_slice(&self.cells)
    }

    /// For many changes: what memory it has is then looked up once.
    #[inline(always)]
    pub(super) fn open(&mut self) -> Open<'_> {
        Open {
            apart: &mut self.apart,
            firsts: bytemuck::cast_slice_mut(&mut self.firsts),
            odd: &mut self.odd,
            cells: bytemuck::cast_slice_mut(&mut self.cells),
        }
    }

    /// The number at a place.
    #[inline(always)]
    pub(super) fn get(&self, at: u32) -> u32 {
        number(
            &self.apart,
            bytemuck::cast_slice(&self.firsts),
            &self.odd,
            bytemuck::cast_slice(&self.cells),
            at as usize,
        )
    }

    /// How many numbers from a place on, at most `most`, are `number` and those that follow on it.
    #[inline]
    pub(super) fn following(&self, at: u32, number: u32, most: u32) -> u32 {
        let mut count = 0;
        while count < most && self.get(at + count) == number + count {
            let here = (at + count) as usize;
            let firsts: &[u32] = bytemuck::cast_slice(&self.firsts);
            let each = self.apart[here / REGION] || firsts[here / GROUP] > LAST_FIRST;
            count += if each {
                1
            } else {
                (GROUP - here % GROUP) as u32
            };
        }
        count.min(most)
    }

    /// Change the number at a place; what was there.
    #[inline(always)]
    pub(super) fn put(&mut self, at: u32, number: u32) -> u32 {
        self.open().put(at, number)
    }

    /// As [`Open::put_run`].
    #[inline(always)]
    pub(super) fn put_run(&mut self, at: u32, count: u32, first: u32, was: impl FnMut(u32, u32)) {
        self.open().put_run(at, count, first, was);
    }

    /// Ask for a number to be brought near, if there is such a place; nothing waits for it.
    #[inline(always)]
    pub(super) fn prefetch(&self, at: u32) {
        let (firsts, cells) = (
            bytemuck::cast_slice(&self.firsts),
            bytemuck::cast_slice(&self.cells),
        );
        bring_near(&self.apart, firsts, cells, at);
    }
}

/// A table's memory.
#[derive(Debug)]
pub(super) struct Open<'a> {
    apart: &'a mut [bool],
    firsts: &'a mut [u32],
    odd: &'a mut Odd,
    cells: &'a mut [u32],
}

impl Open<'_> {
    /// The number at a place.
    #[inline(always)]
    pub(super) fn get(&self, at: u32) -> u32 {
        number(self.apart, self.firsts, self.odd, self.cells, at as usize)
    }

    /// As [`Table::prefetch`].
    #[inline(always)]
    pub(super) fn prefetch(&self, at: u32) {
        bring_near(self.apart, self.firsts, self.cells, at);
    }

    /// Change the number at a place; what was there.
    #[inline(always)]
    pub(super) fn put(&mut self, at: u32, number: u32) -> u32 {
        let at = at as usize;
        if !self.apart[at / REGION]
            && let Some(slot) = self.keep_apart(at / GROUP)
        {
            let old = std::mem::replace(&mut self.odd.groups[slot][at % GROUP], number);
            if (at + 1).is_multiple_of(GROUP) {
                self.put_back(at / GROUP, slot);
            }
            return old;
        }
        let old = std::mem::replace(&mut self.cells[at], number);
        if (at + 1).is_multiple_of(REGION) {
            self.join(at / REGION);
        }
        old
    }

    /// Change the number at a place to `new` if it is `old`; whether it was.
    #[inline(always)]
    pub(super) fn put_if(&mut self, at: u32, old: u32, new: u32) -> bool {
        if self.apart[at as usize / REGION] {
            // without a branch, for one in eight would be guessed wrong
            let cell = &mut self.cells[at as usize];
            let found = *cell == old;
            *cell = if found { new } else { *cell };
            return found;
        }
        let found = self.get(at) == old;
        if found {
            self.put(at, new);
        }
        found
    }

    /// Set `count` numbers from a place on to `first` and those that follow on it, or all to 0
    /// where that is 0. `was` is told what was there: numbers that follow on each other, by the
    /// first and how many.
    #[inline(always)]
    pub(super) fn put_run(
        &mut self,
        at: u32,
        count: u32,
        first: u32,
        mut was: impl FnMut(u32, u32),
    ) {
        let (mut at, end, mut number) = (at as usize, (at + count) as usize, first);
        let step = u32::from(first != 0);
        while at < end {
            let (region, group, within) = (at / REGION, at / GROUP, at % GROUP);
            let here = (GROUP - within).min(end - at);
            let whole = here == GROUP && number <= LAST_FIRST;
            let slot = if whole || self.apart[region] {
                None
            } else {
                self.keep_apart(group)
            };
            if let Some(slot) = slot {
                let cells = &mut self.odd.groups[slot][within..within + here];
                replace_all(cells, number, step, &mut was);
                if within + here == GROUP {
                    self.put_back(group, slot);
                }
            } else if self.apart[region] {
                replace_all(&mut self.cells[at..at + here], number, step, &mut was);
                if (at + here).is_multiple_of(REGION) {
                    self.join(region);
                }
            } else {
                let old = std::mem::replace(&mut self.firsts[group], number);
                if let Some(slot) = slot_of(old) {
                    replace_all(&mut self.odd.groups[slot], 0, 0, &mut was);
                    self.give(region, slot);
                } else if old != 0 {
                    was(old, GROUP as u32);
                }
            }
            at += here;
            number = number.wrapping_add(here as u32 * step);
        }
    }

    /// Keep a group apart; where, or `None` if its region has cells now.
    fn keep_apart(&mut self, group: usize) -> Option<usize> {
        slot_of(self.firsts[group]).or_else(|| self.make_odd(group))
    }

    #[inline(never)]
    fn make_odd(&mut self, group: usize) -> Option<usize> {
        let region = group / (REGION / GROUP);
        let room = self.odd.count[region] < MOST_ODD;
        let Some(slot) = room.then(|| self.odd.take()).flatten() else {
            self.part(region);
            return None;
        };
        self.odd.count[region] += 1;
        let first = std::mem::replace(&mut self.firsts[group], LAST_FIRST + 1 + slot);
        let slot = slot as usize;
        fill(&mut self.odd.groups[slot], first);
        Some(slot)
    }

    /// The opposite, where the numbers of a group follow on each other. Whoever has written its
    /// last place asks for it.
    fn put_back(&mut self, group: usize, slot: usize) {
        let cells = &self.odd.groups[slot];
        if follow(cells) {
            self.firsts[group] = cells[0];
            self.give(group / (REGION / GROUP), slot);
        }
    }

    fn give(&mut self, region: usize, slot: usize) {
        self.odd.free.push(slot as u32);
        self.odd.count[region] -= 1;
    }

    /// Give the places of a region cells.
    #[inline(never)]
    fn part(&mut self, region: usize) {
        self.apart[region] = true;
        let groups = region * (REGION / GROUP)..(region + 1) * (REGION / GROUP);
        for group in groups {
            let cells = &mut self.cells[group * GROUP..(group + 1) * GROUP];
            match slot_of(self.firsts[group]) {
                Some(slot) => {
                    cells.copy_from_slice(&self.odd.groups[slot]);
                    self.odd.free.push(slot as u32);
                }
                None => fill(cells, self.firsts[group]),
            }
        }
        self.odd.count[region] = 0;
    }

    /// The opposite, where the numbers of each group follow on each other. Whoever has written
    /// the last place of a region asks for it: it may have written all of them.
    #[inline(never)]
    fn join(&mut self, region: usize) {
        let cells = &self.cells[region * REGION..(region + 1) * REGION];
        // the last groups first: what was not written in order shows there
        if !cells.rchunks_exact(GROUP).all(follow) {
            return;
        }
        self.apart[region] = false;
        let firsts = &mut self.firsts[region * (REGION / GROUP)..(region + 1) * (REGION / GROUP)];
        for (first, cells) in firsts.iter_mut().zip(cells.chunks_exact(GROUP)) {
            *first = cells[0];
        }
    }
}

#[inline(always)]
fn number(apart: &[bool], firsts: &[u32], odd: &Odd, cells: &[u32], at: usize) -> u32 {
    if apart[at / REGION] {
        return cells[at];
    }
    let first = firsts[at / GROUP];
    match slot_of(first) {
        Some(slot) => odd.groups[slot][at % GROUP],
        None if first == 0 => 0,
        None => first + (at % GROUP) as u32,
    }
}

/// Set a group's cells to `first` and the numbers that follow on it, or all to 0.
fn fill(cells: &mut [u32], first: u32) {
    replace_all(cells, first, u32::from(first != 0), &mut |_, _| {});
}

/// Set cells to numbers `step` apart; `was` is told those that were there.
#[inline(always)]
fn replace_all(cells: &mut [u32], first: u32, step: u32, was: &mut impl FnMut(u32, u32)) {
    let mut next = first;
    for cell in cells {
        let old = std::mem::replace(cell, next);
        if old != 0 {
            was(old, 1);
        }
        next = next.wrapping_add(step);
    }
}

/// Whether a group's first number tells the others.
#[inline(always)]
fn follow(cells: &[u32]) -> bool {
    let first = cells[0];
    let mut places = cells.iter().zip(0u32..);
    (1..=LAST_FIRST).contains(&first) && places.all(|(&cell, place)| first + place == cell)
}

#[inline(always)]
fn bring_near(apart: &[bool], firsts: &[u32], cells: &[u32], at: u32) {
    if apart.get(at as usize / REGION) == Some(&true) {
        prefetch(cells, at);
    } else {
        prefetch(firsts, at / GROUP as u32);
    }
}

fn memory(bytes: usize) -> io::Result<MmapMut> {
    let map = MmapMut::map_anon(bytes)?;
    // Random touches miss the TLB at nearly every page of 4 KiB. A kernel that has no larger
    // pages refuses, and all that is lost is speed.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}

fn take_spare(bytes: usize) -> Option<MmapMut> {
    let mut spare = SPARE.lock().ok()?;
    let index = spare.iter().position(|map| map.len() == bytes)?;
    Some(spare.swap_remove(index))
}

impl Clone for Table {
    /// # Panics
    ///
    /// Where there is no memory for it.
    fn clone(&self) -> Self {
        let mut table = Table::new(self.cells().len()).expect("memory for a copy of a drive's map");
        table.apart.clone_from(&self.apart);
        table.firsts.copy_from_slice(&self.firsts);
        table.odd.clone_from(&self.odd);
        let regions = self.cells.chunks_exact(REGION * size_of::<u32>());
        let copies = table.cells.chunks_exact_mut(REGION * size_of::<u32>());
        for ((from, to), _) in regions
            .zip(copies)
            .zip(&self.apart)
            .filter(|(_, apart)| **apart)
        {
            to.copy_from_slice(from);
        }
        table
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if !SPARE_BYTES.contains(&self.cells.len()) {
            return;
        }
        let Ok(nothing) = MmapMut::map_anon(1) else {
            return;
        };
        let map = std::mem::replace(&mut self.cells, nothing);
        if let Ok(mut spare) = SPARE.lock() {
            if spare.len() == MAX_SPARE {
                spare.remove(0);
            }
            spare.push(map);
        }
    }
}

/// Ask for a cell to be brought near, if there is one; nothing waits for it.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch(cells: &[u32], index: u32) {
    #[cfg(target_arch = "x86_64")]
    if let Some(cell) = cells.get(index as usize) {
        // SAFETY: a prefetch reads nothing and never faults, and x86-64 always has SSE.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(cell).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (cells, index);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COUNT: u32 = 2 * REGION as u32 + 77;

    #[derive(Debug, Clone)]
    enum Op {
        Put(u32, u32),
        PutIf(u32, bool, u32),
        PutRun(u32, u32, u32),
        Clear,
        Copy,
    }

    /// Places near the ends of groups and regions as often as any.
    fn place() -> impl Strategy<Value = u32> {
        let near = (0u32..3, -40i32..40).prop_map(|(region, away)| {
            (region as i32 * REGION as i32 + away).clamp(0, COUNT as i32 - 1) as u32
        });
        prop_oneof![0..COUNT, near]
    }

    fn op() -> impl Strategy<Value = Op> {
        let count = prop_oneof![1u32..100, Just(32), Just(REGION as u32), 1..COUNT];
        let first = prop_oneof![Just(0), 1u32..1_000_000, Just(u32::MAX - COUNT)];
        prop_oneof![
            4 => (place(), 0u32..1_000_000).prop_map(|(at, number)| Op::Put(at, number)),
            4 => (place(), any::<bool>(), 1u32..1_000_000)
                .prop_map(|(at, right, number)| Op::PutIf(at, right, number)),
            8 => (place(), count, first).prop_map(|(at, count, first)| {
                let at = if count >= 32 { at / 32 * 32 } else { at };
                Op::PutRun(at, count.min(COUNT - at), first)
            }),
            1 => Just(Op::Clear),
            1 => Just(Op::Copy),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn a_table_is_an_array(ops in prop::collection::vec(op(), 1..25)) {
            let mut table = Table::new(COUNT as usize).unwrap();
            let mut array = vec![0; COUNT as usize];
            for op in ops {
                match op {
                    Op::Put(at, number) => {
                        let old = std::mem::replace(&mut array[at as usize], number);
                        prop_assert_eq!(table.put(at, number), old);
                    }
                    Op::PutIf(at, right, number) => {
                        let is = array[at as usize];
                        let found = table.open().put_if(at, is.wrapping_add(u32::from(!right)), number);
                        prop_assert_eq!(found, right);
                        if right {
                            array[at as usize] = number;
                        }
                    }
                    Op::PutRun(at, count, first) => {
                        let mut was = Vec::new();
                        table.put_run(at, count, first, |old, count| was.extend(old..old + count));
                        let cells = &mut array[at as usize..(at + count) as usize];
                        prop_assert!(was.iter().eq(cells.iter().filter(|old| **old != 0)));
                        for (cell, place) in cells.iter_mut().zip(0..) {
                            *cell = if first == 0 { 0 } else { first + place };
                        }
                        if first != 0 {
                            prop_assert_eq!(table.following(at, first, count), count);
                        }
                    }
                    Op::Clear => {
                        table.clear();
                        array.fill(0);
                    }
                    Op::Copy => table = table.clone(),
                }
                prop_assert!((0..COUNT).all(|at| table.get(at) == array[at as usize]));
            }
        }
    }

    #[test]
    fn what_is_written_in_order_takes_no_cells_wherever_it_begins() {
        let mut table = Table::new(COUNT as usize).unwrap();
        for (number, at) in (5..COUNT - 32).step_by(32).enumerate() {
            // another block each 1000 places
            let gap = 7 * (number as u32 / 30);
            table.put_run(at, 32, 1 + at + gap, |_, _| {});
        }
        assert_eq!(table.apart, [false, false, false]);
        assert_eq!(table.get(5), 6);
    }

    #[test]
    fn what_is_written_at_random_has_cells_until_it_is_written_in_order_again() {
        let mut table = Table::new(COUNT as usize).unwrap();
        table.put_run(0, COUNT, 1, |_, _| {});
        for at in (5..REGION as u32).step_by(GROUP) {
            table.put(at, 7);
        }
        assert_eq!(table.apart, [true, false, false]);
        assert_eq!(table.odd.free.len(), table.odd.groups.len() - 1);
        for at in (0..REGION as u32).step_by(4) {
            table.put_run(at, 4, 1000 + at, |_, _| {});
        }
        assert_eq!(table.apart, [false, false, false]);
        assert_eq!(table.get(5), 1005);
    }
}
