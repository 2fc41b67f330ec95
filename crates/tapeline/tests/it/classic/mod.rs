//! The command lines of the classic test tools, run as written procedures have
//! them.

mod measure;
mod options;
mod support;
