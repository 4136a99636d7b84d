//! The shortest description of a series as a chain of levels, lines and exponential approaches.
//!
//! Dynamic programming over candidate edges, with the pruning of PELT (Killick, Fearnhead and
//! Eckley 2012). The noise is AR(1), and what it leaves to the first value of a piece is taken
//! from the best chain that ends there. Running sums of the innovations give each piece's least
//! squares at once, however long it is.

use crate::error::{SeriesError, check_correlation, check_finite, check_penalty};

/// So many beginnings of the last piece are kept whenever there are twice as many: those with the
/// least length so far.
const MOST_ALIVE: usize = 24;

/// A piece: `level + change * shape(k)` for the values `k = 0, 1, ..` since its first.
///
/// The shape is 0 where `change` is; `k` for a line, whose `constant` is infinite; and
/// `exp(-k / constant)` for an approach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// The value behind its last.
    pub end: usize,
    pub level: f64,
    pub change: f64,
    pub constant: f64,
    /// The variance of its innovations in units of the usual one, at least 1.
    pub variance: f64,
}

impl Piece {
    /// Its course, so many values after its first.
    pub fn at(&self, k: f64) -> f64 {
        self.level
            + self.change
                * if self.constant.is_finite() {
                    (-k / self.constant).exp()
                } else {
                    k
                }
    }
}

/// Returns the pieces with the shortest description among those that end at `edges`, which rise
/// and end with the series' length; and how long that is.
///
/// A description's length is twice its negative log-likelihood, with innovations of `sigma`, and
/// `unit` for each parameter: a piece's level unless it goes on from the one before, two for its
/// place (as in the modified BIC of Zhang and Siegmund 2007), one for a slope, two for an approach
/// and its constant, one for a noise that is stronger than usual.
///
/// # Errors
/// A value that is not finite, edges that do not rise to the length, a correlation that is not
/// from 0 to below 1, or a sigma or unit that is not a positive number.
pub fn pieces(
    values: &[f64],
    edges: &[usize],
    correlation: f64,
    sigma: f64,
    unit: f64,
) -> Result<(Vec<Piece>, f64), SeriesError> {
    check_finite(values)?;
    check_correlation(correlation)?;
    check_penalty(sigma)?;
    check_penalty(unit)?;
    if edges.last().copied().unwrap_or(0) != values.len()
        || edges.windows(2).any(|pair| pair[0] >= pair[1])
        || edges.first() == Some(&0)
    {
        return Err(SeriesError::Edges);
    }
    let sums = Sums::new(values, correlation, sigma, unit);
    // Each piece that ends a chain, and the number of the chain before it.
    let mut chains: Vec<(usize, Piece)> = Vec::with_capacity(edges.len());
    let mut alive = vec![Chain::default()];
    for &end in edges {
        let (mut best, mut best_length, mut before) = (None, f64::INFINITY, 0);
        let is_full = alive.len() >= 2 * MOST_ALIVE;
        for one in &mut alive {
            let place = if one.number == 0 { 0.0 } else { 2.0 * unit };
            let count = end - one.end;
            let shapes = count.saturating_sub(2).checked_ilog2();
            // More values leave no smaller error: most chains cannot be the best's yet.
            let bound = one.length + place + unit + length(one.error, count as f64, unit);
            if is_full || shapes != one.shapes || bound <= best_length {
                let (found, piece, error) = sums.shortest(one, end);
                let total = one.length + found + place;
                (one.shapes, one.error) = (shapes, error);
                if (total, one.number) < (best_length, before) {
                    (best, best_length, before) = (Some((one.end, piece)), total, one.number);
                }
            }
            one.least = one.length + misfit(one.error, count as f64);
        }
        if let Some((start, piece)) = best {
            // What few candidates leave open is whether stronger noise or more pieces tell it.
            if is_full {
                alive.sort_unstable_by(|a, b| a.least.total_cmp(&b.least));
                alive.truncate(MOST_ALIVE);
            }
            alive.retain(|one| one.least <= best_length);
            // The best is so again, as a rule, and spares looking at others.
            if let Some(at) = alive.iter().position(|one| one.number == before) {
                alive.swap(0, at);
            }
            chains.push((before, piece));
            alive.push(Chain {
                number: chains.len(),
                end,
                length: best_length,
                rest: values[end - 1] - piece.at((end - start - 1) as f64),
                next: piece.at((end - start) as f64),
                ..Chain::default()
            });
        }
    }
    let described = alive.last().map_or(0.0, |one| one.length);
    let mut found = Vec::new();
    let mut number = chains.len();
    while let Some(&(before, piece)) = number.checked_sub(1).and_then(|at| chains.get(at)) {
        found.push(piece);
        number = before;
    }
    found.reverse();
    Ok((found, described))
}

