//! Drives that differ a little from one that is followed, to first order in what they differ by.
//!
//! A fit asks how temperatures change with each of its numbers. Drives with one of them moved differ
//! so little from the one that it has that a line is enough for what is not linear: leakage, and
//! what the air takes away beyond a linear way. What is left are sums, of all drives at once.

use std::f64::consts::LN_2;

use super::{BOARD_INDEX, CONTROLLER_INDEX, Heat, Lag, NAND_INDEX, Probes, Work};
use crate::spec::SpecError;

/// Steps of slopes, in kelvin: small beside what matters, large beside rounding.
const SLOPE_K: f64 = 1e-3;

/// How a stretch was fed.
#[derive(Debug, Clone, Copy)]
pub struct Fed<'a> {
    /// Its length.
    pub dt_s: f64,
    /// What was done in it.
    pub work: &'a Work,
    /// What the power state drew, of the drive that is followed and of each beside it.
    pub rest_w: Option<(f64, &'a [f64])>,
    /// The power that was measured, if it was.
    pub measured_w: Option<f64>,
}

/// The drives beside one; series have a number for each of them, those of nodes node by node.
#[derive(Debug, Clone)]
pub struct Beside {
    heats: Vec<Heat>,
    /// What each measured power is multiplied by.
    measured_x: Vec<f64>,
    air_c: Vec<f64>,
    /// How much further above its own air each node is than that of the drive that is followed.
    above_k: Vec<f64>,
    /// What one of each number of [`Work::by_name`] costs, in controller and NAND.
    energies_j: Vec<[f64; 2]>,
    worked_j: Vec<[f64; 2]>,
    steps: Steps,
    governed: Lags,
    sensors: Vec<Lags>,
    // what the last step did
    before_k: Vec<f64>,
    power_w: Vec<f64>,
    expected_w: Vec<f64>,
}

/// How networks pass a step of one length on, and by how much that is off the followed one's.
#[derive(Debug, Clone)]
struct Steps {
    length_s: f64,
    kept: Vec<f64>,
    fed: Vec<f64>,
    kept_off: Vec<f64>,
    fed_off: Vec<f64>,
}

impl Steps {
    fn set(&mut self, length_s: f64, base: &Heat, heats: &[Heat]) {
        if self.length_s == length_s {
            return;
        }
        self.length_s = length_s;
        let [own_kept, own_fed] = base.network.passed(length_s);
        for (index, heat) in heats.iter().enumerate() {
            let [kept, fed] = heat.network.passed(length_s);
            for at in 0..kept.len() {
                let cell = at * heats.len() + index;
                (self.kept[cell], self.fed[cell]) = (kept[at], fed[at]);
                self.kept_off[cell] = kept[at] - own_kept[at];
                self.fed_off[cell] = fed[at] - own_fed[at];
            }
        }
    }

    fn of(&self, cell: usize, count: usize) -> [&[f64]; 4] {
        [&self.kept, &self.fed, &self.kept_off, &self.fed_off]
            .map(|of| &of[cell * count..][..count])
    }
}

/// The same lag of several drives.
#[derive(Debug, Clone)]
struct Lags {
    /// Weights of nodes, node by node.
    weights: Vec<f64>,
    lags: Vec<Lag>,
}

impl Lags {
    fn of<'a>(nodes: usize, of: impl Iterator<Item = (&'a Probes, &'a Lag)>) -> Option<Lags> {
        let (probes, lags): (Vec<_>, Vec<_>) = of.unzip();
        let mut weights = vec![0.0; nodes * lags.len()];
        for (index, probes) in probes.iter().enumerate() {
            for (node, weight) in probes.only()? {
                weights[node * lags.len() + index] += weight;
            }
        }
        let lags = lags.into_iter().cloned().collect();
        Some(Lags { weights, lags })
    }

    /// Let `dt_s` pass until nodes are at `base_k`, and `above_k` beyond that.
    fn step(&mut self, dt_s: f64, base_k: &[f64], above_k: &[f64]) {
        let count = self.lags.len();
        for (index, lag) in self.lags.iter_mut().enumerate() {
            let mut to_k = 0.0;
            for (node, base_k) in base_k.iter().enumerate() {
                let at = node * count + index;
                to_k += self.weights[at] * (base_k + above_k[at]);
            }
            lag.step(dt_s, to_k);
        }
    }
}

