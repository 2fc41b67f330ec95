//! RSSL clients: consumers that open their items as any consumer does, and
//! then read updates with no more than what the comparison needs.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_api::{
    ConsumerConfig, ConsumerCore, ConsumerEvent, ConsumerHandler, ConsumerInput, ConsumerOutputs,
    ItemSpec, Login, Requests, Server,
};
use tapeline_channel::{
    ConnectConfig, MonotonicClock, Outbox, Reactor, ReactorConfig, Sent, SessionEvent, SessionId,
    random_seed,
};

use super::error::PeerError;
use super::process::PATIENCE;
use super::stamp::Stamp;
use super::tally::Tally;
use super::workload::{Workload, topic};

/// The service of the items.
pub(super) const SERVICE: &str = "PEERS";

/// Deadlines of consumers that have all they want are looked at once in so
/// many turns.
const TURNS_PER_TIMERS: u32 = 1024;

/// The clients of one server or provider.
pub(super) struct Mounts {
    reactor: Reactor,
    clock: MonotonicClock,
    address: SocketAddr,
    all: Vec<Mount>,
    /// Mounts by the place of their session.
    by_session: Vec<usize>,
    progress: Progress,
    wanted: usize,
    turn: u32,
}

struct Mount {
    core: ConsumerCore,
    link: Link,
}

#[derive(Default)]
struct Link {
    session: Option<SessionId>,
    wants_session: bool,
}

/// What is not an update of the comparison.
#[derive(Default)]
struct Progress {
    images: usize,
    trouble: Option<String>,
}

impl ConsumerHandler for Progress {
    fn event(&mut self, event: ConsumerEvent<'_>, _: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Refresh { .. } => self.images += 1,
            ConsumerEvent::Down { reason, .. } => self.trouble = Some(reason.to_owned()),
            ConsumerEvent::Update { msg, .. } => {
                self.trouble = Some(format!("an update is not as it was published: {msg:?}"));
            }
            _ => {}
        }
    }
}

struct Connection<'o, 'r> {
    outbox: &'o mut Outbox<'r>,
    link: &'o mut Link,
}

impl ConsumerOutputs for Connection<'_, '_> {
    fn connect(&mut self, _: usize) {
        self.link.wants_session = true;
    }

    fn send(&mut self, message: &[u8]) -> Sent {
        self.link.session.map_or(Sent::Gone, |session| self.outbox.send(session, message))
    }

    fn disconnect(&mut self, reason: &str) {
        if let Some(session) = self.link.session.take() {
            self.outbox.close(session, reason);
        }
    }
}

impl Mounts {
    /// Clients that have all of their images. `meanwhile` is done while they
    /// wait.
    pub(super) fn open(
        address: SocketAddr,
        workload: &Workload,
        tally: &mut Tally,
        mut meanwhile: impl FnMut(),
    ) -> Result<Self, PeerError> {
        let config = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
        let mut mounts = Self {
            reactor: Reactor::new(config)?,
            clock: MonotonicClock::start(),
            address,
            all: Vec::new(),
            by_session: Vec::new(),
            progress: Progress::default(),
            wanted: 0,
            turn: 0,
        };
        for client in 0..workload.clients {
            mounts.add(client, workload)?;
        }
        let began = Instant::now();
        while !mounts.is_ready() {
            mounts.poll(tally)?;
            meanwhile();
            if began.elapsed() > PATIENCE {
                let (images, wanted) = (mounts.progress.images, mounts.wanted);
                let what = format!("{images} of {wanted} images came in time");
                return Err(PeerError::Protocol { protocol: "rssl", what });
            }
        }
        Ok(mounts)
    }

    fn add(&mut self, client: usize, workload: &Workload) -> Result<(), PeerError> {
        let server = Server::new(self.address.ip().to_string(), self.address.port());
        let mut config = ConsumerConfig::new([server], Login::new(format!("peer-{client}")));
        config.obey_open_window = false;
        config.request_timeout = PATIENCE;
        let mut mount = Mount { core: ConsumerCore::new(config), link: Link::default() };
        let mut outbox = self.reactor.outbox();
        let mut out = Connection { outbox: &mut outbox, link: &mut mount.link };
        let mut requests = mount.core.requests(self.clock.now(), &mut out);
        for item in workload.watchlist(client) {
            requests.open(&ItemSpec::new(SERVICE, &topic(item)))?;
            self.wanted += 1;
        }
        self.all.push(mount);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.progress.images >= self.wanted
    }

    /// Reads and writes what there is.
    pub(super) fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        self.turn = self.turn.wrapping_add(1);
        if !self.is_ready() || self.turn.is_multiple_of(TURNS_PER_TIMERS) {
            self.run_timers();
        }
        let Self { reactor, all, by_session, progress, clock, .. } = self;
        let now = clock.now();
        let work = reactor.poll(now, Some(Duration::ZERO), |event, outbox| {
            let session = match &event {
                SessionEvent::Message { session, bytes } => {
                    let stamp = Stamp::read_rssl(bytes);
                    if stamp.is_some() {
                        let client = by_session.get(session.index as usize);
                        tally.update(client.copied().unwrap_or(usize::MAX), stamp);
                        return;
                    }
                    *session
                }
                SessionEvent::Opened { session, .. } | SessionEvent::Closed { session, .. } => {
                    *session
                }
                _ => return,
            };
            let mount = by_session.get(session.index as usize).and_then(|at| all.get_mut(*at));
            let Some(mount) = mount.filter(|mount| mount.link.session == Some(session)) else {
                return;
            };
            let text;
            let input = match event {
                SessionEvent::Message { bytes, .. } => ConsumerInput::Message(bytes),
                SessionEvent::Opened { .. } => ConsumerInput::Opened,
                SessionEvent::Closed { reason, .. } => {
                    mount.link.session = None;
                    text = reason.to_string();
                    ConsumerInput::Closed { reason: &text }
                }
                _ => return,
            };
            let mut out = Connection { outbox, link: &mut mount.link };
            mount.core.handle(now, input, &mut out, progress);
        });
        match self.progress.trouble.take() {
            Some(what) => Err(PeerError::Protocol { protocol: "rssl", what }),
            None => Ok(work),
        }
    }

    fn run_timers(&mut self) {
        let now = self.clock.now();
        for (client, mount) in self.all.iter_mut().enumerate() {
            if mount.core.next_deadline().is_some_and(|deadline| deadline <= now) {
                let mut outbox = self.reactor.outbox();
                let mut out = Connection { outbox: &mut outbox, link: &mut mount.link };
                mount.core.handle_timeout(now, &mut out, &mut self.progress);
            }
            if std::mem::take(&mut mount.link.wants_session) {
                let (host, port) = (self.address.ip().to_string(), self.address.port());
                let session = self.reactor.connect(&host, port, &ConnectConfig::default());
                mount.link.session = Some(session);
                let place = session.index as usize;
                if self.by_session.len() <= place {
                    self.by_session.resize(place + 1, usize::MAX);
                }
                self.by_session[place] = client;
            }
        }
    }
}
