//! Why the exchange cannot do its work.

use std::io;
use std::net::SocketAddr;

use tapeline_instrument::InstrumentError;
use thiserror::Error;

/// Why a file cannot be used, or an exchange not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// A file cannot be read.
    #[error("{file} cannot be read: {error}")]
    Io {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file is no flow of orders.
    #[error("{file} is no flow of orders: {fault}")]
    Flow {
        /// The file.
        file: String,
        /// What is wrong with it.
        fault: String,
    },
    /// An address cannot be listened on.
    #[error("the port for {what} cannot listen at {at}: {error}; give another, or 0 for any")]
    Listen {
        /// The door.
        what: &'static str,
        /// The address.
        at: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// A line of market data cannot be used.
    #[error("market data cannot use {at}: {error}")]
    Line {
        /// The group or receiver.
        at: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The system does not tell of sockets.
    #[error("the system tells of no sockets: {0}")]
    Poll(io::Error),
    /// A configuration cannot be.
    #[error("{0}")]
    Config(String),
    /// An instrument cannot be.
    #[error("{0}")]
    Instrument(#[from] InstrumentError),
}
