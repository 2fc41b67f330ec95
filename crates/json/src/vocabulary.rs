//! The field dictionary in the words of JSON.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::ops::Range;

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, rmtes};

use crate::short_name::ShortName;
use crate::write::text::{BLOCK, push_start, push_str};

/// Stands for "none" in the dense index.
const NONE: u16 = u16::MAX;

/// Field names, types and enumerations, made ready for writing and reading.
///
/// A field's name and an enumeration's display text are kept as the JSON text
/// that is written for them, quotes and escapes included, so that writing is
/// copying. Built once from a dictionary, then shared.
#[derive(Debug)]
pub struct Vocabulary {
    /// Index into `fields` by field id, as unsigned number.
    by_fid: Box<[u16]>,
    fields: Vec<Field>,
    /// What a field of a name is, by the name.
    named: HashMap<ShortName, (i16, DataType), BuildHasherDefault<NameHasher>>,
    /// The same for names that are not short.
    long_named: HashMap<Box<str>, (i16, DataType)>,
    /// All written texts, one after the other, and a block of zeros behind them.
    texts: Vec<u8>,
    tables: Vec<Table>,
}

/// A text that is ready to be written: the start of some bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'v> {
    bytes: &'v [u8],
    len: usize,
}

impl Text<'_> {
    #[inline]
    pub(crate) fn push_to(self, out: &mut Vec<u8>) {
        push_start(out, self.bytes, self.len);
    }
}

/// Hashes short names, which bring what is to be hashed.
#[derive(Clone, Copy, Debug, Default)]
struct NameHasher(u64);

/// The golden ratio in 64 bits.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hash for ShortName {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(ShortName::hash(*self, FACTOR));
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, _: &[u8]) {}

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug)]
struct Field {
    data_type: DataType,
    /// Where in `texts` the `"NAME":` is.
    name: Range<u32>,
    /// Index into `tables`.
    table: Option<u16>,
}

#[derive(Debug)]
struct Table {
    /// Ascending by number, with where in the texts the quoted display is.
    displays: Vec<(u16, Range<u32>)>,
    /// The lowest number of each display text.
    numbers: HashMap<Box<str>, u16>,
}

impl Vocabulary {
    /// The words of a dictionary.
    pub fn new(dictionary: &FieldDictionary) -> Self {
        let mut texts = Vec::new();
        let mut tables = Vec::new();
        let mut table_by_fid = HashMap::new();
        for table in dictionary.enum_tables() {
            let index = tables.len() as u16;
            table_by_fid.extend(table.fids().iter().map(|fid| (*fid, index)));
            let mut displays = Vec::new();
            let mut numbers = HashMap::new();
            for value in table.values() {
                let mut display = String::new();
                // What came before a fault is the display.
                let _ = rmtes::decode_into(&value.display, &mut display);
                displays.push((value.value, write(&mut texts, &display, b"")));
                numbers.entry(display.into_boxed_str()).or_insert(value.value);
            }
            tables.push(Table { displays, numbers });
        }
        let mut by_fid = vec![NONE; 1 << 16].into_boxed_slice();
        let mut fields = Vec::new();
        let (mut named, mut long_named) = (HashMap::default(), HashMap::new());
        for def in dictionary.fields() {
            by_fid[usize::from(def.fid as u16)] = fields.len() as u16;
            let name = write(&mut texts, &def.acronym, b":");
            let table = table_by_fid.get(&def.fid).copied();
            fields.push(Field { data_type: def.rwf_type, name, table });
            let field = (def.fid, def.rwf_type);
            match ShortName::new(def.acronym.as_bytes()) {
                Some(name) => named.insert(name, field),
                None => long_named.insert(def.acronym.clone(), field),
            };
        }
        texts.extend_from_slice(&[0; BLOCK]);
        Self { by_fid, fields, named, long_named, texts, tables }
    }

    #[inline]
    fn field(&self, fid: i16) -> Option<&Field> {
        self.fields.get(usize::from(self.by_fid[usize::from(fid as u16)]))
    }

    /// The type of a field and the `"NAME":` to write for it.
    #[inline]
    pub(crate) fn written(&self, fid: i16) -> Option<(DataType, Text<'_>)> {
        let field = self.field(fid)?;
        Some((field.data_type, self.text(&field.name)))
    }

    /// The type of a field.
    pub(crate) fn data_type(&self, fid: i16) -> Option<DataType> {
        Some(self.field(fid)?.data_type)
    }

    /// The field of a short name, and its type.
    #[inline]
    pub(crate) fn named(&self, name: ShortName) -> Option<(i16, DataType)> {
        self.named.get(&name).copied()
    }

    /// The field of an acronym.
    pub(crate) fn fid(&self, acronym: &str) -> Option<i16> {
        let field = match ShortName::new(acronym.as_bytes()) {
            Some(name) => self.named(name),
            None => self.long_named.get(acronym).copied(),
        };
        field.map(|(fid, _)| fid)
    }

    /// The quoted display text of a value of an enumerated field.
    #[inline]
    pub(crate) fn display(&self, fid: i16, number: u16) -> Option<Text<'_>> {
        let displays = &self.table(fid)?.displays;
        // Most tables count from 0 without a gap, at least at their start.
        let found = match displays.get(usize::from(number)) {
            Some(found) if found.0 == number => found,
            _ => &displays[displays.binary_search_by_key(&number, |value| value.0).ok()?],
        };
        Some(self.text(&found.1))
    }

    /// The number of a display text of an enumerated field.
    pub(crate) fn number(&self, fid: i16, display: &str) -> Option<u16> {
        self.table(fid)?.numbers.get(display).copied()
    }

    #[inline]
    fn table(&self, fid: i16) -> Option<&Table> {
        self.tables.get(usize::from(self.field(fid)?.table?))
    }

    #[inline]
    fn text(&self, range: &Range<u32>) -> Text<'_> {
        Text { bytes: &self.texts[range.start as usize..], len: range.len() }
    }
}

