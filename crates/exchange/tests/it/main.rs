//! Scenarios of the exchange.

mod flows;
mod recording;
mod whole_loop;
