//! Replicas as processes, one of which leads: they are killed while clients trade, and
//! the clients go to who leads then.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::{Duration, Instant};

use tapeline_ntg::Message;

use crate::processes::{Client, House, Log, PATIENCE, Running, order, recovered_by, wait_for};

/// Without a leader for so long, whoever was killed last is started again.
const TOO_LONG: Duration = Duration::from_secs(5);

/// An election time-out that no busy machine reaches by itself.
const CALM_MS: u32 = 1_500;

/// Three replicas of a market.
struct Group {
    house: House,
    running: BTreeMap<usize, Running>,
}

impl Group {
    fn new(commit: &str, election_ms: u32) -> Self {
        let mut house = House::of_replicas("segment-bytes = 2097152", commit, election_ms);
        let running = (1..=3).map(|number| (number, house.start_replica(number))).collect();
        Self { house, running }
    }

    /// Whoever is killed is started again.
    fn start_all(&mut self) {
        for number in 1..=3 {
            if !self.running.contains_key(&number) {
                let running = self.house.start_replica(number);
                self.running.insert(number, running);
            }
        }
    }

    fn kill(&mut self, number: usize) {
        self.running.remove(&number).expect("it runs").kill();
    }

    /// What memories agree on outlives one death at a time: whoever was killed before
    /// has caught up.
    fn wait_until_all_count(&self) {
        wait_for("all to have caught up", || {
            self.running.values().all(|running| running.has_said("caught up")).then_some(())
        });
    }

    /// Who lets clients in, and a client there.
    fn leader(&mut self) -> (usize, Client) {
        let begun = Instant::now();
        wait_for("a replica to lead", || {
            if begun.elapsed() > TOO_LONG {
                self.start_all();
            }
            let mut all = self.running.iter();
            all.find_map(|(number, running)| Some((*number, running.try_connect("orders", "ANN")?)))
        })
    }

    /// All journals have the same history, and a majority has all that was accepted.
    fn account(&self, log: &Log) {
        let orders = |number| self.house.replay_of(&format!("journal-{number}")).0;
        let journals: Vec<Vec<String>> = (1..=3).map(orders).collect();
        let longest = journals.iter().max_by_key(|orders| orders.len()).expect("three");
        let mut complete = 0;
        for (at, orders) in journals.iter().enumerate() {
            let once: BTreeSet<&String> = orders.iter().collect();
            assert_eq!(once.len(), orders.len(), "an order is in journal {} twice", at + 1);
            let same = &longest[..orders.len()];
            assert!(orders == same, "journal {} has another history", at + 1);
            complete += usize::from(log.accepted.iter().all(|name| once.contains(name)));
        }
        assert!(complete >= 2, "{complete} of 3 journals have all that was accepted");
    }

    /// Ends all of them, one after the other.
    fn end(&mut self) {
        for running in self.running.values_mut() {
            running.terminate();
        }
        self.running.clear();
    }
}

/// What a client does at a new leader: it has again what it missed, holds it against
/// what it was told, and sends again what nobody knows.
fn go_on(log: &mut Log, running: &Running, client: &mut Client) -> Option<()> {
    let again = recovered_by(running.try_connect("recovery", "ANN")?);
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
    Some(())
}

/// Trades until so many more are accepted. Returns whether the connection lasted.
fn trade(log: &mut Log, client: &mut Client, more: usize) -> bool {
    let (until, begun) = (log.accepted.len() + more, Instant::now());
    while log.accepted.len() < until {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for orders to be accepted");
        for _ in 0..10 {
            log.sent += 1;
            client.say(&Message::NewOrder(order(log.sent)));
        }
        let is_there = client.listen();
        log.note(client);
        if !is_there {
            return false;
        }
    }
    true
}

