//! A server asks for an item.

use tapeline_omm::qos::QosWish;
use tapeline_omm::state::usual;
use tapeline_omm::{ItemKeyRef, KeyHash, is_administrative};
use tapeline_rwf::{
    DataState, Domain, Priority, Qos, RequestFlags, RequestMsg, State, StateCode, StatusFlags,
    StreamState,
};
use tapeline_time::Time;

use super::Core;
use super::downstream::{accept, defer, refuse};
use super::item::{Interest, Item, Stage};
use super::relay::{Payload, status};
use super::requests::priority_of;
use super::services::{offered_qos, offers};
use crate::{Outputs, Unpublished};

/// Flags of a request that go to the provider as they are.
const PASSED: RequestFlags = RequestFlags::CONF_INFO_IN_UPDATES;
/// Of a private stream, these too.
pub(super) const PASSED_PRIVATELY: RequestFlags = PASSED
    .union(RequestFlags::MSG_KEY_IN_UPDATES)
    .union(RequestFlags::PAUSE)
    .union(RequestFlags::HAS_VIEW)
    .union(RequestFlags::QUALIFIED_STREAM);

/// What servers are told of an item that is over as its service has all that it may.
const GAVE_WAY: State<'static> = State::new(
    StreamState::CLOSED_RECOVER,
    DataState::SUSPECT,
    StateCode::PREEMPTED,
    "Gave way to an item of higher priority.",
);

impl Core {
    /// A server asks for an item with a number that is free.
    pub(super) fn open(
        &mut self,
        now: Time,
        server: u32,
        request: u32,
        msg: &RequestMsg<'_>,
        out: &mut impl Outputs,
    ) {
        self.counters.opens += 1;
        if request as usize >= self.config.limits.max_requests_per_server {
            self.counters.limited += 1;
            self.refuse(server, request, msg, usual::TOO_MANY_ITEMS, out);
            return;
        }
        let (service, qos) = match self.admit(msg) {
            Ok(admitted) => admitted,
            Err(state) => {
                self.refuse(server, request, msg, state, out);
                return;
            }
        };
        let key =
            ItemKeyRef { service_id: Some(service), ..ItemKeyRef::of(msg.domain, &msg.key, qos) };
        let is_private = msg.flags.contains(RequestFlags::PRIVATE_STREAM);
        let interest = Interest {
            server,
            request,
            snapshot: !msg.flags.contains(RequestFlags::STREAMING),
            // A private stream's requester pauses it at its provider itself.
            paused: msg.flags.contains(RequestFlags::PAUSE) && !is_private,
            priority: priority_of(msg),
            accepted: true,
            stage: Stage::Waiting,
        };
        let hash = KeyHash::of(&key);
        match self.items.find_hashed(hash, &key).filter(|_| !is_private) {
            Some(id) => self.join(now, id, interest, out),
            None => self.begin(now, (hash, &key), interest, msg, out),
        }
    }

