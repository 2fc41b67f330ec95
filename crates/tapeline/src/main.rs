//! The program: subcommands around the rooms of the workspace.

mod commands;
mod failure;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::decode;

/// Market data distribution that speaks RSSL and RWF.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Decode(decode::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Decode(args) => decode::run(&args),
    };
    match done {
        Ok(verdict) => verdict.into(),
        Err(failure) => failure.report(),
    }
}
