//! What comes to its end: how long it took, in all and by its parts.

use std::collections::HashMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tapeline_measure::histogram::{from_hdr, latencies, to_hdr};

use super::{Came, Module, Outlet, numbered};
use crate::aio::tracked::{self, MAX_BETWEEN};
use crate::intervals::{Interval, Intervals, Measured};
use crate::message::Head;
use crate::sequence::{Arrivals, Sequence};

const NS_PER_S: u64 = 1_000_000_000;

/// The most different ways that are followed to one module.
const MAX_WAYS: usize = 8;

/// Latencies that go from process to process as the text of their histogram.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Option<String>", into = "Option<String>")]
pub(in crate::aio) struct Times(pub(in crate::aio) Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self(latencies())
    }
}

impl From<Option<String>> for Times {
    fn from(text: Option<String>) -> Self {
        text.as_deref().and_then(from_hdr).map_or_else(Self::default, Self)
    }
}

impl From<Times> for Option<String> {
    fn from(times: Times) -> Self {
        to_hdr(&times.0)
    }
}

impl Times {
    #[inline]
    pub(super) fn record(&mut self, nanos: u64) {
        self.0.saturating_record(nanos);
    }
}

/// A way through modules, with what each part of it took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::aio) struct Way {
    /// Modules between the first and the last.
    pub(in crate::aio) modules: Vec<u8>,
    /// In each of them.
    pub(in crate::aio) works: Vec<Times>,
    /// Before each of them, and behind the last.
    pub(in crate::aio) hops: Vec<Times>,
}

impl Way {
    fn of(modules: &[u8]) -> Self {
        let all = |count: usize| vec![Times::default(); count];
        Self {
            modules: modules.to_owned(),
            works: all(modules.len()),
            hops: all(modules.len() + 1),
        }
    }
}

/// What a module that messages end at has measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::aio) struct Heard {
    pub(in crate::aio) from_send: Times,
    pub(in crate::aio) from_schedule: Times,
    pub(in crate::aio) lateness: Times,
    pub(in crate::aio) seconds: Option<Intervals>,
    pub(in crate::aio) arrivals: Arrivals,
    pub(in crate::aio) due: u64,
    pub(in crate::aio) sent: u64,
    /// In all, also those before and behind what is measured.
    pub(in crate::aio) sent_in_all: u64,
    pub(in crate::aio) clock_errors: u64,
    pub(in crate::aio) ways: Vec<Way>,
}

/// Takes the time of messages that came to their end.
pub(super) struct Hearing {
    measured: Measured,
    from_send: Times,
    from_schedule: Times,
    seconds: Intervals,
    current: Interval,
    clock_errors: u64,
    ways: Vec<Way>,
    /// The way of the present message.
    modules: Vec<u8>,
}

impl Hearing {
    pub(super) fn new(measured: Measured) -> Self {
        let seconds = (measured.to_ns - measured.from_ns).div_ceil(NS_PER_S) as usize;
        Self {
            measured,
            from_send: Times::default(),
            from_schedule: Times::default(),
            seconds: Intervals::new(measured.from_ns, NS_PER_S, seconds),
            current: Interval::default(),
            clock_errors: 0,
            ways: Vec::new(),
            modules: Vec::with_capacity(16),
        }
    }

    #[inline]
    pub(super) fn hear(&mut self, head: &Head, message: &[u8], now_ns: u64) {
        let Some(took) = now_ns.checked_sub(head.sent_ns) else {
            self.clock_errors += 1;
            return;
        };
        self.current.add(took);
        if !self.measured.holds(head.due_ns) {
            return;
        }
        self.from_send.record(took);
        self.from_schedule.record(now_ns.saturating_sub(head.due_ns));
        self.seconds.add(head.due_ns, took);
        if tracked::is_tracked(message) {
            self.follow(head, message, now_ns);
        }
    }

    fn follow(&mut self, head: &Head, message: &[u8], now_ns: u64) {
        self.modules.clear();
        self.modules.extend(tracked::stamps(message).filter(|of| !of.has_left).map(|of| of.module));
        let known = self.ways.iter().position(|way| way.modules == self.modules);
        let number = match known {
            Some(number) => number,
            None if self.ways.len() == MAX_WAYS => return,
            None => {
                self.ways.push(Way::of(&self.modules));
                self.ways.len() - 1
            }
        };
        let way = &mut self.ways[number];
        let (mut before_ns, mut at) = (head.sent_ns, 0);
        let mut record = |of: &mut Times, from, to| {
            let nanos = tracked::between(from, to);
            match nanos < MAX_BETWEEN.as_nanos() as u64 {
                true => of.record(nanos),
                false => self.clock_errors += 1,
            }
        };
        for stamp in tracked::stamps(message) {
            match stamp.has_left {
                false => {
                    record(&mut way.hops[at], before_ns, stamp.at_ns);
                    at += 1;
                }
                true if at > 0 => record(&mut way.works[at - 1], before_ns, stamp.at_ns),
                // It left where it never came.
                true => {}
            }
            before_ns = stamp.at_ns;
        }
        record(&mut way.hops[at], before_ns, now_ns);
    }

    pub(super) fn take_line(&mut self) -> Interval {
        std::mem::take(&mut self.current)
    }

