//! An exchange as a process with a journal that is killed while clients trade: what
//! clients were told holds.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use tapeline_ntg::Message;

use crate::processes::{House, Log, PROGRAM, Running, order, recovered, wait_for};

#[test]
fn no_accepted_order_is_lost_or_doubled_by_twenty_kills_under_load() {
    // Most starts begin with a snapshot, and write one.
    let mut house = House::new("segment-bytes = 2097152\nsnapshot-entries = 20");
    let mut log = Log::default();
    let mut longest = Duration::ZERO;
    for life in 0..20_u64 {
        let begun = Instant::now();
        let mut running = house.start();
        let mut ann = running.connect("orders", "ANN");
        longest = longest.max(begun.elapsed());
        if life > 0 {
            // What was told before is what it still says.
            let again = recovered(&running, "ANN");
            for (number, report) in &log.reports {
                assert_eq!(again.get(number), Some(report), "report {number}, life {life}");
            }
        }
        log.trade(&mut ann, 30 + (life * 37 % 101) as usize);
        running.kill();
        // What it said before it died still comes.
        while ann.listen() {}
        log.note(&mut ann);
    }
    let (in_journal, summary) = house.replay();
    let once: BTreeSet<&String> = in_journal.iter().collect();
    assert_eq!(once.len(), in_journal.len(), "an order is in the journal twice");
    let lost: Vec<_> = log.accepted.iter().filter(|name| !once.contains(name)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), log.accepted.len());
    assert!(log.accepted.len() > 1_000, "{} orders", log.accepted.len());
    assert!(summary["trades"].as_u64().is_some_and(|trades| trades > 100), "{summary}");
    let snapshots = house.files(".snapshot");
    assert_eq!(snapshots.len(), 2, "{snapshots:?}");
    // Once more, and it comes to the same.
    assert_eq!(house.replay().1["hash"], summary["hash"]);
    println!(
        "{} accepted of {} sent, {} entries; from the start to a logon {longest:?} at most",
        log.accepted.len(),
        log.sent,
        summary["entries"]
    );
}

/// Trades until the exchange is down, and a little longer.
fn trade_until_down(running: &Running) -> Log {
    let mut ann = running.connect("orders", "ANN");
    let mut log = Log::default();
    wait_for("the journal to be full", || {
        for _ in 0..50 {
            log.sent += 1;
            ann.say(&Message::NewOrder(order(log.sent)));
        }
        assert!(ann.listen(), "the connection ended");
        log.note(&mut ann);
        (!log.refused.is_empty()).then_some(())
    });
    // What comes behind is refused, too, and nothing is acknowledged any more.
    let accepted = log.accepted.len();
    log.sent += 1;
    let last = format!("N{}", log.sent);
    ann.say(&Message::NewOrder(order(log.sent)));
    wait_for("the last one to be refused", || {
        assert!(ann.listen(), "the connection ended");
        log.note(&mut ann);
        log.refused.contains(&last).then_some(())
    });
    assert_eq!(log.accepted.len(), accepted);
    assert!(log.accepted.is_disjoint(&log.refused));
    assert_eq!((log.accepted.len() + log.refused.len()) as u64, log.sent);
    log
}

#[test]
fn with_its_journal_full_an_exchange_refuses_and_acknowledges_nothing() {
    let mut house = House::new("segment-bytes = 1048640\nmax-segments = 1");
    let mut running = house.start();
    let log = trade_until_down(&running);
    running.kill();
    let (in_journal, _) = house.replay();
    let in_journal: BTreeSet<String> = in_journal.into_iter().collect();
    assert!(log.accepted.is_subset(&in_journal), "an accepted order is not in the journal");
    assert!(log.refused.is_disjoint(&in_journal), "a refused order is in the journal");
}

#[test]
fn with_its_disk_full_an_exchange_refuses_and_acknowledges_nothing() {
    let disk = ["-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"];
    if !Command::new("unshare").args(disk).status().is_ok_and(|status| status.success()) {
        println!("left out: unshare cannot mount a disk of memory here");
        return;
    }
    // There is room for one segment, and not for the second.
    let mut house = House::new("segment-bytes = 1048640");
    house.disk_kib = Some(1_600);
    let running = house.start();
    let log = trade_until_down(&running);
    assert!(log.accepted.len() > 1_000, "{} orders", log.accepted.len());
}

#[test]
fn a_damaged_journal_and_one_in_use_are_refused_with_their_place() {
    let mut house = House::new("segment-bytes = 2097152");
    let mut running = house.start();
    let mut ann = running.connect("orders", "ANN");
    Log::default().trade(&mut ann, 50);
    let second = Command::new(PROGRAM)
        .args(["replay", "--journal"])
        .args([house.path("journal"), house.path("market.toml")])
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.code() == Some(2) && said.contains("another process has"), "{said}");
    running.kill();
    let segment = house.path("journal").join("00000000000000000001.journal");
    let mut bytes = fs::read(&segment).expect("a segment");
    bytes[500] ^= 1;
    fs::write(&segment, bytes).expect("room");
    let refused = Command::new(PROGRAM)
        .args(["run", "--any-port", "--journal"])
        .args([house.path("journal"), house.path("market.toml")])
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("00000000000000000001.journal is damaged at byte "), "{said}");
}

#[test]
fn behind_snapshots_old_segments_go_and_what_was_told_holds() {
    let mut house = House::new("segment-bytes = 1048640\nsnapshot-entries = 20");
    let mut log = Log::default();
    for _ in 0..3 {
        let mut running = house.start();
        let mut ann = running.connect("orders", "ANN");
        log.trade(&mut ann, 7_000);
        running.kill();
        while ann.listen() {}
        log.note(&mut ann);
    }
    let running = house.start();
    let segments = house.files(".journal");
    assert!(segments[0].as_str() > "00000000000000000001.journal", "{segments:?}");
    let again = {
        let _ann = running.connect("orders", "ANN");
        recovered(&running, "ANN")
    };
    assert!(log.reports.len() > 20_000, "{} reports", log.reports.len());
    for (number, report) in &log.reports {
        assert_eq!(again.get(number), Some(report), "report {number}");
    }
    drop(running);
    // From the older snapshot on and from the newer one it comes to the same.
    let (_, summary) = house.replay();
    assert!(summary["snapshot"].as_u64().is_some_and(|index| index > 0), "{summary}");
    let newest = house.files(".snapshot").pop().expect("a snapshot");
    fs::remove_file(house.path("journal").join(newest)).expect("it is there");
    let (_, from_older) = house.replay();
    assert!(from_older["snapshot"].as_u64() < summary["snapshot"].as_u64(), "{from_older}");
    assert_eq!(from_older["hash"], summary["hash"]);
    let oldest = house.files(".snapshot").pop().expect("a snapshot");
    fs::remove_file(house.path("journal").join(oldest)).expect("it is there");
    let refused = Command::new(PROGRAM)
        .args(["replay", "--journal"])
        .args([house.path("journal"), house.path("market.toml")])
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("is the first segment, and no snapshot has"), "{said}");
}
