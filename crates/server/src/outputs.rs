//! What the core writes through.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_backbone::{FrameHeader, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{LoginQuestion, Usage};
use tapeline_omm::Text;
use tapeline_rssl::{CopyOf, Originals};
use tapeline_rwf::State;

/// A message that goes to many sessions: where outputs that put it into other
/// words keep these, made when the first of the sessions needs them.
///
/// A new message begins with a new one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Where the words are.
    pub(crate) place: usize,
    /// Which words they are; 0 for none yet.
    pub(crate) stamp: u64,
}

/// Something that an operator wants to know, once for each time it happens and
/// never for a message.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// A user has logged in.
    LoggedIn {
        /// The session.
        session: SessionId,
        /// Where it connects from.
        peer: SocketAddr,
        /// Who, or what stands for a token.
        user: &'a Text,
        /// The application id.
        application: Option<&'a Text>,
        /// The position, as the client says it.
        position: Option<&'a Text>,
    },
    /// A login was refused.
    LoginRefused {
        /// The session.
        session: SessionId,
        /// Where it connects from.
        peer: SocketAddr,
        /// Who, or what stands for a token.
        user: &'a Text,
        /// What the client is told.
        why: State<'a>,
    },
    /// A user is logged out by the server: by another policy, as the token has
    /// expired, by an operator.
    LoggedOut {
        /// The session, which stays.
        session: SessionId,
        /// Where it connects from.
        peer: SocketAddr,
        /// Who, or what stands for a token.
        user: &'a Text,
        /// What the client is told.
        why: State<'a>,
    },
    /// A mount reads too slowly.
    Slow {
        /// The session.
        session: SessionId,
        /// Who is logged in.
        user: Option<&'a Text>,
    },
    /// A mount that was slow has read what waited.
    CaughtUp {
        /// The session.
        session: SessionId,
        /// Who is logged in.
        user: Option<&'a Text>,
        /// For how long it was slow.
        after: Duration,
    },
    /// A mount is cut for a reason that is its own fault.
    Cut {
        /// The session.
        session: SessionId,
        /// Who was logged in.
        user: Option<&'a Text>,
        /// Why.
        reason: &'a str,
    },
    /// The process came near the memory that it may have, or is far from it again.
    Memory {
        /// What it has.
        resident_bytes: usize,
        /// What it may have.
        max_bytes: usize,
        /// Whether no items are opened from now on.
        is_short: bool,
    },
    /// A client that has several servers gave this one a role.
    Role {
        /// The session.
        session: SessionId,
        /// Who is logged in.
        user: Option<&'a Text>,
        /// With which service: its number for consumers, and its name if there is
        /// one; `None` for all.
        service: Option<(u16, Option<&'a Text>)>,
        /// `active`, `standby` or `none`.
        role: &'static str,
    },
    /// A client for which the server stood by is served.
    TakenOver {
        /// The session.
        session: SessionId,
        /// Who is logged in.
        user: Option<&'a Text>,
        /// Streams that have their image, or a state where there was none.
        streams: usize,
        /// From the client's word to the first of these,
        first: Duration,
        /// and until the last had been sent.
        last: Duration,
    },
    /// A client for which the server stood by has left right after it was told how
    /// services are described.
    LeftOut {
        /// The session.
        session: SessionId,
        /// Who was logged in.
        user: Option<&'a Text>,
        /// How long after.
        after: Duration,
    },
    /// A hub has come with a service that has another number here.
    Number {
        /// Its name.
        name: &'a Text,
        /// The number by which consumers know it,
        here: u16,
        /// and that of the hub.
        at_hub: u16,
        /// Whether the first is given by the configuration.
        is_fixed: bool,
    },
    /// It was measured for the first time how long a mount takes to answer.
    RoundTrip {
        /// The session.
        session: SessionId,
        /// Who is logged in.
        user: Option<&'a Text>,
        /// How long it took.
        took: Duration,
    },
    /// A service is up or down for consumers.
    Service {
        /// Its name.
        name: &'a Text,
        /// Whether it is up.
        is_up: bool,
    },
}

