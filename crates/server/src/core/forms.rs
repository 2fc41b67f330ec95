//! The forms in which the watchers of an item get its messages.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use tapeline_omm::SeededHash;
use tapeline_omm::view::{FieldMask, Projection, View};

use super::subscription::Order;

/// Most forms of an item at a time, with those that have no view beside them.
/// Each is looked at when a watcher comes, and each makes a message of every
/// update: whoever asks for one more view gets all fields.
pub(super) const MAX_FORMS: usize = 1_024;

/// A mount with more streams than this on an item brings no view that is not
/// known there, so that one alone does not use up what all share.
pub(super) const MAX_STREAMS_WITH_NEW_VIEWS: usize = 64;

/// Most bytes of field ids and names in the views of all streams of a mount,
/// each stream counted for itself: whoever asks for more gets all fields. A
/// mount has room for 500,000 items with views of some 60 fields.
pub(super) const MAX_VIEW_BYTES: usize = 64 << 20;

/// How a watcher gets messages, if not as they come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    /// Only these fields.
    pub(super) view: Option<View>,
    /// A view was asked for, and all fields are given instead.
    pub(super) is_full_view: bool,
    /// With the key in every message.
    pub(super) with_key: bool,
    /// With permission data.
    pub(super) with_perm_data: bool,
    /// Nothing but what the user's roles show.
    pub(super) mask: Option<Arc<FieldMask>>,
    /// No more than once in so long, as images say.
    pub(super) interval_ms: Option<u16>,
}

impl Form {
    /// As messages come.
    pub(super) const PLAIN: Self = Self {
        view: None,
        is_full_view: false,
        with_key: false,
        with_perm_data: true,
        mask: None,
        interval_ms: None,
    };

    /// What is cut out of payloads, if not all goes out.
    pub(super) fn projection(&self) -> Option<Projection<'_>> {
        let (view, mask) = (self.view.as_ref(), self.mask.as_deref());
        (view.is_some() || mask.is_some()).then_some(Projection { view, mask })
    }

    /// The form with all fields in place of its view.
    pub(super) fn without_view(self) -> Self {
        let is_full_view = self.is_full_view || self.view.is_some();
        Self { view: None, is_full_view, ..self }
    }

    /// Bytes of what its view names.
    pub(super) fn view_bytes(&self) -> usize {
        let Some(view) = &self.view else { return 0 };
        let names = view.names().iter().map(|name| size_of_val(name) + name.as_bytes().len());
        size_of_val(view.fields()) + names.sum::<usize>()
    }

    fn hash(&self) -> u64 {
        SeededHash.hash_one(self)
    }
}

/// A form that watchers have.
#[derive(Debug)]
struct Known {
    form: Form,
    hash: u64,
    /// How many.
    watchers: usize,
}

/// The forms of an item, beside the plain one.
#[derive(Debug, Default)]
pub(super) struct Forms {
    /// Counted from 1. A number without a form goes to the next new one.
    list: Vec<Option<Known>>,
    /// The numbers of those that do not fit their subscriptions.
    pub(super) far: BTreeMap<Order, usize>,
}

impl Forms {
    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Panics unless so many watchers have each form, by its number, and so
    /// many are kept aside.
    pub(super) fn check(&self, watchers: &BTreeMap<usize, usize>, far: usize) {
        let known = self.list.iter().zip(1..);
        let known = known.filter_map(|(known, number)| Some((number, known.as_ref()?.watchers)));
        let has = watchers.iter().map(|(number, count)| (*number, *count));
        assert!(known.eq(has), "watchers of each form: {watchers:?}");
        assert_eq!(self.far.len(), far, "watchers whose form does not fit their subscriptions");
        assert!(!self.is_empty(), "forms that nobody has");
    }

    /// A form by its number; `None` for the plain one.
    pub(super) fn get(&self, number: usize) -> Option<&Form> {
        let known = self.list.get(number.checked_sub(1)?)?;
        known.as_ref().map(|known| &known.form)
    }

