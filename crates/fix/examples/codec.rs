//! What a FIX message costs: to read an order, to write a report, and an order that
//! goes through a session and is answered by a report.
//!
//! ```text
//! cargo run --release -p tapeline-fix --example codec                    # ns, all rows in turns
//! valgrind --tool=callgrind target/release/examples/codec order 1000     # instructions
//! ```
//!
//! Instructions of a message are the difference of two runs of one row, by the
//! difference of their counts.
//!
//! Beside another library (`bench/quickfix/run.py`): it is given the same bytes (`bytes`
//! as the first argument prints them), and does the same. To read is to check length and
//! checksum and to get at the values of the ten fields below, numbers as numbers; to
//! write is to make the bytes of a report from values, header, length and checksum
//! included. A library that keeps its messages as maps of fields makes that map and takes
//! the values out of it, as an application would.

use std::env;
use std::hint::black_box;
use std::time::Instant;

use tapeline_fix::{
    Acceptor, Admission, CompIds, Limits, Logon, Message, Outputs, Rejection, Store, Verdict,
    Writer, append, decimal, number, tag, timestamp_ns,
};
use tapeline_time::Time;

/// 2026-11-26, 12:00:00.
const NOON_NS: u64 = 1_795_694_400_000_000_000;

/// Messages of a round.
const ROUND: u64 = 200_000;

/// Rounds of each row, in turns.
const ROUNDS: usize = 21;

/// What a gateway takes from an order.
#[derive(Clone, Copy, Default)]
struct Order<'m> {
    name: &'m [u8],
    instrument: i64,
    kind: u8,
    time_in_force: u8,
    side: u8,
    quantity: i64,
    display: i64,
    price: i64,
    capacity: u8,
    at_ns: u64,
}

fn read<'m>(message: &Message<'m>) -> Order<'m> {
    let mut order = Order::default();
    for field in message.fields() {
        let value = field.value;
        let byte = || value.first().copied().unwrap_or_default();
        match field.tag {
            tag::CL_ORD_ID => order.name = value,
            tag::SECURITY_ID => order.instrument = number(value).unwrap_or_default(),
            tag::ORD_TYPE => order.kind = byte(),
            tag::TIME_IN_FORCE => order.time_in_force = byte(),
            tag::SIDE => order.side = byte(),
            tag::ORDER_QTY => order.quantity = number(value).unwrap_or_default(),
            tag::DISPLAY_QTY => order.display = number(value).unwrap_or_default(),
            tag::PRICE => order.price = decimal(value).unwrap_or_default(),
            tag::ORDER_CAPACITY => order.capacity = byte(),
            tag::TRANSACT_TIME => order.at_ns = timestamp_ns(value).unwrap_or_default(),
            _ => {}
        }
    }
    order
}

/// Writes what a report has behind its header.
fn report(writer: &mut Writer<'_>, order: &Order<'_>) {
    writer.text(tag::EXEC_ID, b"0000a1B2c3D4").text(tag::CL_ORD_ID, order.name);
    writer.text(tag::ORDER_ID, b"01hbIXLE8st0").byte(tag::EXEC_TYPE, b'0');
    writer.byte(tag::ORD_STATUS, b'0').number(tag::LEAVES_QTY, order.quantity);
    writer.number(tag::CUM_QTY, 0).number(tag::SECURITY_ID, order.instrument);
    writer.byte(tag::SECURITY_ID_SOURCE, b'8').number(tag::NO_PARTY_IDS, 1);
    writer.text(tag::PARTY_ID, b"TRADER1").byte(tag::PARTY_ID_SOURCE, b'D');
    writer.number(tag::PARTY_ROLE, 76).byte(tag::ORD_TYPE, order.kind);
    writer.byte(tag::TIME_IN_FORCE, order.time_in_force).byte(tag::SIDE, order.side);
    writer.number(tag::ORDER_QTY, order.quantity).number(tag::DISPLAY_QTY, order.display);
    writer.decimal(tag::PRICE, order.price).byte(tag::ACCOUNT_TYPE, b'1');
    writer.byte(tag::ORDER_CAPACITY, order.capacity).time(tag::TRANSACT_TIME, order.at_ns);
    writer.text(tag::MD_ENTRY_ID, b"01hbIXLE8st");
}

fn header(writer: &mut Writer<'_>, (sender, target): (&[u8], &[u8]), number: u64) {
    writer.number(tag::MSG_SEQ_NUM, number as i64).text(tag::SENDER_COMP_ID, sender);
    writer.time(tag::SENDING_TIME, NOON_NS + number).text(tag::TARGET_COMP_ID, target);
}

fn order(out: &mut Vec<u8>, number: u64) {
    append(out, b"D", |writer| {
        header(writer, (b"CLIENT", b"FGW"), number);
        writer.text(tag::CL_ORD_ID, b"C000000001").number(tag::NO_PARTY_IDS, 1);
        writer.text(tag::PARTY_ID, b"TRADER1").byte(tag::PARTY_ID_SOURCE, b'D');
        writer.number(tag::PARTY_ROLE, 76).number(tag::SECURITY_ID, 133_215);
        writer.byte(tag::SECURITY_ID_SOURCE, b'8').byte(tag::ORD_TYPE, b'2');
        writer.byte(tag::TIME_IN_FORCE, b'0').byte(tag::SIDE, b'1');
        writer.number(tag::ORDER_QTY, 1000).number(tag::DISPLAY_QTY, 1000);
        writer.decimal(tag::PRICE, 1_025_000_000).byte(tag::ACCOUNT_TYPE, b'1');
        writer.byte(tag::ORDER_CAPACITY, b'P').time(tag::TRANSACT_TIME, NOON_NS);
    });
}

