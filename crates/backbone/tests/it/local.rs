//! Hubs and servers of one process.

use std::thread;
use std::time::{Duration, Instant};

use tapeline_backbone::local::{LocalPort, Network};
use tapeline_backbone::{
    Bus, BusEvent, FrameHeader, Incarnation, Kind, MAX_BODY_BYTES, PortSettings, Publish as _,
    Published, Role,
};
use tapeline_time::Time;

const HUB: Incarnation = Incarnation(1);
const A: Incarnation = Incarnation(11);
const B: Incarnation = Incarnation(12);

/// How long anything may take before a test with threads fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// What each sender of several threads sends.
const FRAMES: u32 = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Heard {
    Up(Incarnation),
    Down(Incarnation),
    Gap(Incarnation),
    Frame(Kind, u32),
}

impl From<BusEvent<'_>> for Heard {
    fn from(event: BusEvent<'_>) -> Self {
        match event {
            BusEvent::PeerUp { peer, .. } => Self::Up(peer),
            BusEvent::PeerDown { peer } => Self::Down(peer),
            BusEvent::Gap { peer, .. } => Self::Gap(peer),
            BusEvent::Frame { header, .. } => Self::Frame(header.kind, header.item),
        }
    }
}

struct Member {
    port: LocalPort,
    heard: Vec<Heard>,
    last_body: Vec<u8>,
}

impl Member {
    fn new(network: &Network, role: Role, incarnation: Incarnation) -> Self {
        let settings = PortSettings { incarnation, ..PortSettings::new(role, "somebody") };
        Self { port: network.port(settings), heard: Vec::new(), last_body: Vec::new() }
    }

    fn turn(&mut self, now: Time) {
        let Self { port, heard, last_body } = self;
        port.poll(now, 64, |event, _| {
            if let BusEvent::Frame { body, .. } = event {
                body.clone_into(last_body);
            }
            heard.push(event.into());
        });
        port.work(now);
    }

    fn publish(&mut self, header: FrameHeader, body: &[u8]) -> Published {
        let (first, second) = body.split_at(body.len() / 3);
        self.port.publish(header, &[first, second])
    }

    fn take(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.heard)
    }
}

fn item(number: u32) -> FrameHeader {
    FrameHeader::new(Kind::Item, Incarnation::ALL, number)
}

