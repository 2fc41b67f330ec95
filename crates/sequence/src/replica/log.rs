//! Entries from the leader to the others, and what is committed by that.

use tapeline_time::Time;

use super::{Body, CommitMode, Member, Position, Replica, ReplicaOutputs};
use crate::entry::Entry;

impl Replica {
    // ---- the leader

    /// The leader's sequencer made an entry, which it has in memory.
    pub fn appended(&mut self, entry: &Entry<'_>, out: &mut impl ReplicaOutputs) {
        let before = self.end();
        let head = entry.head();
        debug_assert!(self.is_leading(), "others make no entries");
        debug_assert_eq!((head.index, head.term), (before.index + 1, self.term()));
        self.terms.push(head.term);
        let body = Body::Append {
            before,
            committed: self.committed,
            last: head.index,
            entries: entry.bytes(),
        };
        for other in self.others() {
            let peer = self.peer(other);
            // Who is behind has it in its turn.
            if peer.next == head.index && !peer.is_probed && out.has_room(other) {
                peer.next += 1;
                self.say(other, body, out);
            }
        }
        self.count_positions();
    }

    /// Tells the others that there is a leader, and sends what they do not have.
    pub(super) fn beat(&mut self, now: Time, out: &mut impl ReplicaOutputs) {
        let election = self.config.election;
        let mut peers = self.others().map(|other| &self.peers[usize::from(other.0)]);
        let there = 1 + peers.by_ref().filter(|peer| now.since(peer.heard) < election).count();
        if there < self.majority() {
            return self.step_down(now);
        }
        self.due = now.after(self.config.heartbeat);
        for other in self.others() {
            if !self.feed(other, out) {
                let before = self.before(self.peers[usize::from(other.0)].next);
                let (committed, last) = (self.committed, self.end().index);
                let body = Body::Append { before, committed, last, entries: &[] };
                self.say(other, body, out);
            }
        }
        self.count_positions();
    }

    fn before(&self, next: u64) -> Position {
        let index = next.saturating_sub(1);
        Position { term: self.terms.at(index).unwrap_or(0), index }
    }

    /// Sends one slice of what another one does not have. Returns whether something
    /// was sent.
    fn feed(&mut self, to: Member, out: &mut impl ReplicaOutputs) -> bool {
        let peer = self.peers[usize::from(to.0)];
        let last = self.end().index;
        if peer.next > last || peer.is_probed || !out.has_room(to) {
            return false;
        }
        let mut slice = std::mem::take(&mut self.slice);
        slice.clear();
        out.read(to, peer.next, self.config.slice_bytes, &mut slice);
        let (mut rest, mut next) = (&slice[..], peer.next);
        while let Some(entry) = Entry::own(rest).filter(|entry| entry.head().index == next) {
            rest = &rest[entry.bytes().len()..];
            next += 1;
        }
        let entries = &slice[..slice.len() - rest.len()];
        let is_sent = !entries.is_empty();
        if is_sent {
            let before = self.before(peer.next);
            let body = Body::Append { before, committed: self.committed, last, entries };
            self.say(to, body, out);
            self.peer(to).next = next;
        }
        self.slice = slice;
        is_sent
    }

    /// Another one says what it has.
    pub(super) fn answered(
        &mut self,
        now: Time,
        from: Member,
        matches: bool,
        (held, synced): (u64, u64),
        out: &mut impl ReplicaOutputs,
    ) {
        let last = self.end().index;
        let peer = self.peer(from);
        peer.heard = now;
        if !matches {
            peer.held = peer.held.min(held);
            peer.synced = peer.synced.min(held);
            peer.next = held.min(last) + 1;
            peer.is_probed = true;
            let before = self.before(self.peers[usize::from(from.0)].next);
            let body = Body::Append { before, committed: self.committed, last, entries: &[] };
            return self.say(from, body, out);
        }
        peer.is_probed = false;
        peer.held = peer.held.max(held);
        peer.synced = peer.synced.max(synced);
        peer.next = peer.next.max(peer.held + 1);
        self.count_positions();
        self.feed(from, out);
    }

