//! Who watches an item.

use std::collections::BTreeMap;

use tapeline_channel::SessionId;

use super::Core;
use super::forms::{Form, Forms, MAX_STREAMS_WITH_NEW_VIEWS};
use super::rows::Cell;
use super::subscription::{Subscription, mode};
use super::subscriptions::Subscriptions;

/// A subscription, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watcher {
    pub(super) session: SessionId,
    pub(super) stream_id: i32,
    /// The form in which it gets messages, 0 for the plain one.
    pub(super) form: usize,
    subscription: Subscription,
}

impl Watcher {
    pub(super) const fn has(&self, bit: u32) -> bool {
        self.subscription.has(bit)
    }

    /// The number of its mount.
    pub(super) const fn mount(&self) -> u32 {
        self.subscription.mount()
    }
}

/// The watchers of an item, in the [order](Subscription::order) of their subscriptions.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    subscriptions: Subscriptions,
    forms: Option<Box<Forms>>,
}

impl Watchers {
    pub(super) const fn is_empty(&self) -> bool {
        self.subscriptions.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// All subscriptions, some after some: the n-th of the m-th are at
    /// [`Cell::new(m, n)`](Cell::new).
    #[inline]
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Subscription]> {
        self.subscriptions.rows()
    }

    pub(super) fn subscriptions(&self) -> impl Iterator<Item = &Subscription> {
        self.subscriptions.iter()
    }

    pub(super) fn subscriptions_mut(&mut self) -> impl Iterator<Item = &mut Subscription> {
        self.subscriptions.iter_mut()
    }

    /// The first cell from this one on whose watcher is still to be looked at.
    pub(super) fn unchecked_from(&self, cell: Cell) -> Option<Cell> {
        let mut column = cell.column();
        for (row, subscriptions) in self.rows().enumerate().skip(cell.row()) {
            let rest = subscriptions.get(column..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|it| it.has(mode::UNCHECKED)) {
                return Some(Cell::new(row, column + at));
            }
            column = 0;
        }
        None
    }

    /// Whether an update for them is a copy or two.
    #[inline]
    pub(super) const fn are_few(&self) -> bool {
        self.subscriptions.are_few()
    }

    pub(super) fn subscription(&self, cell: Cell) -> Option<Subscription> {
        self.subscriptions.get(cell)
    }

    pub(super) fn subscription_mut(&mut self, cell: Cell) -> Option<&mut Subscription> {
        self.subscriptions.get_mut(cell)
    }

    /// Bytes of the view of the watcher that has a subscription.
    pub(super) fn view_bytes(&self, subscription: Subscription) -> usize {
        self.form(self.number(subscription)).map_or(0, Form::view_bytes)
    }

    /// Panics where subscriptions are not in order, or subscriptions and forms contradict each
    /// other.
    pub(super) fn check(&self) {
        self.subscriptions.check();
        let mut numbers = BTreeMap::new();
        for subscription in self.subscriptions() {
            *numbers.entry(self.number(*subscription)).or_default() += 1;
        }
        numbers.remove(&0);
        let far = self
            .subscriptions()
            .filter(|subscription| subscription.form() == Subscription::FAR)
            .count();
        match &self.forms {
            Some(forms) => forms.check(&numbers, far),
            None => assert!(numbers.is_empty() && far == 0, "nobody has a form: {numbers:?}"),
        }
    }

    /// The watcher in a cell, given the session of its mount.
    pub(super) fn at(
        &self,
        cell: Cell,
        session: impl FnOnce(Subscription) -> Option<SessionId>,
    ) -> Option<Watcher> {
        let subscription = self.subscriptions.get(cell)?;
        Some(Watcher {
            session: session(subscription)?,
            stream_id: subscription.stream_id(),
            form: self.number(subscription),
            subscription,
        })
    }

    /// The first taken cell from this one on.
    pub(super) fn from(&self, cell: Cell) -> Option<Cell> {
        Some(self.subscriptions.from(cell)?.0)
    }

    /// The cell of the watcher that has such a subscription.
    pub(super) fn cell(&self, subscription: Subscription) -> Option<Cell> {
        self.subscriptions.find(subscription.order())
    }

    /// Whether it was written down that somebody watches.
    pub(super) fn is_recorded(&self, subscription: Subscription) -> bool {
        let found = self.subscriptions.find(subscription.order());
        found.and_then(|cell| self.subscriptions.get(cell)).is_some_and(|it| it.has(mode::RECORDED))
    }

