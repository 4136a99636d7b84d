//! fio's iolog, versions 2 and 3.
//!
//! Version 2: `FILE ACTION [OFFSET LENGTH]`, time given by `FILE wait MILLISECONDS 0` alone: fio
//! waits until that long after it started (3.33 and before; its HOWTO says microseconds, counted
//! from the wait before). Version 3: `MICROSECONDS FILE ACTION [OFFSET LENGTH]`.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::Format;
use super::fields::{empty, last_word, number, quoted, word};
use super::input;
use super::lines::{Lines, Next};
use super::order::late;
use super::place::Place;
use super::reader::{Bad, Parser};
use crate::record::{Op, Record, UNKNOWN_NS};

const US_NS: u64 = 1_000;
const MS_US: u64 = 1_000;
/// Files follow one another on whole MiB.
const ALIGN: u64 = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
enum Action {
    Io(Op, u64, u64),
    Wait(u64),
    /// Nothing that a drive is asked for: files, and syncs, whose flushes fio does not record.
    Other,
}

struct Entry<'a> {
    /// Version 3 only.
    at_us: u64,
    file: &'a [u8],
    action: Action,
}

fn wanted(format: Format) -> &'static str {
    match format {
        Format::IologV2 => {
            "expected FILE read|write|trim OFFSET LENGTH or FILE wait MILLISECONDS 0"
        }
        _ => "expected MICROSECONDS FILE read|write|trim OFFSET LENGTH",
    }
}

/// A line's fields; nothing if it is not of this version. Read from its end, because a file's
/// name may hold blanks.
#[inline]
fn entry(line: &[u8], format: Format) -> Option<Entry<'_>> {
    let mut rest = line;
    let v3 = format == Format::IologV3;
    let at_us = if v3 { number(word(&mut rest))? } else { 0 };
    let last = last_word(&mut rest);
    let action = match last {
        b"add" | b"open" | b"close" | b"unlink" => Action::Other,
        b"sync" | b"datasync" | b"syncfs" => Action::Other,
        _ => {
            let last = number(last)?;
            let middle = last_word(&mut rest);
            if middle == b"wait" && !v3 {
                Action::Wait(last)
            } else {
                let offset = number(middle)?;
                match last_word(&mut rest) {
                    b"read" => Action::Io(Op::Read, offset, last),
                    b"write" => Action::Io(Op::Write, offset, last),
                    b"trim" => Action::Io(Op::Trim, offset, last),
                    b"sync" | b"datasync" | b"syncfs" | b"sync_file_range" => Action::Other,
                    b"wait" if !v3 => Action::Wait(offset),
                    _ => return None,
                }
            }
        }
    };
    let file = rest.trim_ascii();
    (!file.is_empty()).then_some(Entry {
        at_us,
        file,
        action,
    })
}

/// Makes records of lines.
pub(super) struct Iolog {
    format: Format,
    path: PathBuf,
    place: Place,
    device: Option<Vec<u8>>,
    /// The file of the I/O before, and where it starts.
    last: Option<(Vec<u8>, u64)>,
    /// Where each file starts; none before there is a second one.
    bases: Option<FxHashMap<Vec<u8>, u64>>,
    headed: bool,
    /// When the last line was, and what an appended run adds.
    clock_us: u64,
    run_us: u64,
    next: Option<Record>,
    other: Option<Vec<u8>>,
}

impl Iolog {
    pub(super) fn new(format: Format, path: &Path, place: Place, device: Option<String>) -> Self {
        Iolog {
            format,
            path: path.to_path_buf(),
            place,
            device: device.map(String::into_bytes),
            last: None,
            bases: None,
            headed: false,
            clock_us: 0,
            run_us: 0,
            next: None,
            other: None,
        }
    }

    #[cold]
    fn header(&mut self, line: &[u8]) -> Result<(), Bad> {
        let own = match self.format {
            Format::IologV2 => b"fio version 2 iolog",
            _ => b"fio version 3 iolog",
        };
        if line.trim_ascii() != own {
            let line = quoted(line);
            return Err(Bad::Damage(format!(
                "{line} in an {}, expected one version in a file",
                self.format
            )));
        }
        if self.headed {
            self.run_us = self.clock_us;
            return Err(Bad::Damage(
                "a second run begins here (fio appends), expected one run in a file".to_string(),
            ));
        }
        self.headed = true;
        Ok(())
    }

    /// Let time pass.
    #[inline]
    fn tick(&mut self, us: u64) -> Result<(), Bad> {
        match us.checked_mul(US_NS) {
            Some(_) if us >= self.clock_us => {
                self.clock_us = us;
                Ok(())
            }
            Some(_) => Err(late((self.clock_us - us) * US_NS, 0).into()),
            None => Err(Bad::Damage(format!(
                "a time of {us} us, expected less than 500 years"
            ))),
        }
    }

    /// Where a file starts; nothing where it is not to be read.
    #[inline]
    fn base(&mut self, file: &[u8]) -> Result<Option<u64>, Bad> {
        match &self.last {
            Some((name, base)) if name == file => Ok(Some(*base)),
            _ => self.other_base(file),
        }
    }

