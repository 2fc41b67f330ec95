//! What a real media driver's folder tells of the peers that it carries.

use std::net::{Ipv4Addr, UdpSocket};

use crate::support::{Clock, Member};
use tapeline_backbone::{
    Bus, Channels, DriverFiles, Engine, EngineSettings, FrameHeader, Incarnation, Kind, Published,
    Role,
};

/// A port that is free, as is the next one.
fn free_port() -> u16 {
    loop {
        let here = |port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port));
        let first = here(0).expect("a port");
        let port = first.local_addr().expect("bound").port();
        if port < u16::MAX && here(port + 1).is_ok() {
            return port;
        }
    }
}

#[test]
fn the_streams_of_a_peer_are_found_at_the_driver() {
    let clock = Clock::new();
    let channel = format!("aeron:udp?control=127.0.0.1:{}|interface=127.0.0.1", free_port());
    let channels = Channels::parse(&channel).unwrap();
    let settings = EngineSettings {
        data_term_bytes: Some(1 << 20),
        request_term_bytes: 1 << 20,
        ..EngineSettings::default()
    };
    let mut engine = Engine::new(settings).unwrap();
    let mut hub = Member::new(&mut engine, Role::Hub, "hub", &channels);
    let mut server = Member::new(&mut engine, Role::Server, "edge", &channels);
    let mut is_sent = false;
    clock.wait(|now| {
        engine.work(now);
        hub.turn(now);
        server.turn(now);
        if !is_sent && hub.port.counters().peers == 1 && server.port.counters().peers == 1 {
            let item = FrameHeader::new(Kind::Item, Incarnation::ALL, 9);
            is_sent = hub.port.publish(item, &[&[7; 5_000]]) == Published::Sent;
        }
        server.frames().count() == 1
    });

    let files = DriverFiles::at(engine.directory());
    let driver = files.driver().unwrap();
    assert!(driver.bytes_sent > 5_000 && driver.status_messages_received > 0, "{driver:?}");
    assert_eq!((driver.loss_gap_fills, driver.errors), (0, 0), "{driver:?}");
    let streams = files.streams().unwrap();
    let of = |peers: Vec<tapeline_backbone::PeerRow>, stream: i64| {
        assert_eq!(peers.len(), 1);
        let session = peers[0].sessions.as_deref().unwrap().parse::<i64>().unwrap();
        let is_it = |direction| {
            streams.iter().find(|row| {
                (row.direction, row.session, row.stream) == (direction, session, stream)
            })
        };
        [is_it("in").unwrap().clone(), is_it("out").unwrap().clone()]
    };
    // What the server has of the hub, and the hub of the server; one driver has both ends.
    let [data, sent] = of(server.port.peers(), 1_001);
    assert!(data.position >= 5_000 && sent.position >= data.position, "{data:?} {sent:?}");
    assert!(data.channel.starts_with("aeron:udp") && data.limit > Some(5_000), "{data:?}");
    assert_eq!((data.naks, data.lost_bytes, data.source), (0, 0, None));
    let [requests, _] = of(hub.port.peers(), 1_002);
    assert!(requests.position > 0, "{requests:?}");
}
