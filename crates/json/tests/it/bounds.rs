//! Small input does not become large output, and fixed rules of frames.

use crate::common::{Converters, Given};
use tapeline_json::{Fault, Limits, Options};
use tapeline_rwf::{
    DataType, Domain, ElementListHead, Encoder, GenericMsg, Msg, SeriesHead, UpdateMsg,
};

fn limited(limits: Limits) -> Options {
    Options { limits, ..Options::default() }
}

fn only_fault(given: &[Given]) -> Fault {
    match given {
        [Given::Failed(error, _)] => error.fault.clone(),
        other => panic!("one fault: {other:?}"),
    }
}

#[test]
fn entries_without_bytes_do_not_make_a_text_of_any_length() {
    let mut buffer = vec![0; 1 << 12];
    let mut encoder = Encoder::new(&mut buffer);
    let msg = GenericMsg::new(Domain::MARKET_PRICE, 5);
    let slot = encoder.begin(&msg.into(), DataType::ELEMENT_LIST).expect("begins");
    let mut list = slot.element_list(&ElementListHead::STANDARD).expect("begins");
    for _ in 0..100 {
        // 65535 entries of nothing in five bytes.
        list.bytes(b"S", DataType::SERIES, &[0, 0, 0xFF, 0xFF]).expect("an element");
    }
    list.finish().expect("ends");
    let rwf = encoder.finish_bytes().expect("room");
    let limits = Limits { json_bytes: 1 << 20, ..Limits::default() };
    let error = Converters::new().to_json(limited(limits), false, rwf).expect_err("too long");
    assert_eq!(error, "the message takes more than 1048576 bytes in JSON; it is not converted");
}

#[test]
fn an_array_of_long_items_stays_within_the_limit() {
    let text = r#"{"ID":1,"Type":"Generic","Elements":{"A":{"Type":"Array","Data":{"Type":"AsciiString","Length":60000,"Data":["","x","y"]}}}}"#;
    let limits = Limits { rwf_bytes: 100_000, ..Limits::default() };
    let given = Converters::new().given(limited(limits), text);
    assert!(matches!(only_fault(&given), Fault::RwfTooLong { .. } | Fault::Conversion(_)));
}

