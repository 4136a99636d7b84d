//! What is new in readings that are off by noise of their own and by a deviation that lasts.

/// Noise of each reading on its own, and a deviation that lasts, an Ornstein-Uhlenbeck process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastingNoise {
    /// The standard deviation of each reading on its own.
    pub own: f64,
    /// That of the deviation.
    pub lasting: f64,
    /// For how long it lasts, in the unit of the readings' times.
    pub lasting_s: f64,
}

/// Replace readings at times `t_s` by what is new in each, in standard deviations: a Kalman filter
/// follows the deviation. `columns` series stand side by side, each on its own. Returns the
/// logarithm of the determinant of the readings' covariance.
pub fn whiten(noise: LastingNoise, t_s: &[f64], columns: usize, readings: &mut [f64]) -> f64 {
    let (own, lasting) = (noise.own.powi(2), noise.lasting.powi(2));
    let mut variance = lasting;
    let mut deviation = vec![0.0; columns];
    let (mut log_det, mut before_s) = (0.0, f64::NAN);
    for (row, &at_s) in readings.chunks_exact_mut(columns).zip(t_s) {
        let passed_s = if before_s.is_nan() {
            0.0
        } else {
            at_s - before_s
        };
        before_s = at_s;
        let kept = (-passed_s / noise.lasting_s).exp();
        variance = kept * kept * variance + (1.0 - kept * kept) * lasting;
        let total = variance + own;
        let (gain, sd) = (variance / total, total.sqrt());
        for (reading, deviation) in row.iter_mut().zip(&mut deviation) {
            let new = *reading - kept * *deviation;
            *deviation = kept * *deviation + gain * new;
            *reading = new / sd;
        }
        variance *= own / total;
        log_det += total.ln();
    }
    log_det
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_are_whitened_as_their_covariance_says() {
        let noise = LastingNoise {
            own: 0.5,
            lasting: 2.0,
            lasting_s: 10.0,
        };
        let covariance = 4.0 * f64::exp(-0.3);
        let determinant = 4.25 * 4.25 - covariance * covariance;
        let mut readings = [1.0, -2.0, 3.0, 0.5];
        let log_det = whiten(noise, &[5.0, 8.0], 2, &mut readings);
        assert!((log_det - determinant.ln()).abs() < 1e-12);
        for (first, second, column) in [(1.0, 3.0, 0), (-2.0, 0.5, 1)] {
            let squares: f64 =
                4.25 * (first * first + second * second) - 2.0 * covariance * first * second;
            let white = readings[column].powi(2) + readings[2 + column].powi(2);
            assert!((white - squares / determinant).abs() < 1e-12);
        }
    }
}
