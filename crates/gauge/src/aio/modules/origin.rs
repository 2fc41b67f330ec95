//! What sends by itself: sources, and clients, which have answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tapeline_measure::schedule::Schedule;

use super::sink::{Heard, Hearing, Times};
use super::{Came, Module, Outlet, numbered};
use crate::GaugeError;
use crate::aio::flow::Origin;
use crate::aio::tracked;
use crate::intervals::{Interval, Measured};
use crate::message::{Head, Kind};
use crate::sequence::{Arrivals, Sequence};

/// Messages that are sent before others have their turn.
const AT_ONCE: usize = 32;

/// How long an output without room, or a full window, is left alone.
const NO_ROOM_NS: u64 = 50_000;

/// When what is measured is due, and what is known of a module's links.
#[derive(Clone, Copy, Debug)]
pub(in crate::aio) struct Conditions {
    /// When the first message is due.
    pub(in crate::aio) start_ns: u64,
    pub(in crate::aio) measured: Measured,
    /// Behind the end, nothing more is waited for when none has come for so long.
    pub(in crate::aio) quiet_ns: u64,
    /// What comes over each connection is a copy.
    pub(in crate::aio) is_fanned: bool,
}

/// One of the clients of a module.
struct Stream {
    schedule: Schedule,
    next_seq: u64,
    /// Due, and not sent so many times yet.
    held: Option<(u64, u64)>,
    answers: Sequence,
    answered: u64,
}

/// Clients that send at their rates; with answers, or without.
pub(in crate::aio) struct Client {
    origin: Origin,
    has_answers: bool,
    measured: Measured,
    streams: Vec<Stream>,
    /// Who has something to send, and when.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    message: Vec<u8>,
    /// The time while a turn goes on.
    clock: fn() -> u64,
    hearing: Hearing,
    lateness: Times,
    due: u64,
    sent: u64,
    sent_in_all: u64,
    current_sent: Interval,
}

impl Client {
    pub(in crate::aio) fn new(origin: &Origin, has_answers: bool, conditions: Conditions) -> Self {
        let Conditions { start_ns, measured, .. } = conditions;
        let stream = |k| {
            let rate = (origin.rate_of(k).round() as u64).max(1);
            Stream {
                schedule: Schedule::new(start_ns, rate, origin.pacing),
                next_seq: 0,
                held: None,
                answers: Sequence::from(0),
                answered: 0,
            }
        };
        let streams: Vec<Stream> = (0..origin.clients).map(stream).collect();
        let due = |stream: &Stream| {
            let by = |at_ns: u64| at_ns.checked_sub(1).map_or(0, |by| stream.schedule.due_by(by));
            by(measured.to_ns) - by(measured.from_ns)
        };
        Self {
            due: streams.iter().map(due).sum::<u64>() * origin.at_once,
            order: (0..streams.len()).map(|k| Reverse((start_ns, k))).collect(),
            origin: origin.clone(),
            has_answers,
            measured,
            streams,
            message: vec![0x5A; origin.bytes],
            clock: tapeline_measure::clock::now_ns,
            hearing: Hearing::new(measured),
            lateness: Times::default(),
            sent: 0,
            sent_in_all: 0,
            current_sent: Interval::default(),
        }
    }

    fn send(&mut self, k: usize, due_ns: u64, now_ns: u64, outlet: &mut dyn Outlet) {
        let stream = &mut self.streams[k];
        let (seq, length) = (stream.next_seq, self.message.len() as u32);
        stream.next_seq += 1;
        Head { kind: Kind::Data, length, seq, due_ns, sent_ns: now_ns }.write(&mut self.message);
        let is_tracked = self.origin.tracks && seq.is_multiple_of(self.origin.sample);
        tracked::begin(&mut self.message, self.origin.start_id + k as u64, is_tracked);
        outlet.send(0, &mut self.message);
        self.sent_in_all += 1;
        self.current_sent.add(0);
        if self.measured.holds(due_ns) {
            self.sent += 1;
            self.lateness.record(now_ns.saturating_sub(due_ns));
        }
    }

    /// What is due of client `k` by now, or when it may be sent.
    fn next(&mut self, k: usize, now_ns: u64) -> Result<u64, Option<u64>> {
        let (window, most, at_once) =
            (self.origin.window, self.origin.messages, self.origin.at_once);
        let stream = &mut self.streams[k];
        if most > 0 && stream.next_seq >= most {
            return Err(None);
        }
        if self.has_answers && stream.next_seq - stream.answered.min(stream.next_seq) >= window {
            return Err(Some(now_ns + NO_ROOM_NS));
        }
        if stream.held.is_none() {
            stream.held = stream.schedule.take(now_ns).map(|due_ns| (due_ns, at_once));
        }
        let Some((due_ns, times)) = stream.held else {
            return Err(Some(stream.schedule.next_ns()));
        };
        stream.held = (times > 1).then_some((due_ns, times - 1));
        Ok(due_ns)
    }
}

impl Module for Client {
    fn message(&mut self, came: Came, message: &mut [u8], _outlet: &mut dyn Outlet) {
        let Some((id, head)) = numbered(message) else { return };
        // An answer of 32 bytes does not say whose it is: of one client it is clear.
        let k = match message.len() {
            ..tracked::LEAST_BYTES => 0,
            _ => id.wrapping_sub(self.origin.start_id),
        };
        let Some(stream) = self.streams.get_mut(k as usize) else { return };
        if head.seq >= stream.next_seq || !stream.answers.came(head.seq) {
            return;
        }
        stream.answered += 1;
        self.hearing.hear(&head, message, came.at_ns);
    }

