//! Instructions of an update with entitlements and without, by callgrind.
//!
//! ```text
//! cargo build --release -p tapeline-server --example entitled_fan_out
//! for n in 1000 2000; do for how in open one fifty; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     --toggle-collect=entitled_fan_out::send_updates \
//!     target/release/examples/entitled_fan_out $how $n 2>&1 | grep Collected; done; done
//! ```
//!
//! The difference of the two counts is what 1,000 updates cost. What comes before them is
//! not counted: to load a policy is 1,200 million instructions, and not each time as
//! many. `open`: no policy. The others: a policy of 10,000 users and 50 roles, and a lock
//! on the item that all of them open; with `one` all users have the same roles, and so
//! one profile, with `fifty` each has one of the roles, and those who watch the item have
//! fifty profiles.

#[path = "../benches/feed/mod.rs"]
mod feed;

use std::fmt::Write as _;
use std::sync::Arc;

use tapeline_backbone::Kind;
use tapeline_entitle::{Policy, PolicyChange};
use tapeline_rwf::{Domain, RefreshFlags, RefreshMsg, State, UpdateMsg};
use tapeline_server::{AcceptAll, Event, Interpreter, ServerConfig};
use tapeline_time::Time;

use feed::{Sink, begin, frame, mount, quote, request, say};

const MOUNTS: u32 = 100;
const USERS: u32 = 10_000;
const ROLES: u32 = 50;
/// PE 62 of service 1.
const LOCK: &[u8] = &[3, 0, 1, 0x62, 0xC0];

/// What the roles of a user are.
#[derive(Clone, Copy, PartialEq)]
enum Roles {
    All,
    OneOfThem,
}

fn policy(of_user: Roles) -> Policy {
    let mut text = String::from("version = 1\n[[lock-service]]\nid = 1\nservice = \"FEED\"\n");
    for role in 0..ROLES {
        let _ = write!(
            text,
            "[[product]]\nname = \"P{role}\"\nservice = \"FEED\"\npe = [62, {}]\n\
             [[role]]\nname = \"R{role}\"\nproducts = [\"P{role}\"]\n",
            1_000 + role
        );
    }
    let all: Vec<_> = (0..ROLES).map(|role| format!("\"R{role}\"")).collect();
    let all = all.join(",");
    for user in 0..USERS {
        let roles = match of_user {
            Roles::All => all.clone(),
            Roles::OneOfThem => format!("\"R{}\"", user % ROLES),
        };
        let _ = write!(text, "[[user]]\nname = \"u{user}\"\nroles = [{roles}]\n");
    }
    Policy::parse("policy.toml", &text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let roles = match arguments.next().as_deref() {
        Some("one") => Some(Roles::All),
        Some("fifty") => Some(Roles::OneOfThem),
        Some("open") | None => None,
        Some(other) => panic!("{other} is none of open, one, fifty"),
    };
    let is_locked = roles.is_some();
    let updates: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut out = Sink::default();
    let mut config = ServerConfig::default();
    config.limits.max_mounts = MOUNTS as usize;
    let mut core = Interpreter::new(config, Box::new(AcceptAll));
    if let Some(roles) = roles {
        let change = PolicyChange { policy: Arc::new(policy(roles)), changed: None, unix_ms: 0 };
        core.handle(Time::ZERO, Event::Policy(&change), &mut out);
    }
    begin(&mut core, &mut out);
    let request = request(5, "ITEM");
    for index in 0..MOUNTS {
        let session = mount(&mut core, &mut out, index, &format!("u{}", index * 7));
        say(&mut core, &mut out, session, &request);
    }
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let perm_data = is_locked.then_some(LOCK);
    let state = State::open_ok("");
    let head = RefreshMsg { flags, state, perm_data, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    let (item, serial) = out.opened.pop().expect("it is asked for");
    frame(&mut core, &mut out, Kind::Accept, item, serial, &item.to_le_bytes());
    frame(&mut core, &mut out, Kind::Item, item, 1, &quote(&head.into()));
    // A crowd is looked at in slices when its item's lock becomes known.
    while core.statistics().backlog > 0 {
        core.handle_timeout(Time::ZERO, &mut out);
    }
    let update = quote(&UpdateMsg::new(Domain::MARKET_PRICE, 0).into());
    let before = core.statistics().updates_out;
    send_updates(&mut core, &mut out, item, &update, updates);
    let sent = core.statistics().updates_out - before;
    assert_eq!(sent, u64::from(updates * MOUNTS), "each of them has each update");
    println!("{sent} copies");
}

/// A function of its own, so that callgrind can be told to count here.
#[inline(never)]
fn send_updates(core: &mut Interpreter, out: &mut Sink, item: u32, update: &[u8], updates: u32) {
    for seq in 0..updates {
        frame(core, out, Kind::Item, item, seq + 2, update);
    }
}
