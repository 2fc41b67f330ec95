//! How Aeron is set up.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::BackboneError;

/// Which media driver moves the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Driver {
    /// One inside this process, worked by the caller's own thread. Nothing
    /// else runs, and no other thread is in the way.
    Embedded {
        /// Its directory, on a memory file system. It is emptied at the start;
        /// a file beside it, locked while the process lives, keeps a second
        /// driver away. `None` takes a new one in `/dev/shm` that no other
        /// process knows: then nobody is given up for standing still, as all
        /// who could wait stand still together.
        directory: Option<PathBuf>,
    },
    /// The embedded one without a directory of its own choice, from another
    /// thread of its process. Nobody is given up here either.
    Neighbour {
        /// Its directory.
        directory: PathBuf,
    },
    /// One of another process, by its directory: an `aeronmd`, or the embedded
    /// one of a hub on the same host. Its time-outs and loss repair are its
    /// own; those here do not reach it.
    External {
        /// Its directory.
        directory: PathBuf,
    },
}

/// How an engine is set up. The defaults are for a local network with round
/// trips of some ten microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// Default: embedded, in a directory of its own.
    pub driver: Driver,

    /// Longest datagram on the network without IP and UDP headers, in bytes: a
    /// multiple of 32 up to 65504. All members must use the same. Default
    /// 1408; 8192 where the path carries jumbo frames.
    pub mtu_bytes: u32,
    /// Longest piece over shared memory, in bytes. Default 8192.
    pub ipc_mtu_bytes: u32,
    /// One of the three terms of a hub's stream, in bytes: a power of two from
    /// 64 KiB to 1 GiB. A frame that is longer than an eighth of it goes in
    /// pieces. Default `None`: 16 MiB, or twice the receiver's window, 4 MiB at least,
    /// where several networks carry the same: to give the log of a stream back takes the
    /// receiver's thread some milliseconds for each 16 MiB, which is not to be felt when
    /// one network is cut.
    pub data_term_bytes: Option<u32>,
    /// The same for what servers ask of hubs. Default 4 MiB.
    pub request_term_bytes: u32,
    /// How much a receiver lets a hub be ahead of it, in bytes: the longest
    /// stall without loss times the rate. At most half a term. Default 2 MiB,
    /// a tenth of a second at 100,000 small messages a second and more.
    pub receiver_window_bytes: u32,
    /// Socket buffers, in bytes. `net.core.rmem_max` and `wmem_max` bound
    /// them, and the receive buffer bounds the window. Default 2 MiB.
    pub socket_buffer_bytes: u32,
    /// The buffers of sockets that send, in bytes, if they are others. Default
    /// `None`: as `socket_buffer_bytes`.
    pub send_buffer_bytes: Option<u32>,
    /// How many networks a multicast datagram may cross, where a channel does not
    /// say it; 0 keeps it on the host. Default `None`: the kernel decides, which
    /// takes 1.
    pub ttl: Option<u8>,

    /// Longest wait before a receiver of multicast asks for what it missed; a
    /// round trip of the network. Default 20 µs.
    pub nak_backoff: Duration,
    /// How many receivers share the waiting when all of them miss the same.
    /// Default 2.
    pub nak_group_size: usize,
    /// For how long a sender ignores further requests for what it has just sent
    /// again; one or two round trips. Default 200 µs.
    pub retransmit_linger: Duration,

    /// How often the driver looks at its time-outs. Default 5 ms.
    pub timer_interval: Duration,
    /// After how long without a word a sender's stream is given up by a
    /// receiver. Default 400 ms.
    pub image_liveness: Duration,
    /// How often receivers tell their position. Default 20 ms.
    pub status_interval: Duration,
    /// After how long without a position a receiver is forgotten by a sender.
    /// Default 500 ms.
    pub connection_timeout: Duration,
    /// For how long a closed stream can still be repaired. Default 200 ms.
    pub publication_linger: Duration,
    /// After how long a reader over shared memory that is the last of several
    /// by three quarters of the window is left behind. Meanwhile the others get
    /// what the rest of the window and the sender's queue hold, and lose what
    /// is more; so it is short. Default 20 ms.
    pub window_limit_timeout: Duration,
    /// After how long such a reader may come back. Default 100 ms.
    pub resting_timeout: Duration,
    /// After how long without a sign of life a client is dead to its driver,
    /// where processes share it.
    ///
    /// It is also the longest this thread may stand still, or the host's clock
    /// step forward, without the engine having to be built anew, so it is not
    /// as short as the rest; presence finds dead peers sooner. Default 5 s.
    pub client_liveness: Duration,
    /// How often the client gives the sign. Default 100 ms.
    pub keepalive_interval: Duration,
    /// After how long without a sign of life a driver is dead to its clients
    /// in other processes. Default 5 s.
    pub driver_timeout: Duration,
}

