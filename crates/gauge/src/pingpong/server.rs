//! The side that answers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use tapeline_measure::processor;

use super::ends;
use crate::control::{Control, Hello, ToClient, ToServer, VERSION};
use crate::link::{Address, AeronEar, Link, LinkOptions, Meeting};
use crate::wire::{IterationEnd, Polled, Ring, Session, SessionListener, Transport, Wire};
use crate::{GaugeError, setup};

/// How long a server of datagrams waits before it looks for its client.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Serves clients that come to `port`, one after the other; only the first
/// unless told to keep on.
pub(super) fn listen(
    bind: Option<IpAddr>,
    port: u16,
    keeps_on: bool,
    say: &mut dyn FnMut(&str),
) -> Result<(), GaugeError> {
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let address = SocketAddr::new(bind.unwrap_or(any), port);
    let listener =
        TcpListener::bind(address).map_err(GaugeError::io(format!("listening on {address}")))?;
    listener.set_nonblocking(true).map_err(GaugeError::io("listening"))?;
    let own = listener.local_addr().map_err(GaugeError::io("listening"))?;
    say(&format!("serving on {own}"));
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tapeline_measure::stop::check()?;
                ends::wait_readable(&listener, LOOK);
                continue;
            }
            Err(error) => return Err(GaugeError::io("taking a client")(error)),
        };
        let served = stream
            .set_nonblocking(false)
            .and_then(|()| Control::over_tcp(stream))
            .map_err(GaugeError::io("taking a client"))
            .and_then(|control| serve(control, None));
        match served {
            Err(error @ GaugeError::Interrupted(_)) => return Err(error),
            Err(error) if keeps_on => say(&format!("a client: {error}")),
            served if !keeps_on => return served,
            _ => {}
        }
    }
}

/// Serves one client. A ring is the other end of the client's.
pub(super) fn serve(mut control: Control, ring: Option<Ring>) -> Result<(), GaugeError> {
    let ToServer::Version(version) = control.receive()? else {
        return Err(GaugeError::Peer("did not say its version".to_owned()));
    };
    control.send(&ToClient::Version(VERSION.to_owned()))?;
    if version != VERSION {
        return Err(GaugeError::Peer(format!("has version {version}, this one {VERSION}")));
    }
    let ToServer::Hello(hello) = control.receive()? else {
        return Err(GaugeError::Peer("did not say what it measures".to_owned()));
    };
    match prepared(&mut control, &hello, ring) {
        Ok(mut wire) => {
            let answered = answer(&mut *wire, &mut control, &hello);
            if let Err(error) = &answered {
                let _ = control.send(&ToClient::Refused(error.to_string()));
            }
            answered
        }
        Err(error) => {
            let _ = control.send(&ToClient::Refused(error.to_string()));
            Err(error)
        }
    }
}

/// The server's end, after the client was told that there is one.
fn prepared(
    control: &mut Control,
    hello: &Hello,
    ring: Option<Ring>,
) -> Result<Box<dyn Wire>, GaugeError> {
    processor::pin(hello.cores.as_deref());
    if hello.locks_memory {
        setup::lock_memory()?;
    }
    let local = control.own.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let bind = hello.bind.unwrap_or(local);
    let ready = |control: &mut Control, port| {
        control.send(&ToClient::Ready { port, folder: None, channel: None })
    };
    Ok(match hello.transport {
        Transport::Tcp => {
            let listener = ends::listener(hello, bind)?;
            let port = listener.local_addr().map_err(GaugeError::io("listening"))?.port();
            ready(control, port)?;
            let accepted = || ends::stream(hello, ends::accept(&listener)?.into());
            ends::taking_turns(hello, accepted, IterationEnd::Sent(hello.pongs))?
        }
        Transport::Udp => {
            let peer = control.peer.unwrap_or(bind);
            let bound = ends::udp(hello, bind)?;
            let port = bound.local_addr().map_err(GaugeError::io("binding"))?.port();
            let to = SocketAddr::new(hello.group.unwrap_or(peer), hello.udp_port);
            let socket = ends::datagrams(hello, bound, to, LOOK)?;
            ready(control, port)?;
            Box::new(socket)
        }
        Transport::Pipe | Transport::UnixStream | Transport::UnixDatagram => {
            ready(control, 0)?;
            let mut descriptors = control.receive_descriptors()?.into_iter();
            let fd = descriptors.next();
            let fd = fd.ok_or_else(|| GaugeError::Peer("handed nothing over".to_owned()))?;
            Box::new(ends::local(hello, (fd, descriptors.next()), LOOK)?)
        }
        Transport::Ring => {
            let what = "a ring is between threads of one process";
            let ring = ring.ok_or_else(|| GaugeError::Unsupported(what.to_owned()))?;
            ready(control, 0)?;
            Box::new(ring)
        }
        Transport::Rssl => {
            let listener = SessionListener::open(SocketAddr::new(bind, 0));
            let listener = listener.map_err(GaugeError::io("listening for a session"))?;
            ready(control, listener.address().port())?;
            let session: Session =
                listener.accept(hello.is_spinning).map_err(GaugeError::io("a session"))?;
            Box::new(session)
        }
        Transport::Aeron => Box::new(Polled::new(aeron(control, hello, bind)?, hello.is_spinning)),
        Transport::Null => {
            return Err(GaugeError::Unsupported("null needs no server".to_owned()));
        }
    })
}

