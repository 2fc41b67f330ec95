//! Two sides that meet: over their control connection they agree on how, then
//! one connects its links to where the other listens.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tapeline_measure::{processor, stop};

use crate::control::{Control, VERSION};
use crate::link::{Address, LinkOptions, Links, Meeting, connect};
use crate::sequence::Arrivals;
use crate::{GaugeError, Transport};

/// How often a side that is not there yet is looked for, and how long between.
const ATTEMPTS: u32 = 100;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// How long a side that has ended may take to say why.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How messages go between two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    pub(crate) transport: Transport,
    pub(crate) connections: usize,
    pub(crate) options: LinkOptions,
    pub(crate) is_spinning: bool,
    pub(crate) cores: Option<Vec<usize>>,
    /// Bytes of an answer; 0 has those of the message. `None`: there is none.
    pub(crate) answer_bytes: Option<u32>,
    /// Only messages that ask for it are answered.
    pub(crate) samples_only: bool,
    /// Where the sender listens; empty if the follower does.
    pub(crate) addresses: Vec<Address>,
}

/// What a follower counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Followed {
    pub(crate) arrivals: Arrivals,
    pub(crate) bytes: u64,
    pub(crate) answered: u64,
    pub(crate) forwarded: u64,
    /// Connections that were ended since what came was no message.
    pub(crate) bad_connections: u64,
    pub(crate) longest_gap_ns: u64,
    /// Times that numbers were missing before one that came.
    pub(crate) gaps: u64,
}

/// What sides tell each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Say {
    Version(String),
    Open(Box<Open>),
    Listening(Vec<Address>),
    Ready,
    End { sent: u64 },
    Counts(Box<Followed>),
    Refused(String),
}

fn out_of_turn() -> GaugeError {
    GaugeError::Peer("spoke out of turn".to_owned())
}

/// Both say their version, whoever connected.
pub(crate) fn same_version(control: &mut Control) -> Result<(), GaugeError> {
    control.send(&Say::Version(VERSION.to_owned()))?;
    match control.receive()? {
        Say::Version(version) if version == VERSION => Ok(()),
        Say::Version(version) => {
            let what = format!("has version {version}, this one {VERSION}; use the same");
            Err(GaugeError::Peer(what))
        }
        _ => Err(GaugeError::Peer("did not say its version".to_owned())),
    }
}

/// The control connection to a side that listens, which may not be there yet.
pub(crate) fn looked_for(host: &str, port: u16) -> Result<Control, GaugeError> {
    let what = format!("connecting to {host}:{port}");
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(BETWEEN_ATTEMPTS);
        }
        stop::check()?;
        let addresses = (host, port).to_socket_addrs().map_err(GaugeError::io(what.clone()))?;
        for address in addresses {
            match TcpStream::connect_timeout(&address, BETWEEN_ATTEMPTS * 10) {
                Ok(stream) => {
                    let mut control = Control::over_tcp(stream).map_err(GaugeError::io(what))?;
                    same_version(&mut control)?;
                    return Ok(control);
                }
                Err(error) => last = error,
            }
        }
    }
    Err(GaugeError::io(what)(last))
}

/// Waits for somebody to come to this port.
pub(crate) fn came(listener: &TcpListener) -> Result<Control, GaugeError> {
    listener.set_nonblocking(true).map_err(GaugeError::io("listening"))?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let taking = || GaugeError::io("taking a side");
                stream.set_nonblocking(false).map_err(taking())?;
                let mut control = Control::over_tcp(stream).map_err(taking())?;
                same_version(&mut control)?;
                return Ok(control);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                stop::check()?;
                wait_readable(listener);
            }
            Err(error) => return Err(GaugeError::io("taking a side")(error)),
        }
    }
}

fn wait_readable(listener: &TcpListener) {
    use rustix::event::{PollFd, PollFlags, poll};
    let wait = crate::mux::timespec(BETWEEN_ATTEMPTS);
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&wait));
}

/// A listener for control connections.
pub(crate) fn listener(bind: Option<IpAddr>, port: u16) -> Result<TcpListener, GaugeError> {
    let address = SocketAddr::new(bind.unwrap_or(Ipv4Addr::UNSPECIFIED.into()), port);
    TcpListener::bind(address).map_err(GaugeError::io(format!("listening on {address}")))
}

