//! One host of the world: a replica with its sequencer, its memory and its disk.

use tapeline_sequence::{
    Ballot, Command, CommitMode, Entry, Kind, Limits, LogState, Member, NotTaken, Replica,
    ReplicaConfig, ReplicaMessage, ReplicaOutputs, Sequencer, Source, Terms,
};
use tapeline_time::Time;

use super::Draws;

/// What a replica's outputs go to.
#[derive(Debug, Default)]
struct Around {
    sent: Vec<(usize, Vec<u8>)>,
    ballot: Ballot,
    /// All entries; the first ones are on the disk, too.
    log: Vec<Vec<u8>>,
    on_disk: usize,
    cuts: u32,
}

impl ReplicaOutputs for Around {
    fn send(&mut self, to: Member, message: &ReplicaMessage<'_>) {
        let mut bytes = Vec::new();
        message.append_to(&mut bytes);
        self.sent.push((usize::from(to.0), bytes));
    }

    fn has_room(&self, _: Member) -> bool {
        self.sent.len() < 20
    }

    fn keep(&mut self, ballot: Ballot) -> bool {
        self.ballot = ballot;
        true
    }

    fn append(&mut self, mut entries: &[u8]) {
        while let Ok((entry, behind)) = Entry::read(entries) {
            self.log.push(entry.bytes().to_vec());
            entries = behind;
        }
    }

    fn cut(&mut self, last: u64) {
        self.cuts += 1;
        self.log.truncate(last as usize);
        self.on_disk = self.on_disk.min(last as usize);
    }

    fn read(&mut self, _: Member, from: u64, most_bytes: usize, out: &mut Vec<u8>) {
        for entry in &self.log[from as usize - 1..] {
            if !out.is_empty() && out.len() + entry.len() > most_bytes {
                return;
            }
            out.extend_from_slice(entry);
        }
    }
}

#[derive(Debug)]
pub(super) struct Host {
    config: ReplicaConfig,
    replica: Option<Replica>,
    around: Around,
    life: u32,
    is_whole: bool,
    is_syncing: bool,
    /// What its disk has is all that it ever acknowledged.
    has_caught_up: bool,
    /// The sequencer, while this one leads, and the term.
    sequencer: Option<(u32, Sequencer)>,
    /// The entry that this one began its term with.
    began: u64,
    told: u64,
}

impl Host {
    pub(super) fn new(config: ReplicaConfig) -> Self {
        let mut host = Self {
            config,
            replica: None,
            around: Around::default(),
            life: 0,
            is_whole: false,
            is_syncing: false,
            has_caught_up: false,
            sequencer: None,
            began: 0,
            told: 0,
        };
        host.start(Time::ZERO);
        host
    }

    /// Starts with what is on the disk, if it does not run.
    pub(super) fn start(&mut self, now: Time) {
        if self.replica.is_some() {
            return;
        }
        self.life += 1;
        let (mut terms, mut committed) = (Terms::default(), 0);
        for entry in &self.around.log {
            let head = *Entry::read(entry).expect("an entry").0.head();
            terms.push(head.term);
            committed = head.committed;
        }
        // A host that never ran may be a new one with an old name.
        let keeps_all = self.config.mode != CommitMode::Memory && self.has_caught_up;
        let is_whole = self.is_whole || keeps_all;
        let log = LogState { terms, committed, is_whole };
        self.replica = Some(Replica::new(self.config, self.around.ballot, log, now));
        (self.is_syncing, self.told) = (false, 0);
    }

    /// Ends: what is not on the disk is lost, or some of it, or in an orderly end
    /// nothing.
    pub(super) fn end(&mut self, is_orderly: bool, draws: &mut Draws) {
        let Some(replica) = self.replica.take() else { return };
        self.has_caught_up = replica.is_sure();
        self.sequencer = None;
        self.is_whole = is_orderly;
        if !is_orderly {
            let more = self.around.log.len() - self.around.on_disk;
            let survives = if draws.one_in(2) { 0 } else { draws.below(more as u64 + 1) as usize };
            self.around.log.truncate(self.around.on_disk + survives);
        }
        self.around.on_disk = self.around.log.len();
        self.around.sent.clear();
    }

    /// Ends, and has an empty disk the next time.
    pub(super) fn lose_disk(&mut self, draws: &mut Draws) {
        self.end(false, draws);
        self.around = Around { cuts: self.around.cuts, ..Around::default() };
        self.has_caught_up = false;
    }

    /// Which of its lives it is in, if it lives.
    pub(super) fn life(&self) -> Option<u32> {
        self.replica.as_ref().map(|_| self.life)
    }

