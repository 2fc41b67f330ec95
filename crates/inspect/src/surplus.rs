//! Bytes behind the end of data that knows where it ends.

use core::fmt;

use tapeline_rwf::{DataType, DecodeError, Encoded, ListFlags, SetDefs};

use crate::names::type_name;

/// Bytes behind the last entry of a container that extends to the end of the
/// outermost data: decoders leave them alone, and so they hide what was lost,
/// such as messages that were written without a line end between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surplus {
    /// The container.
    pub data_type: DataType,
    /// The position of the first of the bytes, from the start of the outermost
    /// data.
    pub offset: usize,
    /// How many there are, 1 or more.
    pub len: usize,
}

impl fmt::Display for Surplus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data_type, offset, len } = *self;
        let bytes = if len == 1 { "byte" } else { "bytes" };
        write!(f, "{len} {bytes} behind the end of the {} (byte {offset})", type_name(data_type))
    }
}

/// The bytes behind the end of data, or, the data being a message, of its
/// payload. Data that does not decode, and data that has no end of its own, has
/// none.
pub(crate) fn surplus<'a>(data: &Encoded<'a>, defs: &SetDefs<'a>) -> Option<Surplus> {
    if data.data_type() == DataType::MSG {
        let inside = SetDefs { local: None, global: defs.global };
        return surplus(&data.msg().ok()?.payload(), &inside);
    }
    let end = end(data, defs)?;
    let len = data.bytes().len().checked_sub(end).filter(|len| *len > 0)?;
    Some(Surplus { data_type: data.data_type(), offset: data.offset() as usize + end, len })
}

/// Where data ends by its content. That is the length of the shortest of its
/// beginnings that reads to the last entry: entries are read in order, so every
/// shorter one lacks something, and no longer one does.
fn end<'a>(data: &Encoded<'a>, defs: &SetDefs<'a>) -> Option<usize> {
    if data.data_type() == DataType::NO_DATA {
        return Some(0);
    }
    let bytes = data.bytes();
    if bytes.is_empty() || !has_end(data, defs) || !is_complete(data, defs) {
        return None;
    }
    let (mut incomplete, mut complete) = (0, bytes.len());
    while complete - incomplete > 1 {
        let middle = incomplete.midpoint(complete);
        let beginning = Encoded::new(data.data_type(), bytes.get(..middle)?);
        if is_complete(&beginning, defs) {
            complete = middle;
        } else {
            incomplete = middle;
        }
    }
    Some(complete)
}

/// Whether the content tells the end. Set data of an unknown set takes all
/// that is left, unless standard data follows it.
fn has_end<'a>(data: &Encoded<'a>, defs: &SetDefs<'a>) -> bool {
    let tells = |flags: ListFlags, skipped: Option<Encoded<'_>>| {
        skipped.is_none() || flags.contains(ListFlags::HAS_STANDARD_DATA)
    };
    match data.data_type() {
        DataType::FIELD_LIST => data
            .field_list_with(defs)
            .is_ok_and(|list| tells(list.flags(), list.skipped_set_data())),
        DataType::ELEMENT_LIST => data
            .element_list_with(defs)
            .is_ok_and(|list| tells(list.flags(), list.skipped_set_data())),
        DataType::FILTER_LIST
        | DataType::VECTOR
        | DataType::SERIES
        | DataType::MAP
        | DataType::ARRAY => true,
        _ => false,
    }
}

/// Whether all entries are there. What is inside them has its own length.
fn is_complete<'a>(data: &Encoded<'a>, defs: &SetDefs<'a>) -> bool {
    fn all<T>(mut entries: impl Iterator<Item = Result<T, DecodeError>>) -> bool {
        entries.all(|entry| entry.is_ok())
    }
    match data.data_type() {
        DataType::FIELD_LIST => data.field_list_with(defs).is_ok_and(|list| all(list.iter())),
        DataType::ELEMENT_LIST => data.element_list_with(defs).is_ok_and(|list| all(list.iter())),
        DataType::FILTER_LIST => data.filter_list().is_ok_and(|list| all(list.iter())),
        DataType::VECTOR => data.vector().is_ok_and(|vector| all(vector.iter())),
        DataType::SERIES => data.series().is_ok_and(|series| all(series.iter())),
        DataType::MAP => data.map().is_ok_and(|map| all(map.iter())),
        DataType::ARRAY => {
            data.array().is_ok_and(|array| array.is_some_and(|array| all(array.iter())))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(data_type: DataType, bytes: &[u8]) -> Option<String> {
        surplus(&Encoded::new(data_type, bytes), &SetDefs::NONE).map(|found| found.to_string())
    }

    const UPDATE: [u8; 16] = [0, 9, 4, 6, 0, 0, 0, 5, 0, 4, 0, 8, 0, 0, 0xAA, 0xBB];

    #[test]
    fn bytes_behind_the_last_entry_are_told_with_their_place() {
        let list = [8, 0, 1, 0, 22, 1, 12, 0xAA, 0xBB];
        assert_eq!(
            told(DataType::FIELD_LIST, &list).as_deref(),
            Some("2 bytes behind the end of the FIELD_LIST (byte 7)")
        );
        assert_eq!(
            told(DataType::FIELD_LIST, &list[..8]).as_deref(),
            Some("1 byte behind the end of the FIELD_LIST (byte 7)")
        );
        assert_eq!(told(DataType::FIELD_LIST, &list[..7]), None);
        assert_eq!(
            told(DataType::ARRAY, &[4, 1, 0, 1, 7, 8]).as_deref(),
            Some("1 byte behind the end of the ARRAY (byte 5)")
        );
    }

    #[test]
    fn the_payload_of_a_message_ends_with_it() {
        assert_eq!(told(DataType::MSG, &UPDATE[..14]), None);
        assert_eq!(
            told(DataType::MSG, &UPDATE).as_deref(),
            Some("2 bytes behind the end of the FIELD_LIST (byte 14)")
        );
        let close = [0, 8, 5, 6, 0, 0, 0, 5, 0, 0, 0xAA];
        assert_eq!(
            told(DataType::MSG, &close).as_deref(),
            Some("1 byte behind the end of the NO_DATA (byte 10)")
        );
    }

    #[test]
    fn what_does_not_decode_or_has_no_end_has_nothing_behind_it() {
        assert_eq!(told(DataType::FIELD_LIST, &[8, 0, 1, 0, 22, 9, 12]), None);
        assert_eq!(told(DataType::FIELD_LIST, &[]), None);
        assert_eq!(told(DataType::BUFFER, &[1, 2, 3]), None);
        assert_eq!(told(DataType::OPAQUE, &[1, 2, 3]), None);
        // Set data of an unknown set.
        assert_eq!(told(DataType::FIELD_LIST, &[2, 7, 7, 7]), None);
    }
}
