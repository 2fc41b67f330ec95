//! Published keys: a JSON Web Key Set (RFC 7517).

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use thiserror::Error;

/// More keys of a set are not taken.
pub const MAX_KEYS: usize = 1_000;

/// Why a text is no set of keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeysError {
    /// It is no JSON, or not of that form.
    #[error("this is no JSON Web Key Set: {0}")]
    Form(String),
    /// There is no key of a kind that is taken.
    #[error(
        "none of the {0} keys is taken: keys are to be of type RSA, EC or OKP and to have a `kid`"
    )]
    None(usize),
}

/// A key by which tokens are signed.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) public: DecodingKey,
    /// The algorithm that it says it is for.
    algorithm: Option<String>,
}

impl Key {
    /// What is good to verify signatures with. A secret that both sides have is
    /// not: whoever reads the set could sign with it.
    fn of(jwk: &Jwk) -> Option<Self> {
        let is_for_signatures = match &jwk.common.public_key_use {
            None | Some(PublicKeyUse::Signature) => true,
            Some(_) => false,
        };
        let is_public = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => true,
            AlgorithmParameters::EllipticCurve(key) => {
                matches!(key.curve, EllipticCurve::P256 | EllipticCurve::P384)
            }
            AlgorithmParameters::OctetKeyPair(key) => key.curve == EllipticCurve::Ed25519,
            _ => false,
        };
        if !(is_for_signatures && is_public) {
            return None;
        }
        let algorithm = jwk.common.key_algorithm.map(|algorithm| algorithm.to_string());
        let id = jwk.common.key_id.clone()?;
        Some(Self { id, public: DecodingKey::from_jwk(jwk).ok()?, algorithm })
    }

    /// Whether a token that is signed by this algorithm may be by this key.
    pub(crate) fn is_for(&self, algorithm: Algorithm) -> bool {
        debug_assert_ne!(self.public.family(), AlgorithmFamily::Hmac, "such keys are not taken");
        self.public.family() == algorithm.family()
            && self.algorithm.as_ref().is_none_or(|its| *its == format!("{algorithm:?}"))
    }
}

/// The keys of an issuer of tokens.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<Key>,
}

impl Keys {
    /// Reads a set. Keys of types that are not known are passed over, as are those
    /// for encryption, those without an id, and shared secrets.
    pub fn parse(text: &[u8]) -> Result<Self, KeysError> {
        let set: JwkSet =
            serde_json::from_slice(text).map_err(|error| KeysError::Form(error.to_string()))?;
        let keys: Vec<Key> = set.keys.iter().filter_map(Key::of).take(MAX_KEYS).collect();
        match keys.is_empty() {
            true => Err(KeysError::None(set.keys.len())),
            false => Ok(Self { keys }),
        }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys of an id that may have been used with an algorithm.
    pub(crate) fn find(&self, id: &str, algorithm: Algorithm) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| key.id == id && key.is_for(algorithm))
    }

    /// Whether any key has this id.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id == id)
    }
}
