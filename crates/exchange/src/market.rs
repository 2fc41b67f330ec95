//! A whole market in one thread: commands into the engine, market data out.

use tapeline_instrument::Instrument;
use tapeline_layout::Sections;
use tapeline_matching::{BookId, Command, Config, Engine, Event};

use crate::core::Stage;
use crate::distribution::Distribution;

/// Takes what a command means.
pub(crate) trait Telling {
    /// Something happened; owners of orders hear of it before the others.
    fn event(&mut self, event: &Event);

    /// A unit of market data goes out.
    fn publish(&mut self, unit: &[u8]);

    /// A command is so far.
    fn reached(&mut self, stage: Stage);
}

/// Engine and distribution, without sockets or clocks: the same commands at the
/// same times give the same bytes.
///
/// ```
/// use tapeline_exchange::Market;
/// use tapeline_instrument::{Cause, Instrument, Price, Session, TickTable};
/// use tapeline_matching::{Command, Config};
///
/// let mut market = Market::new(&Config::default(), b'A');
/// let mut units = Vec::new();
/// let ticks = TickTable::flat(Price(1_000_000))?;
/// let book = market.add(0, Instrument::new(7, "VOD.L", ticks), &mut |unit| units.push(unit.to_vec()));
/// let command =
///     Command::Session { book, session: Session::OpeningCall, cause: Cause::Scheduled };
/// let events = market.handle(0, &command, &mut |unit| units.push(unit.to_vec()));
/// assert_eq!((events.len(), units.len()), (1, 2));
/// # Ok::<(), tapeline_instrument::InstrumentError>(())
/// ```
#[derive(Debug)]
pub struct Market {
    engine: Engine,
    distribution: Distribution,
    events: Vec<Event>,
}

impl Market {
    /// A market without instruments, whose market data has this group.
    pub fn new(config: &Config, group: u8) -> Self {
        Self {
            engine: Engine::new(config),
            distribution: Distribution::new(group),
            events: Vec::with_capacity(256),
        }
    }

    /// The same with room for all orders, and for what a command brings, from the
    /// start.
    pub(crate) fn with_room(config: &Config, group: u8) -> Self {
        Self {
            engine: Engine::new(config),
            distribution: Distribution::with_room(group, config.max_orders as usize),
            events: Vec::with_capacity(4 * 1024),
        }
    }

    /// Says who a firm is, for orders that are named.
    pub(crate) fn name_firm(&mut self, firm: u16, name: &str) {
        self.distribution.name_firm(firm, name);
    }

    /// Adds an instrument, closed, and publishes it; `send` gets units of market
    /// data.
    pub fn add(
        &mut self,
        now_ns: u64,
        instrument: Instrument,
        send: &mut impl FnMut(&[u8]),
    ) -> BookId {
        self.distribution.add(now_ns, &instrument, send);
        self.distribution.flush(now_ns, &self.engine, send);
        self.engine.add(instrument)
    }

    /// Adds an instrument that was published before.
    pub(crate) fn add_known(&mut self, instrument: Instrument) -> BookId {
        self.distribution.add_known(instrument.id.0);
        self.engine.add(instrument)
    }

    /// Takes up the states of the engine and of the publisher. `None` if there are
    /// none.
    pub(crate) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        self.engine.restore(sections)?;
        self.distribution.restore(sections)
    }

    /// Does what a command asks for, at a time in nanoseconds since 1970 UTC;
    /// `send` gets units of market data. What it means for owners of orders comes
    /// back.
    pub fn handle(
        &mut self,
        now_ns: u64,
        command: &Command,
        send: &mut impl FnMut(&[u8]),
    ) -> &[Event] {
        self.events.clear();
        self.engine.handle(now_ns, command, &mut self.events);
        for event in &self.events {
            self.distribution.event(now_ns, event, send);
        }
        self.distribution.flush(now_ns, &self.engine, send);
        &self.events
    }

    /// Does what a command asks for, and has all of it told: owners of orders first.
    pub(crate) fn handle_telling(
        &mut self,
        now_ns: u64,
        command: &Command,
        telling: &mut impl Telling,
    ) {
        self.events.clear();
        self.engine.handle(now_ns, command, &mut self.events);
        telling.reached(Stage::Matched);
        for event in &self.events {
            telling.event(event);
        }
        telling.reached(Stage::Told);
        let mut send = |unit: &[u8]| telling.publish(unit);
        for event in &self.events {
            self.distribution.event(now_ns, event, &mut send);
        }
        self.distribution.flush(now_ns, &self.engine, &mut send);
        telling.reached(Stage::Published);
    }

    /// The engine, for whoever compares books with it.
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What answers who missed market data.
    pub fn distribution(&mut self) -> &mut Distribution {
        &mut self.distribution
    }
}
