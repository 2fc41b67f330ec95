//! The side that measures.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_measure::stop;
use tapeline_measure::ticks::TickClock;

use super::StartServer;
use super::ends;
use super::options::Options;
use super::parts::Parts;
use super::server::serve;
use crate::GaugeError;
use crate::control::{Control, Hello, ToClient, ToServer, VERSION};
use crate::link::{self, Address, AeronEar, LinkOptions};
use crate::local::LocalProcess;
use crate::wire::{IterationEnd, Null, Polled, Ring, Session, Socket, Transport, Wire};

/// How often, and how long apart, a server is looked for.
const ATTEMPTS: u32 = 100;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// How long a ping over datagrams is waited for without `--timeout`.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// How long a server that has ended may take to say why.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Bytes of a message that say which iteration it is of.
const MARK_BYTES: usize = 8;

/// A connection to a server that is ready.
pub(super) struct Client<'a> {
    options: &'a Options,
    clock: &'a TickClock,
    wire: Box<dyn Wire>,
    /// `null` has none.
    control: Option<Control>,
    message: Vec<u8>,
    answer: Vec<u8>,
    /// The number of the present iteration.
    mark: u64,
    /// Ticks of each round trip of the present size.
    pub(super) samples: Vec<u64>,
    /// Of the present size.
    pub(super) lost: u64,
    pub(super) late: u64,
    /// Of the present size, with `--timestamps`.
    pub(super) parts: Option<Parts>,
    /// Elsewhere, or a thread that sees the end of its connection: `None`.
    _server: Option<LocalProcess>,
}

/// What a side's end is made of.
pub(super) fn hello_of(options: &Options, transport: Transport, side: usize) -> Hello {
    let settings = &options.sides[side];
    Hello {
        transport,
        is_spinning: settings.is_spinning,
        muxer: settings.muxer,
        sessions: options.sessions,
        idle: settings.idle.clone(),
        timeout_s: settings.timeout_s,
        nodelay: settings.nodelay,
        busy_poll_us: settings.busy_poll_us,
        connects: settings.connects,
        more: settings.more,
        pings: options.sides[0].pings,
        pongs: options.pongs,
        cores: settings.cores.clone(),
        bind: settings.bind,
        device: settings.device.clone(),
        ipv6_only: settings.ipv6_only,
        ttl: settings.ttl,
        group: options.group,
        interface: settings.interface.clone(),
        // On one host there is no other way.
        loops_back: settings.loops_back || options.server.is_none(),
        channels: None,
        udp_port: 0,
        locks_memory: options.arguments.has("lock-memory"),
    }
}

impl<'a> Client<'a> {
    /// Starts or finds the server, and agrees with it on how.
    pub(super) fn connect(
        options: &'a Options,
        clock: &'a TickClock,
        transport: Transport,
        start: &StartServer<'_>,
    ) -> Result<Self, GaugeError> {
        let capacity = options.most_iterations as usize;
        let mut samples = vec![1; capacity];
        samples.clear();
        let made = |wire, control, server| Self {
            options,
            clock,
            wire,
            control,
            message: vec![0x5A; transport.max_bytes()],
            answer: vec![0; transport.max_bytes()],
            mark: 0,
            samples,
            lost: 0,
            late: 0,
            parts: options.has_stamps.then(Parts::new),
            _server: server,
        };
        if transport == Transport::Null {
            return Ok(made(Box::new(Null), None, None));
        }
        let (mut control, server, ring) = found(options, transport, start)?;
        control.send(&ToServer::Version(VERSION.to_owned()))?;
        match control.receive()? {
            ToClient::Version(version) if version == VERSION => {}
            ToClient::Version(version) => {
                let what = format!("has version {version}, this one {VERSION}; use the same");
                return Err(GaugeError::Peer(what));
            }
            _ => return Err(GaugeError::Peer("did not say its version".to_owned())),
        }
        let wire = agreed(options, transport, &mut control, ring)?;
        Ok(made(wire, Some(control), server))
    }

    /// Measures batches of `size` for long enough.
    pub(super) fn measure(&mut self, size: usize) -> Result<(), GaugeError> {
        let options = self.options;
        self.samples.clear();
        (self.lost, self.late) = (0, 0);
        if let Some(parts) = &mut self.parts {
            parts.clear();
        }
        let began = Instant::now();
        loop {
            let had = self.samples.len() as u64;
            let (time, count) = (began.elapsed(), had);
            let is_enough = time >= options.most || count >= options.most_iterations;
            let has_least = time >= options.least && count >= options.batch;
            if (is_enough && has_least) || count >= options.most_iterations {
                return Ok(());
            }
            self.batch(size, options.batch.min(options.most_iterations - count))?;
        }
    }

