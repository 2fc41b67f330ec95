//! The items of a source, and whose update comes next.

use std::sync::Arc;

use tapeline_feed::DataFile;
use tapeline_time::Time;

use crate::Counts;
use crate::drive::Playing;
use crate::pace::Pace;
use crate::stamps::Stamps;
use crate::stamps::now_us;
use crate::stock::Template;

/// An item that is published, and to whom.
pub(super) struct Item<T> {
    pub(super) template: Arc<Template>,
    next_update: usize,
    /// Its place among the open ones, while it is open.
    place: Option<usize>,
    pub(super) to: T,
}

/// Gives every open item its turn, at the pace that is wanted.
pub(super) struct Turns<T> {
    items: Vec<Item<T>>,
    /// The items that are updated.
    open: Vec<usize>,
    pace: Pace,
    stamps: Stamps,
    /// The one item whose updates carry the time, where it is one.
    stamped_item: Option<usize>,
    turn: usize,
    counts: Counts,
    buffer: Vec<u8>,
}

impl<T> Turns<T> {
    /// Updates at a pace, of which so many carry the time.
    pub(super) fn new(pace: Pace, stamps: Stamps) -> Self {
        Self {
            items: Vec::new(),
            open: Vec::new(),
            pace,
            stamps,
            stamped_item: None,
            turn: 0,
            counts: Counts::default(),
            buffer: Vec::new(),
        }
    }

    /// Adds an item, which is not open yet. Returns its number.
    pub(super) fn add(&mut self, name: &str, template: Arc<Template>, to: T) -> usize {
        let item = self.items.len();
        if self.stamps.item() == Some(name) {
            self.stamped_item.get_or_insert(item);
        }
        self.items.push(Item { template, next_update: 0, place: None, to });
        item
    }

    pub(super) fn get(&self, item: usize) -> Option<&Item<T>> {
        self.items.get(item)
    }

    pub(super) fn get_mut(&mut self, item: usize) -> Option<&mut Item<T>> {
        self.items.get_mut(item)
    }

    /// An item is updated from now on.
    pub(super) fn open(&mut self, number: usize) {
        let Some(item) = self.items.get_mut(number) else { return };
        if item.place.is_none() {
            item.place = Some(self.open.len());
            self.open.push(number);
        }
    }

    /// An item is not updated any more.
    pub(super) fn close(&mut self, number: usize) {
        let item = self.items.get_mut(number);
        let Some(place) = item.and_then(|item| item.place.take()) else { return };
        self.open.swap_remove(place);
        if let Some(moved) = self.open.get(place) {
            self.items[*moved].place = Some(place);
        }
    }

    /// All items are updated from now on.
    pub(super) fn open_all(&mut self) {
        (0..self.items.len()).for_each(|item| self.open(item));
    }

    /// No item is updated any more.
    pub(super) fn close_all(&mut self) {
        for item in self.open.drain(..) {
            self.items[item].place = None;
        }
    }

    /// An image was sent.
    pub(super) const fn note_image(&mut self) {
        self.counts.images += 1;
    }

    /// A post came.
    pub(super) const fn note_post(&mut self) {
        self.counts.posts += 1;
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            open_items: self.open.len() as u64,
            rate: self.pace.rate(),
            stamp_rate: self.stamps.rate(),
            missed: self.pace.missed(),
            ..self.counts
        }
    }

    /// When updates are due next; `None` while there will be none.
    pub(super) fn next(&self) -> Option<Time> {
        if self.open.is_empty() { None } else { self.pace.next() }
    }

    /// Hands the updates that are due, of the items that are open, to `send`.
    /// Returns how many.
    pub(super) fn send_due(&mut self, now: Time, mut send: impl FnMut(&T, &[u8])) -> u64 {
        if self.open.is_empty() {
            self.pace.skip(now);
            self.stamps.skip(now);
            return 0;
        }
        let due = self.pace.due(now);
        if self.pace.rate() == 0 || self.has_nothing_to_stamp() {
            self.stamps.skip(now);
        }
        let stamped = self.stamps.of_burst(now, due);
        for update in 0..due {
            self.send_one(stamped.contains(update), &mut send);
        }
        due
    }

    /// Whether the updates that are to carry the time are those of an item that
    /// nobody has open.
    fn has_nothing_to_stamp(&self) -> bool {
        let item = self.stamped_item.and_then(|item| self.items.get(item));
        self.stamps.item().is_some() && item.is_none_or(|item| item.place.is_none())
    }

    fn send_one(&mut self, is_stamped: bool, send: &mut impl FnMut(&T, &[u8])) {
        let number = match self.stamped_item {
            Some(item) if is_stamped => item,
            _ => self.next_item(),
        };
        let Some(item) = self.items.get_mut(number) else { return };
        let Some(update) = item.template.updates.get(item.next_update) else { return };
        item.next_update = (item.next_update + 1) % item.template.updates.len();
        self.counts.updates += 1;
        if !is_stamped {
            return send(&item.to, &update.plain);
        }
        self.counts.stamped += 1;
        self.buffer.clear();
        self.buffer.extend_from_slice(&update.stamped);
        DataFile::patch_stamp(&mut self.buffer, now_us());
        send(&item.to, &self.buffer);
    }

    /// The open item whose turn it is.
    fn next_item(&mut self) -> usize {
        if self.turn >= self.open.len() {
            self.turn = 0;
        }
        self.turn += 1;
        self.open[self.turn - 1]
    }
}

/// A source whose items take turns.
pub(super) trait TakesTurns {
    /// To whom an item is published.
    type To;
    fn turns(&self) -> &Turns<Self::To>;
    fn turns_mut(&mut self) -> &mut Turns<Self::To>;
}

