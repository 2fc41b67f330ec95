//! How sending went: who did not take a message as they should.

use tapeline_channel::{Sent, SessionId};

use super::Core;
use crate::Outputs;

const BEYOND_POOL: &str =
    "the outputs of all mounts are full together, and this one reads the least of its own";

/// Sessions that did not take a message as they should, to be dealt with when
/// the event is handled.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// Their output is beyond its threshold: they get what is merged.
    pub(super) slow: Vec<SessionId>,
    /// They are to be cut, for a reason.
    pub(super) doomed: Vec<(SessionId, &'static str)>,
}

impl Trouble {
    /// Whether there is none.
    #[inline]
    pub(super) const fn is_none(&self) -> bool {
        self.slow.is_empty() && self.doomed.is_empty()
    }

    /// Takes note of how sending went. Whether the message is on its way.
    #[inline]
    pub(super) fn note(&mut self, session: SessionId, sent: Sent) -> bool {
        if sent == Sent::Queued {
            return true;
        }
        self.note_trouble(session, sent)
    }

    #[cold]
    fn note_trouble(&mut self, session: SessionId, sent: Sent) -> bool {
        match sent {
            Sent::Queued => true,
            Sent::Slow => {
                self.slow.push(session);
                true
            }
            Sent::Full => {
                self.doomed.push((session, "the mount does not read: its output is full"));
                false
            }
            // It ends already; its end will be told. What is too large for a
            // session is no fault of the mount: the item is over before that.
            Sent::Gone | Sent::TooLarge => false,
        }
    }
}

impl Core {
    /// A mount is cut, as the outputs of all have too much together.
    pub(super) fn cut_for_pool<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        if self.mounts.get(session).is_some() {
            self.statistics.mounts_cut_for_pool += 1;
            self.cut(session, BEYOND_POOL, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_session_has_the_message_and_a_full_one_is_to_be_cut() {
        let mut trouble = Trouble::default();
        let session = |index| SessionId { index, generation: 1 };
        let sent = [Sent::Queued, Sent::Slow, Sent::Full, Sent::Gone, Sent::TooLarge];
        let on_their_way: Vec<_> = sent
            .into_iter()
            .enumerate()
            .map(|(index, sent)| trouble.note(session(index as u32), sent))
            .collect();
        assert_eq!(on_their_way, [true, true, false, false, false]);
        assert_eq!(trouble.slow, [session(1)]);
        let doomed: Vec<_> = trouble.doomed.iter().map(|(session, _)| *session).collect();
        assert_eq!(doomed, [session(2)]);
    }
}
