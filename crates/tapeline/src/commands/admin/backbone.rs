//! `tapeline backbone`: the job of the classic `rrdump`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Map, Value as Json, json};

use super::client::{Client, Where};
use super::rows::table;
use super::warn_of_silence;
use crate::failure::{Failure, Verdict};

/// Look at the backbone of a running hub or server through its admin port
///
/// What Aeron counts is that of the media driver which the process uses, read from the
/// driver's folder by the process. Hub and server in one process have none.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Where,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print the peers: which run of each, who is up, positions, holes, clocks, and what
    /// was asked for again and lost of each
    Peers {
        #[command(flatten)]
        pace: Pace,
    },
    /// Print what was lost, dropped and sent again: by hub and server, of the media driver,
    /// and of each of its streams
    Loss {
        #[command(flatten)]
        pace: Pace,
    },
    /// Print a line each time that something is lost, with the peer that it is of
    Watch {
        /// How often to look, in milliseconds
        #[arg(long, value_name = "N", default_value_t = 1_000)]
        #[arg(value_parser = clap::value_parser!(u64).range(10..=3_600_000))]
        interval_ms: u64,
    },
}

#[derive(clap::Args)]
struct Pace {
    /// Between two looks, of which rates are, in milliseconds; 0 for no rates
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=3_600_000))]
    interval_ms: u64,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let client = args.at.client()?;
    let mut out = io::stdout().lock();
    let first = Look::take(&client)?;
    match &args.action {
        Action::Peers { pace } => {
            let (before, now) = twice(&client, first, pace.interval_ms)?;
            out.write_all(peers(&before, &now, pace.interval_ms).as_bytes())?;
            now.warn();
        }
        Action::Loss { pace } => {
            let (before, now) = twice(&client, first, pace.interval_ms)?;
            out.write_all(loss(&before, &now, pace.interval_ms).as_bytes())?;
            now.warn();
        }
        Action::Watch { interval_ms } => {
            let mut before = first;
            if before.driver.is_none() {
                writeln!(out, "{NO_DRIVER}")?;
                out.flush()?;
            }
            loop {
                std::thread::sleep(Duration::from_millis(*interval_ms));
                let now = Look::take(&client)?;
                for line in news(&before, &now) {
                    writeln!(out, "{line}")?;
                }
                out.flush()?;
                before = now;
            }
        }
    }
    Ok(Verdict::Good)
}

const NO_DRIVER: &str =
    "no media driver: the backbone is in the memory of the process, where nothing is lost";

/// Counts of a hub's or a server's end that say that something went wrong.
const LOSS: [&str; 9] =
    ["gaps", "lost", "dropped", "queued", "unheard", "no_peer", "given_up", "stale", "renewals"];

/// Of a peer.
const PEER_LOSS: [&str; 2] = ["gaps", "lost"];

/// Of a stream of the media driver.
const STREAM_LOSS: [&str; 3] = ["naks", "losses", "lostBytes"];

/// Counts of a media driver that say that something went wrong, or was mended.
const DRIVER_LOSS: [&str; 10] = [
    "naksSent",
    "naksReceived",
    "retransmitsSent",
    "retransmitOverflows",
    "lossGapFills",
    "flowControlUnderRuns",
    "flowControlOverRuns",
    "invalidPackets",
    "shortSends",
    "errors",
];

/// What an admin port tells of the backbone at one moment.
#[derive(Debug, Default)]
struct Look {
    /// Counts by hub and server.
    counters: Json,
    peers: Vec<Json>,
    /// The media driver's counts, if there is one: nothing if they cannot be read.
    driver: Option<Json>,
    streams: Vec<Json>,
    /// Answers that lack something.
    silent: Vec<Json>,
}

