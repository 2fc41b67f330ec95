//! Who leads.

use tapeline_time::Time;

use super::{Ballot, Body, Member, Peer, Position, Replica, ReplicaMessage, ReplicaOutputs, Role};

impl Replica {
    /// Whether there is a leader that others need not replace.
    fn is_led(&self, now: Time) -> bool {
        let is_recent = now.since(self.led) < self.config.election;
        self.is_leading() || (self.leader.is_some() && is_recent)
    }

    /// Whether somebody with a log that ends there can have all that was committed.
    fn may_lead(&self, candidate: Member, log: Position) -> bool {
        if log < self.end() {
            return false;
        }
        // What this one had and lost, somebody else has who is not the candidate.
        let mut others = self.others().filter(|other| *other != candidate);
        let known = |other: Member| self.peers[usize::from(other.0)].log;
        self.is_sure || others.all(|other| known(other).is_some_and(|end| end <= log))
    }

    /// Nobody leads: would the others vote for this one?
    pub(super) fn stand(&mut self, now: Time, out: &mut impl ReplicaOutputs) {
        self.elections += 1;
        self.leader = None;
        self.role = Role::PreCandidate;
        self.count_own(self.end());
        self.wait_for_leader(now);
        let (from, term) = (self.config.own, self.ballot.term + 1);
        let body = Body::PreVote { log: self.end() };
        for other in self.others() {
            out.send(other, &ReplicaMessage { from, term, body });
        }
        self.count_pre_votes(now, out);
    }

    /// Votes are counted anew, beginning with one's own.
    fn count_own(&mut self, log: Position) {
        let own = self.config.own;
        let is_for_it = self.may_lead(own, log);
        self.peers.iter_mut().for_each(|peer| peer.has_voted = false);
        self.peer(own).has_voted = is_for_it;
    }

    fn has_majority(&self) -> bool {
        self.peers.iter().filter(|peer| peer.has_voted).count() >= self.majority()
    }

    /// Somebody asks whether it would be voted for.
    pub(super) fn pre_vote(
        &mut self,
        now: Time,
        from: Member,
        term: u32,
        log: Position,
        out: &mut impl ReplicaOutputs,
    ) {
        self.peer(from).log = Some(log);
        let granted = term > self.ballot.term && !self.is_led(now) && self.may_lead(from, log);
        let own = self.config.own;
        let term = if granted { term } else { self.ballot.term };
        out.send(from, &ReplicaMessage { from: own, term, body: Body::PreVoteReply { granted } });
    }

    pub(super) fn pre_voted(
        &mut self,
        now: Time,
        from: Member,
        (term, granted): (u32, bool),
        out: &mut impl ReplicaOutputs,
    ) {
        if granted && self.role == Role::PreCandidate && term == self.ballot.term + 1 {
            self.peer(from).has_voted = true;
            self.count_pre_votes(now, out);
        } else if !granted && term > self.ballot.term {
            self.adopt(now, term, out);
        }
    }

    /// Stands in earnest if a majority would vote for it.
    fn count_pre_votes(&mut self, now: Time, out: &mut impl ReplicaOutputs) {
        if !self.has_majority() {
            return;
        }
        let (own, log) = (self.config.own, self.end());
        let votes_itself = self.may_lead(own, log);
        let ballot = Ballot { term: self.ballot.term + 1, voted: Some(own) };
        if !out.keep(ballot) {
            return;
        }
        self.ballot = ballot;
        self.role = Role::Candidate;
        self.count_own(log);
        debug_assert_eq!(self.peers[usize::from(own.0)].has_voted, votes_itself);
        self.wait_for_leader(now);
        for other in self.others() {
            self.say(other, Body::Vote { log }, out);
        }
        self.count_votes(now, out);
    }

