//! Hubs that come and go, and what is done about it.

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind};
use tapeline_planted::planted;
use tapeline_rwf::{DataState, State, StateCode, StreamState};

use super::Core;
use super::backlog::{Job, steps_to_tell};
use super::item::HubIndex;
use crate::Outputs;

impl Core {
    pub(super) fn on_bus<O: Outputs>(&mut self, event: BusEvent<'_>, out: &mut O) {
        if !matches!(event, BusEvent::Frame { .. }) {
            self.copies_first(out);
        }
        match event {
            BusEvent::Frame { header, body } => self.on_frame(&header, body, out),
            BusEvent::PeerUp { peer, .. } => self.hub_up(peer, out),
            BusEvent::PeerDown { peer } => {
                if let Some(hub) = self.hubs.find(peer) {
                    self.hub_down(hub, out);
                }
            }
            BusEvent::Gap { peer, .. } => {
                if let Some(hub) = self.hubs.find(peer) {
                    self.on_gap(hub, out);
                }
            }
        }
    }

    fn hub_up<O: Outputs>(&mut self, peer: Incarnation, out: &mut O) {
        if self.hubs.find(peer).is_some() || self.hubs.len() >= self.config.limits.max_hubs {
            return;
        }
        self.hubs.insert(peer);
        out.publish(FrameHeader::new(Kind::DirectoryRequest, peer, 0), &[]);
    }

    /// A hub is gone: its items are asked for elsewhere, or wait.
    fn hub_down<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        let Some(lost) = self.hubs.remove(index) else {
            debug_assert!(false, "its index was found");
            return;
        };
        self.items.forget_hub(index);
        self.backlog.add(Job::LoseHub(index));
        let changes = self.services.hub_lost(&self.hubs, &lost.directory);
        self.tell_services(&changes, out);
    }

    /// Refuses a post that was on its way to a hub that is gone, or sees to an
    /// item there. Meanwhile the others are as at a hub that does not answer;
    /// who asks for one has it seen to first.
    pub(super) fn lose_hub_step<O: Outputs>(
        &mut self,
        index: HubIndex,
        out: &mut O,
    ) -> Option<usize> {
        if self.lose_post(index, out) {
            return Some(1);
        }
        let Some(slot) = self.items.at_hubs().any_at(index) else {
            self.hubs.free(index);
            return None;
        };
        let steps = self.steps_for(slot);
        self.lose_upstream(slot, out);
        Some(steps)
    }

    /// What it costs to tell all who watch an item.
    pub(super) fn steps_for(&self, slot: u32) -> usize {
        steps_to_tell(self.items.get(slot).map_or(0, |item| item.watchers.len()))
    }

    /// Sees to an item whose hub is gone before it is its turn.
    pub(super) fn see_to_lost<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let hub = self.items.get(slot).and_then(|item| item.upstream().hub());
        if hub.is_some_and(|hub| self.hubs.is_lost(hub)) {
            self.lose_upstream(slot, out);
        }
    }

    /// The hub of an item does not have it any more. A private stream is over;
    /// any other goes on elsewhere, now or when there is a hub for it.
    fn lose_upstream<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        self.abandon_image(slot);
        self.items.forget_upstream(slot);
        if self.items.get(slot).is_some_and(|item| item.is_private) {
            return self.fan_state(slot, &HUB_LOST_PRIVATE, out);
        }
        if !planted!(ForgottenStale) {
            self.fan_state(slot, &HUB_LOST, out);
        }
        self.open_upstream(slot, out);
    }

    /// Looks at an item whose service is down at its hub: if it is up at
    /// another, the item goes on there.
    pub(super) fn move_step<O: Outputs>(
        &mut self,
        at: HubIndex,
        service_id: u16,
        left: &mut usize,
        out: &mut O,
    ) -> Option<usize> {
        *left = left.checked_sub(1)?;
        if !self.is_down_at(at, service_id) {
            return None;
        }
        let slot = self.items.turn_at(at, service_id)?;
        let item = self.items.get(slot).filter(|item| !item.is_private);
        let chosen = item.and_then(|item| self.services.choose(&self.hubs, &item.key.as_ref()));
        if chosen.is_none_or(|(other, _)| other == at) {
            return Some(1);
        }
        let steps = self.steps_for(slot);
        self.detach(slot, out);
        self.fan_state(slot, &MOVING, out);
        self.open_upstream(slot, out);
        Some(steps)
    }

    /// Whether a hub says that a service is down, or does not have it any more.
    pub(super) fn is_down_at(&self, index: HubIndex, service_id: u16) -> bool {
        let directory = self.hubs.directory(index);
        let Some((name, directory)) = self.services.name(service_id).zip(directory) else {
            return true;
        };
        let service = directory.service_id(name).and_then(|id| directory.service(id));
        let state = service.and_then(|service| service.state.as_ref());
        state.and_then(|state| state.is_up) != Some(true)
    }
}

const HUB_LOST: State<'static> =
    State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "Connection to hub lost");

const MOVING: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::FAILOVER_STARTED,
    "Service is down at this hub, asking another one",
);

const HUB_LOST_PRIVATE: State<'static> = State { stream: StreamState::CLOSED_RECOVER, ..HUB_LOST };
