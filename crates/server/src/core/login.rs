//! Logins.

use std::sync::Arc;

use tapeline_channel::SessionId;
use tapeline_entitle::{AuthenticationError, Kind, Person, Unidentified, Usage};
use tapeline_omm::StateBuf;
use tapeline_omm::login::{
    BatchSupport, ConnectionConfig, LoginErrorAttributes, LoginRefresh, LoginRequest, LoginStatus,
    StandbyServer, user_name_type,
};
use tapeline_omm::stream::Reject;
use tapeline_rwf::{DataState, RequestMsg, State, StateCode, StreamState};
use tapeline_time::Time;

use super::backlog::Job;
use super::entitlements::{Identity, Profile};
use super::mount::{Login, Mount, gate, shown_user};
use super::permit::denied;
use super::review::Review;
use super::roles::Roles;
use super::stream::{Entry, Stream};
use super::{Core, DUE_PER_TURN, NO_ROOM, millis};
use crate::seats::SeatId;
use crate::{LoginContext, LoginVerdict, Note, Outputs};

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
        let Some(mount) = self.mounts.known(session) else { return };
        match mount.streams.get(request.stream_id) {
            Some(Entry::Other(Stream::Login)) => self.reissue_login(session, request, out),
            Some(_) => self.reject(session, msg, &Reject::Changed("domain"), out),
            None if mount.is_logged_in_unasked() => {
                // Its handshake may have had the credentials of another application.
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

    /// The handshake of a mount had credentials: it is logged in without having
    /// asked, unless it has.
    pub(crate) fn log_in_unasked<O: Outputs>(
        &mut self,
        now: Time,
        session: SessionId,
        request: LoginRequest,
        out: &mut O,
    ) {
        self.now = now;
        if self.mounts.get(session).is_some_and(|mount| mount.login.is_none()) {
            self.log_in(session, request, out);
        }
        self.settle(out);
    }

    fn log_in<O: Outputs>(&mut self, session: SessionId, request: LoginRequest, out: &mut O) {
        if !self.asks_who(session, &request, false, out) {
            self.log_in_as(session, request, None, out);
        }
    }

    /// Logs in whoever it turned out to be; without a person, who the request says.
    pub(super) fn log_in_as<O: Outputs>(
        &mut self,
        session: SessionId,
        request: LoginRequest,
        person: Option<&Person>,
        out: &mut O,
    ) {
        let admitted = match self.decide(session, &request, person, false) {
            Ok(admitted) => admitted,
            Err(state) => return self.refuse_login(session, &request, Refusal::of(state), out),
        };
        let limits = &self.config.limits;
        if self.mounts.get(session).is_some_and(|mount| !mount.is_admitted) {
            if !self.mounts.admitted.claim(limits.max_mounts) {
                // A client that is hung up on tries another server.
                self.give_back(&admitted);
                return self.cut(session, NO_ROOM, out);
            }
            if let Some(mount) = self.mounts.get_mut(session) {
                mount.is_admitted = true;
            }
            out.admit(session);
        }
        let user = admitted.who.user.as_bytes();
        let most = limits.of_user(user).max_mounts;
        if !self.mounts.users.join(user, 0, most) {
            // Another server of this process took the last one meanwhile.
            self.give_back(&admitted);
            return self.refuse_login(session, &request, Refusal::of(too_many_mounts()), out);
        }
        let mount = self.mounts.get(session).map_or(0, |mount| mount.number.into());
        let roles = admitted.who.roles.as_deref().unwrap_or_default().join("\n");
        let decision = person.and_then(|person| person.decision.as_deref()).unwrap_or_default();
        let usage = Usage { mount, roles: &roles, decision, ..Usage::of(Kind::Login, 0) };
        self.record_of(&usage, &admitted.who, None, out);
        let Some(mount) = self.mounts.known_mut(session) else { return };
        mount.streams.insert(request.stream_id, Stream::Login);
        let login = mount.login.insert(Login::new(request, admitted.who, admitted.seat));
        let (user, shown, number) = (login.user().to_vec(), login.shown_user(), mount.number);
        let attributes = &login.request.attributes;
        out.note(Note::LoggedIn {
            session,
            peer: mount.peer,
            user: &shown,
            application: attributes.application_id.as_ref(),
            position: attributes.position.as_ref(),
        });
        self.mounts.users.show_as(&user, shown);
        self.mounts.enter(number, &user);
        self.note_login_end(session, person.and_then(|person| person.ends));
        self.set_login_gates(session);
        self.accept_login(session, person, out);
    }

    /// A user who was admitted does not come after all.
    fn give_back(&mut self, admitted: &Admitted) {
        if let Some(seat) = admitted.seat {
            self.mounts.users.seats().lock().rise(&admitted.who.user, seat);
        }
    }

    /// Whether one more mount may log in. Those without a login have no part in
    /// the number: they are bounded where they come in.
    pub(super) fn may_log_in(&self) -> bool {
        self.mounts.admitted.total() < self.config.limits.max_mounts
    }

    /// Mounts that have not logged in for too long are cut.
    pub(super) fn check_logins<O: Outputs>(&mut self, out: &mut O) {
        let timeout = millis(self.config.limits.login_timeout_ms);
        for _ in 0..DUE_PER_TURN {
            let Some((since, session)) = self.mounts.without_login.front().copied() else { return };
            if since.after(timeout) > self.now {
                return;
            }
            self.mounts.without_login.pop_front();
            let mount = self.mounts.get(session);
            if mount.is_some_and(|mount| mount.login.is_none() && mount.opened_at == since) {
                self.statistics.mounts_cut_without_login += 1;
                self.cut(session, "no login in time", out);
            }
        }
    }

    /// Errors: the state that the user is refused with.
    fn decide(
        &mut self,
        session: SessionId,
        request: &LoginRequest,
        person: Option<&Person>,
        is_reissue: bool,
    ) -> Result<Admitted, StateBuf> {
        let who = Arc::new(identity(request, person, self.mounts.get(session)));
        let Some(mount) = self.mounts.known(session) else {
            return Ok(Admitted { who, seat: None });
        };
        if request.attributes.is_provider() {
            let text = "Providers log in at a hub, not at a server";
            return Err(refused(StateCode::NOT_ENTITLED, text).into());
        }
        let known = mount.login.as_ref().filter(|login| is_reissue && login.identity.is_proved);
        if known.is_some_and(|login| login.identity.user != who.user) {
            let text = "The new token is another user's";
            return Err(refused(StateCode::NOT_ENTITLED, text).into());
        }
        let own = usize::from(is_reissue);
        let user = who.user.as_bytes();
        let mounts_of_user = self.mounts.users.mounts_of(user).saturating_sub(own);
        let most = self.config.limits.of_user(user).max_mounts;
        if most.is_some_and(|max| mounts_of_user >= max) {
            return Err(too_many_mounts());
        }
        let context = LoginContext { peer: mount.peer, mounts_of_user, is_reissue };
        if let LoginVerdict::Refuse(state) = self.policy.decide(request, &context) {
            return Err(state);
        }
        let (peer, seats) = (mount.peer.ip().to_canonical(), self.mounts.users.seats());
        let login = mount.login.as_ref().filter(|login| is_reissue && login.identity == who);
        let own = login.and_then(|login| login.seat);
        match self.entitlements.log_in(self.now, &who, peer, seats, own) {
            Ok(seat) => Ok(Admitted { who, seat }),
            Err(denial) => Err(denied(&denial).into()),
        }
    }

    pub(super) fn refuse_login<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &LoginRequest,
        refusal: Refusal,
        out: &mut O,
    ) {
        self.statistics.logins_refused += 1;
        if let Some(mount) = self.mounts.get(session) {
            let (peer, user) = (mount.peer, shown_user(request));
            out.note(Note::LoginRefused { session, peer, user: &user, why: refusal.state() });
        }
        let who = identity(request, None, self.mounts.get(session));
        let said = refusal.state();
        let (code, text) = (said.code.0, String::from_utf8_lossy(said.text));
        let decision = refusal.decision.as_deref().unwrap_or_default();
        let usage = Usage { code, reason: &text, decision, ..Usage::of(Kind::LoginDenied, 0) };
        self.record_of(&usage, &who, None, out);
        self.tell_login(session, request, refusal, out);
    }

    /// Tells a client a state of its login.
    pub(super) fn tell_login<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &LoginRequest,
        Refusal { state, authentication, .. }: Refusal,
        out: &mut O,
    ) {
        let error = LoginErrorAttributes {
            authentication_error_code: authentication.as_ref().map(|error| error.code),
            authentication_error_text: authentication.map(|error| error.text.as_str().into()),
        };
        let status = LoginStatus {
            error,
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
    fn accept_login<O: Outputs>(
        &mut self,
        session: SessionId,
        person: Option<&Person>,
        out: &mut O,
    ) {
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
        let standby_modes = self.config.warm_standby.modes();
        features.support_standby = Some(!standby_modes.is_empty());
        features.support_standby_mode = (!standby_modes.is_empty()).then_some(standby_modes.bits());
        if login.request.attributes.wants_connection_config() {
            refresh.connection_config = connection_config(&self.config.standby_hosts);
        }
        features.support_enhanced_symbol_list = Some(false);
        let ends = person.and_then(|person| person.ends);
        features.authentication_tt_reissue = ends.map(|ends| ends.renew_at_s);
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
            self.tell_login(session, &request, Refusal::of(state), out);
            if is_closed {
                self.end_login(session, out);
            }
            return;
        }
        if !self.asks_who(session, &request, true, out) {
            self.renew_login(session, request, None, out);
        }
    }

    /// Changes a login. A person is who a new token is of; without one it is of who
    /// it was of before.
    pub(super) fn renew_login<O: Outputs>(
        &mut self,
        session: SessionId,
        request: LoginRequest,
        person: Option<&Person>,
        out: &mut O,
    ) {
        let admitted = match self.decide(session, &request, person, true) {
            Ok(admitted) => admitted,
            Err(state) => {
                self.refuse_login(session, &request, Refusal::of(state), out);
                return self.end_login(session, out);
            }
        };
        let Some(login) = self.mounts.get_mut(session).and_then(|mount| mount.login.as_mut())
        else {
            return;
        };
        let was_paused = core::mem::replace(&mut login.is_paused, request.pause);
        let (old_user, no_refresh) = (login.user().to_vec(), request.no_refresh);
        merge(&mut login.request, request);
        let new_user = admitted.who.user.as_bytes().to_vec();
        let is_other = login.identity != admitted.who;
        let before = login.seat.filter(|_| is_other);
        let was = core::mem::replace(&mut login.identity, admitted.who);
        login.seat = admitted.seat;
        if is_other {
            login.profile = Profile::default();
        }
        if let Some(seat) = before {
            self.mounts.users.seats().lock().rise(&was.user, seat);
        }
        if is_other && self.entitlements.is_on() {
            self.backlog.add(Job::Review(Review::of_mount(session)));
        }
        if old_user != new_user {
            self.rename_user(&old_user, &new_user, session);
        }
        if person.is_some() {
            self.note_login_end(session, person.and_then(|person| person.ends));
        }
        self.set_login_gates(session);
        if !no_refresh {
            self.accept_login(session, person, out);
        }
        let is_paused = self.mounts.gate(session) & gate::PAUSED != 0;
        if was_paused && !is_paused {
            self.refresh_all(session, out);
        }
    }

    /// A token was renewed: what the user has is counted by the new one.
    fn rename_user(&mut self, old: &[u8], new: &[u8], session: SessionId) {
        let Some(mount) = self.mounts.known(session) else { return };
        let (items, number) = (mount.item_count, mount.number);
        self.mounts.standings.leave(number);
        self.mounts.users.leave(old, items);
        // Decided before: a renewed token is not refused for the number of mounts.
        self.mounts.users.join(new, items, None);
        self.mounts.enter(number, new);
        let login = self.mounts.get(session).and_then(|mount| mount.login.as_ref());
        if let Some(shown) = login.map(Login::shown_user) {
            self.mounts.users.show_as(new, shown);
        }
    }

    /// Lets updates through to a mount, or not, as its login says.
    pub(super) fn set_login_gates(&mut self, session: SessionId) {
        let Some(login) = self.mounts.get(session).and_then(|mount| mount.login.as_ref()) else {
            return;
        };
        let said = &login.request.attributes;
        let is_filtered =
            said.update_type_filter.is_some() || said.negative_update_type_filter.is_some();
        let is_paused = login.is_paused;
        self.mounts.set_gate(session, gate::FILTERED, is_filtered);
        self.mounts.set_gate(session, gate::PAUSED, is_paused);
        self.set_pace(session);
    }

    /// The user is logged out: all else on the connection is over.
    pub(super) fn end_login<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        self.drop_streams(session, out);
        let now = self.now;
        let Some(mount) = self.mounts.known_mut(session) else { return };
        // It has as long as a new mount for its next login.
        mount.opened_at = now;
        mount.roles = Roles::default();
        let number = mount.number;
        mount.round_trip = None;
        if mount.asking.take().is_some() {
            // What was to be renewed is over.
            out.hold(session, mount.is_in_batch);
        }
        if let Some(login) = mount.login.take() {
            self.mounts.standings.leave(number);
            self.mounts.users.log_out(&login, 0);
        }
        self.mounts.note_roles(session);
        let of_login = gate::FILTERED | gate::PAUSED | gate::OUTDATED | gate::HOLDING;
        self.mounts.set_gate(session, of_login, false);
        self.set_pace(session);
        self.mounts.without_login.push_back((now, session));
    }
}

