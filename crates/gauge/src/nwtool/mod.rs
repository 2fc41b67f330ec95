//! Messages at a rate from a host to the next: the drop-in for `NwTool`, the
//! matrix of sizes and rates, and that for sfnt-stream.
//!
//! ```text
//!  1 send ──message──▶ 2 forward ──message──▶ 3 receive
//!    ◀─────answer─────
//! ```
//!
//! Side 1 listens. Side 2 connects to it, answers each message at once and then
//! passes it on to side 3, which has connected to side 2 and counts. Without a
//! side 3, side 2 only answers. Beside the messages each pair has a control
//! connection:
//!
//! ```text
//!  sender                              follower
//!    │── version ────────────────────────▶│   JSON lines, not measured
//!    │◀──────────────────────── version ──│
//!    │── open: transport, how, where ────▶│   where: if the sender listens
//!    │◀────────────────── listening at ───│   else the follower does
//!    │◀──────────────────────── ready ────│
//!    │══ messages ═══════════════════════▶│
//!    │── end: so many ───────────────────▶│
//!    │◀──────────────────────── counts ───│
//! ```

mod cell;
mod follow;
mod matrix;
mod options;
mod pair;
mod receive;
mod run;
mod send;
mod sender;
mod stream;
mod timetable;

pub use matrix::{Bounds, CellKey, Melting, Verdict};
pub(crate) use options::MAX_RATE_PER_S;
pub use run::{run, serve_parent};
pub use stream::run as stream;

/// The port of the control connection.
pub const PORT: u16 = 23_700;
