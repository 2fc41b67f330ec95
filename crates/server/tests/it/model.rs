//! Random consumers against a hub that loses frames, whatever the order: every
//! message must be one that a consumer can use, and in the end everybody has
//! what the hub has.

use std::collections::BTreeMap;

use tapeline_backbone::repair::{Held, HeldFlags};
use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::login::WarmStandbyMode;
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::View;
use tapeline_rwf::{DataState, DataType, Msg, RefreshFlags, StreamState};
use tapeline_server::ServerConfig;

use crate::support::*;

type Fields = BTreeMap<i16, i64>;

const NAMES: [&str; 5] = ["A", "B", "C", "D", "E"];
/// Fields are numbered from here on: the dictionary has none of them ripple.
const FIRST_FIELD: i16 = 30;

/// A generator that is the same on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// One item of the hub.
#[derive(Default)]
struct HubItem {
    /// The server's reference, if it has the item open.
    reference: Option<u32>,
    /// The serial of the request.
    serial: u32,
    seq: u32,
    fields: Fields,
}

/// A hub that has every item. Numbers of items are their places in `NAMES`.
struct Hub {
    me: Incarnation,
    items: Vec<HubItem>,
    /// Requests that are not answered yet: reference, item and serial.
    waiting: Vec<(u32, usize, u32)>,
    /// Images that are owed to the server.
    owed: Vec<usize>,
    /// A list of what is held is due.
    list_due: Option<u32>,
    last_serial: u32,
}

impl Hub {
    fn new(me: Incarnation) -> Self {
        let items = NAMES.iter().map(|_| HubItem::default()).collect();
        Self { me, items, waiting: Vec::new(), owed: Vec::new(), list_due: None, last_serial: 0 }
    }

    /// Takes in what the server published.
    fn take_in(&mut self, published: Vec<(FrameHeader, Vec<u8>)>) {
        for (header, body) in published {
            if header.target != self.me {
                continue;
            }
            match header.kind {
                Kind::Open => {
                    let Ok(Msg::Request(request)) = Msg::decode(&body) else { panic!("a request") };
                    let name = request.key.name.expect("a name");
                    let place = NAMES.iter().position(|known| known.as_bytes() == name);
                    self.close(header.item);
                    self.waiting.push((header.item, place.expect("a known name"), header.item_seq));
                    self.last_serial = header.item_seq;
                }
                Kind::Close => self.close(header.item),
                Kind::Reissue => {
                    let Ok(Msg::Request(request)) = Msg::decode(&body) else { panic!("a request") };
                    let is_asked = !request.flags.contains(tapeline_rwf::RequestFlags::NO_REFRESH);
                    let place = self.place_of(header.item).filter(|_| is_asked);
                    self.owed.extend(place);
                }
                Kind::HeldRequest => self.list_due = Some(header.item),
                _ => {}
            }
        }
    }

    fn place_of(&self, reference: u32) -> Option<usize> {
        self.items.iter().position(|item| item.reference == Some(reference))
    }

    fn close(&mut self, reference: u32) {
        self.waiting.retain(|(waiting, ..)| *waiting != reference);
        if let Some(place) = self.place_of(reference) {
            self.items[place].reference = None;
            self.owed.retain(|owed| *owed != place);
        }
    }

    /// Lists what is held.
    fn list(&mut self, world: &mut World, round: u32) {
        let mut entries: Vec<_> = self
            .waiting
            .iter()
            .map(|(request, _, serial)| Held {
                flags: HeldFlags::empty(),
                ..live(*request, *serial, 0, 0)
            })
            .collect();
        for (place, item) in self.items.iter().enumerate() {
            let Some(reference) = item.reference else { continue };
            let mut flags = HeldFlags::ACCEPTED;
            flags.set(HeldFlags::LIVE, !self.owed.contains(&place));
            let held = live(reference, item.serial, place as u32, item.seq);
            entries.push(Held { flags, ..held });
        }
        entries.sort_by_key(|entry| entry.request);
        world.held(self.me, round, self.last_serial, &entries);
    }

    /// Answers the oldest request.
    fn answer(&mut self, world: &mut World) {
        if let Some(round) = self.list_due.take() {
            self.list(world, round);
        }
        if self.waiting.is_empty() {
            return;
        }
        let (reference, place, serial) = self.waiting.remove(0);
        self.items[place].reference = Some(reference);
        self.items[place].serial = serial;
        self.items[place].seq = 0;
        world.accept(self.me, place as u32, reference);
        self.owed.push(place);
    }

