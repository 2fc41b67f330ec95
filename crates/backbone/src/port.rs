//! A member of the backbone over any way to carry frames.

use std::time::Duration;

use tapeline_planted::planted;
use tapeline_time::Time;

use crate::bus::{Bus, Counters};
use crate::frame::{BusEvent, FrameFlags, FrameHeader, Incarnation, Role};
use crate::merge::PathCounts;
use crate::outbound::{FrameSink, Outbound};
use crate::pieces::{Joined, MAX_PARTIAL_BYTES, Partials};
use crate::presence::{
    ClockOffset, Fault, Key, MAX_PEERS, Membership, Peers, Said, Verdict, write_presence,
};
use crate::rows::PeerRow;

/// A way for frames to arrive: the streams of all peers, each in its order.
pub trait FrameSource {
    /// Hands about `limit` frames to `on_frame`. Returns how many it read.
    fn poll(&mut self, now: Time, limit: usize, on_frame: impl FnMut(&[u8])) -> usize;

    /// Turns its wheels.
    fn work(&mut self, now: Time);

    /// Whether frames can arrive. One that is not ready comes back by itself.
    fn is_ready(&self) -> bool;

    /// Why it is not ready, if something failed.
    fn failure(&self) -> Option<&str>;

    /// The sessions at the media driver by which frames of a peer come, one for each
    /// network; none where there is no driver.
    fn sessions_of(&self, _peer: Incarnation) -> Vec<i32> {
        Vec::new()
    }

    /// Where the same comes over several networks: what came of that.
    fn path_counts(&self) -> PathCounts {
        PathCounts::default()
    }
}

/// What a port is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// Which side it is on.
    pub role: Role,
    /// Its name in logs and statistics of peers; at most 64 bytes are sent.
    pub name: String,
    /// The system of which it is a member, at most 64 bytes. Who says another
    /// one is no peer. Default: without a name.
    pub system: String,
    /// What proves that a peer belongs to the system. Default none: no proof is
    /// asked for.
    pub key: Option<Key>,
    /// Its identity. Draw a new one at every start.
    pub incarnation: Incarnation,
    /// How often it says that it is there. Default 100 ms.
    pub presence_interval: Duration,
    /// After how long without a frame a peer counts as gone. It should be
    /// several times the interval of presence. Default 500 ms.
    pub silence: Duration,
    /// How much may wait when the network does not take frames, in bytes.
    /// Default 4 MiB. Frames longer than a quarter of it are cut into pieces,
    /// for which there is other room.
    pub queue_bytes: usize,
    /// How long frames may wait for others, so that datagrams carry more; they leave
    /// sooner when 64 KiB wait, and presence waits for nothing. Default 0: each frame
    /// leaves at once. [`Backbone`](crate::Backbone) takes it for hubs on a network.
    pub flush_interval: Duration,
    /// How many peers it keeps apart, at most [`MAX_PEERS`], the default.
    pub max_peers: usize,
    /// The number of its first frame. Default 0.
    pub first_stream_seq: u32,
    /// The clock by which messages are stamped. Default: that of the turns.
    pub host_clock: HostClock,
}

/// A clock that all processes of a host share, if it is another one than that of the
/// turns.
#[derive(Clone, Copy, Default)]
pub struct HostClock(pub Option<fn() -> Time>);

impl HostClock {
    fn now(self, now: Time) -> Time {
        self.0.map_or(now, |clock| clock())
    }
}

impl std::fmt::Debug for HostClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "HostClock(its own)" } else { "HostClock(of turns)" })
    }
}

