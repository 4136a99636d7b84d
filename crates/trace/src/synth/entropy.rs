//! Distributions of greatest entropy under what is known of them.

/// Shares that fall or rise exponentially with size, with a mean as near `mean` as can be.
pub fn tilted(sizes: &[u32], mean: f64) -> Vec<f64> {
    let unit = f64::from(sizes[sizes.len() - 1].max(1));
    let shares = |slope: f64| {
        let weights: Vec<f64> = sizes
            .iter()
            .map(|&bytes| (slope * (f64::from(bytes) / unit - 1.0)).exp())
            .collect();
        let sum: f64 = weights.iter().sum();
        weights
            .iter()
            .map(|weight| weight / sum)
            .collect::<Vec<f64>>()
    };
    let mean_of = |shares: &[f64]| -> f64 {
        shares
            .iter()
            .zip(sizes)
            .map(|(share, &bytes)| share * f64::from(bytes))
            .sum()
    };
    let (mut low, mut high) = (-300.0, 300.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if mean_of(&shares(middle)) < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    shares((low + high) / 2.0)
}

/// The logistic in `at` whose sum, weighted with `shares`, is `wanted[0]`, and `wanted[1]` where
/// it is weighted with `at` as well: the minimum of a convex function, by Newton's method with a
/// backtracking step.
pub fn logistic(at: &[f64], shares: &[f64], wanted: [f64; 2]) -> Vec<f64> {
    let value = |[shift, slope]: [f64; 2]| -> f64 {
        let sum: f64 = at
            .iter()
            .zip(shares)
            .map(|(x, share)| {
                let z = shift + slope * x;
                share * (z.max(0.0) + (-z.abs()).exp().ln_1p())
            })
            .sum();
        sum - shift * wanted[0] - slope * wanted[1]
    };
    let share = |[shift, slope]: [f64; 2], x: f64| 1.0 / (1.0 + (-(shift + slope * x)).exp());
    let mut point = [(wanted[0] / (1.0 - wanted[0])).ln(), 0.0];
    for _ in 0..200 {
        let mut gradient = [-wanted[0], -wanted[1]];
        let mut curve = [1e-12, 0.0, 1e-12];
        for (&x, part) in at.iter().zip(shares) {
            let reading = share(point, x);
            gradient[0] += part * reading;
            gradient[1] += part * reading * x;
            let weight = part * reading * (1.0 - reading);
            curve[0] += weight;
            curve[1] += weight * x;
            curve[2] += weight * x * x;
        }
        let size = gradient[0].abs().max(gradient[1].abs());
        if size < 1e-13 {
            break;
        }
        let scale = (curve[0] * curve[2] - curve[1] * curve[1]).max(1e-24);
        let step = [
            (curve[2] * gradient[0] - curve[1] * gradient[1]) / scale,
            (curve[0] * gradient[1] - curve[1] * gradient[0]) / scale,
        ];
        let before = value(point);
        let mut length = 1.0;
        let tried = |length: f64| [point[0] - length * step[0], point[1] - length * step[1]];
        while length > 1e-9 && value(tried(length)).total_cmp(&before).is_gt() {
            length /= 2.0;
        }
        point = tried(length);
    }
    at.iter().map(|&x| share(point, x)).collect()
}
