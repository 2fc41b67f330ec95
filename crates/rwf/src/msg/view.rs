//! A message of which only what is asked for is read.

#![allow(clippy::inline_always, reason = "measured: see the reader")]

use super::read;
use crate::decode::Reader;
use crate::error::{DecodeError, Level};
use crate::{DataType, Encoded, Msg, MsgClass, MsgHeader, MsgKey, UpdateFlags, UpdateType};

/// A message for those who route it: the shared part of its header is read, an
/// optional part when it is asked for, and asking twice reads twice.
///
/// [`Msg`] is for those who need most parts of a message anyway. A view of an
/// update costs about half of it.
///
/// ```
/// use tapeline_rwf::{MsgClass, MsgView};
///
/// let bytes = [0, 13, 4, 6, 0, 0, 0, 5, 0x10, 4, 1, 0, 0, 0, 9, 8, 0, 0];
/// let view = MsgView::decode(&bytes)?;
/// assert_eq!((view.header().class, view.header().stream_id), (MsgClass::Update, 5));
/// assert_eq!(view.seq_num()?, Some(9));
/// assert_eq!(view.key()?, None);
/// assert_eq!(view.payload().bytes(), [8, 0, 0]);
/// # Ok::<(), tapeline_rwf::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MsgView<'a> {
    header: MsgHeader,
    /// The parts of the class.
    parts: Reader<'a>,
    payload: Encoded<'a>,
}

impl<'a> MsgView<'a> {
    /// Reads the shared part of a header.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let data = Encoded::new(DataType::MSG, bytes);
        let (header, parts, mut rest) = MsgHeader::read(Reader::enter(&data, Level::Msg)?)?;
        Ok(Self { header, parts, payload: rest.rest(header.container_type) })
    }

    /// The shared part.
    #[inline(always)]
    pub const fn header(&self) -> &MsgHeader {
        &self.header
    }

    /// What is behind the header. Its offset and length are the payload's
    /// range in the message.
    #[inline(always)]
    pub const fn payload(&self) -> Encoded<'a> {
        self.payload
    }

    /// The type of an update; `None` for the other classes.
    #[inline(always)]
    pub fn update_type(&self) -> Result<Option<UpdateType>, DecodeError> {
        if self.header.class != MsgClass::Update {
            return Ok(None);
        }
        let mut parts = self.parts;
        Ok(Some(read::update_type(&mut parts)?))
    }

    /// The sequence number, if there is one.
    #[inline(always)]
    pub fn seq_num(&self) -> Result<Option<u32>, DecodeError> {
        if self.header.class != MsgClass::Update {
            return self.seq_num_of_others();
        }
        if !self.has(UpdateFlags::HAS_SEQ_NUM) {
            return Ok(None);
        }
        let mut parts = self.parts;
        read::update_type(&mut parts)?;
        Ok(Some(read::seq_num(&mut parts)?))
    }

    /// The key, if the class has one and it is there.
    #[inline(always)]
    pub fn key(&self) -> Result<Option<MsgKey<'a>>, DecodeError> {
        if self.header.class != MsgClass::Update {
            return Ok(self.msg()?.key().copied());
        }
        if !self.has(UpdateFlags::HAS_MSG_KEY) {
            return Ok(None);
        }
        read::update_key(self.flags(), self.parts).map(Some)
    }

    /// The message with all its parts.
    #[inline(never)]
    pub fn msg(&self) -> Result<Msg<'a>, DecodeError> {
        read::class(self.header, self.parts, self.payload)
    }

    #[inline(never)]
    fn seq_num_of_others(&self) -> Result<Option<u32>, DecodeError> {
        Ok(self.msg()?.seq_num())
    }

    #[inline(always)]
    fn flags(&self) -> UpdateFlags {
        UpdateFlags::from_bits_retain(self.header.flags)
    }

    #[inline(always)]
    fn has(&self, flag: UpdateFlags) -> bool {
        self.flags().contains(flag)
    }
}
