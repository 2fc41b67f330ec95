//! Decoding of the parts of each class, in wire order.

#![allow(clippy::inline_always, reason = "measured: see the reader")]

use crate::decode::Reader;
use crate::error::DecodeError;
use crate::msg::{
    AckFlags, AckMsg, CloseFlags, CloseMsg, Conflation, GenericFlags, GenericMsg, Msg, MsgClass,
    MsgHeader, MsgKey, PostFlags, PostMsg, PostUserInfo, PostUserRights, Priority, RefreshFlags,
    RefreshMsg, RequestFlags, RequestMsg, StatusFlags, StatusMsg, UpdateFlags, UpdateMsg,
};
use crate::{DataType, Domain, Encoded, NakCode, Qos, State, UpdateType};

/// `Some` of what `$read` gives if `$flags` has the flag.
macro_rules! optional {
    ($flags:ident has $flag:expr, $read:expr) => {
        if $flags.contains($flag) { Some($read?) } else { None }
    };
}

/// The same for a part that a minor version appended: if the header ends
/// before it, the flag is dropped.
macro_rules! optional_trailing {
    ($flags:ident has $flag:expr, $reader:ident, $read:expr) => {
        if !$flags.contains($flag) {
            None
        } else if $reader.is_empty() {
            $flags.remove($flag);
            None
        } else {
            Some($read?)
        }
    };
}

/// Updates are most of what there is: they are decoded here, the other classes
/// in functions of their own.
#[inline(always)]
pub(super) fn msg(reader: Reader<'_>) -> Result<Msg<'_>, DecodeError> {
    if let Some((header, update_type, parts, payload)) = usual_update(reader) {
        if let Some(update) = plain_update(header, update_type, parts, payload) {
            return Ok(Msg::Update(update));
        }
        return Ok(Msg::Update(update_parts(header, update_type, parts, payload)?));
    }
    let (header, reader, mut rest) = MsgHeader::read(reader)?;
    let payload = rest.rest(header.container_type);
    class(header, reader, payload)
}

/// The parts of a class, behind the shared part of the header. The functions of
/// the classes, but for update, make the whole message, which then is not copied
/// once more.
#[inline(always)]
pub(super) fn class<'a>(
    header: MsgHeader,
    reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    match header.class {
        MsgClass::Update => Ok(Msg::Update(update(header, reader, payload)?)),
        MsgClass::Refresh => refresh(header, reader, payload),
        MsgClass::Request => request(header, reader, payload),
        MsgClass::Status => status(header, reader, payload),
        MsgClass::Close => close(header, reader, payload),
        MsgClass::Ack => ack(header, reader, payload),
        MsgClass::Generic => generic(header, reader, payload),
        MsgClass::Post => post(header, reader, payload),
    }
}

#[inline(always)]
pub(super) fn update_type(reader: &mut Reader<'_>) -> Result<UpdateType, DecodeError> {
    Ok(UpdateType(reader.u8("update type")?))
}

#[inline(always)]
pub(super) fn seq_num(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
    reader.u32("sequence number")
}

/// The key of an update that has one, past the parts in front of it.
#[inline(always)]
pub(super) fn update_key(
    flags: UpdateFlags,
    mut reader: Reader<'_>,
) -> Result<MsgKey<'_>, DecodeError> {
    update_type(&mut reader)?;
    if flags.contains(UpdateFlags::HAS_SEQ_NUM) {
        seq_num(&mut reader)?;
    }
    if flags.contains(UpdateFlags::HAS_CONF_INFO) {
        conflation(&mut reader)?;
    }
    if flags.contains(UpdateFlags::HAS_PERM_DATA) {
        perm_data(&mut reader)?;
    }
    MsgKey::read(&mut reader)
}

#[inline(always)]
fn extended_header<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    reader.buf8("extended header")
}

#[inline(always)]
fn perm_data<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    reader.buf15("permission data")
}

#[inline(always)]
fn post_user_info(reader: &mut Reader<'_>) -> Result<PostUserInfo, DecodeError> {
    Ok(PostUserInfo {
        address: reader.u32("address of the post user")?,
        user_id: reader.u32("id of the post user")?,
    })
}

#[inline(never)]
fn request<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    let flags = RequestFlags::from_bits_retain(header.flags);
    Ok(Msg::Request(RequestMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        priority: optional!(flags has RequestFlags::HAS_PRIORITY, priority(&mut reader)),
        qos: optional!(flags has RequestFlags::HAS_QOS, Qos::read(&mut reader)),
        worst_qos: optional!(flags has RequestFlags::HAS_WORST_QOS, Qos::read(&mut reader)),
        key: MsgKey::read(&mut reader)?,
        extended_header: optional!(flags has RequestFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader)),
        payload,
    }))
}

