use super::*;

fn balanced(drive: &Drive) {
    let ledger = drive.heat.ledger();
    let wrong_j = (ledger.fed_j - ledger.out_j - ledger.stored_j).abs();
    assert!(
        wrong_j <= 1e-9 * ledger.fed_j,
        "{wrong_j} of {}",
        ledger.fed_j
    );
}

fn governed(law: Law) -> DriveSpec {
    let mut spec = sample::small_drive();
    spec.governor.on = true;
    spec.governor.law = law;
    spec
}

fn writes(runtime_s: f64) -> Workload {
    for_s(runtime_s, load(Pattern::Write, 128 * KIB, 32))
}

#[test]
fn energy_is_kept_with_everything_on() {
    let mut spec = governed(Law::Band {
        engage_c: 45.0,
        band_k: 5.0,
        floor: 0.1,
    });
    spec.cache = Some(cache(CacheKind::Dynamic, 40 * MIB));
    let mut drive = new(spec);
    let mut drawn_j = 0.0;
    let mut note = |samples: &Samples| drawn_j += sum(samples, "power_w");
    note(&fill(&mut drive));
    note(&run_one(
        &mut drive,
        for_s(20.0, load(Pattern::RandRw, 4096, 32)),
        0.25,
    ));
    note(&drive.advance(30.0, 0.3).unwrap());
    drive.purge().unwrap();
    note(&drive.advance(30.0, 1.0).unwrap());
    note(&run_one(&mut drive, writes(20.0), 1.0));
    balanced(&drive);
    // the samples' power is all but what the place feeds
    near(
        drawn_j + 0.2 * drive.t_s(),
        truth(&drive, "energy_in_j"),
        1e-9,
    );
}

#[test]
fn a_drive_draws_less_the_less_is_permitted() {
    let mut filled = new(sample::small_drive());
    fill(&mut filled);
    for (rw, bs) in [
        (Pattern::Read, 128 * KIB),
        (Pattern::Write, 128 * KIB),
        (Pattern::RandRead, 4 * KIB),
        (Pattern::RandWrite, 4 * KIB),
    ] {
        let powers_w = [0.002, 0.01, 0.05, 0.2, 0.5, 1.0].map(|share| {
            let mut drive = filled.copy().unwrap();
            drive.hold(Some(share)).unwrap();
            mean(
                &run_one(&mut drive, for_s(2.0, load(rw, bs, 32)), 1.0),
                "power_w",
            )
        });
        assert!(powers_w.is_sorted(), "{powers_w:?}");
        // what is left where next to nothing is permitted is what no firmware gates
        let energy = sample::small_drive().energy;
        let awake_w = energy.idle_w + energy.leakage_at_w(filled.heat.controller_c());
        let ungated_w = awake_w + energy.ungated_active * energy.active_w;
        let more = (powers_w[0] - ungated_w) / (powers_w[5] - ungated_w);
        assert!((0.0..0.03).contains(&more), "{more} of {powers_w:?}");
    }
}

#[test]
fn a_band_holds_its_band_and_counts() {
    let mut drive = new(governed(Law::Band {
        engage_c: 55.0,
        band_k: 10.0,
        floor: 0.05,
    }));
    drive.begin(&[writes(900.0)]).unwrap();
    drive.advance(600.0, 1.0).unwrap();
    let samples = drive.advance(200.0, 1.0).unwrap();
    let governed_c = drive.heat.governed_c();
    assert!((55.0..65.0).contains(&governed_c), "{governed_c}");
    let permitted = column(&samples, "sim.permitted");
    assert!(permitted.iter().all(|share| *share < 1.0 && *share > 0.05));
    near(permitted[199], permitted[100], 0.01);
    near(
        permitted[199],
        1.0 - 0.95 * (governed_c - 55.0) / 10.0,
        0.01,
    );
    assert_eq!(column(&samples, "throttle_count.1")[0], 1.0);
    let time_s = column(&samples, "throttle_time_s.1");
    near(time_s[199] - time_s[0], 199.0, 0.01);
    let onset_s = truth(&drive, "onset_s");
    assert!(onset_s > 1.0 && onset_s < 600.0, "{onset_s}");
    balanced(&drive);
}

