//! Why a measurement could not be made.

use tapeline_api::ApiError;
use tapeline_backbone::BackboneError;
use tapeline_channel::ChannelError;
use tapeline_measure::processor::NoSuchCore;
use tapeline_measure::stop::Interrupted;
use tapeline_node::NodeError;
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
    /// Sockets of the floor, or files.
    #[error("sockets or files: {0}")]
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
    /// Hub and server cannot start.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The thread of hub and server ended.
    #[error("hub and server ended: {0}")]
    Ended(String),
    /// A hub or a server that is a process does not run.
    #[error("the {name} does not run: {text}")]
    Program {
        /// Which.
        name: String,
        /// The last line of its log.
        text: String,
    },
    /// A log of histograms cannot be written.
    #[error("cannot write {}: {what}", path.display())]
    HdrLog {
        /// Its file.
        path: std::path::PathBuf,
        /// Why.
        what: String,
    },
    /// A file of results cannot be read.
    #[error("cannot read the results in {}: {what}", path.display())]
    ResultFile {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        what: String,
    },
    /// Bare Aeron.
    #[error("bare Aeron: {0}")]
    Aeron(String),
    /// A core that is to be used cannot be.
    #[error(transparent)]
    NoSuchCore(#[from] NoSuchCore),
    /// Somebody wants the program to end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Hosts cannot be had.
    #[error("hosts of their own need root, network namespaces and nft: {0}")]
    Namespaces(String),
}
