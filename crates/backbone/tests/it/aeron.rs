//! Hubs and servers over a real media driver.

use std::sync::mpsc;
use std::time::Duration;

use crate::support::{self, Clock, Heard, Member};
use tapeline_backbone::{
    AeronPort, Bus, Channels, Driver, Engine, EngineSettings, FrameHeader, Incarnation, Kind,
    MAX_BODY_BYTES, PortSettings, Published, Role,
};

const TERM_BYTES: u32 = 1 << 20;

/// Little memory, and patience with a busy machine.
fn small_terms() -> EngineSettings {
    EngineSettings {
        data_term_bytes: Some(TERM_BYTES),
        request_term_bytes: 1 << 20,
        image_liveness: Duration::from_secs(10),
        connection_timeout: Duration::from_secs(10),
        client_liveness: Duration::from_secs(30),
        driver_timeout: Duration::from_secs(30),
        ..EngineSettings::default()
    }
}

fn pair(engine: &mut Engine, channels: &Channels) -> (Member, Member) {
    let hub = Member::new(engine, Role::Hub, "hub", channels);
    let server = Member::new(engine, Role::Server, "edge", channels);
    (hub, server)
}

/// Turns everything until `until` holds.
fn turn(
    clock: &Clock,
    engine: &mut Engine,
    members: &mut [&mut Member],
    until: impl Fn(&[&mut Member]) -> bool,
) {
    clock.wait(|now| {
        engine.work(now);
        for member in members.iter_mut() {
            member.turn(now);
        }
        until(members)
    });
}

fn both_up(members: &[&mut Member]) -> bool {
    members.iter().all(|member| member.port.counters().peers == 1)
}

fn requests_and_data_flow(channels: &str) {
    let clock = Clock::new();
    let channels = Channels::parse(channels).unwrap();
    let mut engine = Engine::new(small_terms()).unwrap();
    let (mut hub, mut server) = pair(&mut engine, &channels);
    turn(&clock, &mut engine, &mut [&mut hub, &mut server], both_up);
    let (hub_id, server_id) = (hub.port.incarnation(), server.port.incarnation());

    let open = FrameHeader::new(Kind::Open, hub_id, 7);
    assert_eq!(server.port.publish(open, &[b"what is ", b"the price?"]), Published::Sent);
    let item = FrameHeader { item_seq: 3, ..FrameHeader::new(Kind::Item, Incarnation::ALL, 9) };
    assert_eq!(hub.port.publish(item, &[b"101.25"]), Published::Sent);
    let large: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
    let parts: Vec<&[u8]> = large.chunks(9_999).collect();
    let image = FrameHeader::new(Kind::Item, server_id, 10);
    assert_eq!(hub.port.publish(image, &parts), Published::Sent);
    assert_eq!(hub.port.publish(image, &[&large[..70_000], &large[70_000..]]), Published::Sent);

    turn(&clock, &mut engine, &mut [&mut hub, &mut server], |members| {
        members[0].frames().count() == 1 && members[1].frames().count() == 3
    });
    let (header, body) = hub.frames().next().unwrap();
    assert_eq!((header.kind, header.item, header.sender), (Kind::Open, 7, server_id));
    assert_eq!(body, b"what is the price?");
    let received: Vec<_> = server.frames().collect();
    assert_eq!((received[0].0.item, received[0].0.item_seq), (9, 3));
    assert_eq!(received[0].1, b"101.25");
    assert!(received[1].1 == large && received[2].1 == large);
    assert_eq!(server.heard[0], Heard::Up(hub_id, "hub".into()));
    assert_eq!(hub.heard[0], Heard::Up(server_id, "edge".into()));

    server.port.leave(clock.now());
    turn(&clock, &mut engine, &mut [&mut hub], |members| members[0].port.counters().peers == 0);
    assert_eq!(hub.heard.last(), Some(&Heard::Down(server_id)));
    assert_eq!(hub.port.counters().gaps + server.port.counters().gaps, 0);
}

#[test]
fn requests_and_data_flow_over_shared_memory() {
    requests_and_data_flow("aeron:ipc");
}

#[test]
fn requests_and_data_flow_over_unicast() {
    requests_and_data_flow("aeron:udp?control=127.0.0.1:41210|interface=127.0.0.1|mtu=8192");
}

#[test]
fn requests_and_data_flow_over_multicast() {
    if support::loopback_multicasts() {
        requests_and_data_flow("aeron:udp?endpoint=224.0.1.77:41220|interface=127.0.0.1");
    }
}