#[test]
fn steps_make_a_limit_cycle() {
    let mut drive = new(governed(Law::Steps {
        levels: vec![Level {
            enter_c: 65.5,
            leave_c: 65.0,
            share: Some(0.2),
            state: None,
        }],
        dwell_s: 1.0,
    }));
    let samples = run_one(&mut drive, writes(900.0), 1.0);
    let permitted = &column(&samples, "sim.permitted")[400..900];
    assert!(permitted.iter().any(|share| *share > 0.999));
    assert!(permitted.iter().any(|share| *share < 0.201));
    let counts = column(&samples, "throttle_count.1");
    assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(counts[899] > counts[400] + 2.0, "{}", counts[899]);
    let fell = permitted
        .windows(2)
        .filter(|pair| pair[1] < pair[0])
        .count() as f64;
    assert!(fell >= counts[899] - counts[400] - 1.0);
}

#[test]
fn a_level_of_a_few_percent_with_a_dwell_makes_a_trickle_for_seconds_and_then_full_speed() {
    let dwell_s = 4.0;
    let mut drive = new(governed(Law::Steps {
        levels: vec![Level {
            enter_c: 55.0,
            leave_c: 53.0,
            share: Some(0.02),
            state: None,
        }],
        dwell_s,
    }));
    let samples = run_one(&mut drive, writes(600.0), 0.1);
    let rates = &column(&samples, "write_bw_mb_s")[10..5990];
    let full_mb_s = rates[100];
    // a sample in which it changes is between
    let is_slow = |rate: &f64| *rate < 0.5 * full_mb_s;
    let stretches: Vec<&[f64]> = rates
        .chunk_by(|one, next| is_slow(one) == is_slow(next))
        .collect();
    assert!(stretches.len() > 10, "{}", stretches.len());
    for stretch in &stretches[1..stretches.len() - 1] {
        assert!(stretch.len() as f64 >= dwell_s / 0.1 - 1.0, "{stretch:?}");
        // a share is of the data path, which is faster than the flash
        let expected_mb_s = if is_slow(&stretch[0]) {
            0.02 * 5000.0
        } else {
            full_mb_s
        };
        let whole = &stretch[1..stretch.len() - 1];
        near(
            whole.iter().sum::<f64>() / whole.len() as f64,
            expected_mb_s,
            0.1,
        );
    }
    let counts = column(&samples, "throttle_count.1");
    let last = counts.iter().rfind(|count| !count.is_nan()).unwrap();
    assert!((last - stretches.len() as f64 / 2.0).abs() <= 1.0, "{last}");
}

/// A drive that goes to a state of 4 W at 50 C and stays there.
pub(super) fn with_states() -> DriveSpec {
    let mut spec = governed(Law::Steps {
        levels: vec![Level {
            enter_c: 50.0,
            leave_c: 30.0,
            share: None,
            state: Some(1),
        }],
        dwell_s: 1.0,
    });
    spec.operational_states = vec![
        OperationalStateSpec {
            state: 0,
            max_w: 9.0,
        },
        OperationalStateSpec {
            state: 1,
            max_w: 4.0,
        },
    ];
    spec
}

#[test]
fn a_level_with_a_state_keeps_the_mean_power_at_the_states() {
    let mut drive = new(with_states());
    let samples = run_one(&mut drive, writes(300.0), 0.1);
    let onset_s = truth(&drive, "onset_s");
    assert!(onset_s > 1.0 && onset_s < 200.0, "{onset_s}");
    let since = |name: &str| &column(&samples, name)[(10.0 * onset_s) as usize + 10..2990];
    let powers_w = since("power_w");
    for second in powers_w.chunks_exact(10) {
        near(second.iter().sum::<f64>() / 10.0, 4.0, 0.01);
    }
    for share in since("sim.permitted") {
        assert!((0.1..0.9).contains(share), "{share}");
    }
    assert!(column(&samples, "power_w")[(10.0 * onset_s) as usize - 10] > 5.0);
    assert_eq!(truth(&drive, "level"), 1.0);
    // a lighter load draws less, and all of it is permitted
    let light = Workload {
        rate: Some(100e6),
        ..writes(20.0)
    };
    let samples = run_one(&mut drive, light, 1.0);
    assert!(column(&samples, "power_w")[10] < 4.0);
    near(column(&samples, "sim.permitted")[10], 1.0, 1e-9);
    near(column(&samples, "write_bw_mb_s")[10], 100.0, 0.01);
    balanced(&drive);
}

