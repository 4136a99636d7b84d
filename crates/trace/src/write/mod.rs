//! Traces written in the formats that other tools read.

mod blkparse;
mod iolog;
mod msr;
mod text;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

pub use self::blkparse::blkparse;
pub use self::iolog::{iolog_v2, iolog_v3, iolog_v3_ticking};
pub use self::msr::msr;
use crate::read::{Compression, Format};
use crate::record::{Record, Source, SourceError};

/// Records taken at a time.
const BATCH: usize = 4096;

/// Why a trace was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It cannot be written there.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What is to be written cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The format has no way to say it.
    #[error("{0}")]
    Format(String),
}

/// Write all of a source into a file; how many I/Os. It is packed if its name ends in .gz, .zst or
/// .xz. `name` is the file or the host that the format states.
pub fn to_file(
    source: &mut dyn Source,
    path: &Path,
    format: Format,
    name: &str,
) -> Result<u64, WriteError> {
    let file = File::create(path)?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    let packing = match ending {
        Some("gz") => Compression::Gzip,
        Some("zst") => Compression::Zstd,
        Some("xz") => Compression::Xz,
        _ => Compression::None,
    };
    let mut file = io::BufWriter::with_capacity(1 << 18, file);
    let count = match packing {
        Compression::None => write(source, &mut file, format, name)?,
        Compression::Gzip => {
            let level = flate2::Compression::default();
            let mut packed = flate2::write::GzEncoder::new(&mut file, level);
            let count = write(source, &mut packed, format, name)?;
            packed.finish()?;
            count
        }
        Compression::Zstd => {
            let mut packed = zstd::Encoder::new(&mut file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            let count = write(source, &mut packed, format, name)?;
            packed.finish()?;
            count
        }
        Compression::Xz => {
            let mut packed = liblzma::write::XzEncoder::new(&mut file, 6);
            let count = write(source, &mut packed, format, name)?;
            packed.finish()?;
            count
        }
    };
    file.flush()?;
    Ok(count)
}

/// Write all of a source; how many I/Os.
pub fn write(
    source: &mut dyn Source,
    out: &mut dyn Write,
    format: Format,
    name: &str,
) -> Result<u64, WriteError> {
    match format {
        Format::IologV2 => iolog_v2(source, out, name),
        Format::IologV3 => iolog_v3(source, out, name),
        Format::Blkparse => blkparse(source, out, name),
        Format::Msr => msr(source, out, name),
    }
}

/// A name that is between blanks or commas, and so can hold none.
fn checked(name: &str) -> Result<&str, WriteError> {
    let parts = |letter: char| letter.is_whitespace() || letter.is_control() || letter == ',';
    if name.is_empty() || name.contains(parts) {
        return Err(WriteError::Format(format!(
            "the name {name:?} cannot stand in a trace, expected one without blanks or commas"
        )));
    }
    Ok(name)
}

/// Hand every record on, a batch at a time; how many.
fn each(
    source: &mut dyn Source,
    mut take: impl FnMut(&[Record]) -> Result<(), WriteError>,
) -> Result<u64, WriteError> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut count = 0;
    loop {
        batch.clear();
        match source.fill(&mut batch, BATCH)? {
            0 => return Ok(count),
            some => count += some as u64,
        }
        take(&batch)?;
    }
}

#[cfg(test)]
mod tests;
