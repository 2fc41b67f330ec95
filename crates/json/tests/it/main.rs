//! RWF to JSON and back, in one program: it links once.

mod allocation;
mod bounds;
mod carried;
mod common;
mod edges;
mod lists;
mod properties;
mod vectors;
