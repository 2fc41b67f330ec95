//! A replica on sockets and files: what [`Replica`] decides is done here.
//!
//! It promises nothing of its own: what holds is what `tapeline_sequence` says of
//! replicas. It may touch the links to the others, the ballot beside the journal and
//! the journal's files, to read them. The cost on the way of an entry is a copy of it into
//! each link's buffer and one into the tail, and a write for each link and turn,
//! however many entries there are.

mod ballot;
mod links;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mio::Registry;
use tapeline_sequence::{
    Ballot, CommitMode, Entry, Identity, LogState, Member, Replica, ReplicaConfig, ReplicaMessage,
    ReplicaOutputs,
};
use tapeline_time::Time;

use super::catch_up::CatchUp;
use crate::core::Tail;
use crate::error::ExchangeError;
use links::{Common, Links, News};

/// Which replica this one is, and where the others are.
#[derive(Clone, Debug)]
pub struct ReplicaSettings {
    /// Its place in `members`, from 0.
    pub own: u8,
    /// Where each replica listens to the others.
    pub members: Vec<SocketAddr>,
    /// When an entry is committed.
    pub mode: CommitMode,
    /// How often a leader with nothing to say says so.
    pub heartbeat: Duration,
    /// After so long without a leader, and up to twice as long, another one stands.
    pub election: Duration,
}

/// What a replica's decisions go to.
#[derive(Debug)]
struct Around {
    links: Links,
    tail: Tail,
    catch_up: Vec<CatchUp>,
    dir: PathBuf,
    ballot: Ballot,
    /// Whether the journal has all that this one acknowledged, if it died now.
    is_whole: bool,
    /// What the leader sent, and what of the log is to go before it is taken.
    taken: Vec<u8>,
    cut: Option<u64>,
}

impl ReplicaOutputs for Around {
    fn send(&mut self, to: Member, message: &ReplicaMessage<'_>) {
        self.links.send(to, message);
    }

    fn has_room(&self, to: Member) -> bool {
        self.links.has_room(to)
    }

    fn keep(&mut self, ballot: Ballot) -> bool {
        self.ballot = ballot;
        match ballot::write(&self.dir, ballot, self.is_whole) {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, dir = %self.dir.display(), "the ballot cannot be kept");
                false
            }
        }
    }

    fn append(&mut self, entries: &[u8]) {
        self.taken.extend_from_slice(entries);
        self.tail.push(entries);
    }

    fn cut(&mut self, last: u64) {
        // What was taken in this turn is before it, or nothing was.
        debug_assert!(self.taken.is_empty(), "the shell takes entries after each message");
        self.tail.cut(last);
        self.cut = Some(last);
    }

    fn read(&mut self, to: Member, from: u64, most_bytes: usize, out: &mut Vec<u8>) {
        if self.tail.read(from, most_bytes, out) {
            return;
        }
        let Some(catch_up) = self.catch_up.get_mut(usize::from(to.0)) else { return };
        if let Err(error) = catch_up.read(from, most_bytes, out) {
            let dir = self.dir.display();
            tracing::error!(%error, %dir, from, "the journal cannot be read for a replica");
        }
    }
}

/// One of the replicas.
#[derive(Debug)]
pub(super) struct Team {
    replica: Replica,
    around: Around,
    /// The term in which this one leads.
    leads: Option<u32>,
    followed: Option<Member>,
    has_more: bool,
    mode: CommitMode,
    /// What it knew of its log is all there, as far as it has said.
    was_sure: bool,
    messages: Vec<u8>,
}

impl Team {
    /// Whether the journal has all that this one ever had, and its ballot.
    pub(super) fn ballot(dir: &std::path::Path) -> Result<(Ballot, bool), ExchangeError> {
        let read = ballot::read(dir);
        let found =
            read.map_err(|error| ExchangeError::JournalDir { dir: dir.to_owned(), error })?;
        Ok(found.unwrap_or_default())
    }

    pub(super) fn start(
        settings: &ReplicaSettings,
        (dir, identity): (PathBuf, Identity),
        (ballot, log): (Ballot, LogState),
        registry: &Registry,
        now: Time,
    ) -> Result<Self, ExchangeError> {
        let own = Member(settings.own);
        let members = settings.members.len() as u8;
        let common = Common { members, mode: settings.mode as u8, identity };
        let at = settings.members[usize::from(settings.own)];
        let links = Links::new(own, common, &settings.members, registry)
            .map_err(|error| ExchangeError::Listen { what: "replicas", at, error })?;
        // What only memory has makes it less than whole, until it ends in order.
        let is_whole = log.is_whole && settings.mode != CommitMode::Memory;
        ballot::write(&dir, ballot, is_whole)
            .map_err(|error| ExchangeError::JournalDir { dir: dir.clone(), error })?;
        let config = ReplicaConfig {
            own,
            members,
            mode: settings.mode,
            heartbeat: settings.heartbeat,
            election: settings.election,
            seed: u64::from(std::process::id()),
            ..ReplicaConfig::default()
        };
        let replica = Replica::new(config, ballot, log, now);
        let catch_up = settings.members.iter().map(|_| CatchUp::new(&dir)).collect();
        let around = Around {
            links,
            tail: Tail::default(),
            catch_up,
            dir,
            ballot,
            is_whole,
            taken: Vec::new(),
            cut: None,
        };
        let was_sure = replica.is_sure();
        Ok(Self {
            was_sure,
            mode: settings.mode,
            replica,
            around,
            leads: None,
            followed: None,
            has_more: false,
            messages: Vec::new(),
        })
    }

