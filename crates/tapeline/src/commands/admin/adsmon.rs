//! `tapeline adsmon`: the classic monitor's printed output.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::Value as Json;

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

const MOUNT: Variables = &[
    ("channel", "channel"),
    ("loginName", "loginName"),
    ("position", "position"),
    ("applicationKey", "applicationKey"),
    ("applicationName", "applicationName"),
    ("hostname", "hostname"),
    ("mountTime", "mountSeconds"),
    ("protocol", "protocol"),
    ("singleOpen", "singleOpen"),
];

const USER: Variables = &[
    ("loginName", "loginName"),
    ("channels", "channels"),
    ("total", "total"),
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
    let (view, variables) = match args.print {
        What::Mounts => ("mounts", MOUNT),
        What::Users => ("users", USER),
        What::Services => ("services", SERVICE),
        What::Process => {
            let process = client.get("/v1/process", &[])?;
            writeln!(out, "releaseVersion : {}", cell(&process["releaseVersion"]))?;
            writeln!(out, "systemRelease : {}", system_release())?;
            return Ok(Verdict::Good);
        }
    };
    let said = client.get(&format!("/v1/{view}"), &[("limit", "1000")])?;
    for row in said["rows"].as_array().into_iter().flatten() {
        out.write_all(block(row, variables).as_bytes())?;
    }
    Ok(Verdict::Good)
}

/// A row, a line for each variable, and an empty one behind.
fn block(row: &Json, variables: Variables) -> String {
    let classic = |value: &Json| match value {
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        value => cell(value),
    };
    let lines = variables.iter().map(|(name, ours)| format!("{name} : {}\n", classic(&row[ours])));
    lines.collect::<String>() + "\n"
}

fn system_release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_is_a_block_of_the_classic_names() {
        let row = json!({ "loginName": "ann", "channels": 2, "total": 7 });
        let expected = "loginName : ann\nchannels : 2\ntotal : 7\naggregateItemLimit : \n\
                        itemLimitPerMount : \n";
        let said = block(&row, USER);
        assert!(
            said.starts_with(expected) && said.ends_with("nonRecoverableCloses : \n\n"),
            "{said}"
        );
    }
}