/// The best description of the values up to `end`, what its curve leaves of the last of them,
/// where it would go on, and what is known of a piece behind it.
#[derive(Default)]
struct Chain {
    /// 0 has no piece yet.
    number: usize,
    end: usize,
    length: f64,
    rest: f64,
    next: f64,
    /// Of which shapes `shortest` last found one, and the least error of them all.
    shapes: Option<u32>,
    error: f64,
    /// What both take at least.
    least: f64,
}

/// Running sums of the innovations `values[t] - correlation * values[t - 1]`, in units of sigma.
struct Sums {
    values: Vec<f64>,
    correlation: f64,
    sigma: f64,
    unit: f64,
    plain: Vec<f64>,
    squares: Vec<f64>,
    by_time: Vec<f64>,
    /// For each time constant, what comes at `t` and after, fading from there.
    fading: Vec<Fading>,
}

/// Sums that fade by `decay` from value to value, to a part in e after `constant` values.
struct Fading {
    constant: f64,
    decay: f64,
    sums: Vec<f64>,
}

impl Sums {
    fn new(values: &[f64], correlation: f64, sigma: f64, unit: f64) -> Self {
        let scaled: Vec<f64> = values.iter().map(|value| value / sigma).collect();
        let mut innovations = scaled.clone();
        for at in 1..scaled.len() {
            innovations[at] = scaled[at] - correlation * scaled[at - 1];
        }
        let running = |of: &dyn Fn(usize, f64) -> f64| {
            let mut sum = 0.0;
            let mut sums = vec![0.0];
            for (at, &value) in innovations.iter().enumerate() {
                sum += of(at, value);
                sums.push(sum);
            }
            sums
        };
        let mut fading = Vec::new();
        let mut constant = 2.0;
        while constant < values.len() as f64 {
            let decay = (-1.0_f64 / constant).exp();
            let mut sums = vec![0.0; values.len() + 1];
            for at in (0..values.len()).rev() {
                sums[at] = innovations[at] + decay * sums[at + 1];
            }
            fading.push(Fading {
                constant,
                decay,
                sums,
            });
            constant *= 2.0;
        }
        Sums {
            correlation,
            sigma,
            unit,
            plain: running(&|_, value| value),
            squares: running(&|_, value| value * value),
            by_time: running(&|at, value| at as f64 * value),
            fading,
            values: scaled,
        }
    }

