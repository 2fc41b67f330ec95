//! A provider, its clients simulated in memory, message by message.

use std::collections::VecDeque;
use std::sync::Arc;

use tapeline_api::{
    ApiError, Flow, ProviderConfig, ProviderCore, ProviderEvent, ProviderHandler, ProviderInput,
    ProviderOutputs, RefreshHead, Responses, ServiceSpec, StreamHandle, UpdateHead, encode_update,
};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::DictionaryRequest;
use tapeline_omm::StateBuf;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryMsg, DirectoryRequest, FilterContent, FilterEntry, ServiceEntry,
    ServiceState,
};
use tapeline_omm::login::{LoginAttributes, LoginMsg, LoginRequest};
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::qos::QosWish;
use tapeline_rwf::{
    CloseFlags, CloseMsg, DataState, Domain, EncodeError, Encoder, Msg, MsgKey, PostFlags, PostMsg,
    Qos, Rate, Real, State, StateCode, StreamState,
};

const ALICE: SessionId = SessionId { index: 0, generation: 0 };
const BOB: SessionId = SessionId { index: 1, generation: 0 };

#[derive(Debug, Default)]
struct Wire {
    sent: Vec<(SessionId, Vec<u8>)>,
    closed: Vec<(SessionId, String)>,
    /// How the next sends go; queued when there is nothing.
    answers: VecDeque<Sent>,
}

impl ProviderOutputs for Wire {
    fn send(&mut self, client: SessionId, message: &[u8]) -> Sent {
        let sent = self.answers.pop_front().unwrap_or(Sent::Queued);
        if matches!(sent, Sent::Queued | Sent::Slow) {
            self.sent.push((client, message.to_vec()));
        }
        sent
    }

    fn send_on(&mut self, client: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        let mut copy = message.to_vec();
        tapeline_rwf::patch_stream_id(&mut copy, stream_id).expect("a message");
        self.send(client, &copy)
    }

    fn close(&mut self, client: SessionId, reason: &str) {
        self.closed.push((client, reason.to_owned()));
    }
}

/// Notes what it is told; answers nothing.
#[derive(Debug, Default)]
struct Notes {
    told: Vec<String>,
    streams: Vec<StreamHandle>,
}

impl ProviderHandler for Notes {
    fn login(&mut self, _: SessionId, request: &LoginRequest) -> Result<(), StateBuf> {
        match request.user_name == "mallory" {
            true => Err(StateBuf::new(
                StreamState::CLOSED,
                DataState::SUSPECT,
                StateCode::NOT_ENTITLED,
                "no",
            )),
            false => Ok(()),
        }
    }

    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        let name = |stream: StreamHandle| {
            responses.stream(stream).map(|info| info.name.to_string()).unwrap_or_default()
        };
        self.told.push(match event {
            ProviderEvent::Connected { .. } => "connected".to_owned(),
            ProviderEvent::LoggedIn { request, .. } => format!("login {}", request.user_name),
            ProviderEvent::Request { stream, .. } => {
                self.streams.push(stream);
                format!("request {}", name(stream))
            }
            ProviderEvent::Reissue { stream, wants_image, .. } => {
                format!("reissue {} image {wants_image}", name(stream))
            }
            ProviderEvent::Close { stream } => format!("close {}", name(stream)),
            ProviderEvent::Disconnected { reason, .. } => format!("gone: {reason}"),
            ProviderEvent::Post { .. } => "post".to_owned(),
            ProviderEvent::Generic { .. } => "generic".to_owned(),
            ProviderEvent::Drained { .. } => "drained".to_owned(),
        });
    }
}

struct Sim {
    core: ProviderCore,
    wire: Wire,
    notes: Notes,
}

fn encoded(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 8192];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("valid");
    encoder.finish_bytes().expect("room").to_vec()
}

impl Sim {
    fn new() -> Self {
        Self::with(ProviderConfig::new([ServiceSpec::new(1, "FEED").entry()]))
    }

    fn with(config: ProviderConfig) -> Self {
        let core = ProviderCore::new(config);
        Self { core, wire: Wire::default(), notes: Notes::default() }
    }

    fn input(&mut self, input: ProviderInput<'_>) {
        self.core.handle(input, &mut self.wire, &mut self.notes);
    }

    fn send(
        &mut self,
        client: SessionId,
        write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) {
        let message = encoded(write);
        self.input(ProviderInput::Message(client, &message));
    }

