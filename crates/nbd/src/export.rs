//! The drive behind the export: each request is taken at its time and answered when it is done.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, sync::Arc};

use heatsoak_drive::{Answer, Drive, DriveError, Op, TraceIo};

use crate::clock::Clock;
use crate::config::Config;
use crate::outlet::Outlet;

/// How often the drive is reported to the machine, in its own time.
const TOLD_EVERY_S: f64 = 0.1;

/// A drive that is served.
pub struct Export {
    size_bytes: u64,
    clock: Clock,
    drive: Mutex<Drive>,
    outlet: Mutex<Outlet>,
    flushes: AtomicU64,
    over: AtomicBool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Export {
    /// Put the drive behind the export and start its clock.
    pub fn start(config: &Config) -> Result<Export, String> {
        let mut drive = config.make()?;
        let sample_s = TOLD_EVERY_S * config.time_factor;
        drive
            .begin_live(sample_s)
            .map_err(|error| error.to_string())?;
        let mut outlet = Outlet::open(&config.inputs, config.truth.as_ref())?;
        outlet
            .sensors(drive.reported_c())
            .map_err(|error| format!("its sensors cannot be written: {error}"))?;
        Ok(Export {
            size_bytes: drive.user_bytes(),
            clock: Clock::start(config.time_factor),
            drive: Mutex::new(drive),
            outlet: Mutex::new(outlet),
            flushes: AtomicU64::new(0),
            over: AtomicBool::new(false),
        })
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Serve an I/O; returns when it is done.
    pub fn serve(&self, op: Op, offset: u64, bytes: u32) -> Result<(), DriveError> {
        if bytes == 0 {
            return Ok(());
        }
        loop {
            let answer = {
                let mut drive = lock(&self.drive);
                // the clock is read behind the lock, so that I/Os come in the order of their times
                let at_s = self.clock.now_s();
                let depth = 0;
                drive.submit(&TraceIo {
                    at_s,
                    op,
                    offset,
                    bytes,
                    depth,
                })?
            };
            match answer {
                Answer::Done(done_s) => {
                    self.clock.wait_until(done_s);
                    return Ok(());
                }
                Answer::Later(from_s) => self.clock.wait_until(from_s),
            }
        }
    }

    /// Return when all that was written is in flash.
    pub fn flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        let flushed_s = lock(&self.drive).flushed_s();
        if flushed_s.is_finite() {
            self.clock.wait_until(flushed_s);
        }
    }

    /// Report about the drive from now on, in a thread of its own.
    pub fn tell(self: &Arc<Export>) -> JoinHandle<()> {
        let export = Arc::clone(self);
        thread::spawn(move || {
            while !export.over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_secs_f64(TOLD_EVERY_S));
                if let Err(error) = export.tell_once() {
                    eprintln!("the simulated drive cannot tell of itself: {error}");
                    return;
                }
            }
        })
    }

    fn tell_once(&self) -> io::Result<()> {
        let mut outlet = lock(&self.outlet);
        // no I/O waits for a file
        let (rows, reported_c) = {
            let mut drive = lock(&self.drive);
            let rows = drive.elapse(self.clock.now_s()).map_err(io::Error::other)?;
            let named = drive.reported_c();
            let reported_c: Vec<_> = named
                .map(|(name, temp_c)| (name.to_owned(), temp_c))
                .collect();
            (rows, reported_c)
        };
        outlet.sensors(
            reported_c
                .iter()
                .map(|(name, temp_c)| (name.as_str(), *temp_c)),
        )?;
        outlet.samples(&rows, &self.clock)
    }

    /// Have the thread that reports the drive come to its end.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Report the last of it, once nothing else does; an error where an I/O was lost.
    pub fn end(&self) -> Result<(), String> {
        self.tell_once().map_err(|error| error.to_string())?;
        let mut drive = lock(&self.drive);
        let (counts, t_s) = (drive.live_counts(), drive.t_s());
        drive.end().map_err(|error| error.to_string())?;
        let flushes = self.flushes.load(Ordering::Relaxed);
        lock(&self.outlet)
            .end(&counts, flushes, t_s)
            .map_err(|error| error.to_string())
    }
}
