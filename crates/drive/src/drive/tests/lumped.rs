use super::*;
use crate::lumped::{Demand, Level, Lumped, Profile, Recorded, Served};
use proptest::prelude::{ProptestConfig, prop, prop_assert, proptest};

/// What a workload does in a second at a share, on the exact engine.
fn level(spec: &DriveSpec, workload: &Workload, share: f64) -> String {
    let mut drive = new(spec.clone());
    fill(&mut drive);
    drive.hold(Some(share)).unwrap();
    drive.begin(std::slice::from_ref(workload)).unwrap();
    drive.advance(2.0, 1.0).unwrap();
    let (before, began_s) = (*drive.totals(), drive.t_s());
    let samples = drive.advance(4.0, 1.0).unwrap();
    let mut work = *drive.totals();
    work.add(&before.scaled(-1.0));
    let work = work.scaled(1.0 / (drive.t_s() - began_s));
    let work: Vec<String> = work
        .by_name()
        .iter()
        .map(|(name, value)| format!("\"{name}\":{}", value.max(0.0)))
        .collect();
    let mb_s = mb(&samples) / 4.0;
    let work = work.join(",");
    format!("{{\"share\":{share},\"mb_s\":{mb_s},\"work\":{{{work}}}}}")
}

fn profile(spec: &DriveSpec, workload: &Workload) -> Profile {
    let levels: Vec<String> = (1..=10)
        .map(|tenths| level(spec, workload, f64::from(tenths) / 10.0))
        .collect();
    serde_json::from_str(&format!("[{}]", levels.join(","))).unwrap()
}

#[test]
fn a_profile_gives_what_the_engine_gives() {
    let mut banded = sample::small_drive();
    banded.governor.on = true;
    banded.governor.law = Law::Band {
        engage_c: 50.0,
        band_k: 5.0,
        floor: 0.05,
    };
    // the engine is filled first, and cooled again
    for (spec, rw) in [
        (banded.clone(), Pattern::Read),
        (banded, Pattern::Write),
        (super::heat::with_states(), Pattern::Write),
    ] {
        let workload = load(rw, 128 * KIB, 32);
        let profile = profile(&spec, &workload);
        profile.validate().unwrap();
        let mut drive = new(spec.clone());
        fill(&mut drive);
        drive.advance(3000.0, 100.0).unwrap();
        let samples = run_one(&mut drive, for_s(400.0, workload), 1.0);
        let mut lumped = Lumped::new(&spec, &sample::place()).unwrap();
        lumped.rest(3000.0).unwrap();
        let found = lumped.load(&profile, 400);
        let onset_s = truth(&drive, "onset_s");
        assert!(
            (found.onset_s.unwrap() - onset_s).abs() <= 1.0,
            "{found:?} {onset_s}"
        );
        let throttled = found.mb_s[300..].iter().sum::<f64>() / 100.0;
        let name = ["write_bw_mb_s", "read_bw_mb_s"][usize::from(rw == Pattern::Read)];
        let exact = column(&samples, name)[300..400].iter().sum::<f64>() / 100.0;
        near(throttled, exact, 0.01);
    }
}

#[test]
fn a_wrong_profile_is_named() {
    let parse = |text: &str| serde_json::from_str::<Profile>(text).unwrap();
    let work = "{\"read_commands\":0,\"write_commands\":0,\"host_read_pages\":0,\
        \"host_write_pages\":0,\"read_pages\":-1,\"programmed_pages\":0,\
        \"erased_pages\":0,\"moved_pages\":0,\"busy_s\":0,\"active_s\":1}";
    for (share, mb_s, begins) in [
        ("0", "1", "profile[0].share is 0:"),
        ("1.5", "1", "profile[0].share is 1.5:"),
        ("1", "-1", "profile[0].mb_s is -1:"),
        ("1", "1", "profile[0].work.read_pages is -1:"),
    ] {
        let text = format!("[{{\"share\":{share},\"mb_s\":{mb_s},\"work\":{work}}}]");
        let error = parse(&text).validate().unwrap_err().to_string();
        assert!(error.starts_with(begins), "{error}");
    }
    assert!(parse("[]").validate().is_err());
    assert!(size_of::<Level>() > 0);
}

