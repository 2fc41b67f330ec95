//! The part of all updates that a client gets, and was to get.
//!
//! Updates are numbered in the order in which they are published. A client
//! keeps the next number that it may get, how many it got, and their sum. Two
//! shares with the same count and the same sum, each in ascending order, are of
//! the same updates, but for a conspiracy of errors.

use crate::plan::Plan;

/// What a client got, or was to get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number that the next update has at least.
    next: u64,
    count: u64,
    /// Of the numbers; it wraps around.
    sum: u64,
}

impl Share {
    /// Adds an update. False if one with its number, or a later one, is there.
    #[inline]
    pub(crate) fn add_next(&mut self, number: u64) -> bool {
        let is_next = number >= self.next;
        self.next = number.wrapping_add(1);
        self.count += 1;
        self.sum = self.sum.wrapping_add(number);
        is_next
    }

    /// Whether it came from `before` to `self` by exactly the updates of
    /// `expected`.
    fn has_grown_by(&self, before: &Self, expected: &Self) -> bool {
        self.count - before.count == expected.count
            && self.sum.wrapping_sub(before.sum) == expected.sum
    }
}

/// The clients that did not get exactly their updates among the `sent` ones
/// from number `first` on.
pub(crate) fn wrong_shares(
    plan: &Plan,
    (first, sent): (u64, u64),
    before: &[Share],
    now: &[Share],
) -> usize {
    let by_item = shares_by_item(plan, first, sent);
    let expected = plan.watchlists.iter().map(|watchlist| {
        watchlist.iter().fold(Share::default(), |sum, item| {
            let of = by_item[*item as usize];
            Share { next: 0, count: sum.count + of.count, sum: sum.sum.wrapping_add(of.sum) }
        })
    });
    let pairs = before.iter().zip(now);
    expected
        .zip(pairs)
        .filter(|(expected, (before, now))| !now.has_grown_by(before, expected))
        .count()
}

/// How often each item is among the updates, and the sum of their numbers.
fn shares_by_item(plan: &Plan, first: u64, sent: u64) -> Vec<Share> {
    let mut by_item = vec![Share::default(); plan.items];
    let period = plan.order.len() as u64;
    for (place, item) in plan.order.iter().enumerate() {
        // Numbers from `first` on that are `place` more than a multiple.
        let ahead = (place as u64 + period - first % period) % period;
        if ahead >= sent {
            continue;
        }
        let count = (sent - ahead).div_ceil(period);
        let lowest = u128::from(first + ahead);
        let (many, period) = (u128::from(count), u128::from(period));
        let sum = many * lowest + many * (many - 1) / 2 * period;
        let share = &mut by_item[*item as usize];
        share.count += count;
        share.sum = share.sum.wrapping_add(sum as u64);
    }
    by_item
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clients get of the updates of a plan, one after the other.
    fn deliver(plan: &Plan, first: u64, sent: u64) -> Vec<Share> {
        let mut shares = vec![Share::default(); plan.watchlists.len()];
        for number in first..first + sent {
            let item = plan.order[(number % plan.order.len() as u64) as usize];
            for (share, watchlist) in shares.iter_mut().zip(&plan.watchlists) {
                if watchlist.contains(&item) {
                    assert!(share.add_next(number));
                }
            }
        }
        shares
    }

    #[test]
    fn every_client_gets_its_share_from_any_number_on() {
        let plan = Plan::fifty_fifty(4, 3, 2);
        let none = vec![Share::default(); 4];
        for first in 0..20 {
            for sent in 0..40 {
                let got = deliver(&plan, first, sent);
                assert_eq!(wrong_shares(&plan, (first, sent), &none, &got), 0, "{first} {sent}");
            }
        }
    }

    #[test]
    fn an_update_for_another_client_is_noticed_though_the_total_is_right() {
        let plan = Plan::fifty_fifty(4, 3, 2);
        let none = vec![Share::default(); 4];
        let mut got = deliver(&plan, 0, 100);
        got[1].count -= 1;
        got[2].count += 1;
        assert_eq!(wrong_shares(&plan, (0, 100), &none, &got), 2);
        let mut got = deliver(&plan, 0, 100);
        got[3].sum += 1;
        assert_eq!(wrong_shares(&plan, (0, 100), &none, &got), 1);
    }

    #[test]
    fn what_came_before_does_not_count() {
        let plan = Plan::fifty_fifty(4, 3, 2);
        let before = deliver(&plan, 0, 33);
        let all = deliver(&plan, 0, 90);
        assert_eq!(wrong_shares(&plan, (33, 57), &before, &all), 0);
        // The last one is of one client, the one before it of all.
        assert_eq!(wrong_shares(&plan, (33, 56), &before, &all), 1);
        assert_eq!(wrong_shares(&plan, (33, 55), &before, &all), 4);
    }

    #[test]
    fn an_update_that_comes_again_or_late_is_not_next() {
        let mut share = Share::default();
        assert!(share.add_next(0) && share.add_next(5));
        assert!(!share.add_next(5));
        assert!(!share.add_next(4));
    }
}
