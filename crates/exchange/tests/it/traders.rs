//! Simulated traders in a market without sockets, in virtual time.

use tapeline_exchange::{Door, ExchangeConfig, SessionId, Traded, Traders};
use tapeline_instrument::Price;
use tapeline_matching::BookId;
use tapeline_time::Time;

use crate::support::{VOD, Venue, config};

/// Half a minute of a market of traders: what was published, and how many trades.
fn traded(seed: u64) -> (Vec<Vec<u8>>, u64) {
    let mut venue = market_of_traders(seed, 3_000);
    let trades = venue.exchange.counts().trades;
    (std::mem::take(&mut venue.wires.units), trades)
}

/// A market after so many steps of traders, 10 ms each.
pub(crate) fn market_of_traders(seed: u64, steps: u64) -> Venue {
    let mut venue = Venue::new(&open_market());
    let instrument = Traded { id: VOD as u32, tick: Price(1_000_000), value: Price(1_000_000_000) };
    let mut traders = Traders::new(venue.now, vec![instrument], (3, 5), seed);
    let sessions: Vec<SessionId> =
        (0..traders.len()).map(|_| venue.connect(Door::Orders, "trader")).collect();
    let mut said = Vec::new();
    traders.log_on(venue.now, |at, bytes| said.push((at, bytes.to_vec())));
    for step in 0..steps {
        venue.now = Time::from_nanos(1_000_000_000 + step * 10_000_000);
        for (at, bytes) in std::mem::take(&mut said) {
            venue.exchange.received(venue.now, sessions[at], &bytes, &mut venue.wires);
        }
        venue.exchange.timeout(venue.now, &mut venue.wires);
        venue.exchange.cycle(venue.now, &mut venue.wires);
        let session = venue.exchange.engine().session_of(BookId(0)).expect("a book");
        for (at, own) in sessions.iter().enumerate() {
            let bytes = venue.wires.to.remove(own).unwrap_or_default();
            traders.received(venue.now, at, &bytes, |at, bytes| said.push((at, bytes.to_vec())));
        }
        traders.step(venue.now, session, |at, bytes| said.push((at, bytes.to_vec())));
    }
    assert_eq!(venue.wires.closed, [], "nobody is logged out");
    assert_eq!(venue.exchange.counts().rejected, 0);
    venue
}

/// A market that lets everybody in.
pub(crate) fn open_market() -> ExchangeConfig {
    ExchangeConfig { users: Vec::new(), max_sessions: 20, ..config() }
}

#[test]
fn traders_trade_and_the_same_seed_is_the_same_market() {
    let (units, trades) = traded(1);
    assert!(trades > 100 && units.len() > 1_000, "{trades} trades, {} units", units.len());
    assert!(traded(1).0 == units);
    assert!(traded(2).0 != units);
}
