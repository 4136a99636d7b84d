//! What every binding does at the border to Python: reads JSON, and raises Rust's errors as
//! `ValueError`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

/// Read JSON; an error names what was read and the key that is wrong.
pub fn parse<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(
        |error| {
            let key = error.path().to_string();
            let place = if key == "." || key == "?" {
                String::new()
            } else {
                format!("{key}: ")
            };
            value_error(format!("{what}: {place}{}", error.inner()))
        },
    )
}

/// An error as Python raises it.
pub fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}