impl Beside {
    /// Those of `heats`, as they are now, beside `base`.
    ///
    /// Refuses drives of other nodes, sensors, or ways to the air, and those that act on, or show,
    /// the hottest of several temperatures.
    pub fn new(base: &Heat, heats: Vec<Heat>, measured_x: Vec<f64>) -> Result<Beside, SpecError> {
        let (nodes, count) = (base.node_names().len(), heats.len());
        let refused = |what: &str, expected: &str| SpecError::new("beside", what, expected);
        let is_alike = |one: &Heat| {
            one.node_names() == base.node_names()
                && one.sensor_names == base.sensor_names
                && one.network.is_alike(&base.network)
                && one.place_w == base.place_w
                && one.energy.leakage_doubling_k == base.energy.leakage_doubling_k
        };
        if measured_x.len() != count || !heats.iter().all(is_alike) {
            let expected = "its network and sensors have to be those of the drive that is followed";
            return Err(refused("another drive", expected));
        }
        let several = || {
            refused(
                "a drive with `hottest`",
                "sensors and governor need weights",
            )
        };
        let governed = heats
            .iter()
            .map(|one| (&one.governed_probes, &one.governed));
        let governed = Lags::of(nodes, governed).ok_or_else(several)?;
        let sensors = (0..base.sensors.len())
            .map(|sensor| {
                let of = heats.iter().map(|one| &one.sensors[sensor]);
                Lags::of(nodes, of.map(|one| (&one.probes, &one.lag))).ok_or_else(several)
            })
            .collect::<Result<_, _>>()?;
        let mut above_k = vec![0.0; nodes * count];
        let own_k = base.state.above_k();
        for (index, one) in heats.iter().enumerate() {
            for (node, (k, own_k)) in one.state.above_k().iter().zip(own_k).enumerate() {
                above_k[node * count + index] = k - own_k;
            }
        }
        let mut energies_j = Vec::new();
        for kind in 0..Work::default().by_name().len() {
            let mut work = Work::default();
            *work.by_name_mut()[kind].1 = 1.0;
            energies_j.extend(heats.iter().map(|one| one.energy.worked_j(&work)));
        }
        let square = vec![0.0; nodes * nodes * count];
        Ok(Beside {
            measured_x,
            air_c: heats.iter().map(Heat::air_c).collect(),
            above_k,
            energies_j,
            worked_j: vec![[0.0; 2]; count],
            steps: Steps {
                length_s: f64::NAN,
                kept: square.clone(),
                fed: square.clone(),
                kept_off: square.clone(),
                fed_off: square,
            },
            governed,
            sensors,
            before_k: vec![0.0; nodes * count],
            power_w: vec![0.0; nodes * count],
            expected_w: vec![0.0; count],
            heats,
        })
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.heats.len()
    }

    /// The air that each of them began in.
    pub fn own_air_c(&self, index: usize) -> f64 {
        self.heats[index].air_c
    }

    /// Begin in other air, as warm above it as each of them is.
    pub fn begin_in_air(&mut self, index: usize, air_c: f64) {
        self.air_c[index] = air_c;
    }

    /// Let the air of one be at `air_c`, where that of the followed one warmed by `base_by_k`.
    pub fn change_air(&mut self, index: usize, air_c: f64, base_by_k: f64) {
        let count = self.count();
        let cooler_k = self.air_c[index] - air_c;
        for one in self.above_k.iter_mut().skip(index).step_by(count) {
            *one += cooler_k + base_by_k;
        }
        for lags in self.sensors.iter_mut().chain([&mut self.governed]) {
            lags.lags[index].shift(cooler_k);
        }
        self.air_c[index] = air_c;
    }

    /// Let the same pass as on `base`, which was at `from_k` and has done it.
    pub fn step(&mut self, base: &Heat, from_k: &[f64], fed: &Fed) {
        self.steps.set(fed.dt_s, base, &self.heats);
        self.feed(base, from_k, fed);
        let (count, nodes) = (self.heats.len(), from_k.len());
        std::mem::swap(&mut self.before_k, &mut self.above_k);
        self.above_k.fill(0.0);
        for cell in 0..nodes * nodes {
            let (to, from) = (cell / nodes, cell % nodes);
            let (own_k, own_w) = (from_k[from], base.power_w[from]);
            let sum = &mut self.above_k[to * count..][..count];
            let before_k = &self.before_k[from * count..][..count];
            let power_w = &self.power_w[from * count..][..count];
            let [kept, fed, kept_off, fed_off] = self.steps.of(cell, count);
            for index in 0..count {
                sum[index] += kept[index] * before_k[index]
                    + kept_off[index] * own_k
                    + fed[index] * power_w[index]
                    + fed_off[index] * own_w;
            }
        }
        let base_k = base.state.above_k();
        for lags in self.sensors.iter_mut().chain([&mut self.governed]) {
            lags.step(fed.dt_s, base_k, &self.above_k);
        }
    }

