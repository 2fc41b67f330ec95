//! What many servers behind one hub cost: presence, the directory, requests, updates,
//! repair, a hub that restarts, a server that comes late.
//!
//! The shells are those of the simulated worlds, and the time is virtual. What goes
//! over the backbone is counted, and what turns take is measured if there is a clock
//! to do it by ([`Gauges`]); the rounds are then as long as the longest turn in them.
//!
//! ```
//! use tapeline_sim::scale::{Gauges, Size, measure};
//!
//! let rows = measure(Size { servers: 2, items: 20, changes_per_s: 10 }, Gauges::default())?;
//! assert!(rows.iter().all(|row| row.asked.requests <= 20));
//! # Ok::<(), String>(())
//! ```

mod feed;
mod gauges;
mod mount;
mod phases;
mod row;
mod table;
mod town;
mod wire;

pub use feed::Asked;
pub use gauges::{FreedBytes, Gauges};
pub use phases::{Phase, Size, measure, measure_until};
pub use row::{Effort, Row, json};
pub use table::{by_phase, table};
pub use wire::Traffic;
