//! Two networks joined by a relay of datagrams, and the weather on it.
//!
//! ```text
//!  hubs, sources                         servers, consumers
//!  ┌──────────────┐    ┌─────────┐    ┌────────────────────┐
//!  │ group, ports │───▶│  drop   │───▶│ group, ports       │
//!  │              │◀───│  twice  │◀───│                    │
//!  └──────────────┘    │  late   │    └────────────────────┘
//!                      └─────────┘
//! ```
//!
//! A kernel with `netem` does this by itself; many have none. The relay takes
//! datagrams of multicast groups in one network and sends them into the same
//! groups of the other one, so it works on what is sent to groups alone: the
//! backbone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use crate::lan::Host;

/// The longest datagram.
const DATAGRAM_BYTES: usize = 65_536;

/// How soon the relay sees that it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What becomes of datagrams, shares in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    /// So many are dropped.
    pub lost: u16,
    /// So many come twice.
    pub twice: u16,
    /// So many are held, each for a time of its own, and overtaken by others.
    pub late: u16,
    /// For how long at most, in milliseconds.
    pub late_ms: u16,
}

impl Weather {
    /// Nothing happens to datagrams.
    pub const CLEAR: Self = Self { lost: 0, twice: 0, late: 0, late_ms: 0 };

    fn pack(self) -> u64 {
        let [a, b] = self.lost.to_ne_bytes();
        let [c, d] = self.twice.to_ne_bytes();
        let [e, f] = self.late.to_ne_bytes();
        let [g, h] = self.late_ms.to_ne_bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }

    fn unpack(word: u64) -> Self {
        let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
        let of = |low, high| u16::from_ne_bytes([low, high]);
        Self { lost: of(a, b), twice: of(c, d), late: of(e, f), late_ms: of(g, h) }
    }

    /// For how long a datagram is held; none for one that is lost, two for one
    /// that comes twice.
    fn fate(self, random: &mut fastrand::Rng) -> impl Iterator<Item = Duration> {
        let has = |share: u16, random: &mut fastrand::Rng| random.u16(..1000) < share;
        let copies = match (has(self.lost, random), has(self.twice, random)) {
            (true, _) => 0,
            (false, true) => 2,
            (false, false) => 1,
        };
        let mut held = [Duration::ZERO; 2];
        for held in &mut held {
            if self.late_ms > 0 && has(self.late, random) {
                *held = Duration::from_micros(random.u64(..u64::from(self.late_ms) * 1000));
            }
        }
        held.into_iter().take(copies)
    }
}

/// What the relay counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relayed {
    /// Datagrams that came.
    pub came: u64,
    /// Datagrams that went on, copies included.
    pub went: u64,
}

/// Joins two hosts' networks. Gone when dropped.
#[derive(Debug)]
pub struct Relay {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    weather: AtomicU64,
    came: AtomicU64,
    went: AtomicU64,
    stop: AtomicBool,
}

