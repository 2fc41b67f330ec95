//! `tapeline admin`, `adsmon` and `backbone`: what an admin port tells, for scripts.

mod adsmon;
mod backbone;
mod client;
mod rows;
mod trace;
mod who;

use std::io::{self, Write};

use clap::Subcommand;
use serde_json::Value as Json;

pub(crate) use adsmon::Args as AdsmonArgs;
pub(crate) use adsmon::run as adsmon;
pub(crate) use backbone::Args as BackboneArgs;
pub(crate) use backbone::run as backbone;
pub(crate) use client::{Client, Where, part};
pub(crate) use rows::{cell, columns, table};
pub(crate) use who::who;

use crate::failure::{Failure, Verdict};

/// Ask and steer a running hub or server through its admin port
///
/// Exit status: 0 when it was answered, 1 when there was nothing to be done or the process is
/// not well, 2 if it could not be asked.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Where,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print a view: services, sources, mounts, users, items, products, hops, hub-services,
    /// servers, peers, driver, driver-streams
    Get {
        /// The view
        view: String,
        /// The column with the highest values first
        #[arg(long, value_name = "COLUMN")]
        by: Option<String>,
        /// Only rows in which some cell has this text
        #[arg(long, value_name = "TEXT", default_value = "")]
        filter: String,
        /// Most rows
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print all counters as JSON
    Counters,
    /// Say whether the process is well and ready
    Ready,
    /// Print events as they come, a line of JSON each
    Watch,
    /// Close a mount
    Close {
        /// The server that has it, as in the column `at`
        server: String,
        /// Its session, as in the column `channel`
        channel: String,
    },
    /// End all logins of a user, who is told `Force Logout from DACS.`
    Logout {
        /// The user, as in the column `loginName`
        user: String,
    },
    /// Close the ports of servers, and then their mounts, so many a second: clients go to
    /// the next server of their list
    Drain {
        /// The server, as in the column `at` of mounts; without it, all of the process
        server: Option<String>,
        /// Mounts a second
        #[arg(long, value_name = "N", default_value_t = 10)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
        per_s: u32,
    },
    /// Open the ports of servers again that were drained
    Undrain {
        /// The server; without it, all of the process
        server: Option<String>,
    },
    /// Have an exchange do what its operators want: halt, call and resume instruments,
    /// cancel orders and trades; it says what it understands
    Operate {
        /// What, as in `halt 7`
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Drain a source, or have it asked again
    Source {
        #[command(subcommand)]
        act: SourceAct,
    },
    /// Print what comes of an item, message by message, as a server has it: when, what,
    /// its place among the messages of the item, bytes, mounts that watch it, and where
    /// it carries stamps how long it took; 100 a second at most
    Trace(trace::TraceArgs),
}

#[derive(Subcommand)]
enum SourceAct {
    /// Have a hub ask it for nothing new, and move what is open there to other sources of
    /// the same services; consumers hear no more of it than an image. What no other has
    /// stays, and so does the source, until the hub is started again
    Drain {
        /// The source, as in the configuration
        name: String,
    },
    /// Have a hub ask it again
    Undrain {
        /// The source
        name: String,
    },
}

/// Runs `tapeline admin`.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let client = args.at.client()?;
    let mut out = io::stdout().lock();
    match &args.action {
        Action::Get { view, by, filter, limit, json } => {
            let limit = limit.to_string();
            let mut query = vec![("filter", filter.as_str()), ("limit", limit.as_str())];
            query.extend(by.as_deref().map(|by| ("by", by)));
            let said = client.get(&format!("/v1/{}", part(view)), &query)?;
            match json {
                true => writeln!(out, "{said:#}")?,
                false => out.write_all(table(&said).as_bytes())?,
            }
            warn_of_silence(&said);
        }
        Action::Counters => writeln!(out, "{:#}", client.get("/v1/counters", &[])?)?,
        Action::Ready => {
            let (is_good, text) = client.text("/readyz")?;
            out.write_all(text.as_bytes())?;
            return Ok(if is_good { Verdict::Good } else { Verdict::Bad });
        }
        Action::Watch => client.watch(|event| {
            writeln!(out, "{event}")?;
            Ok(out.flush()?)
        })?,
        Action::Close { server, channel } => {
            let path = format!("/v1/mounts/{}/{}/close", part(server), part(channel));
            return done(&mut out, client.act(&path)?, "mounts closed");
        }
        Action::Logout { user } => {
            let count = client.act(&format!("/v1/users/{}/logout", part(user)))?;
            return done(&mut out, count, "logins ended");
        }
        Action::Drain { server, per_s } => {
            let server = part(server.as_deref().unwrap_or_default());
            let count = client.act(&format!("/v1/drain?server={server}&per_s={per_s}"))?;
            return found(&mut out, count, "the ports are closed, mounts follow");
        }
        Action::Undrain { server } => {
            let server = part(server.as_deref().unwrap_or_default());
            let count = client.act(&format!("/v1/drain?server={server}&per_s=0"))?;
            return found(&mut out, count, "the ports are open");
        }
        Action::Operate { words } => {
            let count = client.act(&format!("/v1/operate?words={}", part(&words.join(" "))))?;
            if count == 0 {
                writeln!(out, "nothing here has operators: ask an exchange")?;
                return Ok(Verdict::Bad);
            }
            writeln!(out, "it is done at its turn; the log says what came of it")?;
        }
        Action::Source { act } => {
            let (name, act, what) = match act {
                SourceAct::Drain { name } => (name, "drain", "its items go to other sources"),
                SourceAct::Undrain { name } => (name, "undrain", "it is asked again"),
            };
            return match client.act(&format!("/v1/sources/{}/{act}", part(name)))? {
                0 => {
                    writeln!(out, "no hub here has a source `{name}` in its configuration")?;
                    Ok(Verdict::Bad)
                }
                _ => {
                    writeln!(out, "{what}")?;
                    Ok(Verdict::Good)
                }
            };
        }
        Action::Trace(args) => {
            drop(out);
            return trace::run(&client, args);
        }
    }
    Ok(Verdict::Good)
}

fn done(out: &mut impl Write, count: u64, what: &str) -> Result<Verdict, Failure> {
    writeln!(out, "{what}: {count}")?;
    Ok(if count > 0 { Verdict::Good } else { Verdict::Bad })
}

/// Says what was done, or that there is no such server.
fn found(out: &mut impl Write, count: u64, what: &str) -> Result<Verdict, Failure> {
    let is_found = count > 0;
    writeln!(
        out,
        "{}",
        if is_found { what } else { "no such server, or not possible; see the log" }
    )?;
    Ok(if is_found { Verdict::Good } else { Verdict::Bad })
}

/// Says which threads did not answer.
fn warn_of_silence(said: &Json) {
    for silent in said["unanswered"].as_array().into_iter().flatten() {
        crate::failure::warn(silent.as_str().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_are_escaped() {
        assert_eq!(part("a b/c?d.1"), "a%20b%2Fc%3Fd.1");
    }
}
