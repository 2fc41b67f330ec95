//! How the providers of a world send images: at once or in parts, with changes
//! in between, and some never to their end.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_api::{ApiError, RefreshHead};
use tapeline_omm::market::Part;
use tapeline_time::Time;

use crate::item::{Content, Item, Truth};
use crate::plan::{Images as Style, Shape};
use crate::planted::Planted;
use crate::random::Random;
use crate::rights::Locks;

/// Within this all parts that are sent at a time arrive, be they long and the window
/// of their connection small.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2);

/// Sends images, and parts of images that are due.
#[derive(Debug)]
pub(crate) struct Images<K> {
    style: Style,
    pub(crate) groups: Groups,
    locks: Locks,
    planted: Planted,
    random: Random,
    /// Those that have begun.
    begun: BTreeMap<K, Begun>,
    /// How many there were.
    count: u64,
    has_numbers: bool,
    /// When the last part was sent.
    sent_at: Time,
}

/// An image of which parts are to come.
#[derive(Clone, Copy, Debug)]
struct Begun {
    item: Item,
    /// The last change that the stream had, by a part or in between.
    seq: u64,
    next: u16,
    of: u16,
    is_numbered: bool,
    /// When the next part is due; none: never.
    due: Option<Time>,
    /// Another one was asked for meanwhile.
    is_wanted_again: bool,
}

impl<K: Copy + Ord> Images<K> {
    pub(crate) fn new(
        style: Style,
        (groups, locks): (Groups, Locks),
        (planted, random): (Planted, Random),
    ) -> Self {
        Self {
            style,
            groups,
            locks,
            planted,
            random,
            begun: BTreeMap::new(),
            count: 0,
            has_numbers: false,
            sent_at: Time::ZERO,
        }
    }

    /// Images have the number of the last change in them.
    pub(crate) const fn numbered(mut self, has_numbers: bool) -> Self {
        self.has_numbers = has_numbers;
        self
    }

    /// Nobody is there any more whom parts are for.
    pub(crate) fn forget_all(&mut self) {
        self.begun.clear();
    }

    pub(crate) fn forget(&mut self, stream: K) {
        self.begun.remove(&stream);
    }

    /// Streams of some items of whose images parts are to come.
    pub(crate) fn begun_of(&self, which: impl Fn(&Item) -> bool) -> impl Iterator<Item = K> {
        self.begun.iter().filter(move |(_, begun)| which(&begun.item)).map(|(stream, _)| *stream)
    }

    /// From here on all images end, also those that have begun.
    pub(crate) fn calm(&mut self, now: Time) {
        self.style.endless_percent = 0;
        for begun in self.begun.values_mut() {
            begun.due.get_or_insert(now);
        }
    }

    /// Sends an image, or the first part of one. One that has begun is finished
    /// before.
    pub(crate) fn begin(
        &mut self,
        now: Time,
        (stream, item): (K, Item),
        truth: &Truth,
        send: impl FnMut(K, Item, &RefreshHead<'_>, &Content) -> Result<(), ApiError>,
    ) {
        if let Some(begun) = self.begun.get_mut(&stream) {
            begun.is_wanted_again = true;
            begun.due = Some(now);
            return;
        }
        self.count += 1;
        let of = 1 + self.random.below(usize::from(self.style.most_parts)) as u16;
        let is_numbered = self.random.percent(self.style.numbered_percent);
        let due = Some(now);
        let seq = self.seq_of(item, truth);
        let begun = Begun { item, seq, next: 0, of, is_numbered, due, is_wanted_again: false };
        self.begun.insert(stream, begun);
        self.send_due(now, truth, send);
    }

    /// Whether all that has begun has been sent, and has arrived by now.
    pub(crate) fn is_settled(&self, now: Time) -> bool {
        self.begun.is_empty() && self.sent_at.after(ARRIVES_WITHIN) < now
    }

    /// A change was sent on a stream.
    pub(crate) fn note_update(&mut self, stream: K, seq: u64) {
        if let Some(begun) = self.begun.get_mut(&stream) {
            begun.seq = seq;
        }
    }

    fn seq_of(&self, item: Item, truth: &Truth) -> u64 {
        let is_old = self.planted == Planted::OldImage && self.count % 4 == 3;
        truth.seq(item).saturating_sub(if is_old { 3 } else { 0 })
    }

    /// When the next part is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.begun.values().filter_map(|begun| begun.due).min()
    }

    /// Sends parts that are due.
    pub(crate) fn send_due(
        &mut self,
        now: Time,
        truth: &Truth,
        mut send: impl FnMut(K, Item, &RefreshHead<'_>, &Content) -> Result<(), ApiError>,
    ) {
        while let Some(stream) = self.next_due(now) {
            let Some(begun) = self.begun.get(&stream).copied() else { return };
            let Begun { item, seq, next, of, is_numbered, is_wanted_again, .. } = begun;
            let is_last = next + 1 == of;
            let number = (is_numbered && of > 1).then_some(next);
            let group = [0, self.groups.of(item)];
            let part = Part { number, is_last };
            let lock = self.locks.of(item);
            let perm_data = lock.as_deref();
            let seq_num = self.has_numbers.then_some(seq as u32);
            let head = RefreshHead {
                part,
                group_id: &group,
                perm_data,
                seq_num,
                ..RefreshHead::default()
            };
            let content = Content::part(item, seq, (next, of), self.style.padding_bytes);
            let is_sent = match send(stream, item, &head, &content) {
                Ok(()) => true,
                // Nobody is there whom it is for, or it was cut off for this.
                Err(
                    ApiError::Void | ApiError::Full | ApiError::Held(_) | ApiError::NotConnected,
                ) => false,
                Err(error) => panic!("a provider cannot send an image: {error}"),
            };
            if is_sent {
                self.sent_at = now;
            }
            if !is_sent || is_last && !is_wanted_again {
                self.begun.remove(&stream);
                continue;
            }
            let is_endless = !is_last && self.random.percent(self.style.endless_percent);
            let apart = Duration::from_millis(self.style.apart_ms);
            let seq_now = self.seq_of(item, truth);
            if let Some(begun) = self.begun.get_mut(&stream) {
                begun.seq = if is_last { seq_now } else { seq };
                begun.next = if is_last { 0 } else { next + 1 };
                begun.is_wanted_again &= !is_last;
                begun.due = match is_wanted_again {
                    true => Some(now),
                    false => (!is_endless).then_some(now.after(apart)),
                };
            }
        }
    }

    fn next_due(&self, now: Time) -> Option<K> {
        let is_due = |begun: &Begun| begun.due.is_some_and(|due| due <= now);
        self.begun.iter().find(|(_, begun)| is_due(begun)).map(|(stream, _)| *stream)
    }
}

/// The groups of items: two of each service, until they are merged.
#[derive(Clone, Debug)]
pub(crate) struct Groups(Vec<[u8; 2]>);

impl Groups {
    pub(crate) fn new(shape: &Shape) -> Self {
        let groups = if shape.groups { [1, 2] } else { [0, 0] };
        Self(vec![groups; shape.all_services()])
    }

    /// What a group became.
    pub(crate) fn now(&self, service: usize, group: usize) -> u8 {
        self.0[service][group % 2]
    }

    pub(crate) fn of(&self, item: Item) -> u8 {
        self.now(item.service, item.name)
    }

    pub(crate) fn merge(&mut self, service: usize, from: u8, into: u8) {
        self.0[service].iter_mut().filter(|group| **group == from).for_each(|group| *group = into);
    }
}
