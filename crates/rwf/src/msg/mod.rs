//! Messages: a header by class, and a payload of one container.

mod flags;
mod header;
mod key;
mod parts;
mod read;
mod view;
mod write;

pub use flags::{
    AckFlags, CloseFlags, GenericFlags, KeyFlags, PostFlags, PostUserRights, RefreshFlags,
    RequestFlags, StatusFlags, UpdateFlags,
};
pub use header::{MsgClass, MsgHeader, patch_stream_id};
pub use key::MsgKey;
pub use parts::{Conflation, PostUserInfo, Priority};
pub use view::MsgView;

pub(crate) use write::write_header;

use crate::decode::Reader;
use crate::error::{DecodeError, Level};
use crate::{DataType, Domain, Encoded, NakCode, Qos, State, UpdateType};

/// Any message, header decoded, payload not.
///
/// ```text
/// ┌─────────────────┬──────────┬───────────┬───────────────┬────────────────┐
/// │ u16 header size │ u8 class │ u8 domain │ i32 stream id │ u15_rb flags   │
/// ├─────────────────┴──────────┴───────────┴──────┬────────┴────────────────┤
/// │ u8 container type − 128 of the payload        │ parts of the class      │
/// ├───────────────────────────────────────────────┴─────────────────────────┤
/// │ payload: from byte 2 + header size to the end of the message            │
/// └─────────────────────────────────────────────────────────────────────────┘
/// ```
///
/// Header fields that a later minor version appends are skipped.
// What most classes have is in the same place in all of them (`repr(C)`): asking
// for it is one load, and the payload is copied in pieces that fit it. Domain,
// flags and stream id fill eight bytes, so that the payload follows without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Msg<'a> {
    /// Opens or changes a stream.
    Request(RequestMsg<'a>),
    /// An image.
    Refresh(RefreshMsg<'a>),
    /// A change of state.
    Status(StatusMsg<'a>),
    /// A change of data.
    Update(UpdateMsg<'a>),
    /// Ends a stream.
    Close(CloseMsg<'a>),
    /// Answers a post or a close.
    Ack(AckMsg<'a>),
    /// Anything else, in both directions.
    Generic(GenericMsg<'a>),
    /// Content from a consumer.
    Post(PostMsg<'a>),
}

impl<'a> Msg<'a> {
    /// Decodes the header of a message that is the outermost data.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_data(&Encoded::new(DataType::MSG, bytes))
    }

    #[inline]
    pub(crate) fn decode_data(data: &Encoded<'a>) -> Result<Self, DecodeError> {
        read::msg(Reader::enter(data, Level::Msg)?)
    }

    /// The class.
    pub const fn class(&self) -> MsgClass {
        match self {
            Self::Request(_) => MsgClass::Request,
            Self::Refresh(_) => MsgClass::Refresh,
            Self::Status(_) => MsgClass::Status,
            Self::Update(_) => MsgClass::Update,
            Self::Close(_) => MsgClass::Close,
            Self::Ack(_) => MsgClass::Ack,
            Self::Generic(_) => MsgClass::Generic,
            Self::Post(_) => MsgClass::Post,
        }
    }

    /// The domain.
    pub const fn domain(&self) -> Domain {
        match self {
            Self::Request(m) => m.domain,
            Self::Refresh(m) => m.domain,
            Self::Status(m) => m.domain,
            Self::Update(m) => m.domain,
            Self::Close(m) => m.domain,
            Self::Ack(m) => m.domain,
            Self::Generic(m) => m.domain,
            Self::Post(m) => m.domain,
        }
    }

    /// The stream.
    pub const fn stream_id(&self) -> i32 {
        match self {
            Self::Request(m) => m.stream_id,
            Self::Refresh(m) => m.stream_id,
            Self::Status(m) => m.stream_id,
            Self::Update(m) => m.stream_id,
            Self::Close(m) => m.stream_id,
            Self::Ack(m) => m.stream_id,
            Self::Generic(m) => m.stream_id,
            Self::Post(m) => m.stream_id,
        }
    }

    /// The flags: of a decoded message as they are on the wire, those of
    /// trailing parts that are not in the header cleared; of one that is built
    /// here without those that follow from its parts.
    pub const fn flags(&self) -> u16 {
        match self {
            Self::Request(m) => m.flags.bits(),
            Self::Refresh(m) => m.flags.bits(),
            Self::Status(m) => m.flags.bits(),
            Self::Update(m) => m.flags.bits(),
            Self::Close(m) => m.flags.bits(),
            Self::Ack(m) => m.flags.bits(),
            Self::Generic(m) => m.flags.bits(),
            Self::Post(m) => m.flags.bits(),
        }
    }

    /// The key, if the class has one and it is there.
    pub const fn key(&self) -> Option<&MsgKey<'a>> {
        match self {
            Self::Request(m) => Some(&m.key),
            Self::Refresh(m) => m.key.as_ref(),
            Self::Status(m) => m.key.as_ref(),
            Self::Update(m) => m.key.as_ref(),
            Self::Ack(m) => m.key.as_ref(),
            Self::Generic(m) => m.key.as_ref(),
            Self::Post(m) => m.key.as_ref(),
            Self::Close(_) => None,
        }
    }

    /// The sequence number, if the class has one and it is there.
    pub const fn seq_num(&self) -> Option<u32> {
        match self {
            Self::Refresh(m) => m.seq_num,
            Self::Update(m) => m.seq_num,
            Self::Ack(m) => m.seq_num,
            Self::Generic(m) => m.seq_num,
            Self::Post(m) => m.seq_num,
            Self::Request(_) | Self::Status(_) | Self::Close(_) => None,
        }
    }

    /// The extended header, if it is there.
    pub const fn extended_header(&self) -> Option<&'a [u8]> {
        match self {
            Self::Request(m) => m.extended_header,
            Self::Refresh(m) => m.extended_header,
            Self::Status(m) => m.extended_header,
            Self::Update(m) => m.extended_header,
            Self::Close(m) => m.extended_header,
            Self::Ack(m) => m.extended_header,
            Self::Generic(m) => m.extended_header,
            Self::Post(m) => m.extended_header,
        }
    }

    /// The payload with its container type; may be empty whatever the type.
    #[inline]
    pub const fn payload(&self) -> Encoded<'a> {
        match self {
            Self::Request(m) => m.payload,
            Self::Refresh(m) => m.payload,
            Self::Status(m) => m.payload,
            Self::Update(m) => m.payload,
            Self::Close(m) => m.payload,
            Self::Ack(m) => m.payload,
            Self::Generic(m) => m.payload,
            Self::Post(m) => m.payload,
        }
    }
}

/// No payload: what the constructors of the classes begin with.
pub(crate) const NO_PAYLOAD: Encoded<'static> = Encoded::new(DataType::NO_DATA, &[]);

/// Opens a stream; on an open stream, changes its priority, view, pause or
/// asks for an image.
///
/// Parts in wire order: priority (u8 class, `u16_ob` count), qos, worst qos,
/// key, extended header (buf8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RequestMsg<'a> {
    /// Domain of the item.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: RequestFlags,
    /// Stream, chosen by the requester: above 0 from consumers.
    pub stream_id: i32,
    /// Payload: views and batches.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
    /// What is asked for.
    pub key: MsgKey<'a>,
    /// Class and count of the interest; 1 and 1 when absent.
    pub priority: Option<Priority>,
    /// Quality of service that is asked for, or the best end of a range.
    pub qos: Option<Qos>,
    /// The worst end of the range.
    pub worst_qos: Option<Qos>,
}

/// An image, or a part of one.
///
/// Parts in wire order: sequence number (u32), state, group id (buf8),
/// permission data (buf15), qos, key, extended header (buf8), post user info,
/// part number (`u15_rb`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RefreshMsg<'a> {
    /// Domain of the item.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: RefreshFlags,
    /// Stream: above 0 as requested, at most 0 from non-interactive providers.
    pub stream_id: i32,
    /// Payload: the content.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
    /// What the image is of.
    pub key: Option<MsgKey<'a>>,
    /// Sequence number, counted by the provider.
    pub seq_num: Option<u32>,
    /// State of the stream with this image.
    pub state: State<'a>,
    /// Group of items that share their fate, at most 255 bytes.
    pub group_id: &'a [u8],
    /// Permission data, at most 32767 bytes.
    pub perm_data: Option<&'a [u8]>,
    /// Quality of service that is given.
    pub qos: Option<Qos>,
    /// Who posted the content.
    pub post_user_info: Option<PostUserInfo>,
    /// Number of this part, from 0 to 32767.
    pub part_num: Option<u16>,
}

/// A change of the state of a stream, its group or its permission data.
///
/// Parts in wire order: state, group id (buf8), permission data (buf15), key,
/// extended header (buf8), post user info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct StatusMsg<'a> {
    /// Domain of the item.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: StatusFlags,
    /// Stream.
    pub stream_id: i32,
    /// Payload, rarely any.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
    /// Which item this is about, or is redirected to.
    pub key: Option<MsgKey<'a>>,
    /// New state; the stream's state stays when absent.
    pub state: Option<State<'a>>,
    /// New group, at most 255 bytes.
    pub group_id: Option<&'a [u8]>,
    /// New permission data, at most 32767 bytes.
    pub perm_data: Option<&'a [u8]>,
    /// Who posted the status.
    pub post_user_info: Option<PostUserInfo>,
}

