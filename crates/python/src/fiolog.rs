//! `FioLog` for Python: bytes in, NumPy arrays out.

use heatsoak_fiolog::{BIN_MS, FioLog as Stream};
use numpy::{Element, IntoPyArray};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One of fio's logs; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct FioLog {
    log: Stream,
}

#[pymethods]
impl FioLog {
    #[classattr]
    const BIN_MS: i64 = BIN_MS;

    #[new]
    #[pyo3(signature = (keep_rows = false))]
    fn new(keep_rows: bool) -> Self {
        FioLog {
            log: Stream::new(keep_rows),
        }
    }

    fn feed(&mut self, py: Python<'_>, piece: &[u8]) {
        py.detach(|| self.log.feed(piece));
    }

    fn finish(&mut self, py: Python<'_>) {
        py.detach(|| self.log.finish());
    }

    #[getter]
    fn columns(&self) -> usize {
        self.log.layout().columns
    }

    #[getter]
    fn both(&self) -> bool {
        self.log.layout().both
    }

    #[getter]
    fn priority(&self) -> bool {
        self.log.layout().priority
    }

    #[getter]
    fn skipped(&self) -> (u64, u64) {
        self.log.skipped()
    }

    #[getter]
    fn disordered(&self) -> bool {
        self.log.is_disordered()
    }

    #[getter]
    fn run_lines(&self) -> Vec<u64> {
        self.log.runs().iter().map(|run| run.line).collect()
    }

    #[getter]
    fn bin_count(&self) -> usize {
        self.log.bin_count()
    }

    fn bins<'py>(&self, py: Python<'py>, run: usize) -> PyResult<Bound<'py, PyDict>> {
        let runs = self.log.runs();
        let bins = &runs
            .get(run)
            .ok_or_else(|| PyIndexError::new_err("no such run"))?
            .bins;
        let table = PyDict::new(py);
        put(&table, "ddir", bins.iter().map(|bin| bin.ddir))?;
        put(&table, "first_ms", bins.iter().map(|bin| bin.first_ms))?;
        put(&table, "last_ms", bins.iter().map(|bin| bin.last_ms))?;
        put(&table, "count", bins.iter().map(|bin| bin.count as f64))?;
        put(&table, "bytes", bins.iter().map(|bin| bin.bytes as f64))?;
        put(&table, "mean", bins.iter().map(|bin| bin.mean))?;
        put(&table, "p50", bins.iter().map(|bin| bin.p50))?;
        put(&table, "p99", bins.iter().map(|bin| bin.p99))?;
        put(&table, "p999", bins.iter().map(|bin| bin.p999))?;
        put(&table, "max", bins.iter().map(|bin| bin.max as f64))?;
        Ok(table)
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        if let Some(rows) = self.log.rows() {
            put(&table, "time_ms", rows.time_ms.iter().copied())?;
            put(&table, "value", rows.value.iter().copied())?;
            put(&table, "ddir", rows.ddir.iter().copied())?;
            put(&table, "bs", rows.bs.iter().copied())?;
            put(&table, "offset", rows.offset.iter().copied())?;
        }
        Ok(table)
    }
}

fn put<T: Element>(
    table: &Bound<'_, PyDict>,
    name: &str,
    column: impl Iterator<Item = T>,
) -> PyResult<()> {
    let column: Vec<T> = column.collect();
    table.set_item(name, column.into_pyarray(table.py()))
}
