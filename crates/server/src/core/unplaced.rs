//! Requests for services that no hub has told of yet.
//!
//! Some mounts name services, and one that was on the server before it was
//! started again asks by name at once, perhaps before any hub has told what it
//! has. Until the server has known its first service for as long as a hub may
//! take to answer a request, a name that nobody knows is nothing wrong: the
//! request waits as if it had been sent to a hub that has not answered, and for
//! as long. Later it is refused at once.

use tapeline_channel::SessionId;
use tapeline_omm::Text;
use tapeline_omm::batch::Batch;
use tapeline_omm::state::usual;
use tapeline_omm::stream::Reject;
use tapeline_rwf::{Domain, Msg, MsgKey, RequestFlags, RequestMsg, State, StateCode};
use tapeline_time::Time;

use super::stream::{Entry, Stream};
use super::waiting::Unplaced;
use super::{Core, DUE_PER_TURN, Event, millis};
use crate::Outputs;

/// The service that a request asks for, where no hub has told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskedService {
    Name(Text),
    Number(u16),
    /// None was named: the only one that there is.
    Only,
}

impl AskedService {
    /// The request without the number that stands for what was said instead.
    fn as_said<'a>(&self, request: &RequestMsg<'a>) -> RequestMsg<'a> {
        let key = match self {
            Self::Number(_) => request.key,
            Self::Name(_) | Self::Only => MsgKey { service_id: None, ..request.key },
        };
        RequestMsg { key, ..*request }
    }
}

/// A request that waits for a hub to tell of its service.
#[derive(Debug)]
pub(super) struct UnplacedRequest {
    /// When it is refused.
    pub(super) until: Time,
    service: AskedService,
    request: Box<[u8]>,
}

/// A service that nobody knows: there is no hub to ask.
const UNKNOWN: State<'static> =
    State { code: StateCode::SOURCE_UNKNOWN, ..usual::SERVICE_NOT_AVAILABLE };

impl Core {
    /// A request came for a service that no hub has told of; the number in it
    /// says nothing.
    pub(crate) fn handle_unplaced<O: Outputs>(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        service: &AskedService,
        out: &mut O,
    ) {
        if self.mounts.get(session).is_none_or(|mount| mount.login.is_none()) {
            return self.handle(now, Event::Message { session, bytes }, out);
        }
        self.now = now;
        self.statistics.messages_in += 1;
        if !self.comes_after_batch(session, bytes, Some(service))
            && let Ok(Msg::Request(request)) = Msg::decode(bytes)
        {
            self.open_unplaced(session, &request, service, out);
        }
        self.settle(out);
    }