    fn msg<'m>(&mut self, client: SessionId, msg: impl Into<Msg<'m>>) {
        let msg = msg.into();
        self.send(client, |encoder| encoder.message(&msg));
    }

    fn log_in(&mut self, client: SessionId) {
        self.input(ProviderInput::Opened(client));
        let login = LoginRequest::new(1, "user");
        self.send(client, |encoder| login.encode(encoder));
        self.wire.sent.clear();
        self.notes.told.clear();
    }

    fn request(&mut self, client: SessionId, stream_id: i32, name: &str) -> Option<StreamHandle> {
        self.ask(client, &ItemRequest::new(Domain::MARKET_PRICE, stream_id, key(name)))
    }

    fn ask(&mut self, client: SessionId, request: &ItemRequest<'_>) -> Option<StreamHandle> {
        let before = self.notes.streams.len();
        self.send(client, |encoder| request.encode(encoder, &RequestPayload::NONE));
        self.notes.streams.get(before).copied()
    }

    fn with_responses<R>(&mut self, send: impl FnOnce(&mut Responses<'_>) -> R) -> R {
        send(&mut self.core.responses(&mut self.wire))
    }

    fn image(&mut self, stream: StreamHandle) -> Result<Flow, ApiError> {
        self.with_responses(|responses| responses.refresh(stream, &RefreshHead::default(), &bid(1)))
    }

    fn told(&mut self) -> Vec<String> {
        core::mem::take(&mut self.notes.told)
    }

    /// What was sent since the last look: class, stream and state.
    fn sent(&mut self) -> Vec<String> {
        let sent = core::mem::take(&mut self.wire.sent);
        sent.iter().map(|(_, bytes)| describe(&Msg::decode(bytes).expect("a message"))).collect()
    }
}

fn key(name: &str) -> MsgKey<'_> {
    MsgKey { service_id: Some(1), name: Some(name.as_bytes()), ..MsgKey::EMPTY }
}

