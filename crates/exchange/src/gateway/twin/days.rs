//! Days in the twin.

use super::World;

const DAY_MS: u64 = 86_400_000;

/// As long before midnight no client logs on: the exchange might take its logon for the
/// first one of the next day.
const LAST_LOGON_MS: u64 = 500;

impl World {
    /// Where the exchange is, since 1970.
    pub(super) fn day(&self) -> u64 {
        self.now.as_nanos() / 1_000_000 / DAY_MS
    }

    fn to_midnight_ms(&self) -> u64 {
        DAY_MS - self.now.as_nanos() / 1_000_000 % DAY_MS
    }

    pub(super) fn ends_soon(&self) -> bool {
        self.to_midnight_ms() < LAST_LOGON_MS
    }
}
