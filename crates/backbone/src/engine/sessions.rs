//! By which session of the media driver the frames of a peer come.

use crate::frame::{FrameHeader, Incarnation, Kind};
use crate::presence::MAX_PEERS;

/// Whether a frame is presence, by its first byte: all that a frame costs here.
#[inline]
pub(super) fn is_presence(frame: &[u8]) -> bool {
    frame.first() == Some(&(Kind::Presence as u8))
}

/// The peers that said that they are there, each with its session, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Sessions(Vec<(Incarnation, i32)>);

impl Sessions {
    /// Takes note of presence. A peer keeps its session for as long as it is the same
    /// one, so that `session` is asked for once.
    #[cold]
    pub(super) fn note(&mut self, presence: &[u8], session: impl FnOnce() -> Option<i32>) {
        let Some((header, _)) = FrameHeader::decode(presence) else { return };
        if self.of(header.sender).is_some() {
            return;
        }
        let Some(session) = session() else { return };
        if self.0.len() == MAX_PEERS {
            self.0.remove(0);
        }
        self.0.push((header.sender, session));
    }

    pub(super) fn of(&self, peer: Incarnation) -> Option<i32> {
        self.0.iter().find(|(known, _)| *known == peer).map(|(_, session)| *session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(sender: u32) -> Vec<u8> {
        let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
        header.sender = Incarnation(sender);
        header.encode().to_vec()
    }

    #[test]
    fn a_peer_is_known_by_the_session_of_its_first_presence() {
        let mut sessions = Sessions::default();
        let frame = presence(7);
        assert!(is_presence(&frame) && !is_presence(&[Kind::Item as u8]) && !is_presence(&[]));
        sessions.note(&frame, || None);
        assert_eq!(sessions.of(Incarnation(7)), None);
        sessions.note(&frame, || Some(-5));
        sessions.note(&frame, || panic!("it is known"));
        assert_eq!(sessions.of(Incarnation(7)), Some(-5));
        sessions.note(&frame[..3], || panic!("it is no frame"));
    }

    #[test]
    fn the_oldest_make_room() {
        let mut sessions = Sessions::default();
        for number in 0..=MAX_PEERS as u32 {
            sessions.note(&presence(number + 1), || Some(number as i32));
        }
        assert_eq!(sessions.0.len(), MAX_PEERS);
        assert_eq!((sessions.of(Incarnation(1)), sessions.of(Incarnation(2))), (None, Some(1)));
    }
}
