//! An index of items by their keys.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use crate::{ItemKeyRef, SeededHash};

/// How many tables an index has.
const SHARDS: usize = 2048;

/// Numbers of items by the keys of these. Who has the items has the keys: the
/// index holds six bytes an item, and asks for the key of a number only where
/// it is most likely the one that is looked for, since looking at an item that
/// has not been used lately takes longer than all else here.
///
/// A table that grows moves all that is in it. One of 500,000 would take some
/// milliseconds; these are many small ones, of uneven size, so that no request
/// waits while all numbers find their new places.
#[derive(Debug)]
pub struct KeyIndex {
    tables: Box<[HashTable<Entry>]>,
    len: usize,
}

/// Six bytes, of which there is one for each item.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(2))]
struct Entry {
    /// Of the part of the key's hash that does not choose the table.
    hash: u16,
    number: u32,
}

impl Entry {
    /// The hash by which a table finds its places, with the lowest bits, and
    /// compares, with the highest seven: the same bits only in tables of more
    /// than 512 places, which a million items do not fill.
    const fn place(&self) -> u64 {
        self.hash as u64 * 0x0001_0001_0001_0001
    }
}

impl Default for KeyIndex {
    fn default() -> Self {
        Self { tables: (0..SHARDS).map(|_| HashTable::new()).collect(), len: 0 }
    }
}

/// What a key is looked up by, in any index of this process: worked out once
/// for all that is done by the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(u64);

impl KeyHash {
    /// That of a key.
    pub fn of(key: &ItemKeyRef<'_>) -> Self {
        Self(SeededHash.hash_one(key))
    }

    /// As a number: another one in each run of the program.
    pub const fn to_number(self) -> u64 {
        self.0
    }

    /// The table that has the key, and the number's entry there. The last table
    /// gets twice as many keys as the first, and those between in proportion:
    /// tables of one size would all grow within a few turns.
    fn place_of(self, number: u32) -> (usize, Entry) {
        const SQUARE: u64 = (SHARDS * SHARDS) as u64;
        let shard = (SQUARE + ((3 * SQUARE * (self.0 >> 32)) >> 32)).isqrt() as usize - SHARDS;
        (shard, Entry { hash: self.0 as u16, number })
    }
}

impl KeyIndex {
    /// How many numbers it has.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of a key with this hash. `key_of` has the key of each number
    /// that is in the index.
    pub fn find<'a>(
        &self,
        hash: KeyHash,
        key: &ItemKeyRef<'_>,
        key_of: impl Fn(u32) -> Option<ItemKeyRef<'a>>,
    ) -> Option<u32> {
        // Few servers have snapshots open: to ask for one costs nothing there.
        if self.is_empty() {
            return None;
        }
        let (shard, wanted) = hash.place_of(0);
        let is_it = |entry: &Entry| {
            entry.hash == wanted.hash && key_of(entry.number).is_some_and(|other| other == *key)
        };
        self.tables[shard].find(wanted.place(), is_it).map(|entry| entry.number)
    }

    /// Adds a number by the hash of its key, which no other one has.
    pub fn insert(&mut self, hash: KeyHash, number: u32) {
        let (shard, entry) = hash.place_of(number);
        self.tables[shard].insert_unique(entry.place(), entry, Entry::place);
        self.len += 1;
    }

    /// Takes out a number, by the hash of its key.
    pub fn remove(&mut self, hash: KeyHash, number: u32) {
        let (shard, entry) = hash.place_of(number);
        let found = self.tables[shard].find_entry(entry.place(), |other| other.number == number);
        debug_assert!(found.is_ok(), "number {number} is not in the index by its key");
        if let Ok(entry) = found {
            entry.remove();
            self.len -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_rwf::Domain;

    use super::*;

    fn key(name: &str) -> ItemKeyRef<'_> {
        ItemKeyRef::item(Domain::MARKET_PRICE, 1, name)
    }

    #[derive(Default)]
    struct Items {
        names: Vec<String>,
        index: KeyIndex,
    }

    impl Items {
        fn find(&self, name: &str) -> Option<u32> {
            let key_of = |number: u32| Some(key(&self.names[number as usize]));
            self.index.find(KeyHash::of(&key(name)), &key(name), key_of)
        }

        fn insert(&mut self, name: String) {
            let number = self.names.len() as u32;
            self.names.push(name);
            self.index.insert(KeyHash::of(&key(&self.names[number as usize])), number);
        }

        fn remove(&mut self, number: u32) {
            self.index.remove(KeyHash::of(&key(&self.names[number as usize])), number);
        }
    }

    #[test]
    fn it_grows_in_small_steps_which_are_far_apart() {
        let mut items = Items::default();
        let (mut of_run, mut most_of_run, mut most) = (0, 0, 0);
        for number in 0..200_000 {
            let name = format!("ITEM{number}");
            let (shard, _) = KeyHash::of(&key(&name)).place_of(number);
            let table = |items: &Items| items.index.tables[shard].capacity();
            let (before, moved) = (table(&items), items.index.tables[shard].len());
            items.insert(name);
            // Not before every table has grown to some size; each grows once or
            // twice after that.
            if number > 70_000 && table(&items) != before {
                of_run += moved;
                most = most.max(moved);
            }
            if number % 256 == 0 {
                most_of_run = most_of_run.max(std::mem::take(&mut of_run));
            }
        }
        assert!(most <= 112, "{most} keys with one item");
        assert!(most_of_run <= 256 * 8, "{most_of_run} keys with 256 items");
        let sizes: Vec<_> = items.index.tables.iter().map(HashTable::len).collect();
        let (first, last) = sizes.split_at(SHARDS / 2);
        let (first, last) = (first.iter().sum::<usize>(), last.iter().sum::<usize>());
        assert!(last > first && last < 2 * first, "{first}, {last}");
    }

    #[test]
    fn a_number_is_found_by_its_key_until_it_is_removed() {
        let mut items = Items::default();
        assert!(items.index.is_empty());
        (0..5_000).for_each(|number| items.insert(format!("ITEM{number}")));
        for number in (0..5_000).rev() {
            let name = format!("ITEM{number}");
            assert_eq!(items.find(&name), Some(number));
            items.remove(number);
            assert_eq!(items.find(&name), None);
            assert_eq!(items.index.len(), number as usize);
        }
    }

    #[test]
    fn keys_that_share_table_and_hash_are_told_apart() {
        let mut items = Items::default();
        // Of so many, some 150 pairs share the 27 bits, whatever the seed is.
        (0..200_000).for_each(|number| items.insert(format!("ITEM{number}")));
        let is_wrong = |number: &u32| items.find(&format!("ITEM{number}")) != Some(*number);
        assert_eq!((0..200_000).find(is_wrong), None);
    }
}
