//! Tables that grow without moving what they have.
//!
//! A `Vec` of 500,000 entries that grows copies all of them into memory that
//! nobody has touched before: that is milliseconds, and tables by the same
//! number all grow at the same moment. These consist of pages, and only the
//! first page is ever copied.

use std::collections::VecDeque;
use std::sync::Arc;

/// Entries of a page. A power of two, for a short way to an entry.
const PAGE: usize = 1024;

/// Entries in a row, without a hole.
#[derive(Debug)]
pub struct List<T> {
    /// All full but the last, and none empty.
    pages: Vec<Vec<T>>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T> List<T> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        let full = self.pages.len().saturating_sub(1) * PAGE;
        full + self.pages.last().map_or(0, Vec::len)
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The entry at a place.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        self.pages.get(place / PAGE)?.get(place % PAGE)
    }

    /// The entry at a place, to change.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.pages.get_mut(place / PAGE)?.get_mut(place % PAGE)
    }

    /// All entries, by their places.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: T) {
        match self.pages.last_mut().filter(|page| page.len() < PAGE) {
            Some(page) => page.push(entry),
            None => {
                // Many lists have one entry only.
                let room = if self.pages.is_empty() { 1 } else { PAGE };
                let mut page = Vec::with_capacity(room);
                page.push(entry);
                self.pages.reserve_exact(usize::from(self.pages.is_empty()));
                self.pages.push(page);
            }
        }
    }

    /// Takes the last entry out.
    pub fn pop(&mut self) -> Option<T> {
        let page = self.pages.last_mut()?;
        let entry = page.pop();
        if page.is_empty() {
            self.pages.pop();
        }
        entry
    }

    /// Takes an entry out; the last one takes its place.
    pub fn swap_remove(&mut self, place: usize) -> Option<T> {
        let is_last = place + 1 == self.len();
        if is_last {
            return self.pop();
        }
        // Before the last is taken, lest a wrong place loses it.
        self.get(place)?;
        let last = self.pop()?;
        self.get_mut(place).map(|entry| std::mem::replace(entry, last))
    }
}

/// Entries by number, of which many may not be there.
#[derive(Debug)]
pub struct Table<T> {
    /// Of any length up to a page; what is behind the end is not there.
    pages: Vec<Vec<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T: Copy> Table<T> {
    /// The entry with a number, if its page was made so far.
    #[inline]
    pub fn get(&self, place: usize) -> Option<T> {
        self.pages.get(place / PAGE)?.get(place % PAGE).copied()
    }

    /// The same to change.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.pages.get_mut(place / PAGE)?.get_mut(place % PAGE)
    }

    /// An entry, which is made if it is not there, as are those before it on its
    /// page.
    pub fn entry(&mut self, place: usize, none: T) -> &mut T {
        let (number, offset) = (place / PAGE, place % PAGE);
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, Vec::new);
        }
        let page = &mut self.pages[number];
        if offset >= page.len() {
            if number > 0 {
                page.reserve_exact(PAGE - page.len());
            }
            page.resize(offset + 1, none);
        }
        &mut page[offset]
    }

    /// All entries of the pages that were made so far, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        let pages = (0..).step_by(PAGE).zip(&self.pages);
        pages.flat_map(|(first, page)| (first..).zip(page.iter().copied()))
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.pages.clear();
    }
}

/// Entries by number, of which many may not be there, to be looked up for each update.
/// All pages are whole, so that there is one bound; those that nothing was put into are
/// one and the same, so that none is missing.
#[derive(Debug)]
pub struct Sparse<T> {
    pages: Vec<Arc<[T; PAGE]>>,
    empty: Arc<[T; PAGE]>,
}

impl<T: Copy> Sparse<T> {
    /// A table whose entries are this until they are changed.
    pub fn of(none: T) -> Self {
        Self { pages: Vec::new(), empty: Arc::new([none; PAGE]) }
    }

    /// The entry with a number, unless no page reaches so far.
    #[inline]
    pub fn get(&self, place: usize) -> Option<T> {
        self.pages.get(place / PAGE).map(|page| page[place % PAGE])
    }

