//! Another policy: who is logged in, and what they have open, is looked at again.
//!
//! Mounts whose users may have other rights are looked at one after the other,
//! stream by stream, a slice at a time. Whoever asks for something meanwhile is
//! answered by the new policy; what is open goes on until its turn has come.

use tapeline_channel::SessionId;
use tapeline_entitle::{Denial, PolicyChange};
use tapeline_planted::planted;
use tapeline_rwf::StateCode;

use super::Core;
use super::backlog::Job;
use super::login::Refusal;
use super::mount::Mount;
use super::permit::denied;
use crate::{Note, Outputs};

/// What a client is told whom nobody lets in any more.
const FORCED: &str = "Force Logout from DACS.";

/// What is left to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Review {
    /// Of one mount alone, or of all from a number on.
    only: Option<SessionId>,
    number: u32,
    /// Its next stream; `None` if its login comes first.
    stream_id: Option<i32>,
    /// Of all logins, as another day has begun: rights are those of before.
    is_of_day: bool,
}

/// The end of a login is told, written down and noted.
const STEPS_PER_LOGOUT: usize = 4;

impl Review {
    /// Of all mounts.
    const ALL: Self = Self { only: None, number: 0, stream_id: None, is_of_day: false };

    /// Of one mount that is another user's now.
    pub(super) const fn of_mount(session: SessionId) -> Self {
        Self { only: Some(session), stream_id: Some(i32::MIN), ..Self::ALL }
    }

    /// What comes after a mount; `None`: nothing.
    fn next_mount(&mut self) -> Option<usize> {
        if self.only.is_some() {
            return None;
        }
        (self.number, self.stream_id) = (self.number + 1, None);
        Some(1)
    }

    /// Takes over what a later one is to do. Whether it is about the same.
    pub(super) fn absorb(&mut self, later: &Self) -> bool {
        let is_same = (self.only, self.is_of_day) == (later.only, later.is_of_day);
        if is_same {
            *self = *later;
        }
        is_same
    }
}

impl Core {
    /// A policy is in force from now on.
    pub(super) fn enforce<O: Outputs>(&mut self, change: &PolicyChange, out: &mut O) {
        let is_all =
            |job: &Job| matches!(job, Job::Review(Review { only: None, is_of_day: false, .. }));
        let is_pending = self.backlog.jobs().any(is_all);
        let is_first = !self.entitlements.is_on();
        // The end of a day that is over is not to be missed.
        self.check_day();
        if self.entitlements.enforce(self.now, change, is_pending) {
            self.begin_month();
        }
        self.note_services(0);
        if is_first {
            self.record_start(out);
        }
        if !is_first && !planted!(KeptRights) {
            self.backlog.add(Job::Review(Review::ALL));
        }
        debug_assert!(
            !is_first || self.mounts.count == 0,
            "a first policy is there from the start"
        );
    }

    /// Looks at all logins when the day of policies, which is that of UTC, is over: it was
    /// the last one of some users.
    pub(super) fn check_day(&mut self) {
        if self.entitlements.day_ends().is_some_and(|end| end <= self.now) {
            if self.entitlements.note_day(self.now) {
                self.begin_month();
            }
            self.backlog.add(Job::Review(Review { is_of_day: true, ..Review::ALL }));
        }
    }

    /// Services became known, beside `known` that were.
    pub(super) fn note_services(&mut self, known: usize) {
        let Self { services, entitlements, .. } = self;
        if entitlements.is_on() && services.names().len() > known {
            for (id, name) in services.names() {
                entitlements.set_service(id, &String::from_utf8_lossy(name));
            }
        }
    }

    /// Looks at one login, or one stream.
    pub(super) fn review_step<O: Outputs>(
        &mut self,
        review: &mut Review,
        out: &mut O,
    ) -> Option<usize> {
        let session = match review.only {
            Some(session) => session,
            None if review.number >= self.mounts.numbers() => return None,
            None => match self.mounts.session_of(review.number) {
                Some(session) => session,
                None => return review.next_mount(),
            },
        };
        let Some(mount) = self.mounts.get(session) else { return review.next_mount() };
        let Some(from) = review.stream_id else {
            let login = mount.login.as_ref();
            let is_due = login.is_some_and(|login| {
                review.is_of_day || self.entitlements.may_differ(&login.identity)
            });
            if !is_due || self.review_login(session, out) || review.is_of_day {
                return review.next_mount();
            }
            review.stream_id = Some(i32::MIN);
            return Some(1);
        };
        let Some(stream_id) = mount.streams.item_from(from) else {
            return review.next_mount();
        };
        self.review_stream(session, stream_id, out);
        match stream_id.checked_add(1) {
            Some(next) => review.stream_id = Some(next),
            None => return review.next_mount(),
        }
        Some(1)
    }

