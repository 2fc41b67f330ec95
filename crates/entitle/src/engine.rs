//! Decisions: a policy, and what of it was worked out already.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use tapeline_rwf::StateCode;
use time::{Date, OffsetDateTime};

use crate::document::{NoLock, PostRight};
use crate::lock::{Lock, LockError, MAX_LOCK_BYTES, Sources};
use crate::policy::{Policy, ProfileId};
use crate::verdict::{Denial, Verdict, unknown_user};

/// So many different locks are remembered; further ones are worked out each
/// time. A market has some thousands.
pub const MAX_LOCKS: usize = 1 << 20;

/// The same, of their bytes.
pub const MAX_BYTES_OF_LOCKS: usize = 64 << 20;

/// A lock that was seen, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockId(u32);

impl LockId {
    /// The number: locks are counted from 0, up to [`MAX_LOCKS`].
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The lock of a number that [`number`](Self::number) gave.
    pub const fn of_number(number: u32) -> Self {
        Self(number)
    }
}

/// What an item's image says of who may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection<'a> {
    /// Its permission data.
    Lock(&'a [u8]),
    /// None, but a value in its field `PROD_PERM`.
    ProdPerm(u32),
    /// None at all.
    None,
}

/// An item that a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asked<'a> {
    /// The name of its service.
    pub service: &'a str,
    /// Its domain.
    pub domain: u8,
    /// Its name.
    pub name: &'a str,
}

/// A login, as far as a policy looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// The user.
    pub user: &'a str,
    /// The application's number, as the login has it.
    pub application: &'a str,
    /// The position's address and name, as the login has it.
    pub position: &'a str,
    /// Where the connection comes from.
    pub peer: IpAddr,
    /// Today.
    pub today: Date,
    /// The other positions at which the user is logged in, each once.
    pub other_positions: &'a [&'a str],
    /// The user's roles, if somebody who vouches for the user says them: then the
    /// policy need not know the user.
    pub roles: Option<&'a [String]>,
}

/// The day of a moment, in milliseconds since 1970, in UTC.
pub fn day_of(unix_ms: u64) -> Date {
    let moment = OffsetDateTime::from_unix_timestamp((unix_ms / 1000) as i64);
    moment.map_or(Date::MAX, OffsetDateTime::date)
}

/// A policy at work.
#[derive(Debug)]
pub struct Engine {
    policy: Arc<Policy>,
    /// Names of services by the numbers of the directory.
    directory: HashMap<u16, String>,
    lock_ids: HashMap<Arc<[u8]>, LockId>,
    locks: Vec<Known>,
    lock_bytes: usize,
    odd_locks: usize,
    /// By profile.
    memo: Vec<Memo>,
    /// What the memo may be of: counted up when something else may open a lock.
    epoch: u64,
}

fn no_service(asked: Asked<'_>) -> Verdict {
    Verdict::not_entitled(format!("Access Denied: service {}", asked.service))
}

const LOCKS_IN_WORD: usize = 32;

/// A lock that was seen, and how it was read last.
#[derive(Debug)]
struct Known {
    bytes: Arc<[u8]>,
    read: Result<Lock, LockError>,
    read_by: Sources,
}

/// Which locks open for a profile.
#[derive(Debug, Default)]
struct Memo {
    /// It is of nothing else.
    epoch: u64,
    /// Two bits for each lock: known, and open.
    bits: Vec<u64>,
}

impl Engine {
    /// Decides by a policy.
    pub fn new(policy: Arc<Policy>) -> Self {
        Self {
            policy,
            directory: HashMap::new(),
            lock_ids: HashMap::new(),
            locks: Vec::new(),
            lock_bytes: 0,
            odd_locks: 0,
            memo: Vec::new(),
            epoch: 0,
        }
    }

