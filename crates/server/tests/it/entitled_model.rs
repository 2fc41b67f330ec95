//! Over random policies, locks, reloads and hubs that fail: nobody is sent what a
//! plain look at the rules denies.
//!
//! Each image and update has a number of its own, in two fields of which some users are
//! shown one only. Whatever a mount is sent is looked up by it: which item, and which
//! lock the message had.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tapeline_backbone::{Incarnation, Kind};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{Demand, Lock, Sources};
use tapeline_rwf::{Domain, Msg, RefreshFlags, RefreshMsg, State, StatusMsg, UpdateMsg};

use crate::support::*;

const USERS: [&str; 3] = ["ann", "bob", "cid"];
const ITEMS: [&str; 2] = ["A", "B"];

/// What an item or an update demands: codes, and whether all of them or one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    codes: BTreeSet<u32>,
    all: bool,
}

impl Wanted {
    fn bytes(&self) -> Vec<u8> {
        let codes: Vec<u32> = self.codes.iter().copied().collect();
        let demand = if self.all { Demand::all(1, &codes) } else { Demand::any(1, &codes) };
        Lock::new([demand]).encode(Sources::default())
    }

    fn is_met(&self, has: &BTreeSet<u32>) -> bool {
        match self.all {
            true => self.codes.is_subset(has),
            false => !self.codes.is_disjoint(has),
        }
    }
}

/// What a user may see.
#[derive(Clone, Debug, Default)]
struct Rights {
    codes: BTreeSet<u32>,
    /// All fields but [`MASKED`].
    is_masked: bool,
}

/// The field that is not shown to all.
const MASKED: i16 = 25;

#[derive(Clone, Debug)]
enum Op {
    Open(usize, usize),
    Close(usize, usize),
    Image(usize, Option<Wanted>),
    Update(usize, Option<Wanted>),
    Relock(usize, Wanted),
    /// Rights of each user, or that there is no such user.
    Policy(Vec<Option<Rights>>),
    Slow(usize),
    Drain(usize),
    LoseHub,
    /// A slice of what is left to do.
    Slice,
}

fn codes() -> impl Strategy<Value = BTreeSet<u32>> {
    prop::collection::btree_set(1_u32..4, 1..3)
}

fn rights() -> impl Strategy<Value = Rights> {
    (codes(), any::<bool>()).prop_map(|(codes, is_masked)| Rights { codes, is_masked })
}

fn wanted() -> impl Strategy<Value = Wanted> {
    (codes(), any::<bool>()).prop_map(|(codes, all)| Wanted { codes, all })
}

fn op() -> impl Strategy<Value = Op> {
    let (user, item) = (0..USERS.len(), 0..ITEMS.len());
    let lock = || prop::option::of(wanted());
    let policy = prop::collection::vec(prop::option::weighted(0.8, rights()), USERS.len());
    prop_oneof![
        4 => (user.clone(), item.clone()).prop_map(|(user, item)| Op::Open(user, item)),
        1 => (user.clone(), item.clone()).prop_map(|(user, item)| Op::Close(user, item)),
        4 => (item.clone(), lock()).prop_map(|(item, lock)| Op::Image(item, lock)),
        6 => (item.clone(), lock()).prop_map(|(item, lock)| Op::Update(item, lock)),
        1 => (item, wanted()).prop_map(|(item, lock)| Op::Relock(item, lock)),
        2 => policy.prop_map(Op::Policy),
        1 => user.clone().prop_map(Op::Slow),
        2 => user.prop_map(Op::Drain),
        1 => Just(Op::LoseHub),
        3 => Just(Op::Slice),
    ]
}

fn text(rights: &[Option<Rights>]) -> String {
    let head = format!(
        "version = 1\n[entitle]\nno-lock = \"allow\"\n\
         [[role]]\nname = \"masked\"\nfields = [\"deny\", {MASKED}]\n"
    );
    let products = (1..4).map(|code| {
        format!(
            "[[product]]\nname = \"p{code}\"\nservice = \"FEED\"\npe = [{code}]\n\
             [[role]]\nname = \"r{code}\"\nproducts = [\"p{code}\"]\n"
        )
    });
    let users = USERS.iter().zip(rights).filter_map(|(user, rights)| {
        let rights = rights.as_ref()?;
        let masked = rights.is_masked.then(|| "\"masked\"".to_owned());
        let codes = rights.codes.iter().map(|code| format!("\"r{code}\""));
        let roles: Vec<_> = codes.chain(masked).collect();
        Some(format!("[[user]]\nname = \"{user}\"\nroles = [{}]\n", roles.join(", ")))
    });
    std::iter::once(head).chain(products).chain(users).collect::<Vec<_>>().concat()
}

