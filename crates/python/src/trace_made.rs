//! What a trace of any origin is held against: its statistics, and traces made from such.

use heatsoak_trace::stats::Statistics;
use heatsoak_trace::synth::{Shape, Synthetic};
use heatsoak_trace::{Record, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::drive::parse;

/// Records between two looks at Python: for a moment of work, some hundredths of a second.
const PIECE: usize = 1 << 19;

/// A trace of a shape, given as JSON.
pub fn synthetic(shape: &str, scale: f64, seed: u64) -> PyResult<Synthetic> {
    let shape: Shape = parse("shape", shape)?;
    Synthetic::new(shape, scale, seed).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The statistics of all that a source gives, as JSON.
///
/// `progress` is called with the number of records so far, now and then.
pub fn statistics(
    py: Python<'_>,
    source: &mut dyn Source,
    idle_limit_s: f64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    if !(0.0..=1e9).contains(&idle_limit_s) {
        return Err(PyValueError::new_err(format!(
            "idle_limit_s: it has to be 0 to 1e9 seconds (is {idle_limit_s})"
        )));
    }
    let mut statistics = Statistics::new((idle_limit_s * 1e9).round() as u64);
    let mut done = 0;
    loop {
        let read = py.detach(|| count(source, &mut statistics));
        let read = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
        if read == 0 {
            break;
        }
        done += read;
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((done,))?;
        }
    }
    serde_json::to_string(&statistics.summary())
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Count up to a piece's records, in portions that a cache holds.
fn count(
    source: &mut dyn Source,
    statistics: &mut Statistics,
) -> Result<usize, heatsoak_trace::SourceError> {
    const PORTION: usize = 4096;
    let mut records: Vec<Record> = Vec::with_capacity(PORTION);
    let mut done = 0;
    while done < PIECE {
        records.clear();
        let read = source.fill(&mut records, PORTION)?;
        if read == 0 {
            break;
        }
        statistics.feed(&records);
        done += read;
    }
    Ok(done)
}
