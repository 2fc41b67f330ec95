//! A market and two distributions without sockets: links break anywhere in a word, and
//! processes die, by a seed. Whatever is published under a number is what the entries say
//! it is, nothing is left out while a market lives, and at the end one publishes, and all
//! have the same.

mod cases;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tapeline_instrument::{Instrument, Price, Side, TickTable};
use tapeline_layout::Text;
use tapeline_mitch::{Books, Message as Mitch, Unit};
use tapeline_ntg::Message;
use tapeline_ntg::client::NewOrder;
use tapeline_ntg::session::Logon;
use tapeline_sequence::Entry;
use tapeline_time::Time;

use super::{Distributor, DistributorConfig, DistributorOutputs};
use crate::core::{
    DistributionTerms, Door, Exchange, ExchangeConfig, Keeping, Nobody, Outputs, Past, SessionId,
};
use crate::{identity, kept_state};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// What a market does, and what outlives it.
#[derive(Default)]
struct Wires {
    to: BTreeMap<SessionId, Vec<u8>>,
    closed: BTreeSet<SessionId>,
    units: Vec<Vec<u8>>,
    /// Entries that are kept, and those on their way to the disk.
    entries: Vec<Vec<u8>>,
    /// The first one that the journal still has, and states as they lie beside it.
    first: u64,
    states: BTreeMap<u64, Vec<u8>>,
    keeps_nothing: bool,
}

impl Outputs for Wires {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        self.to.entry(session).or_default().extend_from_slice(bytes);
    }

    fn close(&mut self, session: SessionId) {
        self.closed.insert(session);
    }

    fn publish(&mut self, unit: &[u8]) {
        self.units.push(unit.to_vec());
    }

    fn queued(&self, session: SessionId) -> usize {
        self.to.get(&session).map_or(0, Vec::len)
    }

    fn keep(&mut self, _: u64, entry: &[u8]) -> Keeping {
        self.entries.push(entry.to_vec());
        Keeping::UnderWay
    }

    fn past(&mut self) -> Option<&mut dyn Past> {
        (!self.keeps_nothing).then_some(self as &mut dyn Past)
    }
}

impl Past for Wires {
    fn oldest(&mut self) -> Option<u64> {
        Some(self.first.max(1))
    }

    fn entries(&mut self, _: SessionId, from: u64, most_bytes: usize, out: &mut Vec<u8>) {
        assert!(from >= self.first, "it is not there any more");
        for entry in self.entries.iter().skip(from as usize - 1) {
            if !out.is_empty() && out.len() + entry.len() > most_bytes {
                return;
            }
            out.extend_from_slice(entry);
        }
    }

    fn newest_state(&mut self, before: u64) -> Option<u64> {
        self.states.range(..before).next_back().map(|(index, _)| *index)
    }

    fn state(&mut self, index: u64, offset: u64, most: usize, out: &mut Vec<u8>) -> Option<bool> {
        let rest = &self.states.get(&index)?[offset as usize..];
        out.extend_from_slice(&rest[..most.min(rest.len())]);
        Some(rest.len() <= most)
    }
}

/// What a distribution does.
#[derive(Default)]
struct Lines {
    up: Vec<u8>,
    units: Vec<Vec<u8>>,
}

impl Outputs for Lines {
    fn send(&mut self, _: SessionId, _: &[u8]) {}

    fn close(&mut self, _: SessionId) {}

    fn publish(&mut self, unit: &[u8]) {
        self.units.push(unit.to_vec());
    }

    fn queued(&self, _: SessionId) -> usize {
        0
    }
}

impl DistributorOutputs for Lines {
    fn say(&mut self, bytes: &[u8]) {
        self.up.extend_from_slice(bytes);
    }
}

struct Process {
    distributor: Distributor,
    lines: Lines,
    link: Option<SessionId>,
    /// What was written to the link and has not come yet.
    on_its_way: Vec<u8>,
}

struct World {
    random: Random,
    now: Time,
    config: ExchangeConfig,
    market: Exchange,
    wires: Wires,
    committed: u64,
    processes: Vec<Process>,
    client: Option<SessionId>,
    orders: u64,
    instances: u64,
    /// All messages that anybody has published, by number.
    air: BTreeMap<u32, Vec<u8>>,
    doubles: u64,
    /// Messages that were not out when a market died, and of which nobody knew in time.
    healed: usize,
    /// Distributions and markets that were killed.
    kills: [u64; 2],
}

