//! What a session of FIX does in the market.

use tapeline_fix::{Acceptor, Admission, CompIds, Logon, Message, Rejection, Store, Verdict, tag};
use tapeline_layout::Text;
use tapeline_ntg::{Admission as Native, Input};
use tapeline_time::Time;

use super::{CancelAsked, Fault, Note, Question, TradesAsked, request};
use crate::core::answers::Answer;
use crate::core::floor::Floor;
use crate::core::gate::Gate;
use crate::core::refusals::DOWN;
use crate::core::users::NEW_PASSWORD;
use crate::core::{Door, Outputs, SessionId, ask};

/// Bytes of a user's name or password.
const LONGEST: usize = 25;

/// 1409: nobody is let in.
pub(crate) const LOGONS_CLOSED: u16 = 7;
/// 1409: anything else.
pub(crate) const OTHER: u16 = 100;

/// 373: a required tag is missing; a value that there is not; another form.
const MISSING: u16 = 1;
const VALUE: u16 = 5;
const FORMAT: u16 = 6;
/// 380: a type of message that is not offered; something else is under way.
const UNSUPPORTED: u16 = 3;
const BUSY: u16 = 0;

/// One session's turn.
pub(crate) struct FixTalk<'t, O> {
    pub(crate) floor: &'t mut Floor,
    pub(crate) gate: &'t mut Gate,
    pub(crate) now: Time,
    pub(crate) session: SessionId,
    pub(crate) door: Door,
    pub(crate) answer: &'t mut Option<Answer>,
    pub(crate) out: &'t mut O,
}

