//! Clients that speak FIX at gateways in processes of their own: each process is killed
//! while they trade, and what they were told holds.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tapeline_fix::{Credentials, Initiator, Store, Verdict, Writer, tag};
use tapeline_ntg::Message as Native;
use tapeline_time::Time;

use crate::gateways::{JOURNAL, kills};
use crate::processes::{House, Running, order, recovered_by, wait_for};

/// Orders that are not answered, at most.
const UNANSWERED: u64 = 400;

/// What a client sent and heard, over all its connections.
struct Log {
    begun: Instant,
    store: Store,
    sent: u64,
    accepted: BTreeSet<String>,
    executions: BTreeSet<String>,
    /// Executions that it was told of once more.
    again: u64,
}

impl Log {
    fn new() -> Self {
        let (accepted, executions) = (BTreeSet::new(), BTreeSet::new());
        let (begun, store) = (Instant::now(), Store::new(1_000));
        Self { begun, store, sent: 0, accepted, executions, again: 0 }
    }

    fn now(&self) -> (Time, u64) {
        let ns = self.begun.elapsed().as_nanos() as u64;
        (Time::from_nanos(ns), ns)
    }

    fn note(&mut self, message: &tapeline_fix::Message<'_>) {
        if message.msg_type() != b"8" {
            return;
        }
        let text = |tag| String::from_utf8_lossy(message.get(tag).unwrap_or_default()).into_owned();
        assert_ne!(text(tag::EXEC_TYPE), "8", "refused: {message:?}");
        self.accepted.insert(text(tag::CL_ORD_ID));
        if !self.executions.insert(text(tag::EXEC_ID)) {
            assert_eq!(text(tag::POSS_RESEND), "Y", "told twice without a word: {message:?}");
            self.again += 1;
        }
    }
}

/// A client's connection.
struct Client {
    stream: TcpStream,
    initiator: Initiator,
}

impl Client {
    /// One that is let in; `None` if it is not, or nobody is there.
    fn try_log_on(log: &mut Log, at: &Running) -> Option<Self> {
        let stream = TcpStream::connect(&at.ports["fix"]).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(Duration::from_millis(1))).ok()?;
        let (now, now_ns) = log.now();
        let initiator = Initiator::new(now, b"ANN", b"FGW", 1);
        let mut client = Self { stream, initiator };
        let credentials = Credentials { password: b"a-secret1", ..Credentials::default() };
        let mut bytes = Vec::new();
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        client.initiator.log_on(now, now_ns, &credentials, &mut log.store, send);
        client.stream.write_all(&bytes).ok()?;
        wait_for("an answer to a logon", || {
            let is_there = client.listen(log);
            (client.initiator.is_active() || !is_there).then_some(is_there)
        })
        .then_some(client)
    }

    /// What has come, for a millisecond. Returns whether the other side is there.
    fn listen(&mut self, log: &mut Log) -> bool {
        let mut room = [0; 8 << 10];
        let came = match self.stream.read(&mut room) {
            Ok(0) => return false,
            Ok(len) => &room[..len],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                &[]
            }
            Err(_) => return false,
        };
        let ((now, now_ns), mut bytes, mut heard) = (log.now(), Vec::new(), Vec::new());
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        let each = |message: &tapeline_fix::Message<'_>| heard.push(message.frame().to_vec());
        let store = &mut log.store;
        let mut verdict = self.initiator.received(now, now_ns, came, store, send, each);
        if verdict == Verdict::Open {
            let send = |sent: &[u8]| bytes.extend_from_slice(sent);
            verdict = self.initiator.timeout(now, now_ns, store, send);
        }
        for frame in heard {
            log.note(&tapeline_fix::Message::read(&frame).expect("it was read before"));
        }
        // Who is dead does not hear it.
        let _ = self.stream.write_all(&bytes);
        verdict == Verdict::Open
    }

    fn order(&mut self, log: &mut Log, number: u64) {
        let order = order(number);
        let body = |fields: &mut Writer<'_>| {
            fields.text(tag::CL_ORD_ID, order.cl_ord_id.as_bytes());
            fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
            fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
            fields.number(tag::SECURITY_ID, 7).byte(tag::SECURITY_ID_SOURCE, b'8');
            fields.byte(tag::ORD_TYPE, b'2').byte(tag::SIDE, b'0' + order.side);
            fields.number(tag::ORDER_QTY, order.quantity.into());
            fields.number(tag::DISPLAY_QTY, order.display.into());
            fields.decimal(tag::PRICE, order.limit);
            fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
            fields.time(tag::TRANSACT_TIME, 1);
        };
        let ((now, now_ns), mut bytes) = (log.now(), Vec::new());
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        self.initiator.send(now, now_ns, b"D", body, &mut log.store, send);
        let _ = self.stream.write_all(&bytes);
    }

    /// Sends orders, and reads, until so many more are accepted.
    fn trade(&mut self, log: &mut Log, more: usize) {
        let until = log.accepted.len() + more;
        wait_for("orders to be accepted", || {
            for _ in 0..20 {
                if log.sent - (log.accepted.len() as u64) < UNANSWERED {
                    log.sent += 1;
                    self.order(log, log.sent);
                }
            }
            assert!(self.listen(log), "the connection ended");
            (log.accepted.len() >= until).then_some(())
        });
    }

    /// Waits until the client was told of all executions that there are for it. Returns
    /// the names of orders that are in the market.
    fn holds_all(&mut self, log: &mut Log, at: &Running) -> BTreeSet<String> {
        let recovery = wait_for("the recovery channel", || at.try_connect("recovery", "ANN"));
        let (mut names, mut executions) = (BTreeSet::new(), BTreeSet::new());
        for frame in recovered_by(recovery).values() {
            let Some(Native::ExecutionReport(report)) = Native::read(frame) else { continue };
            names.insert(report.cl_ord_id.as_str().to_owned());
            executions.insert(report.exec_id.as_str().to_owned());
        }
        wait_for("all reports", || {
            assert!(self.listen(log), "the connection ended");
            executions.is_subset(&log.executions).then_some(())
        });
        names
    }

    /// The same, and no order is on its way: all are accepted.
    fn settles(&mut self, log: &mut Log, at: &Running) {
        let sent = log.sent as usize;
        wait_for("all orders to be accepted", || {
            assert!(self.listen(log), "the connection ended");
            (log.accepted.len() == sent).then_some(())
        });
        self.holds_all(log, at);
    }
}

