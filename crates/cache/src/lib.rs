//! Last-value images of items, and updates merged for slow consumers.
//!
//! * [`Image`]: the last value of one item, kept from the messages of its
//!   stream, from which newcomers are served.
//! * [`SharedConflation`]: the same for all slow receivers of an item.
//! * [`Conflation`]: updates of one stream merged into one while its receiver
//!   cannot keep up.
//!
//! Both are pure: messages in, bytes out, no clock, no I/O. Neither allocates
//! for an update once it has seen values of similar size.

mod cell;
mod changes;
mod conflation;
mod content;
mod data;
mod elements;
mod error;
mod fields;
mod filter;
mod image;
mod keyed;
mod lengths;
mod limits;
mod map;
mod parts;
mod rows;
mod rules;
mod series;
mod shared;
mod summary;
mod vector;
mod vector_log;

pub use conflation::{Conflation, Merged};
pub use error::CacheError;
pub use image::{Applied, Image};
pub use limits::Limits;
pub use parts::{Parts, RefreshPart};
pub use rules::FieldRules;
pub use shared::{Combiner, SharedConflation, Since};
