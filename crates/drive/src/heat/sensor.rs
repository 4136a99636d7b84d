//! Temperatures that firmware sees: some of each node, and late.

use std::collections::BTreeMap;

use super::energy::HOTTEST_C;
use crate::spec::{ProbeSpec, SpecError, check, share};

/// The longest lag: beyond a day, a sensor shows nothing.
const LONGEST_LAG_S: f64 = 1e5;

pub(super) fn check_offset(key: &str, offset_c: f64) -> Result<(), SpecError> {
    check(
        offset_c.abs() <= HOTTEST_C,
        key,
        offset_c,
        "an offset lies between -300 and 300 C",
    )
}

/// Shares of nodes and what is added to each; the hottest counts.
#[derive(Debug, Clone)]
pub(super) struct Probes(Vec<(Weights, f64)>);

impl Probes {
    /// Either `weights` or `hottest`, which are in the table at `key`, among the drive's nodes.
    pub(super) fn new(
        key: &str,
        weights: &BTreeMap<String, f64>,
        hottest: &[ProbeSpec],
        names: &[String],
    ) -> Result<Probes, SpecError> {
        if hottest.is_empty() {
            let only = Weights::new(&format!("{key}.weights"), weights, names)?;
            return Ok(Probes(vec![(only, 0.0)]));
        }
        if !weights.is_empty() {
            let expected = "a temperature has weights or hottest, not both";
            return Err(SpecError::new(
                &format!("{key}.hottest"),
                format!("{} in all", hottest.len()),
                expected,
            ));
        }
        let one = |(index, probe): (usize, &ProbeSpec)| {
            let key = |last: &str| format!("{key}.hottest[{index}].{last}");
            check_offset(&key("offset_c"), probe.offset_c)?;
            let weights = Weights::new(&key("weights"), &probe.weights, names)?;
            Ok((weights, probe.offset_c))
        };
        let probes = hottest.iter().enumerate().map(one);
        Ok(Probes(probes.collect::<Result<_, SpecError>>()?))
    }

    /// What they make of temperatures.
    pub(super) fn of(&self, temperatures: &[f64]) -> f64 {
        let each = self.0.iter();
        each.map(|(weights, offset_c)| weights.of(temperatures) + offset_c)
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// The weights of nodes, where nothing else counts.
    pub(super) fn only(&self) -> Option<&[(usize, f64)]> {
        match self.0.as_slice() {
            [(weights, 0.0)] => Some(&weights.0),
            _ => None,
        }
    }

    /// Whether there are several.
    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }
}

/// Shares of nodes that make up a temperature.
#[derive(Debug, Clone)]
struct Weights(Vec<(usize, f64)>);

impl Weights {
    /// Those of `spec`, which is at `key`, among the drive's nodes.
    fn new(
        key: &str,
        spec: &BTreeMap<String, f64>,
        names: &[String],
    ) -> Result<Weights, SpecError> {
        let mut weights = Vec::with_capacity(spec.len());
        for (name, &weight) in spec {
            let Some(index) = names.iter().position(|node| node == name) else {
                return Err(SpecError::new(
                    &format!("{key}.{name}"),
                    weight,
                    format!("the nodes of the drive are {}", names.join(", ")),
                ));
            };
            share(&format!("{key}.{name}"), weight)?;
            weights.push((index, weight));
        }
        let sum: f64 = spec.values().sum();
        if (sum - 1.0).abs() > 1e-6 {
            let value = if spec.is_empty() {
                "empty".to_owned()
            } else {
                format!("{sum} in all")
            };
            return Err(SpecError::new(
                key,
                value,
                "the shares of nodes have to add up to 1",
            ));
        }
        Ok(Weights(weights))
    }

    /// What they make of temperatures.
    fn of(&self, temperatures: &[f64]) -> f64 {
        let part = |&(index, weight): &(usize, f64)| weight * temperatures[index];
        self.0.iter().map(part).sum()
    }
}

/// A first-order lag: lag_s y' = x - y.
///
/// A step is exact for an x that went in a line from where it was to where it is, as a
/// temperature does over a step that is short compared with the network's time constants.
#[derive(Debug, Clone)]
pub struct Lag {
    lag_s: f64,
    from: f64,
    value: f64,
    dt_s: f64,
    kept: f64,
}

impl Lag {
    /// One at rest. `key` is where `lag_s` is.
    pub fn new(key: &str, lag_s: f64, value: f64) -> Result<Lag, SpecError> {
        check(
            (0.0..=LONGEST_LAG_S).contains(&lag_s),
            key,
            lag_s,
            "a lag lies between 0 and 100000 s",
        )?;
        Ok(Lag {
            lag_s,
            from: value,
            value,
            dt_s: f64::NAN,
            kept: 0.0,
        })
    }

    /// Let `dt_s` pass, over which what it follows went to `to`.
    pub fn step(&mut self, dt_s: f64, to: f64) {
        let from = std::mem::replace(&mut self.from, to);
        if self.lag_s == 0.0 {
            self.value = to;
            return;
        }
        if self.dt_s != dt_s {
            self.dt_s = dt_s;
            self.kept = (-dt_s / self.lag_s).exp();
        }
        // it follows a line at a distance of slope times lag
        let behind = (to - from) * (self.lag_s / dt_s);
        self.value = to - behind + self.kept * (self.value - from + behind);
    }

    /// Move it and what it follows by `by`.
    pub fn shift(&mut self, by: f64) {
        self.from += by;
        self.value += by;
    }

    /// What it shows.
    pub fn value(&self) -> f64 {
        self.value
    }
}
