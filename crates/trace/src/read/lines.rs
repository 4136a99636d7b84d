//! A file's lines, in memory that does not grow with it.

use std::io::{self, Read};

use memchr::memchr;

/// Bytes held at once, and the longest line: the longest path that Linux takes has 4 KiB.
const HELD: usize = 256 << 10;

/// What comes next.
pub(super) enum Next<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// A line too long to be one.
    TooLong,
    /// There is no more.
    End,
    /// What comes after this cannot be read.
    Broken(io::Error),
}

/// The lines of a stream.
pub(super) struct Lines {
    from: Box<dyn Read + Send>,
    held: Box<[u8]>,
    start: usize,
    end: usize,
    broken: Option<io::Error>,
    ended: bool,
    /// The number of the line that was given last, from 1.
    pub(super) number: u64,
}

impl Lines {
    pub(super) fn new(from: Box<dyn Read + Send>) -> Self {
        let mut lines = Lines {
            from,
            held: vec![0; HELD].into_boxed_slice(),
            start: 0,
            end: 0,
            broken: None,
            ended: false,
            number: 0,
        };
        lines.more();
        if lines.head().starts_with(b"\xef\xbb\xbf") {
            lines.start = 3;
        }
        lines
    }

    /// What is held, before any line is taken: the first 256 KiB, or all where it is less.
    pub(super) fn head(&self) -> &[u8] {
        &self.held[self.start..self.end]
    }

    /// What kept the head from being longer.
    pub(super) fn broken(&self) -> Option<&io::Error> {
        self.broken.as_ref()
    }

    /// Move what is left to the front, and fill up after it.
    fn more(&mut self) {
        self.held.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < HELD && !self.ended {
            match self.from.read(&mut self.held[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.broken = Some(error);
                    self.ended = true;
                }
            }
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Next<'_> {
        self.number += 1;
        let mut found = memchr(b'\n', &self.held[self.start..self.end]);
        if found.is_none() && !self.ended {
            self.more();
            found = memchr(b'\n', &self.held[..self.end]);
        }
        let start = self.start;
        if let Some(length) = found {
            self.start += length + 1;
            return Next::Line(trim_end(&self.held[start..start + length]));
        }
        if !self.ended {
            return self.pass_long();
        }
        // a truncated line is not one
        if let Some(error) = self.broken.take() {
            self.start = self.end;
            return Next::Broken(error);
        }
        if start == self.end {
            self.number -= 1;
            return Next::End;
        }
        self.start = self.end;
        Next::Line(trim_end(&self.held[start..self.end]))
    }

    /// Drop everything up to the next line.
    fn pass_long(&mut self) -> Next<'_> {
        loop {
            self.start = self.end;
            self.more();
            if let Some(length) = memchr(b'\n', &self.held[..self.end]) {
                self.start = length + 1;
                return Next::TooLong;
            }
            if self.ended {
                self.start = self.end;
                return Next::TooLong;
            }
        }
    }
}

/// Without the return that Windows puts before the end.
#[inline]
fn trim_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives a byte at a time, then fails if it is told so.
    struct Slow(Vec<u8>, usize, bool);

    impl Read for Slow {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.0.get(self.1) {
                Some(&byte) => {
                    into[0] = byte;
                    self.1 += 1;
                    Ok(1)
                }
                None if self.2 => Err(io::ErrorKind::UnexpectedEof.into()),
                None => Ok(0),
            }
        }
    }

    fn said(text: &[u8], fails: bool) -> Vec<String> {
        let mut lines = Lines::new(Box::new(Slow(text.to_vec(), 0, fails)));
        let mut said = vec![];
        loop {
            let one = match lines.next() {
                Next::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                Next::TooLong => "too long".to_string(),
                Next::Broken(_) => "broken".to_string(),
                Next::End => return said,
            };
            said.push(format!("{} {one}", lines.number));
        }
    }

    #[test]
    fn lines_end_with_either_end_or_none() {
        assert_eq!(
            said(b"\xef\xbb\xbfa\r\n\nb\nc", false),
            ["1 a", "2 ", "3 b", "4 c"]
        );
        assert!(said(b"", false).is_empty());
    }

    #[test]
    fn a_line_longer_than_the_memory_is_named_and_passed() {
        let text = [b"a\n", &vec![b'x'; 3 * HELD][..], b"\nb\n"].concat();
        assert_eq!(said(&text, false), ["1 a", "2 too long", "3 b"]);
    }

    #[test]
    fn a_line_that_was_broken_off_is_not_given() {
        assert_eq!(said(b"a\nb 12", true), ["1 a", "2 broken"]);
    }
}
