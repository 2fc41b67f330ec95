//! What is longer than may be: it ends for whom it was, and all else goes on.

use tapeline_channel::SessionId;
use tapeline_omm::post::PostRefusal;
use tapeline_rwf::{DataState, Msg, State, StateCode, StreamState};

use super::Core;
use crate::Outputs;

impl Core {
    /// A message of a mount was passed over. `head` is its beginning.
    pub(super) fn on_too_long<O: Outputs>(
        &mut self,
        session: SessionId,
        (head, length, max): (&[u8], usize, usize),
        out: &mut O,
    ) {
        let Some(mount) = self.mounts.get(session) else { return };
        self.statistics.messages_too_long += 1;
        if mount.login.is_none() {
            return self.cut(session, "a message before the login is too long", out);
        }
        // All but the payload is at the beginning.
        match Msg::decode(head) {
            Ok(Msg::Post(post)) => {
                self.refuse_post(session, &post, &PostRefusal::TooLong { length, max }, out);
            }
            Ok(Msg::Request(request)) => {
                let text = format!("a request of {length} bytes is longer than the {max} allowed");
                self.remove_stream(session, request.stream_id, out);
                self.refuse(session, &request, &too_long(&text), out);
            }
            _ => {}
        }
    }

    /// A message of an item is longer than mounts get: the item is over.
    #[cold]
    pub(super) fn end_too_long<O: Outputs>(&mut self, slot: u32, length: usize, out: &mut O) {
        self.statistics.messages_too_long += 1;
        let max = self.config.limits.max_image_bytes;
        let text =
            format!("a message of {length} bytes is longer than the {max} that a server takes");
        self.detach(slot, out);
        self.fan_state(slot, &too_long(&text), out);
    }
}

/// What ends a stream for which something is too long.
pub(super) const fn too_long(text: &str) -> State<'_> {
    State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NO_RESOURCES, text)
}
