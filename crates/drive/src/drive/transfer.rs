//! A copy from one drive to another, with a buffer of bounded size between them.

use super::{Activity, Drive, DriveError, SAME_S, Sums, check_times};
use crate::host::Host;
use crate::load::Load;
use crate::samples::Samples;
use crate::spec::SpecError;
use crate::workload::{Pattern, Workload};

/// How often the drives hear of each other. A buffer is filled and emptied once in two of these at
/// most, so that one of 64 MiB carries 16 GB/s.
const SLICE_S: f64 = 0.002;

/// A copy as it runs. At any time, what was written was read before, and what is read and not yet
/// written is in the buffer.
#[derive(Debug, Clone)]
pub struct Transfer {
    bytes: u64,
    bs: u64,
    iodepth: u32,
    buffer_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    /// Whether each drive is working: the source, and the destination.
    open: [bool; 2],
}

impl Transfer {
    /// A copy of `bytes`, from the start of one drive to the start of another, in I/Os of `bs`.
    pub fn new(
        bytes: u64,
        bs: u64,
        iodepth: u32,
        buffer_bytes: u64,
    ) -> Result<Transfer, DriveError> {
        let wrong = |key: &str, value: u64, expected: &str| {
            Err(DriveError::Transfer(SpecError::new(key, value, expected)))
        };
        if bs == 0 {
            return wrong("bs", bs, "an I/O has more than no bytes");
        }
        if bytes == 0 || !bytes.is_multiple_of(bs) {
            return wrong("bytes", bytes, "it has to be one or more I/Os of bs bytes");
        }
        if buffer_bytes < bs {
            return wrong("buffer_bytes", buffer_bytes, "it has to hold one I/O");
        }
        Ok(Transfer {
            bytes,
            bs,
            iodepth,
            buffer_bytes,
            read_bytes: 0,
            written_bytes: 0,
            open: [false; 2],
        })
    }

    /// Start; whatever ran on either drive is dropped.
    pub fn begin(&mut self, source: &mut Drive, destination: &mut Drive) -> Result<(), DriveError> {
        for (drive, rw) in [
            (&mut *source, Pattern::Read),
            (&mut *destination, Pattern::Write),
        ] {
            drive.begin(&[self.workload(rw)])?;
            if let Some(host) = host_of(drive) {
                host.withhold();
            }
        }
        (self.read_bytes, self.written_bytes) = (0, 0);
        self.open = [true; 2];
        Ok(())
    }

    fn workload(&self, rw: Pattern) -> Workload {
        Workload {
            rw,
            rwmixread: None,
            bs: self.bs,
            iodepth: self.iodepth,
            numjobs: 1,
            span_bytes: self.bytes,
            offset_bytes: 0,
            io_bytes: Some(self.bytes),
            runtime_s: None,
            rate: None,
            rate_iops: None,
        }
    }

    /// Whether it is over: everything was written, or a drive shut itself down.
    pub fn is_done(&self) -> bool {
        !self.open[1]
    }

    /// Bytes that were read so far, and bytes that were written.
    pub fn moved_bytes(&self) -> (u64, u64) {
        (self.read_bytes, self.written_bytes)
    }

    /// Let `duration_s` pass for both drives, or less where the copy ends before; rows of each.
    ///
    /// A drive that has done its part rests until the other has, and gives no rows meanwhile.
    pub fn advance(
        &mut self,
        source: &mut Drive,
        destination: &mut Drive,
        duration_s: f64,
        sample_s: f64,
    ) -> Result<[Samples; 2], DriveError> {
        check_times(duration_s, sample_s)?;
        let mut drives = [source, destination];
        let mut samples = drives.each_ref().map(|drive| Samples::new(drive.columns()));
        for drive in &mut drives {
            drive.grid.align(drive.t_s, sample_s);
        }
        let began_s = drives.each_ref().map(|drive| drive.t_s);
        let whole = (duration_s / sample_s + SAME_S).floor() as u64;
        for _ in 0..whole {
            let ends_s = drives.each_ref().map(|drive| drive.grid.next_s(1.0));
            self.sample(&mut drives, ends_s, sample_s, &mut samples)?;
            if self.is_done() {
                return Ok(samples);
            }
            for drive in &mut drives {
                drive.grid.count += 1.0;
            }
        }
        let rest_s = duration_s - whole as f64 * sample_s;
        if rest_s > SAME_S {
            let ends_s = began_s.map(|began_s| began_s + duration_s);
            self.sample(&mut drives, ends_s, rest_s, &mut samples)?;
        }
        Ok(samples)
    }

