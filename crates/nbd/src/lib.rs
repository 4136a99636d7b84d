//! The simulated drive as a plugin of nbdkit.
//!
//! A drive that keeps no data: reads give zeros, and what is written counts as heat, time and used
//! flash alone. Requests come in threads of nbdkit's, each of which sleeps until its I/O is done, so
//! that as many are in flight as clients ask for.

mod clock;
mod config;
mod export;
mod outlet;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use heatsoak_drive::{DriveError, Op};
use nbdkit::{
    Error, ExtentHandle, ExtentType, Flags, FuaFlags, Result, Server, ThreadModel, plugin,
};

use config::Config;
use export::Export;

static CONFIG: OnceLock<Config> = OnceLock::new();
static EXPORT: OnceLock<Arc<Export>> = OnceLock::new();
static TELLER: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);

/// A connection; all of them load the one drive.
struct Connection(Arc<Export>);

fn wrong(text: impl Into<String>) -> Error {
    Error::new(libc::EINVAL, text.into())
}

fn failed(error: DriveError) -> Error {
    let errno = match error {
        DriveError::Io(_) => libc::EINVAL,
        _ => libc::EIO,
    };
    Error::new(errno, error.to_string())
}

fn count(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| wrong("a request is of less than 4 GiB"))
}

impl Server for Connection {
    fn name() -> &'static str {
        "heatsoak"
    }

    fn longname() -> Option<&'static str> {
        Some("heatsoak's simulated drive")
    }

    fn version() -> Option<&'static str> {
        Some(env!("CARGO_PKG_VERSION"))
    }

    fn magic_config_key() -> Option<&'static str> {
        Some("drive")
    }

    fn config(key: &str, value: &str) -> Result<()> {
        if key != "drive" {
            return Err(wrong(format!(
                "'{key}' is no parameter: there is drive=FILE"
            )));
        }
        let config = Config::read(Path::new(value)).map_err(wrong)?;
        CONFIG
            .set(config)
            .map_err(|_| wrong("drive=FILE is given twice"))
    }

    fn config_complete() -> Result<()> {
        match CONFIG.get() {
            Some(_) => Ok(()),
            None => Err(wrong("drive=FILE is missing: `heatsoak lab nbd` writes it")),
        }
    }

    fn thread_model() -> Result<ThreadModel> {
        Ok(ThreadModel::Parallel)
    }

    fn after_fork() -> Result<()> {
        let config = CONFIG.get().ok_or_else(|| wrong("there is no drive"))?;
        let export = Arc::new(Export::start(config).map_err(wrong)?);
        *TELLER.lock().unwrap_or_else(PoisonError::into_inner) = Some(export.tell());
        EXPORT.set(export).map_err(|_| wrong("it runs already"))
    }

    fn unload() {
        let Some(export) = EXPORT.get() else {
            return;
        };
        export.stop();
        let mut teller = TELLER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(teller) = teller.take() {
            let _ = teller.join();
        }
        if let Err(error) = export.end() {
            eprintln!("{error}");
        }
    }

    fn open(_readonly: bool) -> Result<Box<dyn Server>> {
        let export = EXPORT.get().ok_or_else(|| wrong("there is no drive"))?;
        Ok(Box::new(Connection(Arc::clone(export))))
    }

    fn get_size(&self) -> Result<i64> {
        Ok(self.0.size_bytes() as i64)
    }

    fn can_write(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_trim(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_flush(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_fua(&self) -> Result<FuaFlags> {
        Ok(FuaFlags::Emulate)
    }

    fn can_multi_conn(&self) -> Result<bool> {
        Ok(true)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        buf.fill(0);
        let bytes = count(buf.len())?;
        self.0.serve(Op::Read, offset, bytes).map_err(failed)
    }

    fn write_at(&self, buf: &[u8], offset: u64, _flags: Flags) -> Result<()> {
        let bytes = count(buf.len())?;
        self.0.serve(Op::Write, offset, bytes).map_err(failed)
    }

    fn trim(&self, count: u32, offset: u64, _flags: Flags) -> Result<()> {
        self.0.serve(Op::Trim, offset, count).map_err(failed)
    }

    fn flush(&self) -> Result<()> {
        self.0.flush();
        Ok(())
    }

    /// Nothing is ever kept, so all of it is a hole that reads as zeros.
    fn extents(
        &self,
        count: u32,
        offset: u64,
        _flags: Flags,
        extents: &mut ExtentHandle,
    ) -> Result<()> {
        extents.add(offset, u64::from(count), ExtentType::HoleZero)
    }
}

plugin!(Connection {
    config,
    config_complete,
    thread_model,
    after_fork,
    unload,
    can_write,
    can_trim,
    can_flush,
    can_fua,
    can_multi_conn,
    write_at,
    trim,
    flush,
    extents
});
