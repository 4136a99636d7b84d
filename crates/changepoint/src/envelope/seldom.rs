//! What an envelope needs only now and then: kept apart from the path of every value.

use super::{Envelope, Stretch};

impl Envelope {
    /// Finds the cheapest candidate, given what the one before costs now.
    #[cold]
    #[inline(never)]
    pub(super) fn search(&mut self, mut least: f64, value: f64) -> f64 {
        self.stretches[self.cheapest].floor = least;
        for index in self.head..self.tail {
            if self.stretches[index].floor < least {
                let cost = self.least_with(index, value);
                self.stretches[index].floor = cost;
                if cost < least {
                    least = cost;
                    self.cheapest = index;
                }
            }
        }
        self.rival = (self.head..self.tail)
            .filter(|&index| index != self.cheapest)
            .map(|index| self.stretches[index].floor)
            .fold(f64::INFINITY, f64::min);
        least
    }

    /// Does what `compete` does, wherever the costs are above the ceiling.
    #[cold]
    #[inline(never)]
    pub(super) fn rebuild(&mut self, ceiling: f64) {
        let mut covered = self.lowest;
        let mut cheapest = 0;
        self.next.clear();
        for index in self.head..self.tail {
            let mut stretch = self.stretches[index];
            let end = &self.stretches[index + 1];
            let (mut low, mut high) = (stretch.border, end.border);
            if stretch.cost > ceiling || end.cost > ceiling {
                let number = self.number(&stretch);
                let mean = low - self.slope(index, low) / number;
                let nearer = self.nearer(index);
                let least = self.least(index, nearer.border, nearer.cost);
                // Not a number where the cost is above the ceiling everywhere.
                let reach = ((ceiling - least) / number).sqrt();
                if stretch.cost > ceiling {
                    low = low.max(mean - reach);
                    stretch.cost = ceiling;
                }
                if end.cost > ceiling {
                    high = high.min(mean + reach);
                }
                if reach.is_nan() || low > high {
                    continue;
                }
                stretch.border = low;
            }
            if low > covered {
                self.next.push(self.fresh(covered, ceiling));
            }
            if index == self.cheapest {
                cheapest = self.next.len();
            }
            self.next.push(stretch);
            covered = high;
        }
        if covered < self.highest {
            self.next.push(self.fresh(covered, ceiling));
            self.next.push(self.fresh(self.highest, ceiling));
        } else {
            self.next.push(self.stretches[self.tail]);
        }
        self.rival = self.rival.min(ceiling);
        self.settle(cheapest);
    }

    /// Makes room at both ends again.
    #[cold]
    #[inline(never)]
    pub(super) fn recentre(&mut self) {
        self.next.clear();
        self.next
            .extend_from_slice(&self.stretches[self.head..=self.tail]);
        self.settle(self.cheapest - self.head);
    }

    /// Puts `next` in the middle of the room.
    pub(super) fn settle(&mut self, cheapest: usize) {
        let count = self.next.len();
        if self.stretches.len() < 4 * count {
            self.stretches.resize(8 * count, Stretch::default());
        }
        self.head = (self.stretches.len() - count) / 2;
        self.tail = self.head + count - 1;
        self.stretches[self.head..=self.tail].copy_from_slice(&self.next);
        self.cheapest = self.head + cheapest;
    }
}
