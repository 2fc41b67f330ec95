//! How long things take, and how much there may be.

use std::time::Duration;

/// How long things take, and how much there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The shortest interval between heartbeats that a client may ask for.
    pub shortest_heartbeat: Duration,
    /// The longest.
    pub longest_heartbeat: Duration,
    /// After so many intervals without a message of the other side, the end. Behind
    /// the first it is asked whether it is there.
    pub silent_intervals: u32,
    /// Application messages a second of one user.
    pub throttle_per_s: u32,
    /// Who sends more for so many seconds in a row is logged out.
    pub throttle_seconds: u32,
    /// Who has not logged on then is closed.
    pub logon_within: Duration,
}

impl Default for Limits {
    /// Heartbeats each second to each minute, three intervals, a thousand messages,
    /// five seconds, ten seconds.
    fn default() -> Self {
        Self {
            shortest_heartbeat: Duration::from_secs(1),
            longest_heartbeat: Duration::from_secs(60),
            silent_intervals: 3,
            throttle_per_s: 1000,
            throttle_seconds: 5,
            logon_within: Duration::from_secs(10),
        }
    }
}
