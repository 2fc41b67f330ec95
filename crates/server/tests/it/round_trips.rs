//! Round trips: how long mounts take to answer.

use std::time::Duration;

use tapeline_channel::{Sent, SessionId};
use tapeline_omm::login::{LoginMsg, LoginRequest, LoginRtt};
use tapeline_rwf::Msg;
use tapeline_server::ServerConfig;

use crate::support::*;

const INTERVAL: Duration = Duration::from_secs(5);

fn measuring() -> World {
    World::with(ServerConfig { rtt_interval_ms: 5_000, ..ServerConfig::default() })
}

/// A mount on this stream, with what it announced.
fn mount_on(world: &mut World, stream_id: i32, round_trip_latency: Option<u64>) -> SessionId {
    let session = world.connect();
    let mut request = LoginRequest::new(stream_id, "user");
    request.attributes.round_trip_latency = round_trip_latency;
    world.say(session, &login_of(&request));
    // The first round may have come before the answer was read.
    world.pass(Duration::ZERO);
    world.heard(session);
    session
}

fn answering_mount(world: &mut World) -> SessionId {
    mount_on(world, 1, Some(2))
}

/// The round trips that a mount was asked for since the last time.
fn asked(world: &mut World, session: SessionId) -> Vec<LoginRtt> {
    let heard = world.heard_bytes(session);
    heard
        .iter()
        .map(|bytes| match LoginMsg::decode(&Msg::decode(bytes).expect("a message")) {
            Ok(LoginMsg::Rtt(rtt)) => rtt,
            other => panic!("no round trip: {other:?}"),
        })
        .collect()
}

fn answer(world: &mut World, session: SessionId, rtt: &LoginRtt) {
    world.say(session, &built(|encoder| rtt.encode(encoder).expect("room")));
}

/// The next round begins, and a mount is asked once.
fn next_round(world: &mut World, session: SessionId) -> LoginRtt {
    world.pass(INTERVAL);
    let asked = asked(world, session);
    let [rtt] = asked[..] else { panic!("asked once: {asked:?}") };
    rtt
}

#[test]
fn who_announced_it_is_asked_and_told_what_was_measured() {
    let mut world = measuring();
    world.pass(INTERVAL);
    let session = mount_on(&mut world, 4, Some(2));
    let first = next_round(&mut world, session);
    assert_eq!((first.stream_id, first.round_trip_latency, first.tcp_retrans), (4, None, None));
    world.pass(Duration::from_micros(12_345));
    answer(&mut world, session, &first);
    let second = next_round(&mut world, session);
    assert_eq!(second.round_trip_latency, Some(12_345));
    assert_ne!(second.ticks, first.ticks);
    world.pass(Duration::from_micros(700));
    answer(&mut world, session, &second);
    assert_eq!(next_round(&mut world, session).round_trip_latency, Some(700));
    let statistics = world.core.statistics();
    let counted = (statistics.round_trips, statistics.round_trip_ns_most);
    assert_eq!((counted, statistics.round_trips_ignored), ((2, 12_345_000), 0));
}

#[test]
fn who_did_not_announce_it_is_never_asked() {
    let mut world = measuring();
    world.pass(INTERVAL);
    let sessions = [None, Some(0), Some(1)].map(|said| mount_on(&mut world, 1, said));
    for _ in 0..3 {
        world.pass(INTERVAL);
    }
    for session in sessions {
        assert_eq!(world.heard(session), [""; 0]);
    }
    let mut world = World::new();
    let session = answering_mount(&mut world);
    world.pass(Duration::from_secs(3_600));
    assert_eq!(world.heard(session), [""; 0], "nobody is asked unless it is configured");
    assert_eq!(world.core.next_deadline(), None);
}

#[test]
fn an_answer_that_is_late_is_waited_for_and_counts_in_full() {
    let mut world = measuring();
    world.pass(INTERVAL);
    let session = answering_mount(&mut world);
    let rtt = next_round(&mut world, session);
    for _ in 0..3 {
        world.pass(INTERVAL);
        assert_eq!(asked(&mut world, session), [], "one at a time");
    }
    answer(&mut world, session, &rtt);
    assert_eq!(next_round(&mut world, session).round_trip_latency, Some(15_000_000));
}

