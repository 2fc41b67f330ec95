//! Values at the edge of what either form can say.

use crate::common::{Converters, Given};
use tapeline_json::Options;
use tapeline_rwf::{AckMsg, DataType, Domain, Encoder, GenericFlags, GenericMsg, Msg, NakCode};

fn encode(msg: &Msg<'_>, data_type: DataType, payload: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 256];
    let mut encoder = Encoder::new(&mut buffer);
    let slot = encoder.begin(msg, data_type).expect("begins");
    slot.bytes(payload).expect("a payload");
    encoder.finish_bytes().expect("room").to_vec()
}

fn written(data_type: DataType, payload: &[u8]) -> String {
    let mut msg = GenericMsg::new(Domain::MARKET_PRICE, 5);
    msg.flags |= GenericFlags::MESSAGE_COMPLETE;
    let rwf = encode(&msg.into(), data_type, payload);
    Converters::new().to_json(Options::default(), false, &rwf).expect("well-formed")
}

/// What becomes of these fields on the way to RWF and back.
fn returned(fields: &str) -> Result<String, String> {
    let converters = Converters::new();
    let text = format!(r#"{{"ID":5,"Type":"Generic","Fields":{fields}}}"#);
    let rwf = converters.rwf(Options::default(), &text)?;
    let text = converters.to_json(Options::default(), false, &rwf)?;
    let (_, fields) = text.split_once(r#""Fields":"#).ok_or("no fields")?;
    Ok(fields.strip_suffix('}').unwrap_or_default().to_owned())
}

#[test]
fn an_ack_that_refuses_nothing_has_no_code() {
    let mut ack = AckMsg::new(Domain::MARKET_PRICE, 5);
    ack.ack_id = 7;
    ack.nak_code = Some(NakCode::NONE);
    let rwf = encode(&ack.into(), DataType::NO_DATA, b"");
    let text = Converters::new().to_json(Options::default(), false, &rwf);
    assert_eq!(text.as_deref(), Ok(r#"{"ID":5,"Type":"Ack","AckID":7}"#));
}

#[test]
fn containers_of_no_bytes_are_containers_without_entries() {
    for (data_type, expected) in [
        (DataType::MAP, r#""Map":{"KeyType":"Buffer"}"#),
        (DataType::VECTOR, r#""Vector":{}"#),
        (DataType::FIELD_LIST, r#""Fields":{}"#),
    ] {
        let text = written(data_type, b"");
        assert_eq!(text, format!(r#"{{"ID":5,"Type":"Generic",{expected}}}"#));
    }
}

#[test]
fn a_json_payload_is_an_object_or_an_array() {
    assert!(written(DataType::JSON, br#"{"a":1}"#).ends_with(r#""Json":{"a":1}}"#));
    for bare in [&b"5"[..], b"null", b"\"x\"", b"{", b"01"] {
        assert_eq!(written(DataType::JSON, bare), r#"{"ID":5,"Type":"Generic"}"#);
    }
}

#[test]
fn numbers_that_are_none_stand_among_the_numbers_of_an_array() {
    let array = r#"{"X_ARRAY":{"Type":"Double","Data":[1.5,"Inf",null,"NaN"]}}"#;
    assert_eq!(returned(array).as_deref(), Ok(array));
    let mixed = r#"{"X_ARRAY":{"Type":"Int","Data":[1,"NaN"]}}"#;
    assert!(returned(mixed).is_err_and(|error| error.contains("MixedArray")));
}

#[test]
fn a_number_too_large_for_its_type_is_refused_and_not_infinite() {
    assert_eq!(
        returned(r#"{"X_FLOAT":3.4028235e38}"#).as_deref(),
        Ok(r#"{"X_FLOAT":3.4028235e38}"#)
    );
    for fields in [r#"{"X_FLOAT":3.5e38}"#, r#"{"X_DOUBLE":1e309}"#, r#"{"X_DOUBLE":-1e309}"#] {
        assert!(returned(fields).is_err_and(|error| error.contains("UnexpectedValue")), "{fields}");
    }
}

#[test]
fn a_batch_by_token_has_names_and_no_name() {
    let text = r#"{"ID":5,"Domain":"Login","Key":{"NameType":"AuthnToken","Name":["A","B"]}}"#;
    let given = Converters::new().given(Options::default(), text);
    let [Given::Rwf(rwf)] = &given[..] else { panic!("{given:?}") };
    let msg = Msg::decode(rwf).expect("well-formed");
    assert_eq!(msg.key().and_then(|key| key.name), None);
}

#[test]
fn names_are_the_same_in_a_batch_and_alone() {
    let converters = Converters::new();
    for name in ["CAFÉ.PA", "ŁÓDŹ", "価格"] {
        let alone = format!(r#"{{"ID":5,"Type":"Request","Key":{{"Name":"{name}"}}}}"#);
        let rwf = converters.rwf(Options::default(), &alone).expect("taken");
        let msg = Msg::decode(&rwf).expect("well-formed");
        assert_eq!(msg.key().and_then(|key| key.name), Some(name.as_bytes()));

        let batch = format!(r#"{{"ID":5,"Type":"Request","Key":{{"Name":["{name}","A"]}}}}"#);
        let rwf = converters.rwf(Options::default(), &batch).expect("taken");
        let msg = Msg::decode(&rwf).expect("well-formed");
        let list = msg.payload().element_list().expect("a list");
        let names = list.element(":ItemList").expect("well-formed").expect("names");
        let names = names.value.array().expect("an array").expect("not blank");
        let first = names.iter().next().expect("a name").expect("well-formed");
        assert_eq!(first.bytes(), name.as_bytes());

        let written = converters.to_json(Options::default(), false, &rwf);
        assert_eq!(written.as_deref(), Ok(batch.as_str()));
    }
}
