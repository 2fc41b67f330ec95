//! An exchange on sockets: TCP for clients and readers, UDP for market data.
//!
//! It reads, writes and knows the time; what anything means is the
//! [`Exchange`]'s to say. One thread turns all of it; where there is a journal,
//! another one keeps it, since a disk takes longer than a turn may.

mod catch_up;
mod dialer;
mod distributor;
mod doors;
mod files;
mod gateway;
mod journal;
mod lines;
mod outbox;
mod past;
mod replay;
mod replicas;
mod snapshot;
mod stages;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use mio::{Registry, Token, Waker};
use tapeline_sequence::{AppendError, EventHash};
use tapeline_time::Time;

pub use distributor::{DistributorVenue, DistributorVenueConfig};
pub use gateway::{GatewayVenue, GatewayVenueConfig};
pub use journal::JournalSettings;
pub use lines::{Line, Receiver};
pub use replay::{Replayed, replay};
pub use replicas::ReplicaSettings;
pub use stages::{StageRow, Stages};

use crate::core::{
    Door, Exchange, ExchangeConfig, ExchangeCounts, Keeping, Operation, Outputs, Past, SessionId,
    Stage,
};
use crate::error::{ExchangeError, OperateError};
use crate::identity;
use doors::{Connections, Core, Doors};
use journal::{Keeper, TakenUp};
use lines::Lines;
use outbox::Connection;
use past::Kept;
use replicas::Team;

/// How often a start looks at the journal at least.
const KEEP_WAIT: Duration = Duration::from_millis(100);

/// The journal has something to say.
const JOURNAL: Token = Token(usize::MAX);

/// Where an exchange listens and sends.
#[derive(Clone, Debug)]
pub struct VenueConfig {
    /// The market.
    pub exchange: ExchangeConfig,
    /// The address at which it listens.
    pub host: IpAddr,
    /// The port of each door, in the order of [`Door::ALL`]; 0 for any. Gateways and
    /// distributions have addresses of their own instead.
    pub ports: [u16; Door::ALL.len()],
    /// Where market data goes: the same on each line.
    pub lines: Vec<Line>,
    /// Nanoseconds since 1970 UTC at [`Time::ZERO`].
    pub epoch_ns: u64,
    /// Where its journal is; without one, what happens is forgotten with the process.
    pub journal: Option<JournalSettings>,
    /// The other replicas, and which one this is; without them, it is alone.
    pub replicas: Option<ReplicaSettings>,
    /// Where gateways in processes of their own are listened to; `None`: nowhere.
    pub gateways: Option<SocketAddr>,
    /// So long behind something that came it polls its sockets instead of waiting for
    /// them; zero: never.
    pub busy_poll: Duration,
    /// Where distributions in processes of their own are listened to; `None`: nowhere.
    pub distribution: Option<SocketAddr>,
}

/// An exchange on sockets.
#[derive(Debug)]
pub struct Venue {
    exchange: Exchange,
    doors: Doors,
    sockets: Sockets,
    /// Why it cannot go on.
    trouble: Option<ExchangeError>,
    dir: PathBuf,
}

/// What the market's outputs go to.
#[derive(Debug)]
struct Sockets {
    connections: Connections,
    lines: Lines,
    keeper: Option<Keeper>,
    team: Option<Team>,
    stages: Stages,
    /// What the journal has, for distributions that begin late.
    past: Option<Kept>,
}

