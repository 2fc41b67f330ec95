//! What a provider sends.

use tapeline_channel::{Sent, SessionId};
use tapeline_omm::directory::{Directory, DirectoryUpdate, ServiceEntry};
use tapeline_omm::login::{LoginRequest, LoginStatus};
use tapeline_omm::stream::{Allowed, Held};
use tapeline_omm::view::{ProjectError, View};
use tapeline_omm::{Scratch, encode_into};
use tapeline_rwf::{
    AckFlags, AckMsg, EncodeError, Encoder, Msg, MsgClass, MsgHeader, NakCode, RefreshFlags,
    RefreshMsg, State, StateCode, StatusFlags, StatusMsg, UpdateMsg,
};

use super::core::{ProviderCore, ProviderOutputs, Stream};
use super::event::{PostReceipt, StreamHandle, StreamInfo};
use crate::{
    ApiError, Flow, GenericHead, MAX_MESSAGE_BYTES, Payload, RefreshHead, StatusHead, UpdateHead,
};

/// What a provider can send, at any time and also while it is told of an
/// event.
///
/// Sending copies the message into the client's output. A client whose output
/// is full is cut off, since it would miss the message for good:
/// [`ApiError::Full`]. [`Flow::Slow`] is the warning before.
pub struct Responses<'c> {
    core: &'c mut ProviderCore,
    out: &'c mut dyn ProviderOutputs,
}

impl<'c> Responses<'c> {
    #[inline]
    pub(super) fn new(core: &'c mut ProviderCore, out: &'c mut dyn ProviderOutputs) -> Self {
        Self { core, out }
    }