    /// The policy.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Another policy. Profiles of the one before are good no longer: they are
    /// asked for anew by [`Policy::profile_of`]. It takes no longer for more locks
    /// or users: what was worked out is forgotten where it is asked for.
    pub fn set_policy(&mut self, policy: Arc<Policy>) {
        self.epoch += 1;
        self.policy = policy;
    }

    /// Says which service a number of the directory is. Numbers that the policy
    /// names as `[[lock-service]]` are what the policy says.
    pub fn set_service(&mut self, id: u16, name: &str) {
        if self.directory.get(&id).is_none_or(|known| known != name) {
            self.directory.insert(id, name.to_owned());
            self.epoch += 1;
        }
    }

    /// How many different locks are remembered.
    pub fn locks(&self) -> usize {
        self.locks.len()
    }

    /// How many of them could not be read when they were looked at last.
    pub const fn odd_locks(&self) -> usize {
        self.odd_locks
    }

    /// Whether a user may log in, and as what.
    pub fn decide_login(&self, login: &Login<'_>) -> Result<ProfileId, Denial> {
        let policy = &self.policy;
        let name = login.user;
        let deny = |code, text| Err(Denial { code, text });
        let (user, profile) = match (policy.user(name), login.roles) {
            (user, Some(roles)) => match policy.profile_of_roles(roles) {
                Some(profile) => (user, profile),
                None => {
                    let text = format!("User {name} has roles beyond those that are kept.");
                    return deny(StateCode::NOT_ENTITLED, text);
                }
            },
            (user, None) => match policy.profile_of(name) {
                Some(profile) => (user, profile),
                None => return Err(unknown_user(name)),
            },
        };
        // What the policy says of a user holds for one who is vouched for as well.
        let Some(user) = user else { return Ok(profile) };
        if user.until.is_some_and(|until| login.today > until) {
            let text = format!("User {name} may not log in any more.");
            return deny(StateCode::NOT_ENTITLED, text);
        }
        if !user.networks.is_empty() && !user.networks.iter().any(|net| net.contains(&login.peer)) {
            let text = format!("User {name} may not log in from {}.", login.peer);
            return deny(StateCode::NOT_ENTITLED, text);
        }
        let is_application = |one: &String| one == login.application;
        if !user.applications.is_empty() && !user.applications.iter().any(is_application) {
            let text = format!("User {name} may not use application {}.", login.application);
            return deny(StateCode::DACS_USER_ACCESS_TO_APP_DENIED, text);
        }
        let others = login.other_positions;
        if let Some(positions) = user.positions
            && !policy.is_last_login_kept()
            && !others.contains(&login.position)
            && others.len() >= positions as usize
        {
            let (used, at) = (others.len(), others.join(", "));
            let text = format!("User {name} has {used} of {positions} logins, at {at}.");
            return deny(StateCode::DACS_MAX_LOGINS_REACHED, text);
        }
        Ok(profile)
    }

    /// Whether a request goes on: not if no image of this item could be shown
    /// to the profile, whatever its lock.
    pub fn decide_request(&self, profile: ProfileId, asked: Asked<'_>) -> Verdict {
        match self.has_way(profile, asked) {
            true => Verdict::Allow,
            false => no_service(asked),
        }
    }

    fn has_way(&self, profile: ProfileId, asked: Asked<'_>) -> bool {
        let policy = &self.policy;
        let Some(access) = policy.access(profile, asked.service) else {
            return policy.document.is_allowed_by_default && !policy.speaks_of(asked.service);
        };
        !access.codes.is_empty()
            || policy.grant(access, asked.name, asked.domain, |_| true).is_some()
    }

    /// Whether a list of a service's names may show this one: some item of the
    /// name could be shown to the profile.
    pub fn shows_name(&self, profile: ProfileId, service: &str, name: &str) -> bool {
        let policy = &self.policy;
        let Some(access) = policy.access(profile, service) else {
            return policy.document.is_allowed_by_default && !policy.speaks_of(service);
        };
        !access.codes.is_empty() || policy.grants(access).any(|grant| grant.names_item(name))
    }

