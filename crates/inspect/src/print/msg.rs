//! Messages: a line for the class, one for each part, the payload below.

use tapeline_rwf::{
    AckFlags, CloseFlags, DataType, Encoded, GenericFlags, Msg, MsgKey, PostFlags, RefreshFlags,
    RequestFlags, SetDefs, StatusFlags, UpdateFlags,
};

use super::primitive::{qos_text, quoted, short_hex, state_text, user_text};
use super::{Ink, Print, Printed, deeper};
use crate::names::latin1;

/// The names of flags whose part is not shown on a line of its own; bits
/// without a name in hexadecimal.
fn flag_names(msg: &Msg<'_>) -> Vec<String> {
    macro_rules! names {
        ($flags:ty) => {{
            let flags = <$flags>::from_bits_retain(msg.flags());
            let mut rest = flags.bits();
            let mut names = Vec::new();
            for (name, flag) in flags.iter_names() {
                rest &= !flag.bits();
                let has_part = name.starts_with("HAS_");
                if !has_part || matches!(name, "HAS_VIEW" | "HAS_BATCH") {
                    names.push(name.to_owned());
                }
            }
            if rest != 0 {
                names.push(format!("{rest:#06x}"));
            }
            names
        }};
    }
    match msg {
        Msg::Request(_) => names!(RequestFlags),
        Msg::Refresh(_) => names!(RefreshFlags),
        Msg::Status(_) => names!(StatusFlags),
        Msg::Update(_) => names!(UpdateFlags),
        Msg::Close(_) => names!(CloseFlags),
        Msg::Ack(_) => names!(AckFlags),
        Msg::Generic(_) => names!(GenericFlags),
        Msg::Post(_) => names!(PostFlags),
    }
}

impl Print<'_> {
    pub(super) fn msg<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        let msg = data.msg()?;
        self.ink(Ink::Head, msg.class());
        self.piece(Ink::Head, msg.domain());
        self.piece(Ink::Value, format_args!("stream {}", msg.stream_id()));
        for name in flag_names(&msg) {
            self.piece(Ink::Aside, name);
        }
        self.end_line();
        self.inside(|print| {
            print.msg_parts(&msg);
            if let Some(key) = msg.key() {
                print.msg_key(key, defs)?;
            }
            if let Some(bytes) = msg.extended_header() {
                print.part("extended header", short_hex(bytes));
            }
            let payload = msg.payload();
            if payload.data_type() == DataType::NO_DATA {
                return Ok(());
            }
            print.begin_line();
            print.data(&payload, &deeper(defs))
        })
    }

    fn optional_part(&mut self, name: &str, value: Option<impl core::fmt::Display>) {
        if let Some(value) = value {
            self.part(name, value);
        }
    }

    fn msg_parts(&mut self, msg: &Msg<'_>) {
        self.optional_part("sequence", msg.seq_num());
        match msg {
            Msg::Request(m) => {
                let priority = m.priority.map(|p| format!("class {} count {}", p.class, p.count));
                self.optional_part("priority", priority);
                self.optional_part("qos", m.qos.as_ref().map(qos_text));
                self.optional_part("worst qos", m.worst_qos.as_ref().map(qos_text));
            }
            Msg::Refresh(m) => {
                self.part("state", state_text(&m.state));
                self.optional_part("part", m.part_num);
                self.optional_part("qos", m.qos.as_ref().map(qos_text));
                self.part("group", short_hex(m.group_id));
                self.optional_part("permission data", m.perm_data.map(short_hex));
                self.optional_part("posted by", m.post_user_info.map(user_text));
            }
            Msg::Status(m) => {
                self.optional_part("state", m.state.as_ref().map(state_text));
                self.optional_part("group", m.group_id.map(short_hex));
                self.optional_part("permission data", m.perm_data.map(short_hex));
                self.optional_part("posted by", m.post_user_info.map(user_text));
            }
            Msg::Update(m) => {
                self.part("type", m.update_type);
                let merged = m.conflation.map(|c| format!("{} in {} ms", c.count, c.time_ms));
                self.optional_part("merged", merged);
                self.optional_part("permission data", m.perm_data.map(short_hex));
                self.optional_part("posted by", m.post_user_info.map(user_text));
            }
            Msg::Close(_) => {}
            Msg::Ack(m) => {
                self.part("ack id", m.ack_id);
                self.optional_part("nak", m.nak_code);
                self.optional_part("text", m.text.map(|text| quoted(&latin1(text))));
            }
            Msg::Generic(m) => {
                self.optional_part("secondary sequence", m.secondary_seq_num);
                self.optional_part("part", m.part_num);
                self.optional_part("permission data", m.perm_data.map(short_hex));
            }
            Msg::Post(m) => {
                self.part("posted by", user_text(m.post_user_info));
                self.optional_part("post id", m.post_id);
                self.optional_part("part", m.part_num);
                let rights = m.user_rights.map(|rights| {
                    rights.iter_names().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
                });
                self.optional_part("user rights", rights);
                self.optional_part("permission data", m.perm_data.map(short_hex));
            }
        }
    }

    fn msg_key<'a>(&mut self, key: &MsgKey<'a>, defs: &SetDefs<'a>) -> Printed {
        self.count()?;
        self.begin_line();
        self.ink(Ink::Name, "key");
        let parts = [
            key.service_id.map(|id| format!("service {id}")),
            key.name.map(|name| format!("name {}", quoted(&latin1(name)))),
            key.name_type.map(|name_type| format!("name type {name_type}")),
            key.filter.map(|filter| format!("filter {filter:#x}")),
            key.identifier.map(|identifier| format!("identifier {identifier}")),
        ];
        for part in parts.into_iter().flatten() {
            self.piece(Ink::Value, part);
        }
        self.end_line();
        let Some(attrib) = &key.attrib else { return Ok(()) };
        self.inside(|print| {
            print.begin_line();
            print.ink(Ink::Name, "attributes");
            print.out.push(' ');
            print.data(attrib, &deeper(defs))
        })
    }
}
