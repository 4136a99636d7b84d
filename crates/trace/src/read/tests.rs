//! What a trace's user sees, through `open`.

use std::io::Write;
use std::path::Path;

use super::*;
use crate::record::{Op, Record, UNKNOWN_NS};

/// What a file gives: its records, the error that ends it, and what was left out.
pub(super) struct Told {
    pub(super) records: Vec<Record>,
    pub(super) error: Option<SourceError>,
    pub(super) skipped: Skipped,
}

pub(super) fn drain(path: &Path, options: Options) -> Result<Told, OpenError> {
    let mut opened = open(path, options)?;
    let mut records = Vec::new();
    // an odd number, so that every format stops in the middle of something
    let error = loop {
        match opened.source.fill(&mut records, 7) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) => {
                assert_eq!(opened.source.fill(&mut records, 7), Err(error.clone()));
                break Some(error);
            }
        }
    };
    Ok(Told {
        records,
        error,
        skipped: opened.skipped.get(),
    })
}

pub(super) fn of_bytes(bytes: &[u8], options: Options) -> Result<Told, OpenError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    drain(file.path(), options)
}

fn skip() -> Options {
    Options {
        damaged: Damage::Skip,
        ..Options::default()
    }
}

fn read(text: &str) -> Vec<Record> {
    let told = of_bytes(text.as_bytes(), Options::default()).unwrap();
    assert_eq!(told.error, None);
    assert_eq!(told.skipped, Skipped::default());
    told.records
}

/// The error that a trace ends with, wherever it shows.
fn error_with(bytes: &[u8], options: Options) -> String {
    match of_bytes(bytes, options) {
        Ok(told) => told.error.expect("an error").to_string(),
        Err(error) => error.to_string(),
    }
}

fn error(text: &str) -> String {
    error_with(text.as_bytes(), Options::default())
}

fn io(at_ns: u64, done_ns: u64, op: Op, offset: u64, bytes: u32, depth: u16) -> Record {
    Record {
        at_ns,
        done_ns,
        offset,
        bytes,
        op,
        depth,
    }
}

const V3: &str = "fio version 3 iolog\n\
    32 /d/t.bin add\n\
    140 /d/t.bin open\n\
    144 /d/t.bin read 249856 4096\n\
    200 /d/t.bin sync 249856 0\n\
    15933 /d/t.bin write 3104768 8192\n\
    15933 /d/t.bin trim 0 65536\n\
    58464 /d/t.bin close\n";

#[test]
fn an_iolog_of_version_3_has_its_times_in_microseconds_from_the_first_io() {
    let unknown = UNKNOWN_NS;
    assert_eq!(
        read(V3),
        [
            io(0, unknown, Op::Read, 249_856, 4096, 0),
            io(15_789_000, unknown, Op::Write, 3_104_768, 8192, 0),
            io(15_789_000, unknown, Op::Trim, 0, 65536, 0),
        ]
    );
}

#[test]
fn an_iolog_of_version_2_waits_until_milliseconds_since_the_beginning_as_fio_does() {
    let text = "fio version 2 iolog\n/t add\n/t open\n/t wait 500 0\n/t read 0 4096\n\
        /t wait 1500 0\n/t wait 1550\n/t write 4096 4096\n/t datasync 0 0\n/t read 8192 512\n";
    let at: Vec<u64> = read(text).iter().map(|record| record.at_ns).collect();
    assert_eq!(at, [0, 1_050_000_000, 1_050_000_000]);
    let as_its_manual_says = error(&format!("{text}/t wait 20 0\n"));
    assert!(as_its_manual_says.starts_with("line 11: a wait until 20 ms, after one until 1550 ms"));
}

#[test]
fn files_of_an_iolog_lie_behind_each_other_by_their_furthest_io() {
    let text = "fio version 3 iolog\n0 /a add\n0 /b c add\n1 /a write 0 4096\n2 /b c read 4096 512\n\
        3 /a write 1500000 4096\n4 /z read 0 512\n5 /b c read 0 512\n6 /a read 0 512\n";
    let offsets: Vec<u64> = read(text).iter().map(|record| record.offset).collect();
    const MIB: u64 = 1 << 20;
    assert_eq!(offsets, [0, 2 * MIB + 4096, 1_500_000, 3 * MIB, 2 * MIB, 0]);
}