/// Writes a string in JSON and something behind it; returns where.
fn write(texts: &mut Vec<u8>, text: &str, behind: &[u8]) -> Range<u32> {
    let start = texts.len() as u32;
    texts.push(b'"');
    push_str(texts, text);
    texts.push(b'"');
    texts.extend_from_slice(behind);
    start..texts.len() as u32
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tapeline_rwf::{Msg, Primitive};

    use super::*;
    use crate::{FromJson, Incoming, NoServices, Options};

    fn vocabulary() -> Vocabulary {
        let fields = b"TICK \"Tick\" 14 NULL ENUMERATED 1 ( 1 ) ENUM 1\n\
                       BID \"Bid\" 22 NULL PRICE 17 REAL 7";
        let enums = b"TICK 14\n 0 \" \" none\n 1 #DE# up\n 3 \" \" same";
        let dictionary = FieldDictionary::parse(fields, enums).expect("a dictionary");
        Vocabulary::new(&dictionary)
    }

    #[test]
    fn names_and_displays_are_ready_to_be_written() {
        let vocabulary = vocabulary();
        let text = |text: Text<'_>| {
            let mut out = Vec::new();
            text.push_to(&mut out);
            String::from_utf8(out).expect("JSON is UTF-8")
        };
        let written = vocabulary.written(22).map(|(data_type, name)| (data_type, text(name)));
        assert_eq!(written, Some((DataType::REAL, "\"BID\":".to_owned())));
        assert!(vocabulary.written(23).is_none());
        let display = |fid, number| vocabulary.display(fid, number).map(text);
        assert_eq!(display(14, 1).as_deref(), Some("\"⇧\""));
        assert_eq!(display(14, 3).as_deref(), Some("\" \""));
        assert_eq!(display(14, 2), None);
        assert_eq!(display(22, 0), None);
    }

    #[test]
    fn the_lowest_number_has_a_display_that_repeats() {
        let vocabulary = vocabulary();
        assert_eq!(vocabulary.number(14, " "), Some(0));
        assert_eq!(vocabulary.number(14, "⇧"), Some(1));
        assert_eq!(vocabulary.number(14, "x"), None);
        assert_eq!(vocabulary.fid("BID"), Some(22));
    }

    #[test]
    fn names_around_the_longest_short_one_are_found() {
        let fields = b"SIXTEEN_BYTES_16 \"Short\" 30 NULL INTEGER 8 UINT 5\n\
                       SEVENTEEN_BYTES17 \"Long\" 31 NULL INTEGER 8 UINT 5\n\
                       SEVENTEEN_BYTES18 \"Other\" 32 NULL INTEGER 8 UINT 5";
        let dictionary = FieldDictionary::parse(fields, b"").expect("a dictionary");
        let vocabulary = Arc::new(Vocabulary::new(&dictionary));
        for (acronym, len, fid) in [
            ("SIXTEEN_BYTES_16", 16, 30),
            ("SEVENTEEN_BYTES17", 17, 31),
            ("SEVENTEEN_BYTES18", 17, 32),
        ] {
            assert_eq!(acronym.len(), len);
            assert_eq!(vocabulary.fid(acronym), Some(fid), "{acronym}");
            assert_eq!(vocabulary.fid(&acronym[1..]), None, "{acronym}");
        }
        let mut from_json = FromJson::new(Arc::clone(&vocabulary), Options::default());
        let mut fields = Vec::new();
        let frame = r#"{"ID":5,"Type":"Update","Fields":{
            "SIXTEEN_BYTES_16":1,"SEVENTEEN_BYTES17":2,"SEVENTEEN_BYTES18":3}}"#;
        from_json.frame(frame, &NoServices, |incoming| match incoming {
            Incoming::Message(rwf) => {
                let msg = Msg::decode(rwf).expect("a message");
                let list = msg.payload().field_list().expect("a field list");
                fields.extend(list.iter().map(|entry| {
                    let entry = entry.expect("an entry");
                    match entry.primitive(DataType::UINT) {
                        Ok(Primitive::Uint(number)) => (entry.field_id, number),
                        other => panic!("{other:?}"),
                    }
                }));
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(fields, [(30, 1), (31, 2), (32, 3)]);
    }

    /// The table takes the bucket from the low bits of a hash and tells the names
    /// in a bucket apart by the high ones.
    #[test]
    fn names_of_the_builtin_dictionary_are_told_apart_by_their_hashes() {
        let mut names_by_place = HashMap::<_, usize>::new();
        let mut count = 0;
        for def in FieldDictionary::builtin().fields() {
            let Some(name) = ShortName::new(def.acronym.as_bytes()) else { continue };
            let hash = name.hash(FACTOR);
            *names_by_place.entry((hash & 0x3FF, hash >> 57)).or_default() += 1;
            count += 1;
        }
        let shared: usize = names_by_place.values().filter(|names| **names > 1).sum();
        assert!(count > 400 && shared <= 8, "{shared} of {count}");
    }
}