    /// Somebody asks for a vote.
    pub(super) fn vote(
        &mut self,
        now: Time,
        from: Member,
        term: u32,
        log: Position,
        out: &mut impl ReplicaOutputs,
    ) {
        self.peer(from).log = Some(log);
        if term > self.ballot.term {
            if self.is_led(now) {
                return;
            }
            self.adopt(now, term, out);
        }
        let is_free = self.ballot.voted.is_none_or(|voted| voted == from);
        let granted = term == self.ballot.term
            && self.role == Role::Follower
            && is_free
            && self.may_lead(from, log);
        if granted {
            let ballot = Ballot { term, voted: Some(from) };
            if self.ballot != ballot && !out.keep(ballot) {
                return;
            }
            self.ballot = ballot;
            self.wait_for_leader(now);
        }
        self.say(from, Body::VoteReply { granted }, out);
    }

    pub(super) fn voted(
        &mut self,
        now: Time,
        from: Member,
        (term, granted): (u32, bool),
        out: &mut impl ReplicaOutputs,
    ) {
        if term > self.ballot.term {
            self.adopt(now, term, out);
        } else if granted && self.role == Role::Candidate && term == self.ballot.term {
            self.peer(from).has_voted = true;
            self.count_votes(now, out);
        }
    }

    fn count_votes(&mut self, now: Time, out: &mut impl ReplicaOutputs) {
        if !self.has_majority() {
            return;
        }
        self.role = Role::Leader;
        self.leader = Some(self.config.own);
        // Others voted for this log: nothing that was committed is missing in it.
        self.is_sure = true;
        let next = self.end().index + 1;
        for peer in &mut self.peers {
            *peer = Peer { next, heard: now, log: peer.log, ..Peer::default() };
        }
        self.beat(now, out);
    }

    /// There is a higher term: whoever leads in it, it is not this one.
    pub(super) fn adopt(&mut self, now: Time, term: u32, out: &mut impl ReplicaOutputs) {
        // A term that is not kept binds nobody else: only votes have to be.
        self.ballot = Ballot { term, voted: None };
        let _ = out.keep(self.ballot);
        self.step_down(now);
    }

    pub(super) fn step_down(&mut self, now: Time) {
        self.role = Role::Follower;
        self.leader = None;
        self.matched = 0;
        self.sure_at = None;
        self.wait_for_leader(now);
    }