    /// The same to change, unless nothing was put into its page.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let page = Arc::get_mut(self.pages.get_mut(place / PAGE)?)?;
        Some(&mut page[place % PAGE])
    }

    /// An entry to change, for which a page is made if there is none.
    pub fn entry(&mut self, place: usize) -> &mut T {
        let number = place / PAGE;
        if number >= self.pages.len() {
            self.pages.resize(number + 1, Arc::clone(&self.empty));
        }
        &mut Arc::make_mut(&mut self.pages[number])[place % PAGE]
    }

    /// All entries of pages that something was put into, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        let pages = (0..).step_by(PAGE).zip(&self.pages);
        let pages = pages.filter(|(_, page)| !Arc::ptr_eq(page, &self.empty));
        pages.flat_map(|(first, page)| (first..).zip(page.iter().copied()))
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.pages.clear();
    }
}

/// Entries of a page that comes and goes: large enough that the pieces of memory
/// are few, small enough that few entries keep little.
const COMING_AND_GOING: usize = 128;

/// Entries by number that come and go. A page is there as long as one of its
/// entries is, so memory is given back when many have gone.
///
/// Pieces of memory of their own would do the same. Where a thread's heap grows
/// by such small steps, each page of memory costs a call into the kernel.
#[derive(Debug)]
pub struct Slots<T> {
    pages: Vec<Page<T>>,
    /// One more than the highest number there was.
    len: usize,
}

#[derive(Debug)]
struct Page<T> {
    /// All places of the page, or none.
    entries: Box<[Option<T>]>,
    /// How many are taken.
    count: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), len: 0 }
    }
}

impl<T> Slots<T> {
    /// How many places there are, taken or not.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there never was an entry.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entry at a place.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        let page = self.pages.get(place / COMING_AND_GOING)?;
        page.entries.get(place % COMING_AND_GOING)?.as_ref()
    }

    /// The entry at a place, to change.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let page = self.pages.get_mut(place / COMING_AND_GOING)?;
        page.entries.get_mut(place % COMING_AND_GOING)?.as_mut()
    }

    /// Puts an entry at a new place behind all others, which is returned.
    pub fn push(&mut self, entry: T) -> usize {
        let place = self.len;
        self.len += 1;
        if place.is_multiple_of(COMING_AND_GOING) {
            self.pages.push(Page { entries: Box::default(), count: 0 });
        }
        self.put(place, entry);
        place
    }

    /// Puts an entry at a place that there was before, and that is free.
    pub fn put(&mut self, place: usize, entry: T) {
        debug_assert!(self.get(place).is_none(), "place {place} is free");
        let page = self.pages.get_mut(place / COMING_AND_GOING);
        debug_assert!(page.is_some(), "there was a place {place}");
        let Some(page) = page else { return };
        if page.entries.is_empty() {
            page.entries = (0..COMING_AND_GOING).map(|_| None).collect();
        }
        page.count += 1;
        page.entries[place % COMING_AND_GOING] = Some(entry);
    }

    /// Takes an entry out; its place stays for another one.
    pub fn take(&mut self, place: usize) -> Option<T> {
        let page = self.pages.get_mut(place / COMING_AND_GOING)?;
        let entry = page.entries.get_mut(place % COMING_AND_GOING)?.take()?;
        page.count -= 1;
        if page.count == 0 {
            page.entries = Box::default();
        }
        Some(entry)
    }
}

/// A line: first in, first out.
#[derive(Debug)]
pub struct Line<T> {
    /// None empty, none longer than a page.
    pages: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { pages: VecDeque::new(), len: 0 }
    }
}

impl<T> Line<T> {
    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first entry.
    pub fn front(&self) -> Option<&T> {
        self.pages.front()?.front()
    }

    /// All entries, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }

    /// Adds an entry behind all others.
    pub fn push_back(&mut self, entry: T) {
        self.len += 1;
        match self.pages.back_mut().filter(|page| page.len() < PAGE) {
            Some(page) => page.push_back(entry),
            None => {
                let mut page = self.new_page();
                page.push_back(entry);
                self.pages.push_back(page);
            }
        }
    }

    /// Puts an entry before all others.
    pub fn push_front(&mut self, entry: T) {
        self.len += 1;
        match self.pages.front_mut().filter(|page| page.len() < PAGE) {
            Some(page) => page.push_front(entry),
            None => {
                let mut page = self.new_page();
                page.push_front(entry);
                self.pages.push_front(page);
            }
        }
    }

