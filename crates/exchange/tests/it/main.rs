//! Scenarios of the exchange.

mod channels;
mod flows;
mod no_allocation;
mod recording;
mod reports;
mod support;
mod traders;
mod whole_day;
mod whole_loop;
mod whole_system;
