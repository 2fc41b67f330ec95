//! `tapeline config`: look at the configuration, and change it while it runs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value as Json, json};

use super::admin::{Client, Where, who};
use crate::config::{self, Settings};
use crate::console::{Align, Table};
use crate::failure::{Failure, Verdict};

/// How often a change that is watched is asked after.
const ASK_INTERVAL: Duration = Duration::from_millis(250);

/// Check, show and change configurations
///
/// `plan`, `apply`, `rollback` and `history` ask the admin port of a running process.
///
/// Exit status: 0 when it is good, or was done; 1 when a file has errors, or a change was
/// taken back; 2 if it could not be done.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which of the classic programs of a host an `rmds.cnf` is read for
    #[arg(long, global = true, value_name = "N", default_value = config::INSTANCE)]
    instance: String,
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
    /// Print an `rmds.cnf` as TOML, each key with the line that it comes from
    Import {
        /// The file
        file: PathBuf,
    },
    /// Say in which keys two files differ in effect; exit status 1 if there are any
    Diff {
        /// One file
        before: PathBuf,
        /// The other one
        after: PathBuf,
    },
    /// Say what a file would change in a running process, and whom that touches
    Plan {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        at: Where,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Have a running process take a file: all of its threads, or none. It is watched, and
    /// taken back if things get worse: sources, services or mounts that are lost, mounts
    /// that are cut, clients that are refused. Then it becomes the process' own file
    Apply {
        /// The file
        file: PathBuf,
        /// For how long it is watched, as `30s` or `2m`; 0 to keep it at once
        #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
        watch: Duration,
        #[command(flatten)]
        at: Where,
    },
    /// Have the configuration before hold again; ends a change that is watched
    Rollback {
        #[command(flatten)]
        at: Where,
    },
    /// Print the configurations that a running process had, and what became of each
    History {
        #[command(flatten)]
        at: Where,
        /// Print JSON
        #[arg(long)]
        json: bool,
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
        Action::Check { file, strict } => match Settings::load(Some(file), &args.instance) {
            Ok(settings) => {
                for remark in &settings.remarks.nothing {
                    writeln!(out, "{remark}")?;
                }
                if *strict && !settings.remarks.nothing.is_empty() {
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
            let settings = Settings::load(file.as_deref(), &args.instance)?;
            out.write_all(config::show(&settings).as_bytes())?;
        }
        Action::Import { file } => {
            let settings = Settings::load(Some(file), &args.instance)?;
            out.write_all(config::import(&settings).as_bytes())?;
        }
        Action::Diff { before, after } => {
            let before = Settings::load(Some(before), &args.instance)?;
            let after = Settings::load(Some(after), &args.instance)?;
            let found = config::differences(&before, &after);
            out.write_all(config::lines(&found).as_bytes())?;
            return Ok(Verdict::of(!found.is_empty()));
        }
        Action::Plan { file, at, json } => {
            let said = at.client()?.put("/v1/config/plan", &request(file, Duration::ZERO)?)?;
            match json {
                true => writeln!(out, "{said:#}")?,
                false => {
                    out.write_all(said["lines"].as_str().unwrap_or_default().as_bytes())?;
                    writeln!(out, "touched: {}", said["touched"].as_str().unwrap_or_default())?;
                }
            }
        }
        Action::Apply { file, watch, at } => {
            let client = at.client()?;
            let said = client.put("/v1/config/apply", &request(file, *watch)?)?;
            for change in said["changes"].as_array().into_iter().flatten() {
                let of = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
                writeln!(out, "{}: {} -> {}", of("key"), of("before"), of("after"))?;
            }
            writeln!(out, "epoch {} holds", said["epoch"])?;
            return watched(&client, &mut out);
        }
        Action::Rollback { at } => {
            let said = at.client()?.put("/v1/config/rollback", &json!({ "who": who() }))?;
            writeln!(out, "epoch {} holds, with hash {}", said["epoch"], text(&said["hash"]))?;
        }
        Action::History { at, json } => {
            let said = at.client()?.get("/v1/config/history", &[])?;
            match json {
                true => writeln!(out, "{said:#}")?,
                false => out.write_all(history(&said["history"]).as_bytes())?,
            }
        }
        Action::Reference => out.write_all(config::reference().as_bytes())?,
        Action::Counters => out.write_all(crate::counters::reference().as_bytes())?,
    }
    Ok(Verdict::Good)
}

/// A configuration as it is sent to a process.
fn request(file: &Path, watch: Duration) -> Result<Json, Failure> {
    let text = std::fs::read_to_string(file).map_err(Failure::read(file))?;
    let name = file.display().to_string();
    Ok(json!({ "name": name, "text": text, "who": who(), "watch_s": watch.as_secs() }))
}

/// Waits for the end of the watch. Whether the change was kept.
fn watched(client: &Client, out: &mut impl Write) -> Result<Verdict, Failure> {
    loop {
        let said = client.get("/v1/config", &[])?;
        if said["watchedForS"].is_null() {
            let outcome = text(&said["outcome"]);
            writeln!(out, "{outcome}")?;
            return Ok(if outcome == "kept" { Verdict::Good } else { Verdict::Bad });
        }
        thread::sleep(ASK_INTERVAL);
    }
}

fn history(entries: &Json) -> String {
    let mut table = Table::new(&[
        ("number", Align::Right),
        ("time", Align::Left),
        ("hash", Align::Left),
        ("how", Align::Left),
        ("who", Align::Left),
        ("outcome", Align::Left),
    ]);
    for entry in entries.as_array().into_iter().flatten() {
        let why = entry["why"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
        let mut row = vec![entry["number"].to_string()];
        row.extend(["time", "hash", "how", "who"].map(|key| text(&entry[key])));
        row.push(text(&entry["outcome"]) + &why);
        table.row(row);
    }
    table.lines().join("\n") + "\n"
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

/// A time as `30s`, `2m` or a number of seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    match number.parse::<u32>() {
        Ok(number) => Ok(Duration::from_secs(u64::from(number) * unit)),
        Err(_) => Err(format!("`{text}` is no time; write 30s or 2m")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_minutes() {
        let read = ["30s", "2m", "0", "x"].map(|text| duration(text).map(|it| it.as_secs()));
        let wrong = Err("`x` is no time; write 30s or 2m".to_owned());
        assert_eq!(read, [Ok(30), Ok(120), Ok(0), wrong]);
    }
}
