//! A trace from arrays, as `Trace.take` gives them.

use heatsoak_trace::{Op, Record, Source, SourceError};
use numpy::ndarray::ArrayView1;

/// Records in memory.
pub struct Recorded {
    records: Vec<Record>,
    given: usize,
}

impl Recorded {
    /// The records of columns of one length, in the order of their issue.
    pub fn of(
        at_ns: &ArrayView1<'_, u64>,
        done_ns: &ArrayView1<'_, u64>,
        op: &ArrayView1<'_, u8>,
        offset: &ArrayView1<'_, u64>,
        bytes: &ArrayView1<'_, u32>,
        depth: &ArrayView1<'_, u16>,
    ) -> Result<Recorded, String> {
        let count = at_ns.len();
        for (name, length) in [
            ("done_ns", done_ns.len()),
            ("op", op.len()),
            ("offset", offset.len()),
            ("bytes", bytes.len()),
            ("depth", depth.len()),
        ] {
            if length != count {
                return Err(format!(
                    "{name} has {length} values, and at_ns {count}: they have to be as many"
                ));
            }
        }
        let mut records: Vec<Record> = Vec::with_capacity(count);
        for index in 0..count {
            let op = match op[index] {
                0 => Op::Read,
                1 => Op::Write,
                2 => Op::Trim,
                other => {
                    return Err(format!(
                        "op[{index}] is {other}: 0 is a read, 1 a write and 2 a trim"
                    ));
                }
            };
            if let Some(last) = records.last()
                && at_ns[index] < last.at_ns
            {
                return Err(format!(
                    "at_ns[{index}] is {}: it has to be {} or more, as the one before it",
                    at_ns[index], last.at_ns
                ));
            }
            records.push(Record {
                at_ns: at_ns[index],
                done_ns: done_ns[index],
                offset: offset[index],
                bytes: bytes[index],
                op,
                depth: depth[index],
            });
        }
        Ok(Recorded { records, given: 0 })
    }
}

impl Source for Recorded {
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
        let rest = &self.records[self.given..];
        let next = &rest[..most.min(rest.len())];
        into.extend_from_slice(next);
        self.given += next.len();
        Ok(next.len())
    }
}
