//! A policy, compiled: users to profiles, profiles to what they may do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tapeline_omm::view::FieldMask;

use crate::codes::Codes;
use crate::contract::Contract;
use crate::document::{Document, Grant, NoLock, Product, Role, User};
use crate::fault::Fault;

/// What a user may do, as a number that is given at login: users with the same
/// roles share it. It is good for the policy that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProfileId(pub(crate) u32);

/// What a profile may do with one service.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) codes: Codes,
    /// Indexes of products, ascending, each once.
    pub(crate) products: Vec<usize>,
    /// Role and index of the grant in it.
    pub(crate) grants: Vec<(usize, usize)>,
    pub(crate) posts: Vec<(usize, usize)>,
    pub(crate) publishes: bool,
}

#[derive(Debug)]
pub(crate) struct Profile {
    /// Ascending, each once.
    pub(crate) roles: Vec<usize>,
    pub(crate) services: BTreeMap<String, Access>,
    field_mask: Option<Arc<FieldMask>>,
}

/// Sets of roles, beside those of the policy's own users, that others say of users.
pub const MAX_VOUCHED_PROFILES: usize = 1_024;

/// Profiles of users whose roles are not said by the policy. They come at logins and
/// stay; they are looked at without a lock.
#[derive(Debug)]
struct Vouched {
    profiles: Box<[OnceLock<Profile>]>,
    known: Mutex<HashMap<Vec<usize>, ProfileId>>,
}

impl Vouched {
    fn new(known: HashMap<Vec<usize>, ProfileId>) -> Self {
        let profiles = (0..MAX_VOUCHED_PROFILES).map(|_| OnceLock::new()).collect();
        Self { profiles, known: Mutex::new(known) }
    }
}

/// A policy file that was read and found good.
#[derive(Debug)]
pub struct Policy {
    pub(crate) file: String,
    pub(crate) document: Document,
    pub(crate) profiles: Vec<Profile>,
    /// The user's place in the document, and the profile.
    users: HashMap<String, (usize, ProfileId)>,
    pub(crate) lock_services: HashMap<u16, String>,
    no_locks: HashMap<String, NoLock>,
    /// The services of products and grants.
    spoken_of: BTreeSet<String>,
    /// Roles by their names.
    role_index: HashMap<String, usize>,
    vouched: Vouched,
}

