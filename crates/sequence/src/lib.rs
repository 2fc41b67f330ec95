//! One order for all commands of a partition, and the journal that keeps it.
//!
//! ```text
//!  gateway 1 ─▶ stream ─┐
//!  gateway 2 ─▶ stream ─┼─▶ Sequencer ─▶ entry ─▶ Journal ─▶ committed ─▶ engine
//!  the clock ─▶ stream ─┘   index, time            CRC32C
//! ```
//!
//! The [`Sequencer`] is the only place with a clock: what it takes in one turn is an
//! [`Entry`], which has a number, one more than the last, and a time, which does not
//! go back. Whoever handles the same entries is in the same state, whatever the
//! machine. Nothing in here does I/O: times are parameters, and files are behind
//! [`Storage`].
//!
//! ```
//! use tapeline_sequence::{Command, Entry, Kind, Limits, Sequencer, Source};
//!
//! let mut sequencer = Sequencer::new(Limits::default());
//! let (ann, bob) = (Source(1), Source(2));
//! for (source, number) in [(ann, 1), (ann, 2), (bob, 1), (ann, 2)] {
//!     let command = Command { kind: Kind::NEW, source, number, payload: b"buy", ..Command::default() };
//!     let _ = sequencer.offer(&command);
//! }
//! let mut bytes = Vec::new();
//! let index = sequencer.sequence(5, &mut bytes);
//! let (entry, _) = Entry::read(&bytes)?;
//! let order: Vec<_> = entry.commands().map(|command| (command.source, command.number)).collect();
//! assert_eq!((index, order), (Some(1), vec![(ann, 1), (ann, 2), (bob, 1)]));
//! # Ok::<(), tapeline_sequence::EntryFault>(())
//! ```

mod command;
mod entry;
mod hash;
mod journal;
mod replica;
mod sequencer;

pub use command::{Command, Kind, MAX_PAYLOAD, Source};
pub use entry::{Entry, EntryFault, EntryHead, HEAD, MAX_ENTRY};
pub use hash::EventHash;
pub use journal::{
    AppendError, AppendFault, Identity, Journal, JournalConfig, JournalError, Memory, Recovered,
    SEGMENT_HEAD, Storage,
};
pub use replica::{
    Ballot, Body, CommitMode, LogState, MESSAGE_HEAD, Member, Position, Replica, ReplicaConfig,
    ReplicaMessage, ReplicaOutputs, Role, Terms,
};
pub use sequencer::{Limits, NotTaken, Sequencer};
