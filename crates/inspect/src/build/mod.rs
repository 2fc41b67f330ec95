//! From the `value` form to bytes. Its mirror is
//! [`describe`](crate::describe).
//!
//! Containers are written from the inside out: what is in an entry is bytes
//! before the entry is written.

mod container;
mod list;
mod msg;
mod node;
mod primitive;
mod set_defs;

pub(crate) use node::Node;
pub(crate) use set_defs::{Definition, SetDefinitions};

use node::optional;

use serde_json::Value;

use tapeline_rwf::{DataType, EncodeError, Encoder, Slot};

use crate::BuildError;

/// The bytes of a `value` of any type, all lengths in their shortest form.
///
/// What follows from the rest may be left out: `flags`, the `len` of a time
/// that is not spelled longer than it must, `text` beside `hex`.
pub fn to_bytes(value: &Value) -> Result<Vec<u8>, BuildError> {
    data(&Node::root(value, "value"))
}

/// The bytes of any data, without a length.
fn data(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let data_type = node.required("type")?.data_type()?;
    if !data_type.is_container() {
        return primitive::bytes(node, data_type);
    }
    if data_type == DataType::NO_DATA || node.has_mark("empty")? {
        return Ok(Vec::new());
    }
    let node = &node.enter()?;
    match data_type {
        DataType::FIELD_LIST => list::field_list(node),
        DataType::ELEMENT_LIST => list::element_list(node),
        DataType::FILTER_LIST => container::filter_list(node),
        DataType::VECTOR => container::vector(node),
        DataType::SERIES => container::series(node),
        DataType::MAP => container::map(node),
        DataType::MSG => msg::msg(node),
        _ => node.required("hex")?.hex(),
    }
}

/// The bytes of data that must be of a type.
fn data_of(node: &Node<'_, '_>, expected: DataType) -> Result<Vec<u8>, BuildError> {
    node.expect_type(expected, node.required("type")?.data_type()?)?;
    data(node)
}

/// Runs an encoder; `room` is a guess at the bytes, corrected once if it is
/// too low.
fn encoded(
    node: &Node<'_, '_>,
    data_type: DataType,
    room: usize,
    write: impl Fn(Slot<'_, '_>) -> Result<(), BuildError>,
) -> Result<Vec<u8>, BuildError> {
    let mut buffer = vec![0; room];
    loop {
        let mut encoder = Encoder::new(&mut buffer);
        write(encoder.container(data_type))?;
        match encoder.finish() {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(EncodeError::BufferTooSmall { missing }) => {
                let enough = buffer.len() + missing;
                buffer.resize(enough, 0);
            }
            Err(other) => return Err(node.error(other.into())),
        }
    }
}

/// Puts the given flags of a container, which are its first byte, in place of
/// the derived ones. `free` are the bits that change nothing behind them.
fn with_flags(node: &Node<'_, '_>, mut bytes: Vec<u8>, free: u16) -> Result<Vec<u8>, BuildError> {
    if let Some(first) = bytes.first_mut() {
        let flags = node.check_flags((*first).into(), free)?;
        *first = flags as u8;
    }
    Ok(bytes)
}
