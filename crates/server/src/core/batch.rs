//! Batches: several streams in one message.
//!
//! A batch may be of 100,000 items, so it is a job that is done in slices.
//! What its mount says next may be about the streams of the batch, and waits
//! until it is done.

use std::collections::VecDeque;

use tapeline_channel::SessionId;
use tapeline_omm::batch::{BATCH_DONE, Batch, BatchError, ItemNames, StreamIds};
use tapeline_omm::view::ViewChange;
use tapeline_rwf::{
    CloseMsg, DataState, DataType, ElementListHead, Encoded, Msg, MsgKey, RequestFlags, RequestMsg,
    State, StateCode, StatusMsg, StreamState,
};

use super::Core;
use super::backlog::Job;
use super::forms::MAX_VIEW_BYTES;
use super::mount::Mount;
use super::unplaced::AskedService;
use crate::Outputs;

/// Each stream reads the view for itself: together they are bounded like the
/// views that a mount has.
const TOO_MUCH_VIEW: State<'static> = State::new(
    StreamState::CLOSED,
    DataState::SUSPECT,
    StateCode::USAGE_ERROR,
    "the view is too long for so many streams; make smaller batches",
);

/// A batch of a mount that is not done.
#[derive(Debug)]
pub(super) struct Batched {
    /// The message as it came.
    message: Box<[u8]>,
    /// The view of each stream.
    view: Vec<u8>,
    what: What,
    /// How many are done.
    next: usize,
    /// What the mount said since.
    later: VecDeque<Later>,
}

/// A message, and what was said for its service if nobody knows that.
#[derive(Debug)]
pub(super) struct Later {
    message: Box<[u8]>,
    service: Option<AskedService>,
}

#[derive(Debug)]
enum What {
    /// Items of a service that is known or, if something else was said, not.
    Open { names: Names, service: Option<AskedService> },
    /// Streams get a request.
    Reissue(Box<[i32]>),
    /// Streams are closed.
    Close(Box<[i32]>),
    /// Nothing is left but what was said since.
    Done,
}

/// Names, one behind the other.
#[derive(Debug)]
struct Names {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Names {
    fn of(names: ItemNames<'_>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(names.len()));
        for name in names.iter() {
            bytes.extend_from_slice(name);
            ends.push(bytes.len() as u32);
        }
        Self { bytes, ends }
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.bytes.get(start..end)
    }
}

impl Mount {
    /// What it said is to be heard in its turn, by a job of its batch.
    pub(super) fn keep_for_later(&mut self, later: VecDeque<Later>) {
        let (message, view) = (Box::default(), Vec::new());
        self.batch = Some(Box::new(Batched { message, view, what: What::Done, next: 0, later }));
        self.is_in_batch = true;
    }
}

impl Core {
    pub(super) fn on_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        out: &mut O,
    ) {
        let done = match Batch::of_request(request) {
            Ok(Some(Batch::Items(names))) => self.open_batch(session, request, names, None, out),
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

    /// Says how a batch went: when there is room for it, where the mount does not
    /// read.
    pub(super) fn end_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        state: &State<'_>,
        out: &mut O,
    ) {
        let status =
            StatusMsg { state: Some(*state), ..StatusMsg::new(request.domain, request.stream_id) };
        let slow = self.mounts.get_mut(session).filter(|mount| mount.is_slow);
        if let Some(mount) = slow
            && let Ok(bytes) = self.scratch.message(&status.into())
            && mount.owed.answer_later(bytes)
        {
            return;
        }
        self.send(session, &status.into(), out);
    }

    /// Has the items opened, each as if it had been requested by itself; of a
    /// service that nobody knows if something else was said for it.
    pub(super) fn open_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        names: ItemNames<'_>,
        service: Option<&AskedService>,
        out: &mut O,
    ) -> Result<(), BatchError> {
        let base = request.stream_id;
        let view = self.view_alone(request);
        if view.len().saturating_mul(names.len()) > MAX_VIEW_BYTES {
            self.end_batch(session, request, &TOO_MUCH_VIEW, out);
            return Ok(());
        }
        let Some(mount) = self.mounts.known(session) else { return Ok(()) };
        if mount.streams.contains(base) {
            return Err(BatchError::IdInUse(base));
        }
        let count = names.len();
        if count > self.config.limits.max_batch {
            return Err(BatchError::OutOfIds { base, count });
        }
        let taken = base.checked_add(1).and_then(|first| mount.streams.first_from(first));
        let _ = names.streams(base, |id| taken == Some(id))?;
        match mount.traits.batches_counted {
            true => {
                let text = format!("Processed {count} total items from Batch Request. {count} Ok.");
                let state = State { text: text.as_bytes(), ..BATCH_DONE };
                self.end_batch(session, request, &state, out);
            }
            false => self.end_batch(session, request, &BATCH_DONE, out),
        }
        let what = What::Open { names: Names::of(names), service: service.cloned() };
        self.begin_batch(session, &(*request).into(), view, what, out);
        Ok(())
    }

    /// The view of a batch as a payload of its own: without the list of the
    /// items, which is many times as long and would be kept for each of them.
    /// Empty when there is none, or none that can be read.
    fn view_alone(&mut self, request: &RequestMsg<'_>) -> Vec<u8> {
        let Ok(ViewChange::Replace(view)) = ViewChange::of(request, false) else {
            return Vec::new();
        };
        let written = self.scratch.encode(|encoder| {
            let slot = encoder.container(DataType::ELEMENT_LIST);
            let mut list = slot.element_list(&ElementListHead::STANDARD)?;
            view.write(&mut list)?;
            list.finish()
        });
        written.map(<[u8]>::to_vec).unwrap_or_default()
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
        let what = What::Reissue(ids.iter().collect());
        self.begin_batch(session, &(*request).into(), view, what, out);
    }

