//! Continuous trading: conditions of orders, amendments, cancels, expiry.

use tapeline_instrument::{Cause, Session, Side};
use tapeline_matching::{Command, Config, Kind, MassCancel, NewOrder, Owner, Passive, TimeInForce};

use crate::support::{HOUR_NS, Market, firm, price};

fn passive(passive: Passive) -> impl FnOnce(&mut NewOrder) {
    move |order| order.passive = passive
}

#[test]
fn what_is_left_of_a_market_order_expires() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "100@10");
    assert_eq!(market.buy("B", "150"), ["B 100@10.00 S leaves 50 0", "B expired 50, 100 done"]);
    assert_eq!(market.buy("B2", "10"), ["B2 expired 10, 0 done"]);
}

#[test]
fn hidden_orders_trade_behind_what_is_shown_at_their_price_and_before_worse_prices() {
    let mut market = Market::new(Session::Regular);
    market.order("hidden", Side::Sell, "100@10", |order| order.display = 0);
    market.sell("shown", "100@10");
    market.sell("worse", "100@10.01");
    market.order("inside", Side::Sell, "50@9.99", |order| order.display = 0);
    assert_eq!(market.book()[1], "100@10.00 100@10.01");
    assert_eq!(
        market.buy("B", "300@10.01"),
        [
            "B 50@9.99 inside hidden leaves 250 0",
            "B 100@10.00 shown leaves 150 0",
            "B 100@10.00 hidden hidden leaves 50 0",
            "B 50@10.01 worse leaves 0 50",
        ]
    );
}

#[test]
fn random_peaks_are_at_least_the_first_and_the_same_each_run() {
    let run = || {
        let mut market = Market::new(Session::Regular);
        market.order("I", Side::Sell, "100000@10", |order| {
            (order.display, order.is_random_peak) = (1000, true);
        });
        let mut shown = Vec::new();
        for _ in 0..20 {
            let size = market.book()[1].split('@').next().unwrap().parse::<u32>().unwrap();
            shown.push(size);
            market.buy("B", &format!("{size}@10"));
        }
        shown
    };
    let shown = run();
    assert_eq!(shown, run());
    assert!(shown.iter().all(|size| (1000..=1200).contains(size)), "{shown:?}");
    assert!(shown.iter().skip(1).any(|size| *size != shown[1]), "{shown:?}");
}

#[test]
fn passive_orders_rest_only_where_they_may() {
    let market = || {
        let mut market = Market::new(Session::Regular);
        for (name, order) in [("B1", "10@10"), ("B2", "10@9.9"), ("B3", "10@9.8")] {
            market.buy(name, order);
        }
        market.sell("S", "10@10.1");
        market
    };
    let rests = |order: &str, condition| {
        let lines = market().order("P", Side::Buy, order, passive(condition));
        match lines[0].as_str() {
            "P passive 5, 0 done" => false,
            line => {
                assert!(line.starts_with("P rests"), "{line}");
                true
            }
        }
    };
    for (condition, worst) in [
        (Passive::NoVisibleMatch, "1"),
        (Passive::NewBest, "10.01"),
        (Passive::Best, "10"),
        (Passive::Within(1), "9.9"),
        (Passive::Within(2), "9.8"),
    ] {
        assert!(rests(&format!("5@{worst}"), condition), "{condition:?} {worst}");
        assert!(!rests("5@10.1", condition), "{condition:?} would match");
        let below = tapeline_instrument::Price(price(worst).0 - 1_000_000);
        if condition != Passive::NoVisibleMatch {
            assert!(!rests(&format!("5@{below}"), condition), "{condition:?} {below}");
        }
    }
    let mut market = market();
    market.order("H", Side::Sell, "5@10.05", |order| order.display = 0);
    assert_eq!(
        market.order("P", Side::Buy, "5@10.05", passive(Passive::NoVisibleMatch)),
        ["P 5@10.05 H hidden leaves 0 0"]
    );
    let refused = market.order("P", Side::Buy, "5@10", |order| {
        (order.display, order.passive) = (0, Passive::Best);
    });
    assert_eq!(refused, ["refused 20005"]);
}

