//! The lower envelope of all candidates' costs, as a function of the last segment's mean.

mod seldom;

/// Stretches of means from the lowest to the highest, each with the candidate that is cheapest
/// there.
///
/// Neighbours cost the same where they meet, so the cost at a border is one sum for both. A
/// candidate's parabola follows from it: the number and the sum of its values give the slope
/// there. A value thus touches the borders alone, and most candidates are gone before their
/// parabola was ever needed.
pub(crate) struct Envelope {
    lowest: f64,
    highest: f64,
    /// How many values were added, and their sum.
    count: i64,
    sum: f64,
    /// In use are `head..tail`; at `tail` is the border where the last stretch ends. There is
    /// room at both ends, since that is where stretches come and go.
    stretches: Vec<Stretch>,
    head: usize,
    tail: usize,
    /// The stretch whose candidate was the cheapest last; most often it is again.
    cheapest: usize,
    /// No other candidate costs less than this.
    rival: f64,
    /// Stretches in the making; kept for its memory.
    next: Vec<Stretch>,
}

/// A candidate for the last change, on the means from a border to the next stretch's.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    border: f64,
    /// The cost at the border.
    cost: f64,
    /// What the candidate costs at least. Costs only rise, so it may be from earlier.
    floor: f64,
    /// The last segment's first value, and `Envelope::sum` before it.
    start: i64,
    sum: f64,
}

impl Envelope {
    /// Starts with one candidate: no change at all.
    pub(crate) fn new(lowest: f64, highest: f64) -> Self {
        let [first, last] = [lowest, highest].map(|border| Stretch {
            border,
            ..Stretch::default()
        });
        let mut envelope = Envelope {
            lowest,
            highest,
            count: 0,
            sum: 0.0,
            stretches: vec![Stretch::default(); 64],
            head: 0,
            tail: 0,
            cheapest: 0,
            rival: f64::INFINITY,
            next: vec![first, last],
        };
        envelope.settle(0);
        envelope
    }

    /// Adds a value to the last segment of every candidate, and lets one more compete, which
    /// costs `penalty` more than the cheapest. Returns where the cheapest's last segment starts.
    #[inline]
    pub(crate) fn add(&mut self, value: f64, penalty: f64) -> usize {
        self.count += 1;
        self.sum += value;
        // The costs at the borders are still without the value: the ceiling need not wait for them.
        let mut least = self.least_with(self.cheapest, value);
        if least > self.rival {
            least = self.search(least, value);
        }
        let start = self.stretches[self.cheapest].start as usize;
        let ceiling = least + penalty;
        let mut above = 0;
        for stretch in &mut self.stretches[self.head..=self.tail] {
            let distance = value - stretch.border;
            stretch.cost += distance * distance;
            above = above << 1 | u64::from(stretch.cost > ceiling);
        }
        self.compete(ceiling, above);
        start
    }

    /// Gives the means on which every candidate costs more than `ceiling` to a new one, which
    /// costs that much everywhere. `above` has a bit for each border, the last one's lowest.
    #[inline]
    fn compete(&mut self, ceiling: f64, above: u64) {
        let used = self.tail - self.head + 1;
        let left = (above << (64_usize.wrapping_sub(used) & 63)).leading_ones() as usize;
        let right = above.trailing_ones() as usize;
        // Mostly only the outer borders are above the ceiling, and what is between them is too.
        if used > 64
            || left + right != above.count_ones() as usize
            || self.dips_outside(self.head + left, self.tail - right)
        {
            return self.rebuild(ceiling);
        }
        if left > 0 {
            self.cut_left(self.head + left, ceiling);
        }
        if right > 0 {
            self.cut_right(self.tail - right, ceiling);
        }
        if ceiling < self.rival {
            self.rival = ceiling;
        }
        // Rounding can drop it; any other will do to start the next search with.
        if self.cheapest < self.head || self.cheapest >= self.tail {
            self.cheapest = self.head;
        }
        if self.head < 2 || self.tail + 2 >= self.stretches.len() {
            self.recentre();
        }
    }

