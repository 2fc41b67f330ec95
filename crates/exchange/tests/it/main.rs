//! Scenarios of the exchange.

mod channels;
mod closing_price;
mod conformance;
mod drop_copy;
mod extensions;
mod failover;
mod fix;
mod flows;
mod killed;
mod no_allocation;
mod operators;
mod post_trade;
mod processes;
mod recorded_orders;
mod recorded_trades;
mod recording;
mod replays;
mod reports;
mod stages;
mod standing;
mod support;
mod trade_cancels;
mod traders;
mod whole_day;
mod whole_loop;
mod whole_system;
