//! The border between the core and its shell.

use std::net::SocketAddr;

use tapeline_backbone::{BusEvent, FrameHeader, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{LoginAnswer, LoginQuestion, PolicyChange};

/// Something that happened outside of the core.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A route that was asked for is connected.
    RouteOpened {
        /// Index of the route in the configuration.
        route: usize,
        /// Its session.
        session: SessionId,
    },
    /// A route that was asked for could not be connected.
    RouteFailed {
        /// Index of the route in the configuration.
        route: usize,
    },
    /// A non-interactive provider connected.
    ProviderOpened {
        /// Its session.
        session: SessionId,
        /// Where it connects from.
        peer: SocketAddr,
    },
    /// An entitlement policy is in force from now on.
    Policy(&'a PolicyChange),
    /// It was found out who a provider is that logs in, or that it is nobody.
    Identified(&'a LoginAnswer),
    /// A provider sent a message.
    Message {
        /// Its session.
        session: SessionId,
        /// An RWF message.
        bytes: &'a [u8],
    },
    /// A message of a provider was longer than is taken, and was passed over.
    TooLong {
        /// Its session.
        session: SessionId,
        /// Its beginning.
        head: &'a [u8],
        /// Its length in bytes.
        length: usize,
        /// The bound that it exceeds.
        max: usize,
    },
    /// A session that was slow has room again.
    Drained {
        /// The session.
        session: SessionId,
    },
    /// A session is closed, by whichever side.
    Closed {
        /// The session.
        session: SessionId,
    },
    /// Something happened on the backbone.
    Bus(BusEvent<'a>),
}

/// What the core does to the world. The shell carries it out; tests record it.
pub trait Outputs {
    /// Sends a message to a provider.
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent;
    /// Connects a route, by its index in the configuration. The answer is
    /// [`Event::RouteOpened`] or [`Event::RouteFailed`].
    fn connect(&mut self, route: usize);
    /// A non-interactive provider has logged in: from here on its session has
    /// the bounds of one. Outputs that have the same for everybody need not
    /// know.
    fn admit(&mut self, session: SessionId) {
        let _ = session;
    }
    /// Asks who a provider is that logs in; the answer is an [`Event::Identified`].
    /// False: nobody can be asked now. Only asked where the core was told that
    /// somebody is there.
    fn ask_login(&mut self, question: LoginQuestion) -> bool {
        let _ = question;
        false
    }
    /// Closes the session of a provider. [`Event::Closed`] may follow; the
    /// core does not need it.
    fn close(&mut self, session: SessionId, reason: &str);
    /// Tells an operator that something was refused to a provider. Once for each
    /// thing, not for each message.
    fn warn(&mut self, session: SessionId, what: &str) {
        let _ = (session, what);
    }
    /// Sends a frame to servers; its body is the parts in order. Says whether
    /// it is on its way.
    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published;
    /// Whether so much waits for the backbone that what can wait should.
    fn is_congested(&self) -> bool {
        false
    }
    /// How full the queue to the backbone is, in percent.
    fn queue_percent(&self) -> u8 {
        0
    }
}
