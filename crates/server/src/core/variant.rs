//! One message in the forms in which its receivers get it, each written once.

use core::ops::Range;
use std::collections::HashMap;

use tapeline_omm::view::ProjectError;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, DataType, EncodeError, Encoded, Encoder, Msg, MsgKey, RefreshMsg, StateCode,
    StatusMsg, StreamState,
};

use super::copies::Gathered;
use super::forms::Form;
use super::pacing::quality_within;
use crate::Shared;

/// What may differ between receivers of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag or part of the message")]
pub(super) struct Variant {
    /// The form of the watcher.
    pub(super) form: usize,
    pub(super) stream: StreamState,
    pub(super) data: DataState,
    pub(super) solicited: bool,
    pub(super) begins: bool,
    /// It is without content.
    pub(super) is_blank: bool,
    pub(super) private: bool,
    pub(super) with_key: bool,
}

impl Variant {
    /// An update, which differs by form only.
    pub(super) const fn of_update(form: usize) -> Self {
        Self {
            form,
            stream: StreamState::OPEN,
            data: DataState::OK,
            solicited: false,
            begins: false,
            is_blank: false,
            private: false,
            with_key: false,
        }
    }
}

/// One variant of the message that is being sent.
#[derive(Debug)]
struct Known {
    variant: Variant,
    /// Empty where there is nothing to send.
    range: Range<usize>,
    shared: Shared,
    gathered: Option<Gathered>,
}

/// A message in one of its variants.
pub(super) struct Written<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) shared: &'a mut Shared,
    /// Where it waits to be copied, once it does.
    pub(super) gathered: &'a mut Option<Gathered>,
}

/// So many variants are compared one by one; most messages have no more.
const FEW: usize = 8;

/// What long images take beyond this is given back with the next message.
const RETAINED_BYTES: usize = 1 << 20;

/// The variants of the message that is being sent.
#[derive(Debug)]
pub(super) struct Variants {
    buffer: Vec<u8>,
    used: usize,
    known: Vec<Known>,
    /// Where those beyond the first [`FEW`] are.
    others: HashMap<Variant, usize>,
    max_bytes: usize,
}

impl Variants {
    pub(super) fn new(max_bytes: usize) -> Self {
        let buffer = vec![0; (16 << 10).min(max_bytes)];
        Self {
            buffer,
            used: 0,
            known: Vec::new(),
            others: HashMap::new(),
            max_bytes: max_bytes.saturating_mul(2),
        }
    }

    /// Another message begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        if self.buffer.len() > RETAINED_BYTES {
            // That of a long image.
            self.buffer.truncate(RETAINED_BYTES);
            self.buffer.shrink_to_fit();
        }
        self.used = 0;
        self.known.clear();
        self.others.clear();
    }

    /// The message in a variant, written by `write` when it is needed first.
    /// `None` when there is nothing to send in it.
    pub(super) fn get(
        &mut self,
        variant: Variant,
        write: impl Fn(&mut [u8]) -> Result<Option<usize>, ProjectError>,
    ) -> Option<(&[u8], &mut Shared)> {
        let index = self.index(variant, write);
        self.at(index).map(|written| (written.bytes, written.shared))
    }

    /// Where the message in a variant is, for [`at`](Self::at) until another
    /// one, or another variant, is asked for.
    pub(super) fn index(
        &mut self,
        variant: Variant,
        write: impl Fn(&mut [u8]) -> Result<Option<usize>, ProjectError>,
    ) -> usize {
        if let Some(index) = self.find(variant) {
            return index;
        }
        let len = self.write(write).unwrap_or_default();
        let range = self.used..self.used + len;
        self.used += len;
        let index = self.known.len();
        self.known.push(Known { variant, range, shared: Shared::default(), gathered: None });
        if index >= FEW {
            self.others.insert(variant, index);
        }
        index
    }

    fn find(&self, variant: Variant) -> Option<usize> {
        let mut few = self.known.iter().take(FEW);
        let index = few.position(|known| known.variant == variant);
        index.or_else(|| self.others.get(&variant).copied())
    }

    /// The message in the variant at this index. `None` when there is nothing
    /// to send in it.
    #[inline]
    pub(super) fn at(&mut self, index: usize) -> Option<Written<'_>> {
        let Known { range, shared, gathered, .. } = self.known.get_mut(index)?;
        let bytes = self.buffer.get(range.clone()).filter(|bytes| !bytes.is_empty())?;
        Some(Written { bytes, shared, gathered })
    }

    fn write(
        &mut self,
        write: impl Fn(&mut [u8]) -> Result<Option<usize>, ProjectError>,
    ) -> Option<usize> {
        loop {
            match write(self.buffer.get_mut(self.used..)?) {
                Ok(len) => return len,
                Err(ProjectError::Encode(EncodeError::BufferTooSmall { missing })) => {
                    let needed = self.buffer.len().saturating_add(missing);
                    if needed > self.max_bytes && self.used > 0 {
                        // Whoever wants one of those once more has it written
                        // once more.
                        self.begin();
                        continue;
                    }
                    if needed > self.max_bytes {
                        return None;
                    }
                    let is_long = needed > RETAINED_BYTES;
                    let room = if is_long { needed } else { needed.next_power_of_two() };
                    self.buffer.resize(room.min(self.max_bytes), 0);
                }
                Err(_) => return None,
            }
        }
    }
}

