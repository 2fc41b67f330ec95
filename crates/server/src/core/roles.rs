//! Which part the server plays for a mount: the client's active server, or one
//! that stands by.
//!
//! The client says so for all services, on its login, or for each, on its
//! directory; the later of the two counts. One that never says anything has no
//! role, which is served as the active one is. What follows for the streams of
//! the mount is in [`standby`](super::standby).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tapeline_time::Time;

/// A part that a client gave the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The client takes its data from here.
    Active,
    /// The client takes its data from another server.
    Standby,
}

impl Role {
    /// As an operator sees it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Standby => "standby",
        }
    }
}

/// Where the walk over the streams of a mount is that has them follow its roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// Those from this id on are yet to be held, if their service is to be.
    Hold {
        /// The next id.
        from: i32,
    },
    /// Those that are held without their service standing by are yet to be
    /// served, the highest priority first.
    Release(Pass),
}

/// One pass over the streams of a mount, to serve those of a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    /// The next id.
    pub(super) from: i32,
    /// Streams of this class and of higher ones are served,
    pub(super) class: u8,
    /// and so many classes are left: the highest of those that are passed over.
    pub(super) highest_left: Option<u8>,
}

impl Pass {
    /// The first only looks for the highest class, unless that is the highest
    /// there can be.
    const FIRST: Self = Self { from: i32::MIN, class: u8::MAX, highest_left: None };

    /// The next one, if anything was passed over.
    pub(super) fn next(self) -> Option<Self> {
        let class = self.highest_left?;
        Some(Self { from: i32::MIN, class, highest_left: None })
    }
}

/// A mount that is being taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TakeOver {
    /// When the client said so,
    pub(super) since: Time,
    /// when the first of its streams was served,
    pub(super) first: Option<Time>,
    /// and how many were so far.
    pub(super) streams: usize,
}

/// The roles that a mount gave the server.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// Of all services but those that have their own.
    login: Option<Role>,
    /// Of services, by the numbers that the client has for them: there need be
    /// no such service yet.
    services: BTreeMap<u16, Option<Role>>,
    /// All services are to be held by the walk,
    holds_all: bool,
    /// or these.
    holds: BTreeSet<u16>,
    /// Something is held that its role does not hold any more.
    is_release_due: bool,
    /// The walk that is under way.
    pub(super) walk: Option<Walk>,
    /// The take-over that is under way.
    pub(super) take_over: Option<TakeOver>,
    /// When the client was last told how services are described.
    described_at: Option<Time>,
}

/// A client that leaves so soon after services were described to it leaves because of
/// that, as far as the server can tell.
const LEFT_FOR_IT: Duration = Duration::from_secs(1);

impl Roles {
    /// The client is told how services are described, which it compares with what the
    /// first server of its group says.
    pub(super) const fn described(&mut self, now: Time) {
        self.described_at = Some(now);
    }

    /// The client leaves: how long after that, if that looks like the reason. Only a
    /// client that has several servers compares.
    pub(super) fn left_out(&self, now: Time) -> Option<Duration> {
        let after = now.since(self.described_at.filter(|_| self.has_standby())?);
        (after < LEFT_FOR_IT).then_some(after)
    }

    /// The role for a service.
    pub(super) fn of(&self, service_id: u16) -> Option<Role> {
        self.services.get(&service_id).copied().unwrap_or(self.login)
    }

    /// Whether the server stands by with a service.
    pub(super) fn stands_by(&self, service_id: u16) -> bool {
        self.of(service_id) == Some(Role::Standby)
    }

    /// Whether it stands by with any.
    pub(super) fn has_standby(&self) -> bool {
        let is_standby = |role: &Option<Role>| *role == Some(Role::Standby);
        is_standby(&self.login) || self.services.values().any(is_standby)
    }

    /// The client gives a role for all services. Whether anything is to be done.
    pub(super) fn set_login(&mut self, now: Time, role: Option<Role>) -> bool {
        let is_same = self.login == role && self.services.is_empty();
        let had_standby = self.has_standby();
        self.login = role;
        self.services.clear();
        if is_same {
            return false;
        }
        match role {
            Some(Role::Standby) => {
                self.holds_all = true;
                self.begin_holding();
                true
            }
            _ => had_standby && self.begin_releasing(now),
        }
    }

    /// The client gives a role for a service. Whether anything is to be done.
    pub(super) fn set_service(&mut self, now: Time, service_id: u16, role: Option<Role>) -> bool {
        let before = self.of(service_id);
        self.services.insert(service_id, role);
        if before == role {
            return false;
        }
        match role {
            Some(Role::Standby) => {
                self.holds.insert(service_id);
                self.begin_holding();
                true
            }
            _ => before == Some(Role::Standby) && self.begin_releasing(now),
        }
    }

