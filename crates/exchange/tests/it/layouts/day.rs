//! A day of seconds at an exchange in a process of its own: all bytes of its clients,
//! both ways, and all datagrams of both lines.

use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Read, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::time::{SystemTime, UNIX_EPOCH};

use tapeline_layout::Text;
use tapeline_mitch::{
    LoginRequest, LogoutRequest, Message as Mitch, ReplayRequest, SnapshotRequest, Unit,
    append_alone,
};
use tapeline_ntg::client::{Cancel, MassCancel, NewOrder, NewQuote};
use tapeline_ntg::session::{Heartbeat, Logon, Logout, MissedMessageRequest};
use tapeline_ntg::{Frames, Message};

use super::{GATEWAY, LINES, RECOVERY, REPLAY, Recording, SNAPSHOT, of_gateway, of_units};
use crate::processes::{House, Running, wait_for};
use crate::support::{self, VOD, cancel, replace};

const GROUP: u8 = b'A';

/// The day has its noon when it is made.
const DAY_S: u64 = 86_400;
const NOON_S: u64 = 43_200;

/// What begins how many seconds behind noon.
const TURNS: [(u64, &str); 5] = [
    (4, "regular"),
    (9, "closing-call"),
    (11, "closing-price"),
    (12, "post-close"),
    (13, "market-close"),
];

/// A connection, and all that went over it.
struct Wire {
    protocol: &'static str,
    whose: &'static str,
    stream: TcpStream,
    said: Vec<u8>,
    heard: Vec<u8>,
    is_over: bool,
}

