//! Hubs and servers find each other and exchange item traffic in order.

mod frame;

pub use frame::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind};
