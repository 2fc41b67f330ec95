//! The backbone, over a real media driver and over the simulated one, in one
//! program: it links once.

mod aeron;
mod faults;
mod no_allocation;
mod support;
