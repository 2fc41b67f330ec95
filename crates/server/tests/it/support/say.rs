//! Messages as consumers and hubs send them.

use tapeline_omm::directory::{
    ConsumerStatus, ConsumerStatusEntry, DirectoryFilter, DirectoryRefresh, DirectoryRequest,
    DirectoryUpdate, FilterContent, FilterEntry, ServiceEntry, ServiceInfo, ServiceState,
};
use tapeline_omm::login::{ConsumerConnectionStatus, LoginRequest, WarmStandbyMode};
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{
    CloseMsg, DataState, DataType, Domain, Encoder, FieldListHead, GenericMsg, MapAction, Msg,
    MsgKey, PostFlags, PostMsg, Priority, Real, RefreshFlags, RefreshMsg, RequestFlags, RequestMsg,
    State, StateCode, StatusMsg, StreamState, UpdateMsg, UpdateType,
};

/// Encodes into a buffer of its own.
pub fn built(write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 17];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder);
    let len = encoder.finish().expect("room");
    buffer.truncate(len);
    buffer
}

pub fn bytes(msg: impl Into<Msg<'static>>) -> Vec<u8> {
    encoded(&msg.into())
}

pub fn encoded(msg: &Msg<'_>) -> Vec<u8> {
    built(|encoder| encoder.message(msg).expect("room"))
}

pub fn login(stream_id: i32, user: &str) -> Vec<u8> {
    login_of(&LoginRequest::new(stream_id, user))
}

pub fn login_of(request: &LoginRequest) -> Vec<u8> {
    built(|encoder| request.encode(encoder).expect("room"))
}

/// A login that asks for these two.
pub fn login_with(single_open: bool, allow_suspect_data: bool) -> Vec<u8> {
    let mut request = LoginRequest::new(1, "user");
    request.attributes.single_open = Some(single_open);
    request.attributes.allow_suspect_data = Some(allow_suspect_data);
    login_of(&request)
}

pub fn directory_request(stream_id: i32) -> Vec<u8> {
    let request = DirectoryRequest::new(stream_id, DirectoryFilter::USUAL);
    built(|encoder| request.encode(encoder).expect("room"))
}

/// A streaming request for a market price item of service 1.
pub fn request(stream_id: i32, name: &str) -> Vec<u8> {
    item_request(stream_id, name, |_| {})
}

