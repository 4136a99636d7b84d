use super::replay::some_io;
use super::*;
use crate::replay::TraceIo;

/// A drive that throttles under a load of its own in seconds.
fn hot() -> DriveSpec {
    let mut spec = sample::small_drive();
    spec.governor.on = true;
    spec.governor.law = Law::Band {
        engage_c: 42.0,
        band_k: 1.0,
        floor: 0.05,
    };
    spec.governor.lag_s = 0.0;
    spec.power_states.clear();
    spec
}

fn slowed(spec: &DriveSpec, share: f64) -> Drive {
    let place = sample::place().slowed(share).unwrap();
    Drive::new(spec.slowed(share).unwrap(), place, 1).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn each_io_takes_longer_by_the_same_factor(
        ios in prop::collection::vec(some_io(), 1..60),
        share in 0.2..1.0f64,
    ) {
        let mut spec = sample::small_drive();
        spec.power_states.clear();
        spec.collection.idle_mb_s = 0.0;
        // none that could shrink: which die a unit falls on depends on its block
        spec.nand.block_bytes = MIB;
        let done = |drive: &mut Drive, slower: f64| -> Vec<f64> {
            drive.begin_live(0.1).unwrap();
            let mut at_s = 0.0;
            let one = |(gap_us, io): &(u64, TraceIo)| {
                at_s += *gap_us as f64 * 1e-6 / slower;
                let io = TraceIo { at_s, offset: io.offset / 2, ..*io };
                match drive.submit(&io).unwrap() {
                    Answer::Done(done_s) => done_s,
                    Answer::Later(_) => unreachable!("nothing is too hot"),
                }
            };
            ios.iter().map(one).collect()
        };
        let whole = done(&mut new(spec.clone()), 1.0);
        let part = done(&mut slowed(&spec, share), share);
        for (one, other) in whole.iter().zip(&part) {
            prop_assert!((one / share - other).abs() < 1e-9 * other.max(1.0), "{} {}", one, other);
        }
    }
}

#[test]
fn heat_and_throttling_keep_their_seconds_and_their_shares() {
    let run = |mut drive: Drive| {
        let span_bytes = drive.user_bytes() / MIB * MIB;
        let writes = Workload {
            span_bytes,
            ..load(Pattern::Write, 128 * KIB, 32)
        };
        let rows = run_one(&mut drive, for_s(40.0, writes), 0.1);
        (truth(&drive, "onset_s"), rows)
    };
    let (onset_s, whole) = run(new(hot()));
    assert!((3.0..35.0).contains(&onset_s), "{onset_s}");
    for share in [0.5, 0.2, 0.08] {
        let (slow_onset_s, rows) = run(slowed(&hot(), share));
        assert!(
            (slow_onset_s - onset_s).abs() < 0.1,
            "{share}: {slow_onset_s} {onset_s}"
        );
        for name in ["write_bw_mb_s", "power_w", "sim.permitted"] {
            let factor = if name == "write_bw_mb_s" { share } else { 1.0 };
            for from_s in [1.0, 25.0] {
                near(
                    mean_from(&rows, name, from_s),
                    factor * mean_from(&whole, name, from_s),
                    0.01,
                );
            }
        }
        let pairs = column(&rows, "sim.controller_c").iter();
        for (one, other) in pairs.zip(column(&whole, "sim.controller_c")) {
            assert!((one - other).abs() < 0.3, "{share}: {one} {other}");
        }
    }
}

#[test]
fn spare_area_and_cache_last_as_many_seconds() {
    let mut spec = hot();
    spec.governor.on = false;
    spec.collection.idle_mb_s = 0.0;
    let ends_s = |mut drive: Drive| {
        let span_bytes = drive.user_bytes();
        let writes = Workload {
            span_bytes,
            ..load(Pattern::Write, 128 * KIB, 32)
        };
        run_one(&mut drive, for_bytes(span_bytes, writes), 0.1);
        let filled_s = drive.t_s();
        drive
            .begin(&[for_s(
                20.0,
                Workload {
                    span_bytes,
                    ..load(Pattern::RandWrite, 4096, 32)
                },
            )])
            .unwrap();
        let rows = drive.advance(20.0, 0.02).unwrap();
        let full = rate_at(&rows, 0.1);
        let fell = column(&rows, "write_iops")
            .iter()
            .position(|rate| *rate < 0.7 * full)
            .unwrap();
        (filled_s, column(&rows, "t_s")[fell] - filled_s)
    };
    let (filled_s, fell_s) = ends_s(new(spec.clone()));
    let (slow_filled_s, slow_fell_s) = ends_s(slowed(&spec, 0.25));
    near(slow_filled_s, filled_s, 0.02);
    near(slow_fell_s, fell_s, 0.15);
}

fn rate_at(rows: &Samples, until_s: f64) -> f64 {
    let begin_s = column(rows, "t_s")[0];
    let pairs = column(rows, "t_s").iter().zip(column(rows, "write_iops"));
    let early: Vec<f64> = pairs
        .filter(|(t_s, _)| **t_s <= begin_s + until_s)
        .map(|(_, rate)| *rate)
        .collect();
    early.iter().sum::<f64>() / early.len() as f64
}

#[test]
fn a_share_of_one_changes_nothing_and_others_are_refused() {
    let spec = sample::drive();
    assert_eq!(spec.slowed(1.0).unwrap(), spec);
    for share in [0.0, -1.0, 1.1, f64::NAN] {
        let error = spec.slowed(share).unwrap_err().to_string();
        assert!(error.starts_with("speed is "), "{error}");
    }
    let mut place = sample::place();
    place.link_mb_s = Some(1600.0);
    assert_eq!(place.slowed(0.5).unwrap().link_mb_s, Some(800.0));
}
