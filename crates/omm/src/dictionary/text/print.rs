//! Writing both files.

use std::fmt::{self, Write};

use super::super::{EnumTable, FieldDef, FieldDictionary, Tags};
use super::fields::NO_RIPPLE;

/// The text of the fields.
pub(in super::super) fn print_fields(dictionary: &FieldDictionary) -> String {
    let mut text = String::new();
    print_tags(&mut text, dictionary.field_tags());
    text.push_str("!ACRONYM   LONG NAME  FID  RIPPLES TO  FIELD TYPE  LENGTH  RWF TYPE  RWF LEN\n");
    for def in dictionary.fields() {
        // Writing to a String does not fail.
        let _ = print_field(&mut text, dictionary, def);
    }
    text
}

fn print_field(text: &mut String, dictionary: &FieldDictionary, def: &FieldDef) -> fmt::Result {
    let ripple = def.ripples_to.and_then(|fid| dictionary.field(fid));
    let ripple = ripple.map_or(NO_RIPPLE, |target| &target.acronym);
    let long_name = one_line(&def.long_name).replace('"', "'");
    write!(text, "{:<10} {:<24} ", def.acronym, format!("\"{long_name}\""))?;
    write!(text, "{:>6}  {ripple:<10}  {:<13} {:>5}", def.fid, def.field_type, def.length)?;
    if def.enum_length > 0 {
        write!(text, " ( {} )", def.enum_length)?;
    }
    writeln!(text, "  {:<13} {:>5}", def.rwf_type, def.rwf_length)
}

/// The text of the enumeration tables.
pub(in super::super) fn print_enums(dictionary: &FieldDictionary) -> String {
    let mut text = String::new();
    print_tags(&mut text, dictionary.enum_tags());
    for table in dictionary.enum_tables() {
        // Writing to a String does not fail.
        let _ = print_table(&mut text, dictionary, table);
    }
    text
}

fn print_table(text: &mut String, dictionary: &FieldDictionary, table: &EnumTable) -> fmt::Result {
    text.push_str("! ACRONYM    FID\n");
    for &fid in table.fids() {
        match dictionary.field(fid) {
            Some(def) => writeln!(text, "{:<10} {fid:>5}", def.acronym)?,
            None => writeln!(text, "FIELD_{fid:<4} {fid:>5}")?,
        }
    }
    text.push_str("! VALUE      DISPLAY   MEANING\n");
    for value in table.values() {
        let display = display(&value.display);
        writeln!(text, "{:>7}  {display:>11}   {}", value.value, one_line(&value.meaning))?;
    }
    Ok(())
}

fn print_tags(text: &mut String, tags: &Tags) {
    for (name, value) in tags.iter() {
        let _ = writeln!(text, "!tag {name:<12} {}", one_line(value));
    }
}

/// A display text in quotes, or in hexadecimal if quotes cannot hold it.
fn display(bytes: &[u8]) -> String {
    let printable = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"';
    match str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(printable) => format!("\"{text}\""),
        _ => bytes.iter().fold("#".to_owned(), |text, byte| format!("{text}{byte:02X}")) + "#",
    }
}

/// A text that came from elsewhere than a file may have line breaks in it.
fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}
