use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::*;
use crate::replay::{Op, TraceIo};

/// A trace in memory, and how it ends.
struct Recorded {
    ios: VecDeque<TraceIo>,
    failure: Option<String>,
}

impl Source for Recorded {
    fn next_io(&mut self) -> Result<Option<TraceIo>, String> {
        match self.ios.pop_front() {
            Some(io) => Ok(Some(io)),
            None => self.failure.take().map_or(Ok(None), Err),
        }
    }
}

pub(super) fn source(ios: &[TraceIo]) -> Box<dyn Source> {
    Box::new(Recorded {
        ios: ios.iter().copied().collect(),
        failure: None,
    })
}

fn failing(ios: &[TraceIo]) -> Box<dyn Source> {
    Box::new(Recorded {
        ios: ios.iter().copied().collect(),
        failure: Some("line 7: 'W' is no number".to_owned()),
    })
}

pub(super) fn io(at_s: f64, op: Op, offset: u64, bytes: u32) -> TraceIo {
    TraceIo {
        at_s,
        op,
        offset,
        bytes,
        depth: 0,
    }
}

pub(super) fn options(idle_limit_s: f64, iodepth: u32) -> ReplayOptions {
    ReplayOptions {
        idle_limit_s,
        iodepth,
    }
}

fn to_the_end(drive: &mut Drive, sample_s: f64) -> Samples {
    let mut samples = Samples::new(drive.columns());
    while !drive.is_done() {
        assert!(samples.len() < 200_000, "it never ends");
        append(
            &mut samples,
            &drive.advance(10.0 * sample_s, sample_s).unwrap(),
        );
    }
    samples
}

fn replay(drive: &mut Drive, ios: &[TraceIo], how: ReplayOptions, sample_s: f64) -> Samples {
    drive.begin_replay(source(ios), how).unwrap();
    to_the_end(drive, sample_s)
}

/// What a load issues, in its order, and when it is done.
fn issued(drive: &Drive, ios: &[TraceIo], how: ReplayOptions) -> Vec<(TraceIo, f64, f64)> {
    let mut firmware = drive.firmware.clone();
    let mut replay = Replay::new(source(ios), &how, drive.user_bytes(), 0.0);
    let mut tallies = <[Tally; 2]>::default();
    let mut work = Work::default();
    let mut all = Vec::new();
    while let Some(at_s) = replay.next_at() {
        let (op, request) = replay.issue(at_s, &mut tallies, |_| {});
        let done_s = match op {
            Op::Trim => firmware.trim(&request, 1.0, &mut work),
            _ => firmware.serve(&request, 1.0, &mut work),
        };
        replay.sent(op, &request, done_s);
        let original = ios[all.len()];
        assert_eq!(
            (op, request.offset, request.bytes),
            (original.op, original.offset, u64::from(original.bytes))
        );
        all.push((original, at_s, done_s));
    }
    all
}

fn bytes_of(ios: &[TraceIo], op: Op) -> f64 {
    let of = ios.iter().filter(|io| io.op == op);
    of.map(|io| f64::from(io.bytes)).sum()
}

pub(super) fn tiny() -> DriveSpec {
    let mut spec = sample::small_drive();
    spec.capacity.user_bytes = 64 * MIB;
    spec.capacity.raw_bytes = 136 * MIB;
    spec.capacity.reserve_bytes = 64 * MIB;
    spec.nand.block_bytes = MIB;
    spec
}

prop_compose! {
    /// Sizes of any kind, at places of any alignment, up to the drive's very end.
    pub(super) fn some_io()(
        gap_us in prop_oneof![4 => 0..200u64, 2 => 0..20_000u64, 1 => 0..400_000u64],
        op in prop_oneof![5 => Just(Op::Read), 5 => Just(Op::Write), 1 => Just(Op::Trim)],
        sectors in prop_oneof![6 => 1..=64u64, 2 => 65..=4096u64],
        at in prop_oneof![8 => 0.0..1.0f64, 1 => Just(1.0f64)],
        aligned in any::<bool>(),
        depth in prop::sample::select(vec![0u32, 0, 1, 2, 5, 40]),
    ) -> (u64, TraceIo) {
        let bytes = if aligned { 4096 * sectors.div_ceil(8) } else { 512 * sectors };
        let last = (64 * MIB - bytes) / if aligned { 4096 } else { 512 };
        let unit = if aligned { 4096 } else { 512 };
        let offset = (at * last as f64) as u64 * unit;
        (gap_us, TraceIo { at_s: 0.0, op, offset, bytes: bytes as u32, depth })
    }
}