    /// A request for a service that is not known: it waits or is refused, the
    /// items of a batch each by itself. What the server answers whatever the
    /// service is answered.
    pub(super) fn open_unplaced<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        service: &AskedService,
        out: &mut O,
    ) {
        let needs_service = match request.domain {
            Domain::LOGIN => false,
            Domain::SOURCE => !matches!(service, AskedService::Number(_)),
            _ => !self.is_own_dictionary(request),
        };
        let request = &service.as_said(request);
        if !needs_service {
            let bytes = self.scratch.message(&(*request).into()).map(<[u8]>::to_vec);
            return self.on_request(session, request, &bytes.unwrap_or_default(), out);
        }
        let is_batch = request.flags.contains(RequestFlags::HAS_BATCH);
        if is_batch && let Ok(Some(Batch::Items(names))) = Batch::of_request(request) {
            let opened = self.open_batch(session, request, names, Some(service), out);
            if let Err(error) = opened {
                self.end_batch(session, request, &error.state().as_state(), out);
            }
            return;
        }
        self.wait_for_service(session, request, service, out);
    }

    pub(super) fn wait_for_service<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        service: &AskedService,
        out: &mut O,
    ) {
        let bytes = self.scratch.message(&(*request).into()).map(<[u8]>::to_vec);
        let Ok(bytes) = bytes else { return };
        let mount = self.mounts.get(session);
        match mount.and_then(|mount| mount.streams.get(request.stream_id)) {
            None => {}
            // It asks for something else now.
            Some(Entry::Other(Stream::Pending(_) | Stream::Unplaced(_) | Stream::Paced(_))) => {
                self.remove_stream(session, request.stream_id, out);
            }
            // Whatever service it is, it is not that of the stream.
            Some(Entry::Item(_)) => {
                return self.reject(session, request, &Reject::Changed("service"), out);
            }
            Some(_) => return self.on_reissue(session, request, &bytes, out),
        }
        let patience = millis(self.config.limits.open_timeout_ms);
        if self.waiting.is_settled(self.now, patience) {
            return self.refuse(session, request, &UNKNOWN, out);
        }
        if self.is_at_limit(session) {
            return self.refuse_for_room(session, request, out);
        }
        let Some(mount) = self.mounts.known_mut(session) else { return };
        let until = self.now.after(patience);
        let unplaced = UnplacedRequest { until, service: service.clone(), request: bytes.into() };
        mount.streams.insert(request.stream_id, Stream::Unplaced(Box::new(unplaced)));
        self.waiting.add_unplaced((until, mount.number, request.stream_id));
        self.mounts.count_item(session, true);
    }

    /// Services became known: the next one that waits is asked for if its
    /// service is among them.
    pub(super) fn retry_unplaced_step<O: Outputs>(
        &mut self,
        next: &mut Option<Unplaced>,
        out: &mut O,
    ) -> Option<usize> {
        let unplaced = self.waiting.next_unplaced(*next)?;
        *next = Some(unplaced);
        let (_, number, stream_id) = unplaced;
        if let Some(session) = self.mounts.session_of(number) {
            self.retry_one(session, stream_id, out);
        }
        Some(2)
    }

    /// Asks for what waits if its service is known. Whether it is.
    fn retry_one<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) -> bool {
        let stream = self.mounts.get(session).and_then(|it| it.streams.get(stream_id));
        let Some(Entry::Other(Stream::Unplaced(unplaced))) = stream else { return false };
        let Some(service_id) = self.number_of(&unplaced.service) else { return false };
        self.release(session, stream_id, service_id, out);
        true
    }

    /// The number of a service, if some hub has told of it.
    fn number_of(&self, service: &AskedService) -> Option<u16> {
        match service {
            AskedService::Name(name) => self.services.id(name),
            AskedService::Number(id) => self.services.name(*id).map(|_| *id),
            AskedService::Only => {
                let mut all = self.services.names();
                (all.len() == 1).then(|| all.next().map(|(id, _)| id)).flatten()
            }
        }
    }

    /// Handles a request as if it had come now, for this service.
    fn release<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        service_id: u16,
        out: &mut O,
    ) {
        let Some(unplaced) = self.take_unplaced(session, stream_id, out) else { return };
        let Ok(Msg::Request(request)) = Msg::decode(&unplaced.request) else { return };
        let key = MsgKey { service_id: Some(service_id), ..request.key };
        let request = RequestMsg { key, ..request };
        let bytes = self.scratch.message(&request.into()).map(<[u8]>::to_vec);
        if let Ok(bytes) = bytes {
            self.on_request(session, &request, &bytes, out);
        }
    }

    /// Refuses requests of whose services no hub has told in time. As long as
    /// there is no service at all, nobody can know that one is missing.
    pub(super) fn check_unplaced<O: Outputs>(&mut self, out: &mut O) {
        for _ in 0..DUE_PER_TURN {
            let Some(due) = self.waiting.pop_due(self.now) else { return };
            let (_, number, stream_id) = due;
            let Some(session) = self.mounts.session_of(number) else { continue };
            if !self.waiting.knows_any() {
                self.wait_on(session, stream_id);
                continue;
            }
            if self.retry_one(session, stream_id, out) {
                continue;
            }
            let Some(unplaced) = self.take_unplaced(session, stream_id, out) else { continue };
            if let Ok(Msg::Request(request)) = Msg::decode(&unplaced.request) {
                self.refuse(session, &request, &UNKNOWN, out);
            }
        }
    }

    /// It waits for as long once more.
    fn wait_on(&mut self, session: SessionId, stream_id: i32) {
        let later = self.now.after(millis(self.config.limits.open_timeout_ms));
        let Some(mount) = self.mounts.known_mut(session) else { return };
        let number = mount.number;
        if let Some(Stream::Unplaced(unplaced)) = mount.streams.other_mut(stream_id) {
            unplaced.until = later;
            self.waiting.add_unplaced((later, number, stream_id));
        }
    }

    fn take_unplaced<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) -> Option<UnplacedRequest> {
        let stream = self.mounts.get_mut(session)?.streams.other_mut(stream_id)?;
        let Stream::Unplaced(unplaced) = stream else { return None };
        let request = core::mem::take(&mut unplaced.request);
        let unplaced =
            UnplacedRequest { until: unplaced.until, service: unplaced.service.clone(), request };
        self.remove_stream(session, stream_id, out);
        Some(unplaced)
    }
}
