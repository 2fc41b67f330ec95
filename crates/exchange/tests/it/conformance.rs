//! What every book with price-time priority has to do, whatever its rules otherwise: the
//! short cases of flash1-dev/matching-engine-benchmark, which its random flows hardly
//! reach. There, other engines say at run time what is right; here it is written out.
//!
//! Behind each message, the engine's book has to be what its reports add up to: a level
//! that is empty and still there shows at once, and not when the next order walks over it.

use std::fmt::Write as _;

use tapeline_exchange::{Flow, Message, MessageKind, Report, Runner};
use tapeline_instrument::Side;

/// An order that rests by what the reports say.
struct Resting {
    id: u32,
    side: Side,
    price: i32,
    quantity: u32,
}

/// A book that is made of reports alone: the oldest order first.
#[derive(Default)]
struct Told(Vec<Resting>);

impl Told {
    /// Adds what came of a message.
    fn add(&mut self, message: &Message, reports: &[Report]) {
        // What is left of the order that the message brought.
        let mut rest = 0;
        for report in reports {
            match *report {
                Report::Accepted(of) => rest = of.quantity,
                Report::Modified(of) => {
                    self.0.retain(|order| order.id != of.id);
                    rest = of.quantity;
                }
                Report::Traded { quantity, maker, .. } => {
                    rest -= quantity;
                    let order = self.0.iter_mut().find(|order| order.id == maker);
                    order.expect("a maker rests").quantity -= quantity;
                }
                Report::Cancelled(of) => {
                    self.0.retain(|order| order.id != of.id);
                    rest = 0;
                }
                Report::CancelRejected { .. } | Report::ModifyRejected { .. } => {}
            }
        }
        self.0.retain(|order| order.quantity > 0);
        if rest > 0 {
            let Message { id, side, price, .. } = *message;
            self.0.push(Resting { id, side, price, quantity: rest });
        }
    }

    /// A side, the best price first, at each price the oldest order first.
    fn depth(&self, side: Side) -> Vec<(i32, u32)> {
        let orders = self.0.iter().filter(|order| order.side == side);
        let mut depth: Vec<_> = orders.map(|order| (order.price, order.quantity)).collect();
        depth.sort_by_key(|(price, _)| if side == Side::Buy { -price } else { *price });
        depth
    }
}

/// `1 buys 10@100`, with `now` behind it for an order of which nothing rests; `1 goes`;
/// `1 becomes buy 5@101`.
fn message(sequence: usize, said: &str) -> Message {
    let words: Vec<&str> = said.split_whitespace().collect();
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{said}"));
    let side = |text: &str| if text.starts_with("buy") { Side::Buy } else { Side::Sell };
    let mut message = Message {
        kind: MessageKind::New,
        side: Side::Buy,
        is_immediate: words.last() == Some(&"now"),
        quantity: 0,
        sequence: sequence as u32,
        id: number(words[0]),
        price: 0,
    };
    let (its_side, size) = match words[1] {
        "goes" => return Message { kind: MessageKind::Cancel, ..message },
        "becomes" => {
            message.kind = MessageKind::Modify;
            (words[2], words[3])
        }
        does => (does, words[2]),
    };
    let (quantity, price) = size.split_once('@').unwrap_or_else(|| panic!("{said}"));
    message.side = side(its_side);
    message.quantity = number(quantity);
    message.price = price.parse().unwrap_or_else(|_| panic!("{said}"));
    message
}

/// A report in the words of the cases. That an order is accepted goes without saying.
fn words(report: &Report) -> Option<String> {
    let side = |of: &Message| if of.side == Side::Buy { "buy" } else { "sell" };
    Some(match report {
        Report::Accepted(_) => return None,
        Report::Traded { price, quantity, maker, taker, .. } => {
            format!("{taker} takes {quantity}@{price} of {maker}")
        }
        Report::Cancelled(of) => format!("{} is gone, {} @{}", of.id, side(of), of.price),
        Report::Modified(of) => format!("{} is {} {}@{}", of.id, side(of), of.quantity, of.price),
        Report::CancelRejected { id, .. } => format!("{id} cannot go"),
        Report::ModifyRejected { id, .. } => format!("{id} cannot become"),
    })
}