/// A change of the data of a stream.
///
/// Parts in wire order: u8 update type, sequence number (u32), conflation
/// (`u15_rb` count, u16 time), permission data (buf15), key, extended header
/// (buf8), post user info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct UpdateMsg<'a> {
    /// Domain of the item.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: UpdateFlags,
    /// Stream.
    pub stream_id: i32,
    /// Payload: the content.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
    /// What the update is of, where the requester asked for it.
    pub key: Option<MsgKey<'a>>,
    /// What caused the update.
    pub update_type: UpdateType,
    /// Sequence number, counted by the provider.
    pub seq_num: Option<u32>,
    /// How many updates were merged into this one, and over which time.
    pub conflation: Option<Conflation>,
    /// Permission data of this content alone, at most 32767 bytes.
    pub perm_data: Option<&'a [u8]>,
    /// Who posted the content.
    pub post_user_info: Option<PostUserInfo>,
}

/// Ends a stream. Its one part is the extended header (buf8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CloseMsg<'a> {
    /// Domain of the item.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: CloseFlags,
    /// Stream.
    pub stream_id: i32,
    /// Payload: the stream ids of a batch.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
}

/// Answers a post or a close that asked for it.
///
/// Parts in wire order: u32 ack id, nak code (u8), text (`u16_ob` length),
/// sequence number (u32), key, extended header (buf8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AckMsg<'a> {
    /// Domain of the item.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: AckFlags,
    /// Stream of the post or close.
    pub stream_id: i32,
    /// Payload, rarely any.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
    /// What was posted to.
    pub key: Option<MsgKey<'a>>,
    /// Post id that is answered, or the stream id of a close.
    pub ack_id: u32,
    /// Why it was not accepted; accepted when absent.
    pub nak_code: Option<NakCode>,
    /// The same in words, at most 65535 bytes.
    pub text: Option<&'a [u8]>,
    /// Sequence number of the post part that is answered.
    pub seq_num: Option<u32>,
}

