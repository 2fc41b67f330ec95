//! Requests and items that wait for a service.

use tapeline_channel::SessionId;
use tapeline_omm::market::ItemRequest;
use tapeline_omm::state::usual;
use tapeline_rwf::{Msg, StreamState};

use super::Core;
use super::item::Upstream;
use super::stream::Stream;
use crate::Outputs;

impl Core {
    /// The item waits for a hub that has its service.
    pub(super) fn park(&mut self, slot: u32) {
        if let Some(item) = self.items.get(slot) {
            self.parked.insert((item.service_id(), slot));
        }
    }

    /// A service may be usable again: what waits for it is tried once more.
    pub(super) fn retry_service<O: Outputs>(&mut self, service_id: u16, out: &mut O) {
        let parked: Vec<_> =
            self.parked.range((service_id, 0)..=(service_id, u32::MAX)).copied().collect();
        for entry in parked {
            self.parked.remove(&entry);
            let (_, slot) = entry;
            let waits = self.items.get(slot).is_some_and(|item| {
                item.service_id() == service_id && item.upstream == Upstream::Nowhere
            });
            if waits && !self.open_upstream(slot, out) {
                self.parked.insert(entry);
            }
        }
        let pending: Vec<_> = self.pending_of(service_id).collect();
        for (session, stream_id) in pending {
            self.retry_pending(session, stream_id, out);
        }
    }

    fn pending_of(&self, service_id: u16) -> impl Iterator<Item = (SessionId, i32)> + '_ {
        let first = SessionId { index: 0, generation: 0 };
        self.pending
            .range((service_id, first, i32::MIN)..)
            .take_while(move |(service, ..)| *service == service_id)
            .map(|(_, session, stream_id)| (*session, *stream_id))
    }

    fn retry_pending<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) {
        let Some(mount) = self.mounts.get_mut(session) else { return };
        let Some(Stream::Pending(pending)) = mount.streams.other_mut(stream_id) else { return };
        let bytes = core::mem::take(&mut pending.request);
        let Ok(Msg::Request(msg)) = Msg::decode(&bytes) else { return };
        let is_admitted = ItemRequest::decode(&msg)
            .is_ok_and(|request| self.services.directory.admit(&request).is_ok());
        if !is_admitted {
            pending.request = bytes;
            return;
        }
        self.remove_stream(session, stream_id, out);
        self.open_item(session, &msg, &bytes, out);
    }

    /// A service is gone for good, with its number: items on it are lost.
    pub(super) fn service_deleted<O: Outputs>(&mut self, service_id: u16, out: &mut O) {
        for slot in self.items.slots() {
            let Some(item) = self.items.get(slot) else { continue };
            if item.service_id() != service_id {
                continue;
            }
            self.detach(slot, out);
            self.park(slot);
            let state = match self.items.get(slot).is_some_and(|item| item.is_private) {
                true => usual::SERVICE_LOST,
                false => tapeline_rwf::State {
                    stream: StreamState::CLOSED_RECOVER,
                    ..usual::SERVICE_LOST
                },
            };
            self.fan_state(slot, &state, out);
        }
    }
}
