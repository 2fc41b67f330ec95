//! Market data to publish: recordings, data files, and the items they become.
//!
//! Nothing here knows sockets or clocks: a publisher asks for images of what
//! it is asked for, and for updates at its own pace.
//!
//! * [`Recording`]: a recorded market, with true prices and times, as order
//!   book, price levels and quotes of each instrument.
//! * [`ExchangeFeed`]: market data of an exchange, as MITCH carries it, as the same.
//! * [`NasdaqFeed`]: the same of Nasdaq, as ITCH carries it.
//! * [`CmeFeed`]: the same of CME Group, as MDP 3.0 carries it.
//! * [`DataFile`]: one image and some updates for any item, encoded once, with
//!   a place for a time stamp: for measurements and tests.
//! * [`ItemList`]: names to publish or to ask for.
//!
//! A publisher with a data file, from which every item it is asked for gets the
//! same image and updates:
//!
//! ```
//! use tapeline_feed::{DataFile, ItemList};
//! use tapeline_rwf::{Msg, patch_stream_id};
//!
//! let file = DataFile::sample();
//! let items = ItemList::parse("A.X\nB.X");
//! let mut sent = Vec::new();
//! for (name, stream_id) in items.names().iter().zip(5..) {
//!     // The image, with a head that answers the request for this name.
//!     let Msg::Refresh(image) = Msg::decode(file.image())? else { continue };
//!     let key = Some(tapeline_rwf::MsgKey::item(1, name));
//!     sent.push(tapeline_rwf::RefreshMsg { stream_id, key, ..image });
//!     // Updates for as long as the item is wanted.
//!     for number in 0..3 {
//!         let mut update = file.update(number).to_vec();
//!         patch_stream_id(&mut update, stream_id)?;
//!     }
//! }
//! assert_eq!(sent.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod book;
mod cme;
mod data_file;
#[cfg_attr(not(feature = "recordings"), path = "without_dbn.rs")]
mod dbn_file;
mod error;
mod exchange;
mod item_list;
mod items;
mod market_state;
mod nasdaq;
mod new_york;
mod published;
mod recording;
mod update;

pub use book::{Action, Book, Level, Order, Side, Trade, Trades};
pub use cme::{CmeFeed, CmeSettings, Depth};
pub use data_file::{DEFAULT_STAMP_FIELD, DataFile};
pub use error::FeedError;
pub use exchange::ExchangeFeed;
pub use item_list::ItemList;
pub use nasdaq::NasdaqFeed;
pub use new_york::new_york_midnight_ns;
pub use recording::{Event, Pace, Recording};
pub use update::{Update, UpdateKind};
