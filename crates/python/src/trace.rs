//! `Trace` for Python: records of I/O in, NumPy arrays out.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use heatsoak_trace::read::{Compression, Damage, Format, OpenError, Options, SkippedSoFar, open};
use heatsoak_trace::write::{WriteError, to_file};
use heatsoak_trace::{Op, Record, Source};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What there is to say of a trace that was read from a file.
struct Read {
    format: Format,
    compression: Compression,
    skipped: SkippedSoFar,
}

/// Recorded I/O; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct Trace {
    /// None once it was used up. The lock is never waited for: Python lends it to one at a time.
    source: Mutex<Option<Box<dyn Source>>>,
    read: Option<Read>,
}

impl Trace {
    fn held(&mut self) -> &mut Option<Box<dyn Source>> {
        self.source
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn source(&mut self) -> PyResult<&mut Box<dyn Source>> {
        self.held().as_mut().ok_or_else(used_up)
    }

    /// Hand the records over; there are none left here then.
    pub fn take_source(&mut self) -> PyResult<Box<dyn Source>> {
        self.held().take().ok_or_else(used_up)
    }
}

fn used_up() -> PyErr {
    PyValueError::new_err("the trace was used up, expected one that was opened anew")
}

fn damage(word: &str) -> PyResult<Damage> {
    match word {
        "error" => Ok(Damage::Error),
        "skip" => Ok(Damage::Skip),
        _ => Err(refused(format!(
            "damaged is {word:?}, expected \"error\" or \"skip\""
        ))),
    }
}

fn format(name: &str) -> PyResult<Format> {
    let known = Format::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        refused(format!("format is {name:?}, expected one of {names}"))
    })
}

#[pymethods]
impl Trace {
    #[staticmethod]
    #[pyo3(signature = (path, damaged = "error", span_bytes = None, wrap = false, device = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        damaged: &str,
        span_bytes: Option<u64>,
        wrap: bool,
        device: Option<String>,
    ) -> PyResult<Self> {
        let options = Options {
            damaged: damage(damaged)?,
            span_bytes,
            wrap,
            device,
        };
        let opened = py.detach(|| open(&path, options));
        let opened = opened.map_err(|error| match error {
            OpenError::Io(error) => error.into(),
            other => refused(other),
        })?;
        Ok(Trace {
            source: Mutex::new(Some(opened.source)),
            read: Some(Read {
                format: opened.format,
                compression: opened.compression,
                skipped: opened.skipped,
            }),
        })
    }

    #[getter]
    fn format(&self) -> Option<&'static str> {
        self.read.as_ref().map(|read| read.format.name())
    }

    #[getter]
    fn compression(&self) -> Option<&'static str> {
        self.read.as_ref().and_then(|read| read.compression.name())
    }

    #[getter]
    fn skipped(&self) -> (u64, u64, String) {
        let skipped = self.read.as_ref().map(|read| read.skipped.get());
        let skipped = skipped.unwrap_or_default();
        (skipped.count, skipped.first_line, skipped.why)
    }

    fn take<'py>(&mut self, py: Python<'py>, n: usize) -> PyResult<Bound<'py, PyDict>> {
        let source = self.source()?;
        let records = py.detach(|| {
            let mut records = Vec::new();
            while records.len() < n {
                let left = n - records.len();
                match source.fill(&mut records, left) {
                    Ok(0) => break,
                    Ok(_) => {}
                    // what came before an error is given first, and the error then
                    Err(_) if !records.is_empty() => break,
                    Err(error) => return Err(error),
                }
            }
            Ok(records)
        });
        columns(py, &records.map_err(refused)?)
    }

    #[pyo3(signature = (path, format, name = "trace"))]
    fn write(&mut self, py: Python<'_>, path: PathBuf, format: &str, name: &str) -> PyResult<u64> {
        let format = self::format(format)?;
        let mut source = self.take_source()?;
        let written = py.detach(|| to_file(source.as_mut(), &path, format, name));
        written.map_err(|error| match error {
            WriteError::Io(error) => error.into(),
            other => refused(other),
        })
    }
}

fn columns<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    macro_rules! put {
        ($name:literal, $value:expr) => {
            let column: Vec<_> = records.iter().map($value).collect();
            table.set_item($name, column.into_pyarray(py))?;
        };
    }
    put!("at_ns", |record| record.at_ns);
    put!("done_ns", |record| record.done_ns);
    put!("op", |record| match record.op {
        Op::Read => 0u8,
        Op::Write => 1,
        Op::Trim => 2,
    });
    put!("offset", |record| record.offset);
    put!("bytes", |record| record.bytes);
    put!("depth", |record| record.depth);
    Ok(table)
}