/// One image of the longest, and what follows it, in both directions.
fn the_longest_frame_passes(channels: &str, bytes: usize) {
    let clock = Clock::new();
    let mut engine = Engine::new(small_terms()).unwrap();
    let channels = Channels::parse(channels).unwrap();
    let (mut hub, mut server) = pair(&mut engine, &channels);
    turn(&clock, &mut engine, &mut [&mut hub, &mut server], both_up);
    let body: Vec<_> = (0..bytes).map(|n| (n ^ n >> 8 ^ n >> 16) as u8).collect();
    let image = FrameHeader::new(Kind::Item, Incarnation::ALL, 1);
    assert_eq!(hub.port.publish(image, &[&body[..99], &body[99..]]), Published::Sent);
    assert_eq!(hub.port.publish(image, &[b"update"]), Published::Sent);
    let post = FrameHeader::new(Kind::Post, hub.port.incarnation(), 1);
    assert_eq!(server.port.publish(post, &[&body]), Published::Sent);
    turn(&clock, &mut engine, &mut [&mut hub, &mut server], |members| {
        members[0].frames().count() == 1 && members[1].frames().count() == 2
    });
    assert!(hub.frames().next().unwrap().1 == body);
    let received: Vec<_> = server.frames().collect();
    assert!(received[0].1 == body && received[1].1 == b"update");
    for member in [&hub, &server] {
        let counters = member.port.counters();
        assert_eq!((counters.cut, counters.joined, counters.gaps), (1, 1, 0));
        assert_eq!((counters.queue_bytes, counters.partial_bytes), (0, 0));
    }
}

#[test]
fn the_longest_frame_passes_over_shared_memory() {
    the_longest_frame_passes("aeron:ipc", MAX_BODY_BYTES);
}

#[test]
fn a_long_frame_passes_over_unicast() {
    let channels = "aeron:udp?control=127.0.0.1:41250|interface=127.0.0.1|mtu=8192";
    the_longest_frame_passes(channels, 16 << 20);
}

/// A server with an engine of its own on the hub's driver, as another process
/// on the same host would have it.
fn neighbour(settings: &EngineSettings, hub: &Engine, name: &str) -> (Engine, Member) {
    let driver = Driver::External { directory: hub.directory().to_owned() };
    let mut engine = Engine::new(EngineSettings { driver, ..settings.clone() }).unwrap();
    let channels = Channels::parse("aeron:ipc").unwrap();
    let member = Member::new(&mut engine, Role::Server, name, &channels);
    (engine, member)
}

const TO_ALL: FrameHeader = FrameHeader::new(Kind::Item, Incarnation::ALL, 1);

#[test]
fn two_threads_over_shared_memory() {
    const COUNT: u32 = 20_000;
    let clock = Clock::new();
    let mut engine = Engine::new(small_terms()).unwrap();
    let directory = engine.directory().to_owned();
    let (done, is_done) = mpsc::channel();
    let server = std::thread::spawn(move || {
        let clock = Clock::new();
        let driver = Driver::External { directory };
        let mut engine = Engine::new(EngineSettings { driver, ..small_terms() }).unwrap();
        let channels = Channels::parse("aeron:ipc").unwrap();
        let mut server = Member::new(&mut engine, Role::Server, "edge", &channels);
        turn(&clock, &mut engine, &mut [&mut server], |members| {
            members[0].frames().count() == COUNT as usize
        });
        let in_order = server.frames().zip(0..).all(|((header, _), n)| header.item_seq == n);
        done.send(in_order && server.port.counters().gaps == 0).unwrap();
    });
    let channels = Channels::parse("aeron:ipc").unwrap();
    let mut hub = Member::new(&mut engine, Role::Hub, "hub", &channels);
    turn(&clock, &mut engine, &mut [&mut hub], both_up);
    let mut next = 0;
    turn_until_done(&clock, &mut engine, &mut hub, |hub| {
        while next < COUNT && !hub.port.is_congested() {
            let header = FrameHeader { item_seq: next, ..TO_ALL };
            assert_eq!(hub.port.publish(header, &[&[0; 100]]), Published::Sent);
            next += 1;
        }
        match is_done.try_recv() {
            Ok(in_order) => {
                assert!(in_order);
                true
            }
            Err(mpsc::TryRecvError::Empty) => false,
            Err(mpsc::TryRecvError::Disconnected) => panic!("the server failed"),
        }
    });
    server.join().unwrap();
}

fn turn_until_done(
    clock: &Clock,
    engine: &mut Engine,
    member: &mut Member,
    mut done: impl FnMut(&mut Member) -> bool,
) {
    clock.wait(|now| {
        engine.work(now);
        member.turn(now);
        done(member)
    });
}

