use super::*;
use crate::heat::Work;
use crate::lumped::{Demand, Lumped, Others, Recorded, Served};
use crate::spec::NodeSpec;
use proptest::prelude::{ProptestConfig, prop, prop_assert, proptest};

/// What rates cost: reads come from flash, and writes are programmed once.
fn work(spec: &DriveSpec, mb_s: [f64; 2], iops: [f64; 2]) -> Work {
    let [reads, writes] = mb_s.map(|mb_s| mb_s * 1e6 / PAGE_BYTES as f64);
    let (read_us, write_us) = (
        spec.controller.read_command_us,
        spec.controller.write_command_us,
    );
    Work {
        read_commands: iops[0],
        write_commands: iops[1],
        host_read_pages: reads,
        host_write_pages: writes,
        read_pages: reads,
        programmed_pages: writes,
        erased_pages: writes,
        busy_s: (iops[0] * read_us + iops[1] * write_us) * 1e-6,
        ..Work::default()
    }
}

/// What was measured of a drive, second by second.
fn seen(spec: &DriveSpec, samples: &Samples) -> Vec<Work> {
    let [read_mb_s, write_mb_s, read_iops, write_iops] =
        ["read_bw_mb_s", "write_bw_mb_s", "read_iops", "write_iops"]
            .map(|name| column(samples, name));
    let permitted = column(samples, "sim.permitted");
    (0..read_mb_s.len())
        .map(|at| {
            let some = |values: [f64; 2]| values.map(|value| value.max(0.0));
            let iops = some([read_iops[at], write_iops[at]]);
            Work {
                active_s: permitted[at],
                ..work(spec, some([read_mb_s[at], write_mb_s[at]]), iops)
            }
        })
        .collect()
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
    let (work, unknown) = (seen(&spec, &samples), vec![f64::NAN; power.len()]);
    for power_w in [unknown.as_slice(), power] {
        let recorded = Recorded {
            dt_s: column(&samples, "interval_s"),
            work: &work,
            power_w,
            air_k: &vec![0.0; power.len()],
        };
        let mut lumped = Lumped::new(&spec, &sample::place()).unwrap();
        let found = lumped.follow(&recorded).unwrap();
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
fn a_drive_that_did_not_rest_comes_to_rest() {
    let spec = sample::small_drive();
    let mut lumped = Lumped::new(&spec, &sample::place()).unwrap();
    let mut warm = lumped.clone();
    warm.warm(20.0);
    let nothing = [0.0; 3000];
    let unknown = [f64::NAN; 3000];
    let still = Recorded {
        dt_s: &[1.0; 3000],
        work: &[Work::default(); 3000],
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
        work: &[Work::default(); 3000],
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

/// Serve reads of so many 10^6 bytes in each second, in blocks of 128 KiB, of a drive that reads
/// `full_mb_s` at most; `least_share` is that of all of them.
fn served(
    spec: &DriveSpec,
    mb_s: &[f64],
    full_mb_s: f64,
    least_share: f64,
    (seconds, most_late_s): (Option<u32>, f64),
) -> Served {
    let full_share: Vec<f64> = mb_s.iter().map(|mb_s| mb_s / full_mb_s).collect();
    let reads = |mb_s: &f64| work(spec, [*mb_s, 0.0], [mb_s / 0.131, 0.0]);
    let work: Vec<Work> = mb_s.iter().map(reads).collect();
    let demand = Demand {
        dt_s: &vec![1.0; mb_s.len()],
        mb_s,
        full_share: &full_share,
        least_share: &vec![least_share; mb_s.len()],
        work: &work,
        air_k: &[],
    };
    let mut lumped = Lumped::new(spec, &sample::place()).unwrap();
    lumped.serve(&demand, seconds, most_late_s).unwrap()
}

const ALL: (Option<u32>, f64) = (None, f64::INFINITY);

#[test]
fn a_demand_of_full_speed_is_held_back_as_the_load_itself() {
    let spec = held();
    let mut drive = new(spec.clone());
    fill(&mut drive);
    drive.advance(3000.0, 100.0).unwrap();
    let reads = for_s(400.0, load(Pattern::Read, 128 * KIB, 32));
    let samples = run_one(&mut drive, reads, 1.0);
    let mb_s = column(&samples, "read_bw_mb_s");
    let found = served(
        &spec,
        &[mb_s[1]; 400],
        mb_s[1],
        1.0,
        (Some(400), f64::INFINITY),
    );
    let onset_s = truth(&drive, "onset_s");
    assert!(
        (found.onset_s.unwrap() - onset_s).abs() <= 1.0,
        "{found:?} {onset_s}"
    );
    near(found.onset_sensor_c, truth(&drive, "onset_sensor_c"), 0.02);
    let throttled = found.mb_s[300..].iter().sum::<f64>() / 100.0;
    near(throttled, mb_s[300..400].iter().sum::<f64>() / 100.0, 0.01);
}

#[test]
fn what_heat_permits_is_never_late_and_what_waits_is_served_later() {
    let spec = held();
    let gentle = served(&spec, &[20.0; 2000], 2000.0, 0.0, ALL);
    assert!(gentle.late_s.iter().all(|late_s| *late_s == 0.0));
    assert_eq!(gentle.onset_s, None);
    // five minutes of all that it can do, then nothing: it catches up
    let burst: Vec<f64> = (0..3000)
        .map(|second| if second < 300 { 5000.0 } else { 0.0 })
        .collect();
    let found = served(&spec, &burst, 5000.0, 0.0, ALL);
    assert!(found.late_s[299] > 1.0, "{}", found.governed_c[299]);
    near(found.late_s[299] * 5000.0, found.waiting_mb[299], 1e-6);
    assert!(found.late_s[2999] == 0.0 && found.waiting_mb[2999] < 1e-3);
    near(found.mb_s.iter().sum(), burst.iter().sum(), 1e-9);
    // up to the next burst it rests, however many there were
    let bursts: Vec<f64> = burst.iter().cycle().take(6000).copied().collect();
    let again = served(&spec, &bursts, 5000.0, 0.0, ALL);
    near(again.governed_c[2999], found.governed_c[2999], 1e-6);
}

#[test]
fn a_rate_is_held_as_long_as_enough_is_permitted_for_it_as_on_the_engine() {
    let spec = held();
    let mut drive = new(spec.clone());
    fill(&mut drive);
    let full = run_one(
        &mut drive,
        for_s(10.0, load(Pattern::Read, 128 * KIB, 32)),
        1.0,
    );
    let full_mb_s = column(&full, "read_bw_mb_s")[5];
    for part in [0.5, 0.7, 0.9] {
        drive.advance(3000.0, 100.0).unwrap();
        let reads = Workload {
            rate: Some(part * full_mb_s * 1e6),
            ..load(Pattern::Read, 128 * KIB, 32)
        };
        let samples = run_one(&mut drive, for_s(400.0, reads), 1.0);
        let mb_s = vec![part * full_mb_s; 400];
        let found = served(&spec, &mb_s, full_mb_s, 0.0, (Some(400), f64::INFINITY));
        let exact = column(&samples, "read_bw_mb_s")[300..400]
            .iter()
            .sum::<f64>()
            / 100.0;
        near(found.mb_s[300..].iter().sum::<f64>() / 100.0, exact, 0.01);
    }
}

#[test]
fn a_demand_is_followed_until_enough_of_it_is_late() {
    let whole = served(&held(), &[5000.0; 600], 5000.0, 0.0, ALL);
    let part = served(&held(), &[5000.0; 600], 5000.0, 0.0, (None, 2.0));
    let count = part.mb_s.len();
    assert!(count < 600 && part.late_s[count - 1] > 2.0 && part.late_s[count - 2] <= 2.0);
    assert_eq!(part.mb_s, whole.mb_s[..count]);
    // what is held back takes longer, and all of it is served
    assert!(whole.mb_s.len() > 600);
    near(whole.mb_s.iter().sum(), 600.0 * 5000.0, 1e-6);
}

#[test]
fn a_wrong_demand_is_named() {
    let error = |mb_s: &[f64], full_share: &[f64], read_pages: f64| {
        let work = Work {
            read_pages,
            ..Work::default()
        };
        let demand = Demand {
            dt_s: &[1.0],
            mb_s,
            full_share,
            least_share: &[0.0],
            work: &[work],
            air_k: &[],
        };
        let mut lumped = Lumped::new(&held(), &sample::place()).unwrap();
        lumped.serve(&demand, None, 1.0).unwrap_err().to_string()
    };
    assert!(error(&[], &[0.0], 0.0).starts_with("the length of mb_s is 0: it has to be 1"));
    assert!(error(&[-1.0], &[0.0], 0.0).starts_with("mb_s is -1:"));
    assert!(error(&[f64::NAN], &[0.0], 0.0).starts_with("mb_s is NaN:"));
    assert!(error(&[1.0], &[0.0], 0.0).starts_with("full_share is 0: it has to be more than 0"));
    assert!(error(&[1.0], &[1.0], -1.0).starts_with("work.read_pages is -1:"));
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
        let seconds = Some(asked.len() as u32);
        let found = served(&held(), &asked, 3000.0, 0.0, (seconds, f64::INFINITY));
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

/// Half an hour of writes in bursts, in air that a neighbour warms.
fn bursts(power_w: f64) -> (Vec<f64>, Vec<Work>, Vec<f64>, Vec<f64>) {
    let spec = sample::small_drive();
    let at = |second: usize| match second % 200 {
        ..120 => work(&spec, [200.0, 900.0], [1500.0, 7000.0]),
        _ => Work::default(),
    };
    let air_k = |second: usize| 8.0 * (1.0 - (-(second as f64) / 300.0).exp());
    (
        (0..1800)
            .map(|second| if second < 20 { 2.5 } else { 1.0 })
            .collect(),
        (0..1800).map(at).collect(),
        (0..1800)
            .map(|second| {
                if second % 200 < 120 {
                    power_w
                } else {
                    power_w / 6.0
                }
            })
            .collect(),
        (0..1800).map(air_k).collect(),
    )
}

#[test]
fn drives_beside_one_go_as_far_as_they_do_alone() {
    let moved: [fn(&mut DriveSpec, &mut EnclosureSpec); 9] = [
        |drive, _| drive.thermal.nodes.get_mut("controller").unwrap().j_per_k *= 1.001,
        |drive, _| drive.thermal.links.values_mut().next().unwrap().k_per_w *= 1.001,
        |_, place| {
            place
                .links
                .values_mut()
                .for_each(|link| link.k_per_w *= 1.001)
        },
        |_, place| place.air_c += 0.01,
        |drive, _| drive.energy.idle_w *= 1.001,
        |drive, _| drive.energy.leakage_w *= 1.001,
        |drive, _| drive.energy.program_uj *= 1.001,
        |drive, _| {
            drive
                .power_states
                .iter_mut()
                .for_each(|one| one.power_w *= 1.001)
        },
        |drive, _| {
            drive
                .sensors
                .values_mut()
                .for_each(|one| one.lag_s = one.lag_s * 1.001 + 0.001)
        },
    ];
    let (spec, place) = (sample::small_drive(), sample::place());
    for measured_w in [f64::NAN, 6.0] {
        let (dt_s, work, power_w, air_k) = bursts(measured_w);
        let recorded = Recorded {
            dt_s: &dt_s,
            work: &work,
            power_w: &power_w,
            air_k: &air_k,
        };
        let alone = Lumped::new(&spec, &place)
            .unwrap()
            .follow(&recorded)
            .unwrap();
        let drives: Vec<Lumped> = moved
            .iter()
            .map(|change| {
                let (mut spec, mut place) = (spec.clone(), place.clone());
                change(&mut spec, &mut place);
                Lumped::new(&spec, &place).unwrap()
            })
            .collect();
        let width = 1 + drives.len();
        // the last of them measures more, in air that its neighbour warms more
        let mut measured_x = vec![1.0; drives.len()];
        measured_x[8] = 1.001;
        let warmed = |k: &f64| [vec![*k; 8], vec![1.001 * k]].concat();
        let others_k: Vec<f64> = air_k.iter().flat_map(warmed).collect();
        let others = Others {
            drives: drives.clone(),
            measured_x,
            air_k: &others_k,
        };
        let mut base = Lumped::new(&spec, &place).unwrap();
        let beside = base.follow_beside(&recorded, others).unwrap();
        for (index, mut drive) in drives.into_iter().enumerate() {
            let more = if index == 8 { 1.001 } else { 1.0 };
            let own_w: Vec<f64> = power_w.iter().map(|power_w| more * power_w).collect();
            let own_k: Vec<f64> = air_k.iter().map(|k| more * k).collect();
            let own = drive
                .follow(&Recorded {
                    air_k: &own_k,
                    power_w: &own_w,
                    ..recorded
                })
                .unwrap();
            for (own, alone, beside) in [
                (&own.governed_c, &alone.governed_c, &beside.governed_c),
                (&own.sensors_c[0], &alone.sensors_c[0], &beside.sensors_c[0]),
                (&own.power_w, &alone.power_w, &beside.power_w),
            ] {
                let off = |at: usize| {
                    (
                        own[at] - alone[at],
                        beside[at * width + index + 1] - alone[at],
                    )
                };
                let furthest = (0..own.len())
                    .map(|at| off(at).0.abs())
                    .fold(1e-9, f64::max);
                for at in 0..own.len() {
                    let (goes, went) = off(at);
                    assert!(
                        (goes - went).abs() < 0.005 * furthest,
                        "{index} {at}: {goes} {went}"
                    );
                    assert_eq!(beside[at * width], alone[at]);
                }
            }
        }
    }
}

#[test]
fn a_drive_of_another_network_is_not_followed_beside() {
    let (spec, mut other) = (sample::small_drive(), sample::place());
    let mut base = Lumped::new(&spec, &sample::place()).unwrap();
    other
        .nodes
        .insert("plate".to_owned(), NodeSpec { j_per_k: 20.0 });
    other.links.insert(
        "plate".to_owned(),
        sample::link("board", "plate", 1.0, None),
    );
    let others = Others {
        drives: vec![Lumped::new(&spec, &other).unwrap()],
        measured_x: vec![1.0],
        air_k: &[],
    };
    let none = Recorded {
        dt_s: &[],
        work: &[],
        power_w: &[],
        air_k: &[],
    };
    let error = base.follow_beside(&none, others).unwrap_err().to_string();
    assert!(error.starts_with("beside is another drive:"), "{error}");
}
