//! Who watches an item.

use std::collections::BTreeMap;

use tapeline_channel::SessionId;
use tapeline_omm::view::View;

use super::seats::Seats;

/// How a watcher stands.
pub(super) mod mode {
    /// It gets updates.
    pub(in crate::core) const LIVE: u32 = 0x01;
    /// It waits for an image.
    pub(in crate::core) const WANTS: u32 = 0x02;
    /// It gets the parts of the image that is coming.
    pub(in crate::core) const IN_IMAGE: u32 = 0x04;
    /// It wants to know how much was merged into an update.
    pub(in crate::core) const CONFLATION_INFO: u32 = 0x08;
    /// Its image waits for the mount's output to drain.
    pub(in crate::core) const LATE: u32 = 0x10;
}

const FORM_SHIFT: u32 = 5;
const FORM_BITS: u32 = 7;
const MOUNT_SHIFT: u32 = FORM_SHIFT + FORM_BITS;
const FORM_MASK: u32 = ((1 << FORM_BITS) - 1) << FORM_SHIFT;
/// What must be as in a seat that takes every update as it is.
const PLAIN_MASK: u32 = ((1 << MOUNT_SHIFT) - 1) & !mode::CONFLATION_INFO;

/// Stands for a form whose number is kept aside.
const FAR: usize = (1 << FORM_BITS) - 1;

/// One stream of one mount on an item.
///
/// ```text
///   | mount: 20 | form: 7 | mode: 5 |   stream id: 32   |   8 bytes
/// ```
///
/// A mount has its seats taken away before its index goes to another session,
/// so that the generation need not be here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    word: u32,
    stream_id: i32,
}

impl Seat {
    /// Mounts have lower indexes than this.
    pub(super) const MOUNTS: u32 = 1 << (u32::BITS - MOUNT_SHIFT);

    pub(super) const fn new(mount: u32, stream_id: i32) -> Self {
        Self { word: mount << MOUNT_SHIFT, stream_id }
    }

    /// The index of the mount's session.
    #[inline]
    pub(super) const fn mount(self) -> u32 {
        self.word >> MOUNT_SHIFT
    }

    #[inline]
    pub(super) const fn stream_id(self) -> i32 {
        self.stream_id
    }

    #[inline]
    pub(super) const fn has(self, bit: u32) -> bool {
        self.word & bit != 0
    }

    /// Whether it takes every update as it is.
    #[inline]
    pub(super) const fn is_plain(self) -> bool {
        self.word & PLAIN_MASK == mode::LIVE
    }

    pub(super) const fn set(&mut self, bits: u32, is_set: bool) {
        self.word = if is_set { self.word | bits } else { self.word & !bits };
    }

    const fn form(self) -> usize {
        ((self.word & FORM_MASK) >> FORM_SHIFT) as usize
    }

    const fn set_form(&mut self, form: usize) {
        self.word = self.word & !FORM_MASK | (form as u32) << FORM_SHIFT;
    }

    /// By what the seats of an item are in order.
    const fn order(self) -> (u32, i32) {
        (self.mount(), self.stream_id)
    }
}

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

/// How a watcher gets messages, if not as they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Only these fields.
    pub(super) view: Option<View>,
    /// With the key in every message.
    pub(super) with_key: bool,
    /// With permission data.
    pub(super) with_perm_data: bool,
}

impl Form {
    /// As messages come.
    pub(super) const PLAIN: Self = Self { view: None, with_key: false, with_perm_data: true };
}

/// The forms of an item.
#[derive(Debug, Default)]
struct Forms {
    /// Those beside the plain one, counted from 1.
    list: Vec<Form>,
    /// The numbers of those that do not fit their seats.
    far: BTreeMap<(u32, i32), usize>,
}

/// The watchers of an item, in the order of their mounts and streams.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    seats: Seats,
    forms: Option<Box<Forms>>,
}

impl Watchers {
    pub(super) fn is_empty(&self) -> bool {
        self.seats().is_empty()
    }

    #[inline]
    pub(super) fn seats(&self) -> &[Seat] {
        self.seats.as_slice()
    }

