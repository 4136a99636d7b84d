//! Lines in, records out: what all formats have in common.

use super::depth::Depth;
use super::lines::{Lines, Next};
use super::{Damage, SkippedSoFar};
use crate::record::{Record, Source, SourceError, UNKNOWN_NS};

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// It is damaged, and can be left out.
    Damage(String),
    /// The trace cannot be read like this, with or without the line.
    Choice(String),
}

impl From<String> for Bad {
    fn from(why: String) -> Self {
        Bad::Damage(why)
    }
}

/// Makes records of a format's lines.
pub(super) trait Parser: Send {
    /// Take the next line.
    fn line(&mut self, line: &[u8]) -> Result<(), Bad>;
    /// There are no more lines.
    fn end(&mut self);
    /// Give a record in the order of issue, by the format's own clock.
    fn pop(&mut self) -> Option<Record>;
    /// What to say of a trace that holds no I/O.
    fn nothing(&self) -> String;
}

/// A trace that is being read.
pub(super) struct Reader<P> {
    lines: Lines,
    parser: P,
    damaged: Damage,
    skipped: SkippedSoFar,
    depth: Depth,
    first_ns: Option<u64>,
    ended: bool,
    error: Option<SourceError>,
}

impl<P: Parser> Reader<P> {
    pub(super) fn new(lines: Lines, parser: P, damaged: Damage, skipped: SkippedSoFar) -> Self {
        Reader {
            lines,
            parser,
            damaged,
            skipped,
            depth: Depth::default(),
            first_ns: None,
            ended: false,
            error: None,
        }
    }

    /// Take the next line.
    #[inline]
    fn step(&mut self) {
        let bad = match self.lines.next() {
            Next::Line(line) => match self.parser.line(line) {
                Ok(()) => return,
                Err(bad) => bad,
            },
            Next::TooLong => {
                Bad::Damage("a line of 256 KiB or more, expected text in short lines".to_string())
            }
            Next::Broken(error) => {
                self.end();
                Bad::Damage(format!(
                    "the file breaks off here ({error}), expected all of it"
                ))
            }
            Next::End => {
                self.end();
                return;
            }
        };
        self.meet(bad);
    }

    #[cold]
    fn meet(&mut self, bad: Bad) {
        let line = self.lines.number;
        match (bad, self.damaged) {
            (Bad::Damage(why), Damage::Skip) => self.skipped.add(line, why),
            (Bad::Damage(what) | Bad::Choice(what), _) => {
                self.end();
                let line = Some(line);
                self.error = Some(SourceError { line, what });
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.parser.end();
    }

    /// Count time from the first record, and what is in flight.
    #[inline]
    fn since_first(&mut self, mut record: Record) -> Record {
        record.depth = self.depth.at(&record);
        let first_ns = *self.first_ns.get_or_insert(record.at_ns);
        record.at_ns -= first_ns;
        if record.done_ns != UNKNOWN_NS {
            record.done_ns -= first_ns;
        }
        record
    }
}

impl<P: Parser> Source for Reader<P> {
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
        let before = into.len();
        while into.len() - before < most {
            if let Some(record) = self.parser.pop() {
                let record = self.since_first(record);
                into.push(record);
            } else if self.ended {
                break;
            } else {
                self.step();
            }
        }
        let count = into.len() - before;
        if count > 0 || most == 0 {
            return Ok(count);
        }
        // what came before an error was given first
        if self.error.is_none() && self.first_ns.is_none() {
            self.error = Some(SourceError {
                line: Some(self.lines.number),
                what: self.parser.nothing(),
            });
        }
        self.error.clone().map_or(Ok(0), Err)
    }
}
