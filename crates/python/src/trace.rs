//! `Trace` for Python: records as NumPy arrays, statistics as JSON.

use std::sync::{Mutex, PoisonError};

use heatsoak_trace::{Op, Record, Source};
use numpy::{Element, IntoPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::trace_made;

/// A trace; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct Trace {
    /// None once it was used up. The lock is never waited for: Python lends it to one at a time.
    source: Mutex<Option<Box<dyn Source>>>,
    ios: Option<u64>,
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

#[pymethods]
impl Trace {
    #[staticmethod]
    #[pyo3(signature = (shape_json, scale = 1.0, seed = 0))]
    fn synthetic(shape_json: &str, scale: f64, seed: u64) -> PyResult<Self> {
        let source = trace_made::synthetic(shape_json, scale, seed)?;
        Ok(Trace {
            ios: Some(source.ios()),
            source: Mutex::new(Some(Box::new(source))),
        })
    }

    #[getter]
    fn ios(&self) -> Option<u64> {
        self.ios
    }

    fn take<'py>(&mut self, py: Python<'py>, n: usize) -> PyResult<Bound<'py, PyDict>> {
        let source = self.source()?;
        let mut records = Vec::new();
        py.detach(|| -> Result<(), heatsoak_trace::SourceError> {
            while records.len() < n {
                let most = n - records.len();
                if source.fill(&mut records, most)? == 0 {
                    break;
                }
            }
            Ok(())
        })
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let table = PyDict::new(py);
        put(&table, "at_ns", &records, |record| record.at_ns)?;
        put(&table, "done_ns", &records, |record| record.done_ns)?;
        put(&table, "op", &records, |record| match record.op {
            Op::Read => 0u8,
            Op::Write => 1,
            Op::Trim => 2,
        })?;
        put(&table, "offset", &records, |record| record.offset)?;
        put(&table, "bytes", &records, |record| record.bytes)?;
        put(&table, "depth", &records, |record| record.depth)?;
        Ok(table)
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
}

fn put<T: Element>(
    table: &Bound<'_, PyDict>,
    name: &str,
    records: &[Record],
    column: impl Fn(&Record) -> T,
) -> PyResult<()> {
    let column: Vec<T> = records.iter().map(column).collect();
    table.set_item(name, column.into_pyarray(table.py()))
}
