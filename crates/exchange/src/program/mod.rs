//! The program around the rooms: its configuration, its log, its subcommands.

mod cme;
mod config;
mod day;
mod demo;
mod distribution;
mod distributions;
mod failure;
mod feed;
mod gateway;
mod gateways;
mod instruments;
mod log;
mod matching;
mod nasdaq;
mod operate;
mod reading;
mod ready;
mod replay;
mod replicas;
mod run;
mod users;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tapeline_ending::{Stop, Verdict};
use tracing::level_filters::LevelFilter;

use config::Config;
use failure::Failure;
use run::Watch;

/// A market to test against
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Feed(feed::Args),
    Nasdaq(nasdaq::Args),
    Cme(cme::Args),
    Gateway(gateway::Args),
    Distribution(distribution::Args),
    Demo(demo::Args),
    Match(matching::Args),
    Replay(replay::Args),
    /// Print all that an exchange and feed handlers count, as Markdown
    Counters,
}

impl Cli {
    /// Does what is asked for.
    pub(crate) fn run(&self) -> ExitCode {
        let done = match &self.command {
            Command::Run(args) => run::run(args),
            Command::Feed(args) => feed::run(args),
            Command::Nasdaq(args) => nasdaq::run(args),
            Command::Cme(args) => cme::run(args),
            Command::Gateway(args) => gateway::run(args),
            Command::Distribution(args) => distribution::run(args),
            Command::Demo(args) => demo::run(args),
            Command::Match(args) => matching::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Counters => {
                print!("{}", tapeline_exchange::counters_reference());
                Ok(Verdict::Good)
            }
        };
        match done {
            Ok(verdict) => verdict.into(),
            Err(failure) => failure.report(),
        }
    }
}

/// What the programs that run have in common.
#[derive(Clone, clap::Args)]
struct Common {
    /// The configuration, one file for the exchange and its feed handler
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,

    /// The admin port, at 127.0.0.1: metrics, counts, events; 0 for any
    #[arg(long, value_name = "PORT")]
    admin_port: Option<u16>,

    /// Write what listens where into this file once it does
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,

    /// End after this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,

    /// What to log
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = log::level)]
    log: LevelFilter,
}

impl Common {
    /// The configuration; the log and the admin port are there from then on.
    fn start(&self) -> Result<(Config, Watch), Failure> {
        let config = Config::read(self.config.as_deref())?;
        let watch = Watch::start(self.log, self.admin_port.or(config.admin.port))?;
        Ok((config, watch))
    }

    fn stop(&self) -> Result<Stop, Failure> {
        Stop::on_signals(self.seconds.map(Duration::from_secs)).map_err(Failure::Signals)
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
