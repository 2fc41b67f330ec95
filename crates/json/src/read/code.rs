//! Values of members: numbers, switches, names.

use super::Refusal;
use crate::error::{Fault, TokenKind};
use crate::tape::{Kind, Value};

/// A fault of kind.
pub(super) fn wrong_kind(value: &Value<'_>, key: &str, expected: TokenKind) -> Refusal {
    let received = value.kind().into();
    Refusal::at(value, Fault::TokenType { expected, key: key.to_owned(), received })
}

/// An integer within the range of its type.
pub(super) fn int<T: TryFrom<i128>>(value: Value<'_>, key: &str) -> Result<T, Refusal> {
    let Some(digits) = value.number() else {
        return Err(wrong_kind(&value, key, TokenKind::Primitive));
    };
    let number = match digits.parse::<i64>() {
        Ok(number) => Some(number.into()),
        Err(_) => digits.parse::<i128>().ok(),
    };
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| Refusal::unexpected(&value, key))
}

/// An integer of a member, if it is there.
pub(super) fn int_member<T: TryFrom<i128>>(
    object: Value<'_>,
    key: &str,
) -> Result<Option<T>, Refusal> {
    object.get(key).map(|value| int(value, key)).transpose()
}

/// An integer of a member that has to be there.
pub(super) fn required_int<T: TryFrom<i128>>(
    object: Value<'_>,
    key: &'static str,
    parent: &'static str,
) -> Result<T, Refusal> {
    int_member(object, key)?.ok_or_else(|| Refusal::missing(key, Some(parent)))
}

/// A switch: `true` and `false`, also as 1 and 0 and in quotes.
pub(super) fn switch(object: Value<'_>, key: &str, default: bool) -> Result<bool, Refusal> {
    let Some(value) = object.get(key) else { return Ok(default) };
    match (value.kind(), value.raw()) {
        (Kind::True, _) | (Kind::Number, "1") | (Kind::String, "true") => Ok(true),
        (Kind::False, _) | (Kind::Number, "0") | (Kind::String, "false") => Ok(false),
        (Kind::Number, _) => Err(Refusal::unexpected(&value, key)),
        _ => Err(wrong_kind(&value, key, TokenKind::Primitive)),
    }
}

/// A code by its name or number.
pub(super) fn code(
    value: Value<'_>,
    key: &str,
    by_name: impl Fn(&str) -> Option<u8>,
) -> Result<u8, Refusal> {
    match value.kind() {
        Kind::Number => int(value, key),
        Kind::String => {
            let name = value.string().unwrap_or_default();
            by_name(&name).ok_or_else(|| Refusal::unexpected(&value, key))
        }
        _ => Err(wrong_kind(&value, key, TokenKind::String)),
    }
}

/// A code of a member, or a default.
pub(super) fn code_member(
    object: Value<'_>,
    key: &str,
    default: u8,
    by_name: impl Fn(&str) -> Option<u8>,
) -> Result<u8, Refusal> {
    object.get(key).map_or(Ok(default), |value| code(value, key, by_name))
}

/// The value, if it is an object.
pub(super) fn object<'t>(value: Value<'t>, key: &str) -> Result<Value<'t>, Refusal> {
    match value.kind() {
        Kind::Object => Ok(value),
        _ => Err(wrong_kind(&value, key, TokenKind::Object)),
    }
}