impl Outputs for Sockets {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        let Some(connection) = self.connections.get(session) else { return };
        match connection.via() {
            Some((link, client)) => self.connections.queue_report(link, client, bytes),
            None => self.connections.queue(session, bytes),
        }
    }

    fn route(&mut self, session: SessionId, link: SessionId, client: u32) {
        self.connections.set(session, Some(Connection::of_gateway(link, client)));
    }

    fn close(&mut self, session: SessionId) {
        self.connections.close(session);
    }

    fn publish(&mut self, unit: &[u8]) {
        self.lines.publish(unit);
    }

    fn queued(&self, session: SessionId) -> usize {
        let connection = self.connections.get(session);
        let link = connection.and_then(Connection::via);
        let link = link.and_then(|(link, _)| self.connections.get(link));
        link.or(connection).map_or(0, Connection::queued)
    }

    fn keep(&mut self, _: u64, entry: &[u8]) -> Keeping {
        let Some(keeper) = &self.keeper else { return Keeping::Done };
        keeper.push(entry);
        if let Some(team) = &mut self.team {
            team.made(entry);
        }
        Keeping::UnderWay
    }

    fn past(&mut self) -> Option<&mut dyn Past> {
        self.past.as_mut().map(|past| past as &mut dyn Past)
    }

    fn checked(&mut self, index: u64, hash: EventHash) {
        tracing::debug!(index, hash = format!("{:016x}", hash.0), "events so far");
    }

    #[inline]
    fn reached(&mut self, stage: Stage) {
        self.stages.reached(stage);
    }
}

impl Core for Exchange {
    type Sockets = Sockets;

    fn connections(sockets: &mut Sockets) -> &mut Connections {
        &mut sockets.connections
    }

    fn accepted(&mut self, now: Time, door: Door) -> Option<SessionId> {
        Self::accepted(self, now, door)
    }

    fn received(&mut self, now: Time, session: SessionId, bytes: &[u8], sockets: &mut Sockets) {
        Self::received(self, now, session, bytes, sockets);
    }

    fn closed(&mut self, now: Time, session: SessionId, _: &mut Sockets) {
        Self::closed(self, now, session);
    }

    fn deadline(&self) -> Time {
        Self::deadline(self)
    }

    fn end_turn(&mut self, now: Time, sockets: &mut Sockets) {
        self.timeout(now, sockets);
        self.cycle(now, sockets);
        sockets.stages.end_turn(now);
    }

    fn is_backed_up(&self) -> bool {
        Self::is_backed_up(self)
    }
}

/// Opens the journal, does again what it says, and starts its thread.
fn start_journal(
    settings: &JournalSettings,
    exchange: &mut Exchange,
    config: &ExchangeConfig,
    registry: &Registry,
) -> Result<Keeper, ExchangeError> {
    let TakenUp { mut journal, found, snapshot } =
        journal::recover(settings, config, exchange, true, |_, _| {})?;
    let (_, applied, hash) = exchange.position();
    let (dir, hash) = (settings.dir.display(), format!("{:016x}", hash.0));
    let (last, torn_bytes) = (applied, found.torn_bytes);
    tracing::info!(%dir, last, snapshot, torn_bytes, hash, "the journal is read");
    if settings.snapshot_entries > 0 && applied - snapshot >= settings.snapshot_entries {
        let upto = journal::keep_state(&settings.dir, config, exchange)?;
        let segments = journal.trim(upto)?;
        if segments > 0 {
            tracing::info!(%dir, segments, "segments before the snapshots are gone");
        }
    }
    let waker = Waker::new(registry, JOURNAL).map_err(ExchangeError::Poll)?;
    Keeper::start(journal, None, waker)
}

/// Opens the journal of a replica, and starts its thread and its links.
fn start_replica(
    settings: &ReplicaSettings,
    journal: &JournalSettings,
    exchange: &mut Exchange,
    config: &ExchangeConfig,
    (registry, now): (&Registry, Time),
) -> Result<(Keeper, Team), ExchangeError> {
    let (TakenUp { journal: kept, found, .. }, mut log) =
        journal::follow(journal, config, exchange, now)?;
    let (ballot, is_whole) = Team::ballot(&journal.dir)?;
    log.is_whole = is_whole;
    let (dir, last, committed) = (journal.dir.display(), found.last, log.committed);
    let (term, replica) = (ballot.term, settings.own + 1);
    tracing::info!(%dir, last, committed, term, is_whole, replica, "the journal is read");
    let waker = Waker::new(registry, JOURNAL).map_err(ExchangeError::Poll)?;
    let keeper = Keeper::start(kept, Some(committed), waker)?;
    let place = (journal.dir.clone(), identity::of(config));
    let team = Team::start(settings, place, (ballot, log), registry, now)?;
    Ok((keeper, team))
}

