//! Messages of clients: logins, requests, closes, posts.

use tapeline_channel::SessionId;
use tapeline_omm::batch::{BATCH_DONE, Batch, ItemNames, StreamIds};
use tapeline_omm::directory::{Admission, DirectoryRequest, ServiceState};
use tapeline_omm::login::{LoginFeatures, LoginRefresh, LoginRequest, LoginStatus};
use tapeline_omm::market::{ItemRequest, status};
use tapeline_omm::post::{Post, PostRefusal, PostStream};
use tapeline_omm::state::{is_final, usual};
use tapeline_omm::stream::{ProviderStream, Reject};
use tapeline_omm::view::{View, ViewChange};
use tapeline_omm::{DictionaryRequest, ItemKeyRef, StateBuf, Text};
use tapeline_rwf::{
    AckMsg, CloseFlags, CloseMsg, DataState, Domain, GenericMsg, Msg, PostFlags, PostMsg, Qos,
    RequestFlags, RequestMsg, State, StateCode, StatusFlags, StreamState,
};

use super::core::{ProviderCore, Run, Stream};
use super::event::{PostReceipt, ProviderEvent, StreamHandle};

impl Run<'_> {
    pub(super) fn incoming(&mut self, client: SessionId, msg: &Msg<'_>) {
        let Some(known) = self.core.client(client) else { return };
        let is_logged_in = known.login.is_some();
        match msg {
            Msg::Request(request) if request.domain == Domain::LOGIN => {
                self.login(client, request);
            }
            Msg::Request(request) if !is_logged_in => {
                self.reject(client, request.domain, request.stream_id, &Reject::NoLogin);
            }
            _ if !is_logged_in => {}
            Msg::Request(request) => self.request(client, request),
            Msg::Close(close) => self.close(client, close),
            Msg::Post(post) => self.post(client, post),
            Msg::Generic(generic) => self.generic(client, generic),
            Msg::Refresh(_) | Msg::Status(_) | Msg::Update(_) | Msg::Ack(_) => {}
        }
    }

    fn stream_of(&self, client: SessionId, stream_id: i32) -> Option<StreamHandle> {
        self.core.client(client)?.streams.get(&stream_id).copied()
    }

    /// Answers a request that opens nothing, or ends what it was for.
    fn answer(&mut self, client: SessionId, domain: Domain, stream_id: i32, state: State<'_>) {
        self.answer_private(client, domain, stream_id, state, false);
    }

    fn answer_private(
        &mut self,
        client: SessionId,
        domain: Domain,
        stream_id: i32,
        state: State<'_>,
        private: bool,
    ) {
        let mut msg = status(domain, stream_id, state);
        msg.flags.set(StatusFlags::PRIVATE_STREAM, private);
        self.core.send(self.out, client, |encoder| encoder.message(&msg.into()));
    }

    fn reject(&mut self, client: SessionId, domain: Domain, stream_id: i32, reject: &Reject) {
        self.answer(client, domain, stream_id, reject.state().as_state());
    }

    fn login(&mut self, session: SessionId, msg: &RequestMsg<'_>) {
        let stream_id = msg.stream_id;
        let Ok(request) = LoginRequest::decode(msg) else {
            return self.reject(session, Domain::LOGIN, stream_id, &Reject::InvalidLogin);
        };
        let Some(client) = self.core.client(session) else { return };
        if let Some(known) = &client.login
            && (known.stream_id != stream_id || known.check_reissue(&request).is_err())
        {
            return self.reject(session, Domain::LOGIN, stream_id, &Reject::InvalidLogin);
        }
        if let Err(state) = self.handler.login(session, &request) {
            return self.refuse_login(session, stream_id, &state);
        }
        let was_paused = client.login.as_ref().is_some_and(|known| known.pause);
        if !request.no_refresh {
            let mut refresh = LoginRefresh::accept(&request, &self.core.config.login_text);
            refresh.features = features(&self.core.config.features, refresh.features);
            self.core.send(self.out, session, |encoder| refresh.encode(encoder));
        }
        if let Some(client) = self.core.client_mut(session) {
            client.login = Some(request.clone());
        }
        self.tell(ProviderEvent::LoggedIn { client: session, request: &request });
        if was_paused != request.pause {
            self.hold_all(session, request.pause);
        }
    }

    fn refuse_login(&mut self, session: SessionId, stream_id: i32, state: &StateBuf) {
        let status = LoginStatus::new(stream_id, &state.as_state());
        self.core.send(self.out, session, |encoder| status.encode(encoder));
        if is_final(state.stream) {
            self.close_all(session);
            self.out.close(session, "the login was refused");
        }
    }

    /// A login pauses or resumes all streams. What a stream missed it gets with
    /// an image.
    fn hold_all(&mut self, session: SessionId, hold: bool) {
        let Some(client) = self.core.client(session) else { return };
        let handles: Vec<_> = client.streams.values().copied().collect();
        for handle in handles {
            let Some(stream) = self.core.streams.get_mut(handle.0) else { continue };
            stream.is_held = hold;
            if hold {
                continue;
            }
            let key = stream.key.clone();
            let key = key.as_ref();
            let request = ItemRequest {
                streaming: stream.streaming,
                private: stream.private,
                ..ItemRequest::new(key.domain, stream.stream_id, key.msg_key())
            };
            self.tell(ProviderEvent::Reissue {
                stream: handle,
                request: &request,
                wants_image: true,
            });
        }
    }

    fn request(&mut self, client: SessionId, msg: &RequestMsg<'_>) {
        match Batch::of_request(msg) {
            Ok(None) => self.single(client, msg),
            Ok(Some(batch)) => self.batch(client, msg, &batch),
            Err(error) => {
                self.answer(client, msg.domain, msg.stream_id, error.state().as_state());
            }
        }
    }

    fn single(&mut self, client: SessionId, msg: &RequestMsg<'_>) {
        if msg.domain == Domain::SOURCE {
            return self.directory(client, msg);
        }
        if let Some(handle) = self.stream_of(client, msg.stream_id) {
            return self.reissue(client, handle, msg);
        }
        if self.is_administrative_stream(client, msg.stream_id) {
            let reject = Reject::Changed("domain");
            return self.reject(client, msg.domain, msg.stream_id, &reject);
        }
        if msg.domain == Domain::DICTIONARY && self.dictionary(client, msg) {
            return;
        }
        let view = match ViewChange::of(msg, false) {
            Ok(ViewChange::Replace(view)) => Some(view),
            Ok(ViewChange::Keep | ViewChange::Drop) => None,
            Err(error) => {
                let state = error.state(false);
                return self.answer(client, msg.domain, msg.stream_id, state.as_state());
            }
        };
        match ItemRequest::decode(msg) {
            Ok(request) => self.open(client, &request, view),
            Err(error) => self.usage_error(client, msg, &error.to_string()),
        }
    }

    fn usage_error(&mut self, client: SessionId, msg: &RequestMsg<'_>, text: &str) {
        let state = StateCode::USAGE_ERROR;
        let state = State::new(StreamState::CLOSED, DataState::SUSPECT, state, text);
        self.answer(client, msg.domain, msg.stream_id, state);
    }

    /// Whether the login or a directory has the stream.
    fn is_administrative_stream(&self, client: SessionId, stream_id: i32) -> bool {
        self.core.client(client).is_some_and(|client| {
            client.login.as_ref().is_some_and(|login| login.stream_id == stream_id)
                || client.directories.iter().any(|known| known.stream_id == stream_id)
        })
    }

    fn batch(&mut self, client: SessionId, msg: &RequestMsg<'_>, batch: &Batch<'_>) {
        let has_view = msg.flags.contains(RequestFlags::HAS_VIEW);
        let supported = batch.check_support(&self.core.config.features, has_view);
        let done = match (supported, batch) {
            (Err(error), _) => Err(error),
            (Ok(()), Batch::Items(names)) => self.batch_items(client, msg, *names),
            (Ok(()), Batch::Streams(ids)) => {
                self.batch_streams(client, msg, *ids);
                Ok(())
            }
        };
        match done {
            Ok(()) => self.answer(client, msg.domain, msg.stream_id, BATCH_DONE),
            Err(error) => {
                self.answer(client, msg.domain, msg.stream_id, error.state().as_state());
            }
        }
    }

    fn batch_items(
        &mut self,
        client: SessionId,
        msg: &RequestMsg<'_>,
        names: ItemNames<'_>,
    ) -> Result<(), tapeline_omm::batch::BatchError> {
        let is_in_use =
            |id| self.stream_of(client, id).is_some() || self.is_administrative_stream(client, id);
        let streams = names.streams(msg.stream_id, is_in_use)?;
        let streams: Vec<_> = streams.collect();
        for (stream_id, name) in streams {
            let flags = msg.flags.difference(RequestFlags::HAS_BATCH);
            let mut single = RequestMsg { flags, stream_id, ..*msg };
            single.key.name = Some(name);
            self.single(client, &single);
        }
        Ok(())
    }

    fn batch_streams(&mut self, client: SessionId, msg: &RequestMsg<'_>, ids: StreamIds<'_>) {
        let flags = msg.flags.difference(RequestFlags::HAS_BATCH);
        for stream_id in ids.iter() {
            if let Some(handle) = self.stream_of(client, stream_id) {
                self.reissue(client, handle, &RequestMsg { flags, stream_id, ..*msg });
            }
        }
    }

    fn open(&mut self, session: SessionId, request: &ItemRequest<'_>, view: Option<View>) {
        let (domain, stream_id) = (request.domain, request.stream_id);
        let qos = match self.core.admit(request) {
            Ok(qos) => qos,
            Err(state) => {
                let state = state.as_state();
                return self.answer_private(session, domain, stream_id, state, request.private);
            }
        };
        let Some(client) = self.core.client(session) else { return };
        if client.streams.len() >= self.core.config.max_streams_per_client {
            return self.answer(session, domain, stream_id, usual::TOO_MANY_ITEMS);
        }
        let key = ItemKeyRef::of(domain, &request.key, qos).to_owned();
        let duplicate_of = client.by_key.get(&key).copied().filter(|_| !request.private);
        if duplicate_of.is_some() && !self.core.config.accept_duplicates {
            return self.reject(session, domain, stream_id, &Reject::AlreadyOpen);
        }
        let is_held = client.login.as_ref().is_some_and(|login| login.pause);
        let honours_views = self.core.config.features.honours_views();
        let stream = Stream {
            client: session,
            stream_id,
            rules: ProviderStream::new(request, None),
            is_held,
            streaming: request.streaming,
            private: request.private,
            key_in_updates: request.key_in_updates,
            view: view.filter(|_| honours_views).map(Box::new),
            name: Text::from(request.key.name.unwrap_or_default()),
            key: key.clone(),
        };
        let handle = StreamHandle(self.core.streams.insert(stream));
        if let Some(client) = self.core.client_mut(session) {
            client.streams.insert(stream_id, handle);
            if !request.private {
                client.by_key.insert(key, handle);
            }
        }
        self.core.counts.requests += 1;
        self.tell(ProviderEvent::Request { stream: handle, request, duplicate_of });
    }

    fn reissue(&mut self, client: SessionId, handle: StreamHandle, msg: &RequestMsg<'_>) {
        let (domain, stream_id) = (msg.domain, msg.stream_id);
        let view = match ViewChange::of(msg, true) {
            Ok(view) => view,
            Err(error) => {
                let state = error.state(true);
                return self.answer(client, domain, stream_id, state.as_state());
            }
        };
        let request = match ItemRequest::decode(msg) {
            Ok(request) => request,
            Err(error) => return self.usage_error(client, msg, &error.to_string()),
        };
        let Some(stream) = self.core.streams.get_mut(handle.0) else { return };
        match stream.rules.reissue(&stream.key.as_ref(), &request) {
            Ok(effect) => {
                match view {
                    ViewChange::Replace(view) => stream.view = Some(Box::new(view)),
                    ViewChange::Drop => stream.view = None,
                    ViewChange::Keep => {}
                }
                stream.key_in_updates = request.key_in_updates;
                self.tell(ProviderEvent::Reissue {
                    stream: handle,
                    request: &request,
                    wants_image: effect.image,
                });
            }
            Err(reject) => {
                let private = stream.private;
                let domain = stream.key.as_ref().domain;
                let state = reject.state();
                self.answer_private(client, domain, stream_id, state.as_state(), private);
                self.over(handle);
            }
        }
    }

    fn directory(&mut self, session: SessionId, msg: &RequestMsg<'_>) {
        let stream_id = msg.stream_id;
        let request = match DirectoryRequest::decode(msg) {
            Ok(request) if request.filter.is_enough() => request,
            _ => {
                let reject = Reject::DirectoryFilter;
                return self.reject(session, Domain::SOURCE, stream_id, &reject);
            }
        };
        let limit = self.core.config.max_administrative_streams;
        let Some(client) = self.core.client_mut(session) else { return };
        client.directories.retain(|known| known.stream_id != stream_id);
        if client.directories.len() >= limit {
            return self.answer(session, Domain::SOURCE, stream_id, usual::TOO_MANY_ITEMS);
        }
        if request.streaming {
            client.directories.push(request);
        }
        if !request.no_refresh {
            let mut refresh = self
                .core
                .directory
                .refresh(&request, &State::open_ok("Source Directory Refresh Completed"));
            if !request.streaming {
                refresh.state.stream = StreamState::NON_STREAMING;
            }
            self.core.send(self.out, session, |encoder| refresh.encode(encoder));
        }
    }

    /// Serves a dictionary, if it is one of the provider's own.
    fn dictionary(&mut self, session: SessionId, msg: &RequestMsg<'_>) -> bool {
        let Ok(request) = DictionaryRequest::decode(msg) else { return false };
        let limit = self.core.config.max_administrative_streams;
        let Some(job) = self.core.dictionary_job(&request) else { return false };
        let Some(client) = self.core.client_mut(session) else { return true };
        if client.jobs.len() >= limit {
            self.answer(session, Domain::DICTIONARY, msg.stream_id, usual::TOO_MANY_ITEMS);
            return true;
        }
        client.jobs.push_back(job);
        self.core.advance_jobs(self.out, session);
        true
    }

    fn close(&mut self, session: SessionId, close: &CloseMsg<'_>) {
        let stream_id = close.stream_id;
        if close.flags.contains(CloseFlags::ACK) {
            let ack = AckMsg {
                ack_id: stream_id.cast_unsigned(),
                ..AckMsg::new(close.domain, stream_id)
            };
            self.core.send(self.out, session, |encoder| encoder.message(&ack.into()));
        }
        if let Ok(Some(ids)) = Batch::of_close(close) {
            for stream_id in ids.iter() {
                self.close_stream(session, stream_id);
            }
            return;
        }
        let Some(client) = self.core.client_mut(session) else { return };
        client.directories.retain(|known| known.stream_id != stream_id);
        client.jobs.retain(|job| job.stream_id() != stream_id);
        if client.login.as_ref().is_some_and(|login| login.stream_id == stream_id) {
            client.login = None;
            self.close_all(session);
            return self.out.close(session, "logged out");
        }
        self.close_stream(session, stream_id);
    }

    fn close_stream(&mut self, session: SessionId, stream_id: i32) {
        if let Some(handle) = self.stream_of(session, stream_id) {
            self.over(handle);
        }
    }

    fn post(&mut self, client: SessionId, msg: &PostMsg<'_>) {
        self.core.counts.posts += 1;
        let stream = self.stream_of(client, msg.stream_id);
        let receipt = PostReceipt {
            client,
            stream,
            wants_ack: msg.flags.contains(PostFlags::ACK),
            stream_id: msg.stream_id,
            domain: msg.domain,
            post_id: msg.post_id,
            seq_num: msg.seq_num,
        };
        let login = self.core.client(client).and_then(|client| client.login.as_ref());
        let is_login = login.is_some_and(|login| login.stream_id == msg.stream_id);
        let checked = match (stream, is_login) {
            _ if !self.core.config.features.accepts_posts() => Err(PostRefusal::NotSupported),
            (Some(_), _) => Post::check(msg, PostStream::Item),
            (None, true) => Post::check(msg, PostStream::Login),
            (None, false) => Err(PostRefusal::NotOpen(msg.stream_id)),
        };
        match checked {
            Ok(post) => self.tell(ProviderEvent::Post { receipt, stream, msg, post: &post }),
            Err(refusal) => {
                let mut responses = super::Responses::new(self.core, self.out);
                // A client that is gone needs no answer.
                let _ = responses.nak(receipt, refusal.nak_code(), &refusal.to_string());
            }
        }
    }

    fn generic(&mut self, client: SessionId, msg: &GenericMsg<'_>) {
        let stream = self.stream_of(client, msg.stream_id);
        if stream.is_some() || self.is_administrative_stream(client, msg.stream_id) {
            self.tell(ProviderEvent::Generic { client, stream, msg });
        }
    }
}

