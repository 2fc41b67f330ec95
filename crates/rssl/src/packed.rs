//! The messages of a packed frame, one after the other.

/// What is left of the frame that is being taken apart, which is how nearly all
/// messages come: an iterator over its messages that costs a few instructions
/// for each.
///
/// It ends where the frame does, and before anything that is wrong with it,
/// which is for [`Connection::poll_event`](crate::Connection::poll_event) to
/// tell. What was taken is handed back to
/// [`Connection::take_packed`](crate::Connection::take_packed):
///
/// ```
/// # fn deliver(connection: &mut tapeline_rssl::Connection, mut handle: impl FnMut(&[u8])) {
/// let mut packed = connection.packed();
/// for message in &mut packed {
///     handle(message);
/// }
/// let taken = packed.taken();
/// connection.take_packed(taken);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Packed<'a> {
    rest: &'a [u8],
    taken: Taken,
}

/// Messages that were taken of a packed frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Taken {
    pub(crate) bytes: usize,
    pub(crate) messages: u64,
}

impl<'a> Packed<'a> {
    /// Two bytes of length before each message.
    ///
    /// ```text
    /// body: ┌────┬───────────┬────┬─────────┬ ...
    ///       │ n  │ n bytes   │ m  │ m bytes │
    ///       └────┴───────────┴────┴─────────┴ ...
    /// ```
    pub(crate) const fn new(body: &'a [u8]) -> Self {
        Self { rest: body, taken: Taken { bytes: 0, messages: 0 } }
    }

    /// What the connection has to know.
    pub const fn taken(&self) -> Taken {
        self.taken
    }
}

impl<'a> Iterator for Packed<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.rest.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        if length == 0 {
            return None;
        }
        let (message, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        self.taken.bytes += 2 + length;
        self.taken.messages += 1;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(body: &[u8]) -> (Vec<&[u8]>, Taken) {
        let mut packed = Packed::new(body);
        let messages = packed.by_ref().collect();
        (messages, packed.taken())
    }

    #[test]
    fn messages_come_in_their_order() {
        let (messages, taken) = all(b"\0\x02ab\0\x01c");
        assert_eq!(messages, [&b"ab"[..], b"c"]);
        assert_eq!(taken, Taken { bytes: 7, messages: 2 });
    }

    #[test]
    fn what_is_wrong_is_left_where_it_is() {
        for rest in [&b""[..], b"\0", b"\0\0more", b"\0\x03ab", b"\xFF\xFFab"] {
            let body = [b"\0\x01a", rest].concat();
            let (messages, taken) = all(&body);
            assert_eq!(messages, [b"a"], "{rest:?}");
            assert_eq!(taken, Taken { bytes: 3, messages: 1 }, "{rest:?}");
        }
    }
}
