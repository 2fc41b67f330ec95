//! What both ends of a session have in common: numbers, gaps, heartbeats.

use std::time::Duration;

use tapeline_time::Time;

use crate::header::{Header, MAX_NUMBER, sequence_number};
use crate::message::Message;
use crate::outputs::Outputs;
use crate::store::{CompIds, Stamp};
use crate::tag;
use crate::value::unsigned;
use crate::writer::Writer;

/// Now, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) time: Time,
    /// Since 1970.
    pub(crate) wall_ns: u64,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All that there is to do was done.
    Done,
    /// It is in sequence, and not of this module's: a logon, a logout, a reject, or of
    /// the application.
    InSequence,
    /// The session is over; what was to be said was said.
    Over,
}

/// How long the other side was silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// It may still be there.
    Short,
    /// It is gone.
    Long,
}

/// Statuses of a logout, 1409.
pub(crate) const COMPLETE: u16 = 4;
pub(crate) const OTHER: u16 = 100;

/// Reasons of a reject, 373.
const MISSING: u16 = 1;
const INVALID: u16 = 5;
const COMP_ID: u16 = 9;

/// So many resend requests are answered in a second: each may ask for all that is
/// kept.
const RESENDS_PER_S: u32 = 10;

/// What was asked for again.
#[derive(Clone, Copy, Debug)]
struct Asked {
    from: u32,
    /// The number that showed that something was missing.
    to: u32,
    /// The highest that was dropped since.
    dropped: u32,
    at: Time,
}

/// What both ends of a session have in common.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) comp_ids: CompIds,
    pub(crate) heartbeat: Duration,
    silent_intervals: u32,
    heard: Time,
    said: Time,
    /// Whether the other side was asked if it is there, since it was last heard.
    is_tested: bool,
    asked: Option<Asked>,
    /// Resend requests in a second.
    resends: (u64, u32),
    scratch: Vec<u8>,
}

impl Link {
    pub(crate) fn new(now: Time, comp_ids: CompIds, silent_intervals: u32) -> Self {
        Self {
            comp_ids,
            heartbeat: Duration::MAX,
            silent_intervals,
            heard: now,
            said: now,
            is_tested: false,
            asked: None,
            resends: (0, 0),
            scratch: Vec::with_capacity(1024),
        }
    }

    /// The other side was heard.
    pub(crate) const fn heard(&mut self, now: Time) {
        self.heard = now;
        self.is_tested = false;
    }

    /// Something went out beside it.
    pub(crate) fn spoke(&mut self, at: Time) {
        self.said = self.said.max(at);
    }