    /// Whether the server is a process of this host that was not started here.
    pub(super) fn is_beside_server(&self) -> bool {
        self.control.as_ref().is_some_and(Control::is_beside_us)
    }

    /// Messages of one byte until everything is warm. Returns how long.
    pub(super) fn warm_up(&mut self) -> Result<Duration, GaugeError> {
        let options = self.options;
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < options.warm_up || count < options.warm_up_iterations {
            self.samples.clear();
            self.batch(1, options.batch)?;
            count += options.batch;
        }
        Ok(began.elapsed())
    }

    fn batch(&mut self, size: usize, count: u64) -> Result<(), GaugeError> {
        stop::check()?;
        if let Some(control) = &mut self.control {
            control.send(&ToServer::Batch { size, count })?;
        }
        self.iteration(size).map_err(|error| self.explained(error))?;
        for _ in 0..count {
            let ticks = self.iteration(size).map_err(|error| self.explained(error))?;
            self.samples.push(ticks);
            if let (Some(parts), Some(at)) = (&mut self.parts, self.wire.stamped()) {
                parts.add(&at);
            }
            if !self.options.sleep_gap.is_zero() {
                thread::sleep(self.options.sleep_gap);
            }
            if !self.options.spin_gap.is_zero() {
                let until = Instant::now() + self.options.spin_gap;
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
            }
        }
        Ok(())
    }

    /// With what the server said of its end, if it said something.
    #[cold]
    fn explained(&mut self, error: GaugeError) -> GaugeError {
        let is_of_peer = matches!(error, GaugeError::Peer(_));
        let control = self.control.as_mut().filter(|_| is_of_peer);
        match control.filter(|control| control.is_ready(LAST_WORDS)).map(Control::receive) {
            Some(Ok(ToClient::Refused(why))) => GaugeError::Peer(format!("ended, and says: {why}")),
            _ => error,
        }
    }

    /// Pings there, pongs back: the ticks between.
    fn iteration(&mut self, size: usize) -> Result<u64, GaugeError> {
        self.mark += 1;
        let mark = self.mark.to_le_bytes();
        let marked = size.min(MARK_BYTES);
        self.message[..marked].copy_from_slice(&mark[..marked]);
        loop {
            let from = self.clock.now();
            match self.there_and_back(size, marked) {
                Ok(()) => return Ok(self.clock.now().saturating_sub(from)),
                Err(error) if self.is_lost(&error) => {
                    self.lost += 1;
                    stop::check()?;
                    if self.control.as_ref().is_some_and(|control| control.is_ready(Duration::ZERO))
                    {
                        return Err(GaugeError::Peer("ended".to_owned()));
                    }
                }
                Err(error) => return Err(ends::failed(error)),
            }
        }
    }

    fn is_lost(&self, error: &io::Error) -> bool {
        let is_datagram = self.options.transport.is_some_and(Transport::is_datagram);
        is_datagram && error.kind() == io::ErrorKind::TimedOut
    }

    #[inline]
    fn there_and_back(&mut self, size: usize, marked: usize) -> io::Result<()> {
        let settings = &self.options.sides[0];
        let message = &self.message[..size];
        for ping in 1..=settings.pings {
            self.wire.send(message, settings.more && ping < settings.pings)?;
        }
        for _ in 0..self.options.pongs {
            loop {
                let bytes = self.wire.receive(&mut self.answer[..size.max(1)])?;
                if bytes >= marked && self.answer[..marked] == message[..marked] {
                    break;
                }
                if self.control.is_none() {
                    break;
                }
                // The answer to a ping that was given up.
                self.late += 1;
            }
        }
        Ok(())
    }

    /// Tells the server that it is over.
    pub(super) fn end(mut self) {
        if let Some(control) = &mut self.control {
            // If it has gone already, so much the better.
            let _ = control.send(&ToServer::End);
        }
    }
}

/// The server's control connection: on another host, or started here.
fn found(
    options: &Options,
    transport: Transport,
    start: &StartServer<'_>,
) -> Result<(Control, Option<LocalProcess>, Option<Ring>), GaugeError> {
    if let Some((host, port)) = &options.server {
        let control = looked_for(options, host, *port)?;
        return Ok((control, None, None));
    }
    let (near, far) = UnixStream::pair().map_err(GaugeError::io("a pair of sockets"))?;
    let control = Control::over_unix(near);
    if transport == Transport::Ring {
        let spins = options.sides.each_ref().map(|side| side.is_spinning);
        let (ours, theirs) = Ring::pair(spins);
        in_thread(far, Some(theirs))?;
        return Ok((control, None, Some(ours)));
    }
    let server = match start {
        StartServer::Thread => {
            in_thread(far, None)?;
            None
        }
        StartServer::Process(start) => {
            let child = start(OwnedFd::from(far));
            let child = child.map_err(GaugeError::io("starting a local server"))?;
            Some(LocalProcess::new(child))
        }
    };
    Ok((control, server, None))
}

