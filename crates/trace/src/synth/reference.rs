//! When the I/Os of a trace completed, on the drive that it is made as if recorded of.

use super::shape;
use crate::record::Op;

/// A drive with a latency and a link.
pub struct Reference {
    read_ns: u64,
    write_ns: u64,
    ns_per_byte: f64,
    last_ns: u64,
}

impl Reference {
    /// One that has nothing to do.
    pub fn new(shape: &shape::Reference) -> Self {
        Reference {
            read_ns: (shape.read_us * 1e3) as u64,
            write_ns: (shape.write_us * 1e3) as u64,
            ns_per_byte: 1e3 / shape.mb_s,
            last_ns: 0,
        }
    }

    /// When an I/O that is issued now completes: always after the one before it.
    #[inline]
    pub fn serve(&mut self, at_ns: u64, op: Op, bytes: u32) -> u64 {
        let latency_ns = if op == Op::Read {
            self.read_ns
        } else {
            self.write_ns
        };
        let link_ns = (f64::from(bytes) * self.ns_per_byte) as u64;
        self.last_ns = self.last_ns.max(at_ns + latency_ns) + link_ns.max(1);
        self.last_ns
    }

    /// When the last one completed.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }
}
