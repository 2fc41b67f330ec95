//! Why a measurement could not be made.

use tapeline_api::ApiError;
use tapeline_backbone::BackboneError;
use tapeline_channel::ChannelError;
use tapeline_hub::HubError;
use tapeline_server::ServerError;
use thiserror::Error;

/// Why a measurement could not be made. A system that is too slow, or loses
/// something, is no error but a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Source or client.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The backbone.
    #[error(transparent)]
    Backbone(#[from] BackboneError),
    /// The sockets of the clients.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The hub.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The sockets of the floor.
    #[error("bare sockets: {0}")]
    Io(#[from] std::io::Error),
    /// The system did not get ready.
    #[error("after {seconds} s {images} of {items} images were there; give the machine more time")]
    NotReady {
        /// How long was waited.
        seconds: u64,
        /// How many came.
        images: usize,
        /// How many were to come.
        items: usize,
    },
    /// The thread of hub and server ended.
    #[error("hub and server ended: {0}")]
    Node(String),
}
