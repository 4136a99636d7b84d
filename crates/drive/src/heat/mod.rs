//! The heat of a drive in its place: what it draws, where that goes, and what its sensors show.
//!
//! [`network`] carries heat among the nodes and to the air, [`energy`] turns work into heat, and
//! [`sensor`] is what firmware knows of it. [`Heat`] is all of them together.

pub mod air;
pub mod beside;
pub mod energy;
pub mod network;
pub mod sensor;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use energy::{Sources, Work};
pub use network::{Network, State};

use crate::governor::{self, Governor};
use crate::power::PowerStates;
use crate::spec::{DriveSpec, EnclosureSpec, EnergySpec, SpecError, not_negative, positive};
use energy::HOTTEST_C;
use sensor::{Lag, Probes, check_offset};

/// Where `controller`, `nand` and `board` are among the nodes.
const CONTROLLER_INDEX: usize = 0;
const NAND_INDEX: usize = 1;
const BOARD_INDEX: usize = 2;

/// The longest time for which leakage is taken as constant: short compared with the time in which a
/// controller warms, a few seconds.
const LEAKAGE_STEP_S: f64 = 1.0;

/// The same for what leaves for the air: what lies in it warms in a minute.
const AIR_STEP_S: f64 = 4.0;

/// An impossible drive or place: whose key it is.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum HeatError {
    /// The key is the drive's.
    #[error("{0}")]
    Drive(SpecError),
    /// The key is the enclosure's.
    #[error("{0}")]
    Enclosure(SpecError),
}

/// Where energy went since the beginning: `fed_j` is `out_j` and `stored_j`, within 1e-9 of what
/// was fed or of what the nodes hold, whichever is more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ledger {
    /// What drive and place drew.
    pub fed_j: f64,
    /// What left for the air.
    pub out_j: f64,
    /// What warmed the nodes; less than 0 where they cooled.
    pub stored_j: f64,
}

/// A sum of many small parts, without their rounding (Kahan, CACM 8, 1965): a day of steps of
/// 10 ms are ten million.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, part: f64) {
        let part = part - self.lost;
        let sum = self.sum + part;
        self.lost = (sum - self.sum) - part;
        self.sum = sum;
    }
}

#[derive(Debug, Clone)]
struct Sensor {
    name: String,
    probes: Probes,
    lag: Lag,
    offset_c: f64,
    step_c: f64,
}

/// A drive in its place.
#[derive(Debug, Clone)]
pub struct Heat {
    network: Network,
    state: State,
    air_c: f64,
    sensor_air_share: f64,
    energy: EnergySpec,
    /// What the place puts into each node.
    place_w: Vec<f64>,
    power_w: Vec<f64>,
    idle_c: f64,
    /// What the drive's temperature is for the governor, above the air.
    governed: Lag,
    governed_probes: Probes,
    /// Of the drive alone, above the air.
    sensors: Vec<Sensor>,
    sensor_names: Vec<String>,
    fed: Sum,
    out: Sum,
    stored_at_start_j: f64,
}

