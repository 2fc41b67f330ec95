//! The connection to an interactive provider: the hub is its consumer. Login,
//! then directory, then items.

use tapeline_channel::SessionId;
use tapeline_omm::Credential;
use tapeline_omm::directory::{DirectoryFilter, DirectoryMsg, DirectoryRequest, DirectoryUpdate};
use tapeline_omm::login::{
    AUTHN_TOKEN_NAME, LoginAttributes, LoginMsg, LoginRefresh, LoginRequest, user_name_type,
};
use tapeline_omm::state::is_final;
use tapeline_rwf::{DataState, Domain, Msg, MsgHeader, StreamState};
use tapeline_time::Time;

use super::Core;
use super::routes::LEFT;
use super::source::Phase;
use super::streams::{DIRECTORY_STREAM, LOGIN_STREAM};
use super::timers::ms;
use crate::{Outputs, RouteLogin};

impl Core {
    pub(super) fn route_opened(
        &mut self,
        now: Time,
        route: usize,
        session: SessionId,
        out: &mut impl Outputs,
    ) {
        let timeout = self.config.source_timeout_ms;
        let Some(index) = self.sources.of_route(route) else {
            debug_assert!(false, "a route keeps its number while it is being connected");
            return;
        };
        let Some(source) = self.sources.known_mut(index) else { return };
        if source.phase != Phase::Connecting {
            out.close(session, "route is connected already");
            return;
        }
        if source.leaves {
            out.close(session, LEFT);
            self.forget_route(index);
            return;
        }
        source.session = Some(session);
        source.phase = Phase::Login;
        source.deadline_ms = Some(ms(now) + timeout);
        self.sources.attach(session, index);
        let request = login_request(&self.config.routes[route].login);
        self.send_written(index, |encoder| request.encode(encoder), out);
    }

    pub(super) fn route_failed(&mut self, now: Time, route: usize) {
        let Some(index) = self.sources.of_route(route) else {
            debug_assert!(false, "a route keeps its number while it is being connected");
            return;
        };
        let delay = self.next_delay(index);
        let Some(source) = self.sources.known_mut(index) else { return };
        if source.leaves && source.phase == Phase::Connecting {
            self.forget_route(index);
        } else if source.phase == Phase::Connecting {
            source.phase = Phase::Down;
            source.deadline_ms = Some(ms(now) + delay);
        }
    }

    /// How long to wait before a route is connected again: twice as long as
    /// the last time, within bounds.
    pub(super) fn next_delay(&mut self, index: u32) -> u64 {
        let (min, max) = (self.config.reconnect_min_ms, self.config.reconnect_max_ms);
        let Some(source) = self.sources.known_mut(index) else { return max };
        let delay = source.delay_ms.clamp(min, max.max(min));
        source.delay_ms = delay.saturating_mul(2);
        delay
    }

    /// A message that is on no item's stream.
    pub(super) fn route_message(
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
        match (header.stream_id, &msg) {
            (_, Msg::Ack(ack)) => self.ack(index, ack, out),
            (LOGIN_STREAM, _) if header.domain == Domain::LOGIN => {
                self.login_message(now, index, &msg, out);
            }
            (DIRECTORY_STREAM, _) if header.domain == Domain::SOURCE => {
                self.directory_message(now, index, &msg, out);
            }
            _ if self.mirror_message(now, index, &msg, out) => {}
            _ => self.counters.stray += 1,
        }
    }

    fn login_message(&mut self, now: Time, index: u32, msg: &Msg<'_>, out: &mut impl Outputs) {
        match LoginMsg::decode(msg) {
            Ok(LoginMsg::Refresh(refresh)) => self.login_refresh(now, index, &refresh, out),
            Ok(LoginMsg::Status(status)) => {
                if let Some(state) = status.state.filter(|state| is_final(state.stream)) {
                    self.give_up(index, &format!("login was refused or ended: {state}"), out);
                }
            }
            // The provider measures the round trip: it wants its message back.
            Ok(LoginMsg::Rtt(rtt)) => {
                if let Some(source) = self.sources.get_mut(index) {
                    source.round_trip_us = rtt.round_trip_latency.or(source.round_trip_us);
                    source.retransmits = rtt.tcp_retrans.or(source.retransmits);
                }
                self.send_written(index, |encoder| rtt.encode(encoder), out);
            }
            Ok(_) => {}
            Err(_) => {
                self.counters.malformed += 1;
                self.give_up(index, "login answer cannot be read", out);
            }
        }
    }

