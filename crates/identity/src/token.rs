//! Tokens: JSON Web Tokens (RFC 7519) that are signed with published keys.

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, AlgorithmFamily, Validation, decode, decode_header};
use serde_json::{Map, Value};
use thiserror::Error as ThisError;

use crate::crypto;
use crate::keys::Keys;

/// A longer token is refused unread.
pub const MAX_TOKEN_BYTES: usize = 65_536;

/// By what tokens are judged.
#[derive(Clone, Debug)]
pub struct TokenRules {
    algorithms: Vec<Algorithm>,
    /// Who has to have issued them: their `iss`.
    pub issuer: String,
    /// For whom they have to be: one of their `aud`.
    pub audience: String,
    /// The claim with the user's name.
    pub user_claim: String,
    /// The claim with the user's roles, a list or words between blanks; without
    /// it, the policy says the roles.
    pub roles_claim: Option<String>,
    /// A word that has to be among those of the claim `scope` or `scp`.
    pub scope: Option<String>,
    /// How far the clocks of issuer and verifier may be apart, in seconds.
    pub leeway_s: u64,
}

/// Why an algorithm is not taken.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("`{0}` is no algorithm of signatures with published keys; give RS256, ES256 or the like")]
pub struct NotPublic(String);

impl TokenRules {
    /// Rules for tokens of an issuer that are for an audience; the user is their
    /// `sub`. `algorithms` are names as `RS256`.
    pub fn new(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        algorithms: &[String],
    ) -> Result<Self, NotPublic> {
        let public = |name: &String| {
            let found = Algorithm::from_str(name).ok();
            found
                .filter(|it| it.family() != AlgorithmFamily::Hmac)
                .ok_or_else(|| NotPublic(name.clone()))
        };
        Ok(Self {
            algorithms: algorithms.iter().map(public).collect::<Result<_, _>>()?,
            issuer: issuer.into(),
            audience: audience.into(),
            user_claim: "sub".to_owned(),
            roles_claim: None,
            scope: None,
            leeway_s: 30,
        })
    }

    /// Verifies a token at a time, in seconds since 1970.
    pub fn verify(&self, token: &str, keys: &Keys, now_s: u64) -> Result<Claims, TokenError> {
        crypto::install();
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let header = decode_header(token).map_err(|_| refusal_of_header(token))?;
        if !self.algorithms.contains(&header.alg) {
            return Err(TokenError::Algorithm(format!("{:?}", header.alg)));
        }
        if header.crit.is_some() {
            return Err(TokenError::Critical);
        }
        let id = header.kid.ok_or(TokenError::NoKeyId)?;
        let mut rules = Validation::new(header.alg);
        // Time is a parameter here.
        rules.validate_exp = false;
        rules.set_audience(&[&self.audience]);
        rules.set_issuer(&[&self.issuer]);
        rules.required_spec_claims = HashSet::from(["exp", "aud", "iss"].map(ToOwned::to_owned));
        let mut error = match keys.knows(&id) {
            true => TokenError::Signature,
            false => TokenError::UnknownKey(id.clone()),
        };
        for key in keys.find(&id, header.alg) {
            match decode::<Map<String, Value>>(token, &key.public, &rules) {
                Ok(data) => return self.claims(&data.claims, now_s),
                Err(why) => error = refusal(&why),
            }
        }
        Err(error)
    }

    fn claims(&self, claims: &Map<String, Value>, now_s: u64) -> Result<Claims, TokenError> {
        let time =
            |name: &str| claims.get(name).and_then(Value::as_f64).map(|at| at.max(0.0) as u64);
        let expires_at_s = time("exp").ok_or(TokenError::Claim("exp"))?;
        if expires_at_s.saturating_add(self.leeway_s) <= now_s {
            return Err(TokenError::Expired);
        }
        if time("nbf").is_some_and(|from| from > now_s.saturating_add(self.leeway_s)) {
            return Err(TokenError::Early);
        }
        if let Some(wanted) = &self.scope {
            let scopes = ["scope", "scp"].iter().filter_map(|name| claims.get(*name));
            if !scopes.flat_map(words).any(|word| word == *wanted) {
                return Err(TokenError::Scope(wanted.clone()));
            }
        }
        let user = claims.get(&self.user_claim).and_then(Value::as_str);
        let user = user.filter(|user| !user.is_empty());
        let user = user.ok_or_else(|| TokenError::User(self.user_claim.clone()))?;
        // A token without the claim has no roles, and not those of the policy.
        let roles = self.roles_claim.as_ref().map(|name| {
            claims.get(name).map(words).unwrap_or_default().into_iter().collect::<Arc<[String]>>()
        });
        Ok(Claims { user: user.to_owned(), roles, expires_at_s })
    }
}

/// A list of texts, or words between blanks.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split_whitespace().map(ToOwned::to_owned).collect(),
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// What a token says that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The user.
    pub user: String,
    /// The user's roles, if tokens say them.
    pub roles: Option<Arc<[String]>>,
    /// When it expires, in seconds since 1970.
    pub expires_at_s: u64,
}

/// Why a token is refused.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum TokenError {
    /// It is longer than any should be.
    #[error("the token is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    /// It has not the form of one.
    #[error("the token is no JSON Web Token")]
    Form,
    /// It is signed by an algorithm that is not taken, or not at all.
    #[error("tokens of the algorithm {0} are not accepted")]
    Algorithm(String),
    /// It has to be understood in a way that is not known here.
    #[error("the token has critical extensions")]
    Critical,
    /// It does not say by which key it is signed.
    #[error("the token does not name its key")]
    NoKeyId,
    /// Its key is not among those that are published.
    #[error("the token's key {0} is not known")]
    UnknownKey(String),
    /// It is not signed by its key.
    #[error("the token's signature is wrong")]
    Signature,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet")]
    Early,
    /// It is for somebody else.
    #[error("the token is for another audience")]
    Audience,
    /// It is somebody else's.
    #[error("the token is of another issuer")]
    Issuer,
    /// It lacks a scope.
    #[error("the token lacks the scope {0}")]
    Scope(String),
    /// It lacks a claim.
    #[error("the token lacks the claim {0}")]
    Claim(&'static str),
    /// It does not say who the user is.
    #[error("the token names no user in its claim {0}")]
    User(String),
}

fn refusal(error: &Error) -> TokenError {
    match error.kind() {
        ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm | ErrorKind::InvalidKeyFormat => {
            TokenError::Signature
        }
        ErrorKind::InvalidAudience => TokenError::Audience,
        ErrorKind::InvalidIssuer => TokenError::Issuer,
        ErrorKind::MissingRequiredClaim(name) => match name.as_str() {
            "aud" => TokenError::Audience,
            "iss" => TokenError::Issuer,
            _ => TokenError::Claim("exp"),
        },
        _ => TokenError::Form,
    }
}

/// Why the head of a token cannot be read: the algorithm may be one that nobody
/// should take, as `none`.
fn refusal_of_header(token: &str) -> TokenError {
    let head = token.split('.').next().and_then(|head| URL_SAFE_NO_PAD.decode(head).ok());
    let head = head.and_then(|head| serde_json::from_slice::<Map<String, Value>>(&head).ok());
    let algorithm = head.as_ref().and_then(|head| head.get("alg")?.as_str());
    let is_word =
        |name: &&str| name.len() <= 16 && name.bytes().all(|it| it.is_ascii_alphanumeric());
    match algorithm.filter(is_word) {
        Some(name) => TokenError::Algorithm(name.to_owned()),
        None => TokenError::Form,
    }
}
