//! The stream: bytes in, runs of bins out.

use memchr::memchr;

use crate::bins::{Bin, Bins};
use crate::row::{Layout, Row};

/// Rows come in the order of time but for this: what runs in parallel is mixed a little.
const DISORDER_MS: i64 = 1000;
/// No load pauses for that long; time that leaps further is damaged, or another run's.
const LEAP_MS: i64 = 600_000;
/// A file whose time falls more often is not in the order of time at all.
pub const MAX_RUNS: usize = 256;
/// This much of the file is enough to find its layout.
const HEAD_BYTES: usize = 1 << 16;
/// fio's lines are shorter; a longer one is skipped as it comes.
const LONGEST_LINE: usize = 4096;

/// A stretch of rows in which time rises.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// In the order of time, and of direction.
    pub bins: Vec<Bin>,
    /// The line of its first row.
    pub line: u64,
    /// The least and the greatest time in it.
    pub first_ms: i64,
    pub last_ms: i64,
}

/// The columns of a log as they are in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    pub time_ms: Vec<i64>,
    pub value: Vec<u64>,
    pub ddir: Vec<u8>,
    pub bs: Vec<u64>,
    pub offset: Vec<u64>,
}

/// A log that is being read.
#[derive(Default)]
pub struct FioLog {
    layout: Option<Layout>,
    /// The file's beginning while there is no layout, then the line that is not whole yet.
    rest: Vec<u8>,
    too_long: bool,
    line_end: u8,
    line: u64,
    rows: Option<Rows>,
    runs: Vec<Run>,
    bins: Bins,
    /// A row that leapt ahead, with its line: believed only if the next one follows it.
    leapt: Option<(Row, u64)>,
    last_bs: u64,
    skipped: u64,
    first_skipped: u64,
    disordered: bool,
}

impl FioLog {
    /// Start; with `keep_rows` every row is kept too, which takes memory for each.
    pub fn new(keep_rows: bool) -> FioLog {
        FioLog {
            rows: keep_rows.then(Rows::default),
            ..FioLog::default()
        }
    }

    /// Take the next bytes of the file.
    pub fn feed(&mut self, piece: &[u8]) {
        if self.layout.is_none() {
            self.rest.extend_from_slice(piece);
            if self.rest.len() >= HEAD_BYTES {
                self.begin();
            }
            return;
        }
        let mut piece = piece;
        if !self.rest.is_empty() || self.too_long {
            let Some(end) = memchr(self.line_end, piece) else {
                self.keep(piece);
                return;
            };
            let mut line = std::mem::take(&mut self.rest);
            line.extend_from_slice(&piece[..end]);
            self.take(&line);
            line.clear();
            self.rest = line;
            piece = &piece[end + 1..];
        }
        self.lines(piece);
    }

    /// Say that the file has ended.
    pub fn finish(&mut self) {
        if self.layout.is_none() {
            self.begin();
        }
        let last = std::mem::take(&mut self.rest);
        if !last.is_empty() || self.too_long {
            self.take_last(&last);
        }
        if let Some((_, line)) = self.leapt.take() {
            self.skip(line);
        }
        self.close_run();
    }

    /// What columns the rows have; all of it unknown before anything was read.
    pub fn layout(&self) -> Layout {
        self.layout.unwrap_or_default()
    }

    /// The runs that were read; complete after `finish`.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How many bins are held, of all runs: what memory grows with.
    pub fn bin_count(&self) -> usize {
        self.runs.iter().map(|run| run.bins.len()).sum()
    }

    /// Every row that was read, where they are kept.
    pub fn rows(&self) -> Option<&Rows> {
        self.rows.as_ref()
    }

    /// How many lines were damaged, and the number of the first one (from 1).
    pub fn skipped(&self) -> (u64, u64) {
        (self.skipped, self.first_skipped)
    }

    /// Whether time fell more often than it does in any log; what came then was left out.
    pub fn is_disordered(&self) -> bool {
        self.disordered
    }

