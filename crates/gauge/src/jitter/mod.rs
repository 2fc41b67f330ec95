//! What a host does by itself: the floor of every tail.

mod counts;
#[cfg(test)]
mod load;
mod run;
mod spin;
mod timer;

pub use counts::Counts;
pub use run::run;
pub use spin::{Gaps, spin};
pub use timer::lateness;
