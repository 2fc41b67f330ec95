//! Orders of retail investors, and of those who provide liquidity to them.

use tapeline_instrument::{Session, Side, Tolerances};
use tapeline_matching::{Kind, NewOrder, OwnerType, Passive, SelfMatch, TimeInForce};

use crate::support::{Market, firm, price};

/// Of a retail investor, of firm 2.
fn retail(order: &mut NewOrder) {
    (order.owner, order.owner_type) = (firm(2), OwnerType::Retail);
}

/// Of who provides liquidity to them, hidden, of firm 3.
fn provider(order: &mut NewOrder) {
    (order.owner, order.owner_type, order.display) = (firm(3), OwnerType::RetailProvider, 0);
}

fn trading() -> Market {
    Market::new(Session::Regular)
}

#[test]
fn who_provides_for_retail_trades_with_retail_alone() {
    let mut market = trading();
    assert_eq!(market.order("P", Side::Sell, "100@10", provider), ["P rests 0@10.00 leaves 100"]);
    assert_eq!(market.buy("B", "10@10.05"), ["B rests 10@10.05 leaves 10"], "not with others");
    market.cancel("B", firm(2));
    let said = market.order("Q", Side::Buy, "10@10", provider);
    assert_eq!(said, ["Q rests 0@10.00 leaves 10"], "nor with its like");
    let said = market.order("R", Side::Buy, "30@10", retail);
    assert_eq!(said, ["R 30@10.00 P hidden leaves 0 70"]);
    let said = market.order("S", Side::Sell, "15@10", retail);
    assert_eq!(said, ["S 10@10.00 Q hidden leaves 5 0", "S rests 5@10.00 leaves 5"]);
}

#[test]
fn it_comes_behind_all_others_at_its_price_and_before_worse_ones() {
    let mut market = trading();
    market.order("P1", Side::Sell, "10@10", provider);
    market.order("P2", Side::Sell, "10@9.99", provider);
    market.order("ice", Side::Sell, "30@10", |order| order.display = 10);
    market.order("hidden", Side::Sell, "10@10", |order| order.display = 0);
    market.sell("worse", "10@10.01");
    assert_eq!(
        market.order("R", Side::Buy, "75@10.05", retail),
        [
            "R 10@9.99 P2 hidden leaves 65 0",
            "R 10@10.00 ice leaves 55 20",
            "R 20@10.00 ice hidden leaves 35 0",
            "R 10@10.00 hidden hidden leaves 25 0",
            "R 10@10.00 P1 hidden leaves 15 0",
            "R 10@10.01 worse leaves 5 0",
            "R rests 5@10.05 leaves 5",
        ]
    );
}

#[test]
fn retail_trades_with_everybody() {
    let mut market = trading();
    market.sell("S", "10@10");
    assert_eq!(market.order("R", Side::Buy, "15@10", retail)[0], "R 10@10.00 S leaves 5 0");
    assert_eq!(market.sell("S2", "5@10"), ["S2 5@10.00 R leaves 0 0"]);
}

#[test]
fn who_provides_passes_over_others_when_it_comes() {
    let mut market = trading();
    market.buy("B1", "10@10.02");
    market.order("R1", Side::Buy, "10@10.01", retail);
    market.order("ice", Side::Buy, "20@10", |order| {
        retail(order);
        order.display = 5;
    });
    market.buy("B2", "10@10");
    assert_eq!(
        market.order("P", Side::Sell, "40@10", provider),
        [
            "P 10@10.01 R1 leaves 30 0",
            "P 5@10.00 ice leaves 25 15",
            "P 15@10.00 ice hidden leaves 10 0",
            "P rests 0@10.00 leaves 10",
        ]
    );
    assert_eq!(market.book(), ["10@10.02 10@10.00", ""]);
}

