//! What holds for all bytes and for all values.

mod strategies;

use std::collections::HashMap;

use allocation_counter::measure;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;
use tapeline_golden::{transport_captures, unhex, vectors};
use tapeline_inspect::capture::{Session, Side, TcpLimits, read_capture};
use tapeline_inspect::{Inspector, Limits, Palette, to_bytes};
use tapeline_rwf::{DataType, Encoded};

use strategies::{FIELDS, any_container, any_msg, any_primitive};

fn fields() -> HashMap<i16, DataType> {
    let known = |(fid, name): (i16, &str)| (fid, DataType::from_name(name).expect("a type"));
    FIELDS.into_iter().map(known).collect()
}

fn data_types() -> impl Strategy<Value = DataType> {
    let known = (0..=255_u8).map(DataType).filter(|data_type| data_type.name().is_some());
    prop_oneof![8 => select(known.collect::<Vec<_>>()), 1 => any::<u8>().prop_map(DataType)]
}

/// Whether everything in `part` is in `whole`, which may have more keys.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(w, p)| contains(w, p))
        }
        _ => whole == part,
    }
}

/// Describes and prints bytes under a limit; memory stays within what the
/// limit allows, whatever the bytes are.
fn survives(data_type: DataType, bytes: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits { max_nodes: 500 };
    let fields = fields();
    let inspector = Inspector::new(&fields).with_limits(limits);
    let data = Encoded::new(data_type, bytes);
    let mut text = String::new();
    let counted = measure(|| {
        let _ = inspector.to_value(&data, None);
        let _ = inspector.print(&data, None, (Palette::Ansi, 0), &mut text);
    });
    let bound = limits.max_nodes * Limits::NODE_BYTES + Limits::TEXT_FACTOR * bytes.len();
    prop_assert!(counted.bytes_max <= bound as u64, "{} of {bound} bytes", counted.bytes_max);
    Ok(())
}

fn reads_back(value: &Value) -> Result<(), TestCaseError> {
    let data_type = value["type"].as_str().and_then(DataType::from_name).expect("a type");
    let fields = fields();
    let inspector = Inspector::new(&fields);
    let bytes = match to_bytes(value) {
        Ok(bytes) => bytes,
        // A container may be too long for the length in front of it.
        Err(error) => {
            prop_assert!(error.to_string().contains("is too long"), "{error}: {value}");
            return Ok(());
        }
    };
    let read = inspector.to_value(&Encoded::new(data_type, &bytes), None);
    let read = read.map_err(|error| TestCaseError::fail(format!("{error}: {value}")))?;
    prop_assert!(contains(&read, value), "\n wrote {value}\n read  {read}");
    let again = to_bytes(&read).map_err(|error| TestCaseError::fail(format!("{error}: {read}")))?;
    prop_assert_eq!(again, bytes);
    Ok(())
}

#[test]
fn a_few_bytes_that_claim_many_entries_are_refused() {
    // A series of 65535 entries without data.
    let claim = [0x00, 0x00, 0xFF, 0xFF];
    let data = Encoded::new(DataType::SERIES, &claim);
    let fields = fields();
    let inspector = Inspector::new(&fields).with_limits(Limits { max_nodes: 1000 });
    let error = inspector.to_value(&data, None).expect_err("too many nodes");
    assert_eq!(
        error.to_string(),
        "the data has more than 1000 entries and values; raise the limit to see them all"
    );
    let mut text = String::new();
    assert_eq!(inspector.print(&data, None, (Palette::Plain, 0), &mut text), Err(error));
    assert_eq!(text.lines().count(), 1000);
    let value = Inspector::new(&fields).to_value(&data, None).expect("below the default limit");
    assert_eq!(value["entries"].as_array().map(Vec::len), Some(65535));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_described_or_refused_within_bounds(
        data_type in data_types(),
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        survives(data_type, &bytes)?;
    }

    #[test]
    fn damaged_messages_are_described_or_refused_within_bounds(
        which in any::<Index>(),
        damage in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..6),
        cut in any::<Index>(),
    ) {
        let vectors = vectors(["containers", "messages", "rdm_messages"][which.index(3)]);
        let vector = which.get(&vectors);
        let data_type = vector["type"].as_str().and_then(DataType::from_name).expect("a type");
        let mut bytes = unhex(vector["hex"].as_str().expect("bytes"));
        for (at, byte) in damage {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        survives(data_type, &bytes)?;
        survives(data_type, &bytes[..cut.index(bytes.len() + 1)])?;
    }

    #[test]
    fn any_bytes_of_a_session_are_followed_or_refused(
        pieces in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..60)), 0..20),
    ) {
        let mut session = Session::new();
        for (is_client, piece) in pieces {
            let side = if is_client { Side::Client } else { Side::Server };
            session.feed(side, &piece);
        }
    }

    #[test]
    fn damaged_sessions_are_followed_or_refused(
        which in any::<Index>(),
        damage in proptest::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 1..6),
    ) {
        let captures = transport_captures();
        let mut records: Vec<_> = vectors(&captures[which.index(captures.len())])
            .iter()
            .map(|record| {
                let bytes = unhex(record["hex"].as_str().expect("bytes"));
                (record["direction"] == "client->server", bytes)
            })
            .filter(|(_, bytes)| !bytes.is_empty())
            .collect();
        prop_assume!(!records.is_empty());
        for (record, at, byte) in damage {
            let record = record.index(records.len());
            let at = at.index(records[record].1.len());
            records[record].1[at] = byte;
        }
        let mut session = Session::new();
        for (is_client, bytes) in records {
            session.feed(if is_client { Side::Client } else { Side::Server }, &bytes);
        }
    }

    #[test]
    fn any_capture_file_is_read_or_refused(
        magic in select(vec![
            &[0xD4_u8, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0][..],
            &[0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255,
              255, 255, 255, 255, 28, 0, 0, 0],
            &[],
        ]),
        rest in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let file = [magic, &rest].concat();
        let mut count = 0_usize;
        let _ = read_capture(file.as_slice(), TcpLimits::default(), &mut |_| count += 1);
        prop_assert!(count <= file.len());
    }

    #[test]
    fn primitives_read_back_as_written(value in any_primitive()) {
        reads_back(&value)?;
    }

    #[test]
    fn containers_read_back_as_written(
        // Inside a container an empty message is one; alone it is nothing.
        value in any_container().prop_filter("a message", |value| value["type"] != "MSG"),
    ) {
        reads_back(&value)?;
    }

    #[test]
    fn messages_of_all_classes_read_back_as_written(value in any_msg()) {
        reads_back(&value)?;
    }
}
