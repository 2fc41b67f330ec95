//! Encoders and decoders, in one program: it links once.

mod encoder_refuses;
mod never_panics;
mod no_allocation;
mod rmtes;
mod round_trip;
mod tree;
