//! The flow of heat: any number of capacities, and the ways among them and to the slot's air.
//!
//! With x the nodes in kelvin above the air, C their capacities, G their conductances and p the
//! power fed to each of them, C x' = p - G x. G is symmetric, and so is C^-1/2 G C^-1/2; its
//! eigenvectors split the network into modes that decay each on its own, z' = -rate z + b. While
//! p is constant that has a closed solution, so that a step of any length is exact, and so are
//! the means over it and the heat that left. Ways to the air are not quite linear; what they carry
//! beyond that is a source of heat ([`Network::beyond_w`]).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::HeatError;
use super::air::WayToAir;
use crate::spec::{
    AIR, BOARD, CONTROLLER, EnclosureSpec, LinkSpec, NAND, NodeSpec, SpecError, ThermalSpec, check,
    positive,
};

/// Capacities that a node may have: what is outside is not part of a drive or a place, and mixed
/// with what is, energy would not be kept within 1e-9.
const CAPACITIES_J_PER_K: RangeInclusive<f64> = 1e-3..=1e5;

/// Resistances that a way may have, for the same reason.
const RESISTANCES_K_PER_W: RangeInclusive<f64> = 1e-3..=1e4;

/// A state is looked for so often at most: each time comes nearer by a third and more.
const SETTLING: usize = 100;

/// Shares of heat that may radiate: some always convects.
const RADIATED: RangeInclusive<f64> = 0.0..=0.9;

/// Nodes, and the ways of heat among them and to the air.
#[derive(Debug, Clone)]
pub struct Network {
    names: Vec<String>,
    /// Of `names`, those that are the drive's own; they come first.
    own: usize,
    capacity_j_per_k: Vec<f64>,
    to_air: Vec<WayToAir>,
    to_air_w_per_k: Vec<f64>,
    /// How fast each mode decays, 1/s.
    rate_per_s: Vec<f64>,
    /// By nodes, what each mode is there; n x n.
    by_node: Vec<f64>,
    /// The same, by modes.
    by_mode: Vec<f64>,
    /// The heat that each mode gives to the air.
    mode_w: Vec<f64>,
}

/// The temperatures of a network's nodes.
#[derive(Debug, Clone)]
pub struct State {
    /// Of each node, in kelvin above the air.
    above_k: Vec<f64>,
    modes: Vec<f64>,
    /// The integral of each mode over the last step.
    integral: Vec<f64>,
    drive: Vec<f64>,
    length_s: f64,
    lengths: Lengths,
}

impl State {
    /// Of each node, in kelvin above the air.
    pub fn above_k(&self) -> &[f64] {
        &self.above_k
    }
}

/// What each mode does in a step of one length, for a mode of 1 and for an input of 1.
#[derive(Debug, Clone)]
struct Lengths {
    length_s: f64,
    decay: Vec<f64>,
    response: Vec<f64>,
    integral_response: Vec<f64>,
}

impl Lengths {
    fn new(n: usize) -> Lengths {
        Lengths {
            length_s: f64::NAN,
            decay: vec![0.0; n],
            response: vec![0.0; n],
            integral_response: vec![0.0; n],
        }
    }

    fn set(&mut self, rate_per_s: &[f64], length_s: f64) {
        if self.length_s == length_s {
            return;
        }
        self.length_s = length_s;
        for (k, rate) in rate_per_s.iter().enumerate() {
            let lost = -(-rate * length_s).exp_m1();
            self.decay[k] = 1.0 - lost;
            self.response[k] = lost / rate;
            self.integral_response[k] = (length_s - self.response[k]) / rate;
        }
    }
}

/// One way of heat, with `None` for the air.
#[derive(Debug, Clone, Copy)]
struct Way {
    from: usize,
    to: Option<usize>,
    w_per_k: f64,
}

fn in_range(
    key: &str,
    value: f64,
    range: &RangeInclusive<f64>,
    unit: &str,
) -> Result<(), SpecError> {
    positive(key, value)?;
    check(
        range.contains(&value),
        key,
        value,
        &format!(
            "it has to lie between {} and {} {unit}",
            range.start(),
            range.end()
        ),
    )
}

