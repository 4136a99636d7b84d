//! Puts records that are slightly out of order right.

use std::collections::VecDeque;

/// Held at most: 3 MB or so.
const MOST: usize = 1 << 16;

/// Holds what came last, sorted by time, until nothing earlier can come any more.
pub(super) struct Window<T> {
    held: VecDeque<(u64, T)>,
    slack_ns: u64,
    newest_ns: u64,
    given_ns: u64,
}

impl<T> Window<T> {
    /// One that puts right what comes up to `slack_ns` late.
    pub(super) fn new(slack_ns: u64) -> Self {
        Window {
            held: VecDeque::new(),
            slack_ns,
            newest_ns: 0,
            given_ns: 0,
        }
    }

    /// The latest time so far.
    pub(super) fn newest_ns(&self) -> u64 {
        self.newest_ns
    }

    /// Take one; refused, and the reason, where it comes too late.
    #[inline]
    pub(super) fn push(&mut self, time_ns: u64, item: T) -> Result<(), String> {
        if time_ns >= self.newest_ns {
            self.newest_ns = time_ns;
            self.held.push_back((time_ns, item));
            return Ok(());
        }
        if self.newest_ns - time_ns > self.slack_ns || time_ns < self.given_ns {
            return Err(late(self.newest_ns - time_ns, self.slack_ns));
        }
        let place = self.held.partition_point(|held| held.0 <= time_ns);
        self.held.insert(place, (time_ns, item));
        Ok(())
    }

    /// Give the earliest, once its turn has come or `all` is to come out.
    #[inline]
    pub(super) fn pop(&mut self, all: bool) -> Option<(u64, T)> {
        let &(time_ns, _) = self.held.front()?;
        let due = time_ns.saturating_add(self.slack_ns) <= self.newest_ns;
        if !(all || due || self.held.len() > MOST) {
            return None;
        }
        self.given_ns = time_ns;
        self.held.pop_front()
    }
}

/// What to say of a time before the one before it.
pub(super) fn late(by_ns: u64, slack_ns: u64) -> String {
    let by_ms = by_ns as f64 / 1e6;
    let slack = match slack_ns {
        0 => String::new(),
        slack => format!(" (to {} ms)", slack / 1_000_000),
    };
    format!("time runs backwards by {by_ms} ms, expected times in order{slack}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_too_late_is_refused_and_changes_nothing() {
        let mut window = Window::new(10);
        window.push(100, 'a').unwrap();
        assert!(window.push(89, 'b').is_err());
        window.push(90, 'c').unwrap();
        assert_eq!(window.pop(true), Some((90, 'c')));
        assert_eq!(window.pop(true), Some((100, 'a')));
    }

    #[test]
    fn no_more_is_held_than_its_limit() {
        let mut window = Window::new(u64::MAX);
        for time_ns in 0..2 * MOST as u64 {
            window.push(time_ns, ()).unwrap();
            window.pop(false);
            assert!(window.held.len() <= MOST);
        }
    }

    proptest! {
        #[test]
        fn everything_within_the_slack_comes_out_sorted_and_ties_as_they_came(
            steps in proptest::collection::vec((0u64..30, 0u64..20), 0..200)
        ) {
            let mut window = Window::new(20);
            let (mut clock, mut pushed, mut out) = (100, vec![], vec![]);
            for (number, (step, back)) in steps.into_iter().enumerate() {
                clock += step;
                pushed.push((clock - back, number));
                prop_assert!(window.push(clock - back, number).is_ok());
                while let Some(one) = window.pop(false) {
                    out.push(one);
                }
            }
            while let Some(one) = window.pop(true) {
                out.push(one);
            }
            pushed.sort();
            prop_assert_eq!(out, pushed);
        }
    }
}