/// Nothing is in the journal twice, and all that was accepted is.
fn account(house: &House, log: &Log) {
    let orders = house.replay().0;
    let once: BTreeSet<&String> = orders.iter().collect();
    assert_eq!(once.len(), orders.len(), "an order is in the journal twice");
    assert!(log.accepted.iter().all(|name| once.contains(name)), "orders are lost");
}

#[test]
fn who_speaks_fix_loses_no_report_by_kills_of_gateways_and_none_comes_twice_unsaid() {
    let mut house = House::of_gateways(JOURNAL, false, "");
    let mut market = house.start();
    let mut gateways = [house.start_gateway(1), house.start_gateway(2)];
    let (mut log, mut at) = (Log::new(), 0);
    let mut client = wait_for("to be let in", || Client::try_log_on(&mut log, &gateways[0]));
    for round in 0..kills() {
        client.trade(&mut log, 100 + round * 37 % 101);
        gateways[at].kill();
        while client.listen(&mut log) {}
        let (other, next_in) = (1 - at, log.store.next_in());
        // Each third time the client goes to the market's own door.
        let goes_to = if round % 3 == 2 { &market } else { &gateways[other] };
        client = wait_for("to be let in", || Client::try_log_on(&mut log, goes_to));
        let known = client.holds_all(&mut log, goes_to);
        // What is between is filled when it was asked for.
        wait_for("numbers to rise", || {
            assert!(client.listen(&mut log), "the connection ended");
            (log.store.next_in() > next_in + 5_000).then_some(())
        });
        for number in 1..=log.sent {
            if !known.contains(&format!("N{number}")) {
                client.order(&mut log, number);
            }
        }
        client.settles(&mut log, goes_to);
        gateways[at] = house.start_gateway(at + 1);
        if round % 3 == 2 {
            drop(client);
            client = wait_for("to be let in", || Client::try_log_on(&mut log, &gateways[other]));
        }
        at = other;
    }
    client.settles(&mut log, &gateways[at]);
    market.terminate();
    account(&house, &log);
    println!("{} orders, {} reports once more", log.sent, log.again);
}

#[test]
fn who_speaks_fix_at_a_gateway_stays_while_the_market_is_killed_and_hears_each_report_once() {
    let mut house = House::of_gateways(JOURNAL, false, "failover-ms = 60000\ngrace-ms = 60000");
    let mut market = house.start();
    let gateway = house.start_gateway(1);
    let mut log = Log::new();
    let mut client = wait_for("to be let in", || Client::try_log_on(&mut log, &gateway));
    for round in 0..kills() {
        client.trade(&mut log, 100 + round * 37 % 101);
        market.kill();
        market = house.start();
        // What was not answered is among what comes now.
        client.trade(&mut log, UNANSWERED as usize);
    }
    client.settles(&mut log, &gateway);
    assert_eq!(log.again, 0, "each report came once");
    // Its numbers are where they were, also for a new connection.
    let next_in = log.store.next_in();
    drop(client);
    client = wait_for("to be let in", || Client::try_log_on(&mut log, &gateway));
    assert!(log.store.next_in() < next_in + 1_000, "numbers go on");
    client.settles(&mut log, &gateway);
    market.terminate();
    account(&house, &log);
    println!("{} orders", log.sent);
}
