//! Tokens that are signed here, and what becomes of logins with them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use tapeline_entitle::{Credential, Hidden, LoginAnswer, LoginQuestion, Person, Unidentified};
use tapeline_rwf::StateCode;

use crate::{
    Authoriser, Claims, FetchedKeys, Identifier, Keys, KeysError, MAX_REMEMBERED, MAX_TOKEN_BYTES,
    MAX_WAITING, Renewal, Step, TokenError, TokenRules, Tokens,
};

const NOW_S: u64 = 1_795_564_800;

/// A key of 2,048 bits for these tests alone.
const RSA_KEY: &[u8] = include_bytes!("../testdata/rsa-pkcs8.der");

enum Signer {
    Curve(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Signer {
    fn curve() -> Self {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let der = der.expect("random bytes");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random);
        Self::Curve(pair.expect("just made"))
    }

    fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(RSA_KEY).expect("a key"))
    }

    const fn algorithm(&self) -> &'static str {
        match self {
            Self::Curve(_) => "ES256",
            Self::Rsa(_) => "RS256",
        }
    }

    fn jwk(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Curve(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (text(&point[1..33]), text(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y})
            }
            Self::Rsa(pair) => {
                let key: PublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({"kty": "RSA", "kid": id, "n": text(&key.n), "e": text(&key.e),
                       "use": "sig", "alg": "RS256"})
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Curve(pair) => pair.sign(&random, message).expect("signed").as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signed = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signed).expect("signed");
                signed
            }
        }
    }

    fn token(&self, id: &str, claims: &Value) -> String {
        let head = json!({"alg": self.algorithm(), "kid": id, "typ": "JWT"});
        self.token_with(&head, claims)
    }

    fn token_with(&self, head: &Value, claims: &Value) -> String {
        let message = message(head, claims);
        let signed = URL_SAFE_NO_PAD.encode(self.sign(message.as_bytes()));
        format!("{message}.{signed}")
    }
}

fn message(head: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(head), part(claims))
}