impl Look {
    fn take(client: &Client) -> Result<Self, Failure> {
        let all = |view: &str| client.find(&format!("/v1/{view}"), &[("limit", "1000")]);
        let rows = |said: &Json| said["rows"].as_array().cloned().unwrap_or_default();
        let peers = all("peers")?.unwrap_or_default();
        let driver = all("driver")?;
        let streams = match driver {
            Some(_) => all("driver-streams")?.unwrap_or_default(),
            None => Json::Null,
        };
        Ok(Self {
            counters: client.get("/v1/counters", &[])?["backbone"].take(),
            peers: rows(&peers),
            driver: driver.as_ref().map(|said| rows(said).into_iter().next().unwrap_or(Json::Null)),
            streams: rows(&streams),
            silent: driver.into_iter().chain([peers, streams]).collect(),
        })
    }

    fn warn(&self) {
        self.silent.iter().for_each(warn_of_silence);
    }

    /// Whose streams they are, by their sessions.
    fn names(&self) -> BTreeMap<i64, &str> {
        let mut names = BTreeMap::new();
        for peer in &self.peers {
            let name = peer["name"].as_str().unwrap_or_default();
            let sessions = peer["sessions"].as_str().unwrap_or_default().split(' ');
            names.extend(sessions.filter_map(|it| it.parse().ok()).map(|session| (session, name)));
        }
        names
    }

    /// The streams that come from a peer.
    fn streams_of<'a>(&'a self, peer: &'a Json) -> impl Iterator<Item = &'a Json> {
        let sessions = peer["sessions"].as_str().unwrap_or_default();
        let is_its = move |row: &&Json| {
            let session = row["session"].to_string();
            row["direction"] == "in" && sessions.split(' ').any(|known| known == session)
        };
        self.streams.iter().filter(is_its)
    }
}

/// Two looks, with so much time between them; the same one twice for none.
fn twice(client: &Client, first: Look, interval_ms: u64) -> Result<(Look, Look), Failure> {
    if interval_ms == 0 {
        return Ok((Look::default(), first));
    }
    std::thread::sleep(Duration::from_millis(interval_ms));
    Ok((first, Look::take(client)?))
}

/// What there is more in a second; nothing if it was not looked twice.
fn rate(before: &Json, now: &Json, interval_ms: u64) -> Json {
    match (before.as_u64(), now.as_u64()) {
        (Some(before), Some(now)) if interval_ms > 0 => {
            let more = now.saturating_sub(before) as f64;
            json!((more * 10_000.0 / interval_ms as f64).round() / 10.0)
        }
        _ => Json::Null,
    }
}

/// The row of the same key in another look; `Null` for none.
fn same<'a>(rows: &'a [Json], row: &Json, keys: &[&str]) -> &'a Json {
    let is_same = |known: &&Json| keys.iter().all(|key| known[*key] == row[*key]);
    rows.iter().find(is_same).unwrap_or(&Json::Null)
}

fn sum<'a>(rows: impl Iterator<Item = &'a Json>, column: &str) -> Json {
    rows.filter_map(|row| row[column].as_u64()).reduce(|sum, more| sum + more).into()
}

const PEER_KEYS: [&str; 2] = ["at", "incarnation"];
const STREAM_KEYS: [&str; 3] = ["direction", "session", "stream"];

fn peers(before: &Look, now: &Look, interval_ms: u64) -> String {
    let rows = now.peers.iter().map(|peer| {
        let then = same(&before.peers, peer, &PEER_KEYS);
        let mut row = peer.clone();
        row["framesPerS"] = rate(&then["position"], &peer["position"], interval_ms);
        row["naksSent"] = sum(now.streams_of(peer), "naks");
        let naks_then = sum(before.streams_of(peer), "naks");
        row["naksPerS"] = rate(&naks_then, &row["naksSent"], interval_ms);
        row["losses"] = sum(now.streams_of(peer), "losses");
        row["lostBytes"] = sum(now.streams_of(peer), "lostBytes");
        row
    });
    let mut text = table(&json!({ "rows": rows.collect::<Vec<_>>() }));
    if now.driver.is_none() {
        text.push_str(NO_DRIVER);
        text.push('\n');
    }
    text
}

