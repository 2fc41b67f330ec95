//! Questions to a thread, through a bounded queue, and their answers.

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use thiserror::Error;

use crate::{Row, View};

/// Questions that wait for one thread.
const WAITING: usize = 64;

/// The most rows of one answer.
pub(crate) const MAX_ROWS: usize = 1_000;

/// Which rows of a view are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The name of the view.
    pub view: String,
    /// Rows in which some cell has this text; all if it is empty.
    pub filter: String,
    /// The column with the highest values first. Without one, rows come in the
    /// order of the table, and can be gone on with.
    pub by: Option<String>,
    /// The hub or server whose rows they are; of all if it is empty.
    pub at: String,
    /// The mount whose rows they are, by its session; of all if it is empty. Only tables
    /// whose rows are of mounts have any then.
    pub of: String,
    /// From this place of the table on.
    pub from: u32,
    /// At most so many, and never more than 1,000.
    pub limit: usize,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Close a mount, by its session as it is in views and in the log.
    CloseMount {
        /// The server that has it, as `server.1`.
        server: String,
        /// The session, as `3.1`.
        channel: String,
        /// What the client is told.
        reason: String,
    },
    /// End all logins of a user.
    Logout {
        /// The name that the user logged in with.
        user: String,
    },
    /// Have servers close their ports and give their mounts away.
    Drain {
        /// The server, as `server.1`; all if it is empty.
        server: String,
        /// Mounts a second; 0 to open the ports again.
        per_s: u32,
    },
    /// Have hubs ask a source for nothing new, and move what is open there to others.
    DrainSource {
        /// The source, as it is in the configuration.
        name: String,
        /// Whether it is drained from now on, or asked again.
        drains: bool,
    },
    /// Have servers keep what comes of an item, for the view `trace`.
    Trace {
        /// Its name.
        item: String,
        /// Its service; any if it is empty.
        service: String,
        /// For how long, in milliseconds.
        for_ms: u64,
    },
    /// Have a market do what its operators want, in words that it understands.
    Operate {
        /// The words.
        words: Vec<String>,
    },
}

/// What a thread is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Rows of its tables.
    Rows(Rows),
    /// To do something.
    Act(Act),
}

/// What one hub or server answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Who.
    pub of: String,
    /// What the cells of the rows are. `None` if there are none, as of an act.
    pub view: Option<&'static View>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The place of each in the table.
    pub places: Vec<u32>,
    /// From where to go on, if there is more.
    pub next: Option<u32>,
    /// Mounts that an act has closed, or is about to.
    pub done: usize,
    /// Why an act is not done, and what to do about it.
    pub refused: Option<String>,
}

impl Answer {
    /// One of an act: how often it was done.
    pub fn of_act(of: &str, done: usize) -> Self {
        let (rows, places) = (Vec::new(), Vec::new());
        Self { of: of.to_owned(), view: None, rows, places, next: None, done, refused: None }
    }

    /// One of an act that is not done: why.
    pub fn of_refusal(of: &str, refused: String) -> Self {
        Self { refused: Some(refused), ..Self::of_act(of, 0) }
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// Too many wait.
    #[error("{0} has {WAITING} questions to answer already; ask later")]
    Busy(String),
    /// The thread has ended.
    #[error("{0} has ended")]
    Ended(String),
}

type Reply = Box<dyn FnOnce(Vec<Answer>) + Send>;

/// A question, and where its answers go: one for each hub or server of the thread
/// that has such a table.
pub struct Query {
    /// What is asked.
    pub ask: Ask,
    reply: Reply,
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("ask", &self.ask).finish_non_exhaustive()
    }
}

impl Query {
    /// A question. `reply` is called on the thread that is asked and must not
    /// wait.
    pub fn new(ask: Ask, reply: impl FnOnce(Vec<Answer>) + Send + 'static) -> Self {
        Self { ask, reply: Box::new(reply) }
    }

    /// Answers it.
    pub fn answer(self, answers: Vec<Answer>) {
        (self.reply)(answers);
    }
}

/// The end of a queue that asks.
#[derive(Clone, Debug)]
pub struct QuerySender {
    name: String,
    sender: SyncSender<Query>,
}

impl QuerySender {
    /// The thread that it asks.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks, without waiting.
    ///
    /// Errors: there are too many questions, or the thread has ended.
    pub fn ask(&self, query: Query) -> Result<(), QueryError> {
        self.sender.try_send(query).map_err(|error| match error {
            TrySendError::Full(_) => QueryError::Busy(self.name.clone()),
            TrySendError::Disconnected(_) => QueryError::Ended(self.name.clone()),
        })
    }
}

/// The end of a queue that answers.
#[derive(Debug)]
pub struct QueryQueue(Receiver<Query>);

impl QueryQueue {
    pub(crate) fn new(name: &str) -> (QuerySender, Self) {
        let (sender, receiver) = sync_channel(WAITING);
        (QuerySender { name: name.to_owned(), sender }, Self(receiver))
    }

    /// The next question, if one waits.
    pub fn next(&self) -> Option<Query> {
        self.0.try_recv().ok()
    }
}
