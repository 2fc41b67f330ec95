//! An application's flow without the application: what an order takes through
//! gateways, a sequencer and a matching engine whose work and links are set,
//! predicted beside measured.
//!
//! A flow is a file of links and of parts (processes) of threads of modules.
//! `read` makes one of its text, `engine` runs a thread of it, `modules`
//! are what messages go through, without links or threads; `hops` measures
//! what each link takes by itself, `alone` in the state in which the flow finds it.

mod alone;
mod check;
mod document;
mod engine;
mod flow;
mod hops;
mod modules;
mod options;
mod outcome;
mod part;
mod ports;
mod processes;
mod read;
mod run;
mod scenarios;
mod told;
mod tracked;

pub use processes::serve_parent;
pub use run::run;

/// The most connections of a link.
const MAX_CONNECTIONS: usize = 1000;
