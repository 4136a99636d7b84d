use super::*;

fn paced(pacing: Pacing) -> Drive {
    let mut spec = sample::small_drive();
    spec.collection.pacing = pacing;
    let mut drive = new(spec);
    fill(&mut drive);
    drive
}

fn random_writes(runtime_s: f64) -> Workload {
    for_s(runtime_s, load(Pattern::RandWrite, 4096, 32))
}

fn deviation(samples: &Samples, from_s: f64) -> f64 {
    let values: Vec<f64> = column(samples, "write_iops")
        .iter()
        .zip(column(samples, "t_s"))
        .filter(|(_, t_s)| **t_s > from_s)
        .map(|(iops, _)| *iops)
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}

#[test]
fn pacing_changes_the_evenness_and_not_the_mean() {
    // an interval in which some two blocks are collected, as a second is for a large drive
    let seen = [Pacing::None, Pacing::Victim, Pacing::Level].map(|pacing| {
        let mut spec = sample::small_drive();
        spec.capacity.user_bytes *= 4;
        spec.capacity.raw_bytes *= 4;
        // firmware is what limits, as in the drives that were measured
        spec.controller.write_command_us = 9.0;
        spec.controller.move_us = 13.0;
        // a little more than greedy collection moves with this spare area
        spec.collection.level_moves = 3.8;
        spec.collection.pacing = pacing;
        let mut drive = new(spec);
        let all = |workload| Workload {
            span_bytes: 4 * GIB,
            ..workload
        };
        let sequential = all(load(Pattern::Write, 128 * KIB, 32));
        run_one(&mut drive, for_bytes(4 * GIB, sequential), 0.1);
        let began_s = drive.t_s();
        let samples = run_one(&mut drive, all(random_writes(300.0)), 0.02);
        let from_s = began_s + 200.0;
        (
            mean_from(&samples, "write_iops", from_s),
            deviation(&samples, from_s),
        )
    });
    let [none, victim, level] = seen;
    near(victim.0, none.0, 0.03);
    near(level.0, none.0, 0.03);
    assert!(victim.1 < 0.1 * none.1, "{seen:?}");
    assert!(level.1 < 0.5 * victim.1, "{seen:?}");
}

#[test]
fn writes_held_back_by_a_whole_block_take_that_long() {
    let longest_us = |pacing| {
        let mut drive = paced(pacing);
        let samples = run_one(&mut drive, random_writes(20.0), 5.0);
        *column(&samples, "write_lat_max_us").last().unwrap()
    };
    let (none, victim) = (longest_us(Pacing::None), longest_us(Pacing::Victim));
    // a block of 1024 pages, most of them valid
    assert!(none > 2000.0 && victim < 1500.0, "{none} {victim}");
}

#[test]
fn moved_pages_are_those_of_the_translation_layer() {
    let mut drive = paced(Pacing::Victim);
    let samples = run_one(&mut drive, random_writes(20.0), 1.0);
    let per_write = column(&samples, "sim.moved_per_write");
    let writes = column(&samples, "write_iops")
        .iter()
        .zip(column(&samples, "interval_s"));
    let moved: f64 = per_write
        .iter()
        .zip(writes)
        .map(|(moved, (iops, length_s))| moved * iops * length_s)
        .sum();
    let counters = drive.firmware.ftl.counters();
    let (host, exact) = (counters.host_pages as f64, counters.moved_pages as f64);
    // those in flight at the edge of a sample are written in one and complete in the next
    near(moved, exact, 0.001);
    assert_eq!(truth(&drive, "host_pages"), host);
    assert_eq!(truth(&drive, "moved_pages"), exact);
    near(drive.totals().moved_pages, exact, 1e-12);
    near(drive.totals().host_write_pages, host, 1e-12);
    // every program is of pages of the host or of moved ones
    let programmed = drive.totals().programmed_pages;
    assert!(
        (programmed - host - exact).abs() <= 32.0,
        "{programmed} {}",
        host + exact
    );
    // greedy collection with an eighth of spare, after Desnoyers
    let steady = per_write.last().unwrap();
    assert!((2.0..5.0).contains(steady), "{steady}");
}

