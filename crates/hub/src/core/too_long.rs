//! Messages of providers that are longer than a hub takes: what they were
//! about is over, and all else goes on. A login or a directory is about all of
//! the provider.

use tapeline_omm::ItemKeyRef;
use tapeline_rwf::{
    DataState, Domain, Msg, MsgClass, MsgHeader, Qos, RefreshMsg, State, StateCode, StreamState,
};
use tapeline_time::Time;

use super::Core;
use super::source::SourceKind;
use crate::Outputs;

impl Core {
    /// A message of a provider was passed over. `head` is its beginning.
    pub(super) fn too_long(
        &mut self,
        now: Time,
        session: tapeline_channel::SessionId,
        (head, length, max): (&[u8], usize, usize),
        out: &mut impl Outputs,
    ) {
        self.counters.too_long += 1;
        let Some(index) = self.sources.of_session(session) else { return };
        let Ok(header) = MsgHeader::decode(head) else { return };
        // Other classes change nothing of what consumers have.
        if !matches!(header.class, MsgClass::Refresh | MsgClass::Update | MsgClass::Status) {
            return;
        }
        if matches!(header.domain, Domain::LOGIN | Domain::SOURCE) {
            // What it offers is not known any more.
            self.give_up(index, "its login or directory is longer than a hub takes", out);
            return;
        }
        let Some(source) = self.sources.known(index) else { return };
        let id = source.streams.get(header.stream_id).or_else(|| match Msg::decode(head) {
            Ok(Msg::Refresh(refresh)) if matches!(source.kind, SourceKind::Provider) => {
                self.published_as(index, &refresh)
            }
            _ => None,
        });
        let Some(id) = id else { return };
        let text = format!("a message of {length} bytes is longer than the {max} that a hub takes");
        let state =
            State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NO_RESOURCES, &text);
        let Some(item) = self.items.known(id) else { return };
        let binding = item.binding;
        if binding.is_some_and(|binding| binding.source != index) {
            // It only stands by for it.
            return;
        }
        if !item.published {
            // While it is bound: a close goes to the stream that it had.
            self.send_close(id, out);
        }
        self.end_with(id, &state, out);
        if let Some(binding) = binding {
            self.pump(now, binding.source, binding.service_id, out);
        }
    }

    /// The item that an image of a non-interactive provider is of.
    fn published_as(&self, index: u32, refresh: &RefreshMsg<'_>) -> Option<u32> {
        let key = refresh.key?;
        let offer = self.sources.get(index)?.offers.get(&key.service_id?)?;
        let qos = refresh.qos.unwrap_or(Qos::REALTIME_TICK_BY_TICK);
        let qos = (refresh.domain != Domain::DICTIONARY).then_some(qos);
        let of_item = ItemKeyRef::of(refresh.domain, &key, qos);
        self.items.find(&ItemKeyRef { service_id: Some(offer.service), ..of_item })
    }
}
