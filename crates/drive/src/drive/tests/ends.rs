use super::*;

#[test]
fn a_runtime_ends_with_its_last_ios() {
    let mut drive = new(sample::small_drive());
    for (index, runtime_s) in [0.5, 1.0, 1.7003].into_iter().enumerate() {
        let began_s = drive.t_s();
        let workload = for_s(runtime_s, load(Pattern::RandWrite, 4096, 32 << index));
        let samples = run_one(&mut drive, workload, 0.25);
        let late_s = drive.t_s() - began_s - runtime_s;
        assert!((0.0..0.01).contains(&late_s), "{late_s}");
        assert_eq!(*column(&samples, "t_s").last().unwrap(), drive.t_s());
    }
}

#[test]
fn bytes_end_with_the_last_one() {
    let mut drive = new(sample::small_drive());
    for bytes in [1, 511, 4096, 1_000_001, 77 * MIB] {
        let samples = run_one(
            &mut drive,
            for_bytes(bytes, load(Pattern::Write, 128 * KIB, 8)),
            0.1,
        );
        near(mb(&samples) * 1e6, bytes as f64, 1e-12);
        assert_eq!(ios(&samples).round() as u64, bytes.div_ceil(128 * KIB));
    }
}

#[test]
fn idle_time_passes_all() {
    let mut drive = new(sample::small_drive());
    let samples = drive.advance(2.25, 0.5).unwrap();
    assert_eq!(column(&samples, "t_s"), [0.5, 1.0, 1.5, 2.0, 2.25]);
    assert_eq!(column(&samples, "interval_s")[4], 0.25);
    assert_eq!(drive.t_s(), 2.25);
}

#[test]
fn a_purge_takes_its_time() {
    let mut drive = new(sample::small_drive());
    fill(&mut drive);
    let began_s = drive.t_s();
    drive.purge().unwrap();
    assert!(!drive.is_done());
    drive.advance(100.0, 1.0).unwrap();
    assert!(drive.is_done());
    near(drive.t_s() - began_s, 5.0, 1e-9);
    assert_eq!(truth(&drive, "filled_gb"), 0.0);
}

fn mixed() -> Vec<Workload> {
    vec![
        Workload {
            rwmixread: Some(30.0),
            ..load(Pattern::RandRw, 4096, 16)
        },
        Workload {
            rate: Some(50e6),
            ..load(Pattern::Write, 64 * KIB, 4)
        },
    ]
}

fn hot() -> DriveSpec {
    let mut spec = sample::small_drive();
    spec.cache = Some(cache(CacheKind::Dynamic, 20 * MIB));
    spec.governor.on = true;
    spec.governor.law = Law::Band {
        engage_c: 40.0,
        band_k: 10.0,
        floor: 0.1,
    };
    spec
}

#[test]
fn time_may_be_cut_up_in_any_way() {
    for sample_s in [0.1, 0.25, 1.0 / 3.0] {
        let mut whole = new(hot());
        whole.begin(&mixed()).unwrap();
        let all = whole.advance(24.0 * sample_s, sample_s).unwrap();
        for cuts in [vec![1.0; 24], vec![5.0, 7.0, 1.0, 11.0], vec![23.0, 1.0]] {
            let mut drive = new(hot());
            drive.begin(&mixed()).unwrap();
            let mut parts = Samples::new(drive.columns());
            for cut in cuts {
                append(
                    &mut parts,
                    &drive.advance(cut * sample_s, sample_s).unwrap(),
                );
            }
            same(&all, &parts);
        }
    }
}

#[test]
fn a_seed_is_all_that_chance_has() {
    let run = |seed| {
        let mut drive = Drive::new(hot(), sample::place(), seed).unwrap();
        run_one(&mut drive, for_s(3.0, mixed().remove(0)), 0.5)
    };
    same(&run(7), &run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn a_clone_goes_on_the_same() {
    let mut drive = new(hot());
    drive.begin(&mixed()).unwrap();
    drive.advance(1.03, 0.1).unwrap();
    let mut other = drive.copy().unwrap();
    let first = drive.advance(2.0, 0.1).unwrap();
    same(&first, &other.advance(2.0, 0.1).unwrap());
    drive.end().unwrap();
    other.end().unwrap();
    same(
        &drive.advance(5.0, 1.0).unwrap(),
        &other.advance(5.0, 1.0).unwrap(),
    );
}
