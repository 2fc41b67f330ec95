//! Sources of a mirrored service that number what they send from one origin: what two of
//! them have of an item is told apart by the last numbers.
//!
//! ```text
//!  standby is   servers are sent            of its updates
//!  level        nothing                     all go on
//!  behind       nothing                     those that they had are dropped
//!  ahead        its image                   all go on
//! ```

use std::cmp::Ordering;
use std::collections::BTreeMap;

use tapeline_cache::Image;
use tapeline_planted::planted;
use tapeline_rwf::UpdateMsg;

use super::super::Core;

/// Items whose source is behind what servers have, and the last number that they have.
#[derive(Debug, Default)]
pub(in crate::core) struct Repeats(BTreeMap<u32, u32>);

/// How one number stands to another: numbers go round.
fn order(one: u32, other: u32) -> Ordering {
    one.wrapping_sub(other).cast_signed().cmp(&0)
}

impl Core {
    /// How what a standby has of an item stands to what servers have, by the numbers, if
    /// its service has such numbers.
    pub(super) fn standing(&self, id: u32, image: &Image) -> Option<Ordering> {
        let item = self.items.get(id)?;
        let known = self.services.get(item.service)?;
        let mirrored = known.is_mirrored() && known.mirroring.has_shared_numbers;
        let had = item.image.as_ref().filter(|_| mirrored)?.seq_num()?;
        Some(order(image.seq_num()?, had))
    }

    /// Updates of an item that servers had from another source are dropped from now on.
    pub(super) fn drop_repeats(&mut self, id: u32) {
        let had = self.items.get(id).and_then(|item| item.image.as_ref()?.seq_num());
        if let Some(had) = had {
            self.repeats.0.insert(id, had);
        }
    }

    /// Whether servers had an update from the source before.
    pub(in crate::core) fn repeats(&mut self, id: u32, update: &UpdateMsg<'_>) -> bool {
        let Some(had) = self.repeats.0.get(&id).filter(|_| !planted!(PassedRepeat)) else {
            return false;
        };
        if update.seq_num.is_some_and(|number| order(number, *had).is_le()) {
            self.counters.mirror_repeats += 1;
            return true;
        }
        self.no_repeats(id);
        false
    }

    /// What comes of an item from now on is new to servers.
    pub(in crate::core) fn no_repeats(&mut self, id: u32) {
        self.repeats.0.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_round() {
        assert_eq!(order(7, 7), Ordering::Equal);
        assert_eq!((order(6, 7), order(7, 6)), (Ordering::Less, Ordering::Greater));
        assert_eq!(order(0, u32::MAX), Ordering::Greater);
        assert_eq!(order(u32::MAX, 0), Ordering::Less);
    }
}
