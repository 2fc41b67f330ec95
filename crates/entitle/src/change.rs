//! A policy instead of another: whose rights change, and which open items.

use std::collections::HashMap;

use crate::document::{Grant, User};
use crate::engine::{Asked, Engine, Protection};
use crate::policy::{Access, Policy, ProfileId};
use crate::verdict::{Verdict, unknown_user};

/// An item that a user has open, or had, or might open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch<'a> {
    /// The user.
    pub user: &'a str,
    /// The user's roles, one a line, if not the policy says them.
    pub roles: Option<&'a str>,
    /// The item.
    pub asked: Asked<'a>,
    /// What its image said.
    pub protection: Protection<'a>,
}

/// A watch whose answer is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The watch.
    pub watch: Watch<'a>,
    /// The answer of the policy before.
    pub before: Verdict,
    /// The answer of the new one.
    pub after: Verdict,
}

/// A user whose rights change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedUser {
    /// The name.
    pub name: String,
    /// Whether the login has to be decided again: the user came, went, or may
    /// log in otherwise. For the others it is enough to look at their items.
    pub must_log_in: bool,
}

/// The watches whose answer changes. Nothing is worked out before it is asked
/// for: a slice of the watches is a slice of the work.
pub fn changes<'e, 'a: 'e>(
    old: &'e mut Engine,
    new: &'e mut Engine,
    watches: impl Iterator<Item = Watch<'a>> + 'e,
) -> impl Iterator<Item = Change<'a>> + 'e {
    watches.filter_map(|watch| {
        let (before, after) = (answer(old, &watch), answer(new, &watch));
        let is_changed = before.is_allowed() != after.is_allowed();
        is_changed.then_some(Change { watch, before, after })
    })
}

fn answer(engine: &mut Engine, watch: &Watch<'_>) -> Verdict {
    let policy = engine.policy();
    let profile = match watch.roles {
        None => policy.profile_of(watch.user),
        Some(roles) => {
            let roles: Vec<String> = roles.lines().map(ToOwned::to_owned).collect();
            policy.profile_of_roles(&roles)
        }
    };
    match profile {
        Some(profile) => engine.decide_open(profile, watch.asked, watch.protection),
        None => Verdict::Deny(unknown_user(watch.user)),
    }
}

/// The users whose rights are others, wherever the rules stand in the files:
/// those of the old policy first.
pub fn changed_users(old: &Policy, new: &Policy) -> Vec<ChangedUser> {
    let all = !has_same_settings(old, new);
    let mut comparison = Comparison { old, new, profiles: HashMap::new(), grants: HashMap::new() };
    let mut changed = Vec::new();
    for user in &old.document.users {
        let mut must_log_in = true;
        let mut is_changed = true;
        if let (Some(other), Some(before), Some(after)) =
            (new.user(&user.name), old.profile_of(&user.name), new.profile_of(&user.name))
        {
            must_log_in = !may_log_in_as(user, other);
            is_changed = all || must_log_in || !comparison.has_same_rights((before, after));
        }
        if is_changed {
            changed.push(ChangedUser { name: user.name.clone(), must_log_in });
        }
    }
    let is_new = |user: &&User| old.user(&user.name).is_none();
    let came = new.document.users.iter().filter(is_new);
    changed.extend(came.map(|user| ChangedUser { name: user.name.clone(), must_log_in: true }));
    changed
}

/// Whether what concerns everybody is the same.
fn has_same_settings(old: &Policy, new: &Policy) -> bool {
    let (before, after) = (&old.document, &new.document);
    let mut services = before.services.iter().chain(&after.services);
    before.is_allowed_by_default == after.is_allowed_by_default
        && before.is_odd_lock_allowed == after.is_odd_lock_allowed
        && before.lock_sources == after.lock_sources
        && before.no_lock == after.no_lock
        && old.lock_services == new.lock_services
        && services.all(|service| old.no_lock(&service.name) == new.no_lock(&service.name))
        // Services that no rule speaks of are open to all.
        && (!before.is_allowed_by_default || old.spoken_of() == new.spoken_of())
}

fn may_log_in_as(user: &User, other: &User) -> bool {
    user.positions == other.positions
        && user.applications == other.applications
        && user.networks == other.networks
        && user.until == other.until
}

/// Two policies, and what of them was compared already: many profiles have the same
/// roles, and a role may have a hundred thousand names.
struct Comparison<'p> {
    old: &'p Policy,
    new: &'p Policy,
    profiles: HashMap<(ProfileId, ProfileId), bool>,
    /// Of the old policy, and of the new one.
    grants: HashMap<(GrantPlace, GrantPlace), bool>,
}

/// Role, index of the grant in it, and whether it is one of posts.
type GrantPlace = (usize, usize, bool);

impl Comparison<'_> {
    fn has_same_rights(&mut self, (before, after): (ProfileId, ProfileId)) -> bool {
        if let Some(is_same) = self.profiles.get(&(before, after)) {
            return *is_same;
        }
        let (one, other) = (&self.old.profile(before).services, &self.new.profile(after).services);
        let is_same = one.len() == other.len()
            && one.iter().all(|(service, access)| {
                other.get(service).is_some_and(|other| self.has_same_access(access, other))
            })
            && has_same_extras(self.old, self.new, (before, after));
        self.profiles.insert((before, after), is_same);
        is_same
    }

    fn has_same_access(&mut self, access: &Access, other: &Access) -> bool {
        access.codes == other.codes
            && access.publishes == other.publishes
            && self.has_same_grants(&access.grants, &other.grants, false)
            && self.has_same_grants(&access.posts, &other.posts, true)
    }

    /// Each of one is among the others, and the other way round.
    fn has_same_grants(
        &mut self,
        one: &[(usize, usize)],
        other: &[(usize, usize)],
        is_post: bool,
    ) -> bool {
        let mut is_same = |one: &(usize, usize), other: &(usize, usize)| {
            let places = ((one.0, one.1, is_post), (other.0, other.1, is_post));
            *self.grants.entry(places).or_insert_with_key(|(before, after)| {
                grant_at(self.old, *before).is_same(grant_at(self.new, *after))
            })
        };
        one.iter().all(|one| other.iter().any(|other| is_same(one, other)))
            && other.iter().all(|other| one.iter().any(|one| is_same(one, other)))
    }
}

fn grant_at(policy: &Policy, (role, at, is_post): GrantPlace) -> &Grant {
    let role = &policy.document.roles[role];
    if is_post { &role.posts[at] } else { &role.grants[at] }
}

/// Fields, contracts and limits.
fn has_same_extras(old: &Policy, new: &Policy, (before, after): (ProfileId, ProfileId)) -> bool {
    old.field_mask(before) == new.field_mask(after)
        && old.contract(before) == new.contract(after)
        && old.item_limit(before) == new.item_limit(after)
        && old.max_priority_class(before) == new.max_priority_class(after)
}
