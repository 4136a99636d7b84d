//! The flow of heat: controller on board, board in the slot's air.
//!
//! Two thermal capacities and two resistances, with the power of a step constant, so that a step
//! of any length is exact: x' = A x + B u, with x the nodes above the air, has the solution
//! x(h) = Phi x + Psi B u, with Phi = exp(A h) and Psi its integral from 0 to h. One node cannot
//! show an onset of 7 s together with a lasting fall: it takes a fast one on a slow one.

/// A 2 x 2 matrix, by rows.
type Matrix = [[f64; 2]; 2];

const IDENTITY: Matrix = [[1.0, 0.0], [0.0, 1.0]];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    let cell = |i: usize, j: usize| a[i][0] * b[0][j] + a[i][1] * b[1][j];
    [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
}

fn plus(a: &Matrix, b: &Matrix, factor: f64) -> Matrix {
    let cell = |i: usize, j: usize| a[i][j] + factor * b[i][j];
    [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
}

fn apply(a: &Matrix, x: [f64; 2]) -> [f64; 2] {
    [
        a[0][0] * x[0] + a[0][1] * x[1],
        a[1][0] * x[0] + a[1][1] * x[1],
    ]
}

/// Resistances and capacities of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// The slot's air, whatever the drive does.
    pub air_c: f64,
    /// The share of the power that is spent in the controller.
    pub controller_share: f64,
    /// Controller above board.
    pub controller_k_per_w: f64,
    /// Heat capacity of controller and package.
    pub controller_j_per_k: f64,
    /// Board above air.
    pub board_k_per_w: f64,
    /// Heat capacity of the board, its NAND and what the slot couples to it.
    pub board_j_per_k: f64,
}

impl Network {
    fn rates(&self) -> Matrix {
        let (rc, rb) = (self.controller_k_per_w, self.board_k_per_w);
        let (cc, cb) = (self.controller_j_per_k, self.board_j_per_k);
        [
            [-1.0 / (cc * rc), 1.0 / (cc * rc)],
            [1.0 / (cb * rc), -1.0 / (cb * rc) - 1.0 / (cb * rb)],
        ]
    }

    /// What one watt does to each node, in kelvin a second.
    fn input(&self) -> [f64; 2] {
        [
            self.controller_share / self.controller_j_per_k,
            (1.0 - self.controller_share) / self.board_j_per_k,
        ]
    }

    /// The temperatures that a lasting power ends at.
    pub fn settled(&self, power_w: f64) -> State {
        let board = power_w * self.board_k_per_w;
        State {
            controller_k: board + power_w * self.controller_share * self.controller_k_per_w,
            board_k: board,
        }
    }

    /// Heat held above that of a drive at the air's temperature.
    pub fn stored_j(&self, state: &State) -> f64 {
        self.controller_j_per_k * state.controller_k + self.board_j_per_k * state.board_k
    }
}

/// The two nodes, in kelvin above the slot's air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// The node that throttles.
    pub controller_k: f64,
    /// Board and NAND.
    pub board_k: f64,
}

/// The solution over one length of step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Its length.
    pub duration_s: f64,
    phi: Matrix,
    response: [f64; 2],
    board_mean: [f64; 2],
    board_mean_response: f64,
    board_k_per_w: f64,
}

/// Where a step ended, and what left for the air meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stepped {
    /// The nodes at its end.
    pub state: State,
    /// Heat that went into the air.
    pub out_j: f64,
}

impl Step {
    /// Solve `network` over `duration_s`, by a Taylor series over a fraction of it that is then
    /// doubled (scaling and squaring, Moler and Van Loan, SIAM Review 45, 2003).
    pub fn new(network: &Network, duration_s: f64) -> Step {
        let rates = network.rates();
        let norm = rates
            .iter()
            .map(|row| row[0].abs() + row[1].abs())
            .fold(0.0, f64::max);
        let mut doublings = 0;
        let mut h = duration_s;
        while norm * h > 0.25 {
            h /= 2.0;
            doublings += 1;
        }
        // psi = sum A^k h^(k+1) / (k+1)!, omega (its integral) = sum A^k h^(k+2) / (k+2)!
        let mut psi = [[0.0; 2]; 2];
        let mut omega = [[0.0; 2]; 2];
        let mut term = plus(&[[0.0; 2]; 2], &IDENTITY, h);
        for k in 1..=14 {
            psi = plus(&psi, &term, 1.0);
            omega = plus(&omega, &term, h / f64::from(k + 1));
            term = times(&rates, &term);
            term = plus(&[[0.0; 2]; 2], &term, h / f64::from(k + 1));
        }
        let mut phi = plus(&IDENTITY, &times(&rates, &psi), 1.0);
        for _ in 0..doublings {
            omega = plus(&plus(&omega, &times(&phi, &omega), 1.0), &psi, h);
            psi = plus(&psi, &times(&phi, &psi), 1.0);
            phi = times(&phi, &phi);
            h *= 2.0;
        }
        let input = network.input();
        Step {
            duration_s,
            phi,
            response: apply(&psi, input),
            board_mean: psi[1],
            board_mean_response: apply(&omega, input)[1],
            board_k_per_w: network.board_k_per_w,
        }
    }