    /// Whether a mount watches.
    pub(super) fn has_mount(&self, mount: u32) -> bool {
        let first = self.subscriptions.first_from(Subscription::new(mount, i32::MIN, true).order());
        first.is_some_and(|(_, subscription)| subscription.mount() == mount)
    }

    /// Whether a mount watches with updates.
    pub(super) fn has_streaming(&self, mount: u32) -> bool {
        let first = self.subscriptions.first_from(Subscription::new(mount, i32::MIN, true).order());
        first.is_some_and(|(_, subscription)| {
            subscription.mount() == mount && subscription.is_streaming()
        })
    }

    /// Adds a watcher that is not there yet; its cell.
    pub(super) fn insert(&mut self, subscription: Subscription) -> Cell {
        self.subscriptions.insert(subscription)
    }

    /// Takes a watcher off.
    pub(super) fn remove(&mut self, cell: Cell) {
        self.set_form(cell, Form::PLAIN);
        self.subscriptions.remove(cell);
    }

    /// Number of the form in which a watcher gets messages, 0 for the plain one.
    #[inline]
    fn number(&self, subscription: Subscription) -> usize {
        match subscription.form() {
            Subscription::FAR => self.far_number(subscription),
            number => number,
        }
    }

    #[cold]
    fn far_number(&self, subscription: Subscription) -> usize {
        let far = self.forms.as_ref().and_then(|forms| forms.far.get(&subscription.order()));
        far.copied().unwrap_or_default()
    }

    /// A form by its number; `None` for the plain one.
    pub(super) fn form(&self, number: usize) -> Option<&Form> {
        self.forms.as_ref()?.get(number)
    }

    /// The form of the watcher in a cell; `None` for the plain one.
    pub(super) fn form_at(&self, cell: Cell) -> Option<&Form> {
        self.form(self.number(self.subscriptions.get(cell)?))
    }

    /// Whether the mount of the watcher in a cell has so many streams here that
    /// it brings no new view.
    fn is_crowded(&self, cell: Cell) -> bool {
        let Some(mount) = self.subscriptions.get(cell).map(Subscription::mount) else {
            debug_assert!(false, "a cell with a watcher");
            return false;
        };
        let mut next =
            self.subscriptions.first_from(Subscription::new(mount, i32::MIN, true).order());
        for _ in 0..=MAX_STREAMS_WITH_NEW_VIEWS {
            match next {
                Some((cell, subscription)) if subscription.mount() == mount => {
                    next = self.subscriptions.from(cell.next());
                }
                _ => return false,
            }
        }
        true
    }

    /// Sets the form in which a watcher gets messages from now on. Where there
    /// is no room for its view it is the form with all fields.
    pub(super) fn set_form(&mut self, cell: Cell, form: Form) {
        if self.forms.is_none() && form == Form::PLAIN {
            return;
        }
        let has_room = form.view.is_none() || !self.is_crowded(cell);
        let Some(subscription) = self.subscriptions.get_mut(cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        if subscription.form() == 0 && form == Form::PLAIN {
            return;
        }
        let forms = self.forms.get_or_insert_default();
        let before = match subscription.form() {
            Subscription::FAR => forms.far.remove(&subscription.order()).unwrap_or_default(),
            number => number,
        };
        forms.give_back(before);
        let number = forms.take(form, has_room);
        subscription.set_form(number.min(Subscription::FAR));
        if number >= Subscription::FAR {
            forms.far.insert(subscription.order(), number);
        }
        if forms.is_empty() {
            self.forms = None;
        }
    }
}

impl Core {
    /// The item on a stream of a mount: its slot and the watcher's cell.
    pub(super) fn item_on(&self, session: SessionId, stream_id: i32) -> Option<(u32, Cell)> {
        let mount = self.mounts.get(session)?;
        let stream = mount.streams.item(stream_id)?;
        let watchers = &self.items.get(stream.slot)?.watchers;
        Some((stream.slot, watchers.cell(stream.subscription(mount.number, stream_id))?))
    }

    /// The watcher of an item in a cell.
    pub(super) fn watcher(&self, slot: u32, cell: Cell) -> Option<Watcher> {
        self.mounts.watcher(self.items.get(slot)?, cell)
    }

