//! A publisher, its hub simulated in memory.

use std::time::Duration;

use tapeline_api::{
    ApiError, Flow, ItemHandle, Login, NoPayload, PublishSpec, PublisherConfig, PublisherCore,
    PublisherEvent, PublisherInput, PublisherOutputs, RefreshHead, Server, ServiceSpec, StatusHead,
    Submissions, UpdateHead, encode_update,
};
use tapeline_channel::Sent;
use tapeline_omm::directory::{
    DirectoryMsg, FilterContent, FilterEntry, ServiceEntry, ServiceState,
};
use tapeline_omm::login::{LoginMsg, LoginRefresh, LoginStatus};
use tapeline_omm::market::{Part, image};
use tapeline_rwf::{
    DataState, Domain, Encoder, Msg, MsgKey, Real, RefreshFlags, State, StateCode, StreamState,
};
use tapeline_time::Time;

/// What the publisher did.
#[derive(Debug, Default)]
struct Wire {
    dialled: Vec<usize>,
    sent: Vec<Vec<u8>>,
    disconnected: Vec<String>,
    /// After so many messages the hub is slow.
    room: Option<usize>,
    /// Nothing is taken.
    is_full: bool,
}

impl PublisherOutputs for Wire {
    fn connect(&mut self, server: usize) {
        self.dialled.push(server);
    }

    fn send(&mut self, message: &[u8]) -> Sent {
        if self.is_full {
            return Sent::Full;
        }
        self.sent.push(message.to_vec());
        match &mut self.room {
            Some(0 | 1) => Sent::Slow,
            Some(room) => {
                *room -= 1;
                Sent::Queued
            }
            None => Sent::Queued,
        }
    }

    fn send_on(&mut self, stream_id: i32, message: &[u8]) -> Sent {
        let mut copy = message.to_vec();
        tapeline_rwf::patch_stream_id(&mut copy, stream_id).expect("a message");
        self.send(&copy)
    }

    fn disconnect(&mut self, reason: &str) {
        self.disconnected.push(reason.to_owned());
    }
}

struct Hub {
    core: PublisherCore,
    wire: Wire,
    told: Vec<String>,
    wanted: Vec<ItemHandle>,
    now: Time,
}

impl Hub {
    fn new() -> Self {
        let servers = [Server::new("hub1", 1), Server::new("hub2", 1)];
        let services = [ServiceSpec::new(5, "NI").entry()];
        let config = PublisherConfig::new(servers, Login::new("feed"), services);
        Self {
            core: PublisherCore::new(config),
            wire: Wire::default(),
            told: Vec::new(),
            wanted: Vec::new(),
            now: Time::ZERO,
        }
    }

    fn run(&mut self, input: Option<PublisherInput<'_>>) {
        let (told, wanted) = (&mut self.told, &mut self.wanted);
        let mut handler = |event: PublisherEvent<'_>, _: &mut Submissions<'_>| match event {
            PublisherEvent::RefreshWanted { item } => wanted.push(item),
            PublisherEvent::Up { server } => told.push(format!("up {server}")),
            PublisherEvent::Down { server, reason, .. } => {
                told.push(format!("down {server}: {reason}"));
            }
            PublisherEvent::Ready => told.push("ready".to_owned()),
            PublisherEvent::Login { state, .. } => told.push(format!("login {}", state.stream)),
            PublisherEvent::Generic { .. } | PublisherEvent::Drained => {}
        };
        match input {
            Some(input) => self.core.handle(self.now, input, &mut self.wire, &mut handler),
            None => self.core.handle_timeout(self.now, &mut self.wire, &mut handler),
        }
    }

