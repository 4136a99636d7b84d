//! What is written is read back as it was, as far as the format has it.

use proptest::prelude::*;

use super::*;
use crate::read::{Options, open};
use crate::record::{Op, UNKNOWN_NS};

/// Gives what it holds.
struct Held(Vec<Record>);

impl Source for Held {
    fn fill(&mut self, into: &mut Vec<Record>, most: usize) -> Result<usize, SourceError> {
        let count = most.min(self.0.len());
        into.extend(self.0.drain(..count));
        Ok(count)
    }
}

/// A source that is damaged after its first record.
struct Cut(bool);

impl Source for Cut {
    fn fill(&mut self, into: &mut Vec<Record>, _: usize) -> Result<usize, SourceError> {
        if std::mem::replace(&mut self.0, true) {
            return Err(SourceError {
                line: Some(3),
                what: "cut".to_string(),
            });
        }
        into.push(Record {
            at_ns: 0,
            done_ns: UNKNOWN_NS,
            offset: 0,
            bytes: 512,
            op: Op::Read,
            depth: 0,
        });
        Ok(1)
    }
}

fn again(records: &[Record], format: Format, ending: &str) -> Vec<Record> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(format!("trace{ending}"));
    let count = to_file(&mut Held(records.to_vec()), &path, format, "t").unwrap();
    assert_eq!(count, records.len() as u64);
    let mut opened = open(&path, Options::default()).unwrap();
    assert_eq!(opened.format, format);
    let mut back = Vec::new();
    while opened.source.fill(&mut back, 1000).unwrap() > 0 {}
    assert_eq!(opened.skipped.get().count, 0);
    back
}

/// What a format keeps of a trace.
fn kept(records: &[Record], format: Format) -> Vec<Record> {
    let (tick_ns, ends) = match format {
        Format::IologV2 => (1_000_000, false),
        Format::IologV3 => (1000, false),
        Format::Blkparse => (1, true),
        Format::Msr => (100, true),
    };
    let round = |ns: u64| {
        if ns == UNKNOWN_NS {
            ns
        } else {
            ns / tick_ns * tick_ns
        }
    };
    let mut kept: Vec<Record> = records.to_vec();
    for record in &mut kept {
        record.at_ns = round(record.at_ns);
        record.done_ns = if ends {
            round(record.done_ns)
        } else {
            UNKNOWN_NS
        };
        if record.done_ns == record.at_ns && tick_ns > 1 {
            record.done_ns += tick_ns;
        }
    }
    for at in 0..kept.len() {
        let now = kept[at];
        let flying = |one: &&Record| one.done_ns != UNKNOWN_NS && one.done_ns > now.at_ns;
        kept[at].depth = match now.done_ns {
            UNKNOWN_NS => 0,
            _ => kept[..at].iter().filter(flying).count() as u16 + 1,
        };
    }
    kept
}

prop_compose! {
    /// I/Os on sectors of their own, some of whose ends are not known.
    fn traces()(
        steps in proptest::collection::vec(
            (0u64..40_000_000, 0u8..3, 1u32..2048, proptest::option::weighted(0.9, 1u64..300_000_000)),
            1..120,
        ),
        shift in 0u64..1 << 20,
    ) -> Vec<Record> {
        let mut at_ns = 0;
        steps.iter().enumerate().map(|(number, &(step_ns, op, sectors, took_ns))| {
            if number > 0 {
                // many at once too
                at_ns += step_ns * u64::from(step_ns.is_multiple_of(3));
            }
            Record {
                at_ns,
                done_ns: took_ns.map_or(UNKNOWN_NS, |took_ns| at_ns + took_ns),
                offset: 512 * (shift + 2048 * ((number as u64 * 7919) % 4096)),
                bytes: 512 * sectors,
                op: [Op::Read, Op::Write, Op::Trim][usize::from(op)],
                depth: 0,
            }
        }).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_format_gives_back_what_it_can_tell(records in traces()) {
        for format in Format::ALL {
            prop_assert_eq!(again(&records, format, ""), kept(&records, format), "{}", format);
        }
    }
}

#[test]
fn the_ending_of_the_name_packs() {
    let records: Vec<Record> = (0..3000u64)
        .map(|io| Record {
            at_ns: 1000 * io,
            done_ns: 1000 * io + 500,
            offset: 4096 * io,
            bytes: 4096,
            op: Op::Write,
            depth: 1,
        })
        .collect();
    for ending in [".gz", ".zst", ".xz"] {
        assert_eq!(again(&records, Format::Blkparse, ending), records);
    }
}

#[test]
fn what_is_not_on_sectors_is_widened_for_blkparse() {
    let odd = Record {
        at_ns: 0,
        done_ns: 700,
        offset: 1000,
        bytes: 100,
        op: Op::Read,
        depth: 1,
    };
    let wide = again(&[odd], Format::Blkparse, "");
    assert_eq!((wide[0].offset, wide[0].bytes), (512, 1024));
}

#[test]
fn damage_of_what_is_written_is_passed_on() {
    let written = write(&mut Cut(false), &mut Vec::new(), Format::Msr, "t");
    assert_eq!(written.unwrap_err().to_string(), "line 3: cut");
}

#[test]
fn a_name_that_would_break_a_line_is_refused() {
    for name in ["", "a b", "a,b", "a\n"] {
        let written = write(&mut Cut(false), &mut Vec::new(), Format::IologV3, name);
        assert!(matches!(written, Err(WriteError::Format(_))), "{name:?}");
    }
}

#[test]
fn ticks_stand_in_the_pauses_and_change_nothing_else() {
    let records = [0u64, 10, 1000, 1000].map(|at_us| Record {
        at_ns: at_us * 1000,
        done_ns: UNKNOWN_NS,
        offset: 4096,
        bytes: 512,
        op: Op::Write,
        depth: 0,
    });
    let mut text = Vec::new();
    let mut source = Held(records.to_vec());
    iolog_v3_ticking(&mut source, &mut text, "disk", "memory", 60).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (ticks, rest): (Vec<&str>, Vec<&str>) = text
        .lines()
        .filter(|line| !line.contains("memory") || line.contains("sync"))
        .partition(|line| line.contains("memory sync 0 4096"));
    let at = |line: &&str| line.split(' ').next().unwrap().parse::<u64>().unwrap();
    let times: Vec<u64> = ticks.iter().map(at).collect();
    // nothing in the gap of 10 us; 50 us after 10, and ever later; one in the 60 us at the end
    assert_eq!(times[..3], [60, 72, 88]);
    assert_eq!(times.last(), Some(&1050));
    assert!(times[..times.len() - 1].iter().all(|&at_us| at_us < 1000));
    assert!(text.lines().skip(5).map(|line| at(&line)).is_sorted());
    let mut plain = Vec::new();
    iolog_v3(&mut Held(records.to_vec()), &mut plain, "disk").unwrap();
    let plain = String::from_utf8(plain).unwrap();
    let plain: Vec<&str> = plain.lines().collect();
    assert_eq!(rest[..rest.len() - 1], plain[..plain.len() - 1]);
}