#[test]
fn what_was_not_asked_for_is_counted_and_measures_nothing() {
    let mut world = measuring();
    world.pass(INTERVAL);
    let session = answering_mount(&mut world);
    let rtt = next_round(&mut world, session);
    answer(&mut world, session, &LoginRtt { ticks: rtt.ticks + 1, ..rtt });
    assert_eq!(world.core.statistics().round_trips, 0);
    answer(&mut world, session, &rtt);
    answer(&mut world, session, &rtt);
    let other = mount_on(&mut world, 1, None);
    answer(&mut world, other, &rtt);
    let statistics = world.core.statistics();
    assert_eq!((statistics.round_trips, statistics.round_trips_ignored), (1, 3));
    assert_eq!(statistics.roles_ignored, 0);
}

#[test]
fn a_login_that_ends_takes_its_measurements_along() {
    let mut world = measuring();
    world.pass(INTERVAL);
    let session = answering_mount(&mut world);
    let rtt = next_round(&mut world, session);
    world.say(session, &bytes(tapeline_rwf::CloseMsg::new(tapeline_rwf::Domain::LOGIN, 1)));
    world.pass(INTERVAL);
    assert_eq!(asked(&mut world, session), [], "nobody is logged in");
    answer(&mut world, session, &rtt);
    assert_eq!(world.core.statistics().round_trips, 0);
    let mut request = LoginRequest::new(1, "user");
    request.attributes.round_trip_latency = Some(2);
    world.say(session, &login_of(&request));
    world.heard(session);
    assert_eq!(next_round(&mut world, session).round_trip_latency, None);
}

#[test]
fn each_of_many_mounts_is_asked_once_in_a_round_a_slice_in_a_turn() {
    let config = ServerConfig {
        rtt_interval_ms: 5_000,
        limits: tapeline_server::Limits { max_mounts: 1_000, ..Default::default() },
        ..ServerConfig::default()
    };
    let mut world = World::with(config);
    world.pass(INTERVAL);
    let sessions: Vec<_> = (0..300).map(|_| answering_mount(&mut world)).collect();
    world.now = world.now.after(INTERVAL);
    let mut turns = 0;
    while world.core.next_deadline().is_some_and(|deadline| deadline <= world.now) {
        world.handle_timeout();
        turns += 1;
        assert!(turns < 100, "the round comes to an end");
    }
    assert_eq!(turns, 3);
    for session in sessions {
        assert_eq!(asked(&mut world, session).len(), 1);
    }
}

#[test]
fn a_mount_without_room_is_not_cut_to_be_measured_and_has_its_turn_later() {
    let mut world = measuring();
    world.pass(INTERVAL);
    let session = answering_mount(&mut world);
    world.answer(session, Sent::Full);
    world.pass(INTERVAL);
    assert_eq!(world.core.statistics().mounts_cut, 0);
    asked(&mut world, session);
    world.answer(session, Sent::Queued);
    let rtt = next_round(&mut world, session);
    world.pass(Duration::from_micros(900));
    answer(&mut world, session, &rtt);
    assert_eq!(world.core.statistics().round_trip_ns_most, 900_000);
}

#[test]
fn a_mount_in_json_is_measured_too() {
    let mut world = measuring();
    world.pass(INTERVAL);
    let session = world.connect_json();
    let login =
        r#"{"ID":1,"Domain":"Login","Key":{"Name":"user","Elements":{"RoundTripLatency":2}}}"#;
    world.text(session, login);
    assert_eq!(world.heard_json(session).len(), 1);
    world.pass(INTERVAL);
    let asked = world.heard_json(session);
    let ticks = world.now.as_nanos();
    let wanted = format!(
        r#"{{"ID":1,"Type":"Generic","Domain":"Login","Complete":false,"ProviderDriven":true,"Elements":{{"Ticks":{ticks}}}}}"#
    );
    assert_eq!(asked, [wanted.as_str()]);
    world.pass(Duration::from_millis(3));
    world.text(session, &wanted);
    assert_eq!(world.core.statistics().round_trip_ns_most, 3_000_000);
}
