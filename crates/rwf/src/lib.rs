//! Rssl Wire Format: the bytes of messages, containers and primitives.
//!
//! Decoders are views that borrow from the input: nothing is copied, nothing
//! is allocated, and nothing is decoded before it is asked for. Encoders write
//! into a buffer of the caller, front to back. No input makes either panic.
//!
//! ```
//! use tapeline_rwf::{
//!     DataType, Domain, Encoder, FieldListHead, Msg, Real, UpdateMsg, UpdateType,
//! };
//!
//! // A quote: BID (field 22) and ASK (field 25), both with two decimals.
//! let mut buffer = [0; 64];
//! let mut encoder = Encoder::new(&mut buffer);
//! let mut update = UpdateMsg::new(Domain::MARKET_PRICE, 5);
//! update.update_type = UpdateType::QUOTE;
//! let payload = encoder.begin(&update.into(), DataType::FIELD_LIST)?;
//! let mut fields = payload.field_list(&FieldListHead::STANDARD)?;
//! fields.put(22, Real::decimal(4512, 2))?;
//! fields.put(25, Real::decimal(4515, 2))?;
//! fields.finish()?;
//! let bytes = encoder.finish_bytes()?;
//! assert_eq!(bytes.len(), 11 + 3 + 2 * 6);
//!
//! let msg = Msg::decode(bytes)?;
//! assert_eq!((msg.stream_id(), msg.domain()), (5, Domain::MARKET_PRICE));
//! for entry in &msg.payload().field_list()? {
//!     let entry = entry?;
//!     // The wire does not tell the type of a field: a dictionary does.
//!     let price = entry.typed(DataType::REAL).real()?.expect("not blank");
//!     println!("field {}: {price}", entry.field_id);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod code;
pub mod decode;
pub mod encode;
mod error;
mod msg;
mod primitive;
pub mod rmtes;
mod set_def;

pub use code::{
    DataState, DataType, Domain, FilterAction, MapAction, NakCode, Rate, StateCode, StreamState,
    Timeliness, UpdateType, VectorAction,
};
pub use decode::{
    ElementEntries, ElementEntry, ElementList, ElementListInfo, ElementSetDef,
    ElementSetDefEntries, Encoded, EntryFlags, FieldEntries, FieldEntry, FieldList, FieldListInfo,
    FieldSetDef, FieldSetDefEntries, FilterEntries, FilterEntry, FilterEntryFlags, FilterList,
    FilterListFlags, ListFlags, LocalSetDefs, Map, MapEntries, MapEntry, MapFlags, Series,
    SeriesEntries, SeriesFlags, SetDefKind, SetDefs, Vector, VectorEntries, VectorEntry,
    VectorFlags, check,
};
pub use encode::{
    ArrayWriter, ElementListHead, ElementListWriter, Encoder, FieldListHead, FieldListWriter,
    FilterListHead, FilterListWriter, MapHead, MapWriter, SeriesHead, SeriesWriter, SetHead, Slot,
    VectorHead, VectorWriter,
};
pub use error::{DecodeError, DecodeErrorKind, EncodeError, Path};
pub use msg::{
    AckFlags, AckMsg, CloseFlags, CloseMsg, Conflation, GenericFlags, GenericMsg, KeyFlags, Msg,
    MsgClass, MsgHeader, MsgKey, MsgView, PostFlags, PostMsg, PostUserInfo, PostUserRights,
    Priority, RefreshFlags, RefreshMsg, RequestFlags, RequestMsg, StatusFlags, StatusMsg,
    UpdateFlags, UpdateMsg, patch_stream_id,
};
pub use primitive::Primitive;
pub use primitive::array::{Array, ArrayItems};
pub use primitive::qos::Qos;
pub use primitive::real::{ParseRealError, Real, RealHint};
pub use primitive::state::State;
pub use primitive::time::{Date, DateTime, Time, TimePrecision};
pub use set_def::{GlobalSetDefs, LocalSetDefsBuf};

/// How many containers may be inside each other, a message counting as one.
pub const MAX_DEPTH: usize = 16;
