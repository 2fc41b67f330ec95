//! What can go wrong, and what to do.

use tapeline_channel::ChannelError;
use tapeline_omm::ModelError;
use tapeline_omm::post::TooManyPosts;
use tapeline_omm::stream::Held;
use tapeline_rwf::EncodeError;
use thiserror::Error;

/// Why a consumer, provider or publisher could not do what it was told.
///
/// What happens on the way (servers that go away, items that do not exist) is
/// no error: it comes as events.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The configuration names no server.
    #[error("no server is configured: name at least one host:port")]
    NoServers,
    /// Sockets cannot be used.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// As many items or streams are open as the configuration allows.
    #[error("{limit} items are open, which is the limit of the configuration")]
    TooManyItems {
        /// The limit.
        limit: usize,
    },
    /// The handle is of something that is over.
    #[error("the handle is void: what it meant is over")]
    Void,
    /// There is no connection, or it is not logged in yet.
    #[error("not connected: wait until the server is up again")]
    NotConnected,
    /// The server takes no posts, by its login.
    #[error("Posting not supported by provider")]
    PostsNotSupported,
    /// A login may not be changed like this.
    #[error(transparent)]
    Login(#[from] ModelError),
    /// No such service is in the directory.
    #[error("Message submitted with unknown service name {0}")]
    UnknownService(String),
    /// Too many posts wait for their acks.
    #[error(transparent)]
    TooManyPosts(#[from] TooManyPosts),
    /// The rules of the stream do not allow the message now.
    #[error(transparent)]
    Held(#[from] Held),
    /// The message cannot be written.
    #[error("message cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// The message is none, or of a class that does not belong here.
    #[error("prepared message cannot be sent: {0}")]
    Prepared(&'static str),
    /// The connection takes no more.
    #[error("the peer reads too slowly: its backlog is full, the message was dropped")]
    Full,
    /// The message is larger than the connection allows.
    #[error("the message of {0} bytes is larger than the connection allows")]
    TooLarge(usize),
}
