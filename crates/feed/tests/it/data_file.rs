//! Data files in both forms, and what is wrong with wrong ones.

use std::fmt::Write as _;

use tapeline_feed::{DataFile, FeedError, ItemList};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Domain, FieldListInfo, Msg, State, UpdateType, patch_stream_id};

fn toml(text: &str) -> Result<DataFile, FeedError> {
    DataFile::parse_toml(text, FieldDictionary::builtin())
}

fn fields(message: &[u8]) -> Vec<(i16, Vec<u8>)> {
    let message = Msg::decode(message).expect("well-formed");
    let list = message.payload().field_list().expect("a field list");
    list.iter().flatten().map(|entry| (entry.field_id, entry.value.bytes().to_vec())).collect()
}

const XML: &str = r#"<?xml version="1.0"?>
<msgFormat>
  <marketPriceMsgList>
    <refreshMsg>
      <dataBody>
        <fieldList entryCount="3">
          <fieldListInfo dictionaryId="1" fieldListNum="99"/>
          <fieldEntry fieldId="22" dataType="RSSL_DT_REAL" data="45.10"/>
          <fieldEntry fieldId="3" dataType="RSSL_DT_RMTES_STRING" data="A &amp; B"/>
          <fieldEntry fieldId="1025" dataType="RSSL_DT_TIME" data="13:45:01:250:0:0"/>
        </fieldList>
      </dataBody>
    </refreshMsg>
    <updateMsg>
      <dataBody><fieldList entryCount="1">
        <fieldEntry fieldId="22" dataType="RSSL_DT_REAL" data="45.12"/>
      </fieldList></dataBody>
    </updateMsg>
    <postMsg><updateMsg><dataBody><fieldList entryCount="1">
        <fieldEntry fieldId="22" dataType="RSSL_DT_REAL" data="1.00"/>
    </fieldList></dataBody></updateMsg></postMsg>
    <genMsg><dataBody><fieldList entryCount="1">
        <fieldEntry fieldId="22" dataType="RSSL_DT_REAL" data="2.00"/>
    </fieldList></dataBody></genMsg>
    <updateMsg>
      <dataBody><fieldList entryCount="1">
        <fieldEntry fieldId="30" dataType="RSSL_DT_REAL" data="7"/>
      </fieldList></dataBody>
    </updateMsg>
  </marketPriceMsgList>
</msgFormat>"#;

const TOML: &str = r#"
template = 99
stamp = 3903

[image]
BID = "45.10"
DSPLY_NAME = "A & B"
QUOTIM = 13:45:01.250

[[update]]
type = "QUOTE"
fields = { BID = "45.12" }

[[update]]
fields = { 30 = 7 }
"#;

#[test]
fn both_forms_say_the_same() {
    let (own, vendor) =
        (toml(TOML).expect("well-formed"), DataFile::parse_xml(XML).expect("well-formed"));
    assert_eq!(own.image(), vendor.image());
    assert_eq!((own.update_count(), vendor.update_count()), (2, 2));
    for number in 0..4 {
        assert_eq!(fields(own.update(number)), fields(vendor.update(number)));
    }
    assert_eq!(fields(own.update(2)), [(22, vec![0x0C, 0x11, 0xA0])]);
    assert_eq!(fields(own.update(3)), [(30, vec![0x0E, 7])]);
}

#[test]
fn an_image_answers_a_request() {
    let file = toml(TOML).expect("well-formed");
    let Ok(Msg::Refresh(refresh)) = Msg::decode(file.image()) else { panic!("a refresh") };
    assert_eq!((refresh.state, refresh.domain), (State::open_ok(""), Domain::MARKET_PRICE));
    let info = refresh.payload.field_list().expect("a field list").info();
    assert_eq!(info, Some(FieldListInfo { dictionary_id: 1, list_number: 99 }));
    assert_eq!(refresh.payload.bytes(), file.image_payload());
    assert_eq!(fields(file.image()).len(), 3);
}