#[test]
fn what_must_trade_at_once_counts_what_it_may_trade_with() {
    let at_once = |time_in_force| {
        move |order: &mut NewOrder| {
            provider(order);
            (order.display, order.time_in_force) = (order.quantity, time_in_force);
        }
    };
    let all = TimeInForce::FillOrKill;
    let mut market = trading();
    market.buy("B", "50@10");
    market.order("R", Side::Buy, "20@10", retail);
    let said = market.order("P1", Side::Sell, "30@10", at_once(all));
    assert_eq!(said, ["P1 expired 30, 0 done"], "retail has 20");
    let said = market.order("P2", Side::Sell, "5@10", at_once(all));
    assert_eq!(said, ["P2 5@10.00 R leaves 0 15"]);
    let said = market.order("P3", Side::Sell, "30", |order| {
        at_once(TimeInForce::ImmediateOrCancel)(order);
    });
    assert_eq!(said, ["P3 15@10.00 R leaves 15 0", "P3 expired 15, 15 done"]);
    market.order("P4", Side::Sell, "40@10.50", provider);
    let said = market.order("B2", Side::Buy, "40@10.50", |order| order.time_in_force = all);
    assert_eq!(said, ["B2 expired 40, 0 done"]);
    let said = market.order("R2", Side::Buy, "40@10.50", |order| {
        retail(order);
        order.time_in_force = all;
    });
    assert_eq!(said, ["R2 40@10.50 P4 hidden leaves 0 0"]);
}

#[test]
fn it_is_pegged_hidden_or_trades_at_once() {
    let mut market = trading();
    market.order("R", Side::Buy, "1@9", retail);
    let changes: [fn(&mut NewOrder); 8] = [
        |order| order.display = order.quantity,
        |order| order.display = 1,
        |order| order.kind = Kind::Market,
        |order| order.kind = Kind::Stop(price("10")),
        |order| order.kind = Kind::StopLimit { stop: price("10"), limit: price("10") },
        |order| order.time_in_force = TimeInForce::NextAuction,
        |order| order.time_in_force = TimeInForce::AtClosingPrice,
        |order| order.passive = Passive::NoVisibleMatch,
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let said = market.order("X", Side::Sell, "10@10", |order| {
            provider(order);
            change(order);
        });
        assert_eq!(said, ["refused 20005"], "change {at}");
    }
    let taken: [fn(&mut NewOrder); 3] = [
        |_| {},
        |order| order.time_in_force = TimeInForce::UntilDay(20_001 * 86_400),
        |order| order.kind = Kind::Pegged { limit: None, min_quantity: 0 },
    ];
    for (at, change) in taken.into_iter().enumerate() {
        let said = market.order("P", Side::Sell, "10@10", |order| {
            provider(order);
            change(order);
        });
        assert!(!said[0].starts_with("refused"), "change {at}: {said:?}");
    }
    // Retail investors may ask for anything.
    let said = market.order("S", Side::Sell, "10", |order| {
        retail(order);
        order.kind = Kind::StopLimit { stop: price("8"), limit: price("8") };
    });
    assert_eq!(said, ["S parked"]);
    let said = market.order("O", Side::Sell, "10", |order| {
        retail(order);
        order.kind = Kind::OrPegged { limit: Some(price("11")) };
    });
    assert_eq!(said[0], "O rests 10@11.00 leaves 10");
}

#[test]
fn pegged_orders_look_at_whom_they_are_for_too() {
    let mut market = trading();
    market.buy("B", "10@9.90");
    market.sell("S", "10@10.10");
    let pegged = |order: &mut NewOrder| {
        order.kind = Kind::Pegged { limit: None, min_quantity: 0 };
        order.display = 0;
    };
    market.order("P", Side::Sell, "30", |order| {
        provider(order);
        pegged(order);
    });
    let said = market.order("Q", Side::Buy, "10", |order| {
        order.owner = firm(4);
        pegged(order);
    });
    assert_eq!(said, ["Q rests 0@market leaves 10"], "who provides is there for others");
    let said = market.order("O", Side::Buy, "10@10", |order| {
        order.kind = Kind::OrPegged { limit: Some(price("10")) };
    });
    assert_eq!(said, ["O rests 10@10.00 leaves 10"]);
    market.cancel("O", firm(1));
    let said = market.order("R", Side::Buy, "10", |order| {
        retail(order);
        pegged(order);
    });
    assert_eq!(said, ["R 10@10.00 P pegged leaves 0 20"]);
    let said = market.order("R2", Side::Buy, "10@10", |order| {
        retail(order);
        order.kind = Kind::OrPegged { limit: Some(price("10")) };
    });
    assert_eq!(said, ["R2 10@10.00 P pegged leaves 0 10"]);
}