fn check_nodes(prefix: &str, nodes: &BTreeMap<String, NodeSpec>) -> Result<(), SpecError> {
    for (name, node) in nodes {
        if name == AIR {
            return Err(SpecError::new(
                &format!("{prefix}nodes.{name}"),
                "a node",
                "that is the name of the slot's air",
            ));
        }
        in_range(
            &format!("{prefix}nodes.{name}.j_per_k"),
            node.j_per_k,
            &CAPACITIES_J_PER_K,
            "J/K",
        )?;
    }
    Ok(())
}

/// Add those of `links` to the ways among `names`, in air of a speed; `to_air` has those that lead
/// there once more, as they are.
fn add_ways(
    prefix: &str,
    links: &BTreeMap<String, LinkSpec>,
    names: &[String],
    air_speed_m_s: f64,
    (ways, to_air): &mut (Vec<Way>, Vec<WayToAir>),
) -> Result<(), SpecError> {
    for (name, link) in links {
        let key = |last: &str| format!("{prefix}links.{name}.{last}");
        let between = key("between");
        let [one, other] = &link.between;
        if one == other {
            return Err(SpecError::new(
                &between,
                format!("{one} twice"),
                "a way leads between two nodes, or a node and air",
            ));
        }
        let find = |node: &String| {
            if node == AIR {
                return Ok(None);
            }
            match names.iter().position(|name| name == node) {
                Some(index) => Ok(Some(index)),
                None => Err(SpecError::new(
                    &between,
                    node,
                    format!("it has to be air or one of {}", names.join(", ")),
                )),
            }
        };
        let (from, to) = match (find(one)?, find(other)?) {
            (Some(from), to) => (from, to),
            (None, Some(from)) => (from, None),
            (None, None) => unreachable!("the names differ"),
        };
        in_range(&key("k_per_w"), link.k_per_w, &RESISTANCES_K_PER_W, "K/W")?;
        let w_per_k = if to.is_none() {
            let way = way_to_air(&key, from, link, air_speed_m_s)?;
            to_air.push(way);
            way.linear_w_per_k()
        } else {
            let of_air = [
                ("halved_at_m_s", link.halved_at_m_s),
                ("radiated", link.radiated),
            ];
            for (name, value) in of_air {
                if let Some(value) = value {
                    let expected = "only a way to the air has one";
                    return Err(SpecError::new(&key(name), value, expected));
                }
            }
            1.0 / link.k_per_w
        };
        ways.push(Way { from, to, w_per_k });
    }
    Ok(())
}

fn way_to_air(
    key: &dyn Fn(&str) -> String,
    node: usize,
    link: &LinkSpec,
    air_speed_m_s: f64,
) -> Result<WayToAir, SpecError> {
    if let Some(radiated) = link.radiated {
        check(
            RADIATED.contains(&radiated),
            &key("radiated"),
            radiated,
            &format!(
                "it has to lie between {} and {}",
                RADIATED.start(),
                RADIATED.end()
            ),
        )?;
    }
    if let Some(halved_at_m_s) = link.halved_at_m_s {
        positive(&key("halved_at_m_s"), halved_at_m_s)?;
    }
    let way = WayToAir::new(node, link, air_speed_m_s);
    let k_per_w = 1.0 / way.linear_w_per_k();
    if let Some(halved_at_m_s) = link.halved_at_m_s
        && k_per_w < *RESISTANCES_K_PER_W.start()
    {
        return Err(SpecError::new(
            &key("halved_at_m_s"),
            halved_at_m_s,
            format!(
                "air of {air_speed_m_s} m/s would leave {k_per_w} K/W, less than {}",
                RESISTANCES_K_PER_W.start()
            ),
        ));
    }
    Ok(way)
}

/// The nodes that heat cannot leave for the air.
fn floating(n: usize, ways: &[Way]) -> Vec<usize> {
    let mut reached = vec![false; n];
    for _ in 0..=n {
        for way in ways {
            let there = way.to.is_none_or(|to| reached[to]);
            if there {
                reached[way.from] = true;
            } else if let Some(to) = way.to
                && reached[way.from]
            {
                reached[to] = true;
            }
        }
    }
    (0..n).filter(|&node| !reached[node]).collect()
}

