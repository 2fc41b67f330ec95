//! Aeron, on the caller's thread.

mod backoff;
mod directory;
mod driver;
mod limits;
mod link;
mod memory;
mod sessions;
mod shared;
mod sockets;
mod words;

use std::cell::RefCell;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tapeline_time::Time;

use self::backoff::Backoff;
use self::directory::Lock;
pub(crate) use self::limits::Buffers;
use self::limits::HostLimits;
use self::memory::{Memory, log_bytes};
use self::shared::Shared;
use self::words::failed;
pub use crate::channel::Channels;
use crate::channel::Streams;
use crate::error::BackboneError;
use crate::frame::Role;
use crate::paths::PathId;
use crate::port::{Port, PortSettings};
use crate::settings::{Driver, EngineSettings};
pub use link::{AeronSink, AeronSource};

/// A member of the backbone over Aeron.
pub type AeronPort = Port<AeronSink, AeronSource>;

/// One turn of the driver in so many turns of the caller when nothing crosses
/// a network: it then only moves the limits of publishers.
const TURNS_PER_DRIVER_WORK: u32 = 16;
/// One turn of the client in so many turns of the caller.
const TURNS_PER_CLIENT_WORK: u32 = 64;
/// A caller that sleeps between its turns still gets both worked this often.
const LONGEST_WAIT: Duration = Duration::from_millis(1);
/// What is over shared memory has neither losses to repair nor windows to move.
const LONGEST_WAIT_IN_MEMORY: Duration = Duration::from_millis(10);

/// Aeron in this process: a media driver, unless it is another process, and
/// the client of it. One per thread; all of its ports stay on that thread.
///
/// Nothing happens but in [`Engine::work`] and in the calls of its ports.
///
/// Where a driver is shared, it gives up a client whose thread stands still for
/// long (see [`EngineSettings::client_liveness`]), a client gives up a driver
/// that does, and the driver of another process may end. The engine then
/// [fails](Engine::failure): its ports lose their peers, what is left of Aeron
/// is closed, and it is tried to start it again, for as long as it takes. Ports
/// come back by themselves, as new members of the backbone. For this, each port
/// must be worked in every turn.
pub struct Engine {
    place: Rc<Place>,
    /// What failed, until its ports have let go of it.
    falling: Option<Rc<Shared>>,
    failure: Option<String>,
    backoff: Backoff,
    settings: EngineSettings,
    directory: PathBuf,
    lock: Option<Rc<Lock>>,
    /// What driver and ports take, and what there was for it.
    memory: Memory,
    /// Receiver's window and socket buffer, in bytes.
    buffers: Buffers,
    has_network: bool,
    starts: u32,
    turn: u32,
    last_driver: Time,
    last_client: Time,
}

/// Where ports find the client to which they add themselves: none while the
/// engine is down.
pub(crate) struct Place(RefCell<Option<Rc<Shared>>>);

impl Place {
    fn current(&self) -> Option<Rc<Shared>> {
        self.0.borrow().clone()
    }
}

fn check_memory(memory: Memory, directory: &Path) -> Result<(), BackboneError> {
    memory.check().map_err(|shortage| BackboneError::Directory {
        path: directory.to_owned(),
        text: shortage.to_string(),
    })
}

impl Engine {
    /// Starts the driver, unless it is another process, and connects to it.
    pub fn new(settings: EngineSettings) -> Result<Self, BackboneError> {
        settings.check()?;
        let buffers = settings.bounded(HostLimits::read());
        let (directory, lock) = match &settings.driver {
            Driver::Embedded { directory: None } => directory::fresh()?,
            Driver::Embedded { directory: Some(directory) } => {
                (directory.clone(), Some(Lock::of(directory)?))
            }
            Driver::Neighbour { directory } | Driver::External { directory } => {
                (directory.clone(), None)
            }
        };
        let lock = lock.map(Rc::new);
        let memory = Memory::of(&directory, lock.is_some());
        check_memory(memory, &directory)?;
        let shared = Shared::start(&settings, buffers, &directory, lock.as_ref())?;
        Ok(Self {
            place: Rc::new(Place(RefCell::new(Some(Rc::new(shared))))),
            falling: None,
            failure: None,
            backoff: Backoff::new(),
            settings,
            directory,
            lock,
            memory,
            buffers,
            has_network: false,
            starts: 1,
            turn: 0,
            last_driver: Time::ZERO,
            last_client: Time::ZERO,
        })
    }

    /// A port on `channels`. It meets peers after some turns of work.
    pub fn port(
        &mut self,
        port: PortSettings,
        channels: &Channels,
    ) -> Result<AeronPort, BackboneError> {
        let mut ends = self.ends(port.role, channels)?;
        match ends.pop().filter(|_| ends.is_empty()) {
            Some((_, sink, source)) => Ok(Port::new(port, sink, source)),
            None => Err(BackboneError::Channel {
                channel: channels.to_string(),
                problem: "one way to one hub is wanted here".to_owned(),
            }),
        }
    }

