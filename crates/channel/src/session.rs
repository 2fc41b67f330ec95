//! What names a session, and how sending to it went.

/// One session of a reactor. Never used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId {
    /// The place in the reactor's table: small numbers, reused.
    pub index: u32,
    /// Which user of that place.
    pub generation: u32,
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// How sending a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a slow or full session is to be dealt with"]
pub enum Sent {
    /// Queued.
    Queued,
    /// Queued, and the backlog has reached the breach threshold: hold back
    /// what can be merged until
    /// [`SessionEvent::Drained`](crate::SessionEvent::Drained) comes.
    Slow,
    /// Not queued: the backlog is at its maximum. `Drained` comes here too,
    /// if the session is kept.
    Full,
    /// Not queued: the session is closed or not yet open.
    Gone,
    /// Not queued: the message is empty, or longer than the session's limits
    /// ever allow.
    TooLarge,
}