fn config(tail_bytes: usize) -> ExchangeConfig {
    let ticks = TickTable::flat(Price(1_000_000)).expect("a table");
    ExchangeConfig {
        instruments: vec![Instrument::new(7, "VOD.L", ticks)],
        distribution: Some(DistributionTerms {
            numbers: vec![1, 2],
            silence: Duration::from_secs(2),
            grace: Duration::from_millis(300),
            history: 0,
            tail_bytes,
        }),
        engine: tapeline_matching::Config { max_orders: 2_000, ..Default::default() },
        max_sessions: 16,
        order_cache_messages: 1_000,
        ..ExchangeConfig::default()
    }
}

fn order(number: u64) -> NewOrder {
    NewOrder {
        cl_ord_id: Text::new(&format!("N{number}")),
        clearing_account: 1,
        instrument_id: 7,
        order_type: 2,
        side: 1 + (number % 2) as u8,
        quantity: 10 + (number % 7) as i32,
        display: 10,
        limit: 1_000_000_000 + (number % 5) as i64 * 1_000_000,
        capacity: 2,
        ..NewOrder::default()
    }
}

impl World {
    fn new(seed: u64, tail_bytes: usize) -> Self {
        let config = config(tail_bytes);
        let mut world = Self {
            random: Random(seed),
            now: Time::ZERO,
            market: Exchange::new(&config, 0),
            config,
            wires: Wires::default(),
            committed: 0,
            processes: Vec::new(),
            client: None,
            orders: 0,
            instances: 0,
            air: BTreeMap::new(),
            doubles: 0,
            healed: 0,
            kills: [0; 2],
        };
        world.market.open(world.now, &mut world.wires);
        for number in 1..=2 {
            let process = world.process(number);
            world.processes.push(process);
        }
        world
    }

    fn process(&mut self, number: u16) -> Process {
        self.instances += 1;
        let mut config = DistributorConfig::of(&self.config, number, self.instances);
        config.silence = Duration::from_secs(3_600);
        let distributor = Distributor::new(config);
        Process { distributor, lines: Lines::default(), link: None, on_its_way: Vec::new() }
    }

    /// Units go out: each message is what it was before under its number.
    fn publish(&mut self, units: impl IntoIterator<Item = Vec<u8>>) {
        for unit in units {
            for (number, bytes) in Unit::read(&unit).expect("a unit").messages() {
                if let Some(before) = self.air.insert(number, bytes.to_vec()) {
                    assert_eq!(before, bytes, "message {number}");
                    self.doubles += 1;
                }
            }
        }
    }

    /// Some of what is on its way to a distribution arrives, and its turn ends; or it dies
    /// in the midst of it, with some of its market data out and nothing told of.
    fn turn(&mut self, at: usize, all: bool, dies: bool) {
        let process = &mut self.processes[at];
        if let Some(link) = process.link {
            let down = self.wires.to.entry(link).or_default();
            let len = if all { down.len() } else { self.random.below(down.len() + 1) };
            let bytes: Vec<u8> = down.drain(..len).collect();
            let goes_on = process.distributor.link_received(self.now, &bytes, &mut process.lines);
            assert!(process.distributor.trouble().is_none());
            if !goes_on {
                self.cut(at);
            }
        }
        let process = &mut self.processes[at];
        process.distributor.timeout(self.now, &mut process.lines);
        process.distributor.cycle(self.now, &mut process.lines);
        let mut units = std::mem::take(&mut process.lines.units);
        if dies {
            units.truncate(self.random.below(units.len() + 1));
            self.publish(units);
            return self.kill_distribution(at);
        }
        let up = std::mem::take(&mut process.lines.up);
        process.on_its_way.extend_from_slice(&up);
        self.publish(units);
    }

    /// Whoever the market lets go of reads what it was told, and is gone.
    fn see_off(&mut self) {
        for session in std::mem::take(&mut self.wires.closed) {
            let bytes = self.wires.to.remove(&session).unwrap_or_default();
            self.client = self.client.filter(|client| *client != session);
            for process in self.processes.iter_mut().filter(|it| it.link == Some(session)) {
                process.distributor.link_received(self.now, &bytes, &mut process.lines);
                process.link = None;
                process.lines.up.clear();
                process.distributor.link_lost(self.now);
            }
        }
    }

    /// Some of what a distribution has written arrives.
    fn hear(&mut self, at: usize, all: bool) {
        let process = &mut self.processes[at];
        let Some(link) = process.link else { return };
        let up = &mut process.on_its_way;
        let len = if all { up.len() } else { self.random.below(up.len() + 1) };
        let bytes: Vec<u8> = up.drain(..len).collect();
        self.market.received(self.now, link, &bytes, &mut self.wires);
        self.see_off();
    }

