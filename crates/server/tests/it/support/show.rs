//! Messages in one line, for comparisons that say what differs.

use std::fmt::Write;

use tapeline_omm::state::MessageApiText;
use tapeline_rwf::{
    AckFlags, DataType, Encoded, Msg, MsgKey, RefreshFlags, RequestFlags, State, StatusFlags,
};

/// `CLASS stream DOMAIN name@service flags state {field=value}`.
pub fn show(bytes: &[u8]) -> String {
    let msg = match Msg::decode(bytes) {
        Ok(msg) => msg,
        Err(error) => return format!("no message: {error}"),
    };
    let mut text = format!("{} {} {}", msg.class(), msg.stream_id(), msg.domain());
    if let Some(key) = msg.key() {
        show_key(&mut text, key);
    }
    match &msg {
        Msg::Refresh(refresh) => {
            show_flag(&mut text, refresh.flags.contains(RefreshFlags::SOLICITED), "solicited");
            let is_complete = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
            show_flag(&mut text, !is_complete, "incomplete");
            show_flag(&mut text, refresh.flags.contains(RefreshFlags::CLEAR_CACHE), "clear");
            show_flag(&mut text, refresh.flags.contains(RefreshFlags::PRIVATE_STREAM), "private");
            if let Some(part) = refresh.part_num {
                let _ = write!(text, " part{part}");
            }
            show_state(&mut text, &refresh.state);
        }
        Msg::Status(status) => {
            show_flag(&mut text, status.flags.contains(StatusFlags::PRIVATE_STREAM), "private");
            if let Some(state) = &status.state {
                show_state(&mut text, state);
            }
        }
        Msg::Update(update) => {
            let _ = write!(text, " {}", update.update_type);
            if let Some(conflation) = update.conflation {
                let _ = write!(text, " merged{}", conflation.count);
            }
        }
        Msg::Request(request) => {
            show_flag(&mut text, request.flags.contains(RequestFlags::STREAMING), "streaming");
            show_flag(&mut text, request.flags.contains(RequestFlags::NO_REFRESH), "no-refresh");
            show_flag(&mut text, request.flags.contains(RequestFlags::PRIVATE_STREAM), "private");
            show_flag(&mut text, request.flags.contains(RequestFlags::PAUSE), "pause");
            if let Some(priority) = request.priority {
                let _ = write!(text, " {}/{}", priority.class, priority.count);
            }
            if let Some(qos) = request.qos {
                let _ = write!(text, " {}/{}", qos.timeliness, qos.rate);
            }
        }
        Msg::Ack(ack) => {
            let _ = write!(text, " id{}", ack.ack_id);
            if let Some(seq_num) = ack.seq_num {
                let _ = write!(text, " seq{seq_num}");
            }
            show_flag(&mut text, ack.flags.contains(AckFlags::PRIVATE_STREAM), "private");
            if let Some(code) = ack.nak_code {
                let reason = String::from_utf8_lossy(ack.text.unwrap_or_default());
                let _ = write!(text, " {code} '{reason}'");
            }
        }
        Msg::Post(post) => {
            let _ = write!(text, " id{}", post.post_id.unwrap_or_default());
        }
        Msg::Generic(_) | Msg::Close(_) => {}
    }
    show_fields(&mut text, &msg.payload());
    text
}

fn show_flag(text: &mut String, is_set: bool, name: &str) {
    if is_set {
        let _ = write!(text, " {name}");
    }
}

fn show_state(text: &mut String, state: &State<'_>) {
    let _ = write!(text, " {}", MessageApiText(*state));
}

fn show_key(text: &mut String, key: &MsgKey<'_>) {
    if let Some(name) = key.name {
        let _ = write!(text, " {}", String::from_utf8_lossy(name));
    }
    if let Some(service_id) = key.service_id {
        let _ = write!(text, "@{service_id}");
    }
}

fn show_fields(text: &mut String, payload: &Encoded<'_>) {
    if payload.data_type() != DataType::FIELD_LIST {
        return;
    }
    let list = payload.field_list().expect("a field list");
    let fields: Vec<_> = list
        .iter()
        .map(|entry| {
            let entry = entry.expect("a field");
            let value = entry.typed(DataType::REAL).real().expect("a real").expect("not blank");
            format!("{}={value}", entry.field_id)
        })
        .collect();
    let _ = write!(text, " {{{}}}", fields.join(" "));
}
