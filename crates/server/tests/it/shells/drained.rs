//! Mounts that are given away, so many a second.

use tapeline_api::Protocol;

use super::ground::Simulated;
use super::market::Market;

#[test]
fn mounts_are_closed_at_the_rate_that_was_asked_for_and_not_let_in_again() {
    let mut market = Market::open(Simulated::new(1, []));
    let [rssl, websocket] = market.addresses();
    for number in 0..12 {
        let (protocol, at) = match number % 2 {
            0 => (Protocol::Rssl, rssl),
            _ => (Protocol::Json, websocket),
        };
        market.listener(protocol, at);
    }
    let now = market.now();
    assert_eq!(market.server.drain(now, 10).ok(), Some(12));
    // The first goes at once. A turn is a millisecond; half of an interval is in hand.
    market.turns(50);
    for closed in 1..=12 {
        let statistics = market.server.statistics();
        assert_eq!((statistics.mounts_drained, statistics.drain_per_s), (closed, 10));
        assert_eq!(statistics.mounts as u64, 12 - closed);
        market.turns(100);
    }
    assert_eq!(market.server.statistics().mounts_drained, 12, "nobody came back");
}
