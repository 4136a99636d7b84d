//! How deep the queue is: which bursts make the shares of depths that are asked for.
//!
//! A burst of m I/Os that are issued together, and all complete before the next one, puts one I/O
//! at each depth from 1 to m. So bursts alone make shares that fall with depth. What a depth has
//! beyond that is issued one by one as one completes: the queue hovers at that depth.

use std::ops::Range;

use super::apportion::apportion;
use super::shape::{DepthClass, MAX_DEPTH, Shape, ShapeError};

/// How far a class without an end reaches if no mean says so.
const OPEN_WIDTH: u32 = 32;

/// How far the mean depth of a shape may be off what its shares can make.
const TOLERANCE: f64 = 0.005;

/// A mean this close is not worth leaning for.
const CLOSE: f64 = 0.002;

/// At this slope a class has all its I/Os at one end.
const STEEPEST: f64 = 40.0;

/// The bursts of a trace, at a scale.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many bursts reach exactly depth 1, 2, ...
    pub bursts: Vec<u64>,
    /// How many reach depth 1, 2, ... or more.
    pub reaching: Vec<u64>,
    /// How many I/Os hover at depth 1, 2, ...
    pub hovering: Vec<u64>,
}

/// A class whose end is known.
struct Closed {
    from: u32,
    to: u32,
    share: f64,
}

impl Closed {
    /// Shares within the class; a slope above 0 leans on its deep end.
    fn within(&self, slope: f64) -> Vec<f64> {
        let top = if slope > 0.0 { self.to } else { self.from };
        let weights: Vec<f64> = (self.from..=self.to)
            .map(|depth| (slope * (f64::from(depth) - f64::from(top))).exp())
            .collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    fn mean(&self, slope: f64) -> f64 {
        let depths = self.from..=self.to;
        depths
            .zip(self.within(slope))
            .map(|(depth, share)| f64::from(depth) * share)
            .sum()
    }
}

/// The bursts that this many I/Os of a shape come in.
pub fn plan(shape: &Shape, ios: u64) -> Result<Plan, ShapeError> {
    let mut classes = closed(&shape.depths, shape.mean_depth)?;
    let shares: Vec<f64> = classes.iter().map(|class| class.share).collect();
    let wholes = apportion(ios, &shares, None);
    if let (Some(last), Some(&whole)) = (classes.last_mut(), wholes.last())
        && shape.depths.last().is_some_and(|class| class.to.is_none())
    {
        // a queue of so few I/Os reaches no further
        let reach = u64::from(last.from) + whole.max(1) - 1;
        last.to = u64::from(last.to).min(reach) as u32;
    }
    let counts = leaning(&classes, &wholes, shape.mean_depth);
    let mut least = u64::MAX;
    let reaching: Vec<u64> = counts
        .iter()
        .map(|&count| {
            least = least.min(count);
            least
        })
        .collect();
    let next = reaching.iter().skip(1).copied().chain([0]);
    Ok(Plan {
        bursts: reaching
            .iter()
            .zip(next)
            .map(|(here, next)| here - next)
            .collect(),
        hovering: counts
            .iter()
            .zip(&reaching)
            .map(|(count, here)| count - here)
            .collect(),
        reaching,
    })
}

/// I/Os at each depth, with classes that lean so far that the mean comes as near as it can.
fn leaning(classes: &[Closed], wholes: &[u64], mean: Option<f64>) -> Vec<u64> {
    let even = counts(classes, wholes, 0.0);
    let Some(mean) = mean else {
        return even;
    };
    if (mean_of(&even) / mean - 1.0).abs() <= CLOSE {
        return even;
    }
    let (mut low, mut high) = (-STEEPEST, STEEPEST);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if mean_of(&counts(classes, wholes, middle)) < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    counts(classes, wholes, (low + high) / 2.0)
}

/// I/Os at each depth, with classes that lean so far.
fn counts(classes: &[Closed], wholes: &[u64], slope: f64) -> Vec<u64> {
    let deepest = classes.iter().map(|class| class.to).max().unwrap_or(1);
    let mut counts = vec![0; deepest as usize];
    let mut class_of = vec![0..0; deepest as usize];
    for (class, &whole) in classes.iter().zip(wholes) {
        let depths = class.from as usize - 1..class.to as usize;
        counts[depths.clone()].copy_from_slice(&spread(whole, &class.within(slope)));
        class_of[depths.clone()].fill(depths);
    }
    make_reachable(&mut counts, &class_of);
    counts
}

fn mean_of(counts: &[u64]) -> f64 {
    let sum: u64 = (1..).zip(counts).map(|(depth, count)| depth * count).sum();
    sum as f64 / counts.iter().sum::<u64>() as f64
}

/// Deal out `whole` by shares such that rounding nowhere adds up: the mean depth stays.
fn spread(whole: u64, shares: &[f64]) -> Vec<u64> {
    let (mut sum, mut dealt) = (0.0, 0);
    let mut counts: Vec<u64> = shares
        .iter()
        .map(|share| {
            sum += share * whole as f64;
            let upto = (sum.round() as u64).clamp(dealt, whole);
            let here = upto - dealt;
            dealt = upto;
            here
        })
        .collect();
    counts[shares.len() - 1] += whole - dealt;
    counts
}

/// The classes, the open one with an end such that the mean depth holds.
fn closed(depths: &[DepthClass], mean: Option<f64>) -> Result<Vec<Closed>, ShapeError> {
    let mut classes: Vec<Closed> = depths
        .iter()
        .map(|class| Closed {
            from: class.from,
            to: class
                .to
                .unwrap_or((class.from + OPEN_WIDTH - 1).min(MAX_DEPTH)),
            share: class.share,
        })
        .collect();
    let Some(mean) = mean else {
        return Ok(classes);
    };
    let is_open = depths
        .last()
        .is_some_and(|class| class.to.is_none() && class.share > 0.0);
    if is_open {
        let (last, before) = classes.split_last_mut().expect("an open class is a class");
        let made: f64 = before
            .iter()
            .map(|class| class.share * class.mean(0.0))
            .sum();
        // evenly spread from its beginning to its end
        let end = 2.0 * (mean - made) / last.share - f64::from(last.from);
        last.to = end
            .round()
            .clamp(f64::from(last.from), f64::from(MAX_DEPTH)) as u32;
    }
    let reach = [-STEEPEST, STEEPEST].map(|slope| -> f64 {
        classes
            .iter()
            .map(|class| class.share * class.mean(slope))
            .sum()
    });
    if mean < reach[0] * (1.0 - TOLERANCE) || mean > reach[1] * (1.0 + TOLERANCE) {
        return Err(ShapeError(format!(
            "mean_depth: the shares of depths make {:.2} to {:.2} (is {mean})",
            reach[0], reach[1]
        )));
    }
    Ok(classes)
}

/// Leave no depth without I/O below one that has some: a queue that grows passes them all.
///
/// What is missing comes from the fullest depth of the same class, so that its share holds, or
/// where the class has none to spare from the deepest one.
fn make_reachable(counts: &mut [u64], class_of: &[Range<usize>]) {
    for depth in 0..counts.len() {
        if counts[depth] > 0 {
            continue;
        }
        let Some(deepest) = (depth + 1..counts.len()).rfind(|&at| counts[at] > 0) else {
            return;
        };
        let alike = class_of[depth].clone();
        let fullest = alike
            .filter(|&at| counts[at] > 1)
            .max_by_key(|&at| counts[at]);
        counts[fullest.unwrap_or(deepest)] -= 1;
        counts[depth] += 1;
    }
}
