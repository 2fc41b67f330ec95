//! What messages of a ping-pong go through.

mod memory;
mod polled;
mod session;
mod socket;
mod stamps;
mod turns;

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::sizes::{MAX_DATAGRAM_BYTES, MAX_STREAM_BYTES};

pub(crate) use memory::{Null, Ring};
pub(crate) use polled::Polled;
pub(crate) use session::{Session, SessionListener};
pub(crate) use socket::{Socket, SocketKind};
pub(crate) use stamps::Stamped;
pub(crate) use turns::{IterationEnd, Turns};

/// One end of something that carries messages.
pub(crate) trait Wire {
    /// Sends a message; `more` tells that another follows at once.
    fn send(&mut self, message: &[u8], more: bool) -> io::Result<()>;

    /// Waits for the next message. Of a stream it has the length of the
    /// buffer, of others at most.
    ///
    /// Errors: `TimedOut` when nothing came for as long as this side waits,
    /// `UnexpectedEof` when the other end is gone.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// The moments of the last message that was sent and of the last that came, if the
    /// kernel was asked for them. It is asked between iterations only.
    fn stamped(&mut self) -> Option<Stamped> {
        None
    }

    /// Whether a message can be read now. It is asked between batches only.
    fn is_ready(&self) -> bool {
        false
    }
}

/// A way for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A TCP connection.
    Tcp,
    /// UDP, also multicast.
    Udp,
    /// Two pipes.
    Pipe,
    /// A pair of Unix stream sockets.
    UnixStream,
    /// A pair of Unix datagram sockets.
    UnixDatagram,
    /// Two rings in memory, between threads.
    Ring,
    /// A session of ours over TCP.
    Rssl,
    /// Aeron over shared memory: what the backbone goes through.
    Aeron,
    /// Nothing: what measuring itself costs.
    Null,
}

impl Transport {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::Tcp,
        Self::Udp,
        Self::Pipe,
        Self::UnixStream,
        Self::UnixDatagram,
        Self::Ring,
        Self::Rssl,
        Self::Aeron,
        Self::Null,
    ];

    /// As the argument has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Pipe => "pipe",
            Self::UnixStream => "unix_stream",
            Self::UnixDatagram => "unix_datagram",
            Self::Ring => "ring",
            Self::Rssl => "rssl",
            Self::Aeron => "aeron",
            Self::Null => "null",
        }
    }

    /// Whether messages may be lost, and have an end of their own: also one of
    /// no bytes is a message.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::Udp | Self::UnixDatagram)
    }

    /// Whether it leads to other hosts.
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Tcp | Self::Udp | Self::Rssl)
    }

    pub(crate) const fn max_bytes(self) -> usize {
        match self {
            Self::Udp | Self::UnixDatagram => MAX_DATAGRAM_BYTES,
            // What a session takes in one message by default.
            Self::Rssl => 65_535,
            Self::Aeron => crate::link::AERON_MAX_BYTES,
            _ => MAX_STREAM_BYTES,
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|transport| transport.name() == text);
        found.ok_or_else(|| format!("there is no transport `{text}`; there are {}", names()))
    }
}
