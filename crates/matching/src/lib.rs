//! The matching engine of one partition: orders and books of many instruments,
//! continuous trading and auctions.
//!
//! Commands go in, in one order that somebody else has given them, each with its
//! time; events come out. Nothing in here reads a clock, draws a random number
//! from outside or depends on where memory lies, so the same commands give the
//! same events on every machine.
//!
//! ```
//! use tapeline_instrument::{Cause, Instrument, Price, Session, Side, TickTable};
//! use tapeline_matching::{Command, Config, Engine, Event, NewOrder, Owner};
//!
//! let mut engine = Engine::new(&Config::default());
//! let ticks = TickTable::flat(Price(1_000_000))?;
//! let book = engine.add(Instrument::new(1, "VOD.L", ticks));
//! let mut events = Vec::new();
//! for session in [Session::OpeningCall, Session::Regular] {
//!     let cause = Cause::Scheduled;
//!     engine.handle(0, &Command::Session { book, session, cause }, &mut events);
//! }
//! let (seller, buyer) = (Owner { firm: 1, user: 1 }, Owner { firm: 2, user: 1 });
//! let price = "10.25".parse()?;
//! for order in [
//!     NewOrder::limit(book, seller, Side::Sell, 300, price),
//!     NewOrder::limit(book, buyer, Side::Buy, 200, price),
//! ] {
//!     engine.handle(1, &Command::New(order), &mut events);
//! }
//! let Some(Event::Traded { quantity, maker, taker, .. }) = events.last() else { panic!() };
//! assert_eq!((*quantity, maker.leaves, taker.leaves), (200, 100, 0));
//! # Ok::<(), tapeline_instrument::InstrumentError>(())
//! ```
//!
//! | rule | where |
//! |---|---|
//! | priority, price, icebergs, own firm | `aggress` |
//! | admission, time in force, passive orders | `enter` |
//! | stop orders, orders that wait for an auction | `wait` |
//! | amendments, cancels, trades that are cancelled | `amend`, `leave` |
//! | auctions | [`AuctionBook`], `uncross` |
//! | sessions, end of the day | `session` |
//! | prices too far from those before | `breaker` |
//! | calls that go on | `extend` |
//! | closing prices without an auction | `average` |
//! | trading at the closing price | `closing` |
//! | orders at the middle of the spread | `pegged` |
//! | retail investors, and who provides liquidity to them | `retail` |
//! | orders at a distance from the last price | `offset` |
//!
//! What an order costs: two or three cache lines (its own, its neighbour's in
//! the queue, its level's), and no allocation once tables have grown.

mod aggress;
mod amend;
mod auction;
mod average;
mod book;
mod breaker;
mod closing;
mod command;
mod engine;
mod enter;
mod event;
mod extend;
mod index;
mod ladder;
mod leave;
mod offset;
mod orders;
mod pegged;
mod queues;
mod refusal;
mod retail;
mod session;
mod state;
mod uncross;
mod wait;

pub use auction::{AuctionBook, AuctionLevel, Uncross};
pub use book::{Best, Depth};
pub use command::{
    BookId, Command, Kind, MassCancel, NewOrder, Owner, OwnerType, Passive, Replace, SelfMatch,
    TimeInForce, TradeCancel,
};
pub use engine::{Config, Engine};
pub use event::{Ending, Entry, Event, Events, FoundBy, Order, Part, Shown, Undone};
pub use refusal::Refusal;
