//! What is done for every update does not allocate, at either end.

use allocation_counter::measure;
use tapeline_api::{
    ConsumerConfig, ConsumerCore, ConsumerEvent, ConsumerInput, ConsumerOutputs, ItemSpec, Login,
    ProviderConfig, ProviderCore, ProviderEvent, ProviderInput, ProviderOutputs, RefreshHead,
    Requests, Responses, Server, ServiceSpec, StreamHandle, UpdateHead, encode_update, fields,
};
use tapeline_channel::{Sent, SessionId};
use tapeline_rwf::{Domain, Real};
use tapeline_time::Time;

const CLIENT: SessionId = SessionId { index: 0, generation: 0 };

/// The messages from the consumer to the provider, and back.
#[derive(Default)]
struct Wire {
    up: Vec<Vec<u8>>,
    down: Vec<Vec<u8>>,
    is_counting: bool,
}

impl Wire {
    fn note(&mut self, message: &[u8], up: bool) -> Sent {
        match (self.is_counting, up) {
            (true, _) => {}
            (false, true) => self.up.push(message.to_vec()),
            (false, false) => self.down.push(message.to_vec()),
        }
        Sent::Queued
    }
}

impl ConsumerOutputs for Wire {
    fn connect(&mut self, _: usize) {}

    fn send(&mut self, message: &[u8]) -> Sent {
        self.note(message, true)
    }

    fn disconnect(&mut self, _: &str) {}
}

impl ProviderOutputs for Wire {
    fn send(&mut self, _: SessionId, message: &[u8]) -> Sent {
        self.note(message, false)
    }

    fn send_on(&mut self, client: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        if self.is_counting {
            return Sent::Queued;
        }
        let mut copy = message.to_vec();
        tapeline_rwf::patch_stream_id(&mut copy, stream_id).expect("a message");
        ProviderOutputs::send(self, client, &copy)
    }

    fn close(&mut self, _: SessionId, _: &str) {}
}

/// A consumer and a provider with one item open between them.
struct Pair {
    consumer: ConsumerCore,
    provider: ProviderCore,
    wire: Wire,
    stream: Option<StreamHandle>,
    updates: usize,
}

impl Pair {
    fn new(spec: &ItemSpec<'_>) -> Self {
        let servers = [Server::new("a", 1)];
        let mut pair = Self {
            consumer: ConsumerCore::new(ConsumerConfig::new(servers, Login::new("user"))),
            provider: ProviderCore::new(ProviderConfig::new([ServiceSpec::new(1, "FEED").entry()])),
            wire: Wire::default(),
            stream: None,
            updates: 0,
        };
        pair.consumer.requests(Time::ZERO, &mut pair.wire).open(spec).expect("room");
        pair.consumer.handle_timeout(
            Time::ZERO,
            &mut pair.wire,
            &mut |_: ConsumerEvent<'_>, _: &mut Requests<'_>| {},
        );
        pair.provide(ProviderInput::Opened(CLIENT));
        pair.consume(ConsumerInput::Opened);
        while !pair.wire.up.is_empty() || !pair.wire.down.is_empty() {
            for message in core::mem::take(&mut pair.wire.up) {
                pair.provide(ProviderInput::Message(CLIENT, &message));
            }
            for message in core::mem::take(&mut pair.wire.down) {
                pair.consume(ConsumerInput::Message(&message));
            }
        }
        pair
    }

    fn consume(&mut self, input: ConsumerInput<'_>) {
        let updates = &mut self.updates;
        let mut count = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            *updates += usize::from(matches!(event, ConsumerEvent::Update { .. }));
        };
        self.consumer.handle(Time::ZERO, input, &mut self.wire, &mut count);
    }

    fn provide(&mut self, input: ProviderInput<'_>) {
        let opened = &mut self.stream;
        let mut answer = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
            if let ProviderEvent::Request { stream, .. } = event {
                *opened = Some(stream);
                responses.refresh(stream, &RefreshHead::default(), &quote(1)).expect("sent");
            }
        };
        self.provider.handle(input, &mut self.wire, &mut answer);
    }

    fn update(&mut self) {
        let stream = self.stream.expect("an open stream");
        let mut responses = self.provider.responses(&mut self.wire);
        responses.update(stream, &UpdateHead::QUOTE, &quote(2)).expect("sent");
    }
}

fn quote(bid: i64) -> impl tapeline_api::Payload {
    fields(move |list| {
        list.put(22, Real::decimal(bid, 2))?;
        list.put(25, Real::decimal(bid + 3, 2))
    })
}

#[track_caller]
fn allocates_nothing(work: impl FnOnce()) {
    assert_eq!(measure(work).count_total, 0);
}

#[test]
fn the_counter_sees_an_allocation() {
    assert_eq!(measure(|| drop(std::hint::black_box(Box::new(1)))).count_total, 1);
}

#[test]
fn a_provider_sends_updates_without_allocating() {
    for spec in [
        ItemSpec::new("FEED", "TRI.N"),
        ItemSpec::new("FEED", "TRI.N").fields([22]),
        ItemSpec { key_in_updates: true, ..ItemSpec::new("FEED", "TRI.N") },
    ] {
        let mut pair = Pair::new(&spec);
        pair.update();
        let mut buffer = Vec::new();
        let head = UpdateHead::QUOTE;
        let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &head, &quote(3));
        let len = len.expect("valid");
        let stream = pair.stream.expect("an open stream");
        pair.wire.is_counting = true;
        allocates_nothing(|| {
            for _ in 0..10 {
                pair.update();
                let mut responses = pair.provider.responses(&mut pair.wire);
                assert_eq!(responses.update_all(&[stream], &buffer[..len]).ok(), Some(1));
            }
        });
    }
}

#[test]
fn a_consumer_takes_updates_without_allocating() {
    let mut pair = Pair::new(&ItemSpec::new("FEED", "TRI.N"));
    pair.update();
    let update = pair.wire.down.pop().expect("an update");
    pair.wire.is_counting = true;
    allocates_nothing(|| {
        for _ in 0..10 {
            pair.consume(ConsumerInput::Message(&update));
        }
    });
    assert_eq!(pair.updates, 10);
}
