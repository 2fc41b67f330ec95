//! The engine beside matchcore: the same flows of orders, the same results, in
//! turns.
//!
//! `cargo bench -p tapeline-exchange --bench engines -- FILE…`; with `--count
//! ours|matchcore FILE` one of them runs once, for callgrind.

use std::env;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use matchcore::{
    CancelCmd, CommandKind, CommandMeta, CommandOutcome, CommandReport, LimitOrder, NewOrder,
    OrderBook, OrderFlags, OrderId, OrderKind, Price, Quantity, QuantityPolicy, SequenceNumber,
    SubmitCmd, TimeInForce, Timestamp,
};
use tapeline_exchange::{Flow, Message, MessageKind, Report, Runner, hash};
use tapeline_instrument::Side;

const TURNS: usize = 9;

/// matchcore, with what the rules of the flow add to it.
struct Peer {
    book: OrderBook,
    /// How many commands there were; an order's id is the number of its command.
    sequence: u64,
    /// The id of each of the flow's orders, 0 for none.
    ids: Vec<u64>,
    /// The flow's number, the quantity left and the side of each id.
    orders: Vec<Known>,
    reports: Vec<Report>,
}

#[derive(Clone, Copy)]
struct Known {
    number: u32,
    price: i32,
    side: Side,
}

impl Peer {
    fn new(flow: &Flow) -> Self {
        let none = Known { number: 0, price: 0, side: Side::Buy };
        Self {
            book: OrderBook::new("FLOW"),
            sequence: 0,
            ids: vec![0; flow.ids() as usize],
            orders: vec![none; flow.messages().len() * 4 + 1],
            reports: Vec::with_capacity(flow.messages().len() * 2),
        }
    }

    fn execute(&mut self, kind: CommandKind) -> CommandOutcome {
        self.sequence += 1;
        let sequence_number = SequenceNumber(self.sequence);
        let meta = CommandMeta { sequence_number, timestamp: Timestamp(self.sequence) };
        self.book.execute(&matchcore::Command { meta, kind })
    }

    #[inline(never)]
    fn run(&mut self, messages: &[Message]) {
        for message in messages {
            let (sequence, id) = (message.sequence, message.id);
            match message.kind {
                MessageKind::New => {
                    self.reports.push(Report::Accepted(*message));
                    self.enter(message);
                }
                MessageKind::Cancel => match self.cancel(id) {
                    Some(Known { price, side, .. }) => {
                        self.reports.push(Report::Cancelled(Message { side, price, ..*message }));
                    }
                    None => self.reports.push(Report::CancelRejected { sequence, id }),
                },
                MessageKind::Modify => match self.cancel(id) {
                    Some(_) => {
                        self.reports.push(Report::Modified(*message));
                        self.enter(message);
                    }
                    None => self.reports.push(Report::ModifyRejected { sequence, id }),
                },
            }
        }
    }

    fn cancel(&mut self, number: u32) -> Option<Known> {
        let id = self.ids[number as usize];
        if id == 0 {
            return None;
        }
        let command = CancelCmd { order_id: OrderId(id), order_kind: OrderKind::Limit };
        match self.execute(CommandKind::Cancel(command)) {
            CommandOutcome::Applied(_) => Some(self.orders[id as usize]),
            CommandOutcome::Rejected(_) => None,
        }
    }

    /// matchcore 0.4 trades an order that crosses the book without its limit, so
    /// each level that it reaches is an order of its own, of what is there.
    fn enter(&mut self, message: &Message) {
        let limit = Price(message.price as u64);
        let mut left = message.quantity;
        while left > 0 {
            let best = match message.side {
                Side::Buy => self.book.best_ask().filter(|best| best.0 <= limit),
                Side::Sell => self.book.best_bid().filter(|best| best.0 >= limit),
            };
            let Some((_, there)) = best else { break };
            left -= self.submit(message, u64::from(left).min(there.0) as u32, TimeInForce::Ioc);
        }
        match (left, message.is_immediate) {
            (0, _) => {}
            (_, true) => self.reports.push(Report::Cancelled(*message)),
            (_, false) => {
                self.submit(message, left, TimeInForce::Gtc);
                self.ids[message.id as usize] = self.sequence;
            }
        }
    }

