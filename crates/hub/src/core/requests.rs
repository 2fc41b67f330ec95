//! What servers want of items: requests, their changes and their ends.

use tapeline_backbone::FrameHeader;
use tapeline_omm::stream::Reaction;
use tapeline_planted::planted;
use tapeline_rwf::{DataState, Priority, RequestFlags, RequestMsg};
use tapeline_time::Time;

use super::Core;
use super::item::Stage;
use super::open::PASSED_PRIVATELY;
use super::relay::Payload;
use super::timers::ms;
use crate::Outputs;

impl Core {
    /// A server asks for an item. A request that it has open under the same
    /// number is over with that.
    pub(super) fn request_comes(
        &mut self,
        now: Time,
        server: u32,
        header: &FrameHeader,
        msg: &RequestMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let (request, serial) = (header.item, header.item_seq);
        self.close(now, server, request, out);
        let max = self.config.limits.max_requests_per_server;
        if let Some(server) = self.servers.get_mut(server) {
            server.last_serial = serial;
            if (request as usize) < max {
                server.begin(request, serial);
            }
        }
        self.open(now, server, request, msg, out);
    }

    /// A server closes a request. One that has the number by now stays.
    pub(super) fn close_request(
        &mut self,
        now: Time,
        server: u32,
        header: &FrameHeader,
        out: &mut impl Outputs,
    ) {
        let known = self.servers.get(server);
        if known.is_some_and(|server| {
            server.serial(header.item) == header.item_seq || planted!(CloseOfBefore)
        }) {
            self.close(now, server, header.item, out);
        }
    }

    /// A server wants no more of what it asked for with this request. When
    /// nobody wants the item any more, it is closed at its source, unless that
    /// published it unasked.
    pub(super) fn close(&mut self, now: Time, server: u32, request: u32, out: &mut impl Outputs) {
        let Some(id) = self.servers.get(server).and_then(|server| server.item(request)) else {
            return;
        };
        self.drop_interest(id, server, request);
        let Some(item) = self.items.known_mut(id) else { return };
        if !item.interests.is_empty() {
            self.priority_changed(now, id, out);
            self.pause_changed(now, id, out);
            return;
        }
        self.end_if_unwanted(now, id, out);
    }

    /// Closes an item that nobody wants any more at its source. One that was
    /// published unasked stays.
    pub(super) fn end_if_unwanted(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        // The last snapshot that was served may have ended it.
        let Some(item) = self.items.get_mut(id) else { return };
        if item.published || !item.interests.is_empty() {
            return;
        }
        let binding = item.binding;
        let Reaction { send, .. } = item.stream.close();
        self.act(id, send, out);
        self.forget(id);
        if let Some(binding) = binding {
            self.pump(now, binding.source, binding.service_id, out);
        }
    }

    /// A change of what a server wants: priority, pause, an image.
    pub(super) fn reissue(
        &mut self,
        now: Time,
        server: u32,
        request: u32,
        msg: &RequestMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let found = self.servers.get(server).and_then(|server| server.item(request));
        let Some(item) = found.and_then(|id| self.items.get_mut(id)) else {
            self.counters.bad_frames += 1;
            return;
        };
        let id = found.unwrap_or_default();
        if item.private {
            self.reissue_privately(now, id, msg, out);
            return;
        }
        let Some(interest) = item.interest_mut(server, request) else { return };
        interest.priority = msg.priority.unwrap_or(interest.priority);
        let pauses = msg.flags.contains(RequestFlags::PAUSE);
        interest.paused = pauses;
        self.rank_anew(id);
        let wants_image = !pauses && !msg.flags.contains(RequestFlags::NO_REFRESH);
        self.pause_changed(now, id, out);
        if !wants_image {
            self.priority_changed(now, id, out);
            return;
        }
        let Some(item) = self.items.known_mut(id) else { return };
        let is_suspect = item.state.data == DataState::SUSPECT;
        let is_given_up = item.is_unfinished() && !item.in_parts;
        let Some(interest) = item.interest_mut(server, request) else { return };
        match interest.stage {
            // The image was given up, and the word of it was lost.
            Stage::Late if is_given_up => {
                item.accept_late(id, &self.servers, out);
                self.tell_one(id, server, out);
            }
            // Its image is due anyway.
            Stage::Late => {}
            Stage::Waiting if !is_suspect => {}
            // It has missed why it waits, or a part of what is coming.
            Stage::Waiting => self.tell_one(id, server, out),
            Stage::Receiving | Stage::Live => self.want_image(now, id, server, request, out),
        }
    }

    /// What a private stream asks for is between its two ends.
    fn reissue_privately(
        &mut self,
        now: Time,
        id: u32,
        msg: &RequestMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known_mut(id) else { return };
        let wants_image = !msg.flags.intersects(RequestFlags::PAUSE | RequestFlags::NO_REFRESH);
        item.request_flags = msg.flags & PASSED_PRIVATELY;
        item.payload = Payload::keep(&msg.payload).map(Box::new);
        if let Some(interest) = item.interests.first_mut() {
            interest.priority = priority_of(msg);
            if wants_image && interest.stage == Stage::Live {
                interest.stage = Stage::Waiting;
            }
        }
        let Reaction { send, .. } = item.stream.reissue(ms(now), wants_image);
        self.act(id, send, out);
    }
}

/// The priority of a request.
pub(super) fn priority_of(msg: &RequestMsg<'_>) -> Priority {
    msg.priority.unwrap_or_default()
}