fn loss(before: &Look, now: &Look, interval_ms: u64) -> String {
    let ends = now.counters.as_object().into_iter().flatten().map(|(name, counts)| {
        let mut row = Map::from_iter([("at".to_owned(), name.clone().into())]);
        row.extend(LOSS.map(|column| (column.to_owned(), counts[column].clone())));
        Json::Object(row)
    });
    let mut text = table(&json!({ "rows": ends.collect::<Vec<_>>() }));
    text.push('\n');
    let Some(driver) = &now.driver else { return text + NO_DRIVER + "\n" };
    let then = before.driver.as_ref().unwrap_or(&Json::Null);
    let counts = driver.as_object().into_iter().flatten().filter(|(_, count)| count.is_number());
    let counts = counts.map(|(name, count)| {
        json!({ "driver": name, "count": count, "perS": rate(&then[name], count, interval_ms) })
    });
    text.push_str(&table(&json!({ "rows": counts.collect::<Vec<_>>() })));
    text.push('\n');
    let names = now.names();
    let streams = now.streams.iter().map(|stream| {
        let then = same(&before.streams, stream, &STREAM_KEYS);
        let name = stream["session"].as_i64().and_then(|session| names.get(&session));
        let peer = name.filter(|_| stream["direction"] == "in");
        json!({
            "direction": stream["direction"],
            "peer": peer,
            "session": stream["session"],
            "stream": stream["stream"],
            "position": stream["position"],
            "naks": stream["naks"],
            "naksPerS": rate(&then["naks"], &stream["naks"], interval_ms),
            "losses": stream["losses"],
            "lostBytes": stream["lostBytes"],
            "lastLossSeconds": stream["lastLossSeconds"],
            "source": stream["source"],
            "channel": stream["channel"],
        })
    });
    text.push_str(&table(&json!({ "rows": streams.collect::<Vec<_>>() })));
    text
}

/// What is more than before of these columns, as words.
fn more(before: &Json, now: &Json, columns: &[&str]) -> Option<String> {
    let more = columns.iter().filter_map(|column| {
        let more = now[*column].as_u64()?.saturating_sub(before[*column].as_u64().unwrap_or(0));
        (more > 0).then(|| format!("{column}=+{more}"))
    });
    let more: Vec<_> = more.collect();
    (!more.is_empty()).then(|| more.join(" "))
}

