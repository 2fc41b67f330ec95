//! The table of peers: who is heard, who hears us, and what is missing.

use std::time::Duration;

use tapeline_time::Time;

use super::body::{MAX_NAME_BYTES, Presence, Seen};
use super::clocks::{Clock, ClockOffset, Moments};
use super::membership::Membership;
use crate::frame::{FrameFlags, FrameHeader, Incarnation, Kind, Links, Role};
use crate::rows::PeerRow;

/// How many peers a presence lists.
pub const MAX_PEERS: usize = u8::MAX as usize;

/// The peers of the other role.
///
/// A peer is *heard* as soon as its presence comes, as a member of the same
/// system, and *up* when it also hears us: it names us in its presence, or sends a frame to us. Only what
/// comes from a peer that is up counts. This way neither side speaks to one
/// that cannot hear it, and no request is lost at the start.
///
/// Each time a peer is heard anew, the table numbers the meeting. A peer that
/// forgot us and met us again gives another number, which is how we learn that
/// its memory of us is gone: it goes down and up. A frame to us that echoes an
/// older number of ours belongs to a meeting that we gave up, and is dropped.
#[derive(Debug)]
pub(crate) struct Peers {
    me: Incarnation,
    role: Role,
    membership: Membership,
    silence: Duration,
    capacity: usize,
    table: Vec<Peer>,
    /// The last one that was no member: its system and its name.
    stranger: String,
    last_link: u8,
    /// The peer of which the next presence says when it was heard.
    moments_turn: usize,
    last_expiry: Option<Time>,
    /// No peer was heard before this: until it is too long ago, none is to be looked at.
    all_heard_since: Time,
    /// A peer does not know yet that it is heard.
    pub(crate) news: bool,
}

#[derive(Debug)]
struct Peer {
    incarnation: Incarnation,
    name: String,
    heard: Time,
    /// The number of the frame that comes next.
    next_seq: u32,
    /// Our number of this meeting; never 0.
    link: u8,
    /// Its number of this meeting; 0 while it is not up.
    their_link: u8,
    /// Holes in its stream, and frames missing in them.
    gaps: u64,
    lost: u64,
    clock: Clock,
}

/// A peer that is up, and what a frame to it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meeting {
    pub(crate) peer: Incarnation,
    pub(crate) links: Links,
}

/// What a frame means to the owner of the table, in this order: the peer goes
/// down, it comes up, frames of it are missing, the frame is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) down: bool,
    pub(crate) up: Option<Meeting>,
    pub(crate) gap: bool,
    pub(crate) deliver: bool,
    /// Frames that are missing, as far as it can be told.
    pub(crate) lost: u32,
    pub(crate) fault: Option<Fault>,
}

/// Why a frame is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It belongs to an earlier meeting.
    Stale,
    /// It is of a peer that is not known, or to all of one that is not up.
    Early,
    /// Its body is no presence.
    Malformed,
    /// The table is full.
    Crowded,
    /// It is presence of another system.
    Stranger,
    /// It is presence without the proof that the system asks for.
    Unproved,
}