/// Writes a message in a form. `None` for an update of which nothing is left.
pub(super) fn write_form(
    msg: &Msg<'_>,
    form: Option<&Form>,
    key: MsgKey<'_>,
    buffer: &mut [u8],
) -> Result<Option<usize>, ProjectError> {
    let whole = |msg: &Msg<'_>, buffer: &mut [u8]| {
        let mut encoder = Encoder::new(buffer);
        encoder.message(msg)?;
        Ok(Some(encoder.finish()?))
    };
    let Some(form) = form else { return whole(msg, buffer) };
    let shaped = shape(*msg, form, key);
    let is_unmasked = matches!(msg, Msg::Update(_)) && planted!(UnmaskedUpdate);
    let Some(mut projection) = form.projection() else { return whole(&shaped, buffer) };
    projection.mask = projection.mask.filter(|_| !is_unmasked);
    match (projection.project_msg(&shaped, buffer), &form.mask) {
        // A payload that cannot be read goes out as it is, as without a view,
        (Err(ProjectError::Decode(_)), None) => whole(&shaped, buffer),
        // but not to who is shown some of its fields only.
        (Err(ProjectError::Decode(_)), Some(_)) => match blank(shaped) {
            Some(blank) => whole(&blank, buffer),
            None => Ok(None),
        },
        (done, _) => done,
    }
}

/// An image or a state without its payload; `None` for other messages, which are
/// nothing without.
fn blank(msg: Msg<'_>) -> Option<Msg<'_>> {
    let payload = Encoded::new(DataType::NO_DATA, &[]);
    match msg {
        Msg::Refresh(refresh) => Some(RefreshMsg { payload, ..refresh }.into()),
        Msg::Status(status) => Some(StatusMsg { payload, ..status }.into()),
        _ => None,
    }
}

/// Puts the key in, takes permission data out, and says where all fields are
/// given in place of a view.
fn shape<'m>(msg: Msg<'m>, form: &Form, key: MsgKey<'m>) -> Msg<'m> {
    let keep = |perm_data: Option<&'m [u8]>| perm_data.filter(|_| form.with_perm_data);
    match msg {
        Msg::Update(mut update) => {
            update.perm_data = keep(update.perm_data);
            update.key = form.with_key.then_some(key);
            update.into()
        }
        Msg::Refresh(mut refresh) => {
            refresh.perm_data = keep(refresh.perm_data);
            if let Some(interval_ms) = form.interval_ms {
                refresh.qos = Some(quality_within(interval_ms, refresh.qos));
            }
            let has_news =
                refresh.state.data == DataState::OK && refresh.state.code == StateCode::NONE;
            if form.is_full_view && has_news {
                refresh.state.code = StateCode::FULL_VIEW_PROVIDED;
            }
            refresh.into()
        }
        Msg::Status(mut status) => {
            status.perm_data = keep(status.perm_data);
            status.into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of so many bytes, each the number of the form.
    fn written(
        form: usize,
        len: usize,
    ) -> impl Fn(&mut [u8]) -> Result<Option<usize>, ProjectError> {
        move |buffer| match buffer.get_mut(..len) {
            Some(room) => {
                room.fill(form as u8);
                Ok(Some(len))
            }
            None => {
                let missing = len - buffer.len();
                Err(ProjectError::Encode(EncodeError::BufferTooSmall { missing }))
            }
        }
    }

    #[test]
    fn each_variant_is_written_once_however_many_there_are() {
        let mut variants = Variants::new(1 << 20);
        for round in 0..2 {
            for form in 0..100 {
                let write = |buffer: &mut [u8]| match round {
                    0 => written(form, 10)(buffer),
                    _ => panic!("{form} is known"),
                };
                let (bytes, _) = variants.get(Variant::of_update(form), write).unwrap();
                assert_eq!(bytes, [form as u8; 10]);
            }
        }
        variants.begin();
        for form in [0, 99] {
            let (bytes, _) = variants.get(Variant::of_update(form), written(7, 3)).unwrap();
            assert_eq!(bytes, [7; 3], "another message");
        }
    }

    #[test]
    fn what_does_not_fit_beside_the_others_takes_their_place() {
        let mut variants = Variants::new(1_000);
        for form in (0..40).chain(0..40) {
            let (bytes, _) = variants.get(Variant::of_update(form), written(form, 1_000)).unwrap();
            assert_eq!(bytes, vec![form as u8; 1_000]);
            assert!(variants.buffer.len() <= 2_000);
        }
        let index = variants.index(Variant::of_update(50), written(50, 2_001));
        assert!(variants.at(index).is_none(), "longer than any may be");
        let (bytes, _) = variants.get(Variant::of_update(51), written(51, 2_000)).unwrap();
        assert_eq!(bytes.len(), 2_000);
    }

    #[test]
    fn nothing_to_send_is_known_too() {
        let mut variants = Variants::new(1_000);
        assert!(variants.get(Variant::of_update(1), |_| Ok(None)).is_none());
        assert!(variants.get(Variant::of_update(1), |_| panic!("it is known")).is_none());
    }
}
