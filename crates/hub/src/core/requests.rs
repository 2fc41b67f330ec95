//! What servers want: frames of the backbone, by kind.

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind};
use tapeline_omm::stream::Reaction;
use tapeline_rwf::{DataState, GenericMsg, Msg, Priority, RequestFlags, RequestMsg};
use tapeline_time::Time;

use super::Core;
use super::downstream;
use super::item::{Binding, Stage};
use super::open::PASSED_PRIVATELY;
use super::wire::{Payload, at_service, ms};
use crate::Outputs;

impl Core {
    pub(super) fn bus_event(&mut self, now: Time, event: BusEvent<'_>, out: &mut impl Outputs) {
        match event {
            BusEvent::PeerUp { peer, .. } => self.server_up(peer, out),
            BusEvent::PeerDown { peer } => self.server_down(now, peer, out),
            BusEvent::Gap { peer } => self.server_gap(now, peer, out),
            BusEvent::Frame { header, body } => self.frame(now, &header, body, out),
        }
    }

    /// How many requests of a server are open.
    pub fn requests_of(&self, server: Incarnation) -> usize {
        let index = self.servers.find(server);
        let server = index.and_then(|index| self.servers.get(index));
        server.map_or(0, super::servers::Server::open)
    }

    fn server_up(&mut self, peer: Incarnation, out: &mut impl Outputs) {
        if self.servers.find(peer).is_some() {
            return;
        }
        if self.servers.len() >= self.config.limits.max_servers {
            self.counters.limited += 1;
            return;
        }
        self.servers.insert(peer);
        self.whole_directory(peer, out);
    }

    pub(super) fn whole_directory(&mut self, target: Incarnation, out: &mut impl Outputs) {
        let refresh = self.services.refresh();
        let version = self.services.version();
        if let Some(bytes) = self.scratch.write(|encoder| refresh.encode(encoder)) {
            downstream::directory(version, bytes, Some(target), out);
        }
    }

    /// A server is gone. What it had open is closed bit by bit.
    fn server_down(&mut self, now: Time, peer: Incarnation, out: &mut impl Outputs) {
        let Some(server) = self.servers.find(peer) else { return };
        self.posts.forget_server(server);
        self.servers.is_gone(server);
        self.close_leftovers(now, out);
    }

    fn frame(&mut self, now: Time, header: &FrameHeader, body: &[u8], out: &mut impl Outputs) {
        let Some(server) = self.servers.find(header.sender) else {
            self.counters.bad_frames += 1;
            return;
        };
        let request = header.item;
        match header.kind {
            Kind::Close => self.close_request(now, server, header, out),
            Kind::Post => self.post(now, server, header, body, out),
            Kind::HeldRequest => self.held_request(server, header),
            Kind::Wanted => self.wanted_page(now, server, header, body, out),
            Kind::DirectoryRequest => self.whole_directory(header.sender, out),
            Kind::Open | Kind::Reissue | Kind::Generic => match (header.kind, Msg::decode(body)) {
                (Kind::Open, Ok(Msg::Request(msg))) => {
                    self.request_comes(now, server, header, &msg, out);
                }
                (Kind::Reissue, Ok(Msg::Request(msg))) => {
                    self.reissue(now, server, request, &msg, out);
                }
                (Kind::Generic, Ok(Msg::Generic(msg))) => {
                    self.generic_up(server, request, &msg, out);
                }
                _ => self.counters.bad_frames += 1,
            },
            _ => self.counters.bad_frames += 1,
        }
    }

    /// A server asks for an item. A request that it has open under the same
    /// number is over with that.
    fn request_comes(
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
    fn close_request(
        &mut self,
        now: Time,
        server: u32,
        header: &FrameHeader,
        out: &mut impl Outputs,
    ) {
        let known = self.servers.get(server);
        if known.is_some_and(|server| server.serial(header.item) == header.item_seq) {
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
    fn reissue(
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
        let Some(interest) = item.interest_mut(server, request) else { return };
        match interest.stage {
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

    /// A generic message goes to the provider on the stream of the item. One
    /// that does not keep up does not get it.
    fn generic_up(
        &mut self,
        server: u32,
        request: u32,
        generic: &GenericMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let found = self.servers.get(server).and_then(|server| server.item(request));
        let Some(item) = found.and_then(|id| self.items.get(id)) else {
            self.counters.bad_frames += 1;
            return;
        };
        let Some(Binding { source, service_id, stream_id: Some(stream_id), .. }) = item.binding
        else {
            self.counters.stray += 1;
            return;
        };
        if item.published {
            self.counters.stray += 1;
            return;
        }
        let key = generic.key.as_ref().map(|key| at_service(key, service_id));
        let msg = GenericMsg { stream_id, key, ..*generic };
        let is_sent = !self.is_slow(source)
            && self.offer_written(source, |encoder| encoder.message(&msg.into()), out);
        match is_sent {
            true => self.counters.generics += 1,
            false => self.counters.generics_dropped += 1,
        }
    }
}

/// The priority of a request.
pub(super) fn priority_of(msg: &RequestMsg<'_>) -> Priority {
    msg.priority.unwrap_or_default()
}
