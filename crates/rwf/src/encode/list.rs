//! What field lists and element lists have in common: set data, then a count
//! and standard data.

use crate::decode::ListFlags;
use crate::encode::encoder::MAX_U15;
use crate::encode::slot::Close;
use crate::encode::{Encoder, Ending, Slot};
use crate::error::EncodeError;
use crate::{DataType, Primitive};

/// How the set-defined data of a list begins.
#[derive(Clone, Copy, Debug)]
pub struct SetHead<Def> {
    /// The id of the set, at most 32767; left out for set 0 when `None`.
    pub id: Option<u16>,
    /// The definition that readers will find under this id. Without one the
    /// set data is given in one piece, already encoded.
    pub def: Option<Def>,
}

/// How far the set-defined part is.
#[derive(Debug)]
enum SetPart<Defs> {
    /// There is none, or it is complete.
    Done,
    /// Values are missing.
    Open(Defs),
    /// The definition is not known: one piece of bytes is missing.
    Bytes,
}

/// The flags of a list that begins like this.
#[inline]
pub(super) fn list_flags<Def>(
    has_info: bool,
    set: Option<&SetHead<Def>>,
    standard: bool,
) -> ListFlags {
    let mut flags = ListFlags::empty();
    flags.set(ListFlags::HAS_INFO, has_info);
    flags.set(ListFlags::HAS_SET_DATA, set.is_some());
    flags.set(ListFlags::HAS_SET_ID, set.is_some_and(|set| set.id.is_some()));
    flags.set(ListFlags::HAS_STANDARD_DATA, standard);
    flags
}

/// Set data in front of standard data has a length of 15 bits.
#[inline]
fn check_set_len(encoder: &Encoder<'_>, len_at: Option<usize>) -> Result<(), EncodeError> {
    let len = len_at.map_or(0, |at| encoder.position() - at - 1);
    if len > MAX_U15 {
        return Err(EncodeError::TooLong { what: "set data", len, max: MAX_U15 });
    }
    Ok(())
}

/// The entries of a list that is being written.
#[derive(Debug)]
pub(super) struct List<'e, 'b, Defs> {
    pub(super) encoder: &'e mut Encoder<'b>,
    close: Close,
    level: u32,
    set: SetPart<Defs>,
    /// Where the length of the set data is, if it has one.
    set_len_at: Option<usize>,
    standard: bool,
    /// Where the count is, once the set data is complete.
    count_at: usize,
    count: u32,
}

impl<'e, 'b, Defs: ExactSizeIterator + Clone> List<'e, 'b, Defs> {
    /// Writes the set id and what comes before the first entry.
    #[inline]
    pub(super) fn begin(
        encoder: &'e mut Encoder<'b>,
        close: Close,
        set: Option<(Option<u16>, Option<Defs>)>,
        standard: bool,
    ) -> Result<Self, EncodeError> {
        let mut part = SetPart::Done;
        let mut set_len_at = None;
        if let Some((id, defs)) = set {
            if let Some(id) = id {
                encoder.u15_rb(id, "set id")?;
            }
            set_len_at = standard.then(|| encoder.reserve_len());
            part = defs.map_or(SetPart::Bytes, SetPart::Open);
        }
        let level = encoder.open_container()?;
        let mut list =
            Self { encoder, close, level, set: part, set_len_at, standard, count_at: 0, count: 0 };
        if matches!(list.set, SetPart::Done) {
            list.begin_standard();
        }
        Ok(list)
    }

    #[inline]
    fn begin_standard(&mut self) {
        if self.standard {
            self.count_at = self.encoder.position();
            self.encoder.u16(0);
        }
    }

    /// Whether values of the set are missing. Ends the set data behind the
    /// last value: only now is that value, if a container, finished.
    #[inline]
    pub(super) fn in_set(&mut self) -> Result<bool, EncodeError> {
        self.encoder.check(self.level)?;
        match &self.set {
            SetPart::Done => Ok(false),
            SetPart::Open(defs) if defs.len() == 0 => self.end_set().map(|()| false),
            SetPart::Open(_) | SetPart::Bytes => Ok(true),
        }
    }

    /// The definition of the next value of the set.
    #[inline]
    pub(super) fn next_def(&self) -> Option<Defs::Item> {
        match &self.set {
            SetPart::Open(defs) => defs.clone().next(),
            _ => None,
        }
    }

    #[inline]
    fn advance_set(&mut self) {
        if let SetPart::Open(defs) = &mut self.set {
            defs.next();
        }
    }

    /// Writes and counts one more standard entry.
    #[inline]
    pub(super) fn standard(
        &mut self,
        write: impl FnOnce(&mut Encoder<'b>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        if !self.standard {
            return Err(EncodeError::Order { what: "an entry behind the set data" });
        }
        if self.count >= 0xFFFF {
            return Err(EncodeError::TooMany { what: "a list", max: 0xFFFF });
        }
        self.encoder.attempt(write)?;
        self.count += 1;
        Ok(())
    }

    /// Writes the next value of the set.
    #[inline]
    pub(super) fn put_set(
        &mut self,
        data_type: DataType,
        value: &Primitive<'_>,
    ) -> Result<(), EncodeError> {
        let len_at = self.set_len_at;
        self.encoder.attempt(|encoder| {
            encoder.set_value(data_type, value)?;
            check_set_len(encoder, len_at)
        })?;
        self.advance_set();
        Ok(())
    }

    /// Begins the next value of the set, which is a container or an array.
    pub(super) fn set_slot(
        &mut self,
        expected: DataType,
        found: DataType,
    ) -> Result<Slot<'_, 'b>, EncodeError> {
        if expected != found || !(found.is_container() || found == DataType::ARRAY) {
            return Err(EncodeError::WrongType { expected, found });
        }
        self.advance_set();
        Ok(self.slot(found))
    }

    /// The place for a container behind its length.
    pub(super) fn slot(&mut self, data_type: DataType) -> Slot<'_, 'b> {
        Slot::behind_len(self.encoder, data_type, Ending::Len16, "value")
    }

    /// Writes the whole set data.
    pub(super) fn set_data(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.encoder.check(self.level)?;
        if !matches!(self.set, SetPart::Bytes) {
            return Err(EncodeError::Order { what: "set data in one piece" });
        }
        let len_at = self.set_len_at;
        self.encoder.attempt(|encoder| {
            encoder.slice(bytes);
            check_set_len(encoder, len_at)
        })?;
        self.end_set()
    }

    #[cold]
    fn end_set(&mut self) -> Result<(), EncodeError> {
        if let Some(at) = self.set_len_at {
            self.encoder.close_u15(at, "set data")?;
        }
        self.begin_standard();
        self.set = SetPart::Done;
        Ok(())
    }

    #[inline]
    pub(super) fn finish(mut self) -> Result<(), EncodeError> {
        if self.in_set()? {
            return Err(EncodeError::Order { what: "the end of a list with set data missing" });
        }
        if self.standard {
            self.encoder.patch_u16(self.count_at, self.count as u16);
        }
        self.encoder.close_container();
        self.close.apply(self.encoder)
    }
}