/// What was measured of a drive, second by second.
struct Seen {
    columns: [Vec<f64>; 7],
}

impl Seen {
    fn of(samples: &Samples, power_w: Option<&[f64]>) -> Seen {
        let some = |name: &str| column(samples, name);
        let count = some("interval_s").len();
        Seen {
            columns: [
                some("interval_s").to_vec(),
                some("read_bw_mb_s").to_vec(),
                some("write_bw_mb_s").to_vec(),
                some("read_iops").to_vec(),
                some("write_iops").to_vec(),
                power_w.map_or_else(|| vec![f64::NAN; count], <[f64]>::to_vec),
                vec![0.0; count],
            ],
        }
    }

    fn recorded(&self) -> Recorded<'_> {
        let [
            dt_s,
            read_mb_s,
            write_mb_s,
            read_iops,
            write_iops,
            power_w,
            air_k,
        ] = &self.columns;
        Recorded {
            dt_s,
            read_mb_s,
            write_mb_s,
            read_iops,
            write_iops,
            power_w,
            air_k,
        }
    }
}

#[test]
fn heat_follows_what_was_recorded_as_on_the_engine() {
    let mut spec = sample::small_drive();
    spec.governor.on = true;
    spec.governor.law = Law::Band {
        engage_c: 50.0,
        band_k: 5.0,
        floor: 0.05,
    };
    let mut drive = new(spec.clone());
    fill(&mut drive);
    drive.advance(3000.0, 100.0).unwrap();
    let samples = run_one(
        &mut drive,
        for_s(300.0, load(Pattern::Read, 128 * KIB, 32)),
        1.0,
    );
    let exact = column(&samples, "temp_c.sensor2");
    let power = column(&samples, "power_w");
    for power_w in [None, Some(power)] {
        let seen = Seen::of(&samples, power_w);
        let mut lumped = Lumped::new(&spec, &sample::place()).unwrap();
        let found = lumped.follow(&seen.recorded()).unwrap();
        for (index, exact_c) in exact.iter().enumerate().filter(|(_, c)| c.is_finite()) {
            let off_k = (found.sensors_c[1][index] - exact_c).abs();
            assert!(
                off_k < 1.0,
                "{index}: {} {exact_c}",
                found.sensors_c[1][index]
            );
        }
        near(found.power_w[299], power[299], 0.02);
    }
}

#[test]
fn writes_that_the_flash_cannot_take_directly_cost_what_the_cache_costs() {
    let mut spec = sample::small_drive();
    (spec.energy.program_uj, spec.energy.cache_program_uj) = (9.0, Some(1.0));
    let mut cached = spec.clone();
    cached.cache = Some(cache(CacheKind::Dynamic, GIB / 8));
    let unit_mb = spec.nand.unit_bytes as f64 * 1e-6;
    let direct_mb_s = f64::from(spec.nand.dies) * unit_mb / (spec.nand.program_us * 1e-6);
    let power_w = |spec: &DriveSpec, mb_s: f64| {
        let mut lumped = Lumped::new(spec, &sample::place()).unwrap();
        let still = Recorded {
            dt_s: &[1.0],
            read_mb_s: &[0.0],
            write_mb_s: &[mb_s],
            read_iops: &[0.0],
            write_iops: &[0.0],
            power_w: &[f64::NAN],
            air_k: &[0.0],
        };
        lumped.follow(&still).unwrap().power_w[0]
    };
    near(
        power_w(&cached, direct_mb_s),
        power_w(&spec, direct_mb_s),
        1e-9,
    );
    let fast_mb_s = 1.5 * direct_mb_s;
    let less_w = 8e-6 * fast_mb_s * 1e6 / 4096.0;
    let saved_w = power_w(&spec, fast_mb_s) - power_w(&cached, fast_mb_s);
    near(saved_w, less_w, 1e-3);
}