    /// A page that does not grow any more, if there is one beside it: many lines are
    /// short.
    fn new_page(&self) -> VecDeque<T> {
        VecDeque::with_capacity(if self.pages.is_empty() { 1 } else { PAGE })
    }

    /// Takes the first entry out.
    pub fn pop_front(&mut self) -> Option<T> {
        let page = self.pages.front_mut()?;
        let entry = page.pop_front()?;
        self.len -= 1;
        if page.is_empty() {
            self.pages.pop_front();
        }
        Some(entry)
    }

    /// Removes all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<T> Extend<T> for Line<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push_back(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 3 * PAGE + 7;

    #[test]
    fn a_list_that_grows_moves_nothing_but_its_first_page() {
        let mut list = List::default();
        for entry in 0..2 * PAGE {
            list.push(entry);
        }
        let before: Vec<*const usize> =
            (0..2 * PAGE).filter_map(|at| list.get(at)).map(std::ptr::from_ref).collect();
        for entry in 2 * PAGE..100 * PAGE {
            list.push(entry);
        }
        let is_there = |(at, before): (usize, &*const usize)| {
            list.get(at).is_some_and(|entry| std::ptr::eq(entry, *before))
        };
        assert!(before.iter().enumerate().all(is_there));
        assert_eq!(before.len(), 2 * PAGE);
    }

    #[test]
    fn a_list_has_what_a_vector_has() {
        let (mut list, mut vector) = (List::default(), Vec::new());
        for entry in 0..COUNT {
            list.push(entry);
            vector.push(entry);
        }
        // Out of the middle, the end and the last page, until there are none.
        for step in 0..COUNT + 3 {
            let place = (step * 7_919) % vector.len().max(1);
            let expected = (place < vector.len()).then(|| vector.swap_remove(place));
            assert_eq!(list.swap_remove(place), expected, "{step}");
            assert_eq!(list.len(), vector.len());
            assert_eq!(list.is_empty(), vector.is_empty());
            assert_eq!(list.get(place), vector.get(place));
            assert_eq!(list.get(vector.len()), None);
            assert!(step % 100 != 0 || list.iter().eq(&vector), "{step}");
        }
        assert_eq!(list.swap_remove(0), None);
        assert_eq!(list.pop(), None);
        list.push(1);
        assert_eq!(list.swap_remove(5), None);
        assert_eq!(list.len(), 1);
    }

    #[test]
    fn a_table_makes_the_page_of_an_entry_and_no_other() {
        let mut table = Table::default();
        *table.entry(50 * PAGE + 3, 0_u32) = 7;
        assert_eq!(table.pages.iter().map(Vec::capacity).sum::<usize>(), PAGE);
        assert_eq!(table.get(50 * PAGE + 3), Some(7));
        assert_eq!(table.get(50 * PAGE + 2), Some(0), "filled");
        assert_eq!(
            (table.get(0), table.get(50 * PAGE + 4), table.get(99 * PAGE)),
            (None, None, None)
        );
        *table.entry(1, 0) = 5;
        assert_eq!((table.get(0), table.get(1), table.get(2)), (Some(0), Some(5), None));
        let there: Vec<_> = table.iter().filter(|(_, entry)| *entry != 0).collect();
        assert_eq!(there, [(1, 5), (50 * PAGE + 3, 7)]);
        table.clear();
        assert_eq!(table.get(1), None);
    }

    #[test]
    fn a_table_that_grows_moves_nothing_but_its_first_page() {
        let mut table = Table::default();
        let at = |table: &Table<u32>, page: usize| table.pages[page].as_ptr();
        (0..2 * PAGE).for_each(|place| *table.entry(place, 0) = 1);
        let before = [0, 1].map(|page| at(&table, page));
        (2 * PAGE..100 * PAGE).for_each(|place| *table.entry(place, 0) = 1);
        assert_eq!([0, 1].map(|page| at(&table, page)), before);
    }

    #[test]
    fn a_line_that_grows_or_empties_moves_no_full_page() {
        let mut line = Line::default();
        line.extend(0..3 * PAGE);
        let at = |line: &Line<usize>, from_end: usize| {
            let page = line.pages.iter().rev().nth(from_end);
            page.and_then(|page| page.front()).map(std::ptr::from_ref)
        };
        let before = at(&line, 0);
        line.extend(3 * PAGE..100 * PAGE);
        assert_eq!(at(&line, 97), before, "more came");
        (0..2 * PAGE).for_each(|_| assert!(line.pop_front().is_some()));
        assert_eq!(at(&line, 97), before, "those before it went");
        assert_eq!(line.pages.len(), 98, "the pages of those that went are given back");
    }

