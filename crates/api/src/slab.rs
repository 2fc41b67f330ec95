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
        match self.free.pop_front() {
            Some(index) => self.fill(index, content),
            None => self.push(content),
        }
    }

    fn push(&mut self, content: T) -> Key {
        let index = self.reserve();
        self.fill(index, content)
    }

    fn reserve(&mut self) -> u32 {
        let index = self.bound();
        self.places.push(Place { generation: 0, content: None });
        index
    }

    /// Reserves places in a row, free ones if there are so many in a row;
    /// returns the first. Each is to be [filled](Self::fill).
    pub(crate) fn reserve_run(&mut self, len: u32) -> u32 {
        if let Some(first) = self.free_run(len) {
            self.free.retain(|index| !(first..first + len).contains(index));
            return first;
        }
        let first = self.bound();
        for _ in 0..len {
            self.reserve();
        }
        first
    }

    fn free_run(&self, len: u32) -> Option<u32> {
        if len == 0 || self.free.len() < len as usize {
            return None;
        }
        let mut free: Vec<u32> = self.free.iter().copied().collect();
        free.sort_unstable();
        let is_run = |run: &&[u32]| run[run.len() - 1] - run[0] == len - 1;
        free.windows(len as usize).find(is_run).map(|run| run[0])
    }

    /// Puts something into a place that was reserved.
    pub(crate) fn fill(&mut self, index: u32, content: T) -> Key {
        let place = &mut self.places[index as usize];
        place.content = Some(content);
        self.len += 1;
        Key { index, generation: place.generation }
    }

    /// Takes a thing out. Its place is used again after
    /// [`release`](Self::release) only: the peer may still mean the old user
    /// by its number.
    pub(crate) fn take(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        let content = place.content.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.len -= 1;
        Some(content)
    }

    /// Lets a place that was [taken](Self::take) be used again.
    pub(crate) fn release(&mut self, index: u32) {
        self.free.push_back(index);
    }

    /// Takes a thing out, its place free at once.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let content = self.take(key)?;
        self.release(key.index);
        Some(content)
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
    fn places_in_a_row_are_used_again() {
        let mut slab = Slab::new();
        let keys: Vec<_> = ('a'..'f').map(|content| slab.insert(content)).collect();
        for at in [4, 1, 2] {
            slab.remove(keys[at]);
        }
        assert_eq!(slab.reserve_run(2), 1);
        assert_eq!(slab.reserve_run(2), 5, "only place 4 is free");
        assert_eq!(slab.insert('g').index, 4);
        assert_eq!(slab.fill(1, 'h'), Key { index: 1, generation: 1 });
    }

    #[test]
    fn a_place_that_was_not_released_is_left_alone() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        slab.take(first);
        let second = slab.insert('b');
        assert_ne!(second.index, first.index);
        slab.release(first.index);
        assert_eq!(slab.insert('c').index, first.index);
        assert_eq!(slab.keys().count(), 2);
    }
}
