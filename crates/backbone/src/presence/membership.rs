//! Who belongs together, and how that is proved.

use std::fmt;

use ring::hmac;

use crate::error::BackboneError;
use crate::frame::FrameHeader;

/// The proof behind a presence: the first half of an HMAC-SHA256.
pub(super) const TAG_BYTES: usize = 16;

/// What the members of a system share, so that nobody else passes for one.
///
/// Presence carries a code of it (HMAC-SHA256, RFC 2104), and whose presence
/// does not is no peer. It keeps out those who do not belong, such as a test
/// hub on the wrong network. It hides nothing, and whoever listens on the
/// network can repeat what a member said.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    /// The shortest one, in bytes.
    pub const MIN_BYTES: usize = 16;

    /// A key of these bytes, best drawn at random.
    pub fn new(bytes: &[u8]) -> Result<Self, BackboneError> {
        if bytes.len() < Self::MIN_BYTES {
            return Err(BackboneError::Setting {
                setting: "key",
                value: format!("{} bytes", bytes.len()),
                problem: "it must have at least 16",
            });
        }
        Ok(Self(bytes.to_owned()))
    }

    fn context(&self) -> hmac::Context {
        hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &self.0))
    }

    /// Appends the proof to a body.
    fn sign(&self, header: &[u8], body: &mut Vec<u8>) {
        let mut context = self.context();
        context.update(header);
        context.update(body);
        body.extend_from_slice(&context.sign().as_ref()[..TAG_BYTES]);
    }

    fn is_proved(&self, header: &[u8], said: &[u8], tag: &[u8]) -> bool {
        let mut context = self.context();
        context.update(header);
        context.update(said);
        let expected = context.sign();
        // In a time that does not tell how much of it is right.
        let differs = expected.as_ref()[..TAG_BYTES]
            .iter()
            .zip(tag)
            .fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
        tag.len() == TAG_BYTES && differs == 0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// What makes a port a member of its system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) system: String,
    pub(crate) key: Option<Key>,
}

impl Membership {
    /// How long the proof is that belongs behind a body.
    pub(crate) const fn tag_bytes(&self) -> usize {
        if self.key.is_some() { TAG_BYTES } else { 0 }
    }

    /// Completes a body whose header is this.
    pub(crate) fn sign(&self, header: &FrameHeader, body: &mut Vec<u8>) {
        if let Some(key) = &self.key {
            key.sign(&header.encode(), body);
        }
    }

    /// Whether `tag` proves what was said; without a key, anything does.
    pub(crate) fn is_proved(&self, header: &FrameHeader, said: &[u8], tag: &[u8]) -> bool {
        self.key.as_ref().is_none_or(|key| key.is_proved(&header.encode(), said, tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameFlags, Incarnation, Kind};

    fn member(key: Option<&[u8]>) -> Membership {
        Membership { system: String::new(), key: key.map(|key| Key::new(key).unwrap()) }
    }

    fn header() -> FrameHeader {
        let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
        header.sender = Incarnation(7);
        header
    }

    #[test]
    fn who_has_the_key_is_believed() {
        let one = member(Some(b"0123456789abcdef"));
        let mut body = b"edge".to_vec();
        one.sign(&header(), &mut body);
        let (said, tag) = body.split_at(4);
        assert_eq!(tag.len(), one.tag_bytes());
        assert!(one.is_proved(&header(), said, tag));
        assert!(!member(Some(b"0123456789abcdeF")).is_proved(&header(), said, tag));
        assert!(!one.is_proved(&header(), b"edgf", tag));
        let farewell = FrameHeader { flags: FrameFlags::BYE, ..header() };
        assert!(!one.is_proved(&farewell, said, tag), "the header is proved too");
        for length in 0..TAG_BYTES {
            assert!(!one.is_proved(&header(), said, &tag[..length]));
        }
    }

    #[test]
    fn the_proof_is_the_documented_one() {
        let key = Key::new(&[0x0b; 20]).unwrap();
        let mut body = b"There".to_vec();
        key.sign(b"Hi ", &mut body);
        // RFC 4231, case 1: HMAC-SHA-256 of "Hi There" under twenty times 0b.
        let expected = [
            0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b,
            0xf1, 0x2b,
        ];
        assert_eq!(body[5..], expected);
    }

    #[test]
    fn without_a_key_nothing_is_asked() {
        let none = member(None);
        let mut body = b"edge".to_vec();
        none.sign(&header(), &mut body);
        assert_eq!((&body[..], none.tag_bytes()), (&b"edge"[..], 0));
        assert!(none.is_proved(&header(), b"edge", b""));
    }

    #[test]
    fn a_key_is_not_short_and_not_shown() {
        let text = Key::new(b"secret").unwrap_err().to_string();
        assert!(text.contains("6 bytes") && !text.contains("secret"), "{text}");
        assert_eq!(format!("{:?}", member(Some(&[b'x'; 16])).key), "Some(Key(..))");
    }
}
