//! Copies by mount: whatever happens, each mount gets the very bytes that it would
//! get if each update were copied as it comes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tapeline_api::{ItemChange, ItemSpec, Login, Protocol, RefreshHead, StatusHead, UpdateHead};
use tapeline_omm::login::WarmStandbyMode;
use tapeline_omm::view::View;
use tapeline_rwf::{DataState, Primitive, Real, State, StateCode, StreamState, UpdateType};
use tapeline_server::{OutputThresholds, ServerConfig, When};

use super::ground::{Simulated, Tape};
use super::market::Market;

const NAMES: [&str; 5] = ["A", "B", "C", "D", "E"];
const LISTENERS: usize = 5;
/// The last of them.
const SPEAKS_JSON: usize = LISTENERS - 1;
/// Its login wants no other updates.
const WANTS_TRADES: usize = 2;
const FIELDS: [i16; 3] = [22, 25, 30];

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// So many updates, of items and fields by turns that these numbers say.
    Burst {
        updates: usize,
        first: usize,
        stride: usize,
    },
    /// An update, then something else of the same item, then an update.
    Between {
        item: usize,
        what: Between,
    },
    Open {
        listener: usize,
        item: usize,
        how: How,
    },
    Close {
        listener: usize,
        place: usize,
    },
    /// It has its data from elsewhere, or from here again.
    StandBy {
        listener: usize,
        stands_by: bool,
    },
    Pause {
        listener: usize,
        place: usize,
        is_paused: bool,
    },
    View {
        listener: usize,
        place: usize,
        is_whole: bool,
    },
    /// It reads nothing, or goes on.
    Sleep {
        listener: usize,
        is_asleep: bool,
    },
    Turns(usize),
}

#[derive(Clone, Copy, Debug)]
enum Between {
    Image,
    Stale,
    Good,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Plain,
    View,
    Key,
    Snapshot,
    Private,
}

fn step() -> impl Strategy<Value = Step> {
    let between = prop_oneof![Just(Between::Image), Just(Between::Stale), Just(Between::Good)];
    let how = prop_oneof![
        4 => Just(How::Plain),
        2 => Just(How::View),
        1 => Just(How::Key),
        1 => Just(How::Snapshot),
        1 => Just(How::Private)
    ];
    let (listener, item, place) = (0..LISTENERS, 0..NAMES.len(), 0..8_usize);
    prop_oneof![
        6 => (1..200_usize, 0..60_usize, 1..60_usize)
            .prop_map(|(updates, first, stride)| Step::Burst { updates, first, stride }),
        2 => (item.clone(), between).prop_map(|(item, what)| Step::Between { item, what }),
        3 => (listener.clone(), item, how)
            .prop_map(|(listener, item, how)| Step::Open { listener, item, how }),
        1 => (listener.clone(), place.clone())
            .prop_map(|(listener, place)| Step::Close { listener, place }),
        1 => (listener.clone(), place.clone(), any::<bool>())
            .prop_map(|(listener, place, is_paused)| Step::Pause { listener, place, is_paused }),
        1 => (listener.clone(), place, any::<bool>())
            .prop_map(|(listener, place, is_whole)| Step::View { listener, place, is_whole }),
        1 => (listener.clone(), any::<bool>())
            .prop_map(|(listener, stands_by)| Step::StandBy { listener, stands_by }),
        1 => (listener, any::<bool>())
            .prop_map(|(listener, is_asleep)| Step::Sleep { listener, is_asleep }),
        2 => (1..6_usize).prop_map(Step::Turns),
    ]
}

/// What came of a run.
#[derive(Debug)]
struct Run {
    tapes: BTreeMap<u16, Vec<Tape>>,
    told: Vec<Vec<String>>,
    updates_out: u64,
    by_mount: u64,
    slowed: u64,
}

struct Script {
    market: Market<Simulated>,
    value: i64,
}

