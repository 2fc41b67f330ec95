//! Gateways in processes of their own: each process is killed while clients trade, and
//! what clients were told holds.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tapeline_ntg::Message;
use tapeline_ntg::client::NewOrder;
use tapeline_ntg::session::Heartbeat;

use crate::processes::{Client, House, Log, PATIENCE, Running, order, recovered_by, wait_for};

pub(crate) const JOURNAL: &str = "segment-bytes = 2097152";

/// How often something is killed in a test; more by `TAPELINE_KILLS`.
pub(crate) fn kills() -> usize {
    std::env::var("TAPELINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// A client that is let in at the first of some processes that lets it in.
fn log_on(at: &[&Running], user: &str) -> (usize, Client) {
    wait_for("a gateway to let a client in", || {
        at.iter().enumerate().find_map(|(place, it)| Some((place, it.try_connect("orders", user)?)))
    })
}

/// What a client does behind a broken connection: it has again what it missed, holds it
/// against what it was told, and sends again what nobody knows.
fn go_on(log: &mut Log, at: &Running, client: &mut Client) {
    let recovery = wait_for("the recovery channel", || at.try_connect("recovery", "ANN"));
    let again = recovered_by(recovery);
    for (number, report) in &log.reports {
        assert_eq!(again.get(number), Some(report), "report {number}");
    }
    client.heard.extend(again.into_values());
    log.note(client);
    for number in 1..=log.sent {
        if !log.accepted.contains(&format!("N{number}")) {
            client.say(&Message::NewOrder(order(number)));
        }
    }
}

/// Everything that was sent is accepted in the end; nothing is in the journal twice, or
/// not at all.
fn account(house: &House, journal: &str, log: &Log) {
    let orders = house.replay_of(journal).0;
    let once: BTreeSet<&String> = orders.iter().collect();
    assert_eq!(once.len(), orders.len(), "an order is in the journal twice");
    let lost: Vec<_> = log.accepted.iter().filter(|name| !once.contains(name)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), log.accepted.len());
}

fn wait_until_all_accepted(log: &mut Log, client: &mut Client) {
    let sent = log.sent as usize;
    wait_for("all orders to be accepted", || {
        assert!(client.listen(), "the connection ended");
        log.note(client);
        (log.accepted.len() == sent).then_some(())
    });
}

/// The client is told all the reports that there are for it: the last one may be on its way.
fn holds_all(log: &mut Log, client: &mut Client, at: &Running) {
    let again = recovered_by(at.try_connect("recovery", "ANN").expect("let in"));
    wait_for("all reports", || {
        assert!(client.listen(), "the connection ended");
        log.note(client);
        (log.reports.len() >= again.len()).then_some(())
    });
    for (number, report) in &again {
        assert_eq!(log.reports.get(number), Some(report), "report {number}");
    }
}

fn told(what: &str, times: &mut [Duration], log: &Log) {
    times.sort();
    let (kills, sent) = (times.len(), log.sent);
    let (median, longest) = (times[kills / 2], times[kills - 1]);
    println!(
        "{what}: {kills} kills, {sent} orders; without service: median {median:?}, longest {longest:?}"
    );
}

#[test]
fn no_accepted_order_is_lost_or_doubled_by_kills_of_gateways() {
    let mut house = House::of_gateways(JOURNAL, false, "");
    let mut market = house.start();
    let mut gateways = [house.start_gateway(1), house.start_gateway(2)];
    let (mut log, mut times) = (Log::default(), Vec::new());
    let (mut at, mut client) = log_on(&[&gateways[0]], "ANN");
    for round in 0..kills() {
        log.trade(&mut client, 100 + round * 37 % 101);
        gateways[at].kill();
        let killed = Instant::now();
        while client.listen() {}
        log.note(&mut client);
        let other = 1 - at;
        // Each third time the client goes to the market's own door.
        let goes_to = if round % 3 == 2 { &market } else { &gateways[other] };
        client = log_on(&[goes_to], "ANN").1;
        go_on(&mut log, goes_to, &mut client);
        times.push(killed.elapsed());
        wait_until_all_accepted(&mut log, &mut client);
        holds_all(&mut log, &mut client, goes_to);
        gateways[at] = house.start_gateway(at + 1);
        if round % 3 == 2 {
            drop(client);
            client = log_on(&[&gateways[other]], "ANN").1;
        }
        at = other;
    }
    market.terminate();
    account(&house, "journal", &log);
    told("gateways", &mut times, &log);
}

/// Trades on behind a death, until orders that were sent since are accepted. Returns how
/// long nothing came.
fn trade_through(log: &mut Log, client: &mut Client, killed: Instant) -> Duration {
    let until = log.sent as usize + 100;
    let (mut last, mut longest) = (killed, Duration::ZERO);
    while log.accepted.len() < until {
        assert!(killed.elapsed() < PATIENCE, "waited in vain for orders to be accepted");
        // What waits for a leader has a bound; a client that is told nothing waits, too.
        if log.sent as usize - log.accepted.len() < 1_000 {
            for _ in 0..10 {
                log.sent += 1;
                client.say(&Message::NewOrder(order(log.sent)));
            }
        } else {
            client.say(&Message::Heartbeat(Heartbeat {}));
        }
        let before = log.reports.len();
        assert!(client.listen(), "the client's connection ended");
        log.note(client);
        if log.reports.len() > before {
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
    }
    longest
}

#[test]
fn clients_of_a_gateway_stay_while_the_market_is_killed_and_miss_nothing() {
    let mut house = House::of_gateways(JOURNAL, false, "failover-ms = 60000\ngrace-ms = 60000");
    let mut market = house.start();
    let gateway = house.start_gateway(1);
    let (mut log, mut times) = (Log::default(), Vec::new());
    let mut client = log_on(&[&gateway], "ANN").1;
    for round in 0..kills() {
        log.trade(&mut client, 100 + round * 37 % 101);
        market.kill();
        let killed = Instant::now();
        market = house.start();
        times.push(trade_through(&mut log, &mut client, killed));
    }
    wait_until_all_accepted(&mut log, &mut client);
    holds_all(&mut log, &mut client, &gateway);
    assert!(log.refused.is_empty(), "it waited for the market");
    market.terminate();
    account(&house, "journal", &log);
    told("the market", &mut times, &log);
}

/// SIGKILL to all before the end of any is awaited.
fn kill_at_once(all: [&mut Running; 2]) {
    let [one, other] = all;
    one.child.kill().expect("it runs");
    other.child.kill().expect("it runs");
    for running in [one, other] {
        running.child.wait().expect("a child");
    }
}

#[test]
fn no_accepted_order_is_lost_or_doubled_by_kills_of_a_gateway_and_the_market_at_once() {
    let mut house = House::of_gateways(JOURNAL, false, "grace-ms = 60000");
    let mut market = house.start();
    let mut gateways = [house.start_gateway(1), house.start_gateway(2)];
    let (mut log, mut times) = (Log::default(), Vec::new());
    let (mut at, mut client) = log_on(&[&gateways[0]], "ANN");
    for round in 0..kills() {
        log.trade(&mut client, 100 + round * 37 % 101);
        // What is on its way everywhere when they die.
        for _ in 0..200 {
            log.sent += 1;
            client.say(&Message::NewOrder(order(log.sent)));
        }
        kill_at_once([&mut market, &mut gateways[at]]);
        let killed = Instant::now();
        while client.listen() {}
        log.note(&mut client);
        market = house.start();
        gateways[at] = house.start_gateway(at + 1);
        // In turns the client goes to the gateway that stayed, and to the one that is new.
        at = if round % 2 == 0 { 1 - at } else { at };
        client = log_on(&[&gateways[at]], "ANN").1;
        go_on(&mut log, &gateways[at], &mut client);
        times.push(killed.elapsed());
        wait_until_all_accepted(&mut log, &mut client);
        holds_all(&mut log, &mut client, &gateways[at]);
    }
    assert!(log.refused.is_empty(), "who was not let in yet was not refused anything");
    market.terminate();
    account(&house, "journal", &log);
    told("a gateway and the market", &mut times, &log);
}

#[test]
fn clients_of_a_gateway_stay_while_leaders_are_killed_and_miss_nothing() {
    let mut house = House::of_gateways(JOURNAL, true, "failover-ms = 60000\ngrace-ms = 60000");
    let mut all: Vec<Running> = (1..=3).map(|number| house.start_replica(number)).collect();
    let gateway = house.start_gateway(2);
    let (mut log, mut times) = (Log::default(), Vec::new());
    let mut client = log_on(&[&gateway], "ANN").1;
    for round in 0..kills() {
        log.trade(&mut client, 100 + round * 37 % 101);
        wait_for("all to have caught up", || {
            all.iter().all(|running| running.has_said("caught up")).then_some(())
        });
        let leads = all.iter().position(|it| it.has_said("a gateway is linked") && leads(it));
        let leader = leads.expect("one leads");
        all[leader].kill();
        times.push(trade_through(&mut log, &mut client, Instant::now()));
        all[leader] = house.start_replica(leader + 1);
    }
    wait_until_all_accepted(&mut log, &mut client);
    holds_all(&mut log, &mut client, &gateway);
    assert!(log.refused.is_empty(), "it waited for the next leader");
    all.iter_mut().for_each(Running::terminate);
    for number in 1..=3 {
        account(&house, &format!("journal-{number}"), &log);
    }
    told("leaders", &mut times, &log);
}

/// Whether it is the replica that lets clients in.
fn leads(running: &Running) -> bool {
    running.try_connect("orders", "BOB").is_some()
}

/// An order that goes with its session.
fn passing(name: &str) -> NewOrder {
    NewOrder {
        cl_ord_id: tapeline_layout::Text::new(name),
        side: 1,
        limit: 500_000_000,
        auto_cancel: 1,
        ..order(1)
    }
}

/// The reports that a user can have again, as type and name.
fn reports(at: &Running, user: &str) -> Vec<String> {
    let all = recovered_by(wait_for("the recovery channel", || at.try_connect("recovery", user)));
    let short = |frame: &Vec<u8>| match Message::read(frame) {
        Some(Message::ExecutionReport(it)) => {
            format!("{} {}", char::from(it.exec_type), it.cl_ord_id.as_str())
        }
        other => panic!("{other:?}"),
    };
    all.values().map(short).collect()
}

#[test]
fn orders_go_with_a_session_when_its_gateway_dies_and_not_when_the_market_does() {
    let mut house = House::of_gateways(JOURNAL, false, "grace-ms = 60000");
    let mut market = house.start();
    let mut gateway = house.start_gateway(1);
    let mut client = log_on(&[&gateway], "ANN").1;
    client.say(&Message::NewOrder(passing("ONE")));
    wait_for("a report", || {
        assert!(client.listen(), "the connection ended");
        client.heard.pop()
    });
    market.kill();
    market = house.start();
    // Whoever asks the recovery channel is logged on: the session goes on.
    assert_eq!(reports(&gateway, "ANN"), ["0 ONE"]);
    client.say(&Message::NewOrder(passing("TWO")));
    wait_for("a report", || {
        assert!(client.listen(), "the connection ended");
        client.heard.pop()
    });
    gateway.kill();
    // A logon elsewhere ends the session at the gateway, before it is let in.
    let other = log_on(&[&market], "ANN").1;
    assert_eq!(reports(&market, "ANN"), ["0 ONE", "0 TWO", "C ONE", "C TWO"]);
    drop(other);
}

#[test]
fn sessions_at_a_gateway_that_does_not_come_back_end_when_it_is_given_up() {
    let mut house = House::of_gateways(JOURNAL, false, "grace-ms = 200");
    let market = house.start();
    let mut gateway = house.start_gateway(1);
    let mut client = log_on(&[&gateway], "ANN").1;
    client.say(&Message::NewOrder(passing("ONE")));
    wait_for("a report", || {
        assert!(client.listen(), "the connection ended");
        client.heard.pop()
    });
    gateway.kill();
    let goes = "\"logged out\" user=ANN cancelled=1";
    wait_for("the order to go", || market.has_said(goes).then_some(()));
    let _ann = log_on(&[&market], "ANN").1;
    assert_eq!(reports(&market, "ANN"), ["0 ONE", "C ONE"]);
}

#[test]
fn without_a_market_for_too_long_a_gateway_refuses_with_9998() {
    let mut house = House::of_gateways(JOURNAL, false, "failover-ms = 50\ngrace-ms = 60000");
    let mut market = house.start();
    let gateway = house.start_gateway(1);
    let mut log = Log::default();
    let mut client = log_on(&[&gateway], "ANN").1;
    log.trade(&mut client, 50);
    market.kill();
    wait_for("an order to be refused", || {
        log.sent += 1;
        client.say(&Message::NewOrder(order(log.sent)));
        assert!(client.listen(), "the connection ended");
        log.note(&mut client);
        (!log.refused.is_empty()).then_some(())
    });
    assert!(gateway.try_connect("orders", "BOB").is_none(), "nobody can let it in");
    let mut market = house.start();
    // What waited is done, what was refused is not, and the session goes on.
    let sent = log.sent as usize;
    wait_for("all others to be accepted", || {
        assert!(client.listen(), "the connection ended");
        log.note(&mut client);
        (log.accepted.len() + log.refused.len() == sent).then_some(())
    });
    log.trade(&mut client, 50);
    assert!(log.accepted.is_disjoint(&log.refused));
    market.terminate();
    account(&house, "journal", &log);
    let in_journal: BTreeSet<String> = house.replay().0.into_iter().collect();
    assert!(log.refused.is_disjoint(&in_journal), "a refused order is in the journal");
}

#[test]
fn clients_log_on_again_when_a_market_has_forgotten_everything() {
    let mut house = House::of_gateways(JOURNAL, false, "failover-ms = 60000");
    let mut market = house.start_forgetful();
    let gateway = house.start_gateway(1);
    let mut log = Log::default();
    let mut client = log_on(&[&gateway], "ANN").1;
    log.trade(&mut client, 50);
    market.kill();
    let _market = house.start_forgetful();
    wait_for("the session to end", || {
        let is_there = client.listen();
        client.heard.clear();
        (!is_there).then_some(())
    });
    let mut client = log_on(&[&gateway], "ANN").1;
    Log::default().trade(&mut client, 50);
}
