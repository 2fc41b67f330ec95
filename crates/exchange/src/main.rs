//! The program for whoever needs a market.

mod failure;
mod matching;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A market to test against
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Match(matching::Args),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Match(args) => matching::run(&args),
    };
    match done {
        Ok(verdict) => verdict.into(),
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_in_order() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
