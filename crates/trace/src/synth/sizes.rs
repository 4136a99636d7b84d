//! How many I/Os have which size and direction, so that counts, bytes and shares all hold.

use super::apportion::apportion;
use super::entropy::{logistic, tilted};
use super::shape::{Shape, ShapeError};

const SECTOR: u32 = 512;
/// Sizes that are not listed are whole pages.
const PAGE: u32 = 4096;

/// How far the bytes of a shape may be off what its sizes can make.
const TOLERANCE: f64 = 0.005;

/// I/Os of one size.
#[derive(Debug, Clone)]
pub struct Row {
    /// The size.
    pub bytes: u32,
    /// The share of the shape that it belongs to; within one, sizes may be exchanged.
    pub group: usize,
    /// Its part of all I/Os.
    pub share: f64,
    /// How many read, and how many write.
    pub ios: [u64; 2],
}

/// A table of sizes and directions for a shape at a scale.
///
/// Sizes that a shape does not list are whole pages between the least and the greatest of those
/// that it does, tilted exponentially so that the mean size holds. Which I/Os read is a logistic
/// in size whose two parameters make the count of reads and the bytes read hold. Both are the
/// distributions of greatest entropy under what is known.
///
/// Published shares are rounded: where the bytes are up to half a percent past what the shares
/// can make, the shares hold and the bytes are as near as they come.
pub fn table(shape: &Shape, scale: f64) -> Result<Vec<Row>, ShapeError> {
    let mut rows = listed(shape);
    add_others(shape, &mut rows)?;
    let reading = read_shares(shape, &rows)?;
    let scaled = |count: u64| (count as f64 * scale).round() as u64;
    let ios = [scaled(shape.reads), scaled(shape.writes)];
    count(&mut rows, &reading, ios);
    let wanted = [shape.read_bytes, shape.write_bytes].map(|bytes| bytes as f64 * scale);
    divide(&mut rows, wanted);
    for (direction, bytes) in wanted.into_iter().enumerate() {
        mend(&mut rows, direction, bytes);
    }
    rows.retain(|row| row.ios != [0, 0]);
    Ok(rows)
}

fn listed(shape: &Shape) -> Vec<Row> {
    let mut rows = Vec::new();
    for (group, class) in shape.sizes.iter().enumerate() {
        let sizes: Vec<u32> = match (class.bytes, class.below) {
            (Some(bytes), _) => vec![bytes],
            (None, Some(below)) => (1..below / SECTOR).map(|at| at * SECTOR).collect(),
            (None, None) => Vec::new(),
        };
        let share = class.share / sizes.len() as f64;
        rows.extend(sizes.into_iter().map(|bytes| Row {
            bytes,
            group,
            share,
            ios: [0; 2],
        }));
    }
    rows
}

/// Add the sizes that are not listed.
fn add_others(shape: &Shape, rows: &mut Vec<Row>) -> Result<(), ShapeError> {
    let ios = (shape.reads + shape.writes) as f64;
    let wanted = (shape.read_bytes + shape.write_bytes) as f64 / ios;
    let sum: f64 = rows.iter().map(|row| row.share).sum();
    let made: f64 = rows
        .iter()
        .map(|row| row.share * f64::from(row.bytes))
        .sum();
    let left = (1.0 - sum).max(0.0);
    let exact = || shape.sizes.iter().filter_map(|class| class.bytes);
    let (least, most) = (exact().min().unwrap_or(PAGE), exact().max().unwrap_or(PAGE));
    let others: Vec<u32> = (least / PAGE + 1..most.div_ceil(PAGE))
        .map(|pages| pages * PAGE)
        .filter(|&bytes| exact().all(|listed| listed != bytes))
        .collect();
    if left > 1e-9 && others.is_empty() {
        return Err(ShapeError::new(
            "sizes: the shares do not make 1, and there is no whole page between the sizes for \
             the rest",
        ));
    }
    let low = others.first().copied().unwrap_or(0);
    let high = others.last().copied().unwrap_or(0);
    let reach = [low, high].map(|bytes| made + left * f64::from(bytes));
    if wanted < reach[0] * (1.0 - TOLERANCE) || wanted > reach[1] * (1.0 + TOLERANCE) {
        return Err(ShapeError(format!(
            "sizes: the shares make a mean size of {:.0} to {:.0} bytes, but the bytes and the \
             I/Os make {wanted:.0}",
            reach[0], reach[1]
        )));
    }
    if left <= 1e-9 {
        return Ok(());
    }
    let group = shape.sizes.len();
    for (bytes, share) in others.iter().zip(tilted(&others, (wanted - made) / left)) {
        rows.push(Row {
            bytes: *bytes,
            group,
            share: share * left,
            ios: [0; 2],
        });
    }
    Ok(())
}

