//! The program, run as users run it.

mod config;
mod path;
mod process;
mod support;
