//! Batches: several items in one request, several streams in one reissue or
//! close.
//!
//! ```text
//! request  HAS_BATCH, stream N, no name in the key
//!          :ItemList      ARRAY of ASCII_STRING → streams N+1, N+2, … in list order
//! reissue  HAS_BATCH, a stream N of its own
//!          :StreamIdList  ARRAY of INT          → those streams
//! close    :StreamIdList  ARRAY of INT          → those streams
//! ```
//!
//! The stream N of a request or reissue is answered by a status that closes
//! it; the items are answered on their own streams.

use tapeline_rwf::{
    Array, CloseMsg, DataState, DataType, DecodeError, ElementListWriter, EncodeError, Encoded,
    MsgClass, Primitive, RequestFlags, RequestMsg, State, StateCode, StreamState,
};
use thiserror::Error;

use crate::StateBuf;
use crate::login::{BatchSupport, LoginFeatures};

const ITEM_LIST: &str = ":ItemList";
const STREAM_ID_LIST: &str = ":StreamIdList";

/// The state that ends the stream of a batch that was taken apart.
pub const BATCH_DONE: State<'static> =
    State::new(StreamState::CLOSED, DataState::OK, StateCode::NONE, "Stream closed for batch");

/// What a batch is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Batch<'a> {
    /// Open these items.
    Items(ItemNames<'a>),
    /// Change these streams.
    Streams(StreamIds<'a>),
}

/// The names of a batch request; checked when read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemNames<'a>(Array<'a>);

/// The stream ids of a batch reissue or close; checked when read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamIds<'a>(Array<'a>);

/// A batch that cannot be carried out, none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    /// Neither `:ItemList` nor `:StreamIdList` is there.
    #[error("batch has neither :ItemList nor :StreamIdList")]
    MissingList,
    /// Another wire type of the list, or of its items.
    #[error("{element} is {found}")]
    WrongType {
        /// The list.
        element: &'static str,
        /// Its type, or that of its items.
        found: DataType,
    },
    /// A batch request has a name in its key.
    #[error("batch request has a name in its key")]
    NameInKey,
    /// An item without a name.
    #[error("batch request has an item without a name")]
    EmptyName,
    /// The ids behind the batch's own are used up before the list is, or would
    /// go on from those of a provider, below 0, to those of a consumer.
    #[error("stream ids from {base} on are too few for {count} items")]
    OutOfIds {
        /// Stream of the batch.
        base: i32,
        /// Items in the list.
        count: usize,
    },
    /// One of the ids behind the batch's own is open.
    #[error("stream {0} is in use")]
    IdInUse(i32),
    /// A stream id that is none.
    #[error("stream id {0} is out of range")]
    StreamId(i64),
    /// The login does not allow batches of this kind.
    #[error("{0} of several streams is not supported")]
    NotSupported(MsgClass),
    /// The login does not allow views in batches.
    #[error("batch with a view is not supported")]
    ViewNotSupported,
    /// Bytes that are no RWF.
    #[error("batch cannot be read: {0}")]
    Malformed(#[from] DecodeError),
}

impl BatchError {
    /// The code of the state that answers the batch.
    pub const fn code(&self) -> StateCode {
        match self {
            Self::NotSupported(_) => StateCode::UNABLE_TO_REQUEST_AS_BATCH,
            Self::ViewNotSupported => StateCode::NO_BATCH_VIEW_SUPPORT_IN_REQ,
            _ => StateCode::USAGE_ERROR,
        }
    }

    /// The state that answers the batch on its own stream.
    pub fn state(&self) -> StateBuf {
        StateBuf::new(StreamState::CLOSED, DataState::SUSPECT, self.code(), self.to_string())
    }
}

impl<'a> Batch<'a> {
    /// The batch of a request; `None` when it is for one stream.
    pub fn of_request(request: &RequestMsg<'a>) -> Result<Option<Self>, BatchError> {
        if !request.flags.contains(RequestFlags::HAS_BATCH) {
            return Ok(None);
        }
        if let Some(value) = element(&request.payload, ITEM_LIST)? {
            if request.key.name.is_some_and(|name| !name.is_empty()) {
                return Err(BatchError::NameInKey);
            }
            return ItemNames::read(&value).map(|names| Some(Self::Items(names)));
        }
        match element(&request.payload, STREAM_ID_LIST)? {
            Some(value) => StreamIds::read(&value).map(|ids| Some(Self::Streams(ids))),
            None => Err(BatchError::MissingList),
        }
    }

    /// The streams that a close is for beside its own; `None` when it is for
    /// one stream.
    pub fn of_close(close: &CloseMsg<'a>) -> Result<Option<StreamIds<'a>>, BatchError> {
        if close.payload.data_type() != DataType::ELEMENT_LIST {
            return Ok(None);
        }
        element(&close.payload, STREAM_ID_LIST)?.map(|value| StreamIds::read(&value)).transpose()
    }

    /// Whether a login allows closes of several streams.
    pub fn check_close_support(login: &LoginFeatures) -> Result<(), BatchError> {
        match login.batches().contains(BatchSupport::CLOSES) {
            true => Ok(()),
            false => Err(BatchError::NotSupported(MsgClass::Close)),
        }
    }

    /// Whether a login allows this batch, in a request that may have a view.
    pub fn check_support(&self, login: &LoginFeatures, has_view: bool) -> Result<(), BatchError> {
        let wanted = match self {
            Self::Items(_) => BatchSupport::REQUESTS,
            Self::Streams(_) => BatchSupport::REISSUES,
        };
        if !login.batches().contains(wanted) {
            return Err(BatchError::NotSupported(MsgClass::Request));
        }
        if has_view && !login.honours_views() {
            return Err(BatchError::ViewNotSupported);
        }
        Ok(())
    }
}

fn element<'a>(payload: &Encoded<'a>, name: &str) -> Result<Option<Encoded<'a>>, BatchError> {
    if payload.data_type() != DataType::ELEMENT_LIST {
        return Ok(None);
    }
    Ok(payload.element_list()?.element(name)?.map(|entry| entry.value))
}

