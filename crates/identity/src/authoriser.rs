//! An authoriser outside: who may log in, asked over HTTP in the form of Open
//! Policy Agent's data API.
//!
//! ```text
//!  POST …/v1/data/tapeline/login
//!  {"input": {"user": "jdoe", "verified": true, "application": "256",
//!             "position": "10.0.0.7/net", "address": "10.0.0.7",
//!             "kind": "consumer", "reissue": false, "time": 1795564800}}
//!
//!  {"result": true}                                             may log in
//!  {"result": {"allow": true, "roles": ["fx"], "user": "john"}} the same, and who it is
//!  {"result": {"allow": false, "reason": "left the firm"}}      may not
//!  {}                                                           may not
//! ```
//!
//! `user` is the name that was given, or the one in a token that was verified:
//! `verified` says which. A password is in `password`, and what came beside a token
//! in `extended`; tokens themselves are not handed on.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tapeline_entitle::{Credential, LoginQuestion};

/// What an authoriser thinks of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Whether the user may log in.
    pub is_allowed: bool,
    /// The user's name, if it is another than the one asked about.
    pub user: Option<String>,
    /// The user's roles; without them, the policy says them.
    pub roles: Option<Arc<[String]>>,
    /// Why not.
    pub reason: Option<String>,
    /// By which the authoriser's own log knows the decision.
    pub decision_id: Option<String>,
}

impl Opinion {
    /// Reads an answer. An answer without a result is a refusal.
    ///
    /// Errors: it is not of this form.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let body: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| format!("its answer is no JSON: {error}"))?;
        let decision_id = text(&body, "decision_id");
        let refused =
            Self { is_allowed: false, user: None, roles: None, reason: None, decision_id };
        match body.get("result") {
            None => Ok(refused),
            Some(Value::Bool(is_allowed)) => Ok(Self { is_allowed: *is_allowed, ..refused }),
            Some(Value::Object(result)) => {
                let is_allowed = match result.get("allow") {
                    None => false,
                    Some(Value::Bool(is_allowed)) => *is_allowed,
                    Some(_) => return Err("`allow` in its answer is not true or false".to_owned()),
                };
                let roles = match result.get("roles") {
                    None | Some(Value::Null) => None,
                    Some(Value::Array(roles)) => {
                        let names = roles.iter().map(|role| role.as_str().map(ToOwned::to_owned));
                        let names = names.collect::<Option<Arc<[String]>>>();
                        Some(names.ok_or("`roles` in its answer are not all texts")?)
                    }
                    Some(_) => return Err("`roles` in its answer is no list".to_owned()),
                };
                let user = text(result, "user").filter(|user| !user.is_empty());
                Ok(Self { is_allowed, user, roles, reason: text(result, "reason"), ..refused })
            }
            Some(_) => {
                Err("`result` in its answer is neither true, false nor an object".to_owned())
            }
        }
    }
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(ToOwned::to_owned)
}

/// What is asked about a login, at a time in seconds since 1970. `verified`: the
/// user of its token.
pub(crate) fn body(question: &LoginQuestion, verified: Option<&str>, now_s: u64) -> Vec<u8> {
    let mut input = Map::new();
    let mut put = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
    let name = match &question.credential {
        Credential::Name { name, .. } => name,
        Credential::Token { .. } => "",
    };
    put("user", verified.unwrap_or(name).into());
    put("verified", verified.is_some().into());
    match &question.credential {
        Credential::Name { password: Some(password), .. } => {
            put("password", password.reveal().into());
        }
        Credential::Token { extended: Some(extended), .. } => {
            put("extended", extended.reveal().into());
        }
        _ => {}
    }
    put("application", question.application.as_str().into());
    put("position", question.position.as_str().into());
    put("address", question.peer.to_string().into());
    put("kind", if question.is_provider { "provider" } else { "consumer" }.into());
    put("reissue", question.is_reissue.into());
    put("time", now_s.into());
    json!({ "input": input }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_entitle::Hidden;

    fn parse(text: &str) -> Result<Opinion, String> {
        Opinion::parse(text.as_bytes())
    }

    #[test]
    fn an_answer_is_a_word_or_an_object_and_none_is_a_refusal() {
        let yes = parse(r#"{"result": true, "decision_id": "4c"}"#).expect("an answer");
        assert!(yes.is_allowed && yes.decision_id.as_deref() == Some("4c"));
        for refusal in
            ["{}", r#"{"result": false}"#, r#"{"result": {}}"#, r#"{"decision_id": "1"}"#]
        {
            assert!(!parse(refusal).expect("an answer").is_allowed, "{refusal}");
        }
        let roles = r#"{"result": {"allow": true, "roles": ["fx", "l1"], "user": "john"}}"#;
        let roles = parse(roles).expect("an answer");
        assert_eq!(roles.roles.as_deref(), Some(&["fx".to_owned(), "l1".to_owned()][..]));
        assert_eq!((roles.is_allowed, roles.user.as_deref()), (true, Some("john")));
    }

    #[test]
    fn what_is_not_of_the_form_is_no_answer() {
        for (body, what) in [
            ("yes", "no JSON"),
            ("[true]", "no JSON"),
            (r#"{"result": "true"}"#, "neither true"),
            (r#"{"result": {"allow": 1}}"#, "`allow`"),
            (r#"{"result": {"allow": true, "roles": "fx"}}"#, "no list"),
            (r#"{"result": {"allow": true, "roles": [1]}}"#, "not all texts"),
        ] {
            let error = parse(body).expect_err(body);
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn a_question_has_no_token() {
        let question = LoginQuestion {
            number: 1,
            credential: Credential::Token {
                token: Hidden::new("eyJ.secret"),
                extended: Some(Hidden::new("more")),
            },
            application: "256".to_owned(),
            position: "10.0.0.7/net".to_owned(),
            peer: [10, 0, 0, 7].into(),
            is_provider: false,
            is_reissue: false,
        };
        let body = String::from_utf8(body(&question, Some("jdoe"), 7)).expect("UTF-8");
        assert_eq!(
            body,
            r#"{"input":{"user":"jdoe","verified":true,"extended":"more","application":"256","position":"10.0.0.7/net","address":"10.0.0.7","kind":"consumer","reissue":false,"time":7}}"#
        );
    }
}
