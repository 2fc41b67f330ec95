//! Orders at the middle of the spread.

use tapeline_instrument::{Session, Side};
use tapeline_matching::{Command, Kind, MassCancel, NewOrder, Owner, SelfMatch, TimeInForce};

use crate::support::{Market, firm, price};

fn pegged(owner: u16, limit: Option<&str>, min_quantity: u32) -> impl FnOnce(&mut NewOrder) {
    let limit = limit.map(price);
    move |order| {
        order.kind = Kind::Pegged { limit, min_quantity };
        (order.display, order.owner) = (0, firm(owner));
    }
}

fn or_pegged(limit: Option<&str>) -> impl FnOnce(&mut NewOrder) {
    let limit = limit.map(price);
    move |order| (order.kind, order.owner) = (Kind::OrPegged { limit }, firm(4))
}

/// Between 10 and 10.05: the middle is between two ticks.
fn market() -> Market {
    let mut market = Market::new(Session::Regular);
    market.buy("bid", "100@10");
    market.sell("ask", "100@10.05");
    market
}

#[test]
fn pegged_orders_trade_with_each_other_at_the_middle_by_time() {
    let mut market = market();
    assert_eq!(
        market.order("P1", Side::Buy, "30@1", pegged(2, None, 0)),
        ["P1 rests 0@market leaves 30"]
    );
    market.order("P2", Side::Buy, "30@1", pegged(2, None, 0));
    assert_eq!(
        market.order("P3", Side::Sell, "50@1", pegged(3, None, 0)),
        ["P3 30@10.025 P1 pegged leaves 20 0", "P3 20@10.025 P2 pegged leaves 0 10"]
    );
    assert_eq!(market.book(), ["100@10.00", "100@10.05"], "nobody sees them");
    assert_eq!(market.cancel("P2", firm(2)), ["P2 cancelled 10, 20 done"]);
    assert_eq!(market.engine.alive(), 2);
}

#[test]
fn a_hard_limit_lets_it_trade_when_the_middle_reaches_it() {
    let mut market = market();
    market.order("P1", Side::Buy, "30@1", pegged(2, Some("10.01"), 0));
    market.order("P2", Side::Sell, "30@1", pegged(3, None, 0));
    assert_eq!(
        market.sell("ask2", "5@10.02"),
        ["ask2 rests 5@10.02 leaves 5", "P2 30@10.01 P1 pegged leaves 0 0"]
    );
}

#[test]
fn it_waits_while_a_side_is_missing_and_outside_of_continuous_trading() {
    let mut market = Market::new(Session::Regular);
    market.buy("bid", "100@10");
    assert_eq!(market.order("P", Side::Buy, "30@1", pegged(3, None, 0)), ["P parked"]);
    assert_eq!(
        market.sell("ask", "100@10.10"),
        ["ask rests 100@10.10 leaves 100", "P wakes 0@market leaves 30"]
    );
    assert_eq!(market.cancel("bid", firm(2)), ["bid cancelled 100, 0 done", "P parked"]);
    market.buy("bid2", "100@10");
    assert_eq!(market.begin(Session::ClosingCall), ["closing call", "P parked"]);
    assert_eq!(
        market.begin(Session::MarketClose),
        [
            "market close",
            "bid2 expired 100, 0 done",
            "P expired 30, 0 done",
            "ask expired 100, 0 done"
        ]
    );
}

#[test]
fn parts_are_of_the_size_that_both_ask_for_or_all_that_is_left() {
    let mut market = market();
    market.order("P1", Side::Buy, "100@1", pegged(2, None, 50));
    assert_eq!(
        market.order("P2", Side::Sell, "40@1", pegged(3, None, 0)),
        ["P2 rests 0@market leaves 40"],
        "too little for the buyer"
    );
    assert_eq!(
        market.order("P3", Side::Sell, "70@1", pegged(3, None, 0)),
        ["P3 70@10.025 P1 pegged leaves 0 30", "P2 30@10.025 P1 pegged leaves 10 0"]
    );
}

