//! Hubs and servers over a real media driver.

mod support;

use std::time::Duration;

use support::{Clock, Heard, Member};
use tapeline_backbone::{
    Bus, Channels, Driver, Engine, EngineSettings, FrameHeader, Incarnation, Kind, Published, Role,
};

fn small_terms() -> EngineSettings {
    EngineSettings {
        data_term_bytes: 1 << 20,
        request_term_bytes: 1 << 20,
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
        members.iter_mut().for_each(|member| member.turn(now));
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
