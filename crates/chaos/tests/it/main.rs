//! Everything that breaks, once; that what must not be is found; and what stands in.

mod failovers;
mod minute;
mod programs;
