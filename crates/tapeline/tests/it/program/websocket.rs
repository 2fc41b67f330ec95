//! Consumers at the WebSocket port: they are told the same as over RSSL.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, DictionarySource, Handle, ItemSpec, Login, PostHead,
    Protocol, Provider, ProviderConfig, ProviderEvent, ReconnectPolicy, Requests, Responses,
    Server, ServiceSpec, StatusHead, fields,
};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataState, Encoded, Real, State, StateCode, StreamState};

use super::support::{Run, Running, run};

/// How long a test may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A source that counts up, and a hub with server that is connected to it.
fn source_and_node() -> (Running, Running) {
    let source =
        Running::start(&["source", "--listen", "127.0.0.1:0", "-I", "0", "-S", "FEED", "-U", "50"]);
    let address = source.address("rssl").to_string();
    let node = node(&["--source", &address, "--rssl-port", "0", "--ws-port", "0"]);
    (source, node)
}

fn node(args: &[&str]) -> Running {
    Running::start(&[&["run", "--ni-port", "off"], args].concat())
}

fn client(option: &str, address: &str, more: &[&str]) -> Run {
    let args = ["client", option, address, "--seconds", "40", "--json"];
    run(&[&args[..], more].concat())
}

fn objects(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn the_client_shows_the_same_whatever_is_spoken() {
    let source = Running::start(&["source", "--listen", "127.0.0.1:0", "-S", "FEED", "-U", "0"]);
    let address = source.address("rssl").to_string();
    let node = node(&["--source", &address, "--rssl-port", "0", "--ws-port", "0"]);
    let (rssl, ws) = (node.address("rssl").to_string(), node.address("ws").to_string());
    let ways: [&[&str]; 3] = [
        &["-S", "FEED", "TAPE1.X", "XXA=", "--exit-after-image"],
        &["TAPE1.X", "--snapshot"],
        &["TAPE1.X", "--fields", "22,25", "--exit-after-image"],
    ];
    for args in ways {
        let sorted = |done: Run| {
            assert_eq!(done.status, Some(0), "{args:?}: {}{}", done.out, done.err);
            let mut lines = objects(&done.out);
            lines.sort_by_key(|line| line["item"].to_string());
            lines
        };
        let expected = sorted(client("--server", &rssl, args));
        assert_eq!(sorted(client("--ws", &ws, args)), expected, "{args:?}");
        let rwf = [args, &["--subprotocol", "rssl.rwf"]].concat();
        assert_eq!(sorted(client("--ws", &ws, &rwf)), expected, "{args:?}");
    }
}

#[test]
fn a_port_that_speaks_no_websocket_is_told() {
    let node = node(&["--rssl-port", "0"]);
    let address = node.address("rssl").to_string();
    let args = ["client", "--ws", &address, "TAPE1.X", "--seconds", "5"];
    let done = run(&args);
    assert_eq!(done.status, Some(1), "{}", done.out);
    assert!(done.err.contains("HTTP opening answered with status 400"), "{}", done.err);
}

/// What a consumer was told of its items.
#[derive(Default)]
struct Told {
    images: usize,
    updates: usize,
    /// The last values, as text, of all fields that came.
    values: BTreeMap<i16, String>,
    states: Vec<(StreamState, DataState)>,
    acks: Vec<(u32, Option<String>)>,
    is_ready: bool,
}

impl Told {
    fn event(&mut self, event: ConsumerEvent<'_>) {
        match event {
            ConsumerEvent::Ready => self.is_ready = true,
            ConsumerEvent::Refresh { msg, .. } => {
                self.images += usize::from(msg.state.data == DataState::OK);
                self.states.push((msg.state.stream, msg.state.data));
                self.take(&msg.payload);
            }
            ConsumerEvent::Update { msg, .. } => {
                self.updates += 1;
                self.take(&msg.payload);
            }
            ConsumerEvent::Status { msg, .. } => {
                self.states.extend(msg.state.map(|state| (state.stream, state.data)));
            }
            ConsumerEvent::Ack { msg, .. } => {
                let nak = msg.nak_code.map(|code| code.to_string());
                self.acks.push((msg.ack_id, nak));
            }
            _ => {}
        }
    }

    fn take(&mut self, payload: &Encoded<'_>) {
        for entry in payload.field_list().expect("a field list").iter() {
            let entry = entry.expect("well-formed");
            let field = FieldDictionary::builtin().field(entry.field_id).expect("a known field");
            let value = entry.primitive(field.rwf_type).expect("a value of its type");
            self.values.insert(entry.field_id, format!("{value:?}"));
        }
    }
}

fn consumer(protocol: Protocol, address: std::net::SocketAddr) -> (Consumer, Handle) {
    let server = Server::new(address.ip().to_string(), address.port());
    let quickly = ReconnectPolicy {
        first_delay: Duration::from_millis(20),
        max_delay: Duration::from_millis(20),
        max_attempts: None,
    };
    let config = ConsumerConfig {
        protocol,
        reconnect: quickly,
        dictionary: DictionarySource::Download,
        ..ConsumerConfig::new([server], Login::new("user"))
    };
    let mut consumer = Consumer::new(config).expect("sockets");
    let handle = consumer.open(&ItemSpec::new("FEED", "TAPE1.X")).expect("room for an item");
    (consumer, handle)
}

#[track_caller]
fn until(consumer: &mut Consumer, told: &mut Told, done: impl Fn(&Told) -> bool) {
    let started = Instant::now();
    while !done(told) {
        let mut handler = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| told.event(event);
        consumer.poll(Some(Duration::from_millis(20)), &mut handler);
        assert!(started.elapsed() < PATIENCE, "{:?} {:?}", told.states, told.values);
    }
}

#[test]
fn an_application_gets_images_updates_and_recovery_over_json() {
    let (source, mut node) = source_and_node();
    let (ws, rssl) = (node.address("ws"), node.address("rssl"));
    let (mut consumer, _) = consumer(Protocol::Json, ws);
    let mut told = Told::default();
    until(&mut consumer, &mut told, |told| told.images > 0 && told.updates > 5);
    assert!(told.values.len() > 5, "{:?}", told.values);

    drop(node);
    let is_stale =
        |told: &Told| told.states.last() == Some(&(StreamState::OPEN, DataState::SUSPECT));
    until(&mut consumer, &mut told, is_stale);
    let (images, updates) = (told.images, told.updates);
    let address = source.address("rssl").to_string();
    let (ws, rssl) = (ws.port().to_string(), rssl.port().to_string());
    node = self::node(&["--source", &address, "--rssl-port", &rssl, "--ws-port", &ws]);
    until(&mut consumer, &mut told, |told| told.images > images && told.updates > updates + 5);
    let last = told.states.last();
    assert_eq!(last, Some(&(StreamState::OPEN, DataState::OK)));
    drop(node);
}

#[test]
fn values_are_those_that_rssl_gives() {
    let source = Running::start(&["source", "--listen", "127.0.0.1:0", "-S", "FEED", "-U", "0"]);
    let address = source.address("rssl").to_string();
    let node = node(&["--source", &address, "--rssl-port", "0", "--ws-port", "0"]);
    let protocols = [
        (Protocol::Rssl, node.address("rssl")),
        (Protocol::RsslWebSocket, node.address("ws")),
        (Protocol::Json, node.address("ws")),
    ];
    let values = protocols.map(|(protocol, address)| {
        let (mut consumer, _) = consumer(protocol, address);
        let mut told = Told::default();
        until(&mut consumer, &mut told, |told| told.images > 0);
        told.values
    });
    assert!(values[0].len() > 5, "{:?}", values[0]);
    assert_eq!(values[1], values[0]);
    assert_eq!(values[2], values[0]);
}

#[test]
fn an_item_that_its_provider_refuses_is_closed_with_its_words() {
    let config = ProviderConfig::new([ServiceSpec::new(1, "FEED").entry()]);
    let mut provider = Provider::new(config).expect("sockets");
    let address = provider.listen(([127, 0, 0, 1], 0).into()).expect("a free port").to_string();
    let node = node(&["--source", &address, "--rssl-port", "0", "--ws-port", "0"]);
    let refusal = State {
        stream: StreamState::CLOSED,
        data: DataState::SUSPECT,
        code: StateCode::NOT_FOUND,
        text: b"no such item \"here\"",
    };
    let (mut consumer, handle) = consumer(Protocol::Json, node.address("ws"));
    let mut refused = None;
    let started = Instant::now();
    while refused.is_none() {
        let mut answers = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
            if let ProviderEvent::Request { stream, .. } = event {
                let head = StatusHead { state: Some(refusal), ..StatusHead::default() };
                responses.status(stream, &head).expect("connected");
            }
        };
        provider.poll(Some(Duration::from_millis(5)), &mut answers);
        let mut handler = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            if let ConsumerEvent::Status { handle: of, msg } = event
                && let Some(state) = msg.state
                && state.stream != StreamState::OPEN
            {
                assert_eq!((of, state), (handle, refusal));
                refused = Some(state.code);
            }
        };
        consumer.poll(Some(Duration::from_millis(5)), &mut handler);
        assert!(started.elapsed() < PATIENCE, "nothing is refused");
    }
}

#[test]
fn a_post_is_acked_unless_a_field_of_it_is_unknown() {
    let (_source, node) = source_and_node();
    let (mut consumer, handle) = consumer(Protocol::Json, node.address("ws"));
    let mut told = Told::default();
    until(&mut consumer, &mut told, |told| told.images > 0);
    let head = PostHead { ack: true, ..PostHead::default() };
    let mut post = |field: i16| {
        let payload = fields(move |list| list.put(field, Real::decimal(4512, 2)));
        consumer.with(|requests| requests.post(handle, &head, &payload)).expect("it can be posted")
    };
    let ids = (post(22), post(-31_000));
    until(&mut consumer, &mut told, |told| told.acks.len() == 2);
    told.acks.sort();
    assert_eq!(told.acks[1].0, ids.1);
    assert_eq!(told.acks[1].1.as_deref(), Some("INVALID_CONTENT"));
    assert_eq!(told.acks[0].0, ids.0);
    assert_ne!(told.acks[0].1.as_deref(), Some("INVALID_CONTENT"));
}