    fn with<R>(&mut self, publish: impl FnOnce(&mut Submissions<'_>) -> R) -> R {
        publish(&mut self.core.submissions(&mut self.wire))
    }

    /// Dials and opens the connection; gives the login request.
    fn connect(&mut self) -> tapeline_omm::login::LoginRequest {
        self.run(None);
        self.run(Some(PublisherInput::Opened));
        let login = self.wire.sent.pop().expect("a login");
        let msg = Msg::decode(&login).expect("a message");
        let LoginMsg::Request(request) = LoginMsg::decode(&msg).expect("valid") else {
            panic!("a request")
        };
        request
    }

    fn log_in(&mut self) {
        let request = self.connect();
        let refresh = LoginRefresh::accept(&request, "welcome");
        let bytes = encoded(|encoder| refresh.encode(encoder));
        self.run(Some(PublisherInput::Message(&bytes)));
    }

    fn lose(&mut self) {
        self.run(Some(PublisherInput::Closed { reason: "lost" }));
    }

    /// What was sent since the last look: class, stream, name and state.
    fn seen(&mut self) -> Vec<String> {
        let sent = core::mem::take(&mut self.wire.sent);
        sent.iter().map(|bytes| describe(&Msg::decode(bytes).expect("a message"))).collect()
    }
}

fn encoded(
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), tapeline_rwf::EncodeError>,
) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("valid");
    encoder.finish_bytes().expect("room").to_vec()
}

