//! Who may see each item.

use tapeline_omm::pages::Sparse;

use super::entitlements::Guard;

/// What the images of items say of who may see them, by slot, as
/// [numbers](Guard::to_number); there is none before the first image that a policy asks
/// about.
#[derive(Debug)]
pub(super) struct Guards(Sparse<u32>);

impl Default for Guards {
    fn default() -> Self {
        Self(Sparse::of(Guard::Unknown.to_number()))
    }
}

impl Guards {
    /// That of an item.
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Guard {
        self.0.get(slot as usize).map_or(Guard::Unknown, Guard::from_number)
    }

    pub(super) fn set(&mut self, slot: u32, guard: Guard) {
        let (at, number) = (slot as usize, guard.to_number());
        if guard != Guard::Unknown {
            *self.0.entry(at) = number;
        } else if let Some(known) = self.0.get_mut(at) {
            *known = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_takes_no_memory_and_is_forgotten() {
        let mut guards = Guards::default();
        guards.set(5_000, Guard::Unknown);
        assert_eq!(guards.0.iter().count(), 0);
        guards.set(5_000, Guard::Bare);
        guards.set(70_000, Guard::Sealed);
        assert_eq!(
            [4_999, 5_000, 70_000].map(|slot| guards.get(slot)),
            [Guard::Unknown, Guard::Bare, Guard::Sealed]
        );
        guards.set(5_000, Guard::Unknown);
        assert_eq!(guards.get(5_000), Guard::Unknown);
    }
}
