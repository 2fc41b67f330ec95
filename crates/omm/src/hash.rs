//! How tables hash what peers choose: names of items and users, ids of streams.
//!
//! Whoever knows how a table hashes can choose names that all fall into the
//! same place, and each look-up takes as long as there are names. What is
//! hashed therefore begins with a seed that nobody outside of the process
//! knows. No result depends on it, as the order of these tables is never looked
//! at.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::OnceLock;

static OF_PROCESS: OnceLock<HashSeed> = OnceLock::new();

/// A seed for hashes. As a [`BuildHasher`] it makes hashes that begin with it.
#[derive(Clone, Debug)]
pub struct HashSeed {
    /// A hash that has taken in the seed already, so that it costs nothing more.
    begun: DefaultHasher,
}

impl HashSeed {
    /// A seed that is the same in each run.
    pub fn fixed(words: [u64; 2]) -> Self {
        let mut begun = DefaultHasher::new();
        for word in words {
            begun.write_u64(word);
        }
        Self { begun }
    }

    /// One that the system draws, at random.
    pub fn drawn() -> Self {
        let random = RandomState::new();
        Self::fixed([0_u8, 1].map(|number| random.hash_one(number)))
    }

    /// The seed of this process, drawn at its first use.
    #[inline]
    pub fn of_process() -> &'static Self {
        OF_PROCESS.get_or_init(Self::drawn)
    }

    /// Makes this the seed of the process, for runs that are to be the same to
    /// the last instruction. Whether it is: not if one was in use already.
    pub fn set_for_process(self) -> bool {
        OF_PROCESS.set(self).is_ok()
    }
}

impl BuildHasher for HashSeed {
    type Hasher = DefaultHasher;

    #[inline]
    fn build_hasher(&self) -> DefaultHasher {
        self.begun.clone()
    }
}

/// Makes hashes with the [seed of the process](HashSeed::of_process), for
/// tables whose keys are chosen by peers. It takes no room in them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeededHash;

impl BuildHasher for SeededHash {
    type Hasher = DefaultHasher;

    #[inline]
    fn build_hasher(&self) -> DefaultHasher {
        HashSeed::of_process().build_hasher()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tapeline_rwf::Domain;

    use super::*;
    use crate::{AsItemKey, ItemKeyRef};

    fn hash(seed: &HashSeed, name: &str) -> u64 {
        let key = ItemKeyRef::item(Domain::MARKET_PRICE, 1, name);
        seed.hash_one(&key as &dyn AsItemKey)
    }

    /// How many names of a list share the place that most of them have, of so
    /// many places.
    fn most_in_one_place(seed: &HashSeed, names: &[String], places: u64) -> usize {
        let mut counts = BTreeMap::new();
        for name in names {
            *counts.entry(hash(seed, name) % places).or_insert(0) += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }

    #[test]
    fn names_that_collide_with_one_seed_do_not_with_another() {
        const PLACES: u64 = 1 << 10;
        let known = HashSeed::fixed([1, 2]);
        let colliding: Vec<_> = (0..200_000)
            .map(|number| format!("NAME{number}"))
            .filter(|name| hash(&known, name).is_multiple_of(PLACES))
            .collect();
        assert!(colliding.len() > 100, "{}", colliding.len());
        assert_eq!(most_in_one_place(&known, &colliding, PLACES), colliding.len());
        for other in [HashSeed::fixed([1, 3]), HashSeed::fixed([2, 2]), HashSeed::drawn()] {
            let most = most_in_one_place(&other, &colliding, PLACES);
            assert!(most < 10, "{most} of {}", colliding.len());
        }
    }

    #[test]
    fn each_draw_is_another_and_the_process_has_one() {
        let draws = [HashSeed::drawn(), HashSeed::drawn()].map(|seed| hash(&seed, "TRI.N"));
        assert_ne!(draws[0], draws[1]);
        let of_process = hash(HashSeed::of_process(), "TRI.N");
        assert!(!HashSeed::fixed([1, 2]).set_for_process(), "it is in use");
        assert_eq!(hash(HashSeed::of_process(), "TRI.N"), of_process);
        assert_eq!(SeededHash.hash_one("TRI.N"), HashSeed::of_process().hash_one("TRI.N"));
        assert_ne!(of_process, hash(&HashSeed::fixed([0, 0]), "TRI.N"));
    }
}
