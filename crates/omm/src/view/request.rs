//! Views in requests, and what is wrong with them.

use tapeline_rwf::{
    ArrayItems, DataState, DataType, DecodeError, ElementListWriter, EncodeError, Encoded,
    Primitive, RequestFlags, RequestMsg, StateCode, StreamState,
};
use thiserror::Error;

use super::{Members, View};
use crate::{StateBuf, Text};

const VIEW_TYPE: &str = ":ViewType";
const VIEW_DATA: &str = ":ViewData";
const FIELD_ID_LIST: u64 = 1;
const ELEMENT_NAME_LIST: u64 = 2;

/// What a request does to the view of its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewChange {
    /// The view stays as it is: the reissue has the flag and no payload.
    Keep,
    /// The view is this one from now on.
    Replace(View),
    /// There is no view from now on: the request lacks the flag.
    Drop,
}

/// A view that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ViewError {
    /// A request that opens a stream has the flag of a view and no payload: there
    /// is no view to keep.
    #[error("request has the view flag and no view")]
    NoView,
    /// `:ViewType` is not there, which the vendor's library refuses even where
    /// the data would tell the type.
    #[error("view has no :ViewType")]
    MissingType,
    /// `:ViewData` is not there.
    #[error("view has no :ViewData")]
    MissingData,
    /// A view type that does not exist.
    #[error("view type {0} is not supported")]
    UnknownType(u64),
    /// Another wire type of an element, or of the items in the array.
    #[error("{element} is {found}, which does not fit the view type")]
    WrongType {
        /// The element.
        element: &'static str,
        /// Its type, or that of its items.
        found: DataType,
    },
    /// A field id that is none.
    #[error("field id {0} is out of range")]
    FieldId(i64),
    /// Bytes that are no RWF.
    #[error("view cannot be read: {0}")]
    Malformed(#[from] DecodeError),
}

impl ViewError {
    /// The code of the state that answers the request.
    pub const fn code(&self) -> StateCode {
        match self {
            Self::UnknownType(_) => StateCode::UNSUPPORTED_VIEW_TYPE,
            _ => StateCode::INVALID_VIEW,
        }
    }

    /// The state that answers the request: closed for one that opens a stream;
    /// a stream that is open stays so, with the view it had.
    pub fn state(&self, is_reissue: bool) -> StateBuf {
        let (stream, data) = match is_reissue {
            true => (StreamState::OPEN, DataState::NO_CHANGE),
            false => (StreamState::CLOSED, DataState::SUSPECT),
        };
        StateBuf::new(stream, data, self.code(), self.to_string())
    }
}

impl ViewChange {
    /// What a request does to the view of its stream. `is_reissue`: the stream
    /// is open.
    ///
    /// Errors: the view is malformed, or is to be kept and there is none yet.
    pub fn of(request: &RequestMsg<'_>, is_reissue: bool) -> Result<Self, ViewError> {
        if !request.flags.contains(RequestFlags::HAS_VIEW) {
            return Ok(Self::Drop);
        }
        if request.payload.is_empty() {
            return if is_reissue { Ok(Self::Keep) } else { Err(ViewError::NoView) };
        }
        View::read(&request.payload).map(Self::Replace)
    }
}

impl View {
    fn read(payload: &Encoded<'_>) -> Result<Self, ViewError> {
        let mut view_type = None;
        let mut data = None;
        for entry in &payload.element_list()? {
            let entry = entry?;
            if entry.name == VIEW_TYPE.as_bytes() {
                view_type = Some(entry.value);
            } else if entry.name == VIEW_DATA.as_bytes() {
                data = Some(entry.value);
            }
        }
        let view_type = view_type.ok_or(ViewError::MissingType)?;
        let found = view_type.data_type().base();
        if found != DataType::UINT {
            return Err(ViewError::WrongType { element: VIEW_TYPE, found });
        }
        let data = data.ok_or(ViewError::MissingData)?;
        match view_type.uint()?.ok_or(ViewError::MissingType)? {
            FIELD_ID_LIST => Self::read_fields(&data),
            ELEMENT_NAME_LIST => Self::read_names(&data),
            other => Err(ViewError::UnknownType(other)),
        }
    }

    fn read_fields(data: &Encoded<'_>) -> Result<Self, ViewError> {
        let mut fields = Vec::new();
        for item in items(data, |found| found == DataType::INT)? {
            if let Some(id) = item?.int()? {
                fields.push(i16::try_from(id).map_err(|_| ViewError::FieldId(id))?);
            }
        }
        Ok(Self::of_fields(fields))
    }

    fn read_names(data: &Encoded<'_>) -> Result<Self, ViewError> {
        let is_text = |found| {
            matches!(found, DataType::ASCII_STRING | DataType::UTF8_STRING | DataType::RMTES_STRING)
        };
        let names: Result<Vec<_>, _> =
            items(data, is_text)?.map(|item| item.map(|item| Text::from(item.bytes()))).collect();
        Ok(Self::of_names(names?))
    }

    /// Writes the two elements of the view into the payload of a request.
    pub fn write(&self, list: &mut ElementListWriter<'_, '_>) -> Result<(), EncodeError> {
        let (view_type, item_type, item_len) = match &self.0 {
            Members::Fields(_) => (FIELD_ID_LIST, DataType::INT, 2),
            Members::Names(_) => (ELEMENT_NAME_LIST, DataType::ASCII_STRING, 0),
        };
        list.put(VIEW_TYPE, view_type)?;
        let mut array = list.slot(VIEW_DATA, DataType::ARRAY)?.array(item_type, item_len)?;
        for id in self.fields() {
            array.put(i64::from(*id))?;
        }
        for name in self.names() {
            array.put(Primitive::Ascii(name))?;
        }
        array.finish()
    }
}