#[test]
fn the_first_fall_comes_when_the_spare_area_is_used_up() {
    for pacing in [Pacing::None, Pacing::Victim, Pacing::Level] {
        let mut drive = paced(pacing);
        let spare = truth(&drive, "spare_gb") * 1e9;
        near(spare, (1u64 << 27) as f64, 0.03);
        let samples = run_one(&mut drive, random_writes(3.0), 0.01);
        let iops = column(&samples, "write_iops");
        let fresh = iops[2..5].iter().sum::<f64>() / 3.0;
        let first = iops
            .iter()
            .skip(5)
            .position(|iops| *iops < 0.9 * fresh)
            .unwrap()
            + 5;
        let written: f64 = iops[..first].iter().sum::<f64>() * 0.01 * 4096.0;
        near(written, spare, 0.1);
    }
}

#[test]
fn sequential_overwrites_never_fall() {
    for pacing in [Pacing::None, Pacing::Victim, Pacing::Level] {
        let mut drive = paced(pacing);
        let workload = for_s(5.0, load(Pattern::Write, 128 * KIB, 32));
        let samples = run_one(&mut drive, workload, 0.1);
        let rates = &column(&samples, "write_bw_mb_s")[2..];
        let least = rates[..rates.len() - 1]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        assert!(least > 0.95 * 1747.0, "{pacing:?} {least}");
        let moved = truth(&drive, "moved_pages") / truth(&drive, "host_pages");
        assert!(moved < 0.001, "{moved}");
    }
}

#[test]
fn purge_brings_all_back_and_idling_some() {
    let mut drive = paced(Pacing::Victim);
    let start = |drive: &mut Drive| {
        let samples = run_one(drive, random_writes(0.09), 0.01);
        column(&samples, "write_iops")[..8]
            .iter()
            .copied()
            .fold(0.0, f64::max)
    };
    let fresh = start(&mut drive);
    run_one(&mut drive, random_writes(10.0), 1.0);
    let worn = start(&mut drive);
    let spare = truth(&drive, "spare_gb");
    drive.advance(0.5, 0.1).unwrap();
    let won = (truth(&drive, "spare_gb") - spare) * 1e9;
    // 100 MB of blocks in a second, of which some are stale
    assert!(won > 0.0 && won < 0.5 * 100e6, "{won}");
    drive.advance(60.0, 1.0).unwrap();
    assert_eq!(drive.firmware.ftl.stale_pages(), 0);
    let rested = start(&mut drive);
    assert!(
        worn < 0.6 * fresh && rested > 0.9 * fresh,
        "{fresh} {worn} {rested}"
    );
    run_one(&mut drive, random_writes(10.0), 1.0);
    drive.purge().unwrap();
    drive.advance(10.0, 1.0).unwrap();
    let purged = start(&mut drive);
    assert!(purged > 0.99 * fresh, "{purged} {fresh}");
}

#[test]
fn idle_collection_keeps_its_rate() {
    let mut spec = sample::small_drive();
    spec.collection.idle_mb_s = 20.0;
    let mut drive = new(spec);
    fill(&mut drive);
    // whole blocks go stale, and nothing has to be moved
    run_one(
        &mut drive,
        for_bytes(100 * MIB, load(Pattern::Write, 128 * KIB, 32)),
        0.1,
    );
    let spare = truth(&drive, "spare_gb");
    let samples = drive.advance(3.0, 1.0).unwrap();
    let won = (truth(&drive, "spare_gb") - spare) * 1e9;
    near(won, 3.0 * 20e6, 0.08);
    assert!(
        column(&samples, "power_state")
            .iter()
            .all(|state| *state == 0.0)
    );
    drive.advance(10.0, 1.0).unwrap();
    assert_eq!(drive.firmware.ftl.stale_pages(), 0);
    assert_eq!(
        column(&drive.advance(5.0, 5.0).unwrap(), "power_state"),
        [4.0]
    );
}
