//! What is measured: latencies, by time stamps in the data.

mod latency;
mod stamp_field;

pub(crate) use latency::{Latency, Summary};
pub(crate) use stamp_field::stamp_field;
