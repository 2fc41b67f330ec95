//! Messages are written into a buffer that is kept.

/// Writes the fields of a message.
///
/// A field without a value is left out, as is one with which the message would be
/// longer than any may be; an end of a field inside of a value becomes `?`.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
}

impl Writer<'_> {
    /// A text.
    pub fn text(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        let _ = (tag, value, &mut self.out);
        todo!()
    }

    /// A whole number.
    pub fn number(&mut self, tag: u32, value: i64) -> &mut Self {
        let _ = (tag, value);
        todo!()
    }

    /// A number with 8 decimals; zeros at its end are dropped.
    pub fn decimal(&mut self, tag: u32, value: i64) -> &mut Self {
        let _ = (tag, value);
        todo!()
    }

    /// One character.
    pub fn byte(&mut self, tag: u32, value: u8) -> &mut Self {
        let _ = (tag, value);
        todo!()
    }

    /// A moment, to the nanosecond: `20261126-21:11:13.123456789`.
    pub fn time(&mut self, tag: u32, ns_since_1970: u64) -> &mut Self {
        let _ = (tag, ns_since_1970);
        todo!()
    }
}

/// Appends a whole message of a type to `out`: its start, the fields that `fields`
/// writes, header first, and its checksum.
pub fn append(out: &mut Vec<u8>, msg_type: &[u8], fields: impl FnOnce(&mut Writer<'_>)) {
    let _ = (out, msg_type, fields);
    todo!()
}
