//! `MoldUDP64`: numbered messages in datagrams, and how some are asked for again.
//!
//! ```text
//!  | 0 session, 10 characters | 10 number of the first message u64 | 18 count u16 | messages
//!  a message: | 0 length u16 | its bytes
//!
//!  count 0:       a heartbeat; the number is that of the next message
//!  count 0xFFFF:  the end of the session; as in a heartbeat
//!  a request:     the head alone, with how many messages are wanted from which on
//! ```

use tapeline_layout::message;

use crate::error::MoldError;
use crate::message::Alpha;

/// The name of a session: who reads it takes it as it comes.
pub type SessionName = Alpha<10>;

message! {
    /// What every packet begins with; alone, and to a server, a request.
    PacketHead: 20, big endian, fill 0 {
        /// The session, whose messages have numbers from 1.
        0 => session: SessionName,
        /// The number of the first message, or of the next one where there is none.
        10 => first: u64,
        /// Messages, or what else the packet is.
        18 => count: u16,
    }
}

/// The count of a packet that ends its session.
pub const END_OF_SESSION: u16 = 0xFFFF;

/// A packet whose messages are known to be whole.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    head: PacketHead,
    messages: &'a [u8],
}

/// Splits the first message off.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))
}

impl<'a> Packet<'a> {
    /// Looks through a packet.
    ///
    /// # Errors
    /// Its head or its messages do not fit its length, or each other.
    pub fn read(bytes: &'a [u8]) -> Result<Self, MoldError> {
        let cut = bytes.split_at_checked(PacketHead::LEN);
        let (head, messages) = cut.ok_or(MoldError::Short(bytes.len()))?;
        let head = PacketHead::read(head).ok_or(MoldError::Short(bytes.len()))?;
        let packet = Self { head, messages };
        if head.first == 0 || head.first.checked_add(packet.count().into()).is_none() {
            return Err(MoldError::Number(head.first));
        }
        let mut rest = messages;
        for at in 1..=packet.count() {
            let count = head.count;
            (_, rest) = split(rest).ok_or(MoldError::Message { at, count })?;
        }
        if rest.is_empty() { Ok(packet) } else { Err(MoldError::Surplus(rest.len())) }
    }

    /// Its session.
    pub const fn session(&self) -> SessionName {
        self.head.session
    }

    /// The number of its first message, or of the next one if it has none.
    pub const fn first(&self) -> u64 {
        self.head.first
    }

    /// How many messages it has.
    pub const fn count(&self) -> u16 {
        if self.is_end() { 0 } else { self.head.count }
    }

    /// The number of the message behind it.
    pub const fn next(&self) -> u64 {
        self.head.first + self.count() as u64
    }

    /// Whether the session ends before [`first`](Self::first).
    pub const fn is_end(&self) -> bool {
        self.head.count == END_OF_SESSION
    }

    /// The messages, with their numbers.
    pub fn messages(&self) -> impl Iterator<Item = (u64, &'a [u8])> + use<'a> {
        let mut rest = self.messages;
        let each = std::iter::from_fn(move || {
            let (message, behind) = split(rest)?;
            rest = behind;
            Some(message)
        });
        // The number behind the last message may be the highest there is.
        (self.head.first..=u64::MAX).zip(each)
    }
}

/// Bytes that a datagram carries over an Ethernet of the usual frames, without the
/// heads of IPv4 and UDP.
pub const PACKET_BYTES: usize = 1472;

/// Makes packets of messages.
#[derive(Clone, Debug)]
pub struct Packer {
    session: SessionName,
    /// The number of the first message of the packet that is being filled.
    first: u64,
    count: u16,
    bytes: Vec<u8>,
}

impl Packer {
    /// The next message has this number.
    pub fn new(session: &str, next: u64) -> Self {
        let (session, bytes) = (SessionName::new(session), vec![0; PacketHead::LEN]);
        Self { session, first: next, count: 0, bytes }
    }

    /// The number of the next message.
    pub const fn next(&self) -> u64 {
        self.first + self.count as u64
    }

    /// Puts a message into the packet; `send` gets the one before if it is full.
    /// Whether there was room: a message that no packet holds is not taken.
    pub fn push(&mut self, message: &[u8], send: &mut impl FnMut(&[u8])) -> bool {
        let len = 2 + message.len();
        if PacketHead::LEN + len > PACKET_BYTES {
            return false;
        }
        if self.bytes.len() + len > PACKET_BYTES {
            self.flush(send);
        }
        self.bytes.extend_from_slice(&(message.len() as u16).to_be_bytes());
        self.bytes.extend_from_slice(message);
        self.count += 1;
        true
    }

    /// Sends what is in the packet, if there is something.
    pub fn flush(&mut self, send: &mut impl FnMut(&[u8])) {
        if self.count > 0 {
            self.send(self.count, send);
            self.first += u64::from(self.count);
            self.count = 0;
            self.bytes.truncate(PacketHead::LEN);
        }
    }