    /// Sends an image of the item, or a part of one. It is marked as solicited
    /// when a request waits for it; otherwise it replaces what the client has.
    /// A snapshot is over with its last part.
    ///
    /// Errors: void handle, a part out of order, what sending can do.
    pub fn refresh(
        &mut self,
        stream: StreamHandle,
        head: &RefreshHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<Flow, ApiError> {
        let known = self.core.streams.get_mut(stream.0).ok_or(ApiError::Void)?;
        let allowed = known.rules.image(head.part, &head.state)?;
        let domain = known.key.as_ref().domain;
        let msg = known.fill_refresh(head.msg(domain, known.stream_id), &allowed);
        let sent =
            write(known, &mut self.core.scratch, &mut self.core.cut_down, self.out, |encoder| {
                payload.write(encoder.begin(&msg.into(), payload.data_type())?)
            });
        self.settle(stream, MsgClass::Refresh, sent)
    }

    /// Sends a change of the item.
    ///
    /// Errors: void handle; no image was sent yet or the client paused the
    /// stream ([`ApiError::Held`], to be ignored: the next image says all);
    /// what sending can do.
    #[inline]
    pub fn update(
        &mut self,
        stream: StreamHandle,
        head: &UpdateHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<Flow, ApiError> {
        let known = self.core.streams.get_mut(stream.0).ok_or(ApiError::Void)?;
        let allowed = known.allow_update()?;
        let domain = known.key.as_ref().domain;
        let mut msg = head.msg(domain, known.stream_id);
        msg.key = allowed.with_key.then(|| known.key.as_ref().msg_key());
        let sent =
            write(known, &mut self.core.scratch, &mut self.core.cut_down, self.out, |encoder| {
                payload.write(encoder.begin(&msg.into(), payload.data_type())?)
            });
        self.settle(stream, MsgClass::Update, sent)
    }

    /// Sends a change of state, group or permission data. A final state ends
    /// the stream; its handle is void then.
    ///
    /// Errors: void handle, what sending can do.
    pub fn status(
        &mut self,
        stream: StreamHandle,
        head: &StatusHead<'_>,
    ) -> Result<Flow, ApiError> {
        let known = self.core.streams.get_mut(stream.0).ok_or(ApiError::Void)?;
        let allowed = known.rules.status(head.state.as_ref())?;
        let domain = known.key.as_ref().domain;
        let msg = known.fill_status(head.msg(domain, known.stream_id), &allowed);
        let sent =
            write(known, &mut self.core.scratch, &mut self.core.cut_down, self.out, |encoder| {
                encoder.message(&msg.into())
            });
        self.settle(stream, MsgClass::Status, sent)
    }

    /// Ends a stream: closed, suspect.
    ///
    /// Errors: as of [`status`](Self::status).
    pub fn close(
        &mut self,
        stream: StreamHandle,
        code: StateCode,
        text: &str,
    ) -> Result<Flow, ApiError> {
        self.status(stream, &StatusHead::closed(code, text))
    }

    /// Sends a generic message on a stream.
    ///
    /// Errors: void handle, what sending can do.
    pub fn generic(
        &mut self,
        stream: StreamHandle,
        head: &GenericHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<Flow, ApiError> {
        let known = self.core.streams.get_mut(stream.0).ok_or(ApiError::Void)?;
        known.rules.other()?;
        let msg = head.msg(known.key.as_ref().domain, known.stream_id);
        let message = self
            .core
            .scratch
            .encode(|encoder| payload.write(encoder.begin(&msg.into(), payload.data_type())?))?;
        let sent = Flow::of(self.out.send(known.client, message), message.len());
        self.settle(stream, MsgClass::Generic, sent)
    }

    /// Sends a message that is encoded already: a refresh, an update, a status
    /// or a generic message of the item's domain. Its stream id does not
    /// count; its flags and its key are sent as they are, but for solicited
    /// images.
    ///
    /// This is the fastest way to send: one copy for each receiver.
    ///
    /// Errors: as of the function for the class;
    /// [`ApiError::Prepared`] when it is of another class or cannot be read.
    #[inline]
    pub fn send(&mut self, stream: StreamHandle, message: &[u8]) -> Result<Flow, ApiError> {
        let known = self.core.streams.get_mut(stream.0).ok_or(ApiError::Void)?;
        let header = MsgHeader::decode(message).map_err(|_| ApiError::Prepared("it is no RWF"))?;
        if header.class == MsgClass::Update && !known.needs_rewrite() {
            known.allow_update()?;
            let sent = self.out.send_on(known.client, known.stream_id, message);
            let sent = Flow::of(sent, message.len());
            return self.settle(stream, MsgClass::Update, sent);
        }
        self.send_rewritten(stream, message)
    }

    /// Sends one encoded update on many streams, all of items that it is true
    /// of. Returns how many took it; those that are void, wait for an image or
    /// are paused do not.
    ///
    /// Errors: [`ApiError::Prepared`] when it is no update.
    pub fn update_all(
        &mut self,
        streams: &[StreamHandle],
        message: &[u8],
    ) -> Result<usize, ApiError> {
        let header = MsgHeader::decode(message).map_err(|_| ApiError::Prepared("it is no RWF"))?;
        if header.class != MsgClass::Update {
            return Err(ApiError::Prepared("it is no update"));
        }
        Ok(streams.iter().filter(|stream| self.send(**stream, message).is_ok()).count())
    }

    /// Sends what has to be changed for its receiver.
    fn send_rewritten(&mut self, stream: StreamHandle, message: &[u8]) -> Result<Flow, ApiError> {
        let msg = Msg::decode(message).map_err(|_| ApiError::Prepared("it is no RWF"))?;
        let class = msg.class();
        let known = self.core.streams.get_mut(stream.0).ok_or(ApiError::Void)?;
        let stream_id = known.stream_id;
        let rewritten = match msg {
            Msg::Update(update) => {
                let allowed = known.allow_update()?;
                let key = known.key.as_ref().msg_key();
                let key = update.key.or(allowed.with_key.then_some(key));
                Msg::from(UpdateMsg { stream_id, key, ..update })
            }
            Msg::Refresh(refresh) => {
                let part = tapeline_omm::market::Part {
                    number: refresh.part_num,
                    is_last: refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE),
                };
                let allowed = known.rules.image(part, &refresh.state)?;
                known.fill_refresh(RefreshMsg { stream_id, ..refresh }, &allowed).into()
            }
            Msg::Status(status) => {
                let allowed = known.rules.status(status.state.as_ref())?;
                known.fill_status(StatusMsg { stream_id, ..status }, &allowed).into()
            }
            Msg::Generic(generic) => {
                known.rules.other()?;
                tapeline_rwf::GenericMsg { stream_id, ..generic }.into()
            }
            Msg::Request(_) | Msg::Close(_) | Msg::Ack(_) | Msg::Post(_) => {
                return Err(ApiError::Prepared("a provider sends no message of this class"));
            }
        };
        let sent =
            write(known, &mut self.core.scratch, &mut self.core.cut_down, self.out, |encoder| {
                encoder.message(&rewritten)
            });
        self.settle(stream, class, sent)
    }

    /// Counts what was sent, cuts off a client that does not take what it must
    /// have, and forgets a stream that is over.
    #[inline]
    fn settle(
        &mut self,
        stream: StreamHandle,
        class: MsgClass,
        sent: Result<Flow, ApiError>,
    ) -> Result<Flow, ApiError> {
        self.core.counts.sent(class, sent.is_ok());
        let Some(known) = self.core.streams.get(stream.0) else { return sent };
        let (client, is_over) = (known.client, known.rules.is_over());
        if matches!(sent, Err(ApiError::Full)) {
            self.core.cut_off(self.out, client);
        }
        if is_over {
            self.core.forget(stream);
        }
        sent
    }

    /// Accepts a post, if it wants to be told.
    ///
    /// Errors: what sending can do.
    pub fn ack(&mut self, receipt: PostReceipt) -> Result<(), ApiError> {
        self.answer_post(receipt, None)
    }

    /// Refuses a post, if it wants to be told.
    ///
    /// Errors: what sending can do.
    pub fn nak(&mut self, receipt: PostReceipt, code: NakCode, text: &str) -> Result<(), ApiError> {
        self.answer_post(receipt, Some((code, text)))
    }

    fn answer_post(
        &mut self,
        receipt: PostReceipt,
        nak: Option<(NakCode, &str)>,
    ) -> Result<(), ApiError> {
        let Some(ack_id) = receipt.post_id.filter(|_| receipt.wants_ack) else { return Ok(()) };
        let known = receipt.stream.and_then(|stream| self.core.streams.get(stream.0));
        if receipt.stream.is_some() && known.is_none() {
            return Err(ApiError::Void);
        }
        let mut flags = AckFlags::empty();
        flags.set(AckFlags::PRIVATE_STREAM, known.is_some_and(|known| known.private));
        let key = known.filter(|known| known.key_in_updates);
        let msg = AckMsg {
            flags,
            ack_id,
            seq_num: receipt.seq_num,
            nak_code: nak.map(|(code, _)| code),
            text: nak.map(|(_, text)| text.as_bytes()),
            key: key.map(|known| known.key.as_ref().msg_key()),
            ..AckMsg::new(receipt.domain, receipt.stream_id)
        };
        let message = self.core.scratch.encode(|encoder| encoder.message(&msg.into()))?;
        let len = message.len();
        let sent = self.out.send(receipt.client, message);
        if sent == Sent::Full {
            self.core.cut_off(self.out, receipt.client);
        }
        Flow::of(sent, len).map(drop)
    }

    /// Changes services, for everybody who has the directory. `ADD`, `UPDATE`
    /// and `DELETE` entries go out as they are; open streams stay as they are.
    pub fn update_directory(&mut self, services: Vec<ServiceEntry>) {
        let update = DirectoryUpdate::new(0, services);
        let _ = self.core.directory.apply_update(&update);
        for session in self.core.sessions() {
            let Some(client) = self.core.client(session) else { continue };
            let told: Vec<_> = client
                .directories
                .iter()
                .filter_map(|request| update.restricted(request))
                .collect();
            for update in told {
                self.core.send(self.out, session, |encoder| update.encode(encoder));
            }
        }
    }

    /// The services as they are now.
    pub fn directory(&self) -> &Directory {
        &self.core.directory
    }

    /// Ends the login of a client with this state, and its connection with it
    /// when the state is final.
    pub fn log_out(&mut self, client: SessionId, state: &State<'_>) {
        let login = self.core.client(client).and_then(|client| client.login.as_ref());
        let Some(login) = login else { return };
        let status = LoginStatus::new(login.stream_id, state);
        self.core.send(self.out, client, |encoder| status.encode(encoder));
        if tapeline_omm::state::is_final(state.stream) {
            self.out.close(client, "logged out by the provider");
        }
    }

    /// Closes the connection of a client.
    pub fn disconnect(&mut self, client: SessionId, reason: &str) {
        self.out.close(client, reason);
    }

    /// What is known of a stream; nothing for a void handle.
    pub fn stream(&self, stream: StreamHandle) -> Option<StreamInfo<'_>> {
        let known = self.core.streams.get(stream.0)?;
        let key = known.key.as_ref();
        Some(StreamInfo {
            client: known.client,
            stream_id: known.stream_id,
            domain: key.domain,
            service_id: key.service_id,
            name: &known.name,
            streaming: known.streaming,
            private: known.private,
            wants_image: known.rules.owes_image(),
        })
    }

    /// The fields that a stream is restricted to. Messages are cut down to
    /// them when they are sent.
    pub fn view(&self, stream: StreamHandle) -> Option<&View> {
        self.core.streams.get(stream.0)?.view.as_deref()
    }

    /// Who a client is; nothing before its login.
    pub fn login(&self, client: SessionId) -> Option<&LoginRequest> {
        self.core.client(client)?.login.as_ref()
    }

    /// The clients, by their place.
    pub fn clients(&self) -> Vec<SessionId> {
        self.core.sessions()
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.core.streams.len()
    }
}

impl Stream {
    #[inline]
    fn allow_update(&mut self) -> Result<Allowed, Held> {
        let allowed = self.rules.update()?;
        if self.is_held { Err(Held::Paused) } else { Ok(allowed) }
    }

