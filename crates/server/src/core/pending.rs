//! Requests and items that wait for a service.

use tapeline_channel::SessionId;
use tapeline_omm::market::ItemRequest;
use tapeline_omm::state::usual;
use tapeline_rwf::{Msg, State, StreamState};

use super::Core;
use super::item::HubIndex;
use super::stream::Stream;
use crate::Outputs;

impl Core {
    /// A service may be usable again: an item that is at no hub is asked for
    /// once more.
    pub(super) fn ask_step<O: Outputs>(
        &mut self,
        service_id: u16,
        left: &mut usize,
        out: &mut O,
    ) -> Option<usize> {
        *left = left.checked_sub(1)?;
        if !self.services.is_usable(service_id) {
            return None;
        }
        let slot = self.items.turn_nowhere(service_id)?;
        self.open_upstream(slot, out);
        Some(1)
    }

    /// The same for the next request that waits for the service.
    pub(super) fn retry_step<O: Outputs>(
        &mut self,
        service_id: u16,
        next: &mut (u32, i32),
        out: &mut O,
    ) -> Option<usize> {
        if !self.services.is_usable(service_id) {
            return None;
        }
        let (number, stream_id) = self.waiting.next_pending(service_id, *next)?;
        *next = match stream_id.checked_add(1) {
            Some(after) => (number, after),
            None => (number + 1, i32::MIN),
        };
        if let Some(session) = self.mounts.session_of(number) {
            self.retry_pending(session, stream_id, out);
        }
        Some(2)
    }

    fn retry_pending<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) {
        let Some(mount) = self.mounts.get_mut(session) else {
            debug_assert!(false, "a number is of a mount");
            return;
        };
        let Some(Stream::Pending(pending)) = mount.streams.other_mut(stream_id) else {
            debug_assert!(false, "what waits is on its stream");
            return;
        };
        let bytes = core::mem::take(&mut pending.request);
        let Ok(Msg::Request(msg)) = Msg::decode(&bytes) else {
            debug_assert!(false, "it was read before");
            return;
        };
        let is_admitted = ItemRequest::decode(&msg)
            .is_ok_and(|request| self.services.directory.admit(&request).is_ok());
        if !is_admitted {
            pending.request = bytes;
            return;
        }
        self.remove_stream(session, stream_id, out);
        self.open_item(session, &msg, &bytes, out);
    }

    /// Tells a client why its request waits, if it was not told because its
    /// mount was slow.
    pub(super) fn tell_pending<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) {
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if !mount.owed.take(stream_id).owes_state {
            return;
        }
        let Some(Stream::Pending(pending)) = mount.streams.other_mut(stream_id) else { return };
        let bytes = core::mem::take(&mut pending.request);
        if let Ok(Msg::Request(msg)) = Msg::decode(&bytes)
            && let Ok(request) = ItemRequest::decode(&msg)
            && let Err(state) = self.services.directory.admit(&request)
        {
            let state = self.state_told(session, &msg, &state);
            self.refuse(session, &msg, &state, out);
        }
        let mount = self.mounts.get_mut(session);
        if let Some(Stream::Pending(pending)) = mount.and_then(|it| it.streams.other_mut(stream_id))
        {
            pending.request = bytes;
        }
    }

    /// A service is gone for good, with its number: an item of it is lost.
    pub(super) fn delete_step<O: Outputs>(
        &mut self,
        hub: HubIndex,
        service_id: u16,
        left: &mut usize,
        out: &mut O,
    ) -> Option<usize> {
        let rest = left.checked_sub(1);
        *left = rest.unwrap_or_default();
        let Some(slot) = rest.and_then(|_| self.items.turn_at(hub, service_id)) else {
            // It may have come back meanwhile.
            if self.services.is_usable(service_id) {
                self.owe_usable(service_id);
            }
            return None;
        };
        let steps = self.steps_for(slot);
        self.detach(slot, out);
        let state = match self.items.get(slot).is_some_and(|item| item.is_private) {
            true => usual::SERVICE_LOST,
            false => State { stream: StreamState::CLOSED_RECOVER, ..usual::SERVICE_LOST },
        };
        self.fan_state(slot, &state, out);
        Some(steps)
    }
}
