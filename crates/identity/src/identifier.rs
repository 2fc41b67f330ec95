//! From the question of a login to its answer: what is verified here, what is asked
//! outside, and what is remembered of it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{Context, SHA256};
use tapeline_entitle::{
    AuthenticationError, Credential, Denial, LoginAnswer, LoginEnd, LoginQuestion, Person,
    Unidentified,
};
use tapeline_rwf::StateCode;

use crate::authoriser::{self, Opinion};
use crate::keys::{Keys, KeysError};
use crate::token::{Claims, TokenError, TokenRules};

/// Opinions that are remembered.
pub const MAX_REMEMBERED: usize = 100_000;

/// Questions that wait for keys or for the authoriser; one more is answered at once
/// that it is to come again.
pub const MAX_WAITING: usize = 10_000;

/// A key that is not known has the keys be fetched, not more often than this.
const FORCED_FETCH_S: u64 = 60;

/// Keys that could not be fetched are tried for again after this.
const RETRY_FETCH_S: u64 = 5;

/// What happens to a token while its user is logged in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renewal {
    /// It is to be renewed before it expires; a login whose token is not is over
    /// then.
    #[default]
    BeforeExpiry,
    /// It is looked at when the user logs in, and is good until the connection ends.
    AtLogin,
}

/// How tokens are taken.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// By what they are judged.
    pub rules: TokenRules,
    /// How often the keys are fetched.
    pub refresh: Duration,
    /// What happens when they expire.
    pub renewal: Renewal,
    /// How long before the end of a token its user is asked to renew it.
    pub renewal_margin: Duration,
    /// Names without a token are refused.
    pub are_needed: bool,
}

/// How an authoriser is asked.
#[derive(Clone, Debug)]
pub struct Authoriser {
    /// How long an answer is good for the same question.
    pub cache: Duration,
    /// How long the last good answer for the same question lets a user in while
    /// there is no other.
    pub grace: Duration,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This is the answer.
    Answer(LoginAnswer),
    /// The authoriser is to be asked this, and the answer given to
    /// [`Identifier::opinion`] with the number.
    Ask {
        /// The number.
        number: u64,
        /// The body of the request.
        body: Vec<u8>,
    },
    /// The keys are to be fetched, and given to [`Identifier::keys`].
    FetchKeys,
}

/// A question on its way.
#[derive(Debug)]
struct Asked {
    question: LoginQuestion,
    claims: Option<Claims>,
    fingerprint: Fingerprint,
}

/// By which the same question is known again: no secret is kept for it.
type Fingerprint = [u8; 32];

#[derive(Debug)]
struct Remembered {
    opinion: Opinion,
    at_s: u64,
}

/// Identifies who logs in.
#[derive(Debug, Default)]
pub struct Identifier {
    tokens: Option<Tokens>,
    authoriser: Option<Authoriser>,
    keys: Option<Keys>,
    fetch: Fetch,
    /// Questions that wait for keys.
    waiting: VecDeque<LoginQuestion>,
    asked: BTreeMap<u64, Asked>,
    next_number: u64,
    remembered: HashMap<Fingerprint, Remembered>,
    /// The fingerprints, the oldest first.
    order: VecDeque<(u64, Fingerprint)>,
}

/// When keys were fetched, and are to be.
#[derive(Debug, Default)]
struct Fetch {
    is_under_way: bool,
    due_s: u64,
    forced_s: Option<u64>,
}

impl Identifier {
    /// One that takes tokens, asks an authoriser, or both: a token is verified
    /// before anybody is asked.
    pub fn new(tokens: Option<Tokens>, authoriser: Option<Authoriser>) -> Self {
        Self { tokens, authoriser, ..Self::default() }
    }

    /// What is due by itself at a time, in seconds since 1970.
    pub fn due(&mut self, now_s: u64) -> Option<Step> {
        let is_due = self.tokens.is_some() && !self.fetch.is_under_way && self.fetch.due_s <= now_s;
        self.fetch.is_under_way |= is_due;
        is_due.then_some(Step::FetchKeys)
    }

