//! fio's iolog: nothing of when an I/O completed, and the time in whole milliseconds (version 2) or
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

/// A line of version 3.
fn line(text: &mut Text, at_us: u64, name: &str, record: &Record) {
    text.number(at_us).put(" ").put(name);
    text.put(action(record)).number(record.offset);
    text.put(" ").number(record.bytes.into()).put("\n");
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
            line(&mut text, at_us, name, record);
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

/// The first tick after an I/O, and by how much each is later than the one before it.
const TICK_US: f64 = 50.0;
const TICK_GROWTH: f64 = 1.25;

/// Write version 3 as fio replays it truly: with ticks in the pauses.
///
/// fio looks for I/Os that completed only as it issues one, and counts them as having taken until
/// then. So there is a `sync` of the file `ticks`, which must be one whose sync does nothing, 50
/// us after each I/O, 1.25 times as late again, and so on up to the next one, and for `last_us`
/// after the last.
pub fn iolog_v3_ticking(
    source: &mut dyn Source,
    out: &mut dyn Write,
    name: &str,
    ticks: &str,
    last_us: u64,
) -> Result<u64, WriteError> {
    let (name, ticks) = (checked(name)?, checked(ticks)?);
    let mut text = Text::default();
    text.put("fio version 3 iolog\n");
    for file in [name, ticks] {
        text.put("0 ").put(file).put(" add\n0 ");
        text.put(file).put(" open\n");
    }
    let mut last = None;
    let count = each(source, |records| {
        for record in records {
            let at_us = record.at_ns / US_NS;
            if let Some(last_us) = last {
                tick(&mut text, ticks, last_us, at_us);
            }
            last = Some(at_us);
            line(&mut text, at_us, name, record);
        }
        Ok(text.flush(out)?)
    })?;
    let end_us = last.unwrap_or(0);
    tick(&mut text, ticks, end_us, end_us + last_us);
    for file in [name, ticks] {
        text.number(end_us + last_us).put(" ").put(file);
        text.put(" close\n");
    }
    text.flush(out)?;
    Ok(count)
}

fn tick(text: &mut Text, file: &str, from_us: u64, to_us: u64) {
    let length_us = (to_us - from_us) as f64;
    let mut after_us = TICK_US;
    while after_us < length_us {
        text.number(from_us + after_us as u64).put(" ").put(file);
        text.put(" sync 0 4096\n");
        after_us *= TICK_GROWTH;
    }
}
