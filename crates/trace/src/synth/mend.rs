//! What rounding to whole I/Os leaves amiss in bytes, put right by exchanging sizes.

use super::sizes::Row;

/// Bytes of a direction that are missing to what is wanted.
fn missing(rows: &[Row], direction: usize, wanted: f64) -> f64 {
    let bytes = |row: &Row| row.ios[direction] as f64 * f64::from(row.bytes);
    wanted - rows.iter().map(bytes).sum::<f64>()
}

/// Exchange a read of one size for a write of another, as long as that brings the bytes of both
/// nearer: where I/Os are few, rounding leaves more amiss than sizes within a group can mend.
pub fn divide(rows: &mut [Row], wanted: [f64; 2]) {
    let mut left = [0, 1].map(|direction| missing(rows, direction, wanted[direction]));
    loop {
        let off = |moved: f64| (left[0] + moved).abs() + (left[1] - moved).abs();
        let mut best = (off(0.0), 0, 0);
        for (reading, read) in rows.iter().enumerate().filter(|(_, row)| row.ios[0] > 0) {
            for (writing, write) in rows.iter().enumerate().filter(|(_, row)| row.ios[1] > 0) {
                let tried = off(f64::from(read.bytes) - f64::from(write.bytes));
                if tried < best.0 - 1e-6 {
                    best = (tried, reading, writing);
                }
            }
        }
        let (_, read, write) = best;
        if read == write {
            return;
        }
        let moved = f64::from(rows[read].bytes) - f64::from(rows[write].bytes);
        left = [left[0] + moved, left[1] - moved];
        rows[read].ios[0] -= 1;
        rows[read].ios[1] += 1;
        rows[write].ios[1] -= 1;
        rows[write].ios[0] += 1;
    }
}

/// Exchange sizes within groups until the bytes of a direction are as near as they can be.
pub fn mend(rows: &mut [Row], direction: usize, wanted: f64) {
    let mut missing = missing(rows, direction, wanted);
    loop {
        let mut best = (missing.abs(), 0, 0);
        for (from, old) in rows.iter().enumerate() {
            for (to, new) in rows.iter().enumerate() {
                if old.group == new.group && old.ios[direction] > 0 {
                    let left = missing - (f64::from(new.bytes) - f64::from(old.bytes));
                    if left.abs() < best.0 - 1e-6 {
                        best = (left.abs(), from, to);
                    }
                }
            }
        }
        let (_, from, to) = best;
        if from == to {
            return;
        }
        missing -= f64::from(rows[to].bytes) - f64::from(rows[from].bytes);
        rows[from].ios[direction] -= 1;
        rows[to].ios[direction] += 1;
    }
}