fn describe(msg: &Msg<'_>) -> String {
    let name = msg.key().and_then(|key| key.name).map(String::from_utf8_lossy);
    let state = match msg {
        Msg::Refresh(refresh) => Some(refresh.state),
        Msg::Status(status) => status.state,
        _ => None,
    };
    let state = state.map(|state| format!("{}/{}", state.stream, state.data));
    let (name, state) = (name.unwrap_or_default(), state.unwrap_or_default());
    let line = format!("{} {} {name} {state}", msg.class(), msg.stream_id());
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn bid(value: i64) -> [(i16, tapeline_rwf::Primitive<'static>); 1] {
    [(22, Real::decimal(value, 2).into())]
}

fn publish(hub: &mut Hub, name: &str) -> ItemHandle {
    hub.with(|submissions| {
        let item = submissions.open(&PublishSpec::new("NI", name)).expect("room");
        submissions.refresh(item, &RefreshHead::default(), &bid(1)).expect("kept or sent");
        item
    })
}

#[test]
fn it_logs_in_as_a_provider_and_submits_directory_and_images_in_this_order() {
    let mut hub = Hub::new();
    publish(&mut hub, "A");
    publish(&mut hub, "B");
    let request = hub.connect();
    assert!(request.attributes.is_provider());
    assert!(hub.wire.sent.is_empty(), "nothing before the login is accepted");
    let bytes = encoded(|encoder| LoginRefresh::accept(&request, "").encode(encoder));
    hub.run(Some(PublisherInput::Message(&bytes)));
    let directory = hub.wire.sent[0].clone();
    let msg = Msg::decode(&directory).expect("a message");
    let DirectoryMsg::Refresh(refresh) = DirectoryMsg::decode(&msg).expect("valid") else {
        panic!("a directory")
    };
    assert_eq!((refresh.stream_id, refresh.solicited), (0, false));
    assert_eq!(refresh.services[0].service_id, 5);
    assert_eq!(hub.seen(), ["REFRESH 0 OPEN/OK", "REFRESH -1 A OPEN/OK", "REFRESH -2 B OPEN/OK"]);
    assert_eq!(hub.told, ["up 0", "login OPEN", "ready"]);
}

#[test]
fn half_an_image_that_updates_followed_is_given_up_with_the_connection() {
    let mut hub = Hub::new();
    hub.log_in();
    let part =
        |is_last| RefreshHead { part: Part { number: None, is_last }, ..RefreshHead::default() };
    let item = hub.with(|submissions| {
        let item = submissions.open(&PublishSpec::new("NI", "A")).expect("room");
        submissions.refresh(item, &part(false), &bid(1)).expect("sent");
        submissions.update(item, &UpdateHead::QUOTE, &bid(2)).expect("sent");
        item
    });
    hub.seen();
    hub.lose();
    hub.now = hub.now.after(Duration::from_secs(10));
    hub.log_in();
    assert_eq!(hub.seen(), ["REFRESH 0 OPEN/OK"], "of the image nothing: its rest does not fit");
    assert_eq!(hub.wanted, [item]);
    // What comes next begins another one.
    hub.with(|submissions| submissions.refresh(item, &part(false), &bid(3))).expect("sent");
    let bytes = hub.wire.sent.last().expect("a part").clone();
    let Ok(Msg::Refresh(refresh)) = Msg::decode(&bytes) else { panic!("an image") };
    assert!(refresh.flags.contains(RefreshFlags::CLEAR_CACHE), "{:?}", refresh.flags);
}

#[test]
fn images_carry_key_and_service_and_no_solicited_flag() {
    let mut hub = Hub::new();
    hub.log_in();
    publish(&mut hub, "A");
    let bytes = hub.wire.sent.pop().expect("an image");
    let Ok(Msg::Refresh(refresh)) = Msg::decode(&bytes) else { panic!("an image") };
    assert_eq!(refresh.key.and_then(|key| key.service_id), Some(5));
    assert_eq!(refresh.flags & RefreshFlags::SOLICITED, RefreshFlags::empty());
    assert!(refresh.flags.contains(RefreshFlags::CLEAR_CACHE | RefreshFlags::REFRESH_COMPLETE));
}

#[test]
fn updates_need_an_image_and_a_connection() {
    let mut hub = Hub::new();
    let item = hub.with(|submissions| submissions.open(&PublishSpec::new("NI", "A")));
    let item = item.expect("room");
    let update = |hub: &mut Hub| {
        hub.with(|submissions| submissions.update(item, &UpdateHead::QUOTE, &bid(2)))
    };
    assert!(matches!(update(&mut hub), Err(ApiError::Held(_))));
    hub.with(|submissions| submissions.refresh(item, &RefreshHead::default(), &bid(1)))
        .expect("kept");
    assert!(matches!(update(&mut hub), Err(ApiError::NotConnected)));
    hub.log_in();
    assert_eq!(update(&mut hub).expect("sent"), Flow::Free);
    let mut buffer = Vec::new();
    let head = UpdateHead::TRADE;
    let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &head, &bid(3)).expect("valid");
    hub.with(|submissions| submissions.send(item, &buffer[..len])).expect("sent");
    assert_eq!(hub.seen()[2..], ["UPDATE -1", "UPDATE -1"]);
}

#[test]
fn after_a_loss_all_is_submitted_again_and_old_images_are_suspect() {
    let mut hub = Hub::new();
    hub.log_in();
    let (same, changed) = (publish(&mut hub, "SAME"), publish(&mut hub, "CHANGED"));
    let suspect = publish(&mut hub, "SUSPECT");
    hub.with(|submissions| {
        submissions.update(changed, &UpdateHead::QUOTE, &bid(2)).expect("sent");
        let state = State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "stale");
        submissions.status(suspect, &StatusHead::of(state)).expect("sent");
    });
    hub.seen();
    hub.lose();
    // The next hub at once.
    hub.log_in();
    assert_eq!(hub.wire.dialled, [0, 1]);
    assert_eq!(
        hub.seen(),
        [
            "REFRESH 0 OPEN/OK",
            "REFRESH -1 SAME OPEN/OK",
            "REFRESH -2 CHANGED OPEN/SUSPECT",
            "REFRESH -3 SUSPECT OPEN/OK",
            "STATUS -3 OPEN/SUSPECT",
        ]
    );
    assert_eq!(hub.wanted, [changed]);
    hub.with(|submissions| submissions.refresh(changed, &RefreshHead::default(), &bid(2)))
        .expect("sent");
    assert_eq!(hub.seen(), ["REFRESH -2 CHANGED OPEN/OK"]);
    hub.lose();
    hub.now = hub.now.after(Duration::from_secs(1));
    hub.wanted.clear();
    hub.log_in();
    assert!(hub.wanted.is_empty() && hub.wire.sent.len() == 5);
    let _ = same;
}

