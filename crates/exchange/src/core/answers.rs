//! What takes longer than a moment: replays, snapshots and recoveries, a slice at a
//! time, as the connection takes it.

use tapeline_mitch::{
    Message as Mitch, Refused, ReplayRequest, ReplayResponse, Request, Service, SnapshotComplete,
    SnapshotRequest, SnapshotResponse, append_alone,
};
use tapeline_ntg::Message;
use tapeline_ntg::session::{MissedMessageAck, MissedMessageReport, MissedMessageRequest};
use tapeline_time::Time;

use super::fix::{OrdersAsked, TradesAsked};
use super::floor::Floor;
use super::{Door, Outputs, SessionId};

/// An answer goes on when fewer bytes than this have not gone out yet.
const SLICE_BYTES: usize = 64 << 10;

/// Messages of a replay, or numbers of the order cache that are looked through, at
/// one go.
const SLICE: u32 = 500;

/// An answer that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Messages from one to before another.
    Replay { next: u32, end: u32 },
    /// Instruments, by their place.
    Snapshot { next: usize, segment: SnapshotRequest },
    /// Reports of a user.
    Recovery { user: u16, next: i32, is_whole: bool },
    /// Reports of a user whose session goes on behind a broken link.
    Resumed { user: u16, next: i32 },
    /// Reports of a user that are held, to a session of FIX at a gateway: it may have had
    /// them before, or not.
    Held { user: u16, next: u64, is_again: bool },
    /// Orders that are alive, to a drop copy.
    Orders(OrdersAsked),
    /// Trades of the day, to who settles them.
    Trades(TradesAsked),
}

fn say(session: SessionId, message: &Message, out: &mut impl Outputs) {
    let mut bytes = Vec::with_capacity(16);
    message.append(&mut bytes);
    out.send(session, &bytes);
}

impl Floor {
    /// A client asks for reports that it missed.
    pub(super) fn missed(
        &mut self,
        session: SessionId,
        request: &MissedMessageRequest,
        out: &mut impl Outputs,
    ) -> Option<Answer> {
        let user = self.users.at(session)?;
        let is_ours = i32::from(request.app_id) == i32::from(self.app_id());
        let status = if is_ours { 0 } else { 2 };
        say(session, &Message::MissedMessageAck(MissedMessageAck { status }), out);
        let oldest = self.cache.oldest();
        let (next, is_whole) = (request.last_sequence.max(oldest), request.last_sequence >= oldest);
        is_ours.then_some(Answer::Recovery { user, next, is_whole })
    }

    /// Goes on with a recovery.
    pub(super) fn recover(
        &mut self,
        now: Time,
        session: SessionId,
        answer: &mut Option<Answer>,
        out: &mut impl Outputs,
    ) {
        let Some(Answer::Recovery { user, next, is_whole }) = answer else { return };
        while out.queued(session) < SLICE_BYTES {
            let end = next.saturating_add(SLICE as i32).min(self.cache.last() + 1);
            for number in *next..end {
                if let Some(message) = self.cache.get(*user, number) {
                    self.counts.recovered += 1;
                    out.send(session, message);
                }
            }
            *next = end;
            if end > self.cache.last() {
                let status = u8::from(!*is_whole);
                let report = Message::MissedMessageReport(MissedMessageReport { status });
                self.said[session.0 as usize] = now;
                *answer = None;
                return say(session, &report, out);
            }
        }
    }

    /// Goes on with what a session missed. Returns whether that was all; `None` if some
    /// of it is not kept any more.
    pub(super) fn catch_up(
        &mut self,
        session: SessionId,
        user: u16,
        next: &mut i32,
        out: &mut impl Outputs,
    ) -> Option<bool> {
        if *next < self.cache.oldest() {
            return None;
        }
        while *next <= self.cache.last() {
            if out.queued(session) >= SLICE_BYTES {
                return Some(false);
            }
            let end = next.saturating_add(SLICE as i32).min(self.cache.last() + 1);
            for number in *next..end {
                if let Some(message) = self.cache.get(user, number) {
                    self.counts.recovered += 1;
                    out.send(session, message);
                }
            }
            *next = end;
        }
        Some(true)
    }

    /// Goes on with what a reader asked for, and begins what it asks for next.
    pub(super) fn serve(
        &mut self,
        now: Time,
        session: SessionId,
        (service, door): (&mut Service, Door),
        answer: &mut Option<Answer>,
        out: &mut impl Outputs,
    ) {
        while out.queued(session) < SLICE_BYTES {
            let Some(going) = answer else {
                let Some(request) = service.next_request() else { return };
                *answer = self.begin(now, session, door, request, out);
                if answer.is_none() {
                    service.answered(now);
                }
                continue;
            };
            let is_done = match going {
                Answer::Replay { next, end } => self.replay(session, next, *end, out),
                Answer::Snapshot { next, segment } => self.snapshot(session, next, segment, out),
                Answer::Recovery { .. }
                | Answer::Resumed { .. }
                | Answer::Held { .. }
                | Answer::Orders(_)
                | Answer::Trades(_) => true,
            };
            if is_done {
                *answer = None;
                service.answered(now);
            }
        }
    }