/// Messages to an empty book, and all that comes of them but acceptances.
#[track_caller]
fn gives(said: &[&str], expected: &[&str]) {
    let messages = said.iter().enumerate().map(|(at, said)| message(at, said)).collect();
    let flow = Flow::new(messages);
    let mut runner = Runner::new(&flow).expect("an engine");
    let (mut told, mut seen) = (Told::default(), 0);
    let mut lines = Vec::new();
    for (message, said) in flow.messages().iter().zip(said) {
        runner.run(std::slice::from_ref(message));
        let reports = &runner.reports()[seen..];
        seen += reports.len();
        let is_new = message.kind == MessageKind::New;
        let accepted = reports.iter().filter(|report| matches!(report, Report::Accepted(_)));
        assert_eq!(accepted.count(), usize::from(is_new), "{said}");
        assert!(!is_new || reports[0] == Report::Accepted(*message), "{said}: {reports:?}");
        told.add(message, reports);
        for side in Side::BOTH {
            let depth: Vec<_> = runner.depth(side).collect();
            assert_eq!(depth, told.depth(side), "the book behind {said:?}");
        }
        lines.extend(reports.iter().filter_map(words));
    }
    assert_eq!(lines, expected);
}

#[test]
fn behind_an_order_cancelled_in_the_middle_the_queue_goes_on() {
    gives(
        &["1 buys 10@100", "2 buys 10@100", "3 buys 10@100", "2 goes", "4 sells 20@100 now"],
        &["2 is gone, buy @100", "4 takes 10@100 of 1", "4 takes 10@100 of 3"],
    );
}

#[test]
fn behind_a_first_order_cancelled_the_queue_goes_on() {
    gives(
        &["1 buys 10@100", "2 buys 10@100", "3 buys 10@100", "1 goes", "4 sells 20@100 now"],
        &["1 is gone, buy @100", "4 takes 10@100 of 2", "4 takes 10@100 of 3"],
    );
}

#[test]
fn a_deep_queue_keeps_its_order_behind_scattered_cancels() {
    gives(
        &[
            "1 buys 10@100",
            "2 buys 10@100",
            "3 buys 10@100",
            "4 buys 10@100",
            "5 buys 10@100",
            "6 buys 10@100",
            "7 buys 10@100",
            "8 buys 10@100",
            "2 goes",
            "5 goes",
            "7 goes",
            "9 sells 50@100 now",
        ],
        &[
            "2 is gone, buy @100",
            "5 is gone, buy @100",
            "7 is gone, buy @100",
            "9 takes 10@100 of 1",
            "9 takes 10@100 of 3",
            "9 takes 10@100 of 4",
            "9 takes 10@100 of 6",
            "9 takes 10@100 of 8",
        ],
    );
}

#[test]
fn an_immediate_order_sweeps_levels_from_the_best_price_on() {
    gives(
        &["1 sells 10@102", "2 sells 10@101", "3 sells 10@100", "4 buys 30@102 now"],
        &["4 takes 10@100 of 3", "4 takes 10@101 of 2", "4 takes 10@102 of 1"],
    );
}

#[test]
fn an_order_of_exactly_three_levels_leaves_nothing() {
    gives(
        &["1 sells 10@100", "2 sells 20@101", "3 sells 30@102", "4 buys 60@102 now"],
        &["4 takes 10@100 of 1", "4 takes 20@101 of 2", "4 takes 30@102 of 3"],
    );
}

#[test]
fn the_rest_of_a_sweep_is_the_new_best_price() {
    gives(
        &[
            "1 sells 10@100",
            "2 sells 10@101",
            "3 sells 10@102",
            "4 buys 35@102",
            "5 sells 5@102 now",
        ],
        &[
            "4 takes 10@100 of 1",
            "4 takes 10@101 of 2",
            "4 takes 10@102 of 3",
            "5 takes 5@102 of 4",
        ],
    );
}

#[test]
fn a_modification_into_the_other_side_trades() {
    gives(
        &["1 sells 10@100", "2 buys 10@99", "2 becomes buy 10@100"],
        &["2 is buy 10@100", "2 takes 10@100 of 1"],
    );
}

#[test]
fn a_modification_trades_at_the_resting_price_on_either_side() {
    gives(
        &[
            "1 sells 10@100",
            "2 buys 10@90",
            "2 becomes buy 10@105",
            "3 buys 10@200",
            "4 sells 10@210",
            "4 becomes sell 10@195",
        ],
        &["2 is buy 10@105", "2 takes 10@100 of 1", "4 is sell 10@195", "4 takes 10@200 of 3"],
    );
}

