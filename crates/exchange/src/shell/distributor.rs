//! A distribution on sockets: lines of market data by UDP, TCP for readers, and the link
//! to who leads its market.
//!
//! It reads, writes and knows the time; what anything means is the [`Distributor`]'s to
//! say.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_time::Time;

use super::dialer::{Dialer, Dialled, Linked};
use super::doors::{self, Connections, Core, Doors};
use super::lines::{Line, Lines};
use super::outbox::Connection;
use crate::core::{Door, Outputs, SessionId};
use crate::distributor::{DistributionCounts, Distributor, DistributorConfig, DistributorOutputs};
use crate::error::ExchangeError;

/// Where a distribution listens and sends, and where its market is.
#[derive(Clone, Debug)]
pub struct DistributorVenueConfig {
    /// The distribution.
    pub distributor: DistributorConfig,
    /// The address at which it listens.
    pub host: IpAddr,
    /// The ports of replay and snapshot; 0 for any.
    pub ports: [u16; 2],
    /// Where market data goes while it is the one that publishes: the same on each line.
    pub lines: Vec<Line>,
    /// Where the market, or each of its replicas, listens to distributions.
    pub markets: Vec<SocketAddr>,
    /// So long behind something that came it polls its sockets instead of waiting for
    /// them; zero: never.
    pub busy_poll: Duration,
}

/// What the distribution's outputs go to.
#[derive(Debug)]
pub(super) struct Sockets {
    connections: Connections,
    lines: Lines,
    link: Option<Dialled>,
}

impl Outputs for Sockets {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        self.connections.queue(session, bytes);
    }

    fn close(&mut self, session: SessionId) {
        self.connections.close(session);
    }

    fn publish(&mut self, unit: &[u8]) {
        self.lines.publish(unit);
    }

    fn queued(&self, session: SessionId) -> usize {
        self.connections.get(session).map_or(0, Connection::queued)
    }
}

impl DistributorOutputs for Sockets {
    fn say(&mut self, bytes: &[u8]) {
        if let Some(link) = &mut self.link {
            link.queue(bytes);
        }
    }
}

impl Core for Distributor {
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
    }
}

impl Linked for Distributor {
    fn link(sockets: &mut Sockets) -> &mut Option<Dialled> {
        &mut sockets.link
    }

    fn link_up(&mut self, now: Time, sockets: &mut Sockets) {
        Self::link_up(self, now, sockets);
    }

    fn link_received(&mut self, now: Time, bytes: &[u8], sockets: &mut Sockets) -> bool {
        Self::link_received(self, now, bytes, sockets)
    }

    fn link_lost(&mut self, now: Time, _: &mut Sockets) {
        Self::link_lost(self, now);
    }

    fn is_link_silent(&self, now: Time) -> bool {
        Self::is_link_silent(self, now)
    }
}

/// A distribution on sockets.
#[derive(Debug)]
pub struct DistributorVenue {
    distributor: Distributor,
    doors: Doors,
    sockets: Sockets,
    dialer: Dialer,
}

impl DistributorVenue {
    /// Listens; readers are let in when it has caught up.
    ///
    /// # Errors
    /// A port cannot be listened on, a line cannot be used, or the system tells of no
    /// sockets.
    pub fn start(config: &DistributorVenueConfig, now: Time) -> Result<Self, ExchangeError> {
        let mut doors = Doors::new(config.busy_poll)?;
        for (door, port) in [Door::Replay, Door::Snapshot].into_iter().zip(config.ports) {
            doors.listen(door, SocketAddr::new(config.host, port))?;
        }
        let lines = Lines::new(&config.lines)?;
        let connections = Connections::new(config.distributor.max_sessions(), now);
        Ok(Self {
            distributor: Distributor::new(config.distributor.clone()),
            doors,
            sockets: Sockets { connections, lines, link: None },
            dialer: Dialer::new(&config.markets),
        })
    }

    /// What listens where.
    pub fn listening(&self) -> impl Iterator<Item = (Door, SocketAddr)> {
        self.doors.listening()
    }

    /// Where market data goes.
    pub fn lines(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.lines.to()
    }

    /// What it has counted.
    pub fn counts(&self) -> DistributionCounts {
        let units_lost = self.sockets.lines.lost();
        DistributionCounts { units_lost, ..self.distributor.counts() }
    }

    /// Why it cannot go on, if it cannot.
    pub fn trouble(&mut self) -> Option<ExchangeError> {
        self.distributor.trouble()
    }

    /// One turn at `now`: waits for up to `most` for something to come, and does it.
    pub fn turn(&mut self, now: Time, most: Duration, clock: impl Fn() -> Time) {
        self.doors.wait(now, self.dialer.most(most), &self.distributor);
        let now = clock();
        self.sockets.connections.now = now;
        let Self { distributor, doors, sockets, dialer } = self;
        dialer.look(now, doors, distributor, sockets);
        doors.serve(now, distributor, sockets);
        // The market hears of nothing that is not out: whoever takes over may say some of
        // it twice, and leaves nothing out.
        sockets.lines.flush();
        doors::flush(now, distributor, sockets);
        dialer.flush(now, distributor, sockets);
    }
}
