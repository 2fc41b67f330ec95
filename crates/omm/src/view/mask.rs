//! Masks: which fields somebody may see at all.

use core::fmt;

use super::set;

/// Which fields of field lists somebody may see, whatever view is asked for.
///
/// Unlike a [`View`](super::View), which is a wish and is for the entries of an item,
/// a mask is a right: it holds for field lists at any depth, in summary data, in
/// elements and in filter lists too. Data of other kinds (elements, pages, opaque data)
/// have no field ids and are not its business.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldMask {
    /// Ascending and without repetition.
    fields: Box<[i16]>,
    /// Whether these are the ones that are shown; else all others are.
    is_only: bool,
}

impl FieldMask {
    /// Only these fields are shown.
    pub fn only(field_ids: impl IntoIterator<Item = i16>) -> Self {
        Self { fields: set(field_ids), is_only: true }
    }

    /// All fields but these are shown.
    pub fn all_but(field_ids: impl IntoIterator<Item = i16>) -> Self {
        Self { fields: set(field_ids), is_only: false }
    }

    /// Whether a field is shown.
    #[inline]
    pub fn shows(&self, field_id: i16) -> bool {
        self.names(field_id) == self.is_only
    }

    fn names(&self, field_id: i16) -> bool {
        self.fields.binary_search(&field_id).is_ok()
    }

    /// What any of two masks shows.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (a, b) = (self.fields.iter().copied(), other.fields.iter().copied());
        match (self.is_only, other.is_only) {
            (true, true) => Self::only(a.chain(b)),
            (false, false) => Self::all_but(a.filter(|field_id| other.names(*field_id))),
            (true, false) => Self::all_but(b.filter(|field_id| !self.names(*field_id))),
            (false, true) => other.union(self),
        }
    }
}

/// `only 22, 25`, or `all but 25`.
impl fmt::Display for FieldMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_only, self.fields.is_empty()) {
            (true, true) => "none",
            (true, false) => "only",
            (false, true) => "all",
            (false, false) => "all but",
        })?;
        for (at, field_id) in self.fields.iter().enumerate() {
            write!(f, "{}{field_id}", if at == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask() -> impl Strategy<Value = FieldMask> {
        (prop::collection::vec(-4..12_i16, 0..8), any::<bool>()).prop_map(|(fields, is_only)| {
            if is_only { FieldMask::only(fields) } else { FieldMask::all_but(fields) }
        })
    }

    proptest! {
        #[test]
        fn a_union_shows_what_one_of_the_two_shows(a in mask(), b in mask()) {
            let both = a.union(&b);
            for field_id in -6..14 {
                prop_assert_eq!(both.shows(field_id), a.shows(field_id) || b.shows(field_id));
            }
            prop_assert_eq!(&both, &b.union(&a));
        }
    }

    #[test]
    fn a_mask_is_told_in_words() {
        assert_eq!(FieldMask::only([25, 22, 25]).to_string(), "only 22, 25");
        assert_eq!(FieldMask::all_but([25, -1]).to_string(), "all but -1, 25");
        assert_eq!(FieldMask::only([]).to_string(), "none");
        assert_eq!(FieldMask::all_but([]).to_string(), "all");
    }
}
