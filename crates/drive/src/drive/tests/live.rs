use super::replay::{io, options, some_io, source, tiny};
use super::*;
use crate::replay::{Op, TraceIo};
use crate::workload::MAX_IN_FLIGHT;

const SAMPLE_S: f64 = 0.05;

prop_compose! {
    /// I/Os whose times are exact as they are, after each other and on from the first.
    fn arrivals()(gaps in prop::collection::vec(some_io(), 1..200)) -> Vec<TraceIo> {
        let mut ticks = 0;
        let timed = |(index, (gap, io)): (usize, (u64, TraceIo))| {
            ticks += if index == 0 { 0 } else { gap };
            TraceIo { at_s: ticks as f64 / f64::from(1 << 20), depth: 0, ..io }
        };
        gaps.into_iter().enumerate().map(timed).collect()
    }
}

fn submit(drive: &mut Drive, io: &TraceIo) -> f64 {
    let mut io = *io;
    loop {
        match drive.submit(&io).unwrap() {
            Answer::Done(done_s) => return done_s,
            Answer::Later(from_s) => {
                assert!(from_s > io.at_s);
                io.at_s = from_s;
            }
        }
    }
}

fn rows_until(samples: &Samples, end_s: f64) -> Samples {
    let rows = column(samples, "t_s")
        .iter()
        .filter(|t_s| **t_s <= end_s)
        .count();
    let columns = samples.columns.iter();
    Samples {
        names: samples.names.clone(),
        columns: columns.map(|series| series[..rows].to_vec()).collect(),
    }
}

fn prepared(cached: bool, full: bool, pacing: Pacing) -> Drive {
    let mut spec = tiny();
    spec.collection.pacing = pacing;
    spec.cache = cached.then(|| cache(CacheKind::Dynamic, 4 * MIB));
    let mut drive = new(spec);
    if full {
        let span_bytes = drive.user_bytes();
        let all = Workload {
            span_bytes,
            ..load(Pattern::Write, 128 * KIB, 8)
        };
        run_one(&mut drive, for_bytes(span_bytes, all), 0.125);
        let whole_s = drive.t_s().ceil() + 1.0 - drive.t_s();
        drive.advance(whole_s, whole_s).unwrap();
    }
    drive
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_comes_from_outside_is_served_as_in_the_replay_of_the_same_trace(
        ios in arrivals(),
        asked in prop::collection::vec(any::<bool>(), 1..20),
        cached in any::<bool>(),
        full in any::<bool>(),
        pacing in prop::sample::select(vec![Pacing::Victim, Pacing::Level]),
    ) {
        let mut live = prepared(cached, full, pacing);
        let mut replayed = prepared(cached, full, pacing);
        let began_s = live.t_s();
        live.begin_live(SAMPLE_S).unwrap();
        let mut rows = Samples::new(live.columns());
        for (io, asks) in ios.iter().zip(asked.iter().cycle()) {
            let io = TraceIo { at_s: began_s + io.at_s, ..*io };
            // whether anyone looks meanwhile changes nothing
            if *asks {
                append(&mut rows, &live.elapse(io.at_s).unwrap());
            }
            let done_s = submit(&mut live, &io);
            prop_assert!(done_s > io.at_s);
        }
        let last_s = began_s + ios.last().unwrap().at_s;
        append(&mut rows, &live.elapse(last_s).unwrap());
        let counts = live.live_counts();
        for (way, op) in [Op::Read, Op::Write, Op::Trim].into_iter().enumerate() {
            let mine: Vec<_> = ios.iter().filter(|io| io.op == op).collect();
            prop_assert_eq!(counts.ios[way], mine.len() as u64);
            prop_assert_eq!(counts.bytes[way], mine.iter().map(|io| u64::from(io.bytes)).sum::<u64>());
        }
        prop_assert_eq!(counts.purges, 0);
        // counts what was issued and what completed
        live.end().unwrap();

        let how = options(f64::INFINITY, MAX_IN_FLIGHT as u32);
        replayed.begin_replay(source(&ios), how).unwrap();
        let length_s = last_s - began_s;
        if length_s > 0.0 {
            let all = replayed.advance(length_s, SAMPLE_S).unwrap();
            let known_s = rows.column("t_s").unwrap().last().copied().unwrap_or(0.0);
            prop_assert!(known_s >= last_s - SAMPLE_S - 0.011 || rows.is_empty());
            same(&rows_until(&all, known_s), &rows);
        }
    }

    #[test]
    fn all_that_was_taken_comes_back_in_the_rows(
        ios in arrivals(),
        pacing in prop::sample::select(vec![Pacing::None, Pacing::Victim, Pacing::Level]),
        full in any::<bool>(),
    ) {
        let mut drive = prepared(true, full, pacing);
        let began_s = drive.t_s();
        drive.begin_live(SAMPLE_S).unwrap();
        let (mut done_s, mut at_s) = (began_s, began_s);
        for io in &ios {
            // nothing is issued before what had to wait
            at_s = (began_s + io.at_s).max(at_s);
            done_s = done_s.max(loop {
                match drive.submit(&TraceIo { at_s, ..*io }).unwrap() {
                    Answer::Done(done_s) => break done_s,
                    Answer::Later(from_s) => {
                        prop_assert_eq!(pacing, Pacing::None);
                        at_s = from_s;
                    }
                }
            });
            prop_assert!(done_s > at_s);
        }
        let rows = drive.elapse(done_s + 1.0).unwrap();
        for (name, op) in [("read_bw_mb_s", Op::Read), ("write_bw_mb_s", Op::Write)] {
            let bytes: f64 =
                ios.iter().filter(|io| io.op == op).map(|io| f64::from(io.bytes)).sum();
            prop_assert!((1e6 * sum(&rows, name) - bytes).abs() <= 1e-6 * bytes.max(1.0));
        }
        let ledger = drive.heat.ledger();
        let wrong_j = (ledger.fed_j - ledger.out_j - ledger.stored_j).abs();
        prop_assert!(wrong_j <= 1e-9 * ledger.fed_j.max(1000.0), "{}", wrong_j);
        drive.end().unwrap();
    }
}

