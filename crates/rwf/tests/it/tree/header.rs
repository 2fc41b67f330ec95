//! Message headers of all classes, from and to one plain struct.

use tapeline_rwf::{
    AckFlags, AckMsg, CloseFlags, CloseMsg, Conflation, Domain, GenericFlags, GenericMsg, Msg,
    NakCode, PostFlags, PostMsg, PostUserInfo, PostUserRights, Priority, RefreshFlags, RefreshMsg,
    RequestFlags, RequestMsg, State, StatusFlags, StatusMsg, UpdateFlags, UpdateMsg, UpdateType,
};

use super::{Header, Key};

/// The flags of each class, by code, that say nothing about a part.
pub(crate) const FREE_FLAGS: [u16; 9] =
    [0, 0x1F3C, 0x4760, 0x04C0, 0x05C0, 0x0002, 0x0044, 0x4010, 0x0060];

fn state((stream, data, code, text): &(u8, u8, u8, Vec<u8>)) -> State<'_> {
    State { stream: (*stream).into(), data: (*data).into(), code: (*code).into(), text }
}

fn owned_state(state: &State<'_>) -> (u8, u8, u8, Vec<u8>) {
    (state.stream.0, state.data.0, state.code.0, state.text.to_vec())
}

fn post_user((address, user_id): (u32, u32)) -> PostUserInfo {
    PostUserInfo { address, user_id }
}

fn owned(bytes: Option<&[u8]>) -> Option<Vec<u8>> {
    bytes.map(<[u8]>::to_vec)
}

impl Header {
    /// Calls `f` with the message of this header, without a payload.
    pub(crate) fn with_msg<T>(&self, f: impl FnOnce(&Msg<'_>) -> T) -> T {
        let (domain, stream_id) = (Domain(self.domain), self.stream_id);
        let key = self.key.as_ref().map(Key::borrowed);
        let extended_header = self.extension.as_deref();
        let perm_data = self.perm_data.as_deref();
        let post_user_info = self.post_user.map(post_user);
        let msg = match self.class {
            1 => Msg::Request(RequestMsg {
                flags: RequestFlags::from_bits_retain(self.flags),
                priority: self.pair.map(|(class, count)| Priority { class: class as u8, count }),
                qos: self.qos,
                worst_qos: self.worst_qos,
                key: key.expect("requests have a key"),
                extended_header,
                ..RequestMsg::new(domain, stream_id)
            }),
            2 => Msg::Refresh(RefreshMsg {
                flags: RefreshFlags::from_bits_retain(self.flags),
                seq_num: self.seq_num,
                state: state(self.state.as_ref().expect("refreshes have a state")),
                group_id: self.group_id.as_deref().expect("refreshes have a group"),
                perm_data,
                qos: self.qos,
                key,
                extended_header,
                post_user_info,
                part_num: self.part_num,
                ..RefreshMsg::new(domain, stream_id)
            }),
            3 => Msg::Status(StatusMsg {
                flags: StatusFlags::from_bits_retain(self.flags),
                state: self.state.as_ref().map(state),
                group_id: self.group_id.as_deref(),
                perm_data,
                key,
                extended_header,
                post_user_info,
                ..StatusMsg::new(domain, stream_id)
            }),
            4 => Msg::Update(UpdateMsg {
                flags: UpdateFlags::from_bits_retain(self.flags),
                update_type: UpdateType(self.code),
                seq_num: self.seq_num,
                conflation: self.pair.map(|(count, time_ms)| Conflation { count, time_ms }),
                perm_data,
                key,
                extended_header,
                post_user_info,
                ..UpdateMsg::new(domain, stream_id)
            }),
            5 => Msg::Close(CloseMsg {
                flags: CloseFlags::from_bits_retain(self.flags),
                extended_header,
                ..CloseMsg::new(domain, stream_id)
            }),
            6 => Msg::Ack(AckMsg {
                flags: AckFlags::from_bits_retain(self.flags),
                ack_id: self.second_num.expect("acks have an id"),
                nak_code: self.pair.map(|(code, _)| NakCode(code as u8)),
                text: self.text.as_deref(),
                seq_num: self.seq_num,
                key,
                extended_header,
                ..AckMsg::new(domain, stream_id)
            }),
            7 => Msg::Generic(GenericMsg {
                flags: GenericFlags::from_bits_retain(self.flags),
                seq_num: self.seq_num,
                secondary_seq_num: self.second_num,
                perm_data,
                key,
                extended_header,
                part_num: self.part_num,
                ..GenericMsg::new(domain, stream_id)
            }),
            _ => Msg::Post(PostMsg {
                flags: PostFlags::from_bits_retain(self.flags),
                post_user_info: post_user_info.expect("posts have user info"),
                seq_num: self.seq_num,
                post_id: self.second_num,
                perm_data,
                key,
                extended_header,
                part_num: self.part_num,
                user_rights: self.pair.map(|(rights, _)| PostUserRights::from_bits_retain(rights)),
                ..PostMsg::new(domain, stream_id)
            }),
        };
        f(&msg)
    }

    /// The parts of a decoded header.
    pub(crate) fn of(msg: &Msg<'_>) -> Self {
        let class = msg.class().code();
        let common = Self {
            class,
            domain: msg.domain().0,
            stream_id: msg.stream_id(),
            flags: msg.flags() & FREE_FLAGS[class as usize],
            seq_num: msg.seq_num(),
            key: msg.key().map(Key::of),
            extension: owned(msg.extended_header()),
            ..Self::default()
        };
        let post_user = |info: PostUserInfo| (info.address, info.user_id);
        match msg {
            Msg::Request(m) => Self {
                pair: m.priority.map(|priority| (priority.class.into(), priority.count)),
                qos: m.qos,
                worst_qos: m.worst_qos,
                ..common
            },
            Msg::Refresh(m) => Self {
                state: Some(owned_state(&m.state)),
                group_id: Some(m.group_id.to_vec()),
                perm_data: owned(m.perm_data),
                qos: m.qos,
                post_user: m.post_user_info.map(post_user),
                part_num: m.part_num,
                ..common
            },
            Msg::Status(m) => Self {
                state: m.state.as_ref().map(owned_state),
                group_id: owned(m.group_id),
                perm_data: owned(m.perm_data),
                post_user: m.post_user_info.map(post_user),
                ..common
            },
            Msg::Update(m) => Self {
                code: m.update_type.0,
                pair: m.conflation.map(|conflation| (conflation.count, conflation.time_ms)),
                perm_data: owned(m.perm_data),
                post_user: m.post_user_info.map(post_user),
                ..common
            },
            Msg::Close(_) => common,
            Msg::Ack(m) => Self {
                second_num: Some(m.ack_id),
                pair: m.nak_code.map(|code| (code.0.into(), 0)),
                text: owned(m.text),
                ..common
            },
            Msg::Generic(m) => Self {
                second_num: m.secondary_seq_num,
                perm_data: owned(m.perm_data),
                part_num: m.part_num,
                ..common
            },
            Msg::Post(m) => Self {
                post_user: Some(post_user(m.post_user_info)),
                second_num: m.post_id,
                perm_data: owned(m.perm_data),
                part_num: m.part_num,
                pair: m.user_rights.map(|rights| (rights.bits(), 0)),
                ..common
            },
        }
    }
}
