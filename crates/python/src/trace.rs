//! `Trace` for Python: records of I/O as NumPy arrays, in and out.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use heatsoak_trace::fit::{CountsSoFar, Fitted, Place};
use heatsoak_trace::read::{Compression, Damage, Format, OpenError, Options, SkippedSoFar, open};
use heatsoak_trace::write::{WriteError, iolog_v3_ticking, to_file};
use heatsoak_trace::{Op, Record, Source};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::value_error;
use crate::recorded::Recorded;
use crate::trace_made::{self, Watched};

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
    ios: Option<u64>,
    counts: Option<CountsSoFar>,
}

impl Trace {
    fn made(source: Box<dyn Source>, ios: u64) -> Self {
        Trace {
            source: Mutex::new(Some(source)),
            read: None,
            ios: Some(ios),
            counts: None,
        }
    }

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
    value_error("the trace was used up, expected one that was opened anew")
}

fn damage(word: &str) -> PyResult<Damage> {
    match word {
        "error" => Ok(Damage::Error),
        "skip" => Ok(Damage::Skip),
        _ => Err(value_error(format!(
            "damaged is {word:?}, expected \"error\" or \"skip\""
        ))),
    }
}

fn format(name: &str) -> PyResult<Format> {
    let known = Format::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        value_error(format!("format is {name:?}, expected one of {names}"))
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
            other => value_error(other),
        })?;
        Ok(Trace {
            source: Mutex::new(Some(opened.source)),
            read: Some(Read {
                format: opened.format,
                compression: opened.compression,
                skipped: opened.skipped,
            }),
            ios: None,
            counts: None,
        })
    }

    #[staticmethod]
    #[pyo3(signature = (shape_json, scale = 1.0, seed = 0))]
    fn synthetic(shape_json: &str, scale: f64, seed: u64) -> PyResult<Self> {
        let source = trace_made::synthetic(shape_json, scale, seed)?;
        let ios = source.ios();
        Ok(Trace::made(Box::new(source), ios))
    }

    #[staticmethod]
    #[pyo3(signature = (at_ns, done_ns, op, offset, bytes, depth))]
    fn of(
        at_ns: PyReadonlyArray1<'_, u64>,
        done_ns: PyReadonlyArray1<'_, u64>,
        op: PyReadonlyArray1<'_, u8>,
        offset: PyReadonlyArray1<'_, u64>,
        bytes: PyReadonlyArray1<'_, u32>,
        depth: PyReadonlyArray1<'_, u16>,
    ) -> PyResult<Self> {
        let source = Recorded::of(
            &at_ns.as_array(),
            &done_ns.as_array(),
            &op.as_array(),
            &offset.as_array(),
            &bytes.as_array(),
            &depth.as_array(),
        );
        let source = source.map_err(value_error)?;
        Ok(Trace::made(Box::new(source), at_ns.len()? as u64))
    }

    #[getter]
    fn ios(&self) -> Option<u64> {
        self.ios
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

    #[pyo3(signature = (
        span_bytes, skip_beyond = false, block_bytes = 1, trims = true, idle_limit_s = None
    ))]
    fn fit(
        &mut self,
        span_bytes: u64,
        skip_beyond: bool,
        block_bytes: u32,
        trims: bool,
        idle_limit_s: Option<f64>,
    ) -> PyResult<()> {
        if block_bytes == 0 {
            return Err(value_error("block_bytes is 0, expected 1 or more"));
        }
        let idle_limit_ns = match idle_limit_s {
            Some(limit_s) if !(0.0..=1e9).contains(&limit_s) => {
                return Err(value_error(format!(
                    "idle_limit_s is {limit_s}, expected 0 to 1e9"
                )));
            }
            Some(limit_s) => Some((limit_s * 1e9).round() as u64),
            None => None,
        };
        let place = Place {
            span_bytes,
            skip_beyond,
            block_bytes,
            trims,
            idle_limit_ns,
        };
        let fitted = Fitted::new(self.take_source()?, place);
        self.counts = Some(fitted.counts());
        *self.held() = Some(Box::new(fitted));
        Ok(())
    }

    #[getter]
    fn fitted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(counts) = self.counts.as_ref().map(CountsSoFar::get) else {
            return Ok(None);
        };
        let table = PyDict::new(py);
        for (name, value) in [
            ("reads", counts.reads),
            ("writes", counts.writes),
            ("trims", counts.trims),
            ("read_bytes", counts.read_bytes),
            ("write_bytes", counts.write_bytes),
            ("read_begin", counts.read_begin),
            ("read_end", counts.read_end),
            ("largest_bytes", counts.largest_bytes.into()),
            ("length_ns", counts.length_ns),
            ("dropped_trims", counts.dropped_trims),
            ("dropped_beyond", counts.dropped_beyond),
            ("dropped_empty", counts.dropped_empty),
            ("widened", counts.widened),
        ] {
            table.set_item(name, value)?;
        }
        Ok(Some(table))
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
        columns(py, &records.map_err(value_error)?)
    }

    #[pyo3(signature = (idle_limit_s = 0.025, progress = None))]
    fn statistics(
        &mut self,
        py: Python<'_>,
        idle_limit_s: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        trace_made::statistics(py, self.take_source()?, idle_limit_s, progress)
    }

    #[pyo3(signature = (path, format, name = "trace", progress = None))]
    fn write(
        &mut self,
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        name: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let format = self::format(format)?;
        let mut watched = Watched::new(self.take_source()?, progress);
        let written = py.detach(|| to_file(&mut watched, &path, format, name));
        written.map_err(|error| not_written(error, &watched))
    }

    #[pyo3(signature = (path, name, ticks, last_us, progress = None))]
    fn write_ticking(
        &mut self,
        py: Python<'_>,
        path: PathBuf,
        name: &str,
        ticks: &str,
        last_us: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let mut watched = Watched::new(self.take_source()?, progress);
        let written = py.detach(|| {
            let mut file = BufWriter::new(File::create(&path)?);
            let count = iolog_v3_ticking(&mut watched, &mut file, name, ticks, last_us)?;
            file.flush()?;
            Ok(count)
        });
        written.map_err(|error| not_written(error, &watched))
    }
}

fn not_written(error: WriteError, watched: &Watched) -> PyErr {
    watched.stopped_by().unwrap_or_else(|| match error {
        WriteError::Io(error) => error.into(),
        other => value_error(other),
    })
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