/// What a plain evaluator knows.
struct Plain {
    world: World,
    rights: Vec<Option<Rights>>,
    /// Of each user.
    sessions: Vec<Vec<SessionId>>,
    /// The lock of each item; `None` for one that never had one.
    locks: Vec<Option<Wanted>>,
    /// The item of each number, and the lock that the message had of its own.
    sent: BTreeMap<i64, (usize, Option<Wanted>)>,
    hubs: [Incarnation; 2],
    /// Where each item is: hub, the hub's number, and the last sequence number.
    at: BTreeMap<usize, (Incarnation, u32, u32)>,
    /// The server's references.
    references: BTreeMap<u32, usize>,
    next: u32,
}

impl Plain {
    /// So many mounts of each user.
    fn new(crowd: usize) -> Self {
        let of = |codes: &[u32], is_masked| {
            Some(Rights { codes: codes.iter().copied().collect(), is_masked })
        };
        let rights = vec![of(&[1], true), of(&[1, 2], false), None];
        let mut world = World::new();
        world.enforce(&text(&rights));
        let hubs = [HUB, HUB_2];
        for hub in hubs {
            world.hub_up(hub);
            world.hub_directory(hub, vec![service(1, "FEED", true)]);
        }
        let mut mounts = |user| (0..crowd).map(|_| world.log_in(user)).collect();
        let sessions = USERS.iter().map(|user| mounts(user)).collect();
        let (locks, at, sent) = (vec![None; ITEMS.len()], BTreeMap::new(), BTreeMap::new());
        let references = BTreeMap::new();
        Self { world, rights, sessions, locks, sent, hubs, at, references, next: 0 }
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A message of an item for all servers, if a hub has it.
    fn publish(&mut self, item: usize, bytes: &[u8]) {
        let Some((hub, number, seq)) = self.at.get_mut(&item) else { return };
        *seq += 1;
        let (hub, number, seq) = (*hub, *number, *seq);
        self.world.item(hub, number, seq, bytes);
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Open(user, item) => {
                self.say(*user, &request(5 + *item as i32, ITEMS[*item]));
            }
            Op::Close(user, item) => {
                let items = self.world.core.statistics().items;
                self.say(*user, &close(5 + *item as i32));
                if self.world.core.statistics().items < items {
                    // Nobody has it any more, be it that no hub had it to be told. Who asks
                    // for it from here on is shown what the next image says.
                    self.locks[*item] = None;
                }
            }
            Op::Image(item, lock) if self.at.contains_key(item) => {
                let number = i64::from(self.number());
                if let Some(lock) = lock {
                    self.locks[*item] = Some(lock.clone());
                }
                self.sent.insert(number, (*item, None));
                let bytes = lock.as_ref().map(Wanted::bytes);
                let head = RefreshMsg {
                    flags: RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE,
                    state: State::open_ok(""),
                    perm_data: bytes.as_deref(),
                    ..RefreshMsg::new(Domain::MARKET_PRICE, 0)
                };
                self.publish(*item, &with_fields(&head.into(), &[(22, number), (MASKED, number)]));
            }
            Op::Update(item, lock) if self.at.contains_key(item) => {
                let number = i64::from(self.number());
                self.sent.insert(number, (*item, lock.clone()));
                let bytes = lock.as_ref().map(Wanted::bytes);
                let perm_data = bytes.as_deref();
                let head = UpdateMsg { perm_data, ..UpdateMsg::new(Domain::MARKET_PRICE, 0) };
                self.publish(*item, &update_msg(head, &[(22, number), (MASKED, number)]));
            }
            Op::Relock(item, lock) if self.at.contains_key(item) => {
                self.locks[*item] = Some(lock.clone());
                let bytes = lock.bytes();
                let perm_data = Some(&bytes[..]);
                let status = StatusMsg { perm_data, ..StatusMsg::new(Domain::MARKET_PRICE, 0) };
                self.publish(*item, &encoded(&status.into()));
            }
            Op::Image(..) | Op::Update(..) | Op::Relock(..) => {}
            Op::Policy(rights) => {
                self.rights.clone_from(rights);
                self.world.enforce(&text(rights));
                // What is open goes on until its turn has come.
                self.world.work_off();
                for (user, name) in USERS.iter().enumerate() {
                    // Who was logged out tries again.
                    self.say(user, &login(1, name));
                }
            }
            Op::Slow(user) => {
                for session in &self.sessions[*user] {
                    self.world.answer(*session, Sent::Slow);
                }
            }
            Op::Drain(user) => {
                for session in &self.sessions[*user] {
                    self.world.drain(*session);
                }
            }
            Op::Slice => self.world.handle_timeout(),
            Op::LoseHub => {
                self.at.retain(|_, (hub, ..)| *hub != self.hubs[0]);
                self.world.hub_down(self.hubs[0]);
                self.accept();
                self.world.hub_up(self.hubs[0]);
                let services = vec![service(1, "FEED", true)];
                self.world.hub_directory(self.hubs[0], services);
                self.hubs.swap(0, 1);
            }
        }
        self.accept();
    }

