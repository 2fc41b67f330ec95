//! Who may come in, and where each is.

use std::collections::HashMap;

use tapeline_layout::Text;
use tapeline_matching::{Owner, SelfMatch};
use tapeline_mitch::LoginRequest;
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Admission, Channel};

use super::{ExchangeConfig, SessionId};

/// Wrong: already logged in.
const ALREADY_IN: i32 = 2;

/// Wrong: the new password will not do.
pub(super) const NEW_PASSWORD: i32 = 3;

/// Wrong: the recovery channel without a session on the real-time one.
pub(super) const UNAUTHORISED: i32 = 11;

/// Days for which passwords are good: they do not expire here.
const PASSWORD_DAYS: u32 = 90;

/// Somebody who trades.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) name: Text<25>,
    password: Text<25>,
    pub(super) owner: Owner,
    pub(super) auto_cancel: bool,
    pub(super) self_match: SelfMatch,
    /// Where its reports go.
    pub(super) session: Option<SessionId>,
    /// The gateway in a process of its own at which its session is; 0 for none. This
    /// changes with entries only.
    pub(super) gateway: u16,
    /// That its session there is over waits to be kept.
    is_leaving: bool,
}

impl User {
    /// Somebody who is let in unasked, as a firm of its own.
    fn guest(number: u16, name: Text<25>, password: Text<25>) -> Self {
        Self {
            name,
            password,
            owner: Owner { firm: number + 1, user: number },
            auto_cancel: true,
            self_match: SelfMatch::Allowed,
            session: None,
            gateway: 0,
            is_leaving: false,
        }
    }
}

/// All who trade.
#[derive(Debug)]
pub(super) struct Users {
    all: Vec<User>,
    by_name: HashMap<Text<25>, u16>,
    /// Everybody is let in, and known from then on.
    is_open: bool,
    max: usize,
    /// Who is at a connection.
    at: Vec<Option<u16>>,
}

impl Users {
    pub(super) fn new(config: &ExchangeConfig) -> Self {
        let mut users = Self {
            all: Vec::new(),
            by_name: HashMap::new(),
            is_open: config.users.is_empty(),
            max: config.max_users.min(usize::from(u16::MAX)),
            at: vec![None; config.max_sessions],
        };
        for user in config.users.iter().take(users.max) {
            let number = users.all.len() as u16;
            users.add(User {
                name: Text::new(&user.name),
                password: Text::new(&user.password),
                owner: Owner { firm: user.firm, user: number },
                auto_cancel: user.auto_cancel,
                self_match: user.self_match,
                session: None,
                gateway: 0,
                is_leaving: false,
            });
        }
        users
    }