    /// The length of the shortest description from a chain's end to `end`, its piece, and the least
    /// error of all shapes.
    fn shortest(&self, chain: &Chain, end: usize) -> (f64, Piece, f64) {
        let (start, own) = (chain.end, 1.0 - self.correlation);
        // The first value has what the chain leaves to it; the series' first stands alone.
        let (first, weight) = if start == 0 {
            let weight = (1.0 - self.correlation * self.correlation).sqrt();
            (weight * self.values[0], weight)
        } else {
            let left = self.correlation * chain.rest / self.sigma;
            (self.values[start] - left, 1.0)
        };
        let count = (end - start) as f64;
        let more = count - 1.0;
        let sum = self.plain[end] - self.plain[start + 1];
        let fit = Fit {
            squares: first * first + self.squares[end] - self.squares[start + 1],
            ones: weight * weight + own * own * more,
            by_ones: weight * first + own * sum,
        };
        // The best of one parameter, of two and of three.
        let mut best = [(f64::INFINITY, (f64::INFINITY, 0.0, 0.0)); 3];
        let mut consider = |parameters: usize, constant: f64, fitted: Fitted| {
            if fitted.0 < best[parameters - 1].1.0 {
                best[parameters - 1] = (constant, fitted);
            }
        };
        consider(1, f64::INFINITY, fit.level());
        // A piece may begin where the one before it ends, which is a parameter less.
        let before = (start > 0).then_some(chain.next / self.sigma);
        if more >= 2.0 {
            let c = self.correlation;
            // Sums of (own k + c) for k = 1 .. more, and of its square.
            let sum_k = more * (more + 1.0) / 2.0;
            let sum_kk = sum_k * (2.0 * more + 1.0) / 3.0;
            let by_k = self.by_time[end] - self.by_time[start + 1] - start as f64 * sum;
            let line = Products {
                across: own * (own * sum_k + c * more),
                square: own * own * sum_kk + 2.0 * own * c * sum_k + c * c * more,
                product: own * by_k + c * sum,
            };
            consider(2, f64::INFINITY, fit.with(&line));
            if let Some(level) = before {
                consider(1, f64::INFINITY, fit.from(level, &line));
            }
        }
        let shorter = self.fading.partition_point(|fade| fade.constant < more);
        let mut gone = match self.fading[..shorter].last() {
            Some(longest) => (-more / longest.constant).exp(),
            None => 0.0,
        };
        for fade in self.fading[..shorter].iter().rev() {
            let Fading {
                constant,
                decay,
                sums,
            } = fade;
            let shape = 1.0 - self.correlation / decay;
            let sum_shape = decay * (1.0 - gone) / (1.0 - decay);
            let square = decay * decay * (1.0 - gone * gone) / (1.0 - decay * decay);
            let by_shape = decay * (sums[start + 1] - gone * sums[end]);
            let approach = Products {
                across: weight * weight + own * shape * sum_shape,
                square: weight * weight + shape * shape * square,
                product: weight * first + shape * by_shape,
            };
            consider(3, *constant, fit.with(&approach));

            if let Some(begin) = before {
                let less = approach.less_ones(&fit);
                let (error, _, change) = fit.from(begin, &less);
                consider(2, *constant, (error, begin - change, change));
            }
            // The next constant is half as long.
            gone *= gone;
        }
        let least = best.iter().map(|one| one.1.0).fold(f64::INFINITY, f64::min);
        let mut found = f64::INFINITY;
        let (mut constant, mut fitted) = best[0];
        for (parameters, one) in [1.0, 2.0, 3.0].into_iter().zip(best) {
            let described = parameters * self.unit + length(one.1.0, count, self.unit);
            if described < found {
                found = described;
                (constant, fitted) = one;
            }
        }
        let (error, level, change) = fitted;
        let piece = Piece {
            end,
            level: level * self.sigma,
            change: change * self.sigma,
            constant,
            variance: (error / count).max(1.0),
        };
        (found, piece, least)
    }
}

/// The squared error, level and change of a fit.
type Fitted = (f64, f64, f64);

/// Sums of a shape's products with ones, with itself, and with the values.
struct Products {
    across: f64,
    square: f64,
    product: f64,
}

impl Products {
    /// Those of the shape less one.
    fn less_ones(&self, fit: &Fit) -> Products {
        Products {
            across: self.across - fit.ones,
            square: self.square - 2.0 * self.across + fit.ones,
            product: self.product - fit.by_ones,
        }
    }
}

/// Least squares of a level, and perhaps a shape beside it.
struct Fit {
    squares: f64,
    ones: f64,
    by_ones: f64,
}

impl Fit {
    fn level(&self) -> Fitted {
        let level = self.by_ones / self.ones;
        ((self.squares - level * self.by_ones).max(0.0), level, 0.0)
    }

    /// A shape beside a level.
    fn with(&self, shape: &Products) -> Fitted {
        let share = shape.across / self.ones;
        let own = shape.square - share * shape.across;
        let (error, level, _) = self.level();
        if own <= 1e-9 * shape.square {
            return (error, level, 0.0);
        }
        let change = (shape.product - share * self.by_ones) / own;
        let error = (error - change * change * own).max(0.0);
        (error, level - change * share, change)
    }

    /// A shape beside a level that is given.
    fn from(&self, level: f64, shape: &Products) -> Fitted {
        let error = self.squares - level * (2.0 * self.by_ones - level * self.ones);
        let change = (shape.product - level * shape.across) / shape.square.max(f64::MIN_POSITIVE);
        let error = (error - change * change * shape.square).max(0.0);
        (error, level, change)
    }
}

