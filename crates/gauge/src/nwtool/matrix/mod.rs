//! Sizes and rates over several transports: where each melts.

mod judge;
mod options;
mod run;
mod table;
mod words;

pub use judge::{Bounds, CellKey, Melting, Verdict};
pub(super) use run::run;
