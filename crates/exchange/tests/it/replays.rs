//! The same entries lead to the same events, and nothing is told before it is kept.

use std::fmt::Write as _;

use ring::digest::{Context, SHA256};
use tapeline_exchange::{Door, Exchange, ExchangeConfig};
use tapeline_instrument::Lots;
use tapeline_sequence::{Entry, EventHash, Kind};

use crate::support::{EPOCH_NS, Venue, Wires, config, logon, new};
use crate::traders::{market_of_traders, open_market};

/// Entries done again: what is published, and what all events come to.
fn replayed(config: &ExchangeConfig, entries: &[u8]) -> Result<(Wires, u64, EventHash), u64> {
    // Another clock, which nothing may look at.
    let mut exchange = Exchange::new(config, EPOCH_NS + 86_400_000_000_000);
    let (mut wires, mut rest) = (Wires::default(), entries);
    while !rest.is_empty() {
        let (entry, behind) = Entry::read(rest).expect("an entry");
        exchange.replay(&entry, &mut wires).map_err(|differs| differs.index)?;
        rest = behind;
    }
    let (index, applied, hash) = exchange.position();
    assert_eq!(index, applied);
    Ok((wires, applied, hash))
}

#[test]
fn the_same_journal_twice_gives_the_same_events_byte_for_byte() {
    let mut venue = market_of_traders(3, 18_000);
    let (_, last, hash) = venue.exchange.position();
    assert!(venue.exchange.counts().trades > 500 && last > 10_000, "{last} entries");
    for _ in 0..2 {
        let (wires, again, same) = replayed(&open_market(), &venue.wires.entries).expect("same");
        assert_eq!((again, same), (last, hash));
        // A heartbeat is no event: it comes by the clock of who sends it.
        let is_event = |unit: &&Vec<u8>| unit[2] > 0;
        let units =
            |wires: &Wires| wires.units.iter().filter(is_event).cloned().collect::<Vec<_>>();
        assert!(units(&wires) == units(&venue.wires), "market data differs");
    }
    // What the first run noted of its events is in its entries.
    assert_eq!(venue.wires.checked.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [10_000]);
    let checks = kinds(&venue.wires.entries).into_iter().filter(|kind| *kind == Kind::CHECK);
    assert_eq!(checks.count(), 1);
    // Another market comes to other events, and is found out.
    let mut other = open_market();
    other.instruments[0].lots = Lots { max: 300, ..Lots::default() };
    let entries = std::mem::take(&mut venue.wires.entries);
    assert_eq!(replayed(&other, &entries).err(), Some(10_000));
}

