//! What happens to many items at once: their source is lost, their service or
//! their group has a state; and to one whose time is up.

use tapeline_omm::stream::Deliver;
use tapeline_omm::{GroupId, ServiceGroup, StateBuf};
use tapeline_rssl::Time;
use tapeline_rwf::{DataState, State, StateCode, StreamState};

use super::Core;
use super::downstream::{CHANNEL_DOWN, SERVICE_LOST};
use super::source::{Phase, SourceKind};
use super::wire::{ms, status};
use crate::Outputs;

const FAILOVER_STARTED: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::FAILOVER_STARTED,
    "Source lost, another is asked.",
);

/// What took items from their source.
#[derive(Debug, Clone, Copy)]
enum Loss {
    /// Its connection is gone, and so are the streams on it.
    Channel,
    /// It withdrew the service, and still knows of the streams.
    Service,
}

impl Loss {
    /// What servers are told.
    const fn state(self) -> &'static State<'static> {
        match self {
            Self::Channel => &CHANNEL_DOWN,
            Self::Service => &SERVICE_LOST,
        }
    }
}

impl Core {
    /// The session of a source is closed.
    pub(super) fn source_lost(&mut self, now: Time, index: u32, out: &mut impl Outputs) {
        let Some(source) = self.sources.get_mut(index) else { return };
        let Some(session) = source.session.take() else { return };
        source.phase = Phase::Down;
        let kind = source.kind;
        let offers: Vec<_> = source.offers.iter().map(|(id, offer)| (*id, offer.service)).collect();
        self.sources.detach(session);
        for (service_id, _) in &offers {
            self.items_lost(now, index, *service_id, Loss::Channel, out);
        }
        self.posts_lost(index, out);
        let delay = self.next_delay(index);
        match (kind, self.sources.get_mut(index)) {
            (SourceKind::Provider, _) => self.sources.remove(index),
            (SourceKind::Route(_), Some(source)) => {
                source.reset();
                source.deadline_ms = Some(ms(now) + delay);
            }
            (SourceKind::Route(_), None) => {}
        }
        for (_, service) in offers {
            self.service_changed(now, service, out);
        }
    }

    /// A source no longer offers a service. Returns the hub's id of it.
    pub(super) fn offer_lost(
        &mut self,
        now: Time,
        index: u32,
        service_id: u16,
        out: &mut impl Outputs,
    ) -> Option<u16> {
        let service = self.sources.get(index)?.offers.get(&service_id)?.service;
        self.items_lost(now, index, service_id, Loss::Service, out);
        self.sources.get_mut(index)?.offers.remove(&service_id);
        Some(service)
    }

    /// All items that a source has of one of its services.
    fn items_of(&self, index: u32, service_id: u16) -> Vec<u32> {
        let Some(source) = self.sources.get(index) else { return Vec::new() };
        let is_of_service = |id: &u32| {
            let binding = self.items.get(*id).and_then(|item| item.binding);
            binding.is_some_and(|binding| binding.service_id == service_id)
        };
        source.streams.items().into_iter().filter(is_of_service).collect()
    }

    /// The items that a source had of a service, asked for or about to be, are
    /// lost there: each is asked for at another source, or waits for one.
    fn items_lost(
        &mut self,
        now: Time,
        index: u32,
        service_id: u16,
        loss: Loss,
        out: &mut impl Outputs,
    ) {
        let open = self.items_of(index, service_id);
        let offer = self.sources.get_mut(index).and_then(|s| s.offers.get_mut(&service_id));
        let queued = offer.map(|offer| std::mem::take(&mut offer.queue)).unwrap_or_default();
        for id in open {
            match self.items.get(id).map(|item| item.published) {
                Some(true) => self.published_lost(now, id, out),
                Some(false) => self.item_lost(now, id, loss, out),
                None => {}
            }
        }
        for id in queued {
            let Some(item) = self.items.get(id) else { continue };
            let is_here = item.binding.is_some_and(|binding| {
                (binding.source, binding.service_id, binding.stream_id) == (index, service_id, None)
            });
            if is_here {
                self.unbind(id);
                self.seek(now, id, out);
            }
        }
    }

