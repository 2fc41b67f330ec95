//! The program that measures. Hubs and servers that are processes of their own
//! are those of the `tapeline` beside it.

mod all;
mod bench;
mod failure;
mod size;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What measures a market data system and the machine that it runs on.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    All(all::Args),
    Bench(Box<bench::Args>),
    Size(Box<size::Args>),
    /// Round trips over every transport, by message size: takes and prints what
    /// sfnt-pingpong does
    #[command(disable_help_flag = true)]
    Pingpong {
        /// `TRANSPORT [HOST[:PORT]]` and options, which `pingpong --help` lists;
        /// without a transport it serves
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Results side by side, with ratios and a verdict: records, text of
    /// sfnt-pingpong, published figures
    #[command(disable_help_flag = true)]
    Compare {
        /// A B and more files and options, which `compare --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// An application's flow without the application: an order's way, or an
    /// update's, predicted beside measured
    #[command(disable_help_flag = true)]
    Aio {
        /// `run FILE|SCENARIO`, `check`, `show`, `list`, and options, which
        /// `aio --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Messages at a rate from host to host: takes and prints what `NwTool` does;
    /// the matrix of sizes and rates, and what sfnt-stream does
    #[command(disable_help_flag = true)]
    Nwtool {
        /// `send`, `forward`, `receive`, `matrix`, `stream`, and options, which
        /// `nwtool --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Multicast at a rate, and what of it arrives: takes and prints what
    /// `MCastNwTool` does
    #[command(disable_help_flag = true)]
    Mcast {
        /// `send` or `receive` and options, which `mcast --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Writes and reads of a file at a rate: takes and prints what `DTool` does
    #[command(disable_help_flag = true)]
    Disk {
        /// `write FILE` or `read FILE` and options, which `disk --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Settings of the machine beside what measured systems had: checks them,
    /// sets them, and sets them back
    #[command(disable_help_flag = true)]
    Tune {
        /// `check`, `apply` or `undo` and options, which `tune --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// What this machine is: processor, kernel, clock, interfaces, limits,
    /// what disturbs; no host name and no path
    #[command(disable_help_flag = true)]
    Env {
        /// Options, which `env --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// What cores do by themselves, the floor of every tail: gaps of a thread
    /// that spins, as sysjitter, and late timers, as cyclictest
    #[command(disable_help_flag = true)]
    Jitter {
        /// `[THRESHOLD_NSEC]` and options, which `jitter --help` lists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    if let Some(done) = tools::by_classic_name() {
        return tools::ended(done);
    }
    let done = match Cli::parse().command {
        Command::All(args) => all::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Size(args) => size::run(&args),
        Command::Pingpong { arguments } => tools::pingpong(&arguments, false),
        Command::Compare { arguments } => tools::compare(&arguments),
        Command::Aio { arguments } => tools::aio(&arguments, false),
        Command::Nwtool { arguments } => tools::nwtool(&arguments, false),
        Command::Mcast { arguments } => tools::mcast(&arguments, false),
        Command::Disk { arguments } => tools::disk(&arguments, false),
        Command::Tune { arguments } => tools::tune(&arguments),
        Command::Env { arguments } => tools::env(&arguments),
        Command::Jitter { arguments } => tools::jitter(&arguments, false),
    };
    tools::ended(done)
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
