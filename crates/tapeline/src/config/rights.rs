//! Keys of who may log in, and see what.

use std::path::PathBuf;

use super::section::section;
use super::value::choice;

section! {
    /// Who may log in and see what. Without a policy everybody sees everything.
    Entitle = "entitle" {
        /// The file of the [policy](entitlements.md). A fault in it, or one of its
        /// own tests that fails, keeps the process from starting.
        "policy" => policy: Option<PathBuf> = None;
        /// How often that file is looked at for changes, which are in force within
        /// a second; 0 for on SIGHUP alone. It is read when it is the same at two looks in
        /// a row, as one that is half written may be a policy, too. One that is faulty
        /// changes nothing, and the log says why.
        "check-interval-ms" => check_interval_ms: u32 = 50, in 0..=3_600_000;
        /// The folder of the usage journal; without it, none is written.
        "usage-dir" => usage_dir: Option<PathBuf> = None;
        /// A file of the usage journal that has so many bytes is closed, and another one
        /// begun; 0: there is one for each month.
        "usage-max-bytes" => usage_max_bytes: u64 = 268_435_456, in 0..=1_099_511_627_776;
        /// Whether files of the usage journal that are closed, for their size or as their
        /// month is over, are compressed (zstd). `tapeline entitle` reads both.
        "usage-compress" => usage_compress: bool = false;
        /// The PEM file with the authorities that web servers are believed by: those of
        /// `jwks` in `[token]`, and of `url` in `[authoriser]`.
        "ca-file" => ca_file: PathBuf = "/etc/ssl/certs/ca-certificates.crt".into();
    }
}

choice! {
    /// What happens when a token expires.
    TokenRenewal {
        /// Its login ends, unless the token was renewed.
        "v1" => BeforeExpiry,
        /// Nothing: it was looked at when the user logged in.
        "v2" => AtLogin,
    }
}

section! {
    /// Authentication tokens, in place of a name: JSON Web Tokens that an issuer signs.
    /// They are looked at if `jwks` is there; a policy is to be in force.
    Token = "token" {
        /// Where the keys of the issuer are, as a JSON Web Key Set: a file, or a URL
        /// (`https`, or `http` of this host).
        "jwks" => jwks: Option<String> = None;
        /// How often they are read. A token whose key is not known has them be read at
        /// once, but not more than once a minute.
        "jwks-refresh-s" => jwks_refresh_s: u32 = 3_600, in 10..=604_800;
        /// A file in which the last keys of a URL are kept, for a start without it.
        "jwks-copy" => jwks_copy: Option<PathBuf> = None;
        /// Who has to have issued a token: its `iss`.
        "issuer" => issuer: String = String::new();
        /// For whom a token has to be: one of its `aud`.
        "audience" => audience: String = "tapeline".to_owned();
        /// By which algorithms it may be signed. None by which a secret would have to be
        /// shared is taken.
        "algorithms" => algorithms: Vec<String> = vec!["RS256".to_owned(), "ES256".to_owned()];
        /// The claim with the user's name.
        "user-claim" => user_claim: String = "sub".to_owned();
        /// The claim with the user's roles; without it, the policy says them.
        "roles-claim" => roles_claim: Option<String> = None;
        /// A word that has to be in the claim `scope` or `scp`.
        "scope" => scope: Option<String> = None;
        /// How far clocks may be apart.
        "leeway-s" => leeway_s: u32 = 30, in 0..=600;
        /// What happens when a token expires: `v1`, its login ends unless it was renewed;
        /// `v2`, nothing.
        "renewal" => renewal: TokenRenewal = TokenRenewal::BeforeExpiry;
        /// How long before that its client is asked to renew it.
        "renewal-margin-s" => renewal_margin_s: u32 = 60, in 0..=86_400;
        /// Whether a name without a token is refused.
        "needed" => needed: bool = false;
    }
}

section! {
    /// An authoriser outside, which is asked who may log in, in the form of Open Policy
    /// Agent's data API. It is asked if `url` is there; a policy is to be in force.
    Authoriser = "authoriser" {
        /// Where it is asked (`https`, or `http` of this host).
        "url" => url: Option<String> = None;
        /// How long an answer may take.
        "timeout-ms" => timeout_ms: u32 = 2_000, in 10..=30_000;
        /// For how long an answer is good for the same question; 0 asks each time.
        "cache-s" => cache_s: u32 = 60, in 0..=86_400;
        /// For how long the last good answer for the same question lets a user in while
        /// there is no other. Others are told to come again.
        "grace-s" => grace_s: u32 = 3_600, in 0..=604_800;
    }
}

impl Entitle {
    /// What is recorded is what a policy decided.
    pub(super) fn check_usage(&self) -> Result<(), String> {
        match self.usage_dir.is_none() || self.policy.is_some() {
            true => Ok(()),
            false => Err("`usage-dir` is there and `policy` is not; give both".to_owned()),
        }
    }
}
