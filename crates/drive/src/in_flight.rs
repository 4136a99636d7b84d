//! What a closed loop has in flight, by the time it is done.
//!
//! Reads that wait for a die are overtaken by a number of others that no processor can foresee, so
//! that a sorted queue costs a wrong guess for each of them, more than all of serving it. A
//! tournament takes the same few steps each time, without a branch: slots play in pairs, and each
//! match keeps the one that is done first.

use std::hint::select_unpredictable;

/// An I/O in flight.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    pub(crate) issued_s: f64,
    pub(crate) bytes: u32,
    pub(crate) read: bool,
}

/// When one is done, and which: by the time, and those of the same time in the order of issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// The bits of a time, which are in its order where it is 0 or more.
    done: u64,
    /// The number of its issue, and its slot in the last bits.
    number: u64,
}

impl Entry {
    #[inline(always)]
    fn in_order(self) -> u128 {
        u128::from(self.done) << 64 | u128::from(self.number)
    }
}

/// What plays for a slot that is free.
const FREE: Entry = Entry {
    done: f64::INFINITY.to_bits(),
    number: u64::MAX,
};
const SLOT_BITS: u32 = 17;

/// A slot for each of so many I/Os.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    /// Each entry below half is the first of the two at twice its place; the slots are the rest.
    entries: Box<[Entry]>,
    flights: Box<[Flight]>,
    free: Vec<u32>,
    issued: u64,
}

impl InFlight {
    pub(crate) fn new(queue: u32) -> InFlight {
        let slots = queue.next_power_of_two();
        assert!(slots < 1 << SLOT_BITS, "slots are told apart");
        InFlight {
            entries: vec![FREE; 2 * slots as usize].into(),
            flights: vec![Flight::default(); slots as usize].into(),
            free: (0..queue).rev().collect(),
            issued: 0,
        }
    }

    /// How many more may be in flight.
    #[inline(always)]
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// A slot that is free.
    #[inline(always)]
    pub(crate) fn take_slot(&mut self) -> u32 {
        self.free.pop().expect("a slot for what is issued")
    }

    /// Let an I/O have a slot that was taken, or that of the first one, in place of it.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: u32, done_s: f64, flight: Flight) {
        self.flights[slot as usize] = flight;
        self.issued += 1;
        let entry = Entry {
            done: done_s.to_bits(),
            number: self.issued << SLOT_BITS | u64::from(slot),
        };
        self.play(slot, entry);
    }

    #[inline(always)]
    fn play(&mut self, slot: u32, mut entry: Entry) {
        let entries = &mut *self.entries;
        let mut place = entries.len() / 2 + slot as usize;
        entries[place] = entry;
        while place > 1 {
            let other = entries[place ^ 1];
            let sooner = other.in_order() < entry.in_order();
            entry = Entry {
                done: select_unpredictable(sooner, other.done, entry.done),
                number: select_unpredictable(sooner, other.number, entry.number),
            };
            place /= 2;
            entries[place] = entry;
        }
    }

    /// The first that is done, and its slot; one has to be in flight.
    #[inline(always)]
    pub(crate) fn first(&self) -> (u32, Flight) {
        let slot = self.entries[1].number as u32 & ((1 << SLOT_BITS) - 1);
        (slot, self.flights[slot as usize])
    }

    /// When the first one is done.
    #[inline(always)]
    pub(crate) fn first_s(&self) -> Option<f64> {
        let done_s = f64::from_bits(self.entries[1].done);
        (self.entries[1] != FREE).then_some(done_s)
    }

    /// When a slot is free that is not now; the past where one is.
    #[inline(always)]
    pub(crate) fn slot_free_s(&self) -> f64 {
        if self.is_full() {
            f64::from_bits(self.entries[1].done)
        } else {
            f64::NEG_INFINITY
        }
    }

    pub(crate) fn remove_first(&mut self) {
        let (slot, _) = self.first();
        self.play(slot, FREE);
        self.free.push(slot);
    }

    /// When the last one is done.
    pub(crate) fn last_s(&self) -> Option<f64> {
        let slots = &self.entries[self.entries.len() / 2..];
        let taken = slots.iter().filter(|&&entry| entry != FREE);
        taken
            .map(|entry| f64::from_bits(entry.done))
            .max_by(f64::total_cmp)
    }
}
