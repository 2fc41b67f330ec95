//! Who a non-interactive provider is, where somebody outside is asked at its login.

use std::collections::BTreeMap;

use tapeline_entitle::{Credential, Denial, LoginAnswer, LoginQuestion, Person, Unidentified};
use tapeline_omm::login::{LoginErrorAttributes, LoginRequest, LoginStatus};
use tapeline_rwf::StateCode;
use tapeline_time::Time;

use super::Core;
use super::source::Phase;
use super::timers::ms;
use crate::Outputs;

const EXPIRED: &str = "The token has expired, and was not renewed.";

/// What is asked about logins.
#[derive(Debug, Default)]
pub(super) struct Identification {
    is_on: bool,
    next_number: u64,
    /// Whose questions are not answered, by number: the sources.
    asked: BTreeMap<u64, u32>,
}

/// The login of a provider as it was, or is being decided.
#[derive(Debug)]
pub(crate) struct ProviderLogin {
    request: LoginRequest,
    /// The question that is not answered.
    number: Option<u64>,
}

impl Core {
    /// Has it be asked who logs in. To be called before the first event.
    pub const fn identify_logins(&mut self) {
        self.identification.is_on = true;
    }

    /// Asks who a provider is, if that is to be asked. Whether its login waits for the
    /// answer, or is refused; if not, it goes on.
    pub(super) fn asks_who(
        &mut self,
        index: u32,
        request: &LoginRequest,
        out: &mut impl Outputs,
    ) -> bool {
        if !self.identification.is_on {
            return false;
        }
        let Some(source) = self.sources.known_mut(index) else { return true };
        let is_reissue = source.phase != Phase::Login;
        let known = source.login.as_ref().map(|login| Credential::of(&login.request));
        let is_renewed = known.is_none_or(|known| Credential::of(request).renews(&known));
        if is_reissue && !is_renewed {
            return false;
        }
        let number = self.identification.next_number;
        let question = LoginQuestion::of(number, request, source.peer, is_reissue);
        if !out.ask_login(question) {
            let text = "Login is not possible now: too many logins are being decided.".to_owned();
            let denial = Denial { code: StateCode::DACS_DOWN, text };
            let why =
                Unidentified { denial, is_for_now: true, authentication: None, decision: None };
            self.refuse_login(index, request, &why, out);
            return true;
        }
        source.login =
            Some(Box::new(ProviderLogin { request: request.clone(), number: Some(number) }));
        self.identification.next_number += 1;
        self.identification.asked.insert(number, index);
        true
    }

    /// An answer came.
    pub(super) fn identified(&mut self, now: Time, answer: &LoginAnswer, out: &mut impl Outputs) {
        let Some(index) = self.identification.asked.remove(&answer.number) else { return };
        // The provider may be gone, or have asked again.
        let Some(login) = self.sources.get_mut(index).and_then(|it| it.login.as_mut()) else {
            return;
        };
        if login.number.take_if(|number| *number == answer.number).is_none() {
            return;
        }
        let request = login.request.clone();
        match &answer.who {
            Ok(person) => {
                self.provider_is(now, index, person);
                self.admit_provider(now, index, &request, Some(person), out);
            }
            Err(why) => self.refuse_login(index, &request, why, out),
        }
    }

    /// A login is over when its token is, unless it is renewed.
    fn provider_is(&mut self, now: Time, index: u32, person: &Person) {
        let Some(source) = self.sources.known_mut(index) else { return };
        source.login_ends_ms = person.ends.map(|ends| ms(now.after(ends.after)));
    }

    /// Tells a provider why it is not logged in, or not any more.
    fn refuse_login(
        &mut self,
        index: u32,
        request: &LoginRequest,
        why: &Unidentified,
        out: &mut impl Outputs,
    ) {
        self.counters.logins_refused += 1;
        let error = why.authentication.as_ref();
        let status = LoginStatus {
            user_name: Some(request.user_name.clone()),
            name_type: request.name_type,
            state: Some(why.state()),
            error: LoginErrorAttributes {
                authentication_error_code: error.map(|error| error.code),
                authentication_error_text: error.map(|error| error.text.as_str().into()),
            },
            ..LoginStatus::new(request.stream_id, &why.state().as_state())
        };
        self.send_written(index, |encoder| status.encode(encoder), out);
        let source = self.sources.get(index);
        if source.is_some_and(|source| source.phase != Phase::Login) {
            self.give_up(index, "a provider may not be logged in any more", out);
        }
    }

    /// Logs out the providers whose tokens have expired.
    pub(super) fn check_login_ends(&mut self, now: Time, out: &mut impl Outputs) {
        let is_over = |at: Option<u64>| at.is_some_and(|at| at <= ms(now));
        let over: Vec<u32> = self
            .sources
            .iter()
            .filter(|(_, source)| is_over(source.login_ends_ms))
            .map(|(index, _)| index)
            .collect();
        for index in over {
            let Some(source) = self.sources.known_mut(index) else { continue };
            source.login_ends_ms = None;
            let denial = Denial { code: StateCode::NOT_ENTITLED, text: EXPIRED.to_owned() };
            self.log_provider_out(index, &denial, "its token has expired", out);
        }
    }
}