impl<O: Outputs> FixTalk<'_, O> {
    /// Bytes have come. Returns whether the session goes on.
    pub(crate) fn received(&mut self, acceptor: &mut Acceptor, bytes: &[u8]) -> bool {
        let (now, now_ns) = (self.now, self.floor.ns(self.now));
        let verdict = acceptor.received(now, now_ns, bytes, self);
        self.goes_on(acceptor, verdict)
    }

    /// That the session begins is in the journal. Returns whether it goes on.
    pub(crate) fn decided(&mut self, acceptor: &mut Acceptor, admission: Admission) -> bool {
        let (now, now_ns) = (self.now, self.floor.ns(self.now));
        let verdict = acceptor.decided(now, now_ns, admission, self);
        self.goes_on(acceptor, verdict)
    }

    fn goes_on(&mut self, acceptor: &Acceptor, verdict: Verdict) -> bool {
        self.note_active(acceptor);
        if acceptor.is_active() {
            self.note_numbers(Note::Numbers);
        }
        verdict == Verdict::Open
    }

    /// Time has passed. Returns whether the session goes on.
    pub(crate) fn timeout(&mut self, acceptor: &mut Acceptor) -> bool {
        let (now, now_ns) = (self.now, self.floor.ns(self.now));
        acceptor.spoke(self.floor.said[self.session.0 as usize]);
        let verdict = acceptor.timeout(now, now_ns, self);
        self.note_active(acceptor);
        verdict == Verdict::Open
    }

    /// Goes on with what was asked, as far as the connection takes it.
    pub(crate) fn answer(&mut self) {
        let (Some(answer), Some(user)) = (*self.answer, self.floor.users.at(self.session)) else {
            return;
        };
        let to = (user, self.session);
        *self.answer = match answer {
            Answer::Orders(asked) => {
                self.floor.tell_orders(self.now, to, asked, self.out).map(Answer::Orders)
            }
            Answer::Trades(asked) => {
                self.floor.tell_trades(self.now, to, asked, self.out).map(Answer::Trades)
            }
            _ => None,
        };
        self.note_numbers(Note::Numbers);
    }

    /// A drop copy asks.
    fn ask(&mut self, user: u16, message: &Message<'_>) -> Result<(), Rejection> {
        let question = match Question::read(message) {
            Err(Fault::Kind) => {
                let text = "this session is for copies of reports";
                return Err(Rejection::Business { reason: UNSUPPORTED, tag: 0, text });
            }
            question => question?,
        };
        match question {
            Question::Orders(_) if self.answer.is_some() => {
                let text = "another question about orders is not answered yet";
                return Err(Rejection::Business { reason: BUSY, tag: 0, text });
            }
            Question::Orders(asked) => *self.answer = Some(Answer::Orders(asked)),
            Question::User { id, name, kind } => {
                let to = (user, self.session);
                self.floor.tell_user(self.now, to, (id, name, kind), self.out);
            }
        }
        self.floor.counts.questions += 1;
        Ok(())
    }

    /// Who settles trades asks for those of the day, or for the end of one.
    fn ask_trades(&mut self, user: u16, message: &Message<'_>) -> Result<(), Rejection> {
        if message.msg_type() == b"AE" {
            let asked = CancelAsked::of(message)?;
            let from = (self.session, user);
            if self.gate.cancel_trade(self.now, from, &asked.to_bytes()).is_err() {
                self.floor.refuse_cancel(self.now, (user, self.session), &asked, self.out);
            }
            return Ok(());
        }
        if message.msg_type() != b"AD" {
            let text = "this session is for confirmations of trades";
            return Err(Rejection::Business { reason: UNSUPPORTED, tag: 0, text });
        }
        let asked = TradesAsked::read(message)?;
        if self.answer.is_some() {
            let text = "another question about trades is not answered yet";
            return Err(Rejection::Business { reason: BUSY, tag: 0, text });
        }
        *self.answer = Some(Answer::Trades(asked));
        self.floor.counts.questions += 1;
        Ok(())
    }

    /// The client does not read.
    pub(crate) fn log_out(&mut self, acceptor: &mut Acceptor, why: &str) {
        let (now, now_ns) = (self.now, self.floor.ns(self.now));
        acceptor.log_out(now, now_ns, OTHER, why, self);
        self.note_active(acceptor);
    }

    fn note_active(&mut self, acceptor: &Acceptor) {
        if let Some(user) = self.floor.users.at(self.session) {
            self.floor.desks.note_active(user, acceptor.is_active());
        }
    }

    /// Has the journal say where the session begins, or how far it is. Returns whether it
    /// will.
    fn note_numbers(&mut self, note: Note) -> bool {
        let Some(user) = self.floor.users.at(self.session) else { return false };
        let numbers = self.floor.desks.take_note(user, note);
        numbers.is_some_and(|numbers| self.gate.note(self.now, user, &numbers.to_bytes()).is_ok())
    }

    /// Somebody has come in, and hears of it when the journal has where its session
    /// begins. Where that can be kept no more, nobody goes on with it.
    fn begin(&mut self, logon: &Logon<'_>, granted: Admission) -> Admission {
        let Some(user) = self.floor.users.at(self.session) else { return granted };
        let ids = CompIds::new(logon.target, logon.sender);
        let day = self.floor.local_day(self.now);
        self.floor.desks.seat(user, self.session, (ids, day, logon.resets));
        if !self.note_numbers(Note::Begins) {
            return granted;
        }
        self.floor.desks.let_in_later(user, granted);
        Admission::Later
    }

    fn admit_as(&mut self, logon: &tapeline_ntg::session::Logon) -> Native {
        let known = self.floor.users.len();
        let admission = self.floor.admit(self.session, self.door, logon);
        if self.floor.users.len() > known {
            self.gate.introduce(self.now, known as u16, logon.user);
        }
        admission
    }
}

