//! Which format a trace has, by its first lines.

use std::io;

use super::Format;
use super::event::{Line, classify};
use super::fields::{empty, quoted};
use super::msr::is_row;
use crate::record::SourceError;

const FORMATS: &str = "expected `fio version 2 iolog` or 3, blkparse's text, or MSR's CSV";

/// The first line that belongs to a format says which; what is before it is damage.
pub(super) fn format(head: &[u8], broken: Option<&io::Error>) -> Result<Format, SourceError> {
    let head = match broken {
        // a truncated line is not one
        Some(_) => &head[..memchr::memrchr(b'\n', head).unwrap_or(0)],
        None => head,
    };
    let mut first = None;
    for (number, line) in (1..).zip(head.split(|&byte| byte == b'\n')) {
        let line = line.trim_ascii();
        let found = if let Some(version) = line.strip_prefix(b"fio version ") {
            Some(of_version(version).map_err(|what| error(number, what))?)
        } else if is_row(line) {
            Some(Format::Msr)
        } else if matches!(classify(line), Line::Event(_)) {
            Some(Format::Blkparse)
        } else {
            None
        };
        match found {
            Some(format) => return Ok(format),
            None if empty(line) => {}
            None => first = first.or(Some((number, line))),
        }
    }
    Err(match (first, broken) {
        (Some((number, line)), _) => error(number, known(head).unwrap_or_else(|| no_trace(line))),
        (None, Some(broken)) => error(1, format!("nothing can be unpacked ({broken}), {FORMATS}")),
        (None, None) => SourceError {
            line: None,
            what: format!("the file is empty, {FORMATS}"),
        },
    })
}

fn of_version(version: &[u8]) -> Result<Format, String> {
    match version {
        b"2 iolog" => Ok(Format::IologV2),
        b"3 iolog" => Ok(Format::IologV3),
        _ => Err(format!(
            "an iolog of version {}, expected `fio version 2 iolog` or 3",
            quoted(version)
        )),
    }
}

fn no_trace(line: &[u8]) -> String {
    format!("{} is no line of a trace, {FORMATS}", quoted(line))
}

/// What people mistake for a trace.
fn known(head: &[u8]) -> Option<String> {
    if head.get(257..262) == Some(b"ustar") {
        return Some("a tar archive, expected a file out of it".to_string());
    }
    // 0x65617400 with a version in its last byte, of either byte order
    match head {
        [_, 0x74, 0x61, 0x65, ..] | [0x65, 0x61, 0x74, _, ..] => {
            Some("blktrace's binary output, expected what `blkparse -i` makes of it".to_string())
        }
        _ => None,
    }
}

fn error(line: u64, what: String) -> SourceError {
    SourceError {
        line: Some(line),
        what,
    }
}
