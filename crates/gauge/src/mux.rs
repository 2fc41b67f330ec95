//! What a side asks before it reads: which of its descriptors is ready.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::str::FromStr;
use std::time::Duration;

use nix::sys::select::{FdSet, select};
use nix::sys::time::{TimeVal, TimeValLike};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

/// How readiness is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Muxer {
    /// Not at all: the descriptor is read.
    #[default]
    None,
    /// select(2), with its set built anew each time.
    Select,
    /// poll(2).
    Poll,
    /// epoll with a set that stays.
    Epoll,
    /// The same, with the descriptor modified before each wait.
    EpollMod,
    /// The same, with the descriptor added before and removed after.
    EpollAdddel,
}

impl Muxer {
    /// All there are.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Select, Self::Poll, Self::Epoll, Self::EpollMod, Self::EpollAdddel];

    /// As the option has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Select => "select",
            Self::Poll => "poll",
            Self::Epoll => "epoll",
            Self::EpollMod => "epoll_mod",
            Self::EpollAdddel => "epoll_adddel",
        }
    }
}

impl fmt::Display for Muxer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Muxer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|muxer| muxer.name() == text);
        found.ok_or_else(|| "give none, select, poll, epoll, epoll_mod or epoll_adddel".to_owned())
    }
}

/// Waits for one descriptor, among idle ones that only make the set larger.
pub(crate) struct Waiter {
    muxer: Muxer,
    /// Ask again instead of sleeping.
    is_spinning: bool,
    idle: Vec<OwnedFd>,
    /// A closed one would make its near end ready.
    _far_ends: Vec<OwnedFd>,
    epoll: Option<OwnedFd>,
    events: Vec<epoll::Event>,
    /// Whether it was added to the epoll set.
    is_added: bool,
}

/// The event of the descriptor that is read; idle ones have others.
const WANTED: u64 = u64::MAX;

impl Waiter {
    pub(crate) fn new(muxer: Muxer, is_spinning: bool, idle: IdleSet) -> io::Result<Self> {
        let IdleSet { descriptors: idle, far_ends } = idle;
        let epoll = match muxer {
            Muxer::Epoll | Muxer::EpollMod | Muxer::EpollAdddel => {
                let set = epoll::create(CreateFlags::CLOEXEC)?;
                for (number, fd) in idle.iter().enumerate() {
                    epoll::add(&set, fd, EventData::new_u64(number as u64), EventFlags::IN)?;
                }
                Some(set)
            }
            _ => None,
        };
        let events = Vec::with_capacity(8);
        Ok(Self { muxer, is_spinning, idle, _far_ends: far_ends, epoll, events, is_added: false })
    }

    /// Whether there is anything to ask.
    pub(crate) const fn asks(&self) -> bool {
        !matches!(self.muxer, Muxer::None)
    }

    /// Asks once, and sleeps for `patience` at most unless this spins. Returns
    /// whether `fd` can be read.
    pub(crate) fn wait(&mut self, fd: &OwnedFd, patience: Option<Duration>) -> io::Result<bool> {
        let patience = if self.is_spinning { Some(Duration::ZERO) } else { patience };
        match self.muxer {
            Muxer::None => Ok(true),
            Muxer::Select => self.by_select(fd, patience),
            Muxer::Poll => self.by_poll(fd, patience),
            Muxer::Epoll | Muxer::EpollMod | Muxer::EpollAdddel => self.by_epoll(fd, patience),
        }
    }

    fn by_select(&self, fd: &OwnedFd, patience: Option<Duration>) -> io::Result<bool> {
        let fits = |fd: &OwnedFd| fd.as_raw_fd() < nix::sys::select::FD_SETSIZE as i32;
        if !fits(fd) || !self.idle.iter().all(fits) {
            return Err(io::Error::other("select takes descriptors below 1024 only"));
        }
        let mut set = FdSet::new();
        set.insert(fd.as_fd());
        for idle in &self.idle {
            set.insert(idle.as_fd());
        }
        let mut timeout = patience.map(|wait| TimeVal::microseconds(wait.as_micros() as i64));
        select(None, Some(&mut set), None, None, timeout.as_mut())?;
        Ok(set.contains(fd.as_fd()))
    }

