//! fio's iolog: nothing of when an I/O came back, and the time in whole milliseconds (version 2) or
//! microseconds (version 3).

use std::io::Write;

use super::text::Text;
use super::{WriteError, checked, each};
use crate::record::{Op, Record, Source};

const US_NS: u64 = 1_000;
const MS_NS: u64 = 1_000_000;

fn action(record: &Record) -> &'static str {
    match record.op {
        Op::Read => " read ",
        Op::Write => " write ",
        Op::Trim => " trim ",
    }
}

/// Write fio's version 2, with a `wait` until each millisecond in which there is I/O, counted from the
/// beginning as fio counts them; `name` is the file's.
pub fn iolog_v2(
    source: &mut dyn Source,
    out: &mut dyn Write,
    name: &str,
) -> Result<u64, WriteError> {
    let name = checked(name)?;
    let mut text = Text::default();
    text.put("fio version 2 iolog\n");
    text.put(name).put(" add\n").put(name).put(" open\n");
    let mut clock_ms = 0;
    let count = each(source, |records| {
        for record in records {
            let at_ms = record.at_ns / MS_NS;
            if at_ms > clock_ms {
                text.put(name).put(" wait ").number(at_ms).put(" 0\n");
                clock_ms = at_ms;
            }
            text.put(name).put(action(record)).number(record.offset);
            text.put(" ").number(record.bytes.into()).put("\n");
        }
        Ok(text.flush(out)?)
    })?;
    text.put(name).put(" close\n").flush(out)?;
    Ok(count)
}

/// Write fio's version 3, which fio reads since 3.31; `name` is the file's.
pub fn iolog_v3(
    source: &mut dyn Source,
    out: &mut dyn Write,
    name: &str,
) -> Result<u64, WriteError> {
    let name = checked(name)?;
    let mut text = Text::default();
    text.put("fio version 3 iolog\n");
    text.put("0 ")
        .put(name)
        .put(" add\n0 ")
        .put(name)
        .put(" open\n");
    let mut at_us = 0;
    let count = each(source, |records| {
        for record in records {
            at_us = record.at_ns / US_NS;
            text.number(at_us)
                .put(" ")
                .put(name)
                .put(action(record))
                .number(record.offset);
            text.put(" ").number(record.bytes.into()).put("\n");
        }
        Ok(text.flush(out)?)
    })?;
    text.number(at_us)
        .put(" ")
        .put(name)
        .put(" close\n")
        .flush(out)?;
    Ok(count)
}
