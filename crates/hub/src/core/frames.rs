//! Frames of the backbone, by kind, and servers that come and go.

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind};
use tapeline_rwf::{GenericMsg, Msg};
use tapeline_time::Time;

use super::Core;
use super::downstream;
use super::item::Binding;
use super::relay::at_service;
use crate::Outputs;

impl Core {
    pub(super) fn bus_event(&mut self, now: Time, event: BusEvent<'_>, out: &mut impl Outputs) {
        match event {
            BusEvent::PeerUp { peer, .. } => self.server_up(peer, out),
            BusEvent::PeerDown { peer } => self.server_down(now, peer, out),
            BusEvent::Gap { peer, .. } => self.server_gap(now, peer, out),
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
        if let Ok(bytes) = self.scratch.encode(|encoder| refresh.encode(encoder)) {
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
