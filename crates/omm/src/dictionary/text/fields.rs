//! Reading a field dictionary.

use super::super::{
    DefinitionError, DictionaryBuilder, DictionaryType, FieldDef, FieldType, TextError,
    TextErrorKind, field,
};
use super::line::{Line, definitions, text};

/// What stands in place of an acronym when a field does not ripple.
pub(in super::super) const NO_RIPPLE: &str = "NULL";

/// Adds the fields of `text` to `builder`.
pub(in super::super) fn parse_fields(
    builder: &mut DictionaryBuilder,
    text: &[u8],
) -> Result<(), TextError> {
    let lines = definitions(DictionaryType::Fields, text, builder.field_tags_mut())?;
    let before = builder.fields().len();
    // Fields ripple to ones that are defined further down.
    let mut ripples = Vec::new();
    let mut numbers: Vec<u32> = Vec::with_capacity(lines.len());
    for mut line in lines {
        let (def, ripples_to) = parse_field(&mut line)?;
        builder.add_field(def).map_err(|error| {
            let first = earlier(builder, &error).and_then(|at| at.checked_sub(before));
            let first = first.map(|at| numbers[at]);
            line.error_at_start(TextErrorKind::Definition { error, first })
        })?;
        ripples.extend(ripples_to.map(|acronym| (builder.fields().len() - 1, acronym)));
        numbers.push(line.number());
    }
    for (index, acronym) in ripples {
        builder.set_ripple(index, acronym);
    }
    Ok(())
}

/// Index of the field that a refused one contradicts.
fn earlier(builder: &DictionaryBuilder, error: &DefinitionError) -> Option<usize> {
    let fid = match error {
        DefinitionError::DuplicateFid(fid) => *fid,
        DefinitionError::DuplicateAcronym { first, .. } => *first,
        _ => return None,
    };
    builder.fields().iter().position(|def| def.fid == fid)
}

/// The field of a line, and the acronym it ripples to.
fn parse_field<'a>(line: &mut Line<'a>) -> Result<(FieldDef, Option<&'a str>), TextError> {
    let acronym = line.acronym()?.into();
    let long_name = line.delimited(b'"', "a name in quotes")?;
    let fid = line.fid()?;
    let ripples_to = line.ripple()?;
    let field_type = line.parsed("a field type", FieldType::from_name)?;
    let length = line.integer("a length from 0 to 65535")?;
    let enum_length = if line.begins_with(b'(') {
        line.number_in_parentheses("a display length from 0 to 255")?
    } else {
        0
    };
    let rwf_type = line.parsed("an RWF type", field::rwf_type_from_name)?;
    let rwf_length = line.integer("an RWF length from 0 to 65535")?;
    line.end()?;
    let def = FieldDef {
        fid,
        acronym,
        long_name: text(long_name).into(),
        ripples_to: None,
        field_type,
        length,
        enum_length,
        rwf_type,
        rwf_length,
    };
    Ok((def, ripples_to))
}

#[cfg(test)]
mod tests {
    use tapeline_rwf::DataType;

    use super::super::super::FieldDictionary;
    use super::*;

    fn parse(fields: &str) -> Result<FieldDictionary, TextError> {
        FieldDictionary::parse(fields.as_bytes(), b"")
    }

    fn error(fields: &str) -> String {
        parse(fields).unwrap_err().to_string()
    }

    #[test]
    fn a_line_has_all_the_parts_of_a_field() {
        let dictionary = parse(
            "!tag Version 1.02.03\r\n\
             !ACRONYM DDE ACRONYM\r\n\
             BID_1 \"TODAY'S  BID\" 23 NULL PRICE 17 REAL64 7\r\n\
             \tBID\t\"BID\"\t22\tBID_1\tPRICE\t17\tREAL64\t7\r\n\
             RDN_EXCHID \"X\" 4 NULL ENUMERATED 3 ( 2 ) ENUM 1 ! old\r\n\
             RDN_EXCHD2 \"X\" 1709 NULL ENUMERATED 5 (3) ENUM 2\r\n",
        )
        .unwrap();
        assert_eq!(dictionary.field_tags().version(), "1.02.03");
        assert_eq!(
            dictionary.field(22),
            Some(&FieldDef {
                fid: 22,
                acronym: "BID".into(),
                long_name: "BID".into(),
                ripples_to: Some(23),
                field_type: FieldType::PRICE,
                length: 17,
                enum_length: 0,
                rwf_type: DataType::REAL,
                rwf_length: 7,
            })
        );
        assert_eq!(&*dictionary.field(23).unwrap().long_name, "TODAY'S  BID");
        assert_eq!(dictionary.field(4).unwrap().enum_length, 2);
        assert_eq!(dictionary.field(1709).unwrap().enum_length, 3);
    }

