//! Messages and frames in a line each.

use tapeline_backbone::repair::{Held, HeldFlags, Page};
use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_omm::directory::{DirectoryMsg, FilterContent, FilterEntry, ServiceEntry};
use tapeline_omm::state::MessageApiText;
use tapeline_rwf::{Domain, Msg, MsgKey, RefreshFlags, RequestFlags, State};

fn key(key: Option<&MsgKey<'_>>) -> String {
    let Some(key) = key else { return String::new() };
    let service = key.service_id.map(|id| format!("{id}:")).unwrap_or_default();
    let name = String::from_utf8_lossy(key.name.unwrap_or_default()).into_owned();
    format!(" {service}{name}")
}

fn state(state: &State<'_>) -> String {
    MessageApiText(*state).to_string()
}

/// A message without its domain and payload.
pub(crate) fn message(bytes: &[u8]) -> String {
    let msg = Msg::decode(bytes).expect("the hub sends what can be read");
    let id = msg.stream_id();
    if msg.domain() == Domain::SOURCE && !matches!(msg, Msg::Request(_)) {
        return directory(&msg);
    }
    let key = key(msg.key());
    match &msg {
        Msg::Request(request) if request.domain == Domain::LOGIN => format!("Login {id}{key}"),
        Msg::Request(request) if request.domain == Domain::SOURCE => {
            format!("DirectoryRequest {id} {:#x}", request.key.filter.unwrap_or_default())
        }
        Msg::Request(request) => {
            let mut words = String::new();
            for (flag, word) in [
                (RequestFlags::STREAMING, " streaming"),
                (RequestFlags::NO_REFRESH, " no-refresh"),
                (RequestFlags::PAUSE, " pause"),
                (RequestFlags::PRIVATE_STREAM, " private"),
            ] {
                if request.flags.contains(flag) {
                    words += word;
                }
            }
            let priority = request.priority.filter(|priority| priority.count != 1);
            let priority = priority.map(|p| format!(" priority {}/{}", p.class, p.count));
            let priority = priority.unwrap_or_default();
            format!("Request {id}{key}{words}{priority}")
        }
        Msg::Refresh(refresh) => {
            let mut words = String::new();
            for (flag, word) in [
                (RefreshFlags::CLEAR_CACHE, " clear"),
                (RefreshFlags::REFRESH_COMPLETE, " complete"),
            ] {
                if refresh.flags.contains(flag) {
                    words += word;
                }
            }
            format!("Refresh{key} {}{words}", state(&refresh.state))
        }
        Msg::Status(status) => {
            format!("Status{key} {}", status.state.map(|s| state(&s)).unwrap_or_default())
        }
        Msg::Update(update) => {
            let several = update.conflation.map(|info| format!(" of {}", info.count));
            format!("Update {id}{key} {} bytes{}", bytes.len(), several.unwrap_or_default())
        }
        Msg::Close(_) => format!("Close {id}"),
        Msg::Generic(_) => format!("Generic {id}{key}"),
        Msg::Post(post) => format!("Post {id}{key} id {:?}", post.post_id),
        Msg::Ack(ack) => {
            let code = ack.nak_code.map(|code| format!(" {code}")).unwrap_or_default();
            let text = ack.text.map(String::from_utf8_lossy).unwrap_or_default();
            format!("Ack {}{code} {text}", ack.ack_id).trim_end().to_owned()
        }
    }
}

fn directory(msg: &Msg<'_>) -> String {
    match DirectoryMsg::decode(msg).expect("a directory") {
        DirectoryMsg::Refresh(refresh) => format!("all: {}", services(&refresh.services)),
        DirectoryMsg::Update(update) => format!("change: {}", services(&update.services)),
        other => format!("{other:?}"),
    }
}

fn services(entries: &[ServiceEntry]) -> String {
    let entries: Vec<_> = entries.iter().map(service).collect();
    entries.join("; ")
}

fn service(entry: &ServiceEntry) -> String {
    let mut words = Vec::new();
    for filter in &entry.filters {
        let content = match filter {
            FilterEntry::Content { content, .. } => content,
            FilterEntry::Clear { id } => {
                words.push(format!("clear {id}"));
                continue;
            }
        };
        words.push(match content {
            FilterContent::Info(info) => {
                info.name.as_ref().map(ToString::to_string).unwrap_or_default()
            }
            FilterContent::State(state) => {
                let accepting = state.accepting_requests.unwrap_or(true);
                let up = if state.is_up == Some(true) { "up" } else { "down" };
                let status = if state.status.is_some() { " with status" } else { "" };
                format!("{up}{}{status}", if accepting { "" } else { " closed" })
            }
            FilterContent::Load(load) => {
                let window = load.open_window.map(|window| format!(" window {window}"));
                let window = window.unwrap_or_default();
                format!("load {:?}/{:?}{window}", load.load_factor, load.open_limit)
            }
            FilterContent::Group(_) => "group".to_owned(),
            FilterContent::Data(_) => "data".to_owned(),
            FilterContent::Links(_) => "links".to_owned(),
            FilterContent::Multicast(_) => "multicast".to_owned(),
        });
    }
    format!("{} {}", entry.service_id, words.join(" ")).trim_end().to_owned()
}

/// A page of what is held: the range, and each request with its item.
fn held(body: &[u8]) -> String {
    let (page, entries) = Page::read(body).expect("a page");
    let to = if page.to == u32::MAX { String::new() } else { page.to.to_string() };
    let entries = Held::entries(entries).map(|it| {
        let mut words = String::new();
        for (flag, word) in [(HeldFlags::LIVE, " live"), (HeldFlags::SUSPECT, " suspect")] {
            if it.flags.contains(flag) {
                words += word;
            }
        }
        match it.flags.contains(HeldFlags::ACCEPTED) {
            true => format!(", {} is item {} at {}{words}", it.request, it.item, it.item_seq),
            false => format!(", {} waits", it.request),
        }
    });
    format!("{}..{to}{}", page.from, entries.collect::<String>())
}

/// A frame: to whom, what, and the message in it.
pub(crate) fn frame(header: &FrameHeader, body: &[u8]) -> String {
    let to = match header.target {
        Incarnation::ALL => "all".to_owned(),
        Incarnation(peer) => format!("{peer:X}"),
    };
    let mut words = String::new();
    for (flag, word) in [
        (FrameFlags::IMAGE, " image"),
        (FrameFlags::LAST, " last"),
        (FrameFlags::SNAPSHOT, " snapshot"),
        (FrameFlags::PRIVATE, " private"),
    ] {
        if header.flags.contains(flag) {
            words += word;
        }
    }
    match header.kind {
        Kind::Accept => {
            let request = u32::from_le_bytes(body.try_into().expect("four bytes"));
            format!("{to} accept {request} as item {}", header.item)
        }
        Kind::Item => format!("{to} #{}{words} {}", header.item_seq, message(body)),
        Kind::Defer => format!("{to} defer {}", header.item),
        Kind::Refuse => format!("{to} refuse {} {}", header.item, message(body)),
        Kind::Ack => format!("{to} ack of {} {}", header.item, message(body)),
        Kind::Directory => format!("{to} directory {}", message(body)),
        Kind::WantedRequest => format!("{to} asked what it wants: {}", header.item),
        Kind::Held => format!("{to} held{words}: {}", held(body)),
        kind => format!("{to} {kind:?}"),
    }
}