impl Script {
    /// Everybody has all items open, some with a view.
    fn new(when: When) -> Self {
        let edit = |config: &mut ServerConfig| {
            // Frames of few updates, and mounts that are soon slow.
            config.fragment_bytes = 600;
            config.output =
                OutputThresholds { max_bytes: 40_000, breach_percent: 20, ok_percent: 5 };
        };
        let mut market = Market::open_with(Simulated::new(1, []), edit);
        market.server.copy_by_mount(when);
        let [rssl, websocket] = market.addresses();
        for address in [rssl, websocket] {
            market.ground.network.set_window(address, 4_096);
        }
        for index in 0..LISTENERS {
            let (protocol, at) = match index {
                SPEAKS_JSON => (Protocol::Json, websocket),
                _ => (Protocol::Rssl, rssl),
            };
            let mut login = Login::new("consumer");
            if index == WANTS_TRADES {
                login.attributes.update_type_filter = Some(1 << UpdateType::TRADE.0);
            }
            market.listener_as(login, protocol, at);
        }
        let mut script = Self { market, value: 0 };
        for listener in 0..LISTENERS {
            for item in 0..NAMES.len() {
                let how = if (listener + item) % 4 == 3 { How::View } else { How::Plain };
                script.open(listener, item, how);
            }
        }
        script.market.turns(20);
        script
    }

    fn open(&mut self, listener: usize, item: usize, how: How) {
        let mut spec = ItemSpec::new("FEED", NAMES[item]);
        match how {
            How::Plain => {}
            How::View => spec = spec.fields([FIELDS[item % 2], FIELDS[2]]),
            How::Key => spec.key_in_updates = true,
            How::Snapshot => spec = spec.snapshot(),
            How::Private => spec = spec.private(),
        }
        let listener = &mut self.market.listeners[listener];
        if let Ok(handle) = listener.consumer.open(&spec) {
            listener.items.push((handle, NAMES[item].to_owned()));
        }
    }

