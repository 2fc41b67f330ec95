//! Hubs that come and go, and what is done about it.

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind};
use tapeline_rwf::{DataState, State, StateCode, StreamState};

use super::item::{HubIndex, Upstream};
use super::{Core, millis};
use crate::Outputs;

/// How many items one frame asks about.
const RESYNC_ITEMS: usize = 4_000;

impl Core {
    pub(super) fn on_bus<O: Outputs>(&mut self, event: BusEvent<'_>, out: &mut O) {
        match event {
            BusEvent::Frame { header, body } => self.on_frame(&header, body, out),
            BusEvent::PeerUp { peer, .. } => self.hub_up(peer, out),
            BusEvent::PeerDown { peer } => {
                if let Some(hub) = self.hubs.find(peer) {
                    self.hub_down(hub, out);
                }
            }
            BusEvent::Gap { peer } => {
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
        let Some(lost) = self.hubs.remove(index) else { return };
        self.items.forget_hub(index);
        self.posts_lost(index, out);
        let slots: Vec<_> = self
            .items
            .slots()
            .filter(|slot| self.items.get(*slot).and_then(|it| it.upstream.hub()) == Some(index))
            .collect();
        for slot in slots {
            self.lose_upstream(slot, out);
        }
        let changes = self.services.hub_lost(&self.hubs, &lost.directory);
        self.tell_services(&changes, out);
    }

    /// The hub of an item does not have it any more. A private stream is over;
    /// any other goes on elsewhere, now or when there is a hub for it.
    fn lose_upstream<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        self.abandon_image(slot);
        let Some(item) = self.items.get_mut(slot) else { return };
        item.forget_upstream();
        if item.is_private {
            return self.fan_state(slot, &HUB_LOST_PRIVATE, out);
        }
        self.fan_state(slot, &HUB_LOST, out);
        if self.items.get(slot).is_some() && !self.open_upstream(slot, out) {
            self.park(slot);
        }
    }

    /// A service is down at the hubs of some items and up at another: they go
    /// on there.
    pub(super) fn move_items<O: Outputs>(&mut self, service_id: u16, out: &mut O) {
        if self.hubs.len() < 2 {
            return;
        }
        for slot in self.items.slots() {
            let Some(item) = self.items.get(slot) else { continue };
            if item.service_id() != service_id || item.is_private {
                continue;
            }
            let chosen = self.services.choose(&self.hubs, &item.key.as_ref());
            let (Some(at), Some((other, _))) = (item.upstream.hub(), chosen) else { continue };
            if other != at && self.is_down_at(at, service_id) {
                self.detach(slot, out);
                self.fan_state(slot, &MOVING, out);
                if self.items.get(slot).is_some() && !self.open_upstream(slot, out) {
                    self.park(slot);
                }
            }
        }
    }

    /// Whether a hub says that a service is down, or does not have it any more.
    fn is_down_at(&self, index: HubIndex, service_id: u16) -> bool {
        let directory = self.hubs.directory(index);
        let Some((name, directory)) = self.services.name(service_id).zip(directory) else {
            return true;
        };
        let service = directory.service_id(name).and_then(|id| directory.service(id));
        let state = service.and_then(|service| service.state.as_ref());
        state.and_then(|state| state.is_up) != Some(true)
    }

    /// Frames of a hub were lost. Where they are lost all the time, asking what
    /// they were of must not make it worse: it is asked every now and then.
    fn on_gap<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        let interval = millis(self.config.limits.resync_interval_ms);
        let Some(hub) = self.hubs.get_mut(index) else { return };
        match hub.resynced_at.map(|at| at.after(interval)) {
            Some(due) if due > self.now => hub.resync_due = Some(due),
            _ => self.resync(index, out),
        }
    }

    /// Asks the hubs whose time has come.
    pub(super) fn check_resyncs<O: Outputs>(&mut self, out: &mut O) {
        for index in self.hubs.to_resync(self.now) {
            self.resync(index, out);
        }
    }

    /// Frames of a hub were lost. It is asked which items they were of, for
    /// its services, and again for everything that it has not answered.
    fn resync<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        let Some(hub) = self.hubs.get_mut(index) else { return };
        hub.resynced_at = Some(self.now);
        hub.resync_due = None;
        let peer = hub.incarnation;
        out.publish(FrameHeader::new(Kind::DirectoryRequest, peer, 0), &[]);
        let asked: Vec<_> = self
            .items
            .slots()
            .filter(|slot| {
                self.items.get(*slot).map(|it| it.upstream) == Some(Upstream::Asked { hub: index })
            })
            .collect();
        for slot in asked {
            self.ask_again(slot, index, out);
        }
        // After these, so that the hub does not take a number of the last
        // meeting for one of its new items.
        let Some(hub) = self.hubs.get(index) else { return };
        let seen: Vec<_> = hub
            .items()
            .filter_map(|(hub_item, slot)| Some((hub_item, self.items.get(slot)?.seen_seq())))
            .collect();
        for chunk in seen.chunks(RESYNC_ITEMS) {
            let body: Vec<u8> = chunk
                .iter()
                .flat_map(|(hub_item, seq)| [hub_item.to_le_bytes(), seq.to_le_bytes()])
                .flatten()
                .collect();
            out.publish(FrameHeader::new(Kind::Resync, peer, 0), &[&body]);
        }
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