impl Heat {
    /// A drive that rested in that place until nothing changed any more: in its deepest power
    /// state, or awake and idle where it has none.
    ///
    /// Checks the numbers of the drive's energies, network, sensors, governor and power states,
    /// and all of the enclosure's, each on its own and then together: that idling does not run
    /// away, and that a drive at rest is cooler than where its governor starts.
    pub fn new(drive: &DriveSpec, place: &EnclosureSpec) -> Result<Heat, HeatError> {
        use HeatError::{Drive, Enclosure};
        drive.energy.validate().map_err(Drive)?;
        place.validate().map_err(Enclosure)?;
        PowerStates::new(&drive.power_states).map_err(Drive)?;
        Governor::new(drive).map_err(Drive)?;
        let network = Network::new(&drive.thermal, place)?;
        let place_w = place_w(place, network.names()).map_err(Enclosure)?;
        let idle_c = idle_c(&drive.energy, &network, &place_w, place.air_c).map_err(Drive)?;

        let rest_w = drive.power_states.last().map_or_else(
            || drive.energy.idle_w + drive.energy.leakage_at_w(idle_c),
            |deepest| deepest.power_w,
        );
        let mut power_w = place_w.clone();
        put(&mut power_w, &drive.energy.shared(rest_w, 0.0), 1.0);
        let state = network.settled_in(&power_w, place.air_c);

        let own = network.own_names();
        let (weights, hottest) = (&drive.governor.weights, &drive.governor.hottest);
        let governed_probes = Probes::new("governor", weights, hottest, own).map_err(Drive)?;
        let at_rest_k = governed_probes.of(state.above_k());
        let governed =
            Lag::new("governor.lag_s", drive.governor.lag_s, at_rest_k).map_err(Drive)?;
        let sensors = sensors(drive, own, &state).map_err(Drive)?;

        let heat = Heat {
            stored_at_start_j: network.stored_j(&state),
            network,
            state,
            air_c: place.air_c,
            sensor_air_share: place.sensor_air_share,
            energy: drive.energy.clone(),
            place_w,
            power_w,
            idle_c,
            governed,
            governed_probes,
            sensor_names: sensors.iter().map(|sensor| sensor.name.clone()).collect(),
            sensors,
            fed: Sum::default(),
            out: Sum::default(),
        };
        governor::validate_at_rest(&drive.governor, heat.governed_c(), place.air_c)
            .map_err(Drive)?;
        Ok(heat)
    }

    /// Let `dt_s` (more than 0) pass, in which the drive did `work`, awake, or in a power state
    /// that draws `rest_w`. Returns the drive's mean power in W; the place's `heat_w` is not in
    /// it.
    ///
    /// A step is exact for a constant power. Leakage, and what the air takes away beyond a linear
    /// way, are those of the temperature at its beginning, which is why a longer one is taken in
    /// parts, with the same work in each of them.
    pub fn step(&mut self, dt_s: f64, work: &Work, rest_w: Option<f64>) -> f64 {
        let longest_s = self.longest_s(rest_w.is_some());
        if dt_s <= longest_s {
            return self.pass(dt_s, work, rest_w) / dt_s;
        }
        let parts = (dt_s / longest_s).ceil();
        let part = work.scaled(1.0 / parts);
        let mut spent_j = 0.0;
        for _ in 0..parts as u64 {
            spent_j += self.pass(dt_s / parts, &part, rest_w);
        }
        spent_j / dt_s
    }

    /// The longest step that is taken at once, awake or in a power state.
    pub fn longest_s(&self, rests: bool) -> f64 {
        let leaks = !rests && self.energy.leakage_w > 0.0;
        if leaks { LEAKAGE_STEP_S } else { AIR_STEP_S }
    }

    /// Let `dt_s` pass, in which the drive drew `power_w`, as somebody measured. It went where
    /// `work` would have put it.
    pub fn step_measured(&mut self, dt_s: f64, work: &Work, power_w: f64) {
        let expected = self.energy.spent_j(dt_s, work, self.controller_c(), None);
        let spent = self.energy.measured_j(&expected, power_w * dt_s);
        self.spend(dt_s, &spent);
    }

    /// For how long of `length_s` with a load the whole of what a load wakes is drawn, where a share
    /// of everything is permitted.
    pub fn active_s(&self, length_s: f64, share: f64) -> f64 {
        let ungated = self.energy.ungated_active;
        length_s * (ungated + (1.0 - ungated) * share)
    }

    /// The power that `work` would cost now, as [`Heat::step`] takes it.
    pub fn expected_w(&self, dt_s: f64, work: &Work, rest_w: Option<f64>) -> f64 {
        let spent = self.energy.spent_j(dt_s, work, self.controller_c(), rest_w);
        spent.total() / dt_s
    }

