//! Who may see what.
//!
//! A [`Policy`] is one file that people review. It is compiled into sets, and
//! an [`Engine`] answers by look-ups: at a login, which [`ProfileId`] the user
//! has; at a request, whether the service or the name is out of the question;
//! at an image, whether its lock opens for the profile, which is worked out
//! once for each pair of profile and [`Lock`]; at a post, and for a provider
//! that logs in by itself, whether it is in a role. An update without
//! permission data asks nothing: who may not see an item has no stream of it.
//!
//! [`Usage`] is what is kept for exchanges: records of a [`Journal`] that survive
//! a kill, and a [`Report`] of a month.
//!
//! Nothing here does I/O or looks at a clock.
//!
//! ```
//! use std::sync::Arc;
//! use tapeline_entitle::{Asked, Engine, Policy, Protection};
//!
//! let policy = Policy::parse("policy.toml", r#"
//!     version = 1
//!     [[product]]
//!     name = "LSE-L1"
//!     service = "FEED"
//!     pe = [62, "144-160"]
//!     [[role]]
//!     name = "equities"
//!     products = ["LSE-L1"]
//!     [[user]]
//!     name = "jdoe"
//!     roles = ["equities"]
//! "#).expect("it is in order");
//! let profile = policy.profile_of("jdoe").expect("the policy knows jdoe");
//! let mut engine = Engine::new(Arc::new(policy));
//! engine.set_service(257, "FEED");
//! let asked = Asked { service: "FEED", domain: 6, name: "VOD.L" };
//! let mut open = |lock: &[u8]| engine.decide_open(profile, asked, Protection::Lock(lock));
//! assert!(open(&[3, 1, 1, 0x62, 0xC0]).is_allowed());
//! assert!(!open(&[3, 1, 1, 0x63, 0xC0]).is_allowed());
//! ```

mod change;
mod codes;
mod contract;
mod document;
mod edge_port;
mod engine;
mod explain;
mod fault;
mod identity;
mod journal;
mod lock;
mod names;
mod policy;
mod products;
mod read;
mod report;
mod usage;
mod verdict;
mod watchlist;

#[cfg(test)]
mod tests;

pub use change::{Change, ChangedUser, Watch, changed_users, changes};
pub use codes::Codes;
pub use contract::Contract;
pub use document::{Count, NoLock, PostRight, Product, hex_of};
pub use edge_port::{EdgePort, LoginPort, PolicyChange, UsagePiece, UsagePort};
pub use engine::{Asked, Engine, LockId, Login, MAX_BYTES_OF_LOCKS, MAX_LOCKS, Protection, day_of};
pub use fault::Fault;
pub use identity::{
    AuthenticationError, Credential, Hidden, LoginAnswer, LoginEnd, LoginQuestion, Person,
    Unidentified,
};
pub use journal::Journal;
pub use lock::{Demand, Lock, LockError, MAX_LOCK_BYTES, Sources, join};
pub use names::Names;
pub use policy::{MAX_VOUCHED_PROFILES, Policy, ProfileId};
pub use report::{Report, ReportMonth};
pub use usage::{Kind, MAX_RECORD_BYTES, Usage};
pub use verdict::{Denial, Explanation, Verdict};
pub use watchlist::{Entry, MARKET_PRICE, read_watchlist, watches_recorded};
