//! Things by small numbers that are used again, but never mistaken.

use std::collections::VecDeque;

/// A place in a [`Slab`] and which of its users is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// A table of things that come and go. The keys of what is gone find nothing.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    /// Free places, the longest free first.
    free: VecDeque<u32>,
    len: usize,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    content: Option<T>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: VecDeque::new(), len: 0 }
    }

    /// How many things there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// One more than the highest index that was ever in use.
    pub(crate) fn bound(&self) -> u32 {
        self.places.len() as u32
    }

    pub(crate) fn insert(&mut self, content: T) -> Key {
        let index = self.free.pop_front().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, content: None });
            self.bound() - 1
        });
        let place = &mut self.places[index as usize];
        place.content = Some(content);
        self.len += 1;
        Key { index, generation: place.generation }
    }

    /// Puts a thing at the place that another table gave it. A table has its
    /// places either all from another one or all of its own, and things in given
    /// places are [retired](Self::retire) and not removed.
    pub(crate) fn insert_at(&mut self, key: Key, content: T) {
        let len = self.places.len().max(key.index as usize + 1);
        self.places.resize_with(len, || Place { generation: 0, content: None });
        let place = &mut self.places[key.index as usize];
        debug_assert!(place.content.is_none(), "the other table took out what was here");
        self.len += usize::from(place.content.is_none());
        *place = Place { generation: key.generation, content: Some(content) };
    }

    /// Takes a thing out. Its place is used again, its key is not.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let content = self.retire(key)?;
        self.release(key.index);
        Some(content)
    }

    /// Takes a thing out, whose place is used again once it is
    /// [released](Self::release).
    pub(crate) fn retire(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        let content = place.content.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.len -= 1;
        Some(content)
    }

    /// A place whose thing was [taken out](Self::retire) may be used again.
    pub(crate) fn release(&mut self, index: u32) {
        self.free.push_back(index);
    }

    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let place = self.places.get(key.index as usize)?;
        if place.generation == key.generation { place.content.as_ref() } else { None }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation == key.generation { place.content.as_mut() } else { None }
    }

    /// The key of what is at a place now.
    #[inline]
    pub(crate) fn key_at(&self, index: u32) -> Option<Key> {
        let place = self.places.get(index as usize)?;
        place.content.as_ref()?;
        Some(Key { index, generation: place.generation })
    }

    /// The keys of all that is there now, by index.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        (0..self.bound()).filter_map(|index| self.key_at(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_what_is_gone_finds_nothing_although_its_place_is_used_again() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(second.index, first.index);
        assert_eq!((slab.get(first), slab.get(second)), (None, Some(&'b')));
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn a_retired_place_is_used_again_when_it_is_released() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(slab.retire(first), Some('a'));
        assert_eq!((slab.retire(first), slab.get(first), slab.len()), (None, None, 0));
        assert_eq!(slab.insert('b').index, 1);
        slab.release(first.index);
        assert_eq!(slab.insert('c').index, first.index);
    }

    #[test]
    fn a_table_has_things_by_the_keys_of_another_one() {
        let mut other = Slab::new();
        let first = other.insert('a');
        let second = other.insert('b');
        let mut slab = Slab::new();
        slab.insert_at(second, 'B');
        assert_eq!((slab.get(first), slab.get(second), slab.len()), (None, Some(&'B'), 1));
        assert_eq!(slab.retire(second), Some('B'));
        other.remove(second);
        other.remove(first);
        let again = other.insert('c');
        assert_eq!(again.index, second.index);
        slab.insert_at(again, 'C');
        assert_eq!((slab.get(second), slab.get(again), slab.len()), (None, Some(&'C'), 1));
    }

    #[test]
    fn keys_are_listed_by_place() {
        let mut slab = Slab::new();
        let keys: Vec<_> = ('a'..'d').map(|content| slab.insert(content)).collect();
        slab.remove(keys[1]);
        assert_eq!(slab.keys().collect::<Vec<_>>(), [keys[0], keys[2]]);
        assert_eq!(slab.key_at(1), None);
    }
}
