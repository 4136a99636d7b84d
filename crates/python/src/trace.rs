//! `Trace` for Python: recorded I/O, as a stream.

use heatsoak_trace::Source;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::recorded;

/// A trace; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct Trace {
    source: Option<Box<dyn Source + Sync>>,
}

impl Trace {
    /// Take its records away.
    pub fn consume(&mut self) -> PyResult<Box<dyn Source + Sync>> {
        self.source
            .take()
            .ok_or_else(|| PyValueError::new_err("the trace has been read to its end already"))
    }
}

#[pymethods]
impl Trace {
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
        let source = recorded::Recorded::of(
            &at_ns.as_array(),
            &done_ns.as_array(),
            &op.as_array(),
            &offset.as_array(),
            &bytes.as_array(),
            &depth.as_array(),
        );
        Ok(Trace {
            source: Some(Box::new(source.map_err(PyValueError::new_err)?)),
        })
    }
}