#[test]
fn one_file_of_an_iolog_can_be_chosen() {
    let text = "fio version 3 iolog\n1 /dev/sda write 0 4096\n2 /dev/sdb read 4096 512\n";
    assert!(error(text).starts_with("line 3: a second drive, `/dev/sdb` beside `/dev/sda`"));
    let chosen = |device: &str| Options {
        device: Some(device.to_string()),
        ..Options::default()
    };
    let told = of_bytes(text.as_bytes(), chosen("/dev/sdb")).unwrap();
    assert_eq!(told.records, [io(0, UNKNOWN_NS, Op::Read, 4096, 512, 0)]);
    let none = error_with(text.as_bytes(), chosen("/dev/sdc"));
    assert!(
        none.contains("`/dev/sdc`") && none.contains("such as `/dev/sda`"),
        "{none}"
    );
}

const MSR: &str = "128166372003061629,hm,1,Read,383496192,32768,113736\n\
    128166372003061729,hm,1,Write,2822144,65536,71\r\n\
    128166372013061629,hm,1,Read,3221266432,4096,0\n";

#[test]
fn msr_rows_tell_when_an_io_was_issued_and_how_long_it_took() {
    let records = [
        io(0, 11_373_600, Op::Read, 383_496_192, 32768, 1),
        io(10_000, 17_100, Op::Write, 2_822_144, 65536, 2),
        io(1_000_000_000, UNKNOWN_NS, Op::Read, 3_221_266_432, 4096, 0),
    ];
    assert_eq!(read(MSR), records);
    let heading = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    assert_eq!(read(&format!("{heading}{MSR}")), records);
}

#[test]
fn msr_rows_written_as_ios_came_back_are_put_in_the_order_of_issue() {
    let at = |text: &str| -> Vec<u64> { read(text).iter().map(|record| record.at_ns).collect() };
    assert_eq!(
        at("500,h,0,Read,0,512,10\n200,h,0,Read,0,512,350\n"),
        [0, 30_000]
    );
    let not_yet = error("500,h,0,Read,0,512,10\n200,h,0,Read,0,512,100\n");
    assert!(
        not_yet.starts_with("line 2: time runs backwards by 0.03 ms"),
        "{not_yet}"
    );
}

#[test]
fn several_disks_need_a_choice() {
    let text = "500,hm,0,Read,0,512,10\n600,hm,1,Read,512,512,10\n";
    assert!(error(text).starts_with("line 2: a second disk, hm.1 beside hm.0"));
    let options = Options {
        device: Some("hm.1".to_string()),
        ..Options::default()
    };
    let told = of_bytes(text.as_bytes(), options).unwrap();
    assert_eq!(told.records, [io(0, 1000, Op::Read, 512, 512, 1)]);
}

const BLKPARSE: &str = "Input file sda.blktrace.0 added\n\
    \x20 8,0    0        1     1.000000000  3486  A  WS 2048 + 8 <- (8,1) 0\n\
    \x20 8,0    0        2     1.000000000  3486  Q  WS 2048 + 8 [a.out]\n\
    \x20 8,0    1        1     1.000000500     0  C   R 99 + 1 [0]\n\
    \x20 8,0    0        3     1.000003446  3486  D  WS 2048 + 8 [a.out]\n\
    \x20 8,0    0        4     1.000003450  3486  m   N cfq3486S / dispatched a request\n\
    \x20 8,0    3        1     1.000103446  3486  D   R 4096 + 256 [b c]\n\
    \x20 8,0    3        2     1.000203446  3486  D  FN [kworker/3:1H]\n\
    \x20 8,0    3        3     1.000303446     0  C  WS 2048 + 8 [0]\n\
    \x20 8,0    3        5     1.000503446     0  D  DS 0 + 2048 [fstrim]\n\
    \x20 8,0    1        4     1.000403446     0  C   R 4096 + 256 [0]\n\
    CPU0 (sda):\n Reads Queued:           1,        4KiB  Writes Queued:           0,        0KiB\n\
    \nThroughput (R/W): 4,000KiB/s / 0KiB/s\nEvents (sda): 7 entries\nSkips: 0 forward (0 -   0.0%)\n";

#[test]
fn blkparse_events_are_paired_from_issue_to_completion() {
    assert_eq!(
        read(BLKPARSE),
        [
            io(0, 300_000, Op::Write, 1 << 20, 4096, 1),
            io(100_000, 400_000, Op::Read, 2 << 20, 128 << 10, 2),
            io(500_000, UNKNOWN_NS, Op::Trim, 0, 1 << 20, 0),
        ]
    );
}

#[test]
fn a_trace_without_issues_begins_where_ios_were_queued() {
    let text: String = (BLKPARSE.lines().filter(|line| !line.contains(" D ")))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(read(&text), [io(0, 303_446, Op::Write, 1 << 20, 4096, 1)]);
}

