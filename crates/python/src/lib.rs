//! Python's door to the Rust crates, as thin as possible.

mod changepoint;
mod convert;
mod drive;
mod fiolog;
mod recorded;
mod replay;
mod trace;
mod trace_made;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<drive::Drive>()?;
    module.add_class::<drive::Lumped>()?;
    module.add_class::<drive::Transfer>()?;
    module.add_class::<fiolog::FioLog>()?;
    module.add_class::<trace::Trace>()?;
    module.add_function(wrap_pyfunction!(changepoint::decafs, module)?)?;
    module.add_function(wrap_pyfunction!(changepoint::hampel, module)?)?;
    module.add_function(wrap_pyfunction!(changepoint::pelt_mean_var, module)?)?;
    module.add_function(wrap_pyfunction!(changepoint::pieces, module)?)?;
    module.add_function(wrap_pyfunction!(changepoint::whiten, module)?)?;
    Ok(())
}
