//! Encoding of message headers, part by part in wire order.

use crate::encode::{Encoder, Slot};
use crate::error::EncodeError;
use crate::msg::{
    AckFlags, AckMsg, CloseFlags, GenericFlags, GenericMsg, KeyFlags, Msg, MsgKey, PostFlags,
    PostMsg, PostUserInfo, RefreshFlags, RefreshMsg, RequestFlags, RequestMsg, StatusFlags,
    StatusMsg, UpdateFlags, UpdateMsg,
};
use crate::{DataType, Encoded};

/// The type of the attributes of a key, and what writes them in place.
pub(crate) type AttribWriter<'w, 'b> =
    (DataType, &'w mut dyn FnMut(Slot<'_, 'b>) -> Result<(), EncodeError>);

/// Sets each flag exactly when its part is there.
macro_rules! presence {
    ($flags:expr, $($flag:expr => $part:expr),* $(,)?) => {{
        let mut flags = $flags;
        $(flags.set($flag, $part);)*
        flags.bits()
    }};
}

/// Writes the header of a message whose payload is a container of this type.
#[inline]
pub(crate) fn write_header<'b>(
    encoder: &mut Encoder<'b>,
    msg: &Msg<'_>,
    container_type: DataType,
    attrib: Option<AttribWriter<'_, 'b>>,
) -> Result<(), EncodeError> {
    let start = encoder.position();
    let [a, b, c, d] = msg.stream_id().to_be_bytes();
    encoder.chunk([0, 0, msg.class().code(), msg.domain().0, a, b, c, d]);
    let mut parts = Parts { encoder, attrib };
    match msg {
        Msg::Update(update) => parts.update(update, container_type)?,
        Msg::Refresh(refresh) => parts.refresh(refresh, container_type)?,
        Msg::Request(request) => parts.request(request, container_type)?,
        Msg::Status(status) => parts.status(status, container_type)?,
        Msg::Close(close) => {
            let flags = presence!(close.flags,
                CloseFlags::HAS_EXTENDED_HEADER => close.extended_header.is_some());
            parts.begin(flags, container_type)?;
            parts.extended_header(close.extended_header)?;
        }
        Msg::Ack(ack) => parts.ack(ack, container_type)?,
        Msg::Generic(generic) => parts.generic(generic, container_type)?,
        Msg::Post(post) => parts.post(post, container_type)?,
    }
    if parts.attrib.is_some() {
        return Err(EncodeError::Order { what: "attributes of a message without a key" });
    }
    let size = encoder.position() - start - 2;
    let max = 0xFFFF;
    if size > max {
        return Err(EncodeError::TooLong { what: "message header", len: size, max });
    }
    encoder.patch_u16(start, size as u16);
    Ok(())
}

/// Writes parts that several classes have.
struct Parts<'e, 'w, 'b> {
    encoder: &'e mut Encoder<'b>,
    attrib: Option<AttribWriter<'w, 'b>>,
}

