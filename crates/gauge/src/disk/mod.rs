//! Writes and reads of a file at a rate: the drop-in for `DTool`.

mod block;
mod figures;
mod medium;
mod options;
mod place;
mod run;

pub use run::run;
