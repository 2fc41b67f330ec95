//! One module for each subcommand.

pub(crate) mod admin;
pub(crate) mod client;
pub(crate) mod config;
pub(crate) mod decode;
pub(crate) mod demo;
pub(crate) mod elsewhere;
pub(crate) mod entitle;
pub(crate) mod node;
pub(crate) mod source;
pub(crate) mod top;
pub(crate) mod watched;
