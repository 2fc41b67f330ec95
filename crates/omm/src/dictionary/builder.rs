//! Collects definitions from wherever they come, and keeps them consistent.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{
    DefinitionError, EnumTable, EnumValue, FieldDef, FieldDictionary, NONE, Tags, TextError, dense,
    field, text,
};

/// The longest acronym, long name and display text in bytes: what the one byte
/// for a display length can say.
pub const MAX_TEXT_LEN: usize = 255;

/// The most values that all enumeration tables together may have. Large
/// dictionaries of vendors have some ten thousand.
pub const MAX_ENUM_VALUES: usize = 1 << 20;

/// A dictionary under construction.
///
/// The order of definitions does not matter, except that the first one of two
/// that contradict each other stays and the second is refused. What it holds
/// is bounded, whoever the definitions come from: 65,535 fields,
/// [`MAX_ENUM_VALUES`], texts of [`MAX_TEXT_LEN`].
#[derive(Debug)]
pub struct DictionaryBuilder {
    fields: Vec<FieldDef>,
    field_by_fid: Box<[u16]>,
    fid_by_acronym: HashMap<Box<str>, i16>,
    tables: Vec<EnumTable>,
    table_by_fid: Box<[u16]>,
    /// Values in all tables.
    value_count: usize,
    field_tags: Tags,
    enum_tags: Tags,
}

impl Default for DictionaryBuilder {
    fn default() -> Self {
        let none = vec![NONE; 1 << 16].into_boxed_slice();
        Self {
            fields: Vec::new(),
            field_by_fid: none.clone(),
            fid_by_acronym: HashMap::new(),
            tables: Vec::new(),
            table_by_fid: none,
            value_count: 0,
            field_tags: Tags::default(),
            enum_tags: Tags::default(),
        }
    }
}

impl DictionaryBuilder {
    /// Adds the fields of the text of a field dictionary.
    ///
    /// # Errors
    /// The first fault of the text; the lines before it have been added.
    pub fn parse_fields(&mut self, text: &[u8]) -> Result<(), TextError> {
        text::parse_fields(self, text)
    }

    /// Adds the tables of the text of an enumeration file.
    ///
    /// # Errors
    /// The first fault of the text; the tables before it have been added.
    pub fn parse_enums(&mut self, text: &[u8]) -> Result<(), TextError> {
        text::parse_enums(self, text)
    }

    /// Adds one field.
    ///
    /// # Errors
    /// If the field contradicts itself or another one; it is then not added.
    pub fn add_field(&mut self, def: FieldDef) -> Result<(), DefinitionError> {
        if def.fid == 0 {
            return Err(DefinitionError::ReservedFid);
        }
        let len = def.acronym.len().max(def.long_name.len());
        if len > MAX_TEXT_LEN {
            return Err(DefinitionError::TextTooLong { fid: def.fid, len });
        }
        if !is_acronym(def.acronym.as_bytes()) {
            return Err(DefinitionError::Acronym { fid: def.fid, acronym: def.acronym });
        }
        if !field::is_field_type(def.rwf_type) {
            return Err(DefinitionError::RwfType { fid: def.fid, code: def.rwf_type.0 });
        }
        let place = &mut self.field_by_fid[dense(def.fid)];
        if *place != NONE {
            return Err(DefinitionError::DuplicateFid(def.fid));
        }
        match self.fid_by_acronym.entry(def.acronym.clone()) {
            Entry::Occupied(other) => {
                let (first, second) = (*other.get(), def.fid);
                let acronym = def.acronym;
                return Err(DefinitionError::DuplicateAcronym { acronym, first, second });
            }
            Entry::Vacant(free) => free.insert(def.fid),
        };
        *place = self.fields.len() as u16;
        self.fields.push(def);
        Ok(())
    }

