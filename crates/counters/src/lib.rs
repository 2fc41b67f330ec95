//! What can be seen of a running process from outside its threads.
//!
//! Two things, and for both the rule is that a thread with a duty cycle never
//! waits for whoever looks:
//!
//! * **Counts.** A core counts in a plain struct that [`counts!`] defines, with
//!   the name, the kind, the unit and the help of each count. Its shell hands a
//!   copy to the [`Writer`] of a [`Block`] some hundred times a second: relaxed
//!   stores into atomics that nobody else writes. Whoever shows them reads the
//!   blocks of the [`Registry`]. An update costs nothing for it, and a thread that
//!   hangs shows its last counts.
//! * **Rows.** A [`View`] is a table of what a core holds (mounts, items), which
//!   [`rows!`] defines with its columns. A [`Query`] for it comes through a bounded
//!   queue and is answered by a [`Scan`], a slice at a time. How fast a column
//!   goes up is worked out from look to look ([`Rates`]), and costs nothing while
//!   nobody looks. What is in files, like
//!   the counters of a media driver, is read by whoever looks, through a
//!   [`TableReader`].
//!
//! ```
//! use tapeline_counters::{Registry, counts};
//!
//! counts! {
//!     /// What a gate counts.
//!     pub struct Gate = "gate" {
//!         /// People inside.
//!         people: usize = now, at most "max-people";
//!         /// People who came.
//!         came: u64 = total;
//!     }
//! }
//!
//! let registry = Registry::default();
//! let mut writer = registry.enter::<Gate>("north", &[("people", 50)]).expect("there is room");
//! writer.publish(&Gate { people: 12, came: 40 });
//! writer.publish(&Gate { people: 3, came: 41 });
//!
//! let block = registry.blocks().next().expect("it is there");
//! let people = block.counts().next().expect("two of them");
//! assert_eq!((people.name, block.value(0), block.peak(0), block.limit(0)),
//!            ("people", 3, Some(12), Some(50)));
//! ```

mod block;
mod describe;
mod query;
mod rates;
mod reference;
mod scan;
mod view;

pub use block::{Block, Full, Registry, Writer};
pub use describe::{Count, Counted, Kind, Table, Unit};
pub use query::{Act, Answer, Ask, Query, QueryError, QueryQueue, QuerySender, Rows};
pub use rates::Rates;
pub use reference::reference;
pub use scan::Scan;
pub use view::{Column, Row, Rowed, TableReader, Value, View, Viewed};
