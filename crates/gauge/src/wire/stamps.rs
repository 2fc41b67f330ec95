//! When the kernel and the network card had a message: `SO_TIMESTAMPING`.
//!
//! ```text
//!  program ──▶ kernel ──▶ card ┄┄ the other host ┄┄▶ card ──▶ kernel ──▶ program
//!  called      left       left                       came     came       taken
//!     └── send ──┘                                     └─ wire ──┴─ receive ─┘
//!                 └──────────────── outside ────────────────────┘
//! ```
//!
//! The kernel's moments and the program's are of one clock, the system's; a
//! card has its own, which is the system's only where something keeps it so.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::sockopt::Timestamping;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, RecvMsg, TimestampingFlag, Timestamps, recvmsg, setsockopt,
};
use nix::sys::time::TimeSpec;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::socket::SocketKind;

/// Both of the card's moments and the kernel's, also for what is sent
/// (`SOF_TIMESTAMPING_OPT_TX_SWHW`, which nix does not name).
const ALSO_OF_KERNEL: u32 = 1 << 14;

/// Room for what the kernel tells beside a message.
const SPACE_BYTES: usize = 256;

/// Moments of the last message that was sent, and of the last that came; in
/// nanoseconds. What was not told is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "units are in names")]
pub(crate) struct Stamped {
    /// The program has called `send`.
    pub(crate) called_ns: u64,
    /// The kernel has given it to the driver.
    pub(crate) left_ns: Option<u64>,
    /// The card has sent it.
    pub(crate) left_card_ns: Option<u64>,
    /// The card has it.
    pub(crate) came_card_ns: Option<u64>,
    /// The kernel has it from the driver.
    pub(crate) came_ns: Option<u64>,
    /// The program has it.
    pub(crate) taken_ns: u64,
}

/// The stamps of a socket.
pub(crate) struct Stamps {
    kind: SocketKind,
    space: Vec<u8>,
    last: Stamped,
    /// What the kernel counts by: bytes of a stream, or datagrams.
    sent: u32,
}

impl Stamps {
    /// Asks for the stamps of a connection over which nothing has gone yet.
    pub(super) fn of(fd: &OwnedFd, kind: SocketKind) -> io::Result<Self> {
        let wanted = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_RAW_HARDWARE
            | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_TX_HARDWARE
            | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_RX_HARDWARE
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
            | TimestampingFlag::from_bits_retain(ALSO_OF_KERNEL);
        setsockopt(fd, Timestamping, &wanted)?;
        Ok(Self { kind, space: vec![0; SPACE_BYTES], last: Stamped::default(), sent: 0 })
    }

    /// A message is about to be sent.
    pub(super) fn called(&mut self) {
        let called_ns = now_ns();
        self.last = Stamped { called_ns, left_ns: None, left_card_ns: None, ..self.last };
    }

    /// A call has taken so many bytes.
    pub(super) const fn sent(&mut self, bytes: usize) {
        let more = match self.kind {
            SocketKind::Datagram => 1,
            _ => bytes as u32,
        };
        self.sent = self.sent.wrapping_add(more);
    }

    /// Reads, with the moments of what comes.
    pub(super) fn receive(&mut self, fd: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
        let (bytes, stamps) = {
            let mut into = [IoSliceMut::new(buffer)];
            let space = Some(&mut self.space[..]);
            let read = recvmsg::<()>(fd.as_raw_fd(), &mut into, space, MsgFlags::empty());
            let read = read.map_err(|error| Errno::from_raw_os_error(error as i32))?;
            (read.bytes, told(&read).0)
        };
        self.last.taken_ns = now_ns();
        (self.last.came_ns, self.last.came_card_ns) = (None, None);
        if let Some(stamps) = stamps {
            self.last.came_ns = nanos(stamps.system);
            self.last.came_card_ns = nanos(stamps.hw_raw);
        }
        Ok(bytes)
    }

    /// Takes what the kernel has told of messages that were sent. Returns
    /// whether there was anything.
    pub(super) fn take_sent(&mut self, fd: &OwnedFd) -> bool {
        let mut has_any = false;
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        loop {
            let read = recvmsg::<()>(fd.as_raw_fd(), &mut [], Some(&mut self.space[..]), flags);
            let Ok(read) = read else { return has_any };
            has_any = true;
            let (Some(stamps), Some(number)) = told(&read) else { continue };
            // One that is late is of a message before.
            if number != self.sent.wrapping_sub(1) {
                continue;
            }
            self.last.left_ns = nanos(stamps.system).or(self.last.left_ns);
            self.last.left_card_ns = nanos(stamps.hw_raw).or(self.last.left_card_ns);
        }
    }

    pub(super) const fn last(&self) -> Stamped {
        self.last
    }
}

/// The moments beside a message, and the number of the one that was sent.
fn told(read: &RecvMsg<'_, '_, ()>) -> (Option<Timestamps>, Option<u32>) {
    let (mut stamps, mut number) = (None, None);
    // What did not fit is as if it was not told.
    for message in read.cmsgs().into_iter().flatten() {
        match message {
            ControlMessageOwned::ScmTimestampsns(of) => stamps = Some(of),
            ControlMessageOwned::Ipv4RecvErr(error, _)
            | ControlMessageOwned::Ipv6RecvErr(error, _) => number = Some(error.ee_data),
            _ => {}
        }
    }
    (stamps, number)
}

/// `None` of the moment 0, which says that there is none.
fn nanos(of: TimeSpec) -> Option<u64> {
    let nanos = of.tv_sec() as u64 * 1_000_000_000 + of.tv_nsec() as u64;
    (nanos > 0).then_some(nanos)
}

/// The clock of the kernel's stamps.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
