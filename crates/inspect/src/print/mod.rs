//! From bytes to indented text.
//!
//! Unlike the `value` form this is for the eye: blanks are called so, prices
//! are decimals, enumerations show their text. What comes before a fault is
//! shown.

mod container;
mod list;
mod msg;
mod palette;
mod primitive;

pub use palette::{Ink, Palette};

use core::fmt::Display;

use tapeline_rwf::{DataType, Encoded, SetDefs};

use crate::names::{latin1, type_name};
use crate::{Fields, InspectError};

/// Bytes of no known form that are shown at most.
const MAX_HEX_BYTES: usize = 64;

/// One walk through one piece of data.
pub(crate) struct Print<'i> {
    pub(crate) fields: &'i dyn Fields,
    pub(crate) palette: Palette,
    pub(crate) out: &'i mut String,
    pub(crate) indent: usize,
    pub(crate) max_nodes: usize,
    pub(crate) nodes: usize,
}

type Printed = Result<(), InspectError>;

impl Print<'_> {
    /// Counts one more entry or value.
    fn count(&mut self) -> Printed {
        self.nodes += 1;
        if self.nodes > self.max_nodes {
            return Err(InspectError::TooManyNodes { limit: self.max_nodes });
        }
        Ok(())
    }

    fn begin_line(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    fn end_line(&mut self) {
        let len = self.out.trim_end_matches(' ').len();
        self.out.truncate(len);
        self.out.push('\n');
    }

    fn ink(&mut self, ink: Ink, text: impl Display) {
        self.palette.paint(self.out, ink, &text.to_string());
    }

    /// A piece of a line behind a blank.
    fn piece(&mut self, ink: Ink, text: impl Display) {
        self.out.push(' ');
        self.ink(ink, text);
    }

    /// `name value` on a line of its own.
    fn part(&mut self, name: &str, value: impl Display) {
        self.begin_line();
        self.ink(Ink::Name, name);
        self.piece(Ink::Value, value);
        self.end_line();
    }

    /// Writes what is inside, one level further in.
    fn inside(&mut self, write: impl FnOnce(&mut Self) -> Printed) -> Printed {
        self.indent += 1;
        let written = write(self);
        self.indent -= 1;
        written
    }

    /// Ends the line that was begun with the data: a primitive on it, a
    /// container on the lines below.
    pub(crate) fn data<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        self.count()?;
        let data_type = data.data_type();
        let is_root = data.path().depth() == 0;
        match data_type {
            DataType::MSG if is_root || !data.is_empty() => self.msg(data, defs),
            _ if !data_type.is_container() => self.primitive_line(data, None),
            _ if data.is_empty() => {
                self.ink(Ink::Head, type_name(data_type));
                if data_type != DataType::NO_DATA {
                    self.piece(Ink::Aside, "(empty)");
                }
                self.end_line();
                Ok(())
            }
            DataType::FIELD_LIST => self.field_list(data, defs),
            DataType::ELEMENT_LIST => self.element_list(data, defs),
            DataType::FILTER_LIST => self.filter_list(data, defs),
            DataType::VECTOR => self.vector(data, defs),
            DataType::SERIES => self.series(data, defs),
            DataType::MAP => self.map(data, defs),
            _ => {
                self.ink(Ink::Head, type_name(data_type));
                let text = match data_type {
                    // Escape sequences are what a page is made of.
                    DataType::ANSI_PAGE => primitive::quoted(&latin1(data.bytes())),
                    _ => primitive::bytes_or_text(data.bytes()),
                };
                self.piece(Ink::Value, text);
                self.end_line();
                Ok(())
            }
        }
    }
}

/// What is left of set definitions one container further in.
fn deeper<'a>(defs: &SetDefs<'a>) -> SetDefs<'a> {
    SetDefs { local: None, global: defs.global }
}