    /// The service of a request, and the quality that it gets there.
    fn admit(&self, msg: &RequestMsg<'_>) -> Result<(u16, Option<Qos>), State<'static>> {
        let id = msg.key.service_id.ok_or(usual::NO_SERVICE_NAMED)?;
        let service = self.services.published(id).ok_or(usual::SERVICE_NOT_AVAILABLE)?;
        if !offers(service, msg.domain) {
            return Err(usual::CAPABILITY_NOT_SUPPORTED);
        }
        if is_administrative(msg.domain) {
            return Ok((id, None));
        }
        let wish = QosWish::of(msg).map_err(|_| usual::NO_MATCHING_QOS)?;
        let qos = wish.select(offered_qos(service)).ok_or(usual::NO_MATCHING_QOS)?;
        Ok((id, Some(qos)))
    }

    /// The quality that a request without a wish gets.
    pub(super) fn best_quality(&self, service: u16, domain: Domain) -> Option<Qos> {
        let service = self.services.published(service).filter(|_| !is_administrative(domain))?;
        QosWish::Best.select(offered_qos(service))
    }

    fn refuse(
        &mut self,
        server: u32,
        request: u32,
        msg: &RequestMsg<'_>,
        state: State<'static>,
        out: &mut impl Outputs,
    ) {
        self.counters.refused += 1;
        let mut status = status(msg.domain, state);
        let is_private = msg.flags.contains(RequestFlags::PRIVATE_STREAM);
        status.flags.set(StatusFlags::PRIVATE_STREAM, is_private);
        let Some(server) = self.servers.there(server) else { return };
        refuse(&mut self.scratch, server, request, &status, out);
    }

    /// The first request for an item.
    fn begin(
        &mut self,
        now: Time,
        (hash, key): (KeyHash, &ItemKeyRef<'_>),
        interest: Interest,
        msg: &RequestMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let (server, request) = (interest.server, interest.request);
        let service = key.service_id.unwrap_or_default();
        if !self.takes_item(service, interest.priority, out) {
            self.counters.limited += 1;
            self.refuse(server, request, msg, usual::TOO_MANY_ITEMS, out);
            return;
        }
        if self.config.unpublished == Unpublished::NotFound && self.is_only_published(service) {
            self.refuse(server, request, msg, usual::NOT_FOUND, out);
            return;
        }
        let private = msg.flags.contains(RequestFlags::PRIVATE_STREAM);
        let options = self.stream_options(!interest.snapshot, private);
        let mut item = Item::new(key.to_owned(), service, options);
        let is_view = msg.flags.contains(RequestFlags::HAS_VIEW);
        item.request_flags = msg.flags & if private { PASSED_PRIVATELY } else { PASSED };
        // One server's view is not the other's: what is shared comes whole.
        if private || !is_view {
            item.payload = Payload::keep(&msg.payload).map(Box::new);
        }
        item.add_interest(interest);
        let id = self.items.insert(hash, item);
        self.take_on(id, server, request, out);
        self.seek(now, id, out);
    }

    /// Whether there is room for one more item of a service that is wanted so much, be it
    /// that another one gives way as the service has all that it may. That is over for
    /// all: what merely waits would take its place all the same.
    fn takes_item(&mut self, service: u16, wanted: Priority, out: &mut impl Outputs) -> bool {
        if self.has_room(service) {
            return true;
        }
        if !self.is_service_full(service) {
            return false;
        }
        let Some(victim) = self.least_wanted_of(service).filter(|(least, _)| *least < wanted)
        else {
            return false;
        };
        self.counters.preempted += 1;
        self.send_close(victim.1, out);
        self.end_with(victim.1, &GAVE_WAY, out);
        self.has_room(service)
    }

    /// Whether a service has sources, and all of them are non-interactive.
    pub(super) fn is_only_published(&self, service: u16) -> bool {
        let mut sources = self.sources.offering(service).peekable();
        sources.peek().is_some() && sources.all(|(_, _, source)| !source.is_interactive())
    }

    /// Remembers a request as one for this item and says so.
    fn take_on(&mut self, id: u32, server: u32, request: u32, out: &mut impl Outputs) {
        if let Some(server) = self.servers.get_mut(server) {
            server.set(request, id);
            accept(server, id, request, out);
        }
    }

    /// A further request for an item that is open.
    fn join(&mut self, now: Time, id: u32, interest: Interest, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        let (server, request) = (interest.server, interest.request);
        // In the middle of an image it is too late for this one; and somebody
        // who wants updates cannot join a snapshot.
        let is_late = item.in_parts || (!item.streaming && !interest.snapshot);
        if is_late {
            item.add_interest(Interest { accepted: false, stage: Stage::Late, ..interest });
            if let Some(server) = self.servers.get_mut(server) {
                server.set(request, id);
                defer(server, request, out);
            }
            return;
        }
        let has_pending_image = !item.live && item.state.data != DataState::SUSPECT;
        item.add_interest(interest);
        self.rank_anew(id);
        self.take_on(id, server, request, out);
        if !has_pending_image {
            self.want_image(now, id, server, request, out);
        }
        self.priority_changed(now, id, out);
        self.pause_changed(now, id, out);
    }
}
