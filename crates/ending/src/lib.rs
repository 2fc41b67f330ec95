//! How the programs end: asked by a signal or the time, and with which status.
//!
//! ```text
//!  0  the work is done
//!  1  it is done, and something that was looked at is wrong: an item that was
//!     refused, an aim that is missed
//!  2  it could not be done; standard error says why
//! ```

mod stop;
mod verdict;

pub use stop::Stop;
pub use verdict::{Verdict, report, warn};
