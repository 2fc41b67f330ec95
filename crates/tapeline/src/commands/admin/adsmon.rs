//! `tapeline adsmon`: the classic monitor's printed output.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::Value as Json;
use time::UtcDateTime;

use super::client::Where;
use super::rows::cell;
use crate::failure::{Failure, Verdict};

/// Print what the classic `adsmon -print` does, by the names that it has
///
/// `tapeline adsmon -c rmds.cnf -instance 1 -print MOUNTS` is understood; the file and the
/// instance say nothing here, as the admin port is where --admin says.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Where,
    /// The configuration file of the classic tool; not read
    #[arg(short = 'c', value_name = "FILE")]
    config: Option<PathBuf>,
    /// The instance of the classic tool; not used
    #[arg(long, value_name = "N")]
    instance: Option<String>,
    /// What to print
    #[arg(long, value_enum, ignore_case = true, default_value = "PROCESS")]
    print: What,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Mounts
    #[value(name = "MOUNTS")]
    Mounts,
    /// Users
    #[value(name = "USERS")]
    Users,
    /// Services
    #[value(name = "SERVICES")]
    Services,
    /// The process
    #[value(name = "PROCESS")]
    Process,
}

/// What is printed of each row: the classic name, and ours where it differs.
type Variables = &'static [(&'static str, &'static str)];

/// For how long a mount has been there, which is printed as the time at which it came.
const MOUNT_SECONDS: &str = "mountSeconds";

/// Not a classic one: a process may have several servers, each with channels and services
/// of its own.
const SERVER: (&str, &str) = ("server", "at");

const MOUNT: Variables = &[
    SERVER,
    ("channel", "channel"),
    ("identifier", "identifier"),
    ("loginName", "loginName"),
    ("position", "position"),
    ("applicationKey", "applicationKey"),
    ("applicationName", "applicationName"),
    ("hostname", "hostname"),
    ("mountTime", MOUNT_SECONDS),
    ("version", "version"),
    ("protocol", "protocol"),
    ("singleOpen", "singleOpen"),
];

const USER: Variables = &[
    ("loginName", "loginName"),
    ("channels", "channels"),
    ("total", "total"),
    ("active", "active"),
    ("stale", "stale"),
    ("pending", "pending"),
    ("maxPriorityClass", "maxPriorityClass"),
    ("aggregateItemLimit", "aggregateItemLimit"),
    ("itemLimitPerMount", "itemLimitPerMount"),
    ("opens", "opens"),
    ("normalOpens", "normalOpens"),
    ("snapshotOpens", "snapshotOpens"),
    ("recoverableOpens", "recoverableOpens"),
    ("nonRecoverableOpens", "nonRecoverableOpens"),
    ("viewRequests", "viewRequests"),
    ("recoverableCloses", "recoverableCloses"),
    ("nonRecoverableCloses", "nonRecoverableCloses"),
];

const SERVICE: Variables = &[
    SERVER,
    ("name", "name"),
    ("serviceID", "serviceID"),
    ("State", "State"),
    ("items", "items"),
    ("active", "active"),
    ("pending", "pending"),
    ("stale", "stale"),
    ("QoS", "QoS"),
    ("Dictionaries", "Dictionaries"),
    ("Capabilities", "Capabilities"),
];

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let client = args.at.client()?;
    let mut out = io::stdout().lock();
    let process = client.get("/v1/process", &[])?;
    let now = process["unixSeconds"].as_u64().unwrap_or_default();
    let (view, variables) = match args.print {
        What::Mounts => ("mounts", MOUNT),
        What::Users => ("users", USER),
        What::Services => ("services", SERVICE),
        What::Process => {
            for name in ["releaseVersion", "systemRelease"] {
                writeln!(out, "{name} : {}", cell(&process[name]))?;
            }
            writeln!(out, "time : {}", date_and_time(now))?;
            return Ok(Verdict::Good);
        }
    };
    for row in client.rows(view)? {
        out.write_all(block(&row, variables, now).as_bytes())?;
    }
    Ok(Verdict::Good)
}

/// A row, a line for each variable, and an empty one behind. `now`: seconds since 1970.
fn block(row: &Json, variables: Variables, now: u64) -> String {
    let classic = |name: &str| match &row[name] {
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Number(seconds) if name == MOUNT_SECONDS => {
            date_and_time(now.saturating_sub(seconds.as_u64().unwrap_or_default()))
        }
        value => cell(value),
    };
    let lines = variables.iter().map(|(name, ours)| format!("{name} : {}\n", classic(ours)));
    lines.collect::<String>() + "\n"
}

/// Seconds since 1970 as a date and a time of day, in UTC.
fn date_and_time(unix_s: u64) -> String {
    let at = i64::try_from(unix_s).ok().and_then(|at| UtcDateTime::from_unix_timestamp(at).ok());
    at.map_or_else(String::new, |at| {
        let (hour, minute, second) = at.time().as_hms();
        format!("{} {hour:02}:{minute:02}:{second:02}", at.date())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_is_a_block_of_the_classic_names() {
        let row = json!({ "loginName": "ann", "channels": 2, "total": 7 });
        let expected = "loginName : ann\nchannels : 2\ntotal : 7\nactive : \nstale : \n";
        let said = block(&row, USER, 0);
        assert!(
            said.starts_with(expected) && said.ends_with("nonRecoverableCloses : \n\n"),
            "{said}"
        );
    }

    #[test]
    fn a_mount_came_at_a_time_of_day() {
        let row = json!({ "mountSeconds": 61, "singleOpen": true });
        let said = block(&row, MOUNT, 1_700_000_000);
        assert!(said.contains("\nmountTime : 2023-11-14 22:12:19\n"), "{said}");
        assert!(said.contains("\nsingleOpen : True\n"), "{said}");
    }
}