    fn add(&mut self, user: User) -> u16 {
        let number = self.all.len() as u16;
        self.by_name.insert(user.name, number);
        self.all.push(user);
        number
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn get(&self, number: u16) -> Option<&User> {
        self.all.get(usize::from(number))
    }

    /// The number of a name.
    pub(super) fn named(&self, name: Text<25>) -> Option<u16> {
        self.by_name.get(&name).copied()
    }

    /// Who is at a connection.
    pub(super) fn at(&self, session: SessionId) -> Option<u16> {
        self.at.get(session.0 as usize).copied().flatten()
    }

    pub(super) fn logged_on(&self) -> usize {
        self.all.iter().filter(|user| user.session.is_some()).count()
    }

    /// How many are known.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Somebody is known by this number, whoever let them in.
    pub(super) fn introduce(&mut self, number: u16, name: Text<25>) {
        if usize::from(number) == self.all.len() {
            self.add(User::guest(number, name, Text::default()));
        }
    }

    fn known(&mut self, logon: &Logon) -> Option<u16> {
        if let Some(number) = self.by_name.get(&logon.user).copied() {
            let is_right = self.is_open || self.all[usize::from(number)].password == logon.password;
            return is_right.then_some(number);
        }
        if !self.is_open || self.all.len() >= self.max {
            return None;
        }
        let number = self.all.len() as u16;
        Some(self.add(User::guest(number, logon.user, logon.password)))
    }

    /// Lets somebody in at a connection, or not.
    pub(super) fn admit(
        &mut self,
        session: SessionId,
        channel: Channel,
        logon: &Logon,
    ) -> Admission {
        let Some(number) = self.known(logon) else { return Admission::Silent };
        let user = &mut self.all[usize::from(number)];
        match channel {
            Channel::RealTime if user.session.is_some() || user.gateway != 0 => {
                return Admission::Refused(ALREADY_IN);
            }
            Channel::RealTime => {
                if !logon.new_password.is_empty() {
                    if !is_good(logon.new_password.as_bytes()) {
                        return Admission::Refused(NEW_PASSWORD);
                    }
                    user.password = logon.new_password;
                }
                user.session = Some(session);
            }
            Channel::Recovery if user.session.is_none() => {
                return Admission::Refused(UNAUTHORISED);
            }
            Channel::Recovery => {}
        }
        self.at[session.0 as usize] = Some(number);
        Admission::Granted { password_days: PASSWORD_DAYS }
    }

    /// The gateway at which the session of a user is; 0 for none.
    pub(super) fn gateway_of(&self, number: u16) -> u16 {
        self.get(number).map_or(0, |user| user.gateway)
    }

    /// The session of a user is at this gateway, or at none.
    pub(super) fn set_gateway(&mut self, number: u16, gateway: u16) {
        if let Some(user) = self.all.get_mut(usize::from(number)) {
            user.gateway = gateway;
            user.is_leaving &= gateway != 0;
        }
    }

    pub(super) fn is_leaving(&self, number: u16) -> bool {
        self.get(number).is_some_and(|user| user.is_leaving)
    }

    /// That the session of a user at a gateway is over waits to be kept.
    pub(super) fn set_leaving(&mut self, number: u16) {
        if let Some(user) = self.all.get_mut(usize::from(number)) {
            user.is_leaving = true;
        }
    }

    /// The session of a user goes on at a connection.
    pub(super) fn go_on(&mut self, number: u16, session: SessionId) {
        if let Some(user) = self.all.get_mut(usize::from(number)) {
            user.session = Some(session);
            self.at[session.0 as usize] = Some(number);
        }
    }

    /// A connection has ended. Returns who was there to trade.
    pub(super) fn left(&mut self, session: SessionId) -> Option<u16> {
        let number = self.at.get_mut(session.0 as usize)?.take()?;
        let user = &mut self.all[usize::from(number)];
        let was_trading = user.session == Some(session);
        if was_trading {
            user.session = None;
        }
        was_trading.then_some(number)
    }
}

/// 8 to 14 characters, with a digit, a letter and one that is neither.
fn is_good(password: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| password.iter().any(is);
    (8..=14).contains(&password.len())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && has(|byte| !byte.is_ascii_alphanumeric())
}

/// Who may have market data again.
#[derive(Debug)]
pub(super) struct Readers {
    known: Vec<LoginRequest>,
    /// Who is at which connection, of those who are known.
    at: Vec<(SessionId, usize)>,
}

impl Readers {
    pub(super) fn new(config: &ExchangeConfig) -> Self {
        let login = |reader: &super::ReaderConfig| LoginRequest {
            user: Text::new(&reader.name),
            password: Text::new(&reader.password),
        };
        Self { known: config.readers.iter().map(login).collect(), at: Vec::new() }
    }

    pub(super) fn admit(
        &mut self,
        session: SessionId,
        login: &LoginRequest,
    ) -> tapeline_mitch::Admission {
        use tapeline_mitch::Admission;

        if self.known.is_empty() {
            return Admission::Granted;
        }
        let Some(number) = self.known.iter().position(|known| known.user == login.user) else {
            return Admission::Silent;
        };
        if self.at.iter().any(|(_, other)| *other == number) {
            return Admission::Silent;
        }
        if self.known[number].password != login.password {
            return Admission::Refused(b'e');
        }
        self.at.push((session, number));
        Admission::Granted
    }

    pub(super) fn left(&mut self, session: SessionId) {
        self.at.retain(|(other, _)| *other != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_have_digits_letters_and_others() {
        for (password, good) in [
            ("abc123!?", true),
            ("abcdefg!", false),
            ("1234567!", false),
            ("abcd1234", false),
            ("a1!", false),
            ("abcdefghij1234!", false),
        ] {
            assert_eq!(is_good(password.as_bytes()), good, "{password}");
        }
    }
}
