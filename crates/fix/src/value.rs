//! Values of fields.

/// A price or quantity, with 8 decimals: `4800.25` is 480,025,000,000. `None` for what
/// is no number, or has more decimals or digits than that.
pub fn decimal(value: &[u8]) -> Option<i64> {
    let _ = value;
    todo!()
}

/// A time as nanoseconds since 1970, from `20261126-21:11:13` with three, six, nine or
/// no decimals.
pub fn timestamp_ns(value: &[u8]) -> Option<u64> {
    let _ = value;
    todo!()
}

/// A whole number.
pub fn number(value: &[u8]) -> Option<i64> {
    let _ = value;
    todo!()
}
