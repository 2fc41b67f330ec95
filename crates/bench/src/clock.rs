//! The clock that source, clients, schedule and servers share.

use rustix::time::{ClockId, clock_gettime};

/// Now, in nanoseconds of the host's monotonic clock: the same in every
/// process.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