    /// The number of a form, which one more watcher has. Where its view is new
    /// and there is no room for one it is the form without.
    pub(super) fn take(&mut self, form: Form, has_room: bool) -> usize {
        if form == Form::PLAIN {
            return 0;
        }
        let hash = form.hash();
        let mut free = None;
        for (index, entry) in self.list.iter_mut().enumerate() {
            match entry {
                Some(known) if known.hash == hash && known.form == form => {
                    known.watchers += 1;
                    return index + 1;
                }
                Some(_) => {}
                None => free = free.or(Some(index)),
            }
        }
        let index = free.unwrap_or(self.list.len());
        if form.view.is_some() && (index >= MAX_FORMS || !has_room) {
            return self.take(form.without_view(), has_room);
        }
        if index == self.list.len() {
            self.list.push(None);
        }
        self.list[index] = Some(Known { form, hash, watchers: 1 });
        index + 1
    }

    /// One watcher does not have a form any more; the last one leaves nothing
    /// of it.
    pub(super) fn give_back(&mut self, number: usize) {
        let Some(index) = number.checked_sub(1) else { return };
        let Some(entry) = self.list.get_mut(index) else { return };
        let Some(known) = entry else { return };
        known.watchers -= 1;
        if known.watchers > 0 {
            return;
        }
        *entry = None;
        while let Some(None) = self.list.last() {
            self.list.pop();
        }
        if self.list.capacity() > 2 * (self.list.len() + 8) {
            self.list.shrink_to(self.list.len());
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

    proptest! {
        #[test]
        fn a_form_is_there_for_as_long_as_a_watcher_has_it(
            steps in prop::collection::vec((0..40_usize, -1..12_i16), 0..200)
        ) {
            let mut forms = Forms::default();
            let mut numbers = vec![0; 40];
            let mut wanted = vec![Form::PLAIN; 40];
            for (watcher, field_id) in steps {
                // One stands for no view.
                let form = if field_id < 0 { Form::PLAIN } else { of_field(field_id) };
                forms.give_back(numbers[watcher]);
                numbers[watcher] = forms.take(form.clone(), true);
                wanted[watcher] = form;
                for (number, form) in numbers.iter().zip(&wanted) {
                    prop_assert_eq!(forms.get(*number).unwrap_or(&Form::PLAIN), form);
                }
                let there = forms.list.iter().flatten();
                let views: std::collections::BTreeSet<_> =
                    wanted.iter().filter_map(|form| Some(form.view.as_ref()?.fields()[0])).collect();
                prop_assert_eq!(there.count(), views.len());
            }
            for number in numbers {
                forms.give_back(number);
            }
            prop_assert!(forms.is_empty());
        }
    }

    #[test]
    fn whoever_asks_for_one_more_view_gets_all_fields() {
        let mut forms = Forms::default();
        let numbers: Vec<_> =
            (0..MAX_FORMS as i16).map(|field_id| forms.take(of_field(field_id), true)).collect();
        let full = Form { is_full_view: true, ..Form::PLAIN };
        let with_key = Form { with_key: true, ..Form::PLAIN };
        for form in [of_field(-1), Form { with_key: true, ..of_field(-2) }, with_key.clone()] {
            let number = forms.take(form.clone(), true);
            assert_eq!(forms.get(number), Some(&form.clone().without_view()));
        }
        assert_eq!(forms.list.len(), MAX_FORMS + 3);
        let again = forms.take(of_field(7), true);
        assert_eq!(again, numbers[7], "one that is there is shared");
        forms.give_back(numbers[8]);
        let number = forms.take(of_field(-3), false);
        assert_eq!(forms.get(number), Some(&full), "there is room, but not for all");
        let number = forms.take(of_field(-3), true);
        assert_eq!(forms.get(number), Some(&of_field(-3)), "there is room again");
        assert_eq!(of_field(1).without_view(), full);
        assert_eq!(with_key.clone().without_view(), with_key);
    }

    #[test]
    fn a_view_takes_what_is_in_it() {
        assert_eq!(Form::PLAIN.view_bytes(), 0);
        assert_eq!(of_field(7).view_bytes(), 2);
        let view = Some(View::of_names(["BID", "ASK"]));
        assert_eq!(Form { view, ..Form::PLAIN }.view_bytes(), 2 * 16 + 6);
    }
}
