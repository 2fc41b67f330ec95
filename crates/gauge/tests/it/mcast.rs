//! A group over loopback.

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
