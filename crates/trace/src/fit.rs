//! Records made fit for a place that takes less than the trace's own drive did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::record::{Op, Record, Source, SourceError, UNKNOWN_NS};

/// What a place takes.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its size.
    pub span_bytes: u64,
    /// Whether I/O past its end is left out; otherwise it is an error.
    pub skip_beyond: bool,
    /// I/O starts and ends at multiples of this; what does not is widened.
    pub block_bytes: u32,
    /// Whether it takes trims; otherwise they are left out.
    pub trims: bool,
    /// Pauses between two issues are cut to this; none leaves them.
    pub idle_limit_ns: Option<u64>,
}

/// What was given so far, and what was changed or left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads given.
    pub reads: u64,
    /// Writes given.
    pub writes: u64,
    /// Trims given.
    pub trims: u64,
    /// Bytes of the reads given.
    pub read_bytes: u64,
    /// Bytes of the writes given.
    pub write_bytes: u64,
    /// The first byte that is read, and the one after the last; equal if nothing is.
    pub read_begin: u64,
    /// See `read_begin`.
    pub read_end: u64,
    /// The longest I/O given.
    pub largest_bytes: u32,
    /// From the first issue to the last, pauses cut.
    pub length_ns: u64,
    /// Trims left out.
    pub dropped_trims: u64,
    /// I/O past the end that was left out.
    pub dropped_beyond: u64,
    /// Empty I/Os that were left out.
    pub dropped_empty: u64,
    /// I/O that was widened to whole blocks.
    pub widened: u64,
}

/// Watches while records are given, wherever that happens.
#[derive(Debug, Clone, Default)]
pub struct CountsSoFar(Arc<Mutex<Counts>>);

