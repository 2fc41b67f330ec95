//! Values of members: numbers, switches, names.

use super::object::{Member, Object};
use super::{Refusal, number, shortened};
use crate::error::{Fault, TokenKind};
use crate::tape::{Kind, Value};

/// A fault of kind.
#[cold]
pub(super) fn wrong_kind(value: &Value<'_>, key: &str, expected: TokenKind) -> Refusal {
    let received = value.kind().into();
    Refusal::at(value, Fault::TokenType { expected, key: shortened(key), received })
}

/// An integer within the range of its type.
#[inline]
pub(super) fn int<T: TryFrom<u64> + TryFrom<i128>>(
    value: Value<'_>,
    key: &str,
) -> Result<T, Refusal> {
    match value.short_uint().and_then(|number| T::try_from(number).ok()) {
        Some(number) => Ok(number),
        None => any_int(value, key),
    }
}

fn any_int<T: TryFrom<i128>>(value: Value<'_>, key: &str) -> Result<T, Refusal> {
    let Some(digits) = value.number() else {
        return Err(wrong_kind(&value, key, TokenKind::Primitive));
    };
    let number = number::int(digits).and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| Refusal::unexpected(&value, key))
}

/// An integer of a member, if it is there.
#[inline]
pub(super) fn int_member<T: TryFrom<u64> + TryFrom<i128>>(
    object: &Object<'_>,
    member: Member,
) -> Result<Option<T>, Refusal> {
    match object.get(member) {
        Some(value) => int(value, member.name()).map(Some),
        None => Ok(None),
    }
}

/// An integer of a member that has to be there.
pub(super) fn required_int<T: TryFrom<u64> + TryFrom<i128>>(
    object: &Object<'_>,
    member: Member,
    parent: &'static str,
) -> Result<T, Refusal> {
    int(object.required(member, Some(parent))?, member.name())
}

/// A switch: `true` and `false`, also as 1 and 0 and in quotes.
#[inline]
pub(super) fn switch(object: &Object<'_>, member: Member, default: bool) -> Result<bool, Refusal> {
    match object.get(member) {
        Some(value) => switch_value(value, member),
        None => Ok(default),
    }
}

fn switch_value(value: Value<'_>, member: Member) -> Result<bool, Refusal> {
    match (value.kind(), value.raw()) {
        (Kind::True, _) | (Kind::Number, "1") | (Kind::String, "true") => Ok(true),
        (Kind::False, _) | (Kind::Number, "0") | (Kind::String, "false") => Ok(false),
        (Kind::Number, _) => Err(Refusal::unexpected(&value, member.name())),
        _ => Err(wrong_kind(&value, member.name(), TokenKind::Primitive)),
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
#[inline]
pub(super) fn code_member(
    object: &Object<'_>,
    member: Member,
    default: u8,
    by_name: impl Fn(&str) -> Option<u8>,
) -> Result<u8, Refusal> {
    match object.get(member) {
        Some(value) => code(value, member.name(), by_name),
        None => Ok(default),
    }
}