impl<S: TakesTurns> Playing for S {
    fn counts(&self) -> Counts {
        self.turns().counts()
    }

    fn set_rate(&mut self, now: Time, rate: u64) {
        self.turns_mut().pace.set_rate(now, rate);
    }

    fn set_stamp_rate(&mut self, now: Time, rate: u64) -> bool {
        self.turns_mut().stamps.set_rate(now, rate);
        true
    }

    fn next(&self) -> Option<Time> {
        self.turns().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stock;
    use crate::age_us;
    use tapeline_feed::DEFAULT_STAMP_FIELD;
    use tapeline_rwf::{Domain, Msg};

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * SECOND)
    }

    /// Items that are published to their own number.
    fn turns(names: &[&str], rate: u64, stamps: Stamps) -> Turns<usize> {
        let mut stock = Stock::sample(None);
        let mut turns = Turns::new(Pace::new(Time::ZERO, rate, 1000), stamps);
        for (number, name) in names.iter().enumerate() {
            let template = stock.template(Domain::MARKET_PRICE, "TAPE1.X").expect("a template");
            turns.add(name, template, number);
        }
        turns
    }

    fn stamps(rate: u64) -> Stamps {
        Stamps::new(Time::ZERO, rate, rate)
    }

    /// To whom updates went, and how old those with a stamp are.
    fn sent(turns: &mut Turns<usize>, now: Time) -> Vec<(usize, Option<u64>)> {
        let mut sent = Vec::new();
        turns.send_due(now, |to, message| {
            let Ok(Msg::Update(update)) = Msg::decode(message) else {
                panic!("no update: {message:x?}");
            };
            sent.push((*to, age_us(&update, DEFAULT_STAMP_FIELD)));
        });
        sent
    }

    #[test]
    fn a_stamp_is_the_time_in_one_more_field() {
        let mut turns = turns(&["A"], 2, stamps(1));
        turns.open_all();
        let before = now_us();
        let sent = sent(&mut turns, at(1));
        assert!(sent[0].1.expect("a stamp") <= now_us() - before);
        assert_eq!((sent.len(), sent[1].1), (2, None));
        assert_eq!((turns.counts().updates, turns.counts().stamped), (2, 1));
        let update = &turns.get(0).expect("an item").template.updates[0];
        let count = |message: &[u8]| {
            let msg = Msg::decode(message).expect("valid");
            msg.payload().field_list().expect("fields").len()
        };
        assert_eq!(count(&update.stamped), count(&update.plain) + 1);
    }

    #[test]
    fn stamps_of_one_item_go_to_no_other_and_are_part_of_the_rate() {
        let mut turns = turns(&["A", "B", "C"], 100, stamps(10).on_item("B".to_owned()));
        for item in [0, 2] {
            turns.open(item);
        }
        let is_stamped = |(_, age): &(usize, Option<u64>)| age.is_some();
        assert!(!sent(&mut turns, at(1)).iter().any(is_stamped), "nobody has B open");
        turns.open(1);
        let sent = sent(&mut turns, at(2));
        assert_eq!(sent.len(), 100);
        let stamped: Vec<usize> =
            sent.iter().filter(|sent| is_stamped(sent)).map(|(to, _)| *to).collect();
        assert_eq!(stamped, [1; 10]);
        assert!((30..=40).contains(&sent.iter().filter(|(to, _)| *to == 0).count()));
    }

    #[test]
    fn open_items_take_turns_and_go_through_their_updates() {
        let mut turns = turns(&["A", "B", "C"], 6, stamps(0));
        turns.open(2);
        turns.open(1);
        turns.open(0);
        turns.close(1);
        let mut messages = Vec::new();
        let count = turns.send_due(at(1), |to, message| messages.push((*to, message.to_vec())));
        assert_eq!((count, turns.counts().updates, turns.counts().open_items), (6, 6, 2));
        assert_eq!(messages.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [2, 0, 2, 0, 2, 0]);
        assert_eq!(messages[4].1, turns.get(0).expect("an item").template.updates[2].plain);
    }

    #[test]
    fn without_open_items_nothing_is_made_up_for_later() {
        let mut turns = turns(&["A"], 1000, stamps(10));
        assert_eq!((turns.next(), sent(&mut turns, at(5)).len()), (None, 0));
        turns.open_all();
        assert_eq!(sent(&mut turns, at(6)).len(), 1000);
        turns.close_all();
        assert_eq!((sent(&mut turns, at(7)).len(), turns.counts().open_items), (0, 0));
    }

    #[test]
    fn stamps_of_a_time_without_updates_are_not_made_up_for() {
        let mut turns = turns(&["A"], 0, stamps(10));
        turns.open_all();
        assert_eq!(sent(&mut turns, at(60)).len(), 0);
        turns.pace.set_rate(at(60), 1000);
        let burst = sent(&mut turns, Time::from_nanos(60 * SECOND + SECOND / 20));
        assert_eq!((burst.len(), burst.iter().filter(|(_, age)| age.is_some()).count()), (50, 0));
    }

    #[test]
    fn rates_can_be_changed() {
        let mut turns = turns(&["A"], 1000, stamps(10));
        turns.open_all();
        assert_eq!(sent(&mut turns, at(1)).len(), 1000);
        turns.pace.set_rate(at(1), 20);
        turns.stamps.set_rate(at(1), 5);
        let sent = sent(&mut turns, at(2));
        assert_eq!(sent.iter().filter(|(_, age)| age.is_some()).count(), 5);
        assert_eq!((sent.len(), turns.counts().rate, turns.counts().stamp_rate), (20, 20, 5));
    }
}
