use super::*;

fn filled(bytes: u64) -> Drive {
    let mut drive = new(sample::small_drive());
    run_one(
        &mut drive,
        for_bytes(bytes, load(Pattern::Write, MIB, 8)),
        0.1,
    );
    drive
}

/// Bytes moved up to the end of each sample.
fn moved(samples: &Samples, rate: &str) -> Vec<(f64, f64)> {
    let column = |name: &str| {
        let place = samples.names.iter().position(|known| known == name);
        &samples.columns[place.unwrap()]
    };
    let (t_s, interval_s, mb_s) = (column("t_s"), column("interval_s"), column(rate));
    let mut sum = 0.0;
    (0..samples.len())
        .map(|row| {
            sum += 1e6 * mb_s[row] * interval_s[row];
            (t_s[row], sum)
        })
        .collect()
}

prop_compose! {
    fn copies()(
        bs in prop::sample::select(vec![4 * KIB, 128 * KIB, MIB, 4 * MIB]),
        iodepth in prop::sample::select(vec![1u32, 4, 32]),
        blocks in 1..40u64,
        buffer_blocks in 1..20u64,
        write_mb_s in prop::sample::select(vec![60.0, 400.0, 5000.0]),
        read_mb_s in prop::sample::select(vec![60.0, 400.0, 7000.0]),
        pieces_s in prop::collection::vec(0.003..0.5f64, 1..5),
        sample_s in prop::sample::select(vec![0.001, 0.01, 0.1]),
    ) -> (u64, u64, u32, u64, f64, f64, Vec<f64>, f64) {
        (blocks * bs, bs, iodepth, buffer_blocks * bs, read_mb_s, write_mb_s, pieces_s, sample_s)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_written_was_read_and_what_is_read_fits_the_buffer(
        (bytes, bs, iodepth, buffer_bytes, read_mb_s, write_mb_s, pieces_s, sample_s) in copies()
    ) {
        let mut spec = sample::small_drive();
        spec.controller.read_mb_s = read_mb_s;
        let mut source = new(spec);
        let mut spec = sample::small_drive();
        spec.controller.write_mb_s = write_mb_s;
        let mut destination = new(spec);
        let mut copy = Transfer::new(bytes, bs, iodepth, buffer_bytes).unwrap();
        copy.begin(&mut source, &mut destination).unwrap();
        let mut read = Samples::new(source.columns());
        let mut written = Samples::new(destination.columns());
        for piece_s in pieces_s.iter().cycle().take(100_000) {
            if copy.is_done() {
                break;
            }
            let [from, to] = copy
                .advance(&mut source, &mut destination, *piece_s, sample_s)
                .unwrap();
            append(&mut read, &from);
            append(&mut written, &to);
            let (now_read, now_written) = copy.moved_bytes();
            prop_assert!(now_written <= now_read && now_read <= now_written + buffer_bytes);
        }
        prop_assert!(copy.is_done());
        prop_assert_eq!(copy.moved_bytes(), (bytes, bytes));
        prop_assert!(source.is_done() && destination.is_done());
        let read = moved(&read, "read_bw_mb_s");
        let written = moved(&written, "write_bw_mb_s");
        prop_assert!((read.last().unwrap().1 - bytes as f64).abs() < 1.0);
        prop_assert!((written.last().unwrap().1 - bytes as f64).abs() < 1.0);
        for (from, to) in read.iter().zip(&written) {
            if from.0 == to.0 {
                prop_assert!(to.1 <= from.1 + 1.0);
                prop_assert!(from.1 <= to.1 + buffer_bytes as f64 + 1.0);
            }
        }
    }
}

#[test]
fn samples_do_not_depend_on_how_time_is_cut_up() {
    let whole = |pieces_s: &[f64]| {
        let (mut source, mut destination) = (filled(256 * MIB), new(sample::small_drive()));
        let mut copy = Transfer::new(256 * MIB, MIB, 8, 16 * MIB).unwrap();
        copy.begin(&mut source, &mut destination).unwrap();
        let mut all = [
            Samples::new(source.columns()),
            Samples::new(destination.columns()),
        ];
        for piece_s in pieces_s.iter().cycle() {
            if copy.is_done() {
                break;
            }
            let more = copy
                .advance(&mut source, &mut destination, *piece_s, 0.01)
                .unwrap();
            for (all, more) in all.iter_mut().zip(&more) {
                append(all, more);
            }
        }
        all.map(|samples| format!("{samples:?}"))
    };
    assert_eq!(whole(&[10.0]), whole(&[0.01, 0.03]));
}

#[test]
fn a_fast_drive_waits_for_a_slow_one() {
    let mut spec = sample::small_drive();
    spec.controller.write_mb_s = 300.0;
    let (mut source, mut destination) = (filled(512 * MIB), new(spec));
    let mut copy = Transfer::new(512 * MIB, MIB, 8, 64 * MIB).unwrap();
    copy.begin(&mut source, &mut destination).unwrap();
    let began_s = source.t_s();
    let [read, written] = copy
        .advance(&mut source, &mut destination, 100.0, 0.1)
        .unwrap();
    let took_s = destination.t_s();
    assert!((512.0 * 1.048576 / took_s - 300.0).abs() < 6.0, "{took_s}");
    let last = moved(&read, "read_bw_mb_s").last().unwrap().0 - began_s;
    assert!(
        (took_s - last - 67.1 / 300.0).abs() < 0.02,
        "{last} {took_s}"
    );
    let queue = written.names.iter().position(|name| name == "queue");
    let in_flight = |samples: &Samples| samples.columns[queue.unwrap()][samples.len() / 2];
    assert!(in_flight(&written) > 7.5);
    assert!(in_flight(&read) < 1.0);
}

#[test]
fn a_copy_ends_where_its_source_shuts_down() {
    let mut source = new(heat::cooking(None));
    run_one(
        &mut source,
        for_s(900.0, load(Pattern::Write, MIB, 32)),
        1.0,
    );
    let mut destination = new(sample::small_drive());
    let mut copy = Transfer::new(GIB, MIB, 8, 64 * MIB).unwrap();
    copy.begin(&mut source, &mut destination).unwrap();
    copy.advance(&mut source, &mut destination, 1000.0, 0.1)
        .unwrap();
    assert!(copy.is_done() && source.is_stopped() && !destination.is_stopped());
    let (read, written) = copy.moved_bytes();
    assert!(written <= read && read < GIB);
}

#[test]
fn a_copy_that_makes_no_sense_is_refused_by_name() {
    for (copy, key) in [
        (Transfer::new(MIB, 0, 8, MIB), "bs"),
        (Transfer::new(0, MIB, 8, MIB), "bytes"),
        (Transfer::new(MIB + 1, MIB, 8, MIB), "bytes"),
        (Transfer::new(MIB, MIB, 8, MIB - 1), "buffer_bytes"),
    ] {
        assert!(copy.unwrap_err().to_string().contains(key));
    }
    let (mut source, mut destination) = (new(sample::small_drive()), new(sample::small_drive()));
    let mut copy = Transfer::new(4 * GIB, MIB, 8, MIB).unwrap();
    let error = copy.begin(&mut source, &mut destination).unwrap_err();
    assert!(error.to_string().contains("span_bytes"));
}