pub(super) fn cooking(restart_c: Option<f64>) -> DriveSpec {
    let mut spec = governed(Law::Band {
        engage_c: 57.0,
        band_k: 50.0,
        floor: 0.5,
    });
    spec.governor.shutdown_c = Some(60.0);
    spec.governor.restart_c = restart_c;
    spec
}

#[test]
fn a_shutdown_is_for_good_where_nothing_restarts() {
    let mut drive = new(cooking(None));
    let samples = run_one(&mut drive, writes(900.0), 1.0);
    assert!(drive.is_stopped() && drive.is_done());
    assert!(drive.t_s() < 900.0);
    near(mb(&samples) * 1e6, truth(&drive, "served_bytes"), 1e-12);
    let shutdown_c = truth(&drive, "shutdown_c");
    assert!((60.0..61.0).contains(&shutdown_c), "{shutdown_c}");
    near(truth(&drive, "shutdown_s"), drive.t_s(), 0.01);
    drive.advance(600.0, 10.0).unwrap();
    assert_eq!(truth(&drive, "shutdown_c"), shutdown_c);
    let later = run_one(&mut drive, writes(10.0), 1.0);
    assert_eq!(mb(&later), 0.0);
    assert!(drive.is_done() && drive.is_stopped());
    // it never warms for it
    let mut held = new(cooking(None));
    held.hold(Some(1.0)).unwrap();
    run_one(&mut held, writes(900.0), 1.0);
    assert!(!held.is_stopped() && held.t_s() >= 900.0);
}

#[test]
fn a_hot_drive_folds_its_cache_no_faster_than_its_governor_permits() {
    let mut spec = governed(Law::Band {
        engage_c: 35.0,
        band_k: 20.0,
        floor: 0.3,
    });
    spec.capacity.raw_bytes += 400 * MIB;
    spec.cache = Some(cache(CacheKind::Dynamic, 128 * MIB));
    let mut drive = new(spec);
    let write = load(Pattern::Write, 128 * KIB, 32);
    run_one(&mut drive, for_bytes(128 * MIB, write), 0.1);
    run_one(
        &mut drive,
        for_s(60.0, load(Pattern::Read, 128 * KIB, 32)),
        1.0,
    );
    assert!(truth(&drive, "permitted") < 0.95);
    let mut free = drive.copy().unwrap();
    free.hold(Some(1.0)).unwrap();
    let left = [&mut drive, &mut free].map(|one| {
        one.advance(2.5, 0.1).unwrap();
        truth(one, "cached_gb")
    });
    assert!(left[0] > left[1], "{left:?}");
    balanced(&drive);
}

#[test]
fn a_shutdown_ends_where_it_cooled() {
    let mut drive = new(cooking(Some(52.0)));
    let samples = run_one(&mut drive, writes(900.0), 1.0);
    assert!(!drive.is_stopped() && drive.t_s() >= 900.0);
    let rates = column(&samples, "write_bw_mb_s");
    let last = rates.len() - 1;
    assert!(
        rates[..last]
            .windows(2)
            .any(|pair| pair[0] == 0.0 && pair[1] > 0.0)
    );
    assert!(
        column(&samples, "sim.controller_c")
            .iter()
            .all(|temp_c| *temp_c < 75.0)
    );
    balanced(&drive);
}

#[test]
fn rest_saves_power_and_the_first_command_pays() {
    let mut spec = sample::small_drive();
    spec.collection.idle_mb_s = 0.0;
    let mut drive = new(spec);
    fill(&mut drive);
    let samples = drive.advance(4.0, 0.05).unwrap();
    let states = column(&samples, "power_state");
    let power_w = column(&samples, "power_w");
    assert_eq!((states[0], states[10], states[79]), (0.0, 3.0, 4.0));
    assert!(power_w[0] >= 0.8);
    near(power_w[10], 0.05, 1e-6);
    near(power_w[79], 0.005, 1e-6);
    let samples = run_one(
        &mut drive,
        for_bytes(8192, load(Pattern::Read, 4096, 1)),
        0.1,
    );
    let [longest_us, mean_us] =
        ["read_lat_max_us", "read_lat_us"].map(|name| column(&samples, name)[0]);
    near(longest_us, 45_000.0 + 64.4, 1e-4);
    near(mean_us, 22_500.0 + 64.4, 1e-3);
}
