//! One message to publish, and how it is written.

use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoded, Encoder, Msg, MsgKey, RefreshFlags, RefreshMsg, Slot,
    State, UpdateMsg, UpdateType,
};

/// Content of one item, to be sent now.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The domain of the item.
    pub domain: Domain,
    /// What the content is.
    pub kind: UpdateKind,
    /// The content.
    pub payload: Encoded<'a>,
}

/// What content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// Changes, of a type.
    Changes(UpdateType),
    /// A whole new image: what was known of the item before is void.
    Image,
}

impl Update<'_> {
    /// Appends the encoded message to `out`: an update, or an unsolicited
    /// refresh that clears what was known. `key` goes into refreshes.
    pub fn append(
        &self,
        stream_id: i32,
        key: Option<MsgKey<'_>>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let msg = match self.kind {
            UpdateKind::Changes(update_type) => UpdateMsg {
                update_type,
                payload: self.payload,
                ..UpdateMsg::new(self.domain, stream_id)
            }
            .into(),
            UpdateKind::Image => {
                let flags = RefreshFlags::CLEAR_CACHE | RefreshFlags::REFRESH_COMPLETE;
                let state = State::open_ok("");
                let payload = self.payload;
                let head = RefreshMsg::new(self.domain, stream_id);
                RefreshMsg { flags, state, key, payload, ..head }.into()
            }
        };
        append_message(out, &msg)
    }
}

/// Appends an encoded message to a buffer that grows.
pub(crate) fn append_message(out: &mut Vec<u8>, msg: &Msg<'_>) -> Result<(), EncodeError> {
    grow(out, 64 + msg.payload().bytes().len(), |encoder| encoder.message(msg))
}

/// Appends an encoded container to a buffer that grows. `write` is called again
/// when the buffer was too small.
pub(crate) fn append_container(
    out: &mut Vec<u8>,
    container_type: DataType,
    write: impl Fn(Slot<'_, '_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    grow(out, 256, |encoder| write(encoder.container(container_type)))
}

fn grow(
    out: &mut Vec<u8>,
    mut room: usize,
    write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    loop {
        out.resize(start + room, 0);
        let mut encoder = Encoder::new(&mut out[start..]);
        match write(&mut encoder).and_then(|()| encoder.finish()) {
            Ok(len) => {
                out.truncate(start + len);
                return Ok(());
            }
            Err(EncodeError::BufferTooSmall { missing }) => room += missing,
            Err(error) => {
                out.truncate(start);
                return Err(error);
            }
        }
    }
}