#[test]
fn stamps_are_filled_in_at_the_end() {
    let file = toml(TOML).expect("well-formed");
    let mut message = file.stamped_update(0).to_vec();
    patch_stream_id(&mut message, 77).expect("a message");
    DataFile::patch_stamp(&mut message, 0x0102_0304_0506_0708);
    let Ok(Msg::Update(update)) = Msg::decode(&message) else { panic!("an update") };
    assert_eq!((update.stream_id, update.update_type), (77, UpdateType::QUOTE));
    let list = update.payload.field_list().expect("a field list");
    let stamp = list.field(3903).expect("well-formed").expect("the stamp");
    assert_eq!(stamp.typed(DataType::UINT).uint(), Ok(Some(0x0102_0304_0506_0708)));
    assert_eq!(list.len(), 2);
}

#[test]
fn errors_name_the_place_and_the_fault() {
    let mut report = String::new();
    for text in [
        "[image",
        "imag = 1",
        "template = 99",
        "template = 70000\n[image]",
        "domain = \"MARKETPRICE\"\n[image]",
        "[image]\nBID = \"x\"",
        "[image]\nNO_SUCH_FIELD = 1",
        "[image]\n31000 = 1",
        "[image]\n31000 = { type = \"UINT\" }",
        "[image]\nBID = [1]",
        "[image]",
        "[image]\n[[update]]\ntype = \"QUOTES\"",
        "[image]\n[[update]]\n",
    ] {
        let error = toml(text).expect_err(text);
        let first = error.to_string().lines().next().unwrap_or_default().to_owned();
        writeln!(report, "{first}").expect("memory");
    }
    let expected = "\
data file: text: no TOML: TOML parse error at line 1, column 7
data file: file: 'imag' is not known; known are domain, template, dictionary, stamp, image, update
data file: image: the table of its fields is missing
data file: file: template = 70000 is no number up to 65535
data file: file: domain = \"MARKETPRICE\" is not known
data file: image, field BID: 'x' is no REAL
data file: image, field NO_SUCH_FIELD: neither a number nor in the field dictionary
data file: image, field 31000: not in the dictionary: { type, value } is needed
data file: image, field 31000: { type = \"UINT\", value = 7 } or the like is needed
data file: image, field BID: [1] is no value of a field
data file: updates: there are none, at least one is needed
data file: update 0: type = \"QUOTES\" is not known
data file: update 0: the table of its fields is missing
";
    assert_eq!(report, expected);
}

#[test]
fn errors_in_xml_name_the_message() {
    for (from, to, expected) in [
        ("45.12", "x", "data file: updateMsg 0, field 22: 'x' is no REAL"),
        ("RSSL_DT_TIME", "TIMES", "data file: refreshMsg, field 1025: dataType TIMES is not known"),
        ("refreshMsg", "freshMsg", "data file: refreshMsg: there is none, one is needed"),
        (" data=\"7\"", "", "data file: updateMsg 1: a fieldEntry has no data"),
        ("<updateMsg>", "<postMsg>", "data file: text: no XML"),
    ] {
        let error = DataFile::parse_xml(&XML.replace(from, to)).expect_err(to).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn files_are_read_by_their_kind() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let sample = DataFile::open(format!("{folder}/sample.toml"), FieldDictionary::builtin());
    assert_eq!(sample.expect("the sample"), DataFile::sample());
    let items = ItemList::open(format!("{folder}/items.txt")).expect("the item list");
    assert_eq!(items.names(), ["SAMPLE1.X", "SAMPLE2.X", "SAMPLE3.X", "EUX="]);
    assert_eq!(ItemList::numbered("RDT", 2).names(), ["RDT0", "RDT1"]);
    let missing = DataFile::open("/no/such/file.xml", FieldDictionary::builtin());
    assert!(missing.is_err_and(|e| e.to_string().starts_with("/no/such/file.xml cannot be read")));
}
