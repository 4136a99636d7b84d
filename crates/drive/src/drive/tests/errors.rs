use super::*;

type Change = fn(&mut DriveSpec, f64);

/// A number of a drive by its key, and what it may not be.
const NUMBERS: [(&str, Change, bool); 28] = [
    (
        "capacity.purge_s",
        |spec, value| spec.capacity.purge_s = value,
        true,
    ),
    (
        "nand.channel_mb_s",
        |spec, value| spec.nand.channel_mb_s = value,
        false,
    ),
    (
        "nand.read_us",
        |spec, value| spec.nand.read_us = value,
        false,
    ),
    (
        "nand.program_us",
        |spec, value| spec.nand.program_us = value,
        false,
    ),
    (
        "nand.erase_us",
        |spec, value| spec.nand.erase_us = value,
        true,
    ),
    (
        "controller.read_mb_s",
        |spec, value| spec.controller.read_mb_s = value,
        false,
    ),
    (
        "controller.write_mb_s",
        |spec, value| spec.controller.write_mb_s = value,
        false,
    ),
    (
        "controller.read_command_us",
        |s, value| s.controller.read_command_us = value,
        false,
    ),
    (
        "controller.write_command_us",
        |s, value| s.controller.write_command_us = value,
        false,
    ),
    (
        "controller.move_us",
        |spec, value| spec.controller.move_us = value,
        true,
    ),
    (
        "controller.read_latency_us",
        |s, value| s.controller.read_latency_us = value,
        true,
    ),
    (
        "controller.write_latency_us",
        |s, value| s.controller.write_latency_us = value,
        true,
    ),
    (
        "collection.idle_mb_s",
        |spec, value| spec.collection.idle_mb_s = value,
        true,
    ),
    (
        "cache.read_us",
        |spec, value| spec.cache.as_mut().unwrap().read_us = value,
        false,
    ),
    (
        "cache.program_us",
        |spec, value| spec.cache.as_mut().unwrap().program_us = value,
        false,
    ),
    (
        "cache.fold_after_s",
        |s, value| s.cache.as_mut().unwrap().fold_after_s = value,
        true,
    ),
    (
        "cache.fold_mb_s",
        |spec, value| spec.cache.as_mut().unwrap().fold_mb_s = value,
        true,
    ),
    (
        "cache.fold_us",
        |spec, value| spec.cache.as_mut().unwrap().fold_us = Some(value),
        true,
    ),
    (
        "energy.idle_w",
        |spec, value| spec.energy.idle_w = value,
        true,
    ),
    (
        "energy.active_w",
        |spec, value| spec.energy.active_w = value,
        true,
    ),
    (
        "energy.ungated_active",
        |spec, value| spec.energy.ungated_active = value,
        true,
    ),
    (
        "energy.host_read_uj",
        |spec, value| spec.energy.host_read_uj = value,
        true,
    ),
    (
        "energy.program_uj",
        |spec, value| spec.energy.program_uj = value,
        true,
    ),
    (
        "energy.move_uj",
        |spec, value| spec.energy.move_uj = value,
        true,
    ),
    (
        "energy.leakage_w",
        |spec, value| spec.energy.leakage_w = value,
        true,
    ),
    (
        "energy.leakage_doubling_k",
        |s, value| s.energy.leakage_doubling_k = value,
        false,
    ),
    (
        "energy.board_share",
        |spec, value| spec.energy.board_share = value,
        true,
    ),
    (
        "power_states[0].exit_us",
        |spec, value| spec.power_states[0].exit_us = value,
        true,
    ),
];

fn error(change: impl FnOnce(&mut DriveSpec)) -> String {
    let mut spec = sample::small_drive();
    spec.cache = Some(cache(CacheKind::Dynamic, 16 * MIB));
    change(&mut spec);
    let error = Drive::new(spec, sample::place(), 0).err();
    error.map_or_else(String::new, |error| error.to_string())
}

#[test]
fn a_wrong_number_of_a_drive_is_named() {
    for (key, change, zero_is_fine) in NUMBERS {
        for value in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let message = error(|spec| change(spec, value));
            if value == 0.0 && zero_is_fine {
                assert_eq!(message, "", "{key}");
                continue;
            }
            assert!(
                message.starts_with(&format!("drive: {key} is {value}:")),
                "{key} {message}"
            );
            assert!(!message.contains('\n'));
        }
    }
}