fn bid(value: i64) -> [(i16, tapeline_rwf::Primitive<'static>); 1] {
    [(22, Real::decimal(value, 2).into())]
}

fn describe(msg: &Msg<'_>) -> String {
    let state = match msg {
        Msg::Refresh(refresh) => Some(refresh.state),
        Msg::Status(status) => status.state,
        _ => None,
    };
    let head = format!("{} {}", msg.class(), msg.stream_id());
    match (state, msg) {
        (Some(state), _) => {
            format!("{head} {} {} {}", state.stream, state.code, state.text_lossy())
                .trim_end()
                .to_owned()
        }
        (None, Msg::Ack(ack)) => {
            let text = String::from_utf8_lossy(ack.text.unwrap_or_default()).into_owned();
            format!("{head} {} {text}", ack.ack_id).trim_end().to_owned()
        }
        (None, _) => head,
    }
}

const REFUSED: &str = "CLOSED_RECOVER USAGE_ERROR";

#[test]
fn nobody_gets_anything_before_a_login() {
    let mut sim = Sim::new();
    sim.input(ProviderInput::Opened(ALICE));
    sim.request(ALICE, 5, "A");
    assert_eq!(
        sim.sent(),
        [format!(
            "STATUS 5 {REFUSED} Message rejected - there is no logged in user for this session."
        )]
    );
    let msg = PostMsg::new(Domain::MARKET_PRICE, 5);
    sim.msg(ALICE, msg);
    assert!(sim.sent().is_empty());
    assert_eq!(sim.told(), ["connected"]);
}

#[test]
fn a_login_is_accepted_with_what_it_said_and_what_the_provider_can_do() {
    let mut sim = Sim::new();
    sim.input(ProviderInput::Opened(ALICE));
    let mut login = LoginRequest::new(1, "user");
    login.attributes.position = Some("1.2.3.4/net".into());
    login.attributes.single_open = Some(false);
    sim.send(ALICE, |encoder| login.encode(encoder));
    let (_, bytes) = sim.wire.sent.pop().expect("an answer");
    let msg = Msg::decode(&bytes).expect("a message");
    let Ok(LoginMsg::Refresh(refresh)) = LoginMsg::decode(&msg) else { panic!("accepted") };
    assert_eq!(refresh.features.position, Some("1.2.3.4/net".into()));
    assert_eq!(refresh.features.single_open, Some(false));
    assert!(refresh.features.accepts_posts() && refresh.features.honours_views());
    assert_eq!(refresh.features.batches().bits(), 7);
    assert!(refresh.solicited);
}

#[test]
fn a_login_that_is_refused_or_changes_its_name_is_told_so() {
    let mut sim = Sim::new();
    sim.input(ProviderInput::Opened(ALICE));
    let mallory = LoginRequest::new(1, "mallory");
    sim.send(ALICE, |encoder| mallory.encode(encoder));
    assert_eq!(sim.sent(), ["STATUS 1 CLOSED NOT_ENTITLED no"]);
    assert_eq!(sim.wire.closed, [(ALICE, "the login was refused".to_owned())]);
    sim.log_in(BOB);
    let other = LoginRequest::new(1, "other");
    sim.send(BOB, |encoder| other.encode(encoder));
    assert_eq!(
        sim.sent(),
        [format!("STATUS 1 {REFUSED} Login message rejected - Invalid login domain message.")]
    );
}

#[test]
fn requests_that_cannot_be_served_are_refused_with_their_reasons() {
    let slow = Qos { rate: Rate::JIT_CONFLATED, ..Qos::REALTIME_TICK_BY_TICK };
    let item = ItemRequest::new(Domain::MARKET_PRICE, 5, key("A"));
    let cases = [
        (
            ItemRequest { key: MsgKey { service_id: Some(9), ..key("A") }, ..item },
            "CLOSED_RECOVER NONE Service not available".to_owned(),
        ),
        (
            ItemRequest { key: MsgKey { service_id: None, ..key("A") }, ..item },
            "CLOSED NONE Passed in request message does not identify any service.".to_owned(),
        ),
        (
            ItemRequest { domain: Domain::MARKET_BY_ORDER, ..item },
            "CLOSED_RECOVER NONE Capability not supported".to_owned(),
        ),
        (
            ItemRequest { qos: QosWish::Exact(slow), ..item },
            format!(
                "{REFUSED} Request message rejected - the service Id = 1 does not support the \
                 specified QoS(REALTIME/JIT_CONFLATED)."
            ),
        ),
    ];
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    for (request, refusal) in cases {
        assert_eq!(sim.ask(ALICE, &request), None);
        assert_eq!(sim.sent(), [format!("STATUS 5 {refusal}")]);
    }
    sim.with_responses(|responses| {
        let state = FilterContent::State(ServiceState::new(true, false));
        let update = ServiceEntry::update(1, vec![FilterEntry::update(state)]);
        responses.update_directory(vec![update]);
    });
    assert_eq!(sim.ask(ALICE, &item), None);
    assert_eq!(
        sim.sent(),
        [format!(
            "STATUS 5 {REFUSED} Request message rejected - the service Id = 1 does not accept \
             any requests."
        )]
    );
    assert!(sim.told().is_empty());
}

#[test]
fn a_client_has_no_more_streams_than_it_may() {
    let feed = [ServiceSpec::new(1, "FEED").entry()];
    let config = ProviderConfig { max_streams_per_client: 1, ..ProviderConfig::new(feed) };
    let mut sim = Sim::with(config);
    sim.log_in(ALICE);
    sim.log_in(BOB);
    assert!(sim.request(ALICE, 5, "A").is_some());
    assert!(sim.request(ALICE, 6, "B").is_none());
    assert_eq!(sim.sent(), ["STATUS 6 CLOSED_RECOVER TOO_MANY_ITEMS Item limit reached"]);
    assert!(sim.request(BOB, 5, "A").is_some());
}

#[test]
fn a_batch_is_taken_apart_or_refused_whole() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    let batch = |stream_id| {
        let mut request = ItemRequest::new(Domain::MARKET_PRICE, stream_id, key(""));
        request.key.name = None;
        let names: [&[u8]; 2] = [b"A", b"B"];
        encoded(|encoder| {
            let payload = RequestPayload { items: Some(&names), ..RequestPayload::NONE };
            request.encode(encoder, &payload)
        })
    };
    sim.input(ProviderInput::Message(ALICE, &batch(10)));
    assert_eq!(sim.told(), ["request A", "request B"]);
    assert_eq!(sim.sent(), ["STATUS 10 CLOSED NONE Stream closed for batch"]);
    sim.input(ProviderInput::Message(ALICE, &batch(9)));
    assert!(sim.told().is_empty());
    assert!(sim.sent()[0].starts_with("STATUS 9 CLOSED USAGE_ERROR"), "stream 11 is in use");
    let ids = encoded(|encoder| {
        let request = ItemRequest {
            pause: true,
            ..ItemRequest::new(Domain::MARKET_PRICE, 20, MsgKey::EMPTY)
        };
        let payload = RequestPayload { stream_ids: Some(&[11, 12]), ..RequestPayload::NONE };
        request.encode(encoder, &payload)
    });
    sim.input(ProviderInput::Message(ALICE, &ids));
    assert_eq!(sim.told(), ["reissue A image false", "reissue B image false"]);
    assert_eq!(sim.sent(), ["STATUS 20 CLOSED NONE Stream closed for batch"]);
}

