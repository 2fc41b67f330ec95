//! Frames to servers.

use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_omm::state::usual;
use tapeline_omm::{KeyHash, Scratch};
use tapeline_planted::planted;
use tapeline_rwf::{Msg, State, StatusMsg, StreamState};

use super::Core;
use super::item::{Interest, Item, Stage};
use super::relay::{on_stream_zero, status};
use super::servers::Server;
use crate::Outputs;

/// The directory, or a change of it, for one server or all.
pub(super) fn directory(
    version: u32,
    bytes: &[u8],
    target: Option<Incarnation>,
    out: &mut impl Outputs,
) {
    let target = target.unwrap_or(Incarnation::ALL);
    out.publish(FrameHeader::new(Kind::Directory, target, version), &[bytes]);
}

/// The answer to the request with a serial: the server may use its number for
/// another one by now.
fn answer(kind: Kind, server: &Server, item: u32, serial: u32) -> FrameHeader {
    FrameHeader { item_seq: serial, ..FrameHeader::new(kind, server.incarnation, item) }
}

/// A request is accepted: from now on frames of this item are its.
pub(super) fn accept(server: &Server, id: u32, request: u32, out: &mut impl Outputs) {
    out.publish(
        answer(Kind::Accept, server, id, server.serial(request)),
        &[&request.to_le_bytes()],
    );
}

/// A request waits for the end of the image that is coming.
pub(super) fn defer(server: &Server, request: u32, out: &mut impl Outputs) {
    out.publish(answer(Kind::Defer, server, request, server.serial(request)), &[]);
}

/// The request that has come last is refused. Its number may be beyond those
/// that are kept.
pub(super) fn refuse(
    scratch: &mut Scratch,
    server: &Server,
    request: u32,
    msg: &StatusMsg<'_>,
    out: &mut impl Outputs,
) {
    if let Ok(bytes) = scratch.message(&Msg::from(*msg)) {
        out.publish(answer(Kind::Refuse, server, request, server.last_serial), &[bytes]);
    }
}

/// More than the header of a merged update takes, but for its lock.
const MERGED_HEAD_BYTES: usize = 64;

impl Item {
    /// What all frames of this item say.
    pub(super) fn frame_flags(&self) -> FrameFlags {
        let mut flags = FrameFlags::empty();
        flags.set(FrameFlags::PRIVATE, self.private);
        flags.set(FrameFlags::SNAPSHOT, !self.streaming);
        flags
    }

    /// A message to all servers that have been accepted.
    #[inline]
    pub(super) fn publish_all(
        &mut self,
        id: u32,
        flags: FrameFlags,
        message: &[u8],
        out: &mut impl Outputs,
    ) {
        self.flush_merges(id, out);
        self.publish_next(id, flags, message, out);
    }

    /// What was merged goes out, marked as so many updates, before anything that
    /// comes after it.
    pub(super) fn flush_merges(&mut self, id: u32, out: &mut impl Outputs) {
        let Some(mut merges) = self.merges.take() else { return };
        let is_several = merges.count() > 1;
        let mut message = Vec::with_capacity(MERGED_HEAD_BYTES + merges.bytes());
        if merges.take(0, None, is_several, &mut message) && !planted!(LostHubMerge) {
            self.publish_next(id, FrameFlags::empty(), &message, out);
        }
    }

    fn publish_next(&mut self, id: u32, flags: FrameFlags, message: &[u8], out: &mut impl Outputs) {
        if self.interests.is_empty() {
            return;
        }
        self.seq = self.seq.wrapping_add(1);
        let header = FrameHeader {
            flags: flags | self.frame_flags(),
            item_seq: self.seq,
            ..FrameHeader::new(Kind::Item, Incarnation::ALL, id)
        };
        out.publish(header, &on_stream_zero(message));
    }

    /// A message to one server.
    pub(super) fn publish_to(
        &self,
        id: u32,
        target: Incarnation,
        flags: FrameFlags,
        message: &[u8],
        out: &mut impl Outputs,
    ) {
        debug_assert!(self.merges.is_none(), "what was merged goes to all first");
        let header = FrameHeader {
            flags: flags | self.frame_flags(),
            item_seq: self.seq,
            ..FrameHeader::new(Kind::Item, target, id)
        };
        out.publish(header, &on_stream_zero(message));
    }
}

impl Core {
    /// A state of the item for all who want it.
    pub(super) fn tell_all(&mut self, id: u32, state: &State<'_>, out: &mut impl Outputs) {
        let Some(item) = self.items.known(id) else { return };
        let msg = status(item.key.as_ref().domain, *state);
        self.tell_status(id, &msg, out);
    }

