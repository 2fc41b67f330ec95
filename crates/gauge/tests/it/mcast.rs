//! A group over loopback.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tapeline_gauge::{GaugeError, mcast};

use crate::support::{Told, words};

fn run(line: &str, ready: Option<mpsc::Sender<String>>) -> (Result<bool, GaugeError>, String) {
    let typed = words(line);
    let mut out = Told { ready, ..Told::default() };
    let done = mcast::run(&typed, false, &mut out);
    (done, out.text)
}

/// Sends while a receiver listens; what the receiver says.
fn between(receiver: &str, sender: &str) -> String {
    let (ready, said) = mpsc::channel();
    let receiver = format!("receive --port=0 --seconds=1.5 --interval=0.5 {receiver}");
    let receiving = thread::spawn(move || run(&receiver, Some(ready)));
    let said = said.recv_timeout(Duration::from_secs(10)).unwrap();
    let port = said.rsplit(' ').next().unwrap();
    let (sent, text) = run(&format!("send --port={port} --seconds=0.5 {sender}"), None);
    assert!(sent.is_ok() && text.contains(" sent at "), "{sent:?} {text}");
    let (done, text) = receiving.join().unwrap();
    done.unwrap();
    text
}

#[test]
fn a_group_and_an_address_arrive_in_order() {
    for group in ["--group=239.77.1.9 --interface=lo", "--group=127.0.0.1"] {
        let text = between(&format!("{group} --rcvbuf=4000000"), &format!("{group} --rate=1000"));
        let sum = text.lines().last().unwrap();
        assert!(sum.contains(", 0 lost (0 dropped") && sum.contains("0 reordered"), "{text}");
        assert!(!sum.contains("sum: 0 received"), "{text}");
    }
}

/// A receiver whose queue is full loses what its own host dropped, and says so.
/// It is its own sender's burst that fills the queue.
#[test]
fn what_the_own_queue_dropped_is_told_apart() {
    let text = between(
        "--group=127.0.0.1 --rcvbuf=4096",
        "--group=127.0.0.1 --rate=200000 --pacing=ticks:20 --size=1400",
    );
    let sum = text.lines().last().unwrap();
    let number = |before: &str| -> u64 {
        let front = sum.split(before).next().unwrap();
        let digits = front.trim_end().rsplit([' ', '(']).next().unwrap();
        digits.parse().unwrap_or_else(|_| panic!("{sum}"))
    };
    let (lost, own) = (number(" lost"), number(" dropped"));
    assert!(own > 0, "{sum}");
    // The last of a burst are not followed by one that shows them missing.
    assert!(lost <= own, "{sum}");
}

#[test]
fn strangers_are_no_senders() {
    let (ready, said) = mpsc::channel();
    let receiving = thread::spawn(move || {
        run("receive --group=127.0.0.1 --port=0 --seconds=0.6 --interval=0.1", Some(ready))
    });
    let said = said.recv_timeout(Duration::from_secs(10)).unwrap();
    let port: u16 = said.rsplit(' ').next().unwrap().parse().unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for bytes in [&b""[..], b"x", &[0xFF; 1400], b"TLNW"] {
        stranger.send_to(bytes, ("127.0.0.1", port)).unwrap();
    }
    let (done, text) = receiving.join().unwrap();
    assert!(done.unwrap());
    assert!(text.contains("sum: 0 received"), "{text}");
    assert!(text.contains("nothing comes to 127.0.0.1 port"), "{text}");
}

/// Bytes that wait at a port of this host, as the kernel tells.
fn waiting(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/net/udp").unwrap();
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let local = words.nth(1)?;
        let queues = words.nth(2)?;
        local.ends_with(&format!(":{port:04X}")).then_some(())?;
        u64::from_str_radix(queues.split_once(':')?.1, 16).ok()
    };
    table.lines().filter_map(of).sum()
}

/// Passes datagrams on to a port: drops every 100th, doubles every 250th and
/// swaps every 500th with the next. It lets none of them be lost at the
/// receiver's queue, and ends when nothing has come for a while. Returns the
/// numbers of those that it passed on.
fn unreliable(to: u16) -> (u16, thread::JoinHandle<Vec<u64>>) {
    let front = UdpSocket::bind("127.0.0.1:0").unwrap();
    let back = UdpSocket::bind("127.0.0.1:0").unwrap();
    front.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    back.connect(("127.0.0.1", to)).unwrap();
    let port = front.local_addr().unwrap().port();
    let passing = thread::spawn(move || {
        let (mut passed, mut buffer) = (Vec::new(), [0; 256]);
        let (mut held, mut count) = (None::<Vec<u8>>, 0_u64);
        while let Ok(bytes) = front.recv(&mut buffer) {
            count += 1;
            while count.is_multiple_of(64) && waiting(to) > 0 {
                thread::yield_now();
            }
            let message = &buffer[..bytes];
            let copies = match count {
                _ if count % 100 == 50 => 0,
                _ if count % 500 == 301 => {
                    held = Some(message.to_vec());
                    continue;
                }
                _ if count.is_multiple_of(250) => 2,
                _ => 1,
            };
            let late = held.take();
            for message in (0..copies).map(|_| message).chain(late.as_deref()) {
                back.send(message).unwrap();
                passed.push(u64::from_le_bytes(message[8..16].try_into().unwrap()));
            }
        }
        passed
    });
    (port, passing)
}

/// Lost, doubled, swapped of numbers that came, by what these words mean.
fn by_definition(passed: &[u64]) -> [u64; 3] {
    let (mut seen, mut doubled, mut swapped) = (BTreeSet::new(), 0, 0);
    for seq in passed {
        let is_behind = seen.last().is_some_and(|highest| highest > seq);
        match seen.insert(*seq) {
            true => swapped += u64::from(is_behind),
            false => doubled += 1,
        }
    }
    let span = seen.last().unwrap() - seen.first().unwrap() + 1;
    [span - seen.len() as u64, doubled, swapped]
}

#[test]
fn what_a_way_lost_doubled_and_swapped_is_counted_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.jsonl");
    let (ready, said) = mpsc::channel();
    let receiver = format!(
        "receive --group=127.0.0.1 --port=0 --seconds=3.5 --rcvbuf=4000000 --json={}",
        json.display()
    );
    let receiving = thread::spawn(move || run(&receiver, Some(ready)));
    let said = said.recv_timeout(Duration::from_secs(10)).unwrap();
    let (port, passing) = unreliable(said.rsplit(' ').next().unwrap().parse().unwrap());
    let (sent, _) = run(
        &format!("send --group=127.0.0.1 --port={port} --rate=50000 --size=64 --seconds=2"),
        None,
    );
    assert!(sent.is_ok());
    let passed = passing.join().unwrap();
    let (received, text) = receiving.join().unwrap();
    assert!(received.is_ok());
    let records = std::fs::read_to_string(json).unwrap();
    let line = records.lines().find(|line| line.contains("\"role\":\"receive\"")).unwrap();
    let tool: serde_json::Value = serde_json::from_str(line).unwrap();
    let count = |name: &str| tool["counts"][name].as_u64().unwrap();
    let [lost, doubled, swapped] = by_definition(&passed);
    assert!(lost > 0 && doubled > 0 && swapped > 0, "{} {text}", passed.len());
    assert_eq!(count("own_queue"), 0, "{text}");
    assert_eq!(
        [count("lost"), count("duplicated"), count("reordered")],
        [lost, doubled, swapped],
        "{text}"
    );
    assert_eq!(count("received") + doubled, passed.len() as u64, "{text}");
}
