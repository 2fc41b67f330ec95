//! One cell: a sender's thread, which sends what is due and takes answers.

use std::num::NonZeroU64;
use std::time::Duration;

use rustix::thread::set_current_timer_slack;
use tapeline_measure::clock::now_ns;
use tapeline_measure::disturbance::Disturbance;
use tapeline_measure::schedule::Pacing;

use super::pair::{Followed, Say, Watch, explained};
use super::sender::Sender;
use super::timetable::Timetable;
use crate::control::Control;
use crate::intervals::{Interval, Measured};
use crate::link::{Links, Readiness};
use crate::message::{Head, Kind, MAX_BYTES};
use crate::{GaugeError, Transport};

const NS_PER_S: u64 = 1_000_000_000;

/// The first message is due so long after the start.
const LEAD_NS: u64 = 2_000_000;

/// Messages that are sent before answers are looked for.
const AT_ONCE: usize = 32;

/// How long a transport that has no room is left alone.
const NO_ROOM_NS: u64 = 50_000;

/// How long answers are waited for after the last message, without any.
const DRAIN_NS: u64 = NS_PER_S;

/// What is sent in a cell.
#[derive(Clone, Debug)]
pub(super) struct CellPlan {
    pub(super) transport: Transport,
    pub(super) bytes: usize,
    pub(super) rate_per_s: u64,
    pub(super) pacing: Pacing,
    pub(super) recorded: Option<Vec<(u64, u32)>>,
    pub(super) warm_up: Duration,
    pub(super) seconds: Duration,
    pub(super) window: u64,
    pub(super) is_spinning: bool,
    pub(super) interval: Duration,
    /// Of those sides that are on this host.
    pub(super) cores: Vec<Option<Vec<usize>>>,
}

/// What became of a cell.
pub(super) struct CellDone {
    pub(super) sender: Sender,
    pub(super) measured: Measured,
    pub(super) followed: Followed,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) disturbed: Option<Disturbance>,
    /// Somebody wanted it to end.
    pub(super) is_cut_short: bool,
}

/// Figures of an interval of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) seconds: f64,
    pub(super) of: Interval,
    pub(super) sent: u64,
    pub(super) buffered: u64,
    pub(super) remain: u64,
}

/// Sends for as long as the plan has it.
pub(super) fn run(
    plan: &CellPlan,
    links: &mut Links,
    control: &mut Control,
    on_line: &mut dyn FnMut(&Line),
) -> Result<CellDone, GaugeError> {
    // Else the kernel wakes this thread up to 50 µs late on purpose.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let start_ns = now_ns() + LEAD_NS;
    let from_ns = start_ns + plan.warm_up.as_nanos() as u64;
    let measured = Measured { from_ns, to_ns: from_ns + plan.seconds.as_nanos() as u64 };
    let timetable = match &plan.recorded {
        Some(all) => Timetable::Recorded { start_ns, all: all.clone(), next: 0 },
        None => Timetable::of_rate(start_ns, plan.rate_per_s, plan.pacing, plan.bytes),
    };
    let may_lose = plan.transport.is_datagram();
    let mut shell = Shell {
        sender: Sender::new(timetable, plan.window, measured, may_lose),
        message: vec![0x5A; plan.recorded.as_ref().map_or(plan.bytes, |_| MAX_BYTES)],
        readiness: Readiness::of(links).map_err(GaugeError::io("waiting for links"))?,
        links,
        is_spinning: plan.is_spinning,
    };
    let thread = tapeline_measure::processor::thread_id();
    let cpu = || tapeline_measure::processor::thread_seconds(thread);
    let cpu_before = cpu();
    let watch = (!control.is_beside_us()).then(|| crate::setup::watch(&plan.cores));
    let ran = shell.run(plan, control, on_line);
    let is_cut_short = match ran {
        Ok(()) => false,
        Err(GaugeError::Interrupted(_)) => true,
        Err(error) => return Err(explained(control, error)),
    };
    let disturbed = watch.and_then(|watch| watch.ended());
    let sender = shell.sender;
    control.send(&Say::End { sent: sender.sent_in_all() })?;
    let followed = match control.receive()? {
        Say::Counts(counts) => *counts,
        Say::Refused(why) => return Err(GaugeError::Peer(format!("ended, and says: {why}"))),
        _ => return Err(GaugeError::Peer("spoke out of turn".to_owned())),
    };
    let cpu_seconds = cpu().zip(cpu_before).map(|(after, before)| after - before);
    Ok(CellDone { sender, measured, followed, cpu_seconds, disturbed, is_cut_short })
}

