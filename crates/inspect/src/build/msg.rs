//! Messages.

use tapeline_rwf::{
    AckFlags, AckMsg, CloseFlags, CloseMsg, Conflation, DataType, Domain, Encoded, GenericFlags,
    GenericMsg, KeyFlags, Msg, MsgClass, MsgHeader, MsgKey, NakCode, PostFlags, PostMsg,
    PostUserInfo, PostUserRights, Priority, Qos, RefreshFlags, RefreshMsg, RequestFlags,
    RequestMsg, State, StatusFlags, StatusMsg, UpdateFlags, UpdateMsg, UpdateType,
};

use super::{Node, data, data_of, encoded, optional, primitive};
use crate::{BuildError, BuildErrorKind};

pub(super) fn msg(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let container_type = node.required("containerType")?.data_type()?;
    let payload = match node.optional("payload") {
        Some(payload) => data_of(&payload, container_type)?,
        None => Vec::new(),
    };
    let bytes = Bytes::read(node)?;
    let mut state_text = Vec::new();
    let state = match node.optional("state") {
        Some(state) => Some(primitive::state(&state, &mut state_text)?),
        None => None,
    };
    let parts = Parts::read(node, &bytes, state, Encoded::new(container_type, &payload))?;
    let msg = parts.msg()?;
    let room = 512 + payload.len() + bytes.len();
    let written = encoded(node, DataType::MSG, room, |slot| node.checked(slot.message(&msg)))?;
    check_flags(node, &written)?;
    Ok(written)
}

/// Flags that promise a part that is not there, or the other way round.
fn check_flags(node: &Node<'_, '_>, written: &[u8]) -> Result<(), BuildError> {
    match MsgHeader::decode(written) {
        Ok(header) => node.check_flags(header.flags, 0).map(drop),
        Err(_) => Ok(()),
    }
}

/// The parts of a header that are bytes.
#[derive(Default)]
struct Bytes {
    name: Option<Vec<u8>>,
    attrib: Option<(DataType, Vec<u8>)>,
    group_id: Option<Vec<u8>>,
    perm_data: Option<Vec<u8>>,
    extended_header: Option<Vec<u8>>,
    text: Option<Vec<u8>>,
}

impl Bytes {
    fn read(node: &Node<'_, '_>) -> Result<Self, BuildError> {
        let mut read = Self {
            group_id: optional!(node, "groupIdHex", hex),
            perm_data: optional!(node, "permHex", hex),
            extended_header: optional!(node, "extHdrHex", hex),
            text: optional!(node, "text", latin1),
            ..Self::default()
        };
        if let Some(key) = node.optional("key") {
            read.name = optional!(key, "name", latin1);
            if let Some(attrib) = key.optional("attrib") {
                read.attrib = Some((attrib.required("type")?.data_type()?, data(&attrib)?));
            }
        }
        Ok(read)
    }

    fn len(&self) -> usize {
        let parts =
            [&self.name, &self.group_id, &self.perm_data, &self.extended_header, &self.text];
        let attrib = self.attrib.as_ref().map_or(0, |(_, bytes)| bytes.len());
        attrib + parts.into_iter().flatten().map(Vec::len).sum::<usize>()
    }
}

/// The parts that several classes have; each class takes its own.
struct Parts<'m, 'v, 'n> {
    node: &'m Node<'v, 'n>,
    bytes: &'m Bytes,
    domain: Domain,
    stream_id: i32,
    flags: u16,
    seq_num: Option<u32>,
    part_num: Option<u16>,
    state: Option<State<'m>>,
    group_id: Option<&'m [u8]>,
    perm_data: Option<&'m [u8]>,
    key: Option<MsgKey<'m>>,
    extended_header: Option<&'m [u8]>,
    post_user_info: Option<PostUserInfo>,
    payload: Encoded<'m>,
}