    /// Sends an update of an item on each of its streams at the provider.
    fn update(&mut self, item: usize, field: usize) {
        self.value += 1;
        let fields: [(i16, Primitive<'static>); 1] =
            [(FIELDS[field], Real::decimal(self.value, 2).into())];
        let head = if self.value % 3 == 0 { UpdateHead::TRADE } else { UpdateHead::QUOTE };
        let Market { provider, open, .. } = &mut self.market;
        provider.with(|responses| {
            for (stream, _) in open.iter().filter(|(_, name)| name == NAMES[item]) {
                let _ = responses.update(*stream, &head, &fields);
            }
        });
    }

    fn between(&mut self, item: usize, what: Between) {
        let image = FIELDS.map(|id| (id, Real::decimal(self.value, 2).into()));
        let Market { provider, open, .. } = &mut self.market;
        let state = |data| State::new(StreamState::OPEN, data, StateCode::NONE, "said so");
        provider.with(|responses| {
            for (stream, _) in open.iter().filter(|(_, name)| name == NAMES[item]) {
                let _ = match what {
                    Between::Image => {
                        responses.refresh(*stream, &RefreshHead::default(), &image[..]).map(|_| ())
                    }
                    Between::Stale | Between::Good => {
                        let is_good = matches!(what, Between::Good);
                        let data = if is_good { DataState::OK } else { DataState::SUSPECT };
                        let head = StatusHead { state: Some(state(data)), ..StatusHead::default() };
                        responses.status(*stream, &head).map(|_| ())
                    }
                };
            }
        });
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Burst { updates, first, stride } => {
                for number in (0..updates).map(|at| first + at * stride) {
                    self.update(number % NAMES.len(), number / NAMES.len() % FIELDS.len());
                }
                self.market.turn();
            }
            Step::Between { item, what } => {
                self.update(item, 0);
                self.between(item, what);
                self.update(item, 1);
                self.market.turn();
            }
            Step::Open { listener, item, how } => self.open(listener, item, how),
            Step::Close { listener, place } => {
                let listener = &mut self.market.listeners[listener];
                if place < listener.items.len() {
                    let (handle, _) = listener.items.remove(place);
                    listener.consumer.with(|requests| requests.close(handle));
                }
            }
            Step::Pause { listener, place, is_paused } => {
                let listener = &mut self.market.listeners[listener];
                if let Some((handle, _)) = listener.items.get(place) {
                    let _ = listener.consumer.with(|requests| match is_paused {
                        true => requests.pause(*handle),
                        false => requests.resume(*handle),
                    });
                }
            }
            Step::StandBy { listener, stands_by } => {
                let mode =
                    if stands_by { WarmStandbyMode::Standby } else { WarmStandbyMode::Active };
                let consumer = &mut self.market.listeners[listener].consumer;
                consumer.with(|requests| requests.set_role(Some(mode)));
            }
            Step::View { listener, place, is_whole } => {
                let listener = &mut self.market.listeners[listener];
                if let Some((handle, _)) = listener.items.get(place) {
                    let view = (!is_whole).then(|| View::of_fields([FIELDS[1]]));
                    let change = ItemChange { view: Some(view), ..ItemChange::default() };
                    let _ = listener.consumer.with(|requests| requests.change(*handle, change));
                }
            }
            Step::Sleep { listener, is_asleep } => {
                self.market.listeners[listener].is_asleep = is_asleep;
            }
            Step::Turns(count) => self.market.turns(count),
        }
        self.market.server.check();
    }

    fn run(when: When, steps: &[Step]) -> Run {
        let mut script = Self::new(when);
        for step in steps {
            script.take(step);
        }
        for listener in &mut script.market.listeners {
            listener.is_asleep = false;
        }
        script.market.turns(50);
        let statistics = script.market.server.statistics();
        Run {
            tapes: super::ground::Ground::tapes(&script.market.ground),
            told: script.market.all_told(),
            updates_out: statistics.updates_out,
            by_mount: statistics.updates_by_mount,
            slowed: statistics.mounts_slowed,
        }
    }
}

/// Runs the same twice, and compares what went over the wires.
fn compare(steps: &[Step]) -> Run {
    let (gathered, single) = (Script::run(When::Always, steps), Script::run(When::Never, steps));
    assert_eq!(single.by_mount, 0);
    assert_eq!(gathered.told, single.told);
    assert_eq!(gathered.tapes.len(), single.tapes.len());
    for (port, wires) in &gathered.tapes {
        let others = &single.tapes[port];
        assert_eq!(wires.len(), others.len(), "connections to {port}");
        for ((to_server, to_client), (other_to_server, other_to_client)) in wires.iter().zip(others)
        {
            assert!(to_server == other_to_server, "to the listener {port}");
            assert!(to_client == other_to_client, "from the listener {port}");
        }
    }
    assert_eq!(
        (gathered.updates_out, gathered.slowed),
        (single.updates_out, single.slowed),
        "counts"
    );
    gathered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn each_mount_gets_the_bytes_of_turns_of_one(
        steps in prop::collection::vec(step(), 1..25)
    ) {
        compare(&steps);
    }
}

#[test]
fn in_a_busy_turn_updates_are_copied_by_mount() {
    let burst = || Step::Burst { updates: 150, first: 0, stride: 1 };
    let run = compare(&[burst(), Step::Turns(2), burst()]);
    assert!(run.by_mount > 500, "{} of {}", run.by_mount, run.updates_out);
    let steps = [Step::Sleep { listener: 1, is_asleep: true }, burst(), burst(), burst()];
    let asleep: Vec<_> = steps.into_iter().chain((0..20).map(|_| burst())).collect();
    let run = compare(&asleep);
    assert!(run.slowed > 0, "nobody is slow");
}

#[test]
fn updates_wait_in_busy_turns_alone() {
    let mut script = Script::new(When::Busy);
    let by_mount = |script: &Script| script.market.server.statistics().updates_by_mount;
    for _ in 0..50 {
        script.take(&Step::Burst { updates: 2, first: 0, stride: 1 });
    }
    assert_eq!(by_mount(&script), 0, "two updates in a turn are not worth it");
    for _ in 0..3 {
        script.take(&Step::Burst { updates: 20, first: 0, stride: 1 });
    }
    assert!(by_mount(&script) > 0);
}
