//! The exchange's end and the client's, with a network between them.

use tapeline_fix::Store;

use crate::support::pair::Pair;

fn connected() -> Pair {
    let mut pair = Pair::new();
    pair.connect();
    pair.settle();
    assert!(pair.initiator.is_active() && pair.acceptor.is_active() && !pair.is_cut);
    pair
}

#[test]
fn orders_and_reports_go_both_ways() {
    let mut pair = connected();
    assert!(pair.order(1) && pair.order(2));
    pair.report(7);
    pair.settle();
    assert_eq!((&pair.exchange.requests[..], &pair.reports[..]), (&[1, 2][..], &[7][..]));
    assert_eq!((pair.store.next_out(), pair.store.next_in()), (4, 3));
    assert_eq!((pair.exchange.store.next_out(), pair.exchange.store.next_in()), (3, 4));
}

#[test]
fn two_that_have_nothing_to_say_stay_connected() {
    let mut pair = connected();
    for _ in 0..1000 {
        pair.pass(5_000);
        pair.settle();
    }
    assert!(!pair.is_cut && pair.initiator.is_active() && pair.acceptor.is_active());
    // A heartbeat of each in ten seconds, and no test request.
    assert_eq!((pair.store.next_out(), pair.exchange.store.next_out()), (502, 502));
}

#[test]
fn what_was_lost_on_both_ways_comes_behind_the_next_logon() {
    let mut pair = connected();
    assert!(pair.order(1));
    pair.report(7);
    pair.connect();
    pair.report(8);
    pair.settle();
    assert_eq!((&pair.exchange.requests[..], &pair.reports[..]), (&[1][..], &[7, 8][..]));
    assert!(pair.order(2));
    pair.settle();
    assert_eq!(pair.exchange.requests, [1, 2]);
}

#[test]
fn a_client_that_is_cut_off_notices() {
    let mut pair = connected();
    for _ in 0..5 {
        assert!(!pair.is_cut);
        pair.pass(6_000);
        pair.exchange.store.restart(1);
    }
    assert!(pair.is_cut);
}

#[test]
fn a_logout_of_the_client_is_answered() {
    let mut pair = connected();
    pair.log_out();
    assert!(!pair.initiator.is_active());
    pair.settle();
    assert_eq!((pair.is_cut, &pair.heard[..]), (true, &b"A5"[..]));
    assert_eq!((pair.store.next_out(), pair.store.next_in()), (3, 3));
    pair.connect();
    pair.settle();
    assert!(pair.initiator.is_active());
}

#[test]
fn a_client_behind_a_failover_takes_the_higher_numbers() {
    let mut pair = connected();
    pair.report(7);
    pair.settle();
    pair.exchange.store = Store::new(1000);
    pair.exchange.store.restart(5003);
    pair.report(8);
    pair.connect();
    pair.report(8);
    assert!(!pair.acceptor.is_active());
    pair.settle();
    assert_eq!(pair.reports, [7, 8, 8]);
    assert!(pair.order(3));
    pair.settle();
    assert_eq!((&pair.exchange.requests[..], pair.is_cut), (&[3][..], false));
}
