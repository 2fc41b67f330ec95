//! First images of which hubs have sent no part yet: each holds a place in the window
//! of its hub. One that has begun holds none, as it may never end.

use super::item::HubIndex;

/// Which items wait for their first image from their hub, and how many of each hub.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// By slot, a bit each.
    items: Vec<u64>,
    /// By hub.
    due: Vec<usize>,
    /// Hubs in whose windows there are places that were not there before.
    freed: Vec<HubIndex>,
}

impl Awaited {
    /// Whether an item waits.
    pub(super) fn has(&self, slot: u32) -> bool {
        let word = self.items.get(slot as usize / 64);
        word.is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// An item waits for its first image from a hub.
    pub(super) fn add(&mut self, slot: u32, hub: HubIndex) {
        if self.has(slot) {
            return;
        }
        let (word, at) = (slot as usize / 64, hub as usize);
        if word >= self.items.len() {
            self.items.resize(word + 1, 0);
        }
        if at >= self.due.len() {
            self.due.resize(at + 1, 0);
        }
        self.items[word] |= 1 << (slot % 64);
        self.due[at] += 1;
    }

    /// An item waits no longer, if it did.
    pub(super) fn remove(&mut self, slot: u32, hub: HubIndex) -> bool {
        if !self.has(slot) {
            return false;
        }
        self.items[slot as usize / 64] &= !(1 << (slot % 64));
        self.due[hub as usize] -= 1;
        true
    }

    /// The same of one that is not at its hub any more: others are to be asked for in
    /// its place when there is time.
    pub(super) fn give_up(&mut self, slot: u32, hub: HubIndex) {
        if self.remove(slot, hub) && !self.freed.contains(&hub) {
            self.freed.push(hub);
        }
    }

    /// How many are on their way from a hub.
    pub(super) fn due(&self, hub: HubIndex) -> usize {
        self.due.get(hub as usize).copied().unwrap_or_default()
    }

    /// Whether there is a place in some window that was not there before.
    pub(super) const fn has_freed(&self) -> bool {
        !self.freed.is_empty()
    }

    /// Takes out the hub of such a window.
    pub(super) fn take_freed(&mut self) -> Option<HubIndex> {
        self.freed.pop()
    }

    /// Panics where it says something else than the items that wait, by their hubs.
    pub(super) fn check(&self, waiting: impl Iterator<Item = HubIndex>) {
        let mut due = vec![0; self.due.len()];
        waiting.for_each(|hub| due[hub as usize] += 1);
        assert_eq!(self.due, due, "first images on their way, by hub");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_counts_once_until_it_waits_no_longer() {
        let mut awaited = Awaited::default();
        for (slot, hub) in [(3, 0), (70, 1), (3, 0), (71, 1)] {
            awaited.add(slot, hub);
        }
        assert_eq!([0, 1, 2].map(|hub| awaited.due(hub)), [1, 2, 0]);
        assert!(awaited.has(70) && !awaited.has(6) && !awaited.has(700));
        assert!(awaited.remove(70, 1) && !awaited.remove(70, 1) && !awaited.has_freed());
        awaited.give_up(71, 1);
        awaited.give_up(71, 1);
        assert_eq!((awaited.take_freed(), awaited.take_freed()), (Some(1), None));
        awaited.check([0].into_iter());
    }
}
