//! How long the engine waits for others, and what the host gives it.

use std::path::Path;
use std::time::Duration;

use crate::settings::{Driver, EngineSettings};

/// For ever, as far as Aeron can count: it adds twice this to its clocks, in
/// nanoseconds. The clock of the host may start in 1970.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl EngineSettings {
    /// How long a client may be silent, and a driver.
    pub(crate) const fn patience(&self) -> Patience {
        match self.driver {
            Driver::Embedded { directory: None } | Driver::Neighbour { .. } => {
                Patience { with_client: FOR_EVER, with_driver: FOR_EVER }
            }
            Driver::Embedded { directory: Some(_) } => {
                // Its own client and it are worked by the same thread.
                Patience { with_client: self.client_liveness, with_driver: FOR_EVER }
            }
            Driver::External { .. } => {
                Patience { with_client: self.client_liveness, with_driver: self.driver_timeout }
            }
        }
    }

    /// The window and the socket buffer that this host allows.
    pub(crate) fn bounded(&self, limits: HostLimits) -> (u32, u32) {
        let socket = self.socket_buffer_bytes.min(limits.receive_bytes);
        (self.receiver_window_bytes.min(socket), socket)
    }
}

/// For how long the other side of a driver's folder is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// A driver's with its clients.
    pub(crate) with_client: Duration,
    /// A client's with its driver.
    pub(crate) with_driver: Duration,
}

/// What the host allows, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostLimits {
    pub(crate) receive_bytes: u32,
}

impl HostLimits {
    /// Of this host; no limit where it does not tell.
    pub(crate) fn read() -> Self {
        Self::read_from(Path::new("/proc/sys/net/core/rmem_max"))
    }

    fn read_from(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        Self { receive_bytes: text.trim().parse().unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_who_can_be_left_alone_is_given_up() {
        let directory = PathBuf::from("/dev/shm/x");
        let patience = |driver| EngineSettings { driver, ..EngineSettings::default() }.patience();
        let five = Duration::from_secs(5);
        let cases = [
            (Driver::Embedded { directory: None }, FOR_EVER, FOR_EVER),
            (Driver::Neighbour { directory: directory.clone() }, FOR_EVER, FOR_EVER),
            (Driver::Embedded { directory: Some(directory.clone()) }, five, FOR_EVER),
            (Driver::External { directory }, five, five),
        ];
        for (driver, with_client, with_driver) in cases {
            assert_eq!(patience(driver), Patience { with_client, with_driver });
        }
    }

    #[test]
    fn the_hosts_limit_bounds_socket_and_window() {
        let settings = EngineSettings::default();
        let roomy = HostLimits { receive_bytes: u32::MAX };
        assert_eq!(settings.bounded(roomy), (2 << 20, 2 << 20));
        let tight = HostLimits { receive_bytes: 212_992 };
        assert_eq!(settings.bounded(tight), (212_992, 212_992));
    }

    #[test]
    fn a_host_that_does_not_tell_has_no_limit() {
        let limits = HostLimits::read_from(Path::new("/nonexistent/rmem_max"));
        assert_eq!(limits.receive_bytes, u32::MAX);
    }
}
