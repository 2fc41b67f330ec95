//! Agreement among replicas: one of them leads, and what it tells of cannot be lost
//! by the death of any one.
//!
//! ```text
//!  commands ─▶ Sequencer ─▶ entry ─▶ Replica (leader) ──Append──▶ Replica (follower) ─▶ journal
//!                             │          ▲    │                        │
//!                             ▼          └────│──────AppendReply───────┘
//!                          journal ──synced──▶│
//!                                             ▼ committed
//! ```
//!
//! What it promises, with every message delayed, doubled, reordered or lost, links
//! cut in one direction or both, replicas killed and started again, and disks that
//! take their time:
//!
//! - Entries that are committed anywhere are the same everywhere, in the same places,
//!   for ever. In a term there is at most one leader.
//! - `Disk`: an entry that was committed is there as long as a majority of disks is.
//!   `Memory`: as long as no two of three are killed before the first of them has
//!   caught up again. `Single`: as long as the one disk is.
//! - A leader that hears from no majority steps down within an election time-out, and
//!   commits nothing meanwhile. What it made and did not commit is cut off when it
//!   meets its successor.
//!
//! Terms, votes, and that a leader commits by count only what is of its own term are
//! Raft's, with its pre-vote: whoever returns from behind a cut link disturbs nobody.
//! One rule is not. A replica whose memory counted, and who lost it, or who has a new
//! disk, may have acknowledged what it does not have any more; it votes only when it
//! has caught up with a leader, or has heard from all others and votes for the longest
//! log of all ([`is_sure`](Replica::is_sure)). So a market needs all of its replicas
//! for its first start, and in mode `Memory` after all of them were killed. What was
//! on its way to one who died must not reach its next life, as is so with connections.
//!
//! It may touch nothing: what it does goes through [`ReplicaOutputs`], which has
//! links, the journal and the ballot. The cost on the way of an entry is one message to
//! each follower, which borrows the entry's bytes, and a look at as many positions as
//! there are replicas when one answers; nothing is allocated, but when a follower is
//! behind and entries are read again for it.

mod election;
mod log;
mod message;
mod terms;

use std::time::Duration;

use tapeline_time::Time;

pub use message::{Body, MESSAGE_HEAD, ReplicaMessage};
pub use terms::Terms;

/// One of the replicas, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(pub u8);

/// When an entry is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitMode {
    /// The one disk has it: there are no others.
    Single,
    /// A majority of the replicas has it in memory; their disks follow.
    #[default]
    Memory,
    /// A majority of the disks has it.
    Disk,
}

/// The end of a log: whose is longest is whose is greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The term of an entry.
    pub term: u32,
    /// Its number.
    pub index: u64,
}

/// What a replica must not forget, whatever happens to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ballot {
    /// The highest term that it has heard of.
    pub term: u32,
    /// For whom it voted in it.
    pub voted: Option<Member>,
}

/// How a replica is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaConfig {
    /// Which one it is.
    pub own: Member,
    /// How many there are.
    pub members: u8,
    /// When an entry is committed.
    pub mode: CommitMode,
    /// A leader with nothing to say says so that often.
    pub heartbeat: Duration,
    /// Who hears from no leader for so long, and up to as long again, stands for
    /// election; a leader that hears from no majority for so long steps down.
    pub election: Duration,
    /// Bytes of entries that a follower which is behind is sent at one go, if one
    /// entry is not more.
    pub slice_bytes: usize,
    /// Draws when to stand for election.
    pub seed: u64,
}

impl Default for ReplicaConfig {
    /// The only one.
    fn default() -> Self {
        Self {
            own: Member(0),
            members: 1,
            mode: CommitMode::Single,
            heartbeat: Duration::from_millis(50),
            election: Duration::from_millis(500),
            slice_bytes: 256 << 10,
            seed: 1,
        }
    }
}

/// The log that a replica finds at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogState {
    /// The terms of its entries.
    pub terms: Terms,
    /// Everything up to this entry is known to be committed.
    pub committed: u64,
    /// Nothing that the replica ever acknowledged is missing: its disk is what counts,
    /// and is the one that it always had, or it ended in order.
    pub is_whole: bool,
}

/// What a replica does.
pub trait ReplicaOutputs {
    /// A message goes to another one. It may be lost.
    fn send(&mut self, to: Member, message: &ReplicaMessage<'_>);

    /// Whether the link takes more entries now.
    fn has_room(&self, to: Member) -> bool;

    /// Keeps the ballot, on stable storage when this returns. Returns whether it is
    /// kept: if not, there is no vote.
    fn keep(&mut self, ballot: Ballot) -> bool;

    /// Entries of the leader follow the last ones.
    fn append(&mut self, entries: &[u8]);

    /// Entries behind this one were never committed and are gone.
    fn cut(&mut self, last: u64);

    /// Appends whole entries from this one on to `out`, which another one misses: at
    /// least one, not many more bytes than `most_bytes`. None if they cannot be had at
    /// once; then it is asked again.
    fn read(&mut self, to: Member, from: u64, most_bytes: usize, out: &mut Vec<u8>);
}

/// What a replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It follows a leader, or waits for one.
    Follower,
    /// It asks whether the others would vote for it.
    PreCandidate,
    /// It asks for votes.
    Candidate,
    /// It leads.
    Leader,
}

