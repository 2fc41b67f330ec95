//! From an order's id to where it is kept.
//!
//! Running numbers rise, so the index is an array by them. It comes in pages of
//! 4,096 numbers; a page whose orders are all gone is used again. A page stays where
//! it is: were all of them one array, it would be moved when it grows, which takes a
//! millisecond in the middle of a day. An entry is never cleared: whoever reads one
//! looks whether the order kept there has the id that was asked for.

use tapeline_instrument::OrderId;

use crate::queues::Node;

const PAGE: usize = 1 << 12;

const PAGES: usize = 1 << 20;

type Page = Box<[Node; PAGE]>;

#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// The page of each 4,096 running numbers, where one of them may be alive.
    pages: Vec<Option<Page>>,
    /// How many orders of each page are alive.
    alive: Vec<u32>,
    /// Pages to be used again.
    free: Vec<Page>,
    /// How many pages there are, these included.
    count: usize,
    /// The place of the page that new orders are in.
    newest: usize,
}

impl Index {
    pub(crate) fn new() -> Self {
        let (pages, alive) = (vec![None; PAGES], vec![0; PAGES]);
        Self { pages, alive, free: Vec::new(), count: 0, newest: 0 }
    }

    #[inline]
    pub(crate) fn insert(&mut self, id: OrderId, slot: Node) {
        let (number, at) = place(id);
        let page = match &mut self.pages[number] {
            Some(page) => page,
            None => self.add_page(number),
        };
        page[at] = slot;
        self.alive[number] += 1;
    }

    #[cold]
    fn add_page(&mut self, number: usize) -> &mut Page {
        let last = std::mem::replace(&mut self.newest, number);
        self.give_if_dead(last);
        let page = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            // Every page has room in the list: giving one back never allocates.
            self.free.reserve(self.count);
            Box::new([0; PAGE])
        });
        self.pages[number].insert(page)
    }

    /// An order is gone.
    #[inline]
    pub(crate) fn remove(&mut self, id: OrderId) {
        let (number, _) = place(id);
        debug_assert!(self.pages[number].is_some(), "an order that is alive keeps its page");
        let alive = &mut self.alive[number];
        *alive -= 1;
        // The newest page gets more orders.
        if *alive == 0 && number != self.newest {
            self.give_if_dead(number);
        }
    }

    #[cold]
    fn give_if_dead(&mut self, number: usize) {
        let is_dead = self.alive[number] == 0;
        let dead = self.pages[number].take_if(|_| is_dead);
        self.free.extend(dead);
    }

    /// Where an order with this id would be kept, if there is one.
    #[inline]
    pub(crate) fn get(&self, id: OrderId) -> Option<Node> {
        let (number, at) = place(id);
        self.pages[number].as_ref().map(|page| page[at])
    }
}

#[inline]
const fn place(id: OrderId) -> (usize, usize) {
    let running = id.running() as usize;
    (running / PAGE, running % PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_orders_are_used_again() {
        let mut index = Index::new();
        // Every order lives until a thousand more have come, but for one.
        for running in 1..=1_000_000_u64 {
            index.insert(OrderId(running), running as Node);
            if running > 1000 && running - 1000 != 5 {
                index.remove(OrderId(running - 1000));
            }
        }
        assert_eq!(index.get(OrderId(5)), Some(5));
        assert_eq!(index.get(OrderId(999_500)), Some(999_500));
        assert!(index.count <= 4, "{} pages", index.count);
    }
}
