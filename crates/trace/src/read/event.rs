//! A line of blkparse's default output.
//!
//! `MAJOR,MINOR CPU SEQUENCE SECONDS.NANOSECONDS PID ACTION RWBS SECTOR + SECTORS [PROCESS]`; see
//! blkparse(1).

use super::fields::{empty, number, word};
use crate::record::Op;

/// What an event says, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Q: asked of the block layer.
    Queue,
    /// D: handed to the driver.
    Issue,
    /// C: completed.
    Complete,
    /// R: taken back from the driver, to be issued again.
    Requeue,
    /// Anything else, or without data: flushes, commands passed through, messages.
    Other,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) device: &'a [u8],
    pub(super) time_ns: u64,
    pub(super) kind: Kind,
    pub(super) op: Op,
    pub(super) sector: u64,
    pub(super) sectors: u64,
}

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Event(Event<'a>),
    /// Blank, or one of those that blkparse counts up in at the end.
    Summary,
    Damaged,
}

pub(super) fn classify(line: &[u8]) -> Line<'_> {
    match event(line) {
        Some(event) => Line::Event(event),
        None if is_summary(line) => Line::Summary,
        None => Line::Damaged,
    }
}

/// Whether a line is plainly an event that neither starts nor ends an I/O: most are. Looks only at
/// the columns that blkparse prints as long as no number is too wide for its own.
#[inline]
pub(super) fn is_beside(line: &[u8], queues: bool) -> bool {
    let Some(columns) = line.first_chunk::<45>() else {
        return false;
    };
    let blanks = [7, 10, 19, 35, 41, 44];
    if columns[25] != b'.' || blanks.iter().any(|&at| columns[at] != b' ') {
        return false;
    }
    match (columns[42], columns[43]) {
        (b' ', b'D' | b'C' | b'R') => false,
        (b' ', b'Q') => !queues,
        (b' ', action) => action.is_ascii_alphabetic(),
        (first, second) => first.is_ascii_alphabetic() && second.is_ascii_alphabetic(),
    }
}

#[inline]
fn event(line: &[u8]) -> Option<Event<'_>> {
    let mut rest = line;
    let device = word(&mut rest);
    let comma = device.iter().position(|&byte| byte == b',')?;
    number(&device[..comma])?;
    number(&device[comma + 1..])?;
    number(word(&mut rest))?;
    number(word(&mut rest))?;
    let time_ns = time_ns(word(&mut rest))?;
    number(word(&mut rest))?;
    let kind = match word(&mut rest) {
        b"Q" => Kind::Queue,
        b"D" => Kind::Issue,
        b"C" => Kind::Complete,
        b"R" => Kind::Requeue,
        [a] | [a, _] if a.is_ascii_alphabetic() => Kind::Other,
        _ => return None,
    };
    let none = Event {
        device,
        time_ns,
        kind: Kind::Other,
        op: Op::Read,
        sector: 0,
        sectors: 0,
    };
    if kind == Kind::Other {
        return Some(none);
    }
    let Some(op) = op(word(&mut rest))? else {
        return Some(none);
    };
    let sector = word(&mut rest);
    if let [b'[' | b'(', ..] = sector {
        return Some(none);
    }
    let sector = number(sector)?;
    match word(&mut rest) {
        b"+" => {}
        [b'[' | b'(', ..] => return Some(none),
        _ => return None,
    }
    let sectors = number(word(&mut rest))?;
    if sectors == 0 {
        return Some(none);
    }
    Some(Event {
        kind,
        op,
        sector,
        sectors,
        ..none
    })
}

/// What RWBS says: an F before it asks for a flush first, what follows it are hints. None inside
/// where no data moves, none at all where it is not an RWBS.
#[inline]
fn op(rwbs: &[u8]) -> Option<Option<Op>> {
    let flushes = rwbs.iter().take_while(|&&flag| flag == b'F').count();
    match rwbs.get(flushes) {
        Some(b'R') => Some(Some(Op::Read)),
        Some(b'W') => Some(Some(Op::Write)),
        Some(b'D') => Some(Some(Op::Trim)),
        None if flushes == 0 => None,
        None => Some(None),
        Some(flag) => flag.is_ascii_uppercase().then_some(None),
    }
}

#[inline]
fn time_ns(time: &[u8]) -> Option<u64> {
    let point = time.iter().position(|&byte| byte == b'.')?;
    let (seconds, part) = (&time[..point], &time[point + 1..]);
    let digits = u32::try_from(part.len())
        .ok()
        .filter(|&digits| digits <= 9)?;
    number(seconds)?
        .checked_mul(1_000_000_000)?
        .checked_add(number(part)? * 10u64.pow(9 - digits))
}

