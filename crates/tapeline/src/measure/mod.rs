//! What is measured: latencies, by time stamps in the data.

mod latency;

pub(crate) use latency::{Latency, age_us, now_us};
