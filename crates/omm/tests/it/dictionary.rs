//! The field dictionary: the built-in one against the vectors, the text forms
//! against themselves.

use std::collections::HashSet;

use proptest::prelude::*;
use tapeline_omm::dictionary::{
    DictionaryBuilder, EnumValue, FieldDef, FieldDictionary, FieldType, Tags,
};
use tapeline_rwf::DataType;

#[test]
fn the_builtin_dictionary_has_every_field_of_the_vectors() {
    let dictionary = FieldDictionary::builtin();
    let fields = tapeline_golden::field_types();
    assert_eq!(fields.len(), 61);
    for (fid, data_type) in fields {
        let field = dictionary.field(fid).unwrap_or_else(|| panic!("field {fid} is missing"));
        assert_eq!(field.rwf_type.name(), Some(data_type.as_str()), "field {fid}");
    }
}

#[test]
fn well_known_fields_have_their_well_known_definitions() {
    let dictionary = FieldDictionary::builtin();
    for (acronym, fid, field_type, length, rwf_type, rwf_length) in [
        ("TRDPRC_1", 6, FieldType::PRICE, 17, DataType::REAL, 7),
        ("CURRENCY", 15, FieldType::ENUMERATED, 5, DataType::ENUM, 2),
        ("ACVOL_1", 32, FieldType::INTEGER, 15, DataType::REAL, 7),
        ("ROW64_1", 215, FieldType::ALPHANUMERIC, 64, DataType::RMTES_STRING, 64),
        ("SALTIM", 379, FieldType::TIME_SECONDS, 8, DataType::TIME, 5),
        ("ORDER_ID", 3426, FieldType::ALPHANUMERIC, 24, DataType::RMTES_STRING, 24),
        ("QUOTIM_MS", 3855, FieldType::INTEGER, 15, DataType::UINT, 4),
        ("FRAGMENT", 32641, FieldType::NONE, 0, DataType::BUFFER, 11000),
    ] {
        let field = dictionary.field_by_acronym(acronym).expect(acronym);
        let found = (field.fid, field.field_type, field.length, field.rwf_type, field.rwf_length);
        assert_eq!(found, (fid, field_type, length, rwf_type, rwf_length), "{acronym}");
    }
    for (fid, number, display) in [(15, 840, "USD"), (4, 2, "NYS"), (1709, 64, "LSE")] {
        let value = dictionary.enum_value(fid, number).expect(display);
        assert_eq!(&*value.display, display.as_bytes());
    }
    let up = dictionary.enum_value(14, 1).expect("an up tick");
    assert_eq!(&*up.display, [0xDE]);
}

#[test]
fn the_builtin_dictionary_survives_printing() {
    let dictionary = FieldDictionary::builtin();
    assert!(dictionary.fields().len() > 400);
    assert_eq!(dictionary.field_tags().get(Tags::FILENAME), Some("TAPELINE.FIELDS"));
    assert_eq!(dictionary.enum_tags().rt_version(), "1.0.0");
    assert_eq!(&printed_and_parsed(dictionary), dictionary);
}

fn printed_and_parsed(dictionary: &FieldDictionary) -> FieldDictionary {
    let (fields, enums) = (dictionary.print_fields(), dictionary.print_enums());
    FieldDictionary::parse(fields.as_bytes(), enums.as_bytes())
        .unwrap_or_else(|fault| panic!("{fault}\n{fields}\n{enums}"))
}

fn rwf_type() -> impl Strategy<Value = DataType> {
    let types = (0..=u8::MAX).map(DataType).filter(|code| {
        let set_only = (64..=84).contains(&code.0);
        let nothing = [DataType::UNKNOWN, DataType::NO_DATA].contains(code);
        code.name().is_some() && !set_only && !nothing
    });
    proptest::sample::select(types.collect::<Vec<_>>())
}

prop_compose! {
    fn definition()(
        fid in prop_oneof![1_i16..20, -20_i16..=-1, 1_i16..=i16::MAX, i16::MIN..=-1],
        acronym in "[A-Z0-9'#&()]{0,15}_",
        long_name in "[ !#-~]{0,24}|\\PC{0,8}",
        ripples_to in prop_oneof![Just(None), (-20_i16..20).prop_map(Some)],
        field_type in -1_i8..=10,
        length in any::<u16>(),
        enum_length in any::<u8>(),
        rwf_type in rwf_type(),
        rwf_length in any::<u16>(),
    ) -> FieldDef {
        FieldDef {
            fid,
            acronym: acronym.into(),
            long_name: long_name.replace('"', "").into(),
            ripples_to,
            field_type: FieldType(field_type),
            length,
            enum_length,
            rwf_type,
            rwf_length,
        }
    }
}

prop_compose! {
    fn enum_value()(
        value in any::<u16>(),
        display in proptest::collection::vec(any::<u8>(), 0..6),
        meaning in "([!-~][ -~]{0,10})?[!-~]",
    ) -> EnumValue {
        EnumValue { value, display: display.into(), meaning: meaning.into() }
    }
}

prop_compose! {
    /// Any dictionary: what contradicts an earlier part is left out.
    fn dictionary()(
        mut fields in proptest::collection::vec(definition(), 0..30),
        tables in proptest::collection::vec(
            (
                proptest::collection::vec(-20_i16..20, 1..4),
                proptest::collection::vec(enum_value(), 1..8),
            ),
            0..6,
        ),
        version in "[0-9.]{0,8}",
    ) -> FieldDictionary {
        let mut builder = DictionaryBuilder::default();
        builder.field_tags_mut().set(Tags::VERSION, &version);
        let (mut fids, mut acronyms) = (HashSet::new(), HashSet::new());
        fields.retain(|def| fids.insert(def.fid) && acronyms.insert(def.acronym.clone()));
        for at in 0..fields.len() {
            let target = fields[at].ripples_to.take();
            fields[at].ripples_to =
                target.map(|target| fields[target.unsigned_abs() as usize % fields.len()].fid);
        }
        for def in fields {
            builder.add_field(def).unwrap();
        }
        for (fids, values) in tables {
            let _ = builder.add_table(fids, values);
        }
        builder.build()
    }
}

/// Lines that are nearly right, so that the parsers get far into them.
fn likely_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b" ".to_vec()),
        proptest::sample::select(vec![
            "BID",
            "\"BID\"",
            "22",
            "-1",
            "0",
            "NULL",
            "PRICE",
            "17",
            "( 3 )",
            "(",
            ")",
            "REAL64",
            "7",
            "!tag",
            "Type 1",
            "DictionaryId 1",
            "!",
            "\"",
            "#DE#",
            "#",
            "#D",
            "\"A\" b",
            "BID \"BID\" 22 NULL PRICE 17 REAL 7\n",
            "BID 22\n",
            "0 \"A\" b\n",
            "\t",
            "\r\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_with_their_place(text in likely_text()) {
        let lines = text.split(|byte| *byte == b'\n').collect::<Vec<_>>();
        for result in [FieldDictionary::parse(&text, b""), FieldDictionary::parse(b"", &text)] {
            match result {
                Ok(dictionary) => prop_assert_eq!(&printed_and_parsed(&dictionary), &dictionary),
                Err(fault) => {
                    let line = lines[fault.line as usize - 1];
                    prop_assert!((1..=line.len() + 1).contains(&(fault.column as usize)));
                }
            }
        }
    }

    #[test]
    fn a_printed_dictionary_is_the_same_when_read(dictionary in dictionary()) {
        prop_assert_eq!(printed_and_parsed(&dictionary), dictionary);
    }
}