/// The eigenvectors of a symmetric matrix, as columns, by Jacobi's rotations: they find small
/// eigenvalues of a positive definite matrix as exactly as large ones (Demmel and Veselic, SIAM
/// J. Matrix Anal. Appl. 13, 1992), and time constants of a drive span five decades.
fn eigenvectors(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    let mut v = vec![0.0; n * n];
    for i in 0..n {
        v[i * n + i] = 1.0;
    }
    for _ in 0..60 {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = a[p * n + q];
                let (app, aqq) = (a[p * n + p], a[q * n + q]);
                if off.abs() <= f64::EPSILON * 1e-3 * (app * aqq).sqrt() {
                    continue;
                }
                rotated = true;
                let theta = (aqq - app) / (2.0 * off);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for i in 0..n {
                    if i == p || i == q {
                        continue;
                    }
                    let (aip, aiq) = (a[i * n + p], a[i * n + q]);
                    let (new_p, new_q) = (c * aip - s * aiq, s * aip + c * aiq);
                    a[i * n + p] = new_p;
                    a[p * n + i] = new_p;
                    a[i * n + q] = new_q;
                    a[q * n + i] = new_q;
                }
                a[p * n + p] = app - t * off;
                a[q * n + q] = aqq + t * off;
                a[p * n + q] = 0.0;
                a[q * n + p] = 0.0;
                for i in 0..n {
                    let (vip, viq) = (v[i * n + p], v[i * n + q]);
                    v[i * n + p] = c * vip - s * viq;
                    v[i * n + q] = s * vip + c * viq;
                }
            }
        }
        if !rotated {
            break;
        }
    }
    v
}

impl Network {
    /// The network of a drive in a place. The first nodes are `controller`, `nand` and `board`,
    /// then come the drive's others and the place's, each by name.
    pub fn new(thermal: &ThermalSpec, place: &EnclosureSpec) -> Result<Network, HeatError> {
        for name in [CONTROLLER, NAND, BOARD] {
            if !thermal.nodes.contains_key(name) {
                return Err(HeatError::Drive(SpecError::new(
                    &format!("thermal.nodes.{name}"),
                    "missing",
                    "every drive has this node",
                )));
            }
        }
        check_nodes("thermal.", &thermal.nodes).map_err(HeatError::Drive)?;
        check_nodes("", &place.nodes).map_err(HeatError::Enclosure)?;
        let always = [CONTROLLER, NAND, BOARD];
        let mut names: Vec<String> = always.map(str::to_owned).to_vec();
        let others = |name: &&String| !always.contains(&name.as_str());
        names.extend(thermal.nodes.keys().filter(others).cloned());
        let own = names.len();
        let mut all = (Vec::new(), Vec::new());
        let speed_m_s = place.air_speed_m_s;
        add_ways("thermal.", &thermal.links, &names, speed_m_s, &mut all)
            .map_err(HeatError::Drive)?;
        let new = |name: &&String| !thermal.nodes.contains_key(*name);
        names.extend(place.nodes.keys().filter(new).cloned());
        add_ways("", &place.links, &names, speed_m_s, &mut all).map_err(HeatError::Enclosure)?;
        let capacity_j_per_k = names
            .iter()
            .map(|name| {
                let of = |nodes: &BTreeMap<String, NodeSpec>| {
                    nodes.get(name).map_or(0.0, |node| node.j_per_k)
                };
                of(&thermal.nodes) + of(&place.nodes)
            })
            .collect();
        let (ways, to_air) = all;
        let lost = floating(names.len(), &ways);
        if let Some(&node) = lost.first() {
            let name = &names[node];
            let expected = format!("no way leads from {name} to air, so that heat cannot leave it");
            return Err(if node >= own {
                HeatError::Enclosure(SpecError::new(
                    &format!("nodes.{name}"),
                    "floating",
                    expected,
                ))
            } else if (0..own).any(|node| !lost.contains(&node)) {
                HeatError::Drive(SpecError::new(
                    &format!("thermal.nodes.{name}"),
                    "floating",
                    expected,
                ))
            } else {
                let named: Vec<_> = place.links.keys().map(String::as_str).collect();
                let value = if named.is_empty() {
                    "empty".to_owned()
                } else {
                    named.join(", ")
                };
                HeatError::Enclosure(SpecError::new(
                    "links",
                    value,
                    "one of them has to lead from the drive to air",
                ))
            });
        }
        Ok(Network::of(names, own, capacity_j_per_k, &ways, to_air))
    }

