//! Segmentation and filtering of NumPy arrays; `_core.pyi` describes each function.

use std::borrow::Cow;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::convert::value_error;

/// Segments a series into levels under AR(1) noise; see `_core.pyi`.
#[pyfunction]
pub fn decafs<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    correlation: f64,
    penalty: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let series = contiguous(&values);
    let ends = py
        .detach(|| heatsoak_changepoint::decafs(&series, correlation, penalty))
        .map_err(value_error)?;
    Ok(indices(py, ends))
}

/// Describes a series by levels, lines and approaches; see `_core.pyi`.
#[pyfunction]
pub fn pieces<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    edges: PyReadonlyArray1<'py, i64>,
    correlation: f64,
    sigma: f64,
    unit: f64,
) -> PyResult<(Bound<'py, PyArray2<f64>>, f64)> {
    let series = contiguous(&values);
    let edges: Vec<usize> = edges
        .as_array()
        .iter()
        .map(|&edge| length("edges", edge, 1))
        .collect::<PyResult<_>>()?;
    let (found, described) = py
        .detach(|| heatsoak_changepoint::pieces(&series, &edges, correlation, sigma, unit))
        .map_err(value_error)?;
    let rows: Vec<f64> = found
        .iter()
        .flat_map(|one| {
            [
                one.end as f64,
                one.level,
                one.change,
                one.constant,
                one.variance,
            ]
        })
        .collect();
    Ok((rows.into_pyarray(py).reshape([found.len(), 5])?, described))
}

/// Leaves what is new in readings; see `_core.pyi`.
#[pyfunction]
pub fn whiten<'py>(
    py: Python<'py>,
    t_s: PyReadonlyArray1<'py, f64>,
    noise: (f64, f64, f64),
    readings: PyReadonlyArray2<'py, f64>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, f64)> {
    let (own, lasting, lasting_s) = noise;
    let noise = heatsoak_changepoint::LastingNoise {
        own,
        lasting,
        lasting_s,
    };
    let readings = readings.as_array();
    let (rows, columns) = readings.dim();
    if rows != t_s.len()? || columns == 0 {
        let times = t_s.len()?;
        return Err(value_error(format!(
            "readings are {rows} x {columns}: there has to be a row for each of the {times} times"
        )));
    }
    let mut white: Vec<f64> = readings.iter().copied().collect();
    let log_det = heatsoak_changepoint::whiten(noise, &contiguous(&t_s), columns, &mut white);
    Ok((white.into_pyarray(py).reshape([rows, columns])?, log_det))
}

/// Segments a series by mean and variance; see `_core.pyi`.
#[pyfunction]
#[pyo3(signature = (values, penalty, min_length = 2, least_variance = 1e-6))]
pub fn pelt_mean_var<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    penalty: f64,
    min_length: i64,
    least_variance: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let series = contiguous(&values);
    let min_length = length("min_length", min_length, 2)?;
    let ends = py
        .detach(|| {
            heatsoak_changepoint::pelt_mean_var(&series, penalty, min_length, least_variance)
        })
        .map_err(value_error)?;
    Ok(indices(py, ends))
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
    let half_width = length("half_width", half_width, 0)?;
    let series = contiguous(&values);
    let filtered = py
        .detach(|| heatsoak_changepoint::hampel(&series, half_width, limit))
        .map_err(value_error)?;
    Ok(filtered.into_pyarray(py))
}

/// The array's values in a row: the array itself where it holds them so.
fn contiguous<'a>(values: &'a PyReadonlyArray1<'_, f64>) -> Cow<'a, [f64]> {
    match values.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(values.as_array().to_vec()),
    }
}

/// A length that may be below 0, where no length can be.
fn length(name: &str, number: i64, least: usize) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| value_error(format!("{name} is {number}: it must be {least} or more")))
}

fn indices(py: Python<'_>, indices: Vec<usize>) -> Bound<'_, PyArray1<i64>> {
    let indices: Vec<i64> = indices.into_iter().map(|index| index as i64).collect();
    indices.into_pyarray(py)
}
