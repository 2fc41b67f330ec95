//! The end of streams and of mounts.

use std::sync::Arc;

use tapeline_channel::SessionId;
use tapeline_omm::batch::{BATCH_DONE, Batch};
use tapeline_rwf::{AckMsg, CloseFlags, CloseMsg, State, StatusMsg};

use super::Core;
use super::forms::Form;
use super::item::Item;
use super::stream::{Entry, ItemStream, Stream, Taken};
use crate::Outputs;

impl Core {
    pub(super) fn on_close<O: Outputs>(
        &mut self,
        session: SessionId,
        close: &CloseMsg<'_>,
        out: &mut O,
    ) {
        // A list that cannot be read closes nothing but its own stream.
        match Batch::of_close(close) {
            Ok(Some(ids)) => self.close_batch(session, close, ids, out),
            _ => self.end_close(session, close, None, out),
        }
    }

    /// Closes the stream that a close came on, after so many that it named.
    pub(super) fn end_close<O: Outputs>(
        &mut self,
        session: SessionId,
        close: &CloseMsg<'_>,
        batch_len: Option<usize>,
        out: &mut O,
    ) {
        self.close_stream(session, close.stream_id, out);
        if let Some(count) = batch_len
            && self.mounts.traits(session).batches_counted
        {
            self.answer_batch(session, close, count, out);
        }
        if close.flags.contains(CloseFlags::ACK) {
            let ack = AckMsg {
                ack_id: close.stream_id as u32,
                ..AckMsg::new(close.domain, close.stream_id)
            };
            self.send(session, &ack.into(), out);
        }
    }

    /// Answers a close of several streams, for mounts that expect it.
    fn answer_batch<O: Outputs>(
        &mut self,
        session: SessionId,
        close: &CloseMsg<'_>,
        count: usize,
        out: &mut O,
    ) {
        // The blank at the end is in the vendor's text.
        let text =
            format!("Processed {count} total stream ids from Batch Close Request. {count} Ok. ");
        let state = State { text: text.as_bytes(), ..BATCH_DONE };
        let status =
            StatusMsg { state: Some(state), ..StatusMsg::new(close.domain, close.stream_id) };
        self.send(session, &status.into(), out);
    }

    pub(super) fn close_stream<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) {
        let stream = self.mounts.get(session).and_then(|mount| mount.streams.get(stream_id));
        match stream {
            Some(Entry::Other(Stream::Login)) => self.end_login(session, out),
            Some(_) => self.remove_stream(session, stream_id, out),
            None => {}
        }
    }

    /// Frees a stream id. Nothing is sent on it.
    pub(super) fn remove_stream<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) {
        let Some(mount) = self.mounts.known_mut(session) else { return };
        let number = mount.number;
        let Some(stream) = mount.streams.remove(stream_id) else { return };
        mount.owed.forget(stream_id);
        mount.pacing.forget(stream_id);
        match stream {
            Taken::Other(Stream::Login) => {}
            Taken::Other(Stream::Directory(_)) => {
                mount.admin_count = mount.admin_count.saturating_sub(1);
                mount.directories.retain(|known| *known != stream_id);
            }
            Taken::Other(Stream::Dictionary(_)) => {
                mount.admin_count = mount.admin_count.saturating_sub(1);
                mount.owed.cancel_download(stream_id);
            }
            Taken::Other(
                stream @ (Stream::Pending(_) | Stream::Unplaced(_) | Stream::Paced(_)),
            ) => {
                mount.owed.take(stream_id);
                let is_counted = match &stream {
                    Stream::Paced(paced) => mount.turns.leave(paced),
                    _ => true,
                };
                self.waiting.remove(number, stream_id, &stream);
                if is_counted {
                    self.mounts.count_item(session, false);
                }
            }
            Taken::Item(item) => self.unwatch((session, stream_id), &item, out),
        }
    }

    /// Takes a watcher off its item.
    fn unwatch<O: Outputs>(
        &mut self,
        (session, stream_id): (SessionId, i32),
        stream: &ItemStream,
        out: &mut O,
    ) {
        self.mounts.count_close(session);
        if !stream.state.is_streaming() {
            self.end_snapshot(session);
        }
        let Self { mounts, items, .. } = self;
        let Some(mount) = mounts.get_mut(session) else {
            debug_assert!(false, "the stream was of a mount");
            return;
        };
        let (number, since) = (mount.number, mount.owed.take(stream_id).since);
        let was_wanted = mount.priorities.forget(stream_id);
        let identity = mount.login.as_ref().map(|login| Arc::clone(&login.identity));
        if let Some(Item { watchers, .. }) = items.get_mut(stream.slot)
            && let Some(cell) = watchers.cell(stream.subscription(number, stream_id))
        {
            mount.set_form(watchers, cell, Form::PLAIN);
        }
        self.unsubscribe((number, stream_id), identity.as_deref(), stream, since, out);
        if was_wanted {
            self.lower_priority(stream.slot, out);
        }
    }
}
