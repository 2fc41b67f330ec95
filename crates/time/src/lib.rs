//! Moments, and the clocks that tell them.
//!
//! Whoever decides something by time takes a [`Time`] as `now` and says when it
//! wants to be asked again; only a shell reads a clock:
//!
//! ```
//! use std::time::Duration;
//! use tapeline_time::{MonotonicClock, Time};
//!
//! let clock = MonotonicClock::start();
//! let deadline = clock.now().after(Duration::from_secs(1));
//! assert!(clock.now() < deadline);
//! assert_eq!(Time::ZERO.since(deadline), Duration::ZERO);
//! ```
//!
//! Both clocks are the kernel's monotonic one, which steps of the wall clock do
//! not touch.

mod clock;
mod time;

pub use clock::{MonotonicClock, host_now};
pub use time::Time;