#[test]
fn several_devices_of_blkparse_need_a_choice() {
    let text = BLKPARSE.replace("  8,0    3        1", "  8,16   3        1");
    assert!(error(&text).contains("a second drive, 8,16 beside 8,0"));
    let options = Options {
        device: Some("8,16".to_string()),
        ..Options::default()
    };
    assert_eq!(of_bytes(text.as_bytes(), options).unwrap().records.len(), 1);
}

/// Each with the number of a line that is put in, and what the line says.
#[test]
fn a_damaged_line_is_named_or_left_out_and_counted() {
    for (text, number, line) in [
        (V3, 5, "\u{1}\u{fffd}garbage"),
        (V3, 6, "100 /d/t.bin read 0 512"),
        (V3, 6, "15000 /d/t.bin read 0 0"),
        (V3, 6, "15000 /d/t.bin read 0 5000000000"),
        (V3, 6, "15000 /d/t.bin read 18446744073709551615 512"),
        (V3, 6, "15000 /d/t.bin wait 100 0"),
        (V3, 6, "15000 /d/t.bin read 4096"),
        (V3, 6, "fio version 2 iolog"),
        (V3, 6, "99999999999999999999 /d/t.bin read 0 512"),
        (V3, 1, "oops"),
        (MSR, 2, "128166372003061629,hm,1,Read,383496192,32768"),
        (MSR, 3, "128166372003061629,hm,1,Flush,0,512,7"),
        (MSR, 3, "128166372003061620,hm,1,Read,0,512,7"),
        (MSR, 3, "128166371993061620,hm,1,Read,0,512,70000000000"),
        (
            BLKPARSE,
            7,
            "  8,0    3        1     1.000103446  3486  D   R 4096 + [x]",
        ),
        (
            BLKPARSE,
            7,
            "  8,0    3        1     0.900103446  3486  D   R 4096 + 8 [x]",
        ),
        (BLKPARSE, 7, "  8,0    3        1     0.9001"),
    ] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(number - 1, line);
        let damaged = lines.join("\n");
        let said = error(&damaged);
        assert!(
            said.starts_with(&format!("line {number}: ")),
            "{line}: {said}"
        );
        assert!(
            said.contains(", expected ") && !said.contains('\n'),
            "{said}"
        );
        let told = of_bytes(damaged.as_bytes(), skip()).unwrap();
        assert_eq!(told.error, None);
        assert_eq!(told.records, read(text), "{line}");
        let Skipped {
            count,
            first_line,
            why,
        } = told.skipped;
        assert_eq!((count, first_line), (1, number as u64));
        assert_eq!(format!("line {number}: {why}"), said);
    }
}

#[test]
fn what_came_before_the_damage_is_given_first() {
    let told = of_bytes(format!("{MSR}oops\n{MSR}").as_bytes(), Options::default()).unwrap();
    assert_eq!(told.records, read(MSR));
    assert_eq!(told.error.unwrap().line, Some(4));
}

#[test]
fn a_run_that_fio_appended_follows_where_it_is_asked_for() {
    let twice = format!("{V3}{V3}");
    assert!(error(&twice).starts_with("line 9: a second run begins here"));
    let told = of_bytes(twice.as_bytes(), skip()).unwrap();
    assert_eq!((told.records.len(), told.skipped.count), (6, 1));
    assert!(told.records.is_sorted_by_key(|record| record.at_ns));
}

