//! A trading day by the clock, in virtual time.

use tapeline_exchange::{ExchangeConfig, Plan};
use tapeline_instrument::Schedule;
use tapeline_ntg::Message;

use crate::support::{Venue, config, new};

fn quiet_lines(venue: &mut Venue) -> Vec<String> {
    venue.lines().into_iter().filter(|line| !line.ends_with("< 0")).collect()
}

/// Seconds from 00:00:01, a tick each ten; heartbeats keep everybody in.
fn until(venue: &mut Venue, sessions: &[tapeline_exchange::SessionId], second: u64) {
    while venue.now.as_nanos() < second * 1_000_000_000 {
        venue.after(10_000);
        for session in sessions {
            venue.says(*session, &Message::Heartbeat(tapeline_ntg::session::Heartbeat {}));
        }
    }
}

fn at(hour: u64, minute: u64) -> u64 {
    hour * 3600 + minute * 60
}

#[test]
fn a_day_has_an_opening_and_a_closing_price_and_orders_of_the_day_end() {
    let plan = Plan::daily(Schedule::sets());
    let mut venue = Venue::new(&ExchangeConfig { plan, ..config() });
    let sessions = [venue.log_on("ANN"), venue.log_on("BOB")];
    let [ann, bob] = sessions;
    venue.lines();
    venue.says(ann, &new("A0", "sell 1@10.00"));
    assert_eq!(venue.lines(), ["ANN < 8/8 A0 leaves 0 code 20001"], "closed");

    until(&mut venue, &sessions, at(7, 50));
    assert_eq!(quiet_lines(&mut venue), ["H a"]);
    venue.says(ann, &new("A1", "sell 300@10.00"));
    venue.says(bob, &new("B1", "buy 500@10.03"));
    until(&mut venue, &sessions, at(7, 55));
    let lines = quiet_lines(&mut venue);
    assert!(lines.contains(&"I 300@10.03".to_owned()), "{lines:?}");

    until(&mut venue, &sessions, at(8, 0) - 10);
    assert_eq!(quiet_lines(&mut venue), [""; 0], "not before its time");
    until(&mut venue, &sessions, at(8, 0) + 40);
    assert_eq!(
        quiet_lines(&mut venue),
        [
            "BOB < F/1 B1 leaves 200 300@10.03 C",
            "ANN < F/2 A1 leaves 0 300@10.03 C",
            "C 300",
            "C 300",
            "Q 300@10.03",
            "w O 10.03",
            "H T",
        ]
    );
    venue.says(ann, &new("A2", "sell 50@10.03"));
    venue.lines();

    until(&mut venue, &sessions, at(16, 30));
    assert_eq!(quiet_lines(&mut venue), ["H d"]);
    venue.says(ann, &new("A3", "sell 100"));
    until(&mut venue, &sessions, at(16, 36));
    let lines = quiet_lines(&mut venue);
    let close = ["Q 100@10.03", "w C 10.03", "H u"];
    for line in close {
        assert!(lines.contains(&line.to_owned()), "{line} is not among {lines:?}");
    }
    until(&mut venue, &sessions, at(16, 41));
    assert_eq!(quiet_lines(&mut venue), ["H b"]);
    until(&mut venue, &sessions, at(17, 16));
    assert_eq!(quiet_lines(&mut venue), ["BOB < C/6 B1 leaves 0", "H c", "D"]);
    until(&mut venue, &sessions, at(17, 31));
    assert_eq!(quiet_lines(&mut venue), ["H w"]);
    assert_eq!(venue.exchange.engine().alive(), 0);
}

#[test]
fn the_same_day_gives_the_same_bytes() {
    let day = |seed| {
        let plan = Plan::daily(Schedule::sets());
        let mut venue = Venue::new(&ExchangeConfig { plan, seed, ..config() });
        let sessions = [venue.log_on("ANN")];
        until(&mut venue, &sessions, at(7, 50));
        venue.says(sessions[0], &new("A1", "sell 300@10.00"));
        until(&mut venue, &sessions, at(9, 0));
        (venue.wires.units, venue.wires.to)
    };
    assert!(day(1) == day(1));
    assert!(day(1).0 != day(4).0, "the opening is drawn by the seed");
}