#[test]
fn a_drive_that_did_not_rest_comes_to_rest() {
    let spec = sample::small_drive();
    let mut lumped = Lumped::new(&spec, &sample::place()).unwrap();
    let mut warm = lumped.clone();
    warm.warm(20.0);
    let nothing = [0.0; 3000];
    let unknown = [f64::NAN; 3000];
    let still = Recorded {
        dt_s: &[1.0; 3000],
        read_mb_s: &nothing,
        write_mb_s: &nothing,
        read_iops: &nothing,
        write_iops: &nothing,
        power_w: &unknown,
        air_k: &nothing,
    };
    let (rested, cooled) = (lumped.follow(&still).unwrap(), warm.follow(&still).unwrap());
    assert!(cooled.governed_c[0] > rested.governed_c[0] + 15.0);
    assert!((cooled.governed_c[2999] - rested.governed_c[2999]).abs() < 0.1);
    let short = Recorded {
        power_w: &[],
        ..still
    };
    let error = lumped.follow(&short).unwrap_err().to_string();
    assert!(error.starts_with("the length of power_w is 0:"), "{error}");
}

#[test]
fn a_drive_follows_air_that_warms_at_its_own_pace() {
    let spec = sample::small_drive();
    let lumped = Lumped::new(&spec, &sample::place()).unwrap();
    let nothing = [0.0; 3000];
    let mut warmer = [10.0; 3000];
    warmer[..10].fill(0.0);
    let still = Recorded {
        dt_s: &[1.0; 3000],
        read_mb_s: &nothing,
        write_mb_s: &nothing,
        read_iops: &nothing,
        write_iops: &nothing,
        power_w: &[f64::NAN; 3000],
        air_k: &nothing,
    };
    let rested = lumped.clone().follow(&still).unwrap();
    let followed = lumped
        .clone()
        .follow(&Recorded {
            air_k: &warmer,
            ..still
        })
        .unwrap();
    let more_k = |index: usize| followed.governed_c[index] - rested.governed_c[index];
    assert_eq!(more_k(9), 0.0);
    assert!(more_k(10) < 2.0, "{}", more_k(10));
    near(more_k(2999), 10.0, 0.1);
    // what always was in warm air is warm from the start
    let began = lumped
        .clone()
        .follow(&Recorded {
            air_k: &[10.0; 3000],
            ..still
        })
        .unwrap();
    near(began.governed_c[0] - rested.governed_c[0], 10.0, 0.1);
}

/// A drive that its governor holds at 50 C.
fn held() -> DriveSpec {
    let mut spec = sample::small_drive();
    spec.governor.on = true;
    spec.governor.law = Law::Band {
        engage_c: 50.0,
        band_k: 5.0,
        floor: 0.05,
    };
    spec
}

/// Serve reads of so many 10^6 bytes a second, of a drive that reads `full_mb_s` at most.
fn served(spec: &DriveSpec, mb_s: &[f64], read_iops: &[f64], full_mb_s: f64) -> Served {
    let (nothing, full_share): (Vec<f64>, Vec<f64>) =
        mb_s.iter().map(|mb_s| (0.0, mb_s / full_mb_s)).unzip();
    let demand = Demand {
        read_mb_s: mb_s,
        write_mb_s: &nothing,
        read_iops,
        write_iops: &nothing,
        full_share: &full_share,
    };
    let mut lumped = Lumped::new(spec, &sample::place()).unwrap();
    lumped.serve(&demand, f64::INFINITY).unwrap()
}

#[test]
fn a_demand_of_full_speed_is_held_back_as_the_load_itself() {
    let spec = held();
    let mut drive = new(spec.clone());
    fill(&mut drive);
    drive.advance(3000.0, 100.0).unwrap();
    let reads = for_s(400.0, load(Pattern::Read, 128 * KIB, 32));
    let samples = run_one(&mut drive, reads, 1.0);
    let [mb_s, iops] = ["read_bw_mb_s", "read_iops"].map(|name| column(&samples, name));
    let (full_mb_s, full_iops) = (mb_s[1], iops[1]);
    let found = served(&spec, &[full_mb_s; 400], &[full_iops; 400], full_mb_s);
    let onset_s = truth(&drive, "onset_s");
    let late = found.late_s.iter().position(|late_s| *late_s > 0.0);
    assert!(
        (late.unwrap() as f64 - onset_s).abs() <= 2.0,
        "{late:?} {onset_s}"
    );
    let throttled = found.mb_s[300..].iter().sum::<f64>() / 100.0;
    near(throttled, mb_s[300..400].iter().sum::<f64>() / 100.0, 0.01);
}

