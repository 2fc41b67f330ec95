//! A door to text sessions for the fuzz target `channel_text`, which has no
//! sockets. Not part of the interface.

use tapeline_time::Time;

use super::{TextConfig, TextConnection, TextInput};

/// A text session as the reactor drives it.
pub struct TextSession(TextConnection);

impl TextSession {
    /// A session whose opening has been answered.
    pub fn new(config: &TextConfig, now: Time) -> Self {
        Self(TextConnection::new(config, "", &[], now))
    }

    /// Bytes come in, in as many pieces as there is room for.
    pub fn receive(&mut self, mut bytes: &[u8], now: Time) {
        while !bytes.is_empty() {
            let room = self.0.recv_buffer();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            self.0.received(count, now);
            bytes = &bytes[count..];
        }
    }

    /// The client is gone.
    pub fn peer_closed(&mut self) {
        self.0.peer_closed();
    }

    /// Gives the next text, or `None` for the end; false when there is neither.
    pub fn poll(&mut self, mut each: impl FnMut(Option<&str>)) -> bool {
        match self.0.poll() {
            None => return false,
            Some(TextInput::Opened(_)) => {}
            Some(TextInput::Text(text)) => each(Some(text)),
            Some(TextInput::Closed(_)) => each(None),
        }
        true
    }

    /// Queues a message and ends its frame.
    pub fn push(&mut self, message: &str, alone: bool) {
        if self.0.close_reason().is_none() {
            self.0.push(&[message.as_bytes()], alone);
            self.0.flush();
        }
    }

    /// Up to `most` bytes, as a socket takes them.
    pub fn take(&mut self, most: usize, now: Time) -> Vec<u8> {
        let mut taken = Vec::new();
        while taken.len() < most {
            let waiting = self.0.transmit();
            let count = waiting.len().min(most - taken.len());
            taken.extend_from_slice(&waiting[..count]);
            if count == 0 {
                break;
            }
            self.0.sent(count, now);
        }
        taken
    }

    /// What is due is done.
    pub fn handle_timeout(&mut self, now: Time) {
        self.0.handle_timeout(now);
    }

    /// This side closes.
    pub fn close(&mut self, code: u16, text: &str) {
        self.0.close(code, text);
    }

    /// Bytes that wait for the socket.
    pub fn queued_bytes(&self) -> usize {
        self.0.queued_bytes()
    }

    /// Whether the session is over.
    pub fn is_closed(&self) -> bool {
        self.0.close_reason().is_some()
    }
}
