//! What a sender decides: which message is next, what an answer says, and what
//! became of all. Time comes in; sockets are elsewhere.

use hdrhistogram::Histogram;
use tapeline_measure::histogram::latencies;

use super::timetable::{Due, Timetable};
use crate::intervals::{Interval, Intervals, Measured};
use crate::message::Head;
use crate::sequence::{Arrivals, Sequence};

const NS_PER_S: u64 = 1_000_000_000;

/// A full window of datagrams of which none is answered for so long is lost.
const GIVE_UP_NS: u64 = NS_PER_S;

/// Counts of those that were due while it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) due: u64,
    /// That the transport took before the end.
    pub(crate) sent: u64,
    /// That were answered before the end.
    pub(crate) answered: u64,
    /// Whose answer came before they were sent: two clocks that differ.
    pub(crate) clock_errors: u64,
}

/// A sender with a timetable and a window.
pub(crate) struct Sender {
    timetable: Timetable,
    window: u64,
    measured: Measured,
    may_lose: bool,
    /// Taken from the timetable and refused by the transport.
    held: Option<Due>,
    next_seq: u64,
    answered: u64,
    given_up: u64,
    last_answer_ns: u64,
    answers: Sequence,
    pub(crate) tally: Tally,
    pub(crate) from_send: Histogram<u64>,
    pub(crate) from_schedule: Histogram<u64>,
    pub(crate) lateness: Histogram<u64>,
    pub(crate) seconds: Intervals,
    /// Since a line was last taken: round trips, and how many were sent.
    current: Interval,
    current_sent: u64,
}

impl Sender {
    /// `window`: the most messages without an answer. `may_lose`: the transport
    /// does.
    pub(crate) fn new(
        timetable: Timetable,
        window: u64,
        measured: Measured,
        may_lose: bool,
    ) -> Self {
        let seconds = (measured.to_ns - measured.from_ns).div_ceil(NS_PER_S) as usize;
        Self {
            tally: Tally {
                due: timetable.due_between(measured.from_ns, measured.to_ns),
                ..Tally::default()
            },
            timetable,
            window: window.max(1),
            measured,
            may_lose,
            held: None,
            next_seq: 0,
            answered: 0,
            given_up: 0,
            last_answer_ns: 0,
            answers: Sequence::from(0),
            from_send: latencies(),
            from_schedule: latencies(),
            lateness: latencies(),
            seconds: Intervals::new(measured.from_ns, NS_PER_S, seconds),
            current: Interval::default(),
            current_sent: 0,
        }
    }

    /// The message to send now. It is the next one until [`Self::sent`].
    #[inline]
    pub(crate) fn next(&mut self, now_ns: u64) -> Option<Due> {
        if self.held.is_none() && self.remain() < self.window && now_ns < self.measured.to_ns {
            let taken = self.timetable.take(now_ns);
            self.held =
                taken.map(|(due_ns, bytes)| Due { seq: self.next_seq, at_ns: due_ns, bytes });
        }
        self.held
    }

    /// The transport took the one that was next.
    #[inline]
    pub(crate) fn sent(&mut self, sent_ns: u64) {
        let Some(due) = self.held.take() else { return };
        self.next_seq += 1;
        self.current_sent += 1;
        if self.next_seq == 1 {
            self.last_answer_ns = sent_ns;
        }
        if self.measured.holds(due.at_ns) {
            self.tally.sent += u64::from(sent_ns < self.measured.to_ns);
            self.lateness.saturating_record(sent_ns.saturating_sub(due.at_ns));
        }
    }

    /// An answer came.
    #[inline]
    pub(crate) fn answered(&mut self, head: &Head, now_ns: u64) {
        self.last_answer_ns = now_ns;
        if head.seq >= self.next_seq || !self.answers.came(head.seq) {
            return;
        }
        self.answered += 1;
        let Some(round_trip) = now_ns.checked_sub(head.sent_ns) else {
            self.tally.clock_errors += 1;
            return;
        };
        self.current.add(round_trip);
        if self.measured.holds(head.due_ns) {
            self.tally.answered += u64::from(now_ns < self.measured.to_ns);
            self.from_send.saturating_record(round_trip);
            self.from_schedule.saturating_record(now_ns.saturating_sub(head.due_ns));
            self.seconds.add(head.due_ns, round_trip);
        }
    }

    /// Where a transport loses messages, a full window without an answer is
    /// given up.
    pub(crate) fn give_up(&mut self, now_ns: u64) {
        let is_full = self.remain() >= self.window;
        if self.may_lose && is_full && now_ns.saturating_sub(self.last_answer_ns) > GIVE_UP_NS {
            self.given_up += self.remain();
            self.last_answer_ns = now_ns;
        }
    }