impl Relay {
    /// Relays what is sent to these addresses, between the networks of two
    /// hosts. Panics where sockets cannot be made.
    pub fn start(between: [&Host; 2], groups: &[SocketAddrV4], seed: u64) -> Self {
        let [left, right] = between.map(|host| {
            let (groups, address) = (groups.to_vec(), host.address);
            let sockets = host.spawn(move || {
                groups.iter().map(|group| member(*group, address)).collect::<io::Result<Vec<_>>>()
            });
            sockets.join().expect("no panic").expect("sockets of groups")
        });
        let ends: Vec<_> = left.into_iter().zip(right).zip(groups.iter().copied()).collect();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || run(&ends, &of_thread, seed));
        Self { shared, thread: Some(thread) }
    }

    /// What becomes of datagrams from now on.
    pub fn set(&self, weather: Weather) {
        self.shared.weather.store(weather.pack(), Ordering::Relaxed);
    }

    /// What came and went so far.
    pub fn relayed(&self) -> Relayed {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Relayed { came: count(&self.shared.came), went: count(&self.shared.went) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A socket that is a member of a group and does not hear itself.
fn member(group: SocketAddrV4, interface: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_recv_buffer_size(4 << 20)?;
    socket.bind(&group.into())?;
    socket.join_multicast_v4(group.ip(), &interface)?;
    socket.set_multicast_if_v4(&interface)?;
    socket.set_multicast_loop_v4(false)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// The two sockets of a group, and where it is.
type Ends = ((UdpSocket, UdpSocket), SocketAddrV4);

/// A datagram that is held: until when, its number, where it goes and what it
/// says. Ordered by time, then as they came.
type Held = Reverse<(Instant, u64, usize, Vec<u8>)>;

fn run(ends: &[Ends], shared: &Shared, seed: u64) {
    // Sockets by place: the left end of each group is followed by its right end.
    let sockets: Vec<(&UdpSocket, &UdpSocket, SocketAddrV4)> = ends
        .iter()
        .flat_map(|((left, right), group)| [(left, right, *group), (right, left, *group)])
        .collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut held: BinaryHeap<Held> = BinaryHeap::new();
    let mut datagram = vec![0; DATAGRAM_BYTES];
    let send = |place: usize, bytes: &[u8]| {
        let (_, other, group) = sockets[place];
        // What the kernel does not take is lost, as on any network.
        if other.send_to(bytes, group).is_ok() {
            shared.went.fetch_add(1, Ordering::Relaxed);
        }
    };
    while !shared.stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        while let Some(Reverse((due, ..))) = held.peek() {
            if *due > now {
                break;
            }
            let Reverse((_, _, place, bytes)) = held.pop().expect("it was there");
            send(place, &bytes);
        }
        let until =
            held.peek().map_or(LOOK, |Reverse((due, ..))| due.saturating_duration_since(now));
        wait(&sockets, until.min(LOOK));
        let weather = Weather::unpack(shared.weather.load(Ordering::Relaxed));
        for (place, (socket, ..)) in sockets.iter().enumerate() {
            while let Ok(count) = socket.recv(&mut datagram) {
                let number = shared.came.fetch_add(1, Ordering::Relaxed);
                for wait in weather.fate(&mut random) {
                    let bytes = &datagram[..count];
                    match wait.is_zero() {
                        true => send(place, bytes),
                        false => held.push(Reverse((
                            Instant::now() + wait,
                            number,
                            place,
                            bytes.to_vec(),
                        ))),
                    }
                }
            }
        }
    }
}

/// Waits until there is something to read, or for so long.
fn wait(sockets: &[(&UdpSocket, &UdpSocket, SocketAddrV4)], most: Duration) {
    let mut fds: Vec<_> =
        sockets.iter().map(|(socket, ..)| PollFd::new(*socket, PollFlags::IN)).collect();
    let most = Timespec::try_from(most).expect("a short time");
    // Interrupted by a signal, it is waited again.
    let _ = poll(&mut fds, Some(&most));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weather_goes_through_one_word() {
        let weather = Weather { lost: 1, twice: 20, late: 300, late_ms: 4_000 };
        assert_eq!(Weather::unpack(weather.pack()), weather);
        assert_eq!(Weather::unpack(0), Weather::CLEAR);
    }

    #[test]
    fn each_share_is_about_what_it_is_set_to() {
        let mut random = fastrand::Rng::with_seed(1);
        let weather = Weather { lost: 100, twice: 200, late: 300, late_ms: 8 };
        let (mut none, mut two, mut late) = (0, 0, 0);
        for _ in 0..10_000 {
            let fate: Vec<_> = weather.fate(&mut random).collect();
            none += usize::from(fate.is_empty());
            two += usize::from(fate.len() == 2);
            late += usize::from(fate.first().is_some_and(|wait| !wait.is_zero()));
            assert!(fate.iter().all(|wait| *wait < Duration::from_millis(8)));
        }
        assert!((900..1_100).contains(&none), "{none}");
        assert!((1_650..1_950).contains(&two), "{two}");
        assert!((2_500..2_900).contains(&late), "{late}");
    }

    #[test]
    fn in_clear_weather_nothing_happens() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1_000 {
            assert_eq!(Weather::CLEAR.fate(&mut random).collect::<Vec<_>>(), [Duration::ZERO]);
        }
    }
}
