//! Segmentation and filtering of NumPy arrays; `_core.pyi` describes each function.

use std::borrow::Cow;

use heatsoak_changepoint::SeriesError;
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
    let series = contiguous(&values);
    let ends = py
        .detach(|| heatsoak_changepoint::fpop(&series, penalty))
        .map_err(refused)?;
    let ends: Vec<i64> = ends.into_iter().map(|end| end as i64).collect();
    Ok(ends.into_pyarray(py))
}

/// Replaces outliers by the median around them; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (values, half_width, limit = 3.0))]
pub fn hampel<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    half_width: i64,
    limit: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let half_width = usize::try_from(half_width).map_err(|_| {
        PyValueError::new_err(format!("half_width is {half_width}: it must be 0 or more"))
    })?;
    let series = contiguous(&values);
    let filtered = py
        .detach(|| heatsoak_changepoint::hampel(&series, half_width, limit))
        .map_err(refused)?;
    Ok(filtered.into_pyarray(py))
}

/// The array's values in a row: the array itself where it holds them so.
fn contiguous<'a>(values: &'a PyReadonlyArray1<'_, f64>) -> Cow<'a, [f64]> {
    match values.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(values.as_array().to_vec()),
    }
}

fn refused(error: SeriesError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
