//! The program for whoever needs a market.

mod program;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    program::Cli::parse().run()
}
