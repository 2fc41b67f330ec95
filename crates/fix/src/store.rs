//! What outlives a connection.

use tapeline_layout::{Sections, Text, append_blob, append_section, message};

use crate::dictionary::is_admin;
use crate::frame::{MAX_MESSAGE, TRAILER};
use crate::header::MAX_NUMBER;
use crate::kept::Kept;
use crate::tag;
use crate::writer::{self, Writer};

/// The longest name of a side.
pub const MAX_COMP_ID: usize = 20;

/// The longest body of an application message: what is left beside the longest header.
pub const MAX_BODY: usize = MAX_MESSAGE - 256;

/// The names of both sides of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompIds {
    /// This side.
    pub own: Text<MAX_COMP_ID>,
    /// The other.
    pub peer: Text<MAX_COMP_ID>,
}

impl CompIds {
    /// Names, cut to [`MAX_COMP_ID`] bytes.
    pub fn new(own: &[u8], peer: &[u8]) -> Self {
        Self { own: Text::from_bytes(own), peer: Text::from_bytes(peer) }
    }
}

message! {
    /// A message that waits for a client; its body is behind all of these.
    WaitingState: 16, fill 0 {
        0 => msg_type: Text<4>,
        4 => len: u32,
        8 => sent_ns: u64,
    }
}

/// What is in front of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub(crate) number: u32,
    pub(crate) sent_ns: u64,
    /// When it was sent first, if this is not the first time: `PossDup`.
    pub(crate) orig_sent_ns: Option<u64>,
    /// `PossResend`.
    pub(crate) is_resent: bool,
}

impl Stamp {
    pub(crate) const fn new(number: u32, sent_ns: u64) -> Self {
        Self { number, sent_ns, orig_sent_ns: None, is_resent: false }
    }

    /// Appends a whole message. Returns how long its body is, which ends where the
    /// checksum begins.
    pub(crate) fn append(
        &self,
        out: &mut Vec<u8>,
        session: &CompIds,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> usize {
        let mut len = 0;
        writer::append(out, msg_type, |writer| {
            writer.number(tag::MSG_SEQ_NUM, self.number.into());
            writer.text(tag::SENDER_COMP_ID, session.own.as_bytes());
            writer.time(tag::SENDING_TIME, self.sent_ns);
            writer.text(tag::TARGET_COMP_ID, session.peer.as_bytes());
            if let Some(orig_sent_ns) = self.orig_sent_ns {
                writer.byte(tag::POSS_DUP_FLAG, b'Y');
                writer.time(tag::ORIG_SENDING_TIME, orig_sent_ns);
            }
            if self.is_resent {
                writer.byte(tag::POSS_RESEND, b'Y');
            }
            if !is_admin(msg_type) {
                writer.byte(tag::APPL_VER_ID, b'9');
            }
            len = writer.body(MAX_BODY, body);
        });
        len
    }
}

/// What outlives a connection: both numbers, and what was sent, so that it can be sent
/// again.
///
/// It sets aside half a kilobyte for each message that it keeps, twice: once for what
/// was sent, once for what waits for an absent client. It does not grow.
#[derive(Clone, Debug)]
pub struct Store {
    next_out: u32,
    /// `None` behind a failover, when only the other side knows.
    next_in: Option<u32>,
    sent: Kept,
    waiting: Kept,
    /// The report that is written next, or was last.
    report: u64,
}

/// A message that waits for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<'s> {
    /// The report that it is.
    pub report: u64,
    /// 35.
    pub msg_type: Text<4>,
    /// Its fields, without header and trailer.
    pub body: &'s [u8],
}

impl Store {
    /// Keeps the last `messages` application messages; what is older is filled by gap
    /// fills. As many wait for a client that is away, and no more.
    pub fn new(messages: usize) -> Self {
        let (sent, waiting) = (Kept::new(messages), Kept::new(messages));
        Self { next_out: 1, next_in: Some(1), sent, waiting, report: 0 }
    }

