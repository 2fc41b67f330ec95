//! A session of the exchange's end, and what it says as lines.

pub(crate) mod pair;

use std::time::Duration;

use tapeline_fix::{
    Acceptor, Admission, CompIds, Frames, Limits, Logon, Message, Outputs, Rejection, SOH, Store,
    Verdict, Writer,
};
use tapeline_time::Time;

/// 2026-11-26, 12:00:00.
pub(crate) const NOON_NS: u64 = 1_795_694_400_000_000_000;

/// The fields of a logon that is accepted.
pub(crate) const LOGON: &str = "98=0|108=30|553=USER|554=secret|1137=9|";

/// The fields of an order, behind its `11`.
pub(crate) const ORDER: &str = "453=1|448=7|447=D|452=76|48=133215|22=8|40=2|44=10.25|54=1|38=10|\
                                1138=10|581=1|528=P|60=20261126-12:00:00|";

/// What the exchange's side is told, and how it answers.
pub(crate) struct Exchange {
    pub(crate) admission: Admission,
    pub(crate) answer: Result<(), Rejection>,
    pub(crate) store: Store,
    pub(crate) unconfirmed: Option<u64>,
    pub(crate) lines: Vec<String>,
    frames: Frames,
    /// The last message, as it is on the wire.
    pub(crate) last: String,
}

impl Outputs for Exchange {
    fn admit(&mut self, logon: &Logon<'_>) -> Admission {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let resets = if logon.resets { " resets" } else { "" };
        self.lines.push(format!(
            "admit {} {} {} {} {} {}{resets}",
            text(logon.sender),
            text(logon.target),
            text(logon.user),
            text(logon.password),
            text(logon.new_password),
            logon.heartbeat_s
        ));
        self.admission
    }

    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection> {
        let name = message.get(11).unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        self.lines.push(format!("request {name}"));
        self.answer
    }

    fn unconfirmed(&mut self) -> Option<u64> {
        self.unconfirmed
    }

    fn confirmed(&mut self, messages: u64) {
        self.lines.push(format!("has {messages}"));
    }

    fn send(&mut self, bytes: &[u8]) {
        let (lines, last) = (&mut self.lines, &mut self.last);
        self.frames
            .read(bytes, |message| {
                lines.push(line(message));
                *last = String::from_utf8_lossy(message.frame()).replace('\x01', "|");
                true
            })
            .expect("what is sent can be read");
    }
}

/// A message without what is the same in all: `TYPE NUMBER fields`.
pub(crate) fn line(message: &Message<'_>) -> String {
    let text = |value| String::from_utf8_lossy(value).into_owned();
    let mut words = vec![text(message.msg_type()), text(message.get(34).unwrap_or_default())];
    let is_told = |tag| ![34, 49, 52, 56, 1128].contains(&tag);
    let fields = message.fields().filter(|field| is_told(field.tag));
    words.extend(fields.map(|field| format!("{}={}", field.tag, text(field.value))));
    words.join(" ")
}

/// A message whose body is written with `|` for the ends of fields.
pub(crate) fn wire(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\x01");
    let mut wire = format!("8=FIXT.1.1\x019={}\x01{body}", body.len()).into_bytes();
    let sum = wire.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    wire.extend(format!("10={sum:03}").bytes());
    wire.push(SOH);
    wire
}

/// A client's message.
pub(crate) fn client(msg_type: &str, number: u32, fields: &str) -> Vec<u8> {
    wire(&format!("35={msg_type}|34={number}|49=CLIENT|52=20261126-12:00:00|56=FGW|{fields}"))
}

/// A session of the exchange's end, with raw bytes on the other.
pub(crate) struct Session {
    pub(crate) acceptor: Acceptor,
    pub(crate) exchange: Exchange,
    pub(crate) now: Time,
    pub(crate) verdict: Verdict,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let now = Time::from_nanos(1_000_000_000);
        let exchange = Exchange {
            admission: Admission::Granted,
            answer: Ok(()),
            store: Store::new(100),
            unconfirmed: None,
            lines: Vec::new(),
            frames: Frames::default(),
            last: String::new(),
        };
        let acceptor = Acceptor::new(now, b"FGW", limits);
        Self { acceptor, exchange, now, verdict: Verdict::Open }
    }

    /// Logged on, with the logon's lines gone.
    pub(crate) fn active() -> Self {
        let mut session = Self::new();
        session.says("A", 1, LOGON);
        session.lines();
        session
    }

    /// Another connection of the same client.
    pub(crate) fn reconnects(&mut self) {
        self.acceptor = Acceptor::new(self.now, b"FGW", Limits::default());
        self.verdict = Verdict::Open;
    }

    pub(crate) fn now_ns(&self) -> u64 {
        NOON_NS + self.now.as_nanos()
    }

    pub(crate) fn gets(&mut self, bytes: &[u8]) -> &mut Self {
        let now_ns = self.now_ns();
        self.verdict = self.acceptor.received(self.now, now_ns, bytes, &mut self.exchange);
        self
    }

    /// A message of the client comes.
    pub(crate) fn says(&mut self, msg_type: &str, number: u32, fields: &str) -> &mut Self {
        self.gets(&client(msg_type, number, fields))
    }

    /// An order comes.
    pub(crate) fn orders(&mut self, number: u32, name: &str) -> &mut Self {
        self.says("D", number, &format!("11={name}|{ORDER}"))
    }

    pub(crate) fn after(&mut self, ms: u64) -> &mut Self {
        self.now = self.now.after(Duration::from_millis(ms));
        let now_ns = self.now_ns();
        self.verdict = self.acceptor.timeout(self.now, now_ns, &mut self.exchange);
        self
    }

    /// Whether the client is let in, which was to be decided, is.
    pub(crate) fn decides(&mut self, admission: Admission) -> &mut Self {
        let now_ns = self.now_ns();
        self.verdict = self.acceptor.decided(self.now, now_ns, admission, &mut self.exchange);
        self
    }

    /// The exchange has a report.
    pub(crate) fn reports(&mut self, id: &str) -> &mut Self {
        let ids = CompIds::new(b"FGW", b"CLIENT");
        let is_absent = !self.acceptor.is_active();
        let (now_ns, mut frame) = (self.now_ns(), Vec::new());
        let body = |writer: &mut Writer<'_>| {
            writer.text(17, id.as_bytes());
        };
        self.exchange.store.write(&ids, now_ns, b"8", is_absent, body, &mut frame);
        if !is_absent {
            self.exchange.send(&frame);
            self.acceptor.spoke(self.now);
        }
        self
    }

    /// What happened since it was asked last.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.exchange.lines)
    }

    /// The numbers that come next, out and in.
    pub(crate) fn numbers(&self) -> (u32, u32) {
        (self.exchange.store.next_out(), self.exchange.store.next_in())
    }
}
