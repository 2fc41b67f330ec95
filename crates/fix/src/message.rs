//! A message, read where it lies.

use crate::dictionary;
use crate::error::FixError;
use crate::frame::{SOH, Shape, TRAILER, find_end, measure};
use crate::value;

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'m> {
    /// Its number; 0 where there is none, or no `=` behind it.
    pub tag: u32,
    /// What is behind the `=`, without the end.
    pub value: &'m [u8],
}

/// One whole message, whose length and checksum are right.
#[derive(Clone, Copy, Debug)]
pub struct Message<'m> {
    frame: &'m [u8],
    msg_type: &'m [u8],
    fields: &'m [u8],
}

impl<'m> Message<'m> {
    /// Reads one whole frame.
    pub fn read(frame: &'m [u8]) -> Result<Self, FixError> {
        match measure(frame)? {
            Some(shape) if shape.len == frame.len() => Self::of(frame, shape),
            _ => Err(FixError::Whole(frame.len())),
        }
    }

    /// What was measured and found to be whole.
    pub(crate) fn of(frame: &'m [u8], shape: Shape) -> Result<Self, FixError> {
        let body = &frame[shape.body..shape.len - TRAILER];
        let typed = body.strip_prefix(b"35=").ok_or(FixError::Type)?;
        let end = find_end(typed).ok_or(FixError::Type)?;
        let (msg_type, fields) = (&typed[..end], &typed[end + 1..]);
        if msg_type.is_empty() {
            return Err(FixError::Type);
        }
        Ok(Self { frame, msg_type, fields })
    }

    /// Its bytes, all of them.
    pub const fn frame(&self) -> &'m [u8] {
        self.frame
    }

    /// Its type, 35.
    pub const fn msg_type(&self) -> &'m [u8] {
        self.msg_type
    }

    /// The value of the first field of a tag.
    ///
    /// Looks through the message: who reads many fields goes through
    /// [`fields`](Self::fields) once.
    pub fn get(&self, tag: u32) -> Option<&'m [u8]> {
        self.fields().get(tag)
    }

    /// A whole number. `None` where the field is not there, `Some(Err(value))` where
    /// its value is no number.
    pub fn number(&self, tag: u32) -> Option<Result<i64, &'m [u8]>> {
        let value = self.get(tag)?;
        Some(value::number(value).ok_or(value))
    }

    /// All fields behind the type and before the checksum, in their order.
    pub const fn fields(&self) -> Fields<'m> {
        Fields { rest: self.fields, data: None }
    }

    /// The entries of a repeating group: what is behind `count_tag`, cut before each
    /// `first_tag`, and ended by a field that does not belong to it. A group that
    /// MIT202 does not have ends with the message.
    pub fn group(&self, count_tag: u32, first_tag: u32) -> Group<'m> {
        let mut rest = self.fields();
        let _ = rest.find(|field| field.tag == count_tag);
        Group { rest, first_tag, members: dictionary::members(count_tag) }
    }
}

/// The fields of a message, or of an entry of a group.
#[derive(Clone, Debug, Default)]
pub struct Fields<'m> {
    rest: &'m [u8],
    /// The field that may have any bytes, and how many: the one before said so.
    data: Option<(u32, usize)>,
}

impl<'m> Fields<'m> {
    /// The value of the first field of a tag.
    pub fn get(&self, tag: u32) -> Option<&'m [u8]> {
        let mut fields = self.clone();
        fields.find(|field| field.tag == tag).map(|field| field.value)
    }

    /// Where the value of a field ends.
    fn end(&mut self, tag: u32, value: &[u8]) -> usize {
        if let Some((data_tag, len)) = self.data.take()
            && data_tag == tag
            && value.get(len) == Some(&SOH)
        {
            return len;
        }
        find_end(value).unwrap_or(value.len())
    }
}

impl<'m> Iterator for Fields<'m> {
    type Item = Field<'m>;

    #[inline]
    fn next(&mut self) -> Option<Field<'m>> {
        if self.rest.is_empty() {
            return None;
        }
        let (tag, value) = match tag(self.rest) {
            Some((tag, digits)) => (tag, &self.rest[digits + 1..]),
            None => (0, self.rest),
        };
        let end = self.end(tag, value);
        let (value, behind) = value.split_at(end);
        self.rest = behind.get(1..).unwrap_or_default();
        if let Some(data_tag) = data_tag(tag) {
            self.data = value::unsigned(value).map(|len| (data_tag, len as usize));
        }
        Some(Field { tag, value })
    }
}

/// Digits of the longest tag.
const MAX_TAG_DIGITS: usize = 9;

/// The number in front of a `=`, and its digits. It does not begin with 0.
#[inline]
fn tag(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut tag = 0;
    for (at, &byte) in bytes.iter().take(MAX_TAG_DIGITS + 1).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (byte == b'=' && tag > 0).then_some((tag, at));
        }
        if at == MAX_TAG_DIGITS || (tag == 0 && digit == 0) {
            return None;
        }
        tag = tag * 10 + u32::from(digit);
    }
    None
}

