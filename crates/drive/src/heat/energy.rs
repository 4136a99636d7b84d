//! What operations and states draw, and which node it heats.

use serde::{Deserialize, Serialize};

use crate::spec::EnergySpec;

/// The warmest that anything here is thought to be; a drive that rests above it has run away.
pub const HOTTEST_C: f64 = 300.0;

/// The most that leakage draws, so that one that runs away under load stays a number: more than
/// any connector of an SSD feeds (an M.2 slot some 15 W, a U.2 bay 25 W).
pub const LEAKAGE_MOST_W: f64 = 100.0;

/// What a drive did in a stretch of time. Pages are of 4 KiB; fractions of them are fine.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Read commands of the host.
    pub read_commands: f64,
    /// Write commands of the host.
    pub write_commands: f64,
    /// Pages that the host read: link and data path.
    pub host_read_pages: f64,
    /// Pages that the host wrote: link and data path.
    pub host_write_pages: f64,
    /// Pages read from flash, those of collection among them.
    pub read_pages: f64,
    /// Pages programmed, those of collection among them.
    pub programmed_pages: f64,
    /// Those of them that went to the cache.
    #[serde(default)]
    pub cached_pages: f64,
    /// Pages whose blocks were erased.
    pub erased_pages: f64,
    /// Pages that collection moved.
    pub moved_pages: f64,
    /// Time that firmware worked.
    pub busy_s: f64,
    /// Time with a load, by what is permitted in it: as [`Heat::active_s`](super::Heat::active_s).
    pub active_s: f64,
}

impl Work {
    /// Add what was done in another stretch.
    pub fn add(&mut self, other: &Work) {
        self.read_commands += other.read_commands;
        self.write_commands += other.write_commands;
        self.host_read_pages += other.host_read_pages;
        self.host_write_pages += other.host_write_pages;
        self.read_pages += other.read_pages;
        self.programmed_pages += other.programmed_pages;
        self.cached_pages += other.cached_pages;
        self.erased_pages += other.erased_pages;
        self.moved_pages += other.moved_pages;
        self.busy_s += other.busy_s;
        self.active_s += other.active_s;
    }

    /// Each number with its name.
    pub fn by_name(&self) -> [(&'static str, f64); 11] {
        let mut work = *self;
        work.by_name_mut().map(|(name, value)| (name, *value))
    }

    /// Each number, as [`Work::by_name`] has them.
    pub fn by_name_mut(&mut self) -> [(&'static str, &mut f64); 11] {
        [
            ("read_commands", &mut self.read_commands),
            ("write_commands", &mut self.write_commands),
            ("host_read_pages", &mut self.host_read_pages),
            ("host_write_pages", &mut self.host_write_pages),
            ("read_pages", &mut self.read_pages),
            ("programmed_pages", &mut self.programmed_pages),
            ("cached_pages", &mut self.cached_pages),
            ("erased_pages", &mut self.erased_pages),
            ("moved_pages", &mut self.moved_pages),
            ("busy_s", &mut self.busy_s),
            ("active_s", &mut self.active_s),
        ]
    }

    /// A share of it, or several times it.
    pub fn scaled(&self, factor: f64) -> Work {
        Work {
            read_commands: self.read_commands * factor,
            write_commands: self.write_commands * factor,
            host_read_pages: self.host_read_pages * factor,
            host_write_pages: self.host_write_pages * factor,
            read_pages: self.read_pages * factor,
            programmed_pages: self.programmed_pages * factor,
            cached_pages: self.cached_pages * factor,
            erased_pages: self.erased_pages * factor,
            moved_pages: self.moved_pages * factor,
            busy_s: self.busy_s * factor,
            active_s: self.active_s * factor,
        }
    }
}

/// Heat or power of the drive's three sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sources {
    /// Of the node `controller`.
    pub controller: f64,
    /// Of the node `nand`.
    pub nand: f64,
    /// Of the node `board`.
    pub board: f64,
}

impl Sources {
    /// Of the drive.
    pub fn total(&self) -> f64 {
        self.controller + self.nand + self.board
    }

    /// A share of it, or several times it.
    pub fn scaled(&self, factor: f64) -> Sources {
        Sources {
            controller: self.controller * factor,
            nand: self.nand * factor,
            board: self.board * factor,
        }
    }
}

impl EnergySpec {
    /// The controller's leakage: it doubles with every `leakage_doubling_k`.
    ///
    /// Warmth makes leakage, and leakage warmth: where a kelvin brings more watts than the
    /// network carries away for it, they run away. A drive that does so at idle is no
    /// [`Heat`](super::Heat); one that would under load is held by [`LEAKAGE_MOST_W`] alone, and
    /// by its governor.
    pub fn leakage_at_w(&self, controller_c: f64) -> f64 {
        self.unlimited_leakage_w(controller_c).min(LEAKAGE_MOST_W)
    }

    pub(super) fn unlimited_leakage_w(&self, controller_c: f64) -> f64 {
        let doublings = (controller_c - 25.0) / self.leakage_doubling_k;
        // a drive without leakage has none at any temperature: 0 times infinity is not a number
        self.leakage_w * doublings.exp2().min(f64::MAX)
    }

    /// Give the board its share of what the controller and the NAND draw.
    pub(super) fn shared(&self, controller: f64, nand: f64) -> Sources {
        Sources {
            controller: controller * (1.0 - self.board_share),
            nand: nand * (1.0 - self.board_share),
            board: (controller + nand) * self.board_share,
        }
    }

    /// The energy in J of `work` in `dt_s`, with a controller of `controller_c`, awake, or with
    /// `rest_w` in a power state, whose published power has its leakage in it already.
    pub fn spent_j(
        &self,
        dt_s: f64,
        work: &Work,
        controller_c: f64,
        rest_w: Option<f64>,
    ) -> Sources {
        let base_w = rest_w.unwrap_or_else(|| self.idle_w + self.leakage_at_w(controller_c));
        let [controller, nand] = self.worked_j(work);
        self.shared(base_w * dt_s + controller, nand)
    }

    /// What work alone costs in J, in controller and NAND.
    pub(super) fn worked_j(&self, work: &Work) -> [f64; 2] {
        let nand_uj = self.read_uj * work.read_pages
            + self.program_uj * (work.programmed_pages - work.cached_pages)
            + self.cache_program_uj.unwrap_or(self.program_uj) * work.cached_pages
            + self.erase_uj * work.erased_pages;
        let controller_uj = self.read_command_uj * work.read_commands
            + self.write_command_uj * work.write_commands
            + self.host_read_uj * work.host_read_pages
            + self.host_write_uj * work.host_write_pages
            + self.move_uj * work.moved_pages;
        let controller =
            self.active_w * work.active_s + self.busy_w * work.busy_s + controller_uj * 1e-6;
        [controller, nand_uj * 1e-6]
    }

    /// Energy that was measured, shared as `expected` is.
    pub(super) fn measured_j(&self, expected: &Sources, joules: f64) -> Sources {
        let factor = joules / expected.total();
        if factor.is_finite() {
            expected.scaled(factor)
        } else {
            self.shared(joules, 0.0)
        }
    }
}