impl Policy {
    /// Reads the text of a policy; `file` is how faults and reasons call it.
    /// All that is wrong is told at once.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Fault>> {
        let document = Document::parse(file, text)?;
        let roles = document.roles.iter().enumerate();
        let role_index: HashMap<String, usize> =
            roles.map(|(at, role)| (role.name.clone(), at)).collect();
        let mut users = HashMap::with_capacity(document.users.len());
        let mut profiles: Vec<Profile> = Vec::new();
        let mut known: HashMap<Vec<usize>, ProfileId> = HashMap::new();
        for (at, user) in document.users.iter().enumerate() {
            let is_in = |name: &str| user.groups.iter().any(|group| group.value == name);
            let groups = document.groups.iter().filter(|group| is_in(&group.name));
            let names = groups.flat_map(|group| &group.roles).chain(&user.roles);
            let mut roles: Vec<usize> = names.map(|name| role_index[name.value.as_str()]).collect();
            roles.sort_unstable();
            roles.dedup();
            let profile = *known.entry(roles).or_insert_with_key(|roles| {
                profiles.push(Profile::of(roles.clone(), &document));
                ProfileId(profiles.len() as u32 - 1)
            });
            users.insert(user.name.clone(), (at, profile));
        }
        let products = document.products.iter().map(|product| &product.service);
        let grants = document.roles.iter().flat_map(|role| &role.grants);
        let spoken_of = products.chain(grants.map(|grant| &grant.service)).cloned().collect();
        let no_locks = document.services.iter();
        Ok(Self {
            file: file.to_owned(),
            no_locks: no_locks.filter_map(|one| Some((one.name.clone(), one.no_lock?))).collect(),
            spoken_of,
            role_index,
            vouched: Vouched::new(known),
            lock_services: document.lock_services.iter().cloned().collect(),
            document,
            profiles,
            users,
        })
    }

    /// The file that it is from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The profile of a user; `None` if the policy does not know the name.
    pub fn profile_of(&self, user: &str) -> Option<ProfileId> {
        self.users.get(user).map(|(_, profile)| *profile)
    }

    /// The profile of a user whose roles somebody else says. Roles that the policy
    /// does not have give nothing. `None` if there are more different sets of roles
    /// than [`MAX_VOUCHED_PROFILES`].
    pub fn profile_of_roles(&self, names: &[String]) -> Option<ProfileId> {
        let mut roles: Vec<usize> =
            names.iter().filter_map(|name| self.role_index.get(name).copied()).collect();
        roles.sort_unstable();
        roles.dedup();
        let Vouched { profiles, known } = &self.vouched;
        // Nothing in here panics half-way: what is behind a poisoned lock is whole.
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = known.get(&roles) {
            return Some(*profile);
        }
        let free = profiles.iter().position(|profile| profile.get().is_none())?;
        profiles[free].get_or_init(|| Profile::of(roles.clone(), &self.document));
        let profile = ProfileId((self.profiles.len() + free) as u32);
        known.insert(roles, profile);
        Some(profile)
    }

    /// The users that it knows, in the order of the file.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.document.users.iter().map(|user| user.name.as_str())
    }

    /// The products, in the order of the file.
    pub fn products(&self) -> &[Product] {
        &self.document.products
    }

    /// The products that the roles of a profile have, each once.
    pub fn products_of(&self, profile: ProfileId) -> impl Iterator<Item = &Product> {
        let has = move |product: &&Product| {
            let mut roles = self.roles(profile);
            roles.any(|role| role.products.iter().any(|name| name.value == product.name))
        };
        self.document.products.iter().filter(has)
    }

    /// The fields that a profile is shown: those of any of its roles that speak of
    /// fields. `None` is all, where none does.
    pub fn field_mask(&self, profile: ProfileId) -> Option<&Arc<FieldMask>> {
        self.profile(profile).field_mask.as_ref()
    }

    /// The first delivery contract that a role of the profile names.
    pub fn contract(&self, profile: ProfileId) -> Option<Contract> {
        self.roles(profile).find_map(|role| role.contract)
    }

    /// The largest number of items that a role of the profile allows.
    pub fn item_limit(&self, profile: ProfileId) -> Option<u32> {
        self.roles(profile).filter_map(|role| role.item_limit).max()
    }

    /// The highest class of priority that a role of the profile allows.
    pub fn max_priority_class(&self, profile: ProfileId) -> Option<u32> {
        self.roles(profile).filter_map(|role| role.max_priority_class).max()
    }

    /// From how many positions a user may be logged in at a time; `None` for any
    /// number.
    pub fn positions(&self, user: &str) -> Option<u32> {
        self.user(user).and_then(|user| user.positions)
    }

    /// Whether the login of a user whose positions are used up ends the oldest
    /// instead of being refused.
    pub fn is_last_login_kept(&self) -> bool {
        self.document.is_last_login_kept
    }

    pub(crate) fn user(&self, name: &str) -> Option<&User> {
        self.users.get(name).map(|(at, _)| &self.document.users[*at])
    }

    pub(crate) fn profile(&self, profile: ProfileId) -> &Profile {
        let at = profile.0 as usize;
        match at.checked_sub(self.profiles.len()) {
            None => &self.profiles[at],
            Some(at) => self.vouched.profiles[at].get().expect("a profile that was given"),
        }
    }

    pub(crate) fn roles(&self, profile: ProfileId) -> impl Iterator<Item = &Role> {
        self.profile(profile).roles.iter().map(|role| &self.document.roles[*role])
    }

    pub(crate) fn access(&self, profile: ProfileId, service: &str) -> Option<&Access> {
        self.profile(profile).services.get(service)
    }

    /// The grant of a profile that covers a name, if one does.
    pub(crate) fn grant(
        &self,
        access: &Access,
        name: &str,
        domain: u8,
        is_wanted: impl Fn(&Grant) -> bool,
    ) -> Option<&Grant> {
        self.grants(access).find(|grant| is_wanted(grant) && grant.covers(name, domain))
    }

    pub(crate) fn grants(&self, access: &Access) -> impl Iterator<Item = &Grant> {
        access.grants.iter().map(|(role, at)| &self.document.roles[*role].grants[*at])
    }

    pub(crate) fn post_grants(&self, access: &Access) -> impl Iterator<Item = &Grant> {
        access.posts.iter().map(|(role, at)| &self.document.roles[*role].posts[*at])
    }

    pub(crate) fn no_lock(&self, service: &str) -> NoLock {
        self.no_locks.get(service).copied().unwrap_or(self.document.no_lock)
    }

    /// Whether any rule speaks of a service; `default` decides about others.
    pub(crate) fn speaks_of(&self, service: &str) -> bool {
        self.spoken_of.contains(service)
    }

    pub(crate) fn spoken_of(&self) -> &BTreeSet<String> {
        &self.spoken_of
    }

    /// The products with a code of a service.
    pub(crate) fn products_with(&self, service: &str, code: u32) -> impl Iterator<Item = &Product> {
        let is_with = move |product: &&Product| product.service == service && product.has(code);
        self.document.products.iter().filter(is_with)
    }

    /// A place in the file, for a reason.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }

    /// How many tests the policy has.
    pub fn tests(&self) -> usize {
        self.document.cases.len()
    }
}

impl Profile {
    fn of(roles: Vec<usize>, document: &Document) -> Self {
        let mut codes: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
        let mut services: BTreeMap<String, Access> = BTreeMap::new();
        for at in &roles {
            let role = &document.roles[*at];
            for name in &role.products {
                let has_name = |product: &Product| product.name == name.value;
                let index = document.products.iter().position(has_name);
                let index = index.expect("a policy names products that it has");
                let product = &document.products[index];
                codes.entry(&product.service).or_default().extend(&product.codes);
                services.entry(product.service.clone()).or_default().products.push(index);
            }
            for (index, grant) in role.grants.iter().enumerate() {
                services.entry(grant.service.clone()).or_default().grants.push((*at, index));
            }
            for (index, grant) in role.posts.iter().enumerate() {
                services.entry(grant.service.clone()).or_default().posts.push((*at, index));
            }
            for service in &role.publishes {
                services.entry(service.value.clone()).or_default().publishes = true;
            }
        }
        for (service, codes) in codes {
            services.entry(service.to_owned()).or_default().codes = Codes::of(codes);
        }
        for access in services.values_mut() {
            access.products.sort_unstable();
            access.products.dedup();
        }
        let masks = roles.iter().filter_map(|at| document.roles[*at].fields.clone());
        let field_mask = masks.reduce(|one, other| one.union(&other)).map(Arc::new);
        Self { roles, services, field_mask }
    }
}
