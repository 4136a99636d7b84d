//! Traces that other tools recorded, read as a stream in constant memory.

mod blkparse;
mod depth;
mod detect;
mod event;
mod fields;
mod flight;
mod input;
mod iolog;
mod lines;
mod msr;
mod order;
mod place;
mod reader;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::input::Compression;
use self::lines::Lines;
use self::place::Place;
use self::reader::Reader;
use crate::record::{Source, SourceError};

/// What to do about a damaged line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Damage {
    /// End there, with an error that names it.
    #[default]
    Error,
    /// Leave it out, and count it.
    Skip,
}

/// How to read a trace.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What to do about damage.
    pub damaged: Damage,
    /// The size of the drive that it is for: I/O past its end is damage. None: any offset is right.
    pub span_bytes: Option<u64>,
    /// Fold what is past `span_bytes` into it instead, by whole 4 KiB.
    pub wrap: bool,
    /// Take only this one's I/O: a file of an iolog, `MAJOR,MINOR` of blkparse,
    /// `HOST.DISK` of MSR. None: a trace of several drives is refused.
    pub device: Option<String>,
}

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// fio's iolog, version 2.
    IologV2,
    /// fio's iolog, version 3.
    IologV3,
    /// The text that blkparse prints by default.
    Blkparse,
    /// CSV as in the traces from Microsoft Research Cambridge.
    Msr,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [
        Format::IologV2,
        Format::IologV3,
        Format::Blkparse,
        Format::Msr,
    ];

    /// Its name as a user types it.
    pub fn name(self) -> &'static str {
        match self {
            Format::IologV2 => "iolog-v2",
            Format::IologV3 => "iolog-v3",
            Format::Blkparse => "blkparse",
            Format::Msr => "msr",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What was left out so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many lines; an end that is cut off counts as one.
    pub count: u64,
    /// The first one's number, from 1; 0 where there is none.
    pub first_line: u64,
    /// What is wrong with it.
    pub why: String,
}

/// Watches while a trace is read, wherever that happens.
#[derive(Debug, Clone, Default)]
pub struct SkippedSoFar(Arc<Mutex<Skipped>>);

impl SkippedSoFar {
    /// What was left out so far.
    pub fn get(&self) -> Skipped {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Skipped> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: u64, why: String) {
        let mut skipped = self.lock();
        skipped.count += 1;
        if skipped.count == 1 {
            skipped.first_line = line;
            skipped.why = why;
        }
    }
}

/// An open trace.
pub struct Opened {
    /// Gives its records.
    pub source: Box<dyn Source>,
    /// The format it was found to have.
    pub format: Format,
    /// What it is packed with.
    pub compression: Compression,
    /// What is left out as it is read.
    pub skipped: SkippedSoFar,
}

/// Why a trace cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not a trace.
    #[error(transparent)]
    NoTrace(#[from] SourceError),
    /// The options contradict each other.
    #[error("{0}")]
    Options(&'static str),
}

/// Open a trace of any format, packed or not.
pub fn open(path: &Path, options: Options) -> Result<Opened, OpenError> {
    match options.span_bytes {
        None if options.wrap => {
            return Err(OpenError::Options(
                "wrap needs the drive's size, expected span_bytes",
            ));
        }
        Some(0) => return Err(OpenError::Options("span_bytes is 0, expected 1 or more")),
        _ => {}
    }
    let (bytes, compression) = input::unpacked(path)?;
    let lines = Lines::new(bytes);
    let format = detect::format(lines.head(), lines.broken())?;
    let place = Place {
        span_bytes: options.span_bytes,
        wrap: options.wrap,
    };
    let skipped = SkippedSoFar::default();
    let device = options.device;
    let source: Box<dyn Source> = match format {
        Format::IologV2 | Format::IologV3 => {
            let parser = iolog::Iolog::new(format, path, place, device);
            Box::new(Reader::new(lines, parser, options.damaged, skipped.clone()))
        }
        Format::Msr => {
            let parser = msr::Msr::new(place, device);
            Box::new(Reader::new(lines, parser, options.damaged, skipped.clone()))
        }
        Format::Blkparse => {
            let parser = blkparse::Blkparse::new(lines.head(), place, device);
            Box::new(Reader::new(lines, parser, options.damaged, skipped.clone()))
        }
    };
    Ok(Opened {
        source,
        format,
        compression,
        skipped,
    })
}
