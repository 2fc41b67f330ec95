//! Order flows in files, as they are used to compare matching engines.
//!
//! The format and the rules are those of flash1-dev/matching-engine-benchmark;
//! files may be compressed with zstd. Little-endian:
//!
//! ```text
//!  header   | magic u64 | version u32 | count u32 |
//!  message  | kind u8 | side u8 | ioc u8 | 0 u8 | quantity u32 | sequence u64 |
//!           | order id u64 | price i64 | 0 u64 |
//!
//!  kind 0 new, 1 cancel, 2 modify; side 0 buy, 1 sell; the price in ticks of 0.005
//! ```
//!
//! An order that is modified is cancelled and comes in again; a fill is at the
//! resting order's price. Every report is a line, lines are sorted by sequence
//! and kind, and their SHA-256 is the result, which many engines agree on.

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::Path;

use ring::digest::{SHA256, digest};
use tapeline_instrument::{Cause, IdSpace, Instrument, Price, Session, Side, TickTable};
use tapeline_matching::{
    BookId, Command, Config, Ending, Engine, Event, Events, NewOrder, Owner, TimeInForce,
};

use crate::error::ExchangeError;

const HEADER: usize = 16;
const RECORD: usize = 40;

/// The first bytes of a file that zstd has compressed.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Units of a price that are a tick of the flow: 0.005.
const TICK: i64 = Price::UNIT / 200;

/// What a message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// An order comes.
    New,
    /// An order goes.
    Cancel,
    /// An order gets another price and quantity.
    Modify,
}

/// One message of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it asks for.
    pub kind: MessageKind,
    /// Buy or sell.
    pub side: Side,
    /// What does not trade at once is cancelled.
    pub is_immediate: bool,
    /// How much.
    pub quantity: u32,
    /// Its number in the flow.
    pub sequence: u32,
    /// The order it is about; such numbers are below two to the 24th.
    pub id: u32,
    /// In ticks of 0.005.
    pub price: i32,
}

/// A flow of orders for one book.
#[derive(Clone, Debug)]
pub struct Flow {
    messages: Vec<Message>,
    /// Above every order's number.
    ids: u32,
}

impl Flow {
    /// Reads a flow from a file.
    ///
    /// # Errors
    /// It cannot be read, or is no flow.
    pub fn open(path: &Path) -> Result<Self, ExchangeError> {
        let file = path.display().to_string();
        let io = |error| ExchangeError::Io { file: file.clone(), error };
        let mut bytes = fs::read(path).map_err(io)?;
        if bytes.starts_with(&ZSTD) {
            let mut plain = Vec::new();
            let mut decoder = zstd::Decoder::new(&bytes[..]).map_err(io)?;
            decoder.read_to_end(&mut plain).map_err(io)?;
            bytes = plain;
        }
        Self::read(&bytes).map_err(|fault| ExchangeError::Flow { file, fault })
    }

