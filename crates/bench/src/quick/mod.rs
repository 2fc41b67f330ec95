//! Every aim of the project in one table.

mod attention;
mod latencies;
mod rates;
mod row;

use std::time::{Duration, Instant};

use attention::undisturbed;
pub use row::Row;

use tapeline_measure::stop;

use crate::clients::Reading;
use crate::procedures::memory_bytes;
use crate::record::{Environment, Record};
use crate::setup::{Between, Setup, Topology};
use crate::{BenchError, Options, Output, peers};

/// A group of rows that are measured together.
struct Group {
    /// Names of its rows, for those that cannot be measured, with their aims.
    rows: &'static [row::Name],
    measure: fn(&Options, &mut dyn Output) -> Result<Vec<Row>, BenchError>,
    /// Whether other work on the cores changes the figures.
    is_timed: bool,
}

const GROUPS: [Group; 8] = [
    Group { rows: latencies::IN_A_THREAD, measure: latencies::in_a_thread, is_timed: true },
    Group { rows: latencies::OVER_RINGS, measure: latencies::over_rings, is_timed: true },
    Group { rows: latencies::OVER_IPC, measure: latencies::over_ipc, is_timed: true },
    Group { rows: latencies::OVER_MULTICAST, measure: latencies::over_multicast, is_timed: true },
    Group { rows: latencies::WITH_LOSS, measure: latencies::with_loss, is_timed: true },
    Group { rows: rates::ONE_CLIENT, measure: rates::one_client, is_timed: true },
    Group { rows: rates::FAN_OUT, measure: rates::fan_out, is_timed: true },
    Group { rows: MEMORY, measure: memory, is_timed: false },
];

/// Rows of the comparison with other systems, where it cannot be made.
const PEERS: &[row::Name] =
    &[("vendor's provider, NATS, ZeroMQ", "ratio", "see bench/peers/README.md")];

/// The options of `options` with the times that make the whole a matter of
/// minutes. Times that were set by hand are the caller's: set them afterwards.
pub fn quick_options() -> Options {
    Options {
        time: Duration::from_millis(1500),
        warm_up: Duration::from_millis(400),
        probe: Duration::from_millis(500),
        max_probes: 12,
        rounds: 3,
        ..Options::default()
    }
}

/// Measures every row whose name has `only` in it; with `others`, beside other
/// systems too. A row that cannot be measured says why. Rows during which other work
/// took the cores are measured once more, and have no figure if it did so again.
///
/// Errors: somebody wants the program to end.
pub fn quick(
    options: &Options,
    only: Option<&str>,
    others: Option<&peers::Options>,
    out: &mut dyn Output,
) -> Result<Vec<Row>, BenchError> {
    let is_wanted = |name: &str| only.is_none_or(|text| name.contains(text));
    let began = Instant::now();
    let environment = Environment::read();
    out.result(&Record::from(environment.clone()).to_value());
    let mut rows = Vec::new();
    for group in GROUPS.iter().filter(|group| group.rows.iter().any(|row| is_wanted(row.0))) {
        stop::check()?;
        let measured = match group.is_timed {
            true => undisturbed(options, out, |out| (group.measure)(options, out)),
            false => (group.measure)(options, out),
        };
        match measured {
            Ok(measured) => rows.extend(measured),
            Err(error) => rows.extend(Row::missing(group.rows, &error.to_string())),
        }
    }
    let compared = match others {
        Some(others) if peers::row_names(others).iter().any(|name| is_wanted(name)) => {
            undisturbed(options, out, |out| peers::rows(others, out))
                .map_err(|error| error.to_string())
        }
        Some(_) => Ok(Vec::new()),
        None => Err("left out; bench/peers/run.sh builds the others".to_owned()),
    };
    match compared {
        Ok(compared) => rows.extend(compared),
        Err(why) => rows.extend(Row::missing(PEERS, &why)),
    }
    // What was interrupted is no result: it would take the place of a whole one.
    stop::check()?;
    out.result(&Record::from(environment.after()).to_value());
    rows.retain(|row| is_wanted(&row.row));
    let seconds = began.elapsed().as_secs();
    let disturbed = rows.iter().filter(|row| row.is_disturbed).count();
    out.table(&format!(
        "{}measured in {seconds} s; {disturbed} of {} rows disturbed by other work\n",
        row::table(&rows),
        rows.len()
    ));
    Ok(rows)
}

const MEMORY: &[row::Name] = &[
    ("memory of a mount with 1,000 items", "bytes", "at most 65,536"),
    ("memory of an item in the hub", "bytes", "at most 1,024"),
    ("memory of an item in the server", "bytes", "at most 216, its watcher included"),
    ("memory of a further watcher", "bytes", "at most 16"),
];

/// Mounts over which the memory of one is told.
const MEMORY_MOUNTS: usize = 200;

fn memory(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let options = Options { mounts: MEMORY_MOUNTS, ..options.clone() };
    let bytes = memory_bytes(&options, out)?;
    let figures = [
        (bytes.mount, 65_536.0),
        (bytes.item_in_hub, 1_024.0),
        (bytes.item_in_server, 216.0),
        (bytes.watcher, 16.0),
    ];
    let rows = MEMORY.iter().zip(figures);
    Ok(rows.map(|(name, (bytes, most))| Row::of(name, bytes).met(bytes <= most)).collect())
}

/// A system in this topology, over Aeron, else as in the options.
fn on(options: &Options, topology: Topology) -> Options {
    let setup = Setup { topology, between: Between::Aeron, ..options.setup.clone() };
    Options { setup, ..options.clone() }
}

/// A plan of one client whose reader decodes all, over the items of the
/// options.
fn decoding(options: &Options) -> crate::plan::Plan {
    crate::plan::Plan::one_client(options.latency_items, Reading::Fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[derive(Default)]
    struct Silent {
        tables: String,
        results: Vec<Value>,
    }

    impl Output for Silent {
        fn table(&mut self, text: &str) {
            self.tables.push_str(text);
        }

        fn result(&mut self, result: &Value) {
            self.results.push(result.clone());
        }
    }

    #[test]
    fn what_cannot_be_measured_says_why() {
        let mut out = Silent::default();
        let rows = quick(&quick_options(), Some("NATS"), None, &mut out).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].value, rows[0].met), (None, None));
        assert!(rows[0].reason.as_deref().unwrap().contains("bench/peers/run.sh"), "{rows:?}");
        let tables = out.tables;
        assert!(tables.contains("NATS") && tables.contains("missing"), "{tables}");
        assert!(tables.contains("; 0 of 1 rows disturbed by other work\n"), "{tables}");
    }

    #[test]
    fn other_systems_are_measured_only_if_a_row_of_theirs_is_wanted() {
        let mut out = Silent::default();
        let peers = vec![peers::Peer::TapelineParked, peers::Peer::Nats];
        let folder = "/nowhere".into();
        let others = peers::Options { peers, folder, ..peers::Options::brief() };
        let rows = quick(&quick_options(), Some("no such row"), Some(&others), &mut out).unwrap();
        assert!(rows.is_empty(), "{rows:?}");
        assert!(out.results.iter().all(|result| result["bench"] != "peers"), "{:?}", out.results);
    }

    #[test]
    fn every_row_has_its_own_name() {
        let names = GROUPS.iter().flat_map(|group| group.rows).map(|row| row.0);
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
