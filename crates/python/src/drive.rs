//! `Drive` and `Lumped` for Python: JSON in, NumPy arrays out.

use heatsoak_drive::{
    Demand, Drive as Simulated, DriveError, DriveSpec, EnclosureSpec, Lumped as Heated, Others,
    Recorded, ReplayOptions, Samples, Transfer as Copying, Work, Workload,
};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::convert::{parse, value_error};
use crate::replay::Traced;
use crate::trace::Trace;

fn parse_both(drive: &str, enclosure: &str) -> PyResult<(DriveSpec, EnclosureSpec)> {
    Ok((parse("drive", drive)?, parse("enclosure", enclosure)?))
}

/// Operations in a second of each of `count` stretches, from series by their names.
fn work_of(series: &Bound<'_, PyDict>, count: usize) -> PyResult<Vec<Work>> {
    let mut work = vec![Work::default(); count];
    for (name, values) in series {
        let name: String = name.extract()?;
        let values: PyReadonlyArray1<'_, f64> = values.extract()?;
        let values = values.as_slice()?;
        let wrong = |what: String| Err(value_error(format!("work.{name}: {what}")));
        if values.len() != count {
            return wrong(format!("has {} values; it has to be {count}", values.len()));
        }
        let names = Work::default().by_name().map(|(name, _)| name);
        let Some(at) = names.iter().position(|known| *known == name) else {
            return wrong(format!("is none of {}", names.join(", ")));
        };
        for (one, value) in work.iter_mut().zip(values) {
            *one.by_name_mut()[at].1 = *value;
        }
    }
    Ok(work)
}

/// One workload, or several in parallel.
#[derive(Deserialize)]
#[serde(transparent)]
struct Workloads(Vec<Workload>);

/// A simulated drive in a place; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct Drive {
    drive: Simulated,
}

#[pymethods]
impl Drive {
    #[new]
    #[pyo3(signature = (drive, enclosure, seed = 0))]
    fn new(py: Python<'_>, drive: &str, enclosure: &str, seed: u64) -> PyResult<Self> {
        // NumPy's door is looked for once, and a signal that comes meanwhile is a panic: not later,
        // when something runs that is worth keeping
        PyArray1::<f64>::zeros(py, 0, false);
        let (spec, place) = parse_both(drive, enclosure)?;
        let drive = Simulated::new(spec, place, seed).map_err(value_error)?;
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

    #[getter]
    fn stopped(&self) -> bool {
        self.drive.is_stopped()
    }

    fn columns(&self) -> Vec<String> {
        self.drive.columns().to_vec()
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Drive> {
        let drive = py.detach(|| self.drive.copy()).map_err(value_error)?;
        Ok(Drive { drive })
    }

    fn begin(&mut self, workloads: &str) -> PyResult<()> {
        let Workloads(workloads) = parse("workload", workloads)?;
        self.drive.begin(&workloads).map_err(value_error)
    }

    #[pyo3(signature = (trace, idle_limit_s = 0.025, iodepth = 32, workloads = "[]"))]
    fn begin_trace(
        &mut self,
        trace: &mut Trace,
        idle_limit_s: f64,
        iodepth: u32,
        workloads: &str,
    ) -> PyResult<()> {
        let Workloads(workloads) = parse("workload", workloads)?;
        let options = ReplayOptions {
            idle_limit_s,
            iodepth,
        };
        // a trace is not used up for nothing
        options
            .validate()
            .map_err(|error| value_error(DriveError::Replay(error)))?;
        let source = Box::new(Traced::new(trace.take_source()?));
        self.drive
            .begin_beside(&workloads, vec![(source, options)])
            .map_err(value_error)
    }

    fn end(&mut self) -> PyResult<()> {
        self.drive.end().map_err(value_error)
    }

    fn purge(&mut self) -> PyResult<()> {
        self.drive.purge().map_err(value_error)
    }

    #[pyo3(signature = (share))]
    fn hold(&mut self, share: Option<f64>) -> PyResult<()> {
        self.drive.hold(share).map_err(value_error)
    }

    #[pyo3(signature = (duration_s, sample_s, most_ios = None))]
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        duration_s: f64,
        sample_s: f64,
        most_ios: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let drive = &mut self.drive;
        let samples = py
            .detach(|| drive.advance_some(duration_s, sample_s, most_ios.unwrap_or(u64::MAX)))
            .map_err(value_error)?;
        columns_of(py, samples)
    }

    fn latency_bins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (direction, bins) in ["read", "write"].into_iter().zip(self.drive.latency_bins()) {
            let (upper_s, ios): (Vec<f64>, Vec<u64>) = bins.into_iter().unzip();
            let upper_us: Vec<f64> = upper_s.into_iter().map(|upper_s| upper_s * 1e6).collect();
            found.set_item(direction, (upper_us, ios))?;
        }
        Ok(found)
    }

