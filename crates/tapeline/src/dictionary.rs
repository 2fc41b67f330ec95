//! Field dictionaries from files.

use std::fs;
use std::path::Path;

use tapeline_omm::dictionary::{DictionaryType, FieldDictionary};

use crate::failure::{Failure, warn};

/// The dictionary of two files in the classic format, or the built-in one.
pub(crate) fn load(
    fields: Option<&Path>,
    enums: Option<&Path>,
) -> Result<FieldDictionary, Failure> {
    let (Some(fields), Some(enums)) = (fields, enums) else {
        return match fields.or(enums) {
            None => Ok(FieldDictionary::builtin().clone()),
            Some(_) => Err(Failure::Setting(
                "a dictionary is two files; give both the field dictionary and the enumeration \
                 tables"
                    .to_owned(),
            )),
        };
    };
    let field_text = fs::read(fields).map_err(Failure::read(fields))?;
    let enum_text = fs::read(enums).map_err(Failure::read(enums))?;
    match FieldDictionary::parse(&field_text, &enum_text) {
        Ok(dictionary) if dictionary.fields().is_empty() => {
            Err(Failure::NoField { path: fields.to_owned() })
        }
        Ok(dictionary) => {
            // A site may have no enumerations of its own.
            if dictionary.enum_tables().is_empty() {
                let path = enums.display();
                warn(&format!("no table in {path}; enumerations are shown as numbers"));
            }
            Ok(dictionary)
        }
        Err(error) => {
            let is_fields = error.dictionary == DictionaryType::Fields;
            let path = if is_fields { fields } else { enums };
            Err(Failure::Dictionary { path: path.to_owned(), error: Box::new(error) })
        }
    }
}