#[test]
fn what_is_no_trace_is_named() {
    assert!(error("").contains("the file is empty"));
    assert!(error("\n \n").contains("the file is empty"));
    assert!(error("fio version 4 iolog\n").starts_with("line 1: an iolog of version `4 iolog`"));
    assert!(error("hello\nworld\n").starts_with("line 1: `hello` is no line of a trace"));
    let header = error("fio version 3 iolog\n0 /t add\n");
    assert!(
        header.starts_with("line 2: no I/O in the whole trace, expected"),
        "{header}"
    );
    assert!(
        error("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime").contains("no I/O")
    );
    let binary = [&[0x07, 0x74, 0x61, 0x65][..], &[0; 100]].concat();
    assert!(error_with(&binary, skip()).contains("blktrace's binary output"));
    let mut tar = vec![b'x'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(error_with(&tar, skip()).contains("a tar archive"));
    let junk: Vec<u8> = (0..2_000_000u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    assert!(error_with(&junk, skip()).starts_with("line 1: "));
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let wrap = Options {
        wrap: true,
        ..Options::default()
    };
    assert!(error_with(V3.as_bytes(), wrap).contains("expected span_bytes"));
    let none = Options {
        span_bytes: Some(0),
        ..Options::default()
    };
    assert!(error_with(V3.as_bytes(), none).contains("expected 1 or more"));
}

#[test]
fn io_past_the_end_of_the_drive_is_damage_or_folded_into_it() {
    let span = |damaged, wrap| Options {
        damaged,
        wrap,
        span_bytes: Some(1 << 20),
        device: None,
    };
    for (text, line) in [(V3, 6), (MSR, 1), (BLKPARSE, 5)] {
        let said = error_with(text.as_bytes(), span(Damage::Error, false));
        assert!(said.starts_with(&format!("line {line}: ")), "{said}");
        assert!(said.contains("past the drive's 1048576 bytes"), "{said}");
        let told = of_bytes(text.as_bytes(), span(Damage::Error, true)).unwrap();
        assert_eq!(told.error, None);
        assert_eq!(told.records.len(), 3);
        let ends = told
            .records
            .iter()
            .map(|record| record.offset + u64::from(record.bytes));
        assert!(ends.max().unwrap() <= 1 << 20);
    }
    let told = of_bytes(V3.as_bytes(), span(Damage::Skip, false)).unwrap();
    assert_eq!((told.records.len(), told.skipped.count), (2, 1));
}

type Pack = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 1).unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = liblzma::write::XzEncoder::new(vec![], 1);
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

const PACKS: [(Pack, Compression); 3] = [
    (gzip, Compression::Gzip),
    (zstd, Compression::Zstd),
    (xz, Compression::Xz),
];

#[test]
fn a_packed_trace_is_told_by_its_first_bytes_and_may_have_several_parts() {
    for (pack, compression) in PACKS {
        let (first, second) = V3.split_at(100);
        let parts = [pack(first.as_bytes()), pack(second.as_bytes())].concat();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&parts).unwrap();
        let opened = open(file.path(), Options::default()).unwrap();
        assert_eq!(
            (opened.format, opened.compression),
            (Format::IologV3, compression)
        );
        assert_eq!(
            drain(file.path(), Options::default()).unwrap().records,
            read(V3)
        );
    }
}

#[test]
fn of_a_packed_trace_that_was_cut_off_what_was_read_is_given() {
    let lines: String = (0..200_000u64)
        .map(|io| format!("{} /t read {} 4096\n", 3 * io, (io * 7919) % 100_000 * 4096))
        .collect();
    let text = format!("fio version 3 iolog\n{lines}");
    let whole = read(&text);
    for (pack, _) in PACKS {
        let packed = pack(text.as_bytes());
        let cut = &packed[..packed.len() / 2];
        let told = of_bytes(cut, Options::default()).unwrap();
        let error = told.error.unwrap();
        let count = told.records.len();
        assert!(count > 1000 && told.records == whole[..count]);
        assert_eq!(error.line, Some(count as u64 + 2));
        assert!(
            error.what.starts_with("the file breaks off here"),
            "{error}"
        );
        let told = of_bytes(cut, skip()).unwrap();
        assert_eq!((told.error, told.records.len()), (None, count));
        assert_eq!(
            (told.skipped.count, told.skipped.first_line),
            (1, count as u64 + 2)
        );
    }
}

#[test]
fn a_packed_trace_of_which_nothing_is_left_is_named() {
    for (pack, _) in PACKS {
        let said = error_with(&pack(V3.as_bytes())[..12], skip());
        assert!(
            said.starts_with("line 1: nothing can be unpacked"),
            "{said}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_of_the_system() {
    assert!(matches!(
        open(Path::new("/nowhere/t"), Options::default()),
        Err(OpenError::Io(_))
    ));
}

proptest::proptest! {
    #[test]
    fn however_a_trace_is_damaged_what_is_left_comes_in_order(
        text in proptest::sample::select(vec![V3, MSR, BLKPARSE]),
        hits in proptest::collection::vec((0usize..2000, proptest::prelude::any::<u8>()), 0..12),
        span_bytes in proptest::option::of(1u64..1 << 32),
        wrap: bool,
    ) {
        let mut bytes = text.as_bytes().to_vec();
        let length = bytes.len();
        for (at, byte) in hits {
            // digits do the most harm
            let byte = if byte % 2 == 0 { b'0' + byte % 10 } else { byte };
            bytes[at % length] = byte;
        }
        let wrap = wrap && span_bytes.is_some();
        let options = Options { damaged: Damage::Skip, span_bytes, wrap, device: None };
        if let Ok(told) = of_bytes(&bytes, options) {
            proptest::prop_assert!(told.records.is_sorted_by_key(|record| record.at_ns));
            for record in &told.records {
                proptest::prop_assert!(record.done_ns >= record.at_ns && record.bytes > 0);
                let end = record.offset.checked_add(record.bytes.into());
                proptest::prop_assert!(end.is_some_and(|end| end <= span_bytes.unwrap_or(u64::MAX)));
            }
        }
    }
}