    /// Somebody asks to log in.
    pub fn question(&mut self, now_s: u64, question: LoginQuestion) -> Vec<Step> {
        if self.waiting.len() + self.asked.len() >= MAX_WAITING {
            let why = "too many logins are being decided";
            return vec![Step::Answer(LoginAnswer {
                number: question.number,
                who: Err(away(why)),
            })];
        }
        let claims = match (&question.credential, &self.tokens) {
            (Credential::Token { token, .. }, Some(tokens)) => {
                let Some(keys) = &self.keys else { return self.wait_for_keys(now_s, question) };
                match tokens.rules.verify(token.reveal(), keys, now_s) {
                    Ok(claims) => Some(claims),
                    Err(TokenError::UnknownKey(_)) if self.may_force(now_s) => {
                        self.fetch.forced_s = Some(now_s);
                        return self.wait_for_keys(now_s, question);
                    }
                    Err(error) => return vec![refusal(question.number, &error)],
                }
            }
            (Credential::Name { .. }, Some(tokens)) if tokens.are_needed => {
                let who = Err(not_entitled("A token is needed to log in."));
                return vec![Step::Answer(LoginAnswer { number: question.number, who })];
            }
            (Credential::Token { .. }, None) => {
                let who = Err(not_entitled("Tokens are not taken here."));
                return vec![Step::Answer(LoginAnswer { number: question.number, who })];
            }
            _ => None,
        };
        vec![self.ask(now_s, question, claims)]
    }

    /// Keys came, or did not.
    pub fn keys(&mut self, now_s: u64, fetched: Result<&[u8], String>) -> (Vec<Step>, FetchedKeys) {
        self.fetch.is_under_way = false;
        let refresh_s = self.tokens.as_ref().map_or(u64::MAX, |it| it.refresh.as_secs());
        let fetched = match fetched.map(Keys::parse) {
            Ok(Ok(keys)) => {
                let count = keys.len();
                self.keys = Some(keys);
                self.fetch.due_s = now_s.saturating_add(refresh_s.max(1));
                FetchedKeys::Some(count)
            }
            other => {
                self.fetch.due_s = now_s.saturating_add(RETRY_FETCH_S.min(refresh_s.max(1)));
                match other {
                    Ok(Err(error)) => FetchedKeys::Faulty(error),
                    Ok(Ok(_)) => FetchedKeys::Some(0),
                    Err(why) => FetchedKeys::Away(why),
                }
            }
        };
        let waiting = std::mem::take(&mut self.waiting);
        let mut steps = Vec::with_capacity(waiting.len());
        for question in waiting {
            match self.keys {
                // The time of the fetch counts: it is not forced again by the same.
                Some(_) => steps.extend(self.question(now_s, question)),
                None => {
                    let who = Err(away("the keys of tokens cannot be had"));
                    steps.push(Step::Answer(LoginAnswer { number: question.number, who }));
                }
            }
        }
        (steps, fetched)
    }

    /// The authoriser answered, or did not.
    pub fn opinion(
        &mut self,
        now_s: u64,
        number: u64,
        answer: Result<&[u8], String>,
    ) -> Option<Judged> {
        let asked = self.asked.remove(&number)?;
        let opinion = answer.and_then(Opinion::parse);
        let number = asked.question.number;
        let judged = match opinion {
            Ok(opinion) => {
                self.remember(now_s, asked.fingerprint, opinion.clone());
                let who = self.judge(now_s, &asked, &opinion);
                Judged { answer: LoginAnswer { number, who }, trouble: None, is_graced: false }
            }
            Err(why) => {
                let known = self.within(now_s, &asked.fingerprint, |it| it.grace);
                let is_graced = known.as_ref().is_some_and(|opinion| opinion.is_allowed);
                let who = match known.filter(|_| is_graced) {
                    Some(opinion) => self.judge(now_s, &asked, &opinion),
                    None => Err(away("the authoriser does not answer")),
                };
                Judged { answer: LoginAnswer { number, who }, trouble: Some(why), is_graced }
            }
        };
        Some(judged)
    }