    /// Let one sample pass on both sides, slice by slice.
    fn sample(
        &mut self,
        drives: &mut [&mut Drive; 2],
        ends_s: [f64; 2],
        length_s: f64,
        samples: &mut [Samples; 2],
    ) -> Result<(), DriveError> {
        let began_s = drives.each_ref().map(|drive| drive.t_s);
        let mut sums = [Sums::default(), Sums::default()];
        let slices = (length_s / SLICE_S - SAME_S).ceil().max(1.0);
        for slice in 1..=slices as u64 {
            self.permit(drives);
            let left_s = length_s * (1.0 - slice as f64 / slices);
            for side in 0..2 {
                let drive = &mut *drives[side];
                let mut over = drive.pass_until(ends_s[side] - left_s, &mut sums[side])?;
                if !self.open[side] {
                    continue;
                }
                if !over
                    && side == 1
                    && slice == slices as u64
                    && let Some(last_s) = drive.draining_until(ends_s[side] + 0.5 * length_s)
                {
                    over = drive.pass_until(last_s, &mut sums[side])?;
                }
                self.count(drives);
                if over {
                    self.close(side, drives, began_s[side], &sums[side], samples)?;
                }
            }
            if !self.open[0] && drives[0].is_stopped() && self.open[1] {
                // nothing more comes
                self.close(1, drives, began_s[1], &sums[1], samples)?;
            }
            if self.is_done() {
                if self.open[0] {
                    self.close(0, drives, began_s[0], &sums[0], samples)?;
                }
                return Ok(());
            }
        }
        for side in 0..2 {
            drives[side].t_s = drives[side].t_s.max(ends_s[side]);
            if self.open[side] {
                push_row(drives[side], began_s[side], &sums[side], &mut samples[side]);
            }
        }
        Ok(())
    }

    /// A side's part is over: its last row, and rest from here on.
    fn close(
        &mut self,
        side: usize,
        drives: &mut [&mut Drive; 2],
        began_s: f64,
        sums: &Sums,
        samples: &mut [Samples; 2],
    ) -> Result<(), DriveError> {
        push_row(drives[side], began_s, sums, &mut samples[side]);
        self.open[side] = false;
        drives[side].end()
    }

    /// Let the destination write what was read, and the source fill what is free of the buffer.
    fn permit(&self, drives: &mut [&mut Drive; 2]) {
        let upto = [self.written_bytes + self.buffer_bytes, self.read_bytes];
        for (drive, upto) in drives.iter_mut().zip(upto) {
            let now_s = drive.t_s;
            if let Some(host) = host_of(drive) {
                host.permit(upto, now_s);
            }
        }
    }

    /// Take note of what completed.
    fn count(&mut self, drives: &mut [&mut Drive; 2]) {
        let [source, destination] = drives;
        if self.open[0]
            && let Some(host) = host_of(source)
        {
            self.read_bytes = host.counts().1 * self.bs;
        }
        if self.open[1]
            && let Some(host) = host_of(destination)
        {
            self.written_bytes = host.counts().1 * self.bs;
        }
    }
}

fn host_of(drive: &mut Drive) -> Option<&mut Host> {
    match &mut drive.activity {
        Activity::Running(loads) => match loads.as_mut_slice() {
            [Load::Loop(host)] => Some(host),
            _ => None,
        },
        _ => None,
    }
}

fn push_row(drive: &mut Drive, began_s: f64, sums: &Sums, samples: &mut Samples) {
    let elapsed_s = drive.t_s - began_s;
    if elapsed_s > 0.0 {
        let directions = drive.directions;
        let row = drive.row(sums, elapsed_s, directions);
        samples.push(&row);
    }
    drive.sum_up();
}