    /// Adds one enumeration table for the fields `fids`; the values may come
    /// in any order.
    ///
    /// # Errors
    /// If the table contradicts itself or another one; it is then not added.
    pub fn add_table(
        &mut self,
        fids: Vec<i16>,
        mut values: Vec<EnumValue>,
    ) -> Result<(), DefinitionError> {
        let first = *fids.first().ok_or(DefinitionError::TableWithoutField)?;
        if values.len() > MAX_ENUM_VALUES - self.value_count {
            return Err(DefinitionError::TooManyValues);
        }
        let longest = values.iter().map(|value| value.display.len()).max();
        if let Some(len) = longest.filter(|len| *len > MAX_TEXT_LEN) {
            return Err(DefinitionError::TextTooLong { fid: first, len });
        }
        values.sort_by_key(|value| value.value);
        if let Some(pair) = values.windows(2).find(|pair| pair[0].value == pair[1].value) {
            return Err(DefinitionError::DuplicateValue { fid: first, value: pair[0].value });
        }
        self.claim(&fids)?;
        self.value_count += values.len();
        self.tables.push(EnumTable { fids, values });
        Ok(())
    }

    /// Gives the next table to all of `fids`, or to none.
    fn claim(&mut self, fids: &[i16]) -> Result<(), DefinitionError> {
        for (claimed, &fid) in fids.iter().enumerate() {
            let place = &mut self.table_by_fid[dense(fid)];
            let error = match fid {
                0 => DefinitionError::ReservedFid,
                _ if *place != NONE => DefinitionError::SecondTable(fid),
                _ => {
                    *place = self.tables.len() as u16;
                    continue;
                }
            };
            for &fid in &fids[..claimed] {
                self.table_by_fid[dense(fid)] = NONE;
            }
            return Err(error);
        }
        Ok(())
    }

    /// What the fields say of themselves, to read or change.
    pub fn field_tags_mut(&mut self) -> &mut Tags {
        &mut self.field_tags
    }

    /// What the enumeration tables say of themselves, to read or change.
    pub fn enum_tags_mut(&mut self) -> &mut Tags {
        &mut self.enum_tags
    }

    /// The fields added so far, in the order they were added.
    pub(super) fn fields(&self) -> &[FieldDef] {
        &self.fields
    }

    /// Makes the field at an index of [`fields`](Self::fields) ripple to the
    /// field of an acronym, if there is one.
    pub(super) fn set_ripple(&mut self, index: usize, acronym: &str) {
        self.fields[index].ripples_to = self.fid_by_acronym.get(acronym).copied();
    }

    /// The finished dictionary.
    pub fn build(self) -> FieldDictionary {
        let Self { mut fields, mut field_by_fid, .. } = self;
        fields.sort_by_key(|def| def.fid);
        for (index, def) in fields.iter().enumerate() {
            field_by_fid[dense(def.fid)] = index as u16;
        }
        FieldDictionary {
            fields,
            field_by_fid,
            fid_by_acronym: self.fid_by_acronym,
            tables: self.tables,
            table_by_fid: self.table_by_fid,
            field_tags: self.field_tags,
            enum_tags: self.enum_tags,
        }
    }
}

/// Whether bytes can name a field: a word of printable ASCII that the text
/// files cannot take for a comment, a text, a value or "no field".
pub(super) fn is_acronym(bytes: &[u8]) -> bool {
    let word = bytes.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'"');
    let number = bytes.iter().all(u8::is_ascii_digit);
    word && !number && bytes[0] != b'!' && bytes != text::NO_RIPPLE.as_bytes()
}

#[cfg(test)]
mod tests {
    use tapeline_rwf::DataType;

    use super::super::FieldType;
    use super::*;

    fn def(fid: i16, acronym: &str) -> FieldDef {
        FieldDef {
            fid,
            acronym: acronym.into(),
            long_name: "".into(),
            ripples_to: None,
            field_type: FieldType::INTEGER,
            length: 3,
            enum_length: 0,
            rwf_type: DataType::UINT,
            rwf_length: 1,
        }
    }

    fn value(value: u16) -> EnumValue {
        EnumValue { value, display: b"X".as_slice().into(), meaning: "".into() }
    }