impl<'m, 'v, 'n> Parts<'m, 'v, 'n> {
    fn read(
        node: &'m Node<'v, 'n>,
        bytes: &'m Bytes,
        state: Option<State<'m>>,
        payload: Encoded<'m>,
    ) -> Result<Self, BuildError> {
        let flags: Option<u16> = optional!(node, "flags", integer);
        Ok(Self {
            node,
            bytes,
            domain: Domain(node.required("domain")?.integer()?),
            stream_id: node.required("streamId")?.integer()?,
            flags: flags.unwrap_or_default(),
            seq_num: optional!(node, "seqNum", integer),
            part_num: optional!(node, "partNum", integer),
            state,
            group_id: bytes.group_id.as_deref(),
            perm_data: bytes.perm_data.as_deref(),
            key: key(node, bytes)?,
            extended_header: bytes.extended_header.as_deref(),
            post_user_info: user_info(node)?,
            payload,
        })
    }

    /// A part that its class always has.
    fn always<T>(&self, part: Option<T>, key: &str) -> Result<T, BuildError> {
        part.ok_or_else(|| self.node.error(BuildErrorKind::Missing(key.to_owned())))
    }

    fn qos(&self, key: &str) -> Result<Option<Qos>, BuildError> {
        self.node.optional(key).map(|qos| primitive::qos(&qos)).transpose()
    }

    fn msg(&self) -> Result<Msg<'m>, BuildError> {
        let class = self.node.required("class")?;
        let name = class.text()?;
        Ok(match MsgClass::from_name(name) {
            Some(MsgClass::Request) => self.request()?.into(),
            Some(MsgClass::Refresh) => self.refresh()?.into(),
            Some(MsgClass::Status) => self.status().into(),
            Some(MsgClass::Update) => self.update()?.into(),
            Some(MsgClass::Close) => self.close().into(),
            Some(MsgClass::Ack) => self.ack()?.into(),
            Some(MsgClass::Generic) => self.generic()?.into(),
            Some(MsgClass::Post) => self.post()?.into(),
            None => return Err(class.error(BuildErrorKind::MsgClass(name.to_owned()))),
        })
    }

    fn request(&self) -> Result<RequestMsg<'m>, BuildError> {
        Ok(RequestMsg {
            flags: RequestFlags::from_bits_retain(self.flags),
            priority: priority(self.node)?,
            qos: self.qos("qos")?,
            worst_qos: self.qos("worstQos")?,
            key: self.always(self.key, "key")?,
            extended_header: self.extended_header,
            payload: self.payload,
            ..RequestMsg::new(self.domain, self.stream_id)
        })
    }

    fn refresh(&self) -> Result<RefreshMsg<'m>, BuildError> {
        Ok(RefreshMsg {
            flags: RefreshFlags::from_bits_retain(self.flags),
            seq_num: self.seq_num,
            state: self.always(self.state, "state")?,
            group_id: self.always(self.group_id, "groupIdHex")?,
            perm_data: self.perm_data,
            qos: self.qos("qos")?,
            key: self.key,
            extended_header: self.extended_header,
            post_user_info: self.post_user_info,
            part_num: self.part_num,
            payload: self.payload,
            ..RefreshMsg::new(self.domain, self.stream_id)
        })
    }

    fn status(&self) -> StatusMsg<'m> {
        StatusMsg {
            flags: StatusFlags::from_bits_retain(self.flags),
            state: self.state,
            group_id: self.group_id,
            perm_data: self.perm_data,
            key: self.key,
            extended_header: self.extended_header,
            post_user_info: self.post_user_info,
            payload: self.payload,
            ..StatusMsg::new(self.domain, self.stream_id)
        }
    }

    fn update(&self) -> Result<UpdateMsg<'m>, BuildError> {
        Ok(UpdateMsg {
            flags: UpdateFlags::from_bits_retain(self.flags),
            update_type: UpdateType(self.node.required("updateType")?.integer()?),
            seq_num: self.seq_num,
            conflation: conflation(self.node)?,
            perm_data: self.perm_data,
            key: self.key,
            extended_header: self.extended_header,
            post_user_info: self.post_user_info,
            payload: self.payload,
            ..UpdateMsg::new(self.domain, self.stream_id)
        })
    }

    fn close(&self) -> CloseMsg<'m> {
        CloseMsg {
            flags: CloseFlags::from_bits_retain(self.flags),
            extended_header: self.extended_header,
            payload: self.payload,
            ..CloseMsg::new(self.domain, self.stream_id)
        }
    }

    fn ack(&self) -> Result<AckMsg<'m>, BuildError> {
        let node = self.node;
        Ok(AckMsg {
            flags: AckFlags::from_bits_retain(self.flags),
            ack_id: node.required("ackId")?.integer()?,
            nak_code: optional!(node, "nakCode", integer).map(NakCode),
            text: self.bytes.text.as_deref(),
            seq_num: self.seq_num,
            key: self.key,
            extended_header: self.extended_header,
            payload: self.payload,
            ..AckMsg::new(self.domain, self.stream_id)
        })
    }

    fn generic(&self) -> Result<GenericMsg<'m>, BuildError> {
        let node = self.node;
        Ok(GenericMsg {
            flags: GenericFlags::from_bits_retain(self.flags),
            seq_num: self.seq_num,
            secondary_seq_num: optional!(node, "secondarySeqNum", integer),
            perm_data: self.perm_data,
            key: self.key,
            extended_header: self.extended_header,
            part_num: self.part_num,
            payload: self.payload,
            ..GenericMsg::new(self.domain, self.stream_id)
        })
    }

    fn post(&self) -> Result<PostMsg<'m>, BuildError> {
        let node = self.node;
        let user_rights = optional!(node, "postUserRights", integer);
        Ok(PostMsg {
            flags: PostFlags::from_bits_retain(self.flags),
            post_user_info: self.always(self.post_user_info, "postUserInfo")?,
            seq_num: self.seq_num,
            post_id: optional!(node, "postId", integer),
            perm_data: self.perm_data,
            key: self.key,
            extended_header: self.extended_header,
            part_num: self.part_num,
            user_rights: user_rights.map(PostUserRights::from_bits_retain),
            payload: self.payload,
            ..PostMsg::new(self.domain, self.stream_id)
        })
    }
}

