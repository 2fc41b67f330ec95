//! What the policy says, as far as the core asks it.
//!
//! The answers are worked out by the [`Engine`]; [`permit`](super::permit) asks
//! for them where the core has something to show. Without a policy everything is
//! allowed, and nothing is asked.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_entitle::{
    Asked, Denial, Engine, LockId, Login as Asking, MAX_LOCKS, Policy, PolicyChange, PostRight,
    ProfileId, Protection, ReportMonth, Verdict, day_of,
};
use tapeline_rwf::StateCode;
use tapeline_time::Time;

use super::denials::Denials;
use super::mount::Login;
use crate::seats::{SeatId, Seats};

/// A day, in milliseconds.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// What an item's image says of who may see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Guard {
    /// There was none yet: nothing of the item is shown.
    #[default]
    Unknown,
    /// Nothing.
    Bare,
    /// The code in its field `PROD_PERM`, which is this one of those that were seen.
    ProdPerm(u32),
    /// Its lock.
    Lock(LockId),
    /// A lock beyond those that are remembered, which nobody opens.
    Sealed,
}

impl Guard {
    const OTHERS: u32 = 3;

    /// As a number: there are many items.
    pub(super) const fn to_number(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::Bare => 1,
            Self::Sealed => 2,
            Self::Lock(lock) => Self::OTHERS + 2 * lock.number(),
            Self::ProdPerm(index) => Self::OTHERS + 2 * index + 1,
        }
    }

    /// What [`to_number`](Self::to_number) gave.
    pub(super) fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Unknown,
            1 => Self::Bare,
            2 => Self::Sealed,
            _ => match (number - Self::OTHERS) / 2 {
                index if (number - Self::OTHERS).is_multiple_of(2) => {
                    Self::Lock(LockId::of_number(index))
                }
                index => Self::ProdPerm(index),
            },
        }
    }
}

/// The profile of a user, by the policy that gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Profile {
    epoch: u32,
    id: Option<ProfileId>,
}

/// Who logged in, as the records have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) user: String,
    pub(super) position: String,
    pub(super) application: String,
    /// Somebody was asked who it is; else the login is taken at its word.
    pub(super) is_proved: bool,
    /// The user's roles, if whoever was asked says them.
    pub(super) roles: Option<Arc<[String]>>,
}

/// An item as a policy knows it.
#[derive(Clone, Debug)]
pub(super) struct Named<'a> {
    pub(super) service: Cow<'a, str>,
    pub(super) domain: u8,
    pub(super) name: Cow<'a, str>,
}

impl Named<'_> {
    fn asked(&self) -> Asked<'_> {
        Asked { service: &self.service, domain: self.domain, name: &self.name }
    }
}

/// The policy in force, and what of it was worked out.
#[derive(Debug, Default)]
pub(super) struct Entitlements {
    engine: Option<Box<Engine>>,
    /// The codes that were seen in `PROD_PERM`, and where each of them is.
    codes: (Vec<u32>, HashMap<u32, u32>),
    /// Which policy it is, counted up.
    epoch: u32,
    /// What the time of day was at a moment, in milliseconds since 1970.
    wall: (Time, u64),
    /// When the day of that is over.
    day_ends: Option<Time>,
    /// The month of that.
    month: Option<ReportMonth>,
    /// How often something was denied, by product.
    pub(super) denials: Denials,
    /// Those who may have other rights than before; `None` for everybody.
    changed: Option<Vec<Arc<HashSet<String>>>>,
}

