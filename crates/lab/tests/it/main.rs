//! The program that measures, run as users run it.

mod bench;
mod chain;
mod flows;
mod machine;
mod peers;
mod support;
mod tools;
