//! matchcore at a flow.

use matchcore::{
    CancelCmd, CommandKind, CommandMeta, CommandOutcome, CommandReport, LimitOrder, NewOrder,
    OrderBook, OrderFlags, OrderId, OrderKind, Price, Quantity, QuantityPolicy, SequenceNumber,
    SubmitCmd, TimeInForce, Timestamp,
};
use tapeline_exchange::{Flow, Message, MessageKind, Report, room_for_reports};
use tapeline_instrument::Side;

/// matchcore, with what the rules of the flow add to it.
pub(crate) struct Peer {
    book: OrderBook,
    /// The number of the last command, which is an order's id. They begin at 0.
    sequence: u64,
    /// The id of each of the flow's orders, 0 for none.
    ids: Vec<u32>,
    /// The flow's number, the quantity left and the side of each id.
    orders: Vec<Known>,
    pub(crate) reports: Vec<Report>,
}

#[derive(Clone, Copy)]
struct Known {
    number: u32,
    price: i32,
    side: Side,
}

impl Peer {
    pub(crate) fn new(flow: &Flow) -> Self {
        let none = Known { number: 0, price: 0, side: Side::Buy };
        let mut peer = Self {
            book: OrderBook::new("FLOW"),
            sequence: 0,
            ids: vec![0; flow.ids() as usize],
            orders: vec![none; flow.messages().len() * 4 + 1],
            reports: room_for_reports(flow),
        };
        // Command 0 is spent on an order that is not there: an id of 0 is none.
        let nobody = CancelCmd { order_id: OrderId(u64::MAX), order_kind: OrderKind::Limit };
        peer.send(0, CommandKind::Cancel(nobody));
        peer
    }

    fn execute(&mut self, kind: CommandKind) -> CommandOutcome {
        self.sequence += 1;
        self.send(self.sequence, kind)
    }

    fn send(&mut self, number: u64, kind: CommandKind) -> CommandOutcome {
        let sequence_number = SequenceNumber(number);
        let meta = CommandMeta { sequence_number, timestamp: Timestamp(number) };
        self.book.execute(&matchcore::Command { meta, kind })
    }

    #[inline(never)]
    pub(crate) fn run(&mut self, messages: &[Message]) {
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
        let id = u64::from(self.ids[number as usize]);
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
                self.ids[message.id as usize] = self.sequence as u32;
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
