//! The program under test, as a process.

use std::ffi::OsStr;
use std::process::Command;

use tapeline_chaos::lan::Host;
use tapeline_chaos::program::Program;

/// The program itself.
pub(crate) const TAPELINE: &str = env!("CARGO_BIN_EXE_tapeline");

/// Starts it and waits until it says that it listens.
pub(crate) fn tapeline(arguments: &[impl AsRef<OsStr>]) -> Program {
    Program::start(Command::new(TAPELINE), arguments)
}

/// The same on a host.
pub(crate) fn tapeline_on(host: &Host, arguments: &[impl AsRef<OsStr>]) -> Program {
    Program::start(host.command(TAPELINE), arguments)
}
