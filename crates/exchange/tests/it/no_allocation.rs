//! An order costs no allocation on its way from a client's bytes to reports and
//! market data.

use tapeline_exchange::{Door, Exchange, ExchangeConfig, Outputs, SessionId};
use tapeline_fix::{CompIds, Store, Writer, tag};
use tapeline_layout::Text;
use tapeline_mitch::{Message as Mitch, Reader};
use tapeline_ntg::Message;
use tapeline_ntg::client::NewOrder;
use tapeline_sequence::{
    Ballot, Command, CommitMode, Entry, Kind, LogState, Member, Replica, ReplicaConfig,
    ReplicaMessage, ReplicaOutputs, Sequencer, Source,
};
use tapeline_time::Time;

use crate::support::{EPOCH_NS, VOD, cancel, config, logon, order};

/// Counts what comes, and has a reader follow the units.
struct Counting {
    reader: Reader,
    books: Followed,
    reports: u64,
}

#[derive(Default)]
struct Followed {
    messages: u64,
}

impl tapeline_mitch::Outputs for Followed {
    fn message(&mut self, _: u32, _: &Mitch) {
        self.messages += 1;
    }

    fn ask_replay(&mut self, _: u32, _: u16) {
        panic!("nothing is lost");
    }

    fn ask_snapshot(&mut self) {
        panic!("nothing is lost");
    }

    fn set_stale(&mut self, _: bool) {}

    fn restart(&mut self) {}
}

impl Outputs for Counting {
    fn send(&mut self, _: SessionId, _: &[u8]) {
        self.reports += 1;
    }

    fn close(&mut self, session: SessionId) {
        panic!("{session:?} is closed");
    }

    fn publish(&mut self, unit: &[u8]) {
        self.reader.unit(unit, &mut self.books).expect("a unit");
    }

    fn queued(&self, _: SessionId) -> usize {
        0
    }
}

/// Round after round without a pause.
fn at(round: u64, step: u64) -> Time {
    Time::from_nanos((round * 10_001 + step) * 5_000_000)
}

/// Orders of two clients around a price that moves, icebergs and cancels among them,
/// in pieces that do not end with messages.
fn trade(
    exchange: &mut Exchange,
    out: &mut Counting,
    (sessions, plain, wire): ([SessionId; 2], NewOrder, &mut Vec<u8>),
    round: u64,
) {
    let mut bytes = [0_u8; 600];
    let mut random = round;
    for step in 0..10_000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step | 1);
        let draw = |bits: u32, below: u64| (random >> bits) % below;
        let mut order = plain;
        let mut name = *b"N0000";
        for (at, digit) in name.iter_mut().skip(1).enumerate() {
            *digit = b'0' + (step / 10_u64.pow(at as u32) % 10) as u8;
        }
        order.cl_ord_id = Text::from_bytes(&name);
        order.side = 1 + draw(20, 2) as u8;
        order.limit = (1_000 + (step / 40 % 400).abs_diff(200) + draw(24, 40)) as i64 * 1_000_000;
        order.quantity = 1 + draw(32, 500) as i32;
        order.display = if draw(40, 6) == 0 { 1 + order.quantity / 4 } else { order.quantity };
        wire.clear();
        Message::NewOrder(order).append(wire);
        if step % 3 == 0 {
            cancel("C", "").append_with(&name, wire);
        }
        let session = sessions[(step % 2) as usize];
        let now = at(round, step);
        bytes[..wire.len()].copy_from_slice(wire);
        let cut = draw(44, wire.len() as u64) as usize;
        exchange.received(now, session, &bytes[..cut], out);
        exchange.received(now, session, &bytes[cut..wire.len()], out);
        exchange.timeout(now, out);
        exchange.cycle(now, out);
    }
    for session in sessions {
        let mass = tapeline_ntg::client::MassCancel {
            cl_ord_id: Text::new("M"),
            kind: 8,
            ..Default::default()
        };
        wire.clear();
        Message::MassCancel(mass).append(wire);
        exchange.received(at(round, 10_000), session, wire, out);
        exchange.cycle(at(round, 10_000), out);
    }
}

/// A cancel of the order of a name.
trait AppendWith {
    fn append_with(self, name: &[u8], out: &mut Vec<u8>);
}

