//! Simulated traders, for a market that moves: makers who quote around a value, takers
//! who trade with them, and news that moves the value at once.
//!
//! They trade as everybody does, by the native gateway's messages, and know no more
//! than their reports and the session. All is drawn from a seed: the same steps at the
//! same times are the same orders.

use std::collections::VecDeque;

use tapeline_instrument::{Price, Session};
use tapeline_layout::Text;
use tapeline_ntg::client::{Cancel, MassCancel, NewOrder};
use tapeline_ntg::exchange::ExecutionReport;
use tapeline_ntg::{Initiator, Limits, Message};
use tapeline_time::Time;

/// Orders that a maker has on one instrument.
const QUOTES: usize = 24;

/// How far from the value makers quote, in ticks.
const SPREAD: u64 = 12;

/// Steps between two news, more or less.
const NEWS_EVERY: u64 = 4_500;

/// One instrument as traders see it.
#[derive(Clone, Debug)]
pub struct Traded {
    /// Its number.
    pub id: u32,
    /// Its tick.
    pub tick: Price,
    /// What it is worth, at the beginning.
    pub value: Price,
}

/// What a trader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Maker,
    Taker,
}

/// One order that is alive, as far as its owner knows.
#[derive(Clone, Copy, Debug)]
struct Alive {
    name: Text<20>,
    instrument: u32,
    side: u8,
}

/// One trader and its session.
#[derive(Debug)]
struct Trader {
    name: String,
    kind: Kind,
    session: Initiator,
    orders: VecDeque<Alive>,
    named: u32,
    trades: u64,
}

/// Many of them.
#[derive(Debug)]
pub struct Traders {
    all: Vec<Trader>,
    instruments: Vec<Traded>,
    random: u64,
    steps: u64,
    next_news: u64,
}

