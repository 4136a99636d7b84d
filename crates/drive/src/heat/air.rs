//! How heat leaves for the air: by convection, which grows with the difference in temperature and
//! with the air's speed, and by radiation.
//!
//! A resistance is given for still air, 50 K cooler. Natural convection of a plate goes with the
//! fourth root of the difference, laminar forced convection with the root of the speed, and both
//! together with the cube root of their cubes' sum (Churchill, AIChE J. 23, 1977); boards and
//! heatsinks of a few centimetres are laminar up to tens of m/s (Incropera and DeWitt, Fundamentals
//! of Heat and Mass Transfer, sections 7.2, 9.6 and 9.9). Radiation goes with the difference of the
//! fourth powers; what surrounds the drive is as warm as its air.

use crate::spec::LinkSpec;

/// The difference at which resistances are given.
pub const GIVEN_AT_K: f64 = 50.0;
/// What part of the heat radiates there, of a bare board: some 6 of 15 W/m2K.
const RADIATED: f64 = 0.4;
/// Beyond that, no drive works any more, and a way to the air stays what it is there.
const MOST_K: f64 = 120.0;
const KELVIN_AT_0_C: f64 = 273.15;
/// The air of the rooms in which resistances were measured.
const ROOM_C: f64 = 25.0;

/// A way from a node to the air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WayToAir {
    /// Which node.
    pub node: usize,
    given_w_per_k: f64,
    radiated: f64,
    /// The cube of forced convection, in parts of the natural one at [`GIVEN_AT_K`].
    forced_cubed: f64,
}

impl WayToAir {
    /// The way that a link of this node to the air is, where that moves so fast.
    pub fn new(node: usize, link: &LinkSpec, air_speed_m_s: f64) -> WayToAir {
        let radiated = link.radiated.unwrap_or(RADIATED);
        let forced_cubed = link.halved_at_m_s.map_or(0.0, |halved_at_m_s| {
            let when_halved = ((2.0 - radiated) / (1.0 - radiated)).powi(3) - 1.0;
            when_halved * (air_speed_m_s / halved_at_m_s).powf(1.5)
        });
        WayToAir {
            node,
            given_w_per_k: 1.0 / link.k_per_w,
            radiated,
            forced_cubed,
        }
    }

    /// How much more it carries than another one of the same node, of which it is the same
    /// otherwise; none if it is not.
    pub fn width_of(&self, other: &WayToAir) -> Option<f64> {
        let width = self.given_w_per_k / other.given_w_per_k;
        let given_w_per_k = self.given_w_per_k;
        (*self
            == WayToAir {
                given_w_per_k,
                ..*other
            })
        .then_some(width)
    }

    /// Its conductance at [`GIVEN_AT_K`], in air that moves as it does.
    pub fn linear_w_per_k(&self) -> f64 {
        let convected = (1.0 - self.radiated) * (1.0 + self.forced_cubed).cbrt();
        self.given_w_per_k * (convected + self.radiated)
    }

    /// The heat that leaves by it beyond what [`WayToAir::linear_w_per_k`] carries, from a node
    /// `above_k` warmer than air of `air_c`; less than 0 where it is less.
    pub fn beyond_w(&self, above_k: f64, air_c: f64) -> f64 {
        let part = above_k.abs().min(MOST_K) / GIVEN_AT_K;
        let root = part.sqrt().sqrt();
        let convected = if self.forced_cubed > 0.0 {
            (root.powi(3) + self.forced_cubed).cbrt()
        } else {
            root
        };
        let now = (1.0 - self.radiated) * convected + self.radiated * radiation(above_k, air_c);
        above_k * (self.given_w_per_k * now - self.linear_w_per_k())
    }
}

/// How much better it radiates than at [`GIVEN_AT_K`] in a room.
fn radiation(above_k: f64, air_c: f64) -> f64 {
    let per_k = |above_k: f64, air_c: f64| {
        let (cold, warm) = (KELVIN_AT_0_C + air_c, KELVIN_AT_0_C + air_c + above_k);
        (warm * warm + cold * cold) * (warm + cold)
    };
    per_k(above_k.clamp(-MOST_K, MOST_K), air_c) / per_k(GIVEN_AT_K, ROOM_C)
}