#[test]
fn a_stop_order_that_is_reached_already_comes_in_at_once() {
    let mut market = Market::new(Session::Regular);
    let stop = |order: &mut NewOrder| {
        order.kind = Kind::StopLimit { stop: price("10"), limit: price("9.5") };
    };
    assert_eq!(market.order("early", Side::Sell, "10@1", stop), ["early parked"]);
    market.buy("B1", "10@10");
    market.buy("B2", "100@9.9");
    // The trade at 10 elects the one that waits.
    assert_eq!(
        market.sell("S", "10@10"),
        ["S 10@10.00 B1 leaves 0 0", "early 10@9.90 B2 leaves 0 90"]
    );
    assert_eq!(market.order("late", Side::Sell, "10@1", stop), ["late 10@9.90 B2 leaves 0 80"]);
}

#[test]
fn amendments_that_cross_trade_and_come_back() {
    let mut market = Market::new(Session::Regular);
    market.buy("B", "100@9");
    market.sell("S", "60@10");
    assert_eq!(
        market.amend("B", firm(2), "100@10", |_| {}),
        [
            "B amended 100@10.00 leaves 100 out",
            "B 60@10.00 S leaves 40 0",
            "B comes back 40@10.00 leaves 40",
        ]
    );
    // The quantity is the total: 60 of it is done.
    assert_eq!(market.amend("B", firm(2), "60@10", |_| {}), ["refused 20007"]);
    assert_eq!(market.amend("B", firm(2), "70@10", |_| {}), ["B amended 10@10.00 leaves 10 kept"]);
    assert_eq!(market.amend("B", firm(1), "70@10", |_| {}), ["refused 20000"], "another's");
}

#[test]
fn what_an_order_is_does_not_change_by_amending() {
    let mut market = Market::new(Session::Regular);
    market.buy("plain", "100@9");
    market.order("hidden", Side::Buy, "100@9", |order| order.display = 0);
    for (name, owner, display) in [("plain", 2, 0), ("hidden", 1, 50)] {
        let lines = market.amend(name, firm(owner), "100", |replace| replace.display = display);
        assert_eq!(lines, ["refused 20006"], "{name}");
    }
    let to_iceberg = market.amend("plain", firm(2), "100", |replace| replace.display = 40);
    assert_eq!(to_iceberg, ["plain amended 40@9.00 leaves 100 kept"]);
    assert_eq!(
        market.sell("S", "110@9"),
        [
            "S 40@9.00 plain leaves 70 60",
            "S 70@9.00 hidden hidden leaves 0 30",
            "plain shows 40@9.00 leaves 60",
        ]
    );
}

#[test]
fn icebergs_are_amended_with_their_peak() {
    let mut market = Market::new(Session::Regular);
    market.order("I", Side::Sell, "500@10", |order| order.display = 100);
    market.buy("B", "30@10");
    let peak = |display| move |replace: &mut tapeline_matching::Replace| replace.display = display;
    assert_eq!(
        market.amend("I", firm(1), "400", peak(100)),
        ["I amended 70@10.00 leaves 370 kept"]
    );
    assert_eq!(market.amend("I", firm(1), "400", peak(50)), ["I amended 50@10.00 leaves 370 kept"]);
    assert_eq!(
        market.amend("I", firm(1), "400", peak(200)),
        ["I amended 200@10.00 leaves 370 lost"]
    );
    assert_eq!(
        market.amend("I", firm(1), "200", peak(200)),
        ["I amended 170@10.00 leaves 170 kept"]
    );
    assert_eq!(market.buy("B", "170@10"), ["B 170@10.00 I leaves 0 0"]);
    assert_eq!(market.engine.alive(), 0);
}

