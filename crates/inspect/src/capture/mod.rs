//! Captured RSSL sessions: from packets to messages.
//!
//! ```text
//! pcap, pcapng → segments → TCP streams → RSSL frames → messages
//!   packets.rs              tcp.rs          session.rs
//! ```
//!
//! Nothing is known of ports: a connection is followed when it begins like
//! RSSL, bare, in a WebSocket or in the HTTP tunnel, or when a stream that was
//! captured from its middle consists of frames.

mod frame;
mod packets;
mod session;
mod tcp;
mod utc;

pub use frame::{Frame, is_frame_stream};
pub use packets::{
    CaptureError, Datagram, OnDatagram, OnSegment, is_capture, read_datagrams, read_segments,
};
pub use session::{Seen, Session, Side};
pub use tcp::{Reassembly, Segment, TcpEvent, TcpLimits};
pub use utc::utc;

use std::io::Read;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use frame::{starts_like_a_client, starts_like_a_server};

/// A frame of a captured connection.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'c> {
    /// Number of the connection in the file, from 1.
    pub connection: usize,
    /// Who opened it.
    pub client: SocketAddr,
    /// Who was called.
    pub server: SocketAddr,
    /// Who sent the frame.
    pub side: Side,
    /// Number of the frame in its connection, from 1, both directions counted.
    pub number: u64,
    /// When its last byte was captured: nanoseconds since 1970.
    pub time_ns: u64,
    /// The frame.
    pub seen: &'c Seen,
}

/// What a capture holds, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections that speak RSSL.
    pub sessions: usize,
    /// Connections that speak something else.
    pub other_connections: usize,
    /// Packets that are no TCP, or cannot be read.
    pub other_packets: u64,
    /// Packets of connections above [`TcpLimits::max_connections`].
    pub unfollowed_packets: u64,
}

/// Whether a connection is RSSL, and which end is which.
enum Verdict {
    /// Too little was seen: the first bytes of both ends.
    Open([Vec<u8>; 2]),
    Rssl {
        session: Box<Session>,
        client_end: usize,
        frames: u64,
    },
    Other,
}

struct Followed {
    ends: [SocketAddr; 2],
    client_end: Option<usize>,
    verdict: Verdict,
}

/// Bytes that are enough to tell RSSL from something else.
const TELLING_BYTES: usize = 7;

impl Followed {
    /// Takes bytes; returns the frames that they complete, by side.
    fn bytes(&mut self, end: usize, bytes: &[u8]) -> Vec<(Side, Seen)> {
        match &mut self.verdict {
            Verdict::Other => Vec::new(),
            Verdict::Rssl { session, client_end, .. } => {
                let side = side(end, *client_end);
                let seen = session.feed(side, bytes);
                if session.is_foreign() {
                    self.verdict = Verdict::Other;
                    return Vec::new();
                }
                seen.into_iter().map(|seen| (side, seen)).collect()
            }
            Verdict::Open(early) => {
                early[end].extend_from_slice(bytes);
                if early[end].len() < TELLING_BYTES {
                    return Vec::new();
                }
                let early = std::mem::take(early);
                self.decide(end, &early)
            }
        }
    }

    fn decide(&mut self, end: usize, early: &[Vec<u8>; 2]) -> Vec<(Side, Seen)> {
        let start = &early[end];
        let client_end = if starts_like_a_client(start) {
            Some(end)
        } else if starts_like_a_server(start) {
            Some(1 - end)
        } else if is_frame_stream(start) {
            // Captured from the middle: servers have the lower ports.
            let by_port = usize::from(self.ends[0].port() < self.ends[1].port());
            Some(self.client_end.unwrap_or(by_port))
        } else {
            None
        };
        let Some(client_end) = client_end else {
            self.verdict = Verdict::Other;
            return Vec::new();
        };
        let session = Box::new(Session::new());
        self.verdict = Verdict::Rssl { session, client_end, frames: 0 };
        let mut seen = self.bytes(end, start);
        seen.extend(self.bytes(1 - end, &early[1 - end]));
        seen
    }

    fn lost(&mut self, end: usize, count: u64) -> Vec<(Side, Seen)> {
        let Verdict::Rssl { session, client_end, .. } = &mut self.verdict else {
            return Vec::new();
        };
        let side = side(end, *client_end);
        session.lose(side, count).into_iter().map(|seen| (side, seen)).collect()
    }
}

const fn side(end: usize, client_end: usize) -> Side {
    if end == client_end { Side::Client } else { Side::Server }
}

/// Reads a capture file and gives every frame of every RSSL session in it, in
/// the order of the file.
pub fn read_capture(
    reader: impl Read + Send,
    limits: TcpLimits,
    on_frame: &mut dyn FnMut(&Captured<'_>),
) -> (Totals, Result<(), CaptureError>) {
    try_read_capture(reader, limits, &mut |captured| {
        on_frame(captured);
        ControlFlow::Continue(())
    })
}

/// The same until `on_frame` breaks: nothing is read then any more, and the
/// totals are those of what was read.
pub fn try_read_capture(
    reader: impl Read + Send,
    limits: TcpLimits,
    on_frame: &mut dyn FnMut(&Captured<'_>) -> ControlFlow<()>,
) -> (Totals, Result<(), CaptureError>) {
    let mut reassembly = Reassembly::new(limits);
    let mut all: Vec<Followed> = Vec::new();
    let mut last_ns = 0;
    let mut flow = ControlFlow::Continue(());
    let mut on_event = |event: TcpEvent<'_>, time_ns| {
        if flow.is_continue() {
            flow = take(&mut all, event, time_ns, on_frame);
        }
        flow
    };
    let read = read_segments(reader, &mut |time_ns, segment| {
        last_ns = time_ns;
        let mut flow = ControlFlow::Continue(());
        reassembly.segment(segment, &mut |event| flow = on_event(event, time_ns));
        flow
    });
    reassembly.finish(&mut |event| {
        let _ = on_event(event, last_ns);
    });
    let is_rssl = |followed: &&Followed| matches!(followed.verdict, Verdict::Rssl { .. });
    let sessions = all.iter().filter(is_rssl).count();
    let totals = Totals {
        sessions,
        other_connections: all.len() - sessions,
        other_packets: *read.as_ref().unwrap_or(&0),
        unfollowed_packets: reassembly.unfollowed_packets(),
    };
    (totals, read.map(drop))
}

fn take(
    all: &mut Vec<Followed>,
    event: TcpEvent<'_>,
    time_ns: u64,
    on_frame: &mut dyn FnMut(&Captured<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let goes_on = ControlFlow::Continue(());
    let (connection, seen) = match event {
        TcpEvent::Opened { ends, client, .. } => {
            let verdict = Verdict::Open([Vec::new(), Vec::new()]);
            all.push(Followed { ends, client_end: client, verdict });
            return goes_on;
        }
        TcpEvent::Bytes { connection, end, bytes } => {
            (connection, all.get_mut(connection).map(|followed| followed.bytes(end, bytes)))
        }
        TcpEvent::Lost { connection, end, count } => {
            (connection, all.get_mut(connection).map(|followed| followed.lost(end, count)))
        }
    };
    let Some(followed) = all.get_mut(connection) else { return goes_on };
    let Verdict::Rssl { client_end, frames, .. } = &mut followed.verdict else { return goes_on };
    seen.iter().flatten().try_for_each(|(side, seen)| {
        *frames += 1;
        on_frame(&Captured {
            connection: connection + 1,
            client: followed.ends[*client_end],
            server: followed.ends[1 - *client_end],
            side: *side,
            number: *frames,
            time_ns,
            seen,
        })
    })
}
