//! Where an order's time goes inside the exchange: each stage beside the column of what
//! was published, by the native gateway and by FIX. One process, one thread, no sockets:
//! an order's bytes go in, its report and market data come out, one order at a time, each
//! second one trades.
//!
//! `cargo bench -p tapeline-exchange --bench order_stages -- [ORDERS]`. What it takes to
//! read the clock is in each stage, and told. The whole way with sockets, journals and
//! replicas is `order_path`.

mod orders;

use std::env;
use std::error::Error;
use std::time::Instant;

use tapeline_exchange::{Door, Exchange, ExchangeConfig, Outputs, SessionId, Stage, UserConfig};
use tapeline_fix::{Credentials, Initiator, Store, Writer, tag};
use tapeline_instrument::{Instrument, Price, TickTable};
use tapeline_layout::Text;
use tapeline_matching::SelfMatch;
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Limits, Message};
use tapeline_time::Time;

use crate::orders::native_order;

type Failed = Box<dyn Error>;

/// A moment of a day in 2024.
const EPOCH_NS: u64 = 19_800 * 86_400_000_000_000;

/// The stages between two moments each, and what was published of them in µs, natively
/// and by FIX (2019). Hops of 4 µs are between processes, of which there is one here; the
/// OC of the FIX column, 20 µs, is not explained.
const STAGES: [(&str, Stage, Stage, [Option<u32>; 2]); 5] = [
    ("gateway: a request read and checked", Stage::Read, Stage::Asked, [Some(20), Some(70)]),
    ("sequencer", Stage::Asked, Stage::Sequenced, [Some(11), Some(11)]),
    ("matching", Stage::Kept, Stage::Matched, [Some(60), Some(60)]),
    ("distribution: reports written, given out", Stage::Matched, Stage::Told, [Some(10), Some(10)]),
    ("market data, behind the reports", Stage::Told, Stage::Published, [None, None]),
];

/// What was published of the whole way, hops and OC included.
const WHOLE: [u32; 2] = [117, 191];

/// Notes when an order was where.
struct Stamps {
    at: [Option<Instant>; Stage::ALL.len()],
    /// Bytes to the client.
    came: Vec<u8>,
}

impl Outputs for Stamps {
    fn send(&mut self, _: SessionId, bytes: &[u8]) {
        self.came.extend_from_slice(bytes);
    }

    fn close(&mut self, _: SessionId) {}

    fn publish(&mut self, _: &[u8]) {}

    fn queued(&self, _: SessionId) -> usize {
        0
    }

    fn reached(&mut self, stage: Stage) {
        self.at[stage as usize] = Some(Instant::now());
    }
}

/// An exchange with one client.
struct Bench {
    exchange: Exchange,
    stamps: Stamps,
    session: SessionId,
    now: Time,
}

impl Bench {
    fn new(door: Door) -> Result<Self, Failed> {
        let config = ExchangeConfig {
            instruments: vec![Instrument::new(7, "VOD.L", TickTable::flat(Price(1_000_000))?)],
            users: vec![UserConfig {
                name: "ANN".to_owned(),
                password: "a-secret1".to_owned(),
                firm: 1,
                auto_cancel: true,
                self_match: SelfMatch::Allowed,
                copies: Vec::new(),
                stop_after: None,
                settles: Vec::new(),
            }],
            limits: Limits { throttle_per_s: u32::MAX, ..Limits::default() },
            fix: tapeline_fix::Limits {
                throttle_per_s: u32::MAX,
                ..tapeline_fix::Limits::default()
            },
            ..ExchangeConfig::default()
        };
        let now = Time::from_nanos(1_000_000_000);
        let mut exchange = Exchange::new(&config, EPOCH_NS);
        let mut stamps = Stamps { at: [None; Stage::ALL.len()], came: Vec::new() };
        exchange.open(now, &mut stamps);
        let session = exchange.accepted(now, door).ok_or("there is no room")?;
        Ok(Self { exchange, stamps, session, now })
    }

    fn says(&mut self, bytes: &[u8]) {
        self.exchange.received(self.now, self.session, bytes, &mut self.stamps);
        self.exchange.cycle(self.now, &mut self.stamps);
    }

    /// Does an order. Adds the nanoseconds of each stage, and of the whole.
    fn order(
        &mut self,
        bytes: &[u8],
        times: &mut [Vec<u64>; STAGES.len() + 1],
    ) -> Result<(), Failed> {
        self.stamps.at = [None; Stage::ALL.len()];
        self.stamps.came.clear();
        self.says(bytes);
        let at = |stage: Stage| self.stamps.at[stage as usize].ok_or("a stage was not reached");
        for ((_, from, to, _), times) in STAGES.iter().zip(times.iter_mut()) {
            times.push(at(*to)?.duration_since(at(*from)?).as_nanos() as u64);
        }
        let whole = at(Stage::Told)?.duration_since(at(Stage::Read)?);
        times[STAGES.len()].push(whole.as_nanos() as u64);
        Ok(())
    }
}