#[test]
fn an_order_that_shares_a_level_stays_when_the_other_one_is_moved() {
    gives(
        &["1 buys 10@100", "2 buys 10@100", "1 becomes buy 10@99", "3 sells 10@100 now"],
        &["1 is buy 10@99", "3 takes 10@100 of 2"],
    );
}

#[test]
fn what_is_left_of_an_order_can_be_cancelled() {
    gives(
        &["1 sells 10@100", "2 buys 6@100", "1 goes"],
        &["2 takes 6@100 of 1", "1 is gone, sell @100"],
    );
}

#[test]
fn what_is_left_of_an_order_can_be_modified_and_traded_with() {
    gives(
        &["1 sells 10@100", "2 buys 4@100", "1 becomes sell 6@101", "3 buys 6@101 now"],
        &["2 takes 4@100 of 1", "1 is sell 6@101", "3 takes 6@101 of 1"],
    );
}

#[test]
fn a_filled_order_cannot_be_cancelled() {
    gives(&["1 sells 10@100", "2 buys 10@100", "1 goes"], &["2 takes 10@100 of 1", "1 cannot go"]);
}

#[test]
fn a_filled_order_cannot_be_modified() {
    gives(
        &["1 sells 10@100", "2 buys 10@100", "1 becomes sell 5@101"],
        &["2 takes 10@100 of 1", "1 cannot become"],
    );
}

#[test]
fn a_cancelled_order_can_neither_be_cancelled_nor_modified() {
    gives(
        &["1 buys 10@100", "1 goes", "1 goes", "1 becomes buy 5@101"],
        &["1 is gone, buy @100", "1 cannot go", "1 cannot become"],
    );
}

#[test]
fn an_order_that_never_was_can_neither_be_cancelled_nor_modified() {
    gives(&["999 goes", "999 becomes buy 5@100"], &["999 cannot go", "999 cannot become"]);
}

#[test]
fn an_id_far_away_from_all_orders_is_refused_too() {
    gives(&["2000000 goes"], &["2000000 cannot go"]);
}

#[test]
fn of_two_orders_at_a_price_the_first_one_trades() {
    gives(&["1 buys 10@100", "2 buys 10@100", "3 sells 10@100"], &["3 takes 10@100 of 1"]);
}

#[test]
fn a_seller_takes_the_highest_price_first_behind_cancels_at_two_levels() {
    gives(
        &[
            "1 buys 10@100",
            "2 buys 10@100",
            "3 buys 10@101",
            "4 buys 10@101",
            "1 goes",
            "4 goes",
            "5 sells 20@100 now",
        ],
        &[
            "1 is gone, buy @100",
            "4 is gone, buy @101",
            "5 takes 10@101 of 3",
            "5 takes 10@100 of 2",
        ],
    );
}

#[test]
fn the_id_of_a_cancelled_order_can_be_used_again() {
    gives(
        &["1 buys 10@100", "1 goes", "1 sells 10@200", "2 buys 10@200 now"],
        &["1 is gone, buy @100", "2 takes 10@200 of 1"],
    );
}

#[test]
fn the_id_of_a_filled_order_can_be_used_again() {
    gives(
        &["1 buys 10@100", "2 sells 10@100", "1 sells 10@200", "3 buys 10@200 now"],
        &["2 takes 10@100 of 1", "3 takes 10@200 of 1"],
    );
}

#[test]
fn a_trade_is_at_the_resting_price_on_either_side() {
    gives(
        &["1 sells 10@100", "2 buys 10@105 now", "3 buys 10@200", "4 sells 10@195 now"],
        &["2 takes 10@100 of 1", "4 takes 10@200 of 3"],
    );
}

#[test]
fn two_orders_of_a_level_are_two_trades_and_the_rest_is_alive() {
    gives(
        &["1 sells 30@9", "2 sells 40@9", "3 buys 100@9", "4 sells 30@9 now"],
        &["3 takes 30@9 of 1", "3 takes 40@9 of 2", "4 takes 30@9 of 3"],
    );
}

#[test]
fn levels_that_a_sweep_emptied_fill_again() {
    gives(
        &[
            "1 sells 10@100",
            "2 sells 10@101",
            "3 sells 10@102",
            "4 buys 30@102 now",
            "5 sells 8@101",
            "6 buys 8@101 now",
            "7 sells 8@103",
            "8 buys 8@103 now",
        ],
        &[
            "4 takes 10@100 of 1",
            "4 takes 10@101 of 2",
            "4 takes 10@102 of 3",
            "6 takes 8@101 of 5",
            "8 takes 8@103 of 7",
        ],
    );
}