    /// A link breaks: what is on its way is lost, but for some that the market still reads.
    fn cut(&mut self, at: usize) {
        let Some(link) = self.processes[at].link.take() else { return };
        let up = std::mem::take(&mut self.processes[at].on_its_way);
        let len = self.random.below(up.len() + 1);
        self.market.received(self.now, link, &up[..len], &mut self.wires);
        if !self.wires.closed.remove(&link) {
            self.market.closed(self.now, link);
        }
        self.wires.to.remove(&link);
        let process = &mut self.processes[at];
        process.lines.up.clear();
        process.distributor.link_lost(self.now);
    }

    fn link(&mut self, at: usize) {
        if self.processes[at].link.is_some() {
            return;
        }
        let link = self.market.accepted(self.now, Door::Distribution).expect("room");
        self.wires.to.remove(&link);
        let process = &mut self.processes[at];
        process.link = Some(link);
        process.distributor.link_up(self.now, &mut process.lines);
        process.on_its_way = std::mem::take(&mut process.lines.up);
    }

    fn kill_distribution(&mut self, at: usize) {
        self.cut(at);
        self.processes[at] = self.process(at as u16 + 1);
        self.kills[0] += 1;
    }

    /// The market dies. What was committed is kept, and some of what was not.
    fn kill_market(&mut self, leads: bool) {
        (0..2).for_each(|at| self.cut(at));
        let made = self.wires.entries.len();
        let kept = (self.committed as usize).max(self.random.below(made + 1));
        self.wires.entries.truncate(kept);
        self.wires.to.clear();
        self.wires.units.clear();
        self.wires.closed.clear();
        self.committed = kept as u64;
        self.client = None;
        self.market = Exchange::new(&self.config, 0);
        self.kills[1] += 1;
        if leads {
            self.market.stand_by();
            let all: Vec<u8> = self.wires.entries.concat();
            self.market.follow(&all);
            self.market.committed(self.now, self.committed, &mut self.wires);
            self.market.lead(self.now, 1 + self.kills[1] as u32, &mut self.wires);
        } else {
            for bytes in &self.wires.entries {
                let (entry, _) = Entry::read(bytes).expect("an entry");
                self.market.replay(&entry, &mut Nobody).expect("the same events");
            }
            self.market.open(self.now, &mut self.wires);
        }
    }

    /// A turn of the market: entries are made, and some of them, or all, are committed.
    fn commit(&mut self, all: bool) {
        self.market.cycle(self.now, &mut self.wires);
        let made = self.wires.entries.len() as u64;
        let more = (made - self.committed) as usize;
        self.committed += if all { more } else { self.random.below(more + 1) } as u64;
        self.market.committed(self.now, self.committed, &mut self.wires);
        self.market.cycle(self.now, &mut self.wires);
        let units = std::mem::take(&mut self.wires.units);
        self.publish(units);
        self.see_off();
    }

    /// The state is kept beside the journal, and the journal begins behind the one before.
    fn keep_state(&mut self) {
        self.commit(true);
        self.commit(true);
        let mut state = Vec::new();
        if let Some(index) = self.market.save(&mut state) {
            let kept = kept_state::close(identity::of(&self.config), index, &state);
            self.wires.states.insert(index, kept);
            while self.wires.states.len() > 2 {
                self.wires.states.pop_first();
            }
            self.wires.first = self.wires.states.first_key_value().map_or(1, |it| *it.0 + 1);
        }
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now.after(Duration::from_millis(ms));
        self.market.timeout(self.now, &mut self.wires);
        self.see_off();
    }

    fn say(&mut self, message: &Message) {
        let Some(client) = self.client else { return };
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        self.market.received(self.now, client, &bytes, &mut self.wires);
    }

    fn trade(&mut self, orders: usize) {
        if self.client.is_none() {
            self.client = self.market.accepted(self.now, Door::Orders);
            let (user, password) = (Text::new("ANN"), Text::new("x"));
            self.say(&Message::Logon(Logon { user, password, version: 1, ..Logon::default() }));
        }
        for _ in 0..orders {
            self.orders += 1;
            self.say(&Message::NewOrder(order(self.orders)));
        }
        if let Some(client) = self.client {
            self.wires.to.remove(&client);
        }
        self.see_off();
    }