    /// Looks at a login again. Whether it is over.
    fn review_login<O: Outputs>(&mut self, session: SessionId, out: &mut O) -> bool {
        let Some(mount) = self.mounts.get(session) else { return true };
        let Some(login) = &mount.login else { return true };
        let (peer, seats) = (mount.peer.ip().to_canonical(), self.mounts.users.seats());
        let answer = self.entitlements.log_in(self.now, &login.identity, peer, seats, login.seat);
        let Err(denial) = answer else {
            self.set_pace(session);
            return false;
        };
        let denial = match denial.code == StateCode::USER_UNKNOWN_TO_PERM_SYS {
            true => Denial { code: StateCode::NOT_ENTITLED, text: FORCED.to_owned() },
            false => denial,
        };
        self.force_logout(session, Refusal::of(denied(&denial)), out);
        true
    }

    /// Ends the logins of a user because an operator wants it, a slice at a time.
    /// Returns how many there are.
    pub(crate) fn log_out(&mut self, user: &str) -> usize {
        let sessions = self.mounts_of_user(user.as_bytes());
        let count = sessions.len();
        if count > 0 {
            self.backlog.add(Job::LogOut { user: user.into(), sessions });
        }
        count
    }

    /// Ends the next login, unless it is another user's by now.
    pub(super) fn log_out_step<O: Outputs>(
        &mut self,
        user: &str,
        sessions: &mut Vec<SessionId>,
        out: &mut O,
    ) -> Option<usize> {
        let session = sessions.pop()?;
        let login = self.mounts.get(session).and_then(|mount| mount.login.as_ref());
        if login.is_some_and(|login| login.shown_user() == user) {
            let denial = Denial { code: StateCode::NOT_ENTITLED, text: FORCED.to_owned() };
            self.force_logout(session, Refusal::of(denied(&denial)), out);
        }
        Some(STEPS_PER_LOGOUT)
    }

    /// Ends a login, telling why: all streams of the mount are over.
    pub(super) fn force_logout<O: Outputs>(
        &mut self,
        session: SessionId,
        refusal: Refusal,
        out: &mut O,
    ) {
        let login = self.mounts.get(session).and_then(|mount| mount.login.as_ref());
        let Some(login) = login else { return };
        let request = login.request.clone();
        self.statistics.users_logged_out += 1;
        let (peer, user) = (self.mounts.get(session).map(|mount| mount.peer), login.shown_user());
        if let Some(peer) = peer {
            out.note(Note::LoggedOut { session, peer, user: &user, why: refusal.state() });
        }
        self.tell_login(session, &request, refusal, out);
        self.end_login(session, out);
    }

    /// Whether seats were taken away that were not seen to.
    pub(super) fn has_vacated_seats(&self) -> bool {
        self.mounts.users.seats().vacated() != self.vacated
    }

    /// Ends the mounts whose seats were taken away, here or at a sibling.
    pub(super) fn check_seats<O: Outputs>(&mut self, out: &mut O) {
        if !self.has_vacated_seats() {
            return;
        }
        self.vacated = self.mounts.users.seats().vacated();
        let taken = self.mounts.users.seats().lock();
        let is_over = |mount: &&Mount| {
            let seat = mount.login.as_ref().and_then(|login| login.seat);
            seat.is_some_and(|seat| taken.is_vacated(seat))
        };
        let over: Vec<_> = self.mounts.iter().filter(is_over).map(|it| it.session).collect();
        drop(taken);
        for session in over {
            let login = self.mounts.get(session).and_then(|mount| mount.login.as_ref());
            let user = login.map(|login| login.identity.user.clone()).unwrap_or_default();
            let denial = Denial {
                code: StateCode::DACS_MAX_LOGINS_REACHED,
                text: format!("User {user} logged in at another position."),
            };
            self.force_logout(session, Refusal::of(denied(&denial)), out);
        }
    }
}