#[test]
fn a_slow_hub_gets_the_rest_when_it_has_read() {
    let mut hub = Hub::new();
    let items: Vec<_> = ["A", "B", "C"].map(|name| publish(&mut hub, name)).into();
    // Login, directory, one image.
    hub.wire.room = Some(3);
    hub.log_in();
    assert_eq!(hub.seen(), ["REFRESH 0 OPEN/OK", "REFRESH -1 A OPEN/OK"]);
    assert!(!hub.told.contains(&"ready".to_owned()));
    let early = hub.with(|submissions| submissions.update(items[2], &UpdateHead::QUOTE, &bid(2)));
    assert!(matches!(early, Err(ApiError::NotConnected)), "its image is not there yet");
    hub.wire.room = None;
    hub.run(Some(PublisherInput::Drained));
    assert_eq!(hub.seen(), ["REFRESH -2 B OPEN/OK", "REFRESH -3 C OPEN/SUSPECT"]);
    assert_eq!(hub.wanted, [items[2]]);
    assert_eq!(hub.told.last().map(String::as_str), Some("ready"));
}

#[test]
fn an_image_in_parts_is_kept_in_parts() {
    let mut hub = Hub::new();
    let item = hub.with(|submissions| submissions.open(&PublishSpec::new("NI", "A")));
    let item = item.expect("room");
    for number in 0..3 {
        let part = Part::numbered(number, number == 2);
        let head = RefreshHead { part, ..RefreshHead::default() };
        hub.with(|submissions| submissions.refresh(item, &head, &NoPayload)).expect("kept");
    }
    hub.log_in();
    let parts: Vec<_> = hub.wire.sent[1..]
        .iter()
        .map(|bytes| match Msg::decode(bytes) {
            Ok(Msg::Refresh(refresh)) => refresh.part_num,
            _ => None,
        })
        .collect();
    assert_eq!(parts, [Some(0), Some(1), Some(2)]);
}

#[test]
fn an_image_that_is_encoded_already_gets_the_key_of_its_item() {
    let mut hub = Hub::new();
    hub.log_in();
    hub.seen();
    let item = hub.with(|submissions| submissions.open(&PublishSpec::new("NI", "A")));
    let item = item.expect("room");
    let other = MsgKey::item(9, "OTHER");
    let head = image(Domain::MARKET_PRICE, 77, Some(other), true, Part::ONLY);
    let bytes = encoded(|encoder| encoder.message(&head.into()));
    hub.with(|submissions| submissions.send(item, &bytes)).expect("sent");
    assert_eq!(hub.seen(), ["REFRESH -1 A OPEN/OK"]);
    let close = encoded(|encoder| {
        encoder.message(&tapeline_rwf::CloseMsg::new(Domain::MARKET_PRICE, 5).into())
    });
    let refused = hub.with(|submissions| submissions.send(item, &close));
    assert!(matches!(refused, Err(ApiError::Prepared(_))));
}

#[test]
fn a_closed_item_is_told_once_and_its_stream_used_again() {
    let mut hub = Hub::new();
    hub.log_in();
    let item = publish(&mut hub, "A");
    hub.seen();
    hub.with(|submissions| submissions.close(item, StateCode::NONE, "delisted")).expect("sent");
    assert_eq!(hub.seen(), ["STATUS -1 A CLOSED/SUSPECT"]);
    let again = hub.with(|submissions| submissions.close(item, StateCode::NONE, "delisted"));
    assert!(matches!(again, Err(ApiError::Void)));
    publish(&mut hub, "B");
    assert_eq!(hub.seen(), ["REFRESH -1 B OPEN/OK"]);
}