#[inline(always)]
fn priority(reader: &mut Reader<'_>) -> Result<Priority, DecodeError> {
    Ok(Priority { class: reader.u8("priority class")?, count: reader.u16_ob("priority count")? })
}

#[inline(never)]
fn refresh<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    let mut flags = RefreshFlags::from_bits_retain(header.flags);
    let seq_num = optional!(flags has RefreshFlags::HAS_SEQ_NUM, seq_num(&mut reader));
    let state = State::read(&mut reader)?;
    let group_id = reader.buf8("group id")?;
    let perm_data = optional!(flags has RefreshFlags::HAS_PERM_DATA, perm_data(&mut reader));
    let qos = optional!(flags has RefreshFlags::HAS_QOS, Qos::read(&mut reader));
    let key = optional!(flags has RefreshFlags::HAS_MSG_KEY, MsgKey::read(&mut reader));
    let extended_header =
        optional!(flags has RefreshFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader));
    let post_user_info = optional_trailing!(
        flags has RefreshFlags::HAS_POST_USER_INFO, reader, post_user_info(&mut reader));
    let part_num = optional_trailing!(
        flags has RefreshFlags::HAS_PART_NUM, reader, reader.u15_rb("part number"));
    Ok(Msg::Refresh(RefreshMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        seq_num,
        state,
        group_id,
        perm_data,
        qos,
        key,
        extended_header,
        post_user_info,
        part_num,
        payload,
    }))
}

#[inline(never)]
fn status<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    let mut flags = StatusFlags::from_bits_retain(header.flags);
    let state = optional!(flags has StatusFlags::HAS_STATE, State::read(&mut reader));
    let group_id = optional!(flags has StatusFlags::HAS_GROUP_ID, reader.buf8("group id"));
    let perm_data = optional!(flags has StatusFlags::HAS_PERM_DATA, perm_data(&mut reader));
    let key = optional!(flags has StatusFlags::HAS_MSG_KEY, MsgKey::read(&mut reader));
    let extended_header =
        optional!(flags has StatusFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader));
    let post_user_info = optional_trailing!(
        flags has StatusFlags::HAS_POST_USER_INFO, reader, post_user_info(&mut reader));
    Ok(Msg::Status(StatusMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        state,
        group_id,
        perm_data,
        key,
        extended_header,
        post_user_info,
        payload,
    }))
}

#[inline(never)]
fn update<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<UpdateMsg<'a>, DecodeError> {
    let update_type = update_type(&mut reader)?;
    update_parts(header, update_type, reader, payload)
}

/// The fixed part of an update with flags of one byte, in one look: its header,
/// its update type, and readers over its parts and its payload. Anything else,
/// damaged updates too, is `None` and read step by step.
#[inline(always)]
fn usual_update(
    mut reader: Reader<'_>,
) -> Option<(MsgHeader, UpdateType, Reader<'_>, Encoded<'_>)> {
    const FIXED: usize = 11;
    let [high, low, class, domain, a, b, c, d, flags, container, update_type] =
        *reader.remaining().first_chunk::<FIXED>()?;
    let payload_start = 2 + usize::from(u16::from_be_bytes([high, low]));
    if MsgClass::from_code(class) != Some(MsgClass::Update)
        || flags >= 0x80
        || payload_start < FIXED
        || payload_start > reader.len()
    {
        return None;
    }
    let container_type = DataType::from_container_code(container);
    reader.bytes(FIXED, "").ok()?;
    let parts = reader.split(payload_start - FIXED, "").ok()?;
    let header = MsgHeader {
        class: MsgClass::Update,
        domain: Domain(domain),
        stream_id: i32::from_be_bytes([a, b, c, d]),
        flags: flags.into(),
        container_type,
        payload_start,
    };
    Some((header, UpdateType(update_type), parts, reader.rest(container_type)))
}

/// An update with no optional part but a sequence number.
#[inline(always)]
fn plain_update<'a>(
    header: MsgHeader,
    update_type: UpdateType,
    mut parts: Reader<'a>,
    payload: Encoded<'a>,
) -> Option<UpdateMsg<'a>> {
    const OPTIONAL: UpdateFlags = UpdateFlags::HAS_CONF_INFO
        .union(UpdateFlags::HAS_PERM_DATA)
        .union(UpdateFlags::HAS_MSG_KEY)
        .union(UpdateFlags::HAS_EXTENDED_HEADER)
        .union(UpdateFlags::HAS_POST_USER_INFO);
    let flags = UpdateFlags::from_bits_retain(header.flags);
    if flags.intersects(OPTIONAL) {
        return None;
    }
    let seq_num = if flags.contains(UpdateFlags::HAS_SEQ_NUM) {
        Some(seq_num(&mut parts).ok()?)
    } else {
        None
    };
    Some(UpdateMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        update_type,
        seq_num,
        conflation: None,
        perm_data: None,
        key: None,
        extended_header: None,
        post_user_info: None,
        payload,
    })
}

