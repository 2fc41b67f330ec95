//! Distributions in processes of their own: each process is killed while clients trade, and
//! a reader's book is the market's.

use std::time::{Duration, Instant};

use tapeline_ntg::Message;

use crate::gateways::{JOURNAL, kills};
use crate::processes::{Client, House, Log, PATIENCE, Running, order, wait_for};
use crate::support::watcher::{Watcher, replay, snapshot};

/// No busy machine is silent for so long by itself.
const CALM: &str = "silence-ms = 20000";

const NAMED: &str = "market data goes out from here";
const IN_STEP: &str = "caught up with the market";

/// A client that is let in at the first of some processes that lets it in.
fn log_on(at: &[&Running]) -> (usize, Client) {
    wait_for("a client to be let in", || {
        at.iter()
            .enumerate()
            .find_map(|(place, it)| Some((place, it.try_connect("orders", "ANN")?)))
    })
}

/// Trades until so many more orders are accepted, and reads market data meanwhile.
/// Returns whether the connection lasted.
fn try_to_trade(
    (log, client): (&mut Log, &mut Client),
    (watcher, doors): (&mut Watcher, &[&Running]),
    more: usize,
) -> bool {
    let (until, begun) = (log.accepted.len() + more, Instant::now());
    while log.accepted.len() < until {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for orders to be accepted");
        for _ in 0..20 {
            log.sent += 1;
            client.say(&Message::NewOrder(order(log.sent)));
        }
        let is_there = client.listen();
        log.note(client);
        watcher.listen(doors);
        if !is_there {
            return false;
        }
    }
    true
}

/// The same with a market that nobody takes the place of.
fn trade(by: (&mut Log, &mut Client), watched: (&mut Watcher, &[&Running]), more: usize) {
    assert!(try_to_trade(by, watched, more), "the client's connection ended");
}

/// What is on its way everywhere when somebody dies.
fn burst(log: &mut Log, client: &mut Client) {
    for _ in 0..200 {
        log.sent += 1;
        client.say(&Message::NewOrder(order(log.sent)));
    }
}

/// The reader's book is that of a process, once all has come.
fn is_as(watcher: &mut Watcher, at: &Running) {
    wait_for("the reader's book to be the market's", || {
        watcher.listen(&[at]);
        watcher.is_as(at).then_some(())
    });
}

fn wait_until(what: &str, at: &Running, said: &str) {
    wait_for(what, || at.has_said(said).then_some(()));
}

fn told(what: &str, times: &mut [Duration], watcher: &Watcher) {
    times.sort();
    let (kills, median, longest) = (times.len(), times[times.len() / 2], times[times.len() - 1]);
    let Watcher { doubles, replays, snapshots, .. } = *watcher;
    println!(
        "{what}: {kills} kills; without market data: median {median:?}, longest {longest:?}; \
         {doubles} messages twice, {replays} replays, {snapshots} snapshots"
    );
}

#[test]
fn when_who_publishes_is_killed_the_other_one_goes_on_and_a_reader_misses_nothing() {
    let mut watcher = Watcher::new();
    let mut house = House::of_distributions(JOURNAL, false, CALM, watcher.lines());
    let mut market = house.start();
    let mut all = [house.start_distribution(1), house.start_distribution(2)];
    wait_until("the first one to publish", &all[0], NAMED);
    wait_until("the second one to have caught up", &all[1], IN_STEP);
    let (mut log, mut times) = (Log::default(), Vec::new());
    let mut client = log_on(&[&market]).1;
    for round in 0..kills() {
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 100 + round * 37 % 101);
        burst(&mut log, &mut client);
        watcher.measure();
        all[0].kill();
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 200);
        wait_until("the other one to publish", &all[1], NAMED);
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 50);
        times.push(watcher.without());
        is_as(&mut watcher, &market);
        all[0] = house.start_distribution(1);
        // The lower number publishes again when it has caught up, and the other one stops.
        wait_until("it to publish again", &all[0], NAMED);
    }
    assert_eq!(watcher.snapshots, 0, "what was missed was had by replay");
    is_as(&mut watcher, &all[1]);
    market.terminate();
    told("who publishes", &mut times, &watcher);
}

