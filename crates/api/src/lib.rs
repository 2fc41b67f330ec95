//! What applications link: consumer, interactive and non-interactive provider.

mod consumer;
mod error;
mod flow;
mod heads;
mod payload;
mod provider;
mod publisher;
mod reconnect;
mod scratch;
mod server;
mod slab;

pub use consumer::*;
pub use error::ApiError;
pub use flow::Flow;
pub use heads::{GenericHead, PostHead, RefreshHead, StatusHead, UpdateHead};
pub use payload::{Container, Fields, NoPayload, Payload, container, fields};
pub use provider::*;
pub use publisher::*;
pub use reconnect::ReconnectPolicy;
pub use scratch::MAX_MESSAGE_BYTES;
pub use server::{Login, Server, ServerError};