#[test]
fn stop_orders_are_amended_while_they_wait() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "10@10");
    market.buy("B", "10@10");
    market.order("stop", Side::Buy, "10@11", |order| {
        order.kind = Kind::StopLimit { stop: price("10.5"), limit: price("11") };
    });
    let stop = |at: &'static str| {
        move |replace: &mut tapeline_matching::Replace| replace.stop = Some(price(at))
    };
    assert_eq!(
        market.amend("stop", firm(1), "10", stop("10.2")),
        ["stop amended 0@11.00 leaves 10 lost"]
    );
    assert_eq!(
        market.amend("stop", firm(1), "10", stop("10")),
        ["stop amended 0@11.00 leaves 10 lost", "stop wakes 10@11.00 leaves 10"]
    );
    assert_eq!(market.amend("stop", firm(1), "10", stop("9")), ["refused 20006"]);
}

#[test]
fn cancels_are_for_those_who_own_the_order() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "10@10");
    assert_eq!(market.cancel("S", firm(2)), ["refused 20000"]);
    assert_eq!(market.cancel("S", firm(1)), ["S cancelled 10, 0 done"]);
    assert_eq!(market.cancel("S", firm(1)), ["refused 20000"]);
}

#[test]
fn an_id_that_no_order_ever_had_is_refused() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "10@10");
    market.cancel("S", firm(1));
    for (id, owner) in [(0, firm(1)), (0, Owner::default()), (u64::MAX, firm(1)), (77, firm(1))] {
        let id = tapeline_instrument::OrderId(id);
        let lines = market.command(&Command::Cancel { id, owner });
        assert_eq!(lines, ["refused 20000"], "{id}");
    }
}

#[test]
fn a_mass_cancel_meets_what_it_names() {
    let mut market = Market::new(Session::Regular);
    let of =
        |user, group| move |order: &mut NewOrder| (order.owner.user, order.group) = (user, group);
    for (name, user, group) in [("a", 1, 0), ("b", 1, 5), ("c", 2, 5), ("d", 2, 0)] {
        market.order(name, Side::Sell, "10@10", of(user, group));
    }
    market.buy("other", "10@9");
    let which = MassCancel { firm: 1, user: Some(1), group: Some(5), ..MassCancel::default() };
    assert_eq!(market.mass_cancel(which), ["b mass cancelled 10, 0 done", "1 cancelled"]);
    let firm = MassCancel { firm: 1, ..MassCancel::default() };
    assert_eq!(market.mass_cancel(firm).last().map(String::as_str), Some("3 cancelled"));
    assert_eq!(market.book(), ["10@9.00", ""]);
}

#[test]
fn mass_cancels_are_for_orders_or_for_sides_of_quotes() {
    let mut market = Market::new(Session::Regular);
    market.sell("order", "10@11");
    market.order("side", Side::Sell, "10@10", |order| order.is_quote = true);
    let orders = MassCancel { firm: 1, ..MassCancel::default() };
    assert_eq!(market.mass_cancel(orders), ["order mass cancelled 10, 0 done", "1 cancelled"]);
    let quotes = MassCancel { is_of_quotes: true, ..orders };
    assert_eq!(market.mass_cancel(quotes), ["side mass cancelled 10, 0 done", "1 cancelled"]);
}

#[test]
fn each_refusal_has_its_code() {
    let mut market = Market::new(Session::Regular);
    let mut refused =
        |order: &str, with: fn(&mut NewOrder)| market.order("R", Side::Buy, order, with);
    let none: fn(&mut NewOrder) = |_| {};
    assert_eq!(refused("0@10", none), ["refused 1000"]);
    assert_eq!(refused("10@10.001", none), ["refused 20002"]);
    assert_eq!(refused("4000000000@10", none), ["refused 20003"]);
    assert_eq!(refused("10@10", |order| order.display = 11), ["refused 20004"]);
    assert_eq!(
        refused("10", |order| order.display = 5),
        ["refused 20005"],
        "no iceberg without a limit"
    );
    assert_eq!(
        refused("10@10", |order| order.time_in_force = TimeInForce::UntilCancelled),
        ["refused 20005"]
    );
    assert_eq!(
        refused("10@10", |order| order.time_in_force = TimeInForce::UntilTime(1)),
        ["refused 1501"]
    );
    assert_eq!(refused("10@10", |order| order.book.0 = 9), ["refused 20008"]);
    assert_eq!(market.by(Session::Closed, Cause::Operator), ["refused 20009"]);
    let mut closed = Market::new(Session::Closed);
    assert_eq!(closed.buy("B", "10@10"), ["refused 20001"]);
}

