//! What can be wrong with a message of a known domain.

use tapeline_rwf::{DataType, DecodeError, MsgClass};
use thiserror::Error;

/// A message that is not what its domain asks for: which model, which part of
/// it, what is wrong.
///
/// The text reads like
/// `login request: SingleOpen is ASCII_STRING, UINT is needed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{model}: {part} {kind}")]
pub struct ModelError {
    /// The model, as `login request`.
    pub model: &'static str,
    /// The element or part, as `SingleOpen`.
    pub part: &'static str,
    /// What is wrong with it.
    pub kind: ModelErrorKind,
}

/// What is wrong with a part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// A part that the model needs is not there.
    #[error("is missing")]
    Missing,
    /// An element, key or container of another wire type.
    #[error("is {found}, {expected} is needed")]
    WrongType {
        /// The type of the model.
        expected: DataType,
        /// The type on the wire.
        found: DataType,
    },
    /// A message of another class.
    #[error("is a {found}")]
    Class {
        /// The class it is of.
        found: MsgClass,
    },
    /// A number outside the model's range.
    #[error("is {value}, which is out of range")]
    OutOfRange {
        /// The number.
        value: i64,
    },
    /// A rule of the model that is broken.
    #[error("{0}")]
    Rule(&'static str),
    /// Bytes that are no RWF.
    #[error("cannot be read: {0}")]
    Malformed(DecodeError),
}

impl From<DecodeError> for ModelErrorKind {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl ModelError {
    /// The error for `part` of `model`.
    pub const fn new(model: &'static str, part: &'static str, kind: ModelErrorKind) -> Self {
        Self { model, part, kind }
    }

    pub(crate) const fn missing(model: &'static str, part: &'static str) -> Self {
        Self::new(model, part, ModelErrorKind::Missing)
    }

    pub(crate) const fn rule(model: &'static str, part: &'static str, rule: &'static str) -> Self {
        Self::new(model, part, ModelErrorKind::Rule(rule))
    }

    pub(crate) const fn class(model: &'static str, found: MsgClass) -> Self {
        Self::new(model, "message", ModelErrorKind::Class { found })
    }

    /// Turns a decoder's error into one of `part` of `model`.
    pub(crate) fn in_part(
        model: &'static str,
        part: &'static str,
    ) -> impl Fn(DecodeError) -> Self + Copy {
        move |error| Self::new(model, part, ModelErrorKind::Malformed(error))
    }
}

/// An error if `found` is not the type that `part` needs.
pub(crate) fn expect_type(
    model: &'static str,
    part: &'static str,
    expected: DataType,
    found: DataType,
) -> Result<(), ModelError> {
    if found == expected {
        return Ok(());
    }
    Err(ModelError::new(model, part, ModelErrorKind::WrongType { expected, found }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_model_the_part_and_the_fault() {
        let wrong =
            ModelErrorKind::WrongType { expected: DataType::UINT, found: DataType::ASCII_STRING };
        assert_eq!(
            ModelError::new("login request", "SingleOpen", wrong).to_string(),
            "login request: SingleOpen is ASCII_STRING, UINT is needed"
        );
        assert_eq!(
            ModelError::missing("service state", "ServiceState").to_string(),
            "service state: ServiceState is missing"
        );
        assert_eq!(
            ModelError::class("login refresh", MsgClass::Status).to_string(),
            "login refresh: message is a STATUS"
        );
    }
}
