//! One recorded I/O, and what gives one after the other.

use std::fmt;

/// What an I/O does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It forgets: trim, discard, deallocate.
    Trim,
}

/// A time that the trace does not state.
pub const UNKNOWN_NS: u64 = u64::MAX;

/// One recorded I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When it was issued, since the first of the trace.
    pub at_ns: u64,
    /// When it completed, likewise; `UNKNOWN_NS` where the trace does not say.
    pub done_ns: u64,
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub bytes: u32,
    /// What it does.
    pub op: Op,
    /// I/Os in flight as it was issued, itself among them; 0 where the trace does not say.
    pub depth: u16,
}

/// Why a source gives no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// The line, from 1; none where it is not about a line.
    pub line: Option<u64>,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "line {line}: {}", self.what),
            None => formatter.write_str(&self.what),
        }
    }
}

impl std::error::Error for SourceError {}

/// What gives records in the order of their issue, in memory that does not grow with them.
pub trait Source: Send {
    /// Append up to `most` records to `into`; how many. 0 is the end.
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError>;
}