impl AppendWith for Message {
    fn append_with(self, name: &[u8], out: &mut Vec<u8>) {
        let Self::Cancel(cancel) = self else { return };
        let orig_cl_ord_id = Text::from_bytes(name);
        Self::Cancel(tapeline_ntg::client::Cancel { orig_cl_ord_id, ..cancel }).append(out);
    }
}

#[test]
fn orders_cost_no_allocation_from_the_clients_bytes_to_market_data() {
    let mut config: ExchangeConfig = config();
    config.limits.throttle_per_s = u32::MAX;
    config.engine.max_orders = 20_000;
    let mut exchange = Exchange::new(&config, EPOCH_NS);
    let mut out =
        Counting { reader: Reader::new(b'A', 1_000), books: Followed::default(), reports: 0 };
    exchange.open(Time::ZERO, &mut out);
    let sessions = ["ANN", "BOB"].map(|name| {
        let session = exchange.accepted(Time::ZERO, Door::Orders).expect("room");
        let mut bytes = Vec::new();
        logon(name).append(&mut bytes);
        exchange.received(Time::ZERO, session, &bytes, &mut out);
        exchange.cycle(Time::ZERO, &mut out);
        session
    });
    let (plain, mut wire) = (order("X", "buy 100@10.00"), Vec::with_capacity(600));
    for round in 0..3 {
        trade(&mut exchange, &mut out, (sessions, plain, &mut wire), round);
    }
    let before = (out.reports, out.books.messages, exchange.counts().trades);
    let counted = allocation_counter::measure(|| {
        trade(&mut exchange, &mut out, (sessions, plain, &mut wire), 3);
    });
    assert!(out.reports > before.0 + 15_000 && out.books.messages > before.1 + 10_000);
    assert!(exchange.counts().trades > before.2 + 1_000, "{VOD} trades");
    assert_eq!(counted.count_total, 0, "allocations for 10,000 orders");
}

/// A request by FIX, behind its header.
fn put_order(fields: &mut Writer<'_>, name: &[u8], (side, price, quantity): (u8, i64, i64)) {
    fields.text(tag::CL_ORD_ID, name);
    fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.byte(tag::ORD_TYPE, b'2').byte(tag::SIDE, side).decimal(tag::PRICE, price);
    fields.number(tag::ORDER_QTY, quantity).number(tag::DISPLAY_QTY, quantity);
    fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
    fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
    fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
    fields.time(tag::TRANSACT_TIME, EPOCH_NS);
}

#[test]
fn orders_by_fix_cost_no_allocation() {
    let mut exchange = Exchange::new(&config(), EPOCH_NS);
    let mut out =
        Counting { reader: Reader::new(b'A', 1_000), books: Followed::default(), reports: 0 };
    exchange.open(Time::ZERO, &mut out);
    let session = exchange.accepted(Time::ZERO, Door::Fix).expect("room");
    let ids = CompIds::new(b"ANN", b"FGW");
    // The client's end is not measured, and hears nothing: its store has the numbers.
    let (mut store, mut wire) = (Store::new(1), Vec::with_capacity(1 << 10));
    store.write(&ids, EPOCH_NS, b"A", false, log_on, &mut wire);
    exchange.received(Time::ZERO, session, &wire, &mut out);
    exchange.cycle(Time::ZERO, &mut out);
    assert_eq!(exchange.counts().clients, 1);
    let mut round = |round: u64, exchange: &mut Exchange, out: &mut Counting| {
        for step in 0..5_000_u64 {
            let now = at(0, round * 5_000 + step);
            let mut name = *b"N0000";
            for (at, digit) in name.iter_mut().skip(1).enumerate() {
                *digit = b'0' + (step / 10_u64.pow(at as u32) % 10) as u8;
            }
            // Each second order meets the one before, and leaves a part of it.
            let side = b'1' + (step % 2) as u8;
            let price = (1_000 + (step / 40 % 50) as i64) * 1_000_000;
            let order = (side, price, if step % 2 == 0 { 100 } else { 60 });
            let now_ns = EPOCH_NS + now.as_nanos();
            let body = |fields: &mut Writer<'_>| put_order(fields, &name, order);
            store.write(&ids, now_ns, b"D", false, body, &mut wire);
            exchange.received(now, session, &wire[..100], out);
            exchange.received(now, session, &wire[100..], out);
            if step % 2 == 1 {
                let all = |fields: &mut Writer<'_>| {
                    fields.text(tag::CL_ORD_ID, b"M").byte(tag::MASS_CANCEL_REQUEST_TYPE, b'7');
                    fields.time(tag::TRANSACT_TIME, EPOCH_NS);
                };
                store.write(&ids, now_ns, b"q", false, all, &mut wire);
                exchange.received(now, session, &wire, out);
            }
            exchange.timeout(now, out);
            exchange.cycle(now, out);
        }
    };
    (0..2).for_each(|at| round(at, &mut exchange, &mut out));
    let before = (out.reports, exchange.counts());
    let counted = allocation_counter::measure(|| round(2, &mut exchange, &mut out));
    let counts = exchange.counts();
    assert_eq!(counts.rejected, 0);
    assert_eq!(counts.trades - before.1.trades, 2_500);
    assert!(out.reports >= before.0 + 5_000 + 2 * 2_500);
    assert_eq!(counted.count_total, 0, "allocations for 5,000 orders");
}

