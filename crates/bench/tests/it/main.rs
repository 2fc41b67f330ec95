//! The procedures and what is made of their figures, in one program: it links once.

mod peers;
mod procedures;
mod report;
