use super::*;

#[test]
fn a_read_takes_the_sum_of_its_parts() {
    let spec = sample::small_drive();
    let transfer_us = 4096.0 / 1200.0;
    let expected_us = 1.0 + 50.0 + transfer_us + 10.0;
    let mut drive = new(spec);
    fill(&mut drive);
    drive.advance(1.0, 1.0).unwrap();
    let samples = run_one(
        &mut drive,
        for_s(1.0, load(Pattern::RandRead, 4096, 1)),
        0.5,
    );
    // the first waits for the drive to wake
    near(column(&samples, "read_lat_us")[1], expected_us, 1e-6);
    near(column(&samples, "read_iops")[1], 1e6 / expected_us, 1e-3);
    let unmapped = {
        let mut drive = new(sample::small_drive());
        run_one(
            &mut drive,
            for_s(1.0, load(Pattern::RandRead, 4096, 1)),
            0.5,
        )
    };
    near(column(&unmapped, "read_lat_us")[1], 1.0 + 10.0, 1e-6);
}

#[test]
fn a_write_takes_the_sum_of_its_parts() {
    let mut drive = new(sample::small_drive());
    let samples = run_one(
        &mut drive,
        for_s(0.5, load(Pattern::RandWrite, 4096, 1)),
        0.5,
    );
    near(column(&samples, "write_lat_us")[0], 1.2 + 8.0, 1e-6);
    // a page that is written in part is read before
    fill(&mut drive);
    drive.advance(1.0, 1.0).unwrap();
    let samples = run_one(
        &mut drive,
        for_s(0.5, load(Pattern::RandWrite, 512, 1)),
        0.1,
    );
    assert!(column(&samples, "write_lat_us")[1] > 1.2 + 8.0 + 50.0);
}

#[test]
fn a_closed_loop_obeys_littles_law() {
    for pacing in [Pacing::None, Pacing::Victim, Pacing::Level] {
        let mut spec = sample::small_drive();
        spec.collection.pacing = pacing;
        let mut drive = new(spec);
        fill(&mut drive);
        for (rw, iodepth, numjobs) in [
            (Pattern::RandRead, 32, 1),
            (Pattern::RandRead, 1, 4),
            (Pattern::RandWrite, 32, 2),
            (Pattern::RandRw, 64, 1),
            (Pattern::Write, 8, 1),
        ] {
            let workload = Workload {
                numjobs,
                ..load(rw, 4096, iodepth)
            };
            let samples = run_one(&mut drive, for_s(6.0, workload), 2.0);
            near(
                mean_from(&samples, "queue", 0.0),
                f64::from(iodepth * numjobs),
                0.01,
            );
        }
    }
}

#[test]
fn hosts_beside_each_other_keep_their_queues_full() {
    let mut spec = sample::small_drive();
    spec.collection.pacing = Pacing::None;
    let mut drive = new(spec);
    fill(&mut drive);
    let both = [
        for_s(20.0, load(Pattern::RandWrite, 4096, 16)),
        for_s(20.0, load(Pattern::RandRead, 4096, 3)),
    ];
    near(mean(&run_all(&mut drive, &both, 5.0), "queue"), 19.0, 0.01);
}

fn mb_s(spec: DriveSpec, place: EnclosureSpec, rw: Pattern, bs: u64, iodepth: u32) -> f64 {
    let mut drive = Drive::new(spec, place, 3).unwrap();
    fill(&mut drive);
    // long enough that neither buffer nor waking counts
    let samples = run_one(&mut drive, for_s(2.0, load(rw, bs, iodepth)), 0.5);
    mb(&samples) / 2.0
}

#[test]
fn nothing_is_faster_than_its_narrowest_part() {
    let wide = |mut spec: DriveSpec| {
        // each bound alone
        spec.nand.read_us = 1.0;
        spec.nand.program_us = 10.0;
        spec.nand.channel_mb_s = 1e5;
        spec.controller.read_mb_s = 20_000.0;
        spec.controller.write_mb_s = 20_000.0;
        spec.controller.read_command_us = 0.1;
        spec.controller.write_command_us = 0.1;
        spec.controller.move_us = 0.0;
        spec.nand.erase_us = 0.0;
        spec
    };
    let place = sample::place;
    let run = |spec: DriveSpec, rw: Pattern, bs: u64| mb_s(spec, place(), rw, bs, 64);
    let bound = |change: &dyn Fn(&mut DriveSpec), rw, bs, expected: f64| {
        let mut spec = wide(sample::small_drive());
        change(&mut spec);
        let found = run(spec, rw, bs);
        assert!(
            found <= 1.005 * expected && found > 0.98 * expected,
            "{found} of {expected}"
        );
    };
    use Pattern::*;
    bound(
        &|spec| spec.controller.read_mb_s = 3000.0,
        Read,
        128 * KIB,
        3000.0,
    );
    bound(
        &|spec| spec.controller.write_mb_s = 2000.0,
        Write,
        128 * KIB,
        2000.0,
    );
    bound(
        &|spec| spec.controller.read_command_us = 2.0,
        RandRead,
        4096,
        2048.0,
    );
    bound(
        &|spec| spec.controller.write_command_us = 40.0,
        RandWrite,
        4096,
        102.4,
    );
    bound(
        &|spec| spec.nand.channel_mb_s = 300.0,
        Read,
        128 * KIB,
        2400.0,
    );
    bound(
        &|spec| spec.nand.program_us = 600.0,
        Write,
        128 * KIB,
        16.0 * 65536.0 / 600.0,
    );
    for (link, iops) in [(true, false), (false, true)] {
        let mut slow = place();
        slow.link_mb_s = link.then_some(1000.0);
        slow.host_read_iops = iops.then_some(10_000.0);
        slow.host_write_iops = iops.then_some(5000.0);
        let expected = if link { [1000.0; 2] } else { [1310.72, 660.0] };
        for (rw, expected) in [Read, Write].into_iter().zip(expected) {
            let found = mb_s(wide(sample::small_drive()), slow.clone(), rw, 128 * KIB, 64);
            assert!(
                found <= 1.005 * expected && found > 0.98 * expected,
                "{found} of {expected}"
            );
        }
    }
}

