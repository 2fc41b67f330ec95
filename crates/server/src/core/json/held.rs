//! Requests for services that no hub has told of yet.
//!
//! A mount that speaks JSON names services, and one that was on the server
//! before it was started again asks by name at once, perhaps before any hub
//! has told what it has. Until the server has known its first service for as
//! long as a hub may take to answer a request, a name that nobody knows is
//! nothing wrong: the request is held as if it had been sent to a hub that has
//! not answered, and for as long. Later it is refused at once.

use std::ops::Bound;

use tapeline_channel::SessionId;
use tapeline_omm::Text;
use tapeline_omm::batch::Batch;
use tapeline_omm::state::usual;
use tapeline_omm::stream::Reject;
use tapeline_rwf::{Domain, Msg, MsgKey, RequestFlags, RequestMsg, State, StateCode};
use tapeline_time::Time;

use crate::Outputs;
use crate::core::request::TOO_MANY_ITEMS;
use crate::core::stream::{Entry, Stream};
use crate::core::{Core, DUE_PER_TURN, millis};

/// The service that a request is for, as it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::core) enum Wanted {
    Name(Text),
    Number(u16),
    /// The one of requests that name none.
    Default,
}

impl Wanted {
    /// The request without the number that stands for what was said instead.
    fn as_said<'a>(&self, request: &RequestMsg<'a>) -> RequestMsg<'a> {
        let key = match self {
            Self::Number(_) => request.key,
            Self::Name(_) | Self::Default => MsgKey { service_id: None, ..request.key },
        };
        RequestMsg { key, ..*request }
    }
}

/// A request that waits for a hub to tell of its service.
#[derive(Debug)]
pub(in crate::core) struct HeldRequest {
    /// When it is refused.
    pub(in crate::core) until: Time,
    wanted: Wanted,
    request: Box<[u8]>,
}

/// A service that nobody knows: there is no hub to ask.
const UNKNOWN: State<'static> =
    State { code: StateCode::SOURCE_UNKNOWN, ..usual::SERVICE_NOT_AVAILABLE };