#[test]
fn a_reissue_for_another_service_ends_the_stream() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    let stream = sim.request(ALICE, 5, "A").expect("open");
    let key = MsgKey { service_id: Some(2), ..key("A") };
    sim.ask(ALICE, &ItemRequest::new(Domain::MARKET_PRICE, 5, key));
    assert!(sim.sent()[0].starts_with(&format!("STATUS 5 {REFUSED} Request Message rejected")));
    assert_eq!(sim.told(), ["request A", "close A"]);
    assert!(matches!(sim.image(stream), Err(ApiError::Void)));
}

#[test]
fn a_login_pauses_and_resumes_all_its_streams() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    let stream = sim.request(ALICE, 5, "A").expect("open");
    sim.image(stream).expect("sent");
    let update = |sim: &mut Sim| {
        sim.with_responses(|responses| responses.update(stream, &UpdateHead::QUOTE, &bid(2)))
    };
    update(&mut sim).expect("sent");
    let pause = LoginRequest { pause: true, no_refresh: true, ..LoginRequest::new(1, "user") };
    sim.send(ALICE, |encoder| pause.encode(encoder));
    assert!(matches!(update(&mut sim), Err(ApiError::Held(_))));
    let resume = LoginRequest { pause: false, ..pause };
    sim.told();
    sim.send(ALICE, |encoder| resume.encode(encoder));
    assert_eq!(sim.told(), ["login user", "reissue A image true"]);
    update(&mut sim).expect("sent");
}

#[test]
fn a_client_that_is_gone_closes_its_streams_and_no_others() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    sim.log_in(BOB);
    let stream = sim.request(ALICE, 5, "A").expect("open");
    let other = sim.request(BOB, 5, "A").expect("open");
    sim.told();
    sim.input(ProviderInput::Closed(ALICE, "cable cut"));
    assert_eq!(sim.told(), ["close A", "gone: cable cut"]);
    assert!(matches!(sim.image(stream), Err(ApiError::Void)));
    sim.image(other).expect("sent");
    // The place is used again, and is somebody else's.
    let next = SessionId { generation: 1, ..ALICE };
    sim.log_in(next);
    sim.input(ProviderInput::Message(ALICE, &[]));
    sim.input(ProviderInput::Closed(ALICE, "late"));
    assert!(sim.request(next, 5, "A").is_some());
}

#[test]
fn closing_the_login_logs_out() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    sim.request(ALICE, 5, "A");
    sim.told();
    sim.msg(ALICE, CloseMsg::new(Domain::LOGIN, 1));
    assert_eq!(sim.told(), ["close A"]);
    assert_eq!(sim.wire.closed, [(ALICE, "logged out".to_owned())]);
}

#[test]
fn a_close_is_acknowledged_when_that_is_wanted() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    sim.request(ALICE, 5, "A");
    let close = CloseMsg::new(Domain::MARKET_PRICE, 5);
    sim.msg(ALICE, CloseMsg { flags: CloseFlags::ACK, ..close });
    assert_eq!(sim.sent(), ["ACK 5 5"]);
    assert_eq!(sim.told(), ["request A", "close A"]);
}

#[test]
fn the_directory_is_given_by_filter_and_changes_follow() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    let info_only = DirectoryRequest::new(2, DirectoryFilter::INFO);
    sim.send(ALICE, |encoder| info_only.encode(encoder));
    assert!(sim.sent()[0].contains("must minimally have SERVICE_INFO_FILTER"));
    let request = DirectoryRequest::new(2, DirectoryFilter::MINIMUM);
    sim.send(ALICE, |encoder| request.encode(encoder));
    let (_, bytes) = sim.wire.sent.pop().expect("an answer");
    let msg = Msg::decode(&bytes).expect("a message");
    let Ok(DirectoryMsg::Refresh(refresh)) = DirectoryMsg::decode(&msg) else { panic!("accepted") };
    assert_eq!((refresh.services.len(), refresh.services[0].filters.len()), (1, 2));
    let new = ServiceSpec::new(2, "NEW").entry();
    sim.with_responses(|responses| responses.update_directory(vec![new]));
    assert_eq!(sim.sent(), ["UPDATE 2"]);
    sim.msg(ALICE, CloseMsg::new(Domain::SOURCE, 2));
    sim.with_responses(|responses| responses.update_directory(vec![ServiceEntry::delete(2)]));
    assert!(sim.sent().is_empty());
}