/// What the provider says of itself, and where it says nothing what it repeats
/// of the request.
fn features(own: &LoginFeatures, repeated: LoginFeatures) -> LoginFeatures {
    let own = own.clone();
    LoginFeatures {
        application_id: own.application_id.or(repeated.application_id),
        application_name: own.application_name.or(repeated.application_name),
        position: own.position.or(repeated.position),
        provide_permission_profile: own
            .provide_permission_profile
            .or(repeated.provide_permission_profile),
        provide_permission_expressions: own
            .provide_permission_expressions
            .or(repeated.provide_permission_expressions),
        single_open: own.single_open.or(repeated.single_open),
        allow_suspect_data: own.allow_suspect_data.or(repeated.allow_suspect_data),
        ..own
    }
}

impl ProviderCore {
    /// The quality that a request is served at.
    ///
    /// Errors: the state that refuses it.
    fn admit(&self, request: &ItemRequest<'_>) -> Result<Option<Qos>, StateBuf> {
        let service_id = request.key.service_id.ok_or(usual::NO_SERVICE_NAMED)?;
        let service = self.directory.service(service_id).ok_or(usual::SERVICE_NOT_AVAILABLE)?;
        let admission = service.state.as_ref().map_or(Admission::Refuse, ServiceState::admission);
        if matches!(admission, Admission::ReissuesOnly | Admission::Refuse) {
            return Err(Reject::NotAccepting(service_id).state());
        }
        let info = service.info.as_ref().filter(|info| info.offers(request.domain));
        let info = info.ok_or(usual::CAPABILITY_NOT_SUPPORTED)?;
        if request.domain == Domain::DICTIONARY {
            return Ok(None);
        }
        match request.qos.select(info.offered_qos()) {
            Some(qos) => Ok(Some(qos)),
            None => {
                let (best, _) = request.qos.parts();
                let qos = best.unwrap_or(Qos::REALTIME_TICK_BY_TICK);
                Err(Reject::Qos { service_id, qos }.state())
            }
        }
    }
}
