//! Market data to publish: recordings, data files, and the items they become.
//!
//! Nothing here knows sockets or clocks: a publisher asks for images of what
//! it is asked for, and for updates at its own pace.
//!
//! * [`Recording`]: a recorded market, with true prices and times, as order
//!   book, price levels and quotes of each instrument.
//! * [`DataFile`]: one image and some updates for any item, encoded once, with
//!   a place for a time stamp: for measurements and tests.
//! * [`ItemList`]: names to publish or to ask for.

mod book;
mod data_file;
mod error;
mod item_list;
mod items;
mod recording;
mod update;

pub use book::{Action, Book, Level, Order, Side, Trade, Trades};
pub use data_file::{DEFAULT_STAMP_FIELD, DataFile};
pub use error::FeedError;
pub use item_list::ItemList;
pub use recording::{Event, Pace, Recording};
pub use update::{Update, UpdateKind};