    /// Sends an image that is owed: to all if it is the first one.
    fn send_image(&mut self, world: &mut World, dice: &mut Dice) {
        let Some(place) = self.owed.pop() else { return };
        let item = &mut self.items[place];
        if item.reference.is_none() {
            return;
        }
        let fields: Vec<_> = item.fields.iter().map(|(id, value)| (*id, *value)).collect();
        let split = dice.below(fields.len() as u64 + 1) as usize;
        let parts = match dice.one_in(3) {
            true => {
                vec![image_part(0, false, &fields[..split]), image_part(1, true, &fields[split..])]
            }
            false => vec![image(&fields)],
        };
        let is_first = item.seq == 0;
        for part in parts {
            if is_first {
                item.seq += 1;
                world.item(self.me, place as u32, item.seq, &part);
            } else {
                world.item_to_us(self.me, place as u32, item.seq, &part);
            }
        }
    }

    /// Changes an item. The frame may be lost.
    fn change(&mut self, world: &mut World, dice: &mut Dice, loses: bool) {
        let place = dice.below(NAMES.len() as u64) as usize;
        let item = &mut self.items[place];
        let (field_id, value) = (FIRST_FIELD + dice.below(4) as i16, dice.below(1000) as i64);
        item.fields.insert(field_id, value);
        if item.reference.is_none() || item.seq == 0 {
            return;
        }
        item.seq += 1;
        let seq = item.seq;
        if loses && dice.one_in(8) {
            if dice.one_in(2) {
                world.gap(self.me);
            }
            return;
        }
        let (body, flags) = match dice.below(10) {
            0 => {
                let fields: Vec<_> = item.fields.iter().map(|(id, it)| (*id, *it)).collect();
                (image(&fields), FrameFlags::IMAGE)
            }
            1 => {
                let stale = status(StreamState::OPEN, DataState::OK, "a word");
                world.item(self.me, place as u32, seq, &stale);
                item.seq += 1;
                (update(&[(field_id, value)]), FrameFlags::empty())
            }
            _ => (update(&[(field_id, value)]), FrameFlags::empty()),
        };
        let seq = item.seq;
        world.item_with(self.me, place as u32, seq, flags, &body);
    }
}

/// A stream of a consumer.
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the stream")]
struct Stream {
    name: &'static str,
    view: Option<Vec<i16>>,
    paused: bool,
    snapshot: bool,
    fields: Fields,
    has_image: bool,
    in_parts: bool,
    is_ok: bool,
}

struct Consumer {
    session: SessionId,
    streams: BTreeMap<i32, Stream>,
    next_stream: i32,
    is_slow: bool,
    /// It has its data from elsewhere.
    stands_by: bool,
}

impl Consumer {
    /// Takes in what the server sent. Every message must make sense.
    fn take_in(&mut self, heard: Vec<Vec<u8>>) {
        for bytes in heard {
            let msg = Msg::decode(&bytes).expect("a message");
            let stream_id = msg.stream_id();
            let Some(stream) = self.streams.get_mut(&stream_id) else {
                panic!("on a stream that is not open: {}", show(&bytes));
            };
            let mut is_over = false;
            match &msg {
                Msg::Refresh(refresh) if self.stands_by => {
                    assert_eq!(msg.payload().data_type(), DataType::NO_DATA, "{}", show(&bytes));
                    let is_answer = refresh.flags.contains(RefreshFlags::SOLICITED);
                    assert!(is_answer, "unasked: {}", show(&bytes));
                    is_over = stream.snapshot;
                }
                _ if self.stands_by => panic!("on standby: {}", show(&bytes)),
                Msg::Refresh(refresh) => {
                    if refresh.flags.contains(RefreshFlags::CLEAR_CACHE) {
                        stream.fields.clear();
                    }
                    let number = refresh.part_num.unwrap_or_default();
                    assert!(stream.in_parts || number == 0, "begins with {}", show(&bytes));
                    stream.has_image = true;
                    stream.in_parts = !refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
                    stream.is_ok = refresh.state.data == DataState::OK;
                    let expected = match stream.snapshot {
                        true => StreamState::NON_STREAMING,
                        false => StreamState::OPEN,
                    };
                    assert_eq!(refresh.state.stream, expected, "{}", show(&bytes));
                    is_over = stream.snapshot && !stream.in_parts;
                }
                Msg::Status(status) => {
                    let state = status.state.expect("a state");
                    assert_eq!(state.stream, StreamState::OPEN, "{}", show(&bytes));
                    if state.data != DataState::NO_CHANGE {
                        stream.is_ok = state.data == DataState::OK;
                    }
                }
                Msg::Update(_) => {
                    assert!(stream.has_image, "before the image: {}", show(&bytes));
                    assert!(!stream.paused, "while it is paused: {}", show(&bytes));
                }
                other => panic!("{other:?}"),
            }
            stream.merge(&msg);
            if is_over {
                self.streams.remove(&stream_id);
            }
        }
    }
}