/// The items of the `:ViewData` array, if they are of a type that fits.
fn items<'a>(
    data: &Encoded<'a>,
    fits: impl Fn(DataType) -> bool,
) -> Result<ArrayItems<'a>, ViewError> {
    let wrong = |found| ViewError::WrongType { element: VIEW_DATA, found };
    if data.data_type() != DataType::ARRAY {
        return Err(wrong(data.data_type()));
    }
    let array = data.array()?.ok_or(ViewError::MissingData)?;
    match array.item_type().base() {
        found if fits(found) => Ok(array.iter()),
        found => Err(wrong(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Domain, ElementListHead, Encoder};

    type Write<'w> = &'w dyn Fn(&mut ElementListWriter<'_, '_>) -> Result<(), EncodeError>;

    fn change(flags: RequestFlags, write: Option<Write<'_>>) -> Result<ViewChange, ViewError> {
        let mut buffer = [0; 256];
        let mut encoder = Encoder::new(&mut buffer);
        if let Some(write) = write {
            let slot = encoder.container(DataType::ELEMENT_LIST);
            let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
            write(&mut list).expect("room");
            list.finish().expect("room");
        }
        let bytes = encoder.finish_bytes().expect("room");
        let payload = Encoded::new(DataType::ELEMENT_LIST, bytes);
        let request = RequestMsg { flags, payload, ..RequestMsg::new(Domain::MARKET_PRICE, 5) };
        ViewChange::of(&request, true)
    }

    fn error(write: Write<'_>) -> ViewError {
        change(RequestFlags::HAS_VIEW, Some(write)).unwrap_err()
    }

    fn array(
        list: &mut ElementListWriter<'_, '_>,
        item_type: DataType,
        items: &[Primitive<'_>],
    ) -> Result<(), EncodeError> {
        let mut array = list.slot(VIEW_DATA, DataType::ARRAY)?.array(item_type, 0)?;
        items.iter().try_for_each(|item| array.put(*item))?;
        array.finish()
    }

    #[test]
    fn flag_and_payload_decide_what_becomes_of_the_view() {
        let view = View::of_fields([22, 25]);
        let write: Write<'_> = &|list| view.write(list);
        assert_eq!(change(RequestFlags::empty(), Some(write)), Ok(ViewChange::Drop));
        assert_eq!(change(RequestFlags::HAS_VIEW, None), Ok(ViewChange::Keep));
        assert_eq!(
            change(RequestFlags::HAS_VIEW, Some(write)),
            Ok(ViewChange::Replace(view.clone()))
        );
        let names = View::of_names(["NAME", "PRICE"]);
        let read = change(RequestFlags::HAS_VIEW, Some(&|list| names.write(list)));
        assert_eq!(read, Ok(ViewChange::Replace(names.clone())));
    }

    #[test]
    fn a_new_stream_has_no_view_to_keep() {
        let flags = RequestFlags::HAS_VIEW;
        let request = RequestMsg { flags, ..RequestMsg::new(Domain::MARKET_PRICE, 5) };
        assert_eq!(ViewChange::of(&request, true), Ok(ViewChange::Keep));
        let error = ViewChange::of(&request, false).unwrap_err();
        assert_eq!((error, error.code()), (ViewError::NoView, StateCode::INVALID_VIEW));
    }

    #[test]
    fn malformed_views_say_why() {
        let ints = [Primitive::Int(22)];
        assert_eq!(error(&|list| list.put(VIEW_TYPE, 1_u64)), ViewError::MissingData);
        assert_eq!(error(&|list| array(list, DataType::INT, &ints)), ViewError::MissingType);
        assert_eq!(
            error(&|list| {
                list.put(VIEW_TYPE, 3_u64)?;
                array(list, DataType::INT, &ints)
            }),
            ViewError::UnknownType(3)
        );
        for (view_type, item_type, items) in [
            (1, DataType::UINT, [Primitive::Uint(22)]),
            (1, DataType::ASCII_STRING, [Primitive::ascii("BID")]),
            (2, DataType::INT, ints),
        ] {
            let error = error(&|list| {
                list.put(VIEW_TYPE, view_type as u64)?;
                array(list, item_type, &items)
            });
            assert_eq!(error, ViewError::WrongType { element: VIEW_DATA, found: item_type });
        }
        assert_eq!(
            error(&|list| {
                list.put(VIEW_TYPE, 1_u64)?;
                array(list, DataType::INT, &[Primitive::Int(32_768)])
            }),
            ViewError::FieldId(32_768)
        );
        assert_eq!(
            error(&|list| list.put(VIEW_TYPE, 1_i64)),
            ViewError::WrongType { element: VIEW_TYPE, found: DataType::INT }
        );
    }

    #[test]
    fn a_bad_view_closes_a_new_stream_and_leaves_an_open_one() {
        let error = ViewError::UnknownType(9);
        assert_eq!(
            error.state(false).to_string(),
            "Closed / Suspect / UnsupportedViewType / 'view type 9 is not supported'"
        );
        assert_eq!(
            ViewError::MissingData.state(true).to_string(),
            "Open / NoChange / InvalidView / 'view has no :ViewData'"
        );
    }
}
