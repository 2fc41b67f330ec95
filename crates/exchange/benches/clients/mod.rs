//! Whoever sends orders, one at a time, by either protocol.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Instant, SystemTime};

use tapeline_fix::{Credentials, Initiator, Store, Verdict, Writer, tag};
use tapeline_layout::Text;
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Frames, Message};
use tapeline_time::Time;

use crate::orders::native_order;
use crate::{Failed, PATIENCE};

/// Whoever sends orders, one at a time.
pub(crate) trait Client {
    /// Sends an order and waits for its report. Each second one trades with the one
    /// before. Returns when it was sent.
    fn round_trip(&mut self, number: u64) -> Result<Instant, Failed>;
}

fn connect(door: &str) -> Option<TcpStream> {
    let stream = TcpStream::connect(door).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    Some(stream)
}

/// By the native gateway.
pub(crate) struct Native {
    stream: TcpStream,
    frames: Frames,
    bytes: Vec<u8>,
}

impl Native {
    pub(crate) fn log_on(door: &str) -> Option<Self> {
        let stream = connect(door)?;
        let mut client = Self { stream, frames: Frames::default(), bytes: Vec::new() };
        let (user, password) = (Text::new("ANN"), Text::new("a-secret1"));
        client
            .say(&Message::Logon(Logon { user, password, version: 1, ..Logon::default() }))
            .ok()?;
        let mut is_in = None;
        while is_in.is_none() {
            client
                .hear(|message| {
                    if let Message::LogonReply(reply) = message {
                        is_in = Some(reply.reject_code == 0);
                    }
                })
                .ok()?;
        }
        (is_in == Some(true)).then_some(client)
    }

    fn say(&mut self, message: &Message) -> Result<(), Failed> {
        self.bytes.clear();
        message.append(&mut self.bytes);
        Ok(self.stream.write_all(&self.bytes)?)
    }

    /// Waits for something to come, and looks at it.
    fn hear(&mut self, mut each: impl FnMut(Message)) -> Result<(), Failed> {
        let mut room = [0; 4096];
        let len = self.stream.read(&mut room)?;
        if len == 0 {
            return Err("the exchange closed the connection".into());
        }
        let read = self.frames.read(&room[..len], |frame| {
            Message::read(frame).into_iter().for_each(&mut each);
            true
        });
        read.map_err(|_| "what came are no messages")?;
        Ok(())
    }
}

impl Client for Native {
    fn round_trip(&mut self, number: u64) -> Result<Instant, Failed> {
        let order = native_order(number);
        let begun = Instant::now();
        self.say(&Message::NewOrder(order))?;
        let mut is_there = false;
        while !is_there {
            self.hear(|message| {
                if let Message::ExecutionReport(report) = message {
                    is_there |= report.cl_ord_id == order.cl_ord_id;
                }
            })?;
        }
        Ok(begun)
    }
}

/// By FIX.
pub(crate) struct Fix {
    stream: TcpStream,
    initiator: Initiator,
    store: Store,
    bytes: Vec<u8>,
}

impl Fix {
    pub(crate) fn log_on(door: &str) -> Option<Self> {
        let initiator = Initiator::new(Time::ZERO, b"ANN", b"FGW", 60);
        let (store, bytes) = (Store::new(1_000), Vec::new());
        let mut client = Self { stream: connect(door)?, initiator, store, bytes };
        let credentials = Credentials { password: b"a-secret1", ..Credentials::default() };
        let Self { initiator, store, bytes, .. } = &mut client;
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        initiator.log_on(Time::ZERO, now_ns(), &credentials, store, send);
        client.write().ok()?;
        while !client.initiator.is_active() {
            client.hear(|_| {}).ok()?;
        }
        Some(client)
    }

    fn write(&mut self) -> Result<(), Failed> {
        self.stream.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn hear(&mut self, each: impl FnMut(&tapeline_fix::Message<'_>)) -> Result<(), Failed> {
        let mut room = [0; 4096];
        let len = self.stream.read(&mut room)?;
        let Self { initiator, store, bytes, .. } = self;
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        match initiator.received(Time::ZERO, now_ns(), &room[..len], store, send, each) {
            Verdict::Open if len > 0 => self.write(),
            _ => Err("the exchange closed the connection".into()),
        }
    }
}

impl Client for Fix {
    fn round_trip(&mut self, number: u64) -> Result<Instant, Failed> {
        let name = format!("N{number}");
        let side = b'1' + (number % 2) as u8;
        let begun = Instant::now();
        let order = |fields: &mut Writer<'_>| {
            fields.text(tag::CL_ORD_ID, name.as_bytes());
            fields.byte(tag::SECURITY_ID, b'7').byte(tag::SECURITY_ID_SOURCE, b'8');
            fields.byte(tag::ORD_TYPE, b'2').byte(tag::SIDE, side).byte(tag::ORDER_QTY, b'1');
            fields.byte(tag::DISPLAY_QTY, b'1').decimal(tag::PRICE, 1_000_000_000);
            fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
            fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
            fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
            fields.time(tag::TRANSACT_TIME, now_ns());
        };
        let Self { initiator, store, bytes, .. } = self;
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        initiator.send(Time::ZERO, now_ns(), b"D", order, store, send);
        self.write()?;
        let mut is_there = false;
        while !is_there {
            self.hear(|message| is_there |= message.get(tag::CL_ORD_ID) == Some(name.as_bytes()))?;
        }
        Ok(begun)
    }
}

/// Nanoseconds since 1970 UTC.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
