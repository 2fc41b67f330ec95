//! The side that answers, and passes on where somebody is behind it.

use std::time::Duration;

use tapeline_measure::clock::now_ns;

use super::cell::failed;
use super::pair::{Followed, Open, Say, Watch, explained, joined};
use crate::GaugeError;
use crate::control::Control;
use crate::link::{Links, Readiness};
use crate::message::{Head, Kind, MAX_BYTES};
use crate::sequence::Sequence;

/// How long a side sleeps that waits for messages.
const NAP_NS: u64 = 20_000_000;

/// How long what was sent and has not come is waited for after the end.
const DRAIN: Duration = Duration::from_secs(1);

/// What is done with a message besides counting it.
pub(super) trait Behind {
    /// Passes it on. False when there is no room now: it is given again.
    fn pass(&mut self, message: &[u8]) -> Result<bool, GaugeError>;

    /// A turn without a message.
    fn turn(&mut self) -> Result<(), GaugeError>;

    /// A message came, with its head and when.
    fn came(&mut self, _head: &Head, _now_ns: u64) {}
}

/// Nobody is behind.
pub(super) struct Nobody;

impl Behind for Nobody {
    fn pass(&mut self, _message: &[u8]) -> Result<bool, GaugeError> {
        Ok(true)
    }

    fn turn(&mut self) -> Result<(), GaugeError> {
        Ok(())
    }
}

/// What the next sender wants; `None` when it has gone instead.
pub(super) fn opening(control: &mut Control) -> Result<Option<Open>, GaugeError> {
    match control.await_message() {
        Ok(Say::Open(open)) => Ok(Some(*open)),
        Ok(_) => Err(GaugeError::Peer("spoke out of turn".to_owned())),
        // It has nothing more to send.
        Err(GaugeError::Peer(what)) if what == "ended" => Ok(None),
        Err(error) => Err(error),
    }
}

/// Follows a sender to its end.
pub(super) fn follow(
    control: &mut Control,
    open: &Open,
    behind: &mut dyn Behind,
) -> Result<Followed, GaugeError> {
    let mut links = joined(control, open)?;
    let mut follower = Follower::new(open, &links)?;
    match follower.run(&mut links, control, behind) {
        Ok(()) => {
            let counts = follower.counts();
            control.send(&Say::Counts(Box::new(counts.clone())))?;
            Ok(counts)
        }
        Err(error) => {
            let error = match error {
                GaugeError::Peer(_) => explained(control, error),
                other => other,
            };
            let _ = control.send(&Say::Refused(error.to_string()));
            Err(error)
        }
    }
}

struct Follower {
    readiness: Readiness,
    is_spinning: bool,
    answer_bytes: Option<u32>,
    samples_only: bool,
    sequence: Sequence,
    followed: Followed,
    last_ns: Option<u64>,
    last_seq: Option<u64>,
    /// Answers that had no room: link and bytes, one behind the other.
    owed: Vec<(usize, usize)>,
    owed_bytes: Vec<u8>,
    /// Messages that those behind had no room for.
    kept: Vec<u8>,
    answer: Vec<u8>,
}

impl Follower {
    fn new(open: &Open, links: &Links) -> Result<Self, GaugeError> {
        Ok(Self {
            readiness: Readiness::of(links).map_err(GaugeError::io("waiting for links"))?,
            is_spinning: open.is_spinning,
            answer_bytes: open.answer_bytes,
            samples_only: open.samples_only,
            sequence: Sequence::from(0),
            followed: Followed::default(),
            last_ns: None,
            last_seq: None,
            owed: Vec::new(),
            owed_bytes: Vec::new(),
            kept: Vec::new(),
            answer: vec![0x5A; MAX_BYTES],
        })
    }

    fn counts(&self) -> Followed {
        let arrivals = match self.last_seq {
            // What the sender says it sent is what should have come.
            Some(last) => self.sequence.settled(Some(last)),
            None => self.sequence.counts(),
        };
        Followed { arrivals, gaps: self.sequence.gaps(), ..self.followed.clone() }
    }

