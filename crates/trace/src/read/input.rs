//! A file's bytes, whatever it was packed with.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// What a trace is packed with, recognized by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Nothing.
    None,
    /// gzip: RFC 1952, one member or several.
    Gzip,
    /// Zstandard: RFC 8878, one frame or several.
    Zstd,
    /// xz, one stream or several.
    Xz,
}

impl Compression {
    /// Its name; none where there is no compression.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Compression::None => None,
            Compression::Gzip => Some("gzip"),
            Compression::Zstd => Some("zstd"),
            Compression::Xz => Some("xz"),
        }
    }

    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // a frame, or one to be skipped
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            _ => Compression::None,
        }
    }
}

/// Memory that unpacking xz may take; `xz -9` needs 65 MB. Of Zstandard, its own limit holds.
const XZ_MEMORY: u64 = 256 << 20;

/// Open a file; what it says once unpacked, and what it is packed with.
///
/// What is not a regular file is refused: a pipe may never say anything.
pub(super) fn unpacked(path: &Path) -> io::Result<(Box<dyn Read + Send>, Compression)> {
    const PACKED: usize = 128 << 10;
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::other(
            "is a pipe or a device, and a trace is read from a file: save it as one first",
        ));
    }
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    (&file).take(6).read_to_end(&mut magic)?;
    let compression = Compression::of(&magic);
    file.rewind()?;
    let packed = |file| BufReader::with_capacity(PACKED, file);
    let bytes: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(packed(file))),
        Compression::Zstd => Box::new(zstd::Decoder::with_buffer(packed(file))?),
        Compression::Xz => {
            use liblzma::stream::{CONCATENATED, Stream};
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(
                packed(file),
                stream,
            ))
        }
    };
    Ok((bytes, compression))
}
