//! The program that measures, run as users run it.

mod bench;
mod chain;
mod flows;
mod machine;
mod own_cost;
mod peers;
mod size;
mod stalls;
mod support;
mod tools;