fn log_on(fields: &mut Writer<'_>) {
    fields.number(tag::ENCRYPT_METHOD, 0).number(tag::HEART_BT_INT, 60);
    fields.text(tag::PASSWORD, b"ANN-secret1").number(tag::DEFAULT_APPL_VER_ID, 9);
}

/// Two of three replicas, and what each has for the other.
#[derive(Default)]
struct Wire {
    bytes: Vec<u8>,
    appended: usize,
}

impl ReplicaOutputs for Wire {
    fn send(&mut self, to: Member, message: &ReplicaMessage<'_>) {
        // The third one is not there.
        if to != Member(2) {
            message.append_to(&mut self.bytes);
        }
    }

    fn has_room(&self, _: Member) -> bool {
        true
    }

    fn keep(&mut self, _: Ballot) -> bool {
        true
    }

    fn append(&mut self, entries: &[u8]) {
        self.appended += entries.len();
    }

    fn cut(&mut self, last: u64) {
        panic!("{last} is all there is");
    }

    fn read(&mut self, to: Member, _: u64, _: usize, _: &mut Vec<u8>) {
        assert_eq!(to, Member(2), "the other one has everything");
    }
}

/// Has one hear what the other one said.
fn hears(now: Time, replica: &mut Replica, from: &mut Wire, own: &mut Wire) {
    let mut rest = &from.bytes[..];
    while let Some(length) = rest.first_chunk() {
        let (message, behind) = rest.split_at(u32::from_le_bytes(*length) as usize);
        let message = ReplicaMessage::read(message).expect("a message");
        replica.received(now, &message, own);
        rest = behind;
    }
    from.bytes.clear();
}

#[test]
fn an_entry_that_replicas_agree_on_costs_no_allocation() {
    let replica = |own| {
        let own = Member(own);
        let mode = CommitMode::Disk;
        let config = ReplicaConfig { own, members: 3, mode, ..ReplicaConfig::default() };
        let log = LogState { is_whole: true, ..LogState::default() };
        Replica::new(config, Ballot::default(), log, Time::ZERO)
    };
    let (mut leader, mut follower) = (replica(0), replica(1));
    let (mut here, mut there) = (Wire::default(), Wire::default());
    let now = Time::from_nanos(2_000_000_000);
    leader.timeout(now, &mut here);
    while !leader.is_leading() {
        hears(now, &mut follower, &mut here, &mut there);
        hears(now, &mut leader, &mut there, &mut here);
    }
    let mut sequencer = Sequencer::new(tapeline_sequence::Limits::default());
    sequencer.set_term(leader.term());
    let (mut bytes, mut number) = (Vec::new(), 0);
    let mut agree = |times: u64| {
        for _ in 0..times {
            number += 1;
            let (kind, source) = (Kind::NEW, Source(1));
            let command = Command { kind, source, number, payload: b"buy", ..Command::default() };
            sequencer.offer(&command).expect("room");
            bytes.clear();
            let index = sequencer.sequence(number, &mut bytes).expect("a command");
            leader.appended(&Entry::own(&bytes).expect("an entry"), &mut here);
            leader.synced(index, &mut here);
            hears(now, &mut follower, &mut here, &mut there);
            follower.synced(index, &mut there);
            hears(now, &mut leader, &mut there, &mut here);
            assert_eq!(leader.committed(), index);
            sequencer.commit(index);
        }
    };
    agree(1_000);
    let allocated = allocation_counter::measure(|| agree(10_000));
    assert_eq!((allocated.count_total, allocated.bytes_total), (0, 0));
}
