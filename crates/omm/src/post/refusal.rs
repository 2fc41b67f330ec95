//! Why a post is not accepted.

use tapeline_rwf::{DecodeError, Domain, MsgClass, NakCode, PostUserRights};
use thiserror::Error;

use crate::Text;

/// Why a post is not accepted: a nak code, and the text that goes with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PostRefusal {
    /// An ack is wanted and there is no id to give it.
    #[error("post that wants an ack has no post id")]
    NoPostId,
    /// A part of a post of several without a sequence number.
    #[error("part of a post has no sequence number")]
    NoSeqNum,
    /// The domain takes no posts.
    #[error("posts to domain {0} are not accepted")]
    Administrative(Domain),
    /// An off-stream post without a service.
    #[error("Message submitted with unspecified service Name and Id")]
    NoService,
    /// An off-stream post without a name.
    #[error("post names no item")]
    NoName,
    /// A posted message of a class that is no content.
    #[error("a {0} cannot be posted")]
    Class(MsgClass),
    /// A posted message that is no RWF.
    #[error("post cannot be read: {0}")]
    Malformed(DecodeError),
    /// The poster lacks a right.
    #[error("post needs the right {}", right_name(*.0))]
    Right(PostUserRights),
    /// The user may not post to the item.
    #[error("not entitled to post")]
    NotEntitled,
    /// No service has this id.
    #[error("Message submitted with unknown service Id {0}")]
    UnknownServiceId(u16),
    /// No service has this name.
    #[error("Message submitted with unknown service name {0}")]
    UnknownServiceName(Text),
    /// The service is down.
    #[error("service Id {0} is down")]
    ServiceDown(u16),
    /// The source takes no posts, as a non-interactive one.
    #[error("source does not accept posts")]
    DeniedBySource,
    /// The login does not allow posts.
    #[error("Posting not supported by provider")]
    NotSupported,
    /// The item is not known.
    #[error("unknown item")]
    UnknownItem,
    /// The stream is not open.
    #[error("stream {0} is not open")]
    NotOpen(i32),
    /// The way to the source is down.
    #[error("no connection to the source")]
    GatewayDown,
    /// The post is longer than is taken.
    #[error("post of {length} bytes is longer than the {max} allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest that is taken.
        max: usize,
    },
    /// Too many posts wait for their acks.
    #[error("too many posts wait for an ack")]
    NoResources,
    /// The source has not read what it was sent before.
    #[error("source does not keep up; post again later")]
    SourceSlow,
    /// The ack did not come in time.
    #[error("No Ack received for PostMsg with postId = {0}")]
    NoResponse(u32),
}

/// The rights in words.
fn right_name(rights: PostUserRights) -> String {
    let names = [
        (PostUserRights::CREATE, "to create the item"),
        (PostUserRights::DELETE, "to delete the item"),
        (PostUserRights::MODIFY_PERM, "to change its permission data"),
    ];
    let held: Vec<_> =
        names.iter().filter(|(right, _)| rights.contains(*right)).map(|(_, name)| *name).collect();
    held.join(" and ")
}

impl PostRefusal {
    /// The code of the ack that refuses the post.
    pub const fn nak_code(&self) -> NakCode {
        match self {
            Self::NoPostId
            | Self::NoSeqNum
            | Self::Administrative(_)
            | Self::NoService
            | Self::NoName
            | Self::Class(_)
            | Self::TooLong { .. }
            | Self::Malformed(_) => NakCode::INVALID_CONTENT,
            Self::Right(_) | Self::NotEntitled => NakCode::ACCESS_DENIED,
            Self::UnknownServiceId(_) | Self::UnknownServiceName(_) => NakCode::SOURCE_UNKNOWN,
            Self::ServiceDown(_) => NakCode::SOURCE_DOWN,
            Self::DeniedBySource | Self::NotSupported => NakCode::DENIED_BY_SRC,
            Self::UnknownItem => NakCode::SYMBOL_UNKNOWN,
            Self::NotOpen(_) => NakCode::NOT_OPEN,
            Self::GatewayDown => NakCode::GATEWAY_DOWN,
            Self::NoResources | Self::SourceSlow => NakCode::NO_RESOURCES,
            Self::NoResponse(_) => NakCode::NO_RESPONSE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_codes_and_texts_that_clients_know() {
        for (refusal, code, text) in [
            (
                PostRefusal::UnknownServiceId(7),
                NakCode::SOURCE_UNKNOWN,
                "Message submitted with unknown service Id 7",
            ),
            (
                PostRefusal::UnknownServiceName("X".into()),
                NakCode::SOURCE_UNKNOWN,
                "Message submitted with unknown service name X",
            ),
            (
                PostRefusal::NoResponse(9),
                NakCode::NO_RESPONSE,
                "No Ack received for PostMsg with postId = 9",
            ),
            (PostRefusal::NotOpen(5), NakCode::NOT_OPEN, "stream 5 is not open"),
            (
                PostRefusal::Right(PostUserRights::CREATE | PostUserRights::DELETE),
                NakCode::ACCESS_DENIED,
                "post needs the right to create the item and to delete the item",
            ),
        ] {
            assert_eq!((refusal.nak_code(), refusal.to_string().as_str()), (code, text));
        }
    }
}