    fn of(
        names: Vec<String>,
        own: usize,
        capacity_j_per_k: Vec<f64>,
        ways: &[Way],
        to_air: Vec<WayToAir>,
    ) -> Network {
        let n = names.len();
        let mut to_air_w_per_k = vec![0.0; n];
        let mut matrix = vec![0.0; n * n];
        for way in ways {
            let from = way.from;
            matrix[from * n + from] += way.w_per_k / capacity_j_per_k[from];
            if let Some(to) = way.to {
                matrix[to * n + to] += way.w_per_k / capacity_j_per_k[to];
                let both = way.w_per_k / (capacity_j_per_k[from] * capacity_j_per_k[to]).sqrt();
                matrix[from * n + to] -= both;
                matrix[to * n + from] -= both;
            } else {
                to_air_w_per_k[from] += way.w_per_k;
            }
        }
        let mut by_node = eigenvectors(matrix, n);
        for (row, capacity) in by_node.chunks_exact_mut(n).zip(&capacity_j_per_k) {
            row.iter_mut().for_each(|cell| *cell /= capacity.sqrt());
        }
        let at = |node: usize, mode: usize| by_node[node * n + mode];
        let by_mode: Vec<f64> = (0..n * n).map(|i| at(i % n, i / n)).collect();
        // as what a mode loses, a rate has no difference of large numbers in it
        let rate_per_s = (0..n)
            .map(|k| {
                let lost = |way: &Way| {
                    let there = way.to.map_or(0.0, |to| at(to, k));
                    way.w_per_k * (at(way.from, k) - there).powi(2)
                };
                ways.iter().map(lost).sum()
            })
            .collect();
        let mode_w = (0..n)
            .map(|k| (0..n).map(|i| to_air_w_per_k[i] * at(i, k)).sum())
            .collect();
        Network {
            mode_w,
            names,
            own,
            capacity_j_per_k,
            to_air,
            to_air_w_per_k,
            rate_per_s,
            by_mode,
            by_node,
        }
    }

    /// The ways that lead to the air.
    pub(super) fn ways_to_air(&self) -> &[WayToAir] {
        &self.to_air
    }

    /// Whether another's nodes give their heat to the air in the same ways, of any width.
    pub(super) fn is_alike(&self, other: &Network) -> bool {
        let mut pairs = self.to_air.iter().zip(&other.to_air);
        self.to_air.len() == other.to_air.len() && pairs.all(|(a, b)| a.width_of(b).is_some())
    }

    /// What a step of this length leaves of temperatures, and what power brings in it, K/W; n x n.
    pub(super) fn passed(&self, length_s: f64) -> [Vec<f64>; 2] {
        let n = self.names.len();
        let mut lengths = Lengths::new(n);
        lengths.set(&self.rate_per_s, length_s);
        let sum = |cell: usize, of: &[f64]| -> f64 {
            let modes = |node: usize| &self.by_node[node * n..][..n];
            let both = modes(cell / n).iter().zip(modes(cell % n)).zip(of);
            both.map(|((to, from), of)| to * from * of).sum()
        };
        let kept = |cell| sum(cell, &lengths.decay) * self.capacity_j_per_k[cell % n];
        let brought = |cell| sum(cell, &lengths.response);
        [
            (0..n * n).map(kept).collect(),
            (0..n * n).map(brought).collect(),
        ]
    }

    /// Its nodes: `controller`, `nand`, `board`, the drive's others, the place's.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The nodes that are the drive's own: the first of [`Network::names`].
    pub fn own_names(&self) -> &[String] {
        &self.names[..self.own]
    }

    /// The capacity of each node.
    pub fn capacity_j_per_k(&self) -> &[f64] {
        &self.capacity_j_per_k
    }

    /// The conductance of each node to the air, still or moving, at [`super::air::GIVEN_AT_K`].
    pub fn to_air_w_per_k(&self) -> &[f64] {
        &self.to_air_w_per_k
    }

    /// The time constants of its modes, the longest first.
    pub fn time_constants_s(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.rate_per_s.iter().map(|rate| 1.0 / rate).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }

    fn state(&self, modes: Vec<f64>) -> State {
        let n = self.names.len();
        let mut state = State {
            above_k: vec![0.0; n],
            integral: modes.clone(),
            modes,
            drive: vec![0.0; n],
            length_s: 1.0,
            lengths: Lengths::new(n),
        };
        mix(&self.by_mode, &state.modes, &mut state.above_k);
        state
    }

