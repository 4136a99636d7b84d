use proptest::prelude::*;

use super::*;
use crate::heat::{Heat, Work};
use crate::sample;
use crate::spec::{Law as LawSpec, Level, OperationalStateSpec};

fn spec(law: LawSpec) -> GovernorSpec {
    GovernorSpec {
        law,
        shutdown_c: None,
        restart_c: None,
        ..sample::drive().governor
    }
}

fn made(spec: &GovernorSpec) -> Result<Governor, SpecError> {
    Governor::new(&DriveSpec {
        governor: spec.clone(),
        ..sample::drive()
    })
}

fn governor(law: LawSpec) -> Governor {
    made(&spec(law)).expect("a sound governor")
}

fn band() -> LawSpec {
    LawSpec::Band {
        engage_c: 70.0,
        band_k: 20.0,
        floor: 0.1,
    }
}

fn steps() -> LawSpec {
    let level = |enter_c, leave_c, share| Level {
        enter_c,
        leave_c,
        share: Some(share),
        state: None,
    };
    LawSpec::Steps {
        levels: vec![
            level(78.0, 74.0, 0.4),
            level(84.0, 80.0, 0.1),
            level(95.0, 90.0, 0.0),
        ],
        dwell_s: 2.0,
    }
}

fn delay() -> LawSpec {
    LawSpec::Delay {
        engage_c: 78.0,
        release_c: 70.0,
        target_c: 80.0,
        gain_per_k: 0.002,
        damping_s_per_k: 0.05,
        floor: 0.05,
    }
}

fn laws() -> impl Strategy<Value = LawSpec> {
    prop_oneof![Just(band()), Just(steps()), Just(delay())]
}

/// Temperatures that wander, and how long each lasts.
fn course() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0.01..3.0f64, 50.0..120.0f64), 1..200)
}