fn priority(node: &Node<'_, '_>) -> Result<Option<Priority>, BuildError> {
    let Some(priority) = node.optional("priority") else { return Ok(None) };
    let class = priority.required("class")?.integer()?;
    Ok(Some(Priority { class, count: priority.required("count")?.integer()? }))
}

fn conflation(node: &Node<'_, '_>) -> Result<Option<Conflation>, BuildError> {
    let Some(count) = node.optional("confCount") else { return Ok(None) };
    let time_ms = node.required("confTime")?.integer()?;
    Ok(Some(Conflation { count: count.integer()?, time_ms }))
}

fn user_info(node: &Node<'_, '_>) -> Result<Option<PostUserInfo>, BuildError> {
    let Some(info) = node.optional("postUserInfo") else { return Ok(None) };
    let address = info.required("addr")?.integer()?;
    Ok(Some(PostUserInfo { address, user_id: info.required("id")?.integer()? }))
}

fn key<'m>(node: &Node<'_, '_>, bytes: &'m Bytes) -> Result<Option<MsgKey<'m>>, BuildError> {
    let Some(node) = node.optional("key") else { return Ok(None) };
    let flags: Option<u16> = optional!(node, "flags", integer);
    let attrib = bytes.attrib.as_ref();
    let key = MsgKey {
        flags: KeyFlags::from_bits_retain(flags.unwrap_or_default()),
        service_id: optional!(node, "serviceId", integer),
        name: bytes.name.as_deref(),
        name_type: optional!(node, "nameType", integer),
        filter: optional!(node, "filter", integer),
        identifier: optional!(node, "identifier", integer),
        attrib: attrib.map(|(data_type, bytes)| Encoded::new(*data_type, bytes)),
    };
    check_key_flags(&node, &key)?;
    Ok(Some(key))
}

fn check_key_flags(node: &Node<'_, '_>, key: &MsgKey<'_>) -> Result<(), BuildError> {
    let mut derived = key.flags;
    derived.set(KeyFlags::HAS_SERVICE_ID, key.service_id.is_some());
    derived.set(KeyFlags::HAS_NAME, key.name.is_some());
    // Without a name the flag of its type stands for nothing.
    if key.name.is_some() || key.name_type.is_some() {
        derived.set(KeyFlags::HAS_NAME_TYPE, key.name_type.is_some());
    }
    derived.set(KeyFlags::HAS_FILTER, key.filter.is_some());
    derived.set(KeyFlags::HAS_IDENTIFIER, key.identifier.is_some());
    derived.set(KeyFlags::HAS_ATTRIB, key.attrib.is_some());
    node.check_flags(derived.bits(), 0).map(drop)
}
