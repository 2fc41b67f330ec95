//! Any byte string is decoded or refused, never more: tests are compiled with
//! overflow checks.

use proptest::prelude::*;
use tapeline_rwf::{DataType, Encoded, Msg, MsgHeader, MsgView, check};

const TYPES: [DataType; 8] = [
    DataType::MSG,
    DataType::FIELD_LIST,
    DataType::ELEMENT_LIST,
    DataType::FILTER_LIST,
    DataType::VECTOR,
    DataType::SERIES,
    DataType::MAP,
    DataType::ARRAY,
];

/// A type for every field id, so that every decoder is met.
fn field_type(field_id: i16) -> DataType {
    DataType((field_id as u8) % 20)
}

fn walk(data_type: DataType, bytes: &[u8]) -> bool {
    let _ = MsgHeader::decode(bytes);
    if let Ok(view) = MsgView::decode(bytes) {
        let _ = (view.update_type(), view.seq_num(), view.key());
        assert_eq!(view.msg(), Msg::decode(bytes));
    }
    check(&Encoded::new(data_type, bytes), field_type).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for code in 0..=u8::MAX {
            walk(DataType(code), &bytes);
        }
    }

    /// Small numbers make plausible counts, flags and lengths.
    #[test]
    fn random_small_bytes(bytes in prop::collection::vec(0_u8..20, 0..300)) {
        for data_type in TYPES {
            walk(data_type, &bytes);
        }
    }

    #[test]
    fn damaged_vectors(
        pick in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let (data_type, bytes) = pick.get(vectors());
        let mut bytes = bytes.clone();
        if !bytes.is_empty() {
            for (at, value) in damage {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            walk(*data_type, &bytes);
            bytes.truncate(cut.index(bytes.len()));
        }
        walk(*data_type, &bytes);
    }
}

/// All vectors of messages and containers, as type and bytes.
fn vectors() -> &'static [(DataType, Vec<u8>)] {
    static VECTORS: std::sync::OnceLock<Vec<(DataType, Vec<u8>)>> = std::sync::OnceLock::new();
    VECTORS.get_or_init(|| {
        ["containers", "messages", "rdm_messages"]
            .into_iter()
            .flat_map(tapeline_golden::vectors)
            .map(|vector| {
                let data_type = vector["type"].as_str().and_then(DataType::from_name);
                let bytes = tapeline_golden::unhex(vector["hex"].as_str().expect("hex"));
                (data_type.expect("a known type"), bytes)
            })
            .collect()
    })
}

#[test]
fn the_walk_accepts_the_vectors() {
    let accepted = vectors()
        .iter()
        .filter(|(data_type, bytes)| {
            check(&Encoded::new(*data_type, bytes), |_| DataType::UNKNOWN).is_ok()
        })
        .count();
    assert_eq!(accepted, vectors().len());
}

#[test]
fn a_count_of_entries_without_bytes_costs_no_time() {
    // A series of 13,000 series, each claiming 65535 entries of no data.
    let mut bytes = vec![0, 10];
    bytes.extend(13_000_u16.to_be_bytes());
    for _ in 0..13_000 {
        bytes.push(4);
        bytes.extend([0, 0, 0xFF, 0xFF]);
    }
    let started = std::time::Instant::now();
    assert!(walk(DataType::SERIES, &bytes));
    assert!(started.elapsed() < std::time::Duration::from_secs(2));
}
