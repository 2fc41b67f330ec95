//! Who may see what, where a world has a policy; and what of it is sure to reach
//! no consumer any more.

use std::collections::{BTreeMap, HashSet};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tapeline_entitle::{Demand, EdgePort, Lock, Policy, PolicyChange, Sources};
use tapeline_node::NewEdgePort;
use tapeline_time::Time;

use crate::item::{Item, MASKED, Truth};
use crate::plan::Shape;

/// Codes in locks: a consumer's rights have a bit for each.
const CODES: usize = 2;

/// All of them.
pub(crate) const ALL_RIGHTS: u8 = (1 << CODES) - 1;

/// Numbers of services in locks: this one and those behind it.
const FIRST_SERVICE: u16 = 300;

/// After this, nothing that is made anew goes to who lost the right to it.
pub(crate) const REVOKED_WITHIN: Duration = Duration::from_secs(1);

/// Whether who has these rights is shown all fields but [`MASKED`].
pub(crate) const fn is_masked(rights: u8) -> bool {
    rights & 0b10 == 0
}

/// The code that an item's lock demands; none for one without a lock.
const fn code_of(item: Item) -> Option<usize> {
    (item.name % (CODES + 1)).checked_sub(1)
}

/// The locks of items, if there are any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Locks(bool);

impl Locks {
    pub(crate) const fn new(shape: &Shape) -> Self {
        Self(shape.locks)
    }

    /// The bytes of an item's lock.
    pub(crate) fn of(self, item: Item) -> Option<Vec<u8>> {
        let code = code_of(item).filter(|_| self.0)?;
        let service = FIRST_SERVICE + item.service as u16;
        let lock = Lock::new([Demand::all(service, &[code as u32 + 1])]);
        Some(lock.encode(Sources::default()))
    }
}

/// The policy in force, and the servers that have to know.
#[derive(Debug)]
pub(crate) struct Policies {
    /// The rights of each consumer; none where everybody sees everything.
    rights: Option<Vec<u8>>,
    services: usize,
    servers: Vec<Sender<Arc<PolicyChange>>>,
}

impl Policies {
    pub(crate) fn new(shape: &Shape) -> Self {
        let rights = shape.locks.then(|| vec![ALL_RIGHTS; shape.consumers.len()]);
        Self { rights, services: shape.all_services(), servers: Vec::new() }
    }

    /// Where a server that starts has its policy from.
    pub(crate) fn edge(&mut self) -> Option<NewEdgePort> {
        let policy = Arc::new(self.policy()?);
        let (sender, policies) = channel();
        let first = PolicyChange { policy, changed: None, unix_ms: UNIX_MS };
        sender.send(Arc::new(first)).expect("the other end is here");
        self.servers.push(sender);
        let port = Mutex::new(Some(EdgePort::new(policies, None)));
        Some(NewEdgePort::new(move || {
            let mut port = port.lock().unwrap_or_else(PoisonError::into_inner);
            port.take().expect("a server is started once")
        }))
    }

    /// A consumer has these rights from now on. Whether there are any to have.
    pub(crate) fn set(&mut self, consumer: usize, rights: u8) -> bool {
        let Some(all) = &mut self.rights else { return false };
        all[consumer] = rights;
        let Some(policy) = self.policy().map(Arc::new) else { return false };
        let changed = Some(Arc::new(HashSet::from([user(consumer)])));
        let change = Arc::new(PolicyChange { policy, changed, unix_ms: UNIX_MS });
        self.servers.retain(|server| server.send(Arc::clone(&change)).is_ok());
        true
    }

    fn policy(&self) -> Option<Policy> {
        let rights = self.rights.as_ref()?;
        let head = format!(
            "version = 1\n[entitle]\nno-lock = \"subject\"\n\
             [[role]]\nname = \"masked\"\nfields = [\"deny\", {MASKED}]\n"
        );
        let services = (0..self.services).map(text_of_service);
        let users = rights.iter().enumerate();
        let users = users.map(|(consumer, rights)| text_of_user(consumer, *rights, self.services));
        let text: String = [head].into_iter().chain(services).chain(users).collect();
        let policy = Policy::parse("world.toml", &text);
        Some(policy.unwrap_or_else(|faults| panic!("{faults:?} in\n{text}")))
    }
}