    /// The controller at the end of the step, in kelvin above the air.
    pub fn controller_after(&self, state: &State, power_w: f64) -> f64 {
        self.phi[0][0] * state.controller_k
            + self.phi[0][1] * state.board_k
            + self.response[0] * power_w
    }

    /// The power that brings the controller to `controller_k` at the end of the step.
    pub fn power_for(&self, state: &State, controller_k: f64) -> f64 {
        (controller_k - self.controller_after(state, 0.0)) / self.response[0]
    }

    /// Let the step pass with a constant power.
    pub fn pass(&self, state: &State, power_w: f64) -> Stepped {
        let board_k_s = self.board_mean[0] * state.controller_k
            + self.board_mean[1] * state.board_k
            + self.board_mean_response * power_w;
        Stepped {
            state: State {
                controller_k: self.controller_after(state, power_w),
                board_k: self.phi[1][0] * state.controller_k
                    + self.phi[1][1] * state.board_k
                    + self.response[1] * power_w,
            },
            out_j: board_k_s / self.board_k_per_w,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn networks() -> impl Strategy<Value = Network> {
        (
            (0.0..60.0, 0.05..1.0, 0.5..8.0),
            (0.2..4.0, 2.0..40.0, 2.0..60.0),
        )
            .prop_map(|((air_c, controller_share, rc), (cc, rb, cb))| Network {
                air_c,
                controller_share,
                controller_k_per_w: rc,
                controller_j_per_k: cc,
                board_k_per_w: rb,
                board_j_per_k: cb,
            })
    }

    proptest! {
        #[test]
        fn heat_in_is_heat_out_and_heat_stored(
            network in networks(),
            powers in prop::collection::vec(0.0..20.0f64, 1..200),
            duration_s in 1e-3..50.0f64,
        ) {
            let step = Step::new(&network, duration_s);
            let mut state = network.settled(1.0);
            let before = network.stored_j(&state);
            let (mut fed, mut out) = (0.0, 0.0);
            for power in powers {
                let passed = step.pass(&state, power);
                state = passed.state;
                out += passed.out_j;
                fed += power * duration_s;
            }
            let kept = network.stored_j(&state) - before;
            let scale = fed.abs().max(out.abs()).max(before.abs()).max(1.0);
            prop_assert!((fed - out - kept).abs() < 1e-9 * scale);
        }

        #[test]
        fn one_exact_step_is_many_fine_ones(
            network in networks(),
            power in 0.0..20.0f64,
            controller_k in 0.0..60.0f64,
            board_k in 0.0..40.0f64,
        ) {
            let start = State { controller_k, board_k };
            let exact = Step::new(&network, 1.0).pass(&start, power).state;
            // classical Runge-Kutta of the fourth order
            let (rates, input) = (network.rates(), network.input());
            let slope = |x: [f64; 2]| {
                let y = apply(&rates, x);
                [y[0] + input[0] * power, y[1] + input[1] * power]
            };
            let mut x = [controller_k, board_k];
            let h = 1.0 / 2000.0;
            for _ in 0..2000 {
                let k1 = slope(x);
                let k2 = slope([x[0] + h / 2.0 * k1[0], x[1] + h / 2.0 * k1[1]]);
                let k3 = slope([x[0] + h / 2.0 * k2[0], x[1] + h / 2.0 * k2[1]]);
                let k4 = slope([x[0] + h * k3[0], x[1] + h * k3[1]]);
                for i in 0..2 {
                    x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
                }
            }
            prop_assert!((exact.controller_k - x[0]).abs() < 1e-8);
            prop_assert!((exact.board_k - x[1]).abs() < 1e-8);
        }

        #[test]
        fn a_lasting_power_ends_where_it_settles(network in networks(), power in 0.0..20.0f64) {
            let far = Step::new(&network, 1e5).pass(&network.settled(0.0), power).state;
            let settled = network.settled(power);
            prop_assert!((far.controller_k - settled.controller_k).abs() < 1e-6);
            prop_assert!((far.board_k - settled.board_k).abs() < 1e-6);
        }

        #[test]
        fn the_power_for_a_temperature_reaches_it(
            network in networks(),
            target_k in 1.0..80.0f64,
        ) {
            let step = Step::new(&network, 0.02);
            let start = network.settled(0.5);
            let power = step.power_for(&start, target_k);
            prop_assert!((step.controller_after(&start, power) - target_k).abs() < 1e-8);
        }
    }
}