impl Default for EngineSettings {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            driver: Driver::Embedded { directory: None },
            mtu_bytes: 1408,
            ipc_mtu_bytes: 8192,
            data_term_bytes: None,
            request_term_bytes: 4 << 20,
            receiver_window_bytes: 2 << 20,
            socket_buffer_bytes: 2 << 20,
            send_buffer_bytes: None,
            ttl: None,
            nak_backoff: Duration::from_micros(20),
            nak_group_size: 2,
            retransmit_linger: Duration::from_micros(200),
            timer_interval: ms(5),
            image_liveness: ms(400),
            status_interval: ms(20),
            connection_timeout: ms(500),
            publication_linger: ms(200),
            window_limit_timeout: ms(20),
            resting_timeout: ms(100),
            client_liveness: Duration::from_secs(5),
            keepalive_interval: ms(100),
            driver_timeout: Duration::from_secs(5),
        }
    }
}

/// The smallest and the largest term that Aeron has.
const TERM_BYTES: std::ops::RangeInclusive<u32> = 64 << 10..=1 << 30;

impl EngineSettings {
    /// Whether Aeron can work with them.
    pub fn check(&self) -> Result<(), BackboneError> {
        check_mtu("mtu_bytes", self.mtu_bytes)?;
        check_mtu("ipc_mtu_bytes", self.ipc_mtu_bytes)?;
        if let Some(bytes) = self.data_term_bytes {
            check_term("data_term_bytes", bytes)?;
        }
        check_term("request_term_bytes", self.request_term_bytes)?;
        if self.client_liveness <= self.keepalive_interval * 2 {
            return Err(BackboneError::Setting {
                setting: "client_liveness",
                value: format!("{:?}", self.client_liveness),
                problem: "it must be more than two keepalive intervals",
            });
        }
        Ok(())
    }
}

pub(crate) fn check_mtu(setting: &'static str, bytes: u32) -> Result<(), BackboneError> {
    if (1024..=65504).contains(&bytes) && bytes.is_multiple_of(32) {
        return Ok(());
    }
    Err(BackboneError::Setting {
        setting,
        value: bytes.to_string(),
        problem: "it must be a multiple of 32 from 1024 to 65504",
    })
}

pub(crate) fn check_term(setting: &'static str, bytes: u32) -> Result<(), BackboneError> {
    if TERM_BYTES.contains(&bytes) && bytes.is_power_of_two() {
        return Ok(());
    }
    Err(BackboneError::Setting {
        setting,
        value: bytes.to_string(),
        problem: "it must be a power of two from 65536 to 1073741824",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_hold() {
        EngineSettings::default().check().unwrap();
    }

    #[test]
    fn what_aeron_refuses_is_refused_by_name() {
        let defaults = EngineSettings::default;
        let cases = [
            ("mtu_bytes", EngineSettings { mtu_bytes: 1400, ..defaults() }),
            ("ipc_mtu_bytes", EngineSettings { ipc_mtu_bytes: 1 << 16, ..defaults() }),
            ("data_term_bytes", EngineSettings { data_term_bytes: Some(3 << 20), ..defaults() }),
            ("request_term_bytes", EngineSettings { request_term_bytes: 4096, ..defaults() }),
            (
                "client_liveness",
                EngineSettings { client_liveness: Duration::from_millis(200), ..defaults() },
            ),
        ];
        for (name, settings) in cases {
            let text = settings.check().unwrap_err().to_string();
            assert!(text.contains(name), "{text}");
        }
    }
}