    fn run(
        &mut self,
        links: &mut Links,
        control: &mut Control,
        behind: &mut dyn Behind,
    ) -> Result<(), GaugeError> {
        let mut watch = Watch::new();
        let (mut end, mut drain_until) = (None, u64::MAX);
        loop {
            self.settle(links, behind)?;
            // What is owed goes first: nothing more is read until it is gone.
            let is_clear = self.owed.is_empty() && self.kept.is_empty();
            if is_clear {
                self.turn(links, behind, end.is_some())?;
            }
            behind.turn()?;
            if end.is_none() {
                match watch.heard(control)? {
                    Some(Say::End { sent }) => {
                        end = Some(sent);
                        drain_until = now_ns() + DRAIN.as_nanos() as u64;
                    }
                    Some(Say::Refused(why)) => {
                        return Err(GaugeError::Peer(format!("ended, and says: {why}")));
                    }
                    Some(_) => return Err(GaugeError::Peer("spoke out of turn".to_owned())),
                    None => {}
                }
            }
            if let Some(sent) = end {
                let counts = self.sequence.counts();
                let is_all = counts.received + counts.lost >= sent && is_clear;
                if is_all || now_ns() > drain_until {
                    self.last_seq = sent.checked_sub(1);
                    return Ok(());
                }
            }
            if !self.is_spinning {
                let nap = if is_clear && end.is_none() { NAP_NS } else { 50_000 };
                let waited = self.readiness.wait(links, now_ns() + nap);
                waited.map_err(GaugeError::io("waiting for messages"))?;
            }
        }
    }

    /// Reads once. After the end, a sender's closed links are no error.
    fn turn(
        &mut self,
        links: &mut Links,
        behind: &mut dyn Behind,
        has_ended: bool,
    ) -> Result<(), GaugeError> {
        let mut readiness = std::mem::replace(&mut self.readiness, Readiness::none());
        let mut broken = Ok(());
        // Answered while the links are polled: what comes is kept with its link.
        let polled = readiness.poll(links, &mut |number, message| {
            if broken.is_ok() {
                broken = self.message(number, message, behind);
            }
        });
        self.readiness = readiness;
        broken?;
        self.settle(links, behind)?;
        match polled {
            Ok(()) => Ok(()),
            Err((_, error)) => {
                let is_bad = error.kind() == std::io::ErrorKind::InvalidData;
                self.followed.bad_connections += u64::from(is_bad);
                if has_ended { Ok(()) } else { Err(failed(error)) }
            }
        }
    }

    fn message(
        &mut self,
        number: usize,
        message: &[u8],
        behind: &mut dyn Behind,
    ) -> Result<(), GaugeError> {
        let Some(head) = Head::read(message) else { return Ok(()) };
        let now = now_ns();
        self.sequence.came(head.seq);
        self.followed.bytes += message.len() as u64;
        let gap = self.last_ns.map_or(0, |last| now.saturating_sub(last));
        self.followed.longest_gap_ns = self.followed.longest_gap_ns.max(gap);
        self.last_ns = Some(now);
        behind.came(&head, now);
        let is_wanted = !self.samples_only || head.kind == Kind::Sample;
        if let Some(bytes) = self.answer_bytes.filter(|_| is_wanted) {
            let length = match bytes {
                0 => message.len(),
                bytes => bytes as usize,
            };
            let kind = if head.kind == Kind::Sample { Kind::SampleAnswer } else { Kind::Answer };
            let answer = &mut self.answer[..length.clamp(kind.head_bytes(), MAX_BYTES)];
            let head = Head { kind, length: answer.len() as u32, ..head };
            head.write(answer);
            self.owed.push((number, answer.len()));
            self.owed_bytes.extend_from_slice(answer);
            self.followed.answered += 1;
        }
        if !self.kept.is_empty() || !behind.pass(message)? {
            self.kept.extend_from_slice(message);
        }
        Ok(())
    }

    /// Gives what is owed, as far as there is room.
    fn settle(&mut self, links: &mut Links, behind: &mut dyn Behind) -> Result<(), GaugeError> {
        let (mut gone, mut bytes) = (0, 0);
        for (number, length) in &self.owed {
            let Some(link) = links.get_mut(*number) else { break };
            let answer = &self.owed_bytes[bytes..bytes + length];
            if !link.offer(answer).map_err(failed)? {
                break;
            }
            (gone, bytes) = (gone + 1, bytes + length);
        }
        self.owed.drain(..gone);
        self.owed_bytes.drain(..bytes);
        for link in links.iter_mut() {
            link.flush().map_err(failed)?;
        }
        let mut from = 0;
        while let Some(head) = Head::read(&self.kept[from..]) {
            let to = from + head.length as usize;
            if !behind.pass(&self.kept[from..to])? {
                break;
            }
            from = to;
        }
        self.kept.drain(..from);
        Ok(())
    }
}
