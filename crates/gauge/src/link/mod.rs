//! What messages of a flow go through: ends that take a message or refuse it,
//! and hand over what came, without waiting for either.
//!
//! [`crate::wire`] is for one message at a time and waits; here a side sends on
//! a schedule while answers come in.

mod aeron;
mod channel;
mod datagram;
mod group;
mod local;
mod meet;
mod ring;
mod session;
mod stream;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use tapeline_measure::clock::now_ns;

use crate::mux::timespec;

pub(crate) use aeron::{AeronEar, MAX_BYTES as AERON_MAX_BYTES};
pub(crate) use channel::Channel;
pub(crate) use group::Group;
pub(crate) use meet::{Address, LinkOptions, Meeting, connect, connect_raw};
pub(crate) use ring::RingLink;

/// One end of something that carries messages.
pub(crate) trait Link {
    /// Takes a whole message, or nothing: false when there is no room now.
    ///
    /// Errors: `UnexpectedEof` when the other end is gone.
    fn offer(&mut self, message: &[u8]) -> io::Result<bool>;

    /// Hands over what has come, a bounded part of it at a time.
    ///
    /// Errors: `UnexpectedEof` when the other end is gone, `InvalidData` when
    /// what came is no message.
    fn poll(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()>;

    /// Moves on what was taken and has not left. True when nothing is left.
    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    /// What tells that something came.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Tells the other end that this one sleeps from now on. False if something
    /// has come meanwhile, so that it is not to sleep.
    fn falls_asleep(&mut self) -> bool {
        true
    }

    /// Waits for at most this long, where there is no descriptor to wait on.
    fn nap(&mut self, most: Duration) {
        // Nothing tells of what comes, so it is looked for again soon.
        std::thread::sleep(most.min(Duration::from_micros(50)));
    }

    /// Another end of the same connection, for a thread that only reads.
    fn twin(&self) -> io::Result<Box<dyn Link + Send>> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this transport cannot be read by another thread than the one that writes",
        ))
    }
}

/// Ends of a side.
pub(crate) type Links = Vec<Box<dyn Link>>;

/// The longest wait: a side looks about that often whether it is to end.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Which of many links has something.
pub(crate) struct Readiness {
    /// With more than one descriptor.
    set: Option<OwnedFd>,
    events: Vec<epoll::Event>,
    has_descriptors: bool,
}

impl Readiness {
    pub(crate) fn of(links: &Links) -> io::Result<Self> {
        let has_descriptors = links.iter().all(|link| link.descriptor().is_some());
        let set = match has_descriptors && links.len() > 1 {
            false => None,
            true => {
                let set = epoll::create(CreateFlags::CLOEXEC)?;
                for (number, link) in links.iter().enumerate() {
                    let Some(fd) = link.descriptor() else { continue };
                    epoll::add(&set, fd, EventData::new_u64(number as u64), EventFlags::IN)?;
                }
                Some(set)
            }
        };
        Ok(Self { set, events: Vec::with_capacity(256), has_descriptors })
    }

    /// Of no links.
    pub(crate) const fn none() -> Self {
        Self { set: None, events: Vec::new(), has_descriptors: false }
    }

