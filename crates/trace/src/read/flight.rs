//! What was issued and has not completed: pairs the two, in the order of issue.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::record::{Op, Record, UNKNOWN_NS};

/// I/Os held at once; behind one whose end was lost, others wait for their turn.
const MOST: usize = 1 << 16;
/// What takes longer has lost its end: Linux gives an I/O up after 30 s.
const LOST_NS: u64 = 30_000_000_000;

type Key = (u64, u8);

#[derive(PartialEq, Eq)]
enum State {
    Flying(Key),
    Done,
    Dropped,
}

struct Slot {
    record: Record,
    /// Sectors that have not completed.
    left: u64,
    state: State,
    /// The one issued before at the same place.
    under: Option<u64>,
}

/// I/Os from their issue until they are given.
#[derive(Default)]
pub(super) struct Flight {
    slots: VecDeque<Slot>,
    /// How many were given: the number of the first slot.
    given: u64,
    /// The last one issued at each place.
    top: FxHashMap<Key, u64>,
    now_ns: u64,
}

impl Flight {
    fn slot(&mut self, number: u64) -> Option<&mut Slot> {
        let place = number.checked_sub(self.given)?;
        self.slots.get_mut(place as usize)
    }

    fn put_on_top(&mut self, number: u64, key: Key) {
        let under = self.top.insert(key, number);
        if let Some(slot) = self.slot(number) {
            slot.under = under;
            slot.state = State::Flying(key);
        }
    }

    /// Take one that was issued at this place: of this many sectors if there is one near the top,
    /// the last one otherwise. The last is right where ends were lost.
    fn take(&mut self, key: Key, sectors: u64) -> Option<u64> {
        const NEAR: usize = 16;
        let top = *self.top.get(&key)?;
        let (mut above, mut number) = (None, top);
        let mut tries = 0;
        while self.slot(number)?.left != sectors {
            tries += 1;
            match self.under(number) {
                Some(under) if tries < NEAR => (above, number) = (Some(number), under),
                _ => {
                    (above, number) = (None, top);
                    break;
                }
            }
        }
        let under = self.under(number);
        match (above, under) {
            (Some(above), _) => self.slot(above)?.under = under,
            (None, Some(under)) => {
                self.top.insert(key, under);
            }
            (None, None) => {
                self.top.remove(&key);
            }
        }
        Some(number)
    }

    /// What is under one, unless it was given up.
    fn under(&mut self, number: u64) -> Option<u64> {
        let given = self.given;
        self.slot(number)?.under.filter(|&under| under >= given)
    }

    pub(super) fn issue(&mut self, record: Record, sector: u64, sectors: u64) {
        self.now_ns = record.at_ns;
        let key = (sector, record.op as u8);
        let number = self.given + self.slots.len() as u64;
        self.slots.push_back(Slot {
            record,
            left: sectors,
            state: State::Done,
            under: None,
        });
        self.put_on_top(number, key);
    }

    /// Sectors completed: of an I/O, of a part of it, or of several that were merged.
    pub(super) fn complete(&mut self, time_ns: u64, op: Op, mut sector: u64, mut sectors: u64) {
        self.now_ns = time_ns;
        while sectors > 0 {
            let Some(number) = self.take((sector, op as u8), sectors) else {
                return;
            };
            let Some(slot) = self.slot(number) else {
                return;
            };
            let back = slot.left.min(sectors);
            slot.left -= back;
            slot.record.done_ns = time_ns;
            slot.state = State::Done;
            sector = sector.saturating_add(back);
            sectors -= back;
            if slot.left > 0 {
                self.put_on_top(number, (sector, op as u8));
            }
        }
    }

    /// The driver gave one back; it will be issued again.
    pub(super) fn requeue(&mut self, time_ns: u64, op: Op, sector: u64, sectors: u64) {
        self.now_ns = time_ns;
        let number = self.take((sector, op as u8), sectors);
        if let Some(slot) = number.and_then(|number| self.slot(number)) {
            slot.state = State::Dropped;
        }
    }