    /// The two directions of a port of `role`, for each network and hub that it has.
    pub(crate) fn ends(
        &mut self,
        role: Role,
        channels: &Channels,
    ) -> Result<Vec<(PathId, AeronSink, AeronSource)>, BackboneError> {
        let mut ends = Vec::new();
        for (path, streams) in channels.streams(role, &self.settings, self.buffers) {
            let (sink, source) = self.way(channels, &streams)?;
            ends.push((path, sink, source));
        }
        Ok(ends)
    }

    fn way(
        &mut self,
        channels: &Channels,
        streams: &Streams,
    ) -> Result<(AeronSink, AeronSource), BackboneError> {
        self.memory.add(log_bytes(streams.term_bytes));
        if channels.is_network() {
            // A copy of what one peer sends; over shared memory it is the peer's.
            self.memory.add(log_bytes(streams.peer_term_bytes));
        }
        check_memory(self.memory, &self.directory)?;
        let source = AeronSource::new(&self.place, &streams.subscription).map_err(|error| {
            failed("prepare a subscription", Path::new(&channels.to_string()), &error)
        })?;
        let sink = AeronSink::new(&self.place, &streams.publication, streams.max_message_bytes);
        self.has_network |= channels.is_network();
        Ok((sink, source))
    }

    /// One turn. Call it in every turn of the caller's loop, together with the
    /// work of each port. Returns how much was done, 0 when idle.
    pub fn work(&mut self, now: Time) -> usize {
        self.turn = self.turn.wrapping_add(1);
        let current = self.place.0.borrow();
        let Some(shared) = current.as_ref() else {
            drop(current);
            return self.rise(now);
        };
        let mut done = 0;
        if self.has_network
            || shared.is_waited_for.take()
            || self.turn.is_multiple_of(TURNS_PER_DRIVER_WORK)
            || now.since(self.last_driver) >= LONGEST_WAIT
        {
            self.last_driver = now;
            done += shared.work_driver();
        }
        if self.turn.is_multiple_of(TURNS_PER_CLIENT_WORK)
            || now.since(self.last_client) >= LONGEST_WAIT
        {
            self.last_client = now;
            done += shared.work_client(now);
            self.failure = shared.failure().map(str::to_owned);
        }
        drop(current);
        if self.failure.is_some() {
            self.falling = self.place.0.take();
        }
        done
    }

    /// Starts anew once nothing is left of what failed.
    fn rise(&mut self, now: Time) -> usize {
        self.falling.take_if(|falling| Rc::strong_count(falling) == 1);
        if self.falling.is_some() || !self.backoff.is_due(now) {
            return 0;
        }
        match self.start_again() {
            Ok(shared) => {
                *self.place.0.borrow_mut() = Some(Rc::new(shared));
                self.failure = None;
                self.starts += 1;
                self.backoff.succeeded();
            }
            Err(error) => {
                self.failure = Some(error.to_string());
                self.backoff.failed();
            }
        }
        1
    }

    fn start_again(&self) -> Result<Shared, BackboneError> {
        if self.lock.is_none() {
            // Aeron would wait for it, and this thread with it.
            directory::check_beating(&self.directory, self.settings.driver_timeout)?;
        }
        Shared::start(&self.settings, self.buffers, &self.directory, self.lock.as_ref())
    }

    /// How long the caller may sleep if it is woken by whatever comes.
    pub const fn longest_wait(&self) -> Duration {
        if self.has_network { LONGEST_WAIT } else { LONGEST_WAIT_IN_MEMORY }
    }

    /// Whether any port is on a network.
    pub const fn has_network(&self) -> bool {
        self.has_network
    }

    /// Descriptors that can be read when something comes to the driver over a
    /// network, to wait for; not those of a driver that is another process.
    /// They come some turns after the ports, and are others after each
    /// [start](Self::starts). The kernel is asked about each descriptor of the
    /// process, some microseconds each.
    pub fn sockets(&self) -> Vec<RawFd> {
        let has_driver = self.place.current().is_some_and(|shared| shared.has_driver());
        if self.has_network && has_driver { sockets::datagram_sockets() } else { Vec::new() }
    }

    /// The driver's directory: what an engine in another process of this host
    /// connects to.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Why this engine does not work now; `None` while it does.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// How often it was started; more than once if it failed meanwhile.
    pub const fn starts(&self) -> u32 {
        self.starts
    }

    /// Takes the last thing that Aeron reported though it goes on, for the log.
    pub fn take_report(&self) -> Option<String> {
        self.place.0.borrow().as_ref()?.take_report()
    }

    /// What was asked for and this host does not give, as a sentence for the
    /// log.
    pub fn shortfall(&self) -> Option<String> {
        self.settings.shortfall(self.buffers)
    }
}
