//! The whole system: hubs and servers as processes, on one host and on several,
//! with everything that can break.

mod clock;
mod crowds;
mod drill;
pub(crate) mod faults;
mod groups;
mod hops;
mod hostile;
mod hosts;
mod long_images;
mod memory;
mod networks;
mod ports;
mod program;
mod publishing;
mod recording;
mod rest;
mod returning;
mod slow;
mod stacked;
mod standstill;
mod strangers;