/// A message without rules, in both directions on any open stream.
///
/// Parts in wire order: sequence number (u32), secondary sequence number
/// (u32), permission data (buf15), key, extended header (buf8), part number
/// (`u15_rb`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct GenericMsg<'a> {
    /// Domain of the stream.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: GenericFlags,
    /// Stream.
    pub stream_id: i32,
    /// Payload.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
    /// What the message is about.
    pub key: Option<MsgKey<'a>>,
    /// Sequence number.
    pub seq_num: Option<u32>,
    /// Sequence number of what is answered.
    pub secondary_seq_num: Option<u32>,
    /// Permission data, at most 32767 bytes.
    pub perm_data: Option<&'a [u8]>,
    /// Number of this part, from 0 to 32767.
    pub part_num: Option<u16>,
}

/// Content from a consumer: for an open item stream, or, on the login stream
/// and with a key, for any item.
///
/// Parts in wire order: post user info (always), sequence number (u32), post id
/// (u32), permission data (buf15), key, extended header (buf8), part number
/// (`u15_rb`), user rights (`u15_rb`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PostMsg<'a> {
    /// Domain of the item that is posted to.
    pub domain: Domain,
    /// Flags. Those that say that a part is there follow from the parts when
    /// encoding.
    pub flags: PostFlags,
    /// Stream that carries the post.
    pub stream_id: i32,
    /// Payload: content, or a message.
    pub payload: Encoded<'a>,
    /// Extended header, at most 255 bytes.
    pub extended_header: Option<&'a [u8]>,
    /// What is posted to; needed on the login stream.
    pub key: Option<MsgKey<'a>>,
    /// Who posts.
    pub post_user_info: PostUserInfo,
    /// Sequence number, needed in every part of a post of several.
    pub seq_num: Option<u32>,
    /// Id that the ack repeats.
    pub post_id: Option<u32>,
    /// Permission data, at most 32767 bytes.
    pub perm_data: Option<&'a [u8]>,
    /// Number of this part, from 0 to 32767.
    pub part_num: Option<u16>,
    /// What the post may do to the item.
    pub user_rights: Option<PostUserRights>,
}