impl Entitlements {
    /// Whether there is a policy.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.engine.is_some()
    }

    /// Which policy is in force: 0 for none.
    pub(super) const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// How many locks were seen, and how many of them cannot be read.
    pub(super) fn locks(&self) -> (usize, usize) {
        self.engine.as_ref().map_or((0, 0), |engine| (engine.locks(), engine.odd_locks()))
    }

    /// A policy is in force from now on. What is still to be looked at because of
    /// the one before, `is_pending`, is so for both. Whether its time is of another
    /// month than that one's.
    pub(super) fn enforce(&mut self, now: Time, change: &PolicyChange, is_pending: bool) -> bool {
        self.wall = (now, change.unix_ms);
        let is_other_month = self.note_day(now);
        self.epoch += 1;
        let policy = Arc::clone(&change.policy);
        match &mut self.engine {
            Some(engine) => {
                self.denials.carry_over(engine.policy(), &policy);
                engine.set_policy(policy);
            }
            None => self.engine = Some(Box::new(Engine::new(policy))),
        }
        let before = if is_pending { self.changed.take() } else { Some(Vec::new()) };
        self.changed = before.zip(change.changed.clone()).map(|(mut all, users)| {
            all.push(users);
            all
        });
        is_other_month
    }

    /// Whether a user may have other rights than before.
    pub(super) fn may_differ(&self, who: &Identity) -> bool {
        // What the rights of a set of roles were is not looked at.
        let is_vouched_for = who.roles.is_some();
        is_vouched_for
            || self
                .changed
                .as_ref()
                .is_none_or(|all| all.iter().any(|users| users.contains(&who.user)))
    }

    /// A number of the directory stands for a service.
    pub(super) fn set_service(&mut self, id: u16, name: &str) {
        if let Some(engine) = &mut self.engine {
            engine.set_service(id, name);
        }
    }

    /// When the present day ends, in UTC, and with it what users may do until then;
    /// `None` without a policy.
    pub(super) const fn day_ends(&self) -> Option<Time> {
        self.day_ends
    }

    /// Another day has begun. Whether it is of another month.
    pub(super) fn note_day(&mut self, now: Time) -> bool {
        let unix_ms = self.unix_ms(now);
        let left_ms = DAY_MS - unix_ms % DAY_MS;
        self.day_ends = Some(now.after(Duration::from_millis(left_ms)));
        let before = core::mem::replace(&mut self.month, ReportMonth::of(unix_ms));
        before.is_some_and(|before| Some(before) != self.month)
    }

    /// The time of day in milliseconds since 1970.
    pub(super) fn unix_ms(&self, now: Time) -> u64 {
        self.wall.1 + now.since(self.wall.0).as_millis() as u64
    }

    /// The profile of who is logged in; `None` if the policy does not know the
    /// user any more.
    pub(super) fn profile(&self, login: &mut Login) -> Option<ProfileId> {
        login.profile = Profile { epoch: self.epoch, id: self.profile_now(login) };
        login.profile.id
    }

    /// The same, for who looks only.
    pub(super) fn profile_now(&self, login: &Login) -> Option<ProfileId> {
        if login.profile.epoch == self.epoch {
            return login.profile.id;
        }
        let policy = self.engine.as_ref()?.policy();
        match &login.identity.roles {
            Some(roles) => policy.profile_of_roles(roles),
            None => policy.profile_of(&login.identity.user),
        }
    }

    /// Whether a user may log in, and where he sits then. `own`: his seat, if he
    /// is logged in already.
    pub(super) fn log_in(
        &self,
        now: Time,
        who: &Identity,
        peer: IpAddr,
        seats: &Seats,
        own: Option<SeatId>,
    ) -> Result<Option<SeatId>, Denial> {
        let Some(engine) = &self.engine else { return Ok(None) };
        let mut taken = seats.lock();
        let others = taken.others(&who.user, own);
        let asking = Asking {
            user: &who.user,
            application: &who.application,
            position: &who.position,
            peer,
            today: day_of(self.unix_ms(now)),
            other_positions: &others,
            roles: who.roles.as_deref(),
        };
        engine.decide_login(&asking)?;
        if own.is_some() {
            return Ok(own);
        }
        let policy = engine.policy();
        let is_new = !others.contains(&who.position.as_str());
        let is_full = policy.positions(&who.user).is_some_and(|max| others.len() >= max as usize);
        if is_new && is_full && policy.is_last_login_kept() {
            seats.vacate_oldest(&mut taken, &who.user);
        }
        Ok(Some(taken.sit(&who.user, &who.position)))
    }

    /// What the bytes of a lock are to items.
    pub(super) fn guard(&mut self, lock: &[u8]) -> Guard {
        let id = self.engine.as_mut().and_then(|engine| engine.lock_id(lock));
        id.map_or(Guard::Sealed, Guard::Lock)
    }

    /// What a code in `PROD_PERM` is to items.
    pub(super) fn guard_of_code(&mut self, code: u32) -> Guard {
        let (codes, known) = &mut self.codes;
        if let Some(index) = known.get(&code) {
            return Guard::ProdPerm(*index);
        }
        if codes.len() == MAX_LOCKS {
            return Guard::Sealed;
        }
        let index = codes.len() as u32;
        codes.push(code);
        known.insert(code, index);
        Guard::ProdPerm(index)
    }

    /// Whether a guard is this lock.
    pub(super) fn is_lock(&self, guard: Guard, lock: &[u8]) -> bool {
        let Guard::Lock(id) = guard else { return false };
        self.engine.as_ref().is_some_and(|engine| engine.lock_bytes(id) == lock)
    }

    /// The lock of an item; empty where it has none.
    pub(super) fn lock_of(&self, guard: Guard) -> &[u8] {
        match (guard, &self.engine) {
            (Guard::Lock(id), Some(engine)) => engine.lock_bytes(id),
            _ => &[],
        }
    }

    /// The code in `PROD_PERM` that guards an item.
    pub(super) fn code_of(&self, guard: Guard) -> Option<u32> {
        match guard {
            Guard::ProdPerm(index) => self.codes.0.get(index as usize).copied(),
            _ => None,
        }
    }

    /// The names of the products by which an item is shown, one a line.
    pub(super) fn products_used(
        &mut self,
        profile: ProfileId,
        item: &Named<'_>,
        guard: Guard,
    ) -> String {
        let Self { engine, codes, .. } = self;
        let Some(engine) = engine else { return String::new() };
        let mut lock = None;
        let protection = protection(engine, &codes.0, guard, &mut lock);
        engine.products_used(profile, item.asked(), protection)
    }

    /// Whether the policy has products, for which denials are counted.
    pub(super) fn has_products(&self) -> bool {
        self.policy().is_some_and(|policy| !policy.products().is_empty())
    }

    /// A profile was denied an item: it is counted for each product that it lacks.
    pub(super) fn count_denial(&mut self, profile: ProfileId, item: &Named<'_>, guard: Guard) {
        let Self { engine: Some(engine), codes, denials, .. } = self else { return };
        let mut lock = None;
        let protection = protection(engine, &codes.0, guard, &mut lock);
        let lacked = engine.products_lacked(profile, item.asked(), protection);
        for product in lacked {
            denials.add(product);
        }
    }

    /// What of the policy keeps an item from a profile, for people.
    pub(super) fn why_no(
        &self,
        profile: Option<ProfileId>,
        item: &Named<'_>,
        guard: Guard,
    ) -> String {
        let Some(engine) = &self.engine else { return String::new() };
        let Some(profile) = profile else {
            return format!("{}: no [[user]] has this name", engine.policy().file());
        };
        let mut lock = None;
        let protection = protection(engine, &self.codes.0, guard, &mut lock);
        engine.why_no(profile, item.asked(), protection)
    }

    /// Whether a request goes on, before anything is known of the item.
    pub(super) fn decide_request(&self, profile: Option<ProfileId>, item: &Named<'_>) -> Verdict {
        match (&self.engine, profile) {
            (None, _) => Verdict::Allow,
            (Some(engine), Some(profile)) => engine.decide_request(profile, item.asked()),
            (Some(_), None) => Verdict::Deny(unknown()),
        }
    }

    /// Whether an item is shown.
    pub(super) fn decide_open(
        &mut self,
        profile: Option<ProfileId>,
        item: &Named<'_>,
        guard: Guard,
    ) -> Verdict {
        let Some(engine) = &mut self.engine else { return Verdict::Allow };
        let Some(profile) = profile else { return Verdict::Deny(unknown()) };
        match guard {
            Guard::Unknown => return engine.decide_request(profile, item.asked()),
            Guard::Sealed => return Verdict::Deny(sealed()),
            _ => {}
        }
        let mut lock = None;
        let protection = protection(engine, &self.codes.0, guard, &mut lock);
        engine.decide_open(profile, item.asked(), protection)
    }

    /// Whether who sees an item sees what has this lock of its own.
    pub(super) fn opens(&mut self, profile: Option<ProfileId>, lock: &[u8]) -> bool {
        match (&mut self.engine, profile) {
            (None, _) => true,
            (Some(engine), Some(profile)) => engine.opens(profile, lock),
            (Some(_), None) => false,
        }
    }

    /// The same for a lock that was seen.
    pub(super) fn opens_guard(&mut self, profile: Option<ProfileId>, guard: Guard) -> bool {
        match (&mut self.engine, profile, guard) {
            (None, ..) => true,
            (Some(engine), Some(profile), Guard::Lock(lock)) => engine.opens_id(profile, lock),
            _ => false,
        }
    }

    /// Whether a list of names may have this one.
    pub(super) fn shows_name(
        &self,
        profile: Option<ProfileId>,
        service: &str,
        name: &[u8],
    ) -> bool {
        match (&self.engine, profile) {
            (None, _) => true,
            (Some(engine), Some(profile)) => {
                engine.shows_name(profile, service, &String::from_utf8_lossy(name))
            }
            (Some(_), None) => false,
        }
    }

    /// Whether a post goes on.
    pub(super) fn may_post(
        &self,
        profile: Option<ProfileId>,
        item: &Named<'_>,
        right: PostRight,
    ) -> bool {
        match (&self.engine, profile) {
            (None, _) => true,
            (Some(engine), Some(profile)) => {
                engine.decide_post(profile, item.asked(), right).is_allowed()
            }
            (Some(_), None) => false,
        }
    }

    /// The policy, where it is asked for bounds.
    pub(super) fn policy(&self) -> Option<&Policy> {
        self.engine.as_ref().map(|engine| &**engine.policy())
    }
}

