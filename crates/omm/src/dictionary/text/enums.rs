//! Reading an enumeration file.

use std::collections::HashMap;

use super::super::{
    DefinitionError, DictionaryBuilder, DictionaryType, EnumValue, TextError, TextErrorKind,
};
use super::line::{Line, definitions, text};

/// Adds the tables of `text` to `builder`.
pub(in super::super) fn parse_enums(
    builder: &mut DictionaryBuilder,
    text: &[u8],
) -> Result<(), TextError> {
    let lines = definitions(DictionaryType::Enums, text, builder.enum_tags_mut())?;
    let mut fid_lines = HashMap::new();
    let mut table = Table::default();
    for mut line in lines {
        if line.has_number() {
            table.add_value(&mut line)?;
            continue;
        }
        if !table.values.is_empty() {
            table.finish(builder)?;
        }
        table.add_field(line, &mut fid_lines)?;
    }
    table.finish(builder)
}

/// The table that is being read.
#[derive(Default)]
struct Table<'a> {
    fids: Vec<i16>,
    last_field: Option<Line<'a>>,
    values: Vec<EnumValue>,
    /// The line of each value.
    value_lines: HashMap<u16, u32>,
}

impl<'a> Table<'a> {
    /// Reads a line that gives the table one more field. `fid_lines` has the
    /// line of each field in the file.
    fn add_field(
        &mut self,
        mut line: Line<'a>,
        fid_lines: &mut HashMap<i16, u32>,
    ) -> Result<(), TextError> {
        line.acronym()?;
        let fid = line.fid()?;
        if let Some(&first) = fid_lines.get(&fid) {
            return Err(line.contradiction(DefinitionError::SecondTable(fid), Some(first)));
        }
        line.end()?;
        fid_lines.insert(fid, line.number());
        self.fids.push(fid);
        self.last_field = Some(line);
        Ok(())
    }

    /// Reads a line that gives the table one more value.
    fn add_value(&mut self, line: &mut Line<'a>) -> Result<(), TextError> {
        let Some(&fid) = self.fids.first() else {
            return Err(line.error_at_start(TextErrorKind::ValueWithoutField));
        };
        let value = line.integer("a value from 0 to 65535")?;
        if let Some(&first) = self.value_lines.get(&value) {
            let error = DefinitionError::DuplicateValue { fid, value };
            return Err(line.contradiction(error, Some(first)));
        }
        self.value_lines.insert(value, line.number());
        let display = display(line)?;
        let meaning = line.rest().into();
        self.values.push(EnumValue { value, display, meaning });
        Ok(())
    }

    /// Hands the table over to the builder and begins a new one.
    fn finish(&mut self, builder: &mut DictionaryBuilder) -> Result<(), TextError> {
        let Some(line) = self.last_field.take() else { return Ok(()) };
        if self.values.is_empty() {
            return Err(line.error_at_start(TextErrorKind::TableWithoutValues));
        }
        self.value_lines.clear();
        let (fids, values) = (std::mem::take(&mut self.fids), std::mem::take(&mut self.values));
        builder
            .add_table(fids, values)
            .map_err(|error| line.error_at_start(TextErrorKind::Definition { error, first: None }))
    }
}

/// A display text in quotes, or its bytes in hexadecimal.
fn display(line: &mut Line<'_>) -> Result<Box<[u8]>, TextError> {
    const WHAT: &str = "a display text in quotes or hashes";
    if !line.begins_with(b'#') {
        return line.delimited(b'"', WHAT).map(Box::from);
    }
    let digits = line.delimited(b'#', WHAT)?;
    let bytes = text(digits);
    unhex(&bytes).ok_or_else(|| line.unexpected("an even number of hexadecimal digits"))
}

