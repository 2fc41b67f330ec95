//! Connections that are not admitted: how many there may be, how much they may
//! hold, and who gives way.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Told, World, tight};
use tapeline_channel::{
    Admission, ConnectConfig, ListenConfig, ReactorConfig, Sent, SessionEvent, SessionId,
    StrangerLimits, TextConfig,
};
use tapeline_rssl::{ClientConfig, Connection, KeyExchange};
use tapeline_time::Time;

/// A listener whose program admits, with room for few strangers.
fn listen(max_connections: usize, max_per_address: usize) -> ListenConfig {
    ListenConfig {
        admission: Admission::Program,
        strangers: StrangerLimits { max_connections, max_per_address, ..Default::default() },
        ..ListenConfig::default()
    }
}

fn is_closed(socket: &mut TcpStream) -> bool {
    match socket.read(&mut [0; 100]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

/// Idle sockets, accepted.
fn idle(world: &mut World, count: usize) -> Vec<TcpStream> {
    let before = world.server.reactor.counters().accepted;
    let idle: Vec<_> = (0..count).map(|_| world.plain_client()).collect();
    world.run_until(|world| world.server.reactor.counters().accepted == before + count as u64);
    assert!(world.server.reactor.strangers() >= count.min(9), "they have not logged in");
    idle
}

const MIN_STAY: Duration = Duration::from_millis(250);

#[test]
fn idle_connections_keep_nobody_out() {
    for config in
        [listen(10, 100), listen(100, 10), ListenConfig { max_sessions: 2, ..listen(9, 9) }]
    {
        let mut world = World::new(&config);
        let mut sockets = idle(&mut world, 9);
        world.ahead += MIN_STAY;
        for _ in 0..5 {
            sockets.extend(idle(&mut world, 1));
            world.ahead += MIN_STAY;
        }
        let (client, server) = world.open(&ConnectConfig::default());
        let before = world.server.reactor.strangers();
        world.server.reactor.outbox().admit(server);
        assert_eq!(world.server.reactor.strangers(), before - 1);
        assert_eq!(world.server.reactor.outbox().send(server, b"welcome"), Sent::Queued);
        world.run_until(|world| !world.client.messages().is_empty());
        assert!(world.client.closed().is_empty(), "{client}");
        let gone = sockets.iter_mut().map(is_closed).collect::<Vec<_>>();
        assert!(gone.iter().is_sorted_by(|a, b| a >= b), "the oldest went: {gone:?}");
        let made_room = world.server.reactor.counters().made_room;
        assert_eq!(gone.iter().filter(|gone| **gone).count() as u64, made_room);
        assert!((5..=6).contains(&made_room), "{made_room}");
        assert_eq!(world.server.rejected().len() as u64, made_room);
        assert!(world.server.rejected()[0].contains("of its address"));
    }
}

#[test]
fn who_just_came_is_not_closed_for_others() {
    let mut world = World::new(&listen(4, 100));
    let mut sockets = idle(&mut world, 4);
    sockets.push(world.plain_client());
    let client = world.connect(&ConnectConfig::default());
    for _ in 0..50 {
        world.poll();
    }
    let counters = world.server.reactor.counters();
    assert_eq!((counters.accepted, counters.made_room), (4, 0), "the next ones wait outside");
    // One of them goes by itself: the next one comes in.
    drop(sockets.remove(0));
    world.run_until(|world| world.server.reactor.counters().accepted == 5);
    // Time makes room for the other.
    world.ahead += MIN_STAY;
    world.run_until(|world| world.client.opened().contains(&client));
    assert_eq!(world.server.reactor.counters().made_room, 1);
}

#[test]
fn sessions_that_are_admitted_have_a_number_of_their_own() {
    let mut world = World::new(&ListenConfig { max_sessions: 2, ..listen(3, 3) });
    let (_, first) = world.open(&ConnectConfig::default());
    let (_, second) = world.open(&ConnectConfig::default());
    let (third, _) = world.open(&ConnectConfig::default());
    world.server.reactor.outbox().admit(first);
    world.server.reactor.outbox().admit(first);
    world.server.reactor.outbox().admit(second);
    let refused = world.connect(&ConnectConfig::default());
    world.run_until(|world| !world.client.closed().is_empty());
    assert_eq!(world.client.closed()[0].0, refused);
    // Who was there before can still log in: the program decides.
    assert!(world.client.reactor.session_counters(third).is_some());
    world.server.reactor.outbox().close(first, "room");
    world.server.reactor.outbox().close(second, "room");
    world.run_until(|world| world.client.closed().len() == 3);
    world.run_until(|world| world.server.reactor.session_count() == 1);
    world.open(&ConnectConfig::default());
}

/// The first fragment of a message, and those after it, that announce `total`
/// bytes as message `id`.
fn fragments(id: u8, total: u32, sent: usize) -> Vec<u8> {
    let mut bytes = vec![0, 10, 3, 8];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, id]);
    for _ in 0..sent / 6000 {
        bytes.extend((6006_u16).to_be_bytes());
        bytes.extend([3, 4, 0, id]);
        bytes.resize(bytes.len() + 6000, 7);
    }
    bytes
}