#[test]
fn amendments_let_them_trade_with_whom_they_may() {
    let mut market = trading();
    market.order("P", Side::Sell, "30@10", provider);
    market.order("R", Side::Buy, "10@9.99", retail);
    market.buy("B", "10@9.99");
    let said = market.amend("B", firm(2), "10@10", |_| {});
    assert_eq!(said, ["B amended 10@10.00 leaves 10 lost"]);
    let said = market.amend("R", firm(2), "10@10", |_| {});
    assert_eq!(said, ["R amended 10@10.00 leaves 10 out", "R 10@10.00 P hidden leaves 0 20"]);
    market.order("R2", Side::Buy, "10@9.98", retail);
    // Others at better prices are passed over, and it stays where it stands if less is asked.
    let said = market.amend("P", firm(3), "25@10", |replace| replace.display = 0);
    assert_eq!(said, ["P amended 0@10.00 leaves 15 kept"]);
    let said = market.amend("P", firm(3), "25@9.99", |replace| replace.display = 0);
    assert_eq!(said, ["P amended 0@9.99 leaves 15 lost"]);
    let said = market.amend("P", firm(3), "25@9.98", |replace| replace.display = 0);
    assert_eq!(
        said,
        [
            "P amended 0@9.98 leaves 15 out",
            "P 10@9.98 R2 leaves 5 0",
            "P comes back 0@9.98 leaves 5",
        ]
    );
    assert_eq!(market.cancel("P", firm(3)), ["P cancelled 5, 20 done"]);
    assert_eq!(market.order("R3", Side::Buy, "5@10.50", retail).len(), 1, "it is gone");
}

#[test]
fn its_firm_does_not_trade_with_itself_if_it_says_so() {
    let mut market = trading();
    let own = |self_match| {
        move |order: &mut NewOrder| {
            retail(order);
            (order.owner, order.self_match) = (firm(3), self_match);
        }
    };
    market.order("P1", Side::Sell, "10@10", provider);
    let said = market.order("R1", Side::Buy, "10@10", own(SelfMatch::CancelIncoming));
    assert_eq!(said, ["R1 own 10, 0 done"]);
    let said = market.order("R2", Side::Buy, "10@10", own(SelfMatch::CancelResting));
    assert_eq!(said, ["P1 own 10, 0 done", "R2 rests 10@10.00 leaves 10"]);
    let said = market.order("P2", Side::Sell, "10@10", |order| {
        provider(order);
        order.self_match = SelfMatch::CancelIncoming;
    });
    assert_eq!(said, ["P2 own 10, 0 done"]);
    assert_eq!(market.order("P3", Side::Sell, "10@10", provider), ["P3 10@10.00 R2 leaves 0 0"]);
}

#[test]
fn auctions_pass_it_over_and_what_came_in_the_call_trades_behind_them() {
    let mut market = Market::new(Session::OpeningCall);
    market.order("P1", Side::Sell, "30@9.98", provider);
    market.order("P2", Side::Sell, "30@9.97", provider);
    market.order("R1", Side::Buy, "50@10", retail);
    market.order("R2", Side::Buy, "20@9.99", retail);
    market.sell("S", "10@10");
    assert_eq!(market.tick(1_000_000_000), ["indicative 10@10.00"]);
    assert_eq!(
        market.begin(Session::Regular),
        [
            "R1 10@10.00 S auction leaves 40 0",
            "auction 10@10.00",
            "opening 10.00 by auction",
            "regular trading",
            "P2 30@10.00 R1 leaves 0 10",
            "P1 10@10.00 R1 leaves 20 0",
            "P1 20@9.99 R2 leaves 0 0",
        ]
    );
    assert_eq!(market.engine.alive(), 0);
}

#[test]
fn a_circuit_breaker_measures_its_trades_too() {
    let mut market = Market::tolerating(Tolerances { dynamic_bp: 200, static_bp: 500 });
    market.sell("S", "10@10");
    market.buy("B", "10@10");
    market.order("P", Side::Sell, "10@10.21", provider);
    assert_eq!(market.buy("B2", "10@10.21"), ["B2 rests 10@10.21 leaves 10"]);
    market.cancel("B2", firm(2));
    let said = market.order("R", Side::Buy, "10@10.21", retail);
    assert_eq!(said, ["circuit breaker call", "R rests 10@10.21 leaves 10"]);
}