/// What guards an item, as the policy is asked about it; `lock` holds the bytes.
fn protection<'l>(
    engine: &Engine,
    codes: &[u32],
    guard: Guard,
    lock: &'l mut Option<Arc<[u8]>>,
) -> Protection<'l> {
    match guard {
        Guard::Lock(id) => Protection::Lock(lock.insert(engine.shared_lock(id))),
        Guard::ProdPerm(index) => Protection::ProdPerm(codes[index as usize]),
        Guard::Unknown | Guard::Bare | Guard::Sealed => Protection::None,
    }
}

fn unknown() -> Denial {
    Denial { code: StateCode::NOT_ENTITLED, text: "Access Denied: the user is unknown".to_owned() }
}

fn sealed() -> Denial {
    let text = "Access Denied: the server remembers no more locks".to_owned();
    Denial { code: StateCode::NOT_ENTITLED, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_a_number_and_back() {
        let locks = [0, 1, MAX_LOCKS as u32 - 1];
        let locks = locks.iter().map(|number| Guard::Lock(LockId::of_number(*number)));
        let codes = [0, 1, MAX_LOCKS as u32 - 1].map(Guard::ProdPerm);
        let all: Vec<_> = [Guard::Unknown, Guard::Bare, Guard::Sealed]
            .into_iter()
            .chain(locks)
            .chain(codes)
            .collect();
        for guard in &all {
            assert_eq!(Guard::from_number(guard.to_number()), *guard);
        }
        let numbers: HashSet<u32> = all.iter().map(|guard| guard.to_number()).collect();
        assert_eq!(numbers.len(), all.len());
    }
}