    fn begin(
        &mut self,
        now: Time,
        session: SessionId,
        door: Door,
        request: Request,
        out: &mut impl Outputs,
    ) -> Option<Answer> {
        match (door, request) {
            (Door::Replay, Request::Replay(request)) => self.begin_replay(session, &request, out),
            (Door::Snapshot, Request::Snapshot(request)) => {
                self.begin_snapshot(now, session, request, out)
            }
            (Door::Snapshot, Request::Replay(_)) => {
                let response = SnapshotResponse { status: b'd', ..SnapshotResponse::default() };
                self.respond(session, response, out);
                None
            }
            (_, Request::Snapshot(_)) => {
                let response = ReplayResponse { status: b'd', ..ReplayResponse::default() };
                self.respond(session, response, out);
                None
            }
            _ => None,
        }
    }

    fn begin_replay(
        &mut self,
        session: SessionId,
        request: &ReplayRequest,
        out: &mut impl Outputs,
    ) -> Option<Answer> {
        let ReplayRequest { group, first, count } = *request;
        let may = self.market.distribution().publisher().can_replay(group, first, count);
        let (status, said) = match may {
            Ok(()) => (b'A', count),
            Err(refused) => (refused as u8, 0),
        };
        match may {
            Ok(()) => self.counts.replays += 1,
            Err(_) => self.counts.replays_refused += 1,
        }
        self.respond(session, ReplayResponse { group, first, count: said, status }, out);
        let end = first.saturating_add(u32::from(count));
        may.ok().map(|()| Answer::Replay { next: first, end })
    }

    /// A slice of a replay. Returns whether it is over.
    fn replay(
        &mut self,
        session: SessionId,
        next: &mut u32,
        end: u32,
        out: &mut impl Outputs,
    ) -> bool {
        let count = (end - *next).min(SLICE);
        let group = self.group;
        let publisher = self.market.distribution().publisher();
        let sent =
            publisher.replay(group, *next, count as u16, &mut |unit| out.send(session, unit));
        *next += count;
        // What has left the ring meanwhile cannot be had: the reader misses it.
        *next >= end || sent.is_err()
    }

    fn begin_snapshot(
        &mut self,
        now: Time,
        session: SessionId,
        request: SnapshotRequest,
        out: &mut impl Outputs,
    ) -> Option<Answer> {
        let has_segment = !request.segment.is_empty();
        let is_known = match has_segment {
            true => (0..self.instruments.len()).any(|at| self.is_asked(&request, at)),
            false => self.instruments.contains(&request.instrument),
        };
        let status = match (has_segment || request.instrument != 0, is_known) {
            (false, _) => b'a',
            (true, false) => Refused::OutOfRange as u8,
            (true, true) => b'A',
        };
        if status != b'A' {
            self.respond(session, SnapshotResponse { status, ..SnapshotResponse::default() }, out);
            return None;
        }
        self.counts.snapshots += 1;
        let second = self.second(now);
        let publisher = self.market.distribution().publisher();
        publisher.begin_snapshot(second, &mut |unit| out.send(session, unit));
        Some(Answer::Snapshot { next: 0, segment: request })
    }

    fn is_asked(&self, request: &SnapshotRequest, at: usize) -> bool {
        match request.segment.is_empty() {
            true => self.instruments[at] == request.instrument,
            false => self.segments[at] == request.segment,
        }
    }

    /// One instrument of a snapshot. Returns whether it is over.
    fn snapshot(
        &mut self,
        session: SessionId,
        next: &mut usize,
        request: &SnapshotRequest,
        out: &mut impl Outputs,
    ) -> bool {
        let at = *next;
        *next += 1;
        let send = &mut |unit: &[u8]| out.send(session, unit);
        if at >= self.instruments.len() {
            if !request.segment.is_empty() {
                let segment = request.segment;
                let end = SnapshotComplete { segment, ..SnapshotComplete::default() };
                self.respond(session, end, out);
            }
            return true;
        }
        if self.is_asked(request, at) {
            let publisher = self.market.distribution().publisher();
            let _ = publisher.snapshot_part(at, send);
        }
        false
    }

    fn respond(&self, session: SessionId, message: impl Into<Mitch>, out: &mut impl Outputs) {
        let mut bytes = Vec::with_capacity(32);
        append_alone(&mut bytes, self.group, &message.into());
        out.send(session, &bytes);
    }
}
