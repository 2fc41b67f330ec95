//! The clock that source, clients, schedule and servers share.

use tapeline_time::host_now;

/// Now, in nanoseconds of the host's monotonic clock: the same in every
/// process.
#[inline]
pub fn now_ns() -> u64 {
    host_now().as_nanos()
}
