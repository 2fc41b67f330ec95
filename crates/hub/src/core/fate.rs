//! What happens to many items at once: their source is lost, their service or
//! their group has a state; and to one whose time is up.

use tapeline_omm::state::is_final;
use tapeline_omm::stream::{Deliver, Reaction};
use tapeline_omm::{GroupId, StateBuf};
use tapeline_planted::planted;
use tapeline_rwf::{DataState, State, StateCode, StreamState};
use tapeline_time::Time;

use super::Core;
use super::backlog::{LostOffer, Saying, Told, Work};
use super::downstream::{CHANNEL_DOWN, SERVICE_LOST};
use super::item::{Avoided, NEVER_MS};
use super::relay::status;
use super::source::{Offer, Phase, SourceKind};
use super::timers::ms;
use crate::Outputs;

const FAILOVER_STARTED: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::FAILOVER_STARTED,
    "Source lost, another is asked.",
);

/// What took items from their source.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Loss {
    /// Its connection is gone, and so are the streams on it.
    Channel,
    /// It withdrew the service, and still knows of the streams.
    Service,
    /// It published into a service that is an interactive provider's.
    Claimed,
}

impl Loss {
    /// What servers are told.
    const fn state(self) -> &'static State<'static> {
        match self {
            Self::Channel => &CHANNEL_DOWN,
            Self::Service | Self::Claimed => &SERVICE_LOST,
        }
    }
}

impl Core {
    /// The session of a source is closed.
    pub(super) fn source_lost(&mut self, now: Time, index: u32, out: &mut impl Outputs) {
        let Some(source) = self.sources.known_mut(index) else { return };
        let Some(session) = source.session.take() else { return };
        source.phase = Phase::Down;
        source.unclosed.clear();
        source.untold.clear();
        let offers = std::mem::take(&mut source.offers);
        let services: Vec<_> = offers.values().map(|offer| offer.service).collect();
        self.sources.detach(session);
        for (service_id, offer) in offers {
            self.offer_gone(index, service_id, offer, Loss::Channel);
        }
        self.backlog.add(Work::Unacked { source: index });
        self.backlog.add(Work::Mourned { source: index });
        for service in services {
            self.service_changed(service);
        }
        self.work_off(now, out);
    }

    /// All items of a source that is lost have been told: a route is connected
    /// again.
    pub(super) fn mourned(&mut self, now: Time, index: u32) {
        let delay = self.next_delay(index);
        let Some(source) = self.sources.known_mut(index) else { return };
        match source.kind {
            SourceKind::Provider => self.sources.remove(index),
            SourceKind::Route(_) if source.leaves => self.forget_route(index),
            SourceKind::Route(_) => {
                source.reset();
                source.deadline_ms = Some(ms(now) + delay);
            }
        }
    }

    /// A source no longer offers a service. Returns the hub's id of it.
    pub(super) fn offer_lost(&mut self, index: u32, service_id: u16) -> Option<u16> {
        let offer = self.sources.get_mut(index)?.offers.remove(&service_id)?;
        let service = offer.service;
        self.offer_gone(index, service_id, offer, Loss::Service);
        Some(service)
    }

    /// What a source offers turns out to be another's.
    pub(super) fn offer_claimed(&mut self, index: u32, service_id: u16) {
        let source = self.sources.get_mut(index);
        if let Some(offer) = source.and_then(|source| source.offers.remove(&service_id)) {
            self.offer_gone(index, service_id, offer, Loss::Claimed);
        }
    }

    /// The items that were bound at an offer, asked for or about to be, are lost
    /// there: each is asked for at another source, or waits for one. Nor does its
    /// source stand by for others any more.
    fn offer_gone(&mut self, source: u32, service_id: u16, offer: Offer, loss: Loss) {
        let Offer { generation, members, claims, queue, mirrors, .. } = offer;
        let (items, ranks) = members.into_lists();
        let next = (0, 0);
        let lost = LostOffer {
            source,
            service_id,
            generation,
            loss,
            items,
            next,
            claims,
            ranks,
            queue,
            mirrors,
        };
        self.backlog.add(Work::Lost(Box::new(lost)));
    }

