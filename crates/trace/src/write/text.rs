//! Lines put together without any memory of their own.

use std::io::{self, Write};

/// Text on its way to a file.
#[derive(Default)]
pub(super) struct Text {
    bytes: Vec<u8>,
    digits: itoa::Buffer,
}

impl Text {
    pub(super) fn put(&mut self, text: &str) -> &mut Self {
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        let digits = self.digits.format(number);
        self.bytes.extend_from_slice(digits.as_bytes());
        self
    }

    /// A number to the right of as much of `filler` as its width asks for.
    pub(super) fn padded(&mut self, number: u64, width: usize, filler: u8) -> &mut Self {
        let digits = self.digits.format(number);
        let wanted = self.bytes.len() + width.saturating_sub(digits.len());
        self.bytes.resize(wanted, filler);
        self.bytes.extend_from_slice(digits.as_bytes());
        self
    }

    /// Write it out, and start again.
    pub(super) fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
