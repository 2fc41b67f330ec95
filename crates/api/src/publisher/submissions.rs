//! What a publisher sends.

use tapeline_channel::Sent;
use tapeline_omm::StateBuf;
use tapeline_omm::directory::{Directory, DirectoryUpdate, ServiceEntry};
use tapeline_omm::state::is_final;
use tapeline_omm::stream::Held;
use tapeline_rwf::{
    CloseMsg, Domain, Msg, MsgClass, MsgHeader, RefreshFlags, RefreshMsg, StateCode, StatusMsg,
};

use super::core::{Item, Phase, PublisherCore, PublisherOutputs};
use super::event::ItemHandle;
use crate::{
    ApiError, Flow, GenericHead, Payload, RefreshHead, ServiceRef, StatusHead, UpdateHead,
};

/// An item to be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishSpec<'a> {
    /// Service, one of the publisher's own.
    pub service: ServiceRef<'a>,
    /// Name of the item.
    pub name: &'a str,
    /// What kind of name it is; a RIC when absent.
    pub name_type: Option<u8>,
    /// Domain. Default: market price.
    pub domain: Domain,
}

impl<'a> PublishSpec<'a> {
    /// A market price item.
    pub fn new(service: impl Into<ServiceRef<'a>>, name: &'a str) -> Self {
        Self { service: service.into(), name, name_type: None, domain: Domain::MARKET_PRICE }
    }

    /// The same of another domain.
    #[must_use]
    pub fn domain(self, domain: Domain) -> Self {
        Self { domain, ..self }
    }
}

/// What a publisher can send, at any time and also while it is told of an
/// event. Images are kept while there is no connection, and sent when there is
/// one.
pub struct Submissions<'c> {
    core: &'c mut PublisherCore,
    out: &'c mut dyn PublisherOutputs,
}

impl<'c> Submissions<'c> {
    #[inline]
    pub(super) fn new(core: &'c mut PublisherCore, out: &'c mut dyn PublisherOutputs) -> Self {
        Self { core, out }
    }

    /// Opens an item. The hub knows of it with its first image.
    ///
    /// Errors: too many items; the service is not one of the publisher's.
    pub fn open(&mut self, spec: &PublishSpec<'_>) -> Result<ItemHandle, ApiError> {
        let limit = self.core.config.max_items;
        if self.core.items.len() >= limit {
            return Err(ApiError::TooManyItems { limit });
        }
        let service_id = match spec.service {
            ServiceRef::Id(id) => self.core.directory.service(id).map(|_| id),
            ServiceRef::Name(name) => self.core.directory.service_id(name.as_bytes()),
        };
        let service_id = service_id.ok_or_else(|| {
            ApiError::UnknownService(match spec.service {
                ServiceRef::Id(id) => id.to_string(),
                ServiceRef::Name(name) => name.to_owned(),
            })
        })?;
        Ok(ItemHandle(self.core.items.insert(Item {
            service_id,
            name: spec.name.into(),
            name_type: spec.name_type,
            domain: spec.domain,
            image: Vec::new(),
            parts: 0,
            is_complete: false,
            is_submitted: false,
            is_old: false,
            state: None,
            is_known: false,
        })))
    }

