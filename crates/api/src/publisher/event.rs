//! What a publisher is told.

use tapeline_omm::login::LoginFeatures;
use tapeline_rwf::{GenericMsg, State};

use super::Submissions;
use crate::slab::Key;

/// An item of a publisher. It is void when it was closed. Handles are never
/// used again for other items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemHandle(pub(super) Key);

impl ItemHandle {
    /// The place of the item among all: small numbers, reused by later items,
    /// for tables of the application's own.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub enum PublisherEvent<'a> {
    /// The connection to a hub is up; the login follows.
    Up {
        /// The hub, by its place in the configuration.
        server: usize,
    },
    /// The connection is lost or was refused. What is published meanwhile is
    /// kept as far as it is an image, and lost as far as it is an update.
    Down {
        /// The hub, by its place in the configuration.
        server: usize,
        /// Why.
        reason: &'a str,
        /// Whether it is tried again, at this or another hub.
        recovers: bool,
    },
    /// The login is accepted, refused or has something to say. A login that is
    /// closed is the end: nothing is tried again.
    Login {
        /// Its state.
        state: State<'a>,
        /// What the hub can do, when it was accepted.
        features: Option<&'a LoginFeatures>,
    },
    /// The directory and all images that are known were submitted.
    Ready,
    /// The image that was submitted again is not the last word: there were
    /// updates after it. Send a new one.
    RefreshWanted {
        /// The item.
        item: ItemHandle,
    },
    /// A generic message: of an item, or without one of the login or the
    /// directory.
    Generic {
        /// The item.
        item: Option<ItemHandle>,
        /// The message.
        msg: &'a GenericMsg<'a>,
    },
    /// The hub was slow, and has read what was queued for it.
    Drained,
}

/// Takes the events of a publisher. Any `FnMut(PublisherEvent<'_>, &mut
/// Submissions<'_>)` is one.
pub trait PublisherHandler {
    /// Something happened. `submissions` may be used at once.
    fn event(&mut self, event: PublisherEvent<'_>, submissions: &mut Submissions<'_>);
}

impl<F: FnMut(PublisherEvent<'_>, &mut Submissions<'_>)> PublisherHandler for F {
    #[inline]
    fn event(&mut self, event: PublisherEvent<'_>, submissions: &mut Submissions<'_>) {
        self(event, submissions);
    }
}