    /// Add to `power_w` what ways to air of `air_c` do not take away as a linear one would, and
    /// return how much more than that leaves in all, in watts.
    pub fn beyond_w(&self, state: &State, air_c: f64, power_w: &mut [f64]) -> f64 {
        let mut sum_w = 0.0;
        for way in &self.to_air {
            let beyond_w = way.beyond_w(state.above_k[way.node], air_c);
            power_w[way.node] -= beyond_w;
            sum_w += beyond_w;
        }
        sum_w
    }

    /// The state that a lasting power, in watts for each node, ends at in air of `air_c`.
    pub fn settled_in(&self, power_w: &[f64], air_c: f64) -> State {
        let mut state = self.settled(power_w);
        let mut with = power_w.to_vec();
        // what is far warmer than the linear law knows gives off so much more that whole moves
        // overshoot: their part is that which the last two would have needed (Irons and Tuck,
        // International Journal for Numerical Methods in Engineering 1, 1969)
        let (mut part, mut last) = (1.0, None::<Vec<f64>>);
        for _ in 0..SETTLING {
            with.copy_from_slice(power_w);
            self.beyond_w(&state, air_c, &mut with);
            let next = self.settled(&with);
            let pairs = next.above_k.iter().zip(&state.above_k);
            let moved_k: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
            if moved_k.iter().all(|k| k.abs() < 1e-12) {
                return next;
            }
            if let Some(last) = last {
                let turned: Vec<f64> = moved_k.iter().zip(&last).map(|(a, b)| a - b).collect();
                part *= -dot(&last, &turned) / dot(&turned, &turned);
                part = part.clamp(0.05, 2.0);
            }
            let pairs = state.above_k.iter().zip(&moved_k);
            state = self.state_at(
                &pairs
                    .map(|(k, move_k)| k + part * move_k)
                    .collect::<Vec<_>>(),
            );
            last = Some(moved_k);
        }
        state
    }

    /// The state that a lasting power, in watts for each node, ends at by linear ways alone.
    pub fn settled(&self, power_w: &[f64]) -> State {
        let mut modes = vec![0.0; self.names.len()];
        mix(&self.by_node, power_w, &mut modes);
        for (mode, rate) in modes.iter_mut().zip(&self.rate_per_s) {
            *mode /= rate;
        }
        self.state(modes)
    }

    /// The state with these temperatures, in kelvin above the air.
    pub fn state_at(&self, above_k: &[f64]) -> State {
        let heat: Vec<f64> = above_k
            .iter()
            .zip(&self.capacity_j_per_k)
            .map(|(above, capacity)| above * capacity)
            .collect();
        let mut modes = vec![0.0; self.names.len()];
        mix(&self.by_node, &heat, &mut modes);
        self.state(modes)
    }

    /// Heat held above that of a network at the air's temperature.
    pub fn stored_j(&self, state: &State) -> f64 {
        dot(&self.capacity_j_per_k, &state.above_k)
    }

    /// Let `length_s` (more than 0) pass with a constant power, in watts for each node. Returns
    /// the heat that left for the air, by the mean temperatures of the step.
    pub fn step(&self, state: &mut State, length_s: f64, power_w: &[f64]) -> f64 {
        let n = self.names.len();
        state.length_s = length_s;
        state.lengths.set(&self.rate_per_s, length_s);
        mix(&self.by_node, power_w, &mut state.drive);
        let (decay, response) = (&state.lengths.decay[..n], &state.lengths.response[..n]);
        let integral_response = &state.lengths.integral_response[..n];
        let (modes, integral) = (&mut state.modes[..n], &mut state.integral[..n]);
        let drive = &state.drive[..n];
        for k in 0..n {
            integral[k] = response[k] * modes[k] + integral_response[k] * drive[k];
            modes[k] = decay[k] * modes[k] + response[k] * drive[k];
        }
        mix(&self.by_mode, modes, &mut state.above_k);
        dot(&self.mode_w, integral)
    }

    /// The mean of a node over the last step, in kelvin above the air; before any step, what the
    /// node is at.
    pub fn mean_above_k(&self, state: &State, node: usize) -> f64 {
        let n = self.names.len();
        dot(&self.by_node[node * n..][..n], &state.integral) / state.length_s
    }
}

/// Add up the rows of `matrix`, each as often as `weights` say.
fn mix(matrix: &[f64], weights: &[f64], sum: &mut [f64]) {
    sum.fill(0.0);
    let n = sum.len();
    for (row, &weight) in matrix.chunks_exact(n).zip(weights) {
        for (cell, value) in sum.iter_mut().zip(row) {
            *cell += weight * value;
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