    /// The report that is written next, or was last.
    pub const fn report(&self) -> u64 {
        self.report
    }

    /// What is written from now on is this report, by a number that whoever writes them
    /// gives them; it rises by one each. By these numbers it is known, in whichever
    /// process, which ones a client has.
    pub const fn set_report(&mut self, report: u64) {
        self.report = report;
    }

    /// The number of the next message that goes out.
    pub const fn next_out(&self) -> u32 {
        self.next_out
    }

    /// The number of the next message that is to come; 0 if only the other side knows.
    pub const fn next_in(&self) -> u32 {
        match self.next_in {
            Some(number) => number,
            None => 0,
        }
    }

    /// Takes an application message and gives it the next number; `frame` is all of it
    /// then, and nothing else.
    ///
    /// With `is_absent` nobody is connected: it gets no number yet and `frame` is
    /// empty, and it goes out with `PossResend` behind the next logon.
    pub fn write(
        &mut self,
        session: &CompIds,
        now_ns: u64,
        msg_type: &[u8],
        is_absent: bool,
        body: impl FnOnce(&mut Writer<'_>),
        frame: &mut Vec<u8>,
    ) {
        frame.clear();
        if is_absent {
            body(&mut Writer::new(frame, MAX_BODY));
            self.wait(msg_type, now_ns, frame, self.report);
            return frame.clear();
        }
        let stamp = Stamp::new(self.take_number(), now_ns);
        let len = stamp.append(frame, session, msg_type, body);
        let end = frame.len() - TRAILER;
        self.sent.push(msg_type, stamp.number, now_ns, &frame[end - len..end]);
        self.sent.name_last(self.report);
    }

    fn wait(&mut self, msg_type: &[u8], now_ns: u64, body: &[u8], report: u64) {
        self.waiting.push(msg_type, 0, now_ns, body);
        self.waiting.name_last(report);
    }

    /// Takes an application message for a client whose session is elsewhere, where it
    /// gets its number: its body is written behind what is in `frame`. It waits here,
    /// until the client [has](Self::forget) it.
    pub fn hold(
        &mut self,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
        frame: &mut Vec<u8>,
    ) {
        let at = frame.len();
        body(&mut Writer::new(frame, at + MAX_BODY));
        self.wait(msg_type, now_ns, &frame[at..], self.report);
    }

    /// The oldest message that waits and is this report, or one behind it.
    pub fn held(&self, report: u64) -> Option<Held<'_>> {
        let (entry, body) = self.waiting.get(self.waiting.find_report(report))?;
        let msg_type = Text::from_bytes(entry.msg_type());
        Some(Held { report: entry.report, msg_type, body })
    }

    /// The client has everything up to a report: none of that waits any more.
    pub fn forget(&mut self, report: u64) {
        (0..self.waiting.find_report(report.saturating_add(1))).for_each(|_| self.waiting.pop());
    }

    /// What was sent behind a report waits again, before what does already: the session
    /// goes on elsewhere, where nothing is known of what was sent here.
    pub fn take_back(&mut self, report: u64) {
        let from = self.sent.find_report(report.saturating_add(1));
        let sent = (from..).map_while(|at| self.sent.get(at));
        let all = sent.chain((0..).map_while(|at| self.waiting.get(at)));
        let all: Vec<_> = all.map(|(entry, body)| (entry, body.to_vec())).collect();
        self.sent.clear();
        self.waiting.clear();
        for (entry, body) in all {
            self.wait(entry.msg_type(), entry.sent_ns, &body, entry.report);
        }
    }

    /// Takes a message of which another process has made the body, and gives it the next
    /// number; `frame` is all of it then, and nothing else.
    pub fn pass_on(
        &mut self,
        session: &CompIds,
        now_ns: u64,
        (msg_type, is_resent): (&[u8], bool),
        body: &[u8],
        frame: &mut Vec<u8>,
    ) {
        frame.clear();
        let stamp = Stamp { is_resent, ..Stamp::new(self.take_number(), now_ns) };
        stamp.append(frame, session, msg_type, |writer| writer.fields(body));
        self.sent.push(msg_type, stamp.number, now_ns, body);
        if is_resent {
            self.sent.mark_last_resent();
        }
    }

