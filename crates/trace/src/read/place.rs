//! Where an I/O is on the drive.

/// The drive that a trace is for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// Its size; none where any offset is right.
    pub(super) span_bytes: Option<u64>,
    /// Whether offsets past its end are folded into it.
    pub(super) wrap: bool,
}

const PAGE: u64 = 4096;

impl Place {
    /// The offset and length that an I/O has; the reason where it can have none.
    #[inline]
    pub(super) fn put(&self, offset: u64, bytes: u64) -> Result<(u64, u32), String> {
        let (Some(end), Ok(length)) = (offset.checked_add(bytes), u32::try_from(bytes)) else {
            return Err(format!(
                "{bytes} bytes at {offset}, expected a length below 4 GiB that ends below 2^64"
            ));
        };
        if length == 0 {
            return Err("a length of 0, expected 1 or more".to_string());
        }
        match self.span_bytes {
            Some(span) if end > span => Ok((self.past(offset, bytes, span)?, length)),
            _ => Ok((offset, length)),
        }
    }

    /// Fold by whole pages, so that what is aligned or sequential stays so; what would then be
    /// across the end is moved down to end before it.
    #[cold]
    fn past(&self, offset: u64, bytes: u64, span: u64) -> Result<u64, String> {
        if self.wrap && bytes <= span {
            let folded = match span / PAGE * PAGE {
                0 => 0,
                round => offset % round,
            };
            let last = span - bytes;
            return Ok(if folded <= last {
                folded
            } else {
                last / PAGE * PAGE
            });
        }
        let how = if self.wrap {
            "expected no I/O larger than the drive"
        } else {
            "expected I/O within it, or to be told to wrap"
        };
        Err(format!(
            "{bytes} bytes at {offset} end past the drive's {span} bytes, {how}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_folded_lies_within_the_drive_and_what_is_within_stays(
            offset in 0u64..1 << 50, bytes in 1u64..1 << 20, span in 1u64..1 << 40
        ) {
            let place = Place { span_bytes: Some(span), wrap: true };
            match place.put(offset, bytes) {
                Ok((at, length)) => {
                    prop_assert_eq!(u64::from(length), bytes);
                    prop_assert!(at + bytes <= span);
                    if offset + bytes <= span {
                        prop_assert_eq!(at, offset);
                    } else if offset.is_multiple_of(PAGE) {
                        prop_assert!(at.is_multiple_of(PAGE));
                    }
                }
                Err(_) => prop_assert!(bytes > span),
            }
        }
    }

    #[test]
    fn a_folded_run_stays_sequential_up_to_the_end() {
        let place = Place {
            span_bytes: Some(1_000_000),
            wrap: true,
        };
        let run: Vec<u64> = (0..4)
            .map(|io| place.put(5_000_000 + 8192 * io, 8192).unwrap().0)
            .collect();
        assert!(run.windows(2).all(|two| two[1] == two[0] + 8192));
    }

    #[test]
    fn without_wrapping_the_end_is_the_limit() {
        let place = Place {
            span_bytes: Some(8192),
            wrap: false,
        };
        assert_eq!(place.put(4096, 4096), Ok((4096, 4096)));
        assert!(
            place
                .put(4097, 4096)
                .unwrap_err()
                .contains("past the drive's 8192 bytes")
        );
        assert!(Place::default().put(u64::MAX, 1).is_err());
        assert!(Place::default().put(0, 1 << 32).is_err());
        assert!(Place::default().put(0, 0).is_err());
    }
}