#[test]
fn a_close_that_is_not_taken_is_sent_when_there_is_room_before_its_stream_is_used_again() {
    let mut hub = Hub::new();
    hub.log_in();
    let (a, b) = (publish(&mut hub, "A"), publish(&mut hub, "B"));
    hub.seen();
    hub.wire.is_full = true;
    let close = |hub: &mut Hub, item| {
        hub.with(|submissions| submissions.close(item, StateCode::NONE, "delisted"))
    };
    assert_eq!(close(&mut hub, a).expect("kept"), Flow::Slow);
    assert!(matches!(close(&mut hub, a), Err(ApiError::Void)));
    // The hub has the image before the one that was not taken.
    let image = |hub: &mut Hub, item| {
        hub.with(|submissions| submissions.refresh(item, &RefreshHead::default(), &bid(2)))
    };
    assert!(matches!(image(&mut hub, b), Err(ApiError::Full)));
    assert_eq!(close(&mut hub, b).expect("kept"), Flow::Slow);
    let new = hub.with(|submissions| submissions.open(&PublishSpec::new("NI", "C")));
    let new = new.expect("room");
    assert!(matches!(image(&mut hub, new), Err(ApiError::Full)));
    hub.wire.is_full = false;
    hub.run(Some(PublisherInput::Drained));
    assert_eq!(hub.seen(), ["STATUS -1 A CLOSED/SUSPECT", "STATUS -2 B CLOSED/SUSPECT"]);
    image(&mut hub, new).expect("sent");
    publish(&mut hub, "D");
    assert_eq!(hub.seen(), ["REFRESH -3 C OPEN/OK", "REFRESH -1 D OPEN/OK"]);
    hub.run(Some(PublisherInput::Drained));
    assert!(hub.seen().is_empty());
}

#[test]
fn a_close_that_waits_is_void_when_the_connection_is_lost() {
    let mut hub = Hub::new();
    hub.log_in();
    let item = publish(&mut hub, "A");
    hub.wire.is_full = true;
    hub.with(|submissions| submissions.close(item, StateCode::NONE, "")).expect("kept");
    hub.lose();
    hub.wire.is_full = false;
    hub.seen();
    publish(&mut hub, "B");
    hub.log_in();
    assert_eq!(hub.seen(), ["REFRESH 0 OPEN/OK", "REFRESH -1 B OPEN/OK"]);
    hub.run(Some(PublisherInput::Drained));
    assert!(hub.seen().is_empty());
}

#[test]
fn the_directory_can_change_with_and_without_a_connection() {
    let mut hub = Hub::new();
    let down = || {
        let state = FilterContent::State(ServiceState::new(false, true));
        vec![ServiceEntry::update(5, vec![FilterEntry::update(state)])]
    };
    hub.with(|submissions| submissions.update_directory(down())).expect("kept");
    hub.log_in();
    let msg = hub.wire.sent.pop().expect("a directory");
    let msg = Msg::decode(&msg).expect("a message");
    let Ok(DirectoryMsg::Refresh(refresh)) = DirectoryMsg::decode(&msg) else {
        panic!("a directory")
    };
    let is_down = |entry: &FilterEntry| {
        *entry == FilterEntry::set(FilterContent::State(ServiceState::new(false, true)))
    };
    assert!(refresh.services[0].filters.iter().any(is_down), "{refresh:?}");
    hub.with(|submissions| submissions.update_directory(down())).expect("sent");
    assert_eq!(hub.seen(), ["UPDATE 0"]);
    let unknown = hub.with(|submissions| submissions.open(&PublishSpec::new("OTHER", "A")));
    assert!(matches!(unknown, Err(ApiError::UnknownService(_))));
}

