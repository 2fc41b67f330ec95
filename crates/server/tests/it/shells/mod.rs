//! The shells of hub, server, providers and consumers, all in one thread: over
//! simulated sockets, and over real ones.

mod by_mount;
mod compressed;
mod connection_sets;
mod drained;
mod ground;
mod market;

use std::collections::BTreeMap;
use std::time::Duration;

use ground::{Ground, Loopback, Simulated, Tape};
use market::{HUB, Market, SERVER};
use tapeline_api::Protocol;
use tapeline_backbone::Bus;

/// What a day at the market came to: what went over the wires, and what the
/// consumers were told.
type Day = (BTreeMap<u16, Vec<Tape>>, Vec<Vec<String>>);

/// A day that is the same wherever it takes place: each thing is waited for
/// before the next one happens.
fn day<G: Ground>(ground: G) -> (Day, G) {
    let mut market = Market::open(ground);
    let [rssl, websocket] = market.addresses();
    let first = market.listener(Protocol::Rssl, rssl);
    market.watch(first, "FEED", "TRI.N");
    let second = market.listener(Protocol::Json, websocket);
    market.watch(second, "FEED", "TRI.N");
    assert_eq!(market.open.len(), 1, "one stream for both");
    market.watch(first, "OURS", "POSITION");
    market.watch(second, "FEED", "IBM.N");
    for bid in 1..=20 {
        market.update(10_000 + bid);
        let update = format!("TRI.N 100.{bid:02}");
        market.until_told(first, &update);
        market.until_told(second, &update);
    }
    market.publish(2_000);
    market.until_told(first, "POSITION 20.00");
    let day = (market.ground.tapes(), market.all_told());
    (day, market.ground)
}

#[test]
fn a_simulated_market_has_the_bytes_of_a_real_one() {
    let ((real_tapes, real_told), ground) = day(Loopback::new());
    let ((tapes, told), _) = day(Simulated::new(1, ground.ports()));
    assert_eq!(told, real_told);
    assert_eq!(tapes.keys().collect::<Vec<_>>(), real_tapes.keys().collect::<Vec<_>>());
    assert_eq!(tapes.len(), 4, "a provider, a publisher and two consumers");
    for (port, wires) in tapes {
        let real = &real_tapes[&port];
        assert_eq!(wires.len(), real.len());
        for ((to_server, to_client), (real_to_server, real_to_client)) in wires.iter().zip(real) {
            same_bytes("to the listener", to_server, real_to_server);
            same_bytes("from the listener", to_client, real_to_client);
        }
    }
}

fn same_bytes(what: &str, simulated: &[u8], real: &[u8]) {
    let same = simulated.iter().zip(real).take_while(|(one, other)| one == other).count();
    let around = |bytes: &[u8]| {
        let (from, to) = (same.saturating_sub(20), (same + 40).min(bytes.len()));
        String::from_utf8_lossy(&bytes[from.min(to)..to]).into_owned()
    };
    assert!(
        simulated == real && !real.is_empty(),
        "{what}: {} and {} bytes, the first {same} are the same; then {:?}, really {:?}",
        simulated.len(),
        real.len(),
        around(simulated),
        around(real)
    );
}

#[test]
fn a_consumer_recovers_from_a_reset_in_no_time_of_ours() {
    for protocol in [Protocol::Rssl, Protocol::Json] {
        let mut market = Market::open(Simulated::new(1, []));
        market.ground.network.set_delay(Duration::from_millis(3));
        let [rssl, websocket] = market.addresses();
        let at = if protocol == Protocol::Json { websocket } else { rssl };
        let consumer = market.listener(protocol, at);
        market.watch(consumer, "FEED", "TRI.N");
        market.update(10_001);
        market.until_told(consumer, "TRI.N 100.01");
        let lost_at = market.now();
        assert_eq!(market.ground.network.reset(at), 1);
        market.update(10_002);
        market.until_told(consumer, "TRI.N 100.02 OK");
        let away = market.now().since(lost_at);
        // One second until it dials again, and some ways there and back.
        let (least, most) = (Duration::from_secs(1), Duration::from_millis(1100));
        assert!((least..most).contains(&away), "{away:?}");
        market.update(10_003);
        market.until_told(consumer, "TRI.N 100.03");
        let [told] = &market.all_told()[..] else { panic!("one consumer") };
        let wanted = [
            "up",
            "ready",
            "TRI.N 100.00 OK",
            "TRI.N 100.01",
            "down, recovers: true",
            "TRI.N OPEN SUSPECT",
            "up",
            "ready",
            "TRI.N 100.02 OK",
            "TRI.N 100.03",
        ];
        assert_eq!(told, &wanted);
        assert_eq!(market.open.len(), 1, "the source did not notice");
    }
}