#[test]
fn a_dead_server_is_missed_and_its_successor_is_found() {
    let clock = Clock::new();
    let channels = Channels::parse("aeron:ipc").unwrap();
    let mut engine = Engine::new(small_terms()).unwrap();
    let short = Duration::from_millis(500);
    let mut hub = Member::with_silence(short, &mut engine, Role::Hub, "hub", &channels);
    let mut server = Member::new(&mut engine, Role::Server, "edge", &channels);
    turn(&clock, &mut engine, &mut [&mut hub, &mut server], both_up);
    let dead = server.port.incarnation();
    drop(server);
    turn(&clock, &mut engine, &mut [&mut hub], |members| {
        members[0].heard.last() == Some(&Heard::Down(dead))
    });
    let mut server = Member::new(&mut engine, Role::Server, "edge", &channels);
    turn(&clock, &mut engine, &mut [&mut hub, &mut server], both_up);
    let successor = Heard::Up(server.port.incarnation(), "edge".into());
    assert_eq!(hub.heard.last(), Some(&successor));
}

/// A reader over shared memory that stands still is waited for no longer than
/// the window limit, as long as there is another one.
#[test]
fn a_server_that_stands_still_does_not_hold_the_others() {
    let clock = Clock::new();
    let channels = Channels::parse("aeron:ipc").unwrap();
    let settings = small_terms();
    let mut engine = Engine::new(settings.clone()).unwrap();
    let (mut hub, mut quick) = pair(&mut engine, &channels);
    let (mut other, mut still) = neighbour(&settings, &engine, "still");
    clock.wait(|now| {
        engine.work(now);
        other.work(now);
        for member in [&mut hub, &mut quick, &mut still] {
            member.turn(now);
        }
        hub.port.counters().peers == 2 && quick.port.counters().peers == 1
    });
    let mut sent = 0_usize;
    let count = 5 * TERM_BYTES as usize / 1000;
    turn(&clock, &mut engine, &mut [&mut hub, &mut quick], |_| true);
    clock.wait(|now| {
        engine.work(now);
        // Its process lives, but reads nothing.
        other.work(now);
        while sent < count && !hub.port.is_congested() {
            assert_eq!(hub.port.publish(TO_ALL, &[&[0; 1000]]), Published::Sent);
            sent += 1;
        }
        hub.turn(now);
        quick.turn(now);
        quick.frames().count() == count
    });
    assert_eq!(quick.port.counters().gaps, 0);
    // It comes back to a hub that forgot it, and is told what it missed.
    let back = |heard: &[Heard]| matches!(heard.last(), Some(Heard::Up(..)));
    let before = still.heard.len();
    clock.wait(|now| {
        engine.work(now);
        other.work(now);
        for member in [&mut hub, &mut quick, &mut still] {
            member.turn(now);
        }
        let news = &still.heard[before..];
        back(news) || news.iter().any(|heard| matches!(heard, Heard::Gap(_)))
    });
}

/// What a reader loses while another one stands still, at a rate at which the
/// sender's queue and the window hold less than a tenth of a second.
#[test]
fn a_server_that_stands_still_costs_the_others_nothing() {
    const MESSAGE_BYTES: usize = 1000;
    const RATE: u64 = 60_000;
    /// Of one turn at most, so that a turn that comes late is no burst.
    const MOST: u64 = 200;
    const COUNT: u64 = 60_000;
    let clock = Clock::new();
    let channels = Channels::parse("aeron:ipc").unwrap();
    let settings =
        EngineSettings { connection_timeout: Duration::from_secs(10), ..EngineSettings::default() };
    let mut engine = Engine::new(settings.clone()).unwrap();
    let (mut hub, mut quick) = pair(&mut engine, &channels);
    let (mut other, mut still) = neighbour(&settings, &engine, "still");
    clock.wait(|now| {
        engine.work(now);
        other.work(now);
        for member in [&mut hub, &mut quick, &mut still] {
            member.turn(now);
        }
        hub.port.counters().peers == 2 && quick.port.counters().peers == 1
    });
    let mut last = clock.now();
    let (mut sent, mut got) = (0, 0);
    clock.wait(|now| {
        engine.work(now);
        other.work(now);
        let due = now.since(last).as_micros() as u64 * RATE / 1_000_000;
        if due > 0 {
            last = now;
        }
        for _ in 0..due.min(MOST).min(COUNT - sent) {
            hub.port.publish(TO_ALL, &[&[0; MESSAGE_BYTES]]);
            sent += 1;
        }
        hub.port.work(now);
        quick.port.poll(now, 1000, |event, _| {
            got += u64::from(matches!(event, tapeline_backbone::BusEvent::Frame { .. }));
        });
        quick.port.work(now);
        let counters = quick.port.counters();
        sent == COUNT && hub.port.counters().queue_bytes == 0 && got + counters.lost == COUNT
    });
    let dropped = hub.port.counters().dropped;
    eprintln!("a reader that stands still: the other one lost {dropped} of {COUNT}");
    assert_eq!((dropped, got), (0, COUNT));
}