    fn begin(&mut self) {
        let head = std::mem::take(&mut self.rest);
        let shown = &head[..head.len().min(HEAD_BYTES)];
        // CR alone once ended lines; CRLF is LF with a blank before it
        let has_lf = memchr(b'\n', shown).is_some();
        let has_cr = memchr(b'\r', shown).is_some();
        self.line_end = if has_cr && !has_lf { b'\r' } else { b'\n' };
        // the last line may be cut
        let whole = shown.iter().rposition(|byte| *byte == self.line_end);
        let whole = &shown[..whole.unwrap_or(shown.len())];
        let lines = whole.strip_prefix(b"\xef\xbb\xbf").unwrap_or(whole);
        self.layout = Some(Layout::of(
            lines.split(|byte| *byte == self.line_end).map(trimmed),
        ));
        self.lines(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head));
    }

    fn lines(&mut self, mut piece: &[u8]) {
        while let Some(end) = memchr(self.line_end, piece) {
            self.take(&piece[..end]);
            piece = &piece[end + 1..];
        }
        self.keep(piece);
    }

    fn keep(&mut self, part: &[u8]) {
        if self.too_long || self.rest.len() + part.len() > LONGEST_LINE {
            self.too_long = true;
            self.rest.clear();
        } else {
            self.rest.extend_from_slice(part);
        }
    }

    /// Take a line that has ended.
    fn take(&mut self, line: &[u8]) {
        self.line += 1;
        if std::mem::take(&mut self.too_long) || line.len() > LONGEST_LINE {
            self.skip(self.line);
            return;
        }
        let line = trimmed(line);
        match self.layout().row(line) {
            Some(row) => self.add(row),
            None if line.is_empty() => {}
            None if line.contains(&0) => {
                // zeros are what power loss leaves
                let kept: Vec<u8> = line.iter().copied().filter(|byte| *byte != 0).collect();
                match self.layout().row(&kept) {
                    Some(row) => self.add(row),
                    None if kept.is_empty() => {}
                    None => self.skip(self.line),
                }
            }
            None => self.skip(self.line),
        }
    }

    /// Take the last line, which has no end: a block size may be cut where it comes last.
    fn take_last(&mut self, line: &[u8]) {
        let row = self.layout().row(trimmed(line));
        let cut = self.layout().columns == 4
            && !self.runs.is_empty()
            && row.is_some_and(|row| row.bs != self.last_bs);
        if cut {
            self.line += 1;
            self.skip(self.line);
        } else {
            self.take(line);
        }
    }

    fn skip(&mut self, line: u64) {
        self.skipped += 1;
        if self.first_skipped == 0 {
            self.first_skipped = line;
        }
    }

    fn add(&mut self, row: Row) {
        if let Some((leapt, line)) = self.leapt.take() {
            if (-DISORDER_MS..=LEAP_MS).contains(&(row.time_ms - leapt.time_ms)) {
                self.begin_run(leapt.time_ms, line);
                self.count(leapt);
            } else {
                self.skip(line);
            }
        }
        let Some(run) = self.runs.last() else {
            self.begin_run(row.time_ms, self.line);
            self.count(row);
            return;
        };
        let back = run.last_ms - row.time_ms;
        if -back > LEAP_MS {
            self.leapt = Some((row, self.line));
            return;
        }
        // a short run that is followed by another falls back to about its own beginning
        let again = back > DISORDER_MS / 10 && row.time_ms - run.first_ms < back / 4;
        if back > DISORDER_MS || again {
            self.begin_run(row.time_ms, self.line);
        }
        self.count(row);
    }

    fn begin_run(&mut self, time_ms: i64, line: u64) {
        if self.runs.len() == MAX_RUNS {
            self.disordered = true;
        }
        if self.disordered {
            return;
        }
        self.close_run();
        self.runs.push(Run {
            bins: Vec::new(),
            line,
            first_ms: time_ms,
            last_ms: time_ms,
        });
    }

    fn close_run(&mut self) {
        if let Some(run) = self.runs.last_mut() {
            self.bins.close_before(i64::MAX, &mut run.bins);
        }
    }

    fn count(&mut self, row: Row) {
        if self.disordered {
            return;
        }
        if let Some(rows) = &mut self.rows {
            rows.time_ms.push(row.time_ms);
            rows.value.push(row.value);
            rows.ddir.push(row.ddir);
            rows.bs.push(row.bs);
            rows.offset.push(row.offset);
        }
        self.last_bs = row.bs;
        let run = self.runs.last_mut().expect("a run has begun");
        run.first_ms = run.first_ms.min(row.time_ms);
        self.bins.add(&row);
        if row.time_ms > run.last_ms {
            run.last_ms = row.time_ms;
            self.bins
                .close_before(row.time_ms - DISORDER_MS, &mut run.bins);
        }
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> FioLog {
        let mut log = FioLog::new(true);
        log.feed(text.as_bytes());
        log.finish();
        log
    }

    fn times(log: &FioLog) -> Vec<Vec<i64>> {
        let of_run = |run: &Run| run.bins.iter().map(|bin| bin.last_ms).collect();
        log.runs().iter().map(of_run).collect()
    }

    #[test]
    fn windows_of_reads_and_writes_are_a_bin_each() {
        let log = read("500, 8000, 0, 0, 0\n500, 8008, 1, 0, 0\n1001, 9000, 0, 0, 0\n");
        let [run] = log.runs() else { panic!("one run") };
        let seen: Vec<_> = run
            .bins
            .iter()
            .map(|b| (b.last_ms, b.ddir, b.mean))
            .collect();
        assert_eq!(
            seen,
            [(500, 0, 8000.0), (500, 1, 8008.0), (1001, 0, 9000.0)]
        );
    }

    #[test]
    fn time_that_falls_far_is_another_run_and_a_little_disorder_is_none() {
        let log = read("500, 1, 0, 0\n1000, 1, 0, 0\n997, 1, 1, 0\n60000, 1, 0, 0\n");
        assert_eq!(log.runs().len(), 1);
        let log = read("0, 1, 0, 0\n1000, 1, 0, 0\n2000, 2, 0, 0\n500, 3, 0, 0\n1000, 4, 0, 0\n");
        assert_eq!(times(&log), [vec![0, 1000, 2000], vec![500, 1000]]);
        assert_eq!(log.runs()[1].line, 4);
        let log = read("0, 1, 0, 0\n300, 1, 0, 0\n600, 2, 0, 0\n0, 3, 0, 0\n300, 4, 0, 0\n");
        assert_eq!(log.runs().len(), 2);
    }

    #[test]
    fn a_time_that_leaps_is_damaged_unless_others_follow_it() {
        let log = read("0, 1, 0, 0\n5001000, 1, 0, 0\n1000, 1, 0, 0\n");
        assert_eq!((times(&log), log.skipped()), (vec![vec![0, 1000]], (1, 2)));
        let log = read("0, 1, 0, 0\n5001000, 1, 0, 0\n5002000, 1, 0, 0\n");
        assert_eq!(times(&log), [vec![0], vec![5001000, 5002000]]);
        assert_eq!(log.runs()[1].line, 2);
    }

    #[test]
    fn damage_is_skipped_and_counted() {
        let log = read(
            "\u{feff}0, 1, 0, 0\r\n\r\nfio: text\r\n100, 1, 7, 0\r\n\0\x00200, 1, 0, 0\r\n300, 1",
        );
        assert_eq!((times(&log), log.skipped()), (vec![vec![0, 200]], (3, 3)));
        let long = format!("0, 1, 0, 0\n{}\n100, 1, 0, 0\n", "1".repeat(1 << 20));
        assert_eq!(read(&long).skipped(), (1, 2));
    }

    #[test]
    fn a_last_row_without_an_end_counts_unless_its_block_size_is_cut() {
        assert_eq!(times(&read("0, 1, 0, 4096\n9, 1, 0, 4096")), [[9]]);
        assert_eq!(
            read("0, 1, 0, 4096\n9, 1, 0, 4096").runs()[0].bins[0].count,
            2
        );
        assert_eq!(read("0, 1, 0, 4096\n9, 1, 0, 40").skipped(), (1, 2));
    }

    #[test]
    fn a_log_whose_time_falls_all_the_time_is_said_to_be_none() {
        let log = read(&"5000, 1, 0, 0\n0, 1, 0, 0\n".repeat(1000));
        assert!(log.is_disordered());
        assert_eq!(log.runs().len(), MAX_RUNS);
    }

    #[test]
    fn bins_of_absurd_times_take_no_more_room_than_their_rows() {
        let rows: String = (0..2000i64)
            .map(|i| format!("{}, 1, 0, 4096\n", i * 599_000))
            .collect();
        assert_eq!(read(&rows).runs()[0].bins.len(), 2000);
    }

    prop_compose! {
        fn line()(
            time in 0i64..5000, value in 0u64..1_000_000, ddir in 0u8..4, kind in 0u8..20
        ) -> String {
            match kind {
                0 => "damaged".into(),
                1 => format!("{time}, {value}"),
                2 => format!("{}, {value}, {ddir}, 4096, 0\r", time * 1_000_000),
                3 => "x".repeat(value as usize % 10_000),
                4 => String::new(),
                _ => format!("{time}, {value}, {ddir}, 4096, 0"),
            }
        }
    }

    proptest! {
        #[test]
        fn a_log_says_the_same_however_it_is_cut(
            lines in prop::collection::vec(line(), 0..200),
            repeats in 1usize..30,
            ends in any::<bool>(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let mut text = vec![lines.join("\n"); repeats].join("\n");
            if ends {
                text.push('\n');
            }
            let whole = read(&text);
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            places.extend([0, text.len()]);
            places.sort_unstable();
            let mut cut = FioLog::new(true);
            for pair in places.windows(2) {
                cut.feed(&text.as_bytes()[pair[0]..pair[1]]);
            }
            cut.finish();
            prop_assert_eq!(whole.runs(), cut.runs());
            prop_assert_eq!(whole.rows(), cut.rows());
            prop_assert_eq!(whole.skipped(), cut.skipped());
        }

        #[test]
        fn rows_that_are_written_are_read_back(
            rows in prop::collection::vec(
                (0i64..50, any::<u64>(), 0u8..3, any::<u64>(), 2u64..u64::MAX), 1..200
            )
        ) {
            let mut time_ms = 0;
            let mut text = String::new();
            let mut written = Rows::default();
            for (step, value, ddir, bs, offset) in rows {
                time_ms += step;
                text += &format!("{time_ms}, {value}, {ddir}, {bs}, {offset}, 0\n");
                written.time_ms.push(time_ms);
                written.value.push(value);
                written.ddir.push(ddir);
                written.bs.push(bs);
                written.offset.push(offset);
            }
            let log = read(&text);
            prop_assert_eq!(log.rows(), Some(&written));
            let counted: u64 = log.runs().iter().flat_map(|r| &r.bins).map(|b| b.count).sum();
            prop_assert_eq!(counted as usize, written.value.len());
        }

        #[test]
        fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mut log = FioLog::new(false);
            log.feed(&bytes);
            log.finish();
            prop_assert!(log.runs().len() <= MAX_RUNS);
        }
    }
}
