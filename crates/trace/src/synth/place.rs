//! Where I/Os go: on from where the last one ended, or anywhere in the span.

use fastrand::Rng;

use super::shape::Shape;
use crate::record::Op;
use crate::stats::REMEMBERED;

const PAGE: u64 = 4096;
const SECTOR: u64 = 512;
const TRIES: usize = 8;

/// Where a run can be continued.
#[derive(Clone, Copy)]
struct Run {
    end: u64,
    /// I/Os of its direction since: one that is too far back is no longer a run.
    since: usize,
}

/// Places of the I/Os of a trace.
///
/// I/Os of whole pages and others make runs of their own, so that one odd I/O does not shift all
/// that continue behind it off their pages.
pub struct Places {
    span: u64,
    hot: u64,
    /// Thresholds of a 32-bit draw, for reads and writes.
    hot_draw: [u64; 2],
    runs: [[Option<Run>; 2]; 2],
    /// Where the last I/Os of each direction ended.
    ends: [[u64; REMEMBERED]; 2],
    next: [usize; 2],
    /// Sequential I/Os that had no run to continue, and are still owed.
    owed: u64,
    /// Ends of the span that still have to be reached, so that it is what was asked however few
    /// I/Os there are.
    corners: u8,
    rng: Rng,
}

impl Places {
    /// Nothing placed yet.
    pub fn new(shape: &Shape, rng: Rng) -> Self {
        let span = shape.span_bytes / PAGE * PAGE;
        let largest = shape
            .sizes
            .iter()
            .filter_map(|class| class.bytes.or(class.below))
            .max();
        let least = 2 * u64::from(largest.unwrap_or(0)).max(PAGE);
        let draw = |share: f64| (share * f64::from(u32::MAX)) as u64;
        Places {
            span,
            hot: ((span as f64 * shape.hot.span_share) as u64).clamp(least, span),
            hot_draw: [draw(shape.hot.read_share), draw(shape.hot.write_share)],
            runs: [[None; 2]; 2],
            ends: [[u64::MAX; REMEMBERED]; 2],
            next: [0; 2],
            owed: 0,
            corners: 2,
            rng,
        }
    }

    /// The first byte of the next I/O.
    #[inline]
    pub fn place(&mut self, op: Op, bytes: u32, sequential: bool) -> u64 {
        let direction = usize::from(op == Op::Write);
        let bytes = u64::from(bytes);
        let kind = usize::from(!bytes.is_multiple_of(PAGE));
        let open = |kind: usize| {
            self.runs[direction][kind]
                .filter(|run| run.since < REMEMBERED && run.end + bytes <= self.span)
        };
        // an odd I/O may start its run behind whole pages, never the other way
        let goes_on = open(kind).or_else(|| open(0));
        let offset = match goes_on {
            Some(run) if sequential => run.end,
            Some(run) if self.owed > 0 => {
                self.owed -= 1;
                run.end
            }
            _ => {
                self.owed += u64::from(sequential);
                self.anywhere(direction, kind, bytes)
            }
        };
        let runs = &mut self.runs[direction];
        if let Some(other) = &mut runs[1 - kind] {
            other.since += 1;
        }
        runs[kind] = Some(Run {
            end: offset + bytes,
            since: 0,
        });
        let next = &mut self.next[direction];
        self.ends[direction][*next] = offset + bytes;
        *next = (*next + 1) % REMEMBERED;
        offset
    }

    fn anywhere(&mut self, direction: usize, kind: usize, bytes: u64) -> u64 {
        let unit = if kind == 0 { PAGE } else { SECTOR };
        if self.corners > 0 && kind == 0 {
            self.corners -= 1;
            return if self.corners == 0 {
                self.span - bytes
            } else {
                0
            };
        }
        let mut offset = self.draw(direction, unit, bytes);
        // what continues from another by chance would be one sequential I/O too many
        for _ in 0..TRIES {
            if !self.ends[direction]
                .iter()
                .fold(false, |met, &end| met | (end == offset))
            {
                break;
            }
            offset = self.draw(direction, unit, bytes);
        }
        offset
    }

    fn draw(&mut self, direction: usize, unit: u64, bytes: u64) -> u64 {
        let drawn = self.rng.u64(..);
        let is_hot = (drawn & u64::from(u32::MAX)) < self.hot_draw[direction];
        // what is not hot goes to the rest of the span, unless all of it is hot
        let (first, last) = match is_hot || self.hot == self.span {
            true => (0, self.hot - bytes),
            false => (self.hot / PAGE * PAGE, self.span - bytes),
        };
        let places = last.saturating_sub(first) / unit + 1;
        let place = (u128::from(self.rng.u64(..)) * u128::from(places)) >> 64;
        (first + place as u64 * unit).min(self.span - bytes)
    }
}