    fn may_force(&self, now_s: u64) -> bool {
        self.fetch.forced_s.is_none_or(|at| now_s.saturating_sub(at) >= FORCED_FETCH_S)
    }

    fn wait_for_keys(&mut self, now_s: u64, question: LoginQuestion) -> Vec<Step> {
        let number = question.number;
        // Keys that cannot be had are waited for by whoever came while they were
        // tried for; who comes between two tries is told at once.
        if !self.fetch.is_under_way && self.keys.is_none() && self.fetch.due_s > now_s {
            let who = Err(away("the keys of tokens cannot be had"));
            return vec![Step::Answer(LoginAnswer { number, who })];
        }
        self.waiting.push_back(question);
        match std::mem::replace(&mut self.fetch.is_under_way, true) {
            true => Vec::new(),
            false => vec![Step::FetchKeys],
        }
    }

    /// Has the authoriser be asked, if there is one, and what it said is not known.
    fn ask(&mut self, now_s: u64, question: LoginQuestion, claims: Option<Claims>) -> Step {
        let fingerprint = fingerprint(&question, claims.as_ref());
        let asked = Asked { question, claims, fingerprint };
        if self.authoriser.is_none() {
            let who = Ok(self.person(now_s, &asked, None));
            return Step::Answer(LoginAnswer { number: asked.question.number, who });
        }
        if let Some(opinion) = self.within(now_s, &fingerprint, |it| it.cache) {
            let who = self.judge(now_s, &asked, &opinion);
            return Step::Answer(LoginAnswer { number: asked.question.number, who });
        }
        let verified = asked.claims.as_ref().map(|claims| claims.user.as_str());
        let body = authoriser::body(&asked.question, verified, now_s);
        let number = self.next_number;
        self.next_number += 1;
        self.asked.insert(number, asked);
        Step::Ask { number, body }
    }

    /// What was said of a question, if that is not older than it may be.
    fn within(
        &self,
        now_s: u64,
        fingerprint: &Fingerprint,
        age: impl Fn(&Authoriser) -> Duration,
    ) -> Option<Opinion> {
        let most_s = self.authoriser.as_ref().map(age)?.as_secs();
        let known = self.remembered.get(fingerprint)?;
        (now_s.saturating_sub(known.at_s) < most_s).then(|| known.opinion.clone())
    }

    fn remember(&mut self, now_s: u64, fingerprint: Fingerprint, opinion: Opinion) {
        let Some(authoriser) = &self.authoriser else { return };
        let most_s = authoriser.cache.max(authoriser.grace).as_secs();
        let is_old = |at_s: u64| now_s.saturating_sub(at_s) >= most_s;
        while let Some((at_s, old)) = self.order.front()
            && (is_old(*at_s) || self.order.len() >= MAX_REMEMBERED)
        {
            // It may have been said again since.
            if self.remembered.get(old).is_some_and(|known| known.at_s == *at_s) {
                self.remembered.remove(old);
            }
            self.order.pop_front();
        }
        self.remembered.insert(fingerprint, Remembered { opinion, at_s: now_s });
        self.order.push_back((now_s, fingerprint));
    }

    fn judge(&self, now_s: u64, asked: &Asked, opinion: &Opinion) -> Result<Person, Unidentified> {
        match opinion.is_allowed {
            true => Ok(self.person(now_s, asked, Some(opinion))),
            false => {
                let reason = opinion.reason.as_deref().unwrap_or("the authoriser refuses it");
                let refused = not_entitled(&format!("Login denied: {reason}"));
                Err(Unidentified { decision: opinion.decision_id.clone(), ..refused })
            }
        }
    }

