//! Writes and reads of a file at a rate: the drop-in for `DTool`.

mod block;
mod figures;
mod limit;
mod medium;
mod options;
mod place;
mod run;

pub(crate) use medium::{Aligned, LARGEST, direct_alignment};
pub(crate) use options::Mode;
pub use run::run;
