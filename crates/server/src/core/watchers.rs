//! Who watches an item.

use std::collections::BTreeMap;

use tapeline_channel::SessionId;

use super::Core;
use super::forms::{Form, Forms, MAX_STREAMS_WITH_NEW_VIEWS};
use super::rows::Place;
use super::seat::Seat;
use super::seats::Seats;

/// A seat, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watcher {
    pub(super) session: SessionId,
    pub(super) stream_id: i32,
    /// The form in which it gets messages, 0 for the plain one.
    pub(super) form: usize,
    seat: Seat,
}

impl Watcher {
    pub(super) const fn has(&self, bit: u32) -> bool {
        self.seat.has(bit)
    }
}

/// The watchers of an item, in the [order](Seat::order) of their seats.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    seats: Seats,
    forms: Option<Box<Forms>>,
}

impl Watchers {
    pub(super) const fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    /// All seats, some after some: the n-th of the m-th are at
    /// [`Place::new(m, n)`](Place::new).
    #[inline]
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Seat]> {
        self.seats.rows()
    }

    pub(super) fn seats(&self) -> impl Iterator<Item = &Seat> {
        self.seats.iter()
    }

    pub(super) fn seats_mut(&mut self) -> impl Iterator<Item = &mut Seat> {
        self.seats.iter_mut()
    }

    pub(super) fn seat_mut(&mut self, place: Place) -> Option<&mut Seat> {
        self.seats.get_mut(place)
    }

    /// Bytes of the view of the watcher that has a seat.
    pub(super) fn view_bytes(&self, seat: Seat) -> usize {
        self.form(self.number(seat)).map_or(0, Form::view_bytes)
    }

    /// Panics where seats are not in order, or seats and forms contradict each
    /// other.
    pub(super) fn check(&self) {
        self.seats.check();
        let mut numbers = BTreeMap::new();
        for seat in self.seats() {
            *numbers.entry(self.number(*seat)).or_default() += 1;
        }
        numbers.remove(&0);
        let far = self.seats().filter(|seat| seat.form() == Seat::FAR).count();
        match &self.forms {
            Some(forms) => forms.check(&numbers, far),
            None => assert!(numbers.is_empty() && far == 0, "nobody has a form: {numbers:?}"),
        }
    }

    /// The watcher at a place, given the session of its mount.
    pub(super) fn at(
        &self,
        place: Place,
        session: impl FnOnce(Seat) -> Option<SessionId>,
    ) -> Option<Watcher> {
        let seat = self.seats.get(place)?;
        Some(Watcher {
            session: session(seat)?,
            stream_id: seat.stream_id(),
            form: self.number(seat),
            seat,
        })
    }

    /// The first taken place from this one on.
    pub(super) fn from(&self, place: Place) -> Option<Place> {
        Some(self.seats.from(place)?.0)
    }

    /// The place of the watcher that has such a seat.
    pub(super) fn place(&self, seat: Seat) -> Option<Place> {
        self.seats.find(seat.order())
    }

    /// Whether a mount watches with updates.
    pub(super) fn has_streaming(&self, mount: u32) -> bool {
        let first = self.seats.first_from(Seat::new(mount, i32::MIN, true).order());
        first.is_some_and(|(_, seat)| seat.mount() == mount && seat.is_streaming())
    }

    /// Adds a watcher that is not there yet; its place.
    pub(super) fn insert(&mut self, seat: Seat) -> Place {
        self.seats.insert(seat)
    }

    /// Takes a watcher off.
    pub(super) fn remove(&mut self, place: Place) {
        self.set_form(place, Form::PLAIN);
        self.seats.remove(place);
    }

    /// Number of the form in which a watcher gets messages, 0 for the plain one.
    #[inline]
    fn number(&self, seat: Seat) -> usize {
        match seat.form() {
            Seat::FAR => self.far_number(seat),
            number => number,
        }
    }

    #[cold]
    fn far_number(&self, seat: Seat) -> usize {
        let far = self.forms.as_ref().and_then(|forms| forms.far.get(&seat.order()));
        far.copied().unwrap_or_default()
    }

    /// A form by its number; `None` for the plain one.
    pub(super) fn form(&self, number: usize) -> Option<&Form> {
        self.forms.as_ref()?.get(number)
    }

    /// The form of the watcher at a place; `None` for the plain one.
    pub(super) fn form_at(&self, place: Place) -> Option<&Form> {
        self.form(self.number(self.seats.get(place)?))
    }

    /// Whether the mount of the watcher at a place has so many streams here that
    /// it brings no new view.
    fn is_crowded(&self, place: Place) -> bool {
        let Some(mount) = self.seats.get(place).map(Seat::mount) else {
            debug_assert!(false, "a place of a watcher");
            return false;
        };
        let mut next = self.seats.first_from(Seat::new(mount, i32::MIN, true).order());
        for _ in 0..=MAX_STREAMS_WITH_NEW_VIEWS {
            match next {
                Some((place, seat)) if seat.mount() == mount => {
                    next = self.seats.from(place.next());
                }
                _ => return false,
            }
        }
        true
    }

    /// Sets the form in which a watcher gets messages from now on. Where there
    /// is no room for its view it is the form with all fields.
    pub(super) fn set_form(&mut self, place: Place, form: Form) {
        if self.forms.is_none() && form == Form::PLAIN {
            return;
        }
        let has_room = form.view.is_none() || !self.is_crowded(place);
        let Some(seat) = self.seats.get_mut(place) else {
            debug_assert!(false, "a place of a watcher");
            return;
        };
        let forms = self.forms.get_or_insert_default();
        let before = match seat.form() {
            Seat::FAR => forms.far.remove(&seat.order()).unwrap_or_default(),
            number => number,
        };
        forms.give_back(before);
        let number = forms.take(form, has_room);
        seat.set_form(number.min(Seat::FAR));
        if number >= Seat::FAR {
            forms.far.insert(seat.order(), number);
        }
        if forms.is_empty() {
            self.forms = None;
        }
    }
}