fn in_thread(far: UnixStream, ring: Option<Ring>) -> Result<(), GaugeError> {
    let serving = move || {
        // What went wrong, the client sees by itself.
        let _ = serve(Control::over_unix(far), ring);
    };
    let thread = thread::Builder::new().name("server".to_owned()).spawn(serving);
    thread.map(drop).map_err(GaugeError::io("starting a thread"))
}

/// Whether an address may be used.
const fn is_of_family(options: &Options, address: &SocketAddr) -> bool {
    match address {
        SocketAddr::V4(_) => !options.is_ipv6,
        SocketAddr::V6(_) => !options.is_ipv4,
    }
}

fn looked_for(options: &Options, host: &str, port: u16) -> Result<Control, GaugeError> {
    let what = format!("connecting to the server at {host}:{port}");
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            thread::sleep(BETWEEN_ATTEMPTS);
        }
        stop::check()?;
        let wanted = |address: &SocketAddr| is_of_family(options, address);
        let addresses = match (host, port).to_socket_addrs() {
            Ok(addresses) => addresses.filter(wanted),
            Err(error) => return Err(GaugeError::io(what)(error)),
        };
        for address in addresses {
            match TcpStream::connect_timeout(&address, BETWEEN_ATTEMPTS * 10) {
                Ok(stream) => return Control::over_tcp(stream).map_err(GaugeError::io(what)),
                Err(error) => last = error,
            }
        }
    }
    Err(GaugeError::io(what)(last))
}

/// Our end, after the server has its own.
fn agreed(
    options: &Options,
    transport: Transport,
    control: &mut Control,
    ring: Option<Ring>,
) -> Result<Box<dyn Wire>, GaugeError> {
    let ours = hello_of(options, transport, 0);
    let mut theirs = hello_of(options, transport, 1);
    let local: IpAddr = if options.is_ipv6 { "::1" } else { "127.0.0.1" }
        .parse()
        .unwrap_or(Ipv4Addr::LOCALHOST.into());
    if options.server.is_none() && theirs.bind.is_none() {
        theirs.bind = Some(local);
    }
    let own = ours.bind.or(control.own).unwrap_or(local);
    let udp: Option<UdpSocket> = match transport {
        Transport::Udp => Some(ends::udp(&ours, own)?),
        _ => None,
    };
    if let Some(udp) = &udp {
        theirs.udp_port = udp.local_addr().map_err(GaugeError::io("binding"))?.port();
    }
    let ear = match transport == Transport::Aeron && !options.sides[0].channel.is_ipc() {
        true => {
            let how = (false, ours.is_spinning);
            let ear = AeronEar::open(&options.sides[0].channel, own, how);
            Some(ear.map_err(GaugeError::io("Aeron"))?)
        }
        false => None,
    };
    let of_server = options.sides[1].channel.clone();
    theirs.channels = ear.as_ref().map(|ear| [ear.channel().clone(), of_server]);
    let server = control.peer.or(theirs.bind).unwrap_or(local);
    control.send(&ToServer::Hello(Box::new(theirs)))?;
    let (port, folder, channel) = match control.receive()? {
        ToClient::Ready { port, folder, channel } => (port, folder, channel),
        ToClient::Refused(why) => {
            return Err(GaugeError::Peer(format!("cannot take part: {why}")));
        }
        ToClient::Version(_) => return Err(GaugeError::Peer("spoke out of turn".to_owned())),
    };
    let to = SocketAddr::new(server, port);
    let patience = match options.sides[0].timeout_s {
        0 => LOST_AFTER,
        seconds => Duration::from_secs(u64::from(seconds)),
    };
    Ok(match (transport, udp, ring) {
        (Transport::Udp, Some(udp), _) => {
            let to = SocketAddr::new(options.group.unwrap_or(server), port);
            Box::new(with_stamps(options, ends::datagrams(&ours, udp, to, patience)?)?)
        }
        (Transport::Ring, _, Some(ring)) => Box::new(ring),
        (Transport::Tcp, ..) => {
            let connected =
                || with_stamps(options, ends::stream(&ours, ends::connect(&ours, to)?.into())?);
            ends::taking_turns(&ours, connected, IterationEnd::Received(options.pongs))?
        }
        (Transport::Rssl, ..) => {
            let session = Session::connect(to, ours.is_spinning);
            Box::new(session.map_err(GaugeError::io("a session"))?)
        }
        (Transport::Aeron, ..) if ear.is_some() => {
            let what = || GaugeError::Peer("does not say where it hears".to_owned());
            let (ear, channel) = ear.zip(channel).ok_or_else(what)?;
            let link = ear.speaks_to(&channel).map_err(GaugeError::io("Aeron"))?;
            Box::new(Polled::new(link, ours.is_spinning))
        }
        (Transport::Aeron, ..) => {
            let folder = [Address::Folder(folder.unwrap_or_default())];
            let options = LinkOptions::default();
            let links = link::connect(Transport::Aeron, &folder, 1, own, &options);
            let mut links = links.map_err(GaugeError::io("Aeron"))?;
            Box::new(Polled::new(links.remove(0), ours.is_spinning))
        }
        (Transport::Pipe | Transport::UnixStream | Transport::UnixDatagram, ..) => {
            let pair = pair(transport).map_err(GaugeError::io(transport.name()))?;
            control.send_descriptors(&pair.theirs)?;
            Box::new(ends::local(&ours, pair.ours, patience)?)
        }
        _ => return Err(GaugeError::Unsupported(format!("{transport} has no server"))),
    })
}

