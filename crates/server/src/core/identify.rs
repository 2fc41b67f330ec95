//! Who logs in, where somebody outside is asked.
//!
//! ```text
//!   login ─▶ LoginQuestion ─▶ the edge … LoginAnswer ─▶ the login goes on
//!              └─ the mount is not read meanwhile; what it said already waits
//! ```
//!
//! It is asked once for a login, and once for each token by which it is renewed. A
//! login that has an end is over then, unless it was renewed.

use std::collections::{BTreeSet, VecDeque};

use tapeline_channel::SessionId;
use tapeline_entitle::{AuthenticationError, Credential, LoginAnswer, LoginEnd, LoginQuestion};
use tapeline_omm::login::LoginRequest;
use tapeline_rwf::{DataState, State, StateCode, StreamState};
use tapeline_time::Time;

use super::backlog::Job;
use super::batch::Later;
use super::login::Refusal;
use super::map::Map;
use super::{Core, DUE_PER_TURN};
use crate::Outputs;

/// Too much is asked already, or nobody is there to ask.
const BUSY: State<'static> = State::new(
    StreamState::CLOSED_RECOVER,
    DataState::SUSPECT,
    StateCode::DACS_DOWN,
    "Login is not possible now: too many logins are being decided.",
);

const EXPIRED: &str = "The token has expired, and was not renewed.";

/// What is asked about logins.
#[derive(Debug, Default)]
pub(super) struct Identification {
    is_on: bool,
    next_number: u64,
    /// Whose questions are not answered, by number.
    asked: Map<u64, SessionId>,
    /// When logins end.
    ends: BTreeSet<(Time, SessionId)>,
}

/// A login that waits for an answer.
#[derive(Debug)]
pub(super) struct Asking {
    number: u64,
    request: LoginRequest,
    is_reissue: bool,
    /// What the mount said since.
    pub(super) later: VecDeque<Later>,
}

impl Identification {
    /// When the first login ends.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.ends.first().map(|(at, _)| *at)
    }
}

impl Core {
    /// Has it be asked who logs in. To be called before the first event.
    pub(crate) const fn identify_logins(&mut self) {
        self.identification.is_on = true;
    }

    /// Asks who somebody is, if that is to be asked. Whether the login waits for
    /// the answer, or is refused; if not, it goes on.
    pub(super) fn asks_who<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &LoginRequest,
        is_reissue: bool,
        out: &mut O,
    ) -> bool {
        if !self.identification.is_on {
            return false;
        }
        let Some(mount) = self.mounts.known(session) else { return true };
        let known = mount.login.as_ref().filter(|_| is_reissue);
        let is_renewed =
            |known: &LoginRequest| Credential::of(request).renews(&Credential::of(known));
        if known.is_some_and(|login| !is_renewed(&login.request)) {
            return false;
        }
        let number = self.identification.next_number;
        let question = LoginQuestion::of(number, request, mount.peer.ip(), is_reissue);
        if !out.ask_login(question) {
            self.refuse_login(session, request, Refusal::of(BUSY), out);
            if is_reissue {
                self.end_login(session, out);
            }
            return true;
        }
        self.identification.next_number += 1;
        self.identification.asked.insert(number, session);
        if let Some(mount) = self.mounts.get_mut(session) {
            let (request, later) = (request.clone(), VecDeque::new());
            mount.asking = Some(Box::new(Asking { number, request, is_reissue, later }));
            out.hold(session, true);
        }
        true
    }

    /// An answer came.
    pub(super) fn on_identified<O: Outputs>(&mut self, answer: &LoginAnswer, out: &mut O) {
        let Some(session) = self.identification.asked.remove(&answer.number) else { return };
        // Whoever asked may be gone, or have asked again.
        let Some(mount) = self.mounts.get_mut(session) else { return };
        let Some(asking) = mount.asking.take_if(|asking| asking.number == answer.number) else {
            return;
        };
        let Asking { request, is_reissue, later, .. } = *asking;
        match (&answer.who, is_reissue) {
            (Ok(person), false) => self.log_in_as(session, request, Some(person), out),
            (Ok(person), true) => self.renew_login(session, request, Some(person), out),
            (Err(why), _) => {
                let refusal = Refusal::from(why);
                self.refuse_login(session, &request, refusal, out);
                if is_reissue {
                    self.end_login(session, out);
                }
            }
        }
        self.go_on_after_answer(session, later, out);
    }

    /// What a mount said while its login was decided is heard now, in its turn.
    fn go_on_after_answer<O: Outputs>(
        &mut self,
        session: SessionId,
        later: VecDeque<Later>,
        out: &mut O,
    ) {
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if later.is_empty() {
            return out.hold(session, mount.is_in_batch);
        }
        debug_assert!(!mount.is_in_batch, "what came later came behind the question");
        mount.keep_for_later(later);
        self.backlog.add(Job::Batch(session));
    }

    /// A login lasts so long.
    pub(super) fn note_login_end(&mut self, session: SessionId, end: Option<LoginEnd>) {
        let now = self.now;
        let Some(login) = self.mounts.get_mut(session).and_then(|it| it.login.as_mut()) else {
            return;
        };
        let at = end.map(|end| now.after(end.after));
        let before = std::mem::replace(&mut login.ends, at);
        let Self { identification: Identification { ends, .. }, .. } = self;
        if let Some(before) = before {
            ends.remove(&(before, session));
        }
        if let Some(at) = at {
            ends.insert((at, session));
        }
    }

    /// Ends the logins whose time is over.
    pub(super) fn check_login_ends<O: Outputs>(&mut self, out: &mut O) {
        for _ in 0..DUE_PER_TURN {
            let ends = &mut self.identification.ends;
            let Some((at, session)) = ends.first().copied().filter(|(at, _)| *at <= self.now)
            else {
                return;
            };
            ends.pop_first();
            let login = self.mounts.get(session).and_then(|mount| mount.login.as_ref());
            // Who logged out, or in again, has another end.
            if login.is_some_and(|login| login.ends == Some(at)) {
                let state = State::new(
                    StreamState::CLOSED,
                    DataState::SUSPECT,
                    StateCode::NOT_ENTITLED,
                    EXPIRED,
                );
                let error = AuthenticationError { code: 1, text: EXPIRED.to_owned() };
                self.force_logout(session, Refusal::of_token(state, error), out);
            }
        }
    }
}