#[test]
fn sources_are_left_unread_for_a_while_when_the_backbone_takes_no_more() {
    let mut market = Market::open(Simulated::new(1, []));
    let [rssl, _] = market.addresses();
    let consumer = market.listener(Protocol::Rssl, rssl);
    market.watch(consumer, "FEED", "TRI.N");
    market.backbone.set_stuck(HUB, true);
    let most_silent = most_silent(&mut market, |market| {
        (1..=100).for_each(|bid| market.update(bid));
        market.turn();
        market.hub.reactor().counters().traffic.messages_received
    });
    assert!((19..=21).contains(&most_silent), "held off for {most_silent} ms");
    market.backbone.set_stuck(HUB, false);
    market.turns(1000);
    market.update(99_999);
    market.until_told(consumer, "TRI.N 999.99");
}

#[test]
fn under_pressure_updates_are_merged_publishers_held_back_and_consumers_told_to_wait() {
    let mut market = Market::open(Simulated::new(1, []));
    let [rssl, _] = market.addresses();
    let consumer = market.listener(Protocol::Rssl, rssl);
    market.watch(consumer, "FEED", "TRI.N");
    market.watch(consumer, "OURS", "POSITION");
    let read = |market: &Market<_>| market.hub.reactor().counters().traffic.messages_received;
    // For less time than servers take for a sign that the hub is gone.
    market.backbone.set_stuck(HUB, true);
    for _ in 0..300 {
        (1..=200).for_each(|bid| market.update(bid));
        market.turn();
    }
    let counters = market.hub.counters();
    assert_eq!((counters.pressed, counters.pressures), (1, 1));
    assert!(counters.holds > 0 && counters.updates_merged > 10_000, "{counters:?}");
    let before = read(&market);
    (1..=200).for_each(|bid| market.publish(bid));
    market.turns(20);
    assert_eq!(read(&market), before, "nothing leaves, so nothing is read of who publishes");
    assert!(market.hub.counters().publishers_held > 0);
    // Some of what waits goes out: all that was said of services, and not all updates.
    for _ in 0..1_000 {
        if !market.is_accepting(consumer) {
            break;
        }
        market.backbone.set_allowance(HUB, 500);
        market.turn();
    }
    assert!(!market.is_accepting(consumer), "consumers are told");
    let asked = market.open.len();
    market.want(consumer, "FEED", "IBM.N");
    market.turns(50);
    assert_eq!(market.open.len(), asked, "it waits");
    market.backbone.set_stuck(HUB, false);
    market.turns(1_200);
    assert!(market.is_accepting(consumer), "requests are taken again");
    market.update(99_999);
    for told in ["TRI.N 999.99", "POSITION 2.00", "IBM.N 2.00 OK", "IBM.N 999.99"] {
        market.until_told(consumer, told);
    }
    let counters = market.hub.counters();
    assert_eq!((counters.pressed, counters.merges), (0, 0), "{counters:?}");
    assert_eq!(market.hub.bus().counters().dropped, 0, "nothing was lost");
}

/// How often in a row nothing was read of who says something in each turn, which
/// is a millisecond. A turn tells how much was read so far.
fn most_silent<G: Ground>(
    market: &mut Market<G>,
    mut turn: impl FnMut(&mut Market<G>) -> u64,
) -> usize {
    let (mut heard, mut silent, mut most) = (0, 0, 0);
    for _ in 0..250 {
        let now_heard = turn(market);
        silent = if now_heard == heard { silent + 1 } else { 0 };
        (heard, most) = (now_heard, most.max(silent));
    }
    most
}

#[test]
fn mounts_are_left_unread_for_a_while_when_the_backbone_takes_no_more() {
    let mut market = Market::open(Simulated::new(1, []));
    let [rssl, _] = market.addresses();
    let asker = market.listener(Protocol::Rssl, rssl);
    let consumer = market.listener(Protocol::Rssl, rssl);
    market.watch(consumer, "FEED", "TRI.N");
    market.backbone.set_stuck(SERVER, true);
    let mut asked = 0;
    let most_silent = most_silent(&mut market, |market| {
        for _ in 0..100 {
            asked += 1;
            market.ask(asker, "FEED", &format!("AN.ITEM.WITH.A.LONG.NAME.{asked}"));
        }
        market.turn();
        market.server.reactor().counters().traffic.messages_received
    });
    assert!((19..=21).contains(&most_silent), "held off for {most_silent} ms");
    market.backbone.set_stuck(SERVER, false);
    market.update(99_999);
    market.until_told(consumer, "TRI.N 999.99");
    // None of those who asked meanwhile waits for ever.
    market.until("everything to be answered", |it| it.server.statistics().items == 1);
}
