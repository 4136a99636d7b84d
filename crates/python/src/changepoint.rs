//! `fpop` for NumPy arrays.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Segments a series into constant levels; see `_core.pyi`.
#[pyfunction]
pub fn fpop<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    penalty: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let series = values.as_array().to_vec();
    let ends = py
        .detach(|| heatsoak_changepoint::fpop(&series, penalty))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let ends: Vec<i64> = ends.into_iter().map(|end| end as i64).collect();
    Ok(ends.into_pyarray(py))
}