/// What is more than before: a line for each peer, for each hub or server, for each
/// stream, and for the media driver.
fn news(before: &Look, now: &Look) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, counts) in now.counters.as_object().into_iter().flatten() {
        let more = more(&before.counters[name], counts, &LOSS);
        lines.extend(more.map(|more| format!("at={name} {more}")));
    }
    for peer in &now.peers {
        let text = |column: &str| peer[column].as_str().unwrap_or_default();
        let (at, name, run) = (text("at"), text("name"), text("incarnation"));
        let then = same(&before.peers, peer, &PEER_KEYS);
        let mut told = |what: String| lines.push(format!("at={at} peer={name} run={run} {what}"));
        if then.is_null() {
            told("has come".to_owned());
        }
        if let Some(more) = more(then, peer, &PEER_LOSS) {
            told(more);
        }
    }
    for peer in &before.peers {
        if same(&now.peers, peer, &PEER_KEYS).is_null() {
            let text = |column: &str| peer[column].as_str().unwrap_or_default();
            let (at, name, run) = (text("at"), text("name"), text("incarnation"));
            lines.push(format!("at={at} peer={name} run={run} has gone"));
        }
    }
    let names = now.names();
    for stream in &now.streams {
        let then = same(&before.streams, stream, &STREAM_KEYS);
        let Some(more) = more(then, stream, &STREAM_LOSS) else { continue };
        let (session, number) = (&stream["session"], &stream["stream"]);
        let name = session.as_i64().and_then(|session| names.get(&session));
        lines.push(match (stream["direction"].as_str(), name) {
            (Some("in"), Some(name)) => format!("driver peer={name} stream={number} {more}"),
            (Some("in"), None) => format!("driver session={session} stream={number} {more}"),
            _ => format!("driver sent stream={number} {more}"),
        });
    }
    let then = before.driver.as_ref().unwrap_or(&Json::Null);
    let driver = now.driver.as_ref().and_then(|driver| more(then, driver, &DRIVER_LOSS));
    lines.extend(driver.map(|more| format!("driver {more}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(lost: u64, naks: u64) -> Look {
        let peer = |name: &str, sessions: Option<&str>, lost: u64| {
            let run = format!("run-{name}");
            json!({
                "at": "hub", "name": name, "incarnation": run, "sessions": sessions,
                "position": 100 * lost, "gaps": lost.min(1), "lost": lost,
            })
        };
        let stream = |direction: &str, session: i64, naks: u64| {
            json!({
                "at": "driver", "direction": direction, "session": session, "stream": 1002,
                "channel": "aeron:udp", "position": 5, "naks": naks, "losses": naks,
                "lostBytes": 1_000 * naks, "lastLossSeconds": null, "source": null,
            })
        };
        Look {
            counters: json!({ "hub": { "gaps": lost.min(1), "lost": lost, "dropped": 0 } }),
            peers: vec![peer("edge-1", Some("5 -7"), lost), peer("edge-2", None, 0)],
            driver: Some(json!({ "at": "driver", "folder": "/x", "naksSent": naks, "errors": 0 })),
            streams: vec![stream("in", -7, naks), stream("out", 9, 0)],
            silent: Vec::new(),
        }
    }

    #[test]
    fn only_what_grew_is_news_and_it_has_a_name() {
        let (before, now) = (look(0, 1), look(5, 4));
        let expected = [
            "at=hub gaps=+1 lost=+5",
            "at=hub peer=edge-1 run=run-edge-1 gaps=+1 lost=+5",
            "driver peer=edge-1 stream=1002 naks=+3 losses=+3 lostBytes=+3000",
            "driver naksSent=+3",
        ];
        assert_eq!(news(&before, &now), expected);
        assert!(news(&now, &now).is_empty());
    }

    #[test]
    fn peers_that_come_and_go_are_news() {
        let (before, mut now) = (look(0, 0), look(0, 0));
        now.peers.remove(0);
        now.peers[0]["incarnation"] = "another".into();
        let expected = [
            "at=hub peer=edge-2 run=another has come",
            "at=hub peer=edge-1 run=run-edge-1 has gone",
            "at=hub peer=edge-2 run=run-edge-2 has gone",
        ];
        assert_eq!(news(&before, &now), expected);
    }

    /// The words of a line of a table.
    fn line<'a>(table: &'a str, beginning: &str) -> Vec<&'a str> {
        let line = table.lines().find(|line| line.trim_start().starts_with(beginning));
        line.unwrap_or_default().split_whitespace().collect()
    }

    #[test]
    fn peers_have_what_the_driver_says_of_their_streams() {
        let text = peers(&look(0, 1), &look(5, 4), 2_000);
        let (heads, first) = (line(&text, "at"), line(&text, "hub"));
        let of = |column: &str| {
            let at = heads.iter().position(|head| *head == column);
            // The sessions of the first are two words.
            first[at.expect("a column") + usize::from(column != "at")]
        };
        let said = ["naksSent", "naksPerS", "lostBytes", "framesPerS", "lost"].map(of);
        assert_eq!(said, ["4", "1.5", "4000", "250.0", "5"], "{text}");
        assert!(!text.contains("no media driver"), "{text}");
    }

    #[test]
    fn losses_are_of_ends_driver_and_streams() {
        let text = loss(&look(0, 1), &look(5, 4), 1_000);
        assert_eq!(line(&text, "hub")[..3], ["hub", "1", "5"], "{text}");
        assert_eq!(line(&text, "naksSent"), ["naksSent", "4", "3.0"], "{text}");
        let streams = line(&text, "in ");
        assert_eq!(streams[..4], ["in", "edge-1", "-7", "1002"], "{text}");
    }

    #[test]
    fn where_there_is_no_driver_it_is_said() {
        let now = Look { driver: None, streams: Vec::new(), ..look(0, 0) };
        for text in [loss(&now, &now, 0), peers(&now, &now, 0)] {
            assert!(text.ends_with(&format!("{NO_DRIVER}\n")), "{text}");
        }
    }
}