/// The field of data whose length a field has. Its value may have ends of fields in
/// it.
#[inline]
const fn data_tag(length_tag: u32) -> Option<u32> {
    match length_tag {
        90 | 95 | 212 | 348 | 350 | 352 | 354 | 356 | 358 | 360 | 362 | 364 | 445 | 618 | 621
        | 1401 | 1403 => Some(length_tag + 1),
        93 => Some(89),
        _ => None,
    }
}

/// The entries of a repeating group.
#[derive(Clone, Debug)]
pub struct Group<'m> {
    rest: Fields<'m>,
    first_tag: u32,
    members: Option<&'static [u32]>,
}

impl<'m> Iterator for Group<'m> {
    type Item = Fields<'m>;

    fn next(&mut self) -> Option<Fields<'m>> {
        let start = self.rest.clone();
        if self.rest.next()?.tag != self.first_tag {
            // What does not begin as an entry is behind the last one.
            self.rest = Fields::default();
            return None;
        }
        loop {
            let before = self.rest.clone();
            let belongs = |field: &Field<'_>| {
                field.tag != self.first_tag
                    && self.members.is_none_or(|members| members.contains(&field.tag))
            };
            if self.rest.next().is_some_and(|field| belongs(&field)) {
                continue;
            }
            let (entry, _) = start.rest.split_at(start.rest.len() - before.rest.len());
            self.rest = before;
            return Some(Fields { rest: entry, data: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::wire;

    fn fields(body: &str) -> Vec<(u32, String)> {
        let wire = wire(body);
        let message = Message::read(&wire).expect("a whole message");
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        message.fields().map(|field| (field.tag, text(field.value))).collect()
    }

    #[test]
    fn fields_come_in_their_order_and_the_first_of_a_tag_is_found() {
        let wire = wire("35=D|34=7|11=C1|58=a=b|11=C2|");
        let message = Message::read(&wire).expect("a whole message");
        assert_eq!(message.msg_type(), b"D");
        assert_eq!(message.get(11), Some(&b"C1"[..]));
        assert_eq!(message.get(58), Some(&b"a=b"[..]));
        assert_eq!(message.get(35), None);
        assert_eq!(message.number(34), Some(Ok(7)));
        assert_eq!(message.number(58), Some(Err(&b"a=b"[..])));
        assert_eq!(message.number(36), None);
        assert_eq!(message.fields().count(), 4);
    }

    #[test]
    fn what_is_no_field_has_the_tag_zero() {
        for field in ["=x", "x=1", "01=1", "0=1", "-1=1", "12", "1234567890=1", ""] {
            assert_eq!(fields(&format!("35=D|{field}|1=y|"))[0], (0, field.to_owned()));
        }
        assert_eq!(fields("35=D|11=|"), [(11, String::new())]);
        assert_eq!(fields("35=D|999999999=x|")[0].0, 999_999_999);
    }

    #[test]
    fn data_may_have_ends_of_fields_in_it() {
        let of = |body: &str| fields(body).into_iter().map(|field| field.1).collect::<Vec<_>>();
        assert_eq!(of("35=A|95=5|96=a|b=c|58=x|"), ["5", "a\x01b=c", "x"]);
        assert_eq!(of("35=A|93=2|89=|||58=x|"), ["2", "\x01\x01", "x"]);
        // A length that does not fit is not believed.
        assert_eq!(of("35=A|95=4|96=a|58=x|"), ["4", "a", "x"]);
        assert_eq!(of("35=A|95=99999999999|96=a|"), ["99999999999", "a"]);
    }

    #[test]
    fn groups_are_cut_into_entries_and_end_where_they_end() {
        let wire = wire("35=D|453=2|448=A|447=D|452=76|448=B|452=3|2376=24|11=C1|448=late|");
        let message = Message::read(&wire).expect("a whole message");
        let entries: Vec<Fields<'_>> = message.group(453, 448).collect();
        let roles: Vec<_> = entries.iter().map(|entry| entry.get(452)).collect();
        assert_eq!(roles, [Some(&b"76"[..]), Some(&b"3"[..])]);
        assert_eq!(entries[0].get(2376), None);
        assert_eq!(entries[1].get(11), None);
        assert_eq!(message.group(386, 336).count(), 0);
        assert_eq!(message.group(453, 447).count(), 0);
        let unknown: Vec<_> = message.group(34, 448).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn one_message_is_one_message() {
        let one = wire("35=0|");
        let two = [one.clone(), one.clone()].concat();
        assert_eq!(Message::read(&two).err(), Some(FixError::Whole(two.len())));
        assert_eq!(Message::read(&one[..5]).err(), Some(FixError::Whole(5)));
        assert_eq!(Message::read(&wire("34=1|35=0|")).err(), Some(FixError::Type));
        assert_eq!(Message::read(&wire("35=|")).err(), Some(FixError::Type));
        assert_eq!(Message::read(&wire("")).err(), Some(FixError::Type));
    }
}
