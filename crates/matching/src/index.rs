//! From an order's id to where it is kept.
//!
//! Running numbers rise, so the index is an array by them. It comes in pages of
//! 4,096 numbers; a page whose orders are all gone is used again. An entry is
//! never cleared: whoever reads one looks whether the order kept there has the
//! id that was asked for.

use tapeline_instrument::OrderId;

use crate::queues::Node;

const PAGE: usize = 1 << 12;

const PAGES: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// The page of each 4,096 running numbers, from 1; 0 where there is none.
    directory: Vec<u32>,
    slots: Vec<Node>,
    /// How many orders of each page are alive.
    alive: Vec<u32>,
    free: Vec<u32>,
    /// The place of the page that new orders are in.
    newest: usize,
}

impl Index {
    pub(crate) fn new() -> Self {
        Self {
            directory: vec![0; PAGES],
            slots: Vec::new(),
            alive: Vec::new(),
            free: Vec::new(),
            newest: 0,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, id: OrderId, slot: Node) {
        let (number, at) = place(id);
        let mut page = self.directory[number];
        if page == 0 {
            page = self.add_page(number);
        }
        let page = page as usize - 1;
        self.slots[page * PAGE + at] = slot;
        self.alive[page] += 1;
    }

    #[cold]
    fn add_page(&mut self, number: usize) -> u32 {
        let last = std::mem::replace(&mut self.newest, number);
        self.give_if_dead(last);
        let page = self.free.pop().unwrap_or_else(|| {
            self.slots.resize(self.slots.len() + PAGE, 0);
            self.alive.push(0);
            // Every page has room in the list: giving one back never allocates.
            self.free.reserve(self.alive.len());
            self.alive.len() as u32
        });
        self.directory[number] = page;
        page
    }

    /// An order is gone.
    #[inline]
    pub(crate) fn remove(&mut self, id: OrderId) {
        let (number, _) = place(id);
        let page = self.directory[number];
        debug_assert!(page != 0, "an order that is alive keeps its page");
        let alive = &mut self.alive[page as usize - 1];
        *alive -= 1;
        // The newest page gets more orders.
        if *alive == 0 && number != self.newest {
            self.give_if_dead(number);
        }
    }

    #[cold]
    fn give_if_dead(&mut self, number: usize) {
        let page = self.directory[number];
        if page != 0 && self.alive[page as usize - 1] == 0 {
            self.free.push(page);
            self.directory[number] = 0;
        }
    }

    /// Where an order with this id would be kept, if there is one.
    #[inline]
    pub(crate) fn get(&self, id: OrderId) -> Option<Node> {
        let (number, at) = place(id);
        let page = self.directory[number];
        (page != 0).then(|| self.slots[(page as usize - 1) * PAGE + at])
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
        assert!(index.alive.len() <= 4, "{} pages", index.alive.len());
    }
}
