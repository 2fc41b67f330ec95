//! RWF bytes as text, as JSON and back, in one program: it links once.

mod golden;
mod properties;
mod sessions;
mod text;
