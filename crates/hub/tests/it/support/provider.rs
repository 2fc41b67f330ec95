//! What fake providers say.

use tapeline_omm::directory::{
    DirectoryRefresh, DirectoryUpdate, FilterContent, FilterEntry, ServiceEntry, ServiceInfo,
    ServiceLoad, ServiceState,
};
use tapeline_omm::login::{LoginAttributes, LoginRefresh, LoginRequest};
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, FieldListHead, Msg, MsgKey, Qos, Real, RefreshFlags,
    RefreshMsg, State, StatusMsg, UpdateMsg,
};

use tapeline_channel::SessionId;
use tapeline_hub::Event;

use super::encode;

pub(crate) fn written(write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 8192];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("it can be written");
    let len = encoder.finish().expect("the buffer is large enough");
    buffer.truncate(len);
    buffer
}

/// A login that is accepted, with posts and pauses.
pub(crate) fn login_accepted() -> Vec<u8> {
    let mut refresh = LoginRefresh::accept(&LoginRequest::new(1, "tapeline"), "welcome");
    refresh.features.support_post = Some(true);
    refresh.features.support_optimized_pause_resume = Some(true);
    written(|encoder| refresh.encode(encoder))
}

/// The login of a non-interactive provider.
pub(crate) fn provider_login() -> Vec<u8> {
    let mut request = LoginRequest::new(1, "publisher");
    request.attributes.role = Some(LoginAttributes::PROVIDER);
    written(|encoder| request.encode(encoder))
}

/// What the service FEED is.
pub(crate) fn info(name: &str) -> ServiceInfo {
    ServiceInfo {
        name: Some(name.into()),
        capabilities: Some(vec![Domain::MARKET_PRICE, Domain::DICTIONARY]),
        qos: Some(vec![Qos::REALTIME_TICK_BY_TICK]),
        ..ServiceInfo::default()
    }
}

pub(crate) fn service(id: u16, name: &str, is_up: bool) -> ServiceEntry {
    let filters = vec![
        FilterEntry::set(FilterContent::Info(info(name))),
        FilterEntry::set(FilterContent::State(ServiceState::new(is_up, true))),
    ];
    ServiceEntry::add(id, filters)
}

/// The service FEED, up.
pub(crate) fn feed(id: u16) -> ServiceEntry {
    service(id, "FEED", true)
}

/// FEED with a load filter.
pub(crate) fn loaded_feed(load: ServiceLoad) -> ServiceEntry {
    let mut entry = feed(1);
    entry.filters.push(FilterEntry::set(FilterContent::Load(load)));
    entry
}

/// A whole directory on the hub's stream of it.
pub(crate) fn directory(services: &[ServiceEntry]) -> Vec<u8> {
    directory_on(2, services)
}

/// A whole directory on any stream.
pub(crate) fn directory_on(stream_id: i32, services: &[ServiceEntry]) -> Vec<u8> {
    let refresh = DirectoryRefresh {
        stream_id,
        solicited: stream_id > 0,
        clear_cache: true,
        state: State::open_ok("").into(),
        filter: tapeline_omm::directory::DirectoryFilter::USUAL,
        service_id: None,
        services: services.to_vec(),
    };
    written(|encoder| refresh.encode(encoder))
}

/// A change of services.
pub(crate) fn directory_update(services: &[ServiceEntry]) -> Vec<u8> {
    let update = DirectoryUpdate::new(2, services.to_vec());
    written(|encoder| update.encode(encoder))
}

/// A change of one filter of a service.
pub(crate) fn change(content: FilterContent) -> Vec<u8> {
    directory_update(&[ServiceEntry::update(1, vec![FilterEntry::update(content)])])
}

fn fields(head: &Msg<'_>, bid: i64) -> Vec<u8> {
    written(|encoder| {
        let payload = encoder.begin(head, DataType::FIELD_LIST)?;
        let mut fields = payload.field_list(&FieldListHead::STANDARD)?;
        fields.put(22, Real::decimal(bid, 2))?;
        fields.finish()
    })
}

/// An image of one part, with its key.
pub(crate) fn refresh(stream_id: i32, name: &str) -> Vec<u8> {
    refresh_with(stream_id, name, |_| {})
}

/// An image that a scenario changes.
pub(crate) fn refresh_with<'m>(
    stream_id: i32,
    name: &'m str,
    change: impl FnOnce(&mut RefreshMsg<'m>),
) -> Vec<u8> {
    let mut msg = RefreshMsg {
        flags: RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE,
        state: State::open_ok("All is well"),
        key: Some(MsgKey::item(1, name)),
        qos: Some(Qos::REALTIME_TICK_BY_TICK),
        ..RefreshMsg::new(Domain::MARKET_PRICE, stream_id)
    };
    change(&mut msg);
    fields(&msg.into(), 4512)
}

/// An image of several parts: this one.
pub(crate) fn part(stream_id: i32, number: u16, is_last: bool) -> Vec<u8> {
    refresh_with(stream_id, "TRI.N", |msg| {
        msg.part_num = Some(number);
        msg.flags.set(RefreshFlags::REFRESH_COMPLETE, is_last);
    })
}

/// An update without a key.
pub(crate) fn update(stream_id: i32, bid: i64) -> Vec<u8> {
    fields(&UpdateMsg::new(Domain::MARKET_PRICE, stream_id).into(), bid)
}

/// An update with this header.
pub(crate) fn update_of(head: UpdateMsg<'_>, bid: i64) -> Vec<u8> {
    fields(&head.into(), bid)
}

/// A status.
pub(crate) fn status(stream_id: i32, state: State<'_>) -> Vec<u8> {
    let msg = StatusMsg { state: Some(state), ..StatusMsg::new(Domain::MARKET_PRICE, stream_id) };
    encode(&msg.into())
}

/// A status that names its item.
pub(crate) fn status_of(stream_id: i32, name: &str, state: State<'_>) -> Vec<u8> {
    let key = Some(MsgKey::item(1, name));
    let msg =
        StatusMsg { state: Some(state), key, ..StatusMsg::new(Domain::MARKET_PRICE, stream_id) };
    encode(&msg.into())
}

/// A non-interactive provider connects.
pub(crate) fn opened(session: SessionId) -> Event<'static> {
    Event::ProviderOpened { session, peer: ([10, 0, 0, 1], 1000).into() }
}
