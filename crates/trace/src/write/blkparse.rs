//! blkparse's default text: issue and completion, in whole sectors and nanoseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;

use super::text::Text;
use super::{WriteError, checked, each};
use crate::record::{Op, Record, Source, UNKNOWN_NS};

const SECTOR: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

/// Events, numbered as they are written.
#[derive(Default)]
struct Events {
    text: Text,
    sequence: u64,
}

impl Events {
    fn put(&mut self, time_ns: u64, action: char, (first, sectors, op): Io, who: &str) {
        self.sequence += 1;
        let text = &mut self.text;
        text.put("259,0    0 ")
            .padded(self.sequence, 8, b' ')
            .put(" ");
        text.padded(time_ns / SECOND_NS, 5, b' ')
            .put(".")
            .padded(time_ns % SECOND_NS, 9, b'0');
        text.put(if action == 'C' {
            "     0  C   "
        } else {
            "     1  D   "
        })
        .put(op);
        text.put(" ")
            .number(first)
            .put(" + ")
            .number(sectors)
            .put(" [")
            .put(who)
            .put("]\n");
    }
}

/// First sector, sectors, and what is done to them.
type Io = (u64, u64, &'static str);

fn io(record: &Record) -> Io {
    let first = record.offset / SECTOR;
    let end = (record.offset + u64::from(record.bytes)).div_ceil(SECTOR);
    let op = match record.op {
        Op::Read => "R",
        Op::Write => "W",
        Op::Trim => "D",
    };
    (first, end - first, op)
}

/// Write an event for each issue, by the process `name`, and for each completion that is known.
/// What is not on whole sectors is widened to them.
pub fn blkparse(
    source: &mut dyn Source,
    out: &mut dyn Write,
    name: &str,
) -> Result<u64, WriteError> {
    let name = checked(name)?;
    let mut events = Events::default();
    // what is in flight, first what completes first, then what was issued first
    let mut flying: BinaryHeap<Reverse<(u64, u64, Io)>> = BinaryHeap::new();
    let mut number = 0;
    let count = each(source, |records| {
        for record in records {
            while let Some(&Reverse((done_ns, _, back))) = flying.peek() {
                if done_ns > record.at_ns {
                    break;
                }
                events.put(done_ns, 'C', back, "0");
                flying.pop();
            }
            let io = io(record);
            events.put(record.at_ns, 'D', io, name);
            if record.done_ns != UNKNOWN_NS {
                flying.push(Reverse((record.done_ns, number, io)));
            }
            number += 1;
        }
        Ok(events.text.flush(out)?)
    })?;
    while let Some(Reverse((done_ns, _, back))) = flying.pop() {
        events.put(done_ns, 'C', back, "0");
    }
    events.text.flush(out)?;
    Ok(count)
}
