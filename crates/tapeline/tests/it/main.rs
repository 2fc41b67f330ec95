//! The program and the whole system, in one test program: it links once.

mod classic;
mod decode;
mod program;
mod system;