#[test]
fn a_lone_server_that_stands_still_for_a_moment_loses_nothing() {
    let clock = Clock::new();
    let channels = Channels::parse("aeron:ipc").unwrap();
    let mut engine = Engine::new(small_terms()).unwrap();
    let (mut hub, mut server) = pair(&mut engine, &channels);
    turn(&clock, &mut engine, &mut [&mut hub, &mut server], both_up);
    let mut sent = 0;
    while !hub.port.is_congested() {
        assert_eq!(hub.port.publish(TO_ALL, &[&[0; 1000]]), Published::Sent);
        sent += 1;
    }
    assert!(hub.port.counters().queued > 0);
    turn(&clock, &mut engine, &mut [&mut hub, &mut server], |members| {
        members[1].frames().count() == sent
    });
    assert_eq!(server.port.counters().gaps, 0);
    assert_eq!(hub.port.counters().queue_bytes, 0);
}

/// A driver that others know.
fn shared_driver() -> (tempfile::TempDir, Driver) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = Some(folder.path().join("driver"));
    (folder, Driver::Embedded { directory })
}

/// A driver ends, its successor comes, and the server of another process goes
/// on as a new member of the backbone.
fn a_server_outlives_its_driver(end: impl FnOnce(Engine, Member)) {
    let clock = Clock::new();
    let (_folder, driver) = shared_driver();
    let settings = EngineSettings { driver, ..small_terms() };
    let channels = Channels::parse("aeron:ipc").unwrap();
    let mut engine = Engine::new(settings.clone()).unwrap();
    let mut hub = Member::new(&mut engine, Role::Hub, "hub", &channels);
    let (mut other, mut server) = neighbour(&settings, &engine, "edge");
    let together =
        |engine: &mut Engine, other: &mut Engine, hub: &mut Member, server: &mut Member| {
            clock.wait(|now| {
                engine.work(now);
                other.work(now);
                hub.turn(now);
                server.turn(now);
                server.port.counters().peers == 1 && hub.port.counters().peers == 1
            });
        };
    together(&mut engine, &mut other, &mut hub, &mut server);
    let (first_hub, first) = (hub.port.incarnation(), server.port.incarnation());
    end(engine, hub);
    clock.wait(|now| {
        other.work(now);
        server.turn(now);
        other.failure().is_some() && server.heard.last() == Some(&Heard::Down(first_hub))
    });
    assert!(server.port.failure().is_some());

    let mut engine = Engine::new(settings).unwrap();
    let mut hub = Member::new(&mut engine, Role::Hub, "hub", &channels);
    together(&mut engine, &mut other, &mut hub, &mut server);
    assert_eq!((other.failure(), server.port.failure()), (None, None));
    assert_eq!(other.starts(), 2);
    assert_ne!(server.port.incarnation(), first);
    assert_eq!(server.heard.last(), Some(&Heard::Up(hub.port.incarnation(), "hub".into())));
    hub.port.publish(TO_ALL, &[b"101.25"]);
    turn(&clock, &mut engine, &mut [&mut hub], |_| true);
    clock.wait(|now| {
        engine.work(now);
        other.work(now);
        server.turn(now);
        server.frames().count() == 1
    });
}

#[test]
fn a_server_outlives_a_driver_that_ends() {
    a_server_outlives_its_driver(|engine, hub| {
        drop(hub);
        drop(engine);
    });
}

/// A killed one leaves its files, and neither beats nor says that it is gone.
#[test]
fn a_server_outlives_a_driver_whose_files_are_replaced() {
    a_server_outlives_its_driver(|engine, hub| {
        let directory = engine.directory().to_owned();
        let lock = directory.with_extension("lock");
        std::fs::remove_file(lock).unwrap();
        std::fs::rename(&directory, directory.with_extension("old")).unwrap();
        // Never closed, as a killed process closes nothing.
        std::mem::forget((engine, hub));
    });
}