    /// Whether an item whose image is there may be shown: at its first image,
    /// and whenever its permission data change.
    pub fn decide_open(
        &mut self,
        profile: ProfileId,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> Verdict {
        if !self.has_way(profile, asked) {
            return no_service(asked);
        }
        let is_open = match protection {
            Protection::Lock(bytes) => {
                self.opens(profile, bytes) || self.is_granted(profile, asked, true)
            }
            Protection::ProdPerm(_) | Protection::None => {
                self.is_open_without_lock(profile, asked, protection)
            }
        };
        match is_open {
            true => Verdict::Allow,
            false => Verdict::not_entitled(self.denied(profile, asked, protection)),
        }
    }

    /// Whether what carries a lock of its own (an update, an entry of a map)
    /// may be shown to who sees the item. It costs two look-ups.
    pub fn opens(&mut self, profile: ProfileId, lock: &[u8]) -> bool {
        match self.lock_id(lock) {
            Some(id) => self.opens_id(profile, id),
            None => self.work_out(profile, &Lock::decode(lock, self.policy.document.lock_sources)),
        }
    }

    /// The number of a lock; `None` if there are too many.
    pub fn lock_id(&mut self, bytes: &[u8]) -> Option<LockId> {
        if let Some(id) = self.lock_ids.get(bytes) {
            return Some(*id);
        }
        if self.locks.len() == MAX_LOCKS
            || bytes.len() > MAX_LOCK_BYTES
            || self.lock_bytes + bytes.len() > MAX_BYTES_OF_LOCKS
        {
            return None;
        }
        let id = LockId(self.locks.len() as u32);
        let read_by = self.policy.document.lock_sources;
        let read = Lock::decode(bytes, read_by);
        self.odd_locks += usize::from(read.is_err());
        let bytes: Arc<[u8]> = bytes.into();
        self.lock_bytes += bytes.len();
        self.lock_ids.insert(Arc::clone(&bytes), id);
        self.locks.push(Known { bytes, read, read_by });
        Some(id)
    }

    /// The bytes of a lock that was seen.
    pub fn lock_bytes(&self, lock: LockId) -> &[u8] {
        &self.locks[lock.0 as usize].bytes
    }

    /// The same, to be kept.
    pub fn shared_lock(&self, lock: LockId) -> Arc<[u8]> {
        Arc::clone(&self.locks[lock.0 as usize].bytes)
    }

    /// Whether a lock opens for a profile: worked out once for both.
    pub fn opens_id(&mut self, profile: ProfileId, lock: LockId) -> bool {
        let (at, shift) = (lock.0 as usize / LOCKS_IN_WORD, lock.0 as usize % LOCKS_IN_WORD * 2);
        let of = profile.0 as usize;
        let memo = self.memo.get(of).filter(|memo| memo.epoch == self.epoch);
        let bits = memo.and_then(|memo| memo.bits.get(at)).map_or(0, |word| word >> shift & 3);
        if bits & 2 != 0 {
            return bits & 1 != 0;
        }
        self.read_again(lock);
        let is_open = self.work_out(profile, &self.locks[lock.0 as usize].read);
        if self.memo.len() <= of {
            self.memo.resize_with(of + 1, Memo::default);
        }
        let memo = &mut self.memo[of];
        if memo.epoch != self.epoch {
            memo.epoch = self.epoch;
            memo.bits.clear();
        }
        if memo.bits.len() <= at {
            memo.bits.resize(at + 1, 0);
        }
        memo.bits[at] |= (2 | u64::from(is_open)) << shift;
        is_open
    }

    /// How locks are read is part of the policy, which may be another one since.
    fn read_again(&mut self, lock: LockId) {
        let read_by = self.policy.document.lock_sources;
        let known = &mut self.locks[lock.0 as usize];
        if known.read_by != read_by {
            self.odd_locks -= usize::from(known.read.is_err());
            known.read = Lock::decode(&known.bytes, read_by);
            known.read_by = read_by;
            self.odd_locks += usize::from(known.read.is_err());
        }
    }

    fn work_out(&self, profile: ProfileId, lock: &Result<Lock, LockError>) -> bool {
        match lock {
            Ok(lock) => lock.opens(|service, code| self.has_code(profile, service, code)),
            Err(LockError::Type(_)) => self.policy.document.is_odd_lock_allowed,
            Err(_) => false,
        }
    }

    /// The service that a lock's number means.
    pub(crate) fn service_of(&self, id: u16) -> Option<&str> {
        let policy = self.policy.lock_services.get(&id);
        policy.or_else(|| self.directory.get(&id)).map(String::as_str)
    }

    pub(crate) fn has_code(&self, profile: ProfileId, service: u16, code: u32) -> bool {
        let access = self.service_of(service).and_then(|name| self.policy.access(profile, name));
        access.is_some_and(|access| access.codes.contains(code))
    }

    /// Whether a grant names the item: one for locked items, or any.
    fn is_granted(&self, profile: ProfileId, asked: Asked<'_>, only_locked: bool) -> bool {
        let access = self.policy.access(profile, asked.service);
        let grant = access.and_then(|access| {
            let is_wanted = |grant: &crate::document::Grant| grant.is_locked || !only_locked;
            self.policy.grant(access, asked.name, asked.domain, is_wanted)
        });
        grant.is_some()
    }

    fn is_open_without_lock(
        &self,
        profile: ProfileId,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> bool {
        if self.policy.access(profile, asked.service).is_none() {
            // Nothing speaks of the service, and that is allowed.
            return true;
        }
        match (self.policy.no_lock(asked.service), protection) {
            (NoLock::Allow, _) => true,
            (NoLock::Deny, _) => false,
            (NoLock::ProdPerm, Protection::ProdPerm(code)) => {
                let access = self.policy.access(profile, asked.service);
                access.is_some_and(|access| access.codes.contains(code))
                    || self.is_granted(profile, asked, true)
            }
            (NoLock::ProdPerm | NoLock::Subject, _) => self.is_granted(profile, asked, false),
        }
    }

    fn denied(
        &mut self,
        profile: ProfileId,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> String {
        let by_prod_perm = self.policy.no_lock(asked.service) == NoLock::ProdPerm;
        match protection {
            Protection::Lock(bytes) => {
                match Lock::decode(bytes, self.policy.document.lock_sources) {
                    Ok(lock) => {
                        let missing = lock.missing(|id, code| self.has_code(profile, id, code));
                        format!("Access Denied: User req to PE({missing})")
                    }
                    Err(error) => format!("Access Denied: {error}"),
                }
            }
            Protection::ProdPerm(code) if by_prod_perm => {
                format!("Access Denied: User req to PE({code})")
            }
            _ => format!("Access Denied: {} of service {}", asked.name, asked.service),
        }
    }

    /// Whether a post may go on; a NAK says `ACCESS_DENIED` with the text.
    pub fn decide_post(&self, profile: ProfileId, asked: Asked<'_>, right: PostRight) -> Verdict {
        let policy = &self.policy;
        let is_allowed = policy.access(profile, asked.service).is_some_and(|access| {
            let mut grants = policy.post_grants(access);
            grants.any(|grant| {
                grant.rights.contains(&right) && grant.covers(asked.name, asked.domain)
            })
        });
        match is_allowed {
            true => Verdict::Allow,
            false => Verdict::not_entitled(format!(
                "Access Denied: post to {} of service {}",
                asked.name, asked.service
            )),
        }
    }

    /// Whether a provider that logs in by itself may publish into a service.
    pub fn decide_publish(&self, profile: ProfileId, service: &str) -> Verdict {
        let access = self.policy.access(profile, service);
        match access.is_some_and(|access| access.publishes) {
            true => Verdict::Allow,
            false => {
                Verdict::not_entitled(format!("Access Denied: publish into service {service}"))
            }
        }
    }
}
