//! Clients of a gateway that speak FIX.
//!
//! ```text
//!  bytes ─▶ Acceptor (fix) ─▶ Input, as the native gateway reads it ─▶ requests ══▶ market
//!  bytes ◀─ number, header ◀─ Session of its user ◀═ body of a report, its running number
//! ```
//!
//! Sessions are the gateway's: heartbeats, numbers, resends, the throttle. Whether a user
//! comes in, and with which number its session begins here, the market says, which holds
//! its reports until it has them, and hears of its numbers.

mod session;

use std::collections::HashMap;

use tapeline_fix::{Acceptor, Admission, CompIds, Logon, Message, Rejection, Store, Verdict};
use tapeline_layout::Text;
use tapeline_ntg::session::Logon as NativeLogon;
use tapeline_sequence::Kind;
use tapeline_time::Time;

use super::clients::{Desk, Gateway, GatewayOutputs};
use super::requests::Request;
use super::words::{Decision, FixAsked, FixBegun, FixReport, FixResume, Verdict as Answer, Word};
use crate::core::{
    About, DOWN, Door, ELSEWHERE, LOGONS_CLOSED, MAX_UNKEPT, Note, OTHER, SessionId, TOO_SLOW,
    as_native, down_as, is_reject, msg_type, native_logon, request, write,
};
use session::Session;

/// Why a client is logged out whose numbers are not kept.
const NOT_KEPT: &str = "the market does not keep where the session is; log on again";

/// Why a client is logged out whose session does not go on.
const NOT_RESUMED: &str = "log on again";

/// How far a client is.
#[derive(Debug)]
enum Phase {
    /// It has not logged on.
    Outside,
    /// The market has its logon.
    Asks { name: Text<25>, ids: CompIds },
    /// It is there.
    In { name: Text<25>, session: Box<Session> },
}

/// Who is at a connection.
#[derive(Debug)]
struct Client {
    acceptor: Acceptor,
    number: u32,
    phase: Phase,
}

/// All clients that speak FIX, and what outlives their connections.
#[derive(Debug)]
pub(super) struct Clients {
    seats: Vec<Option<Box<Client>>>,
    /// Sessions of users who are not here now.
    away: HashMap<Text<25>, Box<Session>>,
    /// Of nobody.
    nobody: Store,
    frame: Vec<u8>,
}

impl Clients {
    pub(super) fn new(most: usize) -> Self {
        let seats = (0..most).map(|_| None).collect();
        Self { seats, away: HashMap::new(), nobody: Store::new(0), frame: Vec::with_capacity(128) }
    }

    /// Whether nobody is at a place.
    pub(super) fn is_free(&self, place: usize) -> bool {
        self.seats.get(place).is_none_or(Option::is_none)
    }

    /// How many are logged on.
    pub(super) fn logged_on(&self) -> usize {
        let seats = self.seats.iter().flatten();
        seats.filter(|client| matches!(client.phase, Phase::In { .. })).count()
    }

    fn places(&self) -> impl Iterator<Item = SessionId> + use<> {
        (0..self.seats.len() as u32).map(SessionId)
    }

    fn at(&mut self, place: SessionId) -> Option<&mut Client> {
        self.seats.get_mut(place.0 as usize)?.as_deref_mut()
    }

    /// What the market is told of the sessions that go on by another link.
    pub(super) fn resumes(&self) -> impl Iterator<Item = Word<'static>> {
        self.seats.iter().flatten().filter_map(|client| {
            let Phase::In { name, session } = &client.phase else { return None };
            let Session { user, last, mark, .. } = **session;
            let at = FixResume { name: *name, user, last, mark };
            Some(Word::FixResume { client: client.number, at })
        })
    }
}

impl Gateway {
    /// A client that speaks FIX has a place.
    pub(super) fn seat_fix(&mut self, now: Time, place: SessionId, number: u32) {
        let acceptor = Acceptor::new(now, Door::Fix.comp_id(), self.desk.config.fix);
        let client = Client { acceptor, number, phase: Phase::Outside };
        self.fix.seats[place.0 as usize] = Some(Box::new(client));
    }

