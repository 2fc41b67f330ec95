//! Messages whose fields are at fixed places.
//!
//! Protocols of exchanges document a message as a table of offsets, lengths and
//! names. [`message!`] takes that table as it is printed and makes a struct of it
//! that is written to bytes and read from them; what the table leaves out is
//! reserved. That fields neither overlap nor leave the message is checked when it
//! is compiled.
//!
//! ```
//! use tapeline_layout::{Text, message};
//!
//! message! {
//!     /// An order goes.
//!     Cancel: 17, fill 0 {
//!         /// Which.
//!         2 => order_id: u64,
//!         /// Who asks.
//!         12 => user: Text<4>,
//!     }
//! }
//! let cancel = Cancel { order_id: 7, user: Text::new("BOB") };
//! let bytes = cancel.to_bytes();
//! assert_eq!(bytes[12..16], *b"BOB\0");
//! assert_eq!(Cancel::read(&bytes), Some(cancel));
//! ```
//!
//! Numbers are little-endian; those of `Name: 17, big endian, fill 0 { … }` are
//! big-endian ([`BigEndian`]).

mod records;

use std::fmt;

pub use records::{Record, Sections, append_blob, append_section};

/// What a field can be: so many bytes, little-endian.
pub trait Field: Copy {
    /// How many bytes it has.
    const LEN: usize;

    /// Writes it to bytes of this length.
    fn put(self, out: &mut [u8]);

    /// Reads it from bytes of this length.
    fn get(bytes: &[u8]) -> Self;
}

/// What a field of a big-endian message can be. A type of a protocol implements
/// the one of the two that the protocol has, so that none is read the wrong way
/// round.
pub trait BigEndian: Copy {
    /// How many bytes it has.
    const LEN: usize;

    /// Writes it to bytes of this length.
    fn put(self, out: &mut [u8]);

    /// Reads it from bytes of this length.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($order:ident, $to_bytes:ident, $from_bytes:ident: $($type:ty),*) => {$(
        impl $order for $type {
            const LEN: usize = size_of::<$type>();

            #[inline]
            fn put(self, out: &mut [u8]) {
                out.copy_from_slice(&self.$to_bytes());
            }

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                Self::$from_bytes(own)
            }
        }
    )*};
}

number!(Field, to_le_bytes, from_le_bytes: u8, u16, u32, u64, i8, i16, i32, i64);
number!(BigEndian, to_be_bytes, from_be_bytes: u8, u16, u32, u64, i8, i32, i64);

/// A text of at most `N` bytes, filled up with `FILL`: 0 or a space.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<const N: usize, const FILL: u8 = 0>([u8; N]);

impl<const N: usize, const FILL: u8> Text<N, FILL> {
    /// A text, cut if it is longer.
    pub fn new(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }

    /// The same of bytes.
    pub fn from_bytes(text: &[u8]) -> Self {
        let mut own = [FILL; N];
        for (place, byte) in own.iter_mut().zip(text) {
            *place = *byte;
        }
        Self(own)
    }

    /// Without what fills it up.
    pub fn as_bytes(&self) -> &[u8] {
        let is_end = |byte: &u8| *byte == 0;
        let end = self.0.iter().position(is_end).unwrap_or(N);
        let text = &self.0[..end];
        let filled = text.iter().rev().take_while(|byte| **byte == FILL).count();
        &text[..end - filled]
    }

    /// The text; empty if it is none.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    /// Nothing but what fills it up.
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// No byte is above 127.
    pub fn is_ascii(&self) -> bool {
        self.0.is_ascii()
    }
}

impl<const N: usize, const FILL: u8> Default for Text<N, FILL> {
    fn default() -> Self {
        Self([FILL; N])
    }
}

impl<const N: usize, const FILL: u8> fmt::Debug for Text<N, FILL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl<const N: usize, const FILL: u8> fmt::Display for Text<N, FILL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<const N: usize, const FILL: u8> Field for Text<N, FILL> {
    const LEN: usize = N;

    #[inline]
    fn put(self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Self {
        let mut own = [FILL; N];
        own.copy_from_slice(bytes);
        Self(own)
    }
}

impl<const N: usize, const FILL: u8> BigEndian for Text<N, FILL> {
    const LEN: usize = N;

