//! Requests for items.

use tapeline_rwf::{
    DataType, Domain, ElementListHead, EncodeError, Encoder, MsgKey, Priority, RequestFlags,
    RequestMsg, Slot,
};

use super::SymbolListBehaviors;
use crate::batch::{write_item_list, write_stream_id_list};
use crate::qos::QosWish;
use crate::view::View;
use crate::{ItemKeyRef, ModelError};

/// Asks for an item, or on an open stream changes what was asked for.
///
/// What the payload of a request holds is read by
/// [`ViewChange::of`](crate::view::ViewChange::of),
/// [`Batch::of_request`](crate::batch::Batch::of_request) and
/// [`SymbolListBehaviors::of`], and written from a [`RequestPayload`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the message")]
pub struct ItemRequest<'a> {
    /// Domain.
    pub domain: Domain,
    /// Stream, chosen by the requester.
    pub stream_id: i32,
    /// Service, name and whatever else the domain knows items by.
    pub key: MsgKey<'a>,
    /// Whether updates are wanted after the image.
    pub streaming: bool,
    /// Whether updates are not wanted for now.
    pub pause: bool,
    /// Whether no image is wanted.
    pub no_refresh: bool,
    /// Whether the stream is to be the requester's alone.
    pub private: bool,
    /// Whether the key is wanted in every response.
    pub key_in_updates: bool,
    /// Whether conflation count and time are wanted in updates.
    pub conflation_info: bool,
    /// Class and count of the interest.
    pub priority: Option<Priority>,
    /// Quality of service that is wanted.
    pub qos: QosWish,
}

/// What goes into the payload of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestPayload<'a> {
    /// Names of a batch request.
    pub items: Option<&'a [&'a [u8]]>,
    /// Streams of a batch reissue.
    pub stream_ids: Option<&'a [i32]>,
    /// Fields that are wanted.
    pub view: Option<&'a View>,
    /// Whether the stream keeps the view that it has, although none is given.
    pub keep_view: bool,
    /// How a symbol list is to behave.
    pub symbol_list: Option<SymbolListBehaviors>,
}

impl RequestPayload<'_> {
    /// Nothing: no payload.
    pub const NONE: Self = RequestPayload {
        items: None,
        stream_ids: None,
        view: None,
        keep_view: false,
        symbol_list: None,
    };

    const fn is_empty(&self) -> bool {
        self.items.is_none()
            && self.stream_ids.is_none()
            && self.view.is_none()
            && self.symbol_list.is_none()
    }

    fn write(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        let mut list = slot.element_list(&ElementListHead::STANDARD)?;
        if let Some(items) = self.items {
            write_item_list(&mut list, items.iter().copied())?;
        }
        if let Some(ids) = self.stream_ids {
            write_stream_id_list(&mut list, ids.iter().copied())?;
        }
        if let Some(view) = self.view {
            view.write(&mut list)?;
        }
        if let Some(behaviors) = &self.symbol_list {
            behaviors.write(&mut list)?;
        }
        list.finish()
    }
}

impl<'a> ItemRequest<'a> {
    /// A streaming request for an item by its key.
    pub const fn new(domain: Domain, stream_id: i32, key: MsgKey<'a>) -> Self {
        Self {
            domain,
            stream_id,
            key,
            streaming: true,
            pause: false,
            no_refresh: false,
            private: false,
            key_in_updates: false,
            conflation_info: false,
            priority: None,
            qos: QosWish::Best,
        }
    }

    /// Reads the header of a request. Errors: those of [`QosWish::of`].
    pub fn decode(msg: &RequestMsg<'a>) -> Result<Self, ModelError> {
        let has = |flag| msg.flags.contains(flag);
        Ok(Self {
            domain: msg.domain,
            stream_id: msg.stream_id,
            key: msg.key,
            streaming: has(RequestFlags::STREAMING),
            pause: has(RequestFlags::PAUSE),
            no_refresh: has(RequestFlags::NO_REFRESH),
            private: has(RequestFlags::PRIVATE_STREAM),
            key_in_updates: has(RequestFlags::MSG_KEY_IN_UPDATES),
            conflation_info: has(RequestFlags::CONF_INFO_IN_UPDATES),
            priority: msg.priority,
            qos: QosWish::of(msg)?,
        })
    }

    /// Writes the request.
    pub fn encode(
        &self,
        encoder: &mut Encoder<'_>,
        payload: &RequestPayload<'_>,
    ) -> Result<(), EncodeError> {
        let mut flags = RequestFlags::empty();
        flags.set(RequestFlags::STREAMING, self.streaming);
        flags.set(RequestFlags::PAUSE, self.pause);
        flags.set(RequestFlags::NO_REFRESH, self.no_refresh);
        flags.set(RequestFlags::PRIVATE_STREAM, self.private);
        flags.set(RequestFlags::MSG_KEY_IN_UPDATES, self.key_in_updates);
        flags.set(RequestFlags::CONF_INFO_IN_UPDATES, self.conflation_info);
        flags.set(RequestFlags::HAS_VIEW, payload.view.is_some() || payload.keep_view);
        let is_batch = payload.items.is_some() || payload.stream_ids.is_some();
        flags.set(RequestFlags::HAS_BATCH, is_batch);
        let (qos, worst_qos) = self.qos.parts();
        let msg = RequestMsg {
            flags,
            priority: self.priority,
            qos,
            worst_qos,
            key: self.key,
            ..RequestMsg::new(self.domain, self.stream_id)
        };
        if payload.is_empty() {
            return encoder.message(&msg.into());
        }
        payload.write(encoder.begin(&msg.into(), DataType::ELEMENT_LIST)?)
    }

    /// What makes this request the same stream as another one, at the quality
    /// that was matched. Private streams are never the same.
    pub fn item_key(&self, matched: Option<tapeline_rwf::Qos>) -> Option<ItemKeyRef<'a>> {
        (!self.private).then(|| ItemKeyRef::of(self.domain, &self.key, matched))
    }
}
