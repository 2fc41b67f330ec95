//! What a large policy costs: to load, to hold, to ask, and to put in another's place.
//!
//! ```text
//! cargo run --release -p tapeline-entitle --example large_policy -- [USERS] [NAMES] [LOCKS]
//! ```
//!
//! By default 10,000 users of 50 roles, 1,000,000 names in their rules and 100,000
//! different locks. A policy of ten users and ten names is beside it: what is asked of
//! both is to cost the same.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tapeline_entitle::{
    Asked, Demand, Engine, Lock, Policy, ProfileId, Protection, Sources, changed_users,
};

const ROLES: usize = 50;
const CODES: u32 = 1_000;
const QUESTIONS: u32 = 1_000_000;
const NOBODYS: &str = "[[user]]\nname = \"new\"\nroles = [\"R0\"]\n";

/// What was asked, and how long it took.
type Row = (&'static str, f64);

/// Memory of the process, in KiB.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// A policy in which each role has codes of its own and its share of the names.
fn text(users: usize, names: usize) -> String {
    let mut text = String::from("version = 1\n");
    for role in 0..ROLES {
        let _ = write!(
            text,
            "[[product]]\nname = \"P{role}\"\nservice = \"FEED\"\npe = [\"{}-{}\"]\n\
             [[role]]\nname = \"R{role}\"\nproducts = [\"P{role}\"]\n\
             grants = [{{ service = \"NAMES\", subjects = [",
            role * 100,
            role * 100 + 99,
        );
        for name in (role..names).step_by(ROLES) {
            let _ = write!(text, "\"N{name}.X\",");
        }
        text.push_str("] }]\n");
    }
    for user in 0..users {
        // Some thousand different sets of 12 roles each.
        let mut roles: Vec<_> = (0..12).map(|at| (user + at * (user % 7 + 1)) % ROLES).collect();
        roles.sort_unstable();
        roles.dedup();
        let roles: Vec<_> = roles.into_iter().map(|role| format!("\"R{role}\"")).collect();
        let _ = write!(text, "[[user]]\nname = \"u{user}\"\nroles = [{}]\n", roles.join(","));
    }
    text
}

/// Nanoseconds that each of so many takes.
fn ns_each(questions: u32, mut ask: impl FnMut(u32)) -> f64 {
    let began = Instant::now();
    (0..questions).for_each(&mut ask);
    began.elapsed().as_secs_f64() * 1e9 / f64::from(questions)
}

fn by_lock(engine: &mut Engine, profile: ProfileId, locks: &[Vec<u8>]) -> Vec<Row> {
    let asked = Asked { service: "FEED", domain: 6, name: "VOD.L" };
    let mut ask = |question: u32| {
        let lock = Protection::Lock(&locks[question as usize % locks.len()]);
        black_box(engine.decide_open(profile, asked, lock));
    };
    vec![
        ("a lock, the first time, ns", ns_each(locks.len() as u32, &mut ask)),
        ("a lock of 1,000 again, ns", ns_each(QUESTIONS, |question| ask(question % CODES))),
    ]
}

fn by_name(engine: &mut Engine, profile: ProfileId, names: usize) -> Vec<Row> {
    let of = |name: usize| format!("N{}.X", name * 997 % names.max(1));
    let named: Vec<_> = (0..1_000).map(of).collect();
    let unnamed: Vec<_> = (0..1_000).map(|name| format!("M{name}.X")).collect();
    [("a name that is granted or not, ns", named), ("a name that nobody has, ns", unnamed)]
        .into_iter()
        .map(|(what, names)| {
            let ns = ns_each(QUESTIONS, |question| {
                let name = &names[question as usize % names.len()];
                let asked = Asked { service: "NAMES", domain: 6, name };
                black_box(engine.decide_open(profile, asked, Protection::None));
            });
            (what, ns)
        })
        .collect()
}

fn measure(users: usize, names: usize, locks: &[Vec<u8>]) -> Vec<Row> {
    let text = text(users, names);
    let (before, began) = (resident_kib(), Instant::now());
    let policy = Policy::parse("policy.toml", &text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let load_ms = began.elapsed().as_secs_f64() * 1e3;
    let held_kib = resident_kib().saturating_sub(before);
    let profile = policy.profile_of("u1").expect("it is there");
    let mut engine = Engine::new(Arc::new(policy));
    engine.set_service(1, "FEED");
    let mut rows = vec![
        ("text, MB", text.len() as f64 / 1e6),
        ("load, ms", load_ms),
        ("memory, MiB", held_kib as f64 / 1024.0),
    ];
    rows.extend(by_lock(&mut engine, profile, locks));
    rows.extend(by_name(&mut engine, profile, names));
    let other = format!("{text}{NOBODYS}");
    let other = Policy::parse("other.toml", &other).unwrap_or_else(|faults| panic!("{faults:?}"));
    let other = Arc::new(other);
    let old = Arc::clone(engine.policy());
    let began = Instant::now();
    let changed = changed_users(&old, &other);
    rows.push(("another: whose rights change, ms", began.elapsed().as_secs_f64() * 1e3));
    assert_eq!(changed.len(), 1, "one user is new");
    let began = Instant::now();
    engine.set_policy(other);
    rows.push(("another: in force, ns", began.elapsed().as_secs_f64() * 1e9));
    let began = Instant::now();
    drop(old);
    rows.push(("the one before: freed, ms", began.elapsed().as_secs_f64() * 1e3));
    rows
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().unwrap_or(0));
    let mut number = |default| numbers.next().unwrap_or(default);
    let (users, names, locks) = (number(10_000), number(1_000_000), number(100_000));
    let lock = |code: usize| {
        let (one, other) = (code as u32 % CODES, code as u32 / CODES);
        Lock::new([Demand::any(1, &[one, 10_000 + other])]).encode(Sources::Aligned)
    };
    let locks: Vec<_> = (0..locks).map(lock).collect();
    println!(
        "{users} users of {ROLES} roles, {names} names, {} locks, beside 10 and 10",
        locks.len()
    );
    let small = measure(10, 10, &locks);
    let large = measure(users, names, &locks);
    println!("{:<36} {:>12} {:>12} {:>8}", "", "small", "large", "ratio");
    for ((what, small), (_, large)) in small.into_iter().zip(large) {
        println!("{what:<36} {small:>12.1} {large:>12.1} {:>8.2}", large / small);
    }
}