#[test]
fn what_heat_permits_is_never_late_and_what_waits_is_served_later() {
    let spec = held();
    let gentle = served(&spec, &[20.0; 2000], &[150.0; 2000], 2000.0);
    assert!(gentle.late_s.iter().all(|late_s| *late_s == 0.0));
    // five minutes of all that it can do, then nothing: it catches up
    let burst: Vec<f64> = (0..3000)
        .map(|second| if second < 300 { 5000.0 } else { 0.0 })
        .collect();
    let iops: Vec<f64> = burst.iter().map(|mb_s| mb_s / 0.131).collect();
    let found = served(&spec, &burst, &iops, 5000.0);
    assert!(found.late_s[299] > 1.0, "{}", found.governed_c[299]);
    near(found.late_s[299] * 5000.0, found.waiting_mb[299], 1e-6);
    assert!(found.late_s[2999] == 0.0 && found.waiting_mb[2999] == 0.0);
    near(found.mb_s.iter().sum(), burst.iter().sum(), 1e-9);
}

#[test]
fn a_demand_is_followed_until_enough_of_it_is_late() {
    let (asked, iops) = (vec![5000.0; 600], vec![38_000.0; 600]);
    let whole = served(&held(), &asked, &iops, 5000.0);
    let nothing = vec![0.0; 600];
    let demand = Demand {
        read_mb_s: &asked,
        write_mb_s: &nothing,
        read_iops: &iops,
        write_iops: &nothing,
        full_share: &vec![1.0; 600],
    };
    let mut lumped = Lumped::new(&held(), &sample::place()).unwrap();
    let part = lumped.serve(&demand, 2.0).unwrap();
    let count = part.mb_s.len();
    assert!(count < 600 && part.late_s[count - 1] > 2.0 && part.late_s[count - 2] <= 2.0);
    assert_eq!(part.mb_s, whole.mb_s[..count]);
}

#[test]
fn a_wrong_demand_is_named() {
    let error = |read_mb_s: &[f64], full_share: &[f64]| {
        let demand = Demand {
            read_mb_s,
            write_mb_s: &[0.0],
            read_iops: &[0.0],
            write_iops: &[0.0],
            full_share,
        };
        let mut lumped = Lumped::new(&held(), &sample::place()).unwrap();
        lumped.serve(&demand, 1.0).unwrap_err().to_string()
    };
    assert!(error(&[], &[0.0]).starts_with("the length of read_mb_s is 0: it has to be 1"));
    assert!(error(&[-1.0], &[0.0]).starts_with("read_mb_s is -1:"));
    assert!(error(&[f64::NAN], &[0.0]).starts_with("read_mb_s is NaN:"));
    assert!(error(&[1.0], &[0.0]).starts_with("full_share is 0: it has to be more than 0"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn nothing_that_is_asked_for_is_lost(
        bursts in prop::collection::vec((0.0..5000.0f64, 1..120usize), 1..12),
    ) {
        let asked: Vec<f64> = bursts
            .iter()
            .flat_map(|&(mb_s, count)| std::iter::repeat_n(if mb_s < 1000.0 { 0.0 } else { mb_s }, count))
            .collect();
        let iops: Vec<f64> = asked.iter().map(|mb_s| mb_s / 0.131).collect();
        let found = served(&held(), &asked, &iops, 3000.0);
        let (mut wanted_mb, mut moved_mb) = (0.0, 0.0);
        for (second, mb) in asked.iter().enumerate() {
            wanted_mb += mb;
            moved_mb += found.mb_s[second];
            let off_mb = wanted_mb - moved_mb - found.waiting_mb[second];
            prop_assert!(off_mb.abs() <= 1e-6 * (wanted_mb + 1.0), "{second}: {off_mb}");
            prop_assert!(found.mb_s[second] <= 3000.0 * (1.0 + 1e-9));
        }
    }
}