#[test]
fn other_orders_trade_with_it_if_they_say_so_before_they_trade_in_the_book() {
    let mut market = market();
    market.order("P", Side::Sell, "30@1", pegged(3, None, 0));
    assert_eq!(market.buy("plain", "10@10.03"), ["plain rests 10@10.03 leaves 10"]);
    market.cancel("plain", firm(2));
    assert_eq!(
        market.order("asks", Side::Buy, "60@1", or_pegged(Some("10.05"))),
        ["asks 30@10.025 P pegged leaves 30 0", "asks 30@10.05 ask leaves 0 70"]
    );
    market.order("P2", Side::Sell, "30@1", pegged(3, None, 0));
    assert_eq!(
        market.order("low", Side::Buy, "10@1", or_pegged(Some("10.02"))),
        ["low rests 10@10.02 leaves 10"],
        "below the middle"
    );
    market.cancel("low", firm(4));
    assert_eq!(
        market.order("any", Side::Buy, "10", or_pegged(None)),
        ["any 10@10.025 P2 pegged leaves 0 20"]
    );
    let all = |order: &mut NewOrder| {
        or_pegged(Some("10.05"))(order);
        order.time_in_force = TimeInForce::FillOrKill;
    };
    assert_eq!(market.order("all", Side::Buy, "10@1", all), ["refused 20005"]);
}

#[test]
fn its_firm_does_not_trade_with_itself_if_it_says_so() {
    for (how, said) in [
        (SelfMatch::Allowed, "P2 30@10.025 P1 pegged leaves 0 0"),
        (SelfMatch::CancelIncoming, "P2 own 30, 0 done"),
        (SelfMatch::CancelResting, "P1 own 30, 0 done"),
    ] {
        let mut market = market();
        market.order("P1", Side::Buy, "30@1", pegged(3, None, 0));
        let sell = |order: &mut NewOrder| {
            pegged(3, None, 0)(order);
            order.self_match = how;
        };
        assert_eq!(market.order("P2", Side::Sell, "30@1", sell)[0], said);
    }
}

#[test]
fn amendments_keep_or_lose_its_time_and_may_let_it_trade() {
    let mut market = market();
    market.order("P1", Side::Buy, "30@1", pegged(2, Some("10.01"), 0));
    market.order("P2", Side::Buy, "30@1", pegged(2, Some("10.01"), 0));
    market.order("S", Side::Sell, "10@1", pegged(3, None, 0));
    let hidden = |replace: &mut tapeline_matching::Replace| replace.display = 0;
    let less = market.amend("P1", firm(2), "20@10.01", hidden);
    assert_eq!(less, ["P1 amended 0@10.01 leaves 20 kept"]);
    let more = market.amend("P1", firm(2), "20@10.03", hidden);
    assert_eq!(more, ["P1 amended 0@10.03 leaves 20 lost", "S 10@10.025 P1 pegged leaves 0 10"]);
    assert_eq!(market.amend("P2", firm(2), "20@10.01", |_| {}), ["refused 20006"]);
}

#[test]
fn what_does_not_go_with_it_is_refused_and_a_mass_cancel_takes_it() {
    let mut market = market();
    let shown = |order: &mut NewOrder| {
        pegged(2, None, 0)(order);
        order.display = order.quantity;
    };
    assert_eq!(market.order("P", Side::Buy, "30@1", shown), ["refused 20005"]);
    let at_once = |order: &mut NewOrder| {
        pegged(2, None, 0)(order);
        order.time_in_force = TimeInForce::ImmediateOrCancel;
    };
    assert_eq!(market.order("P", Side::Buy, "30@1", at_once), ["refused 20005"]);
    assert_eq!(market.order("P", Side::Buy, "30@1", pegged(2, None, 31)), ["refused 20005"]);
    market.order("P", Side::Buy, "30@1", pegged(5, None, 30));
    let all = MassCancel { firm: 5, ..MassCancel::default() };
    assert_eq!(market.mass_cancel(all), ["P mass cancelled 30, 0 done", "1 cancelled"]);
    // The book forgets that it had some, and what is pegged then is alone.
    market.order("Q", Side::Buy, "30@1", pegged(5, None, 0));
    let owner = Owner { firm: 5, user: 1 };
    let id = market.id("Q");
    assert_eq!(market.command(&Command::Cancel { id, owner }), ["Q cancelled 30, 0 done"]);
}
