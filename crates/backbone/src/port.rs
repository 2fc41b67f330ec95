//! A member of the backbone over any way to carry frames.

use std::time::Duration;

use tapeline_rssl::Time;

use crate::bus::{Bus, Counters};
use crate::frame::{BusEvent, FrameFlags, FrameHeader, Incarnation, Role};
use crate::outbound::{Outbound, Sink};
use crate::presence::{Fault, Peers, Verdict, write_presence};

/// A way for frames to arrive: the streams of all peers, each in its order.
pub trait Source {
    /// Hands about `limit` frames to `on_frame`. Returns how many it read.
    fn poll(&mut self, now: Time, limit: usize, on_frame: impl FnMut(&[u8])) -> usize;

    /// Turns its wheels.
    fn work(&mut self, now: Time);

    /// Why it is broken, if it is.
    fn failure(&self) -> Option<&str>;
}

/// What a port is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Which side it is on.
    pub role: Role,
    /// Its name in logs and statistics of peers; at most 64 bytes are sent.
    pub name: String,
    /// Its identity. Draw a new one at every start.
    pub incarnation: Incarnation,
    /// How often it says that it is there. Default 100 ms.
    pub presence_interval: Duration,
    /// After how long without a frame a peer counts as gone. It should be
    /// several times the interval of presence. Default 500 ms.
    pub silence: Duration,
    /// How much may wait when the network does not take frames, in bytes.
    /// Default 4 MiB; it must exceed the longest frame.
    pub queue_bytes: usize,
    /// How many peers it keeps apart, at most 255. Default 128.
    pub max_peers: usize,
    /// The number of its first frame. Default 0.
    pub first_stream_seq: u32,
}

impl PortSettings {
    /// The defaults, with an identity drawn at random.
    pub fn new(role: Role, name: &str) -> Self {
        Self {
            role,
            name: name.to_owned(),
            incarnation: Incarnation::random(),
            presence_interval: Duration::from_millis(100),
            silence: Duration::from_millis(500),
            queue_bytes: 4 << 20,
            max_peers: 128,
            first_stream_seq: 0,
        }
    }
}

/// A hub's or a server's member of the backbone.
///
/// Dropping a port without [`Bus::leave`] is what a crash looks like: peers
/// notice it by its silence.
#[derive(Debug)]
pub struct Port<S, R> {
    // Declared before the inbound half: publications close before subscriptions.
    outbound: Outbound<S>,
    source: R,
    peers: Peers,
    settings: PortSettings,
    next_presence: Time,
    presence: Vec<u8>,
    gone: Vec<Incarnation>,
    left: bool,
    inbound: Counters,
}

impl<S: Sink, R: Source> Port<S, R> {
    /// A port that sends into `sink` and receives from `source`.
    pub fn new(settings: PortSettings, sink: S, source: R) -> Self {
        let PortSettings { incarnation, role, silence, max_peers, .. } = settings;
        Self {
            outbound: Outbound::new(
                sink,
                incarnation,
                settings.queue_bytes,
                settings.first_stream_seq,
            ),
            source,
            peers: Peers::new(incarnation, role, silence, max_peers),
            settings,
            next_presence: Time::ZERO,
            presence: Vec::new(),
            gone: Vec::new(),
            left: false,
            inbound: Counters::default(),
        }
    }

    fn say_presence(&mut self, flags: FrameFlags) {
        let Self { outbound, peers, settings, presence, .. } = self;
        say_presence(outbound, peers, settings, presence, flags);
    }
}

fn say_presence<S: Sink>(
    outbound: &mut Outbound<S>,
    peers: &mut Peers,
    settings: &PortSettings,
    body: &mut Vec<u8>,
    flags: FrameFlags,
) {
    write_presence(body, settings.role, &settings.name, peers.seen());
    outbound.publish_presence(flags, body);
    peers.news = false;
}

impl<S: Sink, R: Source> Bus for Port<S, R> {
    type Outbound = Outbound<S>;

    fn incarnation(&self) -> Incarnation {
        self.settings.incarnation
    }

    fn outbound(&mut self) -> &mut Self::Outbound {
        &mut self.outbound
    }

    fn poll(
        &mut self,
        now: Time,
        limit: usize,
        mut on_event: impl FnMut(BusEvent<'_>, &mut Self::Outbound),
    ) -> usize {
        let Self { outbound, source, peers, gone, inbound, settings, presence, left, .. } = self;
        let read = source.poll(now, limit, |frame| {
            inbound.received += 1;
            let Some((header, links, body)) = FrameHeader::decode_linked(frame) else {
                inbound.malformed += 1;
                return;
            };
            let verdict = peers.hear(now, &header, links, body);
            count(inbound, &verdict);
            if verdict.down {
                outbound.part(header.sender);
                on_event(BusEvent::PeerDown { peer: header.sender }, outbound);
            }
            if let Some(meeting) = verdict.up {
                outbound.meet(meeting);
                if !*left {
                    // It may not know yet that it is heard, and would not read
                    // what the owner now says to all.
                    say_presence(outbound, peers, settings, presence, FrameFlags::empty());
                }
                let name = peers.name(header.sender);
                on_event(BusEvent::PeerUp { peer: header.sender, name }, outbound);
            }
            if verdict.gap {
                on_event(BusEvent::Gap { peer: header.sender }, outbound);
            }
            if verdict.deliver {
                on_event(BusEvent::Frame { header, body }, outbound);
            }
        });
        peers.expire(now, |peer| gone.push(peer));
        for peer in gone.drain(..) {
            outbound.part(peer);
            on_event(BusEvent::PeerDown { peer }, outbound);
        }
        read
    }

    fn work(&mut self, now: Time) -> usize {
        self.source.work(now);
        let sent = self.outbound.work(now);
        if !self.left && (self.peers.news || now >= self.next_presence) {
            self.next_presence = now.after(self.settings.presence_interval);
            self.say_presence(FrameFlags::empty());
        }
        sent
    }

    fn leave(&mut self, now: Time) {
        if !self.left {
            self.left = true;
            self.say_presence(FrameFlags::BYE);
            self.work(now);
        }
    }

    fn counters(&self) -> Counters {
        let Outbound { sent, queued, dropped, unheard, no_peer, too_large, .. } = self.outbound;
        Counters {
            sent,
            queued,
            dropped,
            unheard,
            no_peer,
            too_large,
            queue_bytes: self.outbound.queue_bytes(),
            peers: self.outbound.peers(),
            ..self.inbound
        }
    }

    fn failure(&self) -> Option<&str> {
        self.outbound.failure().or_else(|| self.source.failure())
    }
}

fn count(counters: &mut Counters, verdict: &Verdict) {
    if verdict.gap {
        counters.gaps += 1;
        counters.lost += u64::from(verdict.lost);
    }
    match verdict.fault {
        None => {}
        Some(Fault::Stale) => counters.stale += 1,
        Some(Fault::Early) => counters.early += 1,
        Some(Fault::Malformed) => counters.malformed += 1,
        Some(Fault::Crowded) => counters.crowded += 1,
    }
}
