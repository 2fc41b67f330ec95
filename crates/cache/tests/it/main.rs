//! Images, and updates merged, in one program: it links once.

mod allocation;
mod conflation;
mod image;
mod model;
mod rows;
mod shared_conflation;
mod support;