fn array<'a>(
    value: &Encoded<'a>,
    element: &'static str,
    item_type: DataType,
) -> Result<Array<'a>, BatchError> {
    if value.data_type() != DataType::ARRAY {
        return Err(BatchError::WrongType { element, found: value.data_type() });
    }
    let array = value.array()?.ok_or(BatchError::MissingList)?;
    match array.item_type().base() {
        found if found == item_type => Ok(array),
        found => Err(BatchError::WrongType { element, found }),
    }
}

impl<'a> ItemNames<'a> {
    fn read(value: &Encoded<'a>) -> Result<Self, BatchError> {
        let array = array(value, ITEM_LIST, DataType::ASCII_STRING)?;
        for item in &array {
            if item?.bytes().is_empty() {
                return Err(BatchError::EmptyName);
            }
        }
        Ok(Self(array))
    }

    /// How many names there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.0.iter().filter_map(|item| item.ok().map(|item| item.bytes()))
    }

    /// Each name with the stream it gets: those behind the batch's own stream
    /// `base`, in list order.
    ///
    /// Errors: an id is in use, by what `is_in_use` says, or there is no such
    /// id. The whole batch is refused then.
    pub fn streams<F: Fn(i32) -> bool>(
        &self,
        base: i32,
        is_in_use: F,
    ) -> Result<impl Iterator<Item = (i32, &'a [u8])> + use<'a, F>, BatchError> {
        let count = self.len();
        let last = i32::try_from(count).ok().and_then(|count| base.checked_add(count));
        let last = last.filter(|last| (base < 0) == (*last < 0));
        let last = last.ok_or(BatchError::OutOfIds { base, count })?;
        match (base..last).map(|id| id + 1).find(|id| is_in_use(*id)) {
            Some(id) => Err(BatchError::IdInUse(id)),
            None => Ok((base..last).map(|id| id + 1).zip(self.iter())),
        }
    }
}

impl<'a> StreamIds<'a> {
    fn read(value: &Encoded<'a>) -> Result<Self, BatchError> {
        let array = array(value, STREAM_ID_LIST, DataType::INT)?;
        for item in &array {
            let id = item?.int()?.unwrap_or_default();
            i32::try_from(id).map_err(|_| BatchError::StreamId(id))?;
        }
        Ok(Self(array))
    }

    /// How many ids there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = i32> + use<'a> {
        let id = |item: Encoded<'a>| i32::try_from(item.int().ok()??).ok();
        self.0.iter().filter_map(move |item| id(item.ok()?))
    }
}

/// Writes the names of a batch request into its payload.
pub fn write_item_list<'n>(
    list: &mut ElementListWriter<'_, '_>,
    names: impl IntoIterator<Item = &'n [u8]>,
) -> Result<(), EncodeError> {
    let mut array = list.slot(ITEM_LIST, DataType::ARRAY)?.array(DataType::ASCII_STRING, 0)?;
    names.into_iter().try_for_each(|name| array.put(Primitive::Ascii(name)))?;
    array.finish()
}