    /// Make all of it warmer by `above_k`, as a drive is that has not rested for long enough.
    pub fn warm(&mut self, above_k: f64) {
        let warmer: Vec<f64> = self.state.above_k().iter().map(|k| k + above_k).collect();
        self.stored_at_start_j -= self.network.stored_j(&self.state);
        self.state = self.network.state_at(&warmer);
        self.stored_at_start_j += self.network.stored_j(&self.state);
        self.governed.shift(above_k);
        for sensor in &mut self.sensors {
            sensor.lag.shift(above_k);
        }
    }

    /// Let the air be at `air_c` from now on; what is warm stays as warm as it is.
    pub fn change_air(&mut self, air_c: f64) {
        self.warm(self.air_c - air_c);
        self.air_c = air_c;
    }

    /// Begin in other air, as warm above it as the drive is.
    pub fn begin_in_air(&mut self, air_c: f64) {
        self.air_c = air_c;
    }

    fn pass(&mut self, dt_s: f64, work: &Work, rest_w: Option<f64>) -> f64 {
        let spent = self.energy.spent_j(dt_s, work, self.controller_c(), rest_w);
        self.spend(dt_s, &spent);
        spent.total()
    }

    fn spend(&mut self, dt_s: f64, spent: &Sources) {
        self.power_w.copy_from_slice(&self.place_w);
        put(&mut self.power_w, spent, 1.0 / dt_s);
        self.fed.add(self.power_w.iter().sum::<f64>() * dt_s);
        let power_w = &mut self.power_w;
        let beyond_w = self.network.beyond_w(&self.state, self.air_c, power_w);
        let out_j = self.network.step(&mut self.state, dt_s, power_w);
        self.out.add(out_j + beyond_w * dt_s);
        let above_k = self.state.above_k();
        self.governed.step(dt_s, self.governed_probes.of(above_k));
        for sensor in &mut self.sensors {
            sensor.lag.step(dt_s, sensor.probes.of(above_k));
        }
    }

    /// The nodes: `controller`, `nand`, `board`, the drive's others, the enclosure's.
    pub fn node_names(&self) -> &[String] {
        self.network.names()
    }

    /// Its nodes, in kelvin above the air.
    pub fn above_k(&self) -> &[f64] {
        self.state.above_k()
    }

    /// The temperature of a node.
    pub fn node_c(&self, index: usize) -> f64 {
        self.air_c + self.state.above_k()[index]
    }

    /// The mean temperature of a node over the last step, or over the last second of a long one.
    pub fn node_mean_c(&self, index: usize) -> f64 {
        self.air_c + self.network.mean_above_k(&self.state, index)
    }

    /// The temperature of the controller.
    pub fn controller_c(&self) -> f64 {
        self.node_c(CONTROLLER_INDEX)
    }

    /// The temperature of the NAND.
    pub fn nand_c(&self) -> f64 {
        self.node_c(NAND_INDEX)
    }

    /// The temperature of the board.
    pub fn board_c(&self) -> f64 {
        self.node_c(BOARD_INDEX)
    }

    /// The slot's air.
    pub fn air_c(&self) -> f64 {
        self.air_c
    }

    /// What the controller settles at, awake and without work.
    pub fn idle_c(&self) -> f64 {
        self.idle_c
    }

    /// What the governor acts on: `governor.weights` or `governor.hottest`, `governor.lag_s` late.
    pub fn governed_c(&self) -> f64 {
        self.air_c + self.governed.value()
    }

    /// Whether that is the hottest of several, which another one can become at any time.
    pub fn is_governed_by_several(&self) -> bool {
        self.governed_probes.are_several()
    }

    /// The sensors, by name; the first is the composite temperature.
    pub fn sensor_names(&self) -> &[String] {
        &self.sensor_names
    }

    /// What a sensor shows, before it is rounded: the drive's part of it follows late, and the
    /// enclosure's `sensor_air_share` of it is the slot's air.
    pub fn sensor_c(&self, index: usize) -> f64 {
        self.shown_c(index, self.air_c, self.sensors[index].lag.value())
    }

    fn shown_c(&self, index: usize, air_c: f64, drives_k: f64) -> f64 {
        air_c + (1.0 - self.sensor_air_share) * drives_k + self.sensors[index].offset_c
    }