    fn totals(&self) -> PyResult<String> {
        serde_json::to_string(self.drive.totals()).map_err(value_error)
    }

    fn truth<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let truth = PyDict::new(py);
        for (name, value) in self.drive.truth() {
            truth.set_item(name, value)?;
        }
        Ok(truth)
    }
}

fn columns_of(py: Python<'_>, samples: Samples) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, series) in samples.names.iter().zip(samples.columns) {
        columns.set_item(name, series.into_pyarray(py))?;
    }
    Ok(columns)
}

/// A copy from one drive to another; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct Transfer {
    copying: Copying,
    source: Py<Drive>,
    destination: Py<Drive>,
}

#[pymethods]
impl Transfer {
    #[new]
    fn new(
        py: Python<'_>,
        source: Py<Drive>,
        destination: Py<Drive>,
        bytes: u64,
        bs: u64,
        iodepth: u32,
        buffer_bytes: u64,
    ) -> PyResult<Self> {
        let mut copying = Copying::new(bytes, bs, iodepth, buffer_bytes).map_err(value_error)?;
        {
            let mut from = source.try_borrow_mut(py)?;
            let mut to = destination.try_borrow_mut(py)?;
            copying
                .begin(&mut from.drive, &mut to.drive)
                .map_err(value_error)?;
        }
        Ok(Transfer {
            copying,
            source,
            destination,
        })
    }

    #[getter]
    fn done(&self) -> bool {
        self.copying.is_done()
    }

    #[getter]
    fn moved_bytes(&self) -> (u64, u64) {
        self.copying.moved_bytes()
    }

    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        duration_s: f64,
        sample_s: f64,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let mut source = self.source.try_borrow_mut(py)?;
        let mut destination = self.destination.try_borrow_mut(py)?;
        let (from, to) = (&mut source.drive, &mut destination.drive);
        let copying = &mut self.copying;
        let [read, written] = py
            .detach(|| copying.advance(from, to, duration_s, sample_s))
            .map_err(value_error)?;
        Ok((columns_of(py, read)?, columns_of(py, written)?))
    }
}

/// Drives that differ a little, what each has measured powers times, and how much warmer the air is.
type Differing<'py> = (
    Vec<PyRef<'py, Lumped>>,
    Vec<f64>,
    PyReadonlyArray2<'py, f64>,
);

/// Heat and governor alone; see `_core.pyi`.
#[pyclass(module = "heatsoak._core")]
pub struct Lumped {
    lumped: Heated,
}

#[pymethods]
impl Lumped {
    #[new]
    fn new(drive: &str, enclosure: &str) -> PyResult<Self> {
        let (spec, place) = parse_both(drive, enclosure)?;
        let lumped = Heated::new(&spec, &place).map_err(value_error)?;
        Ok(Lumped { lumped })
    }

    fn rest(&mut self, py: Python<'_>, duration_s: f64) -> PyResult<()> {
        py.detach(|| self.lumped.rest(duration_s))
            .map_err(value_error)
    }