/// The SHA-256 of messages and their lengths.
fn digest<'a>(messages: impl Iterator<Item = &'a [u8]>) -> String {
    let mut context = Context::new(&SHA256);
    for message in messages {
        context.update(&(message.len() as u64).to_le_bytes());
        context.update(message);
    }
    context.finish().as_ref().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// What the entries of a market of traders lead to is a number here, so that every build
/// on every machine is held to the same one: with assertions and without, optimised or
/// not. Whoever changes what an exchange does on purpose writes the new numbers; entries
/// that differ say that it is another journal, and events that differ alone that the
/// same journal leads elsewhere.
#[test]
fn a_journal_leads_to_these_events_in_every_build() {
    let venue = market_of_traders(11, 6_000);
    let entries = &venue.wires.entries;
    let (wires, _, hash) = replayed(&open_market(), entries).expect("no check differs");
    let units = wires.units.iter().map(Vec::as_slice).filter(|unit| unit[2] > 0);
    let came = [
        ("journal", digest(std::iter::once(&entries[..]))),
        ("market data", digest(units)),
        ("all events", format!("{:016x}", hash.0)),
    ];
    let came = came.each_ref().map(|(of, digest)| (*of, digest.as_str()));
    assert_eq!(came, EVENTS);
}

const EVENTS: [(&str, &str); 3] = [
    ("journal", "d7a86ea8ea20879e36f1618bbf7131a682013aadd26557be00a764cff3bcf3e8"),
    ("market data", "b0bef46fd962dcbdffb12860abc59b06ab29a0a9397ad31427e0788b65da5da2"),
    ("all events", "476fa2e475a445a7"),
];

fn kinds(entries: &[u8]) -> Vec<Kind> {
    let (mut found, mut rest) = (Vec::new(), entries);
    while let Ok((entry, behind)) = Entry::read(rest) {
        found.extend(entry.commands().map(|command| command.kind));
        rest = behind;
    }
    found
}

#[test]
fn a_quiet_market_adds_nothing_to_its_journal() {
    let mut venue = Venue::new(&config());
    let before = venue.wires.entries.len();
    for _ in 0..1_000 {
        venue.after(10);
    }
    assert_eq!(venue.wires.entries.len(), before);
}

#[test]
fn nobody_hears_of_an_order_before_it_is_kept() {
    let mut venue = Venue::new(&config());
    let ann = venue.log_on("ANN");
    venue.wires.keeps_later = true;
    venue.lines();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(ann, &new("A2", "buy 40@10.25"));
    assert_eq!(venue.lines(), [""; 0]);
    let (last, applied, _) = venue.exchange.position();
    assert_eq!(last - applied, 2);
    venue.exchange.committed(venue.now, last - 1, &mut venue.wires);
    assert_eq!(venue.lines(), ["ANN < 0/0 A1 leaves 100", "A S 100@10.25"]);
    venue.exchange.committed(venue.now, last, &mut venue.wires);
    assert_eq!(venue.lines()[0], "ANN < F/2 A2 leaves 0 40@10.25 R");
}

#[test]
fn what_cannot_be_kept_is_refused_and_what_may_be_kept_is_not_answered() {
    let mut venue = Venue::new(&config());
    let ann = venue.log_on("ANN");
    venue.wires.keeps_later = true;
    for name in ["A1", "A2", "A3"] {
        venue.says(ann, &new(name, "sell 100@10.25"));
    }
    venue.lines();
    let (last, ..) = venue.exchange.position();
    venue.exchange.committed(venue.now, last - 2, &mut venue.wires);
    assert_eq!(venue.lines(), ["ANN < 0/0 A1 leaves 100", "A S 100@10.25"]);
    // The disk failed in the middle of the second: nobody knows.
    venue.exchange.halt(venue.now, last - 1, &mut venue.wires);
    assert_eq!(venue.lines(), ["ANN < j A3 9998 app 0"]);
    venue.says(ann, &new("A4", "sell 100@10.25"));
    assert_eq!(venue.lines(), ["ANN < j A4 9998 app 0"]);
    assert_eq!((venue.exchange.counts().down, venue.exchange.engine().alive()), (1, 1));
}

#[test]
fn a_restart_goes_on_with_numbers_and_lets_orders_go_with_their_sessions() {
    let mut venue = Venue::new(&config());
    let ann = venue.log_on("ANN");
    venue.says(ann, &new("A1", "sell 100@10.25"));
    let mut stays = crate::support::order("A2", "sell 50@10.30");
    stays.auto_cancel = 0;
    venue.says(ann, &tapeline_ntg::Message::NewOrder(stays));
    let entries = std::mem::take(&mut venue.wires.entries);
    let next = unit_numbers(venue.wires.units.last().expect("a unit")).1;
    // The process ends; another one takes up.
    let mut exchange = Exchange::new(&config(), EPOCH_NS);
    let mut wires = Wires::default();
    let mut rest = &entries[..];
    while let Ok((entry, behind)) = Entry::read(rest) {
        exchange.replay(&entry, &mut wires).expect("the same");
        rest = behind;
    }
    wires.units.clear();
    exchange.open(venue.now, &mut wires);
    assert_eq!(exchange.engine().alive(), 1, "what asked for it went with its session");
    // No number of market data is given twice.
    assert_eq!(unit_numbers(&wires.units[0]).0, next);
    let mut again = Venue { exchange, wires, now: venue.now };
    let ann = again.connect(Door::Orders, "ANN");
    again.says(ann, &logon("ANN"));
    again.lines();
    again.says(ann, &crate::support::cancel("C1", "A2"));
    assert_eq!(again.lines(), ["ANN < 4/4 C1 leaves 0", "D"]);
}

/// The first number of a unit, and the one behind its last.
fn unit_numbers(unit: &[u8]) -> (u32, u32) {
    let first = u32::from_le_bytes([unit[4], unit[5], unit[6], unit[7]]);
    (first, first + u32::from(unit[2]))
}

#[test]
fn a_snapshot_and_the_entries_behind_it_lead_to_the_same_events() {
    let mut venue = market_of_traders(5, 4_000);
    let (_, last, hash) = venue.exchange.position();
    // The state at some entries, by doing the first ones again.
    for half in [2, last / 2, last - 1] {
        let (mut first, mut wires) = (Exchange::new(&open_market(), EPOCH_NS), Wires::default());
        let mut rest = &venue.wires.entries[..];
        while let Ok((entry, behind)) = Entry::read(rest) {
            if entry.head().index > half {
                break;
            }
            first.replay(&entry, &mut wires).expect("the same");
            rest = behind;
        }
        let mut state = Vec::new();
        assert_eq!(first.save(&mut state), Some(half));
        let mut second = Exchange::new(&open_market(), EPOCH_NS);
        second.restore(&state).expect("a state");
        let mut again = Vec::new();
        second.save(&mut again);
        assert!(again == state, "the state of the state differs");
        wires.units.clear();
        let mut others = Wires::default();
        while let Ok((entry, behind)) = Entry::read(rest) {
            first.replay(&entry, &mut wires).expect("the same");
            second.replay(&entry, &mut others).expect("the same");
            rest = behind;
        }
        assert!(wires.units == others.units, "market data differs behind entry {half}");
        assert_eq!((first.position(), second.position().2), (second.position(), hash));
        for len in (0..state.len()).step_by(state.len() / 40) {
            let mut none = Exchange::new(&open_market(), EPOCH_NS);
            assert_eq!(none.restore(&state[..len]), None, "{len} bytes");
        }
    }
    venue.wires.keeps_later = true;
    venue.log_on("ANN");
    venue.after(10);
    let (made, done, _) = venue.exchange.position();
    assert!(made > done);
    assert_eq!(venue.exchange.save(&mut Vec::new()), None, "an entry is not done yet");
}
