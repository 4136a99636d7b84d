//! Fields of a line, as bytes.

/// A whole number; nothing where it is none, or above 2^64 - 1.
#[inline]
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    // 19 digits cannot overflow
    let (most, last) = digits.split_at(digits.len().min(19));
    let (mut value, mut good) = (0u64, !most.is_empty());
    for &digit in most {
        let digit = digit.wrapping_sub(b'0');
        good &= digit <= 9;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    match last {
        [] if good => Some(value),
        [digit @ b'0'..=b'9'] if good => {
            value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        }
        _ => None,
    }
}

#[inline(always)]
fn blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Take the first word off; empty where there is none.
#[inline(always)]
pub(super) fn word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let mut from = *rest;
    while let [first, after @ ..] = from
        && blank(first)
    {
        from = after;
    }
    let end = from.iter().position(blank).unwrap_or(from.len());
    let (word, after) = from.split_at(end);
    *rest = after;
    word
}

/// Take the last word off; empty where there is none.
#[inline]
pub(super) fn last_word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().rposition(|byte| !blank(byte));
    let to = &rest[..end.map_or(0, |end| end + 1)];
    let start = to.iter().rposition(blank).map_or(0, |blank| blank + 1);
    let (before, word) = to.split_at(start);
    *rest = before;
    word
}

/// Whether nothing but blanks is there.
pub(super) fn empty(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// What is in a message for a line or a part of one: short, on one line.
pub(super) fn quoted(line: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MOST)]);
    let mut short: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().count() > MOST {
        short.push_str("...");
    }
    format!("`{short}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_digits_that_fit() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(
            number(b"9999999999999999999"),
            Some(9_999_999_999_999_999_999)
        );
        assert_eq!(number(b"99999999999999999999"), None);
        assert_eq!(number(b"000000000000000000000"), None);
        assert_eq!(number(b"007"), Some(7));
        for none in [&b""[..], b"-1", b"+1", b"1.5", b"0x10", b"1 "] {
            assert_eq!(number(none), None);
        }
    }

    #[test]
    fn words_come_off_both_ends() {
        let mut rest = &b"  ab \tc  d "[..];
        assert_eq!(word(&mut rest), b"ab");
        assert_eq!(last_word(&mut rest), b"d");
        assert_eq!(last_word(&mut rest), b"c");
        assert_eq!(last_word(&mut rest), b"");
        assert_eq!(word(&mut rest), b"");
    }

    #[test]
    fn a_quoted_line_is_short_and_has_no_control_characters() {
        let quote = quoted(&[b"\x1b[2J\0\n", &[b'x'; 500][..]].concat());
        assert!(quote.len() < 100 && quote.is_ascii());
        assert!(!quote.bytes().any(|byte| byte.is_ascii_control()));
    }
}