impl Traders {
    /// So many makers and takers, who have come through the door in this order.
    pub fn new(
        now: Time,
        instruments: Vec<Traded>,
        (makers, takers): (usize, usize),
        seed: u64,
    ) -> Self {
        let limits = Limits::default();
        let trader = |kind, number: usize| Trader {
            name: format!("{}{number}", if kind == Kind::Maker { "MAKER" } else { "TAKER" }),
            kind,
            session: Initiator::new(now, limits),
            orders: VecDeque::new(),
            named: 0,
            trades: 0,
        };
        let makers = (1..=makers).map(|number| trader(Kind::Maker, number));
        let takers = (1..=takers).map(|number| trader(Kind::Taker, number));
        Self {
            all: makers.chain(takers).collect(),
            instruments,
            random: seed,
            steps: 0,
            next_news: NEWS_EVERY / 2,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Trades that they have seen, each from both sides.
    pub fn trades(&self) -> u64 {
        self.all.iter().map(|trader| trader.trades).sum()
    }

    /// Everybody asks to come in; `send` gets bytes with whose they are.
    pub fn log_on(&mut self, now: Time, mut send: impl FnMut(usize, &[u8])) {
        for (at, trader) in self.all.iter_mut().enumerate() {
            let Trader { name, session, .. } = trader;
            session.log_on(now, name, "demo", &mut |bytes| send(at, bytes));
        }
    }

    /// Bytes have come for one of them.
    pub fn received(
        &mut self,
        now: Time,
        at: usize,
        bytes: &[u8],
        mut send: impl FnMut(usize, &[u8]),
    ) {
        let Some(Trader { session, orders, trades, .. }) = self.all.get_mut(at) else { return };
        // What it cannot read ends its trading.
        let _ = session.received(now, bytes, &mut |bytes| send(at, bytes), |message| {
            if let Message::ExecutionReport(report) = message {
                *trades += u64::from(report.exec_type == b'F');
                note(orders, report);
            }
        });
    }

    /// splitmix64.
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.random;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % below.max(1)
    }

    /// One step, of 10 ms: values move, and some trade.
    pub fn step(&mut self, now: Time, session: Session, mut send: impl FnMut(usize, &[u8])) {
        self.steps += 1;
        for at in 0..self.all.len() {
            self.all[at].session.timeout(now, &mut |bytes| send(at, bytes));
        }
        if !session.takes_orders() && session != Session::IntradayCall {
            return;
        }
        self.move_values();
        let is_news = self.steps >= self.next_news && session == Session::Regular;
        if is_news {
            self.news();
        }
        for at in 0..self.all.len() {
            if !self.all[at].session.is_active() {
                continue;
            }
            let mut say = |message: &Message, trader: &mut Trader| {
                trader.session.send(now, message, &mut |bytes| send(at, bytes));
            };
            match self.all[at].kind {
                // Makers take their quotes back when there is news.
                Kind::Maker if is_news => {
                    let name = Text::new("NEWS");
                    let all = MassCancel { cl_ord_id: name, kind: 7, ..MassCancel::default() };
                    say(&Message::MassCancel(all), &mut self.all[at]);
                }
                Kind::Maker => self.make(at, &mut say),
                Kind::Taker => self.take(at, session, &mut say),
            }
        }
    }

    fn move_values(&mut self) {
        for at in 0..self.instruments.len() {
            let way = self.draw(12);
            let instrument = &mut self.instruments[at];
            let tick = instrument.tick.0;
            instrument.value.0 += match way {
                0 => tick,
                1 => -tick,
                _ => 0,
            };
            instrument.value.0 = instrument.value.0.max(20 * tick);
        }
    }

    /// One instrument is worth something else: 1 to 3 per cent more or less.
    fn news(&mut self) {
        self.next_news = self.steps + NEWS_EVERY / 2 + self.draw(NEWS_EVERY);
        let (at, percent) = (self.draw(self.instruments.len() as u64), 1 + self.draw(3));
        let is_good = self.draw(2) == 0;
        let Some(instrument) = self.instruments.get_mut(at as usize) else { return };
        let by = instrument.value.0 / 100 * percent as i64 / instrument.tick.0 * instrument.tick.0;
        instrument.value.0 += if is_good { by } else { -by };
        tracing::info!(instrument = instrument.id, value = %instrument.value, "news");
    }

    /// A maker takes its oldest quote back when it has enough, and gives another.
    fn make(&mut self, at: usize, say: &mut impl FnMut(&Message, &mut Trader)) {
        if self.draw(4) != 0 {
            return;
        }
        let most = QUOTES * self.instruments.len();
        if self.all[at].orders.len() >= most
            && let Some(oldest) = self.all[at].orders.front().copied()
        {
            let cancel = Cancel {
                cl_ord_id: Text::new("C"),
                orig_cl_ord_id: oldest.name,
                instrument_id: oldest.instrument as i32,
                side: oldest.side,
                ..Cancel::default()
            };
            say(&Message::Cancel(cancel), &mut self.all[at]);
        }
        let (side, ticks) = (1 + self.draw(2) as u8, 1 + self.draw(SPREAD));
        let away = if side == 1 { -(ticks as i64) } else { ticks as i64 };
        self.order(at, side, Some(away), 0, say);
    }

    /// A taker trades with what is there; in calls it says what it would pay.
    fn take(&mut self, at: usize, session: Session, say: &mut impl FnMut(&Message, &mut Trader)) {
        if self.draw(60) != 0 {
            return;
        }
        let side = 1 + self.draw(2) as u8;
        let reach = self.draw(4) as i64;
        let towards = if side == 1 { reach } else { -reach };
        match session.is_call() {
            true if self.draw(5) == 0 => self.order(at, side, None, 0, say),
            true => self.order(at, side, Some(towards), 0, say),
            false => self.order(at, side, Some(towards), 3, say),
        }
    }

    /// An order so many ticks from the value, or without a limit.
    fn order(
        &mut self,
        at: usize,
        side: u8,
        away: Option<i64>,
        time_in_force: u8,
        say: &mut impl FnMut(&Message, &mut Trader),
    ) {
        let which = self.draw(self.instruments.len() as u64) as usize;
        let quantity = 100 * (1 + self.draw(20)) as i32;
        let is_iceberg = time_in_force == 0 && away.is_some() && self.draw(10) == 0;
        let Some(instrument) = self.instruments.get(which).cloned() else { return };
        let limit = away.map(|ticks| instrument.value.0 + ticks * instrument.tick.0);
        let trader = &mut self.all[at];
        trader.named = trader.named.wrapping_add(1);
        let name = Text::new(&trader.named.to_string());
        let order = NewOrder {
            cl_ord_id: name,
            clearing_account: 3,
            instrument_id: instrument.id as i32,
            order_type: if limit.is_some() { 2 } else { 1 },
            time_in_force,
            side,
            quantity,
            display: if is_iceberg { 100 } else { quantity },
            limit: limit.unwrap_or(0).max(0),
            capacity: 2,
            auto_cancel: 1,
            ..NewOrder::default()
        };
        if time_in_force == 0 {
            trader.orders.push_back(Alive { name, instrument: instrument.id, side });
        }
        say(&Message::NewOrder(order), trader);
    }
}

/// An order that has ended is not alive any more.
fn note(orders: &mut VecDeque<Alive>, report: &ExecutionReport) {
    let is_over = matches!(report.order_status, 2 | 4 | 6 | 8);
    if !is_over {
        return;
    }
    // A cancel has a name of its own: it is the oldest that was cancelled.
    let by_name = orders.iter().position(|alive| alive.name == report.cl_ord_id);
    match (by_name, report.cl_ord_id.as_str()) {
        (Some(at), _) => drop(orders.remove(at)),
        (None, "NEWS") => orders.clear(),
        (None, "C") => drop(orders.pop_front()),
        _ => {}
    }
}
