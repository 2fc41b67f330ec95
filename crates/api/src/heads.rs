//! What a message says beside its content.

use tapeline_omm::market::Part;
use tapeline_rwf::{
    Conflation, DataState, Domain, GenericFlags, GenericMsg, MsgKey, PostFlags, PostMsg,
    PostUserInfo, PostUserRights, Qos, RefreshFlags, RefreshMsg, State, StateCode, StatusFlags,
    StatusMsg, StreamState, UpdateFlags, UpdateMsg, UpdateType,
};

/// An image, or a part of one. Key, stream and the flags that depend on the
/// stream are filled in when it is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefreshHead<'a> {
    /// State of the stream with this image. Default: open, ok.
    pub state: State<'a>,
    /// Which part of the image it is. Default: the only one.
    pub part: Part,
    /// Quality that is given. Default: real time, tick by tick.
    pub qos: Option<Qos>,
    /// Sequence number of the item.
    pub seq_num: Option<u32>,
    /// Items of one group share what the directory says of the group.
    pub group_id: &'a [u8],
    /// Permission data of the item.
    pub perm_data: Option<&'a [u8]>,
    /// Caches are to leave this image out.
    pub do_not_cache: bool,
    /// Who posted the content.
    pub post_user_info: Option<PostUserInfo>,
}

impl Default for RefreshHead<'_> {
    fn default() -> Self {
        Self {
            state: State::open_ok(""),
            part: Part::ONLY,
            qos: Some(Qos::REALTIME_TICK_BY_TICK),
            seq_num: None,
            group_id: &[0, 0],
            perm_data: None,
            do_not_cache: false,
            post_user_info: None,
        }
    }
}

impl<'a> RefreshHead<'a> {
    /// The message, with the flags of the part but not those of the stream.
    pub(crate) fn msg(&self, domain: Domain, stream_id: i32) -> RefreshMsg<'a> {
        let mut flags = RefreshFlags::empty();
        flags.set(RefreshFlags::REFRESH_COMPLETE, self.part.is_last);
        flags.set(RefreshFlags::DO_NOT_CACHE, self.do_not_cache);
        RefreshMsg {
            flags,
            state: self.state,
            part_num: self.part.number,
            qos: self.qos,
            seq_num: self.seq_num,
            group_id: self.group_id,
            perm_data: self.perm_data,
            post_user_info: self.post_user_info,
            ..RefreshMsg::new(domain, stream_id)
        }
    }
}

/// A change of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateHead<'a> {
    /// What caused it. Default: unspecified.
    pub update_type: UpdateType,
    /// How it is to be treated on its way: `DO_NOT_CACHE`, `DO_NOT_CONFLATE`,
    /// `DO_NOT_RIPPLE`, `DISCARDABLE`.
    pub flags: UpdateFlags,
    /// Sequence number of the item.
    pub seq_num: Option<u32>,
    /// What was merged into it.
    pub conflation: Option<Conflation>,
    /// Permission data of this content alone.
    pub perm_data: Option<&'a [u8]>,
    /// Who posted the content.
    pub post_user_info: Option<PostUserInfo>,
}

impl Default for UpdateHead<'_> {
    fn default() -> Self {
        Self::of(UpdateType::UNSPECIFIED)
    }
}

impl<'a> UpdateHead<'a> {
    /// A quote.
    pub const QUOTE: Self = Self::of(UpdateType::QUOTE);
    /// A trade.
    pub const TRADE: Self = Self::of(UpdateType::TRADE);

    /// An update of a type, with nothing else to say.
    pub const fn of(update_type: UpdateType) -> Self {
        Self {
            update_type,
            flags: UpdateFlags::empty(),
            seq_num: None,
            conflation: None,
            perm_data: None,
            post_user_info: None,
        }
    }

    #[inline]
    pub(crate) fn msg(&self, domain: Domain, stream_id: i32) -> UpdateMsg<'a> {
        UpdateMsg {
            flags: self.flags,
            update_type: self.update_type,
            seq_num: self.seq_num,
            conflation: self.conflation,
            perm_data: self.perm_data,
            post_user_info: self.post_user_info,
            ..UpdateMsg::new(domain, stream_id)
        }
    }
}

/// A change of the state of a stream, of its group or of its permission data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatusHead<'a> {
    /// New state.
    pub state: Option<State<'a>>,
    /// New group.
    pub group_id: Option<&'a [u8]>,
    /// New permission data.
    pub perm_data: Option<&'a [u8]>,
    /// The data that the receiver has is void.
    pub clear_cache: bool,
    /// With a state of `REDIRECTED`: what to ask for instead.
    pub redirect_to: Option<MsgKey<'a>>,
    /// Who posted the status.
    pub post_user_info: Option<PostUserInfo>,
}

