//! Random faults for a while, then none: what must hold at any moment, and
//! what must be so in the end.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_backbone::sim::{MAX_FRAME_BYTES, Network, SimPort};
use tapeline_backbone::{Bus, BusEvent, FrameHeader, Incarnation, Kind, PortSettings, Role};
use tapeline_time::Time;

const HUBS: [Incarnation; 2] = [Incarnation(1), Incarnation(2)];
const SERVERS: [Incarnation; 3] = [Incarnation(11), Incarnation(12), Incarnation(13)];

/// One member, and what it may conclude about each peer.
struct Watcher {
    port: SimPort,
    role: Role,
    /// How often each peer came up here: the number of the meeting.
    meetings: BTreeMap<Incarnation, u32>,
    up: BTreeMap<Incarnation, Stream>,
    /// Counts what is published to all.
    serial: u32,
    still_until: Time,
}

/// What came from a peer since it is up.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// The last frame to all.
    last: Option<u32>,
    /// A gap was reported since.
    gap: bool,
    /// The sender's number of the meeting.
    meeting: Option<u32>,
}

impl Watcher {
    fn new(network: &Network, role: Role, incarnation: Incarnation) -> Self {
        let settings = PortSettings { incarnation, ..PortSettings::new(role, "watcher") };
        Self {
            port: network.port(settings),
            role,
            meetings: BTreeMap::new(),
            up: BTreeMap::new(),
            serial: 0,
            still_until: Time::ZERO,
        }
    }

    fn turn(&mut self, now: Time) {
        if now < self.still_until {
            return;
        }
        let Self { port, meetings, up, .. } = self;
        port.poll(now, 50, |event, _| match event {
            BusEvent::PeerUp { peer, .. } => {
                assert!(up.insert(peer, Stream::default()).is_none(), "up twice");
                *meetings.entry(peer).or_default() += 1;
            }
            BusEvent::PeerDown { peer } => {
                up.remove(&peer).expect("a peer that is down goes down");
            }
            BusEvent::Gap { peer, .. } => up.get_mut(&peer).expect("a gap of nobody").gap = true,
            BusEvent::Frame { header, body } => {
                let stream = up.get_mut(&header.sender).expect("a frame of nobody");
                if header.target == Incarnation::ALL {
                    let is_long = header.item_seq.is_multiple_of(97);
                    let length = if is_long { 2 * MAX_FRAME_BYTES } else { 3 };
                    assert!(body.len() == length && body.ends_with(&[header.item_seq as u8]));
                    stream.follow(header.item_seq);
                } else {
                    stream.belongs_to(header.item);
                }
            }
        });
        self.port.work(now);
    }

    /// Publishes one frame to all, and one to each peer.
    fn speak(&mut self) {
        let kind = match self.role {
            Role::Hub => Kind::Item,
            Role::Server => Kind::Generic,
        };
        self.serial += 1;
        let mut header = FrameHeader::new(kind, Incarnation::ALL, 0);
        header.item_seq = self.serial;
        // Some are as long as they are meant to be, in pieces.
        let is_long = self.serial.is_multiple_of(97);
        let body = vec![self.serial as u8; if is_long { 2 * MAX_FRAME_BYTES } else { 3 }];
        self.port.publish(header, &[&body]);
        for peer in self.up.keys() {
            self.port.publish(FrameHeader::new(kind, *peer, self.meetings[peer]), &[b"one"]);
        }
    }
}

impl Stream {
    /// What is missing was reported first.
    fn follow(&mut self, serial: u32) {
        if let Some(last) = self.last {
            assert!(serial > last, "{serial} after {last}");
            assert!(serial == last + 1 || self.gap, "a silent hole from {last} to {serial}");
        }
        self.last = Some(serial);
        self.gap = false;
    }

    /// All that comes in one meeting was sent in one meeting.
    fn belongs_to(&mut self, meeting: u32) {
        assert_eq!(*self.meeting.get_or_insert(meeting), meeting, "of another meeting");
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// One fault, or the end of one.
fn strike(
    network: &Network,
    watchers: &mut BTreeMap<Incarnation, Watcher>,
    dice: &mut Dice,
    now: Time,
) {
    let (hub, server) = (dice.pick(&HUBS), dice.pick(&SERVERS));
    let (from, to) = if dice.below(2) == 0 { (hub, server) } else { (server, hub) };
    match dice.below(8) {
        0 => network.cut(from, to),
        1 => network.partition(from, to),
        2 | 3 => network.join(from, to),
        4 => network.set_loss(from, to, dice.below(300_000) as u32),
        5 => network.set_path_delay(from, to, Duration::from_millis(dice.below(700))),
        6 => network.set_stuck(from, dice.below(2) == 0),
        _ => {
            let watcher = watchers.get_mut(&from).expect("all of them stay");
            watcher.still_until = now.after(Duration::from_millis(dice.below(1500)));
        }
    }
}

fn run(seed: u64) -> Vec<u64> {
    let network = Network::new(seed);
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut watchers = BTreeMap::new();
    for (role, members) in [(Role::Hub, &HUBS[..]), (Role::Server, &SERVERS[..])] {
        for &member in members {
            watchers.insert(member, Watcher::new(&network, role, member));
        }
    }
    let mut now = Time::ZERO;
    for turn in 0..6_000_u64 {
        now = now.after(Duration::from_millis(2));
        if turn < 4_000 && dice.below(40) == 0 {
            strike(&network, &mut watchers, &mut dice, now);
        }
        if turn == 4_000 {
            calm(&network, &mut watchers);
        }
        for watcher in watchers.values_mut() {
            watcher.turn(now);
            if dice.below(3) == 0 {
                watcher.speak();
            }
        }
    }
    for (who, watcher) in &watchers {
        let peers = if watcher.role == Role::Hub { SERVERS.len() } else { HUBS.len() };
        assert_eq!(watcher.up.len(), peers, "{who} is alone");
        for (peer, stream) in &watcher.up {
            assert_eq!(stream.meeting, Some(watchers[peer].meetings[who]), "{who} and {peer}");
        }
    }
    watchers.values().map(|watcher| watcher.port.counters().received).collect()
}

fn calm(network: &Network, watchers: &mut BTreeMap<Incarnation, Watcher>) {
    for hub in HUBS {
        for server in SERVERS {
            network.join(hub, server);
            network.set_path_delay(hub, server, Duration::ZERO);
            network.set_path_delay(server, hub, Duration::ZERO);
        }
    }
    for (&who, watcher) in watchers {
        network.set_stuck(who, false);
        watcher.still_until = Time::ZERO;
    }
}

#[test]
fn no_silent_hole_no_frame_of_an_earlier_meeting_and_all_meet_again() {
    for seed in 0..60 {
        run(seed);
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