/// Where a [`Core`](crate::Core) sends to. The shell puts sessions and the
/// backbone behind it; tests record.
pub trait Outputs {
    /// Sends a message on a session as it is.
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent;

    /// Sends a copy of a message with this stream id in place of its own.
    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent;

    /// Does what [`send_on`](Self::send_on) does for one of many sessions that
    /// get the message. `shared` goes from the first to the last of them.
    #[inline]
    fn send_shared(
        &mut self,
        session: SessionId,
        stream_id: i32,
        message: &[u8],
        shared: &mut Shared,
    ) -> Sent {
        let _ = shared;
        self.send_on(session, stream_id, message)
    }

    /// So many bytes of messages, and two more for each, a session takes as
    /// [`send_copies`](Self::send_copies) with no look at anything else: as long as nothing
    /// else is done with it and with the outputs as a whole, to send them later does
    /// what it does now, which is that they wait. Outputs that cannot say send each copy
    /// as it comes.
    #[inline]
    fn credit(&mut self, session: SessionId) -> usize {
        let _ = session;
        0
    }

    /// Sends copies of messages, each with its stream id, in this order: as many as
    /// there is [credit](Self::credit) for. How many that are.
    #[inline]
    fn send_copies(
        &mut self,
        session: SessionId,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        let _ = (session, originals, copies);
        0
    }

    /// Sends a message on a session that speaks JSON: its text, in one or more
    /// pieces. One that is `alone` shares its frame with no other. Outputs
    /// that have no such sessions need not know of it.
    fn send_json(&mut self, session: SessionId, pieces: &[&[u8]], alone: bool) -> Sent {
        let _ = (session, pieces, alone);
        Sent::Gone
    }

    /// Lets the output of a session exceed its bound by so many bytes until
    /// told otherwise. Outputs without a bound need not know of it.
    fn allow(&mut self, session: SessionId, bytes: usize) {
        let _ = (session, bytes);
    }

    /// Ends a session that speaks JSON as [`close`](Self::close) does, with
    /// this code in the WebSocket's close frame.
    fn close_json(&mut self, session: SessionId, code: u16, reason: &str) {
        let _ = code;
        self.close(session, reason);
    }

    /// Brings no messages of a session for now, or again. Outputs that cannot
    /// hold one need not: what comes is kept, and handled in its turn.
    fn hold(&mut self, session: SessionId, is_held: bool) {
        let _ = (session, is_held);
    }

    /// The user of a session has logged in: from here on it is a mount, with the
    /// bounds of one. Outputs that have the same for everybody need not know.
    fn admit(&mut self, session: SessionId) {
        let _ = session;
    }

    /// Whether there is a journal of usage: without one nothing is worked out for it.
    fn keeps_records(&self) -> bool {
        false
    }

    /// Writes down what a user did, where there is a policy and a journal.
    fn record(&mut self, usage: &Usage<'_>) {
        let _ = usage;
    }

    /// Asks who logs in; the answer is an [`Event::Identified`](crate::Event). False:
    /// nobody can be asked now. Only asked where the core was told that somebody is
    /// there.
    fn ask_login(&mut self, question: LoginQuestion) -> bool {
        let _ = question;
        false
    }

    /// Something for an operator. Outputs without one need not know.
    fn note(&mut self, note: Note<'_>) {
        let _ = note;
    }

    /// Ends a session, after what was sent before. The core has forgotten it
    /// already: an event about its end is not needed and does no harm.
    fn close(&mut self, session: SessionId, reason: &str);

    /// Publishes a frame whose body is these parts. Says whether it is on its
    /// way.
    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published;

    /// Whether so much waits for the backbone that what can wait should.
    fn is_congested(&self) -> bool {
        false
    }
}
