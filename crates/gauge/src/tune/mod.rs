//! The settings of a machine beside what measured systems had: checked, applied
//! and undone.
//!
//! Which rows there are, what they want and what a change is, is decided in
//! `rows` and `change` from files that a `machine::Machine` reads; the
//! real one is the kernel's tables, a tree of files is as good.

mod around;
mod change;
mod judge;
mod kernel;
mod machine;
mod placement;
mod rows;
mod run;
mod settings;
mod sysctls;

pub use run::run;