    pub(super) fn seats_mut(&mut self) -> impl Iterator<Item = &mut Seat> {
        self.seats.as_mut_slice().iter_mut()
    }

    pub(super) fn seat_mut(&mut self, place: usize) -> Option<&mut Seat> {
        self.seats.as_mut_slice().get_mut(place)
    }

    /// The watcher at a place, given the generation of its mount's session.
    pub(super) fn at(&self, place: usize, generation: impl FnOnce(u32) -> u32) -> Option<Watcher> {
        let seat = *self.seats().get(place)?;
        let index = seat.mount();
        Some(Watcher {
            session: SessionId { index, generation: generation(index) },
            stream_id: seat.stream_id,
            form: self.number(seat),
            seat,
        })
    }

    /// The place of a stream of a mount.
    pub(super) fn place(&self, mount: u32, stream_id: i32) -> Option<usize> {
        self.seats().binary_search_by_key(&(mount, stream_id), |seat| seat.order()).ok()
    }

    /// The stream ids of a mount's watchers.
    pub(super) fn of_mount(&self, mount: u32) -> impl Iterator<Item = i32> {
        let seats = self.seats();
        let first = seats.partition_point(|seat| seat.mount() < mount);
        let rest = seats[first..].iter();
        rest.take_while(move |seat| seat.mount() == mount).map(|seat| seat.stream_id)
    }

    /// Adds a stream of a mount that is not there yet; its place.
    pub(super) fn insert(&mut self, mount: u32, stream_id: i32) -> usize {
        let found = self.seats().binary_search_by_key(&(mount, stream_id), |seat| seat.order());
        let (Ok(place) | Err(place)) = found;
        if found.is_err() {
            self.seats.insert(place, Seat::new(mount, stream_id));
        }
        place
    }

    /// Takes a watcher off.
    pub(super) fn remove(&mut self, place: usize) {
        if let Some(seat) = self.seats.remove(place)
            && let Some(forms) = &mut self.forms
        {
            forms.far.remove(&seat.order());
        }
    }

