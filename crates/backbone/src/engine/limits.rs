//! How long the engine waits for others, and what the host gives it.

use std::path::Path;
use std::time::Duration;

use crate::settings::{Driver, EngineSettings};

/// For ever, as far as Aeron can count: it adds twice this to its clocks, in
/// nanoseconds. The clock of the host may start in 1970.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A term of a hub's stream, where nothing is said.
const DATA_TERM_BYTES: u32 = 16 << 20;

/// The least of one where several networks carry the same.
const REDUNDANT_TERM_BYTES: u32 = 4 << 20;

impl EngineSettings {
    /// A term of a hub's stream, where so many networks carry the same.
    pub(crate) fn data_term_bytes_over(&self, networks: usize) -> u32 {
        let window_bytes = self.receiver_window_bytes.min(DATA_TERM_BYTES / 2);
        self.data_term_bytes.unwrap_or(match networks {
            0 | 1 => DATA_TERM_BYTES,
            _ => (2 * window_bytes).next_power_of_two().max(REDUNDANT_TERM_BYTES),
        })
    }

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

    /// The window and the socket buffers that this host allows.
    pub(crate) fn bounded(&self, limits: HostLimits) -> Buffers {
        let receive_bytes = self.socket_buffer_bytes.min(limits.receive_bytes);
        Buffers {
            receive_bytes,
            window_bytes: self.receiver_window_bytes.min(receive_bytes),
            send_bytes: self.wanted_send_bytes().min(limits.send_bytes),
        }
    }

    fn wanted_send_bytes(&self) -> u32 {
        self.send_buffer_bytes.unwrap_or(self.socket_buffer_bytes)
    }

    /// What was asked for and this host does not give, as a sentence for the log.
    pub(crate) fn shortfall(&self, given: Buffers) -> Option<String> {
        let Buffers { receive_bytes, window_bytes, send_bytes } = given;
        let wanted = self.socket_buffer_bytes.max(self.receiver_window_bytes);
        let receive = (receive_bytes < wanted).then(|| {
            format!(
                "backbone sockets get {receive_bytes} of {wanted} bytes and receivers a window \
                 of {window_bytes}: raise net.core.rmem_max to survive longer stalls without loss"
            )
        });
        // The receivers' buffers are those that lose something; this one only if it was
        // asked for.
        let wanted = self.send_buffer_bytes.unwrap_or(0);
        let send = (send_bytes < wanted).then(|| {
            format!(
                "backbone sockets send through {send_bytes} of {wanted} bytes: raise \
                 net.core.wmem_max"
            )
        });
        let all: Vec<String> = receive.into_iter().chain(send).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// What sockets and windows get on this host, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "units are in names")]
pub(crate) struct Buffers {
    /// The buffer of a socket that receives.
    pub(crate) receive_bytes: u32,
    /// How much a receiver lets a hub be ahead of it.
    pub(crate) window_bytes: u32,
    /// The buffer of a socket that sends.
    pub(crate) send_bytes: u32,
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
    pub(crate) send_bytes: u32,
}

impl HostLimits {
    /// Of this host; no limit where it does not tell.
    pub(crate) fn read() -> Self {
        Self::read_from(Path::new("/proc/sys/net/core"))
    }

    fn read_from(folder: &Path) -> Self {
        let bytes = |name| {
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            text.trim().parse().unwrap_or(u32::MAX)
        };
        Self { receive_bytes: bytes("rmem_max"), send_bytes: bytes("wmem_max") }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn where_one_network_stands_in_for_another_little_is_given_back_when_it_is_cut() {
        let terms = |receiver_window_bytes, data_term_bytes| {
            let defaults = EngineSettings::default();
            let settings = EngineSettings { data_term_bytes, receiver_window_bytes, ..defaults };
            [1, 2].map(|networks| settings.data_term_bytes_over(networks) >> 20)
        };
        assert_eq!(terms(2 << 20, None), [16, 4]);
        assert_eq!(terms(64 << 10, None), [16, 4]);
        // A receiver may be half a term behind.
        assert_eq!(terms(3 << 20, None), [16, 8]);
        assert_eq!(terms(64 << 20, None), [16, 16]);
        assert_eq!(terms(2 << 20, Some(32 << 20)), [32, 32]);
    }

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
        let roomy = HostLimits { receive_bytes: u32::MAX, send_bytes: u32::MAX };
        let all = Buffers { receive_bytes: 2 << 20, window_bytes: 2 << 20, send_bytes: 2 << 20 };
        assert_eq!(settings.bounded(roomy), all);
        assert_eq!(settings.shortfall(all), None);
        let tight = HostLimits { receive_bytes: 212_992, send_bytes: 4096 };
        let some = Buffers { receive_bytes: 212_992, window_bytes: 212_992, send_bytes: 4096 };
        assert_eq!(settings.bounded(tight), some);
        assert_eq!(
            settings.shortfall(some).as_deref(),
            Some(
                "backbone sockets get 212992 of 2097152 bytes and receivers a window of 212992: \
                 raise net.core.rmem_max to survive longer stalls without loss"
            )
        );
    }

    #[test]
    fn sockets_that_send_have_buffers_of_their_own_if_it_is_said() {
        let own = EngineSettings { send_buffer_bytes: Some(4 << 20), ..EngineSettings::default() };
        let given = own.bounded(HostLimits { receive_bytes: u32::MAX, send_bytes: 1 << 20 });
        assert_eq!((given.receive_bytes, given.send_bytes), (2 << 20, 1 << 20));
        assert_eq!(
            own.shortfall(given).as_deref(),
            Some("backbone sockets send through 1048576 of 4194304 bytes: raise net.core.wmem_max")
        );
    }

    #[test]
    fn a_host_that_does_not_tell_has_no_limit() {
        let limits = HostLimits::read_from(Path::new("/nonexistent"));
        assert_eq!((limits.receive_bytes, limits.send_bytes), (u32::MAX, u32::MAX));
    }
}