    /// What a sensor reports: rounded to its `step_c`.
    pub fn reported_c(&self, index: usize) -> f64 {
        let step_c = self.sensors[index].step_c;
        (self.sensor_c(index) / step_c).round() * step_c
    }

    /// Where energy went since the beginning, the enclosure's `heat_w` with it.
    pub fn ledger(&self) -> Ledger {
        Ledger {
            fed_j: self.fed.sum,
            out_j: self.out.sum,
            stored_j: self.network.stored_j(&self.state) - self.stored_at_start_j,
        }
    }

    /// The network that it flows in.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

fn put(power_w: &mut [f64], sources: &Sources, factor: f64) {
    power_w[CONTROLLER_INDEX] += sources.controller * factor;
    power_w[NAND_INDEX] += sources.nand * factor;
    power_w[BOARD_INDEX] += sources.board * factor;
}

fn place_w(place: &EnclosureSpec, names: &[String]) -> Result<Vec<f64>, SpecError> {
    let mut power_w = vec![0.0; names.len()];
    for (name, &heat_w) in &place.heat_w {
        let key = format!("heat_w.{name}");
        let Some(node) = names.iter().position(|node| node == name) else {
            return Err(SpecError::new(
                &key,
                heat_w,
                format!("the nodes are {}", names.join(", ")),
            ));
        };
        not_negative(&key, heat_w)?;
        power_w[node] += heat_w;
    }
    Ok(power_w)
}

fn sensors(drive: &DriveSpec, own: &[String], state: &State) -> Result<Vec<Sensor>, SpecError> {
    if drive.sensors.is_empty() {
        return Err(SpecError::new(
            "sensors",
            "empty",
            "a drive reports a temperature or more",
        ));
    }
    let one = |(name, spec): (&String, &crate::spec::SensorSpec)| {
        let key = |last: &str| format!("sensors.{name}.{last}");
        let at = format!("sensors.{name}");
        let probes = Probes::new(&at, &spec.weights, &spec.hottest, own)?;
        check_offset(&key("offset_c"), spec.offset_c)?;
        positive(&key("step_c"), spec.step_c)?;
        Ok(Sensor {
            lag: Lag::new(&key("lag_s"), spec.lag_s, probes.of(state.above_k()))?,
            probes,
            name: name.clone(),
            offset_c: spec.offset_c,
            step_c: spec.step_c,
        })
    };
    drive.sensors.iter().map(one).collect()
}

/// What the controller settles at, awake and without work.
///
/// That is the lowest T at which it settles with the leakage of T. Newton's method finds it from
/// below; a slope of 1 says that there is none.
fn idle_c(
    energy: &EnergySpec,
    network: &Network,
    place_w: &[f64],
    air_c: f64,
) -> Result<f64, SpecError> {
    let settles_at = |leakage_w: f64| {
        let mut power_w = place_w.to_vec();
        put(
            &mut power_w,
            &energy.shared(energy.idle_w + leakage_w, 0.0),
            1.0,
        );
        air_c + network.settled_in(&power_w, air_c).above_k()[CONTROLLER_INDEX]
    };
    let mut controller_c = settles_at(0.0);
    while controller_c <= HOTTEST_C {
        let leakage_w = energy.unlimited_leakage_w(controller_c);
        let (there_c, little_w) = (settles_at(leakage_w), 1e-3);
        let k_per_w = (settles_at(leakage_w + little_w) - there_c) / little_w;
        let slope = k_per_w * leakage_w * std::f64::consts::LN_2 / energy.leakage_doubling_k;
        if slope >= 1.0 {
            break;
        }
        let missing_k = there_c - controller_c;
        if missing_k.abs() <= 1e-9 * (1.0 - slope) {
            return Ok(controller_c);
        }
        controller_c += missing_k / (1.0 - slope);
    }
    Err(SpecError::new(
        "energy.leakage_w",
        energy.leakage_w,
        format!(
            "awake and idle in air of {air_c} C, the controller would never settle below \
             {HOTTEST_C} C"
        ),
    ))
}
