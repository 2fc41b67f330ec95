//! What a session speaks: RSSL, or texts.

use std::io::IoSlice;
use std::ops::Deref;

use tapeline_rssl::{
    Connection, CopyOf, Counters, Negotiated, Originals, Priority, SendError, Transmit,
};
use tapeline_time::Time;
use tapeline_websocket::TextConnection;

/// The protocol machine of a session.
#[allow(clippy::large_enum_variant, reason = "nearly all are of the large kind")]
pub(crate) enum Link {
    Rssl(Connection),
    Text(TextConnection),
}

/// Bytes to write next.
#[allow(clippy::large_enum_variant, reason = "lives on the stack for one write")]
pub(crate) enum Offer<'a> {
    Rssl(Transmit<'a>),
    Text([IoSlice<'a>; 1]),
}

impl<'a> Deref for Offer<'a> {
    type Target = [IoSlice<'a>];

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Rssl(transmit) => transmit,
            Self::Text(slice) => slice,
        }
    }
}

/// Calls the same on either machine.
macro_rules! either {
    ($link:expr, $machine:ident => $call:expr) => {
        match $link {
            Link::Rssl($machine) => $call,
            Link::Text($machine) => $call,
        }
    };
}

impl Link {
    pub(crate) fn recv_buffer(&mut self) -> &mut [u8] {
        either!(self, machine => machine.recv_buffer())
    }

    #[inline]
    pub(crate) fn received(&mut self, count: usize, now: Time) {
        either!(self, machine => machine.received(count, now));
    }

    pub(crate) fn peer_closed(&mut self) {
        either!(self, machine => machine.peer_closed());
    }

    #[inline]
    pub(crate) fn flush(&mut self) {
        either!(self, machine => machine.flush());
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self) -> Option<Offer<'_>> {
        match self {
            Self::Rssl(connection) => connection.poll_transmit().map(Offer::Rssl),
            Self::Text(text) => {
                let bytes = text.transmit();
                (!bytes.is_empty()).then(|| Offer::Text([IoSlice::new(bytes)]))
            }
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, count: usize, now: Time) {
        either!(self, machine => machine.sent(count, now));
    }

    #[inline]
    pub(crate) fn queued_bytes(&self) -> usize {
        either!(self, machine => machine.queued_bytes())
    }

    #[inline]
    pub(crate) fn pack_limit(&self) -> usize {
        match self {
            Self::Rssl(connection) => connection.pack_limit(),
            Self::Text(_) => 0,
        }
    }

    #[inline]
    pub(crate) fn pack(
        &mut self,
        priority: Priority,
        message: &[u8],
    ) -> Result<&mut [u8], SendError> {
        match self {
            Self::Rssl(connection) => connection.pack(priority, message),
            Self::Text(_) => Err(SendError::NotActive),
        }
    }

    /// Packs what was granted; `None` for all else.
    #[inline]
    pub(crate) fn pack_granted(&mut self, priority: Priority, message: &[u8]) -> Option<&mut [u8]> {
        match self {
            Self::Rssl(connection) => connection.pack_granted(priority, message),
            Self::Text(_) => None,
        }
    }

    /// Bytes that are granted, with the lengths of messages; none for texts.
    #[inline]
    pub(crate) fn granted_bytes(&mut self, priority: Priority) -> usize {
        match self {
            Self::Rssl(connection) => connection.granted_bytes(priority),
            Self::Text(_) => 0,
        }
    }

    /// Packs what was granted of these copies; how many that are.
    #[inline]
    pub(crate) fn pack_copies(
        &mut self,
        priority: Priority,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        match self {
            Self::Rssl(connection) => connection.pack_copies(priority, originals, copies),
            Self::Text(_) => 0,
        }
    }

    pub(crate) fn send(&mut self, priority: Priority, message: &[u8]) -> Result<(), SendError> {
        match self {
            Self::Rssl(connection) => connection.send(priority, message),
            Self::Text(_) => Err(SendError::NotActive),
        }
    }

    /// Closes this side; a text session says why, with a close code.
    pub(crate) fn close(&mut self, code: u16, text: &str) {
        match self {
            Self::Rssl(connection) => {
                connection.close();
                // It notes its own end when it is asked.
                while connection.poll_event().is_some() {}
            }
            Self::Text(session) => session.close(code, text),
        }
    }

    /// Whether the protocol has ended.
    pub(crate) fn is_closed(&self) -> bool {
        either!(self, machine => machine.close_reason().is_some())
    }

    pub(crate) fn is_finished(&self) -> bool {
        either!(self, machine => machine.is_finished())
    }

    pub(crate) fn next_deadline(&self) -> Option<Time> {
        either!(self, machine => machine.next_deadline())
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        either!(self, machine => machine.handle_timeout(now));
    }

    pub(crate) fn counters(&self) -> Counters {
        either!(self, machine => machine.counters())
    }

    pub(crate) fn negotiated(&self) -> Option<&Negotiated> {
        match self {
            Self::Rssl(connection) => connection.negotiated(),
            Self::Text(_) => None,
        }
    }
}