    fn begin_holding(&mut self) {
        self.walk = Some(Walk::Hold { from: i32::MIN });
    }

    fn begin_releasing(&mut self, now: Time) -> bool {
        self.is_release_due = true;
        self.take_over.get_or_insert(TakeOver { since: now, first: None, streams: 0 });
        // What is to be held has missed something: it is held first.
        if !matches!(self.walk, Some(Walk::Hold { .. })) {
            self.begin_pass();
        }
        true
    }

    fn begin_pass(&mut self) {
        self.walk = core::mem::take(&mut self.is_release_due).then_some(Walk::Release(Pass::FIRST));
    }

    /// All streams that were to be held are.
    pub(super) fn end_holding(&mut self) {
        (self.holds_all, self.holds) = (false, BTreeSet::new());
        // A walk that served streams was interrupted, perhaps.
        self.is_release_due |= self.take_over.is_some();
        self.begin_pass();
    }

    /// Whether a stream is held as soon as anything is to be sent on it.
    pub(super) fn is_to_hold(&self, stream_id: i32, service_id: u16) -> bool {
        matches!(self.walk, Some(Walk::Hold { from }) if stream_id >= from)
            && (self.holds_all || self.holds.contains(&service_id))
    }

    /// As an operator sees them: one word for all services, then those that
    /// differ.
    pub(super) fn words(&self, name: impl Fn(u16) -> String) -> String {
        let word = |role: Option<Role>| role.map_or("none", Role::word);
        let mut words = Vec::new();
        if self.login.is_some() || self.services.is_empty() {
            words.push(word(self.login).to_owned());
        }
        let services = self.services.iter();
        words.extend(services.map(|(id, role)| format!("{}:{}", name(*id), word(*role))));
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::ZERO;

    #[test]
    fn the_later_of_login_and_service_counts() {
        let mut roles = Roles::default();
        assert_eq!(roles.of(1), None);
        assert!(roles.set_login(NOW, Some(Role::Standby)));
        assert!(roles.set_service(NOW, 2, Some(Role::Active)));
        assert_eq!((roles.of(1), roles.of(2)), (Some(Role::Standby), Some(Role::Active)));
        assert_eq!(roles.words(|id| format!("S{id}")), "standby S2:active");
        assert!(roles.set_login(NOW, Some(Role::Standby)));
        assert_eq!(roles.of(2), Some(Role::Standby));
        assert!(roles.set_service(NOW, 2, None), "without a role it is served");
        assert_eq!((roles.of(2), roles.has_standby()), (None, true));
        assert!(roles.set_login(NOW, None));
        assert!(!roles.has_standby());
        assert_eq!(roles.words(|_| unreachable!()), "none");
    }

    #[test]
    fn what_is_said_twice_changes_nothing() {
        let mut roles = Roles::default();
        assert!(!roles.set_login(NOW, Some(Role::Active)), "nothing was held");
        assert!(!roles.set_service(NOW, 1, Some(Role::Active)));
        assert!(roles.set_service(NOW, 1, Some(Role::Standby)));
        assert!(!roles.set_service(NOW, 1, Some(Role::Standby)));
        assert_eq!(roles.take_over, None);
    }

    #[test]
    fn only_who_leaves_soon_and_has_a_standby_may_have_compared() {
        let second = |s| NOW.after(Duration::from_secs(s));
        let mut roles = Roles::default();
        roles.described(NOW);
        assert_eq!(roles.left_out(NOW), None, "it has no other server");
        roles.set_login(NOW, Some(Role::Standby));
        assert_eq!(roles.left_out(NOW), Some(Duration::ZERO));
        assert_eq!(roles.left_out(second(1)), None);
        roles.described(second(1));
        assert_eq!(roles.left_out(second(1)), Some(Duration::ZERO));
        assert_eq!(Roles::default().left_out(NOW), None, "nothing was described to it");
    }

    #[test]
    fn what_is_to_be_held_is_held_before_it_is_served_again() {
        let mut roles = Roles::default();
        roles.set_service(NOW, 1, Some(Role::Standby));
        roles.walk = Some(Walk::Hold { from: 7 });
        roles.set_service(NOW, 1, Some(Role::Active));
        assert!(roles.is_to_hold(7, 1), "it missed what was sent meanwhile");
        assert!(!roles.is_to_hold(6, 1) && !roles.is_to_hold(7, 2));
        roles.end_holding();
        assert_eq!(roles.walk, Some(Walk::Release(Pass::FIRST)));
        assert!(!roles.is_to_hold(7, 1));
    }

    #[test]
    fn a_pass_is_followed_by_one_for_the_next_class() {
        assert_eq!(Pass::FIRST.next(), None);
        let pass = Pass { highest_left: Some(3), ..Pass::FIRST };
        assert_eq!(pass.next().map(|next| (next.class, next.from)), Some((3, i32::MIN)));
    }
}
