//! Field definitions as entries of a series.

use std::sync::LazyLock;

use tapeline_rwf::{
    DataType, ElementList, ElementListHead, ElementListWriter, ElementSetDef, EncodeError,
    LocalSetDefsBuf, Primitive, Slot,
};

use super::read::{PartError, find};
use crate::dictionary::{DictionaryType, FieldDef, FieldType, Tags, text};

const NAME: &str = "NAME";
const FID: &str = "FID";
const RIPPLETO: &str = "RIPPLETO";
const TYPE: &str = "TYPE";
const LENGTH: &str = "LENGTH";
const RWFTYPE: &str = "RWFTYPE";
const RWFLEN: &str = "RWFLEN";
const ENUMLENGTH: &str = "ENUMLENGTH";
const LONGNAME: &str = "LONGNAME";

const NORMAL: [(&str, DataType); 9] = [
    (NAME, DataType::ASCII_STRING),
    (FID, DataType::INT_2),
    (RIPPLETO, DataType::INT_2),
    (TYPE, DataType::INT_1),
    (LENGTH, DataType::UINT_2),
    (RWFTYPE, DataType::UINT_1),
    (RWFLEN, DataType::UINT_2),
    (ENUMLENGTH, DataType::UINT_1),
    (LONGNAME, DataType::ASCII_STRING),
];

/// How many of the elements minimal verbosity has.
const MINIMAL: usize = 7;

pub(super) static NORMAL_SET_DEF: LazyLock<LocalSetDefsBuf> = LazyLock::new(|| {
    LocalSetDefsBuf::elements(&[(0, &NORMAL)]).expect("a constant definition is valid")
});

pub(super) static MINIMAL_SET_DEF: LazyLock<LocalSetDefsBuf> = LazyLock::new(|| {
    LocalSetDefsBuf::elements(&[(0, &NORMAL[..MINIMAL])]).expect("a constant definition is valid")
});

/// Writes the summary data of the first part.
pub(super) fn write_summary(slot: Slot<'_, '_>, tags: &Tags) -> Result<(), EncodeError> {
    let mut list = slot.element_list(&ElementListHead::STANDARD)?;
    list.put(Tags::TYPE, DictionaryType::Fields.code())?;
    list.put(Tags::DICTIONARY_ID, tags.dictionary_id())?;
    list.put(Tags::VERSION, Primitive::ascii(tags.version()))?;
    list.finish()
}

/// Writes the elements of a field, as many as the definition has.
pub(super) fn write_entry(
    mut list: ElementListWriter<'_, '_>,
    field: &FieldDef,
    def: ElementSetDef<'_>,
) -> Result<(), EncodeError> {
    list.put(NAME, Primitive::ascii(&field.acronym))?;
    list.put(FID, i64::from(field.fid))?;
    list.put(RIPPLETO, i64::from(field.ripples_to.unwrap_or(0)))?;
    list.put(TYPE, i64::from(field.field_type.0))?;
    list.put(LENGTH, u64::from(field.length))?;
    list.put(RWFTYPE, u64::from(field.rwf_type.0))?;
    list.put(RWFLEN, u64::from(field.rwf_length))?;
    if def.len() > MINIMAL {
        list.put(ENUMLENGTH, u64::from(field.enum_length))?;
        list.put(LONGNAME, Primitive::ascii(&field.long_name))?;
    }
    list.finish()
}

/// Reads the elements of a field, which may be in any order and of any
/// encoding. The names and lengths that minimal verbosity lacks are left empty.
pub(super) fn read_entry(list: &ElementList<'_>) -> Result<FieldDef, PartError> {
    const NAMES: [&[&str]; 9] = [
        &[NAME],
        &[FID],
        &[RIPPLETO],
        &[TYPE],
        &[LENGTH],
        &[RWFTYPE],
        &[RWFLEN],
        &[ENUMLENGTH],
        &[LONGNAME],
    ];
    let [name, fid, ripple, field_type, length, rwf_type, rwf_length, enum_length, long_name] =
        find(list, NAMES)?;
    let ripples_to = ripple.required_number()?;
    Ok(FieldDef {
        acronym: text::text(name.required_text()?).into(),
        fid: fid.required_number()?,
        ripples_to: (ripples_to != 0).then_some(ripples_to),
        field_type: FieldType(field_type.required_number()?),
        length: length.required_number()?,
        rwf_type: DataType(rwf_type.required_number()?),
        rwf_length: rwf_length.required_number()?,
        enum_length: enum_length.number()?.unwrap_or(0),
        long_name: text::text(long_name.text()?.unwrap_or_default()).into(),
    })
}