    fn by_poll(&self, fd: &OwnedFd, patience: Option<Duration>) -> io::Result<bool> {
        let timeout = patience.map(timespec);
        // On the stack: a set on the heap would be what is measured.
        match self.idle.len() {
            0 => poll_first::<1>(fd, &self.idle, timeout.as_ref()),
            1..16 => poll_first::<16>(fd, &self.idle, timeout.as_ref()),
            16..128 => poll_first::<128>(fd, &self.idle, timeout.as_ref()),
            _ => poll_first::<{ MAX_IDLE + 1 }>(fd, &self.idle, timeout.as_ref()),
        }
    }

    fn by_epoll(&mut self, fd: &OwnedFd, patience: Option<Duration>) -> io::Result<bool> {
        let Some(set) = &self.epoll else { return Ok(true) };
        let wanted = EventData::new_u64(WANTED);
        match self.muxer {
            Muxer::EpollMod if self.is_added => epoll::modify(set, fd, wanted, EventFlags::IN)?,
            Muxer::EpollAdddel => epoll::add(set, fd, wanted, EventFlags::IN)?,
            _ if !self.is_added => epoll::add(set, fd, wanted, EventFlags::IN)?,
            _ => {}
        }
        self.is_added = true;
        self.events.clear();
        let timeout = patience.map(timespec);
        let waited =
            epoll::wait(set, rustix::buffer::spare_capacity(&mut self.events), timeout.as_ref());
        if self.muxer == Muxer::EpollAdddel {
            epoll::delete(set, fd)?;
        }
        waited?;
        Ok(self.events.iter().any(|event| event.data.u64() == WANTED))
    }
}

/// Whether the first of a set can be read; at most N − 1 others are in it.
fn poll_first<const N: usize>(
    fd: &OwnedFd,
    idle: &[OwnedFd],
    timeout: Option<&Timespec>,
) -> io::Result<bool> {
    debug_assert!(idle.len() < N, "the caller has chosen N by the length");
    let at = |n: usize| n.checked_sub(1).and_then(|n| idle.get(n)).unwrap_or(fd);
    let mut all: [PollFd<'_>; N] = std::array::from_fn(|n| PollFd::new(at(n), PollFlags::IN));
    let set = &mut all[..=idle.len()];
    poll(set, timeout)?;
    Ok(!set[0].revents().is_empty())
}

pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
}

/// How many idle descriptors of each kind are in the set beside the one that is
/// used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    /// By the option's name: `n-pipe`, `n-unix-d`, `n-unix-s`, `n-udp`,
    /// `n-tcpc`, `n-tcpl`.
    pub counts: HashMap<String, usize>,
    /// Where the idle TCP connections lead to.
    pub tcp_server: Option<String>,
}

/// The most descriptors of a set.
const MAX_IDLE: usize = 1024;

/// Descriptors that never become ready, and what keeps them so.
pub(crate) struct IdleSet {
    pub(crate) descriptors: Vec<OwnedFd>,
    /// The far ends: a closed one would make the near end ready.
    pub(crate) far_ends: Vec<OwnedFd>,
}