    #[pyo3(signature = (
        dt_s, *, mb_s, full_share, least_share, work, air_k, seconds = None,
        most_late_s = f64::INFINITY
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "named series, as Python gives them"
    )]
    fn serve<'py>(
        &mut self,
        py: Python<'py>,
        dt_s: PyReadonlyArray1<'py, f64>,
        mb_s: PyReadonlyArray1<'py, f64>,
        full_share: PyReadonlyArray1<'py, f64>,
        least_share: PyReadonlyArray1<'py, f64>,
        work: &Bound<'py, PyDict>,
        air_k: PyReadonlyArray1<'py, f64>,
        seconds: Option<u32>,
        most_late_s: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let demand = Demand {
            dt_s: dt_s.as_slice()?,
            mb_s: mb_s.as_slice()?,
            full_share: full_share.as_slice()?,
            least_share: least_share.as_slice()?,
            work: &work_of(work, dt_s.len()?)?,
            air_k: air_k.as_slice()?,
        };
        let served = py
            .detach(|| self.lumped.serve(&demand, seconds, most_late_s))
            .map_err(value_error)?;
        let result = PyDict::new(py);
        result.set_item("begins_c", self.lumped.begins_c())?;
        result.set_item("onset_s", served.onset_s.unwrap_or(f64::NAN))?;
        result.set_item("onset_sensor_c", served.onset_sensor_c)?;
        result.set_item("stopped_s", served.stopped_s.unwrap_or(f64::NAN))?;
        result.set_item("mb_s", served.mb_s.into_pyarray(py))?;
        result.set_item("waiting_mb", served.waiting_mb.into_pyarray(py))?;
        result.set_item("late_s", served.late_s.into_pyarray(py))?;
        result.set_item("sensor_c", served.sensor_c.into_pyarray(py))?;
        result.set_item("governed_c", served.governed_c.into_pyarray(py))?;
        Ok(result)
    }

    fn warm(&mut self, above_k: f64) {
        self.lumped.warm(above_k);
    }

    fn copy(&self) -> Self {
        let lumped = self.lumped.clone();
        Lumped { lumped }
    }

    #[pyo3(signature = (dt_s, *, work, power_w, air_k, beside = None))]
    fn follow<'py>(
        &mut self,
        py: Python<'py>,
        dt_s: PyReadonlyArray1<'py, f64>,
        work: &Bound<'py, PyDict>,
        power_w: PyReadonlyArray1<'py, f64>,
        air_k: PyReadonlyArray1<'py, f64>,
        beside: Option<Differing<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let recorded = Recorded {
            dt_s: dt_s.as_slice()?,
            work: &work_of(work, dt_s.len()?)?,
            power_w: power_w.as_slice()?,
            air_k: air_k.as_slice()?,
        };
        let mut others = Others::default();
        if let Some((drives, measured_x, air_k)) = &beside {
            others.drives = drives.iter().map(|one| one.lumped.clone()).collect();
            others.measured_x.clone_from(measured_x);
            others.air_k = air_k.as_slice()?;
        }
        let width = 1 + others.drives.len();
        let followed = py
            .detach(|| self.lumped.follow_beside(&recorded, others))
            .map_err(value_error)?;
        let result = PyDict::new(py);
        let series = |values: Vec<f64>| match beside {
            None => Ok(values.into_pyarray(py).into_any()),
            Some(_) => {
                let shape = [values.len() / width, width];
                Ok::<_, PyErr>(values.into_pyarray(py).reshape(shape)?.into_any())
            }
        };
        result.set_item("power_w", series(followed.power_w)?)?;
        result.set_item("governed_c", series(followed.governed_c)?)?;
        for (name, values) in self.lumped.sensor_names().iter().zip(followed.sensors_c) {
            result.set_item(format!("sensor_c.{name}"), series(values)?)?;
        }
        Ok(result)
    }
}