/// Kills replicas while a client trades, and holds all that it was told against all
/// journals.
fn survive(commit: &str, kills: usize) {
    let mut group = Group::new(commit, 500);
    let mut log = Log::default();
    let (mut times, mut moves) = (Vec::new(), 0);
    let (mut number, mut client) = group.leader();
    for round in 0..kills {
        let mut lasts = trade(&mut log, &mut client, 200 + round * 37 % 101);
        if commit == "memory" {
            group.wait_until_all_count();
        }
        // Each fourth time it is one that follows, and nobody notices.
        let leads = round % 4 != 3;
        group.kill(if leads { number } else { number % 3 + 1 });
        let killed = Instant::now();
        if leads {
            while client.listen() {}
            log.note(&mut client);
        } else if lasts {
            lasts = trade(&mut log, &mut client, 100);
        }
        if leads || !lasts {
            wait_for("a client to go on", || {
                (number, client) = group.leader();
                go_on(&mut log, &group.running[&number], &mut client)
            });
            moves += 1;
        }
        if leads {
            times.push(killed.elapsed());
        }
        group.start_all();
    }
    // All that was ever sent is answered in the end.
    let sent = log.sent as usize;
    wait_for("all orders to be accepted", || {
        let is_there = client.listen();
        log.note(&mut client);
        if !is_there {
            (number, client) = group.leader();
            go_on(&mut log, &group.running[&number], &mut client);
        }
        (log.accepted.len() == sent).then_some(())
    });
    group.end();
    group.account(&log);
    times.sort();
    println!(
        "{commit}: {kills} kills, {moves} moves, {sent} orders; from a kill of the leader to a \
         client that goes on: median {:?}, longest {:?}",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

#[test]
fn with_orders_in_memories_no_kill_of_a_replica_loses_or_doubles_one() {
    survive("memory", 20);
}

#[test]
fn with_orders_on_disks_no_kill_of_a_replica_loses_or_doubles_one() {
    survive("disk", 8);
}

#[test]
fn a_leader_that_stood_still_acknowledges_nothing_more_and_follows() {
    let mut group = Group::new("memory", CALM_MS);
    let mut log = Log::default();
    let (old, mut behind) = group.leader();
    assert!(trade(&mut log, &mut behind, 100));
    group.wait_until_all_count();
    group.running[&old].signal("STOP");
    // It has these in its socket when it goes on.
    let lost: Vec<u64> = (1_000_001..1_000_050).collect();
    for number in &lost {
        behind.say(&Message::NewOrder(order(*number)));
    }
    let stopped = group.running.remove(&old).expect("it is there");
    let (new, mut client) = group.leader();
    assert!(go_on(&mut log, &group.running[&new], &mut client).is_some());
    assert!(trade(&mut log, &mut client, 100));
    stopped.signal("CONT");
    let before = log.accepted.len();
    wait_for("the old leader to give way", || {
        let is_there = behind.listen();
        log.note(&mut behind);
        (!is_there).then_some(())
    });
    wait_for("it to start anew", || stopped.has_said("another replica leads").then_some(()));
    let of_lost = |name: &String| lost.iter().any(|number| *name == format!("N{number}"));
    assert!(!log.accepted.iter().any(of_lost), "the old leader acknowledged something");
    assert!(log.accepted.len() >= before);
    group.running.insert(old, stopped);
    wait_for("it to follow", || {
        let follows = format!("\"a replica leads\" leader={new} ");
        group.running[&old].has_said(&follows).then_some(())
    });
    // It counts: with another one dead, the market goes on.
    assert!(trade(&mut log, &mut client, 100));
    let third = 6 - old - new;
    group.kill(third);
    assert!(trade(&mut log, &mut client, 100), "the leader stays");
    let sent = log.sent as usize;
    wait_for("all orders to be accepted", || {
        assert!(client.listen(), "the connection ended");
        log.note(&mut client);
        (log.accepted.len() == sent).then_some(())
    });
    group.start_all();
    wait_for("the third to catch up", || group.running[&third].has_said("caught up").then_some(()));
    group.end();
    group.account(&log);
}

#[test]
fn what_a_leader_made_alone_is_cut_off() {
    let mut group = Group::new("disk", CALM_MS);
    let mut log = Log::default();
    let (old, mut alone) = group.leader();
    assert!(trade(&mut log, &mut alone, 100));
    let others: Vec<usize> = (1..=3).filter(|number| *number != old).collect();
    for other in &others {
        group.kill(*other);
    }
    let lost: Vec<u64> = (1_000_001..1_000_050).collect();
    for number in &lost {
        alone.say(&Message::NewOrder(order(*number)));
    }
    wait_for("it to step down", || {
        let is_there = alone.listen();
        log.note(&mut alone);
        (!is_there).then_some(())
    });
    wait_for("it to start anew", || group.running[&old].has_said("starts anew").then_some(()));
    let is_lost = |name: &String| lost.iter().any(|number| *name == format!("N{number}"));
    assert!(!log.accepted.iter().any(is_lost), "it acknowledged what it had alone");
    // The others agree on something else.
    group.running[&old].signal("STOP");
    let stopped = group.running.remove(&old).expect("it is there");
    for other in others {
        let running = group.house.start_replica(other);
        group.running.insert(other, running);
    }
    let (new, mut client) = group.leader();
    assert!(go_on(&mut log, &group.running[&new], &mut client).is_some());
    assert!(trade(&mut log, &mut client, 100));
    stopped.signal("CONT");
    wait_for("its entries to go", || stopped.has_said("never committed").then_some(()));
    group.running.insert(old, stopped);
    assert!(trade(&mut log, &mut client, 100));
    // It has the history of the others, and can go on with it.
    group.kill(new);
    wait_for("a client to go on", || {
        let number;
        (number, client) = group.leader();
        go_on(&mut log, &group.running[&number], &mut client)
    });
    group.start_all();
    group.end();
    group.account(&log);
    let orders = group.house.replay_of(&format!("journal-{old}")).0;
    assert!(!orders.iter().any(is_lost), "the journal still has what was cut off");
}

#[test]
fn a_replica_whose_disk_is_full_ends_and_the_others_go_on() {
    let disk = ["-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"];
    if !Command::new("unshare").args(disk).status().is_ok_and(|status| status.success()) {
        println!("left out: unshare cannot mount a disk of memory here");
        return;
    }
    let mut house = House::of_replicas("segment-bytes = 1048640", "disk", CALM_MS);
    // The first one has room for one segment, and not for the second.
    house.disk_kib = Some(1_600);
    let first = house.start_replica(1);
    house.disk_kib = None;
    let others = [2, 3].map(|number| (number, house.start_replica(number)));
    let mut group = Group { house, running: [(1, first)].into_iter().chain(others).collect() };
    let mut log = Log::default();
    let (mut number, mut client) = group.leader();
    wait_for("the first one to end", || {
        if !trade(&mut log, &mut client, 500) {
            (number, client) = group.leader();
            go_on(&mut log, &group.running[&number], &mut client);
        }
        group.running.get_mut(&1).is_some_and(Running::has_ended).then_some(())
    });
    let first = group.running.remove(&1).expect("it was there");
    assert!(first.has_said("No space left on device"), "it says why");
    if number == 1 {
        wait_for("a client to go on", || {
            (number, client) = group.leader();
            go_on(&mut log, &group.running[&number], &mut client)
        });
    }
    assert!(trade(&mut log, &mut client, 100), "the others go on");
}
