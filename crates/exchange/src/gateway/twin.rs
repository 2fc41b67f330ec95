//! A market, two gateways and their clients without sockets: links break anywhere in a
//! word, and processes die, by a seed.

mod fix;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tapeline_instrument::{Instrument, Price, TickTable};
use tapeline_layout::Text;
use tapeline_ntg::client::NewOrder;
use tapeline_ntg::session::{Heartbeat, Logon, MissedMessageRequest};
use tapeline_ntg::{Frames, Message};
use tapeline_sequence::Entry;
use tapeline_time::Time;

use super::{Gateway, GatewayConfig, GatewayOutputs, Word};
use crate::core::{Door, Exchange, ExchangeConfig, GatewayTerms, Keeping, Outputs, SessionId};

const NAMES: [&str; 2] = ["ANN", "BOB"];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// What the market does.
#[derive(Default)]
struct Wires {
    to: BTreeMap<SessionId, Vec<u8>>,
    routes: BTreeMap<SessionId, (SessionId, u32)>,
    closed: BTreeSet<SessionId>,
    /// Entries that are kept, and those on their way to the disk.
    entries: Vec<(u64, Vec<u8>)>,
}

impl Outputs for Wires {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        match self.routes.get(&session) {
            Some(&(link, client)) => {
                Word::Report { client, bytes }.append(self.to.entry(link).or_default());
            }
            None => self.to.entry(session).or_default().extend_from_slice(bytes),
        }
    }

    fn close(&mut self, session: SessionId) {
        self.closed.insert(session);
    }

    fn publish(&mut self, _: &[u8]) {}

    fn queued(&self, _: SessionId) -> usize {
        0
    }

    fn keep(&mut self, index: u64, entry: &[u8]) -> Keeping {
        self.entries.push((index, entry.to_vec()));
        Keeping::UnderWay
    }

    fn route(&mut self, session: SessionId, link: SessionId, client: u32) {
        self.routes.insert(session, (link, client));
    }
}

/// What a gateway does.
#[derive(Default)]
struct Lines {
    to: BTreeMap<SessionId, Vec<u8>>,
    closed: BTreeSet<SessionId>,
    up: Vec<u8>,
}

impl GatewayOutputs for Lines {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        self.to.entry(session).or_default().extend_from_slice(bytes);
    }

    fn close(&mut self, session: SessionId) {
        self.closed.insert(session);
    }

    fn queued(&self, _: SessionId) -> usize {
        0
    }

    fn say(&mut self, bytes: &[u8]) {
        self.up.extend_from_slice(bytes);
    }
}

struct Process {
    gateway: Gateway,
    lines: Lines,
    link: Option<SessionId>,
}

/// What a client was told and does not know yet.
#[derive(Default)]
struct Client {
    /// Its gateway and its connection there, once it is let in.
    at: Option<(usize, SessionId)>,
    sent: u64,
    reports: BTreeMap<i32, Vec<u8>>,
    accepted: BTreeSet<String>,
    /// The last report by its connection.
    last: i32,
    frames: Frames,
}

struct World {
    random: Random,
    now: Time,
    config: ExchangeConfig,
    market: Exchange,
    wires: Wires,
    committed: u64,
    processes: Vec<Process>,
    clients: [Client; 2],
    /// Those that speak FIX.
    fix: [fix::Client; 2],
    instances: u64,
    /// Gateways, leaders and markets that were killed, and gateways with their market.
    counts: [u64; 4],
}

fn config() -> ExchangeConfig {
    let ticks = TickTable::flat(Price(1_000_000)).expect("a table");
    ExchangeConfig {
        instruments: vec![Instrument::new(7, "VOD.L", ticks)],
        gateways: Some(GatewayTerms {
            numbers: vec![1, 2],
            silence: Duration::from_secs(2),
            grace: Duration::from_millis(200),
            history: 0,
        }),
        max_sessions: 64,
        fix_messages: 1_000,
        order_cache_messages: 20_000,
        ..ExchangeConfig::default()
    }
}