    /// Number of the form in which a watcher gets messages, 0 for the plain one.
    #[inline]
    fn number(&self, seat: Seat) -> usize {
        match seat.form() {
            FAR => self.far_number(seat),
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
        self.forms.as_ref()?.list.get(number.checked_sub(1)?)
    }

    /// The form of the watcher at a place; `None` for the plain one.
    pub(super) fn form_at(&self, place: usize) -> Option<&Form> {
        self.form(self.number(*self.seats().get(place)?))
    }

    /// Sets the form in which a watcher gets messages from now on.
    pub(super) fn set_form(&mut self, place: usize, form: Form) {
        let number = self.number_of(form);
        self.set_number(place, number);
    }

    fn set_number(&mut self, place: usize, number: usize) {
        let Some(seat) = self.seats.as_mut_slice().get_mut(place) else { return };
        let was_far = seat.form() == FAR;
        seat.set_form(number.min(FAR));
        let Some(forms) = self.forms.as_mut().filter(|_| was_far || number >= FAR) else { return };
        match number >= FAR {
            true => forms.far.insert(seat.order(), number),
            false => forms.far.remove(&seat.order()),
        };
    }

    /// The number of a form, made known if it is new.
    fn number_of(&mut self, form: Form) -> usize {
        if form == Form::PLAIN {
            return 0;
        }
        let forms = self.forms.get_or_insert_default();
        if let Some(known) = forms.list.iter().position(|known| *known == form) {
            return known + 1;
        }
        if forms.list.len() >= 2 * self.seats().len() + 16 {
            self.forget_unused_forms();
        }
        let forms = self.forms.get_or_insert_default();
        forms.list.push(form);
        forms.list.len()
    }

    /// Renumbers the forms that watchers have, without those that none has any
    /// more.
    fn forget_unused_forms(&mut self) {
        let old = self.forms.as_ref().map_or(&[][..], |forms| &forms.list);
        let mut numbers = vec![0; old.len() + 1];
        let mut kept = Vec::new();
        let held: Vec<_> = self.seats().iter().map(|seat| self.number(*seat)).collect();
        for number in held.iter().copied().filter(|number| *number > 0) {
            if numbers[number] == 0 {
                kept.push(old[number - 1].clone());
                numbers[number] = kept.len();
            }
        }
        self.forms = Some(Box::new(Forms { list: kept, far: BTreeMap::new() }));
        for (place, number) in held.into_iter().enumerate() {
            self.set_number(place, numbers[number]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_field(field_id: i16) -> Form {
        Form { view: Some(View::of_fields([field_id])), ..Form::PLAIN }
    }

    #[test]
    fn a_seat_is_eight_bytes() {
        assert_eq!(size_of::<Seat>(), 8);
        assert_eq!(size_of::<Watchers>(), 32);
    }

    #[test]
    fn mount_form_and_mode_share_a_word() {
        let mut watchers = Watchers::default();
        let last = Seat::MOUNTS - 1;
        let place = watchers.insert(last, -5);
        watchers.set_form(place, of_field(22));
        let seat = watchers.seat_mut(place).unwrap();
        seat.set(mode::WANTS | mode::LIVE, true);
        assert!(seat.has(mode::LIVE) && seat.has(mode::WANTS) && !seat.is_plain());
        let watcher = watchers.at(place, |index| index + 1).unwrap();
        assert_eq!(watcher.session, SessionId { index: last, generation: last + 1 });
        assert_eq!((watcher.stream_id, watcher.form), (-5, 1));
        watchers.set_form(place, Form::PLAIN);
        let seat = watchers.seat_mut(place).unwrap();
        seat.set(mode::WANTS, false);
        assert!(seat.is_plain());
        seat.set(mode::CONFLATION_INFO, true);
        assert!(seat.is_plain(), "an update as it is was not merged");
    }

    #[test]
    fn each_of_many_watchers_may_have_a_form_of_its_own() {
        let mut watchers = Watchers::default();
        for mount in 0..300 {
            let place = watchers.insert(mount, 1);
            watchers.set_form(place, of_field(mount as i16));
        }
        let has = |watchers: &Watchers, mount: u32, field_id: i16| {
            let place = watchers.place(mount, 1).unwrap();
            let watcher = watchers.at(place, |_| 0).unwrap();
            assert_eq!(watchers.form(watcher.form), Some(&of_field(field_id)));
        };
        (0..300).for_each(|mount| has(&watchers, mount, mount as i16));
        for mount in 0..200 {
            let place = watchers.place(mount, 1).unwrap();
            watchers.remove(place);
        }
        for step in 0..1000 {
            let place = watchers.place(200, 1).unwrap();
            watchers.set_form(place, of_field(1000 + step));
        }
        has(&watchers, 200, 1999);
        (201..300).for_each(|mount| has(&watchers, mount, mount as i16));
        let forms = watchers.forms.as_ref().unwrap();
        assert!(forms.list.len() <= 2 * 100 + 16, "what nobody has is forgotten");
        assert!(forms.far.len() <= 100);
    }

    proptest! {
        #[test]
        fn they_are_a_set_in_order(steps in prop::collection::vec((0..20_u32, -3..3_i32, any::<bool>()), 0..300)) {
            let (mut watchers, mut known) = (Watchers::default(), std::collections::BTreeSet::new());
            for (mount, stream_id, is_there) in steps {
                if is_there {
                    watchers.insert(mount, stream_id);
                    known.insert((mount, stream_id));
                } else if let Some(place) = watchers.place(mount, stream_id) {
                    watchers.remove(place);
                    prop_assert!(known.remove(&(mount, stream_id)));
                } else {
                    prop_assert!(!known.contains(&(mount, stream_id)));
                }
                prop_assert!(watchers.seats().iter().map(|seat| seat.order()).eq(known.iter().copied()));
                let of_three = known.range((3, i32::MIN)..(4, i32::MIN)).map(|(_, id)| *id);
                prop_assert!(watchers.of_mount(3).eq(of_three));
            }
        }
    }
}