    fn item_lost(&mut self, now: Time, id: u32, loss: Loss, out: &mut impl Outputs) {
        let why = loss.state();
        let Some(item) = self.items.get_mut(id) else { return };
        let reaction = match loss {
            Loss::Channel => item.stream.channel_down(),
            Loss::Service => item.stream.service_lost(),
        };
        let is_over = item.stream.is_over();
        // While it is bound: a close goes to the stream that it had.
        self.act(id, reaction.send, out);
        if is_over {
            let state = match reaction.deliver {
                Deliver::Status(state) => State { text: why.text, ..state },
                _ => State { stream: StreamState::CLOSED_RECOVER, ..*why },
            };
            self.end_with(id, &state, out);
            return;
        }
        let Some(binding) = self.unbind(id) else { return };
        let Some(item) = self.items.get_mut(id) else { return };
        item.recovering = true;
        self.all_wait(id, out);
        self.renew_stream(id);
        let moves =
            self.items.get(id).is_some_and(|item| self.has_alternative(item, binding.source));
        if moves {
            self.counters.failovers += 1;
            if let Some(item) = self.items.get_mut(id) {
                item.failing_over = true;
                item.avoid = Some(binding.source);
            }
            self.tell_all(id, &FAILOVER_STARTED, out);
        } else {
            self.tell_all(id, why, out);
        }
        self.seek(now, id, out);
    }

    /// A state for all items of a service that have had an answer.
    pub(super) fn service_status(
        &mut self,
        now: Time,
        index: u32,
        service_id: u16,
        state: &StateBuf,
        out: &mut impl Outputs,
    ) {
        for id in self.items_of(index, service_id) {
            self.fanned_state(now, id, state, out);
        }
    }

    /// A state for all items of a group.
    pub(super) fn group_status(
        &mut self,
        now: Time,
        index: u32,
        group: &ServiceGroup,
        state: &StateBuf,
        out: &mut impl Outputs,
    ) {
        for id in self.items_of(index, group.service_id) {
            if self.items.get(id).is_some_and(|item| item.group == group.group) {
                self.fanned_state(now, id, state, out);
            }
        }
    }

    /// All items of a group move to another one.
    pub(super) fn group_merged(&mut self, index: u32, group: &ServiceGroup, into: &GroupId) {
        for id in self.items_of(index, group.service_id) {
            if let Some(item) = self.items.get_mut(id)
                && item.group == group.group
            {
                item.group = into.clone();
            }
        }
    }

    fn fanned_state(&mut self, now: Time, id: u32, state: &StateBuf, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        let state = state.as_state();
        let msg = status(item.key.as_ref().domain, state);
        if item.published {
            self.published_status(id, &msg, out);
            return;
        }
        let reaction = item.stream.fanned_state(ms(now), &state);
        let told = match reaction.deliver {
            Deliver::Status(state) | Deliver::MessageAs(state) => state,
            Deliver::Message | Deliver::Nothing => return,
        };
        let is_parked = !item.stream.is_on_wire() && !item.stream.is_over();
        self.act(id, reaction.send, out);
        if !is_parked {
            self.state_changed(now, id, &status(msg.domain, told), out);
            return;
        }
        // The whole service or group closed: asking again is of use as soon as
        // it is usable, and that the directory says.
        self.tell_all(id, &told, out);
        self.unbind(id);
        if let Some(item) = self.items.get_mut(id) {
            item.recovering = true;
        }
        self.all_wait(id, out);
        self.renew_stream(id);
        self.seek(now, id, out);
    }

    /// The time that was set for an item has come.
    pub(super) fn item_timeout(&mut self, now: Time, at: u64, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        if item.armed_ms != Some(at) {
            return;
        }
        item.armed_ms = None;
        if item.stale_at_ms.is_some_and(|stale_at| stale_at <= ms(now)) {
            self.published_expired(id, out);
            return;
        }
        if item.published {
            self.arm(id);
            return;
        }
        let reaction = item.stream.timeout(ms(now));
        match reaction.deliver {
            Deliver::Status(state) => {
                let msg = status(item.key.as_ref().domain, state);
                self.counters.request_timeouts += 1;
                self.act(id, reaction.send, out);
                self.state_changed(now, id, &msg, out);
            }
            _ => self.seek(now, id, out),
        }
        self.arm(id);
    }
}