    #[test]
    fn a_sparse_table_has_what_a_map_has() {
        let (mut table, mut map) = (Sparse::of(0), std::collections::BTreeMap::new());
        for step in 1..20_000_usize {
            // Near each other and far, once and again.
            let place = step * step * 7_919 % (if step % 3 == 0 { 90 * PAGE } else { PAGE });
            match step % 4 {
                0 => {
                    if let Some(entry) = table.get_mut(place) {
                        *entry = 0;
                    }
                    map.remove(&place);
                }
                _ => {
                    *table.entry(place) = step;
                    map.insert(place, step);
                }
            }
            let entry = |place: usize| table.get(place).filter(|entry| *entry != 0);
            assert_eq!(entry(place), map.get(&place).copied(), "{step}");
            assert_eq!(entry(place + 1), map.get(&(place + 1)).copied(), "{step}");
        }
        let there = table.iter().filter(|(_, entry)| *entry != 0);
        assert!(there.eq(map));
        assert_eq!(table.get(1 << 40), None);
        table.clear();
        assert_eq!((table.get(0), table.iter().count()), (None, 0));
    }

    #[test]
    fn a_sparse_table_that_grows_moves_nothing_and_makes_one_page() {
        let mut table = Sparse::of(0_u32);
        *table.entry(3) = 1;
        let before = Arc::as_ptr(&table.pages[0]);
        *table.entry(900 * PAGE + 1) = 2;
        assert_eq!(Arc::as_ptr(&table.pages[0]), before);
        let is_empty = |page: &&Arc<[u32; PAGE]>| Arc::ptr_eq(page, &table.empty);
        assert_eq!(table.pages.iter().filter(is_empty).count(), 899);
        assert_eq!(table.get(5 * PAGE), Some(0));
        assert_eq!(table.get_mut(5 * PAGE), None, "nothing was put there");
    }

    #[test]
    fn a_page_of_slots_is_there_as_long_as_one_of_its_entries() {
        let mut slots = Slots::default();
        assert!(slots.is_empty());
        for number in 0..3 * COMING_AND_GOING {
            assert_eq!(slots.push(number), number);
        }
        let is_there = |slots: &Slots<usize>, page: usize| !slots.pages[page].entries.is_empty();
        for number in (COMING_AND_GOING..2 * COMING_AND_GOING).rev() {
            assert!(is_there(&slots, 1), "{number}");
            assert_eq!(slots.take(number), Some(number));
            assert_eq!((slots.take(number), slots.get(number)), (None, None));
        }
        assert_eq!([0, 1, 2].map(|page| is_there(&slots, page)), [true, false, true]);
        assert_eq!(slots.len(), 3 * COMING_AND_GOING, "places stay");

        slots.put(COMING_AND_GOING + 5, 7);
        assert_eq!(slots.get(COMING_AND_GOING + 5), Some(&7));
        assert_eq!(slots.get(COMING_AND_GOING + 4), None);
        *slots.get_mut(0).expect("still there") = 9;
        assert_eq!((slots.get(0), slots.get(1)), (Some(&9), Some(&1)));
        assert_eq!(slots.get(9_999), None);
        assert_eq!(slots.take(9_999), None);
    }

    #[test]
    fn a_line_keeps_its_order() {
        let mut line = Line::default();
        line.extend(0..COUNT);
        for entry in 0..COUNT / 2 {
            assert_eq!(line.pop_front(), Some(entry));
        }
        line.push_front(usize::MAX);
        line.push_back(COUNT);
        assert_eq!(line.len(), COUNT - COUNT / 2 + 2);
        assert_eq!(line.front(), Some(&usize::MAX));
        assert!(line.iter().copied().eq(std::iter::once(usize::MAX).chain(COUNT / 2..=COUNT)));
        assert_eq!(line.pop_front(), Some(usize::MAX));
        for entry in COUNT / 2..=COUNT {
            assert_eq!(line.pop_front(), Some(entry));
        }
        assert!(line.is_empty() && line.pop_front().is_none());
    }
}
