//! CSV as in the traces from Microsoft Research Cambridge: times in ticks of 100 ns.

use std::io::Write;

use super::text::Text;
use super::{WriteError, checked, each};
use crate::record::{Op, Source, UNKNOWN_NS};

const TICK_NS: u64 = 100;
/// Ticks from 1601 to 2000.
const START_TICKS: u64 = 125_911_584_000_000_000;

/// Write a row for each I/O, on disk 0 of the host `name`. A response time that is not known is 0,
/// and what takes less than a tick takes one. A trim is a `Trim`, which other readers may not know.
pub fn msr(source: &mut dyn Source, out: &mut dyn Write, name: &str) -> Result<u64, WriteError> {
    let name = checked(name)?;
    let mut text = Text::default();
    each(source, |records| {
        for record in records {
            let at = record.at_ns / TICK_NS;
            let took = match record.done_ns {
                UNKNOWN_NS => 0,
                done_ns => (done_ns / TICK_NS).saturating_sub(at).max(1),
            };
            text.number(START_TICKS.saturating_add(at))
                .put(",")
                .put(name);
            text.put(match record.op {
                Op::Read => ",0,Read,",
                Op::Write => ",0,Write,",
                Op::Trim => ",0,Trim,",
            });
            text.number(record.offset)
                .put(",")
                .number(record.bytes.into());
            text.put(",").number(took).put("\n");
        }
        Ok(text.flush(out)?)
    })
}