    /// Give the next, once it has completed or has been given up, or `all` is to come out.
    pub(super) fn pop(&mut self, all: bool) -> Option<Record> {
        loop {
            let first = self.slots.front()?;
            let number = self.given;
            if let State::Flying(key) = first.state {
                let lost = self.now_ns.saturating_sub(first.record.at_ns) > LOST_NS;
                if !(all || lost || self.slots.len() > MOST) {
                    return None;
                }
                if self.top.get(&key) == Some(&number) {
                    self.top.remove(&key);
                }
            }
            self.given += 1;
            let slot = self.slots.pop_front()?;
            match slot.state {
                State::Done => return Some(slot.record),
                State::Flying(_) => {
                    // of a part that completed alone, the rest is not known
                    let done_ns = UNKNOWN_NS;
                    return Some(Record {
                        done_ns,
                        ..slot.record
                    });
                }
                State::Dropped => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(at_ns: u64) -> Record {
        Record {
            at_ns,
            done_ns: UNKNOWN_NS,
            offset: 0,
            bytes: 4096,
            op: Op::Write,
            depth: 0,
        }
    }

    fn given(flight: &mut Flight, all: bool) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| flight.pop(all))
            .map(|record| (record.at_ns, record.done_ns))
            .collect()
    }

    #[test]
    fn what_came_back_first_waits_for_what_was_issued_before() {
        let mut flight = Flight::default();
        flight.issue(io(1), 0, 8);
        flight.issue(io(2), 8, 8);
        flight.complete(3, Op::Write, 8, 8);
        assert!(given(&mut flight, false).is_empty());
        flight.complete(4, Op::Write, 0, 8);
        assert_eq!(given(&mut flight, false), [(1, 4), (2, 3)]);
        assert!(flight.top.is_empty());
    }

    #[test]
    fn an_io_that_comes_back_in_parts_ends_with_the_last() {
        let mut flight = Flight::default();
        flight.issue(io(1), 100, 256);
        flight.complete(5, Op::Write, 100, 128);
        assert!(given(&mut flight, false).is_empty());
        flight.complete(9, Op::Write, 228, 128);
        assert_eq!(given(&mut flight, false), [(1, 9)]);
    }

    #[test]
    fn merged_ios_come_back_together() {
        let mut flight = Flight::default();
        flight.issue(io(1), 0, 8);
        flight.issue(io(2), 8, 8);
        flight.complete(7, Op::Write, 0, 16);
        assert_eq!(given(&mut flight, false), [(1, 7), (2, 7)]);
    }

    #[test]
    fn ios_at_one_place_are_told_apart_by_their_length() {
        let mut flight = Flight::default();
        for (at_ns, sectors) in [(1, 8), (2, 16), (3, 24)] {
            flight.issue(io(at_ns), 0, sectors);
        }
        for (time_ns, sectors) in [(4, 16), (5, 8), (6, 24)] {
            flight.complete(time_ns, Op::Write, 0, sectors);
        }
        assert_eq!(given(&mut flight, false), [(1, 5), (2, 4), (3, 6)]);
        assert!(flight.top.is_empty());
    }

    #[test]
    fn a_requeued_io_counts_once_from_its_second_issue() {
        let mut flight = Flight::default();
        flight.issue(io(1), 0, 8);
        flight.requeue(2, Op::Write, 0, 8);
        flight.issue(io(3), 0, 8);
        flight.complete(4, Op::Write, 0, 8);
        assert_eq!(given(&mut flight, false), [(3, 4)]);
    }

    #[test]
    fn a_lost_end_stays_unknown_and_holds_nothing_up_for_ever() {
        let mut flight = Flight::default();
        flight.issue(io(1), 0, 8);
        flight.issue(io(2), 0, 8);
        flight.complete(3, Op::Write, 0, 8);
        assert!(given(&mut flight, false).is_empty());
        flight.issue(io(LOST_NS + 2), 64, 8);
        assert_eq!(given(&mut flight, false), [(1, UNKNOWN_NS), (2, 3)]);
        assert_eq!(given(&mut flight, true), [(LOST_NS + 2, UNKNOWN_NS)]);
        assert!(flight.top.is_empty());
    }

    #[test]
    fn a_trace_without_ends_takes_bounded_memory() {
        let mut flight = Flight::default();
        for at_ns in 0..3 * MOST as u64 {
            flight.issue(io(at_ns), 8 * (at_ns % 7), 8);
            while flight.pop(false).is_some() {}
            assert!(flight.slots.len() <= MOST && flight.top.len() <= 7);
        }
    }

    #[test]
    fn ends_of_what_was_issued_before_the_trace_are_passed_over() {
        let mut flight = Flight::default();
        flight.complete(1, Op::Read, 0, 8);
        assert!(given(&mut flight, true).is_empty());
    }
}