impl<'a> StatusHead<'a> {
    /// A change of state.
    pub const fn of(state: State<'a>) -> Self {
        Self {
            state: Some(state),
            group_id: None,
            perm_data: None,
            clear_cache: false,
            redirect_to: None,
            post_user_info: None,
        }
    }

    /// The end of a stream: closed, suspect.
    pub const fn closed(code: StateCode, text: &'a str) -> Self {
        Self::of(State::new(StreamState::CLOSED, DataState::SUSPECT, code, text))
    }

    pub(crate) fn msg(&self, domain: Domain, stream_id: i32) -> StatusMsg<'a> {
        let mut flags = StatusFlags::empty();
        flags.set(StatusFlags::CLEAR_CACHE, self.clear_cache);
        StatusMsg {
            flags,
            state: self.state,
            group_id: self.group_id,
            perm_data: self.perm_data,
            key: self.redirect_to,
            post_user_info: self.post_user_info,
            ..StatusMsg::new(domain, stream_id)
        }
    }
}

/// A message without rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GenericHead<'a> {
    /// What the message is about.
    pub key: Option<MsgKey<'a>>,
    /// Sequence number.
    pub seq_num: Option<u32>,
    /// Sequence number of what is answered.
    pub secondary_seq_num: Option<u32>,
    /// Which part it is. Default: the only one.
    pub part: Part,
    /// Permission data.
    pub perm_data: Option<&'a [u8]>,
}

impl Default for GenericHead<'_> {
    fn default() -> Self {
        Self {
            key: None,
            seq_num: None,
            secondary_seq_num: None,
            part: Part::ONLY,
            perm_data: None,
        }
    }
}

impl<'a> GenericHead<'a> {
    /// A message about something that has a name.
    pub const fn named(name: &'a str) -> Self {
        let key = MsgKey { name: Some(name.as_bytes()), ..MsgKey::EMPTY };
        Self {
            key: Some(key),
            seq_num: None,
            secondary_seq_num: None,
            part: Part::ONLY,
            perm_data: None,
        }
    }

    pub(crate) fn msg(&self, domain: Domain, stream_id: i32) -> GenericMsg<'a> {
        let mut flags = GenericFlags::empty();
        flags.set(GenericFlags::MESSAGE_COMPLETE, self.part.is_last);
        GenericMsg {
            flags,
            key: self.key,
            seq_num: self.seq_num,
            secondary_seq_num: self.secondary_seq_num,
            part_num: self.part.number,
            perm_data: self.perm_data,
            ..GenericMsg::new(domain, stream_id)
        }
    }
}

/// A post, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostHead<'a> {
    /// Whether an ack is wanted. Default: yes.
    pub ack: bool,
    /// Id that the ack repeats. Default: the next one of the consumer. Parts
    /// of one post share theirs.
    pub post_id: Option<u32>,
    /// Which part it is. Default: the only one. Parts of a post of several need
    /// a sequence number each.
    pub part: Part,
    /// Sequence number.
    pub seq_num: Option<u32>,
    /// Permission data.
    pub perm_data: Option<&'a [u8]>,
    /// Who posts. Default: what the consumer's configuration says.
    pub user_info: Option<PostUserInfo>,
    /// What the post may do to the item.
    pub user_rights: Option<PostUserRights>,
}

impl Default for PostHead<'_> {
    fn default() -> Self {
        Self {
            ack: true,
            post_id: None,
            part: Part::ONLY,
            seq_num: None,
            perm_data: None,
            user_info: None,
            user_rights: None,
        }
    }
}

impl<'a> PostHead<'a> {
    pub(crate) fn msg(
        &self,
        domain: Domain,
        stream_id: i32,
        post_id: u32,
        user_info: PostUserInfo,
    ) -> PostMsg<'a> {
        let mut flags = PostFlags::empty();
        flags.set(PostFlags::ACK, self.ack);
        flags.set(PostFlags::POST_COMPLETE, self.part.is_last);
        PostMsg {
            flags,
            post_user_info: self.user_info.unwrap_or(user_info),
            post_id: Some(post_id),
            part_num: self.part.number,
            seq_num: self.seq_num,
            perm_data: self.perm_data,
            user_rights: self.user_rights,
            ..PostMsg::new(domain, stream_id)
        }
    }
}
