//! What waits until the server has read what was sent before.
//!
//! Requests wait in the queues of their services. A change of an item waits
//! with the item, closes wait here: their items are gone.

use std::collections::VecDeque;

use tapeline_channel::Sent;
use tapeline_omm::stream::{Reissue, ToProvider};
use tapeline_rwf::{CloseMsg, Domain};

use super::core::{ConsumerCore, ConsumerOutputs};
use super::spec::Handle;

/// What waits, and whether it has to.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The connection is slow: no more than has to be is sent until it has
    /// drained.
    pub(super) is_slow: bool,
    /// Streams to be closed, with their domains.
    closes: VecDeque<(Domain, i32)>,
    /// Items with a change that waits.
    changes: VecDeque<Handle>,
}

impl Held {
    /// Takes note of how sending went.
    pub(super) fn note(&mut self, sent: Sent) -> Sent {
        self.is_slow |= matches!(sent, Sent::Slow | Sent::Full);
        sent
    }

    /// The connection is lost: what waited for it is void.
    pub(super) fn clear(&mut self) {
        self.is_slow = false;
        self.closes.clear();
        self.changes.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.closes.is_empty() && self.changes.is_empty()
    }
}

impl ConsumerCore {
    /// A message for an item that is on the wire waits.
    pub(super) fn hold(&mut self, handle: Handle, to_provider: ToProvider) {
        let Some(item) = self.items.get_mut(handle) else { return };
        let domain = item.wish.domain;
        let Some(on_wire) = &mut item.on_wire else { return };
        match to_provider {
            ToProvider::Close => {
                on_wire.may_open_anew = false;
                let stream_id = on_wire.stream_id;
                self.hold_close(domain, stream_id);
            }
            ToProvider::Reissue(reissue) => {
                let Some(before) = on_wire.held.replace(reissue) else {
                    return self.held.changes.push_back(handle);
                };
                let refresh = before.refresh || reissue.refresh;
                on_wire.held = Some(Reissue { refresh, ..reissue });
            }
            ToProvider::Request { .. } => {
                debug_assert!(false, "requests wait in the queue of their service");
            }
        }
    }

    /// A close waits. Each is of a stream that was opened here, but for those
    /// that a server opens without being asked; more of these than there may
    /// be items end the connection.
    pub(super) fn hold_close(&mut self, domain: Domain, stream_id: i32) {
        match self.held.closes.len() < self.config.max_items.saturating_mul(2) {
            true => self.held.closes.push_back((domain, stream_id)),
            false => self.note_sent(Sent::Full),
        }
    }

    /// Sends what waited, as far as the connection takes it. Closes first: a
    /// stream id is used again only behind the close of its last use.
    pub(super) fn send_held(&mut self, out: &mut dyn ConsumerOutputs) {
        while !self.held.is_slow
            && let Some((domain, stream_id)) = self.held.closes.pop_front()
        {
            let msg = CloseMsg::new(domain, stream_id);
            match self.send(out, |encoder| encoder.message(&msg.into())) {
                Ok((Sent::Full, _)) => self.held.closes.push_front((domain, stream_id)),
                Ok((sent, _)) => self.note_sent(sent),
                Err(error) => self.note_error(&error),
            }
        }
        while !self.held.is_slow
            && let Some(handle) = self.held.changes.pop_front()
        {
            let on_wire = self.items.get_mut(handle).and_then(|item| item.on_wire.as_mut());
            let Some(change) = on_wire.and_then(|on_wire| on_wire.held.take()) else { continue };
            self.send_item(out, handle, ToProvider::Reissue(change));
        }
    }
}