    #[test]
    fn fields_are_found_by_every_name_whatever_their_order() {
        let mut builder = DictionaryBuilder::default();
        for (fid, acronym) in [(32767, "LAST"), (-1, "MINUS"), (6, "SIX"), (i16::MIN, "FIRST")] {
            builder.add_field(def(fid, acronym)).unwrap();
        }
        let dictionary = builder.build();
        let fids: Vec<_> = dictionary.fields().iter().map(|def| def.fid).collect();
        assert_eq!(fids, [i16::MIN, -1, 6, 32767]);
        for field in dictionary.fields() {
            assert_eq!(dictionary.field(field.fid), Some(field));
            assert_eq!(dictionary.field_by_acronym(&field.acronym), Some(field));
        }
        assert_eq!((dictionary.field(0), dictionary.field(7)), (None, None));
        assert_eq!(dictionary.field_by_acronym("six"), None);
    }

    #[test]
    fn a_refused_field_leaves_no_trace() {
        let mut builder = DictionaryBuilder::default();
        builder.add_field(def(6, "SIX")).unwrap();
        let refused = [
            (def(0, "ZERO"), DefinitionError::ReservedFid),
            (def(6, "SEVEN"), DefinitionError::DuplicateFid(6)),
            (
                def(7, "SIX"),
                DefinitionError::DuplicateAcronym { acronym: "SIX".into(), first: 6, second: 7 },
            ),
            (def(7, "A B"), DefinitionError::Acronym { fid: 7, acronym: "A B".into() }),
            (def(7, ""), DefinitionError::Acronym { fid: 7, acronym: "".into() }),
            (def(7, "52"), DefinitionError::Acronym { fid: 7, acronym: "52".into() }),
            (def(7, "NULL"), DefinitionError::Acronym { fid: 7, acronym: "NULL".into() }),
            (
                FieldDef { long_name: "x".repeat(256).into(), ..def(7, "SEVEN") },
                DefinitionError::TextTooLong { fid: 7, len: 256 },
            ),
            (
                FieldDef { rwf_type: DataType::INT_1, ..def(7, "SEVEN") },
                DefinitionError::RwfType { fid: 7, code: 64 },
            ),
        ];
        for (field, error) in refused {
            assert_eq!(builder.add_field(field), Err(error));
        }
        builder.add_field(def(7, "SEVEN")).unwrap();
        assert_eq!(builder.build().fields().len(), 2);
    }

    #[test]
    fn all_tables_together_have_a_limit() {
        let mut builder = DictionaryBuilder::default();
        let values: Vec<_> = (0..=u16::MAX).map(value).collect();
        for fid in 1..=16 {
            builder.add_table(vec![fid], values.clone()).unwrap();
        }
        let error = builder.add_table(vec![17], vec![value(0)]);
        assert_eq!(error, Err(DefinitionError::TooManyValues));
    }

    #[test]
    fn a_refused_table_leaves_no_trace() {
        let mut builder = DictionaryBuilder::default();
        builder.add_table(vec![4], vec![value(0)]).unwrap();
        let refused = [
            (vec![], vec![], DefinitionError::TableWithoutField),
            (vec![5, 4], vec![], DefinitionError::SecondTable(4)),
            (vec![5, 6, 5], vec![], DefinitionError::SecondTable(5)),
            (vec![5, 0], vec![], DefinitionError::ReservedFid),
            (
                vec![5],
                vec![EnumValue { display: vec![b'X'; 256].into(), ..value(1) }],
                DefinitionError::TextTooLong { fid: 5, len: 256 },
            ),
            (
                vec![5],
                vec![value(2), value(1), value(2)],
                DefinitionError::DuplicateValue { fid: 5, value: 2 },
            ),
        ];
        for (fids, values, error) in refused {
            assert_eq!(builder.add_table(fids, values), Err(error));
        }
        builder.add_table(vec![5, 6], vec![value(9), value(1)]).unwrap();
        let dictionary = builder.build();
        assert_eq!(dictionary.enum_tables().len(), 2);
        assert_eq!(dictionary.enum_table(6), dictionary.enum_table(5));
        assert_eq!(dictionary.enum_value(6, 9), Some(&value(9)));
        assert_eq!(dictionary.enum_table(7), None);
    }
}