fn claims() -> Value {
    json!({"iss": "https://issuer", "aud": "tapeline", "sub": "jdoe", "exp": NOW_S + 300})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn rules() -> TokenRules {
    let algorithms = ["RS256".to_owned(), "ES256".to_owned()];
    TokenRules::new("https://issuer", "tapeline", &algorithms).expect("they are public")
}

fn set(keys: &[Value]) -> Vec<u8> {
    json!({ "keys": keys }).to_string().into_bytes()
}

fn verify(token: &str, keys: &[Value]) -> Result<Claims, TokenError> {
    let keys = Keys::parse(&set(keys)).expect("a set");
    rules().verify(token, &keys, NOW_S)
}

#[test]
fn tokens_of_both_kinds_of_keys_are_verified() {
    for signer in [Signer::curve(), Signer::rsa()] {
        let keys = [Signer::curve().jwk("old"), signer.jwk("k")];
        let claims = verify(&signer.token("k", &claims()), &keys);
        let expected = Claims { user: "jdoe".to_owned(), roles: None, expires_at_s: NOW_S + 300 };
        assert_eq!(claims, Ok(expected));
    }
}

#[test]
fn a_token_is_refused_for_what_is_wrong_with_it() {
    let signer = Signer::curve();
    let keys = [signer.jwk("k")];
    for (claims, error) in [
        (with("exp", json!(NOW_S - 31)), TokenError::Expired),
        (with("exp", json!("soon")), TokenError::Claim("exp")),
        (with("nbf", json!(NOW_S + 31)), TokenError::Early),
        (with("aud", json!("other")), TokenError::Audience),
        (with("aud", json!(["other", "another"])), TokenError::Audience),
        (with("iss", json!("https://other")), TokenError::Issuer),
        (with("sub", json!("")), TokenError::User("sub".to_owned())),
        (with("sub", json!(7)), TokenError::User("sub".to_owned())),
    ] {
        assert_eq!(verify(&signer.token("k", &claims), &keys), Err(error), "{claims}");
    }
    for name in ["exp", "aud", "iss", "sub"] {
        let mut lacking = claims();
        lacking.as_object_mut().expect("an object").remove(name);
        assert!(verify(&signer.token("k", &lacking), &keys).is_err(), "without {name}");
    }
    // The clocks may be apart by the leeway.
    for claims in [with("exp", json!(NOW_S - 29)), with("nbf", json!(NOW_S + 30))] {
        assert!(verify(&signer.token("k", &claims), &keys).is_ok(), "{claims}");
    }
    assert!(verify(&signer.token("k", &with("aud", json!(["x", "tapeline"]))), &keys).is_ok());
}

#[test]
fn a_token_that_is_not_signed_by_the_key_that_it_names_is_refused() {
    let (signer, other) = (Signer::curve(), Signer::curve());
    let keys = [signer.jwk("k")];
    assert_eq!(verify(&other.token("k", &claims()), &keys), Err(TokenError::Signature));
    let good = signer.token("k", &claims());
    let (message, signed) = good.rsplit_once('.').expect("three parts");
    let (head, _) = message.split_once('.').expect("three parts");
    let forged = URL_SAFE_NO_PAD.encode(with("sub", json!("boss")).to_string());
    assert_eq!(verify(&format!("{head}.{forged}.{signed}"), &keys), Err(TokenError::Signature));
    assert_eq!(verify(&format!("{message}."), &keys), Err(TokenError::Signature));
    let unknown = Err(TokenError::UnknownKey("new".to_owned()));
    assert_eq!(verify(&signer.token("new", &claims()), &keys), unknown);
    let no_id = signer.token_with(&json!({"alg": "ES256"}), &claims());
    assert_eq!(verify(&no_id, &keys), Err(TokenError::NoKeyId));
    let critical = json!({"alg": "ES256", "kid": "k", "crit": ["b64"]});
    assert_eq!(verify(&signer.token_with(&critical, &claims()), &keys), Err(TokenError::Critical));
}

#[test]
fn what_is_not_signed_with_a_private_key_is_no_token() {
    let keys = [Signer::rsa().jwk("k")];
    for name in ["none", "None", "nOnE", "HS256", "HS512"] {
        let unsigned = message(&json!({"alg": name, "kid": "k"}), &claims());
        for token in [format!("{unsigned}."), format!("{unsigned}.AAAA")] {
            let error = Err(TokenError::Algorithm(name.to_owned()));
            assert_eq!(verify(&token, &keys), error, "{token}");
        }
    }
    for odd in ["", ".", "..", "a.b.c", "eyJ.eyJ", "\0", &"a".repeat(10_000)] {
        assert_eq!(verify(odd, &keys), Err(TokenError::Form), "{odd}");
    }
    assert_eq!(verify(&"a".repeat(MAX_TOKEN_BYTES + 1), &keys), Err(TokenError::TooLong));
    let rules = TokenRules::new("i", "a", &["HS256".to_owned()]);
    assert!(rules.expect_err("a secret").to_string().starts_with("`HS256` is no algorithm"));
}

#[test]
fn a_published_key_signs_as_no_secret() {
    // The public key as the secret of an HMAC: what a verifier falls for that
    // believes the token's own algorithm.
    let signer = Signer::rsa();
    let keys = set(&[signer.jwk("k"), json!({"kty": "oct", "kid": "s", "k": "c2VjcmV0"})]);
    let keys = Keys::parse(&keys).expect("one of them is good");
    assert_eq!(keys.len(), 1, "a shared secret is no key");
    let head = json!({"alg": "HS256", "kid": "k"});
    let token = signer.token_with(&head, &claims());
    assert_eq!(
        rules().verify(&token, &keys, NOW_S),
        Err(TokenError::Algorithm("HS256".to_owned()))
    );
}

#[test]
fn sets_of_keys_have_what_can_be_used_of_them() {
    let good = Signer::curve().jwk("k");
    let mut encrypts = Signer::rsa().jwk("e");
    encrypts["use"] = json!("enc");
    let mut nameless = Signer::curve().jwk("n");
    nameless.as_object_mut().expect("an object").remove("kid");
    let parse = |keys: &[Value]| Keys::parse(&set(keys));
    let all = [good, encrypts.clone(), nameless, json!({"kty": "later"})];
    assert_eq!(parse(&all).expect("a set").len(), 1);
    assert_eq!(parse(&[encrypts]).expect_err("none of use"), KeysError::None(1));
    assert!(matches!(Keys::parse(b"<html>"), Err(KeysError::Form(_))));
}

#[test]
fn roles_and_scopes_are_lists_or_words() {
    let signer = Signer::curve();
    let keys = Keys::parse(&set(&[signer.jwk("k")])).expect("a set");
    let mut rules = rules();
    rules.roles_claim = Some("roles".to_owned());
    rules.scope = Some("trapi.data".to_owned());
    rules.user_claim = "client_id".to_owned();
    let mut claims = with("client_id", json!("GE-1"));
    let verify = |claims: &Value| rules.verify(&signer.token("k", claims), &keys, NOW_S);
    assert_eq!(verify(&claims), Err(TokenError::Scope("trapi.data".to_owned())));
    for (scope, roles) in
        [(json!("a trapi.data"), json!("fx l1")), (json!(["trapi.data"]), json!(["fx", "l1"]))]
    {
        (claims["scope"], claims["roles"]) = (scope, roles);
        let claims = verify(&claims).expect("it is good");
        assert_eq!(claims.user, "GE-1");
        assert_eq!(claims.roles.as_deref(), Some(&["fx".to_owned(), "l1".to_owned()][..]));
    }
    claims.as_object_mut().expect("an object").remove("roles");
    let none = verify(&claims).expect("it is good");
    assert_eq!(none.roles.as_deref(), Some(&[][..]), "a token without roles gives none");
}

fn question(number: u64, credential: Credential) -> LoginQuestion {
    LoginQuestion {
        number,
        credential,
        application: "256".to_owned(),
        position: String::new(),
        peer: [10, 0, 0, 1].into(),
        is_provider: false,
        is_reissue: false,
    }
}

fn by_token(number: u64, token: &str) -> LoginQuestion {
    question(number, Credential::Token { token: Hidden::new(token), extended: None })
}

fn by_name(number: u64, name: &str) -> LoginQuestion {
    question(number, Credential::Name { name: name.to_owned(), password: None })
}

fn tokens() -> Tokens {
    Tokens {
        rules: rules(),
        refresh: Duration::from_secs(3_600),
        renewal: Renewal::BeforeExpiry,
        renewal_margin: Duration::from_secs(60),
        are_needed: false,
    }
}

/// The one answer that came.
#[track_caller]
fn only(steps: Vec<Step>) -> LoginAnswer {
    match <[Step; 1]>::try_from(steps) {
        Ok([Step::Answer(answer)]) => answer,
        other => panic!("one answer: {other:?}"),
    }
}

#[track_caller]
fn refused(answer: &LoginAnswer) -> &Unidentified {
    answer.who.as_ref().expect_err("it is refused")
}

#[test]
fn tokens_wait_for_keys_and_a_key_that_rotates_is_fetched_once_a_minute() {
    let (first, second, third) = (Signer::curve(), Signer::curve(), Signer::rsa());
    let mut identifier = Identifier::new(Some(tokens()), None);
    assert_eq!(identifier.due(NOW_S), Some(Step::FetchKeys));
    assert_eq!(identifier.due(NOW_S), None, "it is under way");
    assert_eq!(identifier.question(NOW_S, by_token(1, &first.token("1", &claims()))), []);
    let (steps, fetched) = identifier.keys(NOW_S, Ok(&set(&[first.jwk("1")])));
    assert_eq!(fetched, FetchedKeys::Some(1));
    let person = only(steps).who.expect("jdoe");
    let ends = person.ends.expect("it ends with its token");
    assert_eq!((ends.after, ends.renew_at_s), (Duration::from_secs(330), NOW_S + 240));

    let token = second.token("2", &claims());
    assert_eq!(identifier.question(NOW_S + 1, by_token(2, &token)), [Step::FetchKeys]);
    let (steps, _) = identifier.keys(NOW_S + 1, Ok(&set(&[second.jwk("2")])));
    assert!(only(steps).who.is_ok());
    // The next one that is not known does not have them be fetched again at once,
    // or every forged token would.
    let token = third.token("3", &with("exp", json!(NOW_S + 900)));
    let answer = only(identifier.question(NOW_S + 2, by_token(3, &token)));
    assert_eq!(refused(&answer).denial.text, "Login denied: the token's key 3 is not known");
    assert_eq!(identifier.question(NOW_S + 62, by_token(4, &token)), [Step::FetchKeys]);
    let (steps, fetched) = identifier.keys(NOW_S + 62, Err("timed out".to_owned()));
    assert_eq!(fetched, FetchedKeys::Away("timed out".to_owned()));
    assert!(refused(&only(steps)).denial.text.ends_with("is not known"));
    assert!(
        only(identifier.question(NOW_S + 63, by_token(5, &second.token("2", &claims()))))
            .who
            .is_ok()
    );
    assert_eq!(identifier.due(NOW_S + 66), None);
    assert_eq!(identifier.due(NOW_S + 67), Some(Step::FetchKeys), "tried again");
}

#[test]
fn without_keys_a_client_is_told_to_come_again() {
    let mut identifier = Identifier::new(Some(tokens()), None);
    let token = Signer::curve().token("1", &claims());
    assert_eq!(identifier.question(NOW_S, by_token(1, &token)), [Step::FetchKeys]);
    let (steps, _) = identifier.keys(NOW_S, Err("no route".to_owned()));
    let answer = only(steps);
    let why = refused(&answer);
    assert!(why.is_for_now && why.denial.code == StateCode::DACS_DOWN, "{why:?}");
    assert!(refused(&only(identifier.question(NOW_S + 1, by_token(2, &token)))).is_for_now);
    assert_eq!(identifier.question(NOW_S + 5, by_token(3, &token)), [Step::FetchKeys]);
}

#[test]
fn names_are_taken_unless_a_token_is_needed_and_tokens_if_they_are_known() {
    let mut identifier = Identifier::new(Some(tokens()), None);
    let person = only(identifier.question(NOW_S, by_name(1, "ann"))).who;
    assert_eq!(person, Ok(Person::of("ann")));
    let needed = Tokens { are_needed: true, ..tokens() };
    let mut identifier = Identifier::new(Some(needed), None);
    let answer = only(identifier.question(NOW_S, by_name(1, "ann")));
    assert_eq!(refused(&answer).denial.text, "A token is needed to log in.");
    let authoriser = Authoriser { cache: Duration::ZERO, grace: Duration::ZERO };
    let mut identifier = Identifier::new(None, Some(authoriser));
    let answer = only(identifier.question(NOW_S, by_token(1, "eyJ")));
    assert_eq!(refused(&answer).denial.text, "Tokens are not taken here.");
}

#[test]
fn a_token_that_is_good_until_the_connection_ends_has_no_end() {
    let signer = Signer::curve();
    let at_login = Tokens { renewal: Renewal::AtLogin, ..tokens() };
    let mut identifier = Identifier::new(Some(at_login), None);
    identifier.keys(NOW_S, Ok(&set(&[signer.jwk("1")])));
    let answer = only(identifier.question(NOW_S, by_token(1, &signer.token("1", &claims()))));
    assert_eq!(answer.who.expect("jdoe").ends, None);
}

fn authoriser() -> Identifier {
    let authoriser =
        Authoriser { cache: Duration::from_secs(10), grace: Duration::from_secs(3_600) };
    Identifier::new(None, Some(authoriser))
}

#[track_caller]
fn asked(steps: Vec<Step>) -> u64 {
    match <[Step; 1]>::try_from(steps) {
        Ok([Step::Ask { number, .. }]) => number,
        other => panic!("one question: {other:?}"),
    }
}

#[test]
fn an_opinion_is_remembered_for_the_same_question_and_no_other() {
    let mut identifier = authoriser();
    let number = asked(identifier.question(NOW_S, by_name(1, "ann")));
    let yes = br#"{"result": {"allow": true, "roles": ["fx"], "user": "anna"}}"#;
    let judged = identifier.opinion(NOW_S, number, Ok(yes)).expect("it was asked");
    let person = judged.answer.who.expect("anna");
    assert_eq!(
        (person.user.as_str(), person.roles.as_deref()),
        ("anna", Some(&["fx".to_owned()][..]))
    );
    assert_eq!(identifier.opinion(NOW_S, number, Ok(yes)), None, "once");
    assert!(only(identifier.question(NOW_S + 9, by_name(2, "ann"))).who.is_ok());
    let elsewhere = LoginQuestion { peer: [10, 0, 0, 2].into(), ..by_name(3, "ann") };
    asked(identifier.question(NOW_S + 9, elsewhere));
    let password = Some(Hidden::new("guess"));
    let other = question(4, Credential::Name { name: "ann".to_owned(), password });
    asked(identifier.question(NOW_S + 9, other));
    asked(identifier.question(NOW_S + 10, by_name(5, "ann")));
}

#[test]
fn a_refusal_has_the_reason_and_is_remembered_as_well() {
    let mut identifier = authoriser();
    let number = asked(identifier.question(NOW_S, by_name(1, "ann")));
    let no = br#"{"result": {"allow": false, "reason": "left the firm"}}"#;
    let judged = identifier.opinion(NOW_S, number, Ok(no)).expect("it was asked");
    assert_eq!(refused(&judged.answer).denial.text, "Login denied: left the firm");
    assert!(only(identifier.question(NOW_S + 9, by_name(2, "ann"))).who.is_err());
}

#[test]
fn while_the_authoriser_is_down_who_was_let_in_lately_is_let_in() {
    let mut identifier = authoriser();
    for (name, answer) in [("ann", &br#"{"result": true}"#[..]), ("bob", br#"{"result": false}"#)] {
        let number = asked(identifier.question(NOW_S, by_name(1, name)));
        identifier.opinion(NOW_S, number, Ok(answer));
    }
    for (after_s, name, is_let_in) in
        [(3_599, "ann", true), (3_599, "bob", false), (3_599, "cid", false), (3_600, "ann", false)]
    {
        let number = asked(identifier.question(NOW_S + after_s, by_name(2, name)));
        let down: Result<&[u8], String> = Err("timed out after 2000 ms".to_owned());
        let judged = identifier.opinion(NOW_S + after_s, number, down).expect("asked");
        assert_eq!((judged.answer.who.is_ok(), judged.is_graced), (is_let_in, is_let_in), "{name}");
        assert!(judged.trouble.is_some());
        if !is_let_in {
            let why = refused(&judged.answer);
            assert!(why.is_for_now && why.denial.code == StateCode::DACS_DOWN, "{why:?}");
        }
    }
    // An answer that is none is as if it were down.
    let number = asked(identifier.question(NOW_S + 20, by_name(3, "ann")));
    let judged = identifier.opinion(NOW_S + 20, number, Ok(b"<html>")).expect("it was asked");
    assert!(judged.is_graced && judged.trouble.expect("why").contains("no JSON"));
}

#[test]
fn a_token_is_verified_before_anybody_is_asked_about_its_user() {
    let signer = Signer::curve();
    let authoriser = Authoriser { cache: Duration::from_secs(10), grace: Duration::ZERO };
    let mut identifier = Identifier::new(Some(tokens()), Some(authoriser));
    identifier.keys(NOW_S, Ok(&set(&[signer.jwk("1")])));
    let forged = Signer::curve().token("1", &claims());
    assert!(only(identifier.question(NOW_S, by_token(1, &forged))).who.is_err());
    let steps = identifier.question(NOW_S, by_token(2, &signer.token("1", &claims())));
    let [Step::Ask { number, body }] = &steps[..] else { panic!("one question: {steps:?}") };
    let body: Value = serde_json::from_slice(body).expect("JSON");
    assert_eq!(
        (&body["input"]["user"], &body["input"]["verified"]),
        (&json!("jdoe"), &json!(true))
    );
    let judged = identifier.opinion(NOW_S, *number, Ok(br#"{"result": true}"#));
    assert!(judged.expect("asked").answer.who.expect("jdoe").ends.is_some());
    // A new token of the same user is the same question.
    let renewed = signer.token("1", &with("exp", json!(NOW_S + 600)));
    assert!(only(identifier.question(NOW_S, by_token(3, &renewed))).who.is_ok());
}

#[test]
fn what_is_remembered_and_what_waits_has_a_bound() {
    let mut identifier = authoriser();
    for number in 0..MAX_REMEMBERED as u64 + 10 {
        let inquiry = asked(identifier.question(NOW_S, by_name(number, &format!("u{number}"))));
        identifier.opinion(NOW_S, inquiry, Ok(br#"{"result": true}"#));
    }
    asked(identifier.question(NOW_S, by_name(0, "u0")));
    assert!(only(identifier.question(NOW_S, by_name(0, "u100"))).who.is_ok());
    for number in 1..MAX_WAITING as u64 {
        asked(identifier.question(NOW_S, by_name(number, &format!("v{number}"))));
    }
    let answer = only(identifier.question(NOW_S, by_name(7, "one more")));
    assert!(refused(&answer).is_for_now);
}