#[test]
fn random_reads_use_as_many_dies_as_are_asked() {
    let mut spec = sample::small_drive();
    spec.nand.dies = 32;
    let mut drive = new(spec);
    fill(&mut drive);
    let mut iops = |iodepth| {
        let workload = for_s(1.0, load(Pattern::RandRead, 4096, iodepth));
        ios(&run_one(&mut drive, workload, 1.0))
    };
    let (one, many, all) = (iops(1), iops(32), iops(1024));
    // of 32 balls in 32 urns some 20 urns have one; a closed loop queues at the others
    let busy = many / (1e6 / 50.0);
    assert!((14.0..22.0).contains(&busy), "{busy} dies");
    assert!(all > many && all <= 32.0 * 1e6 / 50.0 * 1.001, "{all}");
    assert!(many < 32.0 * one && many > 12.0 * one);
}

#[test]
fn reads_wait_behind_programs() {
    let mut drive = new(sample::small_drive());
    fill(&mut drive);
    let alone = run_one(
        &mut drive,
        for_s(2.0, load(Pattern::RandRead, 4096, 4)),
        2.0,
    );
    let mix = Workload {
        rwmixread: Some(70.0),
        ..load(Pattern::RandRw, 4096, 4)
    };
    let beside = run_one(&mut drive, for_s(2.0, mix), 2.0);
    let p99 = |samples: &Samples| column(samples, "read_lat_p99_us")[0];
    assert!(
        p99(&alone) < 300.0 && p99(&beside) > 600.0,
        "{} {}",
        p99(&alone),
        p99(&beside)
    );
}

#[test]
fn a_burst_into_the_buffer_is_faster_than_the_flash() {
    let mut spec = sample::small_drive();
    spec.controller.buffer_bytes = 64 * MIB;
    let mut drive = new(spec);
    let burst = run_one(
        &mut drive,
        for_bytes(48 * MIB, load(Pattern::Write, 128 * KIB, 8)),
        0.001,
    );
    let fast = mb(&burst) / column(&burst, "interval_s").iter().sum::<f64>();
    near(fast, 5000.0, 0.02);
    let long = run_one(
        &mut drive,
        for_bytes(900 * MIB, load(Pattern::Write, 128 * KIB, 8)),
        0.01,
    );
    let end_s = drive.t_s();
    near(
        mean_from(&long, "write_bw_mb_s", end_s - 0.3),
        16.0 * 65536.0 / 600.0,
        0.05,
    );
}

#[test]
fn a_held_share_scales_what_firmware_and_path_bound() {
    let mut spec = sample::small_drive();
    // firmware is what limits
    spec.controller.read_command_us = 10.0;
    spec.controller.write_command_us = 100.0;
    spec.controller.read_mb_s = 1000.0;
    let mut drive = new(spec);
    fill(&mut drive);
    let cases = [
        load(Pattern::RandRead, 4096, 256),
        load(Pattern::Write, 4096, 64),
        load(Pattern::Read, MIB, 8),
    ];
    for case in cases {
        let mut rate = |share: f64| {
            drive.hold(Some(share)).unwrap();
            let samples = run_one(&mut drive, for_s(2.0, case.clone()), 1.0);
            mean(&samples, "read_bw_mb_s").max(mean(&samples, "write_bw_mb_s"))
        };
        let full = rate(1.0);
        for share in [0.1, 0.25, 0.5, 0.8] {
            near(rate(share), share * full, 0.01);
        }
    }
    let error = drive.hold(Some(0.0)).unwrap_err().to_string();
    assert!(error.starts_with("share is 0:"), "{error}");
    assert!(drive.hold(Some(f64::NAN)).is_err() && drive.hold(Some(1.1)).is_err());
}