    /// Put what each drive is fed beyond the followed one into `power_w`.
    fn feed(&mut self, base: &Heat, from_k: &[f64], fed: &Fed) {
        let (count, dt_s) = (self.heats.len(), fed.dt_s);
        let controller_c = base.air_c + from_k[CONTROLLER_INDEX];
        let own_rest_w = fed.rest_w.map(|(own_w, _)| own_w);
        let own = base
            .energy
            .spent_j(dt_s, fed.work, controller_c, own_rest_w);
        let own = fed
            .measured_w
            .map_or(own, |w| base.energy.measured_j(&own, w * dt_s));
        let leakage_w = base.energy.leakage_at_w(controller_c);
        let per_k = LN_2 / base.energy.leakage_doubling_k;
        self.worked_j.fill([0.0; 2]);
        for (kind, (_, times)) in fed.work.by_name().iter().enumerate() {
            if *times > 0.0 {
                let each = &self.energies_j[kind * count..][..count];
                for (sum, joules) in self.worked_j.iter_mut().zip(each) {
                    sum[0] += joules[0] * times;
                    sum[1] += joules[1] * times;
                }
            }
        }
        self.power_w.fill(0.0);
        for (index, heat) in self.heats.iter().enumerate() {
            let energy = &heat.energy;
            let warmer_k =
                self.above_k[CONTROLLER_INDEX * count + index] + self.air_c[index] - base.air_c;
            let [controller_j, nand_j] = self.worked_j[index];
            let awake_w = || {
                let leaks = energy.leakage_w / base.energy.leakage_w.max(f64::MIN_POSITIVE);
                energy.idle_w + leakage_w * leaks * (1.0 + per_k * warmer_k)
            };
            let base_w = fed.rest_w.map_or_else(awake_w, |(_, rest_w)| rest_w[index]);
            let cost = energy.shared(controller_j + base_w * dt_s, nand_j);
            self.expected_w[index] = cost.total() / dt_s;
            let spent = fed.measured_w.map_or(cost, |w| {
                energy.measured_j(&cost, w * self.measured_x[index] * dt_s)
            });
            self.power_w[CONTROLLER_INDEX * count + index] =
                (spent.controller - own.controller) / dt_s;
            self.power_w[NAND_INDEX * count + index] = (spent.nand - own.nand) / dt_s;
            self.power_w[BOARD_INDEX * count + index] = (spent.board - own.board) / dt_s;
        }
        for (at, way) in base.network.ways_to_air().iter().enumerate() {
            let (own_k, air_c) = (from_k[way.node], base.air_c);
            let own_w = way.beyond_w(own_k, air_c);
            let per_k = (way.beyond_w(own_k + SLOPE_K, air_c) - own_w) / SLOPE_K;
            let per_air_k = (way.beyond_w(own_k, air_c + SLOPE_K) - own_w) / SLOPE_K;
            for (index, heat) in self.heats.iter().enumerate() {
                let node = way.node * count + index;
                let wider = heat.network.ways_to_air()[at].width_of(way).unwrap_or(1.0);
                self.power_w[node] -= own_w * (wider - 1.0)
                    + per_k * self.above_k[node]
                    + per_air_k * (self.air_c[index] - air_c);
            }
        }
    }

    /// What work and state cost each of them in the last step, in watts.
    pub fn expected_w(&self) -> &[f64] {
        &self.expected_w
    }

    /// What the governor of one acts on.
    pub fn governed_c(&self, index: usize) -> f64 {
        self.air_c[index] + self.governed.lags[index].value()
    }

    /// What a sensor of one shows, before it is rounded.
    pub fn sensor_c(&self, sensor: usize, index: usize) -> f64 {
        let drives_k = self.sensors[sensor].lags[index].value();
        self.heats[index].shown_c(sensor, self.air_c[index], drives_k)
    }
}