    pub(super) fn heard(&self) -> Heard {
        Heard {
            from_send: self.from_send.clone(),
            from_schedule: self.from_schedule.clone(),
            seconds: Some(self.seconds.clone()),
            clock_errors: self.clock_errors,
            ways: self.ways.clone(),
            ..Heard::default()
        }
    }
}

/// The end of a way.
pub(in crate::aio) struct Sink {
    hearing: Hearing,
    /// By owner; where copies come over each connection, also by that.
    streams: HashMap<(usize, u64), Sequence>,
    is_fanned: bool,
}

impl Sink {
    pub(in crate::aio) fn new(measured: Measured, is_fanned: bool) -> Self {
        Self { hearing: Hearing::new(measured), streams: HashMap::new(), is_fanned }
    }
}

impl Module for Sink {
    fn message(&mut self, came: Came, message: &mut [u8], _outlet: &mut dyn Outlet) {
        let Some((id, head)) = numbered(message) else { return };
        let connection = if self.is_fanned { came.connection } else { 0 };
        let stream = self.streams.entry((connection, id)).or_insert_with(|| Sequence::from(0));
        if stream.came(head.seq) {
            self.hearing.hear(&head, message, came.at_ns);
        }
    }

    fn heard(&mut self) -> Option<Heard> {
        let mut arrivals = Arrivals::default();
        for stream in self.streams.values() {
            arrivals.add(&stream.settled(None));
        }
        Some(Heard { arrivals, ..self.hearing.heard() })
    }

    fn take_line(&mut self) -> Option<Interval> {
        Some(self.hearing.take_line())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::message;
    use super::*;

    const MEASURED: Measured = Measured { from_ns: 0, to_ns: 10 * NS_PER_S };

    struct Nowhere;

    impl Outlet for Nowhere {
        fn send(&mut self, _output: usize, _message: &mut [u8]) {}
        fn send_to_all(&mut self, _output: usize, _message: &mut [u8]) {}
        fn send_over(&mut self, _output: usize, _connection: usize, _message: &mut [u8]) {}
        fn answer(&mut self, _to: Came, _message: &mut [u8]) {}
        fn has_room(&self, _output: usize) -> bool {
            true
        }
    }

    #[test]
    fn a_way_is_taken_apart() {
        let mut sink = Sink::new(MEASURED, false);
        // Due at 100, sent at 200, at 300 in module 4 for 50 ns, then in 6 for 500.
        let mut bytes = message(1, 0, 200);
        for (module, has_left, at) in
            [(4, false, 300), (4, true, 350), (6, false, 400), (6, true, 900)]
        {
            tracked::stamp(&mut bytes, module, has_left, at);
        }
        sink.message(Came { at_ns: 1_000, ..Came::default() }, &mut bytes, &mut Nowhere);
        // One that is not tracked counts in all, and in no way.
        let mut plain = message(1, 1, 200);
        tracked::begin(&mut plain, 1, false);
        sink.message(Came { at_ns: 700, ..Came::default() }, &mut plain, &mut Nowhere);
        let heard = sink.heard().unwrap();
        let [way] = &heard.ways[..] else { panic!("{} ways", heard.ways.len()) };
        let of = |all: &[Times]| all.iter().map(|of| of.0.max()).collect::<Vec<_>>();
        assert_eq!(
            (&way.modules[..], of(&way.works), of(&way.hops)),
            (&[4, 6][..], vec![50, 500], vec![100, 50, 100])
        );
        let (from_send, from_schedule) = (heard.from_send.0, heard.from_schedule.0);
        assert_eq!((from_send.len(), from_send.max(), from_schedule.max()), (2, 800, 900));
    }

    #[test]
    fn what_never_came_is_lost_and_copies_are_by_connection() {
        let mut sink = Sink::new(MEASURED, true);
        for (connection, seq) in [(0, 0), (1, 0), (0, 1), (1, 2), (0, 2), (0, 2)] {
            let came = Came { connection, at_ns: 500, ..Came::default() };
            sink.message(came, &mut message(9, seq, 64), &mut Nowhere);
        }
        let arrivals = sink.heard().unwrap().arrivals;
        assert_eq!((arrivals.received, arrivals.lost, arrivals.duplicated), (5, 1, 1));
    }

    #[test]
    fn what_was_due_before_or_behind_is_not_measured() {
        let mut sink = Sink::new(Measured { from_ns: 101, to_ns: 200 }, false);
        sink.message(Came { at_ns: 500, ..Came::default() }, &mut message(1, 0, 64), &mut Nowhere);
        let heard = sink.heard().unwrap();
        assert_eq!((heard.from_send.0.len(), heard.arrivals.received), (0, 1));
        assert_eq!(sink.take_line().map(|line| line.count), Some(1));
    }

    #[test]
    fn a_message_of_a_known_way_allocates_nothing() {
        let mut sink = Sink::new(MEASURED, false);
        let mut bytes = message(1, 0, 200);
        tracked::stamp(&mut bytes, 4, false, 300);
        tracked::stamp(&mut bytes, 4, true, 350);
        let mut hear = |seq| {
            let (_, head) = numbered(&bytes).unwrap();
            Head { seq, ..head }.write(&mut bytes);
            sink.message(Came { at_ns: 1_000, ..Came::default() }, &mut bytes, &mut Nowhere);
        };
        hear(0);
        let counted = allocation_counter::measure(|| (1..10_000).for_each(&mut hear));
        assert_eq!(counted.count_total, 0);
    }
}
