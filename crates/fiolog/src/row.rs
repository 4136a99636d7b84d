//! One line of a log.

/// Columns that any variant has at most: with maximum, offset, priority and issue time.
const MAX_COLUMNS: usize = 8;

/// Times above this are not milliseconds of any clock, and would not be exact as floats.
const LATEST_MS: u64 = 1 << 52;

/// What one I/O or one window did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub time_ms: i64,
    pub value: u64,
    /// The window's maximum, where the log has both (`log_window_value=both`).
    pub greatest: u64,
    pub ddir: u8,
    pub bs: u64,
    pub offset: u64,
}

/// The numbers of a line.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub values: [u64; MAX_COLUMNS],
    pub count: usize,
    /// Whether one was hexadecimal: the priority of `log_prio=1`.
    pub hex: bool,
}

/// Which columns the rows of a log have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// How many; other lines are damaged.
    pub columns: usize,
    /// Whether mean and maximum of each window are side by side.
    pub both: bool,
    /// Whether the column after the block size is the offset.
    pub offset: bool,
    /// Whether I/O priorities are there, which fio writes since version 3.
    pub priority: bool,
}

/// Read the numbers of a line, without its end; None if it is not one of fio's.
pub(crate) fn fields(line: &[u8]) -> Option<Fields> {
    let mut values = [0u64; MAX_COLUMNS];
    let (mut count, mut at, mut hex) = (0, 0, false);
    loop {
        while at < line.len() && (line[at] == b' ' || line[at] == b'\t') {
            at += 1;
        }
        if count == MAX_COLUMNS {
            return None;
        }
        let begin;
        let mut value = 0u64;
        if line[at..].starts_with(b"0x") {
            hex = true;
            at += 2;
            begin = at;
            while let Some(digit) = line.get(at).and_then(|c| (*c as char).to_digit(16)) {
                value = value.checked_mul(16)?.checked_add(u64::from(digit))?;
                at += 1;
            }
        } else {
            begin = at;
            // what has up to 18 digits cannot overflow
            let safe = line.len().min(at + 18);
            while at < safe {
                let digit = line[at].wrapping_sub(b'0');
                if digit > 9 {
                    break;
                }
                value = value * 10 + u64::from(digit);
                at += 1;
            }
            while let Some(digit) = line
                .get(at)
                .map(|c| c.wrapping_sub(b'0'))
                .filter(|d| *d <= 9)
            {
                value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
                at += 1;
            }
        }
        if at == begin {
            return None;
        }
        values[count] = value;
        count += 1;
        while at < line.len() && (line[at] == b' ' || line[at] == b'\t') {
            at += 1;
        }
        match line.get(at) {
            None => break,
            Some(b',') => at += 1,
            Some(_) => return None,
        }
    }
    (count >= 2 && values[0] <= LATEST_MS).then_some(Fields { values, count, hex })
}

impl Layout {
    /// Find the layout from the first lines of a log.
    pub(crate) fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Layout {
        let rows: Vec<Fields> = lines.filter_map(fields).collect();
        let mut counts = [0usize; MAX_COLUMNS + 1];
        for row in &rows {
            counts[row.count] += 1;
        }
        // of the widths that are equally frequent the greater: a cut row is shorter
        let columns = (2..=MAX_COLUMNS)
            .max_by_key(|width| (counts[*width], *width))
            .filter(|width| counts[*width] > 0)
            .unwrap_or(0);
        let rows: Vec<Fields> = rows.into_iter().filter(|r| r.count == columns).collect();
        let hex = rows.iter().any(|row| row.hex);
        // a window's row has no block size, and the maximum is where the direction would be
        let both = columns == MAX_COLUMNS
            || (columns >= 6
                && rows
                    .iter()
                    .all(|row| row.values[3] <= 2 && row.values[4] == 0)
                && rows.iter().any(|row| row.values[2] > 2));
        let behind_bs = if both { 5 } else { 4 };
        let extra = columns.saturating_sub(behind_bs);
        let large = rows.iter().any(|row| row.values[behind_bs.min(7)] > 1);
        let offset = match extra {
            0 => false,
            // offset of fio 2, or the priority of fio 3
            1 => large && !hex,
            // offset and priority, or priority and issue time
            2 => large || rows.iter().all(|row| row.values[behind_bs + 1] <= 1) || hex,
            _ => true,
        };
        Layout {
            columns,
            both,
            offset,
            priority: hex || extra >= 2 || (extra == 1 && !offset),
        }
    }

