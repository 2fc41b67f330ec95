//! Why the exchange cannot do its work.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tapeline_instrument::{InstrumentError, OrderId, TradeId};
use tapeline_layout::Text;
use tapeline_sequence::{AppendFault, JournalError};
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
    /// A journal cannot be used.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The folder of a journal cannot be used.
    #[error("the journal cannot use the folder {}: {error}", dir.display())]
    JournalDir {
        /// The folder.
        dir: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Two processes cannot keep one journal.
    #[error("another process has the journal in {}; end it, or give another folder", dir.display())]
    JournalInUse {
        /// The folder.
        dir: PathBuf,
    },
    /// The thread of the journal cannot be started.
    #[error("the thread of the journal cannot be started: {0}")]
    JournalThread(io::Error),
    /// The market cannot open since that cannot be kept.
    #[error("the market cannot open: {0}")]
    JournalFailed(AppendFault),
    /// A journal leads to other events than it did.
    #[error(
        "{} leads to other events than when it was written: up to entry {index} they come to \
         {here:016x} here and to {there:016x} there; use the version that wrote it",
        dir.display()
    )]
    Differs {
        /// The folder of the journal.
        dir: PathBuf,
        /// Up to this entry.
        index: u64,
        /// The hash of the events here.
        here: u64,
        /// What it was before.
        there: u64,
    },
    /// A distribution came to other events of the same entries than its market.
    #[error(
        "the market and this distribution differ: up to entry {index} events come to {here:016x} \
         here and to {there:016x} there; use the same version for both"
    )]
    Diverged {
        /// Up to this entry.
        index: u64,
        /// The hash of the events here.
        here: u64,
        /// What it is there.
        there: u64,
    },
    /// A market does not have its first entries any more.
    #[error(
        "the market keeps no journal, and its first entries are gone, so a distribution cannot \
         begin; give the market --journal DIR, or dir in [journal]"
    )]
    NoPast,
    /// A configuration cannot be.
    #[error("{0}")]
    Config(String),
    /// An instrument cannot be.
    #[error("{0}")]
    Instrument(#[from] InstrumentError),
}

/// Why something that operators want is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperateError {
    /// There is no such instrument.
    #[error("no instrument {0} is traded here; give the id of one that is, or none for all")]
    Instrument(u32),
    /// There is no such user.
    #[error("no user {0} is known here")]
    User(Text<25>),
    /// There is no such order, or not any more.
    #[error("no order {0} is alive")]
    Order(OrderId),
    /// There is no such trade among those that are kept, or it was cancelled before.
    #[error("no trade {0} is kept for who settles it, or it is cancelled already")]
    Trade(TradeId),
    /// Another replica leads.
    #[error("another replica leads; ask it")]
    Follows,
    /// Nothing can be kept any more.
    #[error("the market is down: nothing can be kept any more")]
    Down,
}
