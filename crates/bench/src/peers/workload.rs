//! Who watches what: the same for every system.

/// Items and who watches them. Item `i` has a window of clients around the
/// ring of all of them, which starts `7 i` clients further for each item: every
/// client has the same share of the items, and no two neighbours the same
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) clients: usize,
    pub(super) items: usize,
    /// Clients of each item: the fan-out.
    pub(super) watchers: usize,
}

/// Clients from one window to the next.
const STRIDE: usize = 7;

impl Workload {
    #[inline]
    pub(super) fn watches(&self, client: usize, item: usize) -> bool {
        let first = item * STRIDE % self.clients;
        (client + self.clients - first) % self.clients < self.watchers
    }

    /// The items of a client.
    pub(super) fn watchlist(&self, client: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.items).filter(move |item| self.watches(client, *item))
    }

    /// The item of an update: each in its turn.
    #[inline]
    pub(super) fn item_of(&self, number: u64) -> usize {
        (number % self.items as u64) as usize
    }

    /// Updates that clients get of so many published ones.
    pub(super) fn copies(&self, published: u64) -> u64 {
        published * self.watchers as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_its_watchers_and_every_client_its_share() {
        let workload = Workload { clients: 100, items: 1_000, watchers: 50 };
        for item in 0..workload.items {
            let watchers = (0..100).filter(|client| workload.watches(*client, item)).count();
            assert_eq!(watchers, 50, "item {item}");
        }
        for client in 0..100 {
            assert_eq!(workload.watchlist(client).count(), 500, "client {client}");
        }
        assert!(!workload.watchlist(3).eq(workload.watchlist(4)), "neighbours differ");
    }
}
