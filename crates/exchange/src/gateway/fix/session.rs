//! A session of FIX at a gateway: what outlives a connection there.

use tapeline_fix::{CompIds, Store, Writer};

use crate::core::{NOTED_EVERY, Note, Numbers, Progress};
use crate::gateway::words::{FixBegun, FixReport};

/// What outlives a connection of a user.
#[derive(Debug)]
pub(super) struct Session {
    ids: CompIds,
    pub(super) store: Store,
    pub(super) user: u16,
    day: u32,
    /// The last report that has a number here, and the last that its client has for sure.
    pub(super) last: u64,
    pub(super) had: u64,
    /// Of its beginning here, as the market calls it.
    pub(super) mark: u64,
    /// What the market was told last, by which request, while that is not decided; and
    /// what it keeps for sure.
    noted: Progress,
    request: Option<u64>,
    kept: Progress,
    frame: Vec<u8>,
}

impl Session {
    pub(super) fn new(messages: usize) -> Self {
        Self {
            ids: CompIds::default(),
            store: Store::new(messages),
            user: 0,
            day: 0,
            last: 0,
            had: 0,
            mark: 0,
            noted: Progress::START,
            request: None,
            kept: Progress::START,
            frame: Vec::with_capacity(1024),
        }
    }

    /// Its client is let in, as the market says.
    pub(super) fn begin(&mut self, ids: CompIds, begun: &FixBegun) {
        let FixBegun { first, day, had, last, mark, user, .. } = *begun;
        if first > 0 {
            self.store.restart(first);
            self.had = had;
        }
        self.had = self.had.max(had);
        (self.ids, self.day, self.last, self.mark, self.user) = (ids, day, last, mark, user);
        self.kept = self.progress();
        (self.noted, self.request) = (self.kept, None);
    }

    /// A report of the market gets its number. Returns the bytes that go out.
    pub(super) fn pass_on(&mut self, now_ns: u64, head: &FixReport, body: &[u8]) -> &[u8] {
        let Self { ids, store, frame, .. } = self;
        let kind = (head.msg_type.as_bytes(), head.is_again != 0);
        store.pass_on(ids, now_ns, kind, body, frame);
        self.last = head.report;
        &self.frame
    }

    /// A message that is no report of the market. Returns the bytes that go out.
    pub(super) fn write(
        &mut self,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> &[u8] {
        let Self { ids, store, frame, .. } = self;
        store.write(ids, now_ns, msg_type, false, body, frame);
        frame
    }

    const fn progress(&self) -> Progress {
        Progress { next_out: self.store.next_out(), told: self.last }
    }

    /// How many numbers of no report the market may not know of.
    pub(super) const fn unkept(&self) -> u32 {
        self.progress().unreported_since(self.kept)
    }

    /// Whether the market has to hear of its numbers.
    pub(super) const fn is_due(&self) -> bool {
        self.progress().unreported_since(self.noted) >= NOTED_EVERY
    }

    /// What the market was told may be decided: it keeps it then.
    pub(super) fn look(&mut self, is_decided: impl FnOnce(u64) -> bool) {
        if self.request.is_some_and(is_decided) {
            (self.kept, self.request) = (self.noted, None);
        }
    }

    /// What the market was told it will not keep.
    pub(super) fn not_kept(&mut self, request: u64) {
        if self.request == Some(request) {
            (self.noted, self.request) = (self.kept, None);
        }
    }

    /// What the market is to be told, by a request.
    pub(super) fn take_note(&mut self, note: Note, request: u64) -> Numbers {
        (self.noted, self.request) = (self.progress(), Some(request));
        Numbers {
            own: self.ids.own,
            peer: self.ids.peer,
            next_out: self.noted.next_out,
            day: self.day,
            told: self.last,
            user: self.user,
            kind: note as u8,
            unsure: u32::try_from(self.last.saturating_sub(self.had)).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(first: u32, last: u64) -> FixBegun {
        FixBegun { first, last, had: 5, user: 3, mark: 9, ..FixBegun::default() }
    }

    fn heartbeats(session: &mut Session, count: u32) {
        let (ids, mut frame) = (session.ids, Vec::new());
        (0..count).for_each(|_| session.store.write_once(&ids, 0, b"0", |_| {}, &mut frame));
    }

    #[test]
    fn the_market_hears_of_numbers_before_more_are_used_than_another_process_skips() {
        let mut session = Session::new(4);
        session.begin(CompIds::new(b"FGW", b"ANN"), &begun(5_001, 7));
        let head = FixReport { report: 8, ..FixReport::default() };
        session.pass_on(0, &head, b"58=x\x01");
        heartbeats(&mut session, NOTED_EVERY - 1);
        // Reports do not count: whoever goes on knows of them.
        assert!(!session.is_due());
        heartbeats(&mut session, 1);
        assert!(session.is_due());
        let note = session.take_note(Note::Numbers, 1);
        let wanted = (5_001 + 1 + NOTED_EVERY, 8, 3);
        assert_eq!((note.next_out, note.told, note.unsure), wanted);
        assert!(!session.is_due());
        heartbeats(&mut session, 10);
        session.look(|_| false);
        assert_eq!(session.unkept(), NOTED_EVERY + 10, "not before it is kept");
        session.look(|request| request == 1);
        assert_eq!(session.unkept(), 10);
        // What is not kept is told again.
        session.take_note(Note::Numbers, 2);
        session.not_kept(2);
        session.look(|_| true);
        assert_eq!(session.unkept(), 10);
    }

    #[test]
    fn numbers_go_on_here_and_begin_where_the_market_says_if_it_was_elsewhere() {
        let mut session = Session::new(4);
        session.begin(CompIds::new(b"FGW", b"ANN"), &begun(5_001, 7));
        heartbeats(&mut session, 3);
        session.had = 6;
        session.begin(session.ids, &begun(0, 9));
        assert_eq!((session.store.next_out(), session.last, session.had), (5_004, 9, 6));
        session.begin(session.ids, &begun(10_007, 5));
        assert_eq!((session.store.next_out(), session.last, session.had), (10_007, 5, 5));
        assert_eq!(session.store.next_in(), 0, "its client says");
    }
}
