//! The program: subcommands around the rooms of the workspace.

mod addresses;
mod classic;
mod commands;
mod composition;
mod config;
mod console;
mod control;
mod counters;
mod descriptors;
mod dictionary;
mod failure;

mod log;
mod measure;
mod secrets;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use classic::UnknownOption;
use commands::{
    admin, client, config as config_command, decode, demo, elsewhere, entitle, node as nodes,
    source as sources, top,
};
use failure::{Failure, warn};

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
    Entitle(entitle::Args),
    Top(top::Args),
    Admin(admin::Args),
    Adsmon(admin::AdsmonArgs),
    Backbone(admin::BackboneArgs),
    /// Measure hub, server and this machine (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Bench {
        /// What `tapeline-lab bench` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Round trips over every transport (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Pingpong {
        /// What `tapeline-lab pingpong` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Results side by side (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Compare {
        /// What `tapeline-lab compare` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// An application's flow without the application (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Aio {
        /// What `tapeline-lab aio` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Messages at a rate from host to host (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Nwtool {
        /// What `tapeline-lab nwtool` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Multicast at a rate, and what arrives (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Mcast {
        /// What `tapeline-lab mcast` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Writes and reads of a file at a rate (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Disk {
        /// What `tapeline-lab disk` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Settings of the machine, checked and set (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Tune {
        /// What `tapeline-lab tune` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// What this machine is (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Env {
        /// What `tapeline-lab env` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// What cores do by themselves (the program `tapeline-lab`)
    #[command(disable_help_flag = true)]
    Jitter {
        /// What `tapeline-lab jitter` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    #[command(external_subcommand)]
    Elsewhere(Vec<OsString>),
}

/// The command line, with the options of the classic tools in their long form.
fn arguments() -> Result<Vec<OsString>, UnknownOption> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let subcommand = arguments.get(1).and_then(|argument| argument.to_str());
    if subcommand == Some("adsmon") {
        // Its long options have one dash.
        for argument in &mut arguments[2..] {
            if argument == "-instance" || argument == "-print" {
                *argument = format!("-{}", argument.display()).into();
            }
        }
        return Ok(arguments);
    }
    let Some(options) = subcommand.and_then(classic::options_of) else { return Ok(arguments) };
    let rewritten = classic::rewrite(options, arguments.drain(2..))?;
    for warning in &rewritten.warnings {
        warn(warning);
    }
    arguments.extend(rewritten.arguments);
    Ok(arguments)
}

fn main() -> ExitCode {
    if let Some(Err(failure)) = elsewhere::by_classic_name() {
        return failure.report();
    }
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(unknown) => return Failure::from(unknown).report(),
    };
    let done = match Cli::parse_from(arguments).command {
        Command::Run(args) => nodes::run(&args),
        Command::Hub(args) => nodes::hub(&args),
        Command::Server(args) => nodes::server(&args),
        Command::Source(args) => sources::run(&args),
        Command::Client(args) => client::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Config(args) => config_command::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Entitle(args) => entitle::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Admin(args) => admin::run(&args),
        Command::Adsmon(args) => admin::adsmon(&args),
        Command::Backbone(args) => admin::backbone(&args),
        Command::Bench { arguments } => elsewhere::run("bench", &arguments),
        Command::Compare { arguments } => elsewhere::run("compare", &arguments),
        Command::Aio { arguments } => elsewhere::run("aio", &arguments),
        Command::Nwtool { arguments } => elsewhere::run("nwtool", &arguments),
        Command::Mcast { arguments } => elsewhere::run("mcast", &arguments),
        Command::Disk { arguments } => elsewhere::run("disk", &arguments),
        Command::Tune { arguments } => elsewhere::run("tune", &arguments),
        Command::Env { arguments } => elsewhere::run("env", &arguments),
        Command::Jitter { arguments } => elsewhere::run("jitter", &arguments),
        Command::Pingpong { arguments } => elsewhere::run("pingpong", &arguments),
        Command::Elsewhere(words) => {
            let Some((name, arguments)) = words.split_first() else { return ExitCode::FAILURE };
            elsewhere::run(&name.to_string_lossy(), arguments)
        }
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
    fn every_classic_option_is_one_of_the_subcommand() {
        use clap::CommandFactory;
        let mut cli = Cli::command();
        // Those that clap adds by itself are there only then.
        cli.build();
        for name in ["source", "client"] {
            let subcommand = cli.find_subcommand(name).expect("it is there");
            let options = classic::options_of(name).expect("it has classic options");
            for option in options {
                let classic::Effect::Is(long) = option.effect else { continue };
                let long = long.trim_start_matches('-').split('=').next();
                let known = subcommand.get_arguments().any(|argument| argument.get_long() == long);
                assert!(known, "{name} {} is {long:?}", option.name);
            }
            for short in subcommand.get_arguments().filter_map(clap::Arg::get_short) {
                let is_listed = options.iter().any(|option| option.name == format!("-{short}"));
                assert!(is_listed, "{name} -{short} is in no table");
            }
        }
    }
}
