//! `tapeline config`: look at the configuration.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Subcommand;

use crate::config::{self, Settings};
use crate::failure::{Failure, Verdict};

/// Check and show configuration files
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Look for errors in a file; exit status 1 if there are any
    Check {
        /// The configuration file
        file: PathBuf,
        /// Take lines of an `rmds.cnf` that change nothing for errors
        #[arg(long)]
        strict: bool,
    },
    /// Print every key with the value that is in effect
    Show {
        /// The configuration file; without it, the defaults
        file: Option<PathBuf>,
    },
    /// Print the reference of all keys as Markdown
    Reference,
    /// Print what hubs and servers count as Markdown
    Counters,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let mut out = io::stdout().lock();
    match &args.action {
        Action::Check { file, strict } => match Settings::load(Some(file)) {
            Ok(settings) => {
                for remark in &settings.remarks {
                    writeln!(out, "{remark}")?;
                }
                if *strict && !settings.remarks.is_empty() {
                    return Ok(Verdict::Bad);
                }
                writeln!(out, "{}: good", file.display())?;
            }
            Err(Failure::Config(faults)) => {
                for fault in faults {
                    writeln!(out, "{fault}")?;
                }
                return Ok(Verdict::Bad);
            }
            Err(failure) => return Err(failure),
        },
        Action::Show { file } => {
            let settings = Settings::load(file.as_deref())?;
            out.write_all(config::show(&settings).as_bytes())?;
        }
        Action::Reference => out.write_all(config::reference().as_bytes())?,
        Action::Counters => out.write_all(tapeline_node::counters_reference().as_bytes())?,
    }
    Ok(Verdict::Good)
}