struct Shell<'a> {
    sender: Sender,
    links: &'a mut Links,
    message: Vec<u8>,
    readiness: Readiness,
    is_spinning: bool,
}

impl Shell<'_> {
    fn run(
        &mut self,
        plan: &CellPlan,
        control: &mut Control,
        on_line: &mut dyn FnMut(&Line),
    ) -> Result<(), GaugeError> {
        let interval_ns = (plan.interval.as_nanos() as u64).max(1);
        let (mut line_at, mut watch) = (now_ns() + LEAD_NS + interval_ns, Watch::new());
        let mut over_since = None;
        loop {
            let now = now_ns();
            let is_over = self.sender.is_over(now);
            if !is_over {
                self.send(now)?;
            }
            let came = self.poll()?;
            if now >= line_at {
                let (of, sent) = self.sender.take_line();
                let (buffered, remain) = (self.sender.buffered(now), self.sender.remain());
                let seconds = (now - line_at + interval_ns) as f64 / NS_PER_S as f64;
                on_line(&Line { seconds, of, sent, buffered, remain });
                line_at += interval_ns;
                // Of a machine that stood still, the intervals are one.
                line_at = line_at.max(now);
            }
            if let Some(said) = watch.heard(control)? {
                return Err(match said {
                    Say::Refused(why) => GaugeError::Peer(format!("ended, and says: {why}")),
                    _ => GaugeError::Peer("spoke out of turn".to_owned()),
                });
            }
            self.sender.give_up(now);
            if is_over {
                let since = *over_since.get_or_insert(now);
                if came {
                    over_since = Some(now);
                }
                if self.sender.remain() == 0 || now - since > DRAIN_NS {
                    return Ok(());
                }
            }
            if !self.is_spinning {
                let until = match () {
                    () if self.sender.is_refused() && !is_over => now + NO_ROOM_NS,
                    () if is_over => now + 10 * NO_ROOM_NS,
                    () => self.sender.next_ns().min(line_at),
                };
                let waited = self.readiness.wait(self.links, until);
                waited.map_err(GaugeError::io("waiting for answers"))?;
            }
        }
    }

    fn send(&mut self, now: u64) -> Result<(), GaugeError> {
        let count = self.links.len() as u64;
        let mut at = now;
        for _ in 0..AT_ONCE {
            let Some(due) = self.sender.next(at) else { return Ok(()) };
            let message = &mut self.message[..due.bytes];
            let (kind, length) = (Kind::Data, due.bytes as u32);
            // Of the clock, not of the turn: what is before it in this turn took time.
            let sent_ns = now_ns();
            Head { kind, length, seq: due.seq, due_ns: due.at_ns, sent_ns }.write(message);
            let link = &mut self.links[(due.seq % count) as usize];
            if !link.offer(message).map_err(failed)? {
                return Ok(());
            }
            self.sender.sent(sent_ns);
            at = sent_ns;
        }
        Ok(())
    }

    /// Whether an answer came.
    fn poll(&mut self) -> Result<bool, GaugeError> {
        let (sender, mut came) = (&mut self.sender, false);
        let polled = self.readiness.poll(self.links, &mut |_, message| {
            if let Some(head) = Head::read(message).filter(|head| head.kind == Kind::Answer) {
                sender.answered(&head, now_ns());
                came = true;
            }
        });
        polled.map_err(|(_, error)| failed(error))?;
        for link in self.links.iter_mut() {
            link.flush().map_err(failed)?;
        }
        Ok(came)
    }
}

/// What became of a link.
pub(super) fn failed(error: std::io::Error) -> GaugeError {
    use std::io::ErrorKind::{Interrupted, InvalidData, UnexpectedEof};
    match error.kind() {
        UnexpectedEof => GaugeError::Peer("ended".to_owned()),
        InvalidData => GaugeError::Peer("sent what is no message".to_owned()),
        Interrupted if tapeline_measure::stop::is_asked() => {
            tapeline_measure::stop::Interrupted.into()
        }
        _ => GaugeError::io("a message")(error),
    }
}
