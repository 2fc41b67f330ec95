//! Worlds that hold, and faults that are found.

mod worlds;