    /// Somebody leads in this term. Returns whether that is so.
    pub(super) fn follow(
        &mut self,
        now: Time,
        from: Member,
        term: u32,
        out: &mut impl ReplicaOutputs,
    ) -> bool {
        if term < self.ballot.term {
            let body = Body::AppendReply { matches: false, held: 0, synced: 0 };
            self.say(from, body, out);
            return false;
        }
        if term > self.ballot.term {
            self.adopt(now, term, out);
        }
        debug_assert!(!self.is_leading(), "a term has one leader");
        if self.role != Role::Follower {
            self.step_down(now);
        }
        self.leader = Some(from);
        self.led = now;
        self.wait_for_leader(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{CommitMode, LogState, ReplicaConfig, Terms};
    use super::*;

    /// Notes what was said to whom, and whether the ballot was kept by then.
    #[derive(Default)]
    struct Notes {
        kept: Ballot,
        is_broken: bool,
        granted: Vec<(u8, bool, Ballot)>,
    }

    impl ReplicaOutputs for Notes {
        fn send(&mut self, to: Member, message: &ReplicaMessage<'_>) {
            if let Body::VoteReply { granted } | Body::PreVoteReply { granted } = message.body {
                self.granted.push((to.0, granted, self.kept));
            }
        }

        fn has_room(&self, _: Member) -> bool {
            true
        }

        fn keep(&mut self, ballot: Ballot) -> bool {
            if !self.is_broken {
                self.kept = ballot;
            }
            !self.is_broken
        }

        fn append(&mut self, _: &[u8]) {}

        fn cut(&mut self, _: u64) {}

        fn read(&mut self, _: Member, _: u64, _: usize, _: &mut Vec<u8>) {}
    }

    fn replica(mode: CommitMode, ballot: Ballot, is_whole: bool) -> Replica {
        let config = ReplicaConfig { own: Member(0), members: 3, mode, ..ReplicaConfig::default() };
        let terms = Terms::behind(Position { term: 1, index: 10 });
        Replica::new(config, ballot, LogState { terms, committed: 5, is_whole }, Time::ZERO)
    }

    fn asks(replica: &mut Replica, from: u8, body: Body<'_>, notes: &mut Notes) -> bool {
        let now = Time::ZERO.after(Duration::from_secs(1));
        let message = ReplicaMessage { from: Member(from), term: 2, body };
        replica.received(now, &message, notes);
        notes.granted.pop().is_some_and(|(_, granted, _)| granted)
    }

    const LOG: Position = Position { term: 1, index: 10 };

    #[test]
    fn a_vote_is_on_the_disk_before_it_is_given_and_holds_behind_a_restart() {
        let (mut one, mut notes) =
            (replica(CommitMode::Disk, Ballot::default(), true), Notes::default());
        let now = Time::ZERO.after(Duration::from_secs(1));
        let message = ReplicaMessage { from: Member(1), term: 2, body: Body::Vote { log: LOG } };
        one.received(now, &message, &mut notes);
        let ballot = Ballot { term: 2, voted: Some(Member(1)) };
        assert_eq!(notes.granted, [(1, true, ballot)]);
        let mut again = replica(CommitMode::Disk, notes.kept, true);
        assert!(!asks(&mut again, 2, Body::Vote { log: LOG }, &mut notes));
        assert!(
            asks(&mut again, 1, Body::Vote { log: LOG }, &mut notes),
            "the same one asks again"
        );
        let mut other = replica(CommitMode::Disk, Ballot::default(), true);
        notes = Notes { is_broken: true, ..Notes::default() };
        assert!(!asks(&mut other, 1, Body::Vote { log: LOG }, &mut notes), "it cannot be kept");
    }

    #[test]
    fn who_may_have_lost_its_memory_votes_for_the_longest_log_of_all() {
        let mut notes = Notes::default();
        let mut one = replica(CommitMode::Memory, Ballot::default(), false);
        assert!(!one.is_sure());
        assert!(!asks(&mut one, 1, Body::PreVote { log: LOG }, &mut notes), "2 was not heard");
        let longer = Position { term: 1, index: 12 };
        assert!(asks(&mut one, 2, Body::PreVote { log: longer }, &mut notes), "the longest");
        assert!(!asks(&mut one, 1, Body::Vote { log: LOG }, &mut notes), "2 has more");
        assert!(asks(&mut one, 2, Body::Vote { log: longer }, &mut notes));
        let mut whole = replica(CommitMode::Memory, Ballot::default(), true);
        assert!(asks(&mut whole, 1, Body::Vote { log: LOG }, &mut notes), "it ended in order");
    }

    #[test]
    fn who_may_have_lost_its_memory_votes_for_itself_when_all_others_were_heard() {
        for (heard, role) in [(&[1][..], Role::PreCandidate), (&[1, 2], Role::Candidate)] {
            let mut notes = Notes::default();
            let mut one = replica(CommitMode::Memory, Ballot::default(), false);
            for from in heard {
                asks(&mut one, *from, Body::PreVote { log: LOG }, &mut notes);
            }
            one.timeout(Time::ZERO.after(Duration::from_secs(2)), &mut notes);
            let term = one.term() + 1;
            let body = Body::PreVoteReply { granted: true };
            let yes = ReplicaMessage { from: Member(1), term, body };
            one.received(Time::ZERO.after(Duration::from_secs(2)), &yes, &mut notes);
            assert_eq!(one.role(), role, "{heard:?} were heard");
        }
    }

    #[test]
    fn who_lost_its_memory_is_sure_again_when_it_has_caught_up() {
        let mut notes = Notes::default();
        let mut one = replica(CommitMode::Memory, Ballot::default(), false);
        let mut append = |before: Position, last| {
            let body = Body::Append { before, committed: 5, last, entries: &[] };
            asks(&mut one, 1, body, &mut notes);
            one.is_sure()
        };
        assert!(!append(LOG, 11), "the leader had one more");
        assert!(!append(LOG, 10), "and what it had first counts");
        let mut other = replica(CommitMode::Memory, Ballot::default(), false);
        let body = Body::Append { before: LOG, committed: 5, last: 10, entries: &[] };
        asks(&mut other, 1, body, &mut notes);
        assert!(other.is_sure());
    }
}