    /// Reads a flow that is not compressed; the error says what is wrong.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let Some((header, records)) = bytes.split_at_checked(HEADER) else {
            return Err("it ends within its header".to_owned());
        };
        let count = u32_at(header, 12) as usize;
        if records.len() != count * RECORD {
            let len = records.len();
            return Err(format!(
                "its header says {count} messages of 40 bytes, {len} bytes follow"
            ));
        }
        let mut messages = Vec::with_capacity(count);
        for (at, record) in records.chunks_exact(RECORD).enumerate() {
            let message = message(record).ok_or_else(|| format!("message {at} is none"))?;
            messages.push(message);
        }
        Ok(Self::new(messages))
    }

    /// A flow of these messages.
    pub fn new(messages: Vec<Message>) -> Self {
        let ids = messages.iter().map(|message| message.id + 1).max().unwrap_or(0);
        Self { messages, ids }
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// A number above that of every order.
    pub fn ids(&self) -> u32 {
        self.ids
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | (u64::from(u32_at(bytes, at + 4)) << 32)
}

fn message(record: &[u8]) -> Option<Message> {
    let kind = match record[0] {
        0 => MessageKind::New,
        1 => MessageKind::Cancel,
        2 => MessageKind::Modify,
        _ => return None,
    };
    let side = match record[1] {
        0 => Side::Buy,
        1 => Side::Sell,
        _ => return None,
    };
    Some(Message {
        kind,
        side,
        is_immediate: record[2] != 0,
        quantity: u32_at(record, 4),
        sequence: u64_at(record, 8).try_into().ok()?,
        id: u64_at(record, 16).try_into().ok().filter(|id| *id < 1 << 24)?,
        price: (u64_at(record, 24) as i64).try_into().ok()?,
    })
}

/// One line of the result, before it is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A new order is taken.
    Accepted(Message),
    /// Two orders met.
    Traded {
        /// Of the message that brought the second one.
        sequence: u32,
        /// In ticks.
        price: i32,
        /// How much.
        quantity: u32,
        /// The order that rested.
        maker: u32,
        /// The order that came.
        taker: u32,
    },
    /// An order is gone, or what is left of an immediate one.
    Cancelled(Message),
    /// An order has another price and quantity.
    Modified(Message),
    /// There is no order to cancel.
    CancelRejected {
        /// Of the message.
        sequence: u32,
        /// Of the order.
        id: u32,
    },
    /// There is no order to modify.
    ModifyRejected {
        /// Of the message.
        sequence: u32,
        /// Of the order.
        id: u32,
    },
}

impl Report {
    /// Reports with the same key keep their order.
    fn key(&self) -> (u32, u8) {
        match self {
            Self::Accepted(message) => (message.sequence, 0),
            Self::Traded { sequence, .. } => (*sequence, 1),
            Self::Cancelled(message) => (message.sequence, 2),
            Self::Modified(message) => (message.sequence, 3),
            Self::CancelRejected { sequence, .. } => (*sequence, 4),
            Self::ModifyRejected { sequence, .. } => (*sequence, 5),
        }
    }

    fn write(&self, out: &mut String) {
        let (sequence, kind) = self.key();
        let _ = match self {
            Self::Accepted(of) | Self::Modified(of) => {
                let side = of.side as u8;
                write!(out, "{kind},{sequence},{side},{},{},{}", of.id, of.price, of.quantity)
            }
            Self::Cancelled(of) => {
                write!(out, "{kind},{sequence},{},{},{}", of.side as u8, of.id, of.price)
            }
            Self::Traded { price, quantity, maker, taker, .. } => {
                write!(out, "{kind},{sequence},{price},{quantity},{maker},{taker}")
            }
            Self::CancelRejected { id, .. } | Self::ModifyRejected { id, .. } => {
                write!(out, "{kind},{sequence},{id}")
            }
        };
    }
}

