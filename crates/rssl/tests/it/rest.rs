//! Memory of connections with nothing to do.

use std::time::Duration;

use crate::support::pair::Pair;
use tapeline_rssl::{ClientConfig, Priority, ServerConfig};

const BURST: usize = 20;

fn burst(pair: &mut Pair) {
    for _ in 0..BURST {
        pair.server.connection.send(Priority::High, &[7; 5000]).unwrap();
    }
    pair.run();
}

#[test]
fn the_memory_of_a_burst_is_given_back_after_a_quiet_tenth_of_a_second() {
    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    burst(&mut pair);
    let due = pair.now.after(Duration::from_millis(100));
    let server = &mut pair.server.connection;
    assert!(server.send_memory_bytes() >= BURST * 5000);
    assert!(server.receive_memory_bytes() > 10_000);
    assert_eq!(server.next_deadline(), Some(due));

    pair.pass(Duration::from_millis(99));
    assert!(pair.server.connection.send_memory_bytes() >= BURST * 5000);
    pair.pass(Duration::from_millis(1));
    assert_eq!(pair.server.connection.send_memory_bytes(), 0);
    assert_eq!(pair.server.connection.receive_memory_bytes(), 0);
    assert!(pair.server.connection.next_deadline() > Some(due));

    pair.client.connection.send(Priority::High, b"still there?").unwrap();
    burst(&mut pair);
    assert_eq!(pair.server.messages, [b"still there?"]);
    assert_eq!(pair.client.messages.len(), 2 * BURST);
}

#[test]
fn what_waits_for_the_socket_keeps_its_memory() {
    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    for _ in 0..BURST {
        pair.server.connection.send(Priority::High, &[7; 5000]).unwrap();
    }
    let later = pair.now.after(Duration::from_secs(5));
    pair.server.connection.handle_timeout(later);
    assert!(pair.server.connection.queued_bytes() >= BURST * 5000);
    pair.run();
    assert_eq!(pair.client.messages.len(), BURST);
}
