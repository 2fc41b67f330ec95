//! One RSSL connection as a state machine without I/O.
//!
//! RSSL is the transport below RWF messages: the vendor's SDKs speak it to
//! servers, servers to clients. This crate is both sides of it, over a plain
//! byte stream (TCP, TLS), in WebSocket frames (subprotocol `rssl.rwf`) and in
//! the HTTP tunnel, in every generation (RIPC 11 to 14). It opens no socket
//! and reads no clock: bytes and *now* go in; events, bytes to send and the
//! next deadline come out. A message is opaque here.
//!
//! ```
//! use tapeline_rssl::{ClientConfig, Connection, Event, Priority, ServerConfig};
//! use tapeline_time::Time;
//!
//! let now = Time::ZERO;
//! let mut client = Connection::client(&ClientConfig::default(), 1, now)?;
//! let mut server = Connection::server(&ServerConfig::default(), 2, now)?;
//!
//! // What a shell does with a socket in between, here with a copy.
//! fn carry(from: &mut Connection, to: &mut Connection, now: Time) -> bool {
//!     let Some(transmit) = from.poll_transmit() else { return false };
//!     let mut count = 0;
//!     for slice in transmit.iter() {
//!         let room = to.recv_buffer();
//!         let part = slice.len().min(room.len());
//!         room[..part].copy_from_slice(&slice[..part]);
//!         to.received(part, now);
//!         count += part;
//!     }
//!     from.sent(count, now);
//!     true
//! }
//!
//! carry(&mut client, &mut server, now);
//! assert_eq!(server.poll_event(), None);
//! carry(&mut server, &mut client, now);
//! let Some(Event::Connected(agreed)) = client.poll_event() else { panic!("not connected") };
//! assert_eq!((agreed.version.number(), agreed.fragment_bytes), (14, 6144));
//! carry(&mut client, &mut server, now);
//! assert!(matches!(server.poll_event(), Some(Event::Connected(_))));
//!
//! // Many small messages in one frame, each patched in its place.
//! for stream_id in [5_u32, 6] {
//!     let copy = server.pack(Priority::High, b"\x04\x06....update")?;
//!     copy[2..6].copy_from_slice(&stream_id.to_be_bytes());
//! }
//! server.flush();
//! carry(&mut server, &mut client, now);
//! assert_eq!(client.poll_event(), Some(Event::Message(b"\x04\x06\x00\x00\x00\x05update")));
//! assert_eq!(client.poll_event(), Some(Event::Message(b"\x04\x06\x00\x00\x00\x06update")));
//! assert_eq!(client.poll_event(), None);
//!
//! // A third of the ping timeout later it is time to say something.
//! let due = client.next_deadline().expect("an active connection has deadlines");
//! client.handle_timeout(due);
//! assert!(client.queued_bytes() > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # States
//!
//! ```text
//!            client                                        server
//!            ------                                        ------
//!   [ WebSocket: GET, await 101      ]          first bytes: GET   -> answer 101
//!   [ tunnel: POST, await 200 and ack ]                      POST  -> answer 200, ack
//!                 |                                          other -> RIPC at once
//!        send connect request  ---------------------------------->  |
//!                 |                                         check, decide
//!                 |  <-------------------------------  connect ack  |  connect nak
//!        [ send client key ]  ----------------------------------->  |       |
//!                 |                                   [ await it ]  |       |
//!              ACTIVE  <============ frames both ways ========>  ACTIVE     |
//!                 |                                                 |       |
//!                 +--> CLOSED: close(), peer gone, silence, error <-+-------+
//! ```
//!
//! The key exchange is in RIPC 14 only, and only if the client offers it.
//! Every end has one [`CloseReason`]. A server that hangs up instead of
//! answering is an old one: [`CloseReason::fallback`] tells the generation to
//! ask for on a new connection.
//!
//! # Frames
//!
//! All integers are big-endian. M is the fragment size from the ack; a frame is
//! at most M + 3 bytes.
//!
//! ```text
//!  message    | u16 length | 0x02 | message                                      |
//!  packed     | u16 length | 0x12 | u16 n | n bytes | u16 n | n bytes | ...      |
//!  first      | u16 length | 0x03 | 0x08 | u32 total | u16 id | payload          |
//!  next       | u16 length | 0x03 | 0x04 | u16 id | payload                      |
//!  ping       | 00 03      | 0x02 |
//!  compressed   0x04, 0x14, 0x05: the same, with the body (of a fragment: its
//!               payload) compressed
//!
//!  WebSocket    one binary frame around each; a client's are masked
//!  tunnel       as they are to the server; to the client a chunk around each,
//!               its size padded with `;`:  4;;; CR LF 00 04 02 54 CR LF
//! ```
//!
//! Up to RIPC 12 a fragment id is one byte. A compressed body that its sender
//! split over two frames is joined; this crate never sends one, since the
//! vendor's receivers break on them.
//!
//! # Receiving
//!
//! Plain and packed messages are handed out where the socket put them, in the
//! receive buffer. Compressed ones lie in the decompressed body, those of
//! several fragments in their reassembly buffer. A warm connection allocates
//! for none of them; [`Limits`] bounds all of it.
//!
//! # Sending
//!
//! [`Connection::pack`] copies a message into the packed frame being filled
//! and returns the copy for patching: the fan-out loop of a server is this and
//! nothing more. [`Connection::pack_room`] lets the message be encoded in
//! place. A frame is wrapped, masked and compressed where it lies, so the
//! socket is given the bytes that `pack` wrote, in as few slices as there are
//! priorities in turn: one, when one is in use.
//!
//! There are three priorities, flushed by [`FlushOrder`], frame by frame.
//! zlib compresses only the frames of one priority, the first that had one to
//! compress: the stream has to be on the wire in its own order. The others go
//! plain.
//!
//! # Following
//!
//! Who looks on from outside has the frames, the handshake's values and the
//! receiving half in [`follow`].
//!
//! # Not here
//!
//! TLS and sockets (the shell's), the `CONNECT` of HTTP proxies (before the
//! first byte of this), resuming a broken HTTP tunnel (refused), the JSON
//! subprotocols (another machine's; see [`Event::OtherSubprotocol`]).

mod chunked;
mod compression;
mod config;
mod connection;
mod copies;
mod error;
mod event;
pub mod follow;
mod frame;
mod handshake;
mod http;
mod input;
mod key_exchange;
mod limits;
mod negotiated;
mod open_client;
mod open_server;
mod opening;
mod origins;
mod output;
mod packed;
mod priority;
mod queue;
mod random;
mod reassembly;
mod receiver;
mod sender;
mod unwrap;
mod version;
pub mod websocket;
mod wrap;

pub use compression::Compression;
pub use config::{ClientConfig, CompressionThresholds, KeyExchange, Opening, Pings, ServerConfig};
pub use connection::Connection;
pub use copies::{CopyOf, Original, Originals};
pub use error::{CloseReason, ConfigError, ProtocolError, SendError};
pub use event::{Counters, Event};
pub use limits::{Limit, Limits};
pub use negotiated::{Carrier, Negotiated};
pub use origins::Origins;
pub use output::Transmit;
pub use packed::{Packed, Taken};
pub use priority::{FlushOrder, Priority};
pub use sender::PackedRoom;

pub use version::Version;