/// The same end; the kernel is asked for its stamps if they were asked for.
fn with_stamps(options: &Options, end: Socket) -> Result<Socket, GaugeError> {
    match options.has_stamps {
        true => end.with_stamps().map_err(GaugeError::io("time stamps of the kernel")),
        false => Ok(end),
    }
}

struct Pair {
    ours: (OwnedFd, Option<OwnedFd>),
    theirs: Vec<OwnedFd>,
}

fn pair(transport: Transport) -> io::Result<Pair> {
    Ok(match transport {
        Transport::Pipe => {
            let (our_read, their_write) = io::pipe()?;
            let (their_read, our_write) = io::pipe()?;
            Pair {
                ours: (our_read.into(), Some(our_write.into())),
                theirs: vec![their_read.into(), their_write.into()],
            }
        }
        Transport::UnixDatagram => {
            let (ours, theirs) = UnixDatagram::pair()?;
            Pair { ours: (ours.into(), None), theirs: vec![theirs.into()] }
        }
        _ => {
            let (ours, theirs) = UnixStream::pair()?;
            Pair { ours: (ours.into(), None), theirs: vec![theirs.into()] }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null(iterations: &str) -> Options {
        let text = format!("--minms=0 --maxms=1 --affinity any --maxiter={iterations} null");
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::read(&arguments, false).unwrap()
    }

    /// Counts what goes and comes.
    struct Counting(std::rc::Rc<std::cell::Cell<[u32; 3]>>);

    impl Wire for Counting {
        fn send(&mut self, _message: &[u8], more: bool) -> io::Result<()> {
            let [sent, with_more, received] = self.0.get();
            self.0.set([sent + 1, with_more + u32::from(more), received]);
            Ok(())
        }

        fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let [sent, with_more, received] = self.0.get();
            self.0.set([sent, with_more, received + 1]);
            Ok(buffer.len())
        }
    }

    #[test]
    fn an_iteration_has_its_pings_and_pongs() {
        let of = |line: &str| {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let options = Options::read(&arguments, false).unwrap();
            let clock = TickClock::monotonic();
            let start = StartServer::Thread;
            let mut client = Client::connect(&options, &clock, Transport::Null, &start).unwrap();
            let counts = std::rc::Rc::default();
            client.wire = Box::new(Counting(std::rc::Rc::clone(&counts)));
            client.iteration(64).unwrap();
            counts.get()
        };
        assert_eq!(of("--affinity any null"), [1, 0, 1]);
        assert_eq!(of("--affinity any --n-pings=4 --n-pongs=3 null"), [4, 0, 3]);
        assert_eq!(of("--affinity any --n-pings=4 --more null"), [4, 3, 1]);
    }

    #[test]
    fn addresses_are_of_the_family_that_was_asked_for() {
        let of = |line: &str| {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let options = Options::read(&arguments, false).unwrap();
            ["127.0.0.1:1", "[::1]:1"]
                .map(|address| is_of_family(&options, &address.parse().unwrap()))
        };
        assert_eq!(of("--affinity any tcp"), [true, true]);
        assert_eq!(of("--affinity any --ipv4 tcp"), [true, false]);
        assert_eq!(of("--affinity any --ipv6 tcp"), [false, true]);
    }

    #[test]
    fn a_measured_loop_allocates_nothing() {
        for clock in [TickClock::best(), TickClock::monotonic()] {
            let options = null("50000");
            let start = StartServer::Thread;
            let mut client = Client::connect(&options, &clock, Transport::Null, &start).unwrap();
            client.warm_up().unwrap();
            let counted = allocation_counter::measure(|| client.measure(64).unwrap());
            assert_eq!(counted.count_total, 0);
            assert!(client.samples.len() >= 1000);
        }
    }
}
