//! Calls that go on, as everybody is told.

use tapeline_instrument::AuctionLimits;
use tapeline_mitch::{Message as Mitch, Unit};

use crate::closing_price::{short_day, until};
use crate::support::{Venue, new, successor};

const SECOND_NS: u64 = 1_000_000_000;

/// The last status of an instrument that went out: session, reason and end.
fn status(venue: &Venue) -> (u8, u8, String) {
    let statuses = venue.wires.units.iter().rev().flat_map(|unit| {
        let unit = Unit::read(unit).expect("a unit");
        let read = |(_, bytes): (u32, &[u8])| Mitch::read(bytes).expect("a message");
        unit.messages().map(read).collect::<Vec<_>>().into_iter().rev()
    });
    let last = statuses.filter_map(|message| match message {
        Mitch::SymbolStatus(of) => Some((of.status, of.change_reason, of.end_time.to_string())),
        _ => None,
    });
    last.take(1).next().expect("a status")
}

#[test]
fn an_extension_is_a_status_with_its_reason_and_end_and_the_journal_leads_to_the_same() {
    let mut config = short_day();
    config.engine.market_extension_ns = 2 * SECOND_NS;
    config.engine.price_extension_ns = SECOND_NS;
    config.engine.extension_random_ns = 0;
    config.instruments[0].auctions = AuctionLimits { tolerance_bp: 100, min_closing_volume: 0 };
    let mut venue = Venue::new(&config);
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    until(&mut venue, 3);
    venue.says(ann, &new("A1", "sell 5@10.00"));
    venue.says(bob, &new("B1", "buy 5@10.00"));
    until(&mut venue, 6);
    venue.says(ann, &new("A2", "sell 10@10.50"));
    venue.says(bob, &new("B2", "buy 20"));
    venue.lines();
    assert_eq!(until(&mut venue, 9), ["H d"]);
    assert_eq!(status(&venue), (b'd', 3, "00:00:10".to_owned()));
    assert_eq!(until(&mut venue, 10), ["H d"]);
    assert_eq!(status(&venue), (b'd', 4, "00:00:11".to_owned()));
    assert_eq!(venue.exchange.counts().call_extensions, 2);
    // The second time by the price; the schedule's next session waits for its end.
    assert_eq!(until(&mut venue, 11), ["H d"]);
    let lines = until(&mut venue, 12);
    assert_eq!(
        lines,
        [
            "BOB < F/1 B2 leaves 10 10@10.50 C",
            "ANN < F/2 A2 leaves 0 10@10.50 C",
            "BOB < C/6 B2 leaves 0",
            "C 10",
            "C 10",
            "Q 10@10.50",
            "w C 10.50",
            "D",
            "H b",
        ]
    );
    let again = successor(&config, &venue);
    assert_eq!(again.exchange.position(), venue.exchange.position());
}
