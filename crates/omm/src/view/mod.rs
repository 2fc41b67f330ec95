//! Views: only some of an item's fields.
//!
//! A request may say which fields it wants. A stream that is shared is
//! requested with the union of its requesters' views, and each requester gets
//! its own part of it, cut out by [`View::project_msg`], or by a
//! [`Projection`] where not everybody may see everything.

mod mask;
mod project;
mod request;

pub use mask::FieldMask;
pub use project::{ProjectError, Projection};
pub use request::{ViewChange, ViewError};

use crate::Text;

/// Which fields of an item are wanted: a set, so that order and repetition do
/// not count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View(Members);

/// Ascending and without repetition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Members {
    Fields(Box<[i16]>),
    Names(Box<[Text]>),
}

fn set<T: Ord>(members: impl IntoIterator<Item = T>) -> Box<[T]> {
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_unstable();
    members.dedup();
    members.into()
}

impl View {
    /// A view of fields, for payloads of field lists.
    pub fn of_fields(field_ids: impl IntoIterator<Item = i16>) -> Self {
        Self(Members::Fields(set(field_ids)))
    }

    /// A view of elements, for payloads of element lists.
    pub fn of_names<T: Into<Text>>(names: impl IntoIterator<Item = T>) -> Self {
        Self(Members::Names(set(names.into_iter().map(Into::into))))
    }

    /// The field ids, ascending; none for a view of elements.
    pub fn fields(&self) -> &[i16] {
        match &self.0 {
            Members::Fields(ids) => ids,
            Members::Names(_) => &[],
        }
    }

    /// The element names, ascending; none for a view of fields.
    pub fn names(&self) -> &[Text] {
        match &self.0 {
            Members::Fields(_) => &[],
            Members::Names(names) => names,
        }
    }

    /// Whether a field is wanted.
    #[inline]
    pub fn has_field(&self, field_id: i16) -> bool {
        self.fields().binary_search(&field_id).is_ok()
    }

    /// Whether an element is wanted.
    pub fn has_name(&self, name: &[u8]) -> bool {
        self.names().binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
    }

    /// Whether all that this view wants is in `other` too, so that a stream
    /// with `other` serves it.
    pub fn is_subset(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Members::Fields(ids), Members::Fields(_)) => ids.iter().all(|id| other.has_field(*id)),
            (Members::Names(names), Members::Names(_)) => {
                names.iter().all(|name| other.has_name(name))
            }
            _ => false,
        }
    }

    /// What the two views want together; `None` when they are of different
    /// kinds, which only the full content serves.
    pub fn union(&self, other: &Self) -> Option<Self> {
        Some(Self(match (&self.0, &other.0) {
            (Members::Fields(a), Members::Fields(b)) => {
                Members::Fields(set(a.iter().chain(b).copied()))
            }
            (Members::Names(a), Members::Names(b)) => {
                Members::Names(set(a.iter().chain(b).cloned()))
            }
            _ => return None,
        }))
    }

    /// The view of a stream that is shared by requesters with these views:
    /// their union, or none if any of them wants the full content.
    pub fn shared<'v>(views: impl IntoIterator<Item = Option<&'v Self>>) -> Option<Self> {
        let mut views = views.into_iter();
        let first = views.next()??.clone();
        views.try_fold(first, |shared, view| shared.union(view?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_a_set() {
        let view = View::of_fields([25, 22, -1, 22]);
        assert_eq!(view.fields(), [-1, 22, 25]);
        assert!(view.has_field(22) && view.has_field(-1) && !view.has_field(23));
        assert_eq!(view, View::of_fields([-1, 22, 25]));
        let names = View::of_names(["PRICE", "NAME"]);
        assert!(names.has_name(b"NAME") && !names.has_name(b"SIZE"));
        assert!(!names.has_field(22));
    }

    #[test]
    fn a_shared_stream_has_the_union_or_all() {
        let (a, b) = (View::of_fields([22, 25]), View::of_fields([25, 30]));
        let names = View::of_names(["BID"]);
        assert_eq!(View::shared([Some(&a), Some(&b)]), Some(View::of_fields([22, 25, 30])));
        assert_eq!(View::shared([Some(&a), None]), None);
        assert_eq!(View::shared([None, Some(&a)]), None);
        assert_eq!(View::shared([Some(&a), Some(&names)]), None);
        assert_eq!(View::shared([]), None);
        assert_eq!(View::shared([Some(&names)]), Some(names));
    }

    #[test]
    fn a_subset_needs_no_new_request() {
        let all = View::of_fields([22, 25, 30]);
        assert!(View::of_fields([22, 30]).is_subset(&all));
        assert!(all.is_subset(&all));
        assert!(!View::of_fields([22, 31]).is_subset(&all));
        assert!(!View::of_names(["BID"]).is_subset(&all));
    }
}