/// A gateway whose engine answers at once.
struct Gateway {
    store: Store,
    ids: CompIds,
    frame: Vec<u8>,
    sent: usize,
}

impl Outputs for Gateway {
    fn admit(&mut self, _: &Logon<'_>) -> Admission {
        Admission::Granted
    }

    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection> {
        let order = read(message);
        let body = |writer: &mut Writer<'_>| report(writer, &order);
        self.store.write(&self.ids, NOON_NS, b"8", false, body, &mut self.frame);
        self.sent += self.frame.len();
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) {
        self.sent += bytes.len();
    }
}

/// A session, and the orders that come.
struct Session {
    acceptor: Acceptor,
    gateway: Gateway,
    number: u64,
    wire: Vec<u8>,
}

impl Session {
    fn new() -> Self {
        let limits = Limits { throttle_per_s: u32::MAX, ..Limits::default() };
        let (store, ids) = (Store::new(1000), CompIds::new(b"FGW", b"CLIENT"));
        let mut gateway = Gateway { store, ids, frame: Vec::new(), sent: 0 };
        let mut acceptor = Acceptor::new(Time::ZERO, b"FGW", limits);
        let mut wire = Vec::new();
        append(&mut wire, b"A", |writer| {
            header(writer, (b"CLIENT", b"FGW"), 1);
            writer.number(tag::ENCRYPT_METHOD, 0).number(tag::HEART_BT_INT, 30);
            writer.number(tag::DEFAULT_APPL_VER_ID, 9);
        });
        let verdict = acceptor.received(Time::ZERO, NOON_NS, &wire, &mut gateway);
        assert_eq!(verdict, Verdict::Open, "a logon is accepted");
        Self { acceptor, gateway, number: 1, wire }
    }

    /// One order in, its report out. What writes the order counts, too: its number is
    /// another one each time.
    fn turn(&mut self) {
        self.number += 1;
        self.wire.clear();
        order(&mut self.wire, self.number);
        let verdict = self.acceptor.received(Time::ZERO, NOON_NS, &self.wire, &mut self.gateway);
        assert_eq!(verdict, Verdict::Open, "an order is taken");
    }
}

/// The rows, each with its own state.
struct Rows {
    order: Vec<u8>,
    out: Vec<u8>,
    session: Session,
}

const NAMES: [&str; 3] = ["order", "report", "session"];

impl Rows {
    fn new() -> Self {
        let mut wire = Vec::new();
        order(&mut wire, 123_456);
        Self { order: wire, out: Vec::new(), session: Session::new() }
    }

    fn run(&mut self, name: &str, count: u64) {
        match name {
            "order" => self.read_orders(count),
            "report" => self.write_reports(count),
            "session" => (0..count).for_each(|_| self.session.turn()),
            other => panic!("no row {other}: there are {}", NAMES.join(", ")),
        }
    }

    fn read_orders(&self, count: u64) {
        for _ in 0..count {
            let message = Message::read(black_box(&self.order)).expect("a whole message");
            black_box(read(&message));
        }
    }

    fn write_reports(&mut self, count: u64) {
        let message = Message::read(&self.order).expect("a whole message");
        let order = read(&message);
        for number in 0..count {
            self.out.clear();
            append(&mut self.out, b"8", |writer| {
                header(writer, (b"FGW", b"CLIENT"), 123_456 + number % 1000);
                report(writer, black_box(&order));
            });
            black_box(&self.out);
        }
    }
}

fn main() {
    let mut rows = Rows::new();
    let words: Vec<String> = env::args().skip(1).collect();
    match &words[..] {
        [] => {}
        [word] if word == "bytes" => {
            rows.write_reports(1);
            for bytes in [&rows.order, &rows.out] {
                println!("{}", String::from_utf8_lossy(bytes).replace('\x01', "|"));
            }
            return;
        }
        [name, count] => return rows.run(name, count.parse().expect("a count of messages")),
        _ => panic!("usage: codec [bytes | ROW COUNT]"),
    }
    let mut took_ns = NAMES.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (name, took_ns) in NAMES.iter().zip(&mut took_ns) {
            let begun = Instant::now();
            rows.run(name, ROUND);
            took_ns.push(begun.elapsed().as_nanos() as f64 / ROUND as f64);
        }
    }
    println!("{:<10}{:>12}{:>12}", "row", "median ns", "least ns");
    for (name, mut took_ns) in NAMES.iter().zip(took_ns) {
        took_ns.sort_by(f64::total_cmp);
        println!("{name:<10}{:>12.1}{:>12.1}", took_ns[ROUNDS / 2], took_ns[0]);
    }
}
