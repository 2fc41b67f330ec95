//! Batches: several streams in one request.

use tapeline_channel::SessionId;
use tapeline_omm::batch::{BATCH_DONE, Batch, BatchError, ItemNames, StreamIds};
use tapeline_omm::view::ViewChange;
use tapeline_rwf::{
    DataState, DataType, ElementListHead, Encoded, MsgKey, RequestFlags, RequestMsg, State,
    StateCode, StatusMsg, StreamState,
};

use super::Core;
use super::forms::MAX_VIEW_BYTES;
use crate::Outputs;

/// Each stream reads the view for itself: together they are bounded like the
/// views that a mount has.
const TOO_MUCH_VIEW: State<'static> = State::new(
    StreamState::CLOSED,
    DataState::SUSPECT,
    StateCode::USAGE_ERROR,
    "the view is too long for so many streams; make smaller batches",
);

impl Core {
    pub(super) fn on_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        out: &mut O,
    ) {
        let done = match Batch::of_request(request) {
            Ok(Some(Batch::Items(names))) => {
                let open = |core: &mut Self, single: &RequestMsg<'_>, out: &mut O| {
                    core.open_one(session, single, out);
                };
                self.open_batch(session, request, names, open, out)
            }
            Ok(Some(Batch::Streams(ids))) => {
                self.reissue_batch(session, request, ids, out);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            self.end_batch(session, request, &error.state().as_state(), out);
        }
    }

    pub(super) fn end_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        state: &State<'_>,
        out: &mut O,
    ) {
        let status =
            StatusMsg { state: Some(*state), ..StatusMsg::new(request.domain, request.stream_id) };
        self.send(session, &status.into(), out);
    }

    /// Opens the items, each as if it had been requested by itself, which is
    /// what `open` does with its request.
    pub(super) fn open_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        names: ItemNames<'_>,
        mut open: impl FnMut(&mut Self, &RequestMsg<'_>, &mut O),
        out: &mut O,
    ) -> Result<(), BatchError> {
        let base = request.stream_id;
        let view = self.view_alone(request);
        if view.len().saturating_mul(names.len()) > MAX_VIEW_BYTES {
            self.end_batch(session, request, &TOO_MUCH_VIEW, out);
            return Ok(());
        }
        let Some(mount) = self.mounts.get(session) else { return Ok(()) };
        if mount.streams.contains(base) {
            return Err(BatchError::IdInUse(base));
        }
        if names.len() > self.config.limits.max_batch {
            return Err(BatchError::OutOfIds { base, count: names.len() });
        }
        let streams: Vec<_> = names.streams(base, |id| mount.streams.contains(id))?.collect();
        match mount.speaks_json {
            true => {
                let count = streams.len();
                let text = format!("Processed {count} total items from Batch Request. {count} Ok.");
                let state = State { text: text.as_bytes(), ..BATCH_DONE };
                self.end_batch(session, request, &state, out);
            }
            false => self.end_batch(session, request, &BATCH_DONE, out),
        }
        for (stream_id, name) in streams {
            let key = MsgKey { name: Some(name), ..request.key };
            open(self, &single(request, &view, stream_id, key), out);
        }
        Ok(())
    }

    /// The view of a batch as a payload of its own: without the list of the
    /// items, which is many times as long and would be kept for each of them.
    /// Empty when there is none, or none that can be read.
    fn view_alone(&mut self, request: &RequestMsg<'_>) -> Vec<u8> {
        let Ok(ViewChange::Replace(view)) = ViewChange::of(request, false) else {
            return Vec::new();
        };
        let written = self.scratch.build(|encoder| {
            let slot = encoder.container(DataType::ELEMENT_LIST);
            let mut list = slot.element_list(&ElementListHead::STANDARD)?;
            view.write(&mut list)?;
            list.finish()
        });
        written.map(<[u8]>::to_vec).unwrap_or_default()
    }

    fn open_one<O: Outputs>(&mut self, session: SessionId, request: &RequestMsg<'_>, out: &mut O) {
        // A request that has to wait is kept as a message of its own.
        let bytes = self.scratch.message(&(*request).into()).map(<[u8]>::to_vec);
        if let Some(bytes) = bytes {
            self.on_request(session, request, &bytes, out);
        }
    }

    fn reissue_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        ids: StreamIds<'_>,
        out: &mut O,
    ) {
        let view = self.view_alone(request);
        if view.len().saturating_mul(ids.len()) > MAX_VIEW_BYTES {
            return self.end_batch(session, request, &TOO_MUCH_VIEW, out);
        }
        self.end_batch(session, request, &BATCH_DONE, out);
        for stream_id in ids.iter() {
            let Some((slot, _)) = self.item_on(session, stream_id) else { continue };
            let Some(item) = self.items.get(slot) else { continue };
            let domain = item.key.as_ref().domain;
            let one = RequestMsg { domain, ..single(request, &view, stream_id, MsgKey::EMPTY) };
            self.open_one(session, &one, out);
        }
    }
}

/// A request of a batch for one stream, with its view as payload.
fn single<'r>(
    request: &RequestMsg<'r>,
    view: &'r [u8],
    stream_id: i32,
    key: MsgKey<'r>,
) -> RequestMsg<'r> {
    let flags = request.flags - RequestFlags::HAS_BATCH;
    let payload = match view {
        [] => Encoded::new(DataType::NO_DATA, &[]),
        view => Encoded::new(DataType::ELEMENT_LIST, view),
    };
    RequestMsg { stream_id, flags, key, payload, ..*request }
}
