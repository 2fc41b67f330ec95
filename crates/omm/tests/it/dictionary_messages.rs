//! Dictionaries as message payloads, against those that the reference encoded
//! from the same files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use tapeline_golden::{hex, unhex, vectors};
use tapeline_omm::dictionary::{
    DictionaryBuilder, DictionaryType, EnumTable, FieldDef, FieldDictionary, PartError,
    SetDefDictionary, SetDefTable, Verbosity,
};
use tapeline_rwf::{
    DataType, ElementListHead, Encoded, Encoder, GlobalSetDefs, Msg, Primitive, SeriesHead, Slot,
};

/// The files that the vectors were made from.
fn dictionary() -> FieldDictionary {
    let (fields, enums) =
        (include_bytes!("data/vectors.fields"), include_bytes!("data/vectors.enums"));
    FieldDictionary::parse(fields, enums).expect("the files are good")
}

/// Payloads by name: bytes as the reference wrote them, and in shortest form.
type Payloads = BTreeMap<String, (Vec<u8>, Vec<u8>)>;

/// The dictionary vectors.
fn payloads() -> &'static Payloads {
    static PAYLOADS: LazyLock<Payloads> = LazyLock::new(read_payloads);
    &PAYLOADS
}

fn read_payloads() -> Payloads {
    let records = vectors("rdm_messages").into_iter();
    let records = records.filter_map(|record| {
        let name = record["name"].as_str()?.strip_prefix("rdm/dictionary/")?.to_owned();
        let written = record["hex"].as_str()?;
        let shortest = record["canonical_hex"].as_str().unwrap_or(written);
        Some((name, (unhex(written), unhex(shortest))))
    });
    records.collect()
}

fn written(
    container_type: DataType,
    write: impl FnOnce(Slot<'_, '_>) -> Result<(), tapeline_rwf::EncodeError>,
) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 17];
    let mut encoder = Encoder::new(&mut buffer);
    write(encoder.container(container_type)).expect("encodes");
    encoder.finish_bytes().expect("fits").to_vec()
}

/// All parts, and whether each says that it is the last.
fn parts(
    dictionary: &FieldDictionary,
    dictionary_type: DictionaryType,
    verbosity: Verbosity,
    max_len: usize,
) -> Vec<(Vec<u8>, bool)> {
    let parts = dictionary.parts(dictionary_type, verbosity, max_len);
    let parts = parts.map(|part| {
        let bytes = written(DataType::SERIES, |slot| part.write(slot));
        assert_eq!(bytes.len(), part.byte_len());
        (bytes, part.is_last())
    });
    parts.collect()
}

fn read<'p>(
    dictionary_type: DictionaryType,
    payloads: impl IntoIterator<Item = &'p [u8]>,
) -> Result<FieldDictionary, PartError> {
    let mut builder = DictionaryBuilder::default();
    for bytes in payloads {
        let payload = Encoded::new(DataType::SERIES, bytes);
        match dictionary_type {
            DictionaryType::Fields => builder.add_fields_part(&payload)?,
            DictionaryType::Enums => builder.add_enums_part(&payload)?,
        }
    }
    Ok(builder.build())
}

/// A table as it is on the wire: fields, and values with display texts.
type Table = (Vec<i16>, Vec<(u16, Vec<u8>)>);

fn without_meanings(tables: &[EnumTable]) -> Vec<Table> {
    let tables = tables.iter().map(|table| {
        let values = table.values().iter().map(|value| (value.value, value.display.to_vec()));
        (table.fids().to_vec(), values.collect())
    });
    tables.collect()
}

const VERBOSITIES: [(&str, Verbosity); 4] = [
    ("info", Verbosity::Info),
    ("minimal", Verbosity::Minimal),
    ("normal", Verbosity::Normal),
    ("verbose", Verbosity::Verbose),
];

const TYPES: [(&str, DictionaryType); 2] =
    [("field", DictionaryType::Fields), ("enum", DictionaryType::Enums)];

