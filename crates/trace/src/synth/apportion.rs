//! Whole numbers in given proportions.

/// Deal out `whole` in proportion to `weights`, by largest remainders; ties go to the first.
///
/// None gets more than `most` allows, as long as all of them together have room.
pub fn apportion(whole: u64, weights: &[f64], most: Option<&[u64]>) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let limit = |at: usize| most.map_or(u64::MAX, |most| most[at]);
    if sum <= 0.0 {
        return vec![0; weights.len()];
    }
    let exact: Vec<f64> = weights
        .iter()
        .map(|weight| whole as f64 * weight / sum)
        .collect();
    let mut dealt: Vec<u64> = exact
        .iter()
        .enumerate()
        .map(|(at, share)| (share.floor() as u64).min(limit(at)))
        .collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&one, &other| {
        let rest = |at: usize| exact[at] - dealt[at] as f64;
        rest(other).total_cmp(&rest(one))
    });
    let mut left = whole.saturating_sub(dealt.iter().sum());
    while left > 0 {
        let before = left;
        for &at in &order {
            if left > 0 && weights[at] > 0.0 && dealt[at] < limit(at) {
                dealt[at] += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    dealt
}
