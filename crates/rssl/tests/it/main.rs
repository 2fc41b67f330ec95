//! One connection, from its first byte to its last, in one program: it links once.

mod allocations;
mod any_bytes;
mod both_sides;
mod captures;
mod limits;
mod pings;
mod refusals;
mod rest;
mod support;
