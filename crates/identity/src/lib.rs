//! Who somebody is.
//!
//! A name is taken as it comes unless somebody vouches for it: a token that an
//! issuer signed with a [published key](Keys), or an [authoriser](Opinion) outside.
//! The [`Identifier`] takes the questions of logins and says what is to be done for
//! each: answer it, fetch keys, ask the authoriser.
//!
//! ```text
//!  LoginQuestion ──▶ ┌────────────┐ ──▶ Step::Answer     to the hub or server
//!  keys          ──▶ │ Identifier │ ──▶ Step::FetchKeys  over HTTP, or from a file
//!  an opinion    ──▶ └────────────┘ ──▶ Step::Ask        over HTTP
//! ```
//!
//! It does no I/O and looks at no clock. All of it is asked when somebody logs in,
//! and never again: what an image or an update is shown to costs the same with it
//! and without.
//!
//! Tokens are JSON Web Tokens; `exp`, `aud`, `iss` and a `kid` have to be there. They
//! are verified with public keys alone: a token that says `none`, or a secret that
//! both sides would have (`HS256`), is refused whatever it is signed with.

mod authoriser;
mod crypto;
mod identifier;
mod keys;
mod token;

#[cfg(test)]
mod tests;

pub use authoriser::Opinion;
pub use identifier::{
    Authoriser, FetchedKeys, Identifier, Judged, MAX_REMEMBERED, MAX_WAITING, Renewal, Step, Tokens,
};
pub use keys::{Keys, KeysError, MAX_KEYS};
pub use token::{Claims, MAX_TOKEN_BYTES, NotPublic, TokenError, TokenRules};