#[inline(always)]
fn update_parts<'a>(
    header: MsgHeader,
    update_type: UpdateType,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<UpdateMsg<'a>, DecodeError> {
    let mut flags = UpdateFlags::from_bits_retain(header.flags);
    let seq_num = optional!(flags has UpdateFlags::HAS_SEQ_NUM, seq_num(&mut reader));
    let conflation = optional!(flags has UpdateFlags::HAS_CONF_INFO, conflation(&mut reader));
    let perm_data = optional!(flags has UpdateFlags::HAS_PERM_DATA, perm_data(&mut reader));
    let key = optional!(flags has UpdateFlags::HAS_MSG_KEY, MsgKey::read(&mut reader));
    let extended_header =
        optional!(flags has UpdateFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader));
    let post_user_info = optional_trailing!(
        flags has UpdateFlags::HAS_POST_USER_INFO, reader, post_user_info(&mut reader));
    Ok(UpdateMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        update_type,
        seq_num,
        conflation,
        perm_data,
        key,
        extended_header,
        post_user_info,
        payload,
    })
}

#[inline(always)]
fn conflation(reader: &mut Reader<'_>) -> Result<Conflation, DecodeError> {
    Ok(Conflation {
        count: reader.u15_rb("conflation count")?,
        time_ms: reader.u16("conflation time")?,
    })
}

#[inline(never)]
fn close<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    let flags = CloseFlags::from_bits_retain(header.flags);
    Ok(Msg::Close(CloseMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        extended_header: optional!(flags has CloseFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader)),
        payload,
    }))
}

#[inline(never)]
fn ack<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    let flags = AckFlags::from_bits_retain(header.flags);
    Ok(Msg::Ack(AckMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        ack_id: reader.u32("ack id")?,
        nak_code: optional!(flags has AckFlags::HAS_NAK_CODE, reader.u8("nak code")).map(NakCode),
        text: optional!(flags has AckFlags::HAS_TEXT, reader.buf16("ack text")),
        seq_num: optional!(flags has AckFlags::HAS_SEQ_NUM, seq_num(&mut reader)),
        key: optional!(flags has AckFlags::HAS_MSG_KEY, MsgKey::read(&mut reader)),
        extended_header: optional!(flags has AckFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader)),
        payload,
    }))
}

#[inline(never)]
fn generic<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    let flags = GenericFlags::from_bits_retain(header.flags);
    let seq_num = optional!(flags has GenericFlags::HAS_SEQ_NUM, seq_num(&mut reader));
    let secondary_seq_num = optional!(
        flags has GenericFlags::HAS_SECONDARY_SEQ_NUM, reader.u32("secondary sequence number"));
    let perm_data = optional!(flags has GenericFlags::HAS_PERM_DATA, perm_data(&mut reader));
    let key = optional!(flags has GenericFlags::HAS_MSG_KEY, MsgKey::read(&mut reader));
    let extended_header =
        optional!(flags has GenericFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader));
    let part_num = optional!(flags has GenericFlags::HAS_PART_NUM, reader.u15_rb("part number"));
    Ok(Msg::Generic(GenericMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        seq_num,
        secondary_seq_num,
        perm_data,
        key,
        extended_header,
        part_num,
        payload,
    }))
}

#[inline(never)]
fn post<'a>(
    header: MsgHeader,
    mut reader: Reader<'a>,
    payload: Encoded<'a>,
) -> Result<Msg<'a>, DecodeError> {
    let mut flags = PostFlags::from_bits_retain(header.flags);
    let post_user_info = post_user_info(&mut reader)?;
    let seq_num = optional!(flags has PostFlags::HAS_SEQ_NUM, seq_num(&mut reader));
    let post_id = optional!(flags has PostFlags::HAS_POST_ID, reader.u32("post id"));
    let perm_data = optional!(flags has PostFlags::HAS_PERM_DATA, perm_data(&mut reader));
    let key = optional!(flags has PostFlags::HAS_MSG_KEY, MsgKey::read(&mut reader));
    let extended_header =
        optional!(flags has PostFlags::HAS_EXTENDED_HEADER, extended_header(&mut reader));
    let part_num = optional_trailing!(
        flags has PostFlags::HAS_PART_NUM, reader, reader.u15_rb("part number"));
    let user_rights = optional_trailing!(
        flags has PostFlags::HAS_POST_USER_RIGHTS, reader, reader.u15_rb("post user rights"))
    .map(PostUserRights::from_bits_retain);
    Ok(Msg::Post(PostMsg {
        domain: header.domain,
        stream_id: header.stream_id,
        flags,
        post_user_info,
        seq_num,
        post_id,
        perm_data,
        key,
        extended_header,
        part_num,
        user_rights,
        payload,
    }))
}
