//! Changes of level under autocorrelated noise.
//!
//! Romano, Rigaill, Runge and Fearnhead, "Detecting abrupt changes in the presence of local
//! fluctuations and autocorrelated noise", Journal of the American Statistical Association 117
//! (2022), without the fluctuations: what a value of AR(1) noise leaves to the next one counts
//! across a change, so that a sudden one stands out beside noise that moves slowly. As in FPOP,
//! the cost of the best segmentation is kept as a function of the current level: the lower
//! envelope of one parabola for each candidate.

use crate::error::{SeriesError, check_correlation, check_finite, check_penalty, check_range};

/// Returns the end of each segment (exclusive) of the optimal segmentation into levels; the last
/// is the series' length, and an empty series has none.
///
/// With `e[t]` as value less level, and `c` as `correlation` (0 to 1), it costs
/// `(1 - c * c) * e[0]^2`, the sum of `(e[t] - c * e[t - 1])^2`, and `penalty` for each change.
///
/// # Errors
/// A value that is not finite, values too far apart to be squared, a penalty that is not a
/// positive number, or a correlation that is not from 0 to below 1.
pub fn decafs(values: &[f64], correlation: f64, penalty: f64) -> Result<Vec<usize>, SeriesError> {
    check_correlation(correlation)?;
    check_penalty(penalty)?;
    check_finite(values)?;
    let (lowest, highest) = check_range(values)?;
    let Some(&first) = values.first() else {
        return Ok(Vec::new());
    };
    // Sums stay small, and precise, about the middle.
    let middle = lowest + (highest - lowest) / 2.0;
    let reach = 1.5 * (highest - lowest) + f64::MIN_POSITIVE;
    let mut history = vec![Change { at: 0, before: 0 }];
    let weight = 1.0 - correlation * correlation;
    let mut costs = vec![Stretch {
        right: reach,
        cost: Parabola::about(first - middle, weight),
        last: 0,
    }];
    let (mut stay, mut leave, mut next) = (Vec::new(), Vec::new(), Vec::new());
    for (index, pair) in values.windows(2).enumerate() {
        let value = (pair[1] - middle) - correlation * (pair[0] - middle);
        stay.clear();
        stay.extend(costs.iter().map(|one| one.stayed(value, correlation)));
        leave.clear();
        for one in &costs {
            push_ordered(&mut leave, one.left(value, correlation, penalty), -reach);
        }
        if let Some(last) = leave.last_mut() {
            last.right = reach;
        }
        next.clear();
        merge(&stay, &leave, index + 1, -reach, &mut history, &mut next);
        std::mem::swap(&mut costs, &mut next);
    }
    Ok(ends(&costs, &history, values.len(), -reach))
}

/// A change: where it is, and the index of the one before it.
#[derive(Clone, Copy)]
struct Change {
    at: usize,
    before: usize,
}

/// What the current level `x` costs: `a x^2 + b x + c`.
#[derive(Clone, Copy)]
struct Parabola {
    a: f64,
    b: f64,
    c: f64,
}

impl Parabola {
    /// `weight * (x - centre)^2`.
    fn about(centre: f64, weight: f64) -> Self {
        Parabola {
            a: weight,
            b: -2.0 * weight * centre,
            c: weight * centre * centre,
        }
    }

    fn at(&self, x: f64) -> f64 {
        (self.a * x + self.b) * x + self.c
    }

    fn less(&self, other: &Self) -> Self {
        Parabola {
            a: self.a - other.a,
            b: self.b - other.b,
            c: self.c - other.c,
        }
    }

    /// Where it is zero, in order; None where it nowhere is, or only once.
    fn roots(&self) -> Option<(f64, f64)> {
        let half = -0.5 * self.b;
        let square = half * half - self.a * self.c;
        if self.a.abs() <= 1e-12 || square <= 0.0 {
            return None;
        }
        // Neither root is a difference of nearly equal numbers.
        let sum = half + half.signum() * square.sqrt();
        let (one, other) = (sum / self.a, self.c / sum);
        Some(if one < other {
            (one, other)
        } else {
            (other, one)
        })
    }
}