    pub(super) fn is_sure(&self) -> bool {
        self.replica.as_ref().is_some_and(Replica::is_sure)
    }

    /// Whether it leads, and what was before it is decided.
    pub(super) fn is_leading(&self) -> bool {
        let leads = |replica: &Replica| replica.is_leading() && replica.committed() >= self.began;
        self.sequencer.is_some() && self.replica.as_ref().is_some_and(leads)
    }

    /// Whether it leads by its own account.
    pub(super) fn is_elected(&self) -> bool {
        self.replica.as_ref().is_some_and(Replica::is_leading)
    }

    /// In which life and term it leads.
    pub(super) fn reign(&self) -> (u32, u32) {
        (self.life, self.sequencer.as_ref().map_or(0, |(term, _)| *term))
    }

    pub(super) fn timeout(&mut self, now: Time) {
        if let Some(replica) = &mut self.replica {
            replica.timeout(now, &mut self.around);
        }
    }

    pub(super) fn received(&mut self, now: Time, message: &ReplicaMessage<'_>) {
        if let Some(replica) = &mut self.replica {
            replica.received(now, message, &mut self.around);
        }
    }

    pub(super) fn synced(&mut self, life: u32, cuts: u32, index: u64) {
        let Some(replica) = self.replica.as_mut().filter(|_| life == self.life) else { return };
        self.is_syncing = false;
        // What was cut meanwhile is written again.
        if cuts == self.around.cuts {
            self.around.on_disk = self.around.on_disk.max(index as usize);
            replica.synced(index, &mut self.around);
        }
    }

    pub(super) fn begins_to_sync(&mut self) -> Option<(u32, u32, u64)> {
        let has_more = self.around.log.len() > self.around.on_disk;
        if self.is_syncing || !has_more || self.replica.is_none() {
            return None;
        }
        self.is_syncing = true;
        Some((self.life, self.around.cuts, self.around.log.len() as u64))
    }

    /// Who was elected takes up the log and begins its term with an entry. Returns
    /// the term.
    pub(super) fn lead_if_elected(&mut self, now: Time) -> Option<u32> {
        let replica = self.replica.as_ref()?;
        let term = replica.term();
        if !replica.is_leading() {
            self.sequencer = None;
            return None;
        }
        if self.sequencer.as_ref().is_some_and(|(own, _)| *own == term) {
            return None;
        }
        let mut sequencer = Sequencer::new(Limits::default());
        for entry in &self.around.log {
            sequencer.resume(&Entry::read(entry).expect("an entry").0);
        }
        sequencer.set_term(term);
        let number = sequencer.last_number(Source::OWN) + 1;
        let begins = Command { kind: Kind::LEAD, number, ..Command::default() };
        sequencer.offer(&begins).expect("room");
        self.began = self.around.log.len() as u64 + 1;
        self.sequencer = Some((term, sequencer));
        self.sequence(now);
        Some(term)
    }

    /// A command of a gateway comes to who leads.
    pub(super) fn offer(&mut self, source: u16, number: u64) -> Result<(), NotTaken> {
        let Some((_, sequencer)) = &mut self.sequencer else { return Err(NotTaken::Full) };
        let (kind, source) = (Kind::NEW, Source(source));
        sequencer.offer(&Command { kind, source, number, payload: b"order", ..Command::default() })
    }

    /// What waits becomes an entry. Returns whether there is one.
    pub(super) fn sequence(&mut self, now: Time) -> bool {
        let (Some((_, sequencer)), Some(replica)) = (&mut self.sequencer, &mut self.replica) else {
            return false;
        };
        if !replica.is_leading() {
            return false;
        }
        sequencer.commit(replica.committed());
        let mut bytes = Vec::new();
        if sequencer.sequence(now.as_nanos(), &mut bytes).is_none() {
            return false;
        }
        let entry = Entry::own(&bytes).expect("an entry");
        self.around.log.push(bytes.clone());
        replica.appended(&entry, &mut self.around);
        true
    }

    pub(super) fn outgoing(&mut self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.around.sent)
    }

    /// The next entry that this one says is committed.
    pub(super) fn next_committed(&mut self) -> Result<Option<(u64, Vec<u8>)>, String> {
        let Some(replica) = &self.replica else { return Ok(None) };
        if self.told >= replica.committed() {
            return Ok(None);
        }
        self.told += 1;
        match self.around.log.get(self.told as usize - 1) {
            Some(entry) => Ok(Some((self.told, entry.clone()))),
            None => Err(format!("entry {} is committed and not there", self.told)),
        }
    }

    pub(super) fn log(&self) -> &[Vec<u8>] {
        &self.around.log
    }

    pub(super) fn cuts(&self) -> u32 {
        self.around.cuts
    }
}
