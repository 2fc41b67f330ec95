//! An exchange without sockets: what goes in are messages, what comes out are lines.

pub(crate) mod fix;
pub(crate) mod watcher;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use tapeline_exchange::{Door, Exchange, ExchangeConfig, Keeping, Outputs, SessionId, UserConfig};
use tapeline_instrument::{Instrument, Price, TickTable};
use tapeline_layout::Text;
use tapeline_matching::SelfMatch;
use tapeline_mitch::{Message as Mitch, Unit};
use tapeline_ntg::client::{Cancel, CancelReplace, NewOrder};
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Frames, Limits, Message};
use tapeline_sequence::{Entry, EventHash};
use tapeline_time::Time;

/// Midnight of a day in 2024.
pub(crate) const EPOCH_NS: u64 = 19_800 * 86_400_000_000_000;

pub(crate) const VOD: i32 = 7;

/// Everything that an exchange did.
#[derive(Default)]
pub(crate) struct Wires {
    /// Bytes to each connection.
    pub(crate) to: BTreeMap<SessionId, Vec<u8>>,
    pub(crate) closed: Vec<SessionId>,
    pub(crate) units: Vec<Vec<u8>>,
    /// What happened, as lines.
    pub(crate) lines: Vec<String>,
    /// Bytes are not taken any more.
    pub(crate) is_stuck: bool,
    /// Entries of the sequencer, one behind the other.
    pub(crate) entries: Vec<u8>,
    /// What all events came to, by entries.
    pub(crate) checked: Vec<(u64, EventHash)>,
    /// Entries are kept when somebody says so.
    pub(crate) keeps_later: bool,
    names: BTreeMap<SessionId, &'static str>,
}

impl Outputs for Wires {
    fn keep(&mut self, _: u64, entry: &[u8]) -> Keeping {
        self.entries.extend_from_slice(entry);
        if self.keeps_later { Keeping::UnderWay } else { Keeping::Done }
    }

    fn checked(&mut self, index: u64, hash: EventHash) {
        self.checked.push((index, hash));
    }

    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        self.to.entry(session).or_default().extend_from_slice(bytes);
        let who = self.names.get(&session).copied().unwrap_or("?");
        if bytes[0] == tapeline_ntg::START {
            let read = Frames::default().read(bytes, |frame| {
                self.lines.push(format!("{who} < {}", told(frame)));
                true
            });
            read.expect("messages");
        }
    }

    fn close(&mut self, session: SessionId) {
        self.closed.push(session);
        self.lines.push(format!("{} closed", self.names.get(&session).copied().unwrap_or("?")));
    }

    fn publish(&mut self, unit: &[u8]) {
        self.units.push(unit.to_vec());
        for (_, bytes) in Unit::read(unit).expect("a unit").messages() {
            if let Some(line) = published(&Mitch::read(bytes).expect("a message")) {
                self.lines.push(line);
            }
        }
    }

    fn queued(&self, session: SessionId) -> usize {
        if self.is_stuck { self.to.get(&session).map_or(0, Vec::len) } else { 0 }
    }
}

/// A message of the gateway in short.
fn told(frame: &[u8]) -> String {
    match Message::read(frame).expect("a message") {
        Message::ExecutionReport(report) => {
            let mut line = format!(
                "{}/{} {} leaves {}",
                char::from(report.exec_type),
                report.order_status,
                report.cl_ord_id,
                report.leaves
            );
            if report.exec_type == b'F' {
                let price = Price(report.price);
                let got = char::from(report.liquidity);
                let _ = write!(line, " {}@{price} {got}", report.quantity);
                if report.flags != 0 {
                    let _ = write!(line, " flags {}", report.flags);
                }
            }
            if report.exec_type == b'H' {
                let price = Price(report.price);
                let _ = write!(line, " {}@{price} not traded", report.quantity);
            }
            if report.reject_code != 0 {
                let _ = write!(line, " code {}", report.reject_code);
            }
            line
        }
        Message::CancelReject(reject) => {
            format!("9 {} {} app {}", reject.cl_ord_id, reject.reason, reject.app_id)
        }
        Message::BusinessReject(reject) => {
            format!("j {} {} app {}", reject.cl_ord_id, reject.code, reject.app_id)
        }
        Message::MassCancelReport(report) => format!("r {} {}", report.cl_ord_id, report.response),
        Message::LogonReply(reply) => format!("B {}", reply.reject_code),
        Message::Logout(logout) => format!("5 {}", logout.reason),
        Message::Reject(reject) => format!("3 {} {}", reject.code, reject.reason),
        Message::Heartbeat(_) => "0".to_owned(),
        Message::MissedMessageAck(ack) => format!("N {}", ack.status),
        Message::MissedMessageReport(report) => format!("P {}", report.status),
        other => format!("{other:?}"),
    }
}

