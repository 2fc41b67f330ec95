//! Answers, and what clients are told.

use tapeline_rwf::StateCode;

/// An answer to who asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Allow,
    /// No, and what to tell.
    Deny(Denial),
}

impl Verdict {
    /// Whether it is a yes.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow)
    }

    pub(crate) fn not_entitled(text: String) -> Self {
        Self::Deny(Denial { code: StateCode::NOT_ENTITLED, text })
    }
}

/// A no: the state is CLOSED/SUSPECT with this code and this text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The code of the state.
    pub code: StateCode,
    /// Its text.
    pub text: String,
}

/// An answer and its reason, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The answer.
    pub verdict: Verdict,
    /// The rule that gave it, with file and line.
    pub reason: String,
}

/// What a denial was about: the texts of logins.
pub(crate) fn unknown_user(user: &str) -> Denial {
    Denial { code: StateCode::USER_UNKNOWN_TO_PERM_SYS, text: format!("User {user} is unknown.") }
}
