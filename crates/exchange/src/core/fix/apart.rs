//! Sessions of FIX at gateways in processes of their own: what the market has of them.
//!
//! Their numbers are the gateway's. The market makes the bodies of reports, and holds
//! each until its client has it: for the gateway, if it goes on by another link, and for
//! whoever goes on with the session when the gateway is gone. So each process of the
//! market has of such a session what a follower has of one of the leader's own.

use tapeline_fix::{CompIds, Writer};
use tapeline_layout::Text;

use super::{Desk, Desks, Note, Numbers, TAKEN_OVER};
use crate::core::floor::Floor;
use crate::core::{Outputs, SessionId};
use crate::gateway::{FixAsked, FixBegun, FixReport};

/// Reports go out when fewer bytes than this have not gone out yet.
const SLICE_BYTES: usize = 64 << 10;

/// A session that begins at a gateway.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) struct Seated {
    /// What the gateway is told.
    pub(in crate::core) begun: FixBegun,
    /// What the journal is.
    pub(in crate::core) numbers: Numbers,
}

impl Numbers {
    /// Whether a gateway says this of a session of a user.
    pub(in crate::core) fn is_of(frame: &[u8], user: u16) -> bool {
        Self::read(frame)
            .is_some_and(|numbers| numbers.user == user && numbers.kind != Note::Begins as u8)
    }
}

impl Desk {
    /// Holds a message. Returns what the gateway gets, nothing while it is not there or
    /// has not got all that was before.
    pub(super) fn hold(
        &mut self,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> &[u8] {
        let Self { store, is_active, frame, .. } = self;
        let msg_type = Text::from_bytes(msg_type);
        let head = FixReport { report: store.report(), msg_type, is_again: 0 };
        frame.clear();
        frame.extend_from_slice(&head.to_bytes());
        store.hold(now_ns, msg_type.as_bytes(), body, frame);
        if !*is_active {
            frame.clear();
        }
        frame
    }
}

impl Desks {
    /// A user comes in by FIX at a gateway. `mark`: another one for each time.
    pub(in crate::core) fn seat_apart(
        &mut self,
        user: u16,
        session: SessionId,
        (day, mark): (u32, u64),
        asked: &FixAsked,
    ) -> Seated {
        let told = self.told(user);
        let desk = self.desk(user);
        if desk.apart == 0 && desk.before.is_none() && desk.store.next_out() > 1 {
            // It was at the door of this process, where more was sent than it may have.
            desk.store.take_back(desk.had);
            desk.before = Some(desk.numbers(Note::Numbers, (user, told)));
            desk.store.restart(1);
        }
        let before = desk.before;
        let last_day = before.map_or(desk.day, |before| before.day);
        let begins_again = last_day != day || asked.resets != 0;
        // What went out under numbers that end can be asked for no more.
        let is_there = !begins_again && desk.apart != 0 && desk.apart == asked.mark;
        let first = match before {
            _ if begins_again => 1,
            _ if is_there => 0,
            None => 1,
            Some(before) => {
                let since = told.saturating_sub(before.told) as u32;
                before.next_out.wrapping_add(since).wrapping_add(TAKEN_OVER)
            }
        };
        // What it has: where it goes on, what was sent to it there.
        let had = if is_there { asked.last.max(desk.had) } else { desk.had };
        let next = desk.store.held(had.saturating_add(1)).map_or(told + 1, |held| held.report);
        (desk.ids, desk.at) = (CompIds { own: Text::new("FGW"), peer: asked.peer }, Some(session));
        (desk.is_active, desk.admission, desk.day, desk.apart) = (false, None, day, mark);
        let begins = if first == 0 { asked.next_out } else { first };
        let numbers = Numbers {
            own: desk.ids.own,
            peer: desk.ids.peer,
            next_out: begins.saturating_add((told + 1).saturating_sub(next) as u32),
            day,
            told,
            user,
            kind: Note::Begins as u8,
            unsure: u32::try_from(told.saturating_sub(desk.had)).unwrap_or(u32::MAX),
        };
        let (had, last) = (desk.had, next - 1);
        let begun = FixBegun { first, day, had, last, mark, user, is_old_password: 0 };
        Seated { begun, numbers }
    }

    /// The session of a user goes on at a gateway that has everything up to a report.
    /// Returns whether it can: what is behind that is held.
    pub(in crate::core) fn resume_apart(
        &mut self,
        user: u16,
        session: SessionId,
        (last, mark): (u64, u64),
    ) -> bool {
        let told = self.told(user);
        let Some(desk) = self.all.get_mut(usize::from(user)).and_then(Option::as_deref_mut) else {
            return false;
        };
        let next = desk.store.held(last.saturating_add(1)).map_or(told + 1, |held| held.report);
        let can = next == last.saturating_add(1);
        if can {
            (desk.at, desk.is_active, desk.apart) = (Some(session), false, mark);
        }
        can
    }
}

impl Floor {
    /// Goes on with what a session at a gateway is to get that was held. Returns whether
    /// that was all: what comes from then on goes out at once.
    pub(in crate::core) fn pass_held(
        &mut self,
        (user, session): (u16, SessionId),
        next: &mut u64,
        is_again: bool,
        out: &mut impl Outputs,
    ) -> bool {
        let desk = self.desks.desk(user);
        while let Some(held) = desk.store.held(*next) {
            if out.queued(session) >= SLICE_BYTES {
                return false;
            }
            let (report, is_again) = (held.report, u8::from(is_again));
            let head = FixReport { report, msg_type: held.msg_type, is_again };
            desk.frame.clear();
            desk.frame.extend_from_slice(&head.to_bytes());
            desk.frame.extend_from_slice(held.body);
            out.send(session, &desk.frame);
            self.counts.recovered += 1;
            *next = report + 1;
        }
        desk.is_active = true;
        true
    }
}
