//! Who wants an item.

use std::ops::{Deref, DerefMut};
use std::slice::{Iter, IterMut};

use super::item::Interest;

/// The wishes of servers for an item. Most items have one, which is kept in place:
/// where a million items are over, their small pieces of memory would all go back to
/// the allocator, which puts them in order in some later turn.
#[derive(Debug, Default)]
pub(crate) enum Interests {
    /// Nobody's.
    #[default]
    None,
    /// That of one server.
    One([Interest; 1]),
    /// Those of as many as there were.
    Many(Vec<Interest>),
}

impl Interests {
    /// Adds one behind all others.
    pub(crate) fn push(&mut self, interest: Interest) {
        *self = match std::mem::take(self) {
            Self::None => Self::One([interest]),
            Self::One([first]) => Self::Many(vec![first, interest]),
            Self::Many(mut all) => {
                all.push(interest);
                Self::Many(all)
            }
        };
    }

    /// Keeps those of which this is true, in their order.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&Interest) -> bool) {
        if let Self::Many(all) = self {
            all.retain(&mut is_kept);
        } else if !self.iter().all(is_kept) {
            *self = Self::None;
        }
    }
}

impl From<Vec<Interest>> for Interests {
    fn from(interests: Vec<Interest>) -> Self {
        let mut all = Self::None;
        for interest in interests {
            all.push(interest);
        }
        all
    }
}

impl Deref for Interests {
    type Target = [Interest];

    fn deref(&self) -> &[Interest] {
        match self {
            Self::None => &[],
            Self::One(one) => one,
            Self::Many(all) => all,
        }
    }
}

impl DerefMut for Interests {
    fn deref_mut(&mut self) -> &mut [Interest] {
        match self {
            Self::None => &mut [],
            Self::One(one) => one,
            Self::Many(all) => all,
        }
    }
}

impl<'a> IntoIterator for &'a Interests {
    type Item = &'a Interest;
    type IntoIter = Iter<'a, Interest>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Interests {
    type Item = &'a mut Interest;
    type IntoIter = IterMut<'a, Interest>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use tapeline_rwf::Priority;

    use super::*;
    use crate::core::item::Stage;

    fn of(server: u32) -> Interest {
        Interest {
            server,
            request: server,
            snapshot: false,
            paused: false,
            priority: Priority::default(),
            accepted: true,
            stage: Stage::Live,
        }
    }

    #[test]
    fn interests_are_what_a_vector_has() {
        let (mut interests, mut vector) = (Interests::default(), Vec::new());
        for step in 0..1_000_u32 {
            // Up to three and down to none, again and again.
            if step * 7 % 5 < 2 && interests.len() < 3 {
                interests.push(of(step));
                vector.push(step);
            } else {
                let gone = vector.get(step as usize % 3).copied();
                interests.retain(|one| Some(one.server) != gone);
                vector.retain(|one| Some(*one) != gone);
            }
            for one in &mut interests {
                one.request += 1;
            }
            let there: Vec<_> = interests.iter().map(|one| one.server).collect();
            assert_eq!(there, vector, "{step}");
        }
        for count in 0..4 {
            let all = Interests::from((0..count).map(of).collect::<Vec<_>>());
            assert!(all.iter().map(|one| one.server).eq(0..count));
        }
    }

    #[test]
    fn one_takes_no_memory_of_its_own() {
        assert_eq!(size_of::<Interests>(), size_of::<Vec<Interest>>());
        let mut interests = Interests::default();
        interests.push(of(1));
        assert!(matches!(interests, Interests::One(_)));
        interests.push(of(2));
        interests.retain(|_| false);
        assert!(interests.is_empty());
    }
}
