//! Whose update comes next.

use std::sync::Arc;

use tapeline_feed::DataFile;
use tapeline_rssl::Time;

use super::stock::Template;
use crate::measure::now_us;
use crate::pace::Pace;

/// An item that is published, and to whom.
pub(super) struct Item<T> {
    pub(super) template: Arc<Template>,
    next_update: usize,
    pub(super) to: T,
}

impl<T> Item<T> {
    pub(super) const fn new(template: Arc<Template>, to: T) -> Self {
        Self { template, next_update: 0, to }
    }
}

/// Gives every open item its turn, at the pace that is wanted.
pub(super) struct Turns {
    pace: Pace,
    stamps: Pace,
    /// Updates that are to carry a time stamp.
    stamps_due: u64,
    turn: usize,
    pub(super) updates: u64,
    buffer: Vec<u8>,
}

impl Turns {
    /// Updates at a pace, of which so many carry the time.
    pub(super) const fn new(pace: Pace, stamps: Pace) -> Self {
        Self { pace, stamps, stamps_due: 0, turn: 0, updates: 0, buffer: Vec::new() }
    }

    pub(super) const fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(super) fn set_rate(&mut self, now: Time, rate: u64) {
        self.pace.set_rate(now, rate);
    }

    /// Hands the updates that are due, of the items that are open, to `send`.
    /// Returns how many.
    pub(super) fn send_due<T>(
        &mut self,
        now: Time,
        items: &mut [Item<T>],
        open: &[usize],
        mut send: impl FnMut(&T, &[u8]),
    ) -> u64 {
        if open.is_empty() {
            self.pace.skip(now);
            self.stamps.skip(now);
            return 0;
        }
        let due = self.pace.due(now);
        self.stamps_due += self.stamps.due(now);
        for _ in 0..due {
            if self.turn >= open.len() {
                self.turn = 0;
            }
            let Some(item) = items.get_mut(open[self.turn]) else { continue };
            self.turn += 1;
            let Some(update) = item.template.updates.get(item.next_update) else { continue };
            item.next_update = (item.next_update + 1) % item.template.updates.len();
            self.updates += 1;
            if self.stamps_due == 0 {
                send(&item.to, &update.plain);
                continue;
            }
            self.stamps_due -= 1;
            self.buffer.clear();
            self.buffer.extend_from_slice(&update.stamped);
            DataFile::patch_stamp(&mut self.buffer, now_us());
            send(&item.to, &self.buffer);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::age_us;
    use crate::source::Stock;
    use tapeline_rwf::{Domain, Msg};

    fn item() -> Item<usize> {
        let mut stock = Stock::sample(None);
        Item::new(stock.template(Domain::MARKET_PRICE, "TAPE1.X").expect("a template"), 0)
    }

    #[test]
    fn a_stamp_is_the_time_in_one_more_field() {
        let second = Time::from_nanos(1_000_000_000);
        let mut turns = Turns::new(Pace::new(Time::ZERO, 2, 2), Pace::new(Time::ZERO, 1, 1));
        let mut items = vec![item()];
        let before = now_us();
        let mut sent = Vec::new();
        turns.send_due(second, &mut items, &[0], |_, message| sent.push(message.to_vec()));
        let [stamped, plain] = [0, 1].map(|at: usize| match Msg::decode(&sent[at]) {
            Ok(Msg::Update(update)) => update,
            other => panic!("no update: {other:?}"),
        });
        let age = age_us(&stamped).expect("a stamp");
        assert!(age <= now_us() - before);
        assert_eq!(age_us(&plain), None);
        let update = &items[0].template.updates[0];
        let count = |message: &[u8]| {
            let msg = Msg::decode(message).expect("valid");
            msg.payload().field_list().expect("fields").len()
        };
        assert_eq!(count(&update.stamped), count(&update.plain) + 1);
    }

    #[test]
    fn open_items_take_turns_and_go_through_their_updates() {
        let second = Time::from_nanos(1_000_000_000);
        let pace = Pace::new(Time::ZERO, 6, 6);
        let mut turns = Turns::new(pace, Pace::new(Time::ZERO, 0, 1));
        let mut items = vec![item(), item(), item()];
        for (number, item) in items.iter_mut().enumerate() {
            item.to = number;
        }
        let mut sent = Vec::new();
        let template = Arc::clone(&items[0].template);
        let count = turns.send_due(second, &mut items, &[2, 0], |to, message| {
            sent.push((*to, message.to_vec()));
        });
        assert_eq!((count, turns.updates), (6, 6));
        assert_eq!(sent.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [2, 0, 2, 0, 2, 0]);
        assert_eq!(sent[4].1, template.updates[2].plain);
    }

    #[test]
    fn without_open_items_nothing_is_made_up_for_later() {
        let mut turns =
            Turns::new(Pace::new(Time::ZERO, 1000, 1000), Pace::new(Time::ZERO, 10, 10));
        let second = |count: u64| Time::from_nanos(count * 1_000_000_000);
        let mut items = vec![item()];
        assert_eq!(turns.send_due(second(5), &mut items, &[], |_, _| {}), 0);
        assert_eq!(turns.send_due(second(6), &mut items, &[0], |_, _| {}), 1000);
    }
}