    /// Has streams closed, and then what else a close is for.
    pub(super) fn close_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        close: &CloseMsg<'_>,
        ids: StreamIds<'_>,
        out: &mut O,
    ) {
        let what = What::Close(ids.iter().collect());
        self.begin_batch(session, &(*close).into(), Vec::new(), what, out);
    }

    /// Leaves a batch behind to be done. Nothing is heard of its mount until
    /// then.
    fn begin_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &Msg<'_>,
        view: Vec<u8>,
        what: What,
        out: &mut O,
    ) {
        // The list is taken out of the message already.
        let bare = match *msg {
            Msg::Request(request) => RequestMsg { payload: NO_DATA, ..request }.into(),
            Msg::Close(close) => CloseMsg { payload: NO_DATA, ..close }.into(),
            other => other,
        };
        let message = self.scratch.message(&bare).map(Box::from).ok();
        let Some((message, mount)) = message.zip(self.mounts.get_mut(session)) else { return };
        let later = mount.batch.take().map(|batch| batch.later).unwrap_or_default();
        let is_new = later.is_empty() && !mount.is_in_batch;
        mount.batch = Some(Box::new(Batched { message, view, what, next: 0, later }));
        if is_new {
            mount.is_in_batch = true;
            out.hold(session, true);
            self.backlog.add(Job::Batch(session));
        }
    }

    /// Keeps a message of a mount that has a batch that is not done. Whether it
    /// has one.
    pub(super) fn comes_after_batch(
        &mut self,
        session: SessionId,
        bytes: &[u8],
        service: Option<&AskedService>,
    ) -> bool {
        let Some(mount) = self.mounts.get_mut(session) else { return false };
        let later = match (&mut mount.asking, &mut mount.batch) {
            // A login that is being decided.
            (Some(asking), _) => &mut asking.later,
            (None, Some(batch)) => &mut batch.later,
            (None, None) => return false,
        };
        later.push_back(Later { message: bytes.into(), service: service.cloned() });
        true
    }

    /// Does the next part of a batch, or of what came after it.
    pub(super) fn batch_step<O: Outputs>(
        &mut self,
        session: SessionId,
        out: &mut O,
    ) -> Option<usize> {
        let mount = self.mounts.get_mut(session)?;
        let mut batch = mount.batch.take()?;
        if self.do_next(session, &mut batch, out) {
            if let Some(mount) = self.mounts.get_mut(session) {
                mount.batch = Some(batch);
            }
            return Some(BATCH_STEPS);
        }
        let Some(Later { message, service }) = batch.later.pop_front() else {
            if let Some(mount) = self.mounts.get_mut(session) {
                mount.is_in_batch = false;
            }
            out.hold(session, false);
            return None;
        };
        match (service, Msg::decode(&message)) {
            (Some(service), Ok(Msg::Request(request))) => {
                self.open_unplaced(session, &request, &service, out);
            }
            _ => self.handle_message(session, &message, out),
        }
        let mount = self.mounts.get_mut(session)?;
        if let Some(asking) = &mut mount.asking {
            // It was a login: what follows waits for the answer.
            debug_assert!(mount.batch.is_none(), "a login is no batch");
            asking.later = batch.later;
            mount.is_in_batch = false;
            return None;
        }
        // The message may have been another batch.
        match &mut mount.batch {
            Some(next) => next.later = batch.later,
            None => mount.batch = Some(Box::new(Batched { what: What::Done, ..*batch })),
        }
        Some(BATCH_STEPS)
    }

    /// Does the next one of a batch. Whether there was one.
    fn do_next<O: Outputs>(
        &mut self,
        session: SessionId,
        batch: &mut Batched,
        out: &mut O,
    ) -> bool {
        let index = batch.next;
        batch.next += 1;
        match (&batch.what, Msg::decode(&batch.message)) {
            (What::Open { names, service }, Ok(Msg::Request(request))) => {
                let Some(name) = names.get(index) else { return false };
                let key = MsgKey { name: Some(name), ..request.key };
                let stream_id = request.stream_id + 1 + index as i32;
                let one = single(&request, &batch.view, stream_id, key);
                match service {
                    Some(service) => self.wait_for_service(session, &one, service, out),
                    None => self.open_one(session, &one, out),
                }
            }
            (What::Reissue(ids), Ok(Msg::Request(request))) => {
                let Some(stream_id) = ids.get(index).copied() else { return false };
                let item = self.item_on(session, stream_id);
                let item = item.and_then(|(slot, _)| self.items.get(slot));
                let Some(domain) = item.map(|item| item.key.as_ref().domain) else { return true };
                let one = single(&request, &batch.view, stream_id, MsgKey::EMPTY);
                self.open_one(session, &RequestMsg { domain, ..one }, out);
            }
            (What::Close(ids), Ok(Msg::Close(close))) => match ids.get(index) {
                Some(stream_id) => self.close_stream(session, *stream_id, out),
                None => {
                    self.end_close(session, &close, Some(ids.len()), out);
                    batch.what = What::Done;
                    return false;
                }
            },
            _ => return false,
        }
        true
    }

    fn open_one<O: Outputs>(&mut self, session: SessionId, request: &RequestMsg<'_>, out: &mut O) {
        // A request that has to wait is kept as a message of its own.
        let bytes = self.scratch.message(&(*request).into()).map(<[u8]>::to_vec);
        if let Ok(bytes) = bytes {
            self.on_request(session, request, &bytes, out);
        }
    }
}

/// What it costs to open an item of a batch.
const BATCH_STEPS: usize = 2;

const NO_DATA: Encoded<'static> = Encoded::new(DataType::NO_DATA, &[]);

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
