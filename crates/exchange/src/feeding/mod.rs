//! The feed handler: from lines of market data to items at a hub.
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
//! | [`Feeding`] | the items at a hub |
//! | [`FeedSockets`] | the sockets |

mod handler;
mod items;
mod sockets;

pub use handler::{FeedConfig, FeedCounts, FeedHandler, FeedOutputs, Link};
pub use items::Feeding;
pub use sockets::FeedSockets;