/// Writes the stream ids of a batch reissue or close into its payload.
pub fn write_stream_id_list(
    list: &mut ElementListWriter<'_, '_>,
    ids: impl IntoIterator<Item = i32>,
) -> Result<(), EncodeError> {
    let mut array = list.slot(STREAM_ID_LIST, DataType::ARRAY)?.array(DataType::INT, 0)?;
    ids.into_iter().try_for_each(|id| array.put(i64::from(id)))?;
    array.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Domain, ElementListHead, Encoder, MsgKey};

    fn with_batch<R>(
        write: impl Fn(&mut ElementListWriter<'_, '_>) -> Result<(), EncodeError>,
        name: Option<&[u8]>,
        check: impl FnOnce(Result<Option<Batch<'_>>, BatchError>) -> R,
    ) -> R {
        let mut buffer = [0; 256];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::ELEMENT_LIST);
        let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
        write(&mut list).expect("room");
        list.finish().expect("room");
        let bytes = encoder.finish_bytes().expect("room");
        let request = RequestMsg {
            flags: RequestFlags::HAS_BATCH,
            payload: Encoded::new(DataType::ELEMENT_LIST, bytes),
            key: MsgKey { name, ..MsgKey::EMPTY },
            ..RequestMsg::new(Domain::MARKET_PRICE, 10)
        };
        check(Batch::of_request(&request))
    }

    const NAMES: [&[u8]; 3] = [b"TRI.N", b"IBM.N", b"VOD.L"];

    #[test]
    fn items_get_the_streams_behind_the_batch() {
        let write = |list: &mut ElementListWriter<'_, '_>| write_item_list(list, NAMES);
        with_batch(write, None, |batch| {
            let Ok(Some(Batch::Items(names))) = batch else { panic!("{batch:?}") };
            let streams: Vec<_> = names.streams(10, |_| false).expect("free").collect();
            assert_eq!(streams, [(11, NAMES[0]), (12, NAMES[1]), (13, NAMES[2])]);
            let taken = names.streams(10, |id| id == 12).map(|_| ()).unwrap_err();
            assert_eq!(taken, BatchError::IdInUse(12));
            assert_eq!(
                taken.state().to_string(),
                "Closed / Suspect / UsageError / 'stream 12 is in use'"
            );
            // The batch's own id may be in use by nobody but itself.
            assert!(names.streams(10, |id| id == 10 || id == 14).is_ok());
            let none_left = names.streams(i32::MAX - 2, |_| false).map(|_| ()).unwrap_err();
            assert_eq!(none_left, BatchError::OutOfIds { base: i32::MAX - 2, count: 3 });
            // Ids do not go on from one side's to the other's.
            let streams = |base| names.streams(base, |_| false).map(Iterator::count);
            assert_eq!(streams(-2), Err(BatchError::OutOfIds { base: -2, count: 3 }));
            assert_eq!(streams(-3), Err(BatchError::OutOfIds { base: -3, count: 3 }));
            assert_eq!((streams(-4), streams(0)), (Ok(3), Ok(3)));
        });
    }

    #[test]
    fn an_item_without_a_name_is_an_error() {
        let names: [&[u8]; 2] = [b"TRI.N", b""];
        let write = |list: &mut ElementListWriter<'_, '_>| write_item_list(list, names);
        with_batch(write, None, |batch| assert_eq!(batch, Err(BatchError::EmptyName)));
    }

    #[test]
    fn a_name_in_the_key_or_a_missing_list_is_an_error() {
        let write = |list: &mut ElementListWriter<'_, '_>| write_item_list(list, NAMES);
        with_batch(write, Some(b"TRI.N"), |batch| assert_eq!(batch, Err(BatchError::NameInKey)));
        let write = |list: &mut ElementListWriter<'_, '_>| list.put("Other", 1_u64);
        with_batch(write, None, |batch| assert_eq!(batch, Err(BatchError::MissingList)));
        let write = |list: &mut ElementListWriter<'_, '_>| list.put(ITEM_LIST, 1_u64);
        let found = DataType::UINT;
        with_batch(write, None, |batch| {
            assert_eq!(batch, Err(BatchError::WrongType { element: ITEM_LIST, found }));
        });
    }

    #[test]
    fn streams_are_listed_in_reissues_and_closes() {
        let write = |list: &mut ElementListWriter<'_, '_>| write_stream_id_list(list, [11, 13]);
        with_batch(write, None, |batch| {
            let Ok(Some(Batch::Streams(ids))) = batch else { panic!("{batch:?}") };
            assert_eq!(ids.iter().collect::<Vec<_>>(), [11, 13]);
        });
        assert_eq!(Batch::of_close(&CloseMsg::new(Domain::MARKET_PRICE, 5)), Ok(None));
    }

    #[test]
    fn the_login_decides_what_is_supported() {
        let write = |list: &mut ElementListWriter<'_, '_>| write_item_list(list, NAMES);
        with_batch(write, None, |batch| {
            let Ok(Some(batch)) = batch else { panic!("{batch:?}") };
            let mut login = LoginFeatures::default();
            let error = batch.check_support(&login, false).unwrap_err();
            assert_eq!(error.code(), StateCode::UNABLE_TO_REQUEST_AS_BATCH);
            assert_eq!(error.to_string(), "REQUEST of several streams is not supported");
            login.support_batch_requests = Some(1);
            assert_eq!(batch.check_support(&login, false), Ok(()));
            let error = batch.check_support(&login, true).unwrap_err();
            assert_eq!(error.code(), StateCode::NO_BATCH_VIEW_SUPPORT_IN_REQ);
            login.support_view_requests = Some(true);
            assert_eq!(batch.check_support(&login, true), Ok(()));
            let closes = Err(BatchError::NotSupported(MsgClass::Close));
            assert_eq!(Batch::check_close_support(&login), closes);
            login.support_batch_requests = Some(7);
            assert_eq!(Batch::check_close_support(&login), Ok(()));
        });
    }
}