    /// An update for the stream is not the same as for others.
    #[inline]
    const fn needs_rewrite(&self) -> bool {
        self.view.is_some() || self.key_in_updates
    }

    fn fill_refresh<'m>(&'m self, msg: RefreshMsg<'m>, allowed: &Allowed) -> RefreshMsg<'m> {
        let mut flags = msg.flags;
        flags.set(RefreshFlags::SOLICITED, allowed.solicited);
        flags.set(RefreshFlags::CLEAR_CACHE, allowed.begins);
        flags.set(RefreshFlags::PRIVATE_STREAM, allowed.private);
        let key = allowed.with_key.then(|| self.key.as_ref().msg_key());
        RefreshMsg {
            flags,
            state: State { stream: allowed.stream, data: allowed.data, ..msg.state },
            key: msg.key.or(key),
            ..msg
        }
    }

    fn fill_status<'m>(&'m self, msg: StatusMsg<'m>, allowed: &Allowed) -> StatusMsg<'m> {
        let mut flags = msg.flags;
        flags.set(StatusFlags::PRIVATE_STREAM, allowed.private);
        let key = allowed.with_key.then(|| self.key.as_ref().msg_key());
        let told = |state: State<'m>| State { stream: allowed.stream, data: allowed.data, ..state };
        StatusMsg { flags, state: msg.state.map(told), key: msg.key.or(key), ..msg }
    }
}

/// Encodes a message for a stream, cuts it down to the view, and sends it.
#[inline]
fn write(
    stream: &Stream,
    scratch: &mut Scratch,
    cut_down: &mut Scratch,
    out: &mut dyn ProviderOutputs,
    encode: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
) -> Result<Flow, ApiError> {
    let whole = scratch.encode(encode)?;
    let message = match &stream.view {
        None => whole,
        Some(view) => match cut_down.project(|buffer| cut(view, whole, buffer)) {
            Ok(Some(part)) => part,
            // Nothing is left of the update.
            Ok(None) => return Ok(Flow::Free),
            // What cannot be cut down goes whole.
            Err(_) => whole,
        },
    };
    Flow::of(out.send(stream.client, message), message.len())
}

/// Writes what a view leaves of a message.
fn cut(view: &View, whole: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, ProjectError> {
    view.project_msg(&Msg::decode(whole)?, buffer)
}

/// Encodes an update once, to be [sent](Responses::send) many times. Returns
/// its length; `buffer` is made larger if it has to be.
///
/// Errors: the payload cannot be written.
pub fn encode_update(
    buffer: &mut Vec<u8>,
    domain: tapeline_rwf::Domain,
    head: &UpdateHead<'_>,
    payload: &(impl Payload + ?Sized),
) -> Result<usize, EncodeError> {
    let msg = head.msg(domain, 0);
    encode_into(buffer, MAX_MESSAGE_BYTES, |encoder| {
        payload.write(encoder.begin(&msg.into(), payload.data_type())?)
    })
}