    /// Whether a stretch that ends left of border `first`, or starts right of border `last`, has
    /// its candidate's mean inside. All others fall from their outer border to the inner one.
    #[inline]
    fn dips_outside(&self, first: usize, last: usize) -> bool {
        let left = |index| self.slope(index, self.stretches[index + 1].border) > 0.0;
        let right = |index| self.slope(index, self.stretches[index].border) < 0.0;
        // There is seldom more than one, and a test is cheaper than a loop of unknown length.
        let mut dips = (first > self.head + 1) & left(first - 2);
        dips |= (last + 1 < self.tail) & right(last + 1);
        if first > self.head + 2 {
            dips |= (self.head..first - 2).any(left);
        }
        if last + 2 < self.tail {
            dips |= (last + 2..self.tail).any(right);
        }
        dips
    }

    /// Drops what is left of the border before `first`, cuts the stretch between them where its
    /// cost is the ceiling, and puts the new candidate there.
    #[inline]
    fn cut_left(&mut self, first: usize, ceiling: f64) {
        let inner = self.stretches[first];
        let outer = &self.stretches[first - 1];
        let number = self.number(outer);
        let slope = self.slope(first - 1, inner.border);
        let root = (slope * slope + number * (ceiling - inner.cost)).sqrt();
        let border = inner.border - (slope + root) * number.recip();
        let border = if border < outer.border {
            outer.border
        } else {
            border
        };
        self.head = first - 2;
        self.stretches[first - 2] = self.fresh(self.lowest, ceiling);
        let outer = &mut self.stretches[first - 1];
        outer.border = border;
        outer.cost = ceiling;
    }

    /// Does the same on the right of the border after `last`.
    #[inline]
    fn cut_right(&mut self, last: usize, ceiling: f64) {
        let inner = &self.stretches[last];
        let number = self.number(inner);
        let slope = self.slope(last, inner.border);
        let root = (slope * slope + number * (ceiling - inner.cost)).sqrt();
        let border = inner.border + (root - slope) * number.recip();
        let outer = self.stretches[last + 1].border;
        let border = if border > outer { outer } else { border };
        self.tail = last + 2;
        self.stretches[last + 1] = self.fresh(border, ceiling);
        self.stretches[last + 2] = self.fresh(self.highest, ceiling);
    }

    #[inline]
    fn fresh(&self, border: f64, ceiling: f64) -> Stretch {
        Stretch {
            border,
            cost: ceiling,
            floor: ceiling,
            start: self.count,
            sum: self.sum,
        }
    }

    /// How many values the candidate's last segment has.
    #[inline]
    fn number(&self, stretch: &Stretch) -> f64 {
        (self.count - stretch.start) as f64
    }

    /// Half of what the candidate's cost rises by, for each unit of the mean.
    #[inline]
    fn slope(&self, index: usize, mean: f64) -> f64 {
        let stretch = &self.stretches[index];
        self.number(stretch) * mean - (self.sum - stretch.sum)
    }

    /// What the candidate costs at its own mean, which need not lie on its stretch, once `value`
    /// is added to the costs at the borders.
    #[inline]
    fn least_with(&self, index: usize, value: f64) -> f64 {
        let nearer = self.nearer(index);
        let distance = value - nearer.border;
        self.least(index, nearer.border, nearer.cost + distance * distance)
    }

    /// What the candidate costs at its own mean, from what it costs at another.
    #[inline]
    fn least(&self, index: usize, mean: f64, cost: f64) -> f64 {
        let slope = self.slope(index, mean);
        cost - slope * slope * self.number(&self.stretches[index]).recip()
    }

    /// The border of the stretch that costs less: nearer to the candidate's mean.
    #[inline]
    fn nearer(&self, index: usize) -> &Stretch {
        let (left, right) = (&self.stretches[index], &self.stretches[index + 1]);
        if left.cost < right.cost { left } else { right }
    }
}
