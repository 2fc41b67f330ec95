//! The open streams of one source: from stream id to item, and which ids are
//! free.

use std::collections::HashMap;

use tapeline_omm::SeededHash;

use tapeline_omm::pages::{Line, Sparse};

const NONE: u32 = u32::MAX;

/// Ids nearer to zero than this are looked up by index.
const DENSE_IDS: u32 = 1 << 20;

/// From stream id to item. Providers count their ids from zero, downwards or
/// upwards, so a table by index serves the tick path; whoever does not is
/// looked up by hash.
#[derive(Debug)]
pub(crate) struct StreamTable {
    /// By the id folded: 0, −1, 1, −2, 2, and so on.
    dense: Sparse<u32>,
    sparse: HashMap<i32, u32, SeededHash>,
}

impl Default for StreamTable {
    fn default() -> Self {
        Self { dense: Sparse::of(NONE), sparse: HashMap::default() }
    }
}

impl StreamTable {
    /// The place of an id in the dense table, if it has one.
    #[inline]
    fn place(stream_id: i32) -> Option<usize> {
        let folded = ((stream_id << 1) ^ (stream_id >> 31)) as u32;
        (stream_id.unsigned_abs() < DENSE_IDS).then_some(folded as usize)
    }

    /// The item of a stream.
    #[inline]
    pub(crate) fn get(&self, stream_id: i32) -> Option<u32> {
        match Self::place(stream_id) {
            Some(place) => self.dense.get(place).filter(|item| *item != NONE),
            None => self.sparse.get(&stream_id).copied(),
        }
    }

    pub(crate) fn insert(&mut self, stream_id: i32, item: u32) {
        let Some(place) = Self::place(stream_id) else {
            self.sparse.insert(stream_id, item);
            return;
        };
        *self.dense.entry(place) = item;
    }

    pub(crate) fn remove(&mut self, stream_id: i32) {
        match Self::place(stream_id) {
            Some(place) => {
                if let Some(item) = self.dense.get_mut(place) {
                    *item = NONE;
                }
            }
            None => {
                self.sparse.remove(&stream_id);
            }
        }
    }

    /// All items, in an order that depends on the ids alone.
    #[cfg(test)]
    fn items(&self) -> Vec<u32> {
        let places = 0..2 * DENSE_IDS as usize;
        let mut items: Vec<_> =
            places.filter_map(|place| self.dense.get(place)).filter(|item| *item != NONE).collect();
        let mut sparse: Vec<_> = self.sparse.iter().collect();
        sparse.sort_unstable();
        items.extend(sparse.into_iter().map(|(_, item)| *item));
        items
    }

    pub(crate) fn clear(&mut self) {
        self.dense.clear();
        self.sparse.clear();
    }
}

/// The stream of the login on the connection to an interactive provider.
pub(crate) const LOGIN_STREAM: i32 = 1;
/// The stream of its directory.
pub(crate) const DIRECTORY_STREAM: i32 = 2;

/// How many closed streams rest before the first of them is used again: what
/// was in flight when it closed is not to be taken for the next item's.
const RESTING_IDS: usize = 4096;

/// Which ids are free on the connection to an interactive provider.
#[derive(Debug)]
pub(crate) struct StreamIds {
    next: i32,
    closed: Line<i32>,
}

impl Default for StreamIds {
    fn default() -> Self {
        Self { next: DIRECTORY_STREAM + 1, closed: Line::default() }
    }
}

impl StreamIds {
    pub(crate) fn take(&mut self) -> i32 {
        if self.closed.len() > RESTING_IDS
            && let Some(id) = self.closed.pop_front()
        {
            return id;
        }
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn give_back(&mut self, stream_id: i32) {
        self.closed.push_back(stream_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_on_both_sides_of_zero_and_far_from_it_are_found() {
        let mut table = StreamTable::default();
        let ids = [0, -1, 1, -70_000, 70_000, i32::MIN, i32::MAX];
        for (item, id) in ids.into_iter().enumerate() {
            assert_eq!(table.get(id), None);
            table.insert(id, item as u32);
        }
        for (item, id) in ids.into_iter().enumerate() {
            assert_eq!(table.get(id), Some(item as u32), "{id}");
        }
        assert_eq!(table.items(), [0, 1, 2, 3, 4, 5, 6]);
        table.remove(i32::MIN);
        table.remove(-1);
        assert_eq!((table.get(i32::MIN), table.get(-1)), (None, None));
        assert_eq!(table.items(), [0, 2, 3, 4, 6]);
    }

    #[test]
    fn closed_ids_rest_before_they_are_used_again() {
        let mut ids = StreamIds::default();
        let first = ids.take();
        assert_eq!(first, 3);
        ids.give_back(first);
        for expected in 4..=(RESTING_IDS as i32 + 3) {
            let id = ids.take();
            assert_eq!(id, expected);
            ids.give_back(id);
        }
        assert_eq!(ids.take(), first);
    }
}