/// The sender's links, after the follower has its own. `listens`: where, if
/// the sender does.
pub(crate) fn opened(
    control: &mut Control,
    open: &Open,
    listens: Option<SocketAddr>,
) -> Result<Links, GaugeError> {
    let linking = || GaugeError::io(format!("a {} link", open.transport));
    let (count, options) = (open.connections, &open.options);
    let links = match listens {
        Some(at) => {
            let meeting =
                Meeting::listen_at(open.transport, at, count, options).map_err(linking())?;
            let addresses = meeting.addresses().to_vec();
            control.send(&Say::Open(Box::new(Open { addresses, ..open.clone() })))?;
            meeting.accept(count, options)
        }
        None => {
            control.send(&Say::Open(Box::new(open.clone())))?;
            let addresses = match control.receive()? {
                Say::Listening(addresses) => seen_from_here(addresses, control),
                Say::Refused(why) => {
                    return Err(GaugeError::Peer(format!("cannot take part: {why}")));
                }
                _ => return Err(out_of_turn()),
            };
            let bind = control.own.unwrap_or(Ipv4Addr::LOCALHOST.into());
            connect(open.transport, &addresses, count, bind, options)
        }
    };
    let links = links.map_err(|error| explained(control, linking()(error)))?;
    match control.receive()? {
        Say::Ready => Ok(links),
        Say::Refused(why) => Err(GaugeError::Peer(format!("cannot take part: {why}"))),
        _ => Err(out_of_turn()),
    }
}

/// The follower's links, as the sender wants them.
pub(crate) fn joined(control: &mut Control, open: &Open) -> Result<Links, GaugeError> {
    processor::pin(open.cores.as_deref());
    let linking = || GaugeError::io(format!("a {} link", open.transport));
    let (count, options) = (open.connections.clamp(1, 10_000), &open.options);
    let bind = control.own.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let made = match open.addresses.is_empty() {
        true => {
            let at = SocketAddr::new(bind, 0);
            Meeting::listen_at(open.transport, at, count, options).map_err(linking()).and_then(
                |meeting| {
                    control.send(&Say::Listening(meeting.addresses().to_vec()))?;
                    meeting.accept(count, options).map_err(linking())
                },
            )
        }
        false => {
            let addresses = seen_from_here(open.addresses.clone(), control);
            connect(open.transport, &addresses, count, bind, options).map_err(linking())
        }
    };
    match made {
        Ok(links) => control.send(&Say::Ready).map(|()| links),
        Err(error) => {
            let _ = control.send(&Say::Refused(error.to_string()));
            Err(error)
        }
    }
}

/// Who listens on all addresses is at the one that the control connection
/// leads to.
fn seen_from_here(addresses: Vec<Address>, control: &Control) -> Vec<Address> {
    let seen = |address| match address {
        Address::Ip(at) if at.ip().is_unspecified() => {
            let ip = control.peer.unwrap_or(Ipv4Addr::LOCALHOST.into());
            Address::Ip(SocketAddr::new(ip, at.port()))
        }
        other => other,
    };
    addresses.into_iter().map(seen).collect()
}

/// An error of a link, with what the other side said of its end.
pub(crate) fn explained(control: &mut Control, error: GaugeError) -> GaugeError {
    match control.is_ready(LAST_WORDS).then(|| control.receive::<Say>()) {
        Some(Ok(Say::Refused(why))) => GaugeError::Peer(format!("ended, and says: {why}")),
        Some(Err(ended @ GaugeError::Peer(_))) => ended,
        _ => error,
    }
}

/// Looks, at most every so often, whether the other side still is there.
pub(crate) struct Watch {
    next: Instant,
}

impl Watch {
    const EVERY: Duration = Duration::from_millis(100);

    pub(crate) fn new() -> Self {
        Self { next: Instant::now() + Self::EVERY }
    }

    /// What the other side said, if it did.
    pub(crate) fn heard(&mut self, control: &mut Control) -> Result<Option<Say>, GaugeError> {
        let now = Instant::now();
        if now < self.next {
            return Ok(None);
        }
        self.next = now + Self::EVERY;
        stop::check()?;
        match control.is_ready(Duration::ZERO) {
            false => Ok(None),
            true => control.receive().map(Some),
        }
    }
}