fn aeron(control: &mut Control, hello: &Hello, own: IpAddr) -> Result<Box<dyn Link>, GaugeError> {
    let of_aeron = || GaugeError::io("Aeron");
    if let Some([theirs, ours]) = &hello.channels {
        let ear = AeronEar::open(ours, own, (true, hello.is_spinning)).map_err(of_aeron())?;
        let channel = Some(ear.channel().clone());
        control.send(&ToClient::Ready { port: 0, folder: None, channel })?;
        return ear.speaks_to(theirs).map_err(of_aeron());
    }
    let options = LinkOptions::default();
    let meeting = Meeting::listen(Transport::Aeron, own, &options).map_err(of_aeron())?;
    let [Address::Folder(folder)] = meeting.addresses() else {
        return Err(GaugeError::Unsupported("Aeron without a folder".to_owned()));
    };
    let folder = Some(folder.clone());
    control.send(&ToClient::Ready { port: 0, folder, channel: None })?;
    let mut links = meeting.accept(1, &options).map_err(of_aeron())?;
    Ok(links.remove(0))
}

/// Answers batch by batch until the client ends.
fn answer(wire: &mut dyn Wire, control: &mut Control, hello: &Hello) -> Result<(), GaugeError> {
    let mut buffer = vec![0; hello.transport.max_bytes()];
    let mut batch = Answering { wire, hello, had: 0 };
    loop {
        let (size, count) = match control.await_message()? {
            ToServer::Batch { size, count } => (size, count),
            ToServer::End => return Ok(()),
            _ => return Err(GaugeError::Peer("spoke out of turn".to_owned())),
        };
        let is_datagram = hello.transport.is_datagram();
        // A datagram may be longer than what is asked for, left from before.
        let most = if is_datagram { buffer.len() } else { size };
        let buffer = buffer.get_mut(..most);
        let buffer = buffer.ok_or_else(|| GaugeError::Peer("asks for too long ones".to_owned()))?;
        batch.run(buffer, count, control)?;
        // What was lost is sent again, so that more may come than were told of.
        while is_datagram && !control.is_ready(Duration::ZERO) {
            if batch.wire.is_ready() {
                batch.turn(buffer)?;
            }
        }
    }
}

struct Answering<'a> {
    wire: &'a mut dyn Wire,
    hello: &'a Hello,
    /// Messages of the present iteration that came.
    had: u32,
}

impl Answering<'_> {
    fn run(&mut self, buffer: &mut [u8], count: u64, control: &Control) -> Result<(), GaugeError> {
        let mut done = 0;
        while done <= count {
            match self.turn(buffer)? {
                true => done += 1,
                false if control.is_ready(Duration::ZERO) => return Ok(()),
                false => {}
            }
        }
        Ok(())
    }

    /// One iteration; false if its messages did not come in time.
    fn turn(&mut self, buffer: &mut [u8]) -> Result<bool, GaugeError> {
        let mut length = 0;
        while self.had < self.hello.pings {
            match self.wire.receive(buffer) {
                Ok(bytes) => length = bytes,
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    // The client sends all of them again.
                    self.had = 0;
                    return match self.hello.transport.is_datagram() {
                        true => Ok(false),
                        false => Err(GaugeError::Peer("sent nothing for --timeout".to_owned())),
                    };
                }
                Err(error) => return Err(ends::failed(error)),
            }
            self.had += 1;
        }
        self.had = 0;
        for pong in 1..=self.hello.pongs {
            let more = self.hello.more && pong < self.hello.pongs;
            self.wire.send(&buffer[..length], more).map_err(ends::failed)?;
        }
        Ok(true)
    }
}