    #[test]
    fn a_ripple_to_nowhere_is_none() {
        let dictionary = parse("BID \"BID\" 22 BID_1 PRICE 17 REAL 7").unwrap();
        assert_eq!(dictionary.field(22).unwrap().ripples_to, None);
    }

    #[test]
    fn names_in_latin_1_are_read() {
        let text = b"NAME \"caf\xe9\" 3 NULL ALPHANUMERIC 16 RMTES_STRING 16";
        let dictionary = FieldDictionary::parse(text, b"").unwrap();
        assert_eq!(&*dictionary.field(3).unwrap().long_name, "caf\u{e9}");
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        let texts = [
            ("BID", "line 1, column 4: a name in quotes is expected, found the end of the line"),
            ("BID BID", "line 1, column 5: a name in quotes is expected, found \"BID\""),
            ("\nBID \"BID 22", "line 2, column 5: this text has no closing \""),
            ("\u{e9} \"X\"", "line 1, column 1: an acronym is expected, found \"\u{e9}\""),
            (
                "BID \"BID\" 32768",
                "line 1, column 11: a field id from -32768 to 32767, not 0, is expected, found \
                 \"32768\"",
            ),
            (
                "BID \"BID\" 0",
                "line 1, column 11: a field id from -32768 to 32767, not 0, is expected, found \
                 \"0\"",
            ),
            (
                "BID \"BID\" 22 NULL PRICES",
                "line 1, column 19: a field type is expected, found \"PRICES\"",
            ),
            (
                "BID \"BID\" 22 NULL PRICE -1",
                "line 1, column 25: a length from 0 to 65535 is expected, found \"-1\"",
            ),
            (
                "A \"A\" 22 NULL ENUMERATED 3 ( 256 ) ENUM 1",
                "line 1, column 30: a display length from 0 to 255 is expected, found \"256\"",
            ),
            (
                "A \"A\" 22 NULL ENUMERATED 3 ( 3 ENUM 1",
                "line 1, column 32: a closing parenthesis is expected, found \"ENUM\"",
            ),
            (
                "BID \"BID\" 22 NULL PRICE 17 INT_1 7",
                "line 1, column 28: an RWF type is expected, found \"INT_1\"",
            ),
            (
                "BID \"BID\" 22 NULL PRICE 17 REAL 7 x",
                "line 1, column 35: the end of the line is expected, found \"x\"",
            ),
            (
                "!tag DictionaryId one",
                "line 1, column 19: a dictionary id is expected, found \"one\"",
            ),
            ("!tag Type 2", "line 1, column 11: file type 1 is expected, found 2"),
        ];
        for (fields, want) in texts {
            assert_eq!(error(fields), format!("field dictionary {want}"), "{fields:?}");
        }
    }

    #[test]
    fn both_lines_of_a_duplicate_are_named() {
        let rest = "NULL PRICE 17 REAL 7\n";
        assert_eq!(
            error(&format!("A \"A\" 1 {rest}B \"B\" 2 {rest}C \"C\" 1 {rest}")),
            "field dictionary line 3, column 1: field 1 is defined twice (first in line 1)"
        );
        assert_eq!(
            error(&format!("A \"A\" 1 {rest}\nB \"B\" 2 {rest}B \"C\" 3 {rest}")),
            "field dictionary line 4, column 1: acronym B is used by the fields 2 and 3 \
             (first in line 3)"
        );
    }

    #[test]
    fn private_fields_can_come_from_a_second_file() {
        let mut builder = DictionaryBuilder::default();
        builder.parse_fields(b"BID \"BID\" 22 X_OLD PRICE 17 REAL 7").unwrap();
        builder.parse_fields(b"X_OLD \"OLD BID\" -1 BID PRICE 17 REAL 7").unwrap();
        let error = builder.parse_fields(b"\nX \"X\" 22 NULL PRICE 17 REAL 7").unwrap_err();
        assert_eq!(
            error.to_string(),
            "field dictionary line 2, column 1: field 22 is defined twice"
        );
        assert_eq!(builder.build().field(-1).unwrap().ripples_to, Some(22));
    }
}
