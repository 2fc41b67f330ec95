//! What a phase cost, and that for programs.

use std::fmt::Write as _;
use std::time::Duration;

use tapeline_backbone::Kind;

use super::{Asked, Phase, Size, Traffic};

/// What the turns of a party took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// All together.
    pub time: Duration,
    /// The longest.
    pub longest: Duration,
    /// How many were longer than a millisecond.
    pub long_turns: u64,
}

/// What a phase cost.
#[derive(Clone, Debug)]
pub struct Row {
    /// How many there are by then.
    pub size: Size,
    /// The phase.
    pub phase: Phase,
    /// How long it took, in virtual time.
    pub time: Duration,
    /// What the hub sent, over one multicast channel.
    pub from_hub: Traffic,
    /// The same over a channel for each server.
    pub from_hub_to_each: Traffic,
    /// What all servers sent.
    pub from_servers: Traffic,
    /// Frames of the hub, by the numbers of their kinds.
    pub kinds_of_hub: [u64; 32],
    /// Frames of all servers, by the numbers of their kinds.
    pub kinds_of_servers: [u64; 32],
    /// What the server that read most of the hub read,
    pub read_at_one: Traffic,
    /// and what the one read that was sent most, of what was for it alone.
    pub read_for_one: Traffic,
    /// What the hub read.
    pub read_at_hub: Traffic,
    /// Frames of the first server, to which things happen, but for presence,
    pub said_by_first: u64,
    /// and of all others.
    pub said_by_others: u64,
    /// What the source was asked for.
    pub asked: Asked,
    /// Messages of items that consumers got.
    pub at_consumers: u64,
    /// Those of them that say that an item is suspect.
    pub suspects: u64,
    /// How often a port could send nothing.
    pub held: u64,
    /// Turns of the hub.
    pub hub: Effort,
    /// Turns of the server that took longest for all of them; the longest turn is that
    /// of any, and the number of long turns that of all.
    pub server: Effort,
    /// Memory of the hub that ended in this phase, with what it had open,
    pub hub_bytes: Option<u64>,
    /// and of the first server, which ends after the last one.
    pub server_bytes: Option<u64>,
    /// Whether turns were measured, rather than reckoned by looks at a clock.
    pub is_measured: bool,
}

impl Row {
    /// Frames of a kind that the hub sent, or the servers.
    pub const fn of_kind(&self, kind: Kind) -> u64 {
        let number = kind as usize;
        self.kinds_of_hub[number] + self.kinds_of_servers[number]
    }
}

/// Kinds of frames that have a name in the JSON form.
const NAMES: [(Kind, &str); 13] = [
    (Kind::Presence, "presence"),
    (Kind::Directory, "directory"),
    (Kind::Accept, "accept"),
    (Kind::Item, "item"),
    (Kind::Defer, "defer"),
    (Kind::Held, "held"),
    (Kind::WantedRequest, "wanted_request"),
    (Kind::Open, "open"),
    (Kind::Close, "close"),
    (Kind::Reissue, "reissue"),
    (Kind::HeldRequest, "held_request"),
    (Kind::DirectoryRequest, "directory_request"),
    (Kind::Wanted, "wanted"),
];

pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(super) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Rows as JSON, an object for each.
pub fn json(rows: &[Row]) -> String {
    let object = |row: &Row| {
        let mut text = String::from("{");
        let _ = write!(
            text,
            "\"servers\":{},\"items\":{},\"phase\":\"{}\",\"time_ms\":{:.3}",
            row.size.servers,
            row.size.items,
            row.phase,
            ms(row.time)
        );
        let traffic = [
            ("from_hub", row.from_hub),
            ("from_hub_to_each", row.from_hub_to_each),
            ("from_servers", row.from_servers),
            ("read_at_one", row.read_at_one),
            ("read_for_one", row.read_for_one),
            ("read_at_hub", row.read_at_hub),
        ];
        for (name, Traffic { frames, bytes }) in traffic {
            let _ = write!(text, ",\"{name}_frames\":{frames},\"{name}_bytes\":{bytes}");
        }
        for (kind, name) in NAMES {
            let _ = write!(text, ",\"{name}\":{}", row.of_kind(kind));
        }
        let Asked { requests, images, changes, closes } = row.asked;
        let counts = [
            ("asked_requests", requests),
            ("asked_images", images),
            ("asked_changes", changes),
            ("asked_closes", closes),
            ("said_by_first", row.said_by_first),
            ("said_by_others", row.said_by_others),
            ("at_consumers", row.at_consumers),
            ("suspects", row.suspects),
            ("held", row.held),
        ];
        for (name, count) in counts {
            let _ = write!(text, ",\"{name}\":{count}");
        }
        for (name, effort) in [("hub", row.hub), ("server", row.server)] {
            let Effort { time, longest, long_turns } = effort;
            let _ = write!(
                text,
                ",\"{name}_ms\":{:.3},\"{name}_longest_us\":{:.1},\"{name}_long_turns\":{long_turns}",
                ms(time),
                us(longest)
            );
        }
        for (name, bytes) in [("hub", row.hub_bytes), ("server", row.server_bytes)] {
            let bytes = bytes.map_or_else(|| "null".to_owned(), |bytes| bytes.to_string());
            let _ = write!(text, ",\"{name}_memory_bytes\":{bytes}");
        }
        let _ = write!(text, ",\"is_measured\":{}}}", row.is_measured);
        text
    };
    format!("[{}]\n", rows.iter().map(object).collect::<Vec<_>>().join(",\n "))
}