#[test]
fn frames_that_are_too_long_or_too_deep_are_refused() {
    let converters = Converters::new();
    let limits = Limits { text_bytes: 20, ..Limits::default() };
    let given = converters.given(limited(limits), r#"{"ID":5,"Type":"Close"}"#);
    assert_eq!(only_fault(&given), Fault::TooLong { len: 23, max: 20 });
    let given = converters.given(Options::default(), &"[".repeat(1000));
    assert_eq!(only_fault(&given), Fault::Syntax { code: -2 });
}

#[test]
fn messages_inside_attributes_have_none_of_their_own() {
    let mut text = "1".to_owned();
    for _ in 0..12 {
        text = format!(r#"{{"Type":"Msg","Data":{{"ID":1,"Key":{{"Elements":{{"A":{text}}}}}}}}}"#);
    }
    let text = format!(r#"{{"ID":1,"Key":{{"Elements":{{"A":{text}}}}}}}"#);
    let given = Converters::new().given(Options::default(), &text);
    assert!(matches!(only_fault(&given), Fault::Conversion(_)));
}

#[test]
fn one_bad_message_does_not_cost_the_others_of_its_frame() {
    let text = r#"[{"ID":1,"Type":"Close"},{"ID":2,"Type":"Nope"},[{"Type":"Ping"}],7,{"ID":3,"Type":"Close"}]"#;
    let given = Converters::new().given(Options::default(), text);
    let [
        Given::Rwf(first),
        Given::Failed(error, failed),
        Given::Other,
        Given::Failed(..),
        Given::Rwf(last),
    ] = &given[..]
    else {
        panic!("{given:?}")
    };
    let stream_id = |rwf: &[u8]| Msg::decode(rwf).map(|msg| msg.stream_id());
    assert_eq!((stream_id(first), stream_id(last)), (Ok(1), Ok(3)));
    assert_eq!((error.id, failed.as_str()), (2, r#"{"ID":2,"Type":"Nope"}"#));
}

#[test]
fn errors_have_the_texts_and_the_id_that_users_know() {
    let converters = Converters::new();
    for (text, id, expected) in [
        (
            r#"{"ID":"2","Key":{"Name":"A"}}"#,
            0,
            "JSON Converter Token Type error: Expected 'PRIMITIVE' for key 'ID' Received 'STRING'",
        ),
        (
            r#"{"ID":2,"Type":"ExtraInfo","Key":{"Name":"A"}}"#,
            2,
            "JSON Unexpected Value. Received 'ExtraInfo' for key 'Type'",
        ),
        (r#"{"Key":{"Name":"A"}}"#, 0, "JSON Missing required key 'ID'"),
        (r#"{"ID":2}"#, 2, "JSON Missing required key 'Key'"),
        (
            r#"{"Domain":"Nope","Key":{"Name":"A"},"ID":2}"#,
            2,
            "JSON Unexpected Value. Received 'Nope' for key 'Domain'",
        ),
        (r#"{"ID":"#, 0, "JSON parser error: -3"),
        ("hello", 0, "JSON parser error: -2"),
        (
            r#"{"ID":2,"Type":"Update","Fields":{"NOPE":1}}"#,
            2,
            "JSON Unexpected FID. Received 'NOPE' for key 'Fields'",
        ),
        (
            r#"{"ID":2,"Type":"Update","Fields":{"X_ARRAY":{"Type":"Int","Data":[1,"2"]}}}"#,
            2,
            "JSON Mixed Types in OMM Array: Received 'PRIMITIVE' and 'STRING' for key 'Data'",
        ),
    ] {
        let given = converters.given(Options::default(), text);
        let [Given::Failed(error, _)] = &given[..] else { panic!("{text}: {given:?}") };
        assert_eq!((error.id, error.to_string().as_str()), (id, expected), "{text}");
    }
}

#[test]
fn an_error_repeats_only_the_start_of_a_long_name() {
    let converters = Converters::new();
    let options = Options { catch_unknown_keys: true, ..Options::default() };
    let long = "é".repeat(5000);
    for text in [
        format!(r#"{{"ID":2,"Key":{{"{long}":1}}}}"#),
        format!(r#"{{"ID":2,"Type":"Generic","Elements":{{"{long}":[]}}}}"#),
        format!(r#"{{"ID":2,"Type":"Generic","Elements":{{"{long}":-1}}}}"#),
        format!(r#"{{"ID":2,"Type":"Generic","Elements":{{"{long}":{{"Type":"{long}"}}}}}}"#),
    ] {
        let said = only_fault(&converters.given(options, &text)).to_string();
        assert!(said.len() < 500, "{said}");
    }
}

#[test]
fn an_unknown_service_can_be_told_from_bad_json() {
    let text = r#"{"ID":2,"Key":{"Name":"A","Service":"NO_SUCH"}}"#;
    let given = Converters::new().given(Options::default(), text);
    let [Given::Failed(error, _)] = &given[..] else { panic!("{given:?}") };
    assert!(error.is_unknown_service());
    assert_eq!(error.id, 2);
}

#[test]
fn a_tail_is_the_same_for_all_streams() {
    use std::sync::Arc;
    use tapeline_json::{NoServices, ToJson, push_prefix};

    let mut buffer = [0; 64];
    let mut encoder = Encoder::new(&mut buffer);
    let update = UpdateMsg::new(Domain::MARKET_PRICE, 5);
    let slot = encoder.begin(&update.into(), DataType::SERIES).expect("begins");
    let series = slot.series(&SeriesHead::new(DataType::NO_DATA)).expect("begins");
    series.finish().expect("ends");
    let rwf = encoder.finish_bytes().expect("room");
    let vocabulary = Arc::clone(&Converters::new().vocabulary);
    let mut to_json = ToJson::new(vocabulary, Options::default());
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    to_json.message(rwf, &NoServices, &mut whole).expect("well-formed");
    push_prefix(&mut parts, 5);
    to_json.message_body(rwf, &NoServices, &mut parts).expect("well-formed");
    assert_eq!(whole, parts);
}