/// A message of market data in short; `None` for those of which there are too many.
fn published(message: &Mitch) -> Option<String> {
    Some(match message {
        Mitch::AddOrder(add) => {
            format!("A {} {}@{}", char::from(add.side), add.quantity, add.price.0)
        }
        Mitch::AddAttributedOrder(add) => {
            let name = add.attribution.as_str();
            format!("F {} {}@{} {name}", char::from(add.side), add.quantity, add.price.0)
        }
        Mitch::OrderDeleted(_) => "D".to_owned(),
        Mitch::OrderModified(modified) => {
            format!("U {}@{} {}", modified.quantity, modified.price.0, modified.flags)
        }
        Mitch::Executed(executed) => format!("E {}", executed.quantity),
        Mitch::ExecutedAtPrice(executed) => format!("C {}", executed.quantity),
        Mitch::Trade(trade) => {
            format!("P {}@{}{}", trade.quantity, trade.price.0, cancelled(trade.flags))
        }
        Mitch::AuctionTrade(trade) => {
            format!("Q {}@{}{}", trade.quantity, trade.price.0, cancelled(trade.flags))
        }
        Mitch::AuctionInfo(info) => format!("I {}@{}", info.paired, info.price.0),
        Mitch::OrderBookClear(_) => "y".to_owned(),
        Mitch::TopOfBook(top) => {
            format!("q {}@{} {}@{}", top.bid_size, top.bid.0, top.ask_size, top.ask.0)
        }
        Mitch::SymbolStatus(status) => format!("H {}", char::from(status.status)),
        Mitch::Statistics(said) => format!("w {} {}", char::from(said.kind), said.price.0),
        _ => return None,
    })
}

const fn cancelled(flags: u8) -> &'static str {
    if flags & 1 == 0 { "" } else { " cancelled" }
}

/// An exchange, and who talks to it.
pub(crate) struct Venue {
    pub(crate) exchange: Exchange,
    pub(crate) wires: Wires,
    pub(crate) now: Time,
}

pub(crate) fn config() -> ExchangeConfig {
    let ticks = TickTable::flat(Price(1_000_000)).expect("a table");
    let user = |name: &str, firm| UserConfig {
        name: name.to_owned(),
        password: format!("{name}-secret1"),
        firm,
        auto_cancel: true,
        self_match: SelfMatch::Allowed,
        copies: Vec::new(),
        stop_after: None,
        settles: Vec::new(),
    };
    ExchangeConfig {
        instruments: vec![Instrument::new(VOD as u32, "VOD.L", ticks)],
        users: vec![user("ANN", 1), user("BOB", 2)],
        limits: Limits { throttle_per_s: u32::MAX, ..Limits::default() },
        max_sessions: 8,
        order_cache_messages: 1_000,
        ..ExchangeConfig::default()
    }
}

impl Venue {
    pub(crate) fn new(config: &ExchangeConfig) -> Self {
        let mut venue = Self {
            exchange: Exchange::new(config, EPOCH_NS),
            wires: Wires::default(),
            now: Time::from_nanos(1_000_000_000),
        };
        venue.exchange.open(venue.now, &mut venue.wires);
        venue.lines();
        venue
    }