macro_rules! constructors {
    ($($name:ident { $($field:ident: $value:expr),* $(,)? })*) => {$(
        impl<'a> $name<'a> {
            /// A message with no optional part and no payload.
            pub const fn new(domain: Domain, stream_id: i32) -> Self {
                Self { domain, stream_id, extended_header: None, payload: NO_PAYLOAD, $($field: $value),* }
            }
        }

        impl<'a> From<$name<'a>> for Msg<'a> {
            fn from(msg: $name<'a>) -> Self {
                msg.into_msg()
            }
        }
    )*};
}

constructors! {
    RequestMsg {
        flags: RequestFlags::empty(), priority: None, qos: None, worst_qos: None,
        key: MsgKey::EMPTY,
    }
    RefreshMsg {
        flags: RefreshFlags::empty(), seq_num: None, state: State::open_ok(""), group_id: &[0, 0],
        perm_data: None, qos: None, key: None, post_user_info: None, part_num: None,
    }
    StatusMsg {
        flags: StatusFlags::empty(), state: None, group_id: None, perm_data: None, key: None,
        post_user_info: None,
    }
    UpdateMsg {
        flags: UpdateFlags::empty(), update_type: UpdateType::UNSPECIFIED, seq_num: None,
        conflation: None, perm_data: None, key: None, post_user_info: None,
    }
    CloseMsg { flags: CloseFlags::empty() }
    AckMsg {
        flags: AckFlags::empty(), ack_id: 0, nak_code: None, text: None, seq_num: None, key: None,
    }
    GenericMsg {
        flags: GenericFlags::empty(), seq_num: None, secondary_seq_num: None, perm_data: None,
        key: None, part_num: None,
    }
    PostMsg {
        flags: PostFlags::empty(), post_user_info: PostUserInfo { address: 0, user_id: 0 },
        seq_num: None, post_id: None, perm_data: None, key: None, part_num: None,
        user_rights: None,
    }
}

macro_rules! into_msg {
    ($($name:ident => $variant:ident),*) => {$(
        impl<'a> $name<'a> {
            const fn into_msg(self) -> Msg<'a> {
                Msg::$variant(self)
            }
        }
    )*};
}

into_msg! {
    RequestMsg => Request, RefreshMsg => Refresh, StatusMsg => Status, UpdateMsg => Update,
    CloseMsg => Close, AckMsg => Ack, GenericMsg => Generic, PostMsg => Post
}
