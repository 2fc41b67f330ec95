//! Messages.

use serde_json::Value;

use tapeline_rwf::{DataType, Encoded, Msg, MsgKey, PostUserInfo, SetDefs};

use super::primitive::{qos_node, state_node};
use super::{Describe, Object, inside, object, put, typed};
use crate::InspectError;
use crate::names::{hex, latin1, type_name};

impl Describe<'_> {
    pub(super) fn msg<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        let msg = data.msg()?;
        let payload = msg.payload();
        let mut node = typed(
            DataType::MSG,
            [
                ("class", msg.class().name().into()),
                ("domain", msg.domain().0.into()),
                ("streamId", msg.stream_id().into()),
                ("flags", msg.flags().into()),
                ("containerType", type_name(payload.data_type()).into()),
            ],
        );
        put_parts(&mut node, &msg);
        if let Some(key) = msg.key() {
            node.insert("key".to_owned(), self.key(key, defs)?);
        }
        put(&mut node, "extHdrHex", msg.extended_header().map(hex));
        if payload.data_type() != DataType::NO_DATA {
            node.insert("payload".to_owned(), self.data(&payload, &inside(defs))?);
        }
        Ok(node.into())
    }

    fn key<'a>(&mut self, key: &MsgKey<'a>, defs: &SetDefs<'a>) -> Result<Value, InspectError> {
        self.count()?;
        let mut node = object([("flags", key.flags.bits().into())]);
        put(&mut node, "serviceId", key.service_id);
        put(&mut node, "name", key.name.map(latin1));
        put(&mut node, "nameType", key.name_type);
        put(&mut node, "filter", key.filter);
        put(&mut node, "identifier", key.identifier);
        if let Some(attrib) = &key.attrib {
            node.insert("attrib".to_owned(), self.data(attrib, &inside(defs))?);
        }
        Ok(node.into())
    }
}

/// The parts that belong to the class.
fn put_parts(node: &mut Object, msg: &Msg<'_>) {
    match msg {
        Msg::Request(m) => {
            let priority = m.priority.map(|priority| {
                object([("class", priority.class.into()), ("count", priority.count.into())])
            });
            put(node, "priority", priority);
            put(node, "qos", m.qos.as_ref().map(qos_node));
            put(node, "worstQos", m.worst_qos.as_ref().map(qos_node));
        }
        Msg::Refresh(m) => {
            put(node, "seqNum", m.seq_num);
            put(node, "state", Some(state_node(&m.state)));
            put(node, "groupIdHex", Some(hex(m.group_id)));
            put(node, "permHex", m.perm_data.map(hex));
            put(node, "qos", m.qos.as_ref().map(qos_node));
            put(node, "postUserInfo", m.post_user_info.map(user_info));
            put(node, "partNum", m.part_num);
        }
        Msg::Status(m) => {
            put(node, "state", m.state.as_ref().map(state_node));
            put(node, "groupIdHex", m.group_id.map(hex));
            put(node, "permHex", m.perm_data.map(hex));
            put(node, "postUserInfo", m.post_user_info.map(user_info));
        }
        Msg::Update(m) => {
            put(node, "updateType", Some(m.update_type.0));
            put(node, "seqNum", m.seq_num);
            put(node, "confCount", m.conflation.map(|conflation| conflation.count));
            put(node, "confTime", m.conflation.map(|conflation| conflation.time_ms));
            put(node, "permHex", m.perm_data.map(hex));
            put(node, "postUserInfo", m.post_user_info.map(user_info));
        }
        Msg::Close(_) => {}
        Msg::Ack(m) => {
            put(node, "ackId", Some(m.ack_id));
            put(node, "nakCode", m.nak_code.map(|code| code.0));
            put(node, "text", m.text.map(latin1));
            put(node, "seqNum", m.seq_num);
        }
        Msg::Generic(m) => {
            put(node, "seqNum", m.seq_num);
            put(node, "secondarySeqNum", m.secondary_seq_num);
            put(node, "permHex", m.perm_data.map(hex));
            put(node, "partNum", m.part_num);
        }
        Msg::Post(m) => {
            put(node, "postUserInfo", Some(user_info(m.post_user_info)));
            put(node, "seqNum", m.seq_num);
            put(node, "postId", m.post_id);
            put(node, "permHex", m.perm_data.map(hex));
            put(node, "partNum", m.part_num);
            put(node, "postUserRights", m.user_rights.map(|rights| rights.bits()));
        }
    }
}

fn user_info(info: PostUserInfo) -> Object {
    object([("addr", info.address.into()), ("id", info.user_id.into())])
}