    /// Has the session of a client do something, and ends it if that is its end.
    fn talk_fix<O: GatewayOutputs>(
        &mut self,
        (now, place): (Time, SessionId),
        out: &mut O,
        with: impl FnOnce(&mut Acceptor, u64, &mut Talk<'_, O>) -> Verdict,
    ) {
        let now_ns = self.desk.config.epoch_ns.saturating_add(now.as_nanos());
        let Clients { seats, away, nobody, frame } = &mut self.fix;
        let seat = seats.get_mut(place.0 as usize).and_then(Option::as_deref_mut);
        let Some(Client { acceptor, number, phase }) = seat else { return };
        let (number, desk) = (*number, &mut self.desk);
        let mut talk = Talk { desk, away, nobody, frame, now, now_ns, place, number, phase, out };
        let verdict = with(acceptor, now_ns, &mut talk);
        talk.note(Note::Numbers);
        if acceptor.is_active() && talk.session().is_some_and(|it| it.unkept() >= MAX_UNKEPT) {
            acceptor.log_out(now, now_ns, OTHER, NOT_KEPT, &mut talk);
        }
        if verdict == Verdict::Close && self.end_fix(now, place, out) {
            out.close(place);
        }
    }

    /// Bytes of a client have come.
    pub(super) fn received_fix(
        &mut self,
        now: Time,
        place: SessionId,
        bytes: &[u8],
        out: &mut impl GatewayOutputs,
    ) {
        self.talk_fix((now, place), out, |acceptor, now_ns, talk| {
            acceptor.received(now, now_ns, bytes, talk)
        });
    }

    /// Time has passed for all of them.
    pub(super) fn timeout_fix(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        for place in self.fix.places() {
            self.talk_fix((now, place), out, |acceptor, now_ns, talk| {
                acceptor.timeout(now, now_ns, talk)
            });
        }
    }

    /// Ends a session, with a word to the client.
    pub(super) fn log_out_fix(
        &mut self,
        now: Time,
        place: SessionId,
        why: &str,
        out: &mut impl GatewayOutputs,
    ) {
        self.talk_fix((now, place), out, |acceptor, now_ns, talk| {
            acceptor.log_out(now, now_ns, OTHER, why, talk);
            Verdict::Close
        });
    }

    /// Ends all of them.
    pub(super) fn log_out_all_fix(&mut self, now: Time, why: &str, out: &mut impl GatewayOutputs) {
        for place in self.fix.places() {
            self.log_out_fix(now, place, why, out);
        }
    }

    /// A client is not there any more: the market hears of it, in its order.
    pub(super) fn end_fix(
        &mut self,
        now: Time,
        place: SessionId,
        out: &mut impl GatewayOutputs,
    ) -> bool {
        let seat = self.fix.seats.get_mut(place.0 as usize);
        let Some(client) = seat.and_then(Option::take) else { return false };
        let Client { number, phase, .. } = *client;
        self.places.remove(&number);
        match phase {
            Phase::Outside => {}
            Phase::Asks { .. } => {
                if self.desk.uplink.is_up() {
                    self.desk.say(now, &Word::Gone { client: number }, out);
                }
            }
            Phase::In { name, session } => {
                tracing::info!(user = name.as_str(), "logged out");
                let asked = self.desk.asked(now, session.user);
                if let Some(end) = Request::new(number, Kind::DISCONNECT, asked, &[]) {
                    self.desk.push(now, end, out);
                }
                self.fix.away.insert(name, session);
            }
        }
        true
    }

    /// There is no link any more: nobody can be let in.
    pub(super) fn link_lost_fix(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        for place in self.fix.places() {
            let asks = matches!(self.fix.at(place), Some(Client { phase: Phase::Asks { .. }, .. }));
            if asks {
                self.refuse_fix(now, place, DOWN, out);
            }
        }
    }

    /// The market has forgotten everything: so does the gateway.
    pub(super) fn begin_anew_fix(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        self.desk.counts.not_resumed += self.fix.logged_on() as u64;
        self.log_out_all_fix(now, NOT_RESUMED, out);
        self.fix.away.clear();
    }

    fn refuse_fix(
        &mut self,
        now: Time,
        place: SessionId,
        code: i32,
        out: &mut impl GatewayOutputs,
    ) {
        let Some(client) = self.fix.at(place) else { return };
        if let Phase::Asks { name, .. } = client.phase {
            tracing::info!(user = name.as_str(), code, "logon refused");
        }
        client.phase = Phase::Outside;
        self.desk.counts.logons_refused += 1;
        let admission = match code {
            DOWN => {
                Admission::Refused { status: LOGONS_CLOSED, text: "another replica leads, or none" }
            }
            ELSEWHERE => {
                let text = "copies of reports are at the market's own door";
                Admission::Refused { status: OTHER, text }
            }
            _ => Admission::Silent,
        };
        self.decide_fix(now, place, admission, out);
    }

    fn decide_fix(
        &mut self,
        now: Time,
        place: SessionId,
        admission: Admission,
        out: &mut impl GatewayOutputs,
    ) {
        self.talk_fix((now, place), out, |acceptor, now_ns, talk| {
            acceptor.decided(now, now_ns, admission, talk)
        });
    }

    /// A client comes in.
    pub(super) fn begun_fix(
        &mut self,
        now: Time,
        number: u32,
        begun: &FixBegun,
        out: &mut impl GatewayOutputs,
    ) {
        let Some(&place) = self.places.get(&number) else { return };
        let messages = self.desk.config.fix_messages;
        let Clients { seats, away, .. } = &mut self.fix;
        let seat = seats.get_mut(place.0 as usize).and_then(Option::as_deref_mut);
        let Some(client) = seat else { return };
        let Phase::Asks { name, ids } = client.phase else { return };
        let mut session = away.remove(&name).unwrap_or_else(|| Box::new(Session::new(messages)));
        session.begin(ids, begun);
        client.phase = Phase::In { name, session };
        self.desk.counts.logons += 1;
        self.desk.counts.fix_taken_over += u64::from(begun.first > 1);
        tracing::info!(user = name.as_str(), door = "fix", first = begun.first, "logged on");
        let admission = match begun.is_old_password {
            0 => Admission::Granted,
            _ => Admission::OldPassword,
        };
        self.decide_fix(now, place, admission, out);
    }

    /// What became of a logon that is not granted, or of a session that is to go on.
    pub(super) fn decided_fix(
        &mut self,
        now: Time,
        place: SessionId,
        (answer, decision): (Answer, &Decision),
        out: &mut impl GatewayOutputs,
    ) {
        let Some(client) = self.fix.at(place) else { return };
        match (&client.phase, answer) {
            (Phase::Asks { .. }, Answer::Silent | Answer::Refused) => {
                self.refuse_fix(now, place, decision.code, out);
            }
            (Phase::In { .. }, Answer::Granted) => self.desk.counts.resumed += 1,
            (Phase::In { name, .. }, Answer::Silent | Answer::Refused) => {
                tracing::warn!(user = name.as_str(), "a session cannot go on");
                self.desk.counts.not_resumed += 1;
                self.log_out_fix(now, place, NOT_RESUMED, out);
            }
            (Phase::Outside | Phase::Asks { .. }, _) => {}
        }
    }

    /// A report gets its number, and goes out. What was here before does not go out
    /// again, and nothing goes out behind a logout: the market has it still.
    pub(super) fn report_fix(
        &mut self,
        now: Time,
        place: SessionId,
        bytes: &[u8],
        out: &mut impl GatewayOutputs,
    ) {
        let Some(client) = self.fix.at(place) else { return };
        let Phase::In { session, .. } = &mut client.phase else { return };
        let Some((head, body)) = bytes.split_at_checked(FixReport::LEN) else { return };
        let Some(head) = FixReport::read(head) else { return };
        if !client.acceptor.is_active() || head.report <= session.last {
            return;
        }
        let now_ns = self.desk.config.epoch_ns.saturating_add(now.as_nanos());
        out.send(place, session.pass_on(now_ns, &head, body));
        client.acceptor.spoke(now);
        let may_lack = (session.last - session.had) as usize;
        self.desk.counts.reports += 1;
        self.desk.counts.fix_again += u64::from(head.is_again);
        if may_lack > self.desk.config.fix_messages / 4 {
            self.talk_fix((now, place), out, |acceptor, now_ns, talk| {
                acceptor.ask_early(now, now_ns, talk);
                Verdict::Open
            });
        }
        self.note_queued(place, out);
    }

    /// The market can keep nothing.
    pub(super) fn not_taken_fix(
        &mut self,
        now: Time,
        place: SessionId,
        request: &Request,
        out: &mut impl GatewayOutputs,
    ) {
        let number = request.asked.number;
        self.talk_fix((now, place), out, |acceptor, _, talk| {
            if let Some(session) = talk.session() {
                session.not_kept(number);
            }
            if let Some(message) = down_as(request.frame()).filter(|_| acceptor.is_active()) {
                talk.desk.counts.refused_down += 1;
                let about = About { request: fix_type(request.kind), ..About::default() };
                talk.tell(&message, &about);
            }
            Verdict::Open
        });
    }

    /// Who does not read is logged out at the end of the turn.
    pub(super) fn log_out_slow(
        &mut self,
        now: Time,
        place: SessionId,
        out: &mut impl GatewayOutputs,
    ) {
        self.desk.counts.slow_clients += 1;
        self.log_out(now, place, TOO_SLOW, out);
    }
}

/// The type of the message that asked for a command.
const fn fix_type(kind: Kind) -> u8 {
    match kind {
        Kind::QUOTE => b'S',
        Kind::REPLACE => b'G',
        Kind::CANCEL => b'F',
        Kind::MASS_CANCEL => b'q',
        _ => b'D',
    }
}

/// What a client's session does.
struct Talk<'t, O> {
    desk: &'t mut Desk,
    away: &'t mut HashMap<Text<25>, Box<Session>>,
    nobody: &'t mut Store,
    frame: &'t mut Vec<u8>,
    now: Time,
    now_ns: u64,
    place: SessionId,
    number: u32,
    phase: &'t mut Phase,
    out: &'t mut O,
}