impl Consumer {
    /// It has its data from here, or from elsewhere. What it had is not that of
    /// this server then.
    fn change_role(&mut self, world: &mut World) {
        self.stands_by = !self.stands_by;
        for stream in self.streams.values_mut() {
            (stream.has_image, stream.in_parts, stream.is_ok) = (false, false, false);
            stream.fields.clear();
        }
        let mode = match self.stands_by {
            true => WarmStandbyMode::Standby,
            false => WarmStandbyMode::Active,
        };
        world.say(self.session, &login_role(mode));
    }
}

impl Stream {
    fn merge(&mut self, msg: &Msg<'_>) {
        let payload = msg.payload();
        if payload.data_type() != DataType::FIELD_LIST {
            return;
        }
        for entry in &payload.field_list().expect("a field list") {
            let entry = entry.expect("a field");
            let value = entry.typed(DataType::REAL).real().expect("a real").expect("a value");
            if let Some(view) = &self.view {
                assert!(view.contains(&entry.field_id), "field {} unasked", entry.field_id);
            }
            self.fields.insert(entry.field_id, value.mantissa());
        }
    }

    fn wants(&self, field_id: i16) -> bool {
        self.view.as_ref().is_none_or(|view| view.contains(&field_id))
    }
}

struct Model {
    world: World,
    dice: Dice,
    hub: Hub,
    consumers: Vec<Consumer>,
}

