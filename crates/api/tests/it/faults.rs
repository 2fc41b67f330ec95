//! A consumer and a provider in a world where everything goes wrong: whatever
//! the order of losses, refusals, silences and changes of mind, every item that
//! is open in the end has its image, and nobody is ever told anything untrue.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tapeline_api::{
    ConsumerConfig, ConsumerCore, ConsumerEvent, ConsumerInput, ConsumerOutputs, Handle, ItemSpec,
    Login, ProviderConfig, ProviderCore, ProviderEvent, ProviderInput, ProviderOutputs,
    RefreshHead, Requests, Responses, Server, ServiceSpec, StatusHead, StreamHandle, UpdateHead,
};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::directory::{FilterContent, FilterEntry, ServiceEntry, ServiceState};
use tapeline_rwf::{DataState, DataType, Encoded, Primitive, Real, State, StateCode, StreamState};
use tapeline_time::Time;

/// A generator of numbers that are the same for the same seed (xorshift).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// The messages on their way, and what the two want of the network.
#[derive(Default)]
struct Network {
    up: VecDeque<Vec<u8>>,
    down: VecDeque<Vec<u8>>,
    session: Option<SessionId>,
    has_dialled: bool,
    has_hung_up: bool,
}

impl ConsumerOutputs for Network {
    fn connect(&mut self, _: usize) {
        self.has_dialled = true;
    }

    fn send(&mut self, message: &[u8]) -> Sent {
        if self.session.is_none() {
            return Sent::Gone;
        }
        self.up.push_back(message.to_vec());
        Sent::Queued
    }

    fn disconnect(&mut self, _: &str) {
        self.has_dialled = false;
        self.has_hung_up = true;
    }
}

impl ProviderOutputs for Network {
    fn send(&mut self, client: SessionId, message: &[u8]) -> Sent {
        if self.session != Some(client) {
            return Sent::Gone;
        }
        self.down.push_back(message.to_vec());
        Sent::Queued
    }

    fn send_on(&mut self, client: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        let mut copy = message.to_vec();
        tapeline_rwf::patch_stream_id(&mut copy, stream_id).expect("a message");
        ProviderOutputs::send(self, client, &copy)
    }

    fn close(&mut self, _: SessionId, _: &str) {
        self.has_hung_up = true;
    }
}

/// What the consumer may believe of an item: its value after the last image
/// and the updates that followed; nothing while it is suspect.
struct Belief {
    item: i64,
    value: Option<i64>,
}

/// Values say which item they are of, and which one they are.
const PER_ITEM: i64 = 1_000_000;

