//! Enumeration tables as entries of a series.

use std::sync::LazyLock;

use tapeline_rwf::{
    DataType, ElementList, ElementListHead, ElementListWriter, ElementSetDef, EncodeError,
    LocalSetDefsBuf, Primitive, SetHead, Slot,
};

use super::read::{PartError, find};
use crate::dictionary::{DictionaryType, EnumTable, EnumValue, Tags};

const FIDS: &str = "FIDS";
const VALUE: &str = "VALUE";
const DISPLAY: &str = "DISPLAY";

/// Spellings of the elements. The first one is written.
const NAMES: [&[&str]; 3] = [&[FIDS], &[VALUE, "VALUES"], &[DISPLAY, "DISPLAYS"]];

/// Bytes of one field id.
const FID_LEN: u16 = 2;

pub(super) static SET_DEF: LazyLock<LocalSetDefsBuf> = LazyLock::new(|| {
    let arrays = [FIDS, VALUE, DISPLAY].map(|name| (name, DataType::ARRAY));
    LocalSetDefsBuf::elements(&[(0, &arrays)]).expect("a constant definition is valid")
});

/// Writes the summary data of a part.
pub(super) fn write_summary(slot: Slot<'_, '_>, tags: &Tags) -> Result<(), EncodeError> {
    let mut list = slot.element_list(&ElementListHead::STANDARD)?;
    list.put(Tags::TYPE, DictionaryType::Enums.code())?;
    list.put(Tags::DICTIONARY_ID, tags.dictionary_id())?;
    list.put(Tags::RT_VERSION, Primitive::ascii(tags.rt_version()))?;
    list.put(Tags::DT_VERSION, Primitive::ascii(tags.dt_version()))?;
    list.put(Tags::VERSION, Primitive::ascii(tags.dt_version()))?;
    list.finish()
}

/// Writes the three arrays of a table.
pub(super) fn write_entry(
    slot: Slot<'_, '_>,
    table: &EnumTable,
    def: ElementSetDef<'_>,
) -> Result<(), EncodeError> {
    let set = Some(SetHead { id: Some(0), def: Some(def) });
    let mut list = slot.element_list(&ElementListHead { info: None, set, standard: false })?;
    let fids = table.fids.iter().map(|fid| Primitive::Int(i64::from(*fid)));
    write_array(&mut list, FIDS, (DataType::INT, FID_LEN), fids)?;
    let values = table.values.iter().map(|value| Primitive::Enum(value.value));
    write_array(&mut list, VALUE, (DataType::ENUM, 0), values)?;
    if table.values.iter().all(|value| value.display.is_ascii()) {
        let displays = table.values.iter().map(|value| Primitive::Ascii(&value.display));
        write_array(&mut list, DISPLAY, (DataType::ASCII_STRING, 0), displays)?;
    } else {
        let displays = table.values.iter().map(|value| Primitive::Rmtes(&value.display));
        write_array(&mut list, DISPLAY, (DataType::RMTES_STRING, 0), displays)?;
    }
    list.finish()
}

pub(super) fn write_array<'v>(
    list: &mut ElementListWriter<'_, '_>,
    name: &str,
    (item_type, item_len): (DataType, u16),
    items: impl Iterator<Item = Primitive<'v>>,
) -> Result<(), EncodeError> {
    let mut array = list.slot(name, DataType::ARRAY)?.array(item_type, item_len)?;
    for item in items {
        array.put(item)?;
    }
    array.finish()
}

/// Reads the three arrays of a table, which may be in any order.
pub(super) fn read_entry(list: &ElementList<'_>) -> Result<(Vec<i16>, Vec<EnumValue>), PartError> {
    let [fids, values, displays] = find(list, NAMES)?;
    let fids = fids.required_numbers()?;
    let numbers: Vec<u16> = values.required_numbers()?;
    let texts = displays.required_texts()?;
    if numbers.len() != texts.len() {
        return Err(PartError::Unequal { keys: numbers.len(), values: texts.len() });
    }
    let values = numbers.into_iter().zip(texts).map(|(value, display)| EnumValue {
        value,
        display,
        meaning: Box::default(),
    });
    Ok((fids, values.collect()))
}
