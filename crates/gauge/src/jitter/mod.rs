//! What a host does by itself: the floor of every tail.

mod spin;

pub use spin::{Gaps, spin};