impl PartialEq for HostClock {
    /// A host has one.
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

impl Eq for HostClock {}

impl PortSettings {
    /// The defaults, with an identity drawn at random.
    pub fn new(role: Role, name: &str) -> Self {
        Self {
            role,
            name: name.to_owned(),
            system: String::new(),
            key: None,
            incarnation: Incarnation::random(),
            presence_interval: Duration::from_millis(100),
            silence: Duration::from_millis(500),
            queue_bytes: 4 << 20,
            flush_interval: Duration::ZERO,
            max_peers: MAX_PEERS,
            first_stream_seq: 0,
            host_clock: HostClock::default(),
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
    partials: Partials,
    settings: PortSettings,
    next_presence: Time,
    presence: Vec<u8>,
    gone: Vec<Incarnation>,
    /// When it was polled last.
    polled: Time,
    /// Both halves were ready at the last look.
    was_ready: bool,
    left: bool,
    inbound: Counters,
}

impl<S: FrameSink, R: FrameSource> Port<S, R> {
    /// A port that sends into `sink` and receives from `source`.
    pub fn new(settings: PortSettings, sink: S, source: R) -> Self {
        let PortSettings { incarnation, role, silence, max_peers, .. } = settings;
        let membership = Membership { system: settings.system.clone(), key: settings.key.clone() };
        Self {
            outbound: Outbound::new(sink, &settings),
            source,
            peers: Peers::new(incarnation, role, membership, silence, max_peers),
            partials: Partials::new(MAX_PARTIAL_BYTES),
            settings,
            next_presence: Time::ZERO,
            presence: Vec::new(),
            gone: Vec::new(),
            polled: Time::ZERO,
            was_ready: false,
            left: false,
            inbound: Counters::default(),
        }
    }

    /// Sees whether it was cut off. If so, all peers are gone, and it begins
    /// anew: what it knew of them belongs to before.
    fn look(&mut self) {
        let is_ready = self.is_ready();
        if self.was_ready && !is_ready {
            let incarnation = self.settings.incarnation.successor();
            self.settings.incarnation = incarnation;
            self.outbound.renew(incarnation);
            let Self { peers, gone, .. } = self;
            peers.renew(incarnation, |peer| gone.push(peer));
            self.inbound.renewals += 1;
        }
        self.was_ready = is_ready;
    }

    /// Its name, as peers see it.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The last one on the network that was no member of the system, as
    /// `system/name`; empty for none.
    pub fn last_stranger(&self) -> &str {
        self.peers.stranger()
    }

    fn say_presence(&mut self, now: Time, flags: FrameFlags) {
        let Self { outbound, peers, settings, presence, .. } = self;
        say_presence((now, outbound), peers, settings, presence, flags);
    }

    fn host_now_ns(&self) -> u64 {
        self.settings.host_clock.now(self.polled).as_nanos()
    }
}

fn say_presence<S: FrameSink>(
    (now, outbound): (Time, &mut Outbound<S>),
    peers: &mut Peers,
    settings: &PortSettings,
    body: &mut Vec<u8>,
    flags: FrameFlags,
) {
    let PortSettings { role, name, system, host_clock, .. } = settings;
    let moments = peers.moments(host_clock.now(now).as_nanos());
    let membership = peers.membership();
    let tag_bytes = membership.tag_bytes();
    let said = Said { role: *role, name, system, tag_bytes, moments };
    write_presence(body, &said, peers.seen());
    outbound.publish_presence(flags, body, membership);
    peers.news = false;
}

impl<S: FrameSink, R: FrameSource> Bus for Port<S, R> {
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
        self.look();
        self.polled = now;
        let Self { outbound, source, peers, partials, gone, inbound, .. } = self;
        let Self { settings, presence, left, .. } = self;
        let read = source.poll(now, limit, |frame| {
            inbound.received += 1;
            let Some((header, links, body)) = FrameHeader::decode_linked(frame) else {
                inbound.malformed += 1;
                return;
            };
            let host_now = || settings.host_clock.now(now);
            let verdict = peers.hear((now, host_now), &header, links, body);
            count(inbound, &verdict);
            if verdict.down {
                partials.forget(header.sender);
                outbound.part(header.sender);
                on_event(BusEvent::PeerDown { peer: header.sender }, outbound);
            }
            if let Some(meeting) = verdict.up {
                outbound.meet(meeting);
                if !*left {
                    // It may not know yet that it is heard, and would not read
                    // what the owner now says to all.
                    say_presence((now, outbound), peers, settings, presence, FrameFlags::empty());
                }
                let name = peers.name(header.sender);
                on_event(BusEvent::PeerUp { peer: header.sender, name }, outbound);
            }
            if verdict.gap && !planted!(SilentGap) {
                inbound.given_up += u64::from(partials.forget(header.sender));
                let (peer, lost) = (header.sender, verdict.lost);
                on_event(BusEvent::Gap { peer, name: peers.name(peer), lost }, outbound);
            }
            if verdict.deliver && header.is_piece() {
                let name = peers.name(header.sender);
                join(partials, inbound, (header, name), body, |event| on_event(event, outbound));
            } else if verdict.deliver {
                on_event(BusEvent::Frame { header, body }, outbound);
            }
        });
        peers.expire(now, |peer| gone.push(peer));
        for peer in gone.drain(..) {
            partials.forget(peer);
            outbound.part(peer);
            if planted!(UnnoticedDeath) {
                continue;
            }
            on_event(BusEvent::PeerDown { peer }, outbound);
        }
        read
    }

    fn work(&mut self, now: Time) -> usize {
        self.source.work(now);
        let sent = self.outbound.work(now);
        let is_due = self.peers.news || now >= self.next_presence;
        if is_due && !self.left && self.is_ready() {
            self.next_presence = now.after(self.settings.presence_interval);
            self.say_presence(now, FrameFlags::empty());
        }
        sent
    }

    fn leave(&mut self, now: Time) {
        if !self.left {
            self.left = true;
            self.say_presence(now, FrameFlags::BYE);
            self.work(now);
        }
    }

    fn peers(&self) -> Vec<PeerRow> {
        self.peers.rows(self.host_now_ns(), |peer| self.source.sessions_of(peer))
    }

    fn clock_of(&self, peer: Incarnation) -> Option<ClockOffset> {
        self.peers.clock_of(peer, self.host_now_ns())
    }

    fn counters(&self) -> Counters {
        let Outbound { sent, queued, dropped, unheard, no_peer, too_large, cut, .. } =
            self.outbound;
        let paths = self.source.path_counts();
        Counters {
            sent,
            queued,
            dropped,
            unheard,
            no_peer,
            too_large,
            cut,
            partial_bytes: self.partials.bytes(),
            queue_bytes: self.outbound.queue_bytes(),
            long_queue_bytes: self.outbound.long_queue_bytes(),
            peers: self.outbound.peers(),
            path_duplicates: paths.duplicates,
            path_waits: paths.held,
            path_passed_by: self.outbound.passed_by(),
            paths_silent: paths.silent,
            path_losses: paths.losses,
            ..self.inbound
        }
    }

    fn is_ready(&self) -> bool {
        self.outbound.is_ready() && self.source.is_ready()
    }

    fn failure(&self) -> Option<&str> {
        self.outbound.failure().or_else(|| self.source.failure())
    }
}

/// Puts a piece to the frame that it is of, and hands on a frame that is
/// complete.
#[cold]
fn join(
    partials: &mut Partials,
    counters: &mut Counters,
    (mut header, name): (FrameHeader, &str),
    body: &[u8],
    mut on_event: impl FnMut(BusEvent<'_>),
) {
    match partials.join(&header, body) {
        Joined::Waits | Joined::Late => {}
        Joined::Whole(body) => {
            counters.joined += 1;
            header.flags.remove(FrameFlags::MORE | FrameFlags::CONTINUED);
            on_event(BusEvent::Frame { header, body: &body });
        }
        refused => {
            counters.given_up += 1;
            counters.malformed += u64::from(refused == Joined::Malformed);
            counters.gaps += 1;
            on_event(BusEvent::Gap { peer: header.sender, name, lost: 1 });
        }
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
        Some(Fault::Stranger) => counters.strangers += 1,
        Some(Fault::Unproved) => counters.unproved += 1,
    }
}
