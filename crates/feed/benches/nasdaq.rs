//! A day of Nasdaq, made here: what its messages cost to decode, and to be the items of
//! their instruments; beside the decoding of `itchy`, which somebody else wrote, over the
//! same bytes. In turns.
//!
//! `cargo bench -p tapeline-feed --bench nasdaq -- [ROUNDS] [MESSAGES]`

use std::env;
use std::hint::black_box;
use std::time::Instant;

use itchy::MessageStream;
use tapeline_feed::NasdaqFeed;
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

/// What is done with the bytes; how many messages it found.
type Way = (&'static str, fn(&[u8]) -> usize);

fn main() {
    let mut numbers = env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (rounds, count) = (numbers.next().unwrap_or(9), numbers.next().unwrap_or(1_000_000));
    let bytes = day(count);
    let ways: [Way; 3] = [
        ("itchy, decoded", theirs),
        ("decoded", decode),
        ("decoded, books kept, updates written", publish),
    ];
    let mut times = [const { Vec::new() }; 3];
    // The first round warms up.
    for round in 0..=rounds {
        for ((_, way), times) in ways.iter().zip(&mut times) {
            let began = Instant::now();
            assert_eq!(way(&bytes), count);
            let ns = began.elapsed().as_nanos() as f64 / count as f64;
            if round > 0 {
                times.push(ns);
            }
        }
    }
    println!("{count} messages, {rounds} rounds in turns; ns a message\n");
    println!("| | least | median | most | by itchy |\n|---|--:|--:|--:|--:|");
    let by_itchy = times[0].clone();
    for ((name, _), times) in ways.iter().zip(&mut times) {
        let mut ratios: Vec<f64> =
            times.iter().zip(&by_itchy).map(|(own, its)| own / its).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        times.sort_unstable_by(f64::total_cmp);
        let [least, median, most] = [0, times.len() / 2, times.len() - 1].map(|at| times[at]);
        let ratio = ratios[ratios.len() / 2];
        println!("| {name} | {least:.1} | {median:.1} | {most:.1} | {ratio:.2} |");
    }
}