/// The lines that blkparse prints before and after the events.
fn is_summary(line: &[u8]) -> bool {
    const STARTS: [&[u8]; 19] = [
        b"CPU",
        b"Total (",
        b"Throughput (",
        b"Events (",
        b"Skips:",
        b"Input file ",
        b"Reads Queued:",
        b"Read Dispatches:",
        b"Reads Requeued:",
        b"Reads Completed:",
        b"Read Merges:",
        b"Read depth:",
        b"PC Reads Queued:",
        b"PC Read Disp.:",
        b"PC Reads Req.:",
        b"PC Reads Compl.:",
        b"IO unplugs:",
        b"Allocation wait:",
        b"Dispatch wait:",
    ];
    let line = line.trim_ascii();
    if empty(line) || line.starts_with(b"Completion wait:") {
        return true;
    }
    STARTS.iter().any(|start| line.starts_with(start)) || is_process(line)
}

/// `NAME (PID)`, or several PIDs: the heading of a process in its statistics.
fn is_process(line: &[u8]) -> bool {
    let inside = line.strip_suffix(b")").or_else(|| line.strip_suffix(b"):"));
    let Some(inside) = inside else { return false };
    let Some(open) = inside.iter().rposition(|&byte| byte == b'(') else {
        return false;
    };
    let pids = &inside[open + 1..];
    open > 0
        && !pids.is_empty()
        && pids
            .iter()
            .all(|byte| byte.is_ascii_digit() || b", .".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Option<(Kind, Op, u64, u64)> {
        match classify(line.as_bytes()) {
            Line::Event(one) => Some((one.kind, one.op, one.sector, one.sectors)),
            _ => None,
        }
    }

    #[test]
    fn the_flags_say_what_an_event_does() {
        let cases = [
            ("R", Op::Read),
            ("RA", Op::Read),
            ("RSM", Op::Read),
            ("W", Op::Write),
            ("WS", Op::Write),
            ("FWFS", Op::Write),
            ("FFWFSM", Op::Write),
            ("D", Op::Trim),
            ("DS", Op::Trim),
            ("DE", Op::Trim),
        ];
        for (rwbs, op) in cases {
            let line = format!("259,12  11   123  4194.000000001  77  D {rwbs:>3} 16 + 8 [a b]");
            assert_eq!(told(&line), Some((Kind::Issue, op, 16, 8)), "{rwbs}");
        }
    }

    #[test]
    fn what_moves_no_data_is_no_io() {
        for rest in [
            "Q FN [kworker/1:0]",
            "D  FN 0 + 0 [kworker]",
            "C  WS 7929752 [0]",
            "m   N cfq1S / x",
            "UT   N [jbd2/a] 1",
            "D   R 36 (12 00 00 00 24 00 ..) [hdparm]",
            "C   R (12 00) [0]",
            "Q ZAS N 262144 + 8 [dd]",
            "A WS 8 + 8 <- (8,1) 0",
            "D   N [a]",
        ] {
            let line = format!("  8,0    3        1     0.000000000  697  {rest}");
            assert_eq!(told(&line).map(|told| told.0), Some(Kind::Other), "{rest}");
        }
    }

    #[test]
    fn only_what_is_an_event_of_another_kind_is_beside() {
        let line = |rest| format!("259,0    0        1     0.000000000   100 {rest} WS 8 + 8 [a]");
        for (action, beside) in [
            (" G", true),
            ("UT", true),
            (" m", true),
            (" D", false),
            (" C", false),
        ] {
            let line = line(action);
            assert_eq!(is_beside(line.as_bytes(), true), beside, "{line}");
            assert!(matches!(classify(line.as_bytes()), Line::Event(_)));
        }
        assert!(is_beside(line(" Q").as_bytes(), false) && !is_beside(line(" Q").as_bytes(), true));
        let other =
            " Reads Queued:           1,        4KiB\t Writes Queued:           0,        0KiB";
        assert!(!is_beside(other.as_bytes(), false));
    }

    #[test]
    fn a_damaged_event_is_neither_an_event_nor_of_the_summary() {
        for line in [
            "8,0 3 1 0.000000000 697 D WS 12x + 8 [a]",
            "8,0 3 1 0.000000000 697 D WS 12",
            "8,0 3 1 0.000000000 697 D WS 12 + ",
            "8,0 3 1 0.000000000 697 D 12 + 8 [a]",
            "8,0 3 1 0.0000000001 697 D WS 12 + 8",
            "8 3 1 0.000000000 697 D WS 12 + 8",
            "8,0 3 1 0.0000",
            "hello",
            "hello (world)",
        ] {
            assert_eq!(classify(line.as_bytes()), Line::Damaged, "{line}");
        }
    }

    #[test]
    fn what_blkparse_counts_up_is_no_damage() {
        for line in [
            "CPU0 (sda):",
            " Reads Queued:           1,        4KiB\t Writes Queued: 0, 0KiB",
            "",
            "Throughput (R/W): 4,000KiB/s / 0KiB/s",
            "Events (sde): 7 entries",
            "Skips: 0 forward (0 -   0.0%)",
            "Input file sda.blktrace.0 added",
            "Total (sda):",
            "kworker/u8:1 (120, 4711)",
            " IO unplugs:             1        \t Timer unplugs: 0",
        ] {
            assert_eq!(classify(line.as_bytes()), Line::Summary, "{line}");
        }
    }
}