#[test]
fn one_part_has_the_bytes_of_the_reference() {
    let (dictionary, payloads) = (dictionary(), payloads());
    for (type_name, dictionary_type) in TYPES {
        for (name, verbosity) in VERBOSITIES {
            let name = format!("{type_name}/{name}/payload");
            let parts = parts(&dictionary, dictionary_type, verbosity, 60_000);
            assert_eq!(parts.len(), 1, "{name}");
            assert_eq!(hex(&parts[0].0), hex(&payloads[&name].1), "{name}");
            assert!(parts[0].1);
        }
    }
}

#[test]
fn several_parts_have_the_bytes_of_the_reference() {
    let (dictionary, payloads) = (dictionary(), payloads());
    for (type_name, dictionary_type, max_len, count) in
        [("field", DictionaryType::Fields, 700, 2), ("enum", DictionaryType::Enums, 420, 1)]
    {
        let parts = parts(&dictionary, dictionary_type, Verbosity::Normal, max_len);
        assert_eq!(parts.len(), count);
        for (at, (bytes, is_last)) in parts.iter().enumerate() {
            let name = format!("{type_name}/multipart/{at}");
            assert_eq!(hex(bytes), hex(&payloads[&name].1), "{name}");
            assert_eq!(*is_last, at + 1 == count);
        }
    }
}

#[test]
fn what_the_reference_wrote_reads_back_as_the_files() {
    let (dictionary, payloads) = (dictionary(), payloads());
    let fields = |name: &str| {
        let read = read(DictionaryType::Fields, [&*payloads[name].0]).expect(name);
        assert_eq!(read.field_tags().version(), "1.02.03");
        assert_eq!(read.field_tags().dictionary_id(), 1);
        read.fields().to_vec()
    };
    assert_eq!(fields("field/info/payload"), []);
    for name in ["field/normal/payload", "field/verbose/payload"] {
        assert_eq!(fields(name), dictionary.fields(), "{name}");
    }
    let short = |def: &FieldDef| FieldDef { long_name: "".into(), enum_length: 0, ..def.clone() };
    let minimal: Vec<_> = dictionary.fields().iter().map(short).collect();
    assert_eq!(fields("field/minimal/payload"), minimal);

    let tables = without_meanings(dictionary.enum_tables());
    for name in ["enum/minimal/payload", "enum/normal/payload", "enum/verbose/payload"] {
        let read = read(DictionaryType::Enums, [&*payloads[name].0]).expect(name);
        assert_eq!(without_meanings(read.enum_tables()), tables, "{name}");
        let tags = read.enum_tags();
        assert_eq!((tags.rt_version(), tags.dt_version()), ("1.02.03", "4.05"));
    }
}

#[test]
fn refreshes_in_parts_read_back_as_the_file() {
    let payloads = payloads();
    let mut builder = DictionaryBuilder::default();
    for (name, dictionary_type) in [
        ("field/multipart/0/refresh", Some(DictionaryType::Fields)),
        ("field/multipart/1/refresh", None),
    ] {
        let msg = Msg::decode(&payloads[name].0).expect(name);
        assert_eq!(DictionaryType::of_part(&msg.payload()), Ok(dictionary_type), "{name}");
        builder.add_fields_part(&msg.payload()).expect(name);
    }
    let msg = Msg::decode(&payloads["enum/multipart/0/refresh"].0).expect("decodes");
    assert_eq!(DictionaryType::of_part(&msg.payload()), Ok(Some(DictionaryType::Enums)));
    builder.add_enums_part(&msg.payload()).expect("reads");

    let (read, dictionary) = (builder.build(), dictionary());
    assert_eq!(read.fields(), dictionary.fields());
    assert_eq!(without_meanings(read.enum_tables()), without_meanings(dictionary.enum_tables()));
}

