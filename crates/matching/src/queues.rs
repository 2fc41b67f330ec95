//! Queues of orders at prices: one array of links for all books of a partition.
//!
//! ```text
//!  links    | orders, by slot          | levels of page 1 | levels of page 2 | …
//!           | 0 … max_orders           | 4,096            | 4,096            |
//! ```
//!
//! A level is a link like that of an order and stands in its queue as both ends,
//! so an order is taken out with two writes and no question of whether it was
//! first or last; an empty level is linked with itself.

use crate::ladder::{Ladder, PAGE_LEVELS};

/// Where an order is kept, or a level among the links.
pub(crate) type Node = u32;

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: Node,
    next: Node,
}

/// Pages that there is room for from the start: what is not used is not touched, and so
/// takes no memory. Were it not there, a page for a new price could move the links of all
/// orders, which takes milliseconds where there are a million.
const ROOM_PAGES: usize = 1024;

/// Which of 4,096 neighbouring levels have orders.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// A bit for each level.
    pub(crate) words: [u64; 64],
    /// A bit for each word that is not 0.
    pub(crate) summary: u64,
    /// Its place in the ladder that uses it.
    pub(crate) number: u16,
}

/// The links of all orders and levels, and the pages that levels come in.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    links: Vec<Link>,
    pages: Vec<Page>,
    free_pages: Vec<u16>,
    /// The first level among the links.
    first_level: Node,
}

impl Queues {
    /// Queues for so many orders.
    pub(crate) fn new(orders: u32) -> Self {
        let mut links = Vec::with_capacity(orders as usize + ROOM_PAGES * PAGE_LEVELS as usize);
        links.resize(orders as usize, Link { prev: 0, next: 0 });
        let pages = Vec::with_capacity(ROOM_PAGES);
        Self { links, pages, free_pages: Vec::with_capacity(ROOM_PAGES), first_level: orders }
    }

    /// A page without orders, for the place `number` of a ladder. The number
    /// that comes back counts from 1.
    #[cold]
    pub(crate) fn take_page(&mut self, number: u16) -> u16 {
        if let Some(page) = self.free_pages.pop() {
            self.pages[usize::from(page) - 1].number = number;
            return page;
        }
        let first = self.links.len() as Node;
        self.links.extend((first..first + PAGE_LEVELS).map(|at| Link { prev: at, next: at }));
        self.pages.push(Page { words: [0; 64], summary: 0, number });
        // Every free page has room in the list: giving one back never allocates.
        self.free_pages.reserve(self.pages.len());
        debug_assert!(self.pages.len() < usize::from(u16::MAX), "268 million levels in use");
        self.pages.len() as u16
    }

    pub(crate) fn give_page(&mut self, page: u16) {
        self.free_pages.push(page);
    }

    #[inline]
    pub(crate) fn page(&self, page: u16) -> &Page {
        &self.pages[usize::from(page) - 1]
    }

    #[inline]
    pub(crate) fn page_mut(&mut self, page: u16) -> &mut Page {
        &mut self.pages[usize::from(page) - 1]
    }

    /// The link of a level.
    #[inline]
    pub(crate) fn level(&self, page: u16, low: u32) -> Node {
        self.first_level + (u32::from(page) - 1) * PAGE_LEVELS + low
    }

    /// The page of a level, and its place there.
    #[inline]
    pub(crate) fn place(&self, level: Node) -> (u16, u32) {
        let at = level - self.first_level;
        ((at / PAGE_LEVELS) as u16 + 1, at % PAGE_LEVELS)
    }

    /// What follows: an order, or at the end the level.
    #[inline]
    pub(crate) fn next(&self, node: Node) -> Node {
        self.links[node as usize].next
    }

    /// Puts an order at the end of a ladder's level.
    #[allow(clippy::inline_always, reason = "the call would cost a tenth of an order")]
    #[inline(always)]
    pub(crate) fn push(&mut self, ladder: &mut Ladder, key: u32, node: Node) {
        let level = ladder.level_for(self, key);
        let tail = self.links[level as usize].prev;
        self.links[node as usize] = Link { prev: tail, next: level };
        self.links[tail as usize].next = node;
        self.links[level as usize].prev = node;
        if tail == level {
            ladder.filled(self, level, key);
        }
    }

    /// Takes an order out of the level of a ladder that it is in.
    #[allow(clippy::inline_always, reason = "the call would cost a tenth of an order")]
    #[inline(always)]
    pub(crate) fn remove(&mut self, ladder: &mut Ladder, node: Node) {
        let Link { prev, next } = self.links[node as usize];
        self.links[prev as usize].next = next;
        self.links[next as usize].prev = prev;
        if prev == next {
            // Both are the level: nothing else is.
            ladder.emptied(self, prev);
        }
    }

    /// The first order at the best price of a ladder.
    pub(crate) fn first(&self, ladder: &Ladder) -> Option<Node> {
        ladder.level_of(self, ladder.best()).map(|level| self.next(level))
    }

    /// The orders at one price, in the order of time.
    pub(crate) fn at(&self, ladder: &Ladder, key: u32) -> impl Iterator<Item = Node> {
        let level = ladder.level_of(self, key);
        let mut node = level.map_or(Node::MAX, |level| self.next(level));
        std::iter::from_fn(move || {
            let found = level.filter(|level| node != *level).map(|_| node)?;
            node = self.next(node);
            Some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_a_new_price_moves_no_link() {
        let mut queues = Queues::new(1000);
        let links = queues.links.as_ptr();
        for number in 0..ROOM_PAGES {
            queues.take_page(number as u16);
        }
        assert_eq!(queues.links.as_ptr(), links);
    }
}