    /// Read a line, without its end; None where it is damaged.
    pub(crate) fn row(&self, line: &[u8]) -> Option<Row> {
        let Fields { values, count, .. } = fields(line)?;
        if count != self.columns {
            return None;
        }
        let shift = usize::from(self.both);
        let ddir = if count > 2 { values[2 + shift] } else { 0 };
        (ddir <= 2).then_some(Row {
            time_ms: values[0] as i64,
            value: values[1],
            greatest: if self.both { values[2] } else { values[1] },
            ddir: ddir as u8,
            bs: if count > 3 { values[3 + shift] } else { 0 },
            offset: if self.offset { values[4 + shift] } else { 0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        Layout::of(text.lines().map(str::as_bytes))
    }

    #[test]
    fn numbers_are_read_with_any_spaces_and_in_hex() {
        let row = fields(b" 12,\t34 ,1, 4096, 0x2004").unwrap();
        assert_eq!(&row.values[..row.count], [12, 34, 1, 4096, 0x2004]);
        assert!(row.hex);
        for line in [
            "", "1", "1,", ",1", "1,,2", "1, -2", "1; 2", "1, 2 3", "1, 0x", "1, 2.5",
        ] {
            assert!(fields(line.as_bytes()).is_none(), "{line}");
        }
        assert!(fields(b"1, 99999999999999999999999").is_none());
        assert!(fields(b"9007199254740993, 1").is_none());
        assert!(fields(b"1, 2, 3, 4, 5, 6, 7, 8, 9").is_none());
        assert_eq!(
            fields(b"1, 18446744073709551615").unwrap().values[1],
            u64::MAX
        );
    }

    #[test]
    fn every_version_of_fio_has_its_layout() {
        let fio1 = layout("500, 81, 0\n1000, 82, 0");
        assert_eq!((fio1.columns, fio1.both, fio1.priority), (3, false, false));
        let fio2 = layout("500, 81, 0, 4096\n1000, 82, 0, 4096");
        assert_eq!(
            (fio2.columns, fio2.offset, fio2.priority),
            (4, false, false)
        );
        let fio2_offset = layout("5, 81, 0, 4096, 81920\n6, 82, 0, 4096, 0");
        assert!(fio2_offset.offset && !fio2_offset.priority);
        let fio3 = layout("5, 81, 0, 4096, 0\n6, 82, 0, 4096, 0");
        assert!(!fio3.offset && fio3.priority);
        let fio3_offset = layout("5, 81, 0, 4096, 81920, 0\n6, 82, 0, 4096, 0, 0");
        assert!(fio3_offset.offset && fio3_offset.priority && !fio3_offset.both);
        let hex = layout("5, 81, 0, 4096, 0x0000\n6, 82, 0, 4096, 0x6004");
        assert!(!hex.offset && hex.priority);
        let issue = layout("5, 81, 0, 4096, 0, 0, 5000123\n6, 82, 0, 4096, 512, 0, 6000123");
        assert!(issue.offset && !issue.both);
    }

    #[test]
    fn mean_and_maximum_side_by_side_are_told_apart_from_offset_and_priority() {
        let both = layout("500, 8000, 9000, 0, 0, 0\n1000, 8001, 8001, 1, 0, 0");
        assert!(both.both && !both.offset);
        let row = both.row(b"1000, 8001, 8100, 1, 0, 0").unwrap();
        assert_eq!(
            (row.value, row.greatest, row.ddir, row.bs),
            (8001, 8100, 1, 0)
        );
        let windows = layout("500, 8000, 0, 0, 0, 0\n1000, 8001, 1, 0, 0, 0");
        assert!(!windows.both);
    }

    #[test]
    fn a_row_of_another_width_or_direction_is_damaged() {
        let fio3 = layout("5, 81, 0, 4096, 0\n6, 82, 0, 4096, 0");
        assert!(fio3.row(b"7, 82, 0, 4096").is_none());
        assert!(fio3.row(b"7, 82, 3, 4096, 0").is_none());
        assert!(fio3.row(b"7, 82, 2, 4096, 0").is_some());
    }
}