    /// What a majority has is committed.
    fn count_positions(&mut self) {
        if !self.is_leading() {
            return;
        }
        let own = self.config.own;
        let is_by_disk = self.config.mode != CommitMode::Memory;
        let here = if is_by_disk { self.synced } else { self.end().index };
        let place = |(at, peer): (usize, &super::Peer)| match at == usize::from(own.0) {
            true => here,
            false if is_by_disk => peer.synced,
            false => peer.held,
        };
        // The highest position that a majority has reached.
        let positions = || self.peers.iter().enumerate().map(place);
        let has_majority =
            |index: &u64| positions().filter(|held| held >= index).count() >= self.majority();
        let agreed = positions().filter(has_majority).max().unwrap_or(0);
        // What is of an earlier term may still be replaced, whoever has it.
        if agreed > self.committed && self.terms.at(agreed) == Some(self.term()) {
            self.committed = agreed;
        }
    }

    // ---- everybody

    /// Entries up to this one are on this one's disk.
    pub fn synced(&mut self, index: u64, out: &mut impl ReplicaOutputs) {
        let index = index.min(self.end().index);
        if index <= self.synced {
            return;
        }
        self.synced = index;
        self.count_positions();
        if self.config.mode == CommitMode::Disk
            && let Some(leader) = self.leader.filter(|_| !self.is_leading())
        {
            self.acknowledge(leader, out);
        }
    }

    // ---- the others

    fn acknowledge(&self, leader: Member, out: &mut impl ReplicaOutputs) {
        let (held, synced) = (self.matched, self.synced.min(self.matched));
        self.say(leader, Body::AppendReply { matches: true, held, synced }, out);
    }

    /// Entries of the leader.
    pub(super) fn take(
        &mut self,
        from: Member,
        before: Position,
        (committed, last): (u64, u64),
        entries: &[u8],
        out: &mut impl ReplicaOutputs,
    ) {
        let sure_at = *self.sure_at.get_or_insert(last);
        let has_it =
            before.index <= self.committed || self.terms.at(before.index) == Some(before.term);
        if !has_it {
            let end = self.end().index;
            let held = match before.index > end {
                true => end,
                false => {
                    self.committed.max(self.terms.first_of_term(before.index).saturating_sub(1))
                }
            };
            return self.say(from, Body::AppendReply { matches: false, held, synced: 0 }, out);
        }
        let Some(reached) = self.take_entries(before.index, entries, out) else { return };
        self.matched = self.matched.max(reached);
        self.committed = self.committed.max(committed.min(self.matched));
        self.is_sure |= self.matched >= sure_at;
        self.acknowledge(from, out);
    }

    /// Appends what is new of some entries, and has what contradicts them cut off.
    /// Returns up to where they go; `None` if they are none.
    fn take_entries(
        &mut self,
        before: u64,
        entries: &[u8],
        out: &mut impl ReplicaOutputs,
    ) -> Option<u64> {
        let (mut rest, mut index, mut new) = (entries, before, None);
        while !rest.is_empty() {
            let (entry, behind) = Entry::read(rest).ok()?;
            let head = entry.head();
            if head.index != index + 1 {
                return None;
            }
            index = head.index;
            // What is committed is what the leader has, too.
            let is_here = index <= self.committed || self.terms.at(index) == Some(head.term);
            if new.is_none() && !is_here {
                new = Some((index, rest));
            }
            rest = behind;
        }
        if let Some((first, mut rest)) = new {
            if first <= self.end().index {
                self.terms.cut(first - 1);
                self.synced = self.synced.min(first - 1);
                out.cut(first - 1);
            }
            out.append(rest);
            while let Some(entry) = Entry::own(rest) {
                self.terms.push(entry.head().term);
                rest = &rest[entry.bytes().len()..];
            }
        }
        Some(index)
    }
}