    fn turn(&mut self, now_ns: u64, outlet: &mut dyn Outlet) -> Result<u64, GaugeError> {
        if now_ns >= self.measured.to_ns {
            return Ok(u64::MAX);
        }
        let mut at_ns = now_ns;
        for _ in 0..AT_ONCE {
            let Some(Reverse((next_ns, k))) = self.order.peek().copied() else {
                return Ok(u64::MAX);
            };
            if next_ns > at_ns {
                return Ok(next_ns);
            }
            if !outlet.has_room(0) {
                return Ok(at_ns + NO_ROOM_NS);
            }
            self.order.pop();
            match self.next(k, at_ns) {
                Ok(due_ns) => {
                    // Of the clock, not of the turn: what is before it in this turn took time.
                    at_ns = (self.clock)().max(now_ns);
                    self.send(k, due_ns, at_ns, outlet);
                    let stream = &self.streams[k];
                    let next_ns = stream.held.map_or(stream.schedule.next_ns(), |(due, _)| due);
                    self.order.push(Reverse((next_ns, k)));
                }
                Err(Some(later_ns)) => self.order.push(Reverse((later_ns, k))),
                Err(None) => {}
            }
        }
        Ok(at_ns)
    }

    fn heard(&mut self) -> Option<Heard> {
        let mut arrivals = Arrivals::default();
        for stream in &self.streams {
            arrivals.add(&stream.answers.settled(stream.next_seq.checked_sub(1)));
        }
        let heard = if self.has_answers { self.hearing.heard() } else { Heard::default() };
        let arrivals = if self.has_answers { arrivals } else { Arrivals::default() };
        Some(Heard {
            lateness: self.lateness.clone(),
            arrivals,
            due: self.due,
            sent: self.sent,
            sent_in_all: self.sent_in_all,
            ..heard
        })
    }

    fn take_line(&mut self) -> Option<Interval> {
        match self.has_answers {
            true => Some(self.hearing.take_line()),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_measure::schedule::Pacing;

    use super::super::tests::Gone;
    use super::*;

    const MS: u64 = 1_000_000;

    fn origin() -> Origin {
        Origin {
            rate_per_s: 1_000.0,
            pacing: Pacing::Even,
            bytes: 64,
            at_once: 1,
            clients: 1,
            start_id: 1,
            delta_rate: 1.0,
            window: 65_536,
            messages: 0,
            tracks: true,
            sample: 1,
        }
    }

    fn client(origin: &Origin, has_answers: bool) -> Client {
        let measured = Measured { from_ns: 0, to_ns: 1_000 * MS };
        let conditions = Conditions { start_ns: 0, measured, quiet_ns: 0, is_fanned: false };
        // A turn takes no time.
        Client { clock: || 0, ..Client::new(origin, has_answers, conditions) }
    }

    /// Its turns until a moment, each when it wanted it.
    fn turned(client: &mut Client, until_ns: u64, gone: &mut Gone) -> u64 {
        let mut now = 0;
        while now <= until_ns {
            now = client.turn(now, gone).unwrap().max(now + 1);
        }
        now
    }

    #[test]
    fn clients_have_their_own_rates_and_numbers() {
        let of = Origin { clients: 3, delta_rate: 2.0, start_id: 10, ..origin() };
        let mut gone = Gone::default();
        turned(&mut client(&of, false), 9 * MS, &mut gone);
        let count = |id| gone.messages.iter().filter(|bytes| tracked::id(bytes) == id).count();
        // Those due at 0, 1 … 9 ms, twice and four times as often.
        assert_eq!([10, 11, 12].map(count), [10, 19, 37]);
        let is_tracked = gone.messages.iter().all(|bytes| tracked::is_tracked(bytes));
        assert!(is_tracked && gone.messages.iter().all(|bytes| bytes.len() == 64));
    }

    #[test]
    fn a_count_is_sent_at_once_a_sample_is_tracked_and_there_may_be_an_end() {
        let of = Origin { at_once: 3, sample: 4, messages: 8, ..origin() };
        let mut gone = Gone::default();
        assert_eq!(turned(&mut client(&of, false), 100 * MS, &mut gone), u64::MAX);
        assert_eq!(gone.seqs(), [0, 1, 2, 3, 4, 5, 6, 7]);
        let due: Vec<u64> =
            gone.messages.iter().map(|of| Head::read(of).unwrap().due_ns / MS).collect();
        assert_eq!(due, [0, 0, 0, 1, 1, 1, 2, 2]);
        let tracked: Vec<bool> = gone.messages.iter().map(|of| tracked::is_tracked(of)).collect();
        assert_eq!(tracked, [true, false, false, false, true, false, false, false]);
    }

    #[test]
    fn a_full_window_and_an_output_without_room_wait() {
        let of = Origin { window: 2, ..origin() };
        let (mut gone, mut client) = (Gone { is_full: true, ..Gone::default() }, client(&of, true));
        assert_eq!(client.turn(0, &mut gone).unwrap(), NO_ROOM_NS);
        gone.is_full = false;
        turned(&mut client, 10 * MS, &mut gone);
        assert_eq!(gone.seqs(), [0, 1]);
        let mut answer = gone.messages[0].clone();
        client.message(Came { at_ns: u64::MAX / 2, ..Came::default() }, &mut answer, &mut gone);
        // The same answer again opens nothing.
        client.message(Came { at_ns: u64::MAX / 2, ..Came::default() }, &mut answer, &mut gone);
        turned(&mut client, 12 * MS, &mut gone);
        assert_eq!(gone.seqs(), [0, 1, 2]);
        assert_eq!(Head::read(&gone.messages[2]).unwrap().due_ns, 2 * MS, "from when it was due");
        let heard = client.heard().unwrap();
        assert_eq!((heard.sent_in_all, heard.arrivals.received, heard.due), (3, 1, 1_000));
    }
}