impl<O: Outputs> tapeline_fix::Outputs for FixTalk<'_, O> {
    fn admit(&mut self, logon: &Logon<'_>) -> Admission {
        let Some(mut native) = native_logon(logon) else { return Admission::Silent };
        let mut granted = Admission::Granted;
        let mut admission = self.admit_as(&native);
        if admission == Native::Refused(NEW_PASSWORD) {
            native.new_password = Text::default();
            granted = Admission::OldPassword;
            admission = self.admit_as(&native);
        }
        match admission {
            Native::Granted { .. } => self.begin(logon, granted),
            Native::Refused(DOWN) => {
                Admission::Refused { status: LOGONS_CLOSED, text: "another replica leads, or none" }
            }
            Native::Refused(_) | Native::Silent | Native::Later => Admission::Silent,
        }
    }

    fn store(&mut self) -> &mut Store {
        let user = self.floor.users.at(self.session);
        debug_assert!(user.is_some(), "only who was admitted has a store");
        self.floor.desks.store(user.unwrap_or_default())
    }

    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection> {
        let user = self.floor.users.at(self.session);
        if let Some(user) = user.filter(|user| self.floor.desks.is_copier(*user)) {
            return self.ask(user, message);
        }
        if let Some(user) = user.filter(|user| self.floor.desks.is_settler(*user)) {
            return self.ask_trades(user, message);
        }
        let input = request(message)?;
        let mut frame = std::mem::take(&mut self.floor.desks.request);
        frame.clear();
        as_native(&input).append(&mut frame);
        ask(self.floor, self.gate, (self.now, self.session), (&input, &frame), self.out);
        self.floor.desks.request = frame;
        Ok(())
    }

    fn unconfirmed(&mut self) -> Option<u64> {
        let user = self.floor.users.at(self.session)?;
        self.floor.desks.unconfirmed(user)
    }

    fn confirmed(&mut self, reports: u64) {
        if let Some(user) = self.floor.users.at(self.session) {
            self.floor.desks.confirmed(user, reports);
            self.note_numbers(Note::Confirmed);
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.floor.counts.rejected += u64::from(is_reject(bytes));
        self.out.send(self.session, bytes);
    }
}

impl From<Fault> for Rejection {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Kind => {
                Self::Business { reason: UNSUPPORTED, tag: tag::MSG_TYPE, text: "not offered here" }
            }
            Fault::Missing(tag) => {
                Self::Reject { reason: MISSING, tag, text: "a required field is missing" }
            }
            Fault::Value(tag) => {
                Self::Reject { reason: VALUE, tag, text: "there is no such value" }
            }
            Fault::Format(tag) => {
                Self::Reject { reason: FORMAT, tag, text: "the value has another form" }
            }
        }
    }
}

/// Whether a message that goes out is a reject: the first time, since what is sent again
/// was counted then.
pub(crate) fn is_reject(bytes: &[u8]) -> bool {
    Message::read(bytes).is_ok_and(|message| {
        matches!(message.msg_type(), b"3" | b"j") && message.get(tag::POSS_DUP_FLAG).is_none()
    })
}

/// Who wants in, as the native gateway has it; `None` if that could be nobody.
pub(crate) fn native_logon(logon: &Logon<'_>) -> Option<tapeline_ntg::session::Logon> {
    let user = if logon.user.is_empty() { logon.sender } else { logon.user };
    let texts = [user, logon.password, logon.new_password];
    if user.is_empty() || texts.iter().any(|text| text.len() > LONGEST || !text.is_ascii()) {
        return None;
    }
    Some(tapeline_ntg::session::Logon {
        user: Text::from_bytes(user),
        password: Text::from_bytes(logon.password),
        new_password: Text::from_bytes(logon.new_password),
        version: 1,
    })
}

/// A request as the native gateway has it.
pub(crate) fn as_native(input: &Input) -> tapeline_ntg::Message {
    use tapeline_ntg::Message as Native;

    match *input {
        Input::New(order) => Native::NewOrder(order),
        Input::Quote(quote) => Native::NewQuote(quote),
        Input::Replace(replace) => Native::CancelReplace(replace),
        Input::Cancel(cancel) => Native::Cancel(cancel),
        Input::MassCancel(cancel) => Native::MassCancel(cancel),
        Input::Missed(request) => Native::MissedMessageRequest(request),
    }
}
