//! Which market a journal is of.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};
use tapeline_instrument::{AuctionLimits, Instrument};
use tapeline_sequence::Identity;

use crate::core::{ExchangeConfig, Plan};

/// A digest of all that decides what entries lead to: instruments, who trades, the
/// engine's settings, the sessions of the day. Passwords, addresses and times-out
/// are not in it, and can change.
pub(crate) fn of(config: &ExchangeConfig) -> Identity {
    let mut text = String::from("tapeline-exchange 1\n");
    for instrument in &config.instruments {
        add_instrument(&mut text, instrument);
    }
    for user in &config.users {
        let _ = writeln!(
            text,
            "user {:?} {} {} {:?}",
            user.name, user.firm, user.auto_cancel, user.self_match
        );
    }
    for user in config.users.iter().filter(|user| user.stop_after.is_some()) {
        let _ = writeln!(text, "stops {:?} {:?}", user.name, user.copies);
    }
    for user in config.users.iter().filter(|user| !user.settles.is_empty()) {
        let _ = writeln!(text, "settles {:?} {:?} {}", user.name, user.settles, config.trades);
    }
    for firm in &config.firms {
        let _ = writeln!(text, "firm {} {:?}", firm.number, firm.name);
    }
    let engine = &config.engine;
    let _ = writeln!(
        text,
        "engine {} {} {} {} {} {} {} {}",
        engine.ids.id,
        engine.ids.partition,
        engine.ids.thread,
        engine.max_orders,
        engine.seed,
        engine.random_peak_percent,
        engine.takes_until_cancelled,
        engine.auction_info_interval_ns
    );
    // What a market of before could not be made with is told only where it is.
    let calls = [engine.breaker_call_ns, engine.breaker_random_ns];
    if config.instruments.iter().any(|of| of.tolerances.are_set()) {
        let _ = writeln!(text, "breaker {calls:?}");
    }
    let goes_on = |of: &Instrument| of.auctions != AuctionLimits::default();
    if engine.market_extension_ns > 0 || config.instruments.iter().any(goes_on) {
        let lengths_ns =
            [engine.market_extension_ns, engine.price_extension_ns, engine.extension_random_ns];
        let _ = writeln!(text, "extensions {lengths_ns:?}");
    }
    match &config.plan {
        Plan::Open => text.push_str("open\n"),
        Plan::Closed => text.push_str("closed\n"),
        Plan::Schedule { schedule, day_s } => {
            for turn in schedule.turns() {
                let _ = writeln!(text, "{} {} {}", turn.at_s, turn.session.status(), turn.random_s);
            }
            let _ = writeln!(text, "day {day_s}");
        }
    }
    let _ = writeln!(text, "{} {} {}", config.utc_offset_s, config.seed, config.group);
    let mut identity = Identity::default();
    identity.0.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    identity
}

fn add_instrument(text: &mut String, of: &Instrument) {
    let _ = writeln!(
        text,
        "instrument {} {:?} {:?} {:?} {:?} {} {} {} {} {:?}",
        of.id.0,
        of.name,
        of.isin,
        of.segment,
        of.currency,
        of.lots.lot,
        of.lots.min,
        of.lots.max,
        of.lots.min_hidden,
        of.previous_close.map(|price| price.0)
    );
    if of.tolerances.are_set() {
        let _ = writeln!(text, "{} {}", of.tolerances.dynamic_bp, of.tolerances.static_bp);
    }
    if of.auctions != AuctionLimits::default() {
        let AuctionLimits { tolerance_bp, min_closing_volume } = of.auctions;
        let _ = writeln!(text, "auctions {tolerance_bp} {min_closing_volume}");
    }
    for (from, tick) in of.ticks.bands() {
        let _ = writeln!(text, "{} {}", from.0, tick.0);
    }
}

#[cfg(test)]
mod tests {
    use tapeline_instrument::{Price, TickTable};
    use tapeline_matching::SelfMatch;

    use super::*;
    use crate::core::UserConfig;

    fn market() -> ExchangeConfig {
        let ticks = TickTable::flat(Price(1_000_000)).expect("a table");
        let user = |name: &str| UserConfig {
            name: name.to_owned(),
            password: "a".to_owned(),
            firm: 1,
            auto_cancel: true,
            self_match: SelfMatch::Allowed,
            copies: Vec::new(),
            stop_after: None,
            settles: Vec::new(),
        };
        ExchangeConfig {
            instruments: vec![Instrument::new(1, "VOD.L", ticks)],
            users: vec![user("ANN"), user("BOB")],
            ..ExchangeConfig::default()
        }
    }

    #[test]
    fn what_changes_the_outcome_is_another_market_and_a_password_is_not() {
        let (mut other, plain) = (market(), of(&market()));
        other.users[0].password = "b".to_owned();
        other.max_sessions = 5;
        assert_eq!(of(&other), plain);
        let changes: [fn(&mut ExchangeConfig); 11] = [
            |market| market.users.swap(0, 1),
            |market| market.users[0].firm = 2,
            |market| market.instruments[0].lots.lot = 10,
            |market| market.instruments[0].ticks = TickTable::mifid(1).expect("a column"),
            |market| market.engine.max_orders = 7,
            |market| market.plan = Plan::Closed,
            |market| market.users[1].settles = vec![1],
            |market| market.users[1].stop_after = Some(std::time::Duration::ZERO),
            |market| market.instruments[0].tolerances.static_bp = 5,
            |market| market.instruments[0].auctions.tolerance_bp = 5,
            |market| market.engine.market_extension_ns = 5,
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut other = market();
            change(&mut other);
            assert_ne!(of(&other), plain, "change {at}");
        }
    }
}
