//! Images that hubs were asked for, and which of their lists tell what became of them.
//!
//! A list is written when the hub reads the request for it, and is read here behind all
//! that was sent before it. So it knows of an image that was asked for before the list
//! was, and not of one asked for later:
//!
//! ```text
//!  hub                                       server
//!   |  <----------------- HeldRequest 1 ----- |
//!   |  Held 1 - - -   <---- Reissue 17 ------ |
//!   |  Item 17: image - - -  - - - Held 1 --> |  no image is due, it says: it was not yet
//!   |                - - - Item 17: image --> |
//! ```
//!
//! To a server that is far behind, lists and images come seconds late. If each list of
//! before had an image asked for again that is under way behind it, more would come than
//! the server can read, and be lost, without end.

use core::num::NonZeroU8;

/// Whether an image was asked for that has not come, and after which round of lists. In
/// one byte, as each item has it: rounds are counted round and round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ImageDue(Option<NonZeroU8>);

/// So many rounds are told from each other.
const ROUNDS: u32 = u8::MAX as u32;

/// The round of pages that were not asked for by a list's number: a hub has compared what
/// is wanted with what it has.
const UNASKED: u32 = 0;

impl ImageDue {
    pub(super) const NONE: Self = Self(None);

    /// It was asked for when this was the latest round.
    pub(super) const fn after(round: u32) -> Self {
        Self(NonZeroU8::MIN.checked_add((round % ROUNDS) as u8))
    }

    pub(super) const fn is_due(self) -> bool {
        self.0.is_some()
    }

    /// Whether it was asked for before its hub wrote the list of a round.
    pub(super) fn is_known_to(self, round: u32) -> bool {
        let Some((asked, listed)) = self.0.zip(Self::after(round).0) else { return true };
        let later = (ROUNDS + u32::from(listed.get()) - u32::from(asked.get())) % ROUNDS;
        round == UNASKED || (1..=ROUNDS / 2).contains(&later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_to_lists_that_are_asked_for_later() {
        for asked in [0, 1, 100, 254, 255, 256, 1_000_000] {
            let due = ImageDue::after(asked);
            assert!(due.is_due());
            for (later, is_known) in [(0, false), (1, true), (127, true), (128, false)] {
                let round = asked + later;
                assert_eq!(due.is_known_to(round), round == 0 || is_known, "{asked} {later}");
            }
            for earlier in 1..asked.min(100) {
                assert!(!due.is_known_to(asked - earlier), "{asked} {earlier}");
            }
            assert!(due.is_known_to(UNASKED));
        }
        assert!(!ImageDue::NONE.is_due() && ImageDue::NONE.is_known_to(3));
        assert_eq!(size_of::<ImageDue>(), size_of::<bool>(), "items are many");
    }
}
