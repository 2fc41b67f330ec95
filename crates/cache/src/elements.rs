//! Element lists as they are kept: standard data on the wire, each name once.

use tapeline_rwf::{DataType, ElementList, ElementListInfo, Encoded, ListFlags};

use crate::data::{Standard, is_set_form};
use crate::lengths::{count_at, push_bytes15, push_bytes16, resize_within, set_count};
use crate::{CacheError, Limits};

const FLAGS: u8 = ListFlags::HAS_STANDARD_DATA.bits();
const FLAGS_WITH_INFO: u8 = FLAGS | ListFlags::HAS_INFO.bits();

/// Merges an element list into the one from `base` on.
pub(crate) fn merge(
    buffer: &mut Vec<u8>,
    base: usize,
    list: &ElementList<'_>,
    limits: Limits,
) -> Result<(), CacheError> {
    if list.skipped_set_data().is_some() {
        return Err(CacheError::NotApplicable { what: "an element list of a set not known" });
    }
    let count_at = open(buffer, base, list.info());
    let mut scratch = Vec::new();
    for entry in list {
        let entry = entry?;
        scratch.clear();
        push_element(&mut scratch, entry.name, &entry.value)?;
        put(buffer, count_at, entry.name, &scratch, limits)?;
    }
    Ok(())
}

/// How many elements the list from `base` on has.
pub(crate) fn count(buffer: &[u8], base: usize) -> usize {
    let at = match buffer.get(base) {
        None => return 0,
        Some(&FLAGS_WITH_INFO) => base + 4,
        Some(_) => base + 1,
    };
    usize::from(count_at(buffer, at))
}

/// Begins a list if there is none, and writes the info; returns where the
/// count is.
fn open(buffer: &mut Vec<u8>, base: usize, info: Option<ElementListInfo>) -> usize {
    if buffer.len() <= base {
        buffer.extend_from_slice(&[FLAGS, 0, 0]);
    }
    if let Some(info) = info {
        let old_len = if buffer[base] == FLAGS_WITH_INFO { 3 } else { 0 };
        resize_within(buffer, base + 1, old_len, 3);
        let [high, low] = info.list_number.to_be_bytes();
        buffer[base + 1..base + 4].copy_from_slice(&[2, high, low]);
        buffer[base] = FLAGS_WITH_INFO;
    }
    if buffer[base] == FLAGS_WITH_INFO { base + 4 } else { base + 1 }
}

/// One element as it is in standard data.
fn push_element(out: &mut Vec<u8>, name: &[u8], value: &Encoded<'_>) -> Result<(), CacheError> {
    push_bytes15(out, name);
    out.push(value.data_type().base().0);
    if is_set_form(value.data_type()) {
        push_bytes16(out, Standard::of(value)?.bytes());
    } else if value.data_type() != DataType::NO_DATA {
        push_bytes16(out, value.bytes());
    }
    Ok(())
}

/// Puts an element in the place of the one with its name, or at the end.
fn put(
    buffer: &mut Vec<u8>,
    count_at: usize,
    name: &[u8],
    element: &[u8],
    limits: Limits,
) -> Result<(), CacheError> {
    let (at, old_len) = match find(&buffer[count_at + 2..], name) {
        Some((at, len)) => (count_at + 2 + at, len),
        None => {
            let count = crate::lengths::count_at(buffer, count_at);
            if count >= limits.max_list_entries {
                return Err(CacheError::TooManyEntries { limit: limits.max_list_entries.into() });
            }
            set_count(buffer, count_at, count + 1);
            (buffer.len(), 0)
        }
    };
    resize_within(buffer, at, old_len, element.len());
    buffer[at..at + element.len()].copy_from_slice(element);
    Ok(())
}

/// Where the element of a name is among encoded elements, and how long it is.
fn find(elements: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    while at < elements.len() {
        let (found, rest) = split15(&elements[at..])?;
        let (data_type, rest) = rest.split_first()?;
        let rest = match DataType(*data_type) {
            DataType::NO_DATA => rest,
            _ => split16(rest)?.1,
        };
        let end = elements.len() - rest.len();
        if found == name {
            return Some((at, end - at));
        }
        at = end;
    }
    None
}

/// Splits off bytes behind a `u15_rb` length.
fn split15(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match *bytes {
        [len @ 0..0x80, ref rest @ ..] => rest.split_at_checked(len.into()),
        [high, low, ref rest @ ..] => {
            rest.split_at_checked(u16::from_be_bytes([high & 0x7F, low]).into())
        }
        _ => None,
    }
}

/// Splits off bytes behind a `u16_ob` length.
fn split16(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match *bytes {
        [0xFE, high, low, ref rest @ ..] => {
            rest.split_at_checked(u16::from_be_bytes([high, low]).into())
        }
        [len, ref rest @ ..] => rest.split_at_checked(len.into()),
        _ => None,
    }
}
