//! A market that runs tells how long orders take in each of its stages.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tapeline_counters::{Rowed, Value, Viewed};
use tapeline_exchange::{Door, JournalSettings, StageRow, Venue, VenueConfig};
use tapeline_ntg::Message;
use tapeline_sequence::JournalConfig;
use tapeline_time::{MonotonicClock, Time};

use crate::support::{EPOCH_NS, config, logon, new};

/// Samples of each stage.
fn samples(venue: &Venue) -> Vec<(String, u64)> {
    let stages = venue.stages();
    let rows = (0..stages.places(StageRow::VIEW)).filter_map(|at| stages.row(StageRow::VIEW, at));
    rows.map(|row| match &row[..] {
        [Value::Text(stage), Value::Number(samples), ..] => (stage.to_string(), *samples),
        other => panic!("{other:?}"),
    })
    .collect()
}

/// A market, and what somebody in its process says.
struct Run {
    venue: Venue,
    clock: MonotonicClock,
}

impl Run {
    fn start(journal: Option<JournalSettings>) -> Self {
        let clock = MonotonicClock::start();
        let config = VenueConfig {
            exchange: config(),
            host: Ipv4Addr::LOCALHOST.into(),
            ports: [0; Door::ALL.len()],
            lines: Vec::new(),
            epoch_ns: EPOCH_NS,
            journal,
            replicas: None,
            gateways: None,
            busy_poll: Duration::ZERO,
            distribution: None,
        };
        let venue = Venue::start(&config, clock.now()).expect("it starts");
        Self { venue, clock }
    }

    fn turn(&mut self) -> Time {
        let clock = self.clock;
        self.venue.turn(clock.now(), Duration::from_millis(1), move || clock.now());
        self.clock.now()
    }

    /// Says something, and takes turns until so many reports have been sent in all.
    fn says(&mut self, session: tapeline_exchange::SessionId, message: &Message, reports: u64) {
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        let now = self.turn();
        self.venue.say(now, session, &bytes);
        let until = Instant::now() + Duration::from_secs(30);
        while self.venue.counts().reports < reports {
            assert!(Instant::now() < until, "{:?}", self.venue.counts());
            self.turn();
        }
    }
}

#[test]
fn each_stage_of_an_order_is_measured() {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = JournalSettings {
        dir: dir.path().to_owned(),
        config: JournalConfig { segment_bytes: 4 << 20, max_segments: 4 },
        snapshot_entries: 0,
    };
    for journal in [None, Some(settings)] {
        let mut run = Run::start(journal);
        let now = run.turn();
        let ann = run.venue.join(now, Door::Orders).expect("room");
        run.says(ann, &logon("ANN"), 0);
        let before = samples(&run.venue);
        run.says(ann, &new("A1", "sell 100@10.25"), 1);
        run.says(ann, &new("A2", "buy 40@10.25"), 3);
        let now = samples(&run.venue);
        let more = |name: &str| {
            let of = |all: &[(String, u64)]| {
                all.iter().find(|(stage, _)| stage == name).map_or(0, |(_, samples)| *samples)
            };
            of(&now) - of(&before)
        };
        for stage in ["gateway", "sequencer", "journal", "matching", "reports", "market data"] {
            assert_eq!(more(stage), 2, "{stage} in {now:?}");
        }
        assert_eq!(more("order"), 2, "{now:?}");
    }
}