    /// Writes an application message that is not kept, under the next number; `frame`
    /// is all of it then. Where it is wanted again, a gap fill says that it will not
    /// come: it answered a question, which can be asked again.
    pub fn write_once(
        &mut self,
        session: &CompIds,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
        frame: &mut Vec<u8>,
    ) {
        frame.clear();
        let stamp = Stamp::new(self.take_number(), now_ns);
        stamp.append(frame, session, msg_type, body);
    }

    /// Numbers begin again: at 1 on a new day, for both sides. Behind a failover at a
    /// `first` above all that the other side may have seen; its own number is then
    /// taken as its next logon has it. What waits for it still does.
    pub fn restart(&mut self, first: u32) {
        self.next_out = first.max(1);
        self.next_in = (first <= 1).then_some(1);
        self.sent.clear();
    }

    /// How many messages wait for a client that is away.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many messages for a client that was away made room for later ones, and will
    /// never be sent.
    pub const fn lost(&self) -> u64 {
        self.waiting.evicted()
    }

    /// Appends what waits for the client.
    pub fn save_waiting(&self, out: &mut Vec<u8>) {
        let waiting = || (0..).map_while(|at| self.waiting.get(at));
        let heads = waiting().map(|(entry, body)| WaitingState {
            msg_type: Text::from_bytes(entry.msg_type()),
            len: body.len() as u32,
            sent_ns: entry.sent_ns,
        });
        append_section(out, heads);
        let bodies: Vec<u8> = waiting().flat_map(|(_, body)| body.iter().copied()).collect();
        append_blob(out, &bodies);
    }

    /// Takes up what [`save_waiting`](Self::save_waiting) wrote; `last` is the last report
    /// that was written then. `None` if the bytes are not that.
    pub fn restore_waiting(&mut self, sections: &mut Sections<'_>, last: u64) -> Option<()> {
        let heads: Vec<WaitingState> = sections.records()?;
        let mut bodies = sections.blob()?;
        for (behind, head) in (0..heads.len() as u64).rev().zip(heads) {
            let (body, rest) = bodies.split_at_checked(head.len as usize)?;
            let report = last.saturating_sub(behind);
            self.wait(head.msg_type.as_bytes(), head.sent_ns, body, report);
            bodies = rest;
        }
        bodies.is_empty().then_some(())
    }

    /// Puts the oldest message that waits for the client into `frame`, under the next
    /// number. Returns whether there was one.
    pub(crate) fn next_waiting(
        &mut self,
        session: &CompIds,
        now_ns: u64,
        frame: &mut Vec<u8>,
    ) -> bool {
        frame.clear();
        let number = self.next_out;
        let Some((entry, body)) = self.waiting.get(0) else { return false };
        let stamp = Stamp { is_resent: true, ..Stamp::new(number, now_ns) };
        stamp.append(frame, session, entry.msg_type(), |writer| writer.fields(body));
        self.sent.push(entry.msg_type(), number, now_ns, body);
        self.sent.mark_last_resent();
        self.sent.name_last(entry.report);
        self.waiting.pop();
        self.take_number();
        true
    }

    /// The number of a message that goes out now.
    pub(crate) fn take_number(&mut self) -> u32 {
        let number = self.next_out;
        self.next_out = self.next_out.saturating_add(1);
        number
    }

    /// The next `count` numbers are used for nothing.
    pub(crate) fn pass_over(&mut self, count: u32) {
        self.next_out = self.next_out.saturating_add(count);
    }

    /// The number that a message must have; where nobody knows, the one it has.
    pub(crate) fn expected(&mut self, number: u32) -> u32 {
        *self.next_in.get_or_insert(number)
    }