#[test]
fn a_login_that_is_closed_for_good_is_the_end() {
    let mut hub = Hub::new();
    hub.connect();
    let state = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_ENTITLED, "no");
    let bytes = encoded(|encoder| LoginStatus::new(1, &state).encode(encoder));
    hub.run(Some(PublisherInput::Message(&bytes)));
    assert_eq!(hub.core.next_deadline(), None);
    assert_eq!(hub.wire.disconnected, ["the login was closed"]);
}

#[test]
fn a_login_without_an_answer_is_given_up() {
    let mut hub = Hub::new();
    hub.connect();
    hub.now = hub.core.next_deadline().expect("a time-out");
    assert_eq!(hub.now, Time::ZERO.after(Duration::from_secs(45)));
    hub.run(None);
    assert_eq!(hub.told, ["up 0", "down 0: the login got no answer in time"]);
    hub.run(None);
    assert_eq!(hub.wire.dialled, [0, 1]);
}

/// Publishes a part of an image without a number.
fn publish_part(hub: &mut Hub, item: ItemHandle, value: i64, is_last: bool) {
    let head = RefreshHead { part: Part { number: None, is_last }, ..RefreshHead::default() };
    hub.with(|submissions| submissions.refresh(item, &head, &bid(value))).expect("kept or sent");
}

/// Of the images that were sent since the last look: whether each part clears,
/// and is the last one.
fn parts(hub: &mut Hub) -> Vec<(bool, bool)> {
    let sent = core::mem::take(&mut hub.wire.sent);
    let part = |bytes: &Vec<u8>| match Msg::decode(bytes).expect("a message") {
        Msg::Refresh(refresh) if refresh.domain == Domain::MARKET_PRICE => Some((
            refresh.flags.contains(RefreshFlags::CLEAR_CACHE),
            refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE),
        )),
        _ => None,
    };
    sent.iter().filter_map(part).collect()
}

#[test]
fn the_beginning_of_an_image_goes_before_the_rest_whenever_it_was_published() {
    let mut hub = Hub::new();
    let item = hub.with(|submissions| submissions.open(&PublishSpec::new("NI", "A")));
    let item = item.expect("room");
    publish_part(&mut hub, item, 1, false);
    hub.log_in();
    assert_eq!(parts(&mut hub), [(true, false)]);
    publish_part(&mut hub, item, 2, true);
    assert_eq!(parts(&mut hub), [(false, true)]);
    hub.lose();
    hub.log_in();
    assert_eq!(parts(&mut hub), [(true, false), (false, true)]);
}

#[test]
fn an_update_between_parts_makes_the_image_an_old_one() {
    let mut hub = Hub::new();
    hub.log_in();
    let item = hub.with(|submissions| submissions.open(&PublishSpec::new("NI", "A")));
    let item = item.expect("room");
    publish_part(&mut hub, item, 1, false);
    hub.with(|submissions| submissions.update(item, &UpdateHead::QUOTE, &bid(2))).expect("sent");
    publish_part(&mut hub, item, 3, true);
    hub.lose();
    hub.log_in();
    assert_eq!(hub.wanted, [item]);
}

#[test]
fn behind_a_part_that_there_was_no_room_for_the_rest_is_not_sent() {
    let mut hub = Hub::new();
    hub.log_in();
    let item = hub.with(|submissions| submissions.open(&PublishSpec::new("NI", "A")));
    let item = item.expect("room");
    let part = |hub: &mut Hub, is_last| {
        let head = RefreshHead { part: Part { number: None, is_last }, ..RefreshHead::default() };
        hub.with(|submissions| submissions.refresh(item, &head, &bid(1)))
    };
    hub.wire.is_full = true;
    assert!(matches!(part(&mut hub, false), Err(ApiError::Full)));
    hub.wire.is_full = false;
    assert!(matches!(part(&mut hub, true), Err(ApiError::Full)));
    part(&mut hub, true).expect("another image");
    assert_eq!(parts(&mut hub), [(true, true)]);
}