impl<O: GatewayOutputs> Talk<'_, O> {
    fn session(&mut self) -> Option<&mut Session> {
        match self.phase {
            Phase::In { session, .. } => Some(session),
            _ => None,
        }
    }

    /// The client is told something that the gateway says by itself.
    fn tell(&mut self, message: &tapeline_ntg::Message, about: &About<'_>) {
        let (now_ns, place) = (self.now_ns, self.place);
        let Phase::In { session, .. } = &mut *self.phase else { return };
        if let Some(kind) = msg_type(message) {
            let bytes = session.write(now_ns, kind, |fields| write(message, about, fields));
            self.out.send(place, bytes);
        }
    }

    /// The market is told how far the session is, if it has to hear of that.
    fn note(&mut self, note: Note) {
        let (desk, now, number) = (&mut *self.desk, self.now, self.number);
        let Phase::In { session, .. } = &mut *self.phase else { return };
        session.look(|request| !desk.requests.has(request));
        if note == Note::Numbers && !session.is_due() {
            return;
        }
        let asked = desk.asked(now, session.user);
        let numbers = session.take_note(note, asked.number);
        if let Some(request) = Request::new(number, Kind::NUMBERS, asked, &numbers.to_bytes()) {
            desk.push(now, request, self.out);
        }
    }

    fn ask(&mut self, logon: NativeLogon, ids: CompIds, resets: bool) {
        let session = self.away.get(&logon.user);
        let here = session.map(|it| (it.store.next_out(), it.last, it.mark));
        let (next_out, last, mark) = here.unwrap_or_default();
        let asked = FixAsked { peer: ids.peer, resets: u8::from(resets), next_out, last, mark };
        *self.phase = Phase::Asks { name: logon.user, ids };
        let client = self.number;
        self.desk.say(self.now, &Word::FixLogOn { client, asked, logon }, self.out);
    }
}

