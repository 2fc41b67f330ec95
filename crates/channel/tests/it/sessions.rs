//! Sessions between two reactors over real sockets.

use crate::support::{self, LOOPBACK, Told, World};
use tapeline_channel::{
    ConnectConfig, ListenConfig, ReactorConfig, Sent, SessionEvent, SessionOptions, Via,
};
use tapeline_rssl::{ClientConfig, Compression, Opening, ServerConfig};

#[test]
fn a_message_goes_there_and_back() {
    let mut world = World::new(&ListenConfig::default());
    let (client, server) = world.open(&ConnectConfig::default());
    assert_eq!(world.client.told, [Told::Opened(client, Via::Connect)]);
    assert_eq!(world.server.told, [Told::Opened(server, Via::Listener(world.listener))]);

    assert_eq!(world.client.reactor.outbox().send(client, b"request"), Sent::Queued);
    world.run_until(|world| !world.server.messages().is_empty());
    assert_eq!(world.server.told[1..], [Told::Message(server, b"request".to_vec())]);

    let patch = |copy: &mut [u8]| copy[..2].copy_from_slice(b"no");
    assert_eq!(world.server.reactor.outbox().send_with(server, b"xx 1", patch), Sent::Queued);
    world.run_until(|world| !world.client.messages().is_empty());
    assert_eq!(world.client.told[1..], [Told::Message(client, b"no 1".to_vec())]);
}

#[test]
fn every_opening_and_compression_carries_messages_of_every_size() {
    let host = "localhost:1".to_owned();
    let openings = [
        Opening::Socket,
        Opening::WebSocket { host: host.clone(), path: "/WebSocket".to_owned() },
        Opening::HttpTunnel { host, path: "/".to_owned(), process_id: 1, address: [0; 4] },
    ];
    let words = b"TRI.N BID 45.12 ASK 45.15 ".repeat(20_000);
    let messages: Vec<&[u8]> =
        [1, 20, 300, 6141, 6142, 6143, 6144, 6145, 50_000, 500_000].map(|n| &words[..n]).to_vec();
    for opening in openings {
        for compression in [Compression::None, Compression::Zlib, Compression::Lz4] {
            let mut world = World::new(&ListenConfig {
                rssl: ServerConfig { compression, ..ServerConfig::default() },
                ..ListenConfig::default()
            });
            let (client, server) = world.open(&ConnectConfig {
                rssl: ClientConfig {
                    opening: opening.clone(),
                    compression,
                    ..ClientConfig::default()
                },
                ..ConnectConfig::default()
            });
            for message in &messages {
                assert_eq!(world.client.reactor.outbox().send(client, message), Sent::Queued);
                let mark = |copy: &mut [u8]| copy[0] = b'#';
                let sent = world.server.reactor.outbox().send_with(server, message, mark);
                assert_eq!(sent, Sent::Queued);
            }
            world.run_until(|world| {
                let count = |side: &support::Side| side.messages().len();
                count(&world.server) == messages.len() && count(&world.client) == messages.len()
            });
            assert_eq!(world.server.messages(), messages, "{opening:?} {compression:?}");
            let marked: Vec<_> = messages.iter().map(|m| [b"#", &m[1..]].concat()).collect();
            assert_eq!(world.client.messages(), marked, "{opening:?} {compression:?}");
        }
    }
}

#[test]
fn many_sessions_get_their_own_messages_in_order() {
    const SESSIONS: usize = 200;
    const MESSAGES: usize = 20;
    let mut world = World::new(&ListenConfig::default());
    for _ in 0..SESSIONS {
        world.connect(&ConnectConfig::default());
    }
    world.run_until(|world| {
        world.client.opened().len() == SESSIONS && world.server.opened().len() == SESSIONS
    });
    for number in 0..MESSAGES {
        for session in world.server.opened() {
            let text = format!("{session} {number}");
            let sent = world.server.reactor.outbox().send(session, text.as_bytes());
            assert_eq!(sent, Sent::Queued);
        }
    }
    world.run_until(|world| world.client.messages().len() == SESSIONS * MESSAGES);
    let mut streams = std::collections::BTreeMap::<_, Vec<String>>::new();
    for told in &world.client.told {
        if let Told::Message(session, bytes) = told {
            streams.entry(*session).or_default().push(String::from_utf8_lossy(bytes).into());
        }
    }
    let mut senders: Vec<String> = Vec::new();
    for texts in streams.values() {
        let sender = texts[0].split(' ').next().unwrap().to_owned();
        let expected: Vec<_> = (0..MESSAGES).map(|n| format!("{sender} {n}")).collect();
        assert_eq!(*texts, expected);
        senders.push(sender);
    }
    senders.sort();
    senders.dedup();
    assert_eq!(senders.len(), SESSIONS);
}

