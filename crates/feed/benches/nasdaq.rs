//! A day of Nasdaq, made here: what its messages cost to decode, to be kept as books, and
//! to be the items of their instruments; over the same bytes beside the decoding of
//! `itchy`, and the books of a program that is named, which somebody else wrote. In turns.
//!
//! `cargo bench -p tapeline-feed --bench nasdaq -- [--with PROGRAM] [ROUNDS] [MESSAGES]`

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use itchy::MessageStream;
use tapeline_feed::{Action, Book, NasdaqFeed, Order, Side, Trade};
use tapeline_itch::{
    AddOrder, Alpha, Body, Executed, Message, OrderCancelled, OrderDeleted, OrderReplaced, Price4,
};

const INSTRUMENTS: u64 = 1_000;

/// So many messages are read before what they have changed is published.
const MESSAGES_OF_A_TURN: usize = 64;

/// Ticks of 0.01 on either side of the middle, where orders rest.
const TICKS: u64 = 40;

/// Orders of an instrument, on average.
const RESTING: usize = 100;

const MIDDLE: u32 = 1_000_000;

struct Rested {
    order: u64,
    side: u8,
    shares: u32,
}

/// What happens, by a generator whose numbers are the same each time.
struct Day {
    random: u64,
    books: Vec<Vec<Rested>>,
    last_order: u64,
    ns: u64,
}

impl Day {
    fn new() -> Self {
        let books = (0..INSTRUMENTS).map(|_| Vec::new()).collect();
        Self { random: 1, books, last_order: 0, ns: 34_200_000_000_000 }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.random >> 33) % below
    }

    fn price(&mut self, side: u8) -> Price4 {
        // Most of it is near the best price.
        let away = (1 + self.draw(TICKS).min(self.draw(TICKS))) as u32 * 100;
        Price4(if side == b'B' { MIDDLE - away } else { MIDDLE + away })
    }

    fn rest(&mut self, at: usize, side: u8, shares: u32) -> u64 {
        self.last_order += 1;
        let order = self.last_order;
        self.books[at].push(Rested { order, side, shares });
        order
    }

    /// One message: orders come and go, one in twenty trades, one in ten is replaced.
    fn message(&mut self) -> Message {
        let at = self.draw(INSTRUMENTS) as usize;
        let kind = self.draw(100);
        let count = self.books[at].len();
        // An empty book fills, a full one does not.
        let adds = if count < RESTING { 60 } else { 40 };
        let body: Body = if count == 0 || kind < adds {
            let side = if self.draw(2) == 0 { b'B' } else { b'S' };
            let shares = 100 * (1 + self.draw(9)) as u32;
            let price = self.price(side);
            let order = self.rest(at, side, shares);
            AddOrder { order, side, shares, stock: stock(at), price }.into()
        } else {
            let which = self.draw(count as u64) as usize;
            let shares = 1 + self.draw(99) as u32;
            let of = &mut self.books[at][which];
            let (order, side, before) = (of.order, of.side, of.shares);
            if kind >= 90 {
                self.books[at].swap_remove(which);
                let price = self.price(side);
                let new_order = self.rest(at, side, before);
                OrderReplaced { order, new_order, shares: before, price }.into()
            } else if before > shares && kind >= 82 {
                of.shares -= shares;
                match kind {
                    87.. => OrderCancelled { order, shares }.into(),
                    _ => Executed { order, shares, trade: self.ns }.into(),
                }
            } else {
                self.books[at].swap_remove(which);
                OrderDeleted { order }.into()
            }
        };
        self.ns += self.draw(20_000);
        Message::new(at as u16 + 1, self.ns, body)
    }
}

fn stock(at: usize) -> Alpha<8> {
    Alpha::new(&format!("S{at}"))
}

/// So many messages behind each other, each with its length in front.
fn day(count: usize) -> Vec<u8> {
    let (mut day, mut bytes, mut message) = (Day::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        message.clear();
        day.message().append(&mut message);
        bytes.extend_from_slice(&(message.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&message);
    }
    bytes
}

/// What there is between the lengths.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = bytes.split_first_chunk()?;
        let (message, behind) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        bytes = behind;
        Some(message)
    })
}

fn theirs(bytes: &[u8]) -> usize {
    let mut count = 0;
    for read in MessageStream::from_reader(bytes) {
        black_box(read.expect("a message"));
        count += 1;
    }
    count
}

fn decode(bytes: &[u8]) -> usize {
    let mut count = 0;
    for message in messages(bytes) {
        black_box(Message::read(message).expect("a message"));
        count += 1;
    }
    count
}

const fn side(letter: u8) -> Side {
    if letter == b'B' { Side::Bid } else { Side::Ask }
}

/// Changes a book as a message says.
fn change(book: &mut Book, message: &Message) {
    let time_ns = message.head.timestamp.ns();
    match &message.body {
        Body::AddOrder(AddOrder { order, side: of, shares, price, .. }) => {
            let (side, price_nano) = (side(*of), price.nano());
            book.apply(&Action::Add(*order, Order { side, price_nano, size: *shares, time_ns }));
        }
        Body::Executed(Executed { order, shares: size, .. }) => {
            let price_nano = book.order(*order).expect("an order").price_nano;
            book.apply(&Action::Cancel { id: *order, size: *size, time_ns });
            book.apply(&Action::Trade(Trade { price_nano, size: *size, time_ns }));
        }
        Body::OrderCancelled(OrderCancelled { order, shares }) => {
            book.apply(&Action::Cancel { id: *order, size: *shares, time_ns });
        }
        Body::OrderDeleted(OrderDeleted { order }) => {
            book.apply(&Action::Cancel { id: *order, size: u32::MAX, time_ns });
        }
        Body::OrderReplaced(said) => {
            let old = *book.order(said.order).expect("an order");
            book.apply(&Action::Cancel { id: said.order, size: u32::MAX, time_ns });
            let new = Order { price_nano: said.price.nano(), size: said.shares, time_ns, ..old };
            book.apply(&Action::Add(said.new_order, new));
        }
        other => unreachable!("no day has {other:?}"),
    }
}

