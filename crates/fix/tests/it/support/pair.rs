//! Both ends, with a network between them that loses and damages.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_fix::{
    Acceptor, Admission, CompIds, Credentials, Initiator, Limits, Logon, Message, Outputs,
    Rejection, Store, Verdict, Writer,
};
use tapeline_time::Time;

use crate::support::{NOON_NS, ORDER};

/// The exchange's side: what it was asked, and what goes to the client.
pub(crate) struct Exchange {
    pub(crate) store: Store,
    pub(crate) requests: Vec<u32>,
    to_client: VecDeque<u8>,
}

impl Outputs for Exchange {
    fn admit(&mut self, _: &Logon<'_>) -> Admission {
        Admission::Granted
    }

    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection> {
        self.requests.push(name(message, 11));
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) {
        self.to_client.extend(bytes);
    }
}

/// The number that a message has for a name.
fn name(message: &Message<'_>, tag: u32) -> u32 {
    message.number(tag).and_then(Result::ok).and_then(|name| name.try_into().ok()).unwrap_or(0)
}

/// Both ends of a session.
pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) acceptor: Acceptor,
    pub(crate) exchange: Exchange,
    pub(crate) initiator: Initiator,
    pub(crate) store: Store,
    pub(crate) reports: Vec<u32>,
    /// Types of what the client got about the session.
    pub(crate) heard: Vec<u8>,
    to_exchange: VecDeque<u8>,
    is_damaged: bool,
    pub(crate) is_cut: bool,
}

impl Pair {
    pub(crate) fn new() -> Self {
        let now = Time::from_nanos(1_000_000_000);
        let store = Store::new(1000);
        let exchange =
            Exchange { store: Store::new(1000), requests: Vec::new(), to_client: VecDeque::new() };
        Self {
            now,
            acceptor: acceptor(now),
            exchange,
            initiator: initiator(now),
            store,
            reports: Vec::new(),
            heard: Vec::new(),
            to_exchange: VecDeque::new(),
            is_damaged: false,
            is_cut: true,
        }
    }

    fn now_ns(&self) -> u64 {
        NOON_NS + self.now.as_nanos()
    }

    /// Another connection; what was on its way is lost.
    pub(crate) fn connect(&mut self) {
        self.now = self.now.after(Duration::from_secs(1));
        self.to_exchange.clear();
        self.exchange.to_client.clear();
        (self.acceptor, self.initiator) = (acceptor(self.now), initiator(self.now));
        (self.is_cut, self.is_damaged) = (false, false);
        let (now, now_ns, to) = (self.now, self.now_ns(), &mut self.to_exchange);
        let credentials = Credentials { user: b"U", password: b"P", ..Credentials::default() };
        let send = |bytes: &[u8]| to.extend(bytes);
        self.initiator.log_on(now, now_ns, &credentials, &mut self.store, send);
    }

    /// The client has an order. Returns whether it could be sent.
    pub(crate) fn order(&mut self, name: u32) -> bool {
        if !self.initiator.is_active() {
            return false;
        }
        let body = |writer: &mut Writer<'_>| {
            writer.number(11, name.into());
            for field in ORDER.split_terminator('|') {
                let (tag, value) = field.split_once('=').expect("a field");
                writer.text(tag.parse().expect("a tag"), value.as_bytes());
            }
        };
        let (now, now_ns, to) = (self.now, self.now_ns(), &mut self.to_exchange);
        let send = |bytes: &[u8]| to.extend(bytes);
        self.initiator.send(now, now_ns, b"D", body, &mut self.store, send);
        true
    }

    /// The exchange has a report.
    pub(crate) fn report(&mut self, name: u32) {
        let is_absent = !self.acceptor.is_active();
        let (now_ns, mut frame) = (self.now_ns(), Vec::new());
        let ids = CompIds::new(b"FGW", b"CLIENT");
        let body = |writer: &mut Writer<'_>| {
            writer.number(17, name.into());
        };
        self.exchange.store.write(&ids, now_ns, b"8", is_absent, body, &mut frame);
        self.exchange.to_client.extend(frame);
        self.acceptor.spoke(self.now);
    }

    /// So many of the bytes on their way to the exchange arrive.
    pub(crate) fn exchange_gets(&mut self, bytes: usize) {
        let bytes = bytes.min(self.to_exchange.len());
        let some: Vec<u8> = self.to_exchange.drain(..bytes).collect();
        let now_ns = self.now_ns();
        let verdict = self.acceptor.received(self.now, now_ns, &some, &mut self.exchange);
        self.is_cut |= verdict == Verdict::Close;
    }

    /// So many of those to the client do.
    pub(crate) fn client_gets(&mut self, bytes: usize) {
        let bytes = bytes.min(self.exchange.to_client.len());
        let some: Vec<u8> = self.exchange.to_client.drain(..bytes).collect();
        let (now, now_ns, to) = (self.now, self.now_ns(), &mut self.to_exchange);
        let (reports, heard) = (&mut self.reports, &mut self.heard);
        let verdict = self.initiator.received(
            now,
            now_ns,
            &some,
            &mut self.store,
            |bytes| to.extend(bytes),
            |message| match message.msg_type() {
                b"8" => reports.push(name(message, 17)),
                other => heard.extend(other),
            },
        );
        self.is_cut |= verdict == Verdict::Close;
    }

    /// A byte on its way is another one. Once in a connection: a checksum is a sum,
    /// which two can leave as it was.
    pub(crate) fn damage(&mut self, is_to_client: bool, at: usize) {
        if std::mem::replace(&mut self.is_damaged, true) {
            return;
        }
        let way = if is_to_client { &mut self.exchange.to_client } else { &mut self.to_exchange };
        let len = way.len();
        if len > 0 {
            way[at % len] ^= 4;
        }
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.now = self.now.after(Duration::from_millis(ms));
        let (now, now_ns, to) = (self.now, self.now_ns(), &mut self.to_exchange);
        let verdicts = [
            self.initiator.timeout(now, now_ns, &mut self.store, |bytes| to.extend(bytes)),
            self.acceptor.timeout(now, now_ns, &mut self.exchange),
        ];
        self.is_cut |= verdicts.contains(&Verdict::Close);
    }

    /// The client ends the session.
    pub(crate) fn log_out(&mut self) {
        let (now, now_ns, to) = (self.now, self.now_ns(), &mut self.to_exchange);
        let send = |bytes: &[u8]| to.extend(bytes);
        self.initiator.log_out(now, now_ns, "", &mut self.store, send);
    }

    /// All that is on its way arrives, and what follows from it.
    pub(crate) fn settle(&mut self) {
        while !(self.to_exchange.is_empty() && self.exchange.to_client.is_empty()) {
            self.exchange_gets(usize::MAX);
            self.client_gets(usize::MAX);
        }
    }
}

fn acceptor(now: Time) -> Acceptor {
    let limits = Limits { throttle_per_s: u32::MAX, ..Limits::default() };
    Acceptor::new(now, b"FGW", limits)
}

fn initiator(now: Time) -> Initiator {
    Initiator::new(now, b"CLIENT", b"FGW", 10)
}