    /// Sleeps until something came, or the moment is there.
    pub(crate) fn wait(&mut self, links: &mut Links, until_ns: u64) -> io::Result<()> {
        let wait = Duration::from_nanos(until_ns.saturating_sub(now_ns())).min(LOOK);
        if wait.is_zero() {
            return Ok(());
        }
        if !self.has_descriptors {
            if let Some(link) = links.first_mut() {
                link.nap(wait);
            }
            return Ok(());
        }
        let fd = match (&self.set, links.first()) {
            (Some(set), _) => set.as_fd(),
            (None, Some(link)) => match link.descriptor() {
                Some(fd) => fd,
                None => return Ok(()),
            },
            (None, None) => return Ok(()),
        };
        match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timespec(wait))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands over what came, with the number of the link. Stops when one fails,
    /// and says which.
    pub(crate) fn poll(
        &mut self,
        links: &mut Links,
        each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), (usize, io::Error)> {
        let Some(set) = &self.set else {
            for (number, link) in links.iter_mut().enumerate() {
                link.poll(&mut |message| each(number, message)).map_err(|error| (number, error))?;
            }
            return Ok(());
        };
        self.events.clear();
        let now = timespec(Duration::ZERO);
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(set, spare, Some(&now)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err((0, error.into())),
        }
        for event in &self.events {
            let number = event.data.u64() as usize;
            let Some(link) = links.get_mut(number) else { continue };
            link.poll(&mut |message| each(number, message)).map_err(|error| (number, error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transport;
    use crate::message::{Head, Kind};

    fn message(seq: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![seq as u8; length];
        Head { kind: Kind::Data, length: length as u32, seq, due_ns: 0, sent_ns: 0 }
            .write(&mut bytes);
        bytes
    }

    const OVER: [Transport; 7] = [
        Transport::Tcp,
        Transport::Udp,
        Transport::Pipe,
        Transport::UnixStream,
        Transport::UnixDatagram,
        Transport::Rssl,
        Transport::Aeron,
    ];

    /// Both ends of some connections, each used in a thread of its own.
    fn between<T>(
        transport: Transport,
        count: usize,
        near: impl FnOnce(Links) + Send,
        far: impl FnOnce(Links) -> T,
    ) -> T {
        let options = LinkOptions { nodelay: true, ..LinkOptions::default() };
        let bind = std::net::Ipv4Addr::LOCALHOST.into();
        let (told, tell) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let of_near = options.clone();
            let listening = scope.spawn(move || {
                let at = std::net::SocketAddr::new(bind, 0);
                let meeting = Meeting::listen_at(transport, at, count, &of_near).unwrap();
                told.send(meeting.addresses().to_vec()).unwrap();
                near(meeting.accept(count, &of_near).unwrap());
            });
            let addresses = tell.recv().unwrap();
            let done = far(connect(transport, &addresses, count, bind, &options).unwrap());
            listening.join().unwrap();
            done
        })
    }

    /// Sends back what comes, until the other end is gone.
    fn echo(mut links: Links) {
        let mut readiness = Readiness::of(&links).unwrap();
        loop {
            let mut came: Vec<(usize, Vec<u8>)> = Vec::new();
            readiness.wait(&mut links, now_ns() + 1_000_000).unwrap();
            let polled = readiness.poll(&mut links, &mut |number, bytes| {
                came.push((number, bytes.to_vec()));
            });
            for (number, bytes) in came {
                if bytes[8] == u8::MAX {
                    return;
                }
                while !links[number].offer(&bytes).unwrap() {}
                while !links[number].flush().unwrap() {}
            }
            if polled.is_err() {
                return;
            }
        }
    }

    #[test]
    fn messages_pass_both_ways_over_every_transport() {
        for transport in OVER {
            for count in [1, 3] {
                let came = between(transport, count, echo, |mut links| {
                    let sizes = [32, 100, 1_400, 9_000];
                    let mut readiness = Readiness::of(&links).unwrap();
                    for (seq, size) in sizes.into_iter().enumerate() {
                        let link = &mut links[seq % count];
                        while !link.offer(&message(seq as u64, size)).unwrap() {}
                        while !link.flush().unwrap() {}
                    }
                    let (mut came, until) = (Vec::new(), now_ns() + 10_000_000_000);
                    while came.len() < sizes.len() && now_ns() < until {
                        readiness.wait(&mut links, until).unwrap();
                        let mut take = |_: usize, bytes: &[u8]| came.push((bytes[8], bytes.len()));
                        readiness.poll(&mut links, &mut take).unwrap();
                    }
                    while !links[0].offer(&message(255, 32)).unwrap() {}
                    came.sort_unstable();
                    came
                });
                assert_eq!(
                    came,
                    [(0, 32), (1, 100), (2, 1_400), (3, 9_000)],
                    "{transport} {count}"
                );
            }
        }
    }

    #[test]
    fn a_group_has_one_way_and_messages_go_it_in_order() {
        let group = Group {
            address: std::net::Ipv4Addr::new(239, 77, 3, 4),
            interface: Some("lo".to_owned()),
        };
        let options = LinkOptions { group: Some(group), ..LinkOptions::default() };
        let of_near = options.clone();
        let (told, tell) = std::sync::mpsc::channel();
        let listening = std::thread::spawn(move || {
            let bind = std::net::Ipv4Addr::LOCALHOST.into();
            let meeting = Meeting::listen(Transport::Udp, bind, &of_near).unwrap();
            told.send(meeting.addresses().to_vec()).unwrap();
            let mut links = meeting.accept(1, &of_near).unwrap();
            let (mut came, until) = (Vec::new(), now_ns() + 10_000_000_000);
            while came.len() < 100 && now_ns() < until {
                links[0].poll(&mut |bytes| came.push(Head::read(bytes).unwrap().seq)).unwrap();
            }
            came
        });
        let addresses = tell.recv().unwrap();
        let bind = std::net::Ipv4Addr::UNSPECIFIED.into();
        let mut links = connect(Transport::Udp, &addresses, 1, bind, &options).unwrap();
        for seq in 0..100 {
            while !links[0].offer(&message(seq, 300)).unwrap() {}
        }
        assert_eq!(listening.join().unwrap(), (0..100).collect::<Vec<u64>>());
    }

    #[test]
    fn the_end_of_the_other_end_is_told() {
        for transport in [Transport::Tcp, Transport::Pipe, Transport::UnixStream, Transport::Rssl] {
            let error = between(transport, 1, drop, |mut links| {
                let until = now_ns() + 10_000_000_000;
                loop {
                    match links[0].poll(&mut |_| ()) {
                        Err(error) => break error,
                        Ok(()) => assert!(now_ns() < until, "{transport}"),
                    }
                }
            });
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{transport}");
        }
    }

    #[test]
    fn a_full_end_takes_no_more_and_loses_nothing() {
        let bounded = [
            Transport::Tcp,
            Transport::Pipe,
            Transport::UnixStream,
            Transport::UnixDatagram,
            Transport::Aeron,
        ];
        for transport in bounded {
            let (full, is_full) = std::sync::mpsc::channel();
            let fill = |mut links: Links| {
                let mut taken = 0_u64;
                while links[0].offer(&message(taken, 4_000)).unwrap() {
                    taken += 1;
                    assert!(taken < 100_000, "{transport} takes everything");
                }
                full.send(taken).unwrap();
                while !links[0].flush().unwrap() {}
                // The other end has all before this one goes. What has no
                // connection does not tell.
                if transport == Transport::UnixDatagram {
                    return;
                }
                while links[0].poll(&mut |_| ()).is_ok() {
                    if links[0].offer(&message(taken, 32)).is_err() {
                        break;
                    }
                }
            };
            between(transport, 1, fill, |mut links| {
                let taken = is_full.recv().unwrap();
                let (mut came, until) = (0_u64, now_ns() + 10_000_000_000);
                while came < taken && now_ns() < until {
                    links[0]
                        .poll(&mut |bytes| {
                            let seq = Head::read(bytes).map(|head| head.seq).unwrap();
                            assert_eq!(seq, came.min(taken), "{transport}");
                            came = (came + 1).min(taken);
                        })
                        .unwrap();
                }
                assert_eq!(came, taken, "{transport}");
            });
        }
    }
}
