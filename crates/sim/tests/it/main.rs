//! Worlds that hold, and faults that are found.

mod planted;
mod scale;
mod worlds;