prop_compose! {
    fn traces()(gaps in prop::collection::vec(some_io(), 0..300)) -> Vec<TraceIo> {
        let mut at_us = 0;
        let timed = |(gap_us, io): (u64, TraceIo)| {
            at_us += gap_us;
            TraceIo { at_s: at_us as f64 * 1e-6, ..io }
        };
        gaps.into_iter().map(timed).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_io_of_a_trace_is_served_once(
        ios in traces(),
        pacing in prop::sample::select(vec![Pacing::None, Pacing::Victim, Pacing::Level]),
        caches in prop::option::of(
            prop::sample::select(vec![CacheKind::Static, CacheKind::Dynamic])),
        full in any::<bool>(),
        beside in any::<bool>(),
        iodepth in prop::sample::select(vec![1u32, 4, 32]),
        idle_limit_s in prop::sample::select(vec![0.0, 0.025, f64::INFINITY]),
    ) {
        let mut spec = tiny();
        spec.collection.pacing = pacing;
        spec.cache = caches.map(|kind| cache(kind, 4 * MIB));
        let mut drive = new(spec);
        if full {
            let span_bytes = drive.user_bytes();
            let all = Workload { span_bytes, ..load(Pattern::Write, 128 * KIB, 8) };
            run_one(&mut drive, for_bytes(span_bytes, all), 0.1);
        }
        let other = Workload { span_bytes: 32 * MIB, ..load(Pattern::RandRead, 4096, 2) };
        let workloads: &[Workload] = if beside { &[for_bytes(MIB, other)] } else { &[] };
        let how = options(idle_limit_s, iodepth);
        drive.begin_beside(workloads, vec![(source(&ios), how)]).unwrap();
        let samples = to_the_end(&mut drive, 0.05);
        // counts what was issued and what completed
        drive.end().unwrap();
        let expected = bytes_of(&ios, Op::Read) + if beside { MIB as f64 } else { 0.0 };
        let [read, written] =
            ["read_bw_mb_s", "write_bw_mb_s"].map(|name| 1e6 * sum(&samples, name));
        prop_assert!((read - expected).abs() <= 1e-9 * expected);
        let expected = bytes_of(&ios, Op::Write);
        prop_assert!((written - expected).abs() <= 1e-9 * expected);
        let data = ios.iter().filter(|io| io.op != Op::Trim).count() as f64;
        let others = if beside { MIB as f64 / 4096.0 } else { 0.0 };
        prop_assert!((super::ios(&samples) - data - others).abs() < 1e-6);
        prop_assert!(column(&samples, "busy_pct").iter().all(|b| (0.0..=100.0).contains(b)));
        let ledger = drive.heat.ledger();
        let wrong_j = (ledger.fed_j - ledger.out_j - ledger.stored_j).abs();
        prop_assert!(wrong_j <= 1e-9 * ledger.fed_j.max(1000.0), "{}", wrong_j);
    }

    #[test]
    fn ios_are_issued_in_order_and_as_deep_as_they_may(
        ios in traces(),
        iodepth in prop::sample::select(vec![1u32, 3, 32]),
        idle_limit_s in prop::sample::select(vec![0.0, 0.025, f64::INFINITY]),
    ) {
        let drive = new(tiny());
        let all = issued(&drive, &ios, options(idle_limit_s, iodepth));
        prop_assert_eq!(all.len(), ios.len());
        for (index, &(io, at_s, done_s)) in all.iter().enumerate() {
            prop_assert!(done_s >= at_s);
            let flying = all[..index].iter().filter(|before| before.2 > at_s).count() as u32;
            let most = if io.depth == 0 { iodepth } else { io.depth.min(iodepth) };
            prop_assert!(flying < most, "{} in flight at {}", flying, index);
            let Some((before, before_s, _)) = index.checked_sub(1).map(|last| all[last]) else {
                prop_assert_eq!(at_s, 0.0);
                continue;
            };
            let due_s = before_s + (io.at_s - before.at_s).min(idle_limit_s);
            prop_assert!(at_s >= due_s);
            // and no later than it has to be
            let late = at_s > due_s;
            prop_assert!(!late || all[..index].iter().any(|before| before.2 == at_s));
            if late {
                let just = all[..index].iter().filter(|before| before.2 >= at_s).count() as u32;
                prop_assert!(just >= most);
            }
        }
    }

    #[test]
    fn a_replay_may_be_cut_up_in_any_way(
        ios in traces(),
        cuts in prop::collection::vec(1..9u32, 1..20),
        idle_limit_s in prop::sample::select(vec![0.025, f64::INFINITY]),
    ) {
        let mut spec = tiny();
        spec.cache = Some(cache(CacheKind::Dynamic, 4 * MIB));
        let mut whole = new(spec.clone());
        let all = replay(&mut whole, &ios, options(idle_limit_s, 8), 0.03);
        let mut drive = new(spec);
        drive.begin_replay(source(&ios), options(idle_limit_s, 8)).unwrap();
        let mut parts = Samples::new(drive.columns());
        for cut in cuts.iter().cycle() {
            if drive.is_done() {
                break;
            }
            append(&mut parts, &drive.advance(f64::from(*cut) * 0.03, 0.03).unwrap());
        }
        same(&all, &parts);
    }
}

#[test]
fn an_empty_trace_is_over_at_once() {
    let mut drive = new(sample::small_drive());
    let samples = replay(&mut drive, &[], ReplayOptions::default(), 0.1);
    assert!(samples.is_empty() && drive.t_s() == 0.0);
}

fn every(gap_s: f64, count: u64) -> Vec<TraceIo> {
    let one = |index: u64| io(index as f64 * gap_s, Op::Write, index * 4096, 4096);
    (0..count).map(one).collect()
}

#[test]
fn pauses_are_cut_to_the_limit() {
    for (limit_s, expected_s) in [
        (0.025, 2.475),
        (0.3, 29.7),
        (f64::INFINITY, 99.0),
        (0.0, 0.0),
    ] {
        let mut drive = new(sample::small_drive());
        let samples = replay(&mut drive, &every(1.0, 100), options(limit_s, 32), 0.1);
        assert!((drive.t_s() - expected_s).abs() < 0.06, "{}", drive.t_s());
        assert_eq!(ios(&samples).round(), 100.0);
    }
}

#[test]
fn the_drive_rests_in_pauses() {
    let mut spec = sample::small_drive();
    spec.collection.idle_mb_s = 0.0;
    let states = spec.power_states.clone();
    let idle_w = spec.energy.idle_w;
    let mut drive = new(spec);
    let count = 20;
    let samples = replay(
        &mut drive,
        &every(10.0, count),
        options(f64::INFINITY, 32),
        0.5,
    );
    let deepest = states.last().unwrap();
    let seen = column(&samples, "power_state");
    let rested = seen
        .iter()
        .filter(|state| **state == f64::from(deepest.state));
    // but for the sample in which it wakes
    let expected = (count - 1) as f64 * ((10.0 - deepest.after_s) / 0.5 - 1.0);
    near(rested.count() as f64, expected, 0.02);
    // each pause goes through all states, each I/O but the first waits for the drive to wake
    near(
        column(&samples, "write_lat_max_us")
            .iter()
            .copied()
            .fold(0.0, f64::max),
        deepest.exit_us + 1.2 + 8.0,
        1e-6,
    );
    let pauses = (count - 1) as f64;
    let mut pause_j = 0.0;
    for (index, state) in states.iter().enumerate() {
        let end_s = states.get(index + 1).map_or(10.0, |next| next.after_s);
        pause_j += state.power_w * (end_s - state.after_s);
    }
    let leakage = |drawn_j: f64| drawn_j - pauses * pause_j;
    let drawn_j = sum(&samples, "power_w");
    let awake_s = pauses * (states[0].after_s + deepest.exit_us * 1e-6);
    // what is left is awake: idle power and leakage before the first state, all of it while waking
    let awake_w = leakage(drawn_j) / awake_s;
    assert!((idle_w..idle_w + 2.0).contains(&awake_w), "{awake_w}");
    // a limit that is shorter than the first state's time keeps the drive awake
    let short = replay(&mut drive, &every(10.0, count), options(0.05, 32), 0.5);
    assert!(
        column(&short, "power_state")
            .iter()
            .all(|state| *state == 0.0)
    );
    assert!(mean(&short, "power_w") >= idle_w);
}

#[test]
fn pauses_fold_the_cache() {
    let mut spec = sample::small_drive();
    spec.cache = Some(cache(CacheKind::Dynamic, 64 * MIB));
    let cached = |pause_s: f64| {
        let mut drive = new(spec.clone());
        let mut ios: Vec<TraceIo> = (0..32u64)
            .map(|index| io(0.0, Op::Write, index * MIB, MIB as u32))
            .collect();
        ios.push(io(pause_s, Op::Read, 0, 4096));
        replay(&mut drive, &ios, options(f64::INFINITY, 32), 0.1);
        truth(&drive, "cached_gb") * GB / MIB as f64
    };
    // after 2 s without load, 200 MB a second
    near(cached(1.9), 32.0, 1e-9);
    near(cached(2.1), 32.0 - 20.0 / 1.048_576, 0.15);
    assert!(cached(3.0) < 1.0);
}

#[test]
fn busy_time_is_that_with_something_in_flight() {
    // one I/O of 9.2 us each ms, and pairs of them at once
    for (pairs, share) in [(false, 0.0092), (true, 0.0104)] {
        let mut ios = every(0.001, 1000);
        if pairs {
            ios = ios.iter().flat_map(|io| [*io, *io]).collect();
        }
        let mut drive = new(sample::small_drive());
        let samples = replay(&mut drive, &ios, options(1.0, 32), 0.1);
        let busy = column(&samples, "busy_pct");
        near(busy[3], 100.0 * share, 1e-3);
    }
    let mut drive = new(sample::small_drive());
    let loaded = run_one(
        &mut drive,
        for_s(1.0, load(Pattern::RandRead, 4096, 4)),
        0.1,
    );
    assert!(
        column(&loaded, "busy_pct")[..10]
            .iter()
            .all(|busy| *busy > 99.99)
    );
    let rested = drive.advance(1.0, 0.1).unwrap();
    assert!(column(&rested, "busy_pct").iter().all(|busy| *busy == 0.0));
    let paced = Workload {
        rate_iops: Some(1000.0),
        ..load(Pattern::RandWrite, 4096, 4)
    };
    let paced = run_one(&mut drive, for_s(1.0, paced), 0.1);
    near(column(&paced, "busy_pct")[5], 0.92, 1e-3);
}

#[test]
fn long_ios_are_counted() {
    let mut drive = new(sample::small_drive());
    // an exit latency of 3 ms, then one of 45
    drive.advance(0.3, 0.1).unwrap();
    let short = replay(&mut drive, &every(1.0, 1), options(1.0, 1), 0.1);
    assert_eq!(column(&short, "write_over_10ms"), [0.0]);
    drive.advance(60.0, 1.0).unwrap();
    let together = [io(0.0, Op::Read, 0, 4096), io(0.0, Op::Write, 0, 4096)];
    let long = replay(&mut drive, &together, options(1.0, 2), 0.1);
    for (name, count) in [
        ("read_over_10ms", 1.0),
        ("write_over_10ms", 1.0),
        ("read_over_100ms", 0.0),
        ("write_over_100ms", 0.0),
    ] {
        assert_eq!(column(&long, name), [count], "{name}");
    }
}

#[test]
fn trims_make_space() {
    let run = |trims: bool| {
        let mut drive = new(tiny());
        let span_bytes = drive.user_bytes();
        let all = Workload {
            span_bytes,
            ..load(Pattern::Write, 128 * KIB, 8)
        };
        run_one(&mut drive, for_bytes(span_bytes, all), 0.1);
        if trims {
            let half = (span_bytes / 2) as u32;
            // what is covered in part is kept
            let ios = [
                io(0.0, Op::Trim, span_bytes / 2 + 1, half - 1),
                io(0.0, Op::Trim, 511, 4096),
            ];
            let samples = replay(&mut drive, &ios, options(1.0, 1), 0.1);
            assert_eq!((mb(&samples), super::ios(&samples)), (0.0, 0.0));
            near(
                truth(&drive, "filled_gb") * GB,
                (span_bytes / 2 + 4096) as f64,
                1e-9,
            );
        }
        let before = drive.totals().moved_pages;
        let span = span_bytes / 4096 / 2;
        let mut random = fastrand::Rng::with_seed(1);
        let writes: Vec<TraceIo> = (0..40_000)
            .map(|_| io(0.0, Op::Write, random.u64(0..span) * 4096, 4096))
            .collect();
        replay(&mut drive, &writes, options(1.0, 32), 0.1);
        drive.totals().moved_pages - before
    };
    let (kept, trimmed) = (run(false), run(true));
    assert!(trimmed < 0.5 * kept, "{trimmed} and {kept}");
}

#[test]
fn the_very_end_of_the_drive_is_written_and_read() {
    let mut drive = new(tiny());
    let end = drive.user_bytes();
    let ios = [
        io(0.0, Op::Write, end - 512, 512),
        io(0.1, Op::Read, end - 3 * MIB, 3 * MIB as u32),
        io(0.2, Op::Write, end - 3 * MIB, 3 * MIB as u32),
        io(0.3, Op::Trim, end - 4096, 4096),
    ];
    let samples = replay(&mut drive, &ios, options(1.0, 4), 0.1);
    near(mb(&samples) * 1e6, (6 * MIB + 512) as f64, 1e-12);
    near(
        truth(&drive, "filled_gb") * GB,
        (3 * MIB - 4096) as f64,
        1e-9,
    );
}

#[test]
fn streams_beside_each_other_are_read_ahead() {
    let mut drive = new(sample::small_drive());
    fill(&mut drive);
    drive.advance(1.0, 1.0).unwrap();
    let latency_us = |streams: u64, drive: &mut Drive| {
        let ios: Vec<TraceIo> = (0..2000u64)
            .map(|index| {
                let offset = index % streams * (GIB / 64) + index / streams * 4096;
                io(index as f64 * 1e-3, Op::Read, offset, 4096)
            })
            .collect();
        let samples = replay(drive, &ios, options(1.0, 4), 1.0);
        column(&samples, "read_lat_us")[1]
    };
    let (one, many, more) = (
        latency_us(1, &mut drive),
        latency_us(16, &mut drive),
        latency_us(32, &mut drive),
    );
    near(many, one, 1e-9);
    assert!(more > one + 50.0, "{more} and {one}");
}

#[test]
fn a_trace_that_fails_ends_the_replay_with_its_words() {
    let ios = every(0.001, 100);
    let mut drive = new(sample::small_drive());
    drive
        .begin_replay(failing(&ios), ReplayOptions::default())
        .unwrap();
    // everything before it is served
    let samples = drive.advance(0.09, 0.09).unwrap();
    near(super::ios(&samples), 90.0, 0.02);
    let error = drive.advance(1.0, 0.1).unwrap_err();
    assert_eq!(error.to_string(), "line 7: 'W' is no number");
    assert!(drive.is_done());
    assert_eq!(drive.totals().host_write_pages, 100.0);
    drive.advance(1.0, 0.5).unwrap();
}

#[test]
fn an_io_that_cannot_be_is_named() {
    let mut drive = new(tiny());
    let end = drive.user_bytes();
    let cases = [
        (
            io(0.0, Op::Read, end - 512, 1024),
            "I/O 2 of the trace is of 1024 bytes at 67108352: it has to lie within the drive's \
             67108864 bytes",
        ),
        (
            io(0.0, Op::Trim, u64::MAX, 512),
            "I/O 2 of the trace is of 512 bytes at 18446744073709551615: it has to lie",
        ),
        (
            io(0.0, Op::Write, 0, 0),
            "I/O 2 of the trace is of no bytes: it has to have more than 0",
        ),
        (
            io(f64::NAN, Op::Write, 0, 512),
            "I/O 2 of the trace is issued at NaN s: it has to be a time",
        ),
    ];
    for (wrong, begins) in cases {
        let ios = [io(0.0, Op::Write, 0, 4096), wrong];
        drive
            .begin_replay(source(&ios), ReplayOptions::default())
            .unwrap();
        let message = drive.advance(1.0, 1.0).unwrap_err().to_string();
        assert!(message.starts_with(begins), "{message}");
    }
}

#[test]
fn a_wrong_option_is_named() {
    let mut drive = new(sample::small_drive());
    for (how, begins) in [
        (options(-1.0, 1), "replay: idle_limit_s is -1:"),
        (options(f64::NAN, 1), "replay: idle_limit_s is NaN:"),
        (options(1.0, 0), "replay: iodepth is 0:"),
        (options(1.0, 65_537), "replay: iodepth is 65537:"),
    ] {
        let message = drive
            .begin_replay(source(&[]), how)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with(begins), "{message}");
    }
}