pub fn item_request(
    stream_id: i32,
    name: &str,
    change: impl FnOnce(&mut ItemRequest<'_>),
) -> Vec<u8> {
    request_with(stream_id, name, &RequestPayload::NONE, change)
}

pub fn request_with(
    stream_id: i32,
    name: &str,
    payload: &RequestPayload<'_>,
    change: impl FnOnce(&mut ItemRequest<'_>),
) -> Vec<u8> {
    let key = MsgKey { service_id: Some(1), name: Some(name.as_bytes()), ..MsgKey::EMPTY };
    let mut request = ItemRequest::new(Domain::MARKET_PRICE, stream_id, key);
    change(&mut request);
    built(|encoder| request.encode(encoder, payload).expect("room"))
}

pub fn with_priority(class: u8, count: u16) -> Priority {
    Priority { class, count }
}

pub fn dictionary_request(stream_id: i32, name: &str, filter: u32) -> Vec<u8> {
    let key = MsgKey {
        service_id: Some(1),
        name: Some(name.as_bytes()),
        filter: Some(filter),
        ..MsgKey::EMPTY
    };
    let msg = RequestMsg {
        flags: RequestFlags::STREAMING,
        key,
        ..RequestMsg::new(Domain::DICTIONARY, stream_id)
    };
    encoded(&msg.into())
}

pub fn close(stream_id: i32) -> Vec<u8> {
    bytes(CloseMsg::new(Domain::MARKET_PRICE, stream_id))
}

pub fn with_fields(head: &Msg<'_>, fields: &[(i16, i64)]) -> Vec<u8> {
    built(|encoder| {
        let payload = encoder.begin(head, DataType::FIELD_LIST).expect("room");
        let mut list = payload.field_list(&FieldListHead::STANDARD).expect("room");
        for (field_id, value) in fields {
            list.put(*field_id, Real::decimal(*value, 0)).expect("room");
        }
        list.finish().expect("room");
    })
}

/// An image as hubs send it: one part, open and ok.
pub fn image(fields: &[(i16, i64)]) -> Vec<u8> {
    image_of(State::open_ok("All is well"), fields)
}

pub fn image_of(state: State<'_>, fields: &[(i16, i64)]) -> Vec<u8> {
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let head = RefreshMsg { flags, state, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    with_fields(&head.into(), fields)
}

/// An image that does not say that what was before it is void.
pub fn image_unclear(fields: &[(i16, i64)]) -> Vec<u8> {
    let (flags, state) = (RefreshFlags::REFRESH_COMPLETE, State::open_ok("All is well"));
    let head = RefreshMsg { flags, state, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    with_fields(&head.into(), fields)
}

/// A part of an image.
pub fn image_part(number: u16, is_last: bool, fields: &[(i16, i64)]) -> Vec<u8> {
    let mut flags = RefreshFlags::empty();
    flags.set(RefreshFlags::REFRESH_COMPLETE, is_last);
    flags.set(RefreshFlags::CLEAR_CACHE, number == 0);
    let head =
        RefreshMsg { flags, part_num: Some(number), ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    with_fields(&head.into(), fields)
}

pub fn update(fields: &[(i16, i64)]) -> Vec<u8> {
    update_of(UpdateType::QUOTE, fields)
}

pub fn update_of(update_type: UpdateType, fields: &[(i16, i64)]) -> Vec<u8> {
    let head = UpdateMsg { update_type, ..UpdateMsg::new(Domain::MARKET_PRICE, 0) };
    with_fields(&head.into(), fields)
}

pub fn update_msg(head: UpdateMsg<'_>, fields: &[(i16, i64)]) -> Vec<u8> {
    with_fields(&head.into(), fields)
}

pub fn status(stream: StreamState, data: DataState, text: &str) -> Vec<u8> {
    let state = State::new(stream, data, StateCode::NONE, text);
    encoded(&StatusMsg { state: Some(state), ..StatusMsg::new(Domain::MARKET_PRICE, 0) }.into())
}

pub fn generic(stream_id: i32, name: &str) -> Vec<u8> {
    let key = MsgKey { name: Some(name.as_bytes()), ..MsgKey::EMPTY };
    let msg = GenericMsg { key: Some(key), ..GenericMsg::new(Domain::MARKET_PRICE, stream_id) };
    encoded(&msg.into())
}

/// A post of one part that wants an ack.
pub fn post(stream_id: i32, post_id: u32, key: Option<MsgKey<'_>>) -> Vec<u8> {
    let head = PostMsg {
        flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
        post_id: Some(post_id),
        seq_num: Some(post_id + 1),
        key,
        ..PostMsg::new(Domain::MARKET_PRICE, stream_id)
    };
    with_fields(&head.into(), &[(22, 7)])
}

/// A client gives the server a role, on its login.
pub fn login_role(mode: WarmStandbyMode) -> Vec<u8> {
    let status =
        ConsumerConnectionStatus { stream_id: 1, action: Some(MapAction::ADD), mode: Some(mode) };
    built(|encoder| status.encode(encoder).expect("room"))
}

/// A client gives the server a role with a service, on its directory; `None`
/// takes it back.
pub fn service_role(stream_id: i32, service_id: u16, mode: Option<WarmStandbyMode>) -> Vec<u8> {
    let entry = ConsumerStatusEntry {
        action: if mode.is_some() { MapAction::ADD } else { MapAction::DELETE },
        service_id,
        source_mirroring: None,
        warm_standby: mode,
    };
    let status = ConsumerStatus { stream_id, entries: vec![entry] };
    built(|encoder| status.encode(encoder).expect("room"))
}

/// A service as a hub describes it: it offers prices and a list of names.
pub fn service(id: u16, name: &str, is_up: bool) -> ServiceEntry {
    let info = ServiceInfo {
        name: Some(name.into()),
        vendor: Some("Vendor".into()),
        capabilities: Some(vec![
            Domain::MARKET_PRICE,
            Domain::MARKET_BY_PRICE,
            Domain::SYMBOL_LIST,
        ]),
        ..ServiceInfo::default()
    };
    ServiceEntry::add(id, vec![FilterEntry::set(FilterContent::Info(info)), state_filter(is_up)])
}

fn state_filter(is_up: bool) -> FilterEntry {
    FilterEntry::set(FilterContent::State(ServiceState::new(is_up, true)))
}

/// A service goes up or down.
pub fn service_state(id: u16, is_up: bool) -> ServiceEntry {
    ServiceEntry::update(id, vec![state_filter(is_up)])
}

pub fn directory_refresh(services: Vec<ServiceEntry>) -> Vec<u8> {
    let refresh = DirectoryRefresh {
        stream_id: 0,
        solicited: true,
        clear_cache: true,
        state: State::open_ok("").into(),
        filter: DirectoryFilter::USUAL,
        service_id: None,
        services,
    };
    built(|encoder| refresh.encode(encoder).expect("room"))
}

pub fn directory_update(services: Vec<ServiceEntry>) -> Vec<u8> {
    built(|encoder| DirectoryUpdate::new(0, services).encode(encoder).expect("room"))
}