#[test]
fn a_size_that_cannot_be_is_named() {
    type Case = (&'static str, fn(&mut DriveSpec));
    let cases: [Case; 20] = [
        ("capacity.user_bytes is 0:", |spec| {
            spec.capacity.user_bytes = 0
        }),
        ("capacity.user_bytes is 5000:", |spec| {
            spec.capacity.user_bytes = 5000
        }),
        ("capacity.raw_bytes is 0:", |spec| {
            spec.capacity.raw_bytes = 0
        }),
        ("capacity.raw_bytes is 18446744073709551615:", |s| {
            s.capacity.raw_bytes = u64::MAX
        }),
        ("capacity.raw_bytes is 1", |spec| {
            spec.capacity.reserve_bytes = u64::MAX
        }),
        ("nand.dies is 0:", |spec| spec.nand.dies = 0),
        ("nand.dies is 4294967295:", |spec| spec.nand.dies = u32::MAX),
        ("nand.channels is 0:", |spec| spec.nand.channels = 0),
        ("nand.channels is 17:", |spec| spec.nand.channels = 17),
        ("nand.unit_bytes is 0:", |spec| spec.nand.unit_bytes = 0),
        ("nand.block_bytes is 0:", |spec| spec.nand.block_bytes = 0),
        ("nand.block_bytes is 12288:", |spec| {
            spec.nand.block_bytes = 12288
        }),
        ("nand.block_bytes is 4096:", |spec| {
            (spec.nand.block_bytes, spec.nand.unit_bytes) = (4096, 4096);
        }),
        ("nand.block_bytes is 67108864:", |spec| {
            spec.nand.block_bytes = 64 * MIB
        }),
        ("controller.buffer_bytes is 4096:", |spec| {
            spec.controller.buffer_bytes = 4096
        }),
        ("controller.buffer_bytes is 0:", |spec| {
            spec.controller.buffer_bytes = 0
        }),
        ("cache.bytes is 0:", |spec| {
            spec.cache.as_mut().unwrap().bytes = 0
        }),
        ("cache.bytes is 4503599627370496:", |s| {
            s.cache.as_mut().unwrap().bytes = 1 << 52
        }),
        ("cache.bytes is 16777216:", |spec| {
            spec.cache.as_mut().unwrap().kind = CacheKind::Static;
        }),
        ("cache.bits is 1:", |spec| {
            spec.cache.as_mut().unwrap().bits = 1
        }),
    ];
    for (begins, change) in cases {
        let message = error(change);
        assert!(
            message.starts_with(&format!("drive: {begins}")),
            "{begins} {message}"
        );
    }
}

#[test]
fn a_wrong_workload_is_named() {
    type Case = (&'static str, fn(&mut Workload));
    let cases: [Case; 17] = [
        ("bs is 0:", |load| load.bs = 0),
        ("bs is 4294967296:", |load| load.bs = 1 << 32),
        ("iodepth is 0:", |load| load.iodepth = 0),
        ("numjobs is 0:", |load| load.numjobs = 0),
        ("iodepth is 4294967295:", |load| load.iodepth = u32::MAX),
        ("span_bytes is 100:", |load| load.span_bytes = 100),
        ("span_bytes is 2147483648:", |load| {
            load.span_bytes = 2 * GIB
        }),
        ("span_bytes is 1073741824:", |load| {
            load.offset_bytes = u64::MAX
        }),
        ("io_bytes is 0:", |load| load.io_bytes = Some(0)),
        ("runtime_s is 0:", |load| load.runtime_s = Some(0.0)),
        ("runtime_s is NaN:", |load| load.runtime_s = Some(f64::NAN)),
        ("rate is -1:", |load| load.rate = Some(-1.0)),
        ("rate is inf:", |load| load.rate = Some(f64::INFINITY)),
        ("rate_iops is 0:", |load| load.rate_iops = Some(0.0)),
        ("rwmixread is 101:", |load| load.rwmixread = Some(101.0)),
        ("rwmixread is -1:", |load| load.rwmixread = Some(-1.0)),
        ("rwmixread is NaN:", |load| load.rwmixread = Some(f64::NAN)),
    ];
    let mut drive = new(sample::small_drive());
    for (begins, change) in cases {
        let mut workload = load(Pattern::RandRw, 4096, 32);
        change(&mut workload);
        let message = drive.begin(&[workload]).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("workload: {begins}")),
            "{begins} {message}"
        );
    }
}

#[test]
fn a_stretch_of_time_that_cannot_be_is_named() {
    let mut drive = new(sample::small_drive());
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let message = drive.advance(value, 1.0).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("duration_s is {value}:")),
            "{message}"
        );
        let message = drive.advance(1.0, value).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("sample_s is {value}:")),
            "{message}"
        );
    }
    assert!(drive.advance(1.0, 1e-9).is_err());
}
