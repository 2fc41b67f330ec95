//! Somebody who reads market data of processes: both lines, and what was missed by replay
//! and snapshot.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use tapeline_instrument::Side;
use tapeline_mitch::{Books, Message, Outputs, Progress, Reader, Requester, State, Unit};
use tapeline_time::Time;

use crate::processes::{PATIENCE, Running, own_address};

/// What a reader asks for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Replay(u32, u16),
    Snapshot,
}

/// What comes of it.
#[derive(Default)]
struct Book {
    books: Books,
    asked: Option<Asked>,
}

impl Outputs for Book {
    fn message(&mut self, _: u32, message: &Message) {
        self.books.apply(message);
    }

    fn ask_replay(&mut self, first: u32, count: u16) {
        self.asked = Some(Asked::Replay(first, count));
    }

    fn ask_snapshot(&mut self) {
        self.asked = Some(Asked::Snapshot);
    }

    fn set_stale(&mut self, _: bool) {}

    fn restart(&mut self) {
        self.books = Books::default();
    }
}

/// Units that somebody answers, one behind the other as they came; `None` if he does not.
fn units(at: &str, ask: impl FnOnce(&mut Requester, Time) -> bool) -> Option<Vec<Vec<u8>>> {
    let begun = Instant::now();
    let now = || Time::from_nanos(begun.elapsed().as_nanos() as u64);
    let mut stream = TcpStream::connect(at).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut requester = Requester::new(b'A', "FEED", "FEED");
    assert!(!ask(&mut requester, now()), "it is not connected yet");
    assert!(requester.connects(now()), "it wants to be connected at once");
    let (mut answer, mut out, mut room) = (Vec::new(), Vec::new(), [0; 16 << 10]);
    requester.connected(now(), &mut |bytes| out.extend_from_slice(bytes));
    loop {
        stream.write_all(&out).ok()?;
        out.clear();
        let len = stream.read(&mut room).ok().filter(|len| *len > 0)?;
        let say = &mut |bytes: &[u8]| out.extend_from_slice(bytes);
        let each = |unit: &[u8]| answer.push(unit.to_vec());
        match requester.received(now(), &room[..len], say, each) {
            Progress::Going => {}
            Progress::Done => return Some(answer),
            Progress::Failed => return None,
        }
    }
}

/// Messages again, as they came.
pub(crate) fn replay(at: &Running, first: u32, count: u16) -> Option<Vec<Vec<u8>>> {
    units(&at.ports["replay"], |it, now| it.ask_replay(now, first, count))
}

fn whole_snapshot(at: &Running) -> Option<Vec<Vec<u8>>> {
    units(&at.ports["snapshot"], |it, now| it.ask_snapshot(now, "SETS"))
}

/// All orders, as they came, but for the second of the day at which they were asked for.
pub(crate) fn snapshot(at: &Running) -> Option<Vec<Vec<u8>>> {
    let is_time = |unit: &Vec<u8>| {
        let first = Unit::read(unit).expect("a unit").messages().next();
        first.is_some_and(|(_, it)| matches!(Message::read(it), Some(Message::Time(_))))
    };
    let mut all = whole_snapshot(at)?;
    all.retain(|unit| !is_time(unit));
    Some(all)
}

/// The orders of the instrument, by side and priority.
fn orders(books: &Books) -> Vec<(u64, u32)> {
    let of = |side| books.side(7, side).map(|(id, quoted)| (id, quoted.quantity));
    Side::BOTH.into_iter().flat_map(of).collect()
}

/// Reads both lines.
pub(crate) struct Watcher {
    lines: [UdpSocket; 2],
    reader: Reader,
    book: Book,
    /// All messages that came on a line, by number.
    seen: BTreeMap<u32, Vec<u8>>,
    pub(crate) doubles: u64,
    /// How often it asked for messages, and for all orders.
    pub(crate) replays: u64,
    pub(crate) snapshots: u64,
    /// When something came last, and the longest time without anything.
    last: Instant,
    longest: Duration,
}

impl Watcher {
    pub(crate) fn new() -> Self {
        let line = || {
            let socket = UdpSocket::bind((own_address(), 0)).expect("a port");
            socket.set_nonblocking(true).expect("a socket");
            socket
        };
        Self {
            lines: [line(), line()],
            reader: Reader::new(b'A', 1_000_000),
            book: Book::default(),
            seen: BTreeMap::new(),
            doubles: 0,
            replays: 0,
            snapshots: 0,
            last: Instant::now(),
            longest: Duration::ZERO,
        }
    }

    pub(crate) fn lines(&self) -> [SocketAddr; 2] {
        [0, 1].map(|at| self.lines[at].local_addr().expect("bound"))
    }

    /// The time without market data is measured from now on.
    pub(crate) fn measure(&mut self) {
        (self.last, self.longest) = (Instant::now(), Duration::ZERO);
    }

    /// The longest one since.
    pub(crate) fn without(&self) -> Duration {
        self.longest.max(self.last.elapsed())
    }

    /// What has come is read, and what is missing is had from any of these.
    pub(crate) fn listen(&mut self, doors: &[&Running]) {
        let mut room = [0; 2048];
        for line in 0..2 {
            // Lines A and B are the same: doubles are counted on one.
            while let Ok(len) = self.lines[line].recv(&mut room) {
                self.take(&room[..len], line == 0);
            }
        }
        let Some(asked) = self.book.asked.take() else { return };
        let answer = match asked {
            Asked::Replay(first, count) => {
                self.replays += 1;
                doors.iter().find_map(|at| replay(at, first, count))
            }
            Asked::Snapshot => {
                self.snapshots += 1;
                doors.iter().find_map(|at| whole_snapshot(at))
            }
        };
        let Self { reader, book, .. } = self;
        for unit in answer.iter().flatten() {
            match asked {
                Asked::Replay(..) => reader.unit(unit, book).expect("a unit"),
                Asked::Snapshot => reader.snapshot_unit(unit, book).expect("a unit"),
            }
        }
        // Nobody has it now: it is asked for again.
        if answer.is_none() {
            self.book.asked = Some(asked);
        }
    }

    fn take(&mut self, bytes: &[u8], is_first: bool) {
        let unit = Unit::read(bytes).expect("a unit");
        for (number, message) in unit.messages() {
            let before = self.seen.insert(number, message.to_vec());
            assert!(before.as_ref().is_none_or(|it| it == message), "two of message {number}");
            self.doubles += u64::from(before.is_some() && is_first);
        }
        if unit.head.count > 0 {
            self.longest = self.longest.max(self.last.elapsed());
            self.last = Instant::now();
        }
        self.reader.unit(bytes, &mut self.book).expect("a unit");
    }

    /// Whether its book is what a process says all orders are.
    pub(crate) fn is_as(&self, at: &Running) -> bool {
        let Some(all) = snapshot(at) else { return false };
        let (mut books, mut in_step) = (Books::default(), 0);
        for unit in &all {
            for (_, bytes) in Unit::read(unit).expect("a unit").messages() {
                match Message::read(bytes).expect("a message") {
                    Message::SnapshotComplete(it) if it.instrument == 7 => in_step = it.sequence,
                    message => books.apply(&message),
                }
            }
        }
        let is_live = self.reader.state() == State::Live && self.reader.next() == in_step + 1;
        is_live && orders(&self.book.books) == orders(&books)
    }

    /// The number of the last message that it has.
    pub(crate) fn last_number(&self) -> u32 {
        self.reader.next() - 1
    }
}
