//! What a trace of any origin is held against: its statistics, and traces made from such.

use std::sync::{Mutex, PoisonError};

use heatsoak_trace::stats::Statistics;
use heatsoak_trace::synth::{Shape, Synthetic};
use heatsoak_trace::{Record, Source, SourceError};
use pyo3::prelude::*;

use crate::convert::{parse, value_error};

/// Records between two looks at Python: some hundredths of a second of work.
const PIECE: u64 = 1 << 19;

/// Records that are handled at once; a cache holds them.
const PORTION: usize = 4096;

/// A trace of a shape, given as JSON.
pub fn synthetic(shape: &str, scale: f64, seed: u64) -> PyResult<Synthetic> {
    let shape: Shape = parse("shape", shape)?;
    Synthetic::new(shape, scale, seed).map_err(value_error)
}

/// The statistics of all that a source gives, as JSON.
pub fn statistics(
    py: Python<'_>,
    source: Box<dyn Source>,
    idle_limit_s: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    if !(0.0..=1e9).contains(&idle_limit_s) {
        return Err(value_error(format!(
            "idle_limit_s: it has to be 0 to 1e9 seconds (is {idle_limit_s})"
        )));
    }
    let mut watched = Watched::new(source, progress);
    let mut statistics = Statistics::new((idle_limit_s * 1e9).round() as u64);
    py.detach(|| -> Result<(), SourceError> {
        let mut records: Vec<Record> = Vec::with_capacity(PORTION);
        while watched.fill(&mut records, PORTION)? > 0 {
            statistics.feed(&records);
            records.clear();
        }
        Ok(())
    })
    .map_err(|error| watched.stopped_by().unwrap_or_else(|| value_error(error)))?;
    serde_json::to_string(&statistics.summary()).map_err(value_error)
}

/// A source that tells Python now and then how many records it has given, and ends with an error
/// where Python was interrupted or what it called raised one.
pub struct Watched {
    source: Box<dyn Source>,
    progress: Option<Py<PyAny>>,
    given: u64,
    told: u64,
    error: Mutex<Option<PyErr>>,
}

impl Watched {
    /// A source, and what is called with the number of records so far.
    pub fn new(source: Box<dyn Source>, progress: Option<Py<PyAny>>) -> Self {
        Watched {
            source,
            progress,
            given: 0,
            told: 0,
            error: Mutex::default(),
        }
    }

    /// What Python raised, if that is why it ended.
    pub fn stopped_by(&self) -> Option<PyErr> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn tell(&mut self) -> Result<(), SourceError> {
        self.told = self.given;
        let told = Python::attach(|py| {
            py.check_signals()?;
            let progress = self.progress.as_ref();
            progress.map_or(Ok(()), |progress| {
                progress.call1(py, (self.given,)).map(|_| ())
            })
        });
        told.map_err(|error| {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            SourceError {
                line: None,
                what: "stopped".to_owned(),
            }
        })
    }
}

impl Source for Watched {
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
        let read = self.source.fill(into, most)?;
        self.given += read as u64;
        let is_new = self.given > self.told;
        if self.given - self.told >= PIECE || (read == 0 && is_new) {
            self.tell()?;
        }
        Ok(read)
    }
}