/// Nothing is lost for good by it: a new driver, a new client, a new member.
#[test]
fn a_thread_that_stood_still_for_too_long_builds_its_engine_anew() {
    let clock = Clock::new();
    let (_folder, driver) = shared_driver();
    let liveness = Duration::from_millis(300);
    let settings = EngineSettings { driver, client_liveness: liveness, ..small_terms() };
    let mut engine = Engine::new(settings).unwrap();
    let channels = Channels::parse("aeron:ipc").unwrap();
    let mut port = engine.port(PortSettings::new(Role::Hub, "hub"), &channels).unwrap();
    let mut work = |engine: &mut Engine, until: &dyn Fn(&Engine, &AeronPort) -> bool| {
        clock.wait(|now| {
            engine.work(now);
            port.poll(now, 1, |_, _| {});
            port.work(now);
            until(engine, &port)
        });
    };
    work(&mut engine, &|_, port| port.is_ready());
    let begin = clock.now();
    clock.wait(|now| now.since(begin) > liveness * 3);
    work(&mut engine, &|engine, port| engine.failure().is_some() && port.failure().is_some());
    work(&mut engine, &|engine, port| engine.failure().is_none() && port.is_ready());
    assert_eq!((engine.starts(), port.counters().renewals), (2, 1));
}

#[test]
fn a_driver_of_ones_own_waits_for_ever() {
    let clock = Clock::new();
    let mut engine = Engine::new(EngineSettings::default()).unwrap();
    let channels = Channels::parse("aeron:ipc").unwrap();
    let mut port = engine.port(PortSettings::new(Role::Hub, "hub"), &channels).unwrap();
    let begin = clock.now();
    for still in [Duration::ZERO, Duration::from_secs(6)] {
        clock.wait(|now| now.since(begin) >= still);
        for _ in 0..1_000 {
            engine.work(clock.now());
            port.work(clock.now());
        }
    }
    assert_eq!((engine.failure(), engine.starts(), port.is_ready()), (None, 1, true));
}

#[test]
fn a_directory_is_of_one_driver() {
    let (_folder, driver) = shared_driver();
    let settings = EngineSettings { driver, ..small_terms() };
    let first = Engine::new(settings.clone()).unwrap();
    let error = Engine::new(settings.clone()).err().unwrap().to_string();
    assert!(error.contains("the media driver of another process is there"), "{error}");
    drop(first);
    Engine::new(settings).unwrap();
}

/// Two hubs cannot both listen where servers ask; when the first is gone, the
/// second takes its place by itself.
#[test]
fn a_port_that_failed_is_tried_again() {
    let clock = Clock::new();
    let channels = "aeron:udp?control=127.0.0.1:41240|interface=127.0.0.1";
    let channels = Channels::parse(channels).unwrap();
    let mut engines = [(); 2].map(|()| Engine::new(small_terms()).unwrap());
    let [one, other] = &mut engines;
    let hub =
        |engine: &mut Engine| engine.port(PortSettings::new(Role::Hub, "hub"), &channels).unwrap();
    let (mut first, mut second) = (hub(one), hub(other));
    clock.wait(|now| {
        one.work(now);
        first.work(now);
        first.is_ready()
    });
    clock.wait(|now| {
        other.work(now);
        second.work(now);
        second.failure().is_some()
    });
    let failure = second.failure().unwrap();
    assert!(failure.contains("Address already in use"), "{failure}");
    drop(first);
    clock.wait(|now| {
        one.work(now);
        other.work(now);
        second.work(now);
        second.is_ready()
    });
    assert_eq!(second.failure(), None);
}

#[test]
fn an_address_that_is_not_ours_fails_the_port_and_says_why() {
    let clock = Clock::new();
    let channels = "aeron:udp?control=192.0.2.1:41230|interface=192.0.2.9";
    let mut engine = Engine::new(small_terms()).unwrap();
    let channels = Channels::parse(channels).unwrap();
    let mut port = engine.port(PortSettings::new(Role::Hub, "hub"), &channels).unwrap();
    clock.wait(|now| {
        engine.work(now);
        port.work(now);
        port.failure().is_some()
    });
    let failure = port.failure().unwrap();
    assert!(failure.contains("Cannot assign requested address; "), "{failure}");
    assert!(failure.contains("192.0.2.1:4123"), "{failure}");
    assert_eq!(engine.failure(), None);
}

#[test]
fn a_driver_that_is_not_there_is_said_with_its_directory() {
    let driver = Driver::External { directory: "/nonexistent/driver".into() };
    let settings =
        EngineSettings { driver, driver_timeout: Duration::from_millis(50), ..small_terms() };
    let error = Engine::new(settings).err().unwrap().to_string();
    assert!(error.contains("connect to the driver at /nonexistent/driver"), "{error}");
}
