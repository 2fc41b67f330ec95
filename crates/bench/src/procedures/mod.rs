//! The procedures themselves.

mod fanout;
mod floor;
mod knee;
mod latency;
mod measurement;
mod memory;
mod search;
mod throughput;

pub(crate) use fanout::{beside_floor, fanout};
pub(crate) use floor::floor;
pub(crate) use knee::knee;
pub(crate) use latency::latency;
pub(crate) use measurement::{floor as floor_measurement, measurement};
pub(crate) use memory::{measure as memory_bytes, memory};
pub(crate) use search::{Found, Goal, Kept, search};
pub(crate) use throughput::throughput;
