//! The project's own form of data files.

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Domain, FieldListInfo, UpdateType};
use toml::{Table, Value};

use super::{Content, DEFAULT_STAMP_FIELD, Fault, Field, value};

/// Reads a file's text.
pub(super) fn read(text: &str, dictionary: &FieldDictionary) -> Result<Content, Fault> {
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return Err(Fault::new("text", format!("no TOML: {error}"))),
    };
    check_keys(&table, "file", &["domain", "template", "dictionary", "stamp", "image", "update"])?;
    let image = match table.get("image") {
        Some(Value::Table(fields)) => read_fields(fields, "image", dictionary)?,
        _ => return Err(Fault::new("image", "the table of its fields is missing")),
    };
    let mut updates = Vec::new();
    let tables = table.get("update").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (number, update) in tables.iter().enumerate() {
        updates.push(read_update(update, &format!("update {number}"), dictionary)?);
    }
    Ok(Content {
        domain: code(&table, "file", "domain", Domain::from_name)?.unwrap_or(Domain::MARKET_PRICE),
        info: info(&table)?,
        stamp_field: stamp_field(&table, dictionary)?,
        image,
        updates,
    })
}

/// Misspelt keys are errors: nothing is left out in silence.
fn check_keys(table: &Table, place: &str, known: &[&str]) -> Result<(), Fault> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => {
            let known = known.join(", ");
            Err(Fault::new(place, format!("'{key}' is not known; known are {known}")))
        }
        None => Ok(()),
    }
}

/// A named code, if it is given.
fn code<T>(
    table: &Table,
    place: &str,
    key: &str,
    from_name: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Fault> {
    let Some(value) = table.get(key) else { return Ok(None) };
    match value.as_str().and_then(from_name) {
        Some(code) => Ok(Some(code)),
        None => Err(Fault::new(place, format!("{key} = {value} is not known"))),
    }
}

fn info(table: &Table) -> Result<Option<FieldListInfo>, Fault> {
    let number = |key: &str, max: u16| match table.get(key) {
        None => Ok(None),
        Some(value) => match value.as_integer().and_then(|number| u16::try_from(number).ok()) {
            Some(number) if number <= max => Ok(Some(number)),
            _ => Err(Fault::new("file", format!("{key} = {value} is no number up to {max}"))),
        },
    };
    let (list_number, dictionary_id) =
        (number("template", u16::MAX)?, number("dictionary", 0x7FFF)?);
    Ok(list_number.map(|list_number| {
        let dictionary_id = dictionary_id.unwrap_or(1);
        FieldListInfo { dictionary_id, list_number }
    }))
}

fn stamp_field(table: &Table, dictionary: &FieldDictionary) -> Result<i16, Fault> {
    match table.get("stamp") {
        None => Ok(DEFAULT_STAMP_FIELD),
        Some(Value::String(name)) if name == "TIM_TRK_1" => Ok(DEFAULT_STAMP_FIELD),
        Some(Value::String(name)) => field_id(name, dictionary)
            .ok_or_else(|| Fault::new("file", format!("stamp = \"{name}\" is no known field"))),
        Some(value) => value
            .as_integer()
            .and_then(|id| i16::try_from(id).ok())
            .ok_or_else(|| Fault::new("file", format!("stamp = {value} is no field"))),
    }
}

fn read_update(
    update: &Value,
    place: &str,
    dictionary: &FieldDictionary,
) -> Result<(UpdateType, Vec<Field>), Fault> {
    let Some(table) = update.as_table() else {
        return Err(Fault::new(place, "an update is a table: [[update]]"));
    };
    check_keys(table, place, &["type", "fields"])?;
    let update_type = code(table, place, "type", UpdateType::from_name)?;
    let fields = match table.get("fields") {
        Some(Value::Table(fields)) => read_fields(fields, place, dictionary)?,
        _ => return Err(Fault::new(place, "the table of its fields is missing")),
    };
    Ok((update_type.unwrap_or(UpdateType::UNSPECIFIED), fields))
}

fn read_fields(
    table: &Table,
    place: &str,
    dictionary: &FieldDictionary,
) -> Result<Vec<Field>, Fault> {
    let fields = table.iter().map(|(name, value)| {
        let fault = |fault| Fault::new(format!("{place}, field {name}"), fault);
        let id = field_id(name, dictionary)
            .ok_or_else(|| fault("neither a number nor in the field dictionary".to_owned()))?;
        let (data_type, value) = match value {
            Value::Table(typed) => typed_value(typed).map_err(fault)?,
            value => match dictionary.field(id) {
                Some(field) => (field.rwf_type, value),
                None => {
                    return Err(fault(
                        "not in the dictionary: { type, value } is needed".to_owned(),
                    ));
                }
            },
        };
        let value = text(value).and_then(|text| value::encode(data_type, &text)).map_err(fault)?;
        Ok(Field { id, value })
    });
    fields.collect()
}

/// A field by acronym or number.
fn field_id(name: &str, dictionary: &FieldDictionary) -> Option<i16> {
    match name.parse() {
        Ok(id) => Some(id),
        Err(_) => dictionary.field_by_acronym(name).map(|field| field.fid),
    }
}

/// A value with its type: `{ type = "UINT", value = 7 }`.
fn typed_value(table: &Table) -> Result<(DataType, &Value), String> {
    let data_type = table.get("type").and_then(Value::as_str).and_then(DataType::from_name);
    match (data_type, table.get("value")) {
        (Some(data_type), Some(value)) if table.len() == 2 => Ok((data_type, value)),
        _ => Err("{ type = \"UINT\", value = 7 } or the like is needed".to_owned()),
    }
}

/// A value as text, which the type of the field decides how to read.
fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Datetime(date_time) => Ok(date_time.to_string()),
        other => Err(format!("{other} is no value of a field")),
    }
}
