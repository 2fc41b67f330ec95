//! Half a round trip of one message over loopback: between two bare sockets,
//! and between two reactors. What lies between the two is what RSSL and the
//! reactor cost; what lies above the second in an end-to-end number is not
//! theirs.
//!
//! ```text
//! cargo bench -p tapeline-channel --bench loopback -- [round trips]
//! ```
//!
//! Two threads, one for each end, spin all the time: give them a core each.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_channel::{
    ConnectConfig, ListenConfig, Outbox, Reactor, ReactorConfig, Sent, SessionEvent, SessionId,
};
use tapeline_time::MonotonicClock;

const MESSAGE_BYTES: usize = 120;

fn main() {
    // Cargo adds an argument of its own.
    let asked = std::env::args().find_map(|argument| argument.parse().ok());
    let count: usize = asked.unwrap_or(200_000);
    println!("half round trip of {MESSAGE_BYTES} bytes, {count} times, microseconds");
    println!("{:<22} {:>8} {:>8} {:>8} {:>8}", "", "p50", "p99", "p99.9", "max");
    print("bare TCP, spinning", bare(count));
    print("bare TCP, blocking", bare_blocking(count));
    print("reactor to reactor", reactors(count));
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let half = |share: f64| {
        let at = (times.len() as f64 * share) as usize;
        times[at.min(times.len() - 1)].as_secs_f64() * 1e6 / 2.0
    };
    let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(half);
    println!("{what:<22} {p50:>8.2} {p99:>8.2} {p999:>8.2} {max:>8.2}");
}

/// Times `count` calls after a tenth as many to warm up.
fn time(count: usize, mut round_trip: impl FnMut()) -> Vec<Duration> {
    (0..count / 10).for_each(|_| round_trip());
    (0..count)
        .map(|_| {
            let started = Instant::now();
            round_trip();
            started.elapsed()
        })
        .collect()
}

fn bare(count: usize) -> Vec<Duration> {
    sockets(count, true)
}

fn bare_blocking(count: usize) -> Vec<Duration> {
    sockets(count, false)
}

fn sockets(count: usize, spin: bool) -> Vec<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut client = TcpStream::connect(listener.local_addr().expect("its address")).expect("it");
    let (mut server, _) = listener.accept().expect("a connection");
    for socket in [&client, &server] {
        socket.set_nodelay(true).expect("no delay");
        socket.set_nonblocking(spin).expect("blocking or not");
    }
    let echo = thread::spawn(move || {
        let mut message = [0; MESSAGE_BYTES];
        while read_whole(&mut server, &mut message) {
            server.write_all(&message).expect("room");
        }
    });
    let mut message = [7; MESSAGE_BYTES];
    let times = time(count, || {
        client.write_all(&message).expect("room");
        assert!(read_whole(&mut client, &mut message));
    });
    drop(client);
    echo.join().expect("an end");
    times
}

/// False at the end of the stream.
fn read_whole(socket: &mut TcpStream, message: &mut [u8]) -> bool {
    let mut filled = 0;
    while filled < message.len() {
        match socket.read(&mut message[filled..]) {
            Ok(0) => return false,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => panic!("{error}"),
        }
    }
    true
}

fn reactors(count: usize) -> Vec<Duration> {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let clock = MonotonicClock::start();
    let mut server = Reactor::new(ReactorConfig::default()).expect("a reactor");
    let address: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let listener = server.listen(address, &ListenConfig::default()).expect("a listener");
    let port = server.local_addr(listener).expect("its address").port();
    let echo = thread::spawn(move || {
        while !IS_OVER.load(Ordering::Relaxed) {
            server.poll(clock.now(), Some(Duration::ZERO), |event, outbox| {
                if let SessionEvent::Message { session, bytes } = event {
                    assert_eq!(outbox.send(session, bytes), Sent::Queued);
                }
            });
        }
    });
    let mut client = Client::connect(clock, port);
    let times = time(count, || client.round_trip());
    IS_OVER.store(true, Ordering::Relaxed);
    echo.join().expect("an end");
    times
}

struct Client {
    reactor: Reactor,
    clock: MonotonicClock,
    session: SessionId,
}

impl Client {
    fn connect(clock: MonotonicClock, port: u16) -> Self {
        let mut reactor = Reactor::new(ReactorConfig::default()).expect("a reactor");
        let session = reactor.connect("127.0.0.1", port, &ConnectConfig::default());
        let mut client = Self { reactor, clock, session };
        let mut is_open = false;
        while !is_open {
            client.poll(|event, _| is_open |= matches!(event, SessionEvent::Opened { .. }));
        }
        client
    }

    fn poll(&mut self, handler: impl FnMut(SessionEvent<'_>, &mut Outbox<'_>)) {
        self.reactor.poll(self.clock.now(), Some(Duration::ZERO), handler);
    }

    fn round_trip(&mut self) {
        let sent = self.reactor.outbox().send(self.session, &[7; MESSAGE_BYTES]);
        assert_eq!(sent, Sent::Queued);
        self.reactor.flush(self.clock.now());
        let mut is_back = false;
        while !is_back {
            self.poll(|event, _| {
                if let SessionEvent::Message { bytes, .. } = event {
                    is_back = black_box(bytes).len() == MESSAGE_BYTES;
                }
            });
        }
    }
}
