//! What a provider is told.

use tapeline_channel::SessionId;
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::ItemRequest;
use tapeline_omm::post::Post;
use tapeline_omm::{StateBuf, Text};
use tapeline_rwf::{Domain, GenericMsg, PostMsg};

use super::Responses;
use crate::slab::Key;

/// An open stream of a client. It is void when the stream is over: closed by
/// either side, its client gone, its snapshot complete. Handles are never used
/// again for other streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamHandle(pub(super) Key);

impl StreamHandle {
    /// The place of the stream among all: small numbers, reused by later
    /// streams, for tables of the application's own.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub enum ProviderEvent<'a> {
    /// A client connected; its login follows.
    Connected {
        /// The client.
        client: SessionId,
    },
    /// A client logged in, or changed its login.
    LoggedIn {
        /// The client.
        client: SessionId,
        /// What it said.
        request: &'a LoginRequest,
    },
    /// A client opened an item: it waits for an image or a status.
    Request {
        /// The new stream.
        stream: StreamHandle,
        /// What it asks for.
        request: &'a ItemRequest<'a>,
        /// Another stream of the client with the same item, where that is
        /// accepted.
        duplicate_of: Option<StreamHandle>,
    },
    /// A client changed an open item: view, priority, pause.
    Reissue {
        /// The stream.
        stream: StreamHandle,
        /// What it asks for now.
        request: &'a ItemRequest<'a>,
        /// Whether it waits for an image.
        wants_image: bool,
    },
    /// A stream is over: the client closed it, or is gone. The handle is void
    /// after this.
    Close {
        /// The stream.
        stream: StreamHandle,
    },
    /// A client posted.
    Post {
        /// Answers the post.
        receipt: PostReceipt,
        /// The stream; `None` for a post on the login stream, whose item is in
        /// the post.
        stream: Option<StreamHandle>,
        /// The message.
        msg: &'a PostMsg<'a>,
        /// What it says.
        post: &'a Post<'a>,
    },
    /// A generic message on the stream of an item, or without one on the login
    /// or directory stream.
    Generic {
        /// The client.
        client: SessionId,
        /// The stream.
        stream: Option<StreamHandle>,
        /// The message.
        msg: &'a GenericMsg<'a>,
    },
    /// A client that was slow has read what was queued for it.
    Drained {
        /// The client.
        client: SessionId,
    },
    /// A client is gone, all its streams closed before this.
    Disconnected {
        /// The client.
        client: SessionId,
        /// Why.
        reason: &'a str,
    },
}

/// What answers a post: it can be kept until the answer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostReceipt {
    /// Who posted.
    pub client: SessionId,
    /// The stream of the post; `None` for the login stream.
    pub stream: Option<StreamHandle>,
    /// Whether an ack is wanted. Without it, answers are not sent.
    pub wants_ack: bool,
    pub(super) stream_id: i32,
    pub(super) domain: Domain,
    pub(super) post_id: Option<u32>,
    pub(super) seq_num: Option<u32>,
}

/// What is known of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamInfo<'a> {
    /// Its client.
    pub client: SessionId,
    /// Its number on the client's connection.
    pub stream_id: i32,
    /// Domain.
    pub domain: Domain,
    /// Service.
    pub service_id: Option<u16>,
    /// Name of the item.
    pub name: &'a Text,
    /// Whether updates are wanted after the image.
    pub streaming: bool,
    /// Whether it is the client's alone.
    pub private: bool,
    /// Whether the client waits for an image.
    pub wants_image: bool,
}

/// Takes the events of a provider. Any `FnMut(ProviderEvent<'_>, &mut
/// Responses<'_>)` is one, which lets everybody log in.
pub trait ProviderHandler {
    /// Whether a user may log in, or change its login like this.
    ///
    /// Errors: the state that the client is told. `CLOSED` is for good; with
    /// `CLOSED_RECOVER` it tries again.
    fn login(&mut self, client: SessionId, request: &LoginRequest) -> Result<(), StateBuf> {
        let _ = (client, request);
        Ok(())
    }

    /// Something happened. `responses` may be used at once.
    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>);
}

impl<F: FnMut(ProviderEvent<'_>, &mut Responses<'_>)> ProviderHandler for F {
    #[inline]
    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        self(event, responses);
    }
}