    /// The next message that comes is to have this number.
    pub(crate) fn set_next_in(&mut self, number: u32) {
        debug_assert!(number <= MAX_NUMBER + 1, "numbers are bounded where they are read");
        self.next_in = Some(number);
    }

    /// Messages that were sent, from a number on.
    pub(crate) const fn sent(&self) -> &Kept {
        &self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    const NOON_NS: u64 = 1_795_694_400_000_000_000;

    fn session() -> CompIds {
        CompIds::new(b"FGW", b"CLIENT")
    }

    fn write(store: &mut Store, is_absent: bool, text: &[u8]) -> String {
        let mut frame = b"old".to_vec();
        let body = |writer: &mut Writer<'_>| {
            writer.text(58, text);
        };
        store.write(&session(), NOON_NS, b"8", is_absent, body, &mut frame);
        printed(&frame)
    }

    fn printed(frame: &[u8]) -> String {
        if !frame.is_empty() {
            Message::read(frame).expect("a whole message");
        }
        String::from_utf8_lossy(frame).replace('\x01', "|")
    }

    #[test]
    fn a_message_gets_the_next_number_and_a_header() {
        let mut store = Store::new(4);
        let head = "49=FGW|52=20261126-12:00:00.000000000|56=CLIENT|1128=9|";
        let first = write(&mut store, false, b"x");
        assert_eq!(first, format!("8=FIXT.1.1|9=70|35=8|34=1|{head}58=x|10=057|"));
        assert!(write(&mut store, false, b"y").contains("|34=2|"));
        assert_eq!((store.next_out(), store.next_in()), (3, 1));
    }