    fn settle(&mut self) {
        for _ in 0..60 {
            for at in 0..2 {
                self.link(at);
                self.turn(at, true, false);
                self.hear(at, true);
            }
            self.commit(true);
            self.pass(11);
        }
    }

    /// One step of chance.
    fn step(&mut self) {
        let at = self.random.below(2);
        match self.random.below(100) {
            0..30 => {
                let orders = 1 + self.random.below(20);
                self.trade(orders);
            }
            30..45 => self.commit(false),
            45..65 => self.turn(at, false, false),
            65..80 => self.hear(at, false),
            80..88 => self.link(at),
            88..92 => self.pass(11),
            92..94 => self.cut(at),
            94..96 => self.turn(at, true, true),
            96..98 => self.keep_state(),
            _ if self.random.below(4) > 0 => {}
            _ => {
                let leads = self.random.below(2) == 0;
                let is_known = self.processes.iter().any(|it| it.distributor.publishes());
                let is_late = self.random.below(3) == 0;
                self.kill_market(leads);
                if is_late {
                    self.pass(301);
                    self.commit(true);
                }
                self.settle();
                // Nobody knew in time what was out: readers have the rest by replay.
                if is_late || !is_known {
                    let (messages, _) = self.truth();
                    self.healed += messages.len() - self.air.len();
                    self.air = messages;
                }
            }
        }
    }

    /// All messages that entries lead to, and the books behind them.
    fn truth(&self) -> (BTreeMap<u32, Vec<u8>>, Books) {
        let (mut exchange, mut all) = (Exchange::new(&self.config, 0), Wires::default());
        for bytes in &self.wires.entries {
            let (entry, _) = Entry::read(bytes).expect("an entry");
            exchange.replay(&entry, &mut all).expect("the same events");
        }
        let (mut messages, mut books) = (BTreeMap::new(), Books::default());
        for unit in &all.units {
            for (number, bytes) in Unit::read(unit).expect("a unit").messages() {
                messages.insert(number, bytes.to_vec());
                books.apply(&Mitch::read(bytes).expect("a message"));
            }
        }
        (messages, books)
    }

    /// What holds when all has arrived.
    fn holds(&self, seed: u64) {
        let (messages, books) = self.truth();
        for (number, bytes) in &self.air {
            assert_eq!(messages.get(number), Some(bytes), "seed {seed}: message {number}");
        }
        let lacks = messages.len() - self.air.len();
        assert_eq!(lacks, 0, "seed {seed}: {lacks} messages never went out");
        let is_publishing: Vec<bool> =
            self.processes.iter().map(|it| it.distributor.publishes()).collect();
        assert_eq!((is_publishing, self.market.counts().publishes), (vec![true, false], 0));
        for process in &self.processes {
            let own = process.distributor.exchange().position();
            assert_eq!(own, self.market.position(), "seed {seed}: the same events");
            assert_eq!(process.distributor.counts().in_step, 1, "seed {seed}");
        }
        let engine = self.market.engine();
        let book = engine.book_of(tapeline_instrument::InstrumentId(7)).expect("it is traded");
        for side in Side::BOTH {
            let there: Vec<(u64, u32)> =
                engine.depth(book, side).map(|it| (it.id.0, it.quantity)).collect();
            let seen: Vec<(u64, u32)> =
                books.side(7, side).map(|(id, it)| (id, it.quantity)).collect();
            assert_eq!(seen, there, "seed {seed}: {side:?}");
        }
    }
}

#[test]
fn whoever_dies_what_is_published_is_what_entries_say_and_nothing_is_left_out() {
    let seeds = std::env::var("TAPELINE_SEEDS").ok().and_then(|text| text.parse().ok());
    let (mut kills, mut doubles, mut anew, mut states, mut healed) = ([0; 2], 0, 0, 0, 0);
    for seed in 0..seeds.unwrap_or(60) {
        let mut world = World::new(seed, 2_000);
        for _ in 0..300 {
            world.step();
        }
        world.settle();
        world.trade(10);
        world.settle();
        world.holds(seed);
        for process in &world.processes {
            let counts = process.distributor.counts();
            (anew, states) = (anew + counts.begun_anew, states + counts.states);
        }
        kills = [kills[0] + world.kills[0], kills[1] + world.kills[1]];
        doubles += world.doubles;
        healed += world.healed;
    }
    println!(
        "{kills:?} distributions and markets killed, {doubles} messages twice, {anew} begun anew, \
         {states} states, {healed} messages by replay"
    );
    assert!(doubles > 0 && anew > 0 && states > 0, "the seeds reach all of it");
}