#[test]
fn the_better_price_trades_first_whenever_it_came() {
    gives(
        &[
            "1 sells 10@105",
            "2 sells 10@100",
            "3 buys 10@105 now",
            "4 buys 10@90",
            "5 buys 10@95",
            "6 buys 10@92",
            "7 sells 30@90 now",
        ],
        &["3 takes 10@100 of 2", "7 takes 10@95 of 5", "7 takes 10@92 of 6", "7 takes 10@90 of 4"],
    );
}

#[test]
fn behind_a_cancelled_best_bid_the_next_level_trades() {
    gives(
        &["1 buys 10@100", "2 buys 7@99", "1 goes", "3 sells 7@99 now"],
        &["1 is gone, buy @100", "3 takes 7@99 of 2"],
    );
}

#[test]
fn behind_a_cancelled_best_offer_the_next_level_trades() {
    gives(
        &["1 sells 10@100", "2 sells 7@101", "1 goes", "3 buys 7@101 now"],
        &["1 is gone, sell @100", "3 takes 7@101 of 2"],
    );
}

#[test]
fn a_side_that_was_empty_fills_again() {
    gives(
        &["1 buys 10@100", "1 goes", "2 buys 8@95", "3 sells 8@95 now"],
        &["1 is gone, buy @100", "3 takes 8@95 of 2"],
    );
}

#[test]
fn the_rest_of_an_immediate_order_does_not_rest() {
    gives(
        &["1 sells 10@100", "2 buys 15@100 now", "3 sells 5@100 now"],
        &["2 takes 10@100 of 1", "2 is gone, buy @100", "3 is gone, sell @100"],
    );
}

#[test]
fn a_limit_order_stops_at_its_price_and_rests_there() {
    gives(
        &["1 sells 5@100", "2 sells 10@105", "3 buys 12@102", "4 sells 7@102 now"],
        &["3 takes 5@100 of 1", "4 takes 7@102 of 3"],
    );
}

#[test]
fn a_resting_order_is_drained_to_the_last_lot() {
    gives(
        &["1 sells 20@100", "2 buys 8@100 now", "3 buys 12@100 now", "4 buys 5@100 now"],
        &["2 takes 8@100 of 1", "3 takes 12@100 of 1", "4 is gone, buy @100"],
    );
}

#[test]
fn what_is_left_of_the_first_order_stays_first_for_the_next_one_who_comes() {
    gives(
        &[
            "1 buys 10@100",
            "2 buys 10@100",
            "3 buys 10@100",
            "4 buys 10@100",
            "5 sells 15@100 now",
            "6 sells 15@100 now",
        ],
        &["5 takes 10@100 of 1", "5 takes 5@100 of 2", "6 takes 5@100 of 2", "6 takes 10@100 of 3"],
    );
}

#[test]
fn a_price_that_is_far_away_is_reported_as_it_is() {
    gives(&["1 sells 10@200000", "2 buys 10@200000 now"], &["2 takes 10@200000 of 1"]);
}

#[test]
fn one_order_takes_five_thousand_in_their_order() {
    let mut said: Vec<String> = (1..=5_000).map(|id| format!("{id} sells 1@100")).collect();
    said.push("5001 buys 5000@100 now".to_owned());
    let flow = Flow::new(said.iter().enumerate().map(|(at, said)| message(at, said)).collect());
    let mut runner = Runner::new(&flow).expect("an engine");
    runner.run(flow.messages());
    let (mut lines, mut expected) = (String::new(), String::new());
    for line in runner.reports().iter().filter_map(words) {
        let _ = writeln!(lines, "{line}");
    }
    for id in 1..=5_000 {
        let _ = writeln!(expected, "5001 takes 1@100 of {id}");
    }
    assert!(lines == expected, "another order, or a rest: {lines}");
    assert!(Side::BOTH.iter().all(|side| runner.depth(*side).next().is_none()));
}

#[test]
fn an_order_that_the_first_one_fills_leaves_the_second_one_alone() {
    gives(&["1 sells 5@100", "2 sells 5@100", "3 buys 5@100 now"], &["3 takes 5@100 of 1"]);
}