    /// A status of the item for all who want it.
    pub(super) fn tell_status(&mut self, id: u32, msg: &StatusMsg<'_>, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        if let Some(state) = &msg.state {
            item.set_state(state);
        }
        if let Ok(bytes) = self.scratch.message(&Msg::from(*msg)) {
            self.counters.statuses += 1;
            item.publish_all(id, FrameFlags::empty(), bytes, out);
        }
    }

    /// The present state of the item for one server.
    pub(super) fn tell_one(&mut self, id: u32, server: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known(id) else { return };
        let state = item.state.clone();
        self.tell_one_state(id, server, state.as_state(), out);
    }

    /// A state for one server, that the others are not told.
    pub(super) fn tell_one_state(
        &mut self,
        id: u32,
        server: u32,
        state: State<'_>,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known_mut(id) else { return };
        let Some(target) = self.servers.target(server) else { return };
        let msg = status(item.key.as_ref().domain, state);
        item.flush_merges(id, out);
        if let Ok(bytes) = self.scratch.message(&Msg::from(msg)) {
            self.counters.statuses += 1;
            item.publish_to(id, target, FrameFlags::empty(), bytes, out);
        }
    }

    /// The item is over, with this state.
    pub(super) fn end_with(&mut self, id: u32, state: &State<'_>, out: &mut impl Outputs) {
        let Some(item) = self.items.known(id) else { return };
        let msg = status(item.key.as_ref().domain, *state);
        self.end_with_status(id, &msg, out);
    }

    /// The item is over, with this status.
    pub(super) fn end_with_status(&mut self, id: u32, msg: &StatusMsg<'_>, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        if let Ok(bytes) = self.scratch.message(&Msg::from(*msg)) {
            self.counters.statuses += 1;
            item.publish_all(id, FrameFlags::LAST, bytes, out);
        }
        self.forget(id);
    }

    /// An item that is over for all leaves the table. Those whose request came
    /// too late for it ask for it anew.
    pub(super) fn forget(&mut self, id: u32) {
        self.unbind(id);
        self.close_mirrors(id);
        self.forget_claims(id);
        self.keep_alive(id);
        let Some(item) = self.items.remove(id) else { return };
        if let Some(service) = self.services.get_mut(item.service) {
            service.waiting.remove(&id);
        }
        for interest in item.interests.iter().filter(|interest| interest.accepted) {
            if let Some(server) = self.servers.get_mut(interest.server) {
                server.clear(interest.request);
            }
        }
        let late = item.interests.iter().copied().filter(|interest| !interest.accepted);
        let late: Vec<Interest> = late.collect();
        if !late.is_empty() {
            self.follow_ups.begin_anew(item, late);
        }
    }

    /// Items whose requests came too late for the one before begin anew.
    pub(super) fn begin_anew(&mut self, now: tapeline_time::Time, out: &mut impl Outputs) {
        while let Some((before, late)) = self.follow_ups.next_anew() {
            let streaming = late.iter().any(|interest| !interest.snapshot);
            let options = self.stream_options(streaming, false);
            let hash = KeyHash::of(&before.key.as_ref());
            let mut item = Item::new(before.key, before.service, options);
            item.payload = before.payload;
            item.request_flags = before.request_flags;
            item.interests = late.into();
            let id = self.items.insert(hash, item);
            self.all_wait(id, out);
            self.seek(now, id, out);
        }
    }

    /// All who have an image, or are getting one, need a new one; who is late
    /// for the one that was coming is in time for that.
    pub(super) fn all_wait(&mut self, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        // Who wants updates does not wait for a snapshot that is to be asked for
        // again: a stream serves both.
        let is_unasked = item.binding.is_none() && !item.private;
        item.streaming |= is_unasked && item.interests.iter().any(|interest| !interest.snapshot);
        for interest in &mut item.interests {
            let is_for_snapshot = !item.streaming && !interest.snapshot;
            if is_for_snapshot {
                continue;
            }
            interest.stage = Stage::Waiting;
            if let Some(server) = self.servers.get_mut(interest.server)
                && !interest.accepted
            {
                interest.accepted = true;
                server.set(interest.request, id);
                accept(server, id, interest.request, out);
            }
        }
    }
}

/// A state that stays open, for a loss that the hub repairs.
pub(super) const fn kept_open(state: State<'static>) -> State<'static> {
    State { stream: StreamState::OPEN, ..state }
}

/// What servers are told when a connection to a source is lost.
pub(super) const CHANNEL_DOWN: State<'static> = kept_open(usual::CHANNEL_DOWN);
/// What servers are told when a source withdraws a service.
pub(super) const SERVICE_LOST: State<'static> = kept_open(usual::SERVICE_LOST);