proptest! {
    #[test]
    fn a_share_lies_between_the_floor_and_everything(law in laws(), course in course()) {
        let floor = match &law {
            LawSpec::Band { floor, .. } | LawSpec::Delay { floor, .. } => *floor,
            LawSpec::Steps { levels, .. } => levels[levels.len() - 1].share.unwrap(),
        };
        let mut governor = governor(law);
        for (dt_s, temp_c) in course {
            let permit = governor.update(dt_s, temp_c, 0.0);
            prop_assert!((floor..=1.0).contains(&permit.share));
            prop_assert_eq!(permit.level == 0, permit.share == 1.0);
            prop_assert!(!permit.stopped);
            prop_assert_eq!(governor.permit(), permit);
        }
    }

    #[test]
    fn a_band_never_permits_more_where_it_is_hotter(
        engage_c in 40.0..90.0f64,
        band_k in 0.1..40.0f64,
        floor in 0.0..1.0f64,
        (one_c, more_k) in (0.0..150.0f64, 0.0..50.0f64),
    ) {
        let mut governor = governor(LawSpec::Band { engage_c, band_k, floor });
        let cooler = governor.update(0.01, one_c, 0.0).share;
        prop_assert!(governor.update(0.01, one_c + more_k, 0.0).share <= cooler);
        // it has no memory
        prop_assert_eq!(governor.update(5.0, one_c, 0.0).share, cooler);
        prop_assert_eq!(governor.update(0.01, engage_c, 0.0).share, 1.0);
        prop_assert!((governor.update(0.01, engage_c + band_k, 0.0).share - floor).abs() < 1e-9);
        let half = governor.update(0.01, engage_c + band_k / 2.0, 0.0).share;
        prop_assert!((half - (1.0 + floor) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_changes_within_hysteresis(
        temperatures in prop::collection::vec(74.001..77.999f64, 1..200),
    ) {
        let mut cold = governor(steps());
        let mut warm = governor(steps());
        warm.update(10.0, 79.0, 0.0);
        for &temp_c in &temperatures {
            prop_assert_eq!(cold.update(3.0, temp_c, 0.0).level, 0);
            prop_assert_eq!(warm.update(3.0, temp_c, 0.0).level, 1);
        }
        prop_assert_eq!(cold.update(3.0, 78.0, 0.0).level, 1);
        prop_assert_eq!(warm.update(3.0, 74.0, 0.0).level, 0);
    }

    #[test]
    fn two_changes_are_a_dwell_apart(course in course()) {
        let mut governor = governor(steps());
        let (mut level, mut since_s) = (0i64, f64::INFINITY);
        for (dt_s, temp_c) in course {
            since_s += dt_s;
            let now = i64::from(governor.update(dt_s, temp_c, 0.0).level);
            prop_assert!((now - level).abs() <= 1);
            if now != level {
                prop_assert!(since_s >= 2.0 - 1e-6);
                since_s = 0.0;
            }
            level = now;
        }
    }

    #[test]
    fn counters_add_up(law in laws(), course in course(), stops in any::<bool>()) {
        let mut spec = spec(law);
        if stops {
            spec.shutdown_c = Some(110.0);
            spec.restart_c = Some(75.0);
        }
        let mut governor = made(&spec).unwrap();
        let mut expected = Counters::default();
        let mut last = governor.permit();
        for (dt_s, temp_c) in course {
            if last.stopped {
                expected.stopped_s += dt_s;
            } else if last.level == 1 {
                expected.light_s += dt_s;
            } else if last.level > 1 {
                expected.heavy_s += dt_s;
            }
            let permit = governor.update(dt_s, temp_c, 0.0);
            if !permit.stopped && !last.stopped {
                expected.light_count += u64::from(last.level == 0 && permit.level > 0);
                expected.heavy_count += u64::from(last.level <= 1 && permit.level > 1);
            }
            prop_assert_eq!(permit.share == 0.0, permit.stopped || permit.level == 3);
            last = permit;
        }
        prop_assert_eq!(governor.counters(), expected);
    }

    #[test]
    fn one_that_is_off_permits_everything(law in laws(), course in course()) {
        let mut spec = spec(law);
        spec.on = false;
        spec.shutdown_c = Some(100.0);
        let mut governor = made(&spec).unwrap();
        for (dt_s, temp_c) in course {
            prop_assert_eq!(governor.update(dt_s, temp_c, 0.0), Permit::ALL);
        }
        prop_assert_eq!(governor.counters(), Counters::default());
    }

    #[test]
    fn a_delay_does_not_mind_how_a_slope_is_cut(count in 1..50u32) {
        let mut whole = governor(delay());
        let mut cut = governor(delay());
        for governor in [&mut whole, &mut cut] {
            governor.update(1.0, 80.0, 0.0);
        }
        // at its target nothing but the slope counts, however long it takes
        let share = whole.update(1e-6, 82.0, 0.0).share;
        let mut parts = 1.0;
        for part in 1..=count {
            let temp_c = 80.0 + 2.0 * f64::from(part) / f64::from(count);
            parts = cut.update(1e-6 / f64::from(count), temp_c, 0.0).share;
        }
        prop_assert!((share - 0.9).abs() < 1e-6);
        prop_assert!((share - parts).abs() < 1e-6);
    }
}

#[test]
fn a_stopped_drive_serves_again_below_its_restart() {
    let mut spec = spec(band());
    spec.shutdown_c = Some(100.0);
    spec.restart_c = Some(60.0);
    let mut governor = made(&spec).unwrap();
    assert!(!governor.update(1.0, 99.9, 0.0).stopped);
    let stopped = governor.update(1.0, 100.0, 0.0);
    assert_eq!((stopped.share, stopped.stopped), (0.0, true));
    assert!(governor.update(4.0, 60.0, 0.0).stopped);
    assert_eq!(governor.update(1.0, 59.9, 0.0), Permit::ALL);
    let counters = governor.counters();
    assert_eq!(counters.stopped_s, 5.0);
    assert_eq!((counters.light_count, counters.heavy_count), (1, 1));
    assert_eq!((counters.light_s, counters.heavy_s), (0.0, 1.0));

    spec.restart_c = None;
    let mut governor = made(&spec).unwrap();
    governor.update(1.0, 100.0, 0.0);
    assert!(governor.update(1e6, -40.0, 0.0).stopped);
}

#[test]
fn a_delay_holds_between_engaging_and_releasing() {
    let mut governor = governor(delay());
    assert_eq!(governor.update(1.0, 77.9, 0.0).share, 1.0);
    // 10 K above the target for 2 s, and 12.1 K of warming
    let share = governor.update(2.0, 90.0, 0.0).share;
    assert!((share - (1.0 - 0.002 * 10.0 * 2.0 - 0.05 * 12.1)).abs() < 1e-9);
    assert_eq!(governor.permit().level, 1);
    // still engaged below where it engages
    assert!(governor.update(0.01, 77.0, 0.0).share < 1.0 + 1e-12);
    governor.update(20.0, 110.0, 0.0);
    assert_eq!(governor.permit().level, 2);
    let held = governor.update(0.01, 109.0, 0.0).share;
    let held_below = governor.update(0.01, 108.9, 0.0).share;
    assert!(held < 1.0 && held_below < 1.0);
    assert_eq!(governor.update(0.01, 69.9, 0.0), Permit::ALL);
}

/// What a drive that reads at 7 GB/s does.
fn full_load(dt_s: f64) -> Work {
    let pages = 1.7e6 * dt_s;
    Work {
        host_read_pages: pages,
        read_pages: pages,
        busy_s: dt_s,
        active_s: dt_s,
        ..Work::default()
    }
}

/// The governed temperature and the permit every 10 ms of a drive under full load.
fn closed_loop(law: LawSpec, seconds: u32) -> (Vec<(f64, Permit)>, Counters) {
    let mut drive = sample::drive();
    drive.governor = spec(law);
    let mut heat = Heat::new(&drive, &sample::place()).unwrap();
    let mut governor = Governor::new(&drive).unwrap();
    let dt_s = 0.01;
    let course = (0..seconds * 100)
        .map(|_| {
            let permit = governor.update(dt_s, heat.governed_c(), 0.0);
            heat.step(dt_s, &full_load(dt_s).scaled(permit.share), None);
            (heat.governed_c(), permit)
        })
        .collect();
    (course, governor.counters())
}

#[test]
fn a_delay_holds_its_target_under_full_load() {
    let (course, counters) = closed_loop(delay(), 3000);
    let last = &course[course.len() / 2..];
    for (temp_c, permit) in last {
        assert!((temp_c - 80.0).abs() < 2.0, "{temp_c}");
        assert!(permit.share < 1.0);
    }
    assert_eq!(counters.light_count, 1);
    assert!(counters.light_s > 1500.0);
}

#[test]
fn a_band_settles_within_it_under_full_load() {
    let (course, _) = closed_loop(band(), 3000);
    let (before, _) = course[course.len() - 10_000];
    let (temp_c, permit) = course[course.len() - 1];
    assert!((temp_c - before).abs() < 0.05);
    assert!((70.0..90.0).contains(&temp_c));
    assert!((0.1..1.0).contains(&permit.share));
}

#[test]
fn steps_saw_between_their_levels_under_full_load() {
    let (course, counters) = closed_loop(steps(), 3000);
    let last = &course[course.len() / 2..];
    let entered: Vec<usize> = (1..last.len())
        .filter(|&at| last[at - 1].1.level == 0 && last[at].1.level == 1)
        .collect();
    assert!(entered.len() >= 3, "{}", entered.len());
    let periods: Vec<f64> = entered
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64 * 0.01)
        .collect();
    assert!(periods.iter().all(|&period_s| period_s > 4.0));
    // a limit cycle: every period like the one before
    for pair in periods.windows(2) {
        assert!((pair[0] - pair[1]).abs() < 0.1 * pair[0], "{pair:?}");
    }
    let hottest = last.iter().map(|(temp_c, _)| *temp_c).fold(0.0, f64::max);
    let coolest = last.iter().map(|(temp_c, _)| *temp_c).fold(200.0, f64::min);
    assert!(hottest >= 78.0 && coolest <= 74.0);
    assert!(counters.light_count as usize >= entered.len());
}

fn error(law: LawSpec) -> String {
    made(&spec(law)).unwrap_err().to_string()
}

fn with_levels(change: impl FnOnce(&mut Vec<Level>)) -> String {
    let mut law = steps();
    let LawSpec::Steps { levels, .. } = &mut law else {
        unreachable!()
    };
    change(levels);
    error(law)
}

#[test]
fn levels_are_in_order() {
    assert_eq!(
        with_levels(|levels| levels[1].leave_c = 84.0),
        "governor.law.levels[1].leave_c is 84: it has to be less than enter_c of its level, 84"
    );
    assert_eq!(
        with_levels(|levels| levels[1].enter_c = 78.0),
        "governor.law.levels[1].leave_c is 80: it has to be less than enter_c of its level, 78"
    );
    assert_eq!(
        with_levels(|levels| (levels[1].enter_c, levels[1].leave_c) = (78.0, 76.0)),
        "governor.law.levels[1].enter_c is 78: it has to be more than enter_c of the level \
         before, 78"
    );
    assert_eq!(
        with_levels(|levels| levels[1].leave_c = 73.0),
        "governor.law.levels[1].leave_c is 73: it has to be more than leave_c of the level \
         before, 74"
    );
    assert_eq!(
        with_levels(|levels| levels[1].share = Some(0.4)),
        "governor.law.levels[1].share is 0.4: it has to be less than that of the level before, 0.4"
    );
    assert_eq!(
        with_levels(|levels| levels[0].share = Some(1.0)),
        "governor.law.levels[0].share is 1: it has to be less than that of the level before, 1"
    );
    assert!(with_levels(Vec::clear).starts_with("governor.law.levels is empty:"));
}

fn with_states(max_w: &[f64], change: impl FnOnce(&mut Vec<Level>)) -> Result<Governor, SpecError> {
    let mut drive = sample::drive();
    let states = (0..).zip(max_w);
    drive.operational_states = states
        .map(|(state, &max_w)| OperationalStateSpec { state, max_w })
        .collect();
    let mut law = steps();
    if let LawSpec::Steps { levels, .. } = &mut law {
        change(levels);
    }
    drive.governor = spec(law);
    Governor::new(&drive)
}

fn state(level: &mut Level, state: u32) {
    (level.share, level.state) = (None, Some(state));
}

#[test]
fn operational_states_are_in_order_and_can_be_held() {
    let error = |max_w: &[f64], change: fn(&mut Vec<Level>)| {
        with_states(max_w, change).unwrap_err().to_string()
    };
    with_states(&[8.0, 6.0, 4.0], |levels| {
        state(&mut levels[0], 1);
        state(&mut levels[1], 2);
    })
    .unwrap();
    assert_eq!(
        error(&[8.0, 8.0], |_| ()),
        "operational_states[1].max_w is 8: it has to be less than that of the state before, 8"
    );
    assert_eq!(
        error(&[8.0, 1.5], |_| ()),
        "operational_states[1].max_w is 1.5: it has to be more than energy.idle_w and what is not \
         gated of energy.active_w, 1.55"
    );
    assert!(error(&[f64::NAN], |_| ()).starts_with("operational_states[0].max_w is NaN:"));
    assert_eq!(
        error(&[8.0, 6.0], |levels| state(&mut levels[0], 2)),
        "governor.law.levels[0].state is 2: operational_states has no such state"
    );
    assert_eq!(
        error(&[8.0, 6.0], |levels| {
            state(&mut levels[0], 1);
            state(&mut levels[1], 1);
        }),
        "governor.law.levels[1].state is 1: it has to be more than that of the level before"
    );
    assert_eq!(
        error(&[8.0, 6.0], |levels| levels[0].state = Some(1)),
        "governor.law.levels[0].share is 0.4: a level has a share or a state, not both"
    );
    assert_eq!(
        error(&[8.0, 6.0], |levels| levels[0].share = None),
        "governor.law.levels[0].share is missing: a level has a share or a state"
    );
}

#[test]
fn limits_are_in_order() {
    let mut wrong = spec(delay());
    wrong.shutdown_c = Some(78.0);
    assert_eq!(
        made(&wrong).unwrap_err().to_string(),
        "governor.shutdown_c is 78: it has to be more than governor.law.engage_c, 78"
    );
    wrong.shutdown_c = Some(100.0);
    wrong.restart_c = Some(100.0);
    assert_eq!(
        made(&wrong).unwrap_err().to_string(),
        "governor.restart_c is 100: it has to be less than governor.shutdown_c, 100"
    );
    let delayed = |release_c: f64, target_c: f64| {
        error(LawSpec::Delay {
            engage_c: 78.0,
            release_c,
            target_c,
            gain_per_k: 0.002,
            damping_s_per_k: 0.0,
            floor: 0.0,
        })
    };
    assert!(delayed(78.0, 80.0).starts_with("governor.law.release_c is 78:"));
    assert!(delayed(70.0, 70.0).starts_with("governor.law.target_c is 70:"));
}

/// The numbers of a law: key, whether it may be less than 0, and where it is.
fn numbers(law: &mut LawSpec) -> Vec<(String, bool, &mut f64)> {
    let name = |name: &str| format!("governor.law.{name}");
    match law {
        LawSpec::Band {
            engage_c,
            band_k,
            floor,
        } => vec![
            (name("engage_c"), true, engage_c),
            (name("band_k"), false, band_k),
            (name("floor"), false, floor),
        ],
        LawSpec::Steps { levels, dwell_s } => {
            let mut all = vec![(name("dwell_s"), false, dwell_s)];
            for (index, level) in levels.iter_mut().enumerate() {
                let Level {
                    enter_c,
                    leave_c,
                    share,
                    ..
                } = level;
                let name = |last: &str| format!("governor.law.levels[{index}].{last}");
                all.push((name("enter_c"), true, enter_c));
                all.push((name("leave_c"), true, leave_c));
                all.push((name("share"), false, share.as_mut().unwrap()));
            }
            all
        }
        LawSpec::Delay {
            engage_c,
            release_c,
            target_c,
            gain_per_k,
            damping_s_per_k,
            floor,
        } => vec![
            (name("engage_c"), true, engage_c),
            (name("release_c"), true, release_c),
            (name("target_c"), true, target_c),
            (name("gain_per_k"), false, gain_per_k),
            (name("damping_s_per_k"), false, damping_s_per_k),
            (name("floor"), false, floor),
        ],
    }
}

#[test]
fn every_wrong_number_of_a_law_is_named() {
    for law in [band(), steps(), delay()] {
        for index in 0..numbers(&mut law.clone()).len() {
            for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
                let mut law = law.clone();
                let (key, may_be_negative, number) = numbers(&mut law).swap_remove(index);
                if wrong == -1.0 && may_be_negative {
                    continue;
                }
                *number = wrong;
                let error = made(&spec(law)).expect_err(&key);
                assert_eq!(error.key, key, "{error}");
            }
        }
    }
    for wrong in [f64::NAN, f64::INFINITY, -1000.0] {
        let mut spec = spec(band());
        spec.shutdown_c = Some(wrong);
        let error = made(&spec).unwrap_err();
        assert_eq!(error.key, "governor.shutdown_c");
        spec.shutdown_c = None;
        spec.restart_c = Some(wrong);
        let error = made(&spec).unwrap_err();
        assert_eq!(error.key, "governor.restart_c");
    }
}
