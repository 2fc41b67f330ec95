//! Entries by key, in the order they came.

use hashbrown::HashTable;

use crate::cell::Cell;

/// No row: the end of a chain.
const NONE: u32 = u32::MAX;

/// Entries by key, in the order they came: a slab whose rows are chained, with
/// a hash index beside it. Removed rows keep their buffers for later ones.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    slab: Vec<Row>,
    index: HashTable<u32>,
    first: u32,
    last: u32,
    /// The first unused row; they are chained by `next`.
    free: u32,
    bytes: usize,
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) cell: Cell,
    /// The code of the action that the row is written with.
    pub(crate) action: u8,
    /// The code of the row's own container type, 0 if it has none.
    pub(crate) own_type: u8,
    previous: u32,
    next: u32,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Self {
            slab: Vec::new(),
            index: HashTable::new(),
            first: NONE,
            last: NONE,
            free: NONE,
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Bytes of all keys, permission data and data.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The row of a key.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        self.index.find(hash(key), |id| self.key(*id) == key).copied()
    }

    fn key(&self, id: u32) -> &[u8] {
        self.slab[id as usize].cell.key()
    }

    pub(crate) fn row(&self, id: u32) -> &Row {
        &self.slab[id as usize]
    }

    /// Changes a row, and keeps the count of bytes.
    pub(crate) fn change<R>(&mut self, id: u32, change: impl FnOnce(&mut Row) -> R) -> R {
        let row = &mut self.slab[id as usize];
        let before = row.cell.bytes.len();
        let result = change(row);
        self.bytes = self.bytes - before + row.cell.bytes.len();
        result
    }

    /// Adds a row behind all others, for a key that has none.
    pub(crate) fn push(&mut self, key: &[u8]) -> u32 {
        let id = self.take_free();
        let previous = self.last;
        let row = &mut self.slab[id as usize];
        row.cell.begin(key);
        (row.previous, row.next) = (previous, NONE);
        self.bytes += row.cell.bytes.len();
        match self.slab.get_mut(previous as usize) {
            Some(last) => last.next = id,
            None => self.first = id,
        }
        self.last = id;
        let slab = &self.slab;
        self.index.insert_unique(hash(key), id, |id| hash(slab[*id as usize].cell.key()));
        id
    }

    fn take_free(&mut self) -> u32 {
        let id = self.free;
        if let Some(row) = self.slab.get(id as usize) {
            self.free = row.next;
            return id;
        }
        let row = Row { cell: Cell::default(), action: 0, own_type: 0, previous: NONE, next: NONE };
        self.slab.push(row);
        self.slab.len() as u32 - 1
    }

    /// Removes a row.
    pub(crate) fn remove(&mut self, id: u32) {
        let hash = hash(self.key(id));
        if let Ok(entry) = self.index.find_entry(hash, |known| *known == id) {
            entry.remove();
        }
        let row = &mut self.slab[id as usize];
        self.bytes -= row.cell.bytes.len();
        let (previous, next) = (row.previous, row.next);
        row.next = self.free;
        self.free = id;
        match self.slab.get_mut(previous as usize) {
            Some(row) => row.next = next,
            None => self.first = next,
        }
        match self.slab.get_mut(next as usize) {
            Some(row) => row.previous = previous,
            None => self.last = previous,
        }
    }

    /// Removes all rows; their buffers stay for later ones.
    pub(crate) fn clear(&mut self) {
        self.index.clear();
        let len = self.slab.len() as u32;
        for (at, row) in self.slab.iter_mut().enumerate() {
            row.next = if at as u32 + 1 < len { at as u32 + 1 } else { NONE };
        }
        self.free = if len == 0 { NONE } else { 0 };
        (self.first, self.last, self.bytes) = (NONE, NONE, 0);
    }

    /// The first row in order, if there is any.
    pub(crate) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// The row behind another.
    pub(crate) fn next(&self, id: u32) -> Option<u32> {
        let next = self.slab[id as usize].next;
        (next != NONE).then_some(next)
    }

    /// The rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row> {
        std::iter::successors(self.first(), |id| self.next(*id)).map(|id| self.row(id))
    }
}

/// A hash of a key: folded multiplication, eight bytes at a time.
#[inline]
fn hash(key: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |state: u64, word: u64| {
        let wide = u128::from(state ^ word) * u128::from(FACTOR);
        wide as u64 ^ (wide >> 64) as u64
    };
    let mut state = FACTOR.wrapping_add(key.len() as u64);
    let (words, rest) = key.as_chunks::<8>();
    for word in words {
        state = fold(state, u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        state = fold(state, u64::from_le_bytes(word));
    }
    fold(state, FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(rows: &Rows) -> Vec<u8> {
        rows.iter().map(|row| row.cell.key()[0]).collect()
    }

    #[test]
    fn rows_come_out_in_the_order_they_came() {
        let mut rows = Rows::new();
        let ids: Vec<_> = (b'a'..=b'e').map(|key| rows.push(&[key])).collect();
        assert_eq!(keys(&rows), b"abcde");
        for id in [ids[0], ids[2], ids[4]] {
            rows.remove(id);
        }
        assert_eq!((keys(&rows), rows.len(), rows.bytes()), (b"bd".to_vec(), 2, 2));
        assert_eq!(rows.find(b"c"), None);
        for key in b"xyz" {
            rows.push(&[*key]);
        }
        assert_eq!(keys(&rows), b"bdxyz");
        assert_eq!(rows.slab.len(), 5, "unused rows are used again");
        rows.clear();
        assert_eq!((keys(&rows), rows.bytes()), (Vec::new(), 0));
        rows.push(b"n");
        assert_eq!(keys(&rows), b"n");
        assert_eq!(rows.slab.len(), 5);
    }

    #[test]
    fn the_count_of_bytes_follows_changes() {
        let mut rows = Rows::new();
        let id = rows.push(b"key");
        rows.change(id, |row| row.cell.bytes.extend_from_slice(b"data"));
        assert_eq!(rows.bytes(), 7);
        rows.change(id, |row| row.cell.begin(b"key"));
        assert_eq!(rows.bytes(), 3);
        rows.remove(id);
        assert_eq!(rows.bytes(), 0);
    }
}