    #[inline]
    fn put(self, out: &mut [u8]) {
        Field::put(self, out);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Self {
        Field::get(bytes)
    }
}

/// Whether fields, as places and lengths, stand one behind the other within a
/// message.
#[doc(hidden)]
pub const fn is_in_order(fields: &[(usize, usize)], from: usize, len: usize) -> bool {
    let (mut at, mut end) = (0, from);
    while at < fields.len() {
        if fields[at].0 < end {
            return false;
        }
        end = fields[at].0 + fields[at].1;
        at += 1;
    }
    end <= len
}

/// Makes a struct of a message's table: its name and length, what fills reserved
/// bytes, whether numbers are `big endian`, and for each field its place, name and
/// type. Its head, which comes before the first field, is left to the protocol.
#[macro_export]
macro_rules! message {
    ($(#[$doc:meta])* $name:ident: $len:literal, fill $fill:literal { $($fields:tt)* }) => {
        $crate::message!(@of [$crate::Field] $(#[$doc])* $name: $len, $fill { $($fields)* });
    };
    ($(#[$doc:meta])* $name:ident: $len:literal, big endian, fill $fill:literal {
        $($fields:tt)*
    }) => {
        $crate::message!(@of [$crate::BigEndian] $(#[$doc])* $name: $len, $fill { $($fields)* });
    };
    (@of [$order:path] $(#[$doc:meta])* $name:ident: $len:literal, $fill:literal {
        $($(#[$field_doc:meta])* $at:literal => $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// How many bytes it has, its head included.
            pub const LEN: usize = $len;

            /// Place and length of each field.
            pub const FIELDS: &'static [(usize, usize)] =
                &[$(($at, <$type as $order>::LEN),)*];

            /// The message, with its head left empty.
            #[must_use]
            #[inline]
            pub fn to_bytes(self) -> [u8; $len] {
                const {
                    assert!($crate::is_in_order(Self::FIELDS, 0, $len), "fields overlap");
                }
                #[allow(unused_mut, reason = "a message may have no fields")]
                let mut out = [$fill; $len];
                $(<$type as $order>::put(
                    self.$field,
                    &mut out[$at..$at + <$type as $order>::LEN],
                );)*
                out
            }

            /// Reads a message, whatever its head says. `None` if its length is
            /// another.
            #[inline]
            pub fn read(bytes: &[u8]) -> Option<Self> {
                if bytes.len() != $len {
                    return None;
                }
                Some(Self {
                    $($field: <$type as $order>::get(
                        &bytes[$at..$at + <$type as $order>::LEN],
                    ),)*
                })
            }
        }

        impl $crate::Record for $name {
            const LEN: usize = $len;

            fn append(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                Self::read(bytes)
            }
        }
    };
}

#[cfg(test)]
#[allow(unreachable_pub, dead_code, reason = "what the macro makes is public")]
mod tests {
    use super::*;

    message! {
        /// For the test.
        Sample: 12, fill 0x20 {
            /// A number.
            2 => number: i32,
            /// A text.
            8 => text: Text<3, b' '>,
        }
    }

    message! {
        /// The same the other way round.
        Reversed: 12, big endian, fill 0x20 {
            /// A number.
            2 => number: i32,
            /// A text.
            8 => text: Text<3, b' '>,
        }
    }

    #[test]
    fn numbers_of_big_endian_messages_begin_with_the_highest_byte() {
        let reversed = Reversed { number: -2, text: Text::new("ab") };
        let bytes = reversed.to_bytes();
        assert_eq!(bytes, *b"  \xff\xff\xff\xfe  ab  ");
        assert_eq!(Reversed::read(&bytes), Some(reversed));
    }

    #[test]
    fn fields_are_where_the_table_says_and_the_rest_is_filled() {
        let sample = Sample { number: -2, text: Text::new("ab") };
        let bytes = sample.to_bytes();
        assert_eq!(bytes, *b"  \xfe\xff\xff\xff  ab  ");
        assert_eq!(Sample::read(&bytes), Some(sample));
        assert_eq!(Sample::read(&bytes[1..]), None);
        assert_eq!(Sample::FIELDS, [(2, 4), (8, 3)]);
    }

    #[test]
    fn overlaps_are_found() {
        assert!(is_in_order(&[(4, 4), (8, 1)], 4, 9));
        assert!(!is_in_order(&[(4, 4), (7, 1)], 4, 9), "overlap");
        assert!(!is_in_order(&[(4, 4), (8, 2)], 4, 9), "too long");
        assert!(!is_in_order(&[(3, 1)], 4, 9), "in the head");
    }

    #[test]
    fn texts_are_cut_filled_and_trimmed() {
        let text: Text<4> = Text::new("abcdef");
        assert_eq!((text.as_str(), Text::<4>::new("").is_empty()), ("abcd", true));
        assert_eq!(Text::<6, b' '>::new("a b").as_str(), "a b");
        assert_eq!(
            format!("{:?} {:>4}|", Text::<3>::new("a\x01"), Text::<3>::new("ab")),
            "\"a\\x01\"   ab|"
        );
        assert_eq!(Text::<2>::from_bytes(&[0xff, 0xfe]).as_str(), "");
        assert!(!Text::<2>::from_bytes(&[0xff]).is_ascii());
    }
}