    /// Sent and not answered, nor known to be lost.
    pub(crate) fn remain(&self) -> u64 {
        let lost = if self.may_lose { self.answers.counts().lost } else { 0 };
        self.next_seq.saturating_sub(self.answered + lost.max(self.given_up))
    }

    /// Due and not taken by the transport.
    pub(crate) fn buffered(&self, now_ns: u64) -> u64 {
        // What is due since the timetable's start, less what was sent.
        let due = self.timetable.due_between(0, now_ns.min(self.measured.to_ns).saturating_add(1));
        due.saturating_sub(self.next_seq)
    }

    /// When something can be sent next: now if the transport refused one.
    pub(crate) fn next_ns(&self) -> u64 {
        match self.remain() < self.window {
            true => self.timetable.next_ns().unwrap_or(u64::MAX),
            false => u64::MAX,
        }
    }

    /// Whether the transport refused the message that is next.
    pub(crate) const fn is_refused(&self) -> bool {
        self.held.is_some()
    }

    /// Whether nothing more is to be sent.
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.measured.to_ns || (self.held.is_none() && self.timetable.next_ns().is_none())
    }

    /// How many were sent in all.
    pub(crate) const fn sent_in_all(&self) -> u64 {
        self.next_seq
    }

    /// What became of the answers, when no more come.
    pub(crate) fn arrivals(&self) -> Arrivals {
        match self.next_seq {
            0 => Arrivals::default(),
            sent => self.answers.settled(Some(sent - 1)),
        }
    }

    /// Figures since the last call: round trips, and how many were sent.
    pub(crate) fn take_line(&mut self) -> (Interval, u64) {
        (std::mem::take(&mut self.current), std::mem::take(&mut self.current_sent))
    }

    /// Why the figures do not count; `None` if they do.
    pub(crate) fn why_invalid(&self) -> Option<String> {
        let Tally { due, sent, answered, .. } = self.tally;
        let is_below = |count: u64, of: u64| (count as f64) < 0.99 * of as f64;
        let percent = |count: u64| format!("{:.1} %", count as f64 * 100.0 / due as f64);
        let arrivals = self.arrivals();
        match () {
            () if due == 0 => Some("nothing was due".to_owned()),
            () if is_below(sent, due) => Some(format!("sent {} of what was due", percent(sent))),
            () if is_below(answered, due) => {
                Some(format!("{} of what was due came back in time", percent(answered)))
            }
            () if !self.may_lose && arrivals.lost + arrivals.duplicated > 0 => Some(format!(
                "a stream lost {} and repeated {}",
                arrivals.lost, arrivals.duplicated
            )),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_measure::schedule::Pacing;

    use super::*;
    use crate::message::Kind;

    const MS: u64 = 1_000_000;

    fn sender(rate: u64, window: u64, seconds: u64, may_lose: bool) -> Sender {
        let measured = Measured { from_ns: 0, to_ns: seconds * NS_PER_S };
        let timetable = Timetable::of_rate(0, rate, Pacing::Even, 64);
        Sender::new(timetable, window, measured, may_lose)
    }

    fn answer(due: Due, sent_ns: u64) -> Head {
        Head { kind: Kind::Answer, length: 64, seq: due.seq, due_ns: due.at_ns, sent_ns }
    }

    /// Runs with an injected clock of 100 µs steps; `take` tells whether the
    /// transport takes a message at a moment, and when its answer comes.
    fn played(of: &mut Sender, until_ns: u64, take: impl Fn(u64, Due) -> Option<Option<u64>>) {
        let mut under_way: std::collections::VecDeque<(u64, Head)> =
            std::collections::VecDeque::default();
        let mut now = 0;
        while now < until_ns {
            while under_way.front().is_some_and(|(at, _)| *at <= now) {
                let (_, head) = under_way.pop_front().unwrap();
                of.answered(&head, now);
            }
            while let Some(due) = of.next(now) {
                let Some(back) = take(now, due) else { break };
                of.sent(now);
                under_way.extend(back.map(|back| (back, answer(due, now))));
            }
            of.give_up(now);
            now += 100_000;
        }
    }

    #[test]
    fn an_hour_of_a_schedule_is_sent_and_answered() {
        let mut of = sender(1_000, 65_536, 3_600, false);
        played(&mut of, 3_601 * NS_PER_S, |now, _| Some(Some(now + MS)));
        assert_eq!(
            of.tally,
            Tally { due: 3_600_000, sent: 3_600_000, answered: 3_599_999, clock_errors: 0 }
        );
        assert_eq!((of.why_invalid(), of.remain()), (None, 0));
        assert_eq!((of.from_send.min(), of.from_send.max()), (999_936, 1_000_447));
        assert_eq!(of.seconds.summed().unwrap().max_max, MS);
    }

    #[test]
    fn a_sender_held_for_a_second_of_ten_shows_from_schedule_alone() {
        let mut of = sender(1_000, 65_536, 10, false);
        let is_held = |now| (4 * NS_PER_S..5 * NS_PER_S).contains(&now);
        played(&mut of, 11 * NS_PER_S, |now, _| (!is_held(now)).then_some(Some(now + MS)));
        assert_eq!(of.why_invalid(), None);
        assert!(of.from_schedule.value_at_quantile(0.99) > 890 * MS);
        assert!(of.from_send.max() < 50 * MS);
        assert!(of.lateness.max() > 890 * MS);
    }

    #[test]
    fn an_answering_side_held_for_a_second_shows_in_both() {
        let mut of = sender(1_000, 65_536, 10, false);
        let back = |now: u64| match (4 * NS_PER_S..5 * NS_PER_S).contains(&now) {
            true => 5 * NS_PER_S,
            false => now + MS,
        };
        played(&mut of, 11 * NS_PER_S, |now, _| Some(Some(back(now))));
        assert!(of.from_schedule.value_at_quantile(0.99) > 890 * MS);
        assert!(of.from_send.value_at_quantile(0.99) > 890 * MS);
    }

    #[test]
    fn what_waits_for_the_window_counts_from_when_it_was_due() {
        let mut of = sender(10_000, 5, 1, false);
        // A window of 5 and 1 ms there and back carry 5,000/s of 10,000.
        played(&mut of, 2 * NS_PER_S, |now, _| Some(Some(now + MS)));
        let why = of.why_invalid().unwrap();
        assert!(why.starts_with("sent 5") && why.ends_with("% of what was due"), "{why}");
        assert!(of.from_send.max() < 2 * MS && of.from_schedule.max() > 400 * MS);
    }

    #[test]
    fn what_is_due_and_not_taken_is_buffered() {
        let mut of = sender(1_000, 65_536, 10, false);
        let due = of.next(0).unwrap();
        assert_eq!((due.seq, of.buffered(0), of.remain()), (0, 1, 0));
        of.sent(0);
        assert_eq!((of.buffered(10 * MS), of.remain(), of.is_refused()), (10, 1, false));
        assert!(of.next(10 * MS).is_some() && of.is_refused());
        assert_eq!(of.next_ns(), 2 * MS);
    }

    #[test]
    fn lost_datagrams_leave_the_window_and_are_a_result() {
        let mut of = sender(10_000, 100, 3, true);
        // Every 200th is lost, then all for half a second.
        let is_lost = |due: Due| due.seq % 200 == 7;
        played(&mut of, 4 * NS_PER_S, |now, due| Some((!is_lost(due)).then_some(now + MS)));
        assert_eq!(of.why_invalid(), None);
        assert_eq!(of.arrivals().lost, 150);
        let mut silent = sender(10_000, 100, 3, true);
        played(&mut silent, 4 * NS_PER_S, |_, _| Some(None));
        // A window at once, and one more for each second of silence.
        assert!((200..=400).contains(&silent.sent_in_all()), "{}", silent.sent_in_all());
        assert!(silent.why_invalid().is_some());
    }

    #[test]
    fn a_stream_that_loses_or_repeats_is_not_valid() {
        let mut of = sender(1_000, 65_536, 1, false);
        played(&mut of, 2 * NS_PER_S, |now, due| Some((due.seq != 500).then_some(now)));
        assert_eq!(of.why_invalid().unwrap(), "a stream lost 1 and repeated 0");
    }

    #[test]
    fn an_answer_from_the_future_is_an_error_of_clocks() {
        let mut of = sender(1_000, 10, 1, false);
        let due = of.next(5).unwrap();
        of.sent(5);
        of.answered(&answer(due, 100), 50);
        assert_eq!((of.tally.clock_errors, of.from_send.len()), (1, 0));
    }

    #[test]
    fn a_turn_allocates_nothing() {
        let mut of = sender(1_000_000, 65_536, 1, true);
        let counted = allocation_counter::measure(|| {
            for now in (0..NS_PER_S).step_by(10_000) {
                while let Some(due) = of.next(now) {
                    of.sent(now);
                    of.answered(&answer(due, now), now + 5);
                }
            }
        });
        assert_eq!((counted.count_total, of.tally.answered), (0, 999_991));
    }
}
