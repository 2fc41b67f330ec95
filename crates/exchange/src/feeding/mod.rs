//! The feed handlers: from lines of market data to items at a hub.
//!
//! ```text
//!  line A ─┐                                        ┌─▶ market by order
//!  line B ─┴▶ reader ──messages in order──▶ books ──┼─▶ market by price   ─▶ hub
//!              │ ▲                                  └─▶ market price
//!   a hole ────▼ │
//!   replay, else snapshot (TCP)      loss, and silence: items are SUSPECT until healed
//! ```
//!
//! | room | holds |
//! |---|---|
//! | [`FeedHandler`] | which line is right, what is asked for again, whether items are good; no I/O |
//! | [`NasdaqHandler`] | the same of Nasdaq, whose messages can be had again by datagram, and all that there is by a connection |
//! | [`CmeHandler`] | the same of CME Group, whose books are good again by a loop of snapshots |
//! | [`CmeLines`] | which addresses of a capture are lines of a channel of theirs |
//! | [`Feeding`] | the items of any at a hub |
//! | [`FeedSockets`], [`NasdaqSockets`], [`CmeSockets`] | the sockets |
//! | [`Playing`] | when packets of a capture are due |

mod cme;
mod cme_lines;
mod cme_sockets;
mod handler;
mod items;
mod links;
mod nasdaq;
mod nasdaq_sockets;
mod playing;
mod sockets;

pub use cme::{CmeConfig, CmeCounts, CmeHandler, CmeOrigin};
pub use cme_lines::CmeLines;
pub use cme_sockets::CmeSockets;
pub use handler::{FeedConfig, FeedCounts, FeedHandler, FeedOutputs, Link};
pub use items::{Feeding, Handler, Published};
pub use links::{Calling, NoLinks};
pub use nasdaq::{NasdaqConfig, NasdaqCounts, NasdaqHandler, Origin};
pub use nasdaq_sockets::NasdaqSockets;
pub use playing::{Playing, Speed};
pub use sockets::FeedSockets;
