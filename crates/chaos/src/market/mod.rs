//! A source that numbers the updates of each item, and consumers that check the
//! numbers.

mod account;
mod heard;
mod source;
mod watcher;

use std::net::{Ipv4Addr, SocketAddr};

use tapeline_rwf::Primitive;

pub use account::{Account, Breach, Standing};
pub use heard::{Heard, Listener, named};
pub use source::{Source, Tape};
pub use watcher::{Seen, Watcher};

/// Name of the source's service.
pub const SERVICE: &str = "FEED";

/// Field that repeats the sequence number, so that an image says where it is.
const ACVOL_1: i16 = 32;

/// A text that gives updates the size that real ones have.
const DSPLY_NAME: i16 = 3;
const TEXT: &str =
    "An instrument with a name that is about as long as the rest of an update of a quote";

/// What an image or an update with this number says.
pub(crate) fn content(seq: u32) -> [(i16, Primitive<'static>); 2] {
    [(ACVOL_1, Primitive::Uint(seq.into())), (DSPLY_NAME, Primitive::Rmtes(TEXT.as_bytes()))]
}

/// The name of an item by its number.
fn name(item: usize) -> String {
    format!("ITEM{item}")
}

/// The number of an item of so many by its name.
pub(crate) fn item_of(name: Option<&[u8]>, items: usize) -> Option<usize> {
    let name = std::str::from_utf8(name?).ok()?;
    name.strip_prefix("ITEM")?.parse().ok().filter(|item| *item < items)
}

/// Loopback, at a port of the system's choice.
pub fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}
