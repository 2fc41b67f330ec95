//! The connection of a non-interactive provider: it logs in, says what it has
//! and sends it, unasked.

use std::net::SocketAddr;

use tapeline_channel::SessionId;
use tapeline_entitle::Person;
use tapeline_omm::directory::{DirectoryChange, DirectoryMsg, DirectoryUpdate, ServiceEntry};
use tapeline_omm::login::{LoginMsg, LoginRefresh, LoginRequest, LoginStatus};
use tapeline_omm::state::is_final;
use tapeline_rwf::{
    DataState, Domain, MapAction, Msg, MsgHeader, State, StateCode, StatusMsg, StreamState,
};
use tapeline_time::Time;

use super::Core;
use super::publishers::Publisher;
use super::source::{Phase, Source, SourceKind};
use super::timers::ms;
use crate::Outputs;

const fn refusal(code: StateCode, text: &'static str) -> State<'static> {
    State::new(StreamState::CLOSED, DataState::SUSPECT, code, text)
}

const TOO_MANY: &str = "too many providers";
const NOT_A_PROVIDER: State<'static> =
    refusal(StateCode::USAGE_ERROR, "Only providers (Role 1) log in here.");
const NO_REQUESTS: State<'static> =
    refusal(StateCode::USAGE_ERROR, "Requests of providers are not answered.");

impl Core {
    pub(super) fn provider_opened(
        &mut self,
        now: Time,
        session: SessionId,
        peer: SocketAddr,
        out: &mut impl Outputs,
    ) {
        let limits = self.config.limits;
        if self.sources.providers() >= limits.max_providers {
            self.counters.limited += 1;
            out.close(session, TOO_MANY);
            return;
        }
        let mut source = Source::new(SourceKind::Provider, limits.max_services);
        source.session = Some(session);
        source.peer = peer.ip();
        source.phase = Phase::Login;
        source.deadline_ms = Some(ms(now) + self.config.source_timeout_ms);
        let index = self.sources.insert(source);
        self.sources.attach(session, index);
    }

    /// A message that is on no item's stream.
    pub(super) fn provider_message(
        &mut self,
        now: Time,
        index: u32,
        header: &MsgHeader,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) {
        let Ok(msg) = Msg::decode(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let phase = self.sources.get(index).map(|source| source.phase);
        match (header.domain, phase) {
            (Domain::LOGIN, _) => self.provider_login(now, index, &msg, out),
            (_, None | Some(Phase::Down | Phase::Connecting | Phase::Login)) => {
                self.counters.stray += 1;
            }
            (Domain::SOURCE, _) => self.provider_directory(now, index, &msg, out),
            _ if self.standby_message(now, index, &msg, out) => {}
            _ => match &msg {
                Msg::Refresh(refresh) => self.item_published(now, index, refresh, out),
                Msg::Status(status) if status.state.is_some_and(|it| is_final(it.stream)) => {
                    if !self.stand_down(now, index, status.stream_id, out) {
                        self.counters.stray += 1;
                    }
                }
                Msg::Request(request) => {
                    let status = StatusMsg {
                        state: Some(NO_REQUESTS),
                        ..StatusMsg::new(request.domain, request.stream_id)
                    };
                    self.send_written(index, |encoder| encoder.message(&status.into()), out);
                }
                _ => self.counters.stray += 1,
            },
        }
    }

    fn provider_login(&mut self, now: Time, index: u32, msg: &Msg<'_>, out: &mut impl Outputs) {
        match LoginMsg::decode(msg) {
            Ok(LoginMsg::Request(request)) => self.provider_logs_in(now, index, &request, out),
            Ok(LoginMsg::Close { .. }) => self.give_up(index, "provider logged out", out),
            Ok(_) => {}
            Err(_) => {
                self.counters.malformed += 1;
                self.give_up(index, "login cannot be read", out);
            }
        }
    }

    fn provider_logs_in(
        &mut self,
        now: Time,
        index: u32,
        request: &LoginRequest,
        out: &mut impl Outputs,
    ) {
        let Some(source) = self.sources.known_mut(index) else { return };
        if !request.attributes.is_provider() && source.phase == Phase::Login {
            let status = LoginStatus {
                user_name: Some(request.user_name.clone()),
                name_type: request.name_type,
                ..LoginStatus::new(request.stream_id, &NOT_A_PROVIDER)
            };
            self.send_written(index, |encoder| status.encode(encoder), out);
            return;
        }
        source.login_stream = request.stream_id;
        if !self.asks_who(index, request, out) {
            self.admit_provider(now, index, request, None, out);
        }
    }

    /// Logs a provider in, or takes over a change of its login: a person is who it
    /// turned out to be.
    pub(super) fn admit_provider(
        &mut self,
        now: Time,
        index: u32,
        request: &LoginRequest,
        person: Option<&Person>,
        out: &mut impl Outputs,
    ) {
        let Some(source) = self.sources.known_mut(index) else { return };
        let was_login = source.phase == Phase::Login;
        let who = Publisher::of(request, person, &source.publisher);
        let is_same = source.publisher == who;
        if was_login {
            source.publisher = who;
        } else if !is_same {
            return self.give_up(index, "another user logs in on the session of a provider", out);
        }
        let (peer, who) = (source.peer, source.publisher.clone());
        if let Err(denial) = self.publishers.log_in(now, &who, peer) {
            self.refuse_provider(index, &denial, out);
            if !was_login {
                self.give_up(index, "a provider may not be logged in any more", out);
            }
            return;
        }
        let Some(source) = self.sources.known_mut(index) else { return };
        if source.phase == Phase::Login {
            if self.sources.providers() >= self.config.limits.max_providers {
                self.counters.limited += 1;
                return self.give_up(index, TOO_MANY, out);
            }
            if let Some(session) = self.sources.get(index).and_then(|source| source.session) {
                out.admit(session);
            }
        }
        let Some(source) = self.sources.known_mut(index) else { return };
        if source.phase == Phase::Login {
            // A provider may take its time before it publishes anything.
            source.phase = Phase::Directory;
            source.deadline_ms = None;
        }
        if request.no_refresh {
            return;
        }
        let text = format!("Login accepted by host {}.", self.config.name);
        let mut refresh = LoginRefresh::accept(request, &text);
        let ends = person.and_then(|person| person.ends);
        refresh.features.authentication_tt_reissue = ends.map(|ends| ends.renew_at_s);
        self.send_written(index, |encoder| refresh.encode(encoder), out);
    }

    fn provider_directory(&mut self, now: Time, index: u32, msg: &Msg<'_>, out: &mut impl Outputs) {
        let Ok(directory) = DirectoryMsg::decode(msg) else {
            self.counters.malformed += 1;
            return;
        };
        let Some(source) = self.sources.known_mut(index) else { return };
        let changes = match directory {
            DirectoryMsg::Refresh(refresh) if is_final(refresh.state.stream) => {
                source.withdraw(refresh.stream_id, &[])
            }
            DirectoryMsg::Refresh(refresh) => {
                source.phase = Phase::Up;
                let mut changes = match refresh.clear_cache {
                    true => source.withdraw(refresh.stream_id, &refresh.services),
                    false => Vec::new(),
                };
                changes.extend(source.submit(refresh.stream_id, refresh.services));
                changes
            }
            DirectoryMsg::Update(update) => source.submit(update.stream_id, update.services),
            DirectoryMsg::Status(status) => {
                let is_over = status.state.as_ref().is_some_and(|state| is_final(state.stream));
                match is_over || status.clear_cache {
                    true => source.withdraw(status.stream_id, &[]),
                    false => Vec::new(),
                }
            }
            DirectoryMsg::Request(request) => {
                let status = StatusMsg {
                    state: Some(NO_REQUESTS),
                    ..StatusMsg::new(Domain::SOURCE, request.stream_id)
                };
                self.send_written(index, |encoder| encoder.message(&status.into()), out);
                return;
            }
            _ => return,
        };
        self.directory_changed(now, index, changes, out);
    }
}

impl Source {
    /// A provider says what it has, on one of its directory streams. Several
    /// are merged.
    fn submit(&mut self, stream_id: i32, services: Vec<ServiceEntry>) -> Vec<DirectoryChange> {
        for entry in &services {
            match entry.action {
                MapAction::DELETE => self.brought_by.remove(&entry.service_id),
                _ => self.brought_by.insert(entry.service_id, stream_id),
            };
        }
        self.directory.apply_update(&DirectoryUpdate::new(stream_id, services))
    }

    /// Services that a directory stream brought are gone, but for those that
    /// it brings again.
    fn withdraw(&mut self, stream_id: i32, kept: &[ServiceEntry]) -> Vec<DirectoryChange> {
        let is_kept = |id: u16| kept.iter().any(|entry| entry.service_id == id);
        let gone: Vec<_> = self
            .brought_by
            .iter()
            .filter(|(id, stream)| **stream == stream_id && !is_kept(**id))
            .map(|(id, _)| ServiceEntry::delete(*id))
            .collect();
        self.submit(stream_id, gone)
    }
}