impl Parts<'_, '_, '_> {
    #[inline]
    fn begin(&mut self, flags: u16, container_type: DataType) -> Result<(), EncodeError> {
        let container_code = container_type.container_code()?;
        match flags {
            0..0x80 => self.encoder.chunk([flags as u8, container_code]),
            0x80..=0x7FFF => {
                self.encoder.chunk([(flags >> 8) as u8 | 0x80, flags as u8, container_code]);
            }
            _ => return Err(EncodeError::OutOfRange { what: "message flags" }),
        }
        Ok(())
    }

    #[inline]
    fn u32(&mut self, value: Option<u32>) {
        if let Some(value) = value {
            self.encoder.u32(value);
        }
    }

    #[inline]
    fn u15(&mut self, value: Option<u16>, what: &'static str) -> Result<(), EncodeError> {
        value.map_or(Ok(()), |value| self.encoder.u15_rb(value, what))
    }

    #[inline]
    fn perm_data(&mut self, bytes: Option<&[u8]>) -> Result<(), EncodeError> {
        bytes.map_or(Ok(()), |bytes| self.encoder.buf15(bytes, "permission data"))
    }

    #[inline]
    fn extended_header(&mut self, bytes: Option<&[u8]>) -> Result<(), EncodeError> {
        bytes.map_or(Ok(()), |bytes| self.encoder.buf8(bytes, "extended header"))
    }

    #[inline]
    fn post_user_info(&mut self, info: Option<PostUserInfo>) {
        if let Some(info) = info {
            self.encoder.u32(info.address);
            self.encoder.u32(info.user_id);
        }
    }

    /// Whether a key is written: there is one, or attributes for one.
    #[inline]
    fn has_key(&self, key: Option<&MsgKey<'_>>) -> bool {
        key.is_some() || self.attrib.is_some()
    }

    #[inline]
    fn key(&mut self, key: Option<&MsgKey<'_>>) -> Result<(), EncodeError> {
        match key {
            Some(key) => self.write_key(key),
            None if self.attrib.is_some() => self.write_key(&MsgKey::EMPTY),
            None => Ok(()),
        }
    }

    fn write_key(&mut self, key: &MsgKey<'_>) -> Result<(), EncodeError> {
        let size_at = self.encoder.position();
        self.encoder.u16(0);
        // A name type without a name is a flag without a part.
        let without_name = key.name.is_none() && key.flags.contains(KeyFlags::HAS_NAME_TYPE);
        let flags = presence!(key.flags,
            KeyFlags::HAS_SERVICE_ID => key.service_id.is_some(),
            KeyFlags::HAS_NAME => key.name.is_some(),
            KeyFlags::HAS_NAME_TYPE => key.name_type.is_some() || without_name,
            KeyFlags::HAS_FILTER => key.filter.is_some(),
            KeyFlags::HAS_IDENTIFIER => key.identifier.is_some(),
            KeyFlags::HAS_ATTRIB => key.attrib.is_some() || self.attrib.is_some());
        self.encoder.u15_rb(flags, "message key flags")?;
        if let Some(service_id) = key.service_id {
            self.encoder.u16_ob(service_id);
        }
        if let Some(name) = key.name {
            self.encoder.buf8(name, "name in the message key")?;
            if let Some(name_type) = key.name_type {
                self.encoder.u8(name_type);
            }
        } else if key.name_type.is_some() {
            return Err(EncodeError::Order { what: "a name type without a name" });
        }
        self.u32(key.filter);
        self.u32(key.identifier.map(|identifier| identifier as u32));
        self.attrib(key.attrib.as_ref())?;
        let size = self.encoder.position() - size_at - 2;
        let max = 0x7FFF;
        if size > max {
            return Err(EncodeError::TooLong { what: "message key", len: size, max });
        }
        self.encoder.patch_u16(size_at, size as u16 | 0x8000);
        Ok(())
    }

    fn attrib(&mut self, given: Option<&Encoded<'_>>) -> Result<(), EncodeError> {
        if let Some((data_type, write)) = self.attrib.take() {
            self.encoder.u8(data_type.container_code()?);
            if data_type == DataType::NO_DATA {
                return Ok(());
            }
            let level = self.encoder.level();
            write(Slot::attributes(self.encoder, data_type))?;
            return self.encoder.check(level);
        }
        match given {
            None => Ok(()),
            Some(data) => {
                self.encoder.u8(data.data_type().container_code()?);
                match data.data_type() {
                    DataType::NO_DATA => Ok(()),
                    _ => self.encoder.buf15(data.bytes(), "attributes"),
                }
            }
        }
    }

    fn request(&mut self, msg: &RequestMsg<'_>, payload: DataType) -> Result<(), EncodeError> {
        let flags = presence!(msg.flags,
            RequestFlags::HAS_EXTENDED_HEADER => msg.extended_header.is_some(),
            RequestFlags::HAS_PRIORITY => msg.priority.is_some(),
            RequestFlags::HAS_QOS => msg.qos.is_some(),
            RequestFlags::HAS_WORST_QOS => msg.worst_qos.is_some());
        self.begin(flags, payload)?;
        if let Some(priority) = msg.priority {
            self.encoder.u8(priority.class);
            self.encoder.u16_ob(priority.count);
        }
        for qos in [msg.qos, msg.worst_qos].into_iter().flatten() {
            self.encoder.qos(&qos)?;
        }
        self.write_key(&msg.key)?;
        self.extended_header(msg.extended_header)
    }

    fn refresh(&mut self, msg: &RefreshMsg<'_>, payload: DataType) -> Result<(), EncodeError> {
        let flags = presence!(msg.flags,
            RefreshFlags::HAS_EXTENDED_HEADER => msg.extended_header.is_some(),
            RefreshFlags::HAS_PERM_DATA => msg.perm_data.is_some(),
            RefreshFlags::HAS_MSG_KEY => self.has_key(msg.key.as_ref()),
            RefreshFlags::HAS_SEQ_NUM => msg.seq_num.is_some(),
            RefreshFlags::HAS_QOS => msg.qos.is_some(),
            RefreshFlags::HAS_POST_USER_INFO => msg.post_user_info.is_some(),
            RefreshFlags::HAS_PART_NUM => msg.part_num.is_some());
        self.begin(flags, payload)?;
        self.u32(msg.seq_num);
        self.encoder.state(&msg.state)?;
        self.encoder.buf8(msg.group_id, "group id")?;
        self.perm_data(msg.perm_data)?;
        if let Some(qos) = &msg.qos {
            self.encoder.qos(qos)?;
        }
        self.key(msg.key.as_ref())?;
        self.extended_header(msg.extended_header)?;
        self.post_user_info(msg.post_user_info);
        self.u15(msg.part_num, "part number")
    }

    fn status(&mut self, msg: &StatusMsg<'_>, payload: DataType) -> Result<(), EncodeError> {
        let flags = presence!(msg.flags,
            StatusFlags::HAS_EXTENDED_HEADER => msg.extended_header.is_some(),
            StatusFlags::HAS_PERM_DATA => msg.perm_data.is_some(),
            StatusFlags::HAS_MSG_KEY => self.has_key(msg.key.as_ref()),
            StatusFlags::HAS_GROUP_ID => msg.group_id.is_some(),
            StatusFlags::HAS_STATE => msg.state.is_some(),
            StatusFlags::HAS_POST_USER_INFO => msg.post_user_info.is_some());
        self.begin(flags, payload)?;
        if let Some(state) = &msg.state {
            self.encoder.state(state)?;
        }
        if let Some(group_id) = msg.group_id {
            self.encoder.buf8(group_id, "group id")?;
        }
        self.perm_data(msg.perm_data)?;
        self.key(msg.key.as_ref())?;
        self.extended_header(msg.extended_header)?;
        self.post_user_info(msg.post_user_info);
        Ok(())
    }

    #[inline]
    fn update(&mut self, msg: &UpdateMsg<'_>, payload: DataType) -> Result<(), EncodeError> {
        let flags = presence!(msg.flags,
            UpdateFlags::HAS_EXTENDED_HEADER => msg.extended_header.is_some(),
            UpdateFlags::HAS_PERM_DATA => msg.perm_data.is_some(),
            UpdateFlags::HAS_MSG_KEY => self.has_key(msg.key.as_ref()),
            UpdateFlags::HAS_SEQ_NUM => msg.seq_num.is_some(),
            UpdateFlags::HAS_CONF_INFO => msg.conflation.is_some(),
            UpdateFlags::HAS_POST_USER_INFO => msg.post_user_info.is_some());
        self.begin(flags, payload)?;
        self.encoder.u8(msg.update_type.0);
        self.u32(msg.seq_num);
        if let Some(conflation) = msg.conflation {
            self.encoder.u15_rb(conflation.count, "conflation count")?;
            self.encoder.u16(conflation.time_ms);
        }
        self.perm_data(msg.perm_data)?;
        self.key(msg.key.as_ref())?;
        self.extended_header(msg.extended_header)?;
        self.post_user_info(msg.post_user_info);
        Ok(())
    }

    fn ack(&mut self, msg: &AckMsg<'_>, payload: DataType) -> Result<(), EncodeError> {
        let flags = presence!(msg.flags,
            AckFlags::HAS_EXTENDED_HEADER => msg.extended_header.is_some(),
            AckFlags::HAS_TEXT => msg.text.is_some(),
            AckFlags::HAS_SEQ_NUM => msg.seq_num.is_some(),
            AckFlags::HAS_MSG_KEY => self.has_key(msg.key.as_ref()),
            AckFlags::HAS_NAK_CODE => msg.nak_code.is_some());
        self.begin(flags, payload)?;
        self.encoder.u32(msg.ack_id);
        if let Some(code) = msg.nak_code {
            self.encoder.u8(code.0);
        }
        if let Some(text) = msg.text {
            self.encoder.buf16(text, "ack text")?;
        }
        self.u32(msg.seq_num);
        self.key(msg.key.as_ref())?;
        self.extended_header(msg.extended_header)
    }

    fn generic(&mut self, msg: &GenericMsg<'_>, payload: DataType) -> Result<(), EncodeError> {
        let flags = presence!(msg.flags,
            GenericFlags::HAS_EXTENDED_HEADER => msg.extended_header.is_some(),
            GenericFlags::HAS_PERM_DATA => msg.perm_data.is_some(),
            GenericFlags::HAS_MSG_KEY => self.has_key(msg.key.as_ref()),
            GenericFlags::HAS_SEQ_NUM => msg.seq_num.is_some(),
            GenericFlags::HAS_SECONDARY_SEQ_NUM => msg.secondary_seq_num.is_some(),
            GenericFlags::HAS_PART_NUM => msg.part_num.is_some());
        self.begin(flags, payload)?;
        self.u32(msg.seq_num);
        self.u32(msg.secondary_seq_num);
        self.perm_data(msg.perm_data)?;
        self.key(msg.key.as_ref())?;
        self.extended_header(msg.extended_header)?;
        self.u15(msg.part_num, "part number")
    }

    fn post(&mut self, msg: &PostMsg<'_>, payload: DataType) -> Result<(), EncodeError> {
        let flags = presence!(msg.flags,
            PostFlags::HAS_EXTENDED_HEADER => msg.extended_header.is_some(),
            PostFlags::HAS_POST_ID => msg.post_id.is_some(),
            PostFlags::HAS_MSG_KEY => self.has_key(msg.key.as_ref()),
            PostFlags::HAS_SEQ_NUM => msg.seq_num.is_some(),
            PostFlags::HAS_PERM_DATA => msg.perm_data.is_some(),
            PostFlags::HAS_PART_NUM => msg.part_num.is_some(),
            PostFlags::HAS_POST_USER_RIGHTS => msg.user_rights.is_some());
        self.begin(flags, payload)?;
        self.post_user_info(Some(msg.post_user_info));
        self.u32(msg.seq_num);
        self.u32(msg.post_id);
        self.perm_data(msg.perm_data)?;
        self.key(msg.key.as_ref())?;
        self.extended_header(msg.extended_header)?;
        self.u15(msg.part_num, "part number")?;
        self.u15(msg.user_rights.map(|rights| rights.bits()), "post user rights")
    }
}
