//! The clock that source, client and schedule share.

use std::sync::OnceLock;
use std::time::Instant;

static ORIGIN: OnceLock<Instant> = OnceLock::new();

/// Now, in nanoseconds of the host's monotonic clock since it was first asked
/// for, but never 0.
#[inline]
pub(crate) fn now_ns() -> u64 {
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}