/// What is known of another one.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    /// The next entry to be sent.
    next: u64,
    /// Up to where it has the leader's entries, and has them on its disk.
    held: u64,
    synced: u64,
    /// Where its log begins to differ is being found out.
    is_probed: bool,
    heard: Time,
    /// Where its log ended when it said so last, in this life of ours.
    log: Option<Position>,
    has_voted: bool,
}

/// One replica.
#[derive(Debug)]
pub struct Replica {
    config: ReplicaConfig,
    ballot: Ballot,
    role: Role,
    leader: Option<Member>,
    /// When the leader was heard of last.
    led: Time,
    terms: Terms,
    synced: u64,
    committed: u64,
    /// Up to where the log is known to be that of the leader of this term.
    matched: u64,
    is_sure: bool,
    /// When the log is the leader's up to here, nothing is missing in it.
    sure_at: Option<u64>,
    peers: Vec<Peer>,
    due: Time,
    random: u64,
    slice: Vec<u8>,
    elections: u64,
}

impl Replica {
    /// One that starts with a log and a ballot, all of it on its disk.
    pub fn new(config: ReplicaConfig, ballot: Ballot, log: LogState, now: Time) -> Self {
        let mut replica = Self {
            config,
            ballot,
            role: Role::Follower,
            leader: None,
            led: now,
            synced: log.terms.end().index,
            terms: log.terms,
            committed: log.committed,
            matched: 0,
            is_sure: log.is_whole,
            sure_at: None,
            peers: vec![Peer::default(); usize::from(config.members)],
            due: now,
            random: config.seed ^ (u64::from(config.own.0) << 32),
            slice: Vec::new(),
            elections: 0,
        };
        replica.wait_for_leader(now);
        if config.members <= 1 {
            replica.due = now;
        }
        replica
    }

    /// What it is.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Whether it leads.
    pub fn is_leading(&self) -> bool {
        self.role == Role::Leader
    }

    /// Who leads, as far as it knows.
    pub const fn leader(&self) -> Option<Member> {
        self.leader
    }

    /// Its term.
    pub const fn term(&self) -> u32 {
        self.ballot.term
    }

    /// Everything up to this entry is committed.
    pub const fn committed(&self) -> u64 {
        self.committed
    }

    /// The end of its log.
    pub fn end(&self) -> Position {
        self.terms.end()
    }

    /// Whether all that it ever acknowledged is in its log.
    pub const fn is_sure(&self) -> bool {
        self.is_sure
    }

    /// How often it stood for election.
    pub const fn elections(&self) -> u64 {
        self.elections
    }

    /// Of the leader: up to where another one has its entries.
    pub fn held_by(&self, member: Member) -> u64 {
        self.peers.get(usize::from(member.0)).map_or(0, |peer| peer.held)
    }

    /// When [`timeout`](Self::timeout) is to be called at the latest.
    pub const fn deadline(&self) -> Time {
        self.due
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, out: &mut impl ReplicaOutputs) {
        if now < self.due {
            return;
        }
        match self.role {
            Role::Leader => self.beat(now, out),
            _ => self.stand(now, out),
        }
    }

    /// A message has come.
    pub fn received(
        &mut self,
        now: Time,
        message: &ReplicaMessage<'_>,
        out: &mut impl ReplicaOutputs,
    ) {
        let ReplicaMessage { from, term, body } = *message;
        if from == self.config.own || usize::from(from.0) >= self.peers.len() {
            return;
        }
        match body {
            Body::PreVote { log } => self.pre_vote(now, from, term, log, out),
            Body::PreVoteReply { granted } => self.pre_voted(now, from, (term, granted), out),
            Body::Vote { log } => self.vote(now, from, term, log, out),
            Body::VoteReply { granted } => self.voted(now, from, (term, granted), out),
            Body::Append { before, committed, last, entries } => {
                if self.follow(now, from, term, out) {
                    self.take(from, before, (committed, last), entries, out);
                }
            }
            Body::AppendReply { matches, held, synced } => {
                if term > self.ballot.term {
                    self.adopt(now, term, out);
                } else if term == self.ballot.term && self.is_leading() {
                    self.answered(now, from, matches, (held, synced), out);
                }
            }
        }
    }

    /// The link to another one broke: if that was the leader, nobody waits for long.
    pub fn lost(&mut self, now: Time, member: Member) {
        if self.leader == Some(member) && !self.is_leading() {
            self.leader = None;
            let most = self.config.election / 4;
            self.due = self.due.min(now.after(self.draw(most)));
        }
    }

    fn others(&self) -> impl Iterator<Item = Member> + use<> {
        let own = self.config.own;
        (0..self.config.members).map(Member).filter(move |member| *member != own)
    }

    fn peer(&mut self, member: Member) -> &mut Peer {
        &mut self.peers[usize::from(member.0)]
    }

    const fn majority(&self) -> usize {
        self.config.members as usize / 2 + 1
    }

    fn say(&self, to: Member, body: Body<'_>, out: &mut impl ReplicaOutputs) {
        let (from, term) = (self.config.own, self.ballot.term);
        out.send(to, &ReplicaMessage { from, term, body });
    }

    /// A duration up to this one (splitmix64).
    fn draw(&mut self, most: Duration) -> Duration {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.random;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^= drawn >> 31;
        Duration::from_nanos(drawn % (most.as_nanos() as u64 + 1))
    }

    fn wait_for_leader(&mut self, now: Time) {
        let election = self.config.election;
        let more = self.draw(election);
        self.due = now.after(election + more);
    }
}