impl Wire {
    fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("room");
        self.said.extend_from_slice(bytes);
    }

    fn listen(&mut self) {
        let mut room = [0; 16 << 10];
        while !self.is_over {
            match self.stream.read(&mut room) {
                Ok(len) => {
                    self.is_over = len == 0;
                    self.heard.extend_from_slice(&room[..len]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{}: {error}", self.whose),
            }
        }
    }

    /// The whole messages of the native gateway that were heard, but for heartbeats.
    fn answers(&self) -> Vec<Message> {
        let mut answers = Vec::new();
        let read = Frames::default().read(&self.heard, |frame| {
            answers.extend(Message::read(frame).filter(|answer| answer.kind() != b'0'));
            true
        });
        read.expect("messages");
        answers
    }

    /// The messages of market data that were heard in whole units.
    fn told(&self) -> Vec<Mitch> {
        let (mut told, mut rest) = (Vec::new(), &self.heard[..]);
        while let Some((unit, behind)) =
            Unit::len_of(rest).and_then(|len| rest.split_at_checked(len))
        {
            told.extend(messages(unit));
            rest = behind;
        }
        told
    }
}

fn messages(unit: &[u8]) -> Vec<Mitch> {
    let unit = Unit::read(unit).expect("a unit");
    unit.messages().map(|(_, bytes)| Mitch::read(bytes).expect("a message")).collect()
}

struct Day {
    exchange: Running,
    lines: [UdpSocket; 2],
    datagrams: [Vec<Vec<u8>>; 2],
    wires: Vec<Wire>,
    _house: House,
}

fn market(lines: &[UdpSocket; 2]) -> String {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("behind 1970").as_secs();
    let offset_s = NOON_S as i64 - (now_s % DAY_S) as i64;
    let [a, b] = lines.each_ref().map(|line| line.local_addr().expect("bound"));
    let mut text = format!(
        "[gateway]\nheartbeat-ms = 2000\nsilent-intervals = 60\n\
         [market-data]\nline-a = \"{a}\"\nline-b = \"{b}\"\n\
         [[instrument]]\nid = {VOD}\nname = \"VOD.L\"\ntick = \"0.01\"\n\
         previous-close = \"10.00\"\nisin = \"GB00BH4HKS39\"\n\
         [[user]]\nname = \"ANN\"\npassword = \"a-secret1\"\nfirm = 1\n\
         [[user]]\nname = \"BOB\"\npassword = \"b-secret1\"\nfirm = 2\n\
         [[firm]]\nnumber = 1\nname = \"BRIDGE\"\n\
         [[reader]]\nname = \"FEED\"\npassword = \"secret\"\n\
         [day]\nsessions = \"turns\"\nutc-offset-s = {offset_s}\n\
         [[day.turn]]\nat-s = 0\nsession = \"opening-call\"\n"
    );
    for (second, session) in TURNS {
        let at_s = NOON_S + second;
        let _ = write!(text, "[[day.turn]]\nat-s = {at_s}\nsession = \"{session}\"\n");
    }
    text
}

impl Day {
    fn begin() -> Self {
        let lines = [(); 2].map(|()| {
            let line = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            line.set_nonblocking(true).expect("a socket");
            line
        });
        let mut house = House::new("");
        fs::write(house.path("market.toml"), market(&lines)).expect("room");
        let exchange = house.start_forgetful();
        Self { exchange, lines, datagrams: Default::default(), wires: Vec::new(), _house: house }
    }

    fn connect(&mut self, protocol: &'static str, door: &str, whose: &'static str) -> usize {
        let stream = TcpStream::connect(&self.exchange.ports[door]).expect("it listens");
        stream.set_nonblocking(true).expect("a socket");
        let (said, heard) = (Vec::new(), Vec::new());
        self.wires.push(Wire { protocol, whose, stream, said, heard, is_over: false });
        self.wires.len() - 1
    }

    fn until(&mut self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        wait_for(what, || {
            let mut room = [0; 2048];
            for (line, datagrams) in self.lines.iter().zip(&mut self.datagrams) {
                while let Ok(len) = line.recv(&mut room) {
                    datagrams.push(room[..len].to_vec());
                }
            }
            self.wires.iter_mut().for_each(Wire::listen);
            is_so(self).then_some(())
        });
    }

    /// Says something at the native gateway, and waits for an answer.
    fn ask(&mut self, wire: usize, message: &Message) {
        let before = self.wires[wire].answers().len();
        self.say(wire, message);
        self.until("an answer", |day| day.wires[wire].answers().len() > before);
    }

    fn say(&mut self, wire: usize, message: &Message) {
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        self.wires[wire].say(&bytes);
    }

    /// Says something at a door of market data.
    fn request(&mut self, wire: usize, message: impl Into<Mitch>) {
        let mut bytes = Vec::new();
        append_alone(&mut bytes, GROUP, &message.into());
        self.wires[wire].say(&bytes);
    }

    fn log_on(&mut self, protocol: &'static str, door: &str, user: &'static str) -> usize {
        let wire = self.connect(protocol, door, user);
        let password = format!("{}-secret1", user[..1].to_lowercase());
        let (user, password) = (Text::new(user), Text::new(&password));
        // The first one asks for a version that there is not.
        for version in [2, 1] {
            let logon = Logon { user, password, version, ..Logon::default() };
            self.ask(wire, &Message::Logon(logon));
        }
        wire
    }

    fn log_out(&mut self, wire: usize) {
        self.ask(wire, &Message::Logout(Logout { reason: Text::new("home") }));
        self.until("the end of a connection", |day| day.wires[wire].is_over);
    }

    /// Waits until a session has begun, be it over already.
    fn session(&mut self, character: u8) {
        self.until("a session", |day| {
            day.published().iter().any(|message| match message {
                Mitch::SymbolStatus(status) => status.status == character,
                _ => false,
            })
        });
    }

    /// What was published on the first line.
    fn published(&self) -> Vec<Mitch> {
        self.datagrams[0].iter().flat_map(|unit| messages(unit)).collect()
    }
}

/// An order that the client itself executes.
fn order(name: &str, text: &str) -> NewOrder {
    NewOrder { executing_trader: 3, ..support::order(name, text) }
}

fn new(name: &str, text: &str) -> Message {
    Message::NewOrder(order(name, text))
}

/// The same, of which less is shown.
fn hidden(name: &str, text: &str, display: i32) -> Message {
    Message::NewOrder(NewOrder { display, ..order(name, text) })
}

/// Orders for the opening price, one of them named and one without a limit.
fn opening(day: &mut Day, ann: usize, bob: usize) {
    day.ask(ann, &new("A1", "sell 300@10.00"));
    day.ask(bob, &new("B1", "buy 500@10.03"));
    day.ask(bob, &new("B2", "buy 10"));
    let named = NewOrder { anonymity: 1, ..order("A2", "sell 40@10.50") };
    day.ask(ann, &Message::NewOrder(named));
}

/// Orders that trade, are amended, go, and are refused in each way.
fn trading(day: &mut Day, ann: usize, bob: usize) {
    day.ask(ann, &new("A3", "sell 50@10.10"));
    day.ask(bob, &new("B3", "buy 20@10.10"));
    day.ask(ann, &hidden("A4", "sell 30@10.05", 0));
    day.ask(bob, &new("B4", "buy 30@10.05"));
    day.ask(ann, &hidden("A5", "sell 100@10.20", 10));
    day.ask(bob, &new("B5", "buy 55@10.20"));
    day.ask(ann, &new("A6", "sell 70@10.40"));
    day.ask(ann, &replace("A7", "A6", "sell 60@10.40"));
    day.ask(ann, &cancel("A8", "A7"));
    day.ask(ann, &cancel("A9", "unknown"));
    day.ask(ann, &Message::NewOrder(NewOrder { instrument_id: 99, ..order("A10", "sell 1@10") }));
    day.ask(ann, &Message::NewOrder(NewOrder { side: 9, ..order("A11", "sell 1@10") }));
    day.ask(ann, &Message::Cancel(Cancel::default()));
    let quote = NewQuote {
        cl_ord_id: Text::new("A12"),
        clearing_account: 3,
        instrument_id: VOD,
        bid: 950_000_000,
        bid_size: 5,
        ask: 1_150_000_000,
        ask_size: 6,
        capacity: 2,
        executing_trader: 3,
        ..NewQuote::default()
    };
    day.ask(ann, &Message::NewQuote(quote));
    let all =
        MassCancel { cl_ord_id: Text::new("A13"), kind: 7, sub_type: 3, ..MassCancel::default() };
    day.ask(ann, &Message::MassCancel(all));
    day.say(ann, &Message::Heartbeat(Heartbeat {}));
}

/// What a user can have again.
fn recovery(day: &mut Day) {
    let wire = day.log_on(RECOVERY, "recovery", "ANN");
    for (app_id, last_sequence) in [(3, 1), (1, 1)] {
        let missed = MissedMessageRequest { app_id, last_sequence };
        day.ask(wire, &Message::MissedMessageRequest(missed));
    }
    day.until("what was missed", |day| {
        day.wires[wire].answers().iter().any(|answer| answer.kind() == b'P')
    });
    day.until("a heartbeat", |day| day.wires[wire].heard.ends_with(&[2, 1, 0, b'0']));
    day.log_out(wire);
}

/// What was published again, and the orders as they are.
fn readers(day: &mut Day) {
    let login = LoginRequest { user: Text::new("FEED"), password: Text::new("secret") };
    let wire = day.connect(REPLAY, "replay", "FEED");
    day.request(wire, login);
    let count = day.published().len() as u16;
    for (first, count) in [(60_000, 10), (1, count)] {
        day.request(wire, ReplayRequest { group: GROUP, first, count });
    }
    // A login, two answers, and the messages.
    day.until("a replay", |day| day.wires[wire].told().len() == 3 + usize::from(count));
    day.request(wire, LogoutRequest {});
    day.until("the end of a replay", |day| day.wires[wire].is_over);

    let wire = day.connect(SNAPSHOT, "snapshot", "FEED");
    day.request(wire, login);
    // Neither a segment nor an instrument; then the segment.
    for segment in ["", "SETS"] {
        let segment = Text::new(segment);
        day.request(wire, SnapshotRequest { segment, ..SnapshotRequest::default() });
    }
    day.until("a snapshot", |day| {
        let told = day.wires[wire].told();
        matches!(told.last(), Some(Mitch::SnapshotComplete(of)) if !of.segment.is_empty())
    });
    day.request(wire, LogoutRequest {});
    day.until("the end of a snapshot", |day| day.wires[wire].is_over);
}

fn closing(day: &mut Day, ann: usize, bob: usize) {
    day.ask(ann, &new("A14", "sell 25@10.02"));
    day.ask(bob, &new("B14", "buy 15@10.02"));
}

fn recorded(day: &Day) -> Recording {
    let mut recording = Recording::default();
    for (line, datagrams) in ["line A", "line B"].into_iter().zip(&day.datagrams) {
        for datagram in datagrams {
            recording.add(LINES, line, datagram, &of_units(datagram));
        }
    }
    for Wire { protocol, whose, said, heard, .. } in &day.wires {
        for (way, bytes) in [("said", said), ("heard", heard)] {
            let messages = match *protocol {
                GATEWAY | RECOVERY => of_gateway(bytes),
                _ => of_units(bytes),
            };
            recording.add(protocol, &format!("{whose}, {way}"), bytes, &messages);
        }
    }
    recording
}

#[test]
fn a_days_bytes_are_whole_messages() {
    let mut day = Day::begin();
    let [ann, bob] = ["ANN", "BOB"].map(|user| day.log_on(GATEWAY, "orders", user));
    opening(&mut day, ann, bob);
    day.session(b'T');
    trading(&mut day, ann, bob);
    recovery(&mut day);
    readers(&mut day);
    day.session(b'd');
    closing(&mut day, ann, bob);
    day.session(b'c');
    for wire in [ann, bob] {
        day.log_out(wire);
    }
    let bytes = |line: &Vec<Vec<u8>>| line.iter().map(Vec::len).sum::<usize>();
    let [a, b] = day.datagrams.each_ref().map(bytes);
    assert!(a > 1_000, "{a} bytes and {b}");
    let recording = recorded(&day);
    // Whatever session it was by the clock when an order came.
    for kind in [
        "logon_message",
        "logon_reply_message",
        "logout_message",
        "heartbeat_message",
        "reject_message",
        "new_order_message",
        "new_quote_message",
        "order_cancel_replace_request_message",
        "order_cancel_request_message",
        "order_mass_cancel_request_message",
        "execution_report_message",
        "order_cancel_reject_message",
        "order_mass_cancel_report_message",
        "business_reject_message",
    ] {
        assert!(recording.kinds.contains(&(GATEWAY, kind)), "no {kind}");
    }
    recording.keep("day.jsonl");
}