    /// Sends a message of the session, under the next number.
    pub(crate) fn say(
        &mut self,
        now: Now,
        msg_type: &[u8],
        out: &mut impl Outputs,
        body: impl FnOnce(&mut Writer<'_>),
    ) {
        let stamp = Stamp::new(out.store().take_number(), now.wall_ns);
        self.say_as(now, &stamp, msg_type, out, body);
    }

    /// Sends a message of the session under a number that is not the store's.
    pub(crate) fn say_as(
        &mut self,
        now: Now,
        stamp: &Stamp,
        msg_type: &[u8],
        out: &mut impl Outputs,
        body: impl FnOnce(&mut Writer<'_>),
    ) {
        self.scratch.clear();
        stamp.append(&mut self.scratch, &self.comp_ids, msg_type, body);
        self.said = now.time;
        out.send(&self.scratch);
    }

    /// Sends a message of the application, which is kept.
    pub(crate) fn write(
        &mut self,
        now: Now,
        msg_type: &[u8],
        is_absent: bool,
        out: &mut impl Outputs,
        body: impl FnOnce(&mut Writer<'_>),
    ) {
        let (ids, frame) = (&self.comp_ids, &mut self.scratch);
        out.store().write(ids, now.wall_ns, msg_type, is_absent, body, frame);
        if !is_absent {
            self.said = now.time;
            out.send(&self.scratch);
        }
    }

    /// Sends what waited for the other side to come back.
    pub(crate) fn send_waiting(&mut self, now: Now, out: &mut impl Outputs) {
        while out.store().next_waiting(&self.comp_ids, now.wall_ns, &mut self.scratch) {
            self.said = now.time;
            out.send(&self.scratch);
        }
    }

    pub(crate) fn log_out(&mut self, now: Now, status: u16, text: &str, out: &mut impl Outputs) {
        self.say(now, b"5", out, |body| {
            body.text(tag::TEXT, text.as_bytes()).number(tag::SESSION_STATUS, status.into());
        });
    }

    /// A session-level reject of a message.
    pub(crate) fn reject(
        &mut self,
        now: Now,
        (message, header): (&Message<'_>, &Header<'_>),
        (reason, ref_tag): (u16, u32),
        text: &str,
        out: &mut impl Outputs,
    ) {
        self.say(now, b"3", out, |body| {
            body.number(tag::REF_SEQ_NUM, header.number.unwrap_or(0).into());
            if ref_tag != 0 {
                body.number(tag::REF_TAG_ID, ref_tag.into());
            }
            body.text(tag::REF_MSG_TYPE, message.msg_type());
            body.number(tag::SESSION_REJECT_REASON, reason.into());
            body.text(tag::TEXT, text.as_bytes());
        });
    }

    /// The number of the other side's logon, when there is a session. What is missing
    /// before it is asked for with [`ask`](Self::ask) when the logon was answered.
    ///
    /// # Errors
    /// It is too low; the number that it should be.
    pub(crate) fn begin(&mut self, header: &Header<'_>, out: &mut impl Outputs) -> Result<(), u32> {
        let number = header.number.unwrap_or(0);
        let expected = out.store().expected(number);
        self.asked = None;
        if number == expected {
            out.store().set_next_in(number + 1);
        }
        if number < expected && !header.is_dup { Err(expected) } else { Ok(()) }
    }

    /// Asks for what is missing before a message, unless that was asked already.
    pub(crate) fn ask(&mut self, now: Now, number: u32, out: &mut impl Outputs) {
        let from = out.store().next_in();
        if number <= from {
            return;
        }
        if let Some(asked) = &mut self.asked
            && asked.from == from
            && now.time < asked.at.after(self.heartbeat)
        {
            asked.dropped = asked.dropped.max(number);
            return;
        }
        self.asked = Some(Asked { from, to: number, dropped: number, at: now.time });
        self.say(now, b"2", out, |body| {
            body.number(tag::BEGIN_SEQ_NO, from.into()).number(tag::END_SEQ_NO, 0);
        });
    }

    /// What was missing has come. What was dropped meanwhile may not: some send again
    /// only what they had sent when they were asked.
    fn caught_up(&mut self, now: Now, out: &mut impl Outputs) {
        let Some(asked) = self.asked else { return };
        let next = out.store().next_in();
        if next <= asked.to {
            return;
        }
        self.asked = None;
        // The one that was dropped is missing, too.
        self.ask(now, asked.dropped.saturating_add(1), out);
    }

    /// Takes a message of a session that has begun.
    pub(crate) fn take(
        &mut self,
        now: Now,
        message: &Message<'_>,
        header: &Header<'_>,
        out: &mut impl Outputs,
    ) -> Taken {
        let this = (message, header);
        let ids = &self.comp_ids;
        if header.sender != ids.peer.as_bytes() || header.target != ids.own.as_bytes() {
            let wrong = if header.sender == ids.peer.as_bytes() { 56 } else { 49 };
            self.reject(now, this, (COMP_ID, wrong), "another name than at the logon", out);
            return self.end(now, "another name than at the logon", out);
        }
        let Some(number) = header.number else {
            return self.end(now, "a message without a number", out);
        };
        if message.msg_type() == b"4" && message.get(tag::GAP_FILL_FLAG) != Some(b"Y") {
            self.reset(now, this, out);
            self.caught_up(now, out);
            return Taken::Done;
        }
        let expected = out.store().expected(number);
        if number > expected {
            return self.too_high(now, this, out);
        }
        if number < expected {
            return self.too_low(now, this, expected, out);
        }
        out.store().set_next_in(number + 1);
        if !header.has_sending_time {
            self.reject(now, this, (MISSING, tag::SENDING_TIME), "no sending time", out);
            return Taken::Done;
        }
        let taken = self.in_sequence(now, this, out);
        self.caught_up(now, out);
        taken
    }

    fn in_sequence(
        &mut self,
        now: Now,
        this: (&Message<'_>, &Header<'_>),
        out: &mut impl Outputs,
    ) -> Taken {
        let (message, _) = this;
        match message.msg_type() {
            b"0" => {}
            b"1" => match message.get(tag::TEST_REQ_ID) {
                Some(id) if !id.is_empty() => self.say(now, b"0", out, |body| {
                    body.text(tag::TEST_REQ_ID, id);
                }),
                _ => self.reject(now, this, (MISSING, tag::TEST_REQ_ID), "nothing to repeat", out),
            },
            b"2" => return self.resend_request(now, this, out),
            b"4" => self.gap_fill(now, this, out),
            _ => return Taken::InSequence,
        }
        Taken::Done
    }

    /// Something before it is missing. It will come again behind what is, so it is
    /// dropped but for what cannot wait.
    fn too_high(
        &mut self,
        now: Now,
        this: (&Message<'_>, &Header<'_>),
        out: &mut impl Outputs,
    ) -> Taken {
        let (message, header) = this;
        let taken = match message.msg_type() {
            b"5" => return Taken::InSequence,
            // Both sides may miss something, and each waits for the other.
            b"2" => self.resend_request(now, this, out),
            _ => Taken::Done,
        };
        if taken == Taken::Done {
            self.ask(now, header.number.unwrap_or(0), out);
        }
        taken
    }

    /// It was taken before, if it says so; else the two sides do not agree.
    fn too_low(
        &mut self,
        now: Now,
        this: (&Message<'_>, &Header<'_>),
        expected: u32,
        out: &mut impl Outputs,
    ) -> Taken {
        let (_, header) = this;
        if !header.is_dup {
            let number = header.number.unwrap_or(0);
            let text = too_low_text(expected, number);
            return self.end(now, &text, out);
        }
        if !header.has_orig_sending_time {
            let reason = (MISSING, tag::ORIG_SENDING_TIME);
            self.reject(now, this, reason, "sent before, and not when", out);
        }
        Taken::Done
    }

    fn end(&mut self, now: Now, text: &str, out: &mut impl Outputs) -> Taken {
        self.log_out(now, OTHER, text, out);
        Taken::Over
    }

    /// Numbers go on higher, whatever is missing.
    fn reset(&mut self, now: Now, this: (&Message<'_>, &Header<'_>), out: &mut impl Outputs) {
        match new_number(this.0) {
            Some(new) if new >= out.store().next_in() => out.store().set_next_in(new),
            _ => self.refuse_number(now, this, out),
        }
    }

    /// Numbers from this message's to another are not sent again.
    fn gap_fill(&mut self, now: Now, this: (&Message<'_>, &Header<'_>), out: &mut impl Outputs) {
        match new_number(this.0) {
            // Its own number is counted already.
            Some(new) if new >= out.store().next_in() => out.store().set_next_in(new),
            _ => self.refuse_number(now, this, out),
        }
    }

    fn refuse_number(
        &mut self,
        now: Now,
        this: (&Message<'_>, &Header<'_>),
        out: &mut impl Outputs,
    ) {
        let text = "a sequence reset to a number that was used";
        self.reject(now, this, (INVALID, tag::NEW_SEQ_NO), text, out);
    }

    fn resend_request(
        &mut self,
        now: Now,
        this: (&Message<'_>, &Header<'_>),
        out: &mut impl Outputs,
    ) -> Taken {
        let second = now.time.as_nanos() / 1_000_000_000;
        let count = if self.resends.0 == second { self.resends.1 + 1 } else { 1 };
        self.resends = (second, count);
        if count > RESENDS_PER_S {
            return self.end(now, "too many resend requests", out);
        }
        self.send_again(now, this, out);
        Taken::Done
    }

    /// Sends messages again, and says of those that are not kept that they will not
    /// come.
    fn send_again(&mut self, now: Now, this: (&Message<'_>, &Header<'_>), out: &mut impl Outputs) {
        let next = out.store().next_out();
        let Some((first, end)) = range(this.0, next) else {
            let text = "no messages of these numbers were sent";
            return self.reject(now, this, (INVALID, tag::BEGIN_SEQ_NO), text, out);
        };
        let (mut number, mut index) = (first, out.store().sent().find(first));
        while number < end {
            self.scratch.clear();
            let kept = out.store().sent().get(index).filter(|(entry, _)| entry.number < end);
            if let Some((entry, body)) = kept.filter(|(entry, _)| entry.number == number) {
                let stamp = Stamp {
                    number,
                    sent_ns: now.wall_ns,
                    orig_sent_ns: Some(entry.sent_ns),
                    is_resent: entry.is_resent,
                };
                let (ids, frame) = (&self.comp_ids, &mut self.scratch);
                stamp.append(frame, ids, entry.msg_type(), |writer| writer.fields(body));
                (number, index) = (number + 1, index + 1);
            } else {
                let to = kept.map_or(end, |(entry, _)| entry.number);
                self.fill(now, number, to);
                number = to;
            }
            self.said = now.time;
            out.send(&self.scratch);
        }
    }

    /// Writes a gap fill from a number to the one before another.
    fn fill(&mut self, now: Now, from: u32, to: u32) {
        let orig_sent_ns = Some(now.wall_ns);
        let stamp = Stamp { orig_sent_ns, ..Stamp::new(from, now.wall_ns) };
        stamp.append(&mut self.scratch, &self.comp_ids, b"4", |body| {
            body.byte(tag::GAP_FILL_FLAG, b'Y').number(tag::NEW_SEQ_NO, to.into());
        });
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub(crate) fn deadline(&self) -> Time {
        let beat = self.said.after(self.heartbeat).min(self.silent_at());
        if self.is_tested { beat } else { beat.min(self.test_at()) }
    }

    /// Whether the other side was silent for too long.
    pub(crate) fn silence(&self, now: Now) -> Silence {
        if now.time >= self.silent_at() { Silence::Long } else { Silence::Short }
    }

    pub(crate) fn timeout(&mut self, now: Now, out: &mut impl Outputs) -> Silence {
        if self.silence(now) == Silence::Long {
            return Silence::Long;
        }
        if !self.is_tested && now.time >= self.test_at() {
            self.is_tested = true;
            let id = now.wall_ns as i64;
            self.say(now, b"1", out, |body| {
                body.number(tag::TEST_REQ_ID, id);
            });
        }
        if now.time >= self.said.after(self.heartbeat) {
            self.say(now, b"0", out, |_| {});
        }
        Silence::Short
    }

    /// The standard asks for a fifth of an interval, for what is still on its way.
    fn test_at(&self) -> Time {
        self.heard.after(self.heartbeat.saturating_add(self.heartbeat / 5))
    }

    pub(crate) fn silent_at(&self) -> Time {
        self.heard.after(self.heartbeat.saturating_mul(self.silent_intervals))
    }
}

/// What a logout says of a number that was used.
pub(crate) fn too_low_text(expected: u32, number: u32) -> String {
    format!("MsgSeqNum too low, expecting {expected} but received {number}")
}

/// The number behind a sequence reset.
fn new_number(message: &Message<'_>) -> Option<u32> {
    message.get(tag::NEW_SEQ_NO).and_then(sequence_number)
}

/// The numbers that a resend request means, the last one excluded.
fn range(message: &Message<'_>, next: u32) -> Option<(u32, u32)> {
    let first = message.get(tag::BEGIN_SEQ_NO).and_then(sequence_number)?;
    let last = unsigned(message.get(tag::END_SEQ_NO)?)?;
    let last = if last == 0 { MAX_NUMBER } else { u32::try_from(last).unwrap_or(MAX_NUMBER) };
    let end = next.min(last.saturating_add(1));
    (first < end).then_some((first, end))
}
