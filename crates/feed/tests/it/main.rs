//! Recordings and data files as items, in one program: it links once.

mod data_file;
mod recording;