    fn send(&mut self, count: u16, send: &mut impl FnMut(&[u8])) {
        let head = PacketHead { session: self.session, first: self.first, count };
        self.bytes[..PacketHead::LEN].copy_from_slice(&head.to_bytes());
        send(&self.bytes);
    }

    /// Sends what there is, and a sign of life behind it.
    pub fn heartbeat(&mut self, send: &mut impl FnMut(&[u8])) {
        self.flush(send);
        self.send(0, send);
    }

    /// Sends what there is, and that nothing follows.
    pub fn end_of_session(&mut self, send: &mut impl FnMut(&[u8])) {
        self.flush(send);
        self.send(END_OF_SESSION, send);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Session, number 0x0102, two messages of 2 and 0 bytes.
    const WIRE: &[u8] = b"S1        \0\0\0\0\0\0\x01\x02\0\x02\0\x02ab\0\0";

    #[test]
    fn a_packet_as_it_is_on_the_wire() {
        let packet = Packet::read(WIRE).expect("a packet");
        assert_eq!((packet.session(), packet.count()), (SessionName::new("S1"), 2));
        let messages: Vec<_> = packet.messages().collect();
        assert_eq!(messages, [(0x0102, &b"ab"[..]), (0x0103, b"")]);
        let mut sent = Vec::new();
        let mut send = |packet: &[u8]| sent.push(packet.to_vec());
        let mut packer = Packer::new("S1", 0x0102);
        assert!(packer.push(b"ab", &mut send) && packer.push(b"", &mut send));
        packer.heartbeat(&mut send);
        packer.end_of_session(&mut send);
        let bare = |count: &[u8]| [&b"S1        \0\0\0\0\0\0\x01\x04"[..], count].concat();
        assert_eq!(sent, [WIRE.to_vec(), bare(b"\0\0"), bare(b"\xff\xff")]);
        let [beat, end] = [&sent[1], &sent[2]].map(|bytes| Packet::read(bytes).expect("whole"));
        assert_eq!((beat.count(), beat.next(), beat.is_end()), (0, 0x0104, false));
        assert_eq!((end.count(), end.next(), end.is_end()), (0, 0x0104, true));
    }

    #[test]
    fn the_highest_number_there_is_may_be_the_next() {
        let mut packet = [&b"S1        "[..], &[0xff; 8], b"\0\0"].concat();
        assert_eq!(Packet::read(&packet).map(|packet| packet.messages().count()), Ok(0));
        (packet[17], packet[19]) = (0xfe, 1);
        packet.extend(b"\0\x01x");
        let packet = Packet::read(&packet).expect("a packet");
        assert_eq!(packet.messages().collect::<Vec<_>>(), [(u64::MAX - 1, &b"x"[..])]);
        assert_eq!(packet.next(), u64::MAX);
    }

    #[test]
    fn a_packet_that_is_full_goes() {
        let mut sent = Vec::new();
        let mut send = |packet: &[u8]| sent.push(packet.len());
        let mut packer = Packer::new("S1", 1);
        assert!(!packer.push(&[0; PACKET_BYTES - 21], &mut send));
        for _ in 0..100 {
            assert!(packer.push(&[0; 36], &mut send));
        }
        packer.flush(&mut send);
        packer.flush(&mut send);
        assert_eq!(sent, [20 + 38 * 38, 20 + 38 * 38, 20 + 24 * 38]);
        assert_eq!(packer.next(), 101);
    }

    #[test]
    fn what_is_no_packet_is_refused_with_a_reason() {
        let error = |bytes: &[u8]| Packet::read(bytes).expect_err("refused").to_string();
        assert_eq!(
            error(&WIRE[..19]),
            "19 bytes are too few for the head of a packet, which has 20"
        );
        assert_eq!(error(&WIRE[..22]), "message 1 of the packet's 2 does not end within it");
        assert_eq!(error(&WIRE[..25]), "message 2 of the packet's 2 does not end within it");
        let more = [WIRE, b"x"].concat();
        assert_eq!(error(&more), "1 bytes follow the last message of the packet");
        let mut numbers = WIRE.to_vec();
        numbers[10..18].fill(0);
        assert_eq!(error(&numbers), "0 is no number that a packet can begin with");
        numbers[10..18].fill(0xff);
        let text = "18446744073709551615 is no number that a packet can begin with";
        assert_eq!(error(&numbers), text);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..100), count in 0..4_u8) {
            let mut bytes = bytes;
            if let Some(low) = bytes.get_mut(18..20) {
                low.copy_from_slice(&[0, count]);
            }
            if let Ok(packet) = Packet::read(&bytes) {
                prop_assert_eq!(packet.messages().count(), usize::from(packet.count()));
            }
        }
    }
}
