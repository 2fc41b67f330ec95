//! Reading dictionary payloads: elements by name, whatever their order and
//! encoding.

use tapeline_rwf::{Array, DataType, DecodeError, ElementList, Encoded, Primitive};

use super::{enums, fields};
use crate::dictionary::{DefinitionError, DictionaryBuilder, DictionaryType, Tags, text};

/// Why a received part of a dictionary is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The payload is no RWF.
    #[error("dictionary payload: {0}")]
    Decode(#[from] DecodeError),
    /// A definition contradicts itself or an earlier one.
    #[error("dictionary payload: {0}")]
    Definition(#[from] DefinitionError),
    /// The summary data says that this is another dictionary.
    #[error("dictionary payload: type {wanted} is expected, the summary says {found}")]
    Type {
        /// The type that was asked for.
        wanted: i64,
        /// The type that the summary data tells.
        found: i64,
    },
    /// An entry without one of the elements that it needs.
    #[error("dictionary payload: an entry has no element {0}")]
    Missing(&'static str),
    /// An element whose value is of a type that cannot be meant.
    #[error("dictionary payload: the value of element {0} has the wrong type")]
    ElementType(&'static str),
    /// A number that does not fit.
    #[error("dictionary payload: {number} is out of range for {element}")]
    OutOfRange {
        /// What the number is for, mostly the name of an element.
        element: &'static str,
        /// Its value.
        number: i128,
    },
    /// Two arrays of an entry that belong together and have unequal lengths.
    #[error("dictionary payload: an entry has {keys} values or names for {values} texts or types")]
    Unequal {
        /// How many values, field ids or names.
        keys: usize,
        /// How many display texts or types.
        values: usize,
    },
}

impl DictionaryBuilder {
    /// Adds the fields of a received part of a field dictionary.
    ///
    /// # Errors
    /// The part is not well-formed, or contradicts what is there; the entries
    /// before the fault have been added.
    pub fn add_fields_part(&mut self, payload: &Encoded<'_>) -> Result<(), PartError> {
        let series = payload.series()?;
        if let Some(summary) = series.summary() {
            let elements = summary.element_list()?;
            read_summary(&elements, DictionaryType::Fields, self.field_tags_mut())?;
        }
        for entry in &series {
            let field = fields::read_entry(&entry?.element_list_with(&series.set_defs())?)?;
            // A field that only enumeration tables know; it defines nothing.
            if field.rwf_type != DataType::UNKNOWN {
                self.add_field(field)?;
            }
        }
        Ok(())
    }

    /// Adds the tables of a received part of enumeration tables.
    ///
    /// # Errors
    /// The part is not well-formed, or contradicts what is there; the entries
    /// before the fault have been added.
    pub fn add_enums_part(&mut self, payload: &Encoded<'_>) -> Result<(), PartError> {
        let series = payload.series()?;
        if let Some(summary) = series.summary() {
            let elements = summary.element_list()?;
            read_summary(&elements, DictionaryType::Enums, self.enum_tags_mut())?;
        }
        for entry in &series {
            let entry = entry?.element_list_with(&series.set_defs())?;
            let (fids, values) = enums::read_entry(&entry)?;
            self.add_table(fids, values)?;
        }
        Ok(())
    }
}

impl DictionaryType {
    /// The type that the summary data of a received part tells, if it has any
    /// and the type is known. The name of the item does not tell it reliably.
    ///
    /// # Errors
    /// The payload is not well-formed.
    pub fn of_part(payload: &Encoded<'_>) -> Result<Option<Self>, PartError> {
        let Some(summary) = payload.series()?.summary() else { return Ok(None) };
        let [code] = find(&summary.element_list()?, [&[Tags::TYPE]])?;
        Ok(code.number()?.and_then(Self::from_code))
    }
}

/// Takes the versions of the summary data over, after a check of its type.
fn read_summary(
    list: &ElementList<'_>,
    wanted: DictionaryType,
    tags: &mut Tags,
) -> Result<(), PartError> {
    const NAMES: [&[&str]; 4] =
        [&[Tags::DICTIONARY_ID], &[Tags::RT_VERSION], &[Tags::DT_VERSION], &[Tags::VERSION]];
    let [code] = find(list, [&[Tags::TYPE]])?;
    match code.number::<i64>()? {
        Some(found) if found != wanted.code() => {
            return Err(PartError::Type { wanted: wanted.code(), found });
        }
        _ => {}
    }
    let [id, rt_version, dt_version, version] = find(list, NAMES)?;
    if let Some(id) = id.number::<i64>()? {
        tags.set(Tags::DICTIONARY_ID, &id.to_string());
    }
    for element in [rt_version, dt_version, version] {
        if let Some(version) = element.text()? {
            tags.set(element.name, &text::text(version));
        }
    }
    Ok(())
}

/// One element by name; its value is missing if there was none, or a blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    name: &'static str,
    value: Option<Encoded<'a>>,
}

/// The elements of N names, each name given in all its spellings. Elements of
/// other names are left out.
pub(super) fn find<'a, const N: usize>(
    list: &ElementList<'a>,
    names: [&[&'static str]; N],
) -> Result<[Element<'a>; N], PartError> {
    let mut found = names.map(|spellings| Element { name: spellings[0], value: None });
    for entry in list {
        let entry = entry?;
        let is_it = |names: &&[&str]| names.iter().any(|name| name.as_bytes() == entry.name);
        if let Some(at) = names.iter().position(is_it) {
            found[at].value = Some(entry.value).filter(|value| !value.bytes().is_empty());
        }
    }
    Ok(found)
}

impl<'a> Element<'a> {
    pub(super) fn is_missing(&self) -> bool {
        self.value.is_none()
    }

    /// A number, signed or not.
    pub(super) fn number<T: TryFrom<i128>>(&self) -> Result<Option<T>, PartError> {
        self.value.map(|value| number(self.name, &value)).transpose()
    }

    pub(super) fn required_number<T: TryFrom<i128>>(&self) -> Result<T, PartError> {
        self.number()?.ok_or(PartError::Missing(self.name))
    }

    /// A text of any kind.
    pub(super) fn text(&self) -> Result<Option<&'a [u8]>, PartError> {
        self.value.map(|value| string(self.name, &value)).transpose()
    }

    pub(super) fn required_text(&self) -> Result<&'a [u8], PartError> {
        self.text()?.ok_or(PartError::Missing(self.name))
    }

    fn required_array(&self) -> Result<Array<'a>, PartError> {
        let value = self.value.ok_or(PartError::Missing(self.name))?;
        value.array()?.ok_or(PartError::Missing(self.name))
    }

    /// An array of numbers.
    pub(super) fn required_numbers<T: TryFrom<i128>>(&self) -> Result<Vec<T>, PartError> {
        self.required_array()?.iter().map(|item| number(self.name, &item?)).collect()
    }

    /// An array of texts; those of one length are padded with zero bytes.
    pub(super) fn required_texts(&self) -> Result<Vec<Box<[u8]>>, PartError> {
        let array = self.required_array()?;
        let texts = array.iter().map(|item| {
            let text = string(self.name, &item?)?;
            let padding = match array.item_len() {
                0 => 0,
                _ => text.iter().rev().take_while(|byte| **byte == 0).count(),
            };
            Ok(text[..text.len() - padding].into())
        });
        texts.collect()
    }
}

fn number<T: TryFrom<i128>>(name: &'static str, value: &Encoded<'_>) -> Result<T, PartError> {
    let number = match value.primitive()? {
        Primitive::Int(number) => i128::from(number),
        Primitive::Uint(number) => i128::from(number),
        Primitive::Enum(number) => i128::from(number),
        Primitive::Blank(_) => return Err(PartError::Missing(name)),
        _ => return Err(PartError::ElementType(name)),
    };
    T::try_from(number).map_err(|_| PartError::OutOfRange { element: name, number })
}

fn string<'a>(name: &'static str, value: &Encoded<'a>) -> Result<&'a [u8], PartError> {
    match value.primitive()? {
        Primitive::Ascii(text)
        | Primitive::Utf8(text)
        | Primitive::Rmtes(text)
        | Primitive::Buffer(text) => Ok(text),
        Primitive::Blank(_) => Ok(&[]),
        _ => Err(PartError::ElementType(name)),
    }
}
