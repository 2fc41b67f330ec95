//! What a market stands on: the system's sockets, or simulated ones.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use tapeline_channel::sim::{Host, Network};
use tapeline_channel::{Kernel, System};
use tapeline_time::{MonotonicClock, Time};

/// The time that a turn takes in a simulated world.
pub(super) const TURN: Duration = Duration::from_millis(1);

/// The bytes of one connection: those to who listens, and those from there.
pub(super) type Tape = (Vec<u8>, Vec<u8>);

pub(super) trait Ground {
    type System: System;

    fn system(&self) -> Self::System;

    fn now(&self) -> Time;

    /// Where to listen next.
    fn listen_at(&mut self) -> SocketAddr;

    /// Where to connect instead of there, so that it goes on tape.
    fn tapped(&mut self, address: SocketAddr) -> SocketAddr;

    /// What there is to do between two turns.
    fn pass(&mut self);

    /// What went over the wires, by the port that was connected to, in the order
    /// of the connections.
    fn tapes(&self) -> BTreeMap<u16, Vec<Tape>>;
}

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A network in memory, in which all have the address of the loopback.
pub(super) struct Simulated {
    pub(super) network: Network,
    /// Ports to listen at, so that they are those of another run.
    pub(super) ports: VecDeque<u16>,
}

impl Simulated {
    pub(super) fn new(seed: u64, ports: impl IntoIterator<Item = u16>) -> Self {
        let network = Network::new(seed);
        network.record();
        Self { network, ports: ports.into_iter().collect() }
    }
}

impl Ground for Simulated {
    type System = Host;

    fn system(&self) -> Host {
        self.network.host(Ipv4Addr::LOCALHOST)
    }

    fn now(&self) -> Time {
        self.network.now()
    }

    fn listen_at(&mut self) -> SocketAddr {
        SocketAddr::new(ANY_PORT.ip(), self.ports.pop_front().unwrap_or_default())
    }

    fn tapped(&mut self, address: SocketAddr) -> SocketAddr {
        address
    }

    fn pass(&mut self) {
        self.network.advance(TURN);
    }

    fn tapes(&self) -> BTreeMap<u16, Vec<Tape>> {
        let mut tapes = BTreeMap::<u16, Vec<Tape>>::new();
        for tape in self.network.tapes() {
            let of_port = tapes.entry(tape.server.port()).or_default();
            of_port.push((tape.to_server, tape.to_client));
        }
        tapes
    }
}

/// The system's sockets, with somebody in between who keeps what goes by.
pub(super) struct Loopback {
    clock: MonotonicClock,
    taps: Vec<Tap>,
}

struct Tap {
    listener: TcpListener,
    to: SocketAddr,
    wires: Vec<Wire>,
}

struct Wire {
    client: TcpStream,
    server: TcpStream,
    tape: Tape,
}

impl Loopback {
    pub(super) fn new() -> Self {
        Self { clock: MonotonicClock::start(), taps: Vec::new() }
    }

    /// Where others connected, in the order in which they asked.
    pub(super) fn ports(&self) -> Vec<u16> {
        self.taps.iter().map(Tap::port).collect()
    }
}

impl Ground for Loopback {
    type System = Kernel;

    fn system(&self) -> Kernel {
        Kernel::new().expect("a queue of readiness")
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn listen_at(&mut self) -> SocketAddr {
        ANY_PORT
    }

    fn tapped(&mut self, to: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind(ANY_PORT).expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let tap = Tap { listener, to, wires: Vec::new() };
        let at = SocketAddr::new(ANY_PORT.ip(), tap.port());
        self.taps.push(tap);
        at
    }

    fn pass(&mut self) {
        self.taps.iter_mut().for_each(Tap::pass);
    }

    fn tapes(&self) -> BTreeMap<u16, Vec<Tape>> {
        let of_tap = |tap: &Tap| {
            let tapes = tap.wires.iter().map(|wire| wire.tape.clone()).collect();
            (tap.port(), tapes)
        };
        self.taps.iter().map(of_tap).collect()
    }
}

impl Tap {
    fn port(&self) -> u16 {
        self.listener.local_addr().expect("it listens").port()
    }

    fn pass(&mut self) {
        if let Ok((client, _)) = self.listener.accept() {
            let server = TcpStream::connect(self.to).expect("somebody listens");
            for stream in [&client, &server] {
                stream.set_nonblocking(true).expect("a socket");
                stream.set_nodelay(true).expect("a socket");
            }
            self.wires.push(Wire { client, server, tape: Tape::default() });
        }
        for Wire { client, server, tape } in &mut self.wires {
            pass_on(client, server, &mut tape.0);
            pass_on(server, client, &mut tape.1);
        }
    }
}

/// Passes on what there is, and keeps it.
fn pass_on(mut from: &TcpStream, mut to: &TcpStream, tape: &mut Vec<u8>) {
    let mut room = [0; 1 << 14];
    loop {
        match from.read(&mut room) {
            Ok(0) => {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            Ok(count) => {
                to.write_all(&room[..count]).expect("a market of this size fits the buffers");
                tape.extend_from_slice(&room[..count]);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => return,
        }
    }
}