#[test]
fn when_all_distributions_are_killed_the_market_publishes_until_one_is_back() {
    let mut watcher = Watcher::new();
    let mut house = House::of_distributions(JOURNAL, false, CALM, watcher.lines());
    let market = house.start();
    let mut all = [house.start_distribution(1), house.start_distribution(2)];
    wait_until("the first one to publish", &all[0], NAMED);
    wait_until("the second one to have caught up", &all[1], IN_STEP);
    let (mut log, mut times) = (Log::default(), Vec::new());
    let mut client = log_on(&[&market]).1;
    for round in 0..kills() {
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 100 + round * 37 % 101);
        burst(&mut log, &mut client);
        watcher.measure();
        for running in &mut all {
            running.child.kill().expect("it runs");
        }
        for running in &mut all {
            running.child.wait().expect("a child");
        }
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 200);
        wait_until("the market to publish", &market, "the market publishes by itself");
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 50);
        times.push(watcher.without());
        is_as(&mut watcher, &market);
        all = [house.start_distribution(1), house.start_distribution(2)];
        wait_until("the first one to publish", &all[0], NAMED);
        wait_until("the second one to have caught up", &all[1], IN_STEP);
    }
    assert_eq!(watcher.snapshots, 0, "what was missed was had by replay");
    told("all distributions", &mut times, &watcher);
}

#[test]
fn when_the_market_is_killed_distributions_stay_and_go_on_with_its_journal() {
    let mut watcher = Watcher::new();
    let mut house = House::of_distributions(JOURNAL, false, CALM, watcher.lines());
    let mut market = house.start();
    let all = [house.start_distribution(1), house.start_distribution(2)];
    wait_until("the first one to publish", &all[0], NAMED);
    wait_until("the second one to have caught up", &all[1], IN_STEP);
    let (mut log, mut times) = (Log::default(), Vec::new());
    for round in 0..kills() {
        let mut client = log_on(&[&market]).1;
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 100 + round * 37 % 101);
        burst(&mut log, &mut client);
        watcher.measure();
        market.kill();
        market = house.start();
        let mut client = log_on(&[&market]).1;
        trade((&mut log, &mut client), (&mut watcher, &[&all[1], &market]), 200);
        times.push(watcher.without());
        wait_until("a distribution to publish", &market, "a distribution publishes");
        is_as(&mut watcher, &market);
        is_as(&mut watcher, &all[0]);
    }
    assert!(!all[0].has_said("begins anew") && !all[1].has_said("begins anew"));
    told("the market", &mut times, &watcher);
}

#[test]
fn when_who_leads_replicas_is_killed_distributions_go_on_with_the_next_leader() {
    let mut watcher = Watcher::new();
    let mut house = House::of_distributions(JOURNAL, true, CALM, watcher.lines());
    let mut replicas: Vec<Running> = (1..=3).map(|number| house.start_replica(number)).collect();
    let all = [house.start_distribution(1), house.start_distribution(2)];
    wait_until("the first one to publish", &all[0], NAMED);
    wait_until("the second one to have caught up", &all[1], IN_STEP);
    let (mut log, mut times) = (Log::default(), Vec::new());
    let (mut leader, mut client) = log_on(&replicas.iter().collect::<Vec<_>>());
    // On a busy machine another one may lead sooner than it is killed.
    let mut trade = |replicas: &[Running], leader: &mut usize, watcher: &mut Watcher, more| {
        while !try_to_trade((&mut log, &mut client), (watcher, &[&all[1], &all[0]]), more) {
            (*leader, client) = log_on(&replicas.iter().collect::<Vec<_>>());
        }
        burst(&mut log, &mut client);
    };
    for round in 0..kills() {
        wait_for("all replicas to have caught up", || {
            replicas.iter().all(|running| running.has_said("caught up: ")).then_some(())
        });
        trade(&replicas, &mut leader, &mut watcher, 100 + round * 37 % 101);
        watcher.measure();
        let killed = leader;
        replicas[killed].kill();
        trade(&replicas, &mut leader, &mut watcher, 200);
        times.push(watcher.without());
        replicas[killed] = house.start_replica(killed + 1);
        wait_until("a distribution to publish", &replicas[leader], "a distribution publishes");
        is_as(&mut watcher, &replicas[leader]);
        is_as(&mut watcher, &all[1]);
    }
    assert!(!all[0].has_said("begins anew") && !all[1].has_said("begins anew"));
    told("leaders", &mut times, &watcher);
}