fn items(numbers: std::ops::Range<u32>) -> Vec<Heard> {
    numbers.map(|number| Heard::Frame(Kind::Item, number)).collect()
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// Turns all of them in every millisecond of a time.
fn turn_from(ms: std::ops::Range<u64>, members: &mut [&mut Member]) {
    for ms in ms {
        for member in members.iter_mut() {
            member.turn(at(ms));
        }
    }
}

/// A hub and a server that know each other, at 10 ms.
fn pair(network: &Network) -> (Member, Member) {
    let mut hub = Member::new(network, Role::Hub, HUB);
    let mut server = Member::new(network, Role::Server, A);
    turn_from(0..10, &mut [&mut hub, &mut server]);
    assert_eq!((hub.take(), server.take()), (vec![Heard::Up(A)], vec![Heard::Up(HUB)]));
    (hub, server)
}

#[test]
fn requests_and_data_flow_in_their_order() {
    let (mut hub, mut server) = pair(&Network::new());
    for number in 0..100 {
        let open = FrameHeader::new(Kind::Open, HUB, number);
        assert_eq!(server.publish(open, b"what is the price?"), Published::Sent);
        assert_eq!(hub.publish(item(number), b"101.25"), Published::Sent);
    }
    turn_from(10..15, &mut [&mut hub, &mut server]);
    assert_eq!(server.take(), items(0..100));
    assert_eq!((hub.heard.len(), &hub.last_body[..]), (100, &b"what is the price?"[..]));
    server.port.leave(at(15));
    hub.turn(at(15));
    assert_eq!(hub.heard.last(), Some(&Heard::Down(A)));
    assert_eq!(hub.port.counters().gaps + server.port.counters().gaps, 0);
}

#[test]
fn hubs_do_not_hear_hubs_nor_servers_servers() {
    let network = Network::new();
    let (mut hub, mut server) = pair(&network);
    let mut other = Member::new(&network, Role::Server, B);
    turn_from(10..20, &mut [&mut hub, &mut server, &mut other]);
    assert_eq!((hub.take(), server.take()), (vec![Heard::Up(B)], vec![]));
    let request = FrameHeader::new(Kind::Open, HUB, 1);
    assert_eq!(other.publish(request, b"?"), Published::Sent);
    hub.publish(FrameHeader::new(Kind::Item, B, 2), b"for one");
    turn_from(20..22, &mut [&mut hub, &mut server, &mut other]);
    assert_eq!(hub.take(), [Heard::Frame(Kind::Open, 1)]);
    assert_eq!((server.take(), other.take().len()), (vec![], 2));
    drop(hub);
    let before = [&server, &other].map(|member| member.port.counters().received);
    turn_from(22..300, &mut [&mut server, &mut other]);
    assert_eq!([&server, &other].map(|member| member.port.counters().received), before);
}

#[test]
fn the_longest_frame_goes_in_pieces_and_what_follows_comes_behind() {
    let (mut hub, mut server) = pair(&Network::new());
    let body: Vec<_> = (0..MAX_BODY_BYTES).map(|n| (n ^ n >> 8 ^ n >> 16) as u8).collect();
    assert_eq!(hub.publish(item(1), &body), Published::Sent);
    let mut ms = 10;
    while server.heard.is_empty() {
        turn_from(ms..ms + 1, &mut [&mut hub, &mut server]);
        ms += 1;
        assert!(ms < 1_000, "it does not come");
    }
    assert!(server.last_body == body);
    hub.publish(item(2), b"update");
    turn_from(ms..ms + 2, &mut [&mut hub, &mut server]);
    assert_eq!(server.take(), items(1..3));
    let counters = server.port.counters();
    assert_eq!((counters.joined, counters.gaps, counters.partial_bytes), (1, 0, 0));
}

#[test]
fn a_reader_that_is_slow_holds_back_its_sender_and_loses_nothing() {
    let (mut hub, mut server) = pair(&Network::new());
    let mut sent = 0;
    while !hub.port.is_congested() {
        assert_eq!(hub.publish(item(sent), &[7; 1_000]), Published::Sent);
        sent += 1;
    }
    assert!(sent > 4_000, "a ring of four megabytes and a quarter of the queue: {sent}");
    assert!(hub.port.counters().queue_bytes > 0);
    // It does not help to wait.
    turn_from(10..200, &mut [&mut hub]);
    assert!(hub.port.is_congested());
    turn_from(200..400, &mut [&mut hub, &mut server]);
    assert_eq!(server.take(), items(0..sent));
    assert!(!hub.port.is_congested());
    assert_eq!((hub.port.counters().dropped, server.port.counters().gaps), (0, 0));
}

#[test]
fn what_the_queue_does_not_hold_is_a_hole_that_is_seen() {
    let (mut hub, mut server) = pair(&Network::new());
    let mut sent = 0;
    while hub.publish(item(sent), &[7; 1_000]) == Published::Sent {
        sent += 1;
    }
    assert_eq!(hub.port.counters().dropped, 1);
    turn_from(10..400, &mut [&mut hub, &mut server]);
    let mut heard = server.take();
    assert_eq!(heard.pop(), Some(Heard::Gap(HUB)), "presence tells of the last one");
    assert_eq!(heard, items(0..sent));
    assert_eq!(server.port.counters().lost, 1);
}

#[test]
fn a_reader_that_stops_does_not_hold_up_the_others_for_long() {
    let network = Network::new();
    let (mut hub, mut server) = pair(&network);
    let mut stuck = Member::new(&network, Role::Server, B);
    turn_from(10..20, &mut [&mut hub, &mut server, &mut stuck]);
    assert_eq!((server.take(), stuck.take()), (vec![], vec![Heard::Up(HUB)]));
    hub.take();
    // More than its ring and the hub's queue, in less than the time of silence.
    let mut sent = 0;
    for ms in 20..320 {
        for _ in 0..40 {
            assert_eq!(hub.publish(item(sent), &[7; 1_000]), Published::Sent);
            sent += 1;
        }
        turn_from(ms..ms + 1, &mut [&mut hub, &mut server]);
    }
    assert!(server.take() == items(0..sent), "all of them, though the other one stands still");
    assert_eq!(hub.port.counters().dropped, 0);
    hub.take();
    // It comes back where the sender is then, and knows that it missed something.
    turn_from(320..600, &mut [&mut hub, &mut server, &mut stuck]);
    let heard = stuck.take();
    let before = heard.iter().take_while(|heard| **heard != Heard::Gap(HUB)).count();
    assert!(
        before < heard.len() && (3_000..5_000).contains(&before),
        "a ring of four megabytes: {before}"
    );
    let first = &heard[..heard.len().min(3)];
    assert!(heard[..before] == items(0..before as u32), "{first:?}");
    hub.publish(item(sent), b"now");
    turn_from(600..602, &mut [&mut hub, &mut stuck]);
    assert_eq!(stuck.take().last(), Some(&Heard::Frame(Kind::Item, sent)));
}

#[test]
fn time_in_which_all_stood_still_leaves_nobody_behind() {
    let network = Network::new();
    let (mut hub, mut server) = pair(&network);
    let mut other = Member::new(&network, Role::Server, B);
    turn_from(10..20, &mut [&mut hub, &mut server, &mut other]);
    server.take();
    other.take();
    let mut sent = 0;
    // The ring of the other one is full, that of the server is not.
    while hub.port.counters().queue_bytes == 0 {
        assert_eq!(hub.publish(item(sent), &[7; 1_000]), Published::Sent);
        sent += 1;
        server.turn(at(20));
    }
    hub.turn(at(21));
    // Then ten seconds pass at once, for all.
    turn_from(10_000..10_200, &mut [&mut hub, &mut server, &mut other]);
    assert_eq!(server.take(), items(0..sent));
    assert_eq!(other.take(), items(0..sent));
}

#[test]
fn a_pause_of_ten_seconds_changes_nothing() {
    let (mut hub, mut server) = pair(&Network::new());
    hub.publish(item(1), b"before");
    for ms in [10_000, 10_001, 20_000, 20_001, 35_000] {
        turn_from(ms..ms + 2, &mut [&mut hub, &mut server]);
    }
    hub.publish(item(2), b"after");
    turn_from(35_002..35_004, &mut [&mut hub, &mut server]);
    assert_eq!((hub.take(), server.take()), (vec![], items(1..3)));
}

#[test]
fn who_is_silent_is_gone_and_comes_back_when_it_goes_on() {
    let (mut hub, mut server) = pair(&Network::new());
    turn_from(10..1_000, &mut [&mut hub]);
    assert_eq!(hub.take(), [Heard::Down(A)]);
    turn_from(1_000..1_200, &mut [&mut hub, &mut server]);
    assert_eq!(hub.take(), [Heard::Up(A)]);
    assert_eq!(server.take(), [Heard::Down(HUB), Heard::Up(HUB)]);
}

#[test]
fn who_is_dropped_is_gone_and_a_successor_is_somebody_else() {
    let network = Network::new();
    let (mut hub, server) = pair(&network);
    drop(server);
    turn_from(10..15, &mut [&mut hub]);
    // Nobody is there to read it, and nothing waits for anybody.
    hub.publish(item(1), b"for nobody");
    assert!(hub.port.counters().unheard > 0);
    let mut successor = Member::new(&network, Role::Server, B);
    turn_from(15..30, &mut [&mut hub, &mut successor]);
    assert_eq!((hub.take(), successor.take()), (vec![Heard::Up(B)], vec![Heard::Up(HUB)]));
    turn_from(30..1_000, &mut [&mut hub, &mut successor]);
    assert_eq!((hub.take(), successor.take()), (vec![Heard::Down(A)], vec![]));
}

/// Sends frames of all sizes until it is told that the last one came.
fn send_all(network: &Network, incarnation: Incarnation, now: impl Fn() -> Time) {
    let settings = PortSettings { silence: PATIENCE, ..PortSettings::new(Role::Hub, "hub") };
    let mut port = network.port(PortSettings { incarnation, ..settings });
    let (mut sent, mut is_told) = (0, false);
    while !is_told {
        assert!(now() < Time::ZERO.after(PATIENCE), "{sent} were sent");
        while port.counters().peers == 1 && sent < FRAMES && !port.is_congested() {
            let body = vec![sent as u8; sent as usize % 5_000];
            assert_eq!(port.publish(item(sent), &[&body]), Published::Sent);
            sent += 1;
        }
        port.poll(now(), 64, |event, _| is_told |= matches!(event, BusEvent::Frame { .. }));
        port.work(now());
        thread::yield_now();
    }
    assert_eq!(port.counters().dropped, 0);
    port.leave(now());
}

#[test]
fn threads_exchange_frames_of_all_sizes() {
    let network = Network::new();
    let begin = Instant::now();
    let now = move || Time::from_nanos(begin.elapsed().as_nanos() as u64);
    let senders = [A, B].map(|hub| {
        let network = network.clone();
        // Each makes its port where it is.
        thread::spawn(move || send_all(&network, hub, now))
    });
    let settings = PortSettings { silence: PATIENCE, ..PortSettings::new(Role::Server, "shard") };
    let mut server = network.port(PortSettings { incarnation: HUB, ..settings });
    let mut next = [0; 2];
    let mut gone = 0;
    while gone < senders.len() {
        assert!(begin.elapsed() < PATIENCE, "{next:?} came");
        server.poll(now(), 64, |event, outbound| match event {
            BusEvent::Frame { header, body } => {
                let next = &mut next[usize::from(header.sender == B)];
                assert_eq!(header.item, *next, "in order, without holes");
                assert_eq!(body.len(), *next as usize % 5_000);
                assert!(body.iter().all(|byte| *byte == *next as u8));
                *next += 1;
                if *next == FRAMES {
                    let answer = FrameHeader::new(Kind::Open, header.sender, 1);
                    assert_eq!(outbound.publish(answer, &[b"all"]), Published::Sent);
                }
            }
            BusEvent::PeerDown { .. } => gone += 1,
            BusEvent::PeerUp { .. } => {}
            BusEvent::Gap { peer, .. } => panic!("a hole of {peer:?}"),
        });
        server.work(now());
        thread::yield_now();
    }
    assert_eq!((next, server.counters().gaps), ([FRAMES; 2], 0));
    for sender in senders {
        sender.join().expect("a sender that was told");
    }
}
