//! The field dictionary in the words of JSON.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, rmtes};

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
    fid_by_acronym: HashMap<Box<str>, i16, BuildHasherDefault<NameHasher>>,
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

/// A hash of short names, eight bytes at a time. What is looked up comes from
/// strangers, but what is in the table does not, so that none of them can fill
/// one place of it.
#[derive(Clone, Copy, Debug, Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((word, behind)) = rest.split_first_chunk() {
            self.write_u64(u64::from_le_bytes(*word));
            rest = behind;
        }
        self.write_u64(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }

    /// The mark behind a text, needless where a text is all that is hashed.
    #[inline]
    fn write_u8(&mut self, _: u8) {}

    #[inline]
    fn write_u64(&mut self, word: u64) {
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }

    /// The table takes the low and the high bits, and a product is best in the
    /// middle.
    #[inline]
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
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
        let mut fid_by_acronym = HashMap::default();
        for def in dictionary.fields() {
            by_fid[usize::from(def.fid as u16)] = fields.len() as u16;
            let name = write(&mut texts, &def.acronym, b":");
            let table = table_by_fid.get(&def.fid).copied();
            fields.push(Field { data_type: def.rwf_type, name, table });
            fid_by_acronym.insert(def.acronym.clone(), def.fid);
        }
        texts.extend_from_slice(&[0; BLOCK]);
        Self { by_fid, fields, fid_by_acronym, texts, tables }
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

    /// The field of an acronym.
    pub(crate) fn fid(&self, acronym: &str) -> Option<i16> {
        self.fid_by_acronym.get(acronym).copied()
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
    use super::*;

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
}
