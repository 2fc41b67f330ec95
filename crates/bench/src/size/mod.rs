//! What a site of any size needs.
//!
//! ```text
//!   this repository's measurements ──▶ Costs: bytes and nanoseconds of each mount, item,
//!                                      watcher, update, copy; hub and server apart
//!   Site: mounts, items, rate, ... ──▶ Needs: servers, cores, memory, network
//! ```
//!
//! [`measure()`] makes the first, [`Site::needs`] is arithmetic alone, [`check()`] holds what
//! it says against rates that are measured, and [`page()`] is `docs/sizing.md`.

mod check;
mod costs;
mod ledger;
mod measure;
mod others;
mod page;
mod site;

pub use check::check;
pub use costs::{Costs, HubCosts, ServerCosts};
pub use measure::measure;
pub use page::page;
pub use site::{Needs, PartNeeds, Site, TooMuch};