impl Core {
    /// A request for a service that is not known: it is held or refused, the
    /// items of a batch each by itself. What the server answers whatever the
    /// service is answered.
    pub(in crate::core) fn on_unknown_service<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        wanted: &Wanted,
        out: &mut O,
    ) {
        let needs_service = match request.domain {
            Domain::LOGIN => false,
            Domain::SOURCE => !matches!(wanted, Wanted::Number(_)),
            _ => !self.is_own_dictionary(request),
        };
        let request = &wanted.as_said(request);
        if !needs_service {
            let bytes = self.scratch.message(&(*request).into()).map(<[u8]>::to_vec);
            return self.on_request(session, request, &bytes.unwrap_or_default(), out);
        }
        let is_batch = request.flags.contains(RequestFlags::HAS_BATCH);
        if is_batch && let Ok(Some(Batch::Items(names))) = Batch::of_request(request) {
            let opened = self.open_batch(session, request, names, Some(wanted), out);
            if let Err(error) = opened {
                self.end_batch(session, request, &error.state().as_state(), out);
            }
            return;
        }
        self.hold(session, request, wanted, out);
    }

    pub(in crate::core) fn hold<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        wanted: &Wanted,
        out: &mut O,
    ) {
        let bytes = self.scratch.message(&(*request).into()).map(<[u8]>::to_vec);
        let Ok(bytes) = bytes else { return };
        let mount = self.mounts.get(session);
        match mount.and_then(|mount| mount.streams.get(request.stream_id)) {
            None => {}
            // It asks for something else now.
            Some(Entry::Other(Stream::Pending(_) | Stream::Held(_))) => {
                self.remove_stream(session, request.stream_id, out);
            }
            // Whatever service it is, it is not that of the stream.
            Some(Entry::Item(_)) => {
                return self.reject(session, request, &Reject::Changed("service"), out);
            }
            Some(_) => return self.on_reissue(session, request, &bytes, out),
        }
        let patience = millis(self.config.limits.open_timeout_ms);
        let is_settled = self.first_service_at.is_some_and(|at| at.after(patience) <= self.now);
        if is_settled {
            return self.refuse(session, request, &UNKNOWN, out);
        }
        if self.is_at_limit(session) {
            return self.refuse(session, request, &TOO_MANY_ITEMS, out);
        }
        let Some(mount) = self.mounts.get_mut(session) else { return };
        let until = self.now.after(patience);
        let held = HeldRequest { until, wanted: wanted.clone(), request: bytes.into() };
        mount.streams.insert(request.stream_id, Stream::Held(Box::new(held)));
        self.held.insert((until, mount.number, request.stream_id));
        self.mounts.count_item(session, true);
    }

    /// Services became known: the next one that is held is asked for if its
    /// service is among them.
    pub(in crate::core) fn retry_held_step<O: Outputs>(
        &mut self,
        next: &mut Option<(Time, u32, i32)>,
        out: &mut O,
    ) -> Option<usize> {
        let after = next.map_or(Bound::Unbounded, Bound::Excluded);
        let held = *self.held.range((after, Bound::Unbounded)).next()?;
        *next = Some(held);
        let (_, number, stream_id) = held;
        if let Some(session) = self.mounts.session_of(number) {
            self.retry_one(session, stream_id, out);
        }
        Some(2)
    }

    /// Asks for what is held if its service is known. Whether it is.
    fn retry_one<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) -> bool {
        let stream = self.mounts.get(session).and_then(|it| it.streams.get(stream_id));
        let Some(Entry::Other(Stream::Held(held))) = stream else { return false };
        let Some(service_id) = self.number_of(&held.wanted) else { return false };
        self.release(session, stream_id, service_id, out);
        true
    }

    /// The number of a service, if some hub has told of it.
    fn number_of(&self, wanted: &Wanted) -> Option<u16> {
        let default = self.config.json.default_service.as_deref();
        match (wanted, default) {
            (Wanted::Name(name), _) => self.services.id(name),
            (Wanted::Number(id), _) => self.services.name(*id).map(|_| *id),
            (Wanted::Default, Some(name)) => self.services.id(name.as_bytes()),
            (Wanted::Default, None) => {
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
        let Some(held) = self.take_held(session, stream_id, out) else { return };
        let Ok(Msg::Request(request)) = Msg::decode(&held.request) else { return };
        let key = MsgKey { service_id: Some(service_id), ..request.key };
        let request = RequestMsg { key, ..request };
        let bytes = self.scratch.message(&request.into()).map(<[u8]>::to_vec);
        if let Ok(bytes) = bytes {
            self.on_request(session, &request, &bytes, out);
        }
    }

    /// Refuses requests of whose services no hub has told in time. As long as
    /// there is no service at all, nobody can know that one is missing.
    pub(in crate::core) fn check_held<O: Outputs>(&mut self, out: &mut O) {
        for _ in 0..DUE_PER_TURN {
            let Some((until, number, stream_id)) = self.held.first().copied() else { return };
            if until > self.now {
                return;
            }
            self.held.pop_first();
            let Some(session) = self.mounts.session_of(number) else { continue };
            if self.first_service_at.is_none() {
                self.hold_on(session, stream_id);
                continue;
            }
            if self.retry_one(session, stream_id, out) {
                continue;
            }
            let Some(held) = self.take_held(session, stream_id, out) else { continue };
            if let Ok(Msg::Request(request)) = Msg::decode(&held.request) {
                self.refuse(session, &request, &UNKNOWN, out);
            }
        }
    }

    fn hold_on(&mut self, session: SessionId, stream_id: i32) {
        let later = self.now.after(millis(self.config.limits.open_timeout_ms));
        let Some(mount) = self.mounts.get_mut(session) else { return };
        let number = mount.number;
        if let Some(Stream::Held(held)) = mount.streams.other_mut(stream_id) {
            held.until = later;
            self.held.insert((later, number, stream_id));
        }
    }

    fn take_held<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) -> Option<HeldRequest> {
        let stream = self.mounts.get_mut(session)?.streams.other_mut(stream_id)?;
        let Stream::Held(held) = stream else { return None };
        let request = core::mem::take(&mut held.request);
        let held = HeldRequest { until: held.until, wanted: held.wanted.clone(), request };
        self.remove_stream(session, stream_id, out);
        Some(held)
    }
}