    /// An item of an offer that is gone.
    pub(super) fn lost_there(&mut self, now: Time, id: u32, loss: Loss, out: &mut impl Outputs) {
        let Some(item) = self.items.known(id) else { return };
        let was_asked = item.binding.is_some_and(|binding| binding.stream_id.is_some());
        if item.published && matches!(loss, Loss::Claimed) {
            self.reclaim(now, id, out);
        } else if item.published {
            self.published_lost(now, id, out);
        } else if was_asked && self.go_on_with_mirror(now, id, out) {
            self.counters.failovers += 1;
        } else if was_asked {
            self.end_move(id);
            self.item_lost(now, id, loss, out);
        } else {
            self.unbind(id);
            self.seek(now, id, out);
        }
    }

    /// Whether the connection of a source is gone.
    pub(super) fn is_lost(&self, index: u32) -> bool {
        self.sources.get(index).is_none_or(|source| source.session.is_none())
    }

    /// Sees to an item of a lost source before it is its turn.
    pub(super) fn see_to_lost(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let binding = self.items.get(id).and_then(|item| item.binding);
        if binding.is_some_and(|binding| self.is_lost(binding.source)) {
            self.lost_there(now, id, Loss::Channel, out);
        }
    }

    pub(super) fn item_lost(&mut self, now: Time, id: u32, loss: Loss, out: &mut impl Outputs) {
        let why = loss.state();
        let Some(item) = self.items.known_mut(id) else { return };
        let reaction = match loss {
            _ if planted!(UnlostService) => item.stream.channel_down(),
            Loss::Channel => item.stream.channel_down(),
            Loss::Service | Loss::Claimed => item.stream.service_lost(),
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
        let Some(item) = self.items.known_mut(id) else { return };
        item.recovering = true;
        self.all_wait(id, out);
        self.renew_stream(id);
        let moves = self.items.get(id).is_some_and(|item| self.has_alternative(item, &binding));
        if moves {
            self.counters.failovers += 1;
            if let Some(item) = self.items.get_mut(id) {
                item.failing_over = true;
                item.avoid = Avoided::of(&binding);
            }
        }
        if !planted!(UntoldLoss) {
            self.tell_all(id, if moves { &FAILOVER_STARTED } else { why }, out);
        }
        self.seek(now, id, out);
    }

    /// A source says something about all items of a service, or of a group.
    pub(super) fn say(
        &mut self,
        index: u32,
        service_id: u16,
        group: Option<GroupId>,
        saying: Saying,
    ) {
        let Some(source) = self.sources.known_mut(index) else { return };
        let Some(offer) = source.offers.get(&service_id) else { return };
        source.sayings += 1;
        let told = Told {
            source: index,
            service_id,
            generation: offer.generation,
            number: source.sayings,
            group,
            saying,
            at: None,
        };
        self.backlog.add(Work::Told(Box::new(told)));
    }

    pub(super) fn fanned_state(
        &mut self,
        now: Time,
        id: u32,
        state: &StateBuf,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known_mut(id) else { return };
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
        if is_final(state.stream) {
            self.close_reopened(id, out);
        }
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
        if item.armed_ms != at {
            return;
        }
        item.armed_ms = NEVER_MS;
        if item.stale_at_ms.is_some_and(|stale_at| stale_at <= ms(now)) {
            self.published_expired(id, out);
            return;
        }
        if item.part_due_ms.is_some_and(|due| due <= ms(now)) {
            self.give_up_image(now, id, out);
            self.arm(id);
            return;
        }
        if item.published {
            self.arm(id);
            return;
        }
        let reaction = item.stream.timeout(ms(now));
        self.unanswered(now, id, &reaction, out);
        self.arm(id);
    }

    /// The time of a request is up: it is closed and made again. Or it is the
    /// time to ask.
    pub(super) fn unanswered(
        &mut self,
        now: Time,
        id: u32,
        reaction: &Reaction<'_>,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known(id).filter(|_| !planted!(NoSecondTry)) else { return };
        match reaction.deliver {
            Deliver::Status(state) => {
                let msg = status(item.key.as_ref().domain, state);
                self.counters.request_timeouts += 1;
                self.act(id, reaction.send, out);
                self.state_changed(now, id, &msg, out);
            }
            _ => self.seek(now, id, out),
        }
    }
}