impl Core {
    /// The item on a stream of a mount: its slot and the watcher's place.
    pub(super) fn item_on(&self, session: SessionId, stream_id: i32) -> Option<(u32, Place)> {
        let mount = self.mounts.get(session)?;
        let stream = mount.streams.item(stream_id)?;
        let watchers = &self.items.get(stream.slot)?.watchers;
        Some((stream.slot, watchers.place(stream.seat(mount.number, stream_id))?))
    }

    /// The watcher of an item at a place.
    pub(super) fn watcher(&self, slot: u32, place: Place) -> Option<Watcher> {
        self.mounts.watcher(self.items.get(slot)?, place)
    }

    /// The first watcher of an item from a place on whose mount is there.
    pub(super) fn watcher_from(&self, slot: u32, from: Place) -> Option<(Place, Watcher)> {
        let item = self.items.get(slot)?;
        let mut next = from;
        while let Some(place) = item.watchers.from(next) {
            if let Some(watcher) = self.mounts.watcher(item, place) {
                return Some((place, watcher));
            }
            next = place.next();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::seat::mode;
    use proptest::prelude::*;
    use tapeline_omm::view::View;

    fn of_field(field_id: i16) -> Form {
        Form { view: Some(View::of_fields([field_id])), ..Form::PLAIN }
    }

    fn seat(mount: u32) -> Seat {
        Seat::new(mount, 1, true)
    }

    #[test]
    fn few_watchers_take_32_bytes() {
        assert_eq!(size_of::<Watchers>(), 32);
    }

    #[test]
    fn a_watcher_is_what_its_seat_says() {
        let mut watchers = Watchers::default();
        let last = Seat::MOUNTS - 1;
        let place = watchers.insert(Seat::new(last, -5, true));
        watchers.set_form(place, of_field(22));
        watchers.seat_mut(place).unwrap().set(mode::WANTS, true);
        let session = SessionId { index: 3, generation: 4 };
        let watcher = watchers.at(place, |seat| (seat.mount() == last).then_some(session)).unwrap();
        assert_eq!(watcher.session, session);
        assert_eq!((watcher.stream_id, watcher.form), (-5, 1));
        assert!(watcher.has(mode::WANTS) && !watcher.has(mode::LIVE));
        watchers.set_form(place, Form::PLAIN);
        assert_eq!(watchers.form_at(place), None);
        assert!(watchers.forms.is_none(), "nobody has a form");
    }

    #[test]
    fn each_of_many_watchers_may_have_a_form_of_its_own() {
        let mut watchers = Watchers::default();
        for mount in 0..600 {
            let place = watchers.insert(seat(mount));
            watchers.set_form(place, of_field(mount as i16));
        }
        let has = |watchers: &Watchers, mount: u32, field_id: i16| {
            let place = watchers.place(seat(mount)).unwrap();
            let session = SessionId { index: 0, generation: 0 };
            let watcher = watchers.at(place, |_| Some(session)).unwrap();
            assert_eq!(watchers.form(watcher.form), Some(&of_field(field_id)));
        };
        (0..600).for_each(|mount| has(&watchers, mount, mount as i16));
        for mount in 0..500 {
            let place = watchers.place(seat(mount)).unwrap();
            watchers.remove(place);
        }
        for step in 0..1000 {
            let place = watchers.place(seat(500)).unwrap();
            watchers.set_form(place, of_field(1000 + step));
        }
        has(&watchers, 500, 1999);
        (501..600).for_each(|mount| has(&watchers, mount, mount as i16));
        assert!(watchers.forms.as_ref().unwrap().far.len() <= 100);
        for mount in 500..600 {
            assert!(watchers.forms.is_some());
            let place = watchers.place(seat(mount)).unwrap();
            watchers.remove(place);
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
                let seat = Seat::new(mount, stream_id, is_streaming);
                if is_there {
                    watchers.insert(seat);
                    known.insert((mount, stream_id, is_streaming));
                } else if let Some(place) = watchers.place(seat) {
                    watchers.remove(place);
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