    /// One turn: what others say, and what is due. `told` gets what the market is to
    /// do, after each message: entries behind the one are to go, and the others come.
    pub(super) fn turn(
        &mut self,
        now: Time,
        registry: &Registry,
        mut told: impl FnMut(Option<u64>, &[u8]),
    ) {
        let mut news = News::default();
        self.around.links.look(now, registry, &mut news);
        for member in news.lost.drain(..) {
            self.replica.lost(now, member);
        }
        let mut messages = std::mem::take(&mut self.messages);
        self.around.links.read(&mut news, &mut messages);
        let mut rest = &messages[..];
        while let Some(length) = links::length(rest)
            && let Some((bytes, behind)) = rest.split_at_checked(length)
            && !self.is_deposed()
        {
            rest = behind;
            if let Some(message) = ReplicaMessage::read(bytes) {
                self.replica.received(now, &message, &mut self.around);
            }
            if !self.is_deposed() {
                self.around.tell(&mut told);
            }
        }
        messages.clear();
        self.messages = messages;
        if self.is_deposed() {
            return;
        }
        self.replica.timeout(now, &mut self.around);
        self.around.tell(&mut told);
        self.has_more = news.has_more;
        self.note_leader();
    }

    fn note_leader(&mut self) {
        if !self.was_sure && self.replica.is_sure() {
            self.was_sure = true;
            self.around.is_whole = self.mode != CommitMode::Memory;
            self.around.keep(self.around.ballot);
            tracing::info!(last = self.replica.end().index, "caught up: this one votes again");
        }
        let leader = self.replica.leader();
        if leader != self.followed && leader.is_some() {
            self.followed = leader;
            let (leader, term) = (leader.map_or(0, |leader| leader.0 + 1), self.replica.term());
            tracing::info!(leader, term, "a replica leads");
        }
    }

    /// The term, when this one was elected and does not know yet.
    pub(super) fn elected(&mut self) -> Option<u32> {
        let term = self.replica.term();
        if !self.replica.is_leading() || self.leads == Some(term) {
            return None;
        }
        debug_assert!(self.leads.is_none(), "a leader that is elected again starts anew");
        self.leads = Some(term);
        Some(term)
    }

    /// This one led, and does not any more.
    pub(super) fn is_deposed(&self) -> bool {
        self.leads.is_some_and(|term| !self.replica.is_leading() || self.replica.term() != term)
    }

    /// This one's sequencer made an entry.
    pub(super) fn made(&mut self, entry: &[u8]) {
        self.around.tail.push(entry);
        if let Some(entry) = Entry::own(entry).filter(|_| !self.is_deposed()) {
            self.replica.appended(&entry, &mut self.around);
        }
    }

    /// Up to where the journal is on the disk, and everything is committed.
    pub(super) fn committed(&mut self, synced: u64) -> u64 {
        self.replica.synced(synced, &mut self.around);
        self.replica.committed()
    }

    /// What was said goes out.
    pub(super) fn flush(&mut self) {
        self.around.links.flush();
    }

    pub(super) fn deadline(&self) -> Time {
        if self.has_more { Time::ZERO } else { self.replica.deadline() }
    }

    /// All that this one had is in its journal, if it knows that it had all of it.
    pub(super) fn end(&self) {
        let is_whole = self.replica.is_sure();
        if let Err(error) = ballot::write(&self.around.dir, self.around.ballot, is_whole) {
            tracing::error!(%error, "the ballot cannot be kept");
        }
    }

    /// Whether it leads, its term, how many others are connected, how often it stood.
    pub(super) fn counts(&self) -> (bool, u32, usize, u64) {
        let replica = &self.replica;
        (replica.is_leading(), replica.term(), self.around.links.up(), replica.elections())
    }
}

impl Around {
    fn tell(&mut self, told: &mut impl FnMut(Option<u64>, &[u8])) {
        if self.cut.is_some() || !self.taken.is_empty() {
            told(self.cut.take(), &self.taken);
            self.taken.clear();
        }
    }
}