#[test]
fn a_dictionary_waits_for_a_slow_client_and_loses_nothing() {
    let dictionary = Arc::new(FieldDictionary::builtin().clone());
    let feed = [ServiceSpec::new(1, "FEED").entry()];
    let mut sim = Sim::with(ProviderConfig::new(feed).dictionary(dictionary));
    sim.log_in(ALICE);
    let whole = |sim: &mut Sim, answers: &[Sent]| {
        sim.wire.answers = answers.iter().copied().collect();
        let request = DictionaryRequest::new(3, 1, "RWFFld");
        sim.send(ALICE, |encoder| request.encode(encoder));
        for _ in answers {
            sim.input(ProviderInput::Drained(ALICE));
        }
        core::mem::take(&mut sim.wire.sent)
    };
    let at_once = whole(&mut sim, &[]);
    assert!(at_once.len() > 2, "a dictionary of {} parts", at_once.len());
    let bit_by_bit = whole(&mut sim, &[Sent::Slow, Sent::Full, Sent::Full, Sent::Slow]);
    assert_eq!(bit_by_bit, at_once);
    let unknown = DictionaryRequest::new(4, 1, "OTHER");
    sim.told();
    sim.send(ALICE, |encoder| unknown.encode(encoder));
    assert_eq!(sim.told(), ["request OTHER"], "others are the application's");
}

#[test]
fn a_client_whose_backlog_is_full_is_cut_off() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    let stream = sim.request(ALICE, 5, "A").expect("open");
    sim.wire.answers = [Sent::Slow, Sent::Full].into();
    assert_eq!(sim.image(stream).expect("sent"), Flow::Slow);
    assert!(sim.wire.closed.is_empty());
    let mut buffer = Vec::new();
    let head = UpdateHead::QUOTE;
    let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &head, &bid(2)).expect("valid");
    let sent = sim.with_responses(|responses| responses.send(stream, &buffer[..len]));
    assert!(matches!(sent, Err(ApiError::Full)));
    assert_eq!(sim.wire.closed.len(), 1);
}

#[test]
fn posts_that_break_a_rule_are_refused_here() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    let post = PostMsg {
        flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
        post_id: Some(4),
        ..PostMsg::new(Domain::MARKET_PRICE, 7)
    };
    sim.msg(ALICE, post);
    assert_eq!(sim.sent(), ["ACK 7 4 stream 7 is not open"]);
    sim.msg(ALICE, PostMsg { stream_id: 1, ..post });
    assert_eq!(sim.sent(), ["ACK 1 4 Message submitted with unspecified service Name and Id"]);
    assert!(sim.told().is_empty());
}

#[test]
fn a_provider_can_log_a_client_out() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    let text = "Force Logout from DACS.";
    let state = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_ENTITLED, text);
    sim.with_responses(|responses| responses.log_out(ALICE, &state));
    assert_eq!(sim.sent(), [format!("STATUS 1 CLOSED NOT_ENTITLED {text}")]);
    assert_eq!(sim.wire.closed.len(), 1);
}

#[test]
fn what_is_no_message_is_counted_and_nothing_else_suffers() {
    let mut sim = Sim::new();
    sim.log_in(ALICE);
    for junk in [&b""[..], b"\x00", &[0xFF; 40]] {
        sim.input(ProviderInput::Message(ALICE, junk));
    }
    sim.input(ProviderInput::Message(BOB, &[]));
    assert_eq!(sim.core.malformed_messages(), 4);
    assert!(sim.request(ALICE, 5, "A").is_some());
}

#[test]
fn a_provider_role_is_seen() {
    let mut sim = Sim::new();
    sim.input(ProviderInput::Opened(ALICE));
    let mut login = LoginRequest::new(1, "feed");
    login.attributes.role = Some(LoginAttributes::PROVIDER);
    sim.send(ALICE, |encoder| login.encode(encoder));
    let known = sim.with_responses(|responses| responses.login(ALICE).cloned());
    assert!(known.expect("logged in").attributes.is_provider());
}