/// The SHA-256 of a result's lines, in hexadecimal.
pub fn hash(reports: &mut [Report]) -> String {
    reports.sort_by_key(Report::key);
    let mut text = String::with_capacity(reports.len() * 40);
    for report in reports.iter() {
        if !text.is_empty() {
            text.push('\n');
        }
        report.write(&mut text);
    }
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The engine, with what the rules of the flow add to it.
pub struct Runner {
    engine: Engine,
    book: BookId,
    out: Reporter,
}

/// Makes reports of events.
struct Reporter {
    /// What the events are about.
    message: Message,
    /// A cancel is the first half of a modification.
    is_half: bool,
    is_refused: bool,
    /// The running number in the engine's id of each of the flow's orders: all of them
    /// come at the same time, so nothing else differs. 0 for none.
    running: Vec<u32>,
    /// The flow's number of what is in each slot.
    numbers: Vec<u32>,
    reports: Vec<Report>,
}

impl Events for Reporter {
    // Each place that says something knows what it is: nothing is left of the `match`.
    #[allow(clippy::inline_always, reason = "an event is 150 bytes, most of which nobody reads")]
    #[inline(always)]
    fn event(&mut self, event: Event) {
        match event {
            Event::Traded { price, quantity, maker, .. } => self.reports.push(Report::Traded {
                sequence: self.message.sequence,
                price: (price.0 / TICK) as i32,
                quantity,
                maker: self.numbers[maker.slot as usize],
                taker: self.message.id,
            }),
            Event::Rested { order, .. } => {
                self.running[self.message.id as usize] = order.id.running();
            }
            Event::Ended { shown, cause, .. } if !self.is_half => {
                let price = (shown.price.0 / TICK) as i32;
                let side = shown.side;
                debug_assert!(matches!(cause, Ending::Cancelled | Ending::Expired), "{cause:?}");
                self.reports.push(Report::Cancelled(Message { side, price, ..self.message }));
            }
            Event::Refused { .. } => self.is_refused = true,
            _ => {}
        }
    }
}

impl Runner {
    /// An engine that has room for all orders of a flow.
    ///
    /// # Errors
    /// The tick of the flow is no tick; it is.
    pub fn new(flow: &Flow) -> Result<Self, ExchangeError> {
        let max_orders = flow.ids().max(1);
        let mut engine = Engine::new(&Config { ids: IDS, max_orders, ..Config::default() });
        let ticks = TickTable::flat(Price(TICK))?;
        let book = engine.add(Instrument::new(1, "FLOW", ticks));
        for session in [Session::OpeningCall, Session::Regular] {
            let command = Command::Session { book, session, cause: Cause::Scheduled };
            engine.handle(0, &command, &mut ());
        }
        let out = Reporter {
            message: NO_MESSAGE,
            is_half: false,
            is_refused: false,
            running: vec![0; flow.ids() as usize],
            numbers: vec![0; max_orders as usize + 1],
            reports: room_for_reports(flow),
        };
        Ok(Self { engine, book, out })
    }

    /// Runs all messages.
    #[inline(never)]
    pub fn run(&mut self, messages: &[Message]) {
        for message in messages {
            match message.kind {
                MessageKind::New => {
                    self.out.reports.push(Report::Accepted(*message));
                    self.enter(message);
                }
                MessageKind::Cancel => {
                    if self.cancel(message, false) {
                        let (sequence, id) = (message.sequence, message.id);
                        self.out.reports.push(Report::CancelRejected { sequence, id });
                    }
                }
                MessageKind::Modify => self.modify(message),
            }
        }
    }

    #[inline]
    fn modify(&mut self, message: &Message) {
        if self.cancel(message, true) {
            let (sequence, id) = (message.sequence, message.id);
            return self.out.reports.push(Report::ModifyRejected { sequence, id });
        }
        self.out.reports.push(Report::Modified(*message));
        self.enter(message);
    }

    #[inline]
    fn enter(&mut self, message: &Message) {
        let price = Price(i64::from(message.price) * TICK);
        let mut order = NewOrder::limit(self.book, OWNER, message.side, message.quantity, price);
        if message.is_immediate {
            order.time_in_force = TimeInForce::ImmediateOrCancel;
        }
        let Self { engine, out, .. } = self;
        out.numbers[engine.next_slot() as usize] = message.id;
        (out.message, out.is_half, out.is_refused) = (*message, false, false);
        engine.enter(NOW_NS, &order, out);
        debug_assert!(!out.is_refused, "{message:?} is refused");
    }

    /// Whether there is nothing to cancel.
    #[inline]
    fn cancel(&mut self, message: &Message, is_half: bool) -> bool {
        let Self { engine, out, .. } = self;
        let Some(running) = out.running.get(message.id as usize) else { return true };
        let id = IDS.order(NOW_NS, *running);
        (out.message, out.is_half, out.is_refused) = (*message, is_half, false);
        engine.cancel(id, OWNER, out);
        out.is_refused
    }

    /// What is in the book on a side, the best price first and at each price the oldest
    /// first: prices in ticks, and how much.
    pub fn depth(&self, side: Side) -> impl Iterator<Item = (i32, u32)> {
        let orders = self.engine.depth(self.book, side);
        orders.filter_map(|order| Some(((order.price?.0 / TICK) as i32, order.quantity)))
    }

    /// What has come of it so far.
    pub fn reports(&self) -> &[Report] {
        &self.out.reports
    }

    /// What came of it.
    pub fn into_reports(self) -> Vec<Report> {
        self.out.reports
    }
}

const OWNER: Owner = Owner { firm: 1, user: 1 };

const IDS: IdSpace = IdSpace { id: 0, partition: 1, thread: 0 };

/// When all of it happens.
const NOW_NS: u64 = 0;

const NO_MESSAGE: Message = Message {
    kind: MessageKind::New,
    side: Side::Buy,
    is_immediate: false,
    quantity: 0,
    sequence: 0,
    id: 0,
    price: 0,
};

/// Room for all reports of a flow. It is written to, so that the system has given all of it
/// before anybody measures.
pub fn room_for_reports(flow: &Flow) -> Vec<Report> {
    let none = Report::CancelRejected { sequence: 0, id: 0 };
    let mut reports = vec![none; flow.messages().len() * 2];
    reports.clear();
    reports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(
        kind: u8,
        side: u8,
        ioc: u8,
        quantity: u32,
        sequence: u64,
        id: u64,
        price: i64,
    ) -> Vec<u8> {
        let mut bytes = vec![kind, side, ioc, 0];
        bytes.extend(quantity.to_le_bytes());
        bytes.extend(sequence.to_le_bytes());
        bytes.extend(id.to_le_bytes());
        bytes.extend(price.to_le_bytes());
        bytes.extend([0; 8]);
        bytes
    }

    fn flow(records: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend((records.len() as u32).to_le_bytes());
        bytes.extend(records.concat());
        bytes
    }

    fn lines(flow: &Flow) -> Vec<String> {
        let mut runner = Runner::new(flow).expect("an engine");
        runner.run(flow.messages());
        let mut reports = runner.into_reports();
        reports.sort_by_key(Report::key);
        let line = |report: &Report| {
            let mut line = String::new();
            report.write(&mut line);
            line
        };
        reports.iter().map(line).collect()
    }

    #[test]
    fn every_kind_of_message_has_its_lines() {
        let flow = Flow::read(&flow(&[
            record(0, 1, 0, 100, 0, 7, 2000),
            record(0, 0, 1, 150, 1, 8, 2001),
            record(1, 0, 0, 0, 2, 7, 0),
            record(2, 0, 0, 5, 3, 9, 1999),
            record(0, 0, 0, 10, 4, 9, 1990),
            record(0, 1, 0, 10, 5, 3, 2000),
            record(2, 0, 0, 15, 6, 9, 2000),
            record(1, 0, 0, 0, 7, 9, 0),
        ]))
        .expect("a flow");
        assert_eq!(
            lines(&flow),
            [
                "0,0,1,7,2000,100",
                "0,1,0,8,2001,150",
                "1,1,2000,100,7,8",
                "2,1,0,8,2001",
                "4,2,7",
                "5,3,9",
                "0,4,0,9,1990,10",
                "0,5,1,3,2000,10",
                "1,6,2000,10,3,9",
                "3,6,0,9,2000,15",
                "2,7,0,9,2000",
            ]
        );
    }

    #[test]
    fn what_is_no_flow_says_why() {
        let error = |bytes: &[u8]| Flow::read(bytes).expect_err("no flow");
        assert_eq!(error(&[0; 15]), "it ends within its header");
        let mut cut = flow(&[record(0, 0, 0, 1, 0, 1, 1)]);
        cut.pop();
        assert_eq!(error(&cut), "its header says 1 messages of 40 bytes, 39 bytes follow");
        assert_eq!(error(&flow(&[record(3, 0, 0, 1, 0, 1, 1)])), "message 0 is none");
    }
}
