//! What a large policy costs: to load, to hold, and to ask.
//!
//! ```text
//! cargo run --release -p tapeline-entitle --example large_policy -- [USERS] [NAMES]
//! ```
//!
//! By default 10,000 users of 50 roles, and 1,000,000 names in their rules.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use tapeline_entitle::{Asked, Demand, Engine, Lock, Policy, Protection, Sources};

const ROLES: usize = 50;
const LOCKS: u32 = 1_000;
const QUESTIONS: u32 = 1_000_000;

/// Memory of the process, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
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
        let roles: Vec<_> = (0..ROLES)
            .filter(|role| (user * 7 + role * 13) % 5 != 0)
            .map(|role| format!("\"R{role}\""))
            .collect();
        let _ = write!(text, "[[user]]\nname = \"u{user}\"\nroles = [{}]\n", roles.join(","));
    }
    text
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse().unwrap_or(0));
    let (users, names) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(1_000_000));
    let text = text(users, names);
    let (before, began) = (resident_kib(), Instant::now());
    let policy = Policy::parse("policy.toml", &text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let load_ms = began.elapsed().as_secs_f64() * 1e3;
    let held_kib = resident_kib().saturating_sub(before);
    println!("{users} users, {names} names, {} MB of text", text.len() / 1_000_000);
    println!("load      {load_ms:>10.0} ms");
    println!("memory    {:>10.1} MiB", held_kib as f64 / 1024.0);
    let profile = policy.profile_of("u1").expect("it is there");
    let mut engine = Engine::new(Arc::new(policy));
    engine.set_service(1, "FEED");
    let locks: Vec<_> = (0..LOCKS)
        .map(|code| Lock::new([Demand::any(1, &[code])]).encode(Sources::Aligned))
        .collect();
    let asked = Asked { service: "FEED", domain: 6, name: "VOD.L" };
    for (what, questions) in [("lock, the first time", LOCKS), ("lock, again", QUESTIONS)] {
        let began = Instant::now();
        for question in 0..questions {
            let lock = Protection::Lock(&locks[(question % LOCKS) as usize]);
            black_box(engine.decide_open(profile, asked, lock));
        }
        let ns = began.elapsed().as_secs_f64() * 1e9 / f64::from(questions);
        println!("{what:<22} {ns:>8.0} ns");
    }
    let names: Vec<_> =
        (0..1_000).map(|name| format!("N{}.X", name * 997 % names.max(1))).collect();
    let began = Instant::now();
    for question in 0..QUESTIONS {
        let name = &names[(question % 1_000) as usize];
        let asked = Asked { service: "NAMES", domain: 6, name };
        black_box(engine.decide_open(profile, asked, Protection::None));
    }
    let ns = began.elapsed().as_secs_f64() * 1e9 / f64::from(QUESTIONS);
    println!("{:<22} {ns:>8.0} ns", "name");
}
