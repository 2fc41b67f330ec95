//! The backbone, over a real media driver, in one process and over the simulated
//! network, in one program: it links once.

#[cfg(feature = "aeron")]
mod aeron;
mod driver_files;
mod every_order;
mod faults;
mod local;
mod no_allocation;
#[cfg(feature = "aeron")]
mod support;
