//! Who watches what, and what is published.

use crate::clients::Reading;

/// Who watches what, and what is published.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) items: usize,
    pub(crate) watchlists: Vec<Vec<u32>>,
    /// The items of updates, one after the other, again and again.
    pub(crate) order: Vec<u32>,
    pub(crate) reading: Reading,
}

impl Plan {
    /// One client that watches all items, which are published in turn.
    pub(crate) fn one_client(items: usize, reading: Reading) -> Self {
        Self::alike(1, items, reading)
    }

    /// Clients that all watch all items.
    pub(crate) fn alike(mounts: usize, items: usize, reading: Reading) -> Self {
        let all: Vec<u32> = (0..items as u32).collect();
        Self { items, watchlists: vec![all.clone(); mounts], order: all, reading }
    }

    /// Producer 50/50: every mount has all of `common` items and `own` ones
    /// that nobody else has. Every other update is of a common item, so that an
    /// update goes to half of the mounts in the mean (and half a mount more).
    pub(crate) fn fifty_fifty(mounts: usize, common: usize, own: usize) -> Self {
        let (mounts, common, own) = (mounts.max(1), common.max(1), own.max(1));
        let items = common + mounts * own;
        let watchlist = |mount: usize| {
            let first = common + mount * own;
            (0..common).chain(first..first + own).map(|item| item as u32).collect()
        };
        let of_one = |n: usize| {
            // One of each mount in turn.
            (common + n % mounts * own + n / mounts % own) as u32
        };
        let order = (0..mounts * own).flat_map(|n| [(n % common) as u32, of_one(n)]).collect();
        Self {
            items,
            watchlists: (0..mounts).map(watchlist).collect(),
            order,
            reading: Reading::Headers,
        }
    }

    /// How many mounts have each item.
    pub(crate) fn watchers(&self) -> Vec<u32> {
        let mut watchers = vec![0; self.items];
        for item in self.watchlists.iter().flatten() {
            watchers[*item as usize] += 1;
        }
        watchers
    }

    /// How many mounts get an update, in the mean.
    pub(crate) fn fan_out(&self) -> f64 {
        let watchers = self.watchers();
        let copies: u64 = self.order.iter().map(|item| u64::from(watchers[*item as usize])).sum();
        copies as f64 / self.order.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_updates_go_to_all_mounts_and_half_to_one() {
        let plan = Plan::fifty_fifty(100, 7, 3);
        assert_eq!(plan.items, 307);
        assert!((plan.fan_out() - 50.5).abs() < 1e-9, "{}", plan.fan_out());
        let mut seen: Vec<u32> = plan.order.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 307);
    }

    #[test]
    fn one_client_gets_each_update_once() {
        let plan = Plan::one_client(10, Reading::Headers);
        assert!((plan.fan_out() - 1.0).abs() < 1e-9);
        let plan = Plan::alike(3, 10, Reading::Headers);
        assert!((plan.fan_out() - 3.0).abs() < 1e-9);
    }
}