#[test]
fn a_drive_is_not_copied_in_the_middle_of_a_replay() {
    let mut drive = new(sample::small_drive());
    drive
        .begin_replay(source(&every(0.1, 20)), options(1.0, 32))
        .unwrap();
    drive.advance(0.5, 0.1).unwrap();
    let message = drive.copy().err().unwrap().to_string();
    assert!(message.starts_with("a drive cannot be copied in the middle of a replay"));
    to_the_end(&mut drive, 0.1);
    let mut other = drive.copy().unwrap();
    same(
        &drive.advance(1.0, 0.5).unwrap(),
        &other.advance(1.0, 0.5).unwrap(),
    );
}

#[test]
fn a_drive_that_shuts_itself_down_ends_the_replay() {
    let mut spec = sample::small_drive();
    spec.governor.on = true;
    spec.governor.law = Law::Band {
        engage_c: 57.0,
        band_k: 50.0,
        floor: 0.5,
    };
    spec.governor.shutdown_c = Some(60.0);
    let endless = Arc::new(Mutex::new(0));
    struct Endless(Arc<Mutex<u64>>);
    impl Source for Endless {
        fn next_io(&mut self) -> Result<Option<TraceIo>, String> {
            let mut count = self.0.lock().unwrap();
            *count += 1;
            Ok(Some(io(0.0, Op::Write, *count % 1000 * MIB, MIB as u32)))
        }
    }
    for restart_c in [None, Some(52.0)] {
        spec.governor.restart_c = restart_c;
        let mut drive = new(spec.clone());
        let trace = Box::new(Endless(endless.clone()));
        drive.begin_replay(trace, options(0.025, 32)).unwrap();
        let samples = drive.advance(900.0, 1.0).unwrap();
        assert_eq!(drive.is_stopped(), restart_c.is_none());
        assert_eq!(drive.is_done(), restart_c.is_none());
        let rates = column(&samples, "write_bw_mb_s");
        let resumed = rates.windows(2).any(|pair| pair[0] == 0.0 && pair[1] > 0.0);
        assert_eq!(resumed, restart_c.is_some());
        drive.end().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn samples_are_the_same_whatever_pieces_the_replay_is_taken_in(
        gaps in prop::collection::vec(0.0..0.3f64, 1..200),
        most_ios in 1u64..60,
    ) {
        let mut at_s = 0.0;
        let ios: Vec<TraceIo> = gaps
            .iter()
            .enumerate()
            .map(|(number, gap)| {
                at_s += gap;
                let op = if number % 3 == 0 { Op::Read } else { Op::Write };
                io(at_s, op, number as u64 * 131_072, 131_072)
            })
            .collect();
        let mut whole = new(sample::small_drive());
        whole.begin_replay(source(&ios), options(f64::INFINITY, 8)).unwrap();
        let expected = to_the_end(&mut whole, 0.1);
        let mut cut = new(sample::small_drive());
        cut.begin_replay(source(&ios), options(f64::INFINITY, 8)).unwrap();
        let mut samples = Samples::new(cut.columns());
        while !cut.is_done() {
            let piece = cut.advance_some(60.0, 0.1, most_ios).unwrap();
            let done = |direction: usize| -> f64 {
                let rates = &piece.columns[4 + direction];
                rates.iter().zip(&piece.columns[1]).map(|(rate, s)| rate * s).sum()
            };
            let got = (done(0) + done(1)).round() as u64;
            // a sample is not cut for it: what completes within one may be more
            prop_assert!(cut.is_done() || got >= most_ios);
            append(&mut samples, &piece);
        }
        for (one, other) in expected.columns.iter().zip(&samples.columns) {
            let same = one.iter().zip(other).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
            prop_assert!(one.len() == other.len() && same);
        }
    }
}