/// Which part of each row reads.
fn read_shares(shape: &Shape, rows: &[Row]) -> Result<Vec<f64>, ShapeError> {
    let ios = (shape.reads + shape.writes) as f64;
    let wanted = shape.reads as f64 / ios;
    if shape.reads == 0 || shape.writes == 0 {
        return Ok(vec![wanted; rows.len()]);
    }
    let unit: f64 = rows
        .iter()
        .map(|row| row.share * f64::from(row.bytes))
        .sum();
    // what the sizes make can be a little off what is asked in all: reads and writes share that
    let asked = (shape.read_bytes + shape.write_bytes) as f64 / ios;
    let moment = shape.read_bytes as f64 / ios / asked - wanted;
    let at: Vec<f64> = rows
        .iter()
        .map(|row| f64::from(row.bytes) / unit - 1.0)
        .collect();
    let shares: Vec<f64> = rows.iter().map(|row| row.share).collect();
    let solved = logistic(&at, &shares, [wanted, moment]);
    let bytes: f64 = solved
        .iter()
        .zip(rows)
        .map(|(share, row)| share * row.share * f64::from(row.bytes))
        .sum();
    let ratio = bytes / unit / (shape.read_bytes as f64 / ios / asked);
    if (ratio - 1.0).abs() > TOLERANCE {
        return Err(ShapeError(format!(
            "read_bytes: no division of these sizes between reads and writes makes a mean read of \
             {:.0} bytes (nearest is {:.0})",
            shape.read_bytes as f64 / shape.reads as f64,
            ratio * shape.read_bytes as f64 / shape.reads as f64
        )));
    }
    Ok(solved)
}

/// Whole I/Os: the groups' shares, the shares within each, and the counts of reads and writes.
fn count(rows: &mut [Row], reading: &[f64], ios: [u64; 2]) {
    let groups = rows
        .iter()
        .map(|row| row.group)
        .max()
        .map_or(0, |last| last + 1);
    let mut shares = vec![0.0; groups];
    for row in rows.iter() {
        shares[row.group] += row.share;
    }
    let mut totals = vec![0; rows.len()];
    for (group, &whole) in apportion(ios[0] + ios[1], &shares, None).iter().enumerate() {
        let within: Vec<f64> = rows
            .iter()
            .map(|row| if row.group == group { row.share } else { 0.0 })
            .collect();
        for (total, dealt) in totals.iter_mut().zip(apportion(whole, &within, None)) {
            *total += dealt;
        }
    }
    let weights: Vec<f64> = totals
        .iter()
        .zip(reading)
        .map(|(&total, share)| total as f64 * share)
        .collect();
    let reads = apportion(ios[0], &weights, Some(&totals));
    for ((row, total), reads) in rows.iter_mut().zip(totals).zip(reads) {
        row.ios = [reads, total - reads];
    }
}

/// Bytes of a direction that are missing to what is wanted.
fn missing(rows: &[Row], direction: usize, wanted: f64) -> f64 {
    let bytes = |row: &Row| row.ios[direction] as f64 * f64::from(row.bytes);
    wanted - rows.iter().map(bytes).sum::<f64>()
}

/// Exchange a read of one size for a write of another, as long as that brings the bytes of both
/// nearer: where I/Os are few, rounding leaves more amiss than sizes within a group can mend.
fn divide(rows: &mut [Row], wanted: [f64; 2]) {
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
fn mend(rows: &mut [Row], direction: usize, wanted: f64) {
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
