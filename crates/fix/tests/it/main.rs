//! Sessions from logon to logout, in one program: it links once.

mod both_ends;
mod fields;
mod gaps;
mod heartbeats;
mod leaving;
mod logons;
mod no_allocation;
mod storm;
mod support;
