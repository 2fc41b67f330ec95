//! Scenarios of the engine.

mod auctions;
mod breaker;
mod closing_price;
mod extensions;
mod intraday;
mod model;
mod no_allocation;
mod offset;
mod orders;
mod pegged;
mod retail;
mod state;
mod support;
mod worked;