impl Venue {
    /// Listens, and opens the market, as its journal left it if it has one.
    pub fn start(config: &VenueConfig, now: Time) -> Result<Self, ExchangeError> {
        let doors = Doors::new(config.busy_poll)?;
        let mut exchange = Exchange::new(&config.exchange, config.epoch_ns);
        let (keeper, team) = match (&config.journal, &config.replicas) {
            (Some(journal), Some(replicas)) => {
                let at = (doors.registry(), now);
                let (keeper, team) =
                    start_replica(replicas, journal, &mut exchange, &config.exchange, at)?;
                (Some(keeper), Some(team))
            }
            (Some(journal), None) => {
                let registry = doors.registry();
                (Some(start_journal(journal, &mut exchange, &config.exchange, registry)?), None)
            }
            (None, _) => (None, None),
        };
        let lines = Lines::new(&config.lines)?;
        let connections = Connections::new(config.exchange.max_sessions, now);
        let past = config.journal.as_ref().map(|journal| Kept::new(&journal.dir));
        let stages = Stages::new();
        let mut venue = Self {
            exchange,
            doors,
            sockets: Sockets { connections, lines, keeper, team, stages, past },
            trouble: None,
            dir: config.journal.as_ref().map(|journal| journal.dir.clone()).unwrap_or_default(),
        };
        if venue.sockets.team.is_none() {
            venue.exchange.open(now, &mut venue.sockets);
            venue.wait_until_open(now)?;
        }
        for (door, port) in Door::ALL.into_iter().zip(config.ports) {
            let address = match door {
                Door::Gateways => config.gateways,
                Door::Distribution => config.distribution,
                _ => Some(SocketAddr::new(config.host, port)),
            };
            if let Some(address) = address {
                venue.doors.listen(door, address)?;
            }
        }
        Ok(venue)
    }

    /// Nobody is let in before the market is open, and it is when that is kept.
    fn wait_until_open(&mut self, now: Time) -> Result<(), ExchangeError> {
        loop {
            if let Some(failure) = self.commit(now) {
                return Err(ExchangeError::JournalFailed(failure.error));
            }
            let (last, applied, _) = self.exchange.position();
            if applied == last {
                return Ok(());
            }
            self.doors.poll(KEEP_WAIT).map_err(ExchangeError::Poll)?;
        }
    }

    /// What listens where.
    pub fn listening(&self) -> impl Iterator<Item = (Door, SocketAddr)> {
        self.doors.listening()
    }

    /// Where market data goes.
    pub fn lines(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.lines.to()
    }

    /// The market.
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Operators want something done; see [`Exchange::operate`].
    ///
    /// # Errors
    /// As of [`Exchange::operate`].
    pub fn operate(&mut self, now: Time, operation: Operation) -> Result<(), OperateError> {
        self.exchange.operate(now, operation)
    }

    /// What the market has counted.
    pub fn counts(&self) -> ExchangeCounts {
        let lost = self.sockets.lines.lost();
        let journal = self.sockets.keeper.as_ref().map(Keeper::counts).unwrap_or_default();
        let team = self.sockets.team.as_ref().map(Team::counts);
        let (_, term, replicas, elections) = team.unwrap_or_default();
        let term = u64::from(term);
        ExchangeCounts {
            units_lost: lost,
            journal_batches: journal.batches,
            journal_bytes: journal.bytes,
            journal_segments: journal.segments,
            leads: usize::from(self.exchange.is_open()),
            term,
            replicas,
            elections,
            ..self.exchange.counts()
        }
    }

    /// One turn at `now`: waits for up to `most` for something to come, and does it.
    pub fn turn(&mut self, now: Time, most: Duration, clock: impl Fn() -> Time) {
        let replicas = self.sockets.team.as_ref().map(Team::deadline);
        let most = replicas.map_or(most, |due| most.min(due.since(now)));
        self.doors.wait(now, most, &self.exchange);
        let now = clock();
        self.sockets.connections.now = now;
        self.replicate(now);
        self.commit(now);
        if self.is_deposed() {
            return;
        }
        self.doors.serve(now, &mut self.exchange, &mut self.sockets);
        self.flush(now);
    }