/// Twice the negative log-likelihood of so many values with noise that is as strong as it is, and
/// as the usual at least.
fn misfit(error: f64, count: f64) -> f64 {
    if error <= count {
        error
    } else {
        count * (1.0 + (error / count).ln())
    }
}

/// The same, a noise of its own being a parameter.
fn length(error: f64, count: f64, unit: f64) -> f64 {
    error.min(misfit(error, count) + unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn noise(index: usize) -> f64 {
        let mixed = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / 2f64.powi(24)
            - 0.5
    }

    /// What a chain's pieces leave over, innovation by innovation.
    fn rest(values: &[f64], found: &[Piece], correlation: f64) -> Vec<f64> {
        let mut start = 0;
        let mut left = Vec::new();
        for piece in found {
            left.extend((start..piece.end).map(|at| values[at] - piece.at((at - start) as f64)));
            start = piece.end;
        }
        (0..left.len())
            .map(|at| match at {
                0 => left[0] * (1.0 - correlation * correlation).sqrt(),
                _ => left[at] - correlation * left[at - 1],
            })
            .collect()
    }

    fn every(count: usize) -> Vec<usize> {
        (1..=count).collect()
    }

    proptest! {
        #[test]
        fn a_curve_is_described_by_what_it_is(
            (first, second) in (-2.0..2.0f64, -2.0..2.0f64),
            (slope, constant) in (-0.05..0.05f64, 1..5i32),
            correlation in 0.0..0.9f64,
        ) {
            let constant = 2f64.powi(constant);
            let values: Vec<f64> = (0..180)
                .map(|at| {
                    let shape = match at {
                        0..60 => first,
                        60..120 => first + 3.0 + slope * (at - 60) as f64,
                        _ => second - 4.0 * (-((at - 120) as f64) / constant).exp(),
                    };
                    shape + 1e-4 * noise(at)
                })
                .collect();
            let (found, _) = pieces(&values, &every(180), correlation, 1e-4, 10.0).unwrap();
            let worst = rest(&values, &found, correlation)
                .into_iter()
                .fold(0.0, |most: f64, one| most.max(one.abs()));
            prop_assert!(worst < 3e-4, "{} leave {}", found.len(), worst);
            prop_assert!(found.len() <= 4, "{:?}", found);
        }

        #[test]
        fn scaled_values_have_scaled_pieces(scale in -3.0..3.0f64, seed in 0..500usize) {
            let scale = 10f64.powf(scale);
            let values: Vec<f64> = (0..90)
                .map(|at| noise(at + seed) + if at < 40 { 2.0 } else { 0.0 })
                .collect();
            let scaled: Vec<f64> = values.iter().map(|value| scale * value).collect();
            let (one, _) = pieces(&values, &every(90), 0.3, 0.3, 4.0).unwrap();
            let (other, _) = pieces(&scaled, &every(90), 0.3, 0.3 * scale, 4.0).unwrap();
            prop_assert_eq!(one.len(), other.len());
            for (a, b) in one.iter().zip(&other) {
                prop_assert_eq!(a.end, b.end);
                prop_assert!((a.level * scale - b.level).abs() < 1e-6 * scale);
            }
        }
    }

    #[test]
    fn a_wild_stretch_is_a_piece_with_noise_of_its_own() {
        let values: Vec<f64> = (0..400)
            .map(|at| noise(at) * if at < 200 { 0.1 } else { 2.0 })
            .collect();
        let (found, _) = pieces(&values, &every(400), 0.0, 0.03, 6.0).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].end.abs_diff(200) < 5);
        assert!(found[1].variance > 100.0);
    }

    #[test]
    fn what_cannot_be_described_is_named() {
        assert!(pieces(&[], &[], 0.5, 1.0, 1.0).unwrap().0.is_empty());
        for edges in [&[2, 1, 3][..], &[1, 2], &[0, 3], &[]] {
            let error = pieces(&[1.0, 2.0, 3.0], edges, 0.5, 1.0, 1.0).unwrap_err();
            assert_eq!(error, SeriesError::Edges);
        }
        assert!(pieces(&[1.0], &[1], 0.5, 0.0, 1.0).is_err());
        assert!(pieces(&[1.0], &[1], -0.5, 1.0, 1.0).is_err());
    }
}
