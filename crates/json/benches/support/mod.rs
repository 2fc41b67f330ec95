//! The messages that the benchmarks convert.

use std::hint::black_box;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use tapeline_golden::unhex;
use tapeline_json::{FromJson, Incoming, Options, Services, ToJson, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;

/// The one service of the messages, written as its number.
struct OneService;

impl Services for OneService {
    fn name(&self, _: u16) -> Option<&str> {
        None
    }

    fn id(&self, name: &str) -> Option<u16> {
        (name == "ELEKTRON_DD").then_some(1)
    }
}

static VOCABULARY: LazyLock<Arc<Vocabulary>> = LazyLock::new(|| {
    let (fields, enums) = tapeline_golden::json_dictionary();
    let dictionary =
        FieldDictionary::parse(fields.as_bytes(), enums.as_bytes()).expect("a dictionary");
    Arc::new(Vocabulary::new(&dictionary))
});

/// A message, and what converts it.
pub(crate) struct Fixture {
    /// The name of the message.
    pub(crate) name: String,
    rwf: Vec<u8>,
    /// The bytes of a frame, as they come from a socket.
    json: Vec<u8>,
    to_json: ToJson,
    from_json: FromJson,
    text: Vec<u8>,
}

impl Fixture {
    /// All messages of the benchmark, in order.
    ///
    /// Panics if one does not convert: both directions have to be right before
    /// they are timed.
    pub(crate) fn all() -> Vec<Self> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/messages/messages.jsonl");
        let lines = std::fs::read_to_string(file).expect("the messages");
        lines.lines().map(Self::new).collect()
    }

    fn new(line: &str) -> Self {
        let record: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let text = |key: &str| record[key].as_str().expect("a text").to_owned();
        let options = Options { expand_enums: false, ..Options::default() };
        let mut fixture = Self {
            name: text("name"),
            rwf: unhex(&text("rwf")),
            json: text("json").into_bytes(),
            to_json: ToJson::new(Arc::clone(&VOCABULARY), options),
            from_json: FromJson::new(Arc::clone(&VOCABULARY), options),
            text: Vec::new(),
        };
        fixture.verify();
        fixture
    }

    /// Our text of the vendor's RWF is that of our RWF of the vendor's text.
    fn verify(&mut self) {
        self.write();
        let written = self.text.clone();
        let mut rwf = Vec::new();
        let json = std::str::from_utf8(&self.json).expect("UTF-8");
        self.from_json.frame(json, &OneService, |incoming| match incoming {
            Incoming::Message(bytes) => rwf = bytes.to_vec(),
            other => panic!("{other:?}"),
        });
        self.text.clear();
        self.to_json.message(&rwf, &OneService, &mut self.text).expect("well-formed");
        let name = &self.name;
        // By value: the vendor writes 184.30 as 184.3.
        let value = |text| serde_json::from_slice::<serde_json::Value>(text).expect("JSON");
        assert_eq!(value(&written), value(&self.text), "{name}");
        assert_eq!(self.to_json.left_out(), 0, "{name}");
    }

    /// RWF to JSON.
    pub(crate) fn write(&mut self) {
        self.text.clear();
        let written = self.to_json.message(black_box(&self.rwf), &OneService, &mut self.text);
        written.expect("well-formed");
        black_box(&self.text);
    }

    /// JSON to RWF; whether the bytes are UTF-8 is part of it.
    pub(crate) fn read(&mut self) {
        let json = std::str::from_utf8(black_box(&self.json)).expect("UTF-8");
        self.from_json.frame(json, &OneService, |incoming| {
            black_box(&incoming);
        });
    }
}
