//! A trace as the simulated drive takes it.

use std::sync::{Mutex, PoisonError};

use heatsoak_drive::{TraceIo, replay};
use heatsoak_trace::{Op, Record, Source, SourceError};

/// Records that are asked for at once.
const CHUNK: usize = 4096;
const NS: f64 = 1e-9;

/// The records of a trace, one after the other.
pub struct Traced {
    /// The lock is never waited for: the drive that replays has it alone.
    source: Mutex<Box<dyn Source>>,
    chunk: Vec<Record>,
    given: usize,
    failure: Option<SourceError>,
}

impl Traced {
    /// All that a source still has.
    pub fn new(source: Box<dyn Source>) -> Traced {
        Traced {
            source: Mutex::new(source),
            chunk: Vec::new(),
            given: 0,
            failure: None,
        }
    }
}

impl replay::Source for Traced {
    fn next_io(&mut self) -> Result<Option<TraceIo>, String> {
        if self.given == self.chunk.len() {
            self.chunk.clear();
            self.given = 0;
            if self.failure.is_none() {
                let source = self.source.get_mut();
                let source = source.unwrap_or_else(PoisonError::into_inner);
                self.failure = source.fill(&mut self.chunk, CHUNK).err();
            }
            // what it read before it failed is still to be replayed
            if self.chunk.is_empty() {
                let failure = self.failure.take();
                return failure.map_or(Ok(None), |error| Err(error.to_string()));
            }
        }
        let record = self.chunk[self.given];
        self.given += 1;
        Ok(Some(TraceIo {
            at_s: record.at_ns as f64 * NS,
            op: match record.op {
                Op::Read => replay::Op::Read,
                Op::Write => replay::Op::Write,
                Op::Trim => replay::Op::Trim,
            },
            offset: record.offset,
            bytes: record.bytes,
            depth: u32::from(record.depth),
        }))
    }
}
