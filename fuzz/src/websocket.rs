//! Sessions for the targets of `tapeline-websocket`.
//!
//! An input is a list of steps, each with a byte that says what it is and what
//! it is about:
//!
//! ```text
//!  bit 7..6                5..0
//! +-----------------------+----------------------------------------+
//! | 0 bytes are received  | how many of the bytes that follow      |
//! | 1 time goes on        | seconds                                |
//! | 2 a message is queued | its length; 63 closes the session      |
//! | 3 the socket takes    | how many bytes, 63 all there are       |
//! +-----------------------+----------------------------------------+
//! ```

use std::time::Duration;

use tapeline_rssl::websocket::{CLOSE, FrameHeader, PING, PONG, TEXT};
use tapeline_time::Time;
use tapeline_websocket::{TextConfig, TextConnection, TextInput};

/// Small enough for a short input to reach.
const MAX_MESSAGE_BYTES: usize = 300;
const FRAME_BYTES: usize = 200;

/// What a session may keep that waits for the socket, apart from the messages
/// that were queued: answers to pings, own pings, a close.
const MOST_OF_ITS_OWN: usize = 70 << 10;

/// Runs one session.
pub fn text_session(data: &[u8]) {
    let config = TextConfig {
        max_message_bytes: MAX_MESSAGE_BYTES,
        frame_bytes: FRAME_BYTES,
        retained_output_bytes: 1000,
        ..TextConfig::default()
    };
    let mut now = Time::ZERO;
    let mut session = TextConnection::new(&config, "", &[], now);
    let (mut sent, mut queued, mut closed) = (Vec::new(), 0, 0);
    let mut rest = data;
    while let [step, behind @ ..] = rest {
        let amount = usize::from(step & 0x3F);
        rest = behind;
        match step >> 6 {
            0 => {
                let (bytes, behind) = rest.split_at(amount.min(rest.len()));
                rest = behind;
                receive(&mut session, bytes, now);
            }
            1 => {
                now = now.after(Duration::from_secs(amount as u64));
                session.handle_timeout(now);
            }
            2 if amount == 63 => session.close(1001, "enough"),
            2 => {
                let message = "x".repeat(amount);
                if session.close_reason().is_none() {
                    session.push(&[message.as_bytes()], amount % 7 == 0);
                    session.flush();
                }
                queued += amount + 20;
            }
            _ => take(&mut session, if amount == 63 { usize::MAX } else { amount }, now, &mut sent),
        }
        closed += poll(&mut session);
        assert!(session.queued_bytes() <= queued + MOST_OF_ITS_OWN);
    }
    session.peer_closed();
    closed += poll(&mut session);
    assert!(closed <= 1 && session.close_reason().is_some(), "closed once: {closed}");
    take(&mut session, usize::MAX, now, &mut sent);
    check_frames(&sent);
}

/// Bytes come in, in as many pieces as there is room for.
fn receive(session: &mut TextConnection, mut bytes: &[u8], now: Time) {
    while !bytes.is_empty() {
        let room = session.recv_buffer();
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        session.received(count, now);
        bytes = &bytes[count..];
    }
}

/// Up to `most` bytes go out, as a socket takes them.
fn take(session: &mut TextConnection, most: usize, now: Time, sent: &mut Vec<u8>) {
    let mut left = most;
    loop {
        let waiting = session.transmit();
        let count = waiting.len().min(left);
        if count == 0 {
            return;
        }
        sent.extend_from_slice(&waiting[..count]);
        session.sent(count, now);
        left -= count;
    }
}

/// Takes what the session has; returns how often it said that it is over.
fn poll(session: &mut TextConnection) -> usize {
    let mut closed = 0;
    while let Some(input) = session.poll() {
        match input {
            TextInput::Opened(_) => {}
            TextInput::Text(text) => assert!(text.len() <= MAX_MESSAGE_BYTES),
            TextInput::Closed(_) => closed += 1,
        }
    }
    closed
}

/// What is sent are whole frames, as a server may send them; the last may be
/// cut off by a client that is gone.
fn check_frames(sent: &[u8]) {
    let mut rest = sent;
    let mut is_over = false;
    while let Some((header, header_bytes)) = FrameHeader::parse(rest) {
        assert!(!is_over, "nothing follows the close");
        assert!(header.fin && header.reserved == 0 && header.mask.is_none());
        let end = header_bytes + header.payload as usize;
        let Some(payload) = rest.get(header_bytes..end) else { return };
        match header.opcode {
            TEXT => assert!(payload.starts_with(b"[") && payload.ends_with(b"]")),
            CLOSE => is_over = true,
            PONG => assert!(payload.len() <= 125),
            other => assert_eq!(other, PING),
        }
        rest = &rest[end..];
    }
}