#[test]
fn ios_at_one_moment_wait_for_each_other_and_not_for_their_answers() {
    let mut drive = new(sample::small_drive());
    drive.begin_live(0.1).unwrap();
    let done: Vec<f64> = (0..32)
        .map(|index| submit(&mut drive, &io(1.0, Op::Write, index * MIB, MIB as u32)))
        .collect();
    assert!(done.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(drive.t_s() <= 1.0);
}

#[test]
fn a_trim_of_the_whole_is_a_purge() {
    let mut drive = prepared(false, true, Pacing::Victim);
    let (whole, now_s) = (drive.user_bytes(), drive.t_s());
    drive.begin_live(0.1).unwrap();
    let half = (whole / 2) as u32;
    let parts = [
        (0, whole / 2),
        (whole / 2, whole / 4),
        (whole / 4 * 3, whole / 4),
    ];
    let mut done_s = now_s;
    for (index, (offset, bytes)) in parts.into_iter().enumerate() {
        assert_eq!(drive.live_counts().purges, 0);
        let part = io(now_s + index as f64 * 0.001, Op::Trim, offset, bytes as u32);
        done_s = submit(&mut drive, &part);
    }
    assert_eq!(drive.live_counts().purges, 1);
    assert_eq!(truth(&drive, "filled_gb"), 0.0);
    let new = prepared(false, false, Pacing::Victim);
    assert_eq!(truth(&drive, "spare_gb"), truth(&new, "spare_gb"));
    // and takes its time, for whoever comes next too
    assert!(done_s >= now_s + drive.spec.capacity.purge_s);
    let next_s = submit(&mut drive, &io(now_s + 0.1, Op::Write, 0, 4096));
    assert!(next_s > now_s + drive.spec.capacity.purge_s);
    // trims of a part that was empty already do not count
    submit(&mut drive, &io(next_s, Op::Trim, 0, half));
    submit(&mut drive, &io(next_s + 0.001, Op::Trim, 0, 4096));
    assert_eq!(drive.live_counts().purges, 1);
}

#[test]
fn writes_are_in_flash_after_they_are_done() {
    let mut drive = new(sample::small_drive());
    drive.begin_live(0.1).unwrap();
    let done_s = submit(&mut drive, &io(0.1, Op::Write, 0, MIB as u32));
    let flushed_s = drive.flushed_s();
    assert!(flushed_s > done_s);
    submit(&mut drive, &io(1.0, Op::Read, 0, MIB as u32));
    assert_eq!(drive.flushed_s(), flushed_s);
}

#[test]
fn a_drive_that_stopped_serves_again_once_it_may() {
    let mut spec = sample::small_drive();
    spec.governor.on = true;
    spec.governor.law = Law::Band {
        engage_c: 60.0,
        band_k: 30.0,
        floor: 0.5,
    };
    (spec.governor.shutdown_c, spec.governor.restart_c) = (Some(61.0), Some(55.0));
    spec.energy.host_write_uj = 40.0;
    let mut drive = new(spec);
    drive.begin_live(0.1).unwrap();
    let (mut at_s, mut waited_s) = (0.0, 0.0);
    while at_s < 60.0 {
        let write = io(at_s, Op::Write, 0, MIB as u32);
        match drive.submit(&write).unwrap() {
            Answer::Done(done_s) => at_s = done_s,
            Answer::Later(from_s) => {
                waited_s += from_s - at_s;
                at_s = from_s;
            }
        }
    }
    assert!(waited_s > 1.0 && waited_s < 59.0, "{waited_s}");
    assert!(truth(&drive, "onset_s") > 0.0);
    drive.end().unwrap();
}

#[test]
fn a_drive_that_stopped_for_good_says_so() {
    let mut spec = sample::small_drive();
    spec.governor.on = true;
    (spec.governor.shutdown_c, spec.governor.restart_c) = (Some(76.0), None);
    spec.energy.host_write_uj = 40.0;
    let mut drive = new(spec);
    drive.begin_live(0.1).unwrap();
    let mut at_s = 0.0;
    let error = loop {
        match drive.submit(&io(at_s, Op::Write, 0, MIB as u32)) {
            Ok(Answer::Done(done_s)) => at_s = done_s,
            Ok(Answer::Later(from_s)) => at_s = from_s,
            Err(error) => break error,
        }
        assert!(at_s < 1000.0);
    };
    assert_eq!(error.to_string(), "the drive has shut down for good");
    // and cools down
    drive.elapse(at_s + 500.0).unwrap();
    assert!(truth(&drive, "controller_c") < 60.0);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut drive = new(sample::small_drive());
    let write = io(1.0, Op::Write, 0, 4096);
    let text = |result: Result<Answer, DriveError>| result.unwrap_err().to_string();
    assert_eq!(
        text(drive.submit(&write)),
        "no I/Os come from outside: `begin_live` first"
    );
    drive.begin_live(0.1).unwrap();
    drive.submit(&write).unwrap();
    for (bad, says) in [
        (
            io(0.5, Op::Write, 0, 4096),
            "I/O: at_s is 0.5: 1 s has passed already",
        ),
        (
            io(f64::NAN, Op::Read, 0, 4096),
            "I/O: at_s is NaN: 1 s has passed already",
        ),
        (
            io(2.0, Op::Read, 0, 0),
            "I/O: bytes is 0: it has to be more than 0",
        ),
        (
            io(2.0, Op::Trim, GIB - 4096, 8192),
            "I/O: offset is 1073737728: its 8192 bytes have to lie within the drive's 1073741824",
        ),
    ] {
        assert_eq!(text(drive.submit(&bad)), says);
    }
    assert_eq!(drive.live_counts().ios, [0, 1, 0]);
    assert_eq!(
        drive.advance(1.0, 0.1).unwrap_err().to_string(),
        "while I/Os come from outside, they and `elapse` let time pass"
    );
    assert!(drive.elapse(f64::INFINITY).is_err());
    assert!(drive.begin_live(0.0).is_err());
    assert!(drive.copy().is_ok());
}

#[test]
fn without_ios_it_rests_as_without_a_load() {
    let mut idle = new(sample::small_drive());
    let alone = idle.advance(20.0, 0.1).unwrap();
    let mut drive = new(sample::small_drive());
    drive.begin_live(0.1).unwrap();
    let rows = drive.elapse(20.5).unwrap();
    let pairs = column(&rows, "sim.controller_c").iter();
    for (one, other) in pairs.zip(column(&alone, "sim.controller_c")) {
        assert!((one - other).abs() < 0.1, "{one} {other}");
    }
    for name in ["power_state", "power_w"] {
        assert_eq!(
            column(&rows, name)[190],
            column(&alone, name)[190],
            "{name}"
        );
    }
}