    /// All mounts of a user say the same.
    fn say(&mut self, user: usize, bytes: &[u8]) {
        for session in &self.sessions[user] {
            self.world.say(*session, bytes);
        }
    }

    /// Hubs accept what is asked for, and let go of what is closed.
    fn accept(&mut self) {
        for (header, body) in std::mem::take(&mut self.world.out.published) {
            match (header.kind, Msg::decode(&body)) {
                (Kind::Open, Ok(Msg::Request(request))) => {
                    let name = request.key.name.expect("an item has a name");
                    let item = ITEMS.iter().position(|it| it.as_bytes() == name).expect("known");
                    let number = self.number();
                    self.at.insert(item, (header.target, number, 0));
                    self.references.insert(header.item, item);
                    // The lock of an item that is asked for anew is not known, or
                    // what it was.
                    self.world.accept(header.target, number, header.item);
                }
                (Kind::Close, _) => {
                    if let Some(item) = self.references.remove(&header.item) {
                        self.at.remove(&item);
                        self.locks[item] = None;
                    }
                }
                _ => {}
            }
        }
    }

    /// What was sent is what the rules allow.
    fn check(&mut self) -> Result<(), TestCaseError> {
        let sessions = self.sessions.clone().into_iter().enumerate();
        let sessions = sessions.flat_map(|(user, all)| all.into_iter().map(move |it| (user, it)));
        for (user, session) in sessions {
            for bytes in self.world.heard_bytes(session) {
                let msg = Msg::decode(&bytes).expect("a message");
                let Ok(fields) = msg.payload().field_list() else { continue };
                let Ok(Some(field)) = fields.field(22) else { continue };
                let value = field.value.real().expect("a number").expect("not blank");
                let number = value.mantissa();
                let (item, own) = &self.sent[&number];
                let Rights { codes: has, is_masked } =
                    self.rights[user].clone().unwrap_or_default();
                let shown = fields.field(MASKED).expect("well-formed");
                prop_assert!(
                    !(is_masked && shown.is_some()),
                    "{} is shown field {MASKED} of {number}",
                    USERS[user],
                );
                let lock = &self.locks[*item];
                let is_open = match lock {
                    Some(lock) => lock.is_met(&has),
                    None => !has.is_empty(),
                };
                let opens_own = own.as_ref().is_none_or(|own| own.is_met(&has));
                prop_assert!(
                    is_open && opens_own,
                    "{} has {has:?} and got {number} of {}, lock {lock:?}, own {own:?}",
                    USERS[user],
                    ITEMS[*item],
                );
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_sent_what_the_rules_deny(ops in prop::collection::vec(op(), 1..60)) {
        let mut plain = Plain::new(1);
        for op in &ops {
            plain.apply(op);
            plain.check()?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Crowds are looked at in slices, and much comes between two of them.
    #[test]
    fn nobody_of_a_crowd_is_sent_what_the_rules_deny(ops in prop::collection::vec(op(), 1..60)) {
        let mut plain = Plain::new(8);
        plain.world.is_late = true;
        for op in &ops {
            plain.apply(op);
            plain.check()?;
        }
        plain.world.work_off();
        plain.check()?;
    }
}

#[test]
fn a_field_that_is_masked_again_is_not_shown_to_a_crowd() {
    let open = |codes: &[u32], is_masked| {
        Some(Rights { codes: codes.iter().copied().collect(), is_masked })
    };
    let ops = [
        Op::Open(0, 1),
        Op::Open(1, 1),
        Op::Policy(vec![open(&[1], false); 3]),
        Op::Open(2, 1),
        Op::Image(1, None),
        Op::Policy(vec![open(&[1], true), None, None]),
    ];
    let mut plain = Plain::new(8);
    plain.world.is_late = true;
    for op in &ops {
        plain.apply(op);
        plain.check().expect("as the rules say");
    }
    plain.world.work_off();
    plain.check().expect("as the rules say");
}