    /// Publishes an image of an item, or a part of one. It is kept, and
    /// submitted again after the connection was lost. Behind a part that there was
    /// no room for, the rest of its image is not taken: begin another.
    ///
    /// Errors: void handle, what sending can do; not
    /// [`ApiError::NotConnected`].
    pub fn refresh(
        &mut self,
        item: ItemHandle,
        head: &RefreshHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<Flow, ApiError> {
        let known = self.core.items.get(item.0).ok_or(ApiError::Void)?;
        let msg = head.msg(known.domain, 0);
        self.submit(item, &msg, payload)
    }

    fn submit(
        &mut self,
        item: ItemHandle,
        msg: &RefreshMsg<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<Flow, ApiError> {
        let stream_id = self.core.stream_of(item);
        let is_up = self.core.is_up();
        let known = self.core.items.get(item.0).ok_or(ApiError::Void)?;
        let is_first = known.begins(msg.part_num);
        let is_last = msg.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        let mut msg = RefreshMsg { stream_id, key: Some(known.key()), ..*msg };
        msg.flags.set(RefreshFlags::CLEAR_CACHE, is_first);
        msg.flags.remove(RefreshFlags::SOLICITED);
        let message = self
            .core
            .scratch
            .encode(|encoder| payload.write(encoder.begin(&msg.into(), payload.data_type())?))?;
        let known = self.core.items.get_mut(item.0).ok_or(ApiError::Void)?;
        known.keep(message, is_first, is_last);
        if !is_up {
            return Ok(Flow::Free);
        }
        if !is_first && !known.is_submitted {
            // It goes with those before it, which wait for their turn; or there
            // was no room for them.
            return match self.core.phase {
                Phase::Submitting => Ok(Flow::Slow),
                _ => Err(ApiError::Full),
            };
        }
        let sent = self.out.send(message);
        known.is_submitted = matches!(sent, Sent::Queued | Sent::Slow);
        known.is_known |= known.is_submitted;
        self.core.counts.refreshes += u64::from(known.is_submitted);
        Flow::of(sent, message.len())
    }

    /// Publishes a change of an item.
    ///
    /// Errors: void handle; there was no image yet ([`ApiError::Held`]); the
    /// hub does not have the image ([`ApiError::NotConnected`]); what sending
    /// can do. An update that was not sent makes the image that is kept an old
    /// one.
    #[inline]
    pub fn update(
        &mut self,
        item: ItemHandle,
        head: &UpdateHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<Flow, ApiError> {
        let stream_id = self.core.stream_of(item);
        let domain = self.may_update(item)?;
        let msg = head.msg(domain, stream_id);
        let message = self
            .core
            .scratch
            .encode(|encoder| payload.write(encoder.begin(&msg.into(), payload.data_type())?))?;
        let flow = Flow::of(self.out.send(message), message.len());
        self.core.counts.updates += u64::from(flow.is_ok());
        flow
    }

    /// Publishes an update or an image that is encoded already, by
    /// [`encode_update`](crate::encode_update) or by whoever sent it. Its
    /// stream id does not count. An update is sent as it is otherwise: this is
    /// the fastest way to publish. An image gets the key of the item, and is
    /// not solicited.
    ///
    /// Errors: as of [`update`](Self::update) and [`refresh`](Self::refresh);
    /// [`ApiError::Prepared`] when it is neither.
    #[inline]
    pub fn send(&mut self, item: ItemHandle, message: &[u8]) -> Result<Flow, ApiError> {
        let header = MsgHeader::decode(message).map_err(|_| ApiError::Prepared("it is no RWF"))?;
        if header.class != MsgClass::Update {
            return self.send_image(item, message);
        }
        self.may_update(item)?;
        let sent = self.out.send_on(self.core.stream_of(item), message);
        let flow = Flow::of(sent, message.len());
        self.core.counts.updates += u64::from(flow.is_ok());
        flow
    }

    fn send_image(&mut self, item: ItemHandle, message: &[u8]) -> Result<Flow, ApiError> {
        match Msg::decode(message) {
            Ok(Msg::Refresh(refresh)) => self.submit(item, &refresh, &refresh.payload),
            Ok(_) => Err(ApiError::Prepared("it is neither an update nor a refresh")),
            Err(_) => Err(ApiError::Prepared("it is no RWF")),
        }
    }

    #[inline]
    fn may_update(&mut self, item: ItemHandle) -> Result<Domain, ApiError> {
        let is_up = self.core.is_up();
        let known = self.core.items.get_mut(item.0).ok_or(ApiError::Void)?;
        if known.parts == 0 {
            return Err(ApiError::Held(Held::NoImage));
        }
        known.is_old = true;
        match is_up && known.is_submitted {
            true => Ok(known.domain),
            false => Err(ApiError::NotConnected),
        }
    }

    /// Publishes a change of state, group or permission data. A final state
    /// ends the item; its handle is void then. One that the connection has no
    /// room for is sent when the hub has read more.
    ///
    /// Errors: void handle, what sending can do; not
    /// [`ApiError::NotConnected`], and of a final state not
    /// [`ApiError::Full`].
    pub fn status(&mut self, item: ItemHandle, head: &StatusHead<'_>) -> Result<Flow, ApiError> {
        let stream_id = self.core.stream_of(item);
        let is_up = self.core.is_up();
        let known = self.core.items.get_mut(item.0).ok_or(ApiError::Void)?;
        let was_submitted = known.is_submitted;
        let msg = head.msg(known.domain, stream_id);
        let msg = StatusMsg { key: msg.key.or(Some(known.key())), ..msg };
        let message = self.core.scratch.encode(|encoder| encoder.message(&msg.into()))?;
        if head.state.is_some_and(|state| is_final(state.stream)) {
            let is_sent = is_up && known.is_known;
            let sent = match is_sent {
                true => self.out.send(message),
                false => Sent::Queued,
            };
            if sent == Sent::Full {
                self.core.ends.push_back((item.0.index, message.to_vec()));
                self.core.items.retire(item.0);
                return Ok(Flow::Slow);
            }
            let flow = Flow::of(sent, message.len());
            self.core.counts.statuses += u64::from(is_sent && flow.is_ok());
            self.core.items.remove(item.0);
            return flow;
        }
        if let Some(state) = head.state {
            known.state = Some(StateBuf::from(state));
        }
        if !(is_up && was_submitted) {
            return Ok(Flow::Free);
        }
        let flow = Flow::of(self.out.send(message), message.len());
        self.core.counts.statuses += u64::from(flow.is_ok());
        flow
    }

    /// Ends an item: closed, suspect.
    ///
    /// Errors: as of [`status`](Self::status).
    pub fn close(
        &mut self,
        item: ItemHandle,
        code: StateCode,
        text: &str,
    ) -> Result<Flow, ApiError> {
        self.status(item, &StatusHead::closed(code, text))
    }

    /// Sends a generic message on the stream of an item.
    ///
    /// Errors: void handle, not connected, what sending can do.
    pub fn generic(
        &mut self,
        item: ItemHandle,
        head: &GenericHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<Flow, ApiError> {
        let stream_id = self.core.stream_of(item);
        let is_up = self.core.is_up();
        let known = self.core.items.get(item.0).ok_or(ApiError::Void)?;
        if !(is_up && known.is_submitted) {
            return Err(ApiError::NotConnected);
        }
        let msg = head.msg(known.domain, stream_id);
        let message = self
            .core
            .scratch
            .encode(|encoder| payload.write(encoder.begin(&msg.into(), payload.data_type())?))?;
        Flow::of(self.out.send(message), message.len())
    }

    /// Changes services. While there is no connection the change is kept.
    ///
    /// Errors: what sending can do; not [`ApiError::NotConnected`].
    pub fn update_directory(&mut self, services: Vec<ServiceEntry>) -> Result<(), ApiError> {
        let stream_id = self.core.config.directory_stream_id;
        let update = DirectoryUpdate::new(stream_id, services);
        let _ = self.core.directory.apply_update(&update);
        if !self.core.is_up() {
            return Ok(());
        }
        let message = self.core.scratch.encode(|encoder| update.encode(encoder))?;
        Flow::of(self.out.send(message), message.len()).map(drop)
    }

    /// The services as they are now.
    pub fn directory(&self) -> &Directory {
        &self.core.directory
    }

    /// Logs out and closes the connection; nothing is tried again.
    pub fn log_out(&mut self) {
        if self.core.phase == Phase::Over {
            return;
        }
        let msg = CloseMsg::new(Domain::LOGIN, 1);
        if let Ok(message) = self.core.scratch.encode(|encoder| encoder.message(&msg.into())) {
            let _ = self.out.send(message);
        }
        self.out.disconnect("logged out");
        self.core.phase = Phase::Over;
    }

    /// Whether the directory and all images were submitted.
    pub fn is_ready(&self) -> bool {
        self.core.phase == Phase::Ready
    }

    /// How many items are open.
    pub fn open_items(&self) -> usize {
        self.core.items.len()
    }
}