impl CountsSoFar {
    /// What was given so far.
    pub fn get(&self) -> Counts {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A source whose records fit a place.
pub struct Fitted {
    source: Box<dyn Source>,
    place: Place,
    counts: CountsSoFar,
    seen: u64,
    last_ns: u64,
    at_ns: u64,
    error: Option<SourceError>,
    taken: Vec<Record>,
}

impl Fitted {
    /// What `source` gives, made fit for `place`; `place.block_bytes` is 1 or more.
    pub fn new(source: Box<dyn Source>, place: Place) -> Self {
        Fitted {
            source,
            place,
            counts: CountsSoFar::default(),
            seen: 0,
            last_ns: 0,
            at_ns: 0,
            error: None,
            taken: Vec::new(),
        }
    }

    /// What is given, to be looked at during and afterwards.
    pub fn counts(&self) -> CountsSoFar {
        self.counts.clone()
    }

    fn fit(&mut self, record: &Record, counts: &mut Counts) -> Result<Option<Record>, SourceError> {
        self.seen += 1;
        // what is left out still takes its time
        let gap_ns = record.at_ns.saturating_sub(self.last_ns);
        self.last_ns = record.at_ns;
        self.at_ns += self
            .place
            .idle_limit_ns
            .map_or(gap_ns, |limit| gap_ns.min(limit));
        if record.bytes == 0 {
            counts.dropped_empty += 1;
            return Ok(None);
        }
        if record.op == Op::Trim && !self.place.trims {
            counts.dropped_trims += 1;
            return Ok(None);
        }
        let block = u64::from(self.place.block_bytes);
        let begin = record.offset / block * block;
        let length = record.offset.saturating_add(u64::from(record.bytes)) - begin;
        let bytes = length.div_ceil(block).saturating_mul(block);
        if begin.saturating_add(bytes) > self.place.span_bytes {
            if self.place.skip_beyond {
                counts.dropped_beyond += 1;
                return Ok(None);
            }
            return Err(SourceError {
                line: None,
                what: format!(
                    "I/O {} of the trace, {} bytes at {}, ends past the target's {} bytes, \
                     expected I/O within it, or beyond = \"wrap\" or \"skip\"",
                    self.seen, record.bytes, record.offset, self.place.span_bytes
                ),
            });
        }
        let Ok(bytes) = u32::try_from(bytes) else {
            return Err(SourceError {
                line: None,
                what: format!("I/O {} of the trace has 4 GiB, expected less", self.seen),
            });
        };
        counts.widened += u64::from(bytes != record.bytes);
        let fit = Record {
            at_ns: self.at_ns,
            done_ns: match self.place.idle_limit_ns {
                Some(_) => UNKNOWN_NS,
                None => record.done_ns,
            },
            offset: begin,
            bytes,
            ..*record
        };
        count(&fit, counts);
        Ok(Some(fit))
    }
}

fn count(record: &Record, counts: &mut Counts) {
    match record.op {
        Op::Read => {
            let end = record.offset + u64::from(record.bytes);
            if counts.reads == 0 {
                (counts.read_begin, counts.read_end) = (record.offset, end);
            }
            counts.read_begin = counts.read_begin.min(record.offset);
            counts.read_end = counts.read_end.max(end);
            counts.reads += 1;
            counts.read_bytes += u64::from(record.bytes);
        }
        Op::Write => {
            counts.writes += 1;
            counts.write_bytes += u64::from(record.bytes);
        }
        Op::Trim => counts.trims += 1,
    }
    counts.largest_bytes = counts.largest_bytes.max(record.bytes);
    counts.length_ns = record.at_ns;
}

impl Source for Fitted {
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
        let before = into.len();
        while into.len() == before && most > 0 {
            if let Some(error) = &self.error {
                return Err(error.clone());
            }
            let mut taken = std::mem::take(&mut self.taken);
            taken.clear();
            if self.source.fill(&mut taken, most)? == 0 {
                return Ok(0);
            }
            let so_far = self.counts.clone();
            let mut counts = so_far.lock();
            for record in &taken {
                match self.fit(record, &mut counts) {
                    Ok(Some(record)) => into.push(record),
                    Ok(None) => {}
                    Err(error) => {
                        // what came before is given first
                        self.error = Some(error);
                        break;
                    }
                }
            }
            self.taken = taken;
        }
        Ok(into.len() - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Given(std::vec::IntoIter<Record>);

    impl Source for Given {
        fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
            let before = into.len();
            into.extend(self.0.by_ref().take(most));
            Ok(into.len() - before)
        }
    }

    fn all(records: Vec<Record>, place: Place) -> (Vec<Record>, Option<SourceError>, Counts) {
        let mut fitted = Fitted::new(Box::new(Given(records.into_iter())), place);
        let counts = fitted.counts();
        let mut given = Vec::new();
        let error = loop {
            match fitted.fill(&mut given, 3) {
                Ok(0) => break None,
                Ok(_) => {}
                Err(error) => break Some(error),
            }
        };
        (given, error, counts.get())
    }

    fn record(at_ns: u64, op: Op, offset: u64, bytes: u32) -> Record {
        Record {
            at_ns,
            done_ns: UNKNOWN_NS,
            offset,
            bytes,
            op,
            depth: 0,
        }
    }

    const PLACE: Place = Place {
        span_bytes: 1 << 20,
        skip_beyond: false,
        block_bytes: 4096,
        trims: false,
        idle_limit_ns: Some(25),
    };

    proptest! {
        #[test]
        fn all_that_is_given_is_aligned_within_the_place_and_covers_what_was_asked(
            ios in prop::collection::vec(
                (0u64..100, 0u8..3, 0u64..1 << 21, 0u32..1 << 17), 0..60
            )
        ) {
            let mut at_ns = 0;
            let records: Vec<Record> = ios.iter().map(|&(gap, op, offset, bytes)| {
                at_ns += gap;
                record(at_ns, [Op::Read, Op::Write, Op::Trim][usize::from(op)], offset, bytes)
            }).collect();
            let place = Place { skip_beyond: true, ..PLACE };
            let (given, error, counts) = all(records.clone(), place);
            prop_assert_eq!(error, None);
            let dropped = counts.dropped_trims + counts.dropped_beyond + counts.dropped_empty;
            prop_assert_eq!(given.len() as u64 + dropped, records.len() as u64);
            prop_assert_eq!(counts.reads + counts.writes, given.len() as u64);
            for one in &given {
                let end = one.offset + u64::from(one.bytes);
                prop_assert!(one.offset % 4096 == 0 && one.bytes % 4096 == 0 && one.bytes > 0);
                prop_assert!(end <= place.span_bytes);
                let is_asked = records.iter().any(|asked| {
                    let asked_end = asked.offset + u64::from(asked.bytes);
                    asked.op == one.op && asked.offset >= one.offset && asked_end <= end
                        && asked.offset - one.offset < 4096 && end - asked_end < 4096
                });
                prop_assert!(is_asked);
            }
            prop_assert!(given.windows(2).all(|two| two[0].at_ns <= two[1].at_ns));
        }
    }

    #[test]
    fn pauses_are_cut_and_what_is_left_out_takes_its_time() {
        let records = vec![
            record(0, Op::Write, 0, 4096),
            record(1000, Op::Trim, 0, 4096),
            record(1010, Op::Write, 0, 4096),
        ];
        let (given, _, counts) = all(records, PLACE);
        let times: Vec<u64> = given.iter().map(|one| one.at_ns).collect();
        assert_eq!(times, [0, 35]);
        assert_eq!((counts.dropped_trims, counts.length_ns), (1, 35));
    }

    #[test]
    fn the_first_i_o_past_the_end_is_an_error_once_those_before_were_given() {
        let records = vec![
            record(0, Op::Write, 0, 4096),
            record(0, Op::Read, (1 << 20) - 4096, 8192),
        ];
        let (given, error, counts) = all(records, PLACE);
        assert_eq!((given.len(), counts.writes, counts.reads), (1, 1, 0));
        assert!(error.unwrap().what.starts_with("I/O 2 of the trace"));
    }
}
