//! Random messages, and random bytes.

use proptest::prelude::*;
use tapeline_itch::{Body, Message};

/// Bytes of a type's length, with this type.
fn of_a_type() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(Body::LENGTHS).prop_flat_map(|(kind, len)| {
        prop::collection::vec(any::<u8>(), len).prop_map(move |mut bytes| {
            bytes[0] = kind;
            bytes
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Every field keeps its value; only what is reserved is not kept.
    #[test]
    fn what_is_read_is_written_as_it_was(mut bytes in of_a_type()) {
        if bytes[0] == b'H' {
            bytes[20] = b' ';
        }
        let message = Message::read(&bytes).expect("its type and length are good");
        let mut written = Vec::new();
        message.append(&mut written);
        prop_assert_eq!(written, bytes);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let is_known = Body::LENGTHS.iter().any(|(kind, len)| {
            bytes.first() == Some(kind) && bytes.len() == *len
        });
        prop_assert_eq!(Message::read(&bytes).is_ok(), is_known);
    }
}