#[test]
fn answers_to_the_delivered_session_and_to_others_keep_their_order() {
    let mut world = World::new(&ListenConfig::default());
    let (client_a, server_a) = world.open(&ConnectConfig::default());
    let (client_b, server_b) = world.open(&ConnectConfig::default());
    let long = vec![b'x'; 20_000];
    assert_eq!(world.client.reactor.outbox().send(client_a, b"ask"), Sent::Queued);
    let mut is_answered = false;
    while world.client.messages().len() < 6 {
        let now = world.now();
        world.server.poll_with(now, |event, outbox| {
            let SessionEvent::Message { session, bytes } = event else { return };
            assert_eq!((session, bytes), (server_a, &b"ask"[..]));
            for (to, text) in
                [(server_a, &b"1"[..]), (server_b, b"1"), (server_a, &long), (server_b, &long)]
            {
                assert_eq!(outbox.send(to, text), Sent::Queued);
            }
            assert_eq!(outbox.backlog_bytes(server_a), 20_001);
            assert!(outbox.is_open(server_a) && outbox.is_open(server_b));
            let patch = |copy: &mut [u8]| copy[0] = b'3';
            assert_eq!(outbox.send_with(server_a, b"2", patch), Sent::Queued);
            assert_eq!(outbox.send_with(server_b, b"2", patch), Sent::Queued);
            is_answered = true;
        });
        world.client.poll(now);
    }
    assert!(is_answered);
    for client in [client_a, client_b] {
        let got: Vec<_> = world
            .client
            .told
            .iter()
            .filter_map(|told| match told {
                Told::Message(session, bytes) if *session == client => Some(bytes.as_slice()),
                _ => None,
            })
            .collect();
        assert_eq!(got, [b"1", &long[..], b"3"]);
    }
}

#[test]
fn a_host_name_is_resolved_and_its_addresses_tried() {
    let mut world = World::new(&ListenConfig::default());
    let port = world.address.port();
    // Often ::1 first, where nobody listens.
    let session = world.client.reactor.connect("localhost", port, &ConnectConfig::default());
    world.run_until(|world| world.client.opened() == [session]);
}

#[test]
fn a_host_that_is_none_closes_the_attempt() {
    let mut world = World::new(&ListenConfig::default());
    let config = ConnectConfig::default();
    let session = world.client.reactor.connect("no such host", 1, &config);
    world.run_until(|world| !world.client.closed().is_empty());
    let (closed, text) = world.client.closed().remove(0);
    assert_eq!(closed, session);
    assert!(text.starts_with("no address for host \"no such host\": "), "{text}");
    assert_eq!(world.client.reactor.session_count(), 0);
}

