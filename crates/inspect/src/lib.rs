//! RWF bytes as a tree, for people and machines, and back.
//!
//! * [`Inspector::to_value`]: bytes as a JSON `value`, which holds all that is
//!   in them;
//! * [`to_bytes`]: a `value` as bytes, lengths in their shortest form;
//! * [`Inspector::print`]: bytes as indented text for people;
//! * [`capture`]: captured sessions, from packets to messages;
//! * [`Vector`]: golden vectors, decoded and checked.
//!
//! ```
//! use tapeline_inspect::{Inspector, NoFields, to_bytes};
//! use tapeline_rwf::{DataType, Encoded};
//!
//! let bytes = [0x0C, 0x11, 0xA0];
//! let inspector = Inspector::new(&NoFields);
//! let value = inspector.to_value(&Encoded::new(DataType::REAL, &bytes), None)?;
//! assert_eq!(value.to_string(), r#"{"type":"REAL","hint":12,"v":"4512"}"#);
//! assert_eq!(to_bytes(&value)?, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The `value` form
//!
//! Every value is an object that begins with its `type`. Numbers of 64 bits are
//! strings, bytes are hexadecimal (`…Hex`), texts of headers are Latin-1, so
//! that nothing is lost whatever their bytes are.
//!
//! ```text
//! every type          type; blank: true (and len, if spelled out in bytes)
//! INT UINT            v as string                ENUM   v
//! FLOAT DOUBLE        bits, hexadecimal; v for people
//! REAL                hint; v, the integer (not for the infinities and NaN)
//! DATE                day month year
//! TIME DATETIME       len; (date), hour minute second ms us ns
//! QOS                 timeliness rate dynamic timeInfo rateInfo
//! STATE               stream data code text
//! BUFFER, strings     hex; text if printable
//! ARRAY               primitive itemLength items
//! FIELD_LIST          flags dictId listNum setId set [fid st data] setHex std [fid data]
//! ELEMENT_LIST        the same with name, without dictId
//! FILTER_LIST         flags containerType hint entries [action flags id containerType
//!                     permHex data]
//! VECTOR SERIES MAP   flags (keyType) containerType (keyFieldId) setDefs summary hint
//!                     entries [action flags index permHex key data]
//! MSG                 class domain streamId flags containerType, the parts that are
//!                     there, key [flags serviceId name nameType filter identifier attrib],
//!                     extHdrHex, payload
//! containers          empty: true for zero bytes
//! others              hex; text if printable
//! ```

mod build;
pub mod capture;
mod context;
mod describe;
mod error;
mod fields;
mod form;
mod names;
mod print;
mod surplus;
mod vector;

pub use build::to_bytes;
pub use context::Context;
pub use error::{BuildError, BuildErrorKind, InspectError};
pub use fields::{Fields, NoFields};
pub use form::{Form, HexError, read_hex};
pub use names::hex;
pub use print::{Ink, Palette};
pub use surplus::Surplus;
pub use vector::{Outcome, Vector, VectorError};

use serde_json::Value;

use tapeline_rwf::{Encoded, GlobalSetDefs, LocalSetDefs, SetDefs};

use crate::describe::Describe;
use crate::print::Print;

/// How much an [`Inspector`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entries and values of one piece of data. The bytes do not bound
    /// them: a series of `NO_DATA` claims 65535 entries in five bytes. Each
    /// takes less than [`NODE_BYTES`](Self::NODE_BYTES) of memory.
    pub max_nodes: usize,
}

impl Limits {
    /// What one entry or value takes in memory at most, in bytes, apart from
    /// the texts in it; these are at most [`TEXT_FACTOR`](Self::TEXT_FACTOR)
    /// times the input.
    pub const NODE_BYTES: usize = 8192;
    /// See [`NODE_BYTES`](Self::NODE_BYTES).
    pub const TEXT_FACTOR: usize = 16;
}

impl Default for Limits {
    /// 250,000 nodes: several times the largest messages in use.
    fn default() -> Self {
        Self { max_nodes: 250_000 }
    }
}

/// Shows RWF data.
#[derive(Clone, Copy)]
pub struct Inspector<'d> {
    fields: &'d dyn Fields,
    global_set_defs: Option<&'d GlobalSetDefs>,
    limits: Limits,
}

impl<'d> Inspector<'d> {
    /// An inspector with names and types of fields.
    pub fn new(fields: &'d dyn Fields) -> Self {
        Self { fields, global_set_defs: None, limits: Limits::default() }
    }

    /// The same with set definitions from dictionaries.
    #[must_use]
    pub fn with_global_set_defs(self, global_set_defs: &'d GlobalSetDefs) -> Self {
        Self { global_set_defs: Some(global_set_defs), ..self }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Data of any type, all that is inside included, as a `value`. `local`
    /// are the set definitions of the container that the data was taken from.
    pub fn to_value<'a>(
        &self,
        data: &Encoded<'a>,
        local: Option<LocalSetDefs<'a>>,
    ) -> Result<Value, InspectError>
    where
        'd: 'a,
    {
        let defs = SetDefs { local, global: self.global_set_defs };
        let max_nodes = self.limits.max_nodes;
        Describe { fields: self.fields, max_nodes, nodes: 0 }.data(data, &defs)
    }

    /// Data of any type, all that is inside included, as indented text that is
    /// appended to `out`; `indent` is the level of the first line.
    ///
    /// On an error `out` holds what comes before it.
    pub fn print<'a>(
        &self,
        data: &Encoded<'a>,
        local: Option<LocalSetDefs<'a>>,
        (palette, indent): (Palette, usize),
        out: &mut String,
    ) -> Result<(), InspectError>
    where
        'd: 'a,
    {
        let defs = SetDefs { local, global: self.global_set_defs };
        let (fields, max_nodes) = (self.fields, self.limits.max_nodes);
        let start = out.len();
        out.extend(std::iter::repeat_n("  ", indent));
        let printed = Print { fields, palette, out, indent, max_nodes, nodes: 0 }.data(data, &defs);
        if printed.is_err() {
            end_cut_line(out, start);
        }
        printed
    }

    /// The bytes behind the end of outermost data that tells where it ends, a
    /// message's payload included. They are in neither `value` nor text: who
    /// decodes RWF ignores them. `local` is as for [`to_value`](Self::to_value).
    pub fn surplus<'a>(
        &self,
        data: &Encoded<'a>,
        local: Option<LocalSetDefs<'a>>,
    ) -> Option<Surplus>
    where
        'd: 'a,
    {
        surplus::surplus(data, &SetDefs { local, global: self.global_set_defs })
    }
}

/// Ends the line that an error has cut off in the text from `start` on; of a
/// line that holds nothing yet, nothing stays.
fn end_cut_line(out: &mut String, start: usize) {
    let printed = out.get(start..).unwrap_or_default().trim_end_matches(' ');
    let is_ended = printed.is_empty() || printed.ends_with('\n');
    let len = start + printed.len();
    out.truncate(len);
    if !is_ended {
        out.push('\n');
    }
}
