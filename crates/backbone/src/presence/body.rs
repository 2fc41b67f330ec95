//! The body of a presence frame.

use super::clocks::Moments;
use crate::frame::{Incarnation, Role};

/// The version of this layout and of the frames: a body of another one is not
/// read, as its sender would take answers for others, or for none.
const VERSION: u8 = 4;
const HEAD_BYTES: usize = 6;
const SEEN_BYTES: usize = 5;

/// The longest name of a port or a system, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// What a port says about itself.
///
/// ```text
///  0         1      2        3            4          5       6      6 + n    6 + n + m
///  | version | role | name n | peer count | system m | tag t | name | system | peer count x | incarnation | link | moments | tag
///    u8 = 3    u8     u8       u8           u8         u8      UTF-8  UTF-8                   u32 LE        u8     28 bytes  t bytes
/// ```
///
/// Role is 1 for a hub and 2 for a server. The system is that of which it is a
/// member. The peers are those that the sender hears, each with the number that
/// the sender gave to this meeting. The [moments](Moments) tell how far its clock is
/// from that of others. The tag proves the membership, where the
/// system has a key: it is over the header of the frame and all before the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Presence<'a> {
    pub(crate) role: Role,
    pub(crate) name: &'a str,
    pub(crate) system: &'a str,
    seen: &'a [u8],
    pub(crate) moments: Moments,
    /// All before the tag.
    pub(crate) said: &'a [u8],
    pub(crate) tag: &'a [u8],
}

/// A peer that is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) peer: Incarnation,
    pub(crate) link: u8,
}

impl<'a> Presence<'a> {
    /// `None` unless every part of the layout is there; bytes behind it are
    /// for later versions.
    pub(crate) fn decode(body: &'a [u8]) -> Option<Self> {
        let (head, rest) = body.split_first_chunk::<HEAD_BYTES>()?;
        let [version, role, name_bytes, count, system_bytes, tag_bytes] = *head;
        let [name_bytes, system_bytes, tag_bytes] =
            [name_bytes, system_bytes, tag_bytes].map(usize::from);
        if version != VERSION || name_bytes.max(system_bytes) > MAX_NAME_BYTES {
            return None;
        }
        let (name, rest) = rest.split_at_checked(name_bytes)?;
        let (system, rest) = rest.split_at_checked(system_bytes)?;
        let (seen, rest) = rest.split_at_checked(usize::from(count) * SEEN_BYTES)?;
        let (moments, rest) = rest.split_first_chunk::<{ Moments::BYTES }>()?;
        let moments = Moments::decode(moments);
        let tag = rest.get(..tag_bytes)?;
        let said = &body[..body.len() - rest.len()];
        let [name, system] = [name, system].map(|text| std::str::from_utf8(text).ok());
        let role = Role::from_wire(role)?;
        Some(Self { role, name: name?, system: system?, seen, moments, said, tag })
    }

    /// The number that the sender gave to its meeting with `peer`; 0 if it
    /// does not hear it.
    pub(crate) fn link_to(&self, peer: Incarnation) -> u8 {
        let wanted = peer.0.to_le_bytes();
        let mut seen = self.seen.chunks_exact(SEEN_BYTES);
        seen.find(|entry| entry[..4] == wanted).map_or(0, |entry| entry[4])
    }
}

/// What a port is called, and as a member of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    pub(crate) role: Role,
    pub(crate) name: &'a str,
    pub(crate) system: &'a str,
    /// How long the tag is that will be appended.
    pub(crate) tag_bytes: usize,
    pub(crate) moments: Moments,
}

/// Writes a body, but for its tag, over what `out` held.
pub(crate) fn write_presence(out: &mut Vec<u8>, said: &Said<'_>, seen: impl Iterator<Item = Seen>) {
    let (name, system) = (cut(said.name), cut(said.system));
    let lengths = [name.len() as u8, 0, system.len() as u8, said.tag_bytes as u8];
    out.clear();
    out.extend_from_slice(&[VERSION, said.role.to_wire()]);
    out.extend_from_slice(&lengths);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(system.as_bytes());
    let mut count = 0;
    for seen in seen.take(usize::from(u8::MAX)) {
        out.extend_from_slice(&seen.peer.0.to_le_bytes());
        out.push(seen.link);
        count += 1;
    }
    out[3] = count;
    out.extend_from_slice(&said.moments.encode());
}

/// The longest prefix of whole characters that a body carries.
fn cut(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: u32, link: u8) -> Seen {
        Seen { peer: Incarnation(peer), link }
    }

    fn body(name: &str, peers: &[Seen]) -> Vec<u8> {
        let mut out = vec![9; 3];
        let moments = Moments { sent_ns: 6, ..Moments::default() };
        let said = Said { role: Role::Server, name, system: "eu", tag_bytes: 2, moments };
        write_presence(&mut out, &said, peers.iter().copied());
        out.extend_from_slice(b"TT");
        out
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let bytes = body("edge", &[seen(0x0403_0201, 5)]);
        assert_eq!(bytes[..6], [4, 2, 4, 1, 2, 2]);
        assert_eq!(bytes[6..17], *b"edgeeu\x01\x02\x03\x04\x05");
        let moments = Moments { sent_ns: 6, ..Moments::default() };
        assert_eq!(bytes[17..], [&moments.encode()[..], b"TT"].concat());
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = body("edge-1", &[seen(7, 1), seen(8, 255)]);
        let presence = Presence::decode(&bytes).unwrap();
        assert_eq!((presence.role, presence.name), (Role::Server, "edge-1"));
        assert_eq!(presence.moments.sent_ns, 6);
        assert_eq!((presence.system, presence.tag), ("eu", &b"TT"[..]));
        assert_eq!(presence.said, &bytes[..bytes.len() - 2]);
        let links = [7, 8, 9].map(|peer| presence.link_to(Incarnation(peer)));
        assert_eq!(links, [1, 255, 0]);
    }

    #[test]
    fn no_prefix_of_a_body_is_a_body() {
        let bytes = body("edge", &[seen(7, 1)]);
        for length in 0..bytes.len() {
            assert_eq!(Presence::decode(&bytes[..length]), None, "{length}");
        }
    }

    #[test]
    fn other_versions_roles_and_names_that_are_no_text_are_refused() {
        let good = body("edge", &[]);
        for (at, byte) in [(0, 1), (1, 0), (1, 3), (6, 0xff), (10, 0xff), (5, 3)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(Presence::decode(&bad), None, "byte {at} = {byte}");
        }
        let mut longer = good;
        longer.push(0);
        assert!(Presence::decode(&longer).is_some());
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let name = "é".repeat(40);
        let bytes = body(&name, &[seen(7, 1)]);
        let presence = Presence::decode(&bytes).unwrap();
        assert_eq!(presence.name, "é".repeat(32));
        let odd = format!("x{name}");
        assert_eq!(Presence::decode(&body(&odd, &[])).unwrap().name.len(), 63);
    }

    #[test]
    fn more_peers_than_a_body_counts_are_left_out() {
        let many: Vec<_> = (1..=300).map(|peer| seen(peer, 1)).collect();
        let bytes = body("", &many);
        let presence = Presence::decode(&bytes).unwrap();
        assert_eq!(presence.link_to(Incarnation(255)), 1);
        assert_eq!(presence.link_to(Incarnation(256)), 0);
    }
}
