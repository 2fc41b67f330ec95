//! Clients of gateways that speak FIX: whether they come in, and what they get.

use tapeline_ntg::session::Logon;
use tapeline_ntg::{Admission, Channel};
use tapeline_time::Time;

use super::links::refuse;
use super::{Member, Phase, say};
use crate::core::answers::Answer;
use crate::core::fix::Seated;
use crate::core::users::{NEW_PASSWORD, UNAUTHORISED};
use crate::core::{Door, ELSEWHERE, Exchange, Outputs, SessionId};
use crate::gateway::{Decision, FixAsked, FixBegun, FixResume, Verdict, Word};

impl Exchange {
    /// Lets a client in, or not, which it is told. Returns how far it is then.
    pub(super) fn admit_fix(
        &mut self,
        now: Time,
        (session, gateway): (SessionId, u16),
        (mut logon, asked): (Logon, &FixAsked),
        out: &mut impl Outputs,
    ) -> Option<Phase> {
        let &mut Member { link, client, .. } = self.member(session)?;
        let known = self.floor.users.named(logon.user);
        if known.is_some_and(|user| self.floor.desks.is_copier(user)) {
            let user = logon.user.as_str();
            tracing::warn!(user, gateway, "logon refused: copies are at the market's own door");
            self.floor.counts.logons_refused += 1;
            refuse(link, client, ELSEWHERE, out);
            return None;
        }
        let users = self.floor.users.len();
        let mut admission = self.floor.admit(session, Door::Fix, &logon);
        let is_old_password = admission == Admission::Refused(NEW_PASSWORD);
        if is_old_password {
            logon.new_password = tapeline_layout::Text::default();
            admission = self.floor.admit(session, Door::Fix, &logon);
        }
        if self.floor.users.len() > users {
            self.gate.introduce(now, users as u16, logon.user);
        }
        match admission {
            Admission::Granted { .. } => {
                let user = self.floor.users.at(session).unwrap_or_default();
                let day = self.floor.local_day(now);
                // Behind all that it has been let in by before.
                let mark = self.gate.index() + 1;
                let Seated { mut begun, numbers } =
                    self.floor.desks.seat_apart(user, session, (day, mark), asked);
                begun.is_old_password = u8::from(is_old_password);
                // Where it is here, where it begins is, too.
                let _ = self.gate.note(now, user, &numbers.to_bytes());
                self.gate.seat(now, user, gateway);
                Some(Phase::Begins(begun))
            }
            Admission::Refused(code) => {
                refuse(link, client, code, out);
                None
            }
            Admission::Silent | Admission::Later => {
                let decision = Decision::default();
                say(link, &Word::Decided { client, verdict: Verdict::Silent, decision }, out);
                None
            }
        }
    }

    /// That a session begins is kept: its client is let in, and gets what is held.
    pub(super) fn begin_fix(
        &mut self,
        session: SessionId,
        begun: &FixBegun,
        out: &mut impl Outputs,
    ) {
        let Some(member) = self.member(session) else { return };
        let (user, next) = (begun.user, begun.last + 1);
        member.answer = Some(Answer::Held { user, next, is_again: true });
        let &mut Member { link, client, .. } = member;
        say(link, &Word::FixBegun { client, begun: *begun }, out);
    }

    /// A session goes on that the market knows.
    pub(super) fn resume_fix(
        &mut self,
        now: Time,
        (link, gateway, client): (SessionId, u16, u32),
        at: &FixResume,
        out: &mut impl Outputs,
    ) {
        let users = &self.floor.users;
        let user = users.get(at.user).filter(|user| {
            user.name == at.name && user.gateway == gateway && user.session.is_none()
        });
        let is_there = user.is_some() && !users.is_leaving(at.user);
        let (place, phase) = ((link, gateway, client), Phase::Resumes(at.user));
        let session =
            is_there.then(|| self.seat_member(now, place, Channel::RealTime, phase, out)).flatten();
        let Some(session) = session else { return refuse(link, client, UNAUTHORISED, out) };
        if !self.floor.desks.resume_apart(at.user, session, (at.last, at.mark)) {
            refuse(link, client, UNAUTHORISED, out);
            return self.end_member(session);
        }
        let (user, next) = (at.user, at.last + 1);
        if let Some(member) = self.member(session) {
            // Its client has seen none of them.
            member.answer = Some(Answer::Held { user, next, is_again: false });
        }
        self.answer(now, session, out);
    }

    /// Goes on with what a session gets that was held.
    pub(super) fn answer_fix(&mut self, session: SessionId, out: &mut impl Outputs) {
        let Some(&mut Member { link, client, phase, answer, .. }) = self.member(session) else {
            return;
        };
        let Some(Answer::Held { user, mut next, is_again }) = answer else { return };
        let is_all = self.floor.pass_held((user, session), &mut next, is_again, out);
        let Some(member) = self.member(session) else { return };
        member.answer = (!is_all).then_some(Answer::Held { user, next, is_again });
        if is_all && let Phase::Resumes(user) = phase {
            member.phase = Phase::In;
            self.floor.users.go_on(user, session);
            let decision = Decision { user, ..Decision::default() };
            say(link, &Word::Decided { client, verdict: Verdict::Granted, decision }, out);
        }
    }
}
