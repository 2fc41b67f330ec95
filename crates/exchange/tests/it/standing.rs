//! A market among replicas: it follows, it is elected, it leads.

use tapeline_exchange::{Door, Exchange};
use tapeline_instrument::Lots;
use tapeline_ntg::Message;
use tapeline_sequence::Entry;

use crate::support::{EPOCH_NS, Venue, Wires, config, logon, new, order};
use crate::traders::{market_of_traders, open_market};

/// Another clock, which nothing may look at.
const OTHER_EPOCH_NS: u64 = EPOCH_NS + 86_400_000_000_000;

/// A market that stands by, with the entries of its leader.
fn follower(venue: &Venue) -> Exchange {
    let mut exchange = Exchange::new(&config(), OTHER_EPOCH_NS);
    exchange.stand_by();
    exchange.follow(&venue.wires.entries);
    exchange
}

/// A market with an order that goes with its session and, in the last entry, one that
/// stays.
fn two_orders() -> Venue {
    let mut venue = Venue::new(&config());
    let ann = venue.log_on("ANN");
    venue.says(ann, &new("A1", "sell 100@10.25"));
    let mut stays = order("A2", "sell 50@10.30");
    stays.auto_cancel = 0;
    venue.says(ann, &Message::NewOrder(stays));
    venue
}

#[test]
fn a_follower_is_where_its_leader_is_and_tells_nobody() {
    let leader = market_of_traders(3, 18_000);
    let mut exchange = Exchange::new(&open_market(), OTHER_EPOCH_NS);
    exchange.stand_by();
    let (mut wires, mut rest) = (Wires::default(), &leader.wires.entries[..]);
    while let Ok((entry, behind)) = Entry::read(rest) {
        exchange.follow(entry.bytes());
        // What is committed is known an entry later.
        exchange.committed(leader.now, entry.head().index - 1, &mut wires);
        rest = behind;
    }
    let (last, ..) = leader.exchange.position();
    exchange.committed(leader.now, last, &mut wires);
    assert_eq!(exchange.position(), leader.exchange.position());
    assert_eq!(exchange.take_differs(), None);
    assert!(wires.units.is_empty() && wires.to.is_empty() && wires.entries.is_empty());
    // By its own clock nothing happens, however late it is.
    exchange.timeout(leader.now.after(std::time::Duration::from_secs(86_400)), &mut wires);
    exchange.cycle(leader.now, &mut wires);
    assert!(wires.units.is_empty() && wires.entries.is_empty());
}

#[test]
fn a_follower_that_comes_to_other_events_is_found_out() {
    let leader = market_of_traders(3, 18_000);
    let mut other = open_market();
    other.instruments[0].lots = Lots { max: 300, ..Lots::default() };
    let mut exchange = Exchange::new(&other, EPOCH_NS);
    exchange.stand_by();
    exchange.follow(&leader.wires.entries);
    let (last, ..) = leader.exchange.position();
    exchange.committed(leader.now, last, &mut Wires::default());
    assert_eq!(exchange.take_differs().map(|differs| differs.index), Some(10_000));
}

#[test]
fn who_is_elected_lets_clients_in_when_what_was_before_is_decided() {
    let leader = two_orders();
    let (last, ..) = leader.exchange.position();
    let mut exchange = follower(&leader);
    let mut wires = Wires::default();
    wires.keeps_later = true;
    exchange.committed(leader.now, last - 1, &mut wires);
    let mut next = Venue { exchange, wires, now: leader.now };
    let early = next.connect(Door::Orders, "ANN");
    next.says(early, &logon("ANN"));
    assert_eq!(next.lines(), ["ANN < B 9998"], "another one leads");
    next.exchange.lead(next.now, 2, &mut next.wires);
    let entry = Entry::read(&next.wires.entries).expect("its first").0;
    assert_eq!((entry.head().index, entry.head().term), (last + 1, 2));
    assert_eq!(entry.head().committed, last - 1, "of the last one nobody knows yet");
    next.exchange.committed(next.now, last, &mut next.wires);
    let early = next.connect(Door::Orders, "ANN");
    next.says(early, &logon("ANN"));
    assert!(!next.exchange.is_open());
    assert_eq!(next.lines(), ["A S 50@10.30", "ANN < B 9998"]);
    next.exchange.committed(next.now, last + 1, &mut next.wires);
    assert!(next.exchange.is_open());
    assert_eq!(next.lines(), ["D"], "what asked for it went with its session");
    assert_eq!(next.exchange.engine().alive(), 1);
    let ann = next.log_on("ANN");
    next.wires.keeps_later = false;
    next.says(ann, &new("A3", "buy 50@10.30"));
    let lines = next.lines();
    assert_eq!(lines[0], "ANN < B 0");
    assert!(lines.contains(&"ANN < F/2 A2 leaves 0 50@10.30 A".to_owned()), "{lines:?}");
}

#[test]
fn what_was_never_committed_is_not_done() {
    let leader = two_orders();
    let (last, ..) = leader.exchange.position();
    let mut exchange = follower(&leader);
    let mut wires = Wires::default();
    exchange.committed(leader.now, last - 1, &mut wires);
    exchange.forget_behind(last - 1);
    exchange.committed(leader.now, last, &mut wires);
    assert_eq!((exchange.position().1, exchange.engine().alive()), (last - 1, 1));
    wires.keeps_later = true;
    exchange.lead(leader.now, 2, &mut wires);
    let entry = Entry::read(&wires.entries).expect("its first").0;
    assert_eq!(entry.head().index, last, "it takes the place of the other");
    exchange.committed(leader.now, last, &mut wires);
    assert_eq!((exchange.position().1, exchange.engine().alive()), (last, 0));
}
