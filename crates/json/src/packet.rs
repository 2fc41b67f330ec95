//! Frames: arrays of messages.

/// The message that asks whether the other side is there.
pub const PING: &[u8] = b"{\"Type\":\"Ping\"}";

/// The answer to a ping. Sent unasked it stops some clients.
pub const PONG: &[u8] = b"{\"Type\":\"Pong\"}";

/// Messages packed into one frame: `[{..},{..}]`.
///
/// Every frame to a client is an array, also with one message in it. The login
/// answer has to be alone in its frame: [`take`](Self::take) before and after.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    text: Vec<u8>,
}

impl Packet {
    /// A packet without messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message that is in one or more pieces.
    pub fn push(&mut self, pieces: &[&[u8]]) {
        self.text.push(if self.text.is_empty() { b'[' } else { b',' });
        for piece in pieces {
            self.text.extend_from_slice(piece);
        }
    }

    /// Adds a message that is written in place, as by
    /// [`ToJson::message`](crate::ToJson::message). With an error nothing is added.
    pub fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.text.len();
        self.push(&[]);
        let written = write(&mut self.text);
        if written.is_err() {
            self.text.truncate(before);
        }
        written
    }

    /// Length in bytes of the frame as it is now, 0 without messages.
    pub fn len(&self) -> usize {
        self.text.len() + usize::from(!self.text.is_empty())
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Gives the frame to `send` and begins anew; nothing happens without
    /// messages.
    pub fn take(&mut self, send: impl FnOnce(&[u8])) {
        if !self.text.is_empty() {
            self.text.push(b']');
            send(&self.text);
            self.text.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_share_a_frame_until_it_is_taken() {
        let mut packet = Packet::new();
        packet.take(|_| panic!("there is nothing to send"));
        packet.push(&[PING]);
        packet.push(&[b"{\"ID\":5,", b"\"Type\":\"Update\"}"]);
        assert_eq!(
            packet.push_with(|out| {
                out.push(b'{');
                Err(1)
            }),
            Err(1)
        );
        let len = packet.len();
        let mut frame = Vec::new();
        packet.take(|bytes| frame.extend_from_slice(bytes));
        assert_eq!(frame, br#"[{"Type":"Ping"},{"ID":5,"Type":"Update"}]"#);
        assert_eq!(frame.len(), len);
        assert!(packet.is_empty());
    }
}
