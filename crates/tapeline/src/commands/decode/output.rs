//! Messages on the output, as text or JSON.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tapeline_inspect::{Fields, Ink, Inspector, Limits, Palette, hex};
use tapeline_rwf::{DataType, Encoded};

/// Bytes shown of data that does not decode.
const SHOWN_BYTES: usize = 64;

/// Where messages go and how they look.
pub(super) struct Output<'o> {
    out: &'o mut dyn Write,
    pub(super) fields: &'o dyn Fields,
    pub(super) palette: Palette,
    pub(super) is_json: bool,
    inspector: Inspector<'o>,
    /// Whether something could not be decoded.
    pub(super) has_faults: bool,
}

impl<'o> Output<'o> {
    pub(super) fn new(
        out: &'o mut dyn Write,
        fields: &'o dyn Fields,
        limits: Limits,
        palette: Palette,
        is_json: bool,
    ) -> Self {
        let inspector = Inspector::new(fields).with_limits(limits);
        Self { out, fields, palette, is_json, inspector, has_faults: false }
    }

    /// Writes text as it is.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Writes a line in a colour.
    pub(super) fn line(&mut self, ink: Ink, text: &str) -> io::Result<()> {
        let mut line = String::new();
        self.palette.paint(&mut line, ink, text);
        line.push('\n');
        self.text(&line)
    }

    /// Writes a fault, indented; JSON has it in its object.
    pub(super) fn fault(&mut self, indent: usize, text: &str) -> io::Result<()> {
        self.has_faults = true;
        self.text(&"  ".repeat(indent))?;
        self.line(Ink::Fault, text)
    }

    /// Hands what was written on to whoever reads the output.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes an object on a line of its own.
    pub(super) fn object(&mut self, object: &Value) -> io::Result<()> {
        writeln!(self.out, "{object}")
    }

    /// Shows one piece of data: as text from a level of indentation on, or as
    /// JSON with an envelope around the value. Bytes behind its end are a fault
    /// beside it.
    pub(super) fn data(
        &mut self,
        data_type: DataType,
        bytes: &[u8],
        indent: usize,
        envelope: impl FnOnce() -> Map<String, Value>,
    ) -> io::Result<()> {
        let data = Encoded::new(data_type, bytes);
        let surplus = self.inspector.surplus(&data, None);
        if self.is_json {
            let mut object = envelope();
            let fault = match self.inspector.to_value(&data, None) {
                Ok(value) => {
                    object.insert("value".to_owned(), value);
                    surplus.map(|surplus| surplus.to_string())
                }
                Err(error) => Some(error.to_string()),
            };
            if let Some(fault) = fault {
                self.has_faults = true;
                object.insert("error".to_owned(), json!(fault));
            }
            return self.object(&object.into());
        }
        let mut text = String::new();
        let printed = self.inspector.print(&data, None, (self.palette, indent), &mut text);
        self.text(&text)?;
        let (fault, bytes) = match (printed, surplus) {
            (Ok(()), None) => return Ok(()),
            (Ok(()), Some(surplus)) => {
                (surplus.to_string(), bytes.get(surplus.offset..).unwrap_or_default())
            }
            (Err(error), _) => (error.to_string(), bytes),
        };
        self.fault(indent, &format!("fault: {fault}"))?;
        match bytes {
            [] => Ok(()),
            _ => self.fault(indent, &format!("bytes: {}", short_hex(bytes))),
        }
    }
}

fn short_hex(bytes: &[u8]) -> String {
    match bytes.split_at_checked(SHOWN_BYTES) {
        Some((start, [_, ..])) => format!("{}… ({} in all)", hex(start), bytes.len()),
        _ => hex(bytes),
    }
}