#[test]
fn who_stands_by_answers_for_the_same_messages_and_orders_byte_for_byte() {
    let mut watcher = Watcher::new();
    let mut house = House::of_distributions(JOURNAL, false, CALM, watcher.lines());
    let market = house.start();
    let all = [house.start_distribution(1), house.start_distribution(2)];
    wait_until("the first one to publish", &all[0], NAMED);
    wait_until("the second one to have caught up", &all[1], IN_STEP);
    let mut log = Log::default();
    let mut client = log_on(&[&market]).1;
    trade((&mut log, &mut client), (&mut watcher, &[&market]), 500);
    let at = [&market, &all[0], &all[1]];
    for at in at {
        is_as(&mut watcher, at);
    }
    let last = watcher.last_number();
    for (first, count) in [(1, last), (last / 2, 7), (last, 1)] {
        let [one, other, third] =
            at.map(|at| replay(at, first, count as u16).expect("they are there"));
        assert!(!one.is_empty() && one == other && other == third, "{count} from {first}");
    }
    let [one, other, third] = at.map(|at| snapshot(at).expect("they are there"));
    assert!(one.len() > 10 && one == other && other == third, "all orders");
    assert!(!all[1].has_said(NAMED), "the second one stands by");
}

#[test]
fn who_joins_late_begins_with_the_newest_state_and_can_take_over() {
    let mut watcher = Watcher::new();
    let journal = "segment-bytes = 2097152\nsnapshot-entries = 20";
    let mut house = House::of_distributions(journal, false, CALM, watcher.lines());
    let mut market = house.start();
    let mut first = house.start_distribution(1);
    let mut log = Log::default();
    for _ in 0..3 {
        let mut client = log_on(&[&market]).1;
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 300);
        market.terminate();
        market = house.start();
    }
    assert!(!house.files(".snapshot").is_empty(), "starts kept states");
    let mut client = log_on(&[&market]).1;
    trade((&mut log, &mut client), (&mut watcher, &[&market]), 100);
    let second = house.start_distribution(2);
    wait_until("it to catch up", &second, IN_STEP);
    assert!(second.has_said("it begins with a state"));
    trade((&mut log, &mut client), (&mut watcher, &[&market]), 100);
    first.kill();
    trade((&mut log, &mut client), (&mut watcher, &[&second, &market]), 100);
    wait_until("it to take over", &second, NAMED);
    is_as(&mut watcher, &market);
    is_as(&mut watcher, &second);
}

#[test]
fn a_distribution_that_stands_still_is_given_up_and_goes_on_later() {
    let mut watcher = Watcher::new();
    let mut house = House::of_distributions(JOURNAL, false, "silence-ms = 200", watcher.lines());
    let market = house.start();
    let all = [house.start_distribution(1), house.start_distribution(2)];
    wait_until("the first one to publish", &all[0], NAMED);
    wait_until("the second one to have caught up", &all[1], IN_STEP);
    let mut log = Log::default();
    let mut client = log_on(&[&market]).1;
    trade((&mut log, &mut client), (&mut watcher, &[&market]), 100);
    all[0].signal("STOP");
    wait_for("the other one to publish", || {
        trade((&mut log, &mut client), (&mut watcher, &[&market]), 20);
        all[1].has_said(NAMED).then_some(())
    });
    is_as(&mut watcher, &market);
    all[0].signal("CONT");
    wait_until("it to stop", &all[0], "market data does not go out from here any more");
    trade((&mut log, &mut client), (&mut watcher, &[&market]), 100);
    wait_for("it to publish again", || {
        let text = std::fs::read_to_string(&all[0].log).expect("a log");
        (text.matches(NAMED).count() == 2).then_some(())
    });
    trade((&mut log, &mut client), (&mut watcher, &[&market]), 100);
    is_as(&mut watcher, &market);
    is_as(&mut watcher, &all[0]);
}

#[test]
fn without_a_journal_distributions_follow_from_the_start_and_begin_anew_with_the_market() {
    let mut watcher = Watcher::new();
    let mut house = House::of_distributions(JOURNAL, false, CALM, watcher.lines());
    let mut market = house.start_forgetful();
    let first = house.start_distribution(1);
    wait_until("it to publish", &first, NAMED);
    let mut log = Log::default();
    let mut client = log_on(&[&market]).1;
    trade((&mut log, &mut client), (&mut watcher, &[&market]), 100);
    is_as(&mut watcher, &first);
    market.kill();
    let market = house.start_forgetful();
    wait_until("it to begin anew", &first, "it begins anew");
    wait_for("it to publish again", || {
        let text = std::fs::read_to_string(&first.log).expect("a log");
        (text.matches(NAMED).count() == 2).then_some(())
    });
    assert_eq!(
        snapshot(&first).map(|it| it.len()),
        snapshot(&market).map(|it| it.len()),
        "nothing is left of before"
    );
}
