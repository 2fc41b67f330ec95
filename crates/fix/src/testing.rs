//! What tests beside the code share.

use crate::frame::{SOH, START, sum};

/// A message whose body is written with `|` for the ends of fields.
pub(crate) fn wire(body: &str) -> Vec<u8> {
    let body: Vec<u8> = body.bytes().map(|byte| if byte == b'|' { SOH } else { byte }).collect();
    let mut wire = [START, format!("{}\x01", body.len()).as_bytes(), &body].concat();
    let sum = sum(&wire);
    wire.extend(format!("10={sum:03}\x01").bytes());
    wire
}