/// Why there is no login.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What the client is told.
    state: StateBuf,
    /// What was wrong with its token.
    authentication: Option<AuthenticationError>,
    /// By which the authoriser's own log knows its decision.
    decision: Option<String>,
}

impl Refusal {
    /// One of a policy, or of a bound.
    pub(super) fn of(state: impl Into<StateBuf>) -> Self {
        Self { state: state.into(), authentication: None, decision: None }
    }

    pub(super) fn state(&self) -> State<'_> {
        self.state.as_state()
    }

    /// One of a token that was good once.
    pub(super) fn of_token(state: State<'_>, error: AuthenticationError) -> Self {
        Self { authentication: Some(error), ..Self::of(state) }
    }
}

impl From<&Unidentified> for Refusal {
    fn from(why: &Unidentified) -> Self {
        let (authentication, decision) = (why.authentication.clone(), why.decision.clone());
        Self { authentication, decision, ..Self::of(why.state()) }
    }
}

/// A user who may log in.
struct Admitted {
    who: Arc<Identity>,
    seat: Option<SeatId>,
}

/// Who asks to log in, and from where: a position is what the client calls it
/// and where it connects from.
fn identity(request: &LoginRequest, person: Option<&Person>, mount: Option<&Mount>) -> Identity {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = &request.attributes;
    let peer = mount.map(|mount| mount.peer.ip().to_canonical().to_string()).unwrap_or_default();
    let position = match said.position.as_ref().map(|it| text(it)) {
        None => peer,
        Some(said) if said.split('/').next() == Some(&*peer) => said,
        Some(said) => format!("{said} from {peer}"),
    };
    let login = mount.and_then(|mount| mount.login.as_ref());
    let known = login.map(|login| &*login.identity).filter(|known| known.is_proved);
    let (user, roles) = match (person, known) {
        (Some(person), _) => (person.user.clone(), person.roles.clone()),
        // Its login was proved, and this changes nothing of that.
        (None, Some(known)) => (known.user.clone(), known.roles.clone()),
        (None, None) => (shown_user(request).to_string(), None),
    };
    Identity {
        user,
        roles,
        is_proved: person.is_some() || known.is_some(),
        position,
        application: said.application_id.as_ref().map(|it| text(it)).unwrap_or_default(),
    }
}

/// The servers that a client may use beside this one, for who asks. None to
/// name: nothing is said.
fn connection_config(hosts: &[StandbyServer]) -> Option<ConnectionConfig> {
    (!hosts.is_empty()).then(|| ConnectionConfig {
        num_standby_servers: Some(hosts.len() as u64),
        servers: hosts.to_vec(),
    })
}

/// The state that a user is refused with who has all the mounts it may have.
fn too_many_mounts() -> StateBuf {
    let text = "The user has all the mounts it may have";
    refused(StateCode::EXCEEDED_MAX_MOUNTS_PER_USER, text).into()
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