impl Verdict {
    fn fault(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

impl Peers {
    /// A table of `role` itself, called `me`. A peer is gone after `silence`.
    pub(crate) fn new(
        me: Incarnation,
        role: Role,
        membership: Membership,
        silence: Duration,
        capacity: usize,
    ) -> Self {
        Self {
            me,
            role,
            membership,
            silence,
            capacity: capacity.min(MAX_PEERS),
            table: Vec::new(),
            stranger: String::with_capacity(2 * MAX_NAME_BYTES + 1),
            last_link: 0,
            moments_turn: 0,
            last_expiry: None,
            all_heard_since: Time::ZERO,
            news: true,
        }
    }

    /// Begins anew as `me`, without peers; `on_down` gets those that were up.
    pub(crate) fn renew(&mut self, me: Incarnation, mut on_down: impl FnMut(Incarnation)) {
        self.me = me;
        for peer in self.table.drain(..).filter(|peer| peer.their_link != 0) {
            on_down(peer.incarnation);
        }
    }

    /// The name of a peer, empty while it is unknown.
    pub(crate) fn name(&self, peer: Incarnation) -> &str {
        self.table.iter().find(|entry| entry.incarnation == peer).map_or("", |peer| &peer.name)
    }

    /// All that are heard, for whoever looks.
    pub(crate) fn rows(
        &self,
        host_now_ns: u64,
        sessions_of: impl Fn(Incarnation) -> Vec<i32>,
    ) -> Vec<PeerRow> {
        let now = self.table.iter().map(|peer| peer.heard).max().unwrap_or(Time::ZERO);
        let row = |peer: &Peer| {
            let clock = peer.clock.at(host_now_ns);
            let sessions = sessions_of(peer.incarnation);
            let sessions: Vec<_> = sessions.iter().map(i32::to_string).collect();
            PeerRow {
                name: peer.name.clone(),
                incarnation: peer.incarnation.to_string(),
                sessions: (!sessions.is_empty()).then(|| sessions.join(" ")),
                is_up: peer.their_link != 0,
                position: peer.next_seq,
                gaps: peer.gaps,
                lost: peer.lost,
                silent_ms: now.since(peer.heard).as_millis() as u64,
                clock_offset_ns: clock.map(|clock| clock.offset_ns),
                clock_error_ns: clock.map(|clock| clock.error_ns),
            }
        };
        self.table.iter().map(row).collect()
    }

    /// All that are heard, for our own presence.
    pub(crate) fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        self.table.iter().map(|peer| Seen { peer: peer.incarnation, link: peer.link })
    }

    /// How far the clock of a peer is from ours, if that is known.
    pub(crate) fn clock_of(&self, peer: Incarnation, host_now_ns: u64) -> Option<ClockOffset> {
        self.table[self.find(peer)?].clock.at(host_now_ns)
    }

    /// What our next presence, which is sent now, says of moments.
    pub(crate) fn moments(&mut self, host_now_ns: u64) -> Moments {
        let said = Moments { sent_ns: host_now_ns, ..Moments::default() };
        self.moments_turn = (self.moments_turn + 1) % self.table.len().max(1);
        let Some(peer) = self.table.get(self.moments_turn) else { return said };
        let Some((its_sent_ns, heard_ns)) = peer.clock.last else { return said };
        Moments { peer: peer.incarnation.0, its_sent_ns, heard_ns, ..said }
    }

    /// Takes note of a frame, which is read at `now`; `host_now` says when that is by
    /// the clock of the host, and is asked for presence alone.
    pub(crate) fn hear(
        &mut self,
        (now, host_now): (Time, impl FnOnce() -> Time),
        header: &FrameHeader,
        links: Links,
        body: &[u8],
    ) -> Verdict {
        if header.kind == Kind::Presence {
            return self.hear_presence((now, host_now().as_nanos()), header, body);
        }
        if header.kind.sender() != Some(self.role.other()) || header.sender == Incarnation::ALL {
            return Verdict::default();
        }
        let Some(at) = self.find(header.sender) else {
            return Verdict::fault(Fault::Early);
        };
        let me = self.me;
        let peer = &mut self.table[at];
        let mut verdict = peer.follow(now, header.stream_seq);
        peer.count(&verdict);
        peer.next_seq = header.stream_seq.wrapping_add(1);
        if header.target == me {
            if links.echo != peer.link || links.link == 0 {
                verdict.fault = Some(Fault::Stale);
                return verdict;
            }
            peer.hears_us(links.link, &mut verdict);
            verdict.deliver = true;
        } else if header.target == Incarnation::ALL {
            verdict.deliver = peer.their_link != 0;
            verdict.fault = (!verdict.deliver).then_some(Fault::Early);
        }
        verdict
    }

    fn hear_presence(
        &mut self,
        (now, host_now_ns): (Time, u64),
        header: &FrameHeader,
        body: &[u8],
    ) -> Verdict {
        let Some(presence) = Presence::decode(body) else {
            return Verdict::fault(Fault::Malformed);
        };
        if presence.role != self.role.other() || header.sender == Incarnation::ALL {
            return Verdict::default();
        }
        if let Some(fault) = self.not_a_member(header, &presence) {
            self.remember(&presence);
            return Verdict::fault(fault);
        }
        if header.flags.contains(FrameFlags::BYE) {
            return self.goodbye(header.sender);
        }
        let Some(at) = self.place(now, header.sender, header.stream_seq) else {
            return Verdict::fault(Fault::Crowded);
        };
        let me = self.me;
        let peer = &mut self.table[at];
        let mut verdict = peer.follow(now, header.stream_seq);
        peer.count(&verdict);
        peer.next_seq = header.stream_seq;
        if peer.name != presence.name {
            peer.name.clear();
            peer.name.push_str(presence.name);
        }
        peer.hears_us(presence.link_to(me), &mut verdict);
        let is_about_us = presence.moments.peer == me.0;
        peer.clock.hear(&presence.moments, is_about_us, host_now_ns);
        verdict
    }

    fn not_a_member(&self, header: &FrameHeader, presence: &Presence<'_>) -> Option<Fault> {
        if presence.system != self.membership.system {
            return Some(Fault::Stranger);
        }
        let is_proved = self.membership.is_proved(header, presence.said, presence.tag);
        (!is_proved).then_some(Fault::Unproved)
    }

    fn remember(&mut self, stranger: &Presence<'_>) {
        self.stranger.clear();
        self.stranger.push_str(stranger.system);
        self.stranger.push('/');
        self.stranger.push_str(stranger.name);
    }

    /// The last one that was no member, as `system/name`; empty for none.
    pub(crate) fn stranger(&self) -> &str {
        &self.stranger
    }

    pub(crate) const fn membership(&self) -> &Membership {
        &self.membership
    }

    fn goodbye(&mut self, peer: Incarnation) -> Verdict {
        let Some(at) = self.find(peer) else { return Verdict::default() };
        let down = self.table.swap_remove(at).their_link != 0;
        Verdict { down, ..Verdict::default() }
    }

    fn find(&self, peer: Incarnation) -> Option<usize> {
        self.table.iter().position(|entry| entry.incarnation == peer)
    }

    /// Where the peer is, entered if it is new and there is room.
    fn place(&mut self, now: Time, peer: Incarnation, stream_seq: u32) -> Option<usize> {
        if let Some(at) = self.find(peer) {
            return Some(at);
        }
        if self.table.len() >= self.capacity {
            return None;
        }
        self.last_link = self.last_link.checked_add(1).unwrap_or(1);
        self.news = true;
        self.table.push(Peer {
            incarnation: peer,
            name: String::with_capacity(MAX_NAME_BYTES),
            heard: now,
            next_seq: stream_seq,
            link: self.last_link,
            their_link: 0,
            gaps: 0,
            lost: 0,
            clock: Clock::default(),
        });
        Some(self.table.len() - 1)
    }

    /// Forgets peers that were silent for too long; `on_down` gets those that
    /// were up.
    ///
    /// Of the time between two calls, no more than half the time of silence
    /// counts: if it was longer, then we were the one that stood still, and
    /// what the others said meanwhile may still wait to be read.
    pub(crate) fn expire(&mut self, now: Time, mut on_down: impl FnMut(Incarnation)) {
        let last = self.last_expiry.replace(now).unwrap_or(now);
        let stall = now.since(last).saturating_sub(self.silence / 2);
        let silence = self.silence;
        if stall.is_zero() && now.since(self.all_heard_since) <= silence {
            return;
        }
        self.all_heard_since = now;
        let all_heard_since = &mut self.all_heard_since;
        self.table.retain_mut(|peer| {
            peer.heard = peer.heard.after(stall).min(now.max(peer.heard));
            let alive = now.since(peer.heard) <= silence;
            if !alive && peer.their_link != 0 {
                on_down(peer.incarnation);
            }
            if alive {
                *all_heard_since = peer.heard.min(*all_heard_since);
            }
            alive
        });
    }
}

impl Peer {
    /// Whether the frame `stream_seq` is the one that comes next. Only a peer
    /// that is up can have gaps: of another one, nothing was used.
    fn follow(&mut self, now: Time, stream_seq: u32) -> Verdict {
        self.heard = now;
        let ahead = stream_seq.wrapping_sub(self.next_seq);
        let gap = ahead != 0 && self.their_link != 0;
        let lost = if gap && ahead < 1 << 31 { ahead } else { 0 };
        Verdict { gap, lost, ..Verdict::default() }
    }

    /// Takes note of what is missing, for whoever looks.
    fn count(&mut self, verdict: &Verdict) {
        if verdict.gap {
            self.gaps += 1;
            self.lost += u64::from(verdict.lost);
        }
    }

    /// The peer calls its meeting with us `link`; 0 means that it does not
    /// hear us.
    fn hears_us(&mut self, link: u8, verdict: &mut Verdict) {
        if link == self.their_link {
            return;
        }
        verdict.down = self.their_link != 0;
        verdict.gap = false;
        verdict.lost = 0;
        self.their_link = link;
        verdict.up = (link != 0).then_some(Meeting {
            peer: self.incarnation,
            links: Links { link: self.link, echo: link },
        });
    }
}

#[cfg(test)]
mod tests;
