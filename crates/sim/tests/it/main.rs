//! Worlds that hold, and faults that are found.

mod planted;
mod worlds;