impl<O: GatewayOutputs> tapeline_fix::Outputs for Talk<'_, O> {
    fn admit(&mut self, logon: &Logon<'_>) -> Admission {
        let Some(native) = native_logon(logon) else {
            self.desk.counts.logons_refused += 1;
            return Admission::Silent;
        };
        if !self.desk.uplink.is_up() {
            self.desk.counts.logons_refused += 1;
            let text = "there is no link to the market";
            return Admission::Refused { status: LOGONS_CLOSED, text };
        }
        self.ask(native, CompIds::new(logon.target, logon.sender), logon.resets);
        Admission::Later
    }

    fn store(&mut self) -> &mut Store {
        debug_assert!(matches!(self.phase, Phase::In { .. }), "only who is in has a store");
        match self.phase {
            Phase::In { session, .. } => &mut session.store,
            _ => self.nobody,
        }
    }

    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection> {
        let Some(user) = self.session().map(|session| session.user) else { return Ok(()) };
        let input = request(message)?;
        self.frame.clear();
        as_native(&input).append(self.frame);
        let (who, asked) = ((self.number, user), (&input, &self.frame[..]));
        if let Some(told) = self.desk.request(self.now, who, asked, self.out) {
            self.tell(&told, &About::of(&input).1);
        }
        Ok(())
    }

    fn unconfirmed(&mut self) -> Option<u64> {
        let session = self.session()?;
        (session.had < session.last).then_some(session.last)
    }

    fn confirmed(&mut self, reports: u64) {
        if let Some(session) = self.session() {
            session.had = session.had.max(reports);
            self.note(Note::Confirmed);
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.desk.counts.rejected += u64::from(is_reject(bytes));
        self.out.send(self.place, bytes);
    }
}
