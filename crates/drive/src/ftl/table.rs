//! A table of page numbers, as large as the drive and touched at random.

use std::io;
use std::sync::Mutex;

use memmap2::MmapMut;

/// Memory of tables that are no longer used. On a virtual machine it costs more to get memory from
/// the host than to fill the drive that it is for, and a matrix makes one drive after the other.
static SPARE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());
/// Tables of one drive: a matrix drops one before it makes the next.
const MAX_SPARE: usize = 2;
/// Smaller ones are not worth keeping, larger ones too much to hold for nothing.
const SPARE_BYTES: std::ops::RangeInclusive<usize> = 1 << 26..=1 << 30;

/// Page numbers, all 0 at first. Memory is taken as cells are first touched.
#[derive(Debug)]
pub(super) struct Table {
    map: MmapMut,
    cells: usize,
}

impl Table {
    /// A table of `cells` cells.
    pub(super) fn new(cells: usize) -> io::Result<Self> {
        let bytes = cells.max(1) * size_of::<u32>();
        if let Some(mut map) = take_spare(bytes) {
            map.fill(0);
            return Ok(Table { map, cells });
        }
        let map = MmapMut::map_anon(bytes)?;
        // Random touches miss the TLB at nearly every page of 4 KiB. A kernel that has no larger
        // pages refuses, and all that is lost is speed.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Table { map, cells })
    }

    /// Set all cells to 0.
    pub(super) fn clear(&mut self) {
        self.map.fill(0);
    }

    #[inline(always)]
    pub(super) fn cells(&self) -> &[u32] {
        bytemuck::cast_slice(&self.map)
    }

    #[inline(always)]
    pub(super) fn cells_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(&mut self.map)
    }
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
        let mut table = Table::new(self.cells).expect("memory for a copy of a drive's tables");
        table.map.copy_from_slice(&self.map);
        table
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if !SPARE_BYTES.contains(&self.map.len()) {
            return;
        }
        let Ok(nothing) = MmapMut::map_anon(1) else {
            return;
        };
        let map = std::mem::replace(&mut self.map, nothing);
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
