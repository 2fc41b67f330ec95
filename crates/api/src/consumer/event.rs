//! What a consumer is told.

use std::sync::Arc;

use tapeline_omm::Text;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::DirectoryChange;
use tapeline_omm::login::LoginFeatures;
use tapeline_rwf::{AckMsg, GenericMsg, RefreshMsg, State, StatusMsg, UpdateMsg};

use super::{Handle, Requests};

/// Something happened. Messages are where they were received: nothing is
/// copied.
#[derive(Clone, Copy, Debug)]
pub enum ConsumerEvent<'a> {
    /// The connection to a server is up; the login follows.
    Up {
        /// The server, by its place in the configuration; those of a
        /// [`StandbySet`](super::StandbySet) are behind the others.
        server: usize,
    },
    /// The connection is lost or was refused. Items that are recovered follow,
    /// each with a status.
    Down {
        /// The server, by its place in the configuration.
        server: usize,
        /// Why.
        reason: &'a str,
        /// Whether it is tried again, at this or another server.
        recovers: bool,
    },
    /// A server of a [`StandbySet`](super::StandbySet) is the active one from here
    /// on: it was told so. The items that it has go on with an image each; one that
    /// it lacks is suspect, and asked for again.
    Active {
        /// The server, as of [`Up`](Self::Up).
        server: usize,
        /// What it is active for, in a set by service.
        service: Option<&'a Text>,
    },
    /// A server of a [`StandbySet`](super::StandbySet) is left out for good: it is
    /// disconnected, and not tried again.
    LeftOut {
        /// The server, as of [`Up`](Self::Up).
        server: usize,
        /// Why.
        reason: &'a str,
    },
    /// The login is accepted, refused or has something to say. A login that is
    /// closed is the end: nothing is tried again. Of a
    /// [`StandbySet`](super::StandbySet), it is the login at the active server, and
    /// one that is closed is told if no other server is left.
    Login {
        /// Its state.
        state: State<'a>,
        /// What the server can do, when it was accepted.
        features: Option<&'a LoginFeatures>,
    },
    /// Services changed; [`Requests::directory`] has them as they are now.
    Directory {
        /// What changed.
        changes: &'a [DirectoryChange],
    },
    /// The dictionary was downloaded.
    Dictionary {
        /// The dictionary.
        dictionary: &'a Arc<FieldDictionary>,
    },
    /// Login, directory and dictionary are there; items are being requested.
    Ready,
    /// An image of an item, or a part of one.
    Refresh {
        /// The item.
        handle: Handle,
        /// The image.
        msg: &'a RefreshMsg<'a>,
    },
    /// A change of data of an item.
    Update {
        /// The item.
        handle: Handle,
        /// The change.
        msg: &'a UpdateMsg<'a>,
    },
    /// A change of state of an item: from the provider, or made here when the
    /// connection or the service is lost or gives no answer. After a final
    /// state the handle is void.
    Status {
        /// The item.
        handle: Handle,
        /// The change.
        msg: &'a StatusMsg<'a>,
    },
    /// A generic message: of an item, or without a handle of the login or the
    /// directory.
    Generic {
        /// The item.
        handle: Option<Handle>,
        /// The message.
        msg: &'a GenericMsg<'a>,
    },
    /// A post is answered: on the stream of an item, or without a handle on
    /// the login stream. It was not accepted if there is a NAK code; one of
    /// `NO_RESPONSE` is made here when the time is up.
    Ack {
        /// The item whose stream the post used.
        handle: Option<Handle>,
        /// The ack, its id that of the post.
        msg: &'a AckMsg<'a>,
    },
}

/// Takes the events of a consumer. Any `FnMut(ConsumerEvent<'_>, &mut
/// Requests<'_>)` is one.
pub trait ConsumerHandler {
    /// Something happened. `requests` may be used at once, also to open and
    /// close items.
    fn event(&mut self, event: ConsumerEvent<'_>, requests: &mut Requests<'_>);
}

impl<F: FnMut(ConsumerEvent<'_>, &mut Requests<'_>)> ConsumerHandler for F {
    #[inline]
    fn event(&mut self, event: ConsumerEvent<'_>, requests: &mut Requests<'_>) {
        self(event, requests);
    }
}
