//! The login domain: who a connection is, and what its two ends can do.
//!
//! A consumer or a non-interactive provider opens one login stream, always
//! streaming; everything else on the connection lives as long as this stream.
//! A known attribute of another wire type makes the whole message invalid, as
//! it does for the vendor's library; unknown attributes are ignored.

mod attributes;
mod connection_config;
mod features;
mod generic;
mod refresh;
mod request;
mod status;

pub use attributes::LoginAttributes;
pub use connection_config::{ConnectionConfig, StandbyServer};
pub use features::{BatchSupport, LoginFeatures, StandbyModes};
pub use generic::{ConsumerConnectionStatus, LoginRtt, WarmStandbyMode};
pub use refresh::LoginRefresh;
pub use request::LoginRequest;
pub use status::{LoginErrorAttributes, LoginStatus};

use tapeline_rwf::{CloseMsg, DataType, Domain, EncodeError, Encoder, Msg};

use crate::{ModelError, OtherGeneric};

/// What the user name of a login is.
pub mod user_name_type {
    /// A name; what counts where none is given.
    pub const NAME: u8 = 1;
    /// An e-mail address.
    pub const EMAIL: u8 = 2;
    /// A token in place of a name.
    pub const TOKEN: u8 = 3;
    /// A cookie.
    pub const COOKIE: u8 = 4;
    /// An authentication token: the name is one NUL byte and the token is the
    /// attribute `AuthenticationToken`.
    pub const AUTHN_TOKEN: u8 = 5;
}

/// The name that stands in the key when the user is known by an
/// authentication token only.
pub const AUTHN_TOKEN_NAME: &str = "\0";

/// Any message of a login stream, but posts and acks, which are of the domain
/// of the item they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginMsg {
    /// A user logs in, or a login is changed.
    Request(LoginRequest),
    /// The login is accepted.
    Refresh(LoginRefresh),
    /// The login is refused, has ended, or has something to say.
    Status(LoginStatus),
    /// The user logs out.
    Close {
        /// Stream of the login.
        stream_id: i32,
    },
    /// A consumer says which of its servers is the active one.
    ConsumerConnectionStatus(ConsumerConnectionStatus),
    /// A provider measures the round trip.
    Rtt(LoginRtt),
    /// Any other generic message.
    Other(OtherGeneric),
}

impl LoginMsg {
    const MODEL: &'static str = "login message";

    /// Reads a message of the login domain.
    ///
    /// Errors: another domain, a class that the domain does not have, or what
    /// the model of the class finds.
    pub fn decode(msg: &Msg<'_>) -> Result<Self, ModelError> {
        if msg.domain() != Domain::LOGIN {
            return Err(ModelError::rule(Self::MODEL, "domain", "is not LOGIN"));
        }
        match msg {
            Msg::Request(request) => LoginRequest::decode(request).map(Self::Request),
            Msg::Refresh(refresh) => LoginRefresh::decode(refresh).map(Self::Refresh),
            Msg::Status(status) => LoginStatus::decode(status).map(Self::Status),
            Msg::Close(close) => Ok(Self::Close { stream_id: close.stream_id }),
            // An element list is a round trip whatever its key says, as in the
            // vendor's library.
            Msg::Generic(generic) if generic.payload.data_type() == DataType::ELEMENT_LIST => {
                LoginRtt::decode(generic).map(Self::Rtt)
            }
            Msg::Generic(generic) if ConsumerConnectionStatus::is(generic) => {
                ConsumerConnectionStatus::decode(generic).map(Self::ConsumerConnectionStatus)
            }
            Msg::Generic(generic) => Ok(Self::Other(OtherGeneric::decode(generic))),
            Msg::Update(_) | Msg::Ack(_) | Msg::Post(_) => {
                Err(ModelError::class(Self::MODEL, msg.class()))
            }
        }
    }

    /// Writes the message.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        match self {
            Self::Request(request) => request.encode(encoder),
            Self::Refresh(refresh) => refresh.encode(encoder),
            Self::Status(status) => status.encode(encoder),
            Self::Close { stream_id } => {
                encoder.message(&CloseMsg::new(Domain::LOGIN, *stream_id).into())
            }
            Self::ConsumerConnectionStatus(status) => status.encode(encoder),
            Self::Rtt(rtt) => rtt.encode(encoder),
            Self::Other(other) => other.encode(Domain::LOGIN, encoder),
        }
    }
}
