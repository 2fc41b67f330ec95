//! A simulated world of the real shells: hubs, servers, interactive providers
//! and consumers in one thread, over a simulated backbone and simulated sockets,
//! in virtual time. One seed says all: who is there, what they do, what breaks
//! and when. What consumers are told is compared with a reference model that is
//! much simpler than the code.
//!
//! ```
//! use tapeline_sim::{Options, run};
//!
//! let summary = run(1, &Options::default()).map_err(|failure| failure.to_string())?;
//! assert!(summary.events > 0);
//! # Ok::<(), String>(())
//! ```

mod acts;
mod entries;
mod hold;
mod images;
mod item;
mod log;
mod member;
mod model;
mod plan;
mod planted;
mod publisher;
mod random;
#[cfg(test)]
mod regressions;
mod rights;
mod run;
pub mod scale;
mod source;
mod strangers;
mod switch;
mod watcher;
mod world;

pub use log::Trace;
pub use plan::Parties;
pub use planted::{Caught, Planted};
pub use run::{Failure, Options, Summary, catch, run, shrink};
