//! Real hubs, servers, sources and consumers as processes, in networks of their
//! own, with everything that can break; and what consumers were told meanwhile.
//!
//! [`program`], [`lan`], [`clock`] and [`market`] are what tests of the whole
//! system are built of. A [`trial`] starts a [`site`], which is such processes
//! on both sides of a [`relay`], and breaks it, [`fault`] by fault; sources and
//! consumers are processes as well ([`party`]). What a consumer may hear of an
//! item is decided in [`market::Account`], what it was told is kept in a
//! [`ledger`], and all of it is summed up in a [`tally`]: none of these three
//! does I/O. How long it takes until another part stands in for one that dies is
//! measured by [`failover`].

#![allow(
    clippy::missing_panics_doc,
    reason = "what cannot be set up ends the run, and the panic says what it was"
)]

pub mod clock;
pub mod failover;
pub mod fault;
pub mod lan;
pub mod ledger;
pub mod market;
pub mod party;
pub mod program;
pub mod relay;
pub mod site;
pub mod tally;
pub mod trial;
