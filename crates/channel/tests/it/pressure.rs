//! Peers that read slowly or not at all, and peers that send without end.

use std::time::Duration;

use crate::support::{self, World, tight};
use tapeline_channel::{
    ConnectConfig, ListenConfig, OutputLimits, ReactorConfig, Sent, SessionEvent, SessionId,
    SessionOptions,
};

fn tight_world() -> World {
    World::new(&ListenConfig { session: tight(), ..ListenConfig::default() })
}

fn tight_client() -> ConnectConfig {
    ConnectConfig { session: tight(), ..ConnectConfig::default() }
}

/// Sends from the server while the client does not read, until `until`.
fn fill(world: &mut World, session: SessionId, until: Sent) -> u32 {
    for sent in 0..100_000_u32 {
        let mut message = [7; 1000];
        message[..4].copy_from_slice(&sent.to_be_bytes());
        if world.server.reactor.outbox().send(session, &message) == until {
            return sent;
        }
        let now = world.now();
        world.server.poll(now);
    }
    panic!("never {until:?}");
}

fn numbers(world: &World) -> Vec<u32> {
    let number = |m: Vec<u8>| u32::from_be_bytes([m[0], m[1], m[2], m[3]]);
    world.client.messages().into_iter().map(number).collect()
}

#[test]
fn a_flush_writes_to_some_and_the_next_ones_to_the_others_with_all_that_came() {
    let config = ReactorConfig { writes_per_flush: 4, ..ReactorConfig::default() };
    let mut world = World::with(&config, &ListenConfig::default());
    let sessions: Vec<_> = (0..10).map(|_| world.open(&ConnectConfig::default()).1).collect();
    let writes = |world: &World, session: SessionId| {
        world.server.reactor.session_counters(session).unwrap().traffic.writes
    };
    let before: Vec<_> = sessions.iter().map(|session| writes(&world, *session)).collect();
    let written = |world: &World| -> Vec<u64> {
        sessions.iter().zip(&before).map(|(it, before)| writes(world, *it) - before).collect()
    };
    let now = world.now();
    for session in &sessions {
        assert_eq!(world.server.reactor.outbox().send(*session, b"one"), Sent::Queued);
    }
    world.server.reactor.flush(now);
    assert_eq!(written(&world), [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(world.server.reactor.next_deadline(), Some(now), "the next one is due");
    for session in &sessions {
        assert_eq!(world.server.reactor.outbox().send(*session, b"two"), Sent::Queued);
    }
    world.server.reactor.flush(now);
    assert_eq!(written(&world), [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    // One write that is long counts for many.
    world.server.reactor.flush(now);
    world.server.reactor.flush(now);
    assert_eq!(written(&world), [2, 2, 2, 2, 1, 1, 1, 1, 1, 1]);
    for session in &sessions {
        for _ in 0..6 {
            let sent = world.server.reactor.outbox().send(*session, &[7; 6_000]);
            assert_eq!(sent, Sent::Queued);
        }
    }
    world.server.reactor.flush(now);
    assert_eq!(written(&world), [3, 2, 2, 2, 1, 1, 1, 1, 1, 1]);
    world.run_until(|world| world.client.messages().len() == 80);
}

#[test]
fn a_flush_that_takes_its_time_leaves_the_others_to_the_next() {
    let config = ReactorConfig { flush_time: Duration::ZERO, ..ReactorConfig::default() };
    let mut world = World::with(&config, &ListenConfig::default());
    let sessions: Vec<_> = (0..20).map(|_| world.open(&ConnectConfig::default()).1).collect();
    let writes = |world: &World| -> u64 {
        let counters = |it: &SessionId| world.server.reactor.session_counters(*it).unwrap();
        sessions.iter().map(|session| counters(session).traffic.writes).sum()
    };
    let (now, before) = (world.now(), writes(&world));
    for session in &sessions {
        assert_eq!(world.server.reactor.outbox().send(*session, b"one"), Sent::Queued);
    }
    // It looks at the clock before every eighth.
    for written in [7, 14, 20] {
        world.server.reactor.flush(now);
        assert_eq!(writes(&world) - before, written);
        let is_due = world.server.reactor.next_deadline() == Some(now);
        assert_eq!(is_due, written < 20, "the next one is due");
    }
}

/// More than a message may ever have.
const TOO_LARGE: usize = (64 << 20) + (128 << 10) + 1;

#[test]
fn a_peer_that_stops_reading_is_slow_then_full_then_drained() {
    let mut world = tight_world();
    let (_, server) = world.open(&tight_client());
    fill(&mut world, server, Sent::Slow);
    let backlog = world.server.reactor.outbox().backlog_bytes(server);
    assert!((60_000..62_000).contains(&backlog), "{backlog}");
    let now = world.now();
    world.server.poll(now);
    assert_eq!(world.server.drained(), 0);

    let full =
        (0..1_000).find(|_| world.server.reactor.outbox().send(server, &[1; 1000]) == Sent::Full);
    assert!(full.is_some());
    let backlog = world.server.reactor.outbox().backlog_bytes(server);
    assert!((198_000..=200_000).contains(&backlog), "{backlog}");
    let counters = world.server.reactor.session_counters(server).unwrap();
    assert!(counters.is_slow);
    assert_eq!((counters.slow_count, counters.full_count), (1, 1));

    // The client reads again.
    world.run_until(|world| world.server.drained() == 1);
    assert!(world.server.reactor.outbox().backlog_bytes(server) <= 20_000);
    assert_eq!(world.server.reactor.outbox().send(server, b"again"), Sent::Queued);
    world.run_until(|world| world.client.messages().last().is_some_and(|m| m == b"again"));
    assert_eq!(world.server.drained(), 1);
    assert!(!world.server.reactor.session_counters(server).unwrap().is_slow);
}

#[test]
fn nothing_is_lost_or_reordered_under_pressure() {
    let mut world = tight_world();
    let (_, server) = world.open(&tight_client());
    let mut next = 0_u32;
    while next < 5_000 {
        // What is refused as full was not queued: it is tried again.
        while next < 5_000 {
            let mut message = [0; 700];
            message[..4].copy_from_slice(&next.to_be_bytes());
            match world.server.reactor.outbox().send(server, &message) {
                Sent::Full => break,
                Sent::Queued | Sent::Slow => next += 1,
                other => panic!("{other:?}"),
            }
        }
        world.poll();
    }
    world.run_until(|world| world.client.messages().len() == 5_000);
    assert!(numbers(&world).into_iter().eq(0..5_000));
}

#[test]
fn one_that_does_not_read_costs_the_others_nothing() {
    let mut world = tight_world();
    let (_, stuck) = world.open(&tight_client());
    fill(&mut world, stuck, Sent::Full);
    // Another client, of another reactor: the first is never polled again.
    let mut other = support::Side::new(ReactorConfig::default());
    let host = world.address.ip().to_string();
    let session = other.reactor.connect(&host, world.address.port(), &tight_client());
    let mut sent = false;
    while other.messages().is_empty() {
        let now = world.now();
        world.server.poll(now);
        other.poll(now);
        if let [_, server] = world.server.opened()[..]
            && !sent
        {
            assert_eq!(world.server.reactor.outbox().send(server, b"hello"), Sent::Queued);
            sent = true;
        }
    }
    assert_eq!(other.opened(), [session]);
}

#[test]
fn a_loud_peer_leaves_room_for_a_quiet_one_in_each_poll() {
    let mut world = World::new(&ListenConfig {
        session: SessionOptions { read_bytes_per_poll: 1, ..SessionOptions::default() },
        ..ListenConfig::default()
    });
    let (loud, loud_server) = world.open(&ConnectConfig::default());
    let (quiet, quiet_server) = world.open(&ConnectConfig::default());
    let now = world.now();
    for _ in 0..50 {
        for _ in 0..100 {
            assert_eq!(world.client.reactor.outbox().send(loud, &[1; 1000]), Sent::Queued);
        }
        world.client.reactor.flush(now);
    }
    assert_eq!(world.client.reactor.outbox().send(quiet, b"me too"), Sent::Queued);
    world.client.reactor.flush(now);
    let mut loud_before_quiet = 0;
    let mut is_heard = false;
    while !is_heard {
        world.server.reactor.poll(now, Some(Duration::ZERO), |event, _| {
            if let SessionEvent::Message { session, .. } = event {
                is_heard |= session == quiet_server;
                loud_before_quiet += usize::from(session == loud_server && !is_heard);
            }
        });
    }
    // One buffer of the loud one is about 16 messages.
    assert!(loud_before_quiet <= 40, "{loud_before_quiet}");
    // What was left in its socket is read without another edge.
    let mut count = loud_before_quiet;
    while count < 5_000 {
        let work = world.server.reactor.poll(now, Some(Duration::ZERO), |event, _| {
            count += usize::from(matches!(event, SessionEvent::Message { .. }));
        });
        let now = world.now();
        world.client.poll(now);
        assert!(work > 0 || world.client.reactor.counters().backlog_bytes > 0 || count >= 5_000);
    }
}

#[test]
fn a_reactor_that_does_not_read_holds_its_peers_back_and_loses_nothing() {
    let mut world = tight_world();
    let (_, server) = world.open(&tight_client());
    world.client.reactor.set_reading(false);
    let mut sent = 0_u32;
    loop {
        let mut message = [0; 1000];
        message[..4].copy_from_slice(&sent.to_be_bytes());
        if world.server.reactor.outbox().send(server, &message) == Sent::Full {
            break;
        }
        sent += 1;
        world.poll();
    }
    assert_eq!(world.client.messages().len(), 0);
    let due = world.client.reactor.next_deadline();
    assert!(due > Some(world.now()), "a paused reactor need not spin");
    world.client.reactor.set_reading(true);
    world.run_until(|world| world.client.messages().len() == sent as usize);
    assert!(numbers(&world).into_iter().eq(0..sent));
}

#[test]
fn an_answer_too_many_in_the_callback_is_full_and_drains() {
    let mut world = tight_world();
    let (client, server) = world.open(&tight_client());
    assert_eq!(world.client.reactor.outbox().send(client, b"flood me"), Sent::Queued);
    let mut told = Vec::new();
    while told.is_empty() {
        let now = world.now();
        world.client.poll(now);
        world.server.poll_with(now, |event, outbox| {
            if matches!(event, SessionEvent::Message { .. }) {
                for number in 0..300_u32 {
                    let mut message = [0; 1000];
                    message[..4].copy_from_slice(&number.to_be_bytes());
                    told.push(outbox.send(server, &message));
                }
                assert_eq!(outbox.send(server, &vec![0; 200_001]), Sent::Full);
                assert_eq!(outbox.send(server, &vec![0; TOO_LARGE]), Sent::TooLarge);
                assert_eq!(outbox.send(server, &[]), Sent::TooLarge);
            }
        });
    }
    let count = |what| told.iter().filter(|sent| **sent == what).count();
    assert_eq!((count(Sent::Queued), count(Sent::Slow), count(Sent::Full)), (59, 141, 100));
    assert!(told.is_sorted_by_key(|sent| *sent as u8));
    world.run_until(|world| world.client.messages().len() == 200);
    assert!(numbers(&world).into_iter().eq(0..200));
    world.run_until(|world| world.server.drained() == 1);
}

#[test]
fn what_was_refused_with_an_almost_empty_backlog_drains_too() {
    let mut world = tight_world();
    let (_, server) = world.open(&tight_client());
    assert_eq!(world.server.reactor.outbox().send(server, &[1; 1000]), Sent::Queued);
    assert_eq!(world.server.reactor.outbox().send(server, &vec![1; 199_500]), Sent::Full);
    world.run_until(|world| world.server.drained() == 1);
    assert_eq!(world.server.reactor.outbox().send(server, &vec![1; TOO_LARGE]), Sent::TooLarge);
}

#[test]
fn a_message_longer_than_all_that_may_wait_is_taken_where_little_waits() {
    let mut world = tight_world();
    let (_, server) = world.open(&tight_client());
    let long = vec![1; 5_000_000];
    assert_eq!(world.server.reactor.outbox().send(server, &long), Sent::Slow);
    assert_eq!(world.server.reactor.outbox().send(server, &long), Sent::Full);
    world.run_until(|world| world.server.drained() == 1 && world.client.messages().len() == 1);
    assert!(world.client.messages() == [long]);
}

#[test]
fn what_comes_behind_a_long_message_that_was_let_in_has_the_usual_room() {
    let mut world = tight_world();
    let (_, server) = world.open(&tight_client());
    let (long, short) = (vec![1; 5_000_000], [2; 1000]);
    let mut outbox = world.server.reactor.outbox();
    assert_eq!(outbox.send(server, &long), Sent::Slow);
    let taken = (0..10_000).take_while(|_| outbox.send(server, &short) != Sent::Full).count();
    assert!((1..1000).contains(&taken), "{taken}");
    world.run_until(|world| world.client.messages().len() == taken + 1);
    assert!(world.client.messages()[0] == long);
}

#[test]
fn what_belongs_together_is_taken_beyond_the_bound_and_leaves_the_usual_room() {
    let mut world = tight_world();
    let (_, server) = world.open(&tight_client());
    let part = [1; 1000];
    let mut outbox = world.server.reactor.outbox();
    outbox.allow(server, 300_000);
    let taken = (0..1000).take_while(|_| outbox.send(server, &part) != Sent::Full).count();
    assert!(taken >= 490, "{taken}");
    outbox.allow(server, 0);
    let behind = (0..1000).take_while(|_| outbox.send(server, &part) != Sent::Full).count();
    assert!((1..=200).contains(&behind), "{behind}");
    outbox.allow(server, 300_000);
    assert_eq!(outbox.send(server, &part), Sent::Full, "no more than the allowance in all");
    world.run_until(|world| world.client.messages().len() == taken + behind);
}

#[test]
fn a_message_that_is_too_long_is_passed_over_and_the_session_goes_on() {
    let mut listen = ListenConfig::default();
    listen.rssl.limits.message_bytes = 100_000;
    let mut world = World::new(&listen);
    let (client, server) = world.open(&ConnectConfig::default());
    let mut outbox = world.client.reactor.outbox();
    assert_eq!(outbox.send(client, &vec![1; 100_001]), Sent::Queued);
    assert_eq!(outbox.send(client, b"short"), Sent::Queued);
    world.run_until(|world| world.server.messages().len() == 1);
    assert_eq!(world.server.messages(), [b"short"]);
    assert!(world.server.told.contains(&support::Told::TooLong(server, 100_001)));
}

/// What the server gets in each poll until it has so many messages.
fn received(world: &mut World, count: usize) -> Vec<usize> {
    let mut polls = Vec::new();
    while world.server.messages().len() < count {
        let before = world.server.messages().len();
        let now = world.now();
        world.client.poll(now);
        world.server.poll(now);
        polls.push(world.server.messages().len() - before);
        assert!(polls.len() < 100_000, "only {before}");
    }
    polls
}

fn say_numbers(world: &mut World, client: SessionId, count: u32) {
    for number in 0..count {
        let sent = world.client.reactor.outbox().send(client, &number.to_be_bytes());
        assert_eq!(sent, Sent::Queued);
    }
    let now = world.now();
    world.client.reactor.flush(now);
}

fn bounded(per_session: usize, of_all: usize) -> World {
    let session = SessionOptions { messages_per_poll: per_session, ..tight() };
    let reactor = ReactorConfig { messages_per_poll: of_all, ..ReactorConfig::default() };
    World::with(&reactor, &ListenConfig { session, ..ListenConfig::default() })
}

fn server_numbers(world: &World) -> Vec<u32> {
    let number = |m: Vec<u8>| u32::from_be_bytes([m[0], m[1], m[2], m[3]]);
    world.server.messages().into_iter().map(number).collect()
}

#[test]
fn one_that_asks_without_end_has_a_share_of_each_poll() {
    let mut world = bounded(10, usize::MAX);
    let (client, _) = world.open(&tight_client());
    say_numbers(&mut world, client, 1_000);
    let polls = received(&mut world, 1_000);
    assert!(polls.iter().all(|count| *count <= 10), "{polls:?}");
    assert!(server_numbers(&world).into_iter().eq(0..1_000), "all of them, in order");
    assert!(world.server.reactor.counters().postponed >= 99);
    assert_eq!(world.server.closed(), []);
}

#[test]
fn many_that_ask_are_served_in_turn_and_no_more_of_them_than_a_poll_bears() {
    let mut world = bounded(10, 40);
    let clients: Vec<_> = (0..8).map(|_| world.open(&tight_client()).0).collect();
    for client in &clients {
        say_numbers(&mut world, *client, 100);
    }
    let polls = received(&mut world, 800);
    assert!(polls.iter().all(|count| *count <= 40), "{polls:?}");
    let numbers = server_numbers(&world);
    // Nobody is ahead of the others by more than a share and what is late.
    for at in 0..numbers.len() {
        let next = |number: u32| numbers[..at].iter().filter(|seen| **seen == number).count();
        assert!(numbers[at] < 40 || next(numbers[at] - 40) == 8, "{at}: {numbers:?}");
    }
}

#[test]
fn one_that_asks_alone_has_all_of_a_poll() {
    let mut world = bounded(10, 40);
    let (client, _) = world.open(&tight_client());
    say_numbers(&mut world, client, 1_000);
    let polls = received(&mut world, 1_000);
    assert!(polls.iter().all(|count| *count <= 40), "{polls:?}");
    assert!(polls.iter().any(|count| *count > 30), "{polls:?}");
    assert!(server_numbers(&world).into_iter().eq(0..1_000), "all of them, in order");
}

#[test]
fn a_program_that_has_had_enough_gets_the_rest_in_the_next_polls() {
    let mut world = bounded(usize::MAX, usize::MAX);
    let clients: Vec<_> = (0..3).map(|_| world.open(&tight_client()).0).collect();
    for client in &clients {
        say_numbers(&mut world, *client, 20);
    }
    let mut polls = Vec::new();
    while polls.iter().sum::<usize>() < 60 {
        let (now, mut count) = (world.now(), 0);
        world.client.poll(now);
        world.server.poll_with(now, |event, outbox| {
            if matches!(event, SessionEvent::Message { .. }) {
                count += 1;
                if count == 7 {
                    outbox.end_poll();
                }
            }
        });
        polls.push(count);
        assert!(polls.len() < 100_000, "{polls:?}");
    }
    assert!(polls.iter().all(|count| *count <= 7), "{polls:?}");
    let numbers = server_numbers(&world);
    assert!((0..20).all(|number| numbers.iter().filter(|it| **it == number).count() == 3));
    assert_eq!(world.server.closed(), []);
}

#[test]
fn a_session_that_is_held_says_nothing_until_it_is_let_go() {
    let mut world = bounded(usize::MAX, usize::MAX);
    let (client, server) = world.open(&tight_client());
    let (other, _) = world.open(&tight_client());
    say_numbers(&mut world, client, 100);
    // It is held from within its own third message.
    for _ in 0..1_000 {
        let now = world.now();
        world.client.poll(now);
        world.server.poll_with(now, |event, outbox| {
            if let SessionEvent::Message { session, bytes } = event
                && bytes == 2_u32.to_be_bytes()
            {
                outbox.hold(session, true);
            }
        });
    }
    assert_eq!(server_numbers(&world), [0, 1, 2]);
    say_numbers(&mut world, other, 1);
    world.run_until(|world| world.server.messages().len() == 4);
    world.server.reactor.outbox().hold(server, false);
    world.run_until(|world| world.server.messages().len() == 101);
    assert!(server_numbers(&world)[4..].iter().copied().eq(3..100));
    // One that is held can be closed.
    world.server.reactor.outbox().hold(server, true);
    world.server.reactor.outbox().close(server, "enough");
    world.run_until(|world| world.client.closed().len() == 1);
    assert_eq!(world.server.closed().len(), 1);
}

#[test]
fn sessions_that_have_too_much_together_are_slow_sooner_and_the_largest_is_told() {
    let limits = OutputLimits { breach_bytes: 600_000, ok_bytes: 200_000, max_bytes: 5_000_000 };
    let session = SessionOptions { output: limits, ..tight() };
    let config = ReactorConfig { output_pool_bytes: 1_400_000, ..ReactorConfig::default() };
    let mut world = World::with(&config, &ListenConfig { session, ..ListenConfig::default() });
    let (_, first) = world.open(&tight_client());
    fill(&mut world, first, Sent::Slow);
    let backlog = |world: &mut World, session| world.server.reactor.outbox().backlog_bytes(session);
    assert!((600_000..610_000).contains(&backlog(&mut world, first)));
    let (_, second) = world.open(&tight_client());
    fill(&mut world, second, Sent::Slow);
    let share = backlog(&mut world, second);
    assert!((100_000..260_000).contains(&share), "{share}");
    let now = world.now();
    world.server.poll(now);
    assert_eq!(world.server.drained(), 0, "below its own threshold, and yet not well");
    assert_eq!(world.server.reactor.beyond_pool(), None);
    while world.server.reactor.beyond_pool().is_none() {
        let sent = world.server.reactor.outbox().send(second, &[1; 1000]);
        assert_eq!(sent, Sent::Slow);
    }
    assert_eq!(world.server.reactor.beyond_pool(), Some(second), "it has the most by now");
    let (bytes, most) = world.server.reactor.output_bytes();
    assert!(bytes > 1_400_000 && most == bytes, "{bytes} {most}");
    world.server.reactor.outbox().close(second, "too much");
    assert_eq!(world.server.reactor.beyond_pool(), None, "it is on its way out");
    world.run_until(|world| world.server.drained() == 1);
    assert!(backlog(&mut world, first) <= 200_000);
}