    #[test]
    fn what_answers_a_question_takes_a_number_and_no_room() {
        let mut store = Store::new(1);
        write(&mut store, false, b"x");
        let mut frame = b"old".to_vec();
        let body = |writer: &mut Writer<'_>| {
            writer.text(58, b"y");
        };
        store.write_once(&session(), NOON_NS, b"BF", body, &mut frame);
        let said = printed(&frame);
        assert!(said.contains("|35=BF|34=2|") && said.contains("|1128=9|58=y|"), "{said}");
        let kept: Vec<u32> =
            (0..).map_while(|at| store.sent().get(at)).map(|(entry, _)| entry.number).collect();
        assert_eq!((kept, store.next_out()), (vec![1], 3));
    }

    #[test]
    fn what_was_born_while_the_client_was_away_waits_without_a_number() {
        let mut store = Store::new(2);
        for text in [b"a", b"b", b"c"] {
            assert_eq!(write(&mut store, true, text), "");
        }
        assert_eq!((store.next_out(), store.waiting(), store.lost()), (1, 2, 1));
        let mut frame = Vec::new();
        let mut next = |store: &mut Store| {
            store.next_waiting(&session(), NOON_NS, &mut frame).then(|| printed(&frame))
        };
        let first = next(&mut store).expect("a message");
        assert!(first.contains("|34=1|") && first.contains("|97=Y|") && first.contains("58=b|"));
        assert!(next(&mut store).is_some_and(|second| second.contains("|34=2|")));
        assert_eq!((next(&mut store), store.next_out(), store.waiting()), (None, 3, 0));
        assert!(store.sent().get(0).is_some_and(|(entry, _)| entry.is_resent));
    }

    #[test]
    fn what_waits_outlives_the_process() {
        let mut store = Store::new(4);
        for (report, text) in (7..).zip([b"a", b"b", b"c"]) {
            store.set_report(report);
            write(&mut store, true, text);
        }
        store.forget(7);
        let mut saved = Vec::new();
        store.save_waiting(&mut saved);
        let mut restored = Store::new(4);
        assert_eq!(restored.restore_waiting(&mut Sections::new(&saved), 9), Some(()));
        let held = |report| restored.held(report).map(|held| (held.report, held.body.to_vec()));
        assert_eq!(held(0), Some((8, b"58=b\x01".to_vec())));
        assert_eq!((held(9).map(|held| held.0), held(10)), (Some(9), None));
        let mut frame = Vec::new();
        for text in ["58=b|", "58=c|"] {
            assert!(restored.next_waiting(&session(), NOON_NS, &mut frame));
            assert!(printed(&frame).contains(text));
        }
        assert!(!restored.next_waiting(&session(), NOON_NS, &mut frame));
        saved.truncate(saved.len() - 1);
        assert_eq!(Store::new(4).restore_waiting(&mut Sections::new(&saved), 9), None);
    }

    #[test]
    fn what_is_numbered_elsewhere_waits_here_until_its_client_has_it() {
        let (mut here, mut there) = (Store::new(4), Store::new(4));
        let mut frame = b"head".to_vec();
        for (report, text) in (1..).zip([b"a", b"b", b"c"]) {
            frame.truncate(4);
            here.set_report(report);
            here.hold(NOON_NS, b"8", |writer| _ = writer.text(58, text), &mut frame);
            assert_eq!(frame, [b"head58=", &text[..], b"\x01"].concat());
            let mut passed = Vec::new();
            let again = report == 2;
            there.pass_on(&session(), NOON_NS, (b"8", again), &frame[4..], &mut passed);
            let said = printed(&passed);
            assert!(said.contains(&format!("|34={report}|")), "{said}");
            assert_eq!(said.contains("|97=Y|"), again, "{said}");
        }
        here.forget(1);
        assert_eq!((here.waiting(), here.held(0).map(|held| held.report)), (2, Some(2)));
        assert_eq!((there.next_out(), there.sent().len()), (4, 3));
        assert_eq!(here.next_out(), 1);
    }

    #[test]
    fn what_was_sent_here_waits_again_when_the_session_goes_on_elsewhere() {
        let mut store = Store::new(4);
        for (report, text) in (1..).zip([b"a", b"b", b"c", b"d"]) {
            store.set_report(report);
            write(&mut store, report == 4, text);
        }
        store.take_back(1);
        let reports = [0, 3, 4, 5].map(|from| store.held(from).map(|held| held.report));
        assert_eq!((reports, store.waiting()), ([Some(2), Some(3), Some(4), None], 3));
        assert_eq!(store.sent().len(), 0);
    }

    #[test]
    fn numbers_begin_again_for_both_on_a_new_day_and_for_one_behind_a_failover() {
        let mut store = Store::new(2);
        write(&mut store, false, b"x");
        store.set_next_in(9);
        store.restart(5001);
        assert_eq!((store.next_out(), store.next_in(), store.sent().len()), (5001, 0, 0));
        assert_eq!((store.expected(9), store.next_in()), (9, 9));
        store.restart(1);
        assert_eq!((store.next_out(), store.next_in()), (1, 1));
    }

    #[test]
    fn the_longest_body_still_has_room_for_the_longest_header() {
        let mut store = Store::new(4);
        let session = CompIds::new(&[b'x'; 30], &[b'y'; 30]);
        let (mut frame, long) = (Vec::new(), vec![b'z'; MAX_BODY - 20]);
        let body = |writer: &mut Writer<'_>| {
            for _ in 0..20 {
                writer.text(58, &long).text(27_021, b"1");
            }
        };
        store.next_out = u32::MAX;
        store.write(&session, NOON_NS, b"8", true, body, &mut frame);
        assert!(store.next_waiting(&session, NOON_NS, &mut frame));
        let (entry, body) = store.sent().get(0).expect("a message");
        let orig_sent_ns = Some(entry.sent_ns);
        let stamp = Stamp { orig_sent_ns, is_resent: true, ..Stamp::new(u32::MAX, NOON_NS) };
        let mut again = Vec::new();
        stamp.append(&mut again, &session, b"8", |writer| writer.fields(body));
        let message = Message::read(&again).expect("a whole message");
        assert_eq!(message.get(58).map(<[u8]>::len), Some(long.len()));
        assert_eq!(message.get(27_021), Some(&b"1"[..]));
    }
}