/// A service in the policy: a role for what has no lock, and one for each code.
fn text_of_service(service: usize) -> String {
    let number = FIRST_SERVICE + service as u16;
    let of_code = |code: usize| {
        let (name, pe) = (format!("{service}_{code}"), code + 1);
        format!(
            "[[product]]\nname = \"p{name}\"\nservice = \"S{service}\"\npe = [{pe}]\n\
             [[role]]\nname = \"r{name}\"\nproducts = [\"p{name}\"]\n"
        )
    };
    let head = format!(
        "[[lock-service]]\nid = {number}\nservice = \"S{service}\"\n\
         [[role]]\nname = \"all{service}\"\ngrants = [{{ service = \"S{service}\" }}]\n"
    );
    [head].into_iter().chain((0..CODES).map(of_code)).collect()
}

/// A user in the policy.
fn text_of_user(consumer: usize, rights: u8, services: usize) -> String {
    let of_service = |service| {
        let codes = (0..CODES).filter(|code| rights & (1 << code) > 0);
        let codes = codes.map(move |code| format!("\"r{service}_{code}\""));
        codes.chain([format!("\"all{service}\"")])
    };
    let masked = is_masked(rights).then(|| "\"masked\"".to_owned());
    let roles: Vec<_> = (0..services).flat_map(of_service).chain(masked).collect();
    format!("[[user]]\nname = \"{}\"\nroles = [{}]\n", user(consumer), roles.join(", "))
}

/// The time of day, which nothing here depends on.
const UNIX_MS: u64 = 1_795_564_800_000;

/// The user that a consumer logs in as.
pub(crate) fn user(consumer: usize) -> String {
    format!("consumer{consumer}")
}

/// What a consumer may see, and has not been able to for so long that nothing new
/// of it is on its way.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    missing_since: [Option<Time>; CODES],
    was_missing: [bool; CODES],
    /// The last change of each item that may be on its way.
    last: BTreeMap<Item, u64>,
    /// Counts what changed.
    epoch: u64,
}

impl Sight {
    /// Takes note of other rights. Returns the number of this change.
    pub(crate) fn set(&mut self, now: Time, rights: u8) -> u64 {
        for code in 0..CODES {
            let is_missing = rights & (1 << code) == 0;
            let since = &mut self.missing_since[code];
            *since = since.or(Some(now)).filter(|_| is_missing);
            self.was_missing[code] |= is_missing;
        }
        let missing = self.missing_since;
        self.last.retain(|item, _| code_of(*item).is_some_and(|code| missing[code].is_some()));
        self.epoch += 1;
        self.epoch
    }

    /// Some time has passed since a change: of what may not be seen, nothing later
    /// comes.
    pub(crate) fn settle(&mut self, epoch: u64, items: impl Iterator<Item = Item>, truth: &Truth) {
        if epoch != self.epoch {
            return;
        }
        let missing = self.missing_since;
        for item in items.filter(|it| code_of(*it).is_some_and(|code| missing[code].is_some())) {
            self.last.entry(item).or_insert_with(|| truth.seq(item));
        }
    }

    /// Since when an item may not be seen, if it may not.
    pub(crate) fn missing_since(&self, item: Item) -> Option<Time> {
        self.missing_since[code_of(item)?]
    }

    /// Whether there was a time when it might not.
    pub(crate) fn was_missing(&self, item: Item) -> bool {
        code_of(item).is_some_and(|code| self.was_missing[code])
    }

    /// Whether content of an item may come.
    pub(crate) fn check(
        &self,
        item: Item,
        opened_at: Time,
        seq: Option<u64>,
    ) -> Result<(), String> {
        let Some(since) = self.missing_since(item) else { return Ok(()) };
        if opened_at > since {
            return Err("it is shown, and was opened without the right to it".to_owned());
        }
        match (seq, self.last.get(&item)) {
            (Some(seq), Some(last)) if seq > *last => {
                let s = REVOKED_WITHIN.as_secs();
                Err(format!("{seq} comes, and {s} s after the right was lost it was {last}"))
            }
            _ => Ok(()),
        }
    }
}
