//! Everything that breaks, once; and that what must not be is found.

mod minute;
mod programs;
