//! The drive's time against the machine's.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Runs the drive's clock, from 0, `factor` times as fast as the machine's.
#[derive(Debug)]
pub struct Clock {
    began: Instant,
    began_unix_s: f64,
    factor: f64,
}

impl Clock {
    pub fn start(factor: f64) -> Clock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Clock {
            began: Instant::now(),
            began_unix_s: since.map_or(0.0, |since| since.as_secs_f64()),
            factor,
        }
    }

    /// The drive's time.
    pub fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64() * self.factor
    }

    /// The machine's wall clock at a time of the drive.
    pub fn unix_s(&self, t_s: f64) -> f64 {
        self.began_unix_s + t_s / self.factor
    }

    /// Return at a time of the drive; at once where it has passed.
    pub fn wait_until(&self, t_s: f64) {
        let until = self.began + Duration::from_secs_f64((t_s / self.factor).max(0.0));
        thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}
