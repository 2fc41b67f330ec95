//! Which non-interactive providers may log in, and publish into which services,
//! by an entitlement policy. Without one whoever calls itself a provider may.

use std::net::IpAddr;
use std::sync::Arc;

use tapeline_entitle::{Denial, Engine, Login, Person, PolicyChange, Verdict, day_of};
use tapeline_omm::Text;
use tapeline_omm::directory::Service;
use tapeline_omm::login::{LoginRequest, LoginStatus};
use tapeline_rwf::{DataState, State, StateCode, StreamState};
use tapeline_time::Time;

use super::Core;
use super::source::{Phase, Source};
use crate::Outputs;

/// What a provider is told that may not be logged in any more.
const FORCED: &str = "Force Logout from DACS.";

/// Who a provider is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Publisher {
    user: String,
    application: String,
    position: String,
    /// Somebody was asked who it is.
    is_proved: bool,
    /// Its roles, if whoever was asked says them.
    roles: Option<Arc<[String]>>,
}

impl Publisher {
    /// Who a login is of: who it turned out to be, who it was, or who it says.
    pub(super) fn of(request: &LoginRequest, person: Option<&Person>, known: &Self) -> Self {
        let text = |text: Option<&Text>| {
            text.map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
        };
        let said = &request.attributes;
        let (user, roles) = match person {
            Some(person) => (person.user.clone(), person.roles.clone()),
            None if known.is_proved => (known.user.clone(), known.roles.clone()),
            None => (text(Some(&request.user_name)), None),
        };
        Self {
            user,
            roles,
            is_proved: person.is_some() || known.is_proved,
            application: text(said.application_id.as_ref()),
            position: text(said.position.as_ref()),
        }
    }
}

/// The policy, as far as it is about providers.
#[derive(Debug, Default)]
pub(super) struct Publishers {
    engine: Option<Box<Engine>>,
    /// What the time of day was at a moment, in milliseconds since 1970.
    wall: (Time, u64),
}

impl Publishers {
    fn enforce(&mut self, now: Time, change: &PolicyChange) {
        self.wall = (now, change.unix_ms);
        match &mut self.engine {
            Some(engine) => engine.set_policy(Arc::clone(&change.policy)),
            None => self.engine = Some(Box::new(Engine::new(Arc::clone(&change.policy)))),
        }
    }

    /// Whether a provider may be logged in. Its positions are not counted: two
    /// of one user stand in for each other.
    pub(super) fn log_in(&self, now: Time, who: &Publisher, peer: IpAddr) -> Result<(), Denial> {
        let Some(engine) = &self.engine else { return Ok(()) };
        let unix_ms = self.wall.1 + now.since(self.wall.0).as_millis() as u64;
        let login = Login {
            user: &who.user,
            application: &who.application,
            position: &who.position,
            peer: peer.to_canonical(),
            today: day_of(unix_ms),
            other_positions: &[],
            roles: who.roles.as_deref(),
        };
        engine.decide_login(&login).map(|_| ())
    }

    /// Whether a provider may publish into a service.
    pub(super) fn may_publish(&self, who: &Publisher, service: &Text) -> bool {
        let Some(engine) = &self.engine else { return true };
        let policy = engine.policy();
        let profile = match &who.roles {
            Some(roles) => policy.profile_of_roles(roles),
            None => policy.profile_of(&who.user),
        };
        let service = String::from_utf8_lossy(service);
        profile.is_some_and(|profile| engine.decide_publish(profile, &service) == Verdict::Allow)
    }
}

impl Core {
    /// A policy is in force from now on. Providers that have other rights by it
    /// are logged out, and may come again.
    pub(super) fn enforce(&mut self, now: Time, change: &PolicyChange, out: &mut impl Outputs) {
        self.publishers.enforce(now, change);
        let is_logged_in = |source: &Source| {
            !source.is_interactive() && matches!(source.phase, Phase::Directory | Phase::Up)
        };
        let providers: Vec<u32> = self
            .sources
            .iter()
            .filter(|(_, source)| is_logged_in(source))
            .map(|(index, _)| index)
            .collect();
        for index in providers {
            if let Some(denial) = self.reviewed(now, index) {
                self.log_provider_out(index, &denial, "the policy is another one", out);
            }
        }
    }

    /// Why a provider is not to stay as it is.
    fn reviewed(&self, now: Time, index: u32) -> Option<Denial> {
        let source = self.sources.get(index)?;
        let forced = || Denial { code: StateCode::NOT_ENTITLED, text: FORCED.to_owned() };
        if let Err(denial) = self.publishers.log_in(now, &source.publisher, source.peer) {
            let is_gone = denial.code == StateCode::USER_UNKNOWN_TO_PERM_SYS;
            return Some(if is_gone { forced() } else { denial });
        }
        let may = |name: &Text| self.publishers.may_publish(&source.publisher, name);
        let names = |id: &u16| source.directory.service(*id).and_then(Service::name);
        let has_lost = source.offers.keys().filter_map(names).any(|name| !may(name));
        let has_gained = source
            .refused
            .iter()
            .filter_map(names)
            .any(|name| may(name) && self.may_publish(index, name));
        (has_lost || has_gained).then(forced)
    }

    pub(super) fn log_provider_out(
        &mut self,
        index: u32,
        denial: &Denial,
        reason: &str,
        out: &mut impl Outputs,
    ) {
        self.refuse_provider(index, denial, out);
        self.give_up(index, reason, out);
    }

    /// Tells a provider that it may not be logged in.
    pub(super) fn refuse_provider(&mut self, index: u32, denial: &Denial, out: &mut impl Outputs) {
        self.counters.logins_refused += 1;
        let Some(source) = self.sources.get(index) else { return };
        let state = State::new(StreamState::CLOSED, DataState::SUSPECT, denial.code, &denial.text);
        let status = LoginStatus {
            user_name: Some(source.publisher.user.as_str().into()),
            ..LoginStatus::new(source.login_stream, &state)
        };
        self.send_written(index, |encoder| status.encode(encoder), out);
    }
}