    /// A connection, with a name for lines.
    pub(crate) fn connect(&mut self, door: Door, name: &'static str) -> SessionId {
        let session = self.exchange.accepted(self.now, door).expect("there is room");
        self.wires.names.insert(session, name);
        session
    }

    pub(crate) fn log_on(&mut self, name: &'static str) -> SessionId {
        let session = self.connect(Door::Orders, name);
        self.says(session, &logon(name));
        session
    }

    pub(crate) fn says(&mut self, session: SessionId, message: &Message) {
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        self.exchange.received(self.now, session, &bytes, &mut self.wires);
        self.exchange.cycle(self.now, &mut self.wires);
    }

    pub(crate) fn after(&mut self, ms: u64) {
        self.now = self.now.after(Duration::from_millis(ms));
        self.exchange.timeout(self.now, &mut self.wires);
        self.exchange.cycle(self.now, &mut self.wires);
    }

    /// A connection ends without a word.
    pub(crate) fn hangs_up(&mut self, session: SessionId) {
        self.exchange.closed(self.now, session);
        self.exchange.cycle(self.now, &mut self.wires);
    }

    /// What has happened since.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wires.lines)
    }
}

pub(crate) fn logon(name: &str) -> Message {
    Message::Logon(Logon {
        user: Text::new(name),
        password: Text::new(&format!("{name}-secret1")),
        new_password: Text::default(),
        version: 1,
    })
}

/// `buy 100@10.25`, `sell 50` at any price.
pub(crate) fn order(name: &str, text: &str) -> NewOrder {
    let (side, rest) = text.split_once(' ').expect("a side");
    let (quantity, limit) = match rest.split_once('@') {
        Some((quantity, limit)) => (quantity, Some(limit.parse::<Price>().expect("a price"))),
        None => (rest, None),
    };
    let quantity = quantity.parse().expect("a quantity");
    NewOrder {
        cl_ord_id: Text::new(name),
        clearing_account: 1,
        instrument_id: VOD,
        order_type: if limit.is_some() { 2 } else { 1 },
        side: if side == "buy" { 1 } else { 2 },
        quantity,
        display: quantity,
        limit: limit.map_or(0, |limit| limit.0),
        capacity: 2,
        auto_cancel: 1,
        ..NewOrder::default()
    }
}

pub(crate) fn new(name: &str, text: &str) -> Message {
    Message::NewOrder(order(name, text))
}

pub(crate) fn cancel(name: &str, original: &str) -> Message {
    Message::Cancel(Cancel {
        cl_ord_id: Text::new(name),
        orig_cl_ord_id: Text::new(original),
        instrument_id: VOD,
        side: 1,
        ..Cancel::default()
    })
}

/// The text as in [`order`].
pub(crate) fn replace(name: &str, original: &str, text: &str) -> Message {
    let NewOrder { side, quantity, display, limit, .. } = order(name, text);
    Message::CancelReplace(CancelReplace {
        cl_ord_id: Text::new(name),
        orig_cl_ord_id: Text::new(original),
        instrument_id: VOD,
        side,
        quantity,
        display,
        limit,
        stop: -1,
        ..CancelReplace::default()
    })
}

/// A market that goes on with what another one's journal says.
pub(crate) fn successor(config: &ExchangeConfig, before: &Venue) -> Venue {
    let mut venue = Venue {
        exchange: Exchange::new(config, EPOCH_NS),
        wires: Wires::default(),
        now: before.now,
    };
    replay(&mut venue, &before.wires.entries);
    venue
}

/// Does again what entries ask for.
pub(crate) fn replay(venue: &mut Venue, entries: &[u8]) {
    let mut rest = entries;
    while !rest.is_empty() {
        let (entry, behind) = Entry::read(rest).expect("an entry");
        venue.exchange.replay(&entry, &mut venue.wires).expect("the same");
        rest = behind;
    }
}