fn unhex(digits: &str) -> Option<Box<[u8]>> {
    let nibbles: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
    let nibbles = nibbles.filter(|nibbles| nibbles.len().is_multiple_of(2))?;
    Some(nibbles.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::super::super::FieldDictionary;
    use super::*;

    fn parse(enums: &str) -> Result<FieldDictionary, TextError> {
        FieldDictionary::parse(b"", enums.as_bytes())
    }

    fn error(enums: &str) -> String {
        parse(enums).unwrap_err().to_string()
    }

    #[test]
    fn fields_in_front_of_values_share_a_table() {
        let dictionary = parse(
            "!tag DictionaryId 1\r\n\
             ! ACRONYM FID\r\n\
             RDN_EXCHID\t4\r\n\
             RDN_EXCHD2 1709 ! the longer one\r\n\
             ! VALUE DISPLAY MEANING\r\n\
             \t0 \"   \" undefined\r\n\
             1\t\"ASE\"  First  exchange \r\n\
             \r\n\
             52WK_TYPE -7\r\n\
             3 #deAD#\r\n\
             2 \"\"",
        )
        .unwrap();
        assert_eq!(dictionary.enum_table(4), dictionary.enum_table(1709));
        assert_eq!(dictionary.enum_tables()[0].fids(), [4, 1709]);
        assert_eq!(dictionary.enum_tags().dictionary_id(), 1);
        let value = dictionary.enum_value(4, 0).unwrap();
        assert_eq!((&*value.display, &*value.meaning), (&b"   "[..], "undefined"));
        let value = dictionary.enum_value(1709, 1).unwrap();
        assert_eq!((&*value.display, &*value.meaning), (&b"ASE"[..], "First  exchange"));
        let values = dictionary.enum_table(-7).unwrap().values();
        let values: Vec<_> = values.iter().map(|value| (value.value, &*value.display)).collect();
        assert_eq!(values, [(2, &b""[..]), (3, b"\xde\xad")]);
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        let texts = [
            (
                "\n 0 \"A\" x",
                "line 2, column 2: a value without a field; a line with acronym \
              and field id must come first",
            ),
            ("A 1", "line 1, column 1: no values follow this field"),
            ("A 1\n0 \"A\"\nB 2\nC 3\n", "line 4, column 1: no values follow this field"),
            (
                "A 1\n0 A",
                "line 2, column 3: a display text in quotes or hashes is expected, \
              found \"A\"",
            ),
            ("A 1\n0 \"A", "line 2, column 3: this text has no closing \""),
            ("A 1\n0 #A0", "line 2, column 3: this text has no closing #"),
            (
                "A 1\n0 #A0B#",
                "line 2, column 3: an even number of hexadecimal digits is \
              expected, found \"#A0B#\"",
            ),
            (
                "A 1\n65536 \"A\"",
                "line 2, column 1: a value from 0 to 65535 is expected, \
              found \"65536\"",
            ),
            (
                "A 1\n-1 \"A\"",
                "line 2, column 4: a field id from -32768 to 32767, not 0, is \
              expected, found \"\\\"A\\\"\"",
            ),
            (
                "A 1\n1 \"A\"\n\n1 \"B\"",
                "line 4, column 1: the table of field 1 has the value 1 \
              twice (first in line 2)",
            ),
            (
                "A 1\n1 \"A\"\nB 2\nC 1\n1 \"A\"",
                "line 4, column 3: field 1 has two enumeration \
              tables (first in line 1)",
            ),
            ("A 1 2\n1 \"A\"", "line 1, column 5: the end of the line is expected, found \"2\""),
            ("!tag Type 1", "line 1, column 11: file type 2 is expected, found 1"),
        ];
        for (enums, want) in texts {
            assert_eq!(error(enums), format!("enumeration file {want}"), "{enums:?}");
        }
    }

    #[test]
    fn a_table_of_an_earlier_file_is_not_replaced() {
        let mut builder = DictionaryBuilder::default();
        builder.parse_enums(b"A 1\n0 \"A\"").unwrap();
        let error = builder.parse_enums(b"\nA 1\n0 \"A\"").unwrap_err();
        assert_eq!((error.line, error.column), (2, 1));
    }
}
