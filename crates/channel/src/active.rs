//! The sessions that say something now.

use std::time::Duration;

use tapeline_time::Time;

use crate::SessionId;

/// Who said nothing for so long talks no more.
const SILENCE: Duration = Duration::from_millis(50);

/// Sessions that sent bytes lately, if they are few.
///
/// A busy loop reads them without asking the kernel whether they have anything,
/// and asks only now and then for all others: a server's mounts send almost
/// nothing, a hub's sources almost all the time.
#[derive(Debug, Default)]
pub(crate) struct ActiveSessions {
    ids: Vec<SessionId>,
    most: usize,
    /// Whose silence is looked at next.
    next: usize,
}

impl ActiveSessions {
    /// Up to `most` are few; of others one more is noted, to know that there
    /// are too many.
    pub(crate) fn new(most: usize) -> Self {
        Self { ids: Vec::with_capacity(most + 1), most, next: 0 }
    }

    /// Notes that a session sent bytes; whether it is on the list from now on.
    #[cold]
    pub(crate) fn add(&mut self, id: SessionId) -> bool {
        if self.ids.contains(&id) {
            // It has another socket now.
            return true;
        }
        let has_room = self.ids.len() <= self.most && self.most > 0;
        if has_room {
            self.ids.push(id);
        }
        has_room
    }

    /// All on the list.
    pub(crate) fn all(&self) -> &[SessionId] {
        &self.ids
    }

    /// All who talk; `None` if they are many.
    pub(crate) fn few(&self) -> Option<&[SessionId]> {
        (self.ids.len() <= self.most && self.most > 0).then_some(&self.ids)
    }

    /// Looks at one of them, another each time. It leaves the list if `heard_at`
    /// does not know it or tells of a moment too long ago; then it is returned.
    pub(crate) fn look(
        &mut self,
        now: Time,
        heard_at: impl FnOnce(SessionId) -> Option<Time>,
    ) -> Option<SessionId> {
        self.next = if self.next + 1 < self.ids.len() { self.next + 1 } else { 0 };
        let id = *self.ids.get(self.next)?;
        let talks = heard_at(id).is_some_and(|heard| now.since(heard) < SILENCE);
        (!talks).then(|| self.ids.swap_remove(self.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: u32) -> SessionId {
        SessionId { index, generation: 0 }
    }

    #[test]
    fn few_are_told_and_many_are_not() {
        let mut active = ActiveSessions::new(2);
        assert_eq!(active.few(), Some(&[][..]));
        assert!(active.add(id(1)) && active.add(id(2)));
        assert_eq!(active.few(), Some(&[id(1), id(2)][..]));
        assert!(active.add(id(3)));
        assert_eq!(active.few(), None);
        assert!(!active.add(id(4)), "one too many is enough to know");
        assert!(active.add(id(3)), "it is there");
        assert_eq!(active.all().len(), 3);
    }

    #[test]
    fn none_are_few_if_none_are_allowed() {
        let mut active = ActiveSessions::new(0);
        assert_eq!(active.few(), None);
        assert!(!active.add(id(1)));
    }

    #[test]
    fn the_silent_and_the_gone_leave_one_look_at_a_time() {
        let mut active = ActiveSessions::new(4);
        for index in 0..4 {
            active.add(id(index));
        }
        let now = Time::from_nanos(1_000_000_000);
        let heard_at = |id: SessionId| match id.index {
            0 => None,
            1 => Some(Time::ZERO),
            _ => Some(Time::from_nanos(999_000_000)),
        };
        let mut left: Vec<_> = (0..8).filter_map(|_| active.look(now, heard_at)).collect();
        left.sort();
        assert_eq!(left, [id(0), id(1)]);
        assert_eq!(active.few().map(<[_]>::len), Some(2));
    }

    #[test]
    fn nobody_is_looked_at_where_nobody_talks() {
        assert_eq!(ActiveSessions::new(4).look(Time::ZERO, |_| None), None);
    }
}
