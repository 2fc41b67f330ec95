//! Books: market by order, market by price, market maker.
//!
//! ```text
//! MAP key: order id, price and side, or market maker
//!     summary  FIELD_LIST  what all rows have in common; in the first part only
//!     ADD      FIELD_LIST  the row is new, or replaced
//!     UPDATE   FIELD_LIST  fields of the row change
//!     DELETE               the row is gone
//! ```

use tapeline_rwf::{
    DataType, EncodeError, Encoded, FieldList, FieldListHead, FieldListWriter, LocalSetDefs, Map,
    MapAction, MapEntries, MapHead, MapWriter, Primitive, SetDefs, Slot,
};

use crate::ModelError;
use crate::error::expect_type;

const MODEL: &str = "book";

/// The payload of an image, part of an image or update of a book.
#[derive(Clone, Copy, Debug)]
pub struct Book<'a> {
    map: Map<'a>,
}

impl<'a> Book<'a> {
    /// Reads a payload. Errors: it is no map, or its head is malformed.
    pub fn decode(payload: &Encoded<'a>) -> Result<Self, ModelError> {
        expect_type(MODEL, "payload", DataType::MAP, payload.data_type())?;
        let map = payload.map().map_err(ModelError::in_part(MODEL, "payload"))?;
        Ok(Self { map })
    }

    /// The type of the row keys: `BUFFER`, `ASCII_STRING` or `RMTES_STRING` by
    /// custom.
    pub const fn key_type(&self) -> DataType {
        self.map.key_type()
    }

    /// What begins the book, for writing one like it.
    pub const fn head(&self) -> BookHead<'a> {
        BookHead {
            key_type: self.map.key_type(),
            key_field_id: self.map.key_field_id(),
            set_defs: self.map.local_set_defs(),
            total_count_hint: self.map.total_count_hint(),
        }
    }

    /// What all rows have in common, if it is given.
    pub fn summary(&self) -> Result<Option<FieldList<'a>>, ModelError> {
        let fields = |data: Encoded<'a>| fields(&data, &self.map.set_defs());
        self.map.summary().map(fields).transpose()
    }

    /// The rows in order. After an error there are no more.
    pub fn rows(&self) -> BookRows<'a> {
        BookRows { entries: self.map.iter(), defs: self.map.set_defs() }
    }
}

fn fields<'a>(data: &Encoded<'a>, defs: &SetDefs<'a>) -> Result<FieldList<'a>, ModelError> {
    expect_type(MODEL, "row", DataType::FIELD_LIST, data.data_type())?;
    data.field_list_with(defs).map_err(ModelError::in_part(MODEL, "row"))
}

/// Iterator over the rows of a [`Book`].
#[derive(Clone, Debug)]
pub struct BookRows<'a> {
    entries: MapEntries<'a>,
    defs: SetDefs<'a>,
}

impl<'a> Iterator for BookRows<'a> {
    type Item = Result<BookRow<'a>, ModelError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self.entries.next()? {
            Ok(entry) => entry,
            Err(error) => return Some(Err(ModelError::in_part(MODEL, "row")(error))),
        };
        Some(Ok(BookRow {
            action: entry.action,
            key: entry.key,
            perm_data: entry.perm_data,
            data: entry.data,
            defs: self.defs,
        }))
    }
}

/// One row of a book.
#[derive(Clone, Copy, Debug)]
pub struct BookRow<'a> {
    /// What happens to the row.
    pub action: MapAction,
    /// Which row.
    pub key: Encoded<'a>,
    /// Permission data of this row alone.
    pub perm_data: Option<&'a [u8]>,
    /// Its data; empty when it is gone.
    pub data: Encoded<'a>,
    defs: SetDefs<'a>,
}

impl<'a> BookRow<'a> {
    /// The fields of the row. Errors: it is malformed, or holds something
    /// else, as a price level that holds a map of market makers.
    pub fn fields(&self) -> Result<FieldList<'a>, ModelError> {
        fields(&self.data, &self.defs)
    }
}

/// What a book begins with.
#[derive(Clone, Copy, Debug)]
pub struct BookHead<'a> {
    /// Type of the row keys.
    pub key_type: DataType,
    /// The field whose value the key is, as `ORDER_ID`.
    pub key_field_id: Option<i16>,
    /// Set definitions of the rows.
    pub set_defs: Option<LocalSetDefs<'a>>,
    /// How many rows there will be in all parts together.
    pub total_count_hint: Option<u32>,
}

impl BookHead<'_> {
    /// Rows by keys of this type, without anything optional.
    pub const fn new(key_type: DataType) -> Self {
        Self { key_type, key_field_id: None, set_defs: None, total_count_hint: None }
    }
}

/// Writes a book: the summary first, if there is one, then rows.
#[derive(Debug)]
#[must_use = "a book wants to be finished"]
pub struct BookWriter<'e, 'b> {
    map: MapWriter<'e, 'b>,
    key_type: DataType,
}

impl<'e, 'b> BookWriter<'e, 'b> {
    /// Begins a book in the place for a payload.
    pub fn begin(slot: Slot<'e, 'b>, head: &BookHead<'_>) -> Result<Self, EncodeError> {
        let map = slot.map(&MapHead {
            key_type: head.key_type,
            container_type: DataType::FIELD_LIST,
            key_field_id: head.key_field_id,
            set_defs: head.set_defs,
            total_count_hint: head.total_count_hint,
        })?;
        Ok(Self { map, key_type: head.key_type })
    }

    /// Begins what all rows have in common.
    pub fn summary<'s>(
        &'s mut self,
        head: &FieldListHead<'s>,
    ) -> Result<FieldListWriter<'s, 'b>, EncodeError> {
        self.map.summary()?.field_list(head)
    }

    /// Begins a row that is added or updated; `key` is the value of the key as
    /// it is on the wire.
    pub fn row<'s>(
        &'s mut self,
        action: MapAction,
        key: &[u8],
        perm_data: Option<&[u8]>,
        head: &FieldListHead<'s>,
    ) -> Result<FieldListWriter<'s, 'b>, EncodeError> {
        self.map.entry(action, Primitive::Other(self.key_type, key), perm_data)?.field_list(head)
    }

    /// Writes that a row is gone.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), EncodeError> {
        self.map.bare_entry(MapAction::DELETE, Primitive::Other(self.key_type, key), None)
    }

    /// Ends the book.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.map.finish()
    }
}