impl Model {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let config = ServerConfig {
            cache: !dice.one_in(3),
            announce_conflation: dice.one_in(2),
            ..ServerConfig::default()
        };
        let mut world = World::feed_with(config);
        let consumers = (0..3)
            .map(|_| Consumer {
                session: world.mount(),
                streams: BTreeMap::new(),
                next_stream: 10,
                is_slow: false,
                stands_by: false,
            })
            .collect();
        // Events come between the slices of what is to be worked off.
        world.is_late = dice.one_in(2);
        Self { world, dice, hub: Hub::new(HUB), consumers }
    }

    /// Lets what was sent arrive.
    fn deliver(&mut self) {
        let published = std::mem::take(&mut self.world.out.published);
        self.hub.take_in(published);
        for consumer in &mut self.consumers {
            let heard = self.world.heard_bytes(consumer.session);
            consumer.take_in(heard);
        }
    }

    fn request(&mut self, index: usize) {
        let Self { world, dice, consumers, .. } = self;
        let consumer = &mut consumers[index];
        let name = NAMES[dice.below(NAMES.len() as u64) as usize];
        let snapshot = dice.one_in(5);
        let is_open = consumer.streams.values().any(|it| it.name == name && !it.snapshot);
        if is_open && !snapshot {
            return;
        }
        let view =
            dice.one_in(3).then(|| vec![FIRST_FIELD + dice.below(4) as i16, FIRST_FIELD + 1]);
        let stream_id = consumer.next_stream;
        consumer.next_stream += 1;
        let stream = Stream {
            name,
            view: view.clone(),
            paused: false,
            snapshot,
            fields: Fields::new(),
            has_image: false,
            in_parts: false,
            is_ok: false,
        };
        consumer.streams.insert(stream_id, stream);
        let bytes = requested(stream_id, name, view.as_deref(), !snapshot, false);
        world.say(consumer.session, &bytes);
    }

    /// Pauses or resumes a stream, or asks for another image.
    fn reissue(&mut self, index: usize) {
        let Self { world, dice, consumers, .. } = self;
        let consumer = &mut consumers[index];
        let mut streaming = consumer.streams.iter_mut().filter(|(_, it)| !it.snapshot);
        let count = dice.below(6) as usize;
        let Some((stream_id, stream)) = streaming.nth(count) else { return };
        stream.paused = dice.one_in(2);
        let bytes = requested(*stream_id, stream.name, stream.view.as_deref(), true, stream.paused);
        world.say(consumer.session, &bytes);
    }

    fn close(&mut self, index: usize) {
        let Self { world, dice, consumers, .. } = self;
        let consumer = &mut consumers[index];
        let count = dice.below(6) as usize;
        let Some(stream_id) = consumer.streams.keys().copied().nth(count) else { return };
        consumer.streams.remove(&stream_id);
        world.say(consumer.session, &close(stream_id));
    }

    fn slow_down_or_drain(&mut self, index: usize) {
        let consumer = &mut self.consumers[index];
        consumer.is_slow = !consumer.is_slow;
        match consumer.is_slow {
            true => self.world.answer(consumer.session, Sent::Slow),
            // What waits is worked off later.
            false => {
                self.world.out.answers.remove(&consumer.session);
                self.world.drained(consumer.session);
            }
        }
    }

    fn restart_hub(&mut self) {
        self.world.hub_down(self.hub.me);
        let mut hub = Hub::new(Incarnation(self.hub.me.0 + 1));
        for (new, old) in hub.items.iter_mut().zip(&mut self.hub.items) {
            new.fields = std::mem::take(&mut old.fields);
        }
        self.hub = hub;
        self.world.hub_up(self.hub.me);
        self.world.hub_directory(self.hub.me, vec![service(1, "FEED", true)]);
    }

    fn step(&mut self) {
        let index = self.dice.below(3) as usize;
        // What was sent before is not for what a consumer says now.
        let consumer = &mut self.consumers[index];
        let heard = self.world.heard_bytes(consumer.session);
        consumer.take_in(heard);
        match self.dice.below(40) {
            0..4 => self.request(index),
            4..6 => self.close(index),
            6..8 => self.reissue(index),
            8..11 => self.slow_down_or_drain(index),
            11 => self.world.handle_timeout(),
            12..15 => self.hub.answer(&mut self.world),
            15..20 => self.hub.send_image(&mut self.world, &mut self.dice),
            21 => self.consumers[index].change_role(&mut self.world),
            20 if self.dice.one_in(10) => self.restart_hub(),
            _ => self.hub.change(&mut self.world, &mut self.dice, true),
        }
        // Not always at once: what is published may cross with frames.
        if self.dice.one_in(2) {
            self.deliver();
        }
    }

    /// Lets everything that is under way arrive, and checks that all are equal.
    fn settle(&mut self) {
        for consumer in &mut self.consumers {
            let heard = self.world.heard_bytes(consumer.session);
            consumer.take_in(heard);
            if consumer.stands_by {
                consumer.change_role(&mut self.world);
            }
            if consumer.is_slow {
                consumer.is_slow = false;
                self.world.drain(consumer.session);
            }
        }
        self.world.work_off();
        for _ in 0..200 {
            self.world.work_off();
            self.deliver();
            self.hub.answer(&mut self.world);
            self.hub.send_image(&mut self.world, &mut self.dice);
        }
        // A change of every item shows the holes.
        for _ in 0..100 {
            self.hub.change(&mut self.world, &mut self.dice, false);
            self.deliver();
        }
        for _ in 0..50 {
            self.world.work_off();
            self.deliver();
            self.hub.answer(&mut self.world);
            self.hub.send_image(&mut self.world, &mut self.dice);
        }
        self.deliver();
        self.check();
    }

    fn check(&self) {
        for consumer in &self.consumers {
            for (stream_id, stream) in consumer.streams.iter().filter(|(_, it)| !it.paused) {
                let place = NAMES.iter().position(|name| *name == stream.name).expect("known");
                let mut expected = self.hub.items[place].fields.clone();
                expected.retain(|field_id, _| stream.wants(*field_id));
                let what = format!("stream {stream_id} of {:?}, {}", consumer.session, stream.name);
                assert!(!stream.snapshot, "{what} is a snapshot that never came");
                let known = (stream.has_image, stream.is_ok, stream.in_parts);
                assert_eq!(known, (true, true, false), "{what}: image, ok, in parts");
                assert_eq!(stream.fields, expected, "{what}");
            }
        }
    }
}

fn requested(
    stream_id: i32,
    name: &str,
    view: Option<&[i16]>,
    streaming: bool,
    pause: bool,
) -> Vec<u8> {
    let view = view.map(|fields| View::of_fields(fields.iter().copied()));
    let payload = RequestPayload { view: view.as_ref(), ..RequestPayload::NONE };
    request_with(stream_id, name, &payload, |it| {
        it.streaming = streaming;
        it.pause = pause;
    })
}

fn run(seed: u64) {
    let mut model = Model::new(seed);
    for _ in 0..6 {
        for _ in 0..150 {
            model.step();
        }
        model.settle();
    }
    let sessions: Vec<_> = model.consumers.iter().map(|it| it.session).collect();
    for session in sessions {
        model.world.disconnect(session);
    }
    model.world.work_off();
    assert_eq!(model.world.core.statistics().items, 0, "nothing is left");
    assert_eq!(model.world.core.statistics().merged_bytes, 0, "nothing waits");
    assert_eq!(model.world.out.closed, [], "nobody was cut");
}

#[test]
fn whatever_happens_everybody_ends_with_what_the_hub_has() {
    for seed in 0..200 {
        let result = std::panic::catch_unwind(|| run(seed));
        assert!(result.is_ok(), "seed {seed}");
    }
}
