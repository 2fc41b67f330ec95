//! Sessions for the targets of `tapeline-channel`.
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

use tapeline_channel::{TextConfig, fuzzing::TextSession};
use tapeline_time::Time;
use tapeline_rssl::websocket::{CLOSE, FrameHeader, PING, PONG, TEXT};

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
    let mut session = TextSession::new(&config, now);
    let (mut sent, mut queued, mut closed) = (Vec::new(), 0, 0);
    let mut rest = data;
    while let [step, behind @ ..] = rest {
        let amount = usize::from(step & 0x3F);
        rest = behind;
        match step >> 6 {
            0 => {
                let (bytes, behind) = rest.split_at(amount.min(rest.len()));
                rest = behind;
                session.receive(bytes, now);
            }
            1 => {
                now = now.after(Duration::from_secs(amount as u64));
                session.handle_timeout(now);
            }
            2 if amount == 63 => session.close(1001, "enough"),
            2 => {
                let message = "x".repeat(amount);
                session.push(&message, amount % 7 == 0);
                queued += amount + 20;
            }
            _ => sent.extend(session.take(if amount == 63 { usize::MAX } else { amount }, now)),
        }
        closed += poll(&mut session);
        assert!(session.queued_bytes() <= queued + MOST_OF_ITS_OWN);
    }
    session.peer_closed();
    closed += poll(&mut session);
    assert!(closed <= 1 && session.is_closed(), "closed once: {closed}");
    sent.extend(session.take(usize::MAX, now));
    check_frames(&sent);
}

/// Takes what the session has; returns how often it said that it is over.
fn poll(session: &mut TextSession) -> usize {
    let mut closed = 0;
    while session.poll(|text| match text {
        Some(text) => assert!(text.len() <= MAX_MESSAGE_BYTES),
        None => closed += 1,
    }) {}
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