fn content(value: i64) -> [(i16, Primitive<'static>); 1] {
    [(22, Real::decimal(value, 0).into())]
}

fn value_of(payload: &Encoded<'_>) -> i64 {
    let list = payload.field_list().expect("a field list");
    let field = list.field(22).expect("well-formed").expect("there");
    let real = field.typed(DataType::REAL).real().expect("a real").expect("not blank");
    real.to_string().parse().expect("a whole number")
}

struct World {
    consumer: ConsumerCore,
    provider: ProviderCore,
    network: Network,
    dice: Dice,
    now: Time,
    generation: u32,
    next_item: i64,
    beliefs: BTreeMap<Handle, Belief>,
    /// The item of each stream and its last value.
    streams: BTreeMap<StreamHandle, i64>,
    /// Nothing goes wrong any more.
    is_healed: bool,
    images: usize,
    losses: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let config = ConsumerConfig::new([Server::new("a", 1)], Login::new("user"));
        let service = ServiceSpec::new(1, "FEED").open_window(5);
        Self {
            consumer: ConsumerCore::new(config),
            provider: ProviderCore::new(ProviderConfig::new([service.entry()])),
            network: Network::default(),
            dice: Dice::new(seed),
            now: Time::ZERO,
            generation: 0,
            next_item: 0,
            beliefs: BTreeMap::new(),
            streams: BTreeMap::new(),
            is_healed: false,
            images: 0,
            losses: 0,
        }
    }

    /// Runs something of the consumer, every event of which is checked.
    fn consumer(&mut self, input: Option<ConsumerInput<'_>>) {
        let (beliefs, images) = (&mut self.beliefs, &mut self.images);
        let mut check = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| match event {
            ConsumerEvent::Refresh { handle, msg } => {
                let belief = beliefs.get_mut(&handle).expect("an item that is open");
                let value = value_of(&msg.payload);
                assert_eq!(value / PER_ITEM, belief.item, "the image of another item");
                belief.value = Some(value);
                *images += 1;
            }
            ConsumerEvent::Update { handle, msg } => {
                let belief = beliefs.get_mut(&handle).expect("an item that is open");
                let known = belief.value.expect("an image before the update");
                assert_eq!(value_of(&msg.payload), known + 1, "a value is missing");
                belief.value = Some(known + 1);
            }
            ConsumerEvent::Status { handle, msg } => {
                let belief = beliefs.get_mut(&handle).expect("an item that is open");
                let state = msg.state.expect("a state");
                assert_eq!(state.stream, StreamState::OPEN, "no item is lost for good");
                assert_eq!(state.data, DataState::SUSPECT);
                belief.value = None;
            }
            _ => {}
        };
        match input {
            Some(input) => self.consumer.handle(self.now, input, &mut self.network, &mut check),
            None => self.consumer.handle_timeout(self.now, &mut self.network, &mut check),
        }
    }

    fn provider(&mut self, input: ProviderInput<'_>) {
        let (streams, dice, is_healed) = (&mut self.streams, &mut self.dice, self.is_healed);
        let mut answer = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
            ProviderEvent::Request { stream, request, .. } => {
                let name = std::str::from_utf8(request.key.name.expect("a name")).expect("text");
                let item: i64 = name.parse().expect("a number");
                streams.insert(stream, item * PER_ITEM);
                match dice.below(8) {
                    0 if !is_healed => {}
                    1 if !is_healed => {
                        let head = StatusHead::of(LATER);
                        responses.status(stream, &head).expect("sent");
                        streams.remove(&stream);
                    }
                    _ => {
                        let head = RefreshHead::default();
                        responses.refresh(stream, &head, &content(streams[&stream])).expect("sent");
                    }
                }
            }
            ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                let head = RefreshHead::default();
                responses.refresh(stream, &head, &content(streams[&stream])).expect("sent");
            }
            ProviderEvent::Close { stream } => {
                streams.remove(&stream);
            }
            _ => {}
        };
        self.provider.handle(input, &mut self.network, &mut answer);
    }

    fn ask<R>(&mut self, ask: impl FnOnce(&mut Requests<'_>) -> R) -> R {
        ask(&mut self.consumer.requests(self.now, &mut self.network))
    }

    fn open(&mut self) {
        let count = if self.dice.one_in(4) { 3 } else { 1 };
        let items: Vec<_> = (self.next_item..self.next_item + count).collect();
        self.next_item += count;
        let names: Vec<_> = items.iter().map(i64::to_string).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let spec = ItemSpec::new("FEED", names[0]);
        let handles = match count {
            1 => vec![self.ask(|requests| requests.open(&spec)).expect("room")],
            _ => self.ask(|requests| requests.open_batch(&spec, &names)).expect("room"),
        };
        let beliefs = items.into_iter().map(|item| Belief { item, value: None });
        self.beliefs.extend(handles.into_iter().zip(beliefs));
    }

    fn any_item(&mut self) -> Option<Handle> {
        let at = self.dice.below(self.beliefs.len().max(1) as u64) as usize;
        self.beliefs.keys().nth(at).copied()
    }

    fn close(&mut self) {
        let Some(handle) = self.any_item() else { return };
        self.beliefs.remove(&handle);
        self.ask(|requests| requests.close(handle));
    }

    fn ask_again(&mut self) {
        let Some(handle) = self.any_item() else { return };
        let change = tapeline_api::ItemChange { refresh: true, ..Default::default() };
        self.ask(|requests| requests.change(handle, change)).expect("open");
    }

    fn cut(&mut self, reason: &str) {
        self.losses += 1;
        self.network.up.clear();
        self.network.down.clear();
        let session = self.network.session.take();
        if !core::mem::take(&mut self.network.has_hung_up) {
            self.consumer(Some(ConsumerInput::Closed { reason }));
        }
        if let Some(session) = session {
            self.provider(ProviderInput::Closed(session, reason));
        }
    }

    /// A value of some stream changes.
    fn update(&mut self) {
        let at = self.dice.below(self.streams.len().max(1) as u64) as usize;
        let Some((stream, value)) = self.streams.iter_mut().nth(at) else { return };
        let mut responses = self.provider.responses(&mut self.network);
        if responses.update(*stream, &UpdateHead::QUOTE, &content(*value + 1)).is_ok() {
            *value += 1;
        }
    }

    /// The provider ends a stream that may come back later.
    fn drop_stream(&mut self) {
        let at = self.dice.below(self.streams.len().max(1) as u64) as usize;
        let Some(stream) = self.streams.keys().nth(at).copied() else { return };
        self.streams.remove(&stream);
        let mut responses = self.provider.responses(&mut self.network);
        // Its client may be gone already.
        let _ = responses.status(stream, &StatusHead::of(LATER));
    }

    fn service(&mut self, entry: ServiceEntry) {
        self.provider.responses(&mut self.network).update_directory(vec![entry]);
    }

    fn service_state(&mut self, is_up: bool) {
        let state = FilterContent::State(ServiceState::new(is_up, true));
        self.service(ServiceEntry::update(1, vec![FilterEntry::update(state)]));
    }

    fn deliver(&mut self) {
        if self.network.has_hung_up {
            return self.cut("hung up");
        }
        if core::mem::take(&mut self.network.has_dialled) {
            self.generation += 1;
            let session = SessionId { index: 0, generation: self.generation };
            self.network.session = Some(session);
            self.provider(ProviderInput::Opened(session));
            self.consumer(Some(ConsumerInput::Opened));
        }
        let Some(session) = self.network.session else { return };
        let goes_up = self.dice.one_in(2);
        let message = match goes_up {
            true => self.network.up.pop_front(),
            false => self.network.down.pop_front(),
        };
        match message {
            Some(message) if goes_up => self.provider(ProviderInput::Message(session, &message)),
            Some(message) => self.consumer(Some(ConsumerInput::Message(&message))),
            None => {}
        }
    }

    fn step(&mut self) {
        match self.dice.below(100) {
            0..6 => self.open(),
            6..9 => self.close(),
            9..11 => self.ask_again(),
            11 => self.cut("cable"),
            12..25 => self.update(),
            25 => self.drop_stream(),
            26 => self.service_state(false),
            27 => self.service_state(true),
            28 => self.service(ServiceEntry::delete(1)),
            29 => self.service(ServiceSpec::new(1, "FEED").open_window(5).entry()),
            30 => self.now = self.now.after(Duration::from_secs(20)),
            31..40 => {
                self.now = self.now.after(Duration::from_millis(300));
                self.consumer(None);
            }
            _ => self.deliver(),
        }
    }

    /// Everything works from now on: how long until there is nothing to do?
    fn heal(&mut self) {
        self.is_healed = true;
        self.service(ServiceSpec::new(1, "FEED").open_window(5).entry());
        self.service_state(true);
        for _ in 0..200_000 {
            let is_quiet = self.network.up.is_empty()
                && self.network.down.is_empty()
                && !self.network.has_dialled
                && !self.network.has_hung_up;
            if !is_quiet {
                self.deliver();
                continue;
            }
            let Some(deadline) = self.consumer.next_deadline() else { return };
            self.now = self.now.max(deadline);
            self.consumer(None);
        }
        panic!("never quiet");
    }
}

const LATER: State<'static> =
    State::new(StreamState::CLOSED_RECOVER, DataState::SUSPECT, StateCode::NONE, "later");

#[test]
fn whatever_goes_wrong_every_open_item_has_its_image_in_the_end() {
    let (mut images, mut losses) = (0, 0);
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..1_500 {
            world.step();
        }
        world.heal();
        let open = world.beliefs.len();
        let suspect = world.beliefs.values().filter(|belief| belief.value.is_none()).count();
        assert_eq!(suspect, 0, "seed {seed}: {suspect} of {open} items without an image");
        let by_item: BTreeMap<_, _> =
            world.streams.values().map(|value| (value / PER_ITEM, *value)).collect();
        for belief in world.beliefs.values() {
            assert_eq!(belief.value, by_item.get(&belief.item).copied(), "seed {seed}");
        }
        assert_eq!(world.ask(|requests| requests.open_items()), open, "seed {seed}");
        let served = world.provider.responses(&mut world.network).open_streams();
        assert_eq!(served, open, "seed {seed}: streams that nobody wants");
        images += world.images;
        losses += world.losses;
    }
    assert!(images > 10_000 && losses > 1_000, "{images} images, {losses} losses");
}
