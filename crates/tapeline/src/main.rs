//! The program: subcommands around the rooms of the workspace.

mod addresses;
mod commands;
mod config;
mod console;
mod dictionary;
mod failure;

mod log;
mod measure;
mod node;
mod pace;
mod source;
mod stop;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{client, config as config_command, decode, demo, node as nodes, source as sources};

/// Market data distribution that speaks RSSL and RWF.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<nodes::RunArgs>),
    Hub(Box<nodes::HubArgs>),
    Server(Box<nodes::ServerArgs>),
    Source(Box<sources::Args>),
    Client(Box<client::Args>),
    Demo(demo::Args),
    Config(config_command::Args),
    Decode(decode::Args),
}

/// Flags of several letters behind one dash, as the classic tools have them.
const CLASSIC_FLAGS: [(&str, &str); 5] =
    [("-il", "--il"), ("-md", "--md"), ("-tps", "--tps"), ("-UL", "--ul"), ("-tt", "--statistics")];

/// Arguments with their classic flags in the form that the parser knows.
fn modern(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    arguments.map(|argument| {
        let found = CLASSIC_FLAGS.iter().find(|(classic, _)| argument == *classic);
        found.map_or(argument, |(_, modern)| OsString::from(modern))
    })
}

fn main() -> ExitCode {
    let done = match Cli::parse_from(modern(std::env::args_os())).command {
        Command::Run(args) => nodes::run(&args),
        Command::Hub(args) => nodes::hub(&args),
        Command::Server(args) => nodes::server(&args),
        Command::Source(args) => sources::run(&args),
        Command::Client(args) => client::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Config(args) => config_command::run(&args),
        Command::Decode(args) => decode::run(&args),
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

    #[test]
    fn classic_flags_are_understood() {
        let given = ["client", "-il", "A", "-md", "7"].map(OsString::from);
        let modern: Vec<OsString> = modern(given.into_iter()).collect();
        assert_eq!(modern, ["client", "--il", "A", "--md", "7"]);
    }
}
