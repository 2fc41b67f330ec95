//! A place in the JSON, which knows the way to itself.

use core::fmt::Write;

use serde_json::Value;

use tapeline_rwf::{DataType, EncodeError, MAX_DEPTH};

use crate::names::{from_latin1, type_from_name, type_name, unhex};
use crate::{BuildError, BuildErrorKind};

#[derive(Clone, Copy)]
enum Step<'n> {
    Root(&'n str),
    Key(&'n str),
    Index(usize),
}

/// One JSON value and the steps that lead to it, linked towards the root, so
/// that the path costs nothing until there is an error to tell.
#[derive(Clone, Copy)]
pub(crate) struct Node<'v, 'n> {
    value: &'v Value,
    step: Step<'n>,
    parent: Option<&'n Node<'v, 'n>>,
    /// How many containers are around it.
    depth: usize,
}

/// An integer type that a key can want.
pub(crate) trait Integer: TryFrom<i128> {
    const MIN: i64;
    const MAX: u64;
}

macro_rules! integers {
    ($($name:ident)*) => {$(
        impl Integer for $name {
            const MIN: i64 = $name::MIN as i64;
            const MAX: u64 = $name::MAX as u64;
        }
    )*};
}

integers! { u8 u16 u32 u64 i16 i32 i64 }

impl<'v, 'n> Node<'v, 'n> {
    pub(crate) const fn root(value: &'v Value, name: &'n str) -> Self {
        Self { value, step: Step::Root(name), parent: None, depth: 0 }
    }

    /// An error at this place.
    pub(crate) fn error(&self, kind: BuildErrorKind) -> BuildError {
        BuildError { path: self.path(), kind }
    }

    /// The answer of the encoder, as an error at this place.
    pub(crate) fn checked<T>(&self, result: Result<T, EncodeError>) -> Result<T, BuildError> {
        result.map_err(|error| self.error(error.into()))
    }

    fn path(&self) -> String {
        let mut text = self.parent.map_or_else(String::new, Node::path);
        let _ = match self.step {
            Step::Root(name) => write!(text, "{name}"),
            Step::Key(key) => write!(text, ".{key}"),
            Step::Index(index) => write!(text, "[{index}]"),
        };
        text
    }

    fn kind_error(&self, expected: &'static str) -> BuildError {
        const SHOWN: usize = 40;
        let mut found = self.value.to_string();
        if found.chars().count() > SHOWN {
            found = found.chars().take(SHOWN).chain(['…']).collect();
        }
        self.error(BuildErrorKind::Kind { expected, found })
    }

    fn child<'c>(&'c self, value: &'v Value, step: Step<'c>) -> Node<'v, 'c> {
        Node { value, step, parent: Some(self), depth: self.depth }
    }

    /// The same place, one container further in.
    pub(crate) fn enter(&self) -> Result<Self, BuildError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(BuildErrorKind::Depth { limit: MAX_DEPTH }));
        }
        Ok(Self { depth: self.depth + 1, ..*self })
    }

    pub(crate) fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// The value of a key, if it is there.
    pub(crate) fn optional<'c>(&'c self, key: &'c str) -> Option<Node<'v, 'c>> {
        Some(self.child(self.value.get(key)?, Step::Key(key)))
    }

    /// The value of a key.
    pub(crate) fn required<'c>(&'c self, key: &'c str) -> Result<Node<'v, 'c>, BuildError> {
        if !self.value.is_object() {
            return Err(self.kind_error("an object"));
        }
        self.optional(key).ok_or_else(|| self.error(BuildErrorKind::Missing(key.to_owned())))
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Result<impl ExactSizeIterator<Item = Node<'v, '_>>, BuildError> {
        let items = self.value.as_array().ok_or_else(|| self.kind_error("an array"))?;
        Ok(items.iter().enumerate().map(|(index, item)| self.child(item, Step::Index(index))))
    }

    /// The items of the array of a key; none if it is not there.
    pub(crate) fn optional_items<'c>(
        node: Option<&'c Node<'v, 'c>>,
    ) -> Result<Vec<Node<'v, 'c>>, BuildError> {
        node.map_or(Ok(Vec::new()), |node| Ok(node.items()?.collect()))
    }

    pub(crate) fn text(&self) -> Result<&'v str, BuildError> {
        self.value.as_str().ok_or_else(|| self.kind_error("a string"))
    }

    pub(crate) fn boolean(&self) -> Result<bool, BuildError> {
        self.value.as_bool().ok_or_else(|| self.kind_error("true or false"))
    }

    /// Whether a key is there and true.
    pub(crate) fn has_mark(&self, key: &str) -> Result<bool, BuildError> {
        self.optional(key).map_or(Ok(false), |mark| mark.boolean())
    }

    /// An integer, also one in a string.
    pub(crate) fn integer<T: Integer>(&self) -> Result<T, BuildError> {
        let number = match self.value {
            Value::Number(number) => number.as_i128(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let number: i128 = number.ok_or_else(|| self.kind_error("an integer"))?;
        T::try_from(number).map_err(|_| {
            let found = number.to_string();
            self.error(BuildErrorKind::Range { found, min: T::MIN, max: T::MAX })
        })
    }

    /// An integer of a narrower range than its type.
    pub(crate) fn up_to(&self, max: u8) -> Result<u8, BuildError> {
        let number: u8 = self.integer()?;
        if number > max {
            let (found, max) = (number.to_string(), max.into());
            return Err(self.error(BuildErrorKind::Range { found, min: 0, max }));
        }
        Ok(number)
    }

    pub(crate) fn data_type(&self) -> Result<DataType, BuildError> {
        let name = self.text()?;
        type_from_name(name).ok_or_else(|| self.error(BuildErrorKind::DataType(name.to_owned())))
    }

    /// Bytes that are written in hexadecimal.
    pub(crate) fn hex(&self) -> Result<Vec<u8>, BuildError> {
        unhex(self.text()?).ok_or_else(|| self.kind_error("pairs of hexadecimal digits"))
    }

    /// Bytes that are written as Latin-1.
    pub(crate) fn latin1(&self) -> Result<Vec<u8>, BuildError> {
        from_latin1(self.text()?).ok_or_else(|| self.error(BuildErrorKind::Text { max: 0xFF }))
    }

    /// An error unless a type is the one that the place wants.
    pub(crate) fn expect_type(
        &self,
        expected: DataType,
        found: DataType,
    ) -> Result<(), BuildError> {
        if expected == found {
            return Ok(());
        }
        let (expected, found) = (type_name(expected), type_name(found));
        Err(self.error(BuildErrorKind::WrongType { expected, found }))
    }

    /// An error unless the `flags` of this place, if given, are the derived
    /// ones; bits of `free` may be there besides.
    pub(crate) fn check_flags(&self, derived: u16, free: u16) -> Result<u16, BuildError> {
        let Some(node) = self.optional("flags") else { return Ok(derived) };
        let given: u16 = node.integer()?;
        if given & !free | derived & free & given != derived {
            let (given, derived) = (given.into(), derived.into());
            return Err(node.error(BuildErrorKind::Flags { given, derived }));
        }
        Ok(given)
    }
}

/// The optional parts of an object, each by its key.
macro_rules! optional {
    ($node:expr, $key:literal, $read:ident) => {
        match $node.optional($key) {
            Some(part) => Some(part.$read()?),
            None => None,
        }
    };
}

pub(crate) use optional;