/// Sends bytes behind a handshake, as no client of ours would.
fn raw_session(world: &mut World) -> (TcpStream, SessionId) {
    let before = world.server.opened().len();
    let mut socket = world.plain_client();
    let config = ClientConfig { key_exchange: KeyExchange::Never, ..ClientConfig::default() };
    let mut client = Connection::client(&config, 1, Time::ZERO).unwrap();
    let request: Vec<u8> =
        client.poll_transmit().unwrap().iter().flat_map(|slice| slice.to_vec()).collect();
    socket.write_all(&request).unwrap();
    world.run_until(|world| {
        world.server.opened().len() > before || !world.server.rejected().is_empty()
    });
    let opened = world.server.opened();
    let session = *opened.get(before).unwrap_or_else(|| panic!("{:?}", world.server.rejected()));
    (socket, session)
}

#[test]
fn a_stranger_announces_no_long_message() {
    let mut world = World::new(&listen(9, 9));
    let (mut socket, session) = raw_session(&mut world);
    socket.write_all(&fragments(1, 65_537, 0)).unwrap();
    // It is told of and passed over: what to do with such a peer is the
    // program's to say.
    world.run_until(|world| world.server.told.contains(&Told::TooLong(session, 65_537)));
    assert!(world.server.messages().is_empty());

    let (mut socket, session) = raw_session(&mut world);
    world.server.reactor.outbox().admit(session);
    socket.write_all(&fragments(1, 30_000, 30_000)).unwrap();
    socket.write_all(&fragments(2, 150_000, 0)).unwrap();
    world.run_until(|world| !world.server.messages().is_empty());
    assert_eq!(world.server.messages()[0].len(), 30_000);
    assert!(!world.server.told.contains(&Told::TooLong(session, 150_000)));
    assert!(world.server.closed().is_empty());
}

#[test]
fn a_stranger_has_little_output_until_it_is_admitted() {
    let mut world = World::new(&ListenConfig { session: tight(), ..listen(9, 9) });
    let config = ConnectConfig { session: tight(), ..ConnectConfig::default() };
    let (_, server) = world.open(&config);
    let queue = |world: &mut World, bytes: usize| {
        let full = (0..bytes / 1000)
            .find(|_| world.server.reactor.outbox().send(server, &[1; 1000]) == Sent::Full);
        full.map(|at| at * 1000)
    };
    // The kernel takes some of it.
    let held = queue(&mut world, 200_000).expect("a bound");
    assert!(held < 190_000, "{held}");
    let backlog = world.server.reactor.outbox().backlog_bytes(server);
    assert!((64_000..=65_536).contains(&backlog), "{backlog}");
    world.server.reactor.outbox().admit(server);
    queue(&mut world, 200_000).expect("a bound");
    let backlog = world.server.reactor.outbox().backlog_bytes(server);
    assert!((198_000..=200_000).contains(&backlog), "{backlog}");
}

#[test]
fn a_session_that_is_admitted_in_its_own_event_has_its_bounds_at_once() {
    let mut world = World::new(&listen(9, 9));
    let (client, _) = world.open(&ConnectConfig::default());
    assert_eq!(world.client.reactor.outbox().send(client, b"login"), Sent::Queued);
    let long = vec![3; 1_000_000];
    while world.client.messages().is_empty() {
        let now = world.now();
        world.client.poll(now);
        world.server.poll_with(now, |event, outbox| {
            if let SessionEvent::Message { session, .. } = event {
                assert_eq!(outbox.send(session, &long), Sent::TooLarge);
                outbox.admit(session);
                assert_eq!(outbox.send(session, &long), Sent::Queued);
            }
        });
    }
    assert_eq!(world.client.messages()[0].len(), 1_000_000);
}

#[test]
fn a_text_session_that_is_not_admitted_sends_nothing_long() {
    let text = TextConfig { max_message_bytes: 1_000_000, ..TextConfig::default() };
    let config = ListenConfig { text: Some(text), ..listen(9, 9) };
    for is_admitted in [false, true] {
        let mut world = World::new(&config);
        let text = Some(tapeline_channel::TextClient::default());
        let (client, server) = world.open(&ConnectConfig { text, ..ConnectConfig::default() });
        if is_admitted {
            world.server.reactor.outbox().admit(server);
        }
        let long = format!("{{{}}}", "x".repeat(100_000));
        let sent = world.client.reactor.outbox().send_text(client, &[long.as_bytes()], true);
        assert_eq!(sent, Sent::Queued);
        world.run_until(|world| {
            !world.server.messages().is_empty() || !world.server.closed().is_empty()
        });
        assert_eq!(world.server.messages().len(), usize::from(is_admitted));
    }
}

#[test]
fn descriptors_above_a_number_are_left_for_connections_to_others() {
    // Tests share the process: a number that is surely not free.
    let reactor = ReactorConfig { max_accepted_descriptor: Some(3), ..ReactorConfig::default() };
    let mut world = World::with(&reactor, &listen(9, 9));
    let mut socket = world.plain_client();
    world.run_until(|world| world.server.reactor.counters().no_descriptors == 1);
    assert!(matches!(&world.server.told[..], [Told::Rejected(why)] if why.contains("LimitNOFILE")));
    socket.set_nonblocking(false).unwrap();
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
}