fn order(name: &str, number: u64) -> NewOrder {
    NewOrder {
        cl_ord_id: Text::new(&format!("{name}{number}")),
        clearing_account: 1,
        instrument_id: 7,
        order_type: 2,
        side: 1 + (number % 2) as u8,
        quantity: 10,
        display: 10,
        limit: 1_000_000_000,
        capacity: 2,
        auto_cancel: u8::from(number.is_multiple_of(3)),
        ..NewOrder::default()
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let config = config();
        let mut world = Self {
            random: Random(seed),
            now: Time::ZERO,
            market: Exchange::new(&config, 0),
            config,
            wires: Wires::default(),
            committed: 0,
            processes: Vec::new(),
            clients: [Client::default(), Client::default()],
            fix: [fix::Client::new(), fix::Client::new()],
            instances: 0,
            counts: [0; 4],
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
        let mut config = GatewayConfig::of(&self.config, number, self.instances);
        // Longer than any world lasts.
        config.failover = Duration::from_secs(365 * 86_400);
        Process { gateway: Gateway::new(config), lines: Lines::default(), link: None }
    }

    /// Some of what is on its way from a gateway arrives, and some of what it is told.
    fn carry(&mut self, at: usize, all: bool) {
        let (now, random) = (self.now, &mut self.random);
        let process = &mut self.processes[at];
        let Some(link) = process.link else { return };
        let up = &mut process.lines.up;
        let len = if all { up.len() } else { random.below(up.len() + 1) };
        let bytes: Vec<u8> = up.drain(..len).collect();
        self.market.received(now, link, &bytes, &mut self.wires);
        let down = self.wires.to.entry(link).or_default();
        let len = if all { down.len() } else { random.below(down.len() + 1) };
        let bytes: Vec<u8> = down.drain(..len).collect();
        let goes_on = process.gateway.link_received(now, &bytes, &mut process.lines);
        if !goes_on || self.wires.closed.contains(&link) {
            self.cut(at);
        }
    }

    /// A link breaks: what is on its way is lost, but for some that the market still reads.
    fn cut(&mut self, at: usize) {
        let Some(link) = self.processes[at].link.take() else { return };
        let up = std::mem::take(&mut self.processes[at].lines.up);
        let len = self.random.below(up.len() + 1);
        self.market.received(self.now, link, &up[..len], &mut self.wires);
        self.market.closed(self.now, link);
        self.wires.to.remove(&link);
        let process = &mut self.processes[at];
        process.gateway.link_lost(self.now, &mut process.lines);
    }

    fn link(&mut self, at: usize) {
        if self.processes[at].link.is_some() {
            return;
        }
        let link = self.market.accepted(self.now, Door::Gateways).expect("room");
        self.wires.routes.remove(&link);
        self.wires.closed.remove(&link);
        self.wires.to.remove(&link);
        let process = &mut self.processes[at];
        process.link = Some(link);
        process.lines.up.clear();
        process.gateway.link_up(self.now, &mut process.lines);
    }

    fn kill_gateway(&mut self, at: usize) {
        self.cut(at);
        for client in &mut self.clients {
            client.at = client.at.filter(|(gateway, _)| *gateway != at);
        }
        self.fix.iter_mut().for_each(|client| client.loses_gateway(at));
        self.processes[at] = self.process(at as u16 + 1);
        self.counts[0] += 1;
    }

    /// The market dies. What was committed is kept, and some of what was not told.
    fn kill_market(&mut self, leads: bool) {
        (0..2).for_each(|at| self.cut(at));
        self.fix.iter_mut().for_each(fix::Client::loses_market);
        let made = self.wires.entries.len();
        let kept = (self.committed as usize).max(self.random.below(made + 1));
        let entries: Vec<_> = self.wires.entries.drain(..kept).collect();
        self.wires = Wires { entries, ..Wires::default() };
        self.market = Exchange::new(&self.config, 0);
        self.committed = kept as u64;
        if leads {
            self.market.stand_by();
            let all: Vec<u8> = self.wires.entries.iter().flat_map(|it| it.1.clone()).collect();
            self.market.follow(&all);
            self.market.committed(self.now, self.committed, &mut self.wires);
            self.counts[1] += 1;
            self.market.lead(self.now, 1 + self.counts[1] as u32, &mut self.wires);
        } else {
            for (_, bytes) in &self.wires.entries {
                let (entry, _) = Entry::read(bytes).expect("an entry");
                self.market.replay(&entry, &mut Wires::default()).expect("the same events");
            }
            self.market.open(self.now, &mut self.wires);
            self.counts[2] += 1;
        }
    }

    /// The market and gateways die at once: nobody is left who could say again what was not
    /// committed, but the clients.
    fn kill_both(&mut self) {
        let gateways = match self.random.below(3) {
            2 => vec![0, 1],
            at => vec![at],
        };
        let leads = self.random.below(2) == 0;
        self.kill_market(leads);
        for at in gateways {
            self.kill_gateway(at);
        }
        self.counts[3] += 1;
    }

    fn commit(&mut self, all: bool) {
        self.market.cycle(self.now, &mut self.wires);
        let made = self.wires.entries.last().map_or(0, |entry| entry.0);
        let more = (made - self.committed) as usize;
        self.committed += if all { more } else { self.random.below(more + 1) } as u64;
        self.market.committed(self.now, self.committed, &mut self.wires);
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now.after(Duration::from_millis(ms));
        self.market.timeout(self.now, &mut self.wires);
        for process in &mut self.processes {
            process.gateway.timeout(self.now, &mut process.lines);
        }
    }

    /// Everything arrives and is committed, and nobody is let go for its silence.
    fn settle(&mut self) {
        for place in self.clients.each_ref().map(|client| client.at).into_iter().flatten() {
            self.say(place, &Message::Heartbeat(Heartbeat {}));
        }
        self.settle_at(&[0, 1]);
    }

    /// Everything of some gateways arrives and is committed; others may have no link.
    fn settle_at(&mut self, gateways: &[usize]) {
        for _ in 0..12 {
            (0..self.fix.len()).for_each(|who| self.carry_fix(who, true));
            for at in gateways {
                self.link(*at);
                self.carry(*at, true);
            }
            self.commit(true);
            for at in gateways {
                self.carry(*at, true);
            }
            self.pass(11);
            self.listen();
        }
    }

    /// Clients read what has come.
    fn listen(&mut self) {
        self.listen_fix();
        for client in &mut self.clients {
            let Some((at, session)) = client.at else { continue };
            let lines = &mut self.processes[at].lines;
            let bytes = lines.to.remove(&session).unwrap_or_default();
            if lines.closed.contains(&session) {
                client.at = None;
            }
            let Client { frames, reports, accepted, last, .. } = client;
            let read = frames.read(&bytes, |frame| {
                if let Some(Message::ExecutionReport(report)) = Message::read(frame) {
                    assert!(report.sequence > *last, "{} behind {last}", report.sequence);
                    *last = report.sequence;
                    accepted.insert(report.cl_ord_id.as_str().to_owned());
                    reports.insert(report.sequence, frame.to_vec());
                }
                true
            });
            read.expect("messages");
        }
    }

    /// A client says something; nothing if it is not connected.
    fn say(&mut self, (at, session): (usize, SessionId), message: &Message) {
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        let process = &mut self.processes[at];
        process.gateway.received(self.now, session, &bytes, &mut process.lines);
    }

    fn trade(&mut self, who: usize) {
        let Some(at) = self.clients[who].at else { return };
        self.clients[who].sent += 1;
        self.say(at, &Message::NewOrder(order(NAMES[who], self.clients[who].sent)));
    }

    /// A connection at a gateway on which somebody is let in.
    fn connect(&mut self, name: &str, at: usize, door: Door) -> Option<(usize, SessionId)> {
        let process = &mut self.processes[at];
        let session = process.gateway.accepted(self.now, door).expect("room");
        process.lines.to.remove(&session);
        process.lines.closed.remove(&session);
        let logon = Logon {
            user: Text::new(name),
            password: Text::new("x"),
            version: 1,
            ..Logon::default()
        };
        self.say((at, session), &Message::Logon(logon));
        for _ in 0..20 {
            self.settle_at(&[at]);
            let lines = &mut self.processes[at].lines;
            let bytes = lines.to.remove(&session).unwrap_or_default();
            let mut code = None;
            let mut frames = Frames::default();
            let read = frames.read(&bytes, |frame| {
                if let Some(Message::LogonReply(reply)) = Message::read(frame) {
                    code = Some(reply.reject_code);
                }
                true
            });
            read.expect("messages");
            match code {
                Some(0) => return Some((at, session)),
                Some(_) => break,
                None => {}
            }
        }
        let process = &mut self.processes[at];
        process.gateway.closed(self.now, session, &mut process.lines);
        None
    }

    /// All that there is for a user, by the recovery channel.
    fn recovered(&mut self, name: &str, at: usize) -> BTreeMap<i32, Vec<u8>> {
        let place = self.connect(name, at, Door::Recovery).expect("it is logged on");
        let request = MissedMessageRequest { app_id: 1, last_sequence: 1 };
        self.say(place, &Message::MissedMessageRequest(request));
        self.settle_at(&[at]);
        let process = &mut self.processes[at];
        let bytes = process.lines.to.remove(&place.1).unwrap_or_default();
        process.gateway.closed(self.now, place.1, &mut process.lines);
        let (mut reports, mut is_over) = (BTreeMap::new(), false);
        let read = Frames::default().read(&bytes, |frame| {
            match Message::read(frame) {
                Some(Message::ExecutionReport(report)) => {
                    reports.insert(report.sequence, frame.to_vec());
                }
                Some(Message::MissedMessageReport(end)) => is_over = end.status == 0,
                _ => {}
            }
            true
        });
        read.expect("messages");
        assert!(is_over, "the recovery channel does not end");
        reports
    }

    /// A client that is nowhere logs on somewhere, has what it missed, and sends again
    /// what nobody knows.
    fn come_back(&mut self, who: usize) {
        if self.clients[who].at.is_some() {
            return;
        }
        let at = self.random.below(2);
        let Some(place) = self.connect(NAMES[who], at, Door::Orders) else { return };
        let client = &mut self.clients[who];
        (client.at, client.last, client.frames) = (Some(place), 0, Frames::default());
        let again = self.recovered(NAMES[who], at);
        let client = &mut self.clients[who];
        for (number, report) in &client.reports {
            assert_eq!(again.get(number), Some(report), "report {number} is another one");
        }
        for frame in again.values() {
            if let Some(Message::ExecutionReport(report)) = Message::read(frame) {
                client.accepted.insert(report.cl_ord_id.as_str().to_owned());
            }
        }
        client.reports = again;
        for number in 1..=self.clients[who].sent {
            if !self.clients[who].accepted.contains(&format!("{}{number}", NAMES[who])) {
                self.say(place, &Message::NewOrder(order(NAMES[who], number)));
            }
        }
    }

    fn step(&mut self) {
        let at = self.random.below(2);
        match self.random.below(100) {
            0..17 => self.trade(at),
            17..20 => self.lose_fix(at),
            20..40 => self.trade_fix(at),
            40..60 => self.carry(at, false),
            60..72 => self.commit(false),
            72..80 => self.pass(7),
            80..85 => self.cut(at),
            85..93 => self.link(at),
            93 => self.kill_gateway(at),
            94 => {
                let leads = self.random.below(2) == 0;
                self.kill_market(leads);
            }
            // What the market has taken and not kept is said again, although it knew it.
            96 => {
                for at in 0..2 {
                    self.trade(at);
                    self.carry(at, true);
                    self.market.cycle(self.now, &mut self.wires);
                    self.cut(at);
                    self.link(at);
                    self.carry(at, true);
                    self.carry(at, true);
                }
                self.kill_market(true);
            }
            97 if self.random.below(4) == 0 => self.kill_both(),
            // Somebody just goes.
            95 => {
                if let Some((at, session)) = self.clients[at].at.take() {
                    let process = &mut self.processes[at];
                    process.gateway.closed(self.now, session, &mut process.lines);
                }
                self.hang_up_fix(1 - at);
            }
            _ => {
                self.come_back(at);
                self.come_back_fix(at);
            }
        }
        (0..self.fix.len()).for_each(|who| self.carry_fix(who, false));
        self.listen();
    }

    /// Nothing that was sent is missing, or there twice, and everybody was told all.
    fn account(&mut self) {
        for (who, name) in NAMES.into_iter().enumerate() {
            for _ in 0..50 {
                self.settle();
                self.come_back(who);
            }
            self.settle();
            let (at, _) = self.clients[who].at.expect("it can log on");
            assert_eq!(self.processes[at].gateway.counts().undecided, 0, "all is decided");
            let again = self.recovered(name, at);
            let client = &self.clients[who];
            assert_eq!(client.accepted.len() as u64, client.sent, "orders of {name} are missing");
            assert!(client.reports == again, "{name} was not told all");
            // What is done twice is two orders of one name.
            let ids: BTreeSet<&[u8]> = again.values().map(|frame| &frame[41..53]).collect();
            assert_eq!(ids.len() as u64, client.sent, "doubles");
        }
        self.account_fix();
    }
}

#[test]
fn whatever_breaks_no_order_is_lost_or_doubled_and_everybody_is_told_all() {
    let seeds = std::env::var("TAPELINE_SEEDS").ok().and_then(|text| text.parse().ok());
    let (mut sent, mut by_fix, mut counts) = ([0; 2], fix::Counts::default(), [0; 4]);
    for seed in 1..=seeds.unwrap_or(8) {
        println!("seed {seed}");
        let mut world = World::new(seed);
        (0..1_500).for_each(|_| world.step());
        world.account();
        sent[0] += world.clients.iter().map(|client| client.sent).sum::<u64>();
        sent[1] += world.fix.iter().map(|client| client.sent).sum::<u64>();
        world.fix.iter().for_each(|client| by_fix.add(&client.counts()));
        counts.iter_mut().zip(world.counts).for_each(|(all, of)| *all += of);
    }
    let [native, fix] = sent;
    println!(
        "{native} orders, {fix} by FIX; killed: gateways {}, leaders {}, markets {}, both at \
         once {}; sessions of FIX: {by_fix:?}",
        counts[0], counts[1], counts[2], counts[3]
    );
    assert!(native > 300 && fix > 600 && by_fix.again > 300, "{sent:?} orders, {by_fix:?}");
    assert!(counts.iter().all(|count| *count > 15), "{counts:?}");
    let fix::Counts { lost, asked, resets, resets_behind_reports, .. } = by_fix;
    let all = [lost[0], lost[1], asked, resets[0], resets[1], resets_behind_reports];
    assert!(all.iter().all(|count| *count > 5), "{by_fix:?}");
}
