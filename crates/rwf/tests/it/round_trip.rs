//! Whatever can be built encodes, decodes back to itself, and says exactly how
//! much room it wants.

use crate::tree::{self, Node};
use proptest::prelude::*;
use tapeline_rwf::{DataType, EncodeError, Encoded, Encoder, Msg, MsgView};

fn encode(node: &Node, room: usize) -> Result<Vec<u8>, EncodeError> {
    let mut buffer = vec![0xEE; room];
    let mut encoder = Encoder::new(&mut buffer);
    node.write(encoder.container(node.data_type()))?;
    encoder.finish_bytes().map(<[u8]>::to_vec)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn containers_and_messages(node in tree::node()) {
        let bytes = encode(&node, 1 << 20).expect("a valid tree");
        let data = Encoded::new(node.data_type(), &bytes);
        prop_assert_eq!(Node::read(&data), Ok(node));
    }

    #[test]
    fn missing_room_is_exact(node in tree::node(), room in any::<prop::sample::Index>()) {
        let size = encode(&node, 1 << 20).expect("a valid tree").len();
        let room = room.index(size + 1);
        match encode(&node, room) {
            Ok(bytes) => prop_assert_eq!(bytes.len(), size),
            Err(error) => {
                prop_assert_eq!(error, EncodeError::BufferTooSmall { missing: size - room });
            }
        }
        prop_assert!(encode(&node, size).is_ok());
    }

    #[test]
    fn primitives(value in tree::primitive()) {
        let bytes = value.encoded();
        let data = Encoded::new(value.data_type(), &bytes);
        prop_assert_eq!(tree::Value::read(&data), Ok(value));
    }

    #[test]
    fn a_view_reads_what_a_message_has(node in tree::message()) {
        let bytes = encode(&node, 1 << 20).expect("a valid tree");
        let msg = Msg::decode(&bytes).expect("its own encoding");
        let view = MsgView::decode(&bytes).expect("its own encoding");
        let header = view.header();
        prop_assert_eq!(header.class, msg.class());
        prop_assert_eq!((header.domain, header.stream_id), (msg.domain(), msg.stream_id()));
        prop_assert_eq!(view.seq_num(), Ok(msg.seq_num()));
        prop_assert_eq!(view.key(), Ok(msg.key().copied()));
        let update_type = match &msg {
            Msg::Update(update) => Some(update.update_type),
            _ => None,
        };
        prop_assert_eq!(view.update_type(), Ok(update_type));
        prop_assert_eq!(view.payload(), msg.payload());
        prop_assert_eq!(view.msg(), Ok(msg));
    }

    #[test]
    fn an_unchanged_message_encodes_to_itself(node in tree::message()) {
        let bytes = encode(&node, 1 << 20).expect("a valid tree");
        let msg = Msg::decode(&bytes).expect("its own encoding");
        let mut again = vec![0; bytes.len()];
        let mut encoder = Encoder::new(&mut again);
        encoder.message(&msg).expect("its own content");
        prop_assert_eq!(encoder.finish_bytes(), Ok(bytes.as_slice()));
        prop_assert_eq!(node.data_type(), DataType::MSG);
    }
}