    fn other_base(&mut self, file: &[u8]) -> Result<Option<u64>, Bad> {
        if let Some(device) = &self.device {
            if device != file {
                self.other.get_or_insert_with(|| file.to_vec());
                return Ok(None);
            }
            self.last = Some((file.to_vec(), 0));
            return Ok(Some(0));
        }
        let base = match (&self.last, &self.bases) {
            (None, _) => 0,
            (Some((first, _)), None) => {
                if first.starts_with(b"/dev/") || file.starts_with(b"/dev/") {
                    return Err(Bad::Choice(format!(
                        "a second drive, {} beside {}, expected one or a choice of the device",
                        quoted(file),
                        quoted(first)
                    )));
                }
                let bases = self.lay_out()?;
                let base = bases.get(file).copied();
                self.bases = Some(bases);
                base.unwrap_or(0)
            }
            (Some(_), Some(bases)) => bases.get(file).copied().unwrap_or(0),
        };
        self.last = Some((file.to_vec(), base));
        Ok(Some(base))
    }

    /// Read it all once more, to lay its files one after another: each as large as its furthest
    /// I/O, in the order in which they are first used.
    #[cold]
    fn lay_out(&self) -> Result<FxHashMap<Vec<u8>, u64>, Bad> {
        let failed = |error| Bad::Choice(format!("it cannot be read a second time: {error}"));
        let (bytes, _) = input::unpacked(&self.path).map_err(failed)?;
        let mut lines = Lines::new(bytes);
        let mut sizes: Vec<(Vec<u8>, u64)> = Vec::new();
        let mut places: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        let mut last = usize::MAX;
        loop {
            let line = match lines.next() {
                Next::Line(line) => line,
                Next::TooLong => continue,
                Next::End | Next::Broken(_) => break,
            };
            let Some(Entry { file, action, .. }) = entry(line, self.format) else {
                continue;
            };
            let Action::Io(_, offset, bytes) = action else {
                continue;
            };
            let Ok((offset, bytes)) = Place::default().put(offset, bytes) else {
                continue;
            };
            if sizes.get(last).is_none_or(|(name, _)| name != file) {
                last = *places.entry(file.to_vec()).or_insert(sizes.len());
                if last == sizes.len() {
                    sizes.push((file.to_vec(), 0));
                }
            }
            let size = &mut sizes[last].1;
            *size = (*size).max(offset + u64::from(bytes));
        }
        let mut base = 0u64;
        let mut bases = FxHashMap::default();
        for (name, size) in sizes {
            bases.insert(name, base);
            base = size
                .checked_next_multiple_of(ALIGN)
                .and_then(|size| base.checked_add(size))
                .ok_or_else(|| Bad::Choice("its files together exceed 2^64 bytes".to_string()))?;
        }
        Ok(bases)
    }
}

impl Parser for Iolog {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), Bad> {
        let entry = match entry(line, self.format) {
            Some(entry) if self.headed => entry,
            _ if line.starts_with(b"fio version ") => return self.header(line),
            _ if empty(line) => return Ok(()),
            Some(_) => {
                return Err(Bad::Damage(format!(
                    "{} before the header, expected `fio version 2 iolog` or 3",
                    quoted(line)
                )));
            }
            None => {
                return Err(Bad::Damage(format!(
                    "{} is no line of an {}, {}",
                    quoted(line),
                    self.format,
                    wanted(self.format)
                )));
            }
        };
        if self.format == Format::IologV3 {
            self.tick(entry.at_us.saturating_add(self.run_us))?;
        }
        match entry.action {
            Action::Other => Ok(()),
            Action::Wait(ms) => {
                let us = ms.saturating_mul(MS_US).saturating_add(self.run_us);
                if us < self.clock_us {
                    return Err(Bad::Damage(format!(
                        "a wait until {ms} ms, after one until {} ms, expected milliseconds since \
                         the beginning, as fio takes them (version 3 has microseconds)",
                        (self.clock_us - self.run_us) / MS_US
                    )));
                }
                self.tick(us)
            }
            Action::Io(op, offset, bytes) => {
                let Some(base) = self.base(entry.file)? else {
                    return Ok(());
                };
                let (offset, bytes) = self.place.put(offset.saturating_add(base), bytes)?;
                self.next = Some(Record {
                    at_ns: self.clock_us * US_NS,
                    done_ns: UNKNOWN_NS,
                    offset,
                    bytes,
                    op,
                    depth: 0,
                });
                Ok(())
            }
        }
    }

    fn end(&mut self) {}

    #[inline]
    fn pop(&mut self) -> Option<Record> {
        self.next.take()
    }

    fn nothing(&self) -> String {
        match (&self.device, &self.other) {
            (Some(device), Some(other)) => format!(
                "no I/O of {} in the whole trace, expected a file in it, such as {}",
                quoted(device),
                quoted(other)
            ),
            _ => format!("no I/O in the whole trace, {}", wanted(self.format)),
        }
    }
}
