//! Who may log in.

use std::net::SocketAddr;

use tapeline_omm::StateBuf;
use tapeline_omm::login::LoginRequest;

/// What is known of a login beside its request.
#[derive(Clone, Copy, Debug)]
pub struct LoginContext {
    /// Where the connection comes from.
    pub peer: SocketAddr,
    /// How many other mounts of this user name the server has.
    pub mounts_of_user: usize,
    /// Whether the user is logged in on this connection already, and this is a
    /// change of the login, as a new token.
    pub is_reissue: bool,
}

/// What becomes of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginVerdict {
    /// The user may work.
    Accept,
    /// The user may not. The state tells the client why and, by `CLOSED` or
    /// `CLOSED_RECOVER`, whether to try again.
    Refuse(StateBuf),
}

/// Decides about logins, called once for each request on a login stream.
pub trait LoginPolicy: Send {
    /// Whether this login is accepted. Requests that break the rules of the
    /// domain, and users over the limit of mounts, never get here.
    fn decide(&mut self, request: &LoginRequest, context: &LoginContext) -> LoginVerdict;
}

/// Accepts everybody.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcceptAll;

impl LoginPolicy for AcceptAll {
    fn decide(&mut self, _: &LoginRequest, _: &LoginContext) -> LoginVerdict {
        LoginVerdict::Accept
    }
}