    fn person(&self, now_s: u64, asked: &Asked, opinion: Option<&Opinion>) -> Person {
        let claims = asked.claims.as_ref();
        let name = match &asked.question.credential {
            Credential::Name { name, .. } => name.as_str(),
            Credential::Token { .. } => "",
        };
        let name = claims.map_or(name, |claims| &claims.user);
        let user = opinion.and_then(|it| it.user.as_deref()).unwrap_or(name).to_owned();
        let of_token = claims.and_then(|claims| claims.roles.as_ref());
        let roles = opinion.and_then(|it| it.roles.as_ref()).or(of_token).map(Arc::clone);
        let tokens = self.tokens.as_ref().filter(|it| it.renewal == Renewal::BeforeExpiry);
        let ends = tokens.zip(claims).map(|(tokens, claims)| {
            let margin_s = tokens.renewal_margin.as_secs();
            let left_s = claims.expires_at_s.saturating_sub(now_s);
            LoginEnd {
                after: Duration::from_secs(left_s.saturating_add(tokens.rules.leeway_s)),
                // Of a token that is shorter than the margin, the middle.
                renew_at_s: now_s + left_s.saturating_sub(margin_s.min(left_s / 2)),
            }
        });
        let decision = opinion.and_then(|it| it.decision_id.clone());
        Person { user, roles, ends, decision }
    }
}

/// What the authoriser's answer came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The answer to the login.
    pub answer: LoginAnswer,
    /// Why there was none of the authoriser.
    pub trouble: Option<String>,
    /// An earlier one counted in its place.
    pub is_graced: bool,
}

/// What came of fetching keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchedKeys {
    /// So many are in force.
    Some(usize),
    /// What came is no set of keys; those before stay.
    Faulty(KeysError),
    /// Nothing came; those before stay.
    Away(String),
}

/// The same user by the same proof, from the same place with the same application.
fn fingerprint(question: &LoginQuestion, claims: Option<&Claims>) -> Fingerprint {
    let mut hash = Context::new(&SHA256);
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    match (&question.credential, claims) {
        // A token that is verified proves the user, whichever it is.
        (Credential::Token { extended, .. }, Some(claims)) => {
            add(b"token");
            add(claims.user.as_bytes());
            add(extended.as_ref().map_or("", |it| it.reveal()).as_bytes());
        }
        (Credential::Token { token, .. }, None) => {
            add(b"unverified");
            add(token.reveal().as_bytes());
        }
        (Credential::Name { name, password }, _) => {
            add(b"name");
            add(name.as_bytes());
            add(&[u8::from(password.is_some())]);
            add(password.as_ref().map_or("", |it| it.reveal()).as_bytes());
        }
    }
    add(question.application.as_bytes());
    add(question.position.as_bytes());
    add(question.peer.to_string().as_bytes());
    add(&[u8::from(question.is_provider)]);
    let mut fingerprint = [0; 32];
    fingerprint.copy_from_slice(hash.finish().as_ref());
    fingerprint
}

fn refusal(number: u64, error: &TokenError) -> Step {
    let text = error.to_string();
    let authentication = Some(AuthenticationError { code: 1, text: text.clone() });
    let denial = Denial { code: StateCode::NOT_ENTITLED, text: format!("Login denied: {text}") };
    let who = Err(Unidentified { denial, is_for_now: false, authentication, decision: None });
    Step::Answer(LoginAnswer { number, who })
}

fn not_entitled(text: &str) -> Unidentified {
    Unidentified {
        denial: Denial { code: StateCode::NOT_ENTITLED, text: text.to_owned() },
        is_for_now: false,
        authentication: None,
        decision: None,
    }
}

/// Nobody is there to say who it is.
fn away(why: &str) -> Unidentified {
    Unidentified {
        denial: Denial {
            code: StateCode::DACS_DOWN,
            text: format!("Login is not possible now: {why}."),
        },
        is_for_now: true,
        authentication: None,
        decision: None,
    }
}
