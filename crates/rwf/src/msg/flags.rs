//! Flags of the message classes and of the key. Bits without a name are
//! carried and ignored.

macro_rules! flags {
    ($($(#[$meta:meta])* $name:ident: $repr:ty { $($bit:literal => $flag:ident $text:literal,)* })*) => {
        bitflags::bitflags! {$(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
            pub struct $name: $repr {
                $(#[doc = $text] const $flag = $bit;)*
                const _ = !0;
            }
        )*}
    };
}

flags! {
    /// Flags of a request.
    RequestFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => HAS_PRIORITY "A priority is there.",
        0x0004 => STREAMING "Updates are wanted after the image.",
        0x0008 => MSG_KEY_IN_UPDATES "The key is wanted in every response.",
        0x0010 => CONF_INFO_IN_UPDATES "Conflation count and time are wanted in updates.",
        0x0020 => NO_REFRESH "No image is wanted.",
        0x0040 => HAS_QOS "A quality of service is there.",
        0x0080 => HAS_WORST_QOS "The worst acceptable quality of service is there.",
        0x0100 => PRIVATE_STREAM "The stream is the requester's alone.",
        0x0200 => PAUSE "No updates are wanted until the next request.",
        0x0400 => HAS_VIEW "The payload says which fields are wanted.",
        0x0800 => HAS_BATCH "The payload lists items or streams.",
        0x1000 => QUALIFIED_STREAM "The stream is a tunnel.",
    }

    /// Flags of a refresh.
    RefreshFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => HAS_PERM_DATA "Permission data is there.",
        0x0008 => HAS_MSG_KEY "A key is there.",
        0x0010 => HAS_SEQ_NUM "A sequence number is there.",
        0x0020 => SOLICITED "The image answers a request.",
        0x0040 => REFRESH_COMPLETE "This is the last part.",
        0x0080 => HAS_QOS "A quality of service is there.",
        0x0100 => CLEAR_CACHE "What was known of the item before is void.",
        0x0200 => DO_NOT_CACHE "The content is not to be kept.",
        0x0400 => PRIVATE_STREAM "The stream is the requester's alone.",
        0x0800 => HAS_POST_USER_INFO "Who posted the content is there.",
        0x1000 => HAS_PART_NUM "A part number is there.",
        0x4000 => QUALIFIED_STREAM "The stream is a tunnel.",
    }

    /// Flags of a status.
    StatusFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => HAS_PERM_DATA "Permission data is there.",
        0x0008 => HAS_MSG_KEY "A key is there.",
        0x0010 => HAS_GROUP_ID "A group id is there.",
        0x0020 => HAS_STATE "A state is there.",
        0x0040 => CLEAR_CACHE "What was known of the item before is void.",
        0x0080 => PRIVATE_STREAM "The stream is the requester's alone.",
        0x0100 => HAS_POST_USER_INFO "Who posted the status is there.",
        0x0400 => QUALIFIED_STREAM "The stream is a tunnel.",
    }

    /// Flags of an update.
    UpdateFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => HAS_PERM_DATA "Permission data is there.",
        0x0008 => HAS_MSG_KEY "A key is there.",
        0x0010 => HAS_SEQ_NUM "A sequence number is there.",
        0x0020 => HAS_CONF_INFO "Conflation count and time are there.",
        0x0040 => DO_NOT_CACHE "The content is not to be kept.",
        0x0080 => DO_NOT_CONFLATE "The update is not to be merged with others.",
        0x0100 => DO_NOT_RIPPLE "Old values are not to move to the fields behind them.",
        0x0200 => HAS_POST_USER_INFO "Who posted the content is there.",
        0x0400 => DISCARDABLE "The update may be left out.",
    }

    /// Flags of a close.
    CloseFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => ACK "An ack is wanted.",
    }

    /// Flags of an ack.
    AckFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => HAS_TEXT "A text is there.",
        0x0004 => PRIVATE_STREAM "The stream is the requester's alone.",
        0x0008 => HAS_SEQ_NUM "A sequence number is there.",
        0x0010 => HAS_MSG_KEY "A key is there.",
        0x0020 => HAS_NAK_CODE "A nak code is there.",
        0x0040 => QUALIFIED_STREAM "The stream is a tunnel.",
    }

    /// Flags of a generic message.
    GenericFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => HAS_PERM_DATA "Permission data is there.",
        0x0004 => HAS_MSG_KEY "A key is there.",
        0x0008 => HAS_SEQ_NUM "A sequence number is there.",
        0x0010 => MESSAGE_COMPLETE "This is the last part.",
        0x0020 => HAS_SECONDARY_SEQ_NUM "A secondary sequence number is there.",
        0x0040 => HAS_PART_NUM "A part number is there.",
        0x4000 => PROVIDER_DRIVEN "The provider began this exchange.",
    }

    /// Flags of a post.
    PostFlags: u16 {
        0x0001 => HAS_EXTENDED_HEADER "An extended header is there.",
        0x0002 => HAS_POST_ID "A post id is there.",
        0x0004 => HAS_MSG_KEY "A key is there.",
        0x0008 => HAS_SEQ_NUM "A sequence number is there.",
        0x0020 => POST_COMPLETE "This is the last part.",
        0x0040 => ACK "An ack is wanted.",
        0x0080 => HAS_PERM_DATA "Permission data is there.",
        0x0100 => HAS_PART_NUM "A part number is there.",
        0x0200 => HAS_POST_USER_RIGHTS "User rights are there.",
    }

    /// Flags of a message key.
    KeyFlags: u16 {
        0x0001 => HAS_SERVICE_ID "A service id is there.",
        0x0002 => HAS_NAME "A name is there.",
        0x0004 => HAS_NAME_TYPE "A name type is there, if a name is.",
        0x0008 => HAS_FILTER "A filter is there.",
        0x0010 => HAS_IDENTIFIER "An identifier is there.",
        0x0020 => HAS_ATTRIB "Attributes are there.",
    }

    /// What a post may do to the item.
    PostUserRights: u16 {
        0x0001 => CREATE "Create it.",
        0x0002 => DELETE "Delete it.",
        0x0004 => MODIFY_PERM "Change its permission data.",
    }
}