    fn login_refresh(
        &mut self,
        now: Time,
        index: u32,
        refresh: &LoginRefresh,
        out: &mut impl Outputs,
    ) {
        let state = &refresh.state;
        if state.stream != StreamState::OPEN {
            self.give_up(index, &format!("login was refused: {state}"), out);
            return;
        }
        let timeout = self.config.source_timeout_ms;
        let Some(source) = self.sources.known_mut(index) else { return };
        source.takes_posts = refresh.features.accepts_posts();
        source.obeys_pause = refresh.features.obeys_pause();
        if source.phase != Phase::Login || state.data != DataState::OK {
            return;
        }
        source.phase = Phase::Directory;
        source.deadline_ms = Some(ms(now) + timeout);
        let request = DirectoryRequest::new(DIRECTORY_STREAM, DirectoryFilter::USUAL);
        self.send_written(index, |encoder| request.encode(encoder), out);
    }

    fn directory_message(&mut self, now: Time, index: u32, msg: &Msg<'_>, out: &mut impl Outputs) {
        let Ok(directory) = DirectoryMsg::decode(msg) else {
            self.counters.malformed += 1;
            return;
        };
        let Some(source) = self.sources.known_mut(index) else { return };
        let changes = match directory {
            DirectoryMsg::Refresh(refresh) if is_over(refresh.state.stream) => {
                self.give_up(index, "provider closed its directory", out);
                return;
            }
            DirectoryMsg::Refresh(refresh) => {
                source.phase = Phase::Up;
                if !source.leaves {
                    source.deadline_ms = None;
                }
                source.delay_ms = 0;
                source.directory.apply_refresh(&refresh)
            }
            DirectoryMsg::Update(update) if source.phase == Phase::Up => {
                source.directory.apply_update(&update)
            }
            DirectoryMsg::Status(status) => {
                if status.state.as_ref().is_some_and(|state| is_final(state.stream)) {
                    self.give_up(index, "provider closed its directory", out);
                    return;
                }
                source.directory.apply_status(&status)
            }
            _ => return,
        };
        self.directory_changed(now, index, changes, out);
    }

    /// Tells servers of a change of the directory.
    pub(super) fn publish_directory(&mut self, update: &DirectoryUpdate, out: &mut impl Outputs) {
        let version = self.services.version();
        if let Ok(bytes) = self.scratch.encode(|encoder| update.encode(encoder)) {
            super::downstream::directory(version, bytes, None, out);
        }
    }
}

/// Whether a directory refresh ends its stream. `NON_STREAMING` does not: a
/// provider that says so has nothing more to say.
fn is_over(stream: StreamState) -> bool {
    is_final(stream) && stream != StreamState::NON_STREAMING
}

fn login_request(login: &RouteLogin) -> LoginRequest {
    let mut request = LoginRequest::new(LOGIN_STREAM, login.user.as_str());
    if login.token.is_some() {
        request.user_name = AUTHN_TOKEN_NAME.into();
        request.name_type = Some(user_name_type::AUTHN_TOKEN);
    }
    request.attributes = LoginAttributes {
        password: login.password.as_ref().map(|it| it.reveal().as_str().into()),
        authentication_token: login
            .token
            .as_ref()
            .map(|it| Credential::Ascii(it.reveal().as_str().into())),
        application_id: Some(login.application_id.as_str().into()),
        application_name: Some(login.application_name.as_str().into()),
        position: Some(login.position.as_str().into()),
        single_open: Some(login.single_open),
        allow_suspect_data: Some(true),
        provide_permission_profile: Some(true),
        provide_permission_expressions: Some(true),
        role: Some(LoginAttributes::CONSUMER),
        round_trip_latency: Some(LoginAttributes::ANSWERS_ROUND_TRIPS),
        ..LoginAttributes::default()
    };
    request
}
