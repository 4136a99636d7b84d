//! What the drive does between two I/Os of a trace, and whether the trace continues.

use super::{Activity, Drive, RESTING_STEP_S, SAME_S, Sums, even_step_s};
use crate::load::Load;
use crate::replay::Replay;

/// The drive rests in pauses of more than this.
pub(super) const SHORTEST_S: f64 = 0.01;

impl Drive {
    fn replays(&self) -> impl Iterator<Item = &Replay> {
        let loads: &[Load] = match &self.activity {
            Activity::Running(loads) => loads,
            _ => &[],
        };
        loads.iter().filter_map(|load| match load {
            Load::Replay(replay) => Some(&**replay),
            Load::Loop(_) => None,
        })
    }

    /// Why a trace has no more, where it failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.replays().find_map(Replay::failure)
    }

    /// In a replay, when the last I/O is back, and when the next one is issued.
    pub(super) fn pause(&self) -> Option<(f64, f64)> {
        self.replays().next()?;
        let Activity::Running(loads) = &self.activity else {
            return None;
        };
        let last_s = loads.iter().map(Load::last_back_s).fold(0.0, f64::max);
        let next_s = loads.iter().filter_map(Load::next_at);
        Some((last_s, next_s.fold(f64::INFINITY, f64::min))).filter(|pause| pause.1.is_finite())
    }

    /// When the next I/O of a trace is issued, where the drive rests up to then.
    pub(super) fn rests_until(&self) -> Option<f64> {
        let (last_s, next_s) = self.pause()?;
        let quiet = last_s <= self.t_s + SAME_S;
        let long = self.resting || next_s - self.t_s > SHORTEST_S;
        (quiet && long).then_some(next_s)
    }

    /// A step without load in a pause of a trace that ends at `next_s`.
    pub(super) fn rest_between(&mut self, next_s: f64, end_s: f64, sums: &mut Sums) {
        self.resting = true;
        let left_s = next_s.min(end_s) - self.t_s;
        if left_s > SAME_S {
            let mut step_s = even_step_s(left_s, RESTING_STEP_S);
            // pauses are short compared with the steps, and states may be entered within them
            if let Some(change_s) = self.power.next_change_s()
                && change_s > SAME_S
            {
                step_s = step_s.min(change_s);
            }
            let (work, tidied) = self.tidy(step_s);
            let rest_w = self.power.power_w();
            if !tidied {
                self.power.rest(step_s);
            }
            let share = self.held.unwrap_or(self.permit.share);
            let power_w = self.pass(step_s, &work, rest_w, share, sums);
            self.govern(step_s, power_w);
        }
        if next_s - self.t_s <= SAME_S {
            self.wake();
        }
    }
}
