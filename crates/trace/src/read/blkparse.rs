//! The text that blkparse prints by default.
//!
//! An I/O starts as the driver gets it (D), or where a trace has no such events, as it is queued
//! (Q); it ends as it completes (C).

use super::event::{Event, Kind, Line, classify, is_beside};
use super::fields::quoted;
use super::flight::Flight;
use super::order::Window;
use super::place::Place;
use super::reader::{Bad, Parser};
use crate::record::{Op, Record, UNKNOWN_NS};

const SECTOR: u64 = 512;
/// CPUs' clocks and buffers put events a little out of order.
const SLACK_NS: u64 = 10_000_000;
const EVENT: &str = "expected MAJOR,MINOR CPU SEQUENCE SECONDS PID ACTION RWBS SECTOR + SECTORS";

enum Step {
    Issue(Record, u64, u64),
    Complete(Op, u64, u64),
    Requeue(Op, u64, u64),
}

/// Makes records of events.
pub(super) struct Blkparse {
    place: Place,
    device: Option<Vec<u8>>,
    chosen: bool,
    other: Option<Vec<u8>>,
    /// What starts an I/O.
    begins: Kind,
    window: Window<Step>,
    flight: Flight,
    ended: bool,
}

impl Blkparse {
    /// `head`: the beginning of the trace, which shows whether it has D.
    pub(super) fn new(head: &[u8], place: Place, device: Option<String>) -> Self {
        let issued = head
            .split(|&byte| byte == b'\n')
            .any(|line| match classify(line) {
                Line::Event(event) => {
                    event.kind == Kind::Issue
                        && (device.as_ref()).is_none_or(|only| only.as_bytes() == event.device)
                }
                _ => false,
            });
        Blkparse {
            place,
            chosen: device.is_some(),
            device: device.map(String::into_bytes),
            other: None,
            begins: if issued { Kind::Issue } else { Kind::Queue },
            window: Window::new(SLACK_NS),
            flight: Flight::default(),
            ended: false,
        }
    }

    /// Whether this device is the one that is read.
    #[inline]
    fn takes(&mut self, device: &[u8]) -> Result<bool, Bad> {
        match &self.device {
            Some(only) if only == device => Ok(true),
            Some(_) if self.chosen => {
                self.other.get_or_insert_with(|| device.to_vec());
                Ok(false)
            }
            Some(only) => Err(Bad::Choice(format!(
                "a second drive, {} beside {}, expected one or a choice of the device",
                String::from_utf8_lossy(device),
                String::from_utf8_lossy(only)
            ))),
            None => {
                self.device = Some(device.to_vec());
                Ok(true)
            }
        }
    }

    fn step(&self, event: &Event<'_>) -> Result<Step, Bad> {
        let Event {
            op,
            sector,
            sectors,
            ..
        } = *event;
        Ok(match event.kind {
            Kind::Complete => Step::Complete(op, sector, sectors),
            Kind::Requeue => Step::Requeue(op, sector, sectors),
            _ => {
                let in_bytes = |sectors: u64| sectors.saturating_mul(SECTOR);
                let (offset, bytes) = self.place.put(in_bytes(sector), in_bytes(sectors))?;
                let record = Record {
                    at_ns: event.time_ns,
                    done_ns: UNKNOWN_NS,
                    offset,
                    bytes,
                    op,
                    depth: 0,
                };
                Step::Issue(record, sector, sectors)
            }
        })
    }

    #[inline]
    fn settle(&mut self) {
        while let Some((time_ns, step)) = self.window.pop(self.ended) {
            match step {
                Step::Issue(record, sector, sectors) => self.flight.issue(record, sector, sectors),
                Step::Complete(op, sector, sectors) => {
                    self.flight.complete(time_ns, op, sector, sectors);
                }
                Step::Requeue(op, sector, sectors) => {
                    self.flight.requeue(time_ns, op, sector, sectors)
                }
            }
        }
    }
}

impl Parser for Blkparse {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), Bad> {
        if is_beside(line, self.begins == Kind::Queue) {
            return Ok(());
        }
        let event = match classify(line) {
            Line::Event(event) => event,
            Line::Summary => return Ok(()),
            Line::Damaged => {
                return Err(Bad::Damage(format!(
                    "{} is no event, {EVENT}",
                    quoted(line)
                )));
            }
        };
        let matters = match event.kind {
            Kind::Other => false,
            Kind::Queue | Kind::Issue => event.kind == self.begins,
            Kind::Complete | Kind::Requeue => true,
        };
        if matters && self.takes(event.device)? {
            let step = self.step(&event)?;
            self.window.push(event.time_ns, step)?;
            self.settle();
        }
        Ok(())
    }

    fn end(&mut self) {
        self.ended = true;
        self.settle();
    }

    #[inline]
    fn pop(&mut self) -> Option<Record> {
        self.flight.pop(self.ended)
    }

    fn nothing(&self) -> String {
        match (&self.device, &self.other) {
            (Some(only), Some(other)) => format!(
                "no I/O of {} in the whole trace, expected a drive in it, such as {}",
                String::from_utf8_lossy(only),
                String::from_utf8_lossy(other)
            ),
            _ => format!("no I/O in the whole trace, {EVENT}"),
        }
    }
}
