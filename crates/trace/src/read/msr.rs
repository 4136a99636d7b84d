//! CSV as in the traces from Microsoft Research Cambridge.
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: ticks of 100 ns since 1601,
//! `Read` or `Write`, bytes, ticks. Narayanan, Donnelly and Rowstron, Write Off-Loading, FAST 2008.

use memchr::memchr;

use super::fields::{empty, number, quoted};
use super::order::{Window, late};
use super::place::Place;
use super::reader::{Bad, Parser};
use crate::record::{Op, Record, UNKNOWN_NS};

const TICK_NS: u64 = 100;
/// Rows written as I/Os completed are out of order by as much as one can take.
const SLACK_NS: u64 = 1_000_000_000;
const ROW: &str = "expected TICKS,HOST,DISK,Read|Write,OFFSET,SIZE,TICKS";

struct Row<'a> {
    ticks: u64,
    disk: &'a [u8],
    op: Op,
    offset: u64,
    bytes: u64,
    response_ticks: u64,
}

/// A row's fields; nothing where it is not a row.
#[inline]
fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut rest = line;
    let mut field = || {
        let end = memchr(b',', rest)?;
        let field = &rest[..end];
        rest = &rest[end + 1..];
        Some(field)
    };
    let ticks = field()?;
    let host = field()?;
    let disk = field()?;
    let op = field()?;
    let offset = field()?;
    let bytes = field()?;
    let names = ticks.len() + 1;
    number(disk)?;
    Some(Row {
        ticks: number(ticks)?,
        disk: &line[names..names + host.len() + 1 + disk.len()],
        op: match op {
            _ if op.eq_ignore_ascii_case(b"read") => Op::Read,
            _ if op.eq_ignore_ascii_case(b"write") => Op::Write,
            _ if op.eq_ignore_ascii_case(b"trim") => Op::Trim,
            _ => return None,
        },
        offset: number(offset)?,
        bytes: number(bytes)?,
        response_ticks: number(rest.trim_ascii_end())?,
    })
}

/// Whether this is a row, or the heading.
pub(super) fn is_row(line: &[u8]) -> bool {
    is_heading(line) || row(line).is_some()
}

fn is_heading(line: &[u8]) -> bool {
    const HEADING: &[u8] = b"timestamp,hostname,disknumber,";
    line.get(..HEADING.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(HEADING))
}

/// Makes records of rows.
pub(super) struct Msr {
    place: Place,
    /// `HOST,DISK` of the one that is read.
    disk: Option<Vec<u8>>,
    chosen: bool,
    others: Vec<u8>,
    /// The tick that is this reader's 0.
    zero_ticks: Option<u64>,
    window: Window<Record>,
    ended: bool,
}

impl Msr {
    pub(super) fn new(place: Place, device: Option<String>) -> Self {
        Msr {
            place,
            chosen: device.is_some(),
            disk: device.map(|device| match device.rsplit_once(['.', ',']) {
                Some((host, disk)) => format!("{host},{disk}").into_bytes(),
                None => device.into_bytes(),
            }),
            others: Vec::new(),
            zero_ticks: None,
            window: Window::new(SLACK_NS),
            ended: false,
        }
    }

    /// Whether this disk is the one that is read.
    #[inline]
    fn takes(&mut self, disk: &[u8]) -> Result<bool, Bad> {
        match &self.disk {
            Some(only) if only == disk => Ok(true),
            Some(_) if self.chosen => {
                if self.others.is_empty() {
                    self.others = disk.to_vec();
                }
                Ok(false)
            }
            Some(only) => Err(Bad::Choice(format!(
                "a second disk, {} beside {}, expected one or a choice of the device",
                dotted(disk),
                dotted(only)
            ))),
            None => {
                self.disk = Some(disk.to_vec());
                Ok(true)
            }
        }
    }

    fn record(&mut self, row: &Row<'_>) -> Result<Record, Bad> {
        let (offset, bytes) = self.place.put(row.offset, row.bytes)?;
        let far = || Bad::Damage("a time centuries from the first row's".to_string() + ", " + ROW);
        let zero = row.ticks.saturating_sub(SLACK_NS / TICK_NS);
        let zero = *self.zero_ticks.get_or_insert(zero);
        let since = |ticks: u64| ticks.checked_mul(TICK_NS).ok_or_else(far);
        let at_ns = match row.ticks.checked_sub(zero) {
            Some(ticks) => since(ticks)?,
            None => return Err(late(since(zero - row.ticks)?, SLACK_NS).into()),
        };
        let took_ns = since(row.response_ticks)?;
        let done_ns = match took_ns {
            0 => UNKNOWN_NS,
            _ => at_ns.checked_add(took_ns).ok_or_else(far)?,
        };
        Ok(Record {
            at_ns,
            done_ns,
            offset,
            bytes,
            op: row.op,
            depth: 0,
        })
    }
}

impl Parser for Msr {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), Bad> {
        let Some(row) = row(line) else {
            if empty(line) || is_heading(line) {
                return Ok(());
            }
            return Err(Bad::Damage(format!("{} is no row, {ROW}", quoted(line))));
        };
        if !self.takes(row.disk)? {
            return Ok(());
        }
        let record = self.record(&row)?;
        // a row may come after later ones, if it was written as its I/O completed
        let newest_ns = self.window.newest_ns();
        if record.at_ns < newest_ns && (record.done_ns == UNKNOWN_NS || record.done_ns < newest_ns)
        {
            return Err(late(newest_ns - record.at_ns, 0).into());
        }
        Ok(self.window.push(record.at_ns, record)?)
    }

    fn end(&mut self) {
        self.ended = true;
    }

    #[inline]
    fn pop(&mut self) -> Option<Record> {
        self.window.pop(self.ended).map(|(_, record)| record)
    }

    fn nothing(&self) -> String {
        match &self.disk {
            Some(only) if self.chosen && !self.others.is_empty() => format!(
                "no I/O of {} in the whole trace, expected a disk in it, such as {}",
                dotted(only),
                dotted(&self.others)
            ),
            _ => format!("no I/O in the whole trace, {ROW}"),
        }
    }
}

/// A disk as a user names it.
fn dotted(disk: &[u8]) -> String {
    String::from_utf8_lossy(disk).replace(',', ".")
}