/// The cheapest candidate on the levels up to `right`, and its last change.
#[derive(Clone, Copy)]
struct Stretch {
    right: f64,
    cost: Parabola,
    last: usize,
}

impl Stretch {
    /// With one more value (less what the one before leaves to it), the level kept.
    fn stayed(&self, value: f64, correlation: f64) -> Stretch {
        let own = 1.0 - correlation;
        Stretch {
            cost: Parabola {
                a: self.cost.a + own * own,
                b: self.cost.b - 2.0 * own * value,
                c: self.cost.c + value * value,
            },
            ..*self
        }
    }

    /// With one more value, the level changed from whichever is the cheapest.
    fn left(&self, value: f64, correlation: f64, penalty: f64) -> Stretch {
        // The least over u of cost(u) + (value - x + correlation u)^2.
        let Parabola { a, b, c } = self.cost;
        let sum = a + correlation * correlation;
        let weight = a / sum;
        let centre = value - correlation * b / (2.0 * a);
        let least = c - b * b / (4.0 * a) + penalty;
        let mut cost = Parabola::about(centre, weight);
        cost.c += least;
        Stretch { cost, ..*self }
    }
}

/// Appends a candidate from a higher former level than all before it: it can only win on the
/// right of them.
fn push_ordered(found: &mut Vec<Stretch>, new: Stretch, lowest: f64) {
    while let Some(last) = found.last().copied() {
        let left = found
            .len()
            .checked_sub(2)
            .map_or(lowest, |at| found[at].right);
        let beyond = new.cost.less(&last.cost);
        // From here on the new one costs less, if at all.
        let begin = match beyond.roots() {
            Some((_, second)) if beyond.a > 0.0 && left >= second => return,
            Some((first, _)) if beyond.a > 0.0 => first,
            Some((_, second)) => second,
            None if beyond.a.abs() > 1e-12 => {
                if beyond.a > 0.0 {
                    return;
                }
                f64::NEG_INFINITY
            }
            None if beyond.b < 0.0 => -beyond.c / beyond.b,
            None if beyond.c < 0.0 => f64::NEG_INFINITY,
            None => return,
        };
        if begin > left {
            let at = found.len() - 1;
            found[at].right = begin;
            found.push(new);
            return;
        }
        found.pop();
    }
    found.push(new);
}

/// Puts the cheaper of both on each stretch of levels; who leaves changed at `at`.
fn merge(
    stay: &[Stretch],
    leave: &[Stretch],
    at: usize,
    lowest: f64,
    history: &mut Vec<Change>,
    next: &mut Vec<Stretch>,
) {
    let (mut one, mut other, mut left) = (0, 0, lowest);
    // The change that the candidate `other` was given, if it won anywhere.
    let mut given: Option<usize> = None;
    while one < stay.len() && other < leave.len() {
        let right = stay[one].right.min(leave[other].right);
        let beyond = leave[other].cost.less(&stay[one].cost);
        let (first, second) = match beyond.roots() {
            Some(both) => both,
            None if beyond.b != 0.0 => (-beyond.c / beyond.b, f64::INFINITY),
            None => (f64::INFINITY, f64::INFINITY),
        };
        for edge in [first, second, right] {
            let edge = edge.min(right);
            if edge <= left {
                continue;
            }
            let wins = beyond.at(0.5 * (left + edge)) < 0.0;
            let mut new = if wins { leave[other] } else { stay[one] };
            if wins {
                new.last = *given.get_or_insert_with(|| {
                    history.push(Change {
                        at,
                        before: new.last,
                    });
                    history.len() - 1
                });
            }
            new.right = edge;
            match next.last_mut() {
                Some(last) if last.last == new.last => last.right = edge,
                _ => next.push(new),
            }
            left = edge;
        }
        if stay[one].right <= right {
            one += 1;
        }
        if leave[other].right <= right {
            other += 1;
            given = None;
        }
    }
}

