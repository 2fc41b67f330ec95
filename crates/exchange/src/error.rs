//! Why the exchange cannot do its work.

use std::io;

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
    /// An instrument cannot be.
    #[error("{0}")]
    Instrument(#[from] InstrumentError),
}
