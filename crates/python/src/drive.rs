//! `Drive` for Python: JSON in, NumPy arrays out.

use heatsoak_drive::{COLUMNS, Drive as Simulated, DriveSpec, EnclosureSpec, Workload};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;

/// Read JSON; an error names what was read and the key that is wrong.
fn parse<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(
        |error| {
            let key = error.path().to_string();
            let place = if key == "." || key == "?" {
                String::new()
            } else {
                format!("{key}: ")
            };
            PyValueError::new_err(format!("{what}: {place}{}", error.inner()))
        },
    )
}

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A simulated drive in a place; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct Drive {
    drive: Simulated,
}

#[pymethods]
impl Drive {
    #[new]
    #[pyo3(signature = (drive, enclosure, seed = 0))]
    fn new(drive: &str, enclosure: &str, seed: u64) -> PyResult<Self> {
        let spec: DriveSpec = parse("drive", drive)?;
        let place: EnclosureSpec = parse("enclosure", enclosure)?;
        let drive = Simulated::new(spec, place, seed).map_err(refused)?;
        Ok(Drive { drive })
    }

    #[getter]
    fn user_bytes(&self) -> u64 {
        self.drive.user_bytes()
    }

    #[getter]
    fn t_s(&self) -> f64 {
        self.drive.t_s()
    }

    #[getter]
    fn done(&self) -> bool {
        self.drive.is_done()
    }

    fn columns(&self) -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    fn begin(&mut self, workload: &str) -> PyResult<()> {
        let workload: Workload = parse("workload", workload)?;
        self.drive.begin(&workload).map_err(refused)
    }

    fn end(&mut self) {
        self.drive.end();
    }

    fn purge(&mut self) {
        self.drive.purge();
    }

    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        duration_s: f64,
        sample_s: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let drive = &mut self.drive;
        let samples = py
            .detach(|| drive.advance(duration_s, sample_s))
            .map_err(refused)?;
        let columns = PyDict::new(py);
        for (name, series) in COLUMNS.iter().zip(samples.columns) {
            columns.set_item(name, series.into_pyarray(py))?;
        }
        Ok(columns)
    }

    fn truth<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let truth = PyDict::new(py);
        for (name, value) in self.drive.truth() {
            truth.set_item(name, value)?;
        }
        Ok(truth)
    }
}