#[test]
fn set_definitions_have_the_bytes_of_the_reference_and_read_back() {
    let set = |types: &[(i16, u8)]| -> Vec<_> {
        types.iter().map(|(fid, code)| (*fid, DataType(*code))).collect()
    };
    let quote = set(&[(22, 8), (25, 75), (-8, 82)]);
    let fields = SetDefTable::Fields([16, 17, 300].map(|id| (id, quote.clone())).into());
    let row = vec![("NAME".into(), DataType::ASCII_STRING), ("COUNT".into(), DataType::UINT_4)];
    let elements = SetDefTable::Elements([16, 20].map(|id| (id, row.clone())).into());
    for (name, sets) in [("fieldsetdef", fields), ("elementsetdef", elements)] {
        let (reference, shortest) = &payloads()[&format!("{name}/payload")];
        let dictionary = SetDefDictionary { dictionary_id: 1, version: "1.0".into(), sets };
        let bytes = written(DataType::VECTOR, |slot| dictionary.write(slot));
        assert_eq!(hex(&bytes), hex(shortest), "{name}");
        let read = SetDefDictionary::read(&Encoded::new(DataType::VECTOR, reference));
        assert_eq!(read.as_ref(), Ok(&dictionary), "{name}");

        let mut global = GlobalSetDefs::new();
        dictionary.define(&mut global).expect("small sets");
        let defined = (global.field_set(17).is_some(), global.element_set(20).is_some());
        assert_eq!(defined, (name == "fieldsetdef", name == "elementsetdef"));
    }
}

/// A series of one element list of standard data.
fn series_of(write: impl FnOnce(&mut tapeline_rwf::ElementListWriter<'_, '_>)) -> Vec<u8> {
    written(DataType::SERIES, |slot| {
        let mut series = slot.series(&SeriesHead::new(DataType::ELEMENT_LIST))?;
        let mut list = series.entry()?.element_list(&ElementListHead::STANDARD)?;
        write(&mut list);
        list.finish()?;
        series.finish()
    })
}

/// A field of standard data, with one element in place of the usual one.
fn field_with(name: &str, value: Primitive<'_>) -> Vec<u8> {
    series_of(|list| {
        for (usual, usual_value) in [
            ("RWFLEN", Primitive::Int(7)),
            ("UNKNOWN", Primitive::Int(7)),
            ("RWFTYPE", Primitive::Uint(8)),
            ("NAME", Primitive::ascii("BID")),
            ("LENGTH", Primitive::Uint(17)),
            ("FID", Primitive::Int(22)),
            ("TYPE", Primitive::Int(4)),
            ("RIPPLETO", Primitive::Int(23)),
        ] {
            let value = if name == usual { value } else { usual_value };
            list.put(usual, value).expect("encodes");
        }
    })
}

#[test]
fn fields_of_standard_data_are_found_by_the_names_of_their_elements() {
    let payload = field_with("LENGTH", Primitive::Int(16));
    let read = read(DictionaryType::Fields, [&*payload]).expect("reads");
    let bid = read.field(22).expect("is there");
    assert_eq!((&*bid.acronym, bid.length, bid.ripples_to), ("BID", 16, Some(23)));
    assert_eq!((&*bid.long_name, bid.enum_length), ("", 0));
}

#[test]
fn a_faulty_field_is_refused_with_its_fault() {
    for (name, value, text) in [
        ("NAME", Primitive::Blank(DataType::ASCII_STRING), "an entry has no element NAME"),
        ("NAME", Primitive::Int(1), "the value of element NAME has the wrong type"),
        ("FID", Primitive::ascii("22"), "the value of element FID has the wrong type"),
        ("FID", Primitive::Int(32_768), "32768 is out of range for FID"),
        ("LENGTH", Primitive::Int(-1), "-1 is out of range for LENGTH"),
        ("FID", Primitive::Int(0), "field id 0 cannot be defined, it marks a change of dictionary"),
        ("RWFTYPE", Primitive::Int(64), "field 22 has the RWF type 64, which no field can have"),
        (
            "NAME",
            Primitive::ascii("B D"),
            "field 22 has the acronym \"B D\", which cannot name a field",
        ),
    ] {
        let payload = field_with(name, value);
        let error = read(DictionaryType::Fields, [&*payload]).expect_err(text);
        assert_eq!(error.to_string(), format!("dictionary payload: {text}"));
    }
    let payload = field_with("", Primitive::Int(0));
    let error = read(DictionaryType::Fields, [&*payload, &*payload]).expect_err("twice");
    assert_eq!(error.to_string(), "dictionary payload: field 22 is defined twice");
}

#[test]
fn a_field_of_unknown_type_is_no_field() {
    let payload = field_with("RWFTYPE", Primitive::Uint(0));
    assert_eq!(read(DictionaryType::Fields, [&*payload]).expect("reads").fields(), []);
}