    /// Returns how much of it traded.
    fn submit(&mut self, message: &Message, quantity: u32, time: TimeInForce) -> u32 {
        let side = match message.side {
            Side::Buy => matchcore::Side::Buy,
            Side::Sell => matchcore::Side::Sell,
        };
        let order = NewOrder::Limit(LimitOrder::new(
            Price(message.price as u64),
            QuantityPolicy::Standard { quantity: Quantity(u64::from(quantity)) },
            OrderFlags::new(side, false, time),
        ));
        let outcome = self.execute(CommandKind::Submit(SubmitCmd { order }));
        let (number, price) = (message.id, message.price);
        self.orders[self.sequence as usize] = Known { number, price, side: message.side };
        let CommandOutcome::Applied(CommandReport::Submit(effects)) = outcome else { return 0 };
        let mut traded = 0;
        let target = effects.target_order();
        for trade in target.match_result().iter().flat_map(|found| found.trades()) {
            let quantity = trade.quantity().0 as u32;
            traded += quantity;
            self.reports.push(Report::Traded {
                sequence: message.sequence,
                price: trade.price().0 as i32,
                quantity,
                maker: self.orders[trade.maker_order_id().0 as usize].number,
                taker: message.id,
            });
        }
        traded
    }
}

/// One turn: messages a second, and the result.
fn ours(flow: &Flow) -> Result<(f64, Vec<Report>), Box<dyn Error>> {
    let mut runner = Runner::new(flow)?;
    let start = Instant::now();
    runner.run(flow.messages());
    Ok((flow.messages().len() as f64 / start.elapsed().as_secs_f64(), runner.into_reports()))
}

fn theirs(flow: &Flow) -> (f64, Vec<Report>) {
    let mut peer = Peer::new(flow);
    let start = Instant::now();
    peer.run(flow.messages());
    (flow.messages().len() as f64 / start.elapsed().as_secs_f64(), peer.reports)
}

fn spread(rates: &mut [f64]) -> (f64, f64, f64) {
    rates.sort_by(f64::total_cmp);
    (rates[0] / 1e6, rates[rates.len() / 2] / 1e6, rates[rates.len() - 1] / 1e6)
}

fn compare(path: &Path) -> Result<(), Box<dyn Error>> {
    let flow = Flow::open(path)?;
    let (mut own, mut peer) = (Vec::new(), Vec::new());
    let mut hashes = [String::new(), String::new()];
    for turn in 0..TURNS {
        let (rate, mut reports) = ours(&flow)?;
        own.push(rate);
        let (rate, mut others) = theirs(&flow);
        peer.push(rate);
        if turn == 0 {
            hashes = [hash(&mut reports), hash(&mut others)];
        }
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (low, median, high) = spread(&mut own);
    let (their_low, their_median, their_high) = spread(&mut peer);
    let is_same = if hashes[0] == hashes[1] { "the same result" } else { "ANOTHER RESULT" };
    println!("{name}");
    println!("  tapeline   {median:6.2} M/s  ({low:.2} to {high:.2})");
    println!("  matchcore  {their_median:6.2} M/s  ({their_low:.2} to {their_high:.2}), {is_same}");
    println!("  ratio      {:6.2}", median / their_median);
    println!("  sha256     {}", hashes[0]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--count", which, file] => {
            let flow = Flow::open(Path::new(file))?;
            let reports = if which == "ours" { ours(&flow)?.1 } else { theirs(&flow).1 };
            println!("{} messages, {} reports", flow.messages().len(), reports.len());
        }
        [] => println!("give files with flows of orders"),
        _ => arguments.iter().try_for_each(|file| compare(Path::new(file)))?,
    }
    Ok(())
}