    /// What the journal has kept is done and told. Returns why it keeps nothing any
    /// more, once.
    fn commit(&mut self, now: Time) -> Option<AppendError> {
        let keeper = self.sockets.keeper.as_ref()?;
        // In this order: what was kept before it failed is done first.
        let failure = keeper.failure();
        let synced = keeper.synced();
        let committed = match &mut self.sockets.team {
            Some(team) if team.is_deposed() => return None,
            Some(team) => {
                let committed = team.committed(synced);
                keeper.note_committed(committed);
                committed
            }
            None => synced,
        };
        self.exchange.committed(now, committed, &mut self.sockets);
        if self.sockets.team.is_some() {
            let differs = self.exchange.take_differs();
            let differs = differs.map(|differs| journal::differ(&self.dir, differs));
            let failed = failure.map(|failure| ExchangeError::JournalFailed(failure.error));
            self.trouble = self.trouble.take().or(differs).or(failed);
            return None;
        }
        if let Some(failure) = &failure {
            tracing::error!(error = %failure, "nothing is taken any more: entries cannot be kept");
            self.exchange.halt(now, failure.maybe, &mut self.sockets);
        }
        failure
    }

    /// What other replicas say is done, and this one leads if it was elected.
    fn replicate(&mut self, now: Time) {
        let (Some(mut team), Some(keeper)) = (self.sockets.team.take(), &self.sockets.keeper)
        else {
            return;
        };
        let exchange = &mut self.exchange;
        team.turn(now, self.doors.registry(), |cut, entries| {
            if let Some(last) = cut {
                tracing::warn!(last, "entries that were never committed are cut off");
                keeper.cut(last);
                exchange.forget_behind(last);
            }
            if !entries.is_empty() {
                keeper.push(entries);
                exchange.follow(entries);
            }
        });
        let elected = team.elected();
        self.sockets.team = Some(team);
        if let Some(term) = elected {
            tracing::info!(term, "elected: this one leads");
            self.exchange.lead(now, term, &mut self.sockets);
        }
    }

    /// Whether this one led, and another one does: it has to start anew, with what
    /// its journal has.
    pub fn is_deposed(&self) -> bool {
        self.sockets.team.as_ref().is_some_and(Team::is_deposed)
    }

    /// Why it cannot go on, if it cannot.
    pub fn trouble(&mut self) -> Option<ExchangeError> {
        self.trouble.take()
    }

    fn flush(&mut self, now: Time) {
        doors::flush(now, &mut self.exchange, &mut self.sockets);
        if let Some(team) = &mut self.sockets.team {
            team.flush();
        }
        self.sockets.lines.flush();
    }

    /// How long orders take in each stage.
    pub const fn stages(&self) -> &Stages {
        &self.sockets.stages
    }

    /// Says goodbye to everybody: sockets are closed when this is dropped.
    pub fn close(&mut self) {
        let now = self.sockets.connections.now;
        if let Some(keeper) = &mut self.sockets.keeper {
            keeper.close();
            self.commit(now);
            self.flush(now);
            if let Some(team) = &self.sockets.team {
                team.end();
            }
        }
        self.sockets.connections.close_all();
    }

    // ---- who is in this process

    /// Somebody of this process comes through a door, without a socket.
    pub fn join(&mut self, now: Time, door: Door) -> Option<SessionId> {
        let session = self.exchange.accepted(now, door)?;
        self.sockets.connections.set(session, Some(Connection::here()));
        Some(session)
    }

    /// Who joined says something.
    pub fn say(&mut self, now: Time, session: SessionId, bytes: &[u8]) {
        self.exchange.received(now, session, bytes, &mut self.sockets);
    }

    /// What has come for who joined, into `out`.
    pub fn hear(&mut self, session: SessionId, out: &mut Vec<u8>) {
        out.clear();
        if let Some(connection) = self.sockets.connections.get_mut(session) {
            connection.take(out);
        }
    }
}