fn native(orders: usize) -> Result<[Vec<u64>; STAGES.len() + 1], Failed> {
    let mut bench = Bench::new(Door::Orders)?;
    let (user, password) = (Text::new("ANN"), Text::new("a-secret1"));
    let mut bytes = Vec::new();
    Message::Logon(Logon { user, password, version: 1, ..Logon::default() }).append(&mut bytes);
    bench.says(&bytes);
    let mut times = [const { Vec::new() }; STAGES.len() + 1];
    for number in 0..orders {
        bytes.clear();
        Message::NewOrder(native_order(number as u64)).append(&mut bytes);
        bench.order(&bytes, &mut times)?;
    }
    match bench.exchange.counts().trades as usize {
        trades if trades == orders / 2 => Ok(times),
        trades => Err(format!("{trades} trades of {orders} orders").into()),
    }
}

fn by_fix(orders: usize) -> Result<[Vec<u64>; STAGES.len() + 1], Failed> {
    let mut bench = Bench::new(Door::Fix)?;
    let mut initiator = Initiator::new(bench.now, b"ANN", b"FGW", 60);
    let (mut store, mut bytes) = (Store::new(1_000), Vec::new());
    let credentials = Credentials { password: b"a-secret1", ..Credentials::default() };
    let send = |sent: &[u8]| bytes.extend_from_slice(sent);
    initiator.log_on(bench.now, EPOCH_NS, &credentials, &mut store, send);
    bench.says(&bytes);
    let mut times = [const { Vec::new() }; STAGES.len() + 1];
    for number in 0..orders {
        bytes.clear();
        let name = format!("N{number}");
        let side = b'1' + (number % 2) as u8;
        let order = |fields: &mut Writer<'_>| {
            fields.text(tag::CL_ORD_ID, name.as_bytes());
            fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
            fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
            fields.byte(tag::SECURITY_ID, b'7').byte(tag::SECURITY_ID_SOURCE, b'8');
            fields.byte(tag::ORD_TYPE, b'2').byte(tag::SIDE, side).byte(tag::ORDER_QTY, b'1');
            fields.byte(tag::DISPLAY_QTY, b'1').decimal(tag::PRICE, 1_000_000_000);
            fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
            fields.time(tag::TRANSACT_TIME, EPOCH_NS);
        };
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        initiator.send(bench.now, EPOCH_NS, b"D", order, &mut store, send);
        bench.order(&bytes, &mut times)?;
    }
    match bench.exchange.counts().trades as usize {
        trades if trades == orders / 2 => Ok(times),
        trades => Err(format!("{trades} trades of {orders} orders").into()),
    }
}

/// A part of all times, sorted, in microseconds.
fn part(times: &[u64], part: f64) -> f64 {
    times[((times.len() - 1) as f64 * part) as usize] as f64 / 1e3
}

fn row(name: &str, published: Option<u32>, mut times: Vec<u64>) {
    times.sort_unstable();
    let [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1.0].map(|at| part(&times, at));
    let published = published.map_or_else(String::new, |us| us.to_string());
    println!("| {name} | {published} | {p50:.2} | {p99:.2} | {p999:.2} | {most:.1} |");
}

fn main() -> Result<(), Failed> {
    let orders = env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(50_000);
    let orders = (orders / 2).max(1) * 2;
    let mut reads = Vec::with_capacity(10_000);
    for _ in 0..10_000 {
        let begun = Instant::now();
        reads.push(begun.elapsed().as_nanos() as u64);
    }
    reads.sort_unstable();
    let read = part(&reads, 0.5);
    println!("{orders} orders each, one at a time; µs. The clock takes {read:.2} of each stage.");
    // The first round of each warms up.
    for (column, name) in ["native", "FIX"].into_iter().enumerate() {
        let run = |orders| if column == 0 { native(orders) } else { by_fix(orders) };
        run(orders.min(10_000))?;
        let times = run(orders)?;
        println!("\n| {name} | published, 2019 | p50 | p99 | p99.9 | max |");
        println!("|---|---|---|---|---|---|");
        let mut whole = Vec::new();
        for (at, times) in times.into_iter().enumerate() {
            match STAGES.get(at) {
                Some((stage, _, _, published)) => row(stage, published[column], times),
                None => whole = times,
            }
        }
        row("whole, until reports are out", Some(WHOLE[column]), whole);
    }
    Ok(())
}