#[test]
fn orders_expire_at_their_second_and_at_the_end_of_their_day() {
    let config = Config { takes_until_cancelled: true, ..Config::default() };
    let mut market = Market::with(config, Session::Regular, None);
    let now_s = (market.now_ns / 1_000_000_000) as u32;
    let mut add = |name: &str, time_in_force| {
        market.order(name, Side::Sell, "10@10", |order| order.time_in_force = time_in_force);
    };
    add("day", TimeInForce::Day);
    add("second", TimeInForce::UntilTime(now_s + 60));
    add("today", TimeInForce::UntilDay(now_s + 60));
    add("tomorrow", TimeInForce::UntilDay(now_s + 86_400));
    add("always", TimeInForce::UntilCancelled);
    assert_eq!(market.tick(59_000_000_000), [""; 0]);
    assert_eq!(market.tick(1_000_000_000), ["second expired 10, 0 done"]);
    market.now_ns += 8 * HOUR_NS;
    market.begin(Session::ClosingCall);
    assert_eq!(
        market.begin(Session::MarketClose),
        ["market close", "day expired 10, 0 done", "today expired 10, 0 done"]
    );
    assert_eq!(market.engine.alive(), 2);
}

#[test]
fn an_amended_second_counts() {
    let mut market = Market::new(Session::Regular);
    let now_s = (market.now_ns / 1_000_000_000) as u32;
    market.order("B", Side::Buy, "10@10", |order| {
        order.time_in_force = TimeInForce::UntilTime(now_s + 60);
    });
    let later = |replace: &mut tapeline_matching::Replace| replace.expire_s = Some(now_s + 600);
    assert_eq!(market.amend("B", firm(1), "10", later), ["B amended 10@10.00 leaves 10 kept"]);
    assert_eq!(market.tick(60_000_000_000), [""; 0]);
    assert_eq!(market.tick(540_000_000_000), ["B expired 10, 0 done"]);
}

#[test]
fn an_order_for_which_there_is_no_room_trades_but_does_not_rest() {
    let config = Config { max_orders: 2, ..Config::default() };
    let mut market = Market::with(config, Session::Regular, None);
    market.sell("a", "10@10");
    market.sell("b", "10@11");
    assert_eq!(market.sell("c", "10@12"), ["c full 10, 0 done"]);
    assert_eq!(market.buy("d", "15@10"), ["d 10@10.00 a leaves 5 0", "d rests 5@10.00 leaves 5"]);
}

#[test]
fn a_trade_that_is_cancelled_leaves_orders_where_they_stand_and_asking_for_less() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "100@10");
    market.sell("S2", "50@10");
    market.buy("B", "30@10");
    market.buy("B2", "200@10");
    let [first, last] = [market.trades[0], market.trades[1]];
    // Both sellers are gone, and so is the first buyer.
    assert_eq!(market.command(&Command::CancelTrade(first)), ["cancelled 30@10.00 gone gone"]);
    let said = market.command(&Command::CancelTrade(last));
    assert_eq!(said, ["cancelled 70@10.00 B2 50+80 shows 80 gone"]);
    assert_eq!(market.book()[0], "80@10.00");
    // The rest stands where it stood, before one that came later.
    market.buy("B3", "10@10");
    assert_eq!(market.sell("S3", "80@10"), ["S3 80@10.00 B2 leaves 0 0"]);
}

#[test]
fn an_amendment_counts_what_is_traded_and_not_cancelled() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "100@10");
    market.buy("B", "30@10");
    let trade = market.trades[0];
    market.command(&Command::CancelTrade(trade));
    assert_eq!(market.amend("S", firm(1), "60@10", |_| {}), ["S amended 60@10.00 leaves 60 kept"]);
    // What it had not traded is not taken off again.
    let said = market.command(&Command::CancelTrade(trade));
    assert_eq!(said, ["cancelled 30@10.00 gone gone"]);
    assert_eq!(market.cancel("S", firm(1)), ["S cancelled 60, 0 done"]);
}
