//! What is on a stream id of a mount.

use tapeline_omm::dictionary::{DictionaryType, Verbosity};
use tapeline_omm::directory::DirectoryRequest;
use tapeline_omm::stream::ProviderStream;

use super::subscription::Subscription;
use super::turns::PacedRequest;
use super::unplaced::UnplacedRequest;

/// The stream of a login that nobody asked for; a client's own have positive
/// numbers.
pub(crate) const UNASKED_LOGIN_STREAM: i32 = -1;

/// What is on a stream id of a mount.
#[derive(Debug)]
pub(super) enum Entry<'s> {
    /// An item.
    Item(ItemStream),
    /// Something else.
    Other(&'s Stream),
}

/// What was on a stream id of a mount.
#[derive(Debug)]
pub(super) enum Taken {
    /// An item.
    Item(ItemStream),
    /// Something else.
    Other(Stream),
}

/// What is on a stream id of a mount, but for items.
#[derive(Debug)]
pub(super) enum Stream {
    /// The login of the mount.
    Login,
    /// The directory, or a part of it.
    Directory(Box<DirectoryRequest>),
    /// A dictionary that the server has itself.
    Dictionary(DictionaryStream),
    /// A request that waits for its service.
    Pending(Box<PendingRequest>),
    /// A request for a service that no hub has told of yet.
    Unplaced(Box<UnplacedRequest>),
    /// A request that waits for its turn.
    Paced(Box<PacedRequest>),
}

/// A dictionary on a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct DictionaryStream {
    pub(super) dictionary: DictionaryType,
    pub(super) service_id: Option<u16>,
    pub(super) verbosity: Verbosity,
    pub(super) streaming: bool,
}

/// An item on a stream: the cold half of a watcher.
#[derive(Debug)]
pub(super) struct ItemStream {
    /// The item's slot.
    pub(super) slot: u32,
    /// What may be sent.
    pub(super) state: ProviderStream,
}

impl ItemStream {
    /// A subscription by which that of the stream is found, given the number of its
    /// mount.
    pub(super) const fn subscription(&self, mount: u32, stream_id: i32) -> Subscription {
        Subscription::new(mount, stream_id, self.state.is_streaming())
    }
}

/// A request that waits for its service to be there or to be up.
#[derive(Debug)]
pub(super) struct PendingRequest {
    /// The service it is for.
    pub(super) service_id: u16,
    /// The request as it came, to be tried again.
    pub(super) request: Box<[u8]>,
}
