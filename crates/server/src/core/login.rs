//! Logins.

use tapeline_channel::SessionId;
use tapeline_omm::StateBuf;
use tapeline_omm::login::{
    BatchSupport, LoginRefresh, LoginRequest, LoginStatus, StandbyModes, user_name_type,
};
use tapeline_omm::stream::Reject;
use tapeline_rwf::{DataState, RequestMsg, State, StateCode, StreamState};

use super::mount::{Login, gate, user_of};
use super::stream::{Entry, Stream};
use super::{Core, NO_ROOM};
use crate::{LoginContext, LoginVerdict, Outputs};

/// Requests, reissues and closes.
const ALL_BATCHES: u64 =
    BatchSupport::REQUESTS.union(BatchSupport::REISSUES).union(BatchSupport::CLOSES).bits();

impl Core {
    pub(super) fn on_login_request<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        out: &mut O,
    ) {
        let Ok(request) = LoginRequest::decode(msg) else {
            return self.refuse(session, msg, &Reject::InvalidLogin.state().as_state(), out);
        };
        let Some(mount) = self.mounts.get(session) else { return };
        match mount.streams.get(request.stream_id) {
            Some(Entry::Other(Stream::Login)) => self.reissue_login(session, request, out),
            Some(_) => self.reject(session, msg, &Reject::Changed("domain"), out),
            None if mount.is_logged_in_by_cookies_alone() => {
                // Its handshake had cookies that may be another application's.
                self.end_login(session, out);
                self.log_in(session, request, out);
            }
            None if mount.login.is_some() => {
                let state = refused(StateCode::ALREADY_OPEN, "The login is open on another stream");
                self.refuse(session, msg, &state, out);
            }
            None => self.log_in(session, request, out),
        }
    }

    pub(super) fn log_in<O: Outputs>(
        &mut self,
        session: SessionId,
        request: LoginRequest,
        out: &mut O,
    ) {
        if let Err(state) = self.decide(session, &request, false) {
            return self.refuse_login(session, &request, state, out);
        }
        let has_room = self.may_log_in();
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if !mount.is_admitted {
            if !has_room {
                // A client that is hung up on tries another server.
                return self.cut(session, NO_ROOM, out);
            }
            mount.is_admitted = true;
            self.mounts.admitted += 1;
            out.admit(session);
        }
        let Some(mount) = self.mounts.get_mut(session) else { return };
        mount.streams.insert(request.stream_id, Stream::Login);
        let login = Login::new(request);
        let user = login.user().into();
        mount.login = Some(login);
        self.mounts.users.entry(user).or_default().mounts += 1;
        self.set_login_gates(session);
        self.accept_login(session, out);
    }

    /// Errors: the state that the user is refused with.
    fn decide(
        &mut self,
        session: SessionId,
        request: &LoginRequest,
        is_reissue: bool,
    ) -> Result<(), StateBuf> {
        let Some(mount) = self.mounts.get(session) else { return Ok(()) };
        if request.attributes.is_provider() {
            let text = "Providers log in at a hub, not at a server";
            return Err(refused(StateCode::NOT_ENTITLED, text).into());
        }
        let user = self.mounts.users.get(user_of(request));
        let own = usize::from(is_reissue);
        let mounts_of_user = user.map_or(0, |user| user.mounts).saturating_sub(own);
        if self.config.limits.max_mounts_per_user.is_some_and(|max| mounts_of_user >= max) {
            let text = "The user has all the mounts it may have";
            return Err(refused(StateCode::EXCEEDED_MAX_MOUNTS_PER_USER, text).into());
        }
        let context = LoginContext { peer: mount.peer, mounts_of_user, is_reissue };
        match self.policy.decide(request, &context) {
            LoginVerdict::Accept => Ok(()),
            LoginVerdict::Refuse(state) => Err(state),
        }
    }

    fn refuse_login<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &LoginRequest,
        state: StateBuf,
        out: &mut O,
    ) {
        let status = LoginStatus {
            user_name: Some(request.user_name.clone()),
            name_type: request.name_type,
            state: Some(state),
            ..LoginStatus::new(request.stream_id, &State::open_ok(""))
        };
        if let Ok(bytes) = self.scratch.encode(|encoder| status.encode(encoder)) {
            self.trouble.note(session, out.send(session, bytes));
        }
    }

    /// Sends the refresh that says what the server can do.
    fn accept_login<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let Some(login) = self.mounts.get(session).and_then(|mount| mount.login.as_ref()) else {
            return;
        };
        let text = format!("Login accepted by host {}.", self.config.host_name);
        let mut refresh = LoginRefresh::accept(&login.request, &text);
        refresh.clear_cache = true;
        let features = &mut refresh.features;
        features.application_name = Some(self.config.application_name.as_str().into());
        features.support_batch_requests = Some(ALL_BATCHES);
        features.support_view_requests = Some(true);
        features.support_optimized_pause_resume = Some(true);
        features.support_post = Some(self.config.accept_posts);
        features.support_standby = Some(true);
        features.support_standby_mode = Some(StandbyModes::LOGIN_BASED.bits());
        features.support_enhanced_symbol_list = Some(false);
        if login.request.effective_name_type() == user_name_type::AUTHN_TOKEN {
            features.authentication_error_code = Some(0);
            features.authentication_error_text = Some("Success".into());
        }
        if let Ok(bytes) = self.scratch.encode(|encoder| refresh.encode(encoder)) {
            self.trouble.note(session, out.send(session, bytes));
        }
    }

    fn reissue_login<O: Outputs>(
        &mut self,
        session: SessionId,
        request: LoginRequest,
        out: &mut O,
    ) {
        let Some(login) = self.mounts.get(session).and_then(|mount| mount.login.as_ref()) else {
            return;
        };
        if let Err(error) = login.request.check_reissue(&request) {
            // The login stays as it was, where misuse does not close it.
            let text = error.to_string();
            let is_closed = self.mounts.traits(session).misuse_closes;
            let (stream, data) = match is_closed {
                true => (StreamState::CLOSED, DataState::SUSPECT),
                false => (StreamState::OPEN, DataState::NO_CHANGE),
            };
            let state = State::new(stream, data, StateCode::USAGE_ERROR, &text);
            self.refuse_login(session, &request, state.into(), out);
            if is_closed {
                self.end_login(session, out);
            }
            return;
        }
        if let Err(state) = self.decide(session, &request, true) {
            self.refuse_login(session, &request, state, out);
            return self.end_login(session, out);
        }
        let Some(login) = self.mounts.get_mut(session).and_then(|mount| mount.login.as_mut())
        else {
            return;
        };
        let was_paused = core::mem::replace(&mut login.is_paused, request.pause);
        let (old_user, no_refresh) = (user_of(&login.request).to_vec(), request.no_refresh);
        merge(&mut login.request, request);
        let new_user = login.user().to_vec();
        if old_user != new_user {
            self.rename_user(&old_user, &new_user, session);
        }
        self.set_login_gates(session);
        if !no_refresh {
            self.accept_login(session, out);
        }
        let is_paused = self.mounts.gate(session) & gate::PAUSED != 0;
        if was_paused && !is_paused {
            self.refresh_all(session, out);
        }
    }

    /// A token was renewed: what the user has is counted by the new one.
    fn rename_user(&mut self, old: &[u8], new: &[u8], session: SessionId) {
        let items = self.mounts.get(session).map_or(0, |mount| mount.item_count);
        if let Some(user) = self.mounts.users.get_mut(old) {
            user.mounts = user.mounts.saturating_sub(1);
            user.items = user.items.saturating_sub(items);
            if user.mounts == 0 {
                self.mounts.users.remove(old);
            }
        }
        let user = self.mounts.users.entry(new.into()).or_default();
        user.mounts += 1;
        user.items += items;
    }

    /// Lets updates through to a mount, or not, as its login says.
    pub(super) fn set_login_gates(&mut self, session: SessionId) {
        let Some(login) = self.mounts.get(session).and_then(|mount| mount.login.as_ref()) else {
            return;
        };
        let said = &login.request.attributes;
        let is_filtered =
            said.update_type_filter.is_some() || said.negative_update_type_filter.is_some();
        let is_held = login.is_paused || login.is_standby;
        self.mounts.set_gate(session, gate::FILTERED, is_filtered);
        self.mounts.set_gate(session, gate::PAUSED, is_held);
    }

    /// The user is logged out: all else on the connection is over.
    pub(super) fn end_login<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        self.drop_streams(session, out);
        let now = self.now;
        let Some(mount) = self.mounts.get_mut(session) else { return };
        // It has as long as a new mount for its next login.
        mount.opened_at = now;
        if let Some(login) = mount.login.take() {
            self.forget_user(login.user());
        }
        self.mounts.set_gate(session, gate::FILTERED | gate::PAUSED | gate::OUTDATED, false);
        self.mounts.without_login.push_back((now, session));
    }

    /// A mount of a user is gone.
    pub(super) fn forget_user(&mut self, name: &[u8]) {
        if let Some(user) = self.mounts.users.get_mut(name) {
            user.mounts = user.mounts.saturating_sub(1);
            if user.mounts == 0 {
                self.mounts.users.remove(name);
            }
        }
    }
}

/// What a reissue leaves out stays as it was; most cannot change at all.
fn merge(known: &mut LoginRequest, later: LoginRequest) {
    known.user_name = later.user_name;
    let (known, later) = (&mut known.attributes, later.attributes);
    known.authentication_token = later.authentication_token.or(known.authentication_token.take());
    known.authentication_extended =
        later.authentication_extended.or(known.authentication_extended.take());
    known.update_type_filter = later.update_type_filter.or(known.update_type_filter);
    known.negative_update_type_filter =
        later.negative_update_type_filter.or(known.negative_update_type_filter);
}

const fn refused(code: StateCode, text: &'static str) -> State<'static> {
    State::new(StreamState::CLOSED, DataState::SUSPECT, code, text)
}