#[test]
fn a_port_where_nobody_listens_closes_the_attempt() {
    let mut world = World::new(&ListenConfig::default());
    world.server.reactor.stop_listening(world.listener);
    assert_eq!(world.server.reactor.local_addr(world.listener), None);
    let session = world.connect(&ConnectConfig::default());
    world.run_until(|world| !world.client.closed().is_empty());
    let (closed, text) = world.client.closed().remove(0);
    assert_eq!(closed, session);
    assert!(text.starts_with(&format!("cannot connect to {}: ", world.address)), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn several_reactors_share_a_port() {
    let config = ListenConfig { reuse_port: true, ..ListenConfig::default() };
    let mut world = World::new(&config);
    let mut second = support::Side::new(ReactorConfig::default());
    second.reactor.listen(world.address, &config).unwrap();
    for _ in 0..40 {
        world.connect(&ConnectConfig::default());
    }
    while world.server.opened().len() + second.opened().len() < 40 {
        world.poll();
        second.poll(world.now());
    }
    // All at one of them: once in 2^39 runs.
    assert!(!world.server.opened().is_empty() && !second.opened().is_empty());
    let alone = World::new(&ListenConfig::default());
    assert!(second.reactor.listen(alone.address, &ListenConfig::default()).is_err());
}

#[test]
fn configurations_that_cannot_work_are_told() {
    let mut world = World::new(&ListenConfig::default());
    let mut session = SessionOptions::default();
    session.output.ok_bytes = session.output.breach_bytes;
    let listen = ListenConfig { session, ..ListenConfig::default() };
    assert!(world.server.reactor.listen(LOOPBACK, &listen).is_err());
    world.connect(&ConnectConfig { session, ..ConnectConfig::default() });
    let rssl = ClientConfig { ping_timeout_s: 0, ..ClientConfig::default() };
    world.connect(&ConnectConfig { rssl, ..ConnectConfig::default() });
    world.run_until(|world| world.client.closed().len() == 2);
    let texts: Vec<_> = world.client.closed().into_iter().map(|(_, text)| text).collect();
    assert!(texts[0].starts_with("output thresholds ok "), "{texts:?}");
    assert!(texts[1].starts_with("ping timeout "), "{texts:?}");
    assert!(world.server.told.is_empty());
}

#[test]
fn output_waits_for_the_flush_interval_and_then_goes_in_one_frame() {
    let config = ReactorConfig { flush_interval_ms: 50, ..ReactorConfig::default() };
    let mut world = World::with(&config, &ListenConfig::default());
    let (client, _) = world.open(&ConnectConfig::default());
    world.client.reactor.flush(world.now());
    let now = world.now();
    let writes =
        |world: &World| world.client.reactor.session_counters(client).unwrap().traffic.writes;
    let before = writes(&world);
    for _ in 0..10 {
        assert_eq!(world.client.reactor.outbox().send(client, b"m"), Sent::Queued);
        world.client.poll(now);
    }
    assert_eq!(writes(&world), before);
    let due = world.client.reactor.next_deadline().unwrap();
    assert!(due > now && due <= now.after(std::time::Duration::from_millis(50)));
    world.client.poll(due);
    assert_eq!(writes(&world), before + 1);
    world.run_until(|world| world.server.messages().len() == 10);
}

#[test]
fn a_wait_ends_with_a_byte_a_deadline_or_a_wakeup() {
    let mut world = World::new(&ListenConfig::default());
    let (client, _) = world.open(&ConnectConfig::default());
    for _ in 0..3 {
        world.poll();
    }
    // A wakeup from elsewhere.
    let wakeup = world.server.reactor.wakeup();
    let waker = std::thread::spawn(move || wakeup.wake());
    let now = world.now();
    assert!(world.server.reactor.poll(now, None, |_, _| {}) > 0);
    waker.join().unwrap();
    while world.server.reactor.poll(now, Some(std::time::Duration::ZERO), |_, _| {}) > 0 {}
    // A byte, there already or on its way.
    let sender = std::thread::spawn(move || {
        assert_eq!(world.client.reactor.outbox().send(client, b"m"), Sent::Queued);
        world.client.reactor.flush(now);
        world.client
    });
    let mut count = 0;
    while count == 0 {
        let work = world.server.reactor.poll(now, None, |_, _| count += 1);
        assert!(work > 0);
    }
    let _client = sender.join().unwrap();
    // The kernel tells of what was read without asking it, too.
    let later = now.after(std::time::Duration::from_millis(1));
    while world.server.reactor.poll(later, Some(std::time::Duration::ZERO), |_, _| {}) > 0 {}
    // A deadline: pings are due after a third of the ping timeout.
    let due = world.server.reactor.next_deadline().unwrap();
    let almost = tapeline_time::Time::from_nanos(due.as_nanos() - 1_000_000);
    assert_eq!(world.server.reactor.poll(almost, None, |_, _| {}), 0);
}

#[test]
fn counters_add_up() {
    let mut world = World::new(&ListenConfig::default());
    let (client, server) = world.open(&ConnectConfig::default());
    for _ in 0..5 {
        assert_eq!(world.client.reactor.outbox().send(client, b"12345"), Sent::Queued);
    }
    let backlog = world.client.reactor.counters().backlog_bytes;
    assert_eq!(backlog, world.client.reactor.outbox().backlog_bytes(client));
    assert!(backlog > 25);
    world.run_until(|world| world.server.messages().len() == 5);
    let at_client = world.client.reactor.session_counters(client).unwrap();
    assert_eq!((at_client.backlog_bytes, at_client.backlog_bytes_most), (0, backlog));
    let at_client = at_client.traffic;
    let at_server = world.server.reactor.session_counters(server).unwrap().traffic;
    assert_eq!((at_client.messages_sent, at_server.messages_received), (5, 5));
    assert_eq!(at_client.bytes_sent, at_server.bytes_received);
    world.client.reactor.outbox().close(client, "done");
    world.run_until(|world| {
        world.client.reactor.session_count() + world.server.reactor.session_count() == 0
    });
    let totals = world.server.reactor.counters();
    assert_eq!((totals.accepted, totals.opened, totals.closed), (1, 1, 1));
    assert_eq!(totals.traffic.messages_received, 5);
    assert_eq!(totals.traffic.bytes_received, at_server.bytes_received);
    assert_eq!(totals.backlog_bytes, 0);
}
