//! Source Distributor: sources, services, routing, failover, one stream per item.

mod config;
mod core;
mod counters;
mod outputs;
mod shell;

pub use config::{Endpoint, HubConfig, HubLimits, Route, RouteLogin, Unpublished};
pub use crate::core::Core;
pub use counters::Counters;
pub use outputs::{Event, Outputs};
pub use shell::{Hub, HubError};
