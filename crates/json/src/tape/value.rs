//! Values of a tape.

use std::borrow::Cow;

use super::escape::unescape;
use super::{Document, Kind, LONG, NEGATIVE, Node};
use crate::short_name::ShortName;

/// One value of a text.
#[derive(Clone, Copy)]
pub(crate) struct Value<'t> {
    document: &'t Document<'t>,
    node: &'t Node,
    index: u32,
}

/// A number of so few digits that they are an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortNumber {
    /// At most nineteen digits.
    pub(crate) digits: u64,
    /// How many of them are behind the point.
    pub(crate) decimals: u8,
    pub(crate) is_negative: bool,
}

impl<'t> Value<'t> {
    #[inline]
    pub(super) fn new(document: &'t Document<'t>, index: u32) -> Self {
        Self { document, node: &document.nodes[index as usize], index }
    }

    /// The value of the same text that has this index on the tape.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> Self {
        Self::new(self.document, index)
    }

    /// The index on the tape.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The index of the first value that is not inside this one.
    #[inline]
    fn next(&self) -> u32 {
        match self.node.kind {
            Kind::Object | Kind::Array => self.node.word as u32,
            _ => self.index + 1,
        }
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.node.kind
    }

    pub(crate) fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Where the value begins in the text.
    pub(crate) fn offset(&self) -> u32 {
        self.node.start
    }

    /// The text of the value as it came; of a string what is between the quotes.
    pub(crate) fn raw(&self) -> &'t str {
        &self.document.text[self.node.start as usize..self.node.end as usize]
    }

    /// What [`raw`](Self::raw) gives, cut without a look at where characters
    /// begin: for comparisons and digits.
    #[inline]
    pub(crate) fn bytes(&self) -> &'t [u8] {
        &self.document.text.as_bytes()[self.node.start as usize..self.node.end as usize]
    }

    /// The bytes of a string without escapes.
    #[inline]
    pub(crate) fn plain(&self) -> Option<&'t [u8]> {
        (self.node.kind == Kind::String && self.node.detail == 0).then(|| self.bytes())
    }

    /// A string without escapes, if it is short enough for a name.
    #[inline]
    pub(crate) fn short_name(&self) -> Option<ShortName> {
        ShortName::with_head(self.node.word, self.plain()?)
    }

    /// A string, its escapes resolved; half a surrogate pair is U+FFFD.
    #[inline]
    pub(crate) fn string(&self) -> Option<Cow<'t, str>> {
        match (self.node.kind, self.node.detail) {
            (Kind::String, 0) => Some(Cow::Borrowed(self.raw())),
            (Kind::String, _) => Some(Cow::Owned(unescape(self.raw()))),
            _ => None,
        }
    }

    /// The digits of a number.
    #[inline]
    pub(crate) fn number(&self) -> Option<&'t [u8]> {
        (self.kind() == Kind::Number).then(|| self.bytes())
    }

    /// A number of few digits and without an exponent, as nearly all are.
    #[inline]
    pub(crate) fn short_number(&self) -> Option<ShortNumber> {
        let Node { word, kind, detail, .. } = *self.node;
        (kind == Kind::Number && detail & LONG == 0).then_some(ShortNumber {
            digits: word,
            decimals: detail & !NEGATIVE,
            is_negative: detail & NEGATIVE != 0,
        })
    }

    /// A natural number of few digits and without a point, as nearly all
    /// integers are.
    #[inline]
    pub(crate) fn short_uint(&self) -> Option<u64> {
        (self.node.kind == Kind::Number && self.node.detail == 0).then_some(self.node.word)
    }

    /// The keys and values of an object, none of anything else.
    #[inline]
    pub(crate) fn members(&self) -> impl Iterator<Item = (Value<'t>, Value<'t>)> + use<'t> {
        let whole = *self;
        let mut index = self.index + 1;
        let end = if self.kind() == Kind::Object { self.next() } else { index };
        std::iter::from_fn(move || {
            (index < end).then(|| {
                let (key, value) = (whole.at(index), whole.at(index + 1));
                index = value.next();
                (key, value)
            })
        })
    }

    /// The items of an array, none of anything else.
    #[inline]
    pub(crate) fn items(&self) -> impl Iterator<Item = Value<'t>> + use<'t> {
        let whole = *self;
        let mut index = self.index + 1;
        let end = if self.kind() == Kind::Array { self.next() } else { index };
        std::iter::from_fn(move || {
            (index < end).then(|| {
                let item = whole.at(index);
                index = item.next();
                item
            })
        })
    }

    #[cold]
    fn is_escaped(&self, text: &str) -> bool {
        self.string().is_some_and(|string| string == text)
    }

    /// Whether this is a string that says `text`.
    #[inline]
    pub(crate) fn is(&self, text: &str) -> bool {
        match self.plain() {
            Some(plain) => plain == text.as_bytes(),
            None => self.is_escaped(text),
        }
    }
}