/// A table of standard data with other spellings and encodings than ours.
fn table(displays: &[&str]) -> Vec<u8> {
    series_of(|list| {
        let mut array = list
            .slot("DISPLAYS", DataType::ARRAY)
            .and_then(|slot| slot.array(DataType::UTF8_STRING, 4))
            .expect("begins");
        for display in displays {
            array.put(Primitive::utf8(display)).expect("encodes");
        }
        array.finish().expect("ends");
        for (name, items) in [("FIDS", [4, 1709]), ("VALUES", [7, 3]), ("MEANING", [0, 0])] {
            let mut array = list
                .slot(name, DataType::ARRAY)
                .and_then(|slot| slot.array(DataType::UINT, 0))
                .expect("begins");
            for item in items {
                array.put(Primitive::Uint(item)).expect("encodes");
            }
            array.finish().expect("ends");
        }
    })
}

#[test]
fn tables_are_read_in_other_spellings_and_encodings() {
    let payload = table(&["SEV ", "T"]);
    let read = read(DictionaryType::Enums, [&*payload]).expect("reads");
    let want = vec![(vec![4, 1709], vec![(3, b"T".to_vec()), (7, b"SEV ".to_vec())])];
    assert_eq!(without_meanings(read.enum_tables()), want);
}

#[test]
fn a_table_with_unequal_arrays_is_refused() {
    let payload = table(&["ONE"]);
    let error = read(DictionaryType::Enums, [&*payload]).expect_err("unequal");
    assert_eq!(error, PartError::Unequal { keys: 2, values: 1 });
}

#[test]
fn one_dictionary_is_not_taken_for_the_other() {
    let payloads = payloads();
    let payload = &*payloads["enum/normal/payload"].0;
    let error = read(DictionaryType::Fields, [payload]).expect_err("tables");
    assert_eq!(error, PartError::Type { wanted: 1, found: 2 });
    let payload = &*payloads["field/normal/payload"].0;
    let error = read(DictionaryType::Enums, [payload]).expect_err("fields");
    assert_eq!(error, PartError::Type { wanted: 2, found: 1 });
}

#[test]
fn an_empty_dictionary_is_one_part_without_entries() {
    let empty = DictionaryBuilder::default().build();
    for (_, dictionary_type) in TYPES {
        for (_, verbosity) in VERBOSITIES {
            let parts = parts(&empty, dictionary_type, verbosity, 0);
            assert_eq!(parts.len(), 1);
            let read = read(dictionary_type, [&*parts[0].0]).expect("reads");
            assert_eq!((read.fields().len(), read.enum_tables().len()), (0, 0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_of_any_size_keep_their_limit_and_make_the_whole(max_len in 0_usize..20_000) {
        let dictionary = FieldDictionary::builtin();
        for (_, dictionary_type) in TYPES {
            let parts = parts(dictionary, dictionary_type, Verbosity::Normal, max_len);
            for (at, (bytes, is_last)) in parts.iter().enumerate() {
                let series = Encoded::new(DataType::SERIES, bytes).series().unwrap();
                prop_assert!(bytes.len() <= max_len || series.len() == 1);
                prop_assert_eq!(*is_last, at + 1 == parts.len());
            }
            let read = read(dictionary_type, parts.iter().map(|(bytes, _)| &**bytes)).unwrap();
            match dictionary_type {
                DictionaryType::Fields => prop_assert_eq!(read.fields(), dictionary.fields()),
                DictionaryType::Enums => prop_assert_eq!(
                    without_meanings(read.enum_tables()),
                    without_meanings(dictionary.enum_tables())
                ),
            }
        }
    }

    #[test]
    fn damaged_payloads_are_read_or_refused(
        pick in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        keep in any::<prop::sample::Index>(),
    ) {
        let payloads = payloads();
        let (_, (bytes, _)) = payloads.iter().nth(pick.index(payloads.len())).unwrap();
        let mut bytes = bytes.clone();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for bytes in [&*bytes, &bytes[..keep.index(bytes.len())]] {
            let _ = read(DictionaryType::Fields, [bytes]);
            let _ = read(DictionaryType::Enums, [bytes]);
            let _ = SetDefDictionary::read(&Encoded::new(DataType::VECTOR, bytes));
            let _ = DictionaryType::of_part(&Encoded::new(DataType::SERIES, bytes));
        }
    }
}