impl Idle {
    pub(crate) fn open(&self) -> io::Result<IdleSet> {
        use std::net::{TcpListener, TcpStream, UdpSocket};
        use std::os::unix::net::{UnixDatagram, UnixStream};
        if self.counts.values().sum::<usize>() > MAX_IDLE {
            return Err(io::Error::other("at most 1024 idle descriptors can be in the set"));
        }
        let mut set = IdleSet { descriptors: Vec::new(), far_ends: Vec::new() };
        for (kind, count) in &self.counts {
            for _ in 0..*count {
                let (near, far): (OwnedFd, Option<OwnedFd>) = match kind.as_str() {
                    "n-pipe" => {
                        let (read, write) = io::pipe()?;
                        (read.into(), Some(write.into()))
                    }
                    "n-unix-d" => {
                        let (near, far) = UnixDatagram::pair()?;
                        (near.into(), Some(far.into()))
                    }
                    "n-unix-s" => {
                        let (near, far) = UnixStream::pair()?;
                        (near.into(), Some(far.into()))
                    }
                    "n-udp" => (UdpSocket::bind("127.0.0.1:0")?.into(), None),
                    "n-tcpl" => (TcpListener::bind("127.0.0.1:0")?.into(), None),
                    "n-tcpc" => {
                        let server = self.tcp_server.as_deref().ok_or_else(|| {
                            io::Error::other("n-tcpc needs --tcpc-serv=HOST:PORT to connect to")
                        })?;
                        (TcpStream::connect(server)?.into(), None)
                    }
                    other => return Err(io::Error::other(format!("no descriptors of {other}"))),
                };
                set.descriptors.push(near);
                set.far_ends.extend(far);
            }
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn each_tells_what_is_ready_among_idle_ones() {
        let counts = ["n-pipe", "n-unix-d", "n-unix-s", "n-udp", "n-tcpl"];
        let idle =
            Idle { counts: counts.map(|kind| (kind.to_owned(), 2)).into(), tcp_server: None };
        for muxer in Muxer::ALL {
            for is_spinning in [false, true] {
                let (near, mut far) = UnixStream::pair().unwrap();
                let near = OwnedFd::from(near);
                let set = idle.open().unwrap();
                assert_eq!(set.descriptors.len(), 10);
                let mut waiter = Waiter::new(muxer, is_spinning, set).unwrap();
                let soon = Some(Duration::from_millis(1));
                for _ in 0..3 {
                    assert_eq!(waiter.wait(&near, soon).unwrap(), !waiter.asks(), "{muxer}");
                }
                far.write_all(b"x").unwrap();
                for _ in 0..3 {
                    assert!(waiter.wait(&near, None).unwrap(), "{muxer}");
                }
            }
        }
    }

    /// Which descriptors are in an epoll set, as the kernel tells.
    fn watched(set: &OwnedFd) -> usize {
        let path = format!("/proc/self/fdinfo/{}", set.as_raw_fd());
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().filter(|line| line.starts_with("tfd:")).count()
    }

    #[test]
    fn each_asks_the_kernel_in_its_own_way() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let near = OwnedFd::from(near);
        // Where this process may have so many.
        let high = rustix::io::fcntl_dupfd_cloexec(&near, 1100).ok();
        far.write_all(b"x").unwrap();
        let none = || Idle::default().open().unwrap();
        let of = |muxer: Muxer| {
            let mut waiter = Waiter::new(muxer, false, none()).unwrap();
            // Select alone cannot have high ones.
            let takes_high = high.as_ref().is_none_or(|fd| waiter.wait(fd, None).is_ok());
            let mut waiter = Waiter::new(muxer, false, none()).unwrap();
            waiter.wait(&near, None).unwrap();
            let kept = waiter.epoll.as_ref().map(watched);
            // Somebody turns the descriptor off in the set: who modifies it
            // before each wait turns it on again.
            if let (Some(set), Some(1)) = (&waiter.epoll, kept) {
                epoll::modify(set, &near, EventData::new_u64(0), EventFlags::empty()).unwrap();
            }
            let sees = waiter.wait(&near, Some(Duration::ZERO)).unwrap();
            (takes_high, kept, sees)
        };
        assert_eq!(of(Muxer::None), (true, None, true));
        assert_eq!(of(Muxer::Select), (high.is_none(), None, true));
        assert_eq!(of(Muxer::Poll), (true, None, true));
        assert_eq!(of(Muxer::Epoll), (true, Some(1), false));
        assert_eq!(of(Muxer::EpollMod), (true, Some(1), true));
        assert_eq!(of(Muxer::EpollAdddel), (true, Some(0), true));
    }

    #[test]
    fn none_of_them_allocates() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let near = OwnedFd::from(near);
        far.write_all(b"x").unwrap();
        for muxer in Muxer::ALL {
            for count in [0, 15, 16, 200] {
                let counts = [("n-pipe".to_owned(), count)].into();
                let idle = Idle { counts, tcp_server: None }.open().unwrap();
                let mut waiter = Waiter::new(muxer, false, idle).unwrap();
                let counted = allocation_counter::measure(|| {
                    for _ in 0..10 {
                        assert!(waiter.wait(&near, None).unwrap());
                    }
                });
                assert_eq!(counted.count_total, 0, "{muxer} {count}");
            }
        }
    }

    #[test]
    fn names_are_read_and_written() {
        for muxer in Muxer::ALL {
            assert_eq!(muxer.to_string().parse(), Ok(muxer));
        }
        assert!("kqueue".parse::<Muxer>().is_err());
        let idle = Idle { counts: [("n-tcpc".to_owned(), 1)].into(), tcp_server: None };
        assert!(idle.open().is_err_and(|error| error.to_string().contains("--tcpc-serv")));
    }
}