/// Decodes and keeps the books.
fn keep(bytes: &[u8]) -> (usize, usize) {
    let mut books: Vec<Book> = Vec::new();
    let mut count = 0;
    for message in messages(bytes) {
        let message = Message::read(message).expect("a message");
        let at = usize::from(message.head.locate);
        if books.len() <= at {
            books.resize_with(at + 1, Book::new);
        }
        change(&mut books[at], &message);
        count += 1;
    }
    (count, books.iter().map(Book::order_count).sum())
}

/// Decodes, keeps the books, and writes what a hub would get of each few messages.
fn publish(bytes: &[u8]) -> usize {
    let (mut feed, mut count) = (NasdaqFeed::new(""), 0);
    for message in messages(bytes) {
        feed.message(&Message::read(message).expect("a message"));
        count += 1;
        if count % MESSAGES_OF_A_TURN == 0 {
            let written = feed.publish(|_, update| {
                black_box(update.payload);
            });
            written.expect("it fits");
        }
    }
    assert_eq!(feed.unknown(), 0, "each message is about something that there is");
    count
}

/// A program that keeps the books of a file of messages, each with its length in front,
/// once for each line of its input. It answers each with nanoseconds, how many messages
/// there were, and how many orders are left.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(path: &Path, file: &Path) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(path);
        command.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|why| format!("cannot start {}: {why}", path.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for")
        };
        Ok(Self { child, input: Some(input), output: BufReader::new(output) })
    }

    /// One turn: nanoseconds, messages, orders that are left.
    fn turn(&mut self) -> Result<[usize; 3], Box<dyn Error>> {
        let ended = || "the other program has ended; its messages are above";
        writeln!(self.input.as_mut().ok_or_else(ended)?)?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let words: Result<Vec<usize>, _> = answer.split_whitespace().map(str::parse).collect();
        Ok(words?.try_into().map_err(|_| ended())?)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The end of its input is its end.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// What is done with the bytes, how long it took, and what its time is set against.
struct Row {
    name: &'static str,
    ns: Vec<f64>,
    beside: &'static str,
}

/// Nanoseconds of something that finds all messages.
fn timed(count: usize, way: impl FnOnce() -> usize) -> f64 {
    let began = Instant::now();
    assert_eq!(way(), count);
    began.elapsed().as_nanos() as f64
}

fn print(rows: &[Row], count: usize) {
    println!("| | least | median | most | beside |\n|---|--:|--:|--:|--:|");
    for row in rows {
        let its = rows.iter().find(|other| other.name == row.beside);
        let mut ratios: Vec<f64> = its
            .map(|its| row.ns.iter().zip(&its.ns).map(|(own, its)| own / its).collect())
            .unwrap_or_default();
        ratios.sort_unstable_by(f64::total_cmp);
        let mut ns = row.ns.clone();
        ns.sort_unstable_by(f64::total_cmp);
        let [least, median, most] = [0, ns.len() / 2, ns.len() - 1].map(|at| ns[at] / count as f64);
        let ratio = ratios.get(ratios.len() / 2).map_or(String::new(), |it| format!("{it:.2}"));
        println!("| {} | {least:.1} | {median:.1} | {most:.1} | {ratio} |", row.name);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1).filter(|arg| arg != "--bench").peekable();
    let with = args.next_if(|arg| arg == "--with").and_then(|_| args.next());
    let mut numbers = args.filter_map(|arg| arg.parse().ok());
    let (rounds, count) = (numbers.next().unwrap_or(9), numbers.next().unwrap_or(1_000_000));
    let bytes = day(count);
    let file: PathBuf = env::temp_dir().join(format!("tapeline-nasdaq-{}", std::process::id()));
    let mut other = None;
    if let Some(program) = with {
        fs::write(&file, &bytes)?;
        other = Some(Program::start(Path::new(&program), &file)?);
    }
    let row = |name, beside| Row { name, ns: Vec::new(), beside };
    let mut rows = vec![
        row("itchy, decoded", ""),
        row("decoded", "itchy, decoded"),
        row("decoded, books kept", "the other program, books kept"),
        row("decoded, books kept, updates written", ""),
    ];
    if other.is_some() {
        rows.push(row("the other program, books kept", ""));
    }
    // The first round warms up.
    for round in 0..=rounds {
        let mut left = 0;
        let mut ns = vec![
            timed(count, || theirs(&bytes)),
            timed(count, || decode(&bytes)),
            timed(count, || {
                let (found, orders) = keep(&bytes);
                left = orders;
                found
            }),
            timed(count, || publish(&bytes)),
        ];
        if let Some(other) = &mut other {
            let [took_ns, messages, orders] = other.turn()?;
            assert_eq!((messages, orders), (count, left), "both have the same books");
            ns.push(took_ns as f64);
        }
        if round > 0 {
            rows.iter_mut().zip(ns).for_each(|(row, ns)| row.ns.push(ns));
        }
    }
    println!("{count} messages, {rounds} rounds in turns; ns a message\n");
    print(&rows, count);
    if other.is_some() {
        fs::remove_file(&file)?;
    }
    Ok(())
}