/// The ends of the cheapest candidate's segments.
fn ends(costs: &[Stretch], history: &[Change], count: usize, lowest: f64) -> Vec<usize> {
    let (mut least, mut last, mut left) = (f64::INFINITY, 0, lowest);
    for one in costs {
        let level = (-one.cost.b / (2.0 * one.cost.a)).clamp(left, one.right.max(left));
        if one.cost.at(level) < least {
            (least, last) = (one.cost.at(level), one.last);
        }
        left = one.right;
    }
    let mut ends = vec![count];
    while last > 0 {
        ends.push(history[last].at);
        last = history[last].before;
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a segmentation costs with its best levels, by the normal equations of all of them.
    fn cost(values: &[f64], ends: &[usize], correlation: f64, penalty: f64) -> f64 {
        let count = ends.len();
        let segment = |at: usize| ends.partition_point(|&end| end <= at);
        let mut rows = vec![vec![0.0; count + 1]; values.len()];
        for (at, row) in rows.iter_mut().enumerate() {
            let own = if at == 0 {
                (1.0 - correlation * correlation).sqrt()
            } else {
                1.0
            };
            row[segment(at)] += own;
            row[count] += own * values[at];
            if at > 0 {
                row[segment(at - 1)] -= correlation;
                row[count] -= correlation * values[at - 1];
            }
        }
        // Householder would be more; Gram-Schmidt on so few columns is enough.
        let mut columns: Vec<Vec<f64>> = (0..=count)
            .map(|column| rows.iter().map(|row| row[column]).collect())
            .collect();
        for index in 0..=count {
            for _ in 0..2 {
                for other in 0..index {
                    let size: f64 = columns[other].iter().map(|x| x * x).sum();
                    let along: f64 = columns[index]
                        .iter()
                        .zip(&columns[other])
                        .map(|(x, y)| x * y)
                        .sum();
                    let part = if size > 1e-12 { along / size } else { 0.0 };
                    let from = columns[other].clone();
                    columns[index]
                        .iter_mut()
                        .zip(&from)
                        .for_each(|(x, y)| *x -= part * y);
                }
            }
        }
        let rest: f64 = columns[count].iter().map(|x| x * x).sum();
        rest + penalty * (count as f64 - 1.0)
    }

    fn lowest_cost(values: &[f64], correlation: f64, penalty: f64) -> f64 {
        (0..1_u32 << (values.len() - 1))
            .map(|changes| {
                let mut ends: Vec<usize> = (1..values.len())
                    .filter(|at| changes >> (at - 1) & 1 == 1)
                    .collect();
                ends.push(values.len());
                cost(values, &ends, correlation, penalty)
            })
            .fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn no_segmentation_is_cheaper(
            values in prop_oneof![
                prop::collection::vec(-10.0..10.0f64, 1..10),
                prop::collection::vec((-3..3i8).prop_map(f64::from), 1..10),
            ],
            correlation in prop_oneof![Just(0.0), 0.0..0.97f64],
            penalty in -3.0..2.0f64,
        ) {
            let penalty = 10f64.powf(penalty);
            let ends = decafs(&values, correlation, penalty).unwrap();
            let (found, least) = (
                cost(&values, &ends, correlation, penalty),
                lowest_cost(&values, correlation, penalty),
            );
            prop_assert!(found <= least + 1e-7 * (1.0 + least), "{} > {}", found, least);
        }
    }

    #[test]
    fn a_sudden_step_is_found_in_noise_that_moves_slowly() {
        let mut noise = 0.0;
        let values: Vec<f64> = (0..400)
            .map(|index| {
                noise = 0.95 * noise + 0.1 * (((index * 7919) % 1009) as f64 / 1009.0 - 0.5);
                noise + if index < 237 { 1.0 } else { 0.0 }
            })
            .collect();
        assert_eq!(decafs(&values, 0.95, 0.2).unwrap(), vec![237, 400]);
    }

    #[test]
    fn what_cannot_be_segmented_is_named() {
        assert!(decafs(&[], 0.5, 1.0).unwrap().is_empty());
        assert!(matches!(
            decafs(&[1.0], 1.0, 1.0),
            Err(SeriesError::Correlation(_))
        ));
        assert!(matches!(
            decafs(&[1.0], 0.5, 0.0),
            Err(SeriesError::Penalty(_))
        ));
        assert!(decafs(&[1.0, f64::NAN], 0.5, 1.0).is_err());
    }
}