    /// The first watcher of an item from a cell on whose mount is there.
    pub(super) fn watcher_from(&self, slot: u32, from: Cell) -> Option<(Cell, Watcher)> {
        let item = self.items.get(slot)?;
        let mut next = from;
        while let Some(cell) = item.watchers.from(next) {
            if let Some(watcher) = self.mounts.watcher(item, cell) {
                return Some((cell, watcher));
            }
            next = cell.next();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tapeline_omm::view::View;

    fn of_field(field_id: i16) -> Form {
        Form { view: Some(View::of_fields([field_id])), ..Form::PLAIN }
    }

    fn subscription(mount: u32) -> Subscription {
        Subscription::new(mount, 1, true)
    }

    #[test]
    fn few_watchers_take_32_bytes() {
        assert_eq!(size_of::<Watchers>(), 32);
    }

    #[test]
    fn a_watcher_is_what_its_subscription_says() {
        let mut watchers = Watchers::default();
        let last = Subscription::MOUNTS - 1;
        let cell = watchers.insert(Subscription::new(last, -5, true));
        watchers.set_form(cell, of_field(22));
        watchers.subscription_mut(cell).unwrap().set(mode::WANTS, true);
        let session = SessionId { index: 3, generation: 4 };
        let watcher = watchers
            .at(cell, |subscription| (subscription.mount() == last).then_some(session))
            .unwrap();
        assert_eq!(watcher.session, session);
        assert_eq!((watcher.stream_id, watcher.form), (-5, 1));
        assert!(watcher.has(mode::WANTS) && !watcher.has(mode::LIVE));
        watchers.set_form(cell, Form::PLAIN);
        assert_eq!(watchers.form_at(cell), None);
        assert!(watchers.forms.is_none(), "nobody has a form");
    }

    #[test]
    fn those_who_are_to_be_looked_at_are_found_in_any_row() {
        let mut watchers = Watchers::default();
        assert_eq!(watchers.unchecked_from(Cell::FIRST), None);
        for mount in 0..600 {
            watchers.insert(subscription(mount));
        }
        let wanted = [0, 1, 255, 256, 511, 599];
        for mount in wanted {
            let cell = watchers.cell(subscription(mount)).unwrap();
            watchers.subscription_mut(cell).unwrap().set(mode::UNCHECKED, true);
        }
        let (mut next, mut found) = (Cell::FIRST, Vec::new());
        while let Some(cell) = watchers.unchecked_from(next) {
            found.push(watchers.subscriptions.get(cell).unwrap().mount());
            next = cell.next();
        }
        assert_eq!(found, wanted);
    }

    #[test]
    fn each_of_many_watchers_may_have_a_form_of_its_own() {
        let mut watchers = Watchers::default();
        for mount in 0..600 {
            let cell = watchers.insert(subscription(mount));
            watchers.set_form(cell, of_field(mount as i16));
        }
        let has = |watchers: &Watchers, mount: u32, field_id: i16| {
            let cell = watchers.cell(subscription(mount)).unwrap();
            let session = SessionId { index: 0, generation: 0 };
            let watcher = watchers.at(cell, |_| Some(session)).unwrap();
            assert_eq!(watchers.form(watcher.form), Some(&of_field(field_id)));
        };
        (0..600).for_each(|mount| has(&watchers, mount, mount as i16));
        for mount in 0..500 {
            let cell = watchers.cell(subscription(mount)).unwrap();
            watchers.remove(cell);
        }
        for step in 0..1000 {
            let cell = watchers.cell(subscription(500)).unwrap();
            watchers.set_form(cell, of_field(1000 + step));
        }
        has(&watchers, 500, 1999);
        (501..600).for_each(|mount| has(&watchers, mount, mount as i16));
        assert!(watchers.forms.as_ref().unwrap().far.len() <= 100);
        for mount in 500..600 {
            assert!(watchers.forms.is_some());
            let cell = watchers.cell(subscription(mount)).unwrap();
            watchers.remove(cell);
        }
        assert!(watchers.forms.is_none(), "the last one has left");
    }

    proptest! {
        #[test]
        fn a_mount_has_streams_with_updates_or_not(
            steps in prop::collection::vec((0..4_u32, -3..3_i32, any::<[bool; 2]>()), 0..100)
        ) {
            let (mut watchers, mut known) = (Watchers::default(), std::collections::HashSet::new());
            for (mount, stream_id, [is_streaming, is_there]) in steps {
                let subscription = Subscription::new(mount, stream_id, is_streaming);
                if is_there {
                    watchers.insert(subscription);
                    known.insert((mount, stream_id, is_streaming));
                } else if let Some(cell) = watchers.cell(subscription) {
                    watchers.remove(cell);
                    known.remove(&(mount, stream_id, is_streaming));
                }
                for mount in 0..4 {
                    let has = known.iter().any(|(of, _, is_streaming)| *of == mount && *is_streaming);
                    prop_assert_eq!(watchers.has_streaming(mount), has);
                }
            }
        }
    }
}
