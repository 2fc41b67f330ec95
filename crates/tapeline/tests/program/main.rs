//! The program, run as users run it.

mod bench;
mod config;
mod path;
mod process;
mod support;
