//! A consumer of the world, and the reference of what it may see.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemChange, ItemSpec, Login, PostHead,
    Protocol, Requests, Server as Address,
};
use tapeline_channel::sim::{Host, Network};
use tapeline_channel::{ConnectConfig, ReactorConfig};
use tapeline_omm::state::is_final;
use tapeline_omm::view::View;
use tapeline_rwf::{AckMsg, Priority, State};
use tapeline_time::Time;

use crate::log::Log;
use crate::model::{self, Item, SEQ, SOME, Seen, Truth, numbers};
use crate::planted::Planted;

pub(crate) struct Watcher {
    pub(crate) index: usize,
    consumer: Consumer<Host>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) stalled_until: Time,
    hearing: Hearing,
    pub(crate) heard: u64,
    /// Posts that have no answer: their ids, and which items they were on.
    posts: BTreeMap<u32, Handle>,
    /// Posts that were taken.
    acks: u64,
}

/// What planted faults keep from the reference.
#[derive(Debug, Default)]
struct Hearing {
    planted: Planted,
    images: u64,
    closes: u64,
}

impl Hearing {
    fn misses(&mut self, event: &ConsumerEvent<'_>) -> bool {
        match (self.planted, event) {
            (Planted::LostImage, ConsumerEvent::Refresh { .. }) => {
                self.images += 1;
                self.images % 4 == 3
            }
            _ => false,
        }
    }
}

impl Watcher {
    pub(crate) fn new(
        index: usize,
        servers: Vec<Address>,
        is_json: bool,
        network: &Network,
        (seed, planted): (u64, Planted),
    ) -> Self {
        let protocol = if is_json { Protocol::Json } else { Protocol::Rssl };
        let user = format!("consumer{index}");
        let config = ConsumerConfig { protocol, ..ConsumerConfig::new(servers, Login::new(user)) };
        let reactor = ReactorConfig { seed, ..ReactorConfig::default() };
        let system = network.host([10, 0, 3, index as u8 + 1]);
        let consumer = Consumer::with_system(config, reactor, ConnectConfig::default(), system)
            .expect("a server is named");
        Self {
            index,
            consumer,
            seen: Vec::new(),
            stalled_until: Time::ZERO,
            hearing: Hearing { planted, ..Hearing::default() },
            heard: 0,
            posts: BTreeMap::new(),
            acks: 0,
        }
    }

    pub(crate) fn has(&self, item: Item) -> bool {
        self.seen.iter().any(|seen| seen.item == item && !seen.is_snapshot)
    }

    pub(crate) fn open(&mut self, item: Item, view: bool, paused: bool, log: &mut Log) {
        if self.has(item) {
            return;
        }
        let (service, name) = (item.service(), item.name());
        let mut spec = ItemSpec::new(service.as_str(), &name);
        // It has to be resumed.
        if view {
            spec = spec.fields(SOME);
        }
        spec.paused = paused;
        let handle = self.consumer.open(&spec).expect("there is room");
        let handle_index = handle.index();
        let Self { index, .. } = self;
        log.note(format_args!("consumer {index}: opens {item} as {handle_index}, view {view}"));
        self.seen.push(Seen::new(handle, item, (view, paused), log.now));
    }

    /// Opens all of these that are not open, in as few requests as it can.
    pub(crate) fn open_batch(&mut self, items: &[Item], log: &mut Log) {
        let items: Vec<_> = items.iter().filter(|item| !self.has(**item)).copied().collect();
        let Some(first) = items.first() else { return };
        log.note(format_args!("consumer {}: opens {} items of {first}", self.index, items.len()));
        let (service, names) = (first.service(), items.iter().map(Item::name));
        let names: Vec<_> = names.collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let spec = ItemSpec::new(service.as_str(), "");
        let handles = self.consumer.with(|requests| requests.open_batch(&spec, &names));
        let now = log.now;
        let opened = handles.expect("there is room").into_iter().zip(items);
        self.seen.extend(opened.map(|(handle, item)| Seen::new(handle, item, (false, false), now)));
    }

    pub(crate) fn snapshot(&mut self, item: Item, log: &mut Log) {
        let (service, name) = (item.service(), item.name());
        let spec = ItemSpec::new(service.as_str(), &name).snapshot();
        let handle = self.consumer.open(&spec).expect("there is room");
        log.note(format_args!("consumer {}: asks for a snapshot of {item}", self.index));
        self.seen.push(Seen::snapshot(handle, item, log.now));
    }

    /// Posts on the stream of an item, if it can.
    pub(crate) fn post(&mut self, open: usize, log: &mut Log) {
        let count = self.seen.len().max(1);
        let Some(seen) = self.seen.get(open % count).filter(|seen| !seen.is_snapshot) else {
            return;
        };
        let handle = seen.handle;
        let head = PostHead::default();
        let posted = self.consumer.with(|requests| requests.post(handle, &head, &model::update(1)));
        if let Ok(id) = posted {
            log.note(format_args!("consumer {}: post {id} on {}", self.index, seen.item));
            self.posts.insert(id, handle);
        }
    }

    pub(crate) fn unanswered_posts(&self) -> usize {
        self.posts.len()
    }

    /// Another priority.
    pub(crate) fn rank(&mut self, open: usize, class: u8, log: &mut Log) {
        let count = self.seen.len().max(1);
        let Some(seen) = self.seen.get(open % count).filter(|seen| !seen.is_snapshot) else {
            return;
        };
        log.note(format_args!("consumer {}: {}, class {class}", self.index, seen.item));
        let (handle, priority) = (seen.handle, Some(Priority { class, count: 1 }));
        let change = ItemChange { priority, ..ItemChange::default() };
        self.consumer.with(|requests| requests.change(handle, change)).expect("it is open");
    }

    pub(crate) fn close(&mut self, open: usize, log: &mut Log) {
        if self.seen.is_empty() {
            return;
        }
        let seen = self.seen.swap_remove(open % self.seen.len());
        log.note(format_args!("consumer {}: closes {}", self.index, seen.item));
        self.hearing.closes += 1;
        if self.hearing.planted == Planted::DeafClose && self.hearing.closes % 4 == 1 {
            return;
        }
        self.consumer.close(seen.handle);
    }

    pub(crate) fn pause(&mut self, open: usize, is_paused: bool, log: &mut Log) {
        let count = self.seen.len().max(1);
        let Some(seen) = self.seen.get_mut(open % count).filter(|seen| !seen.is_snapshot) else {
            return;
        };
        // The image of a view comes with the resume, if it was changed meanwhile.
        if seen.is_paused == is_paused || is_paused && seen.is_changing() {
            return;
        }
        seen.pause(is_paused);
        log.note(format_args!("consumer {}: {}, paused: {is_paused}", self.index, seen.item));
        let handle = seen.handle;
        let asked = self.consumer.with(|requests| match is_paused {
            true => requests.pause(handle),
            false => requests.resume(handle),
        });
        asked.expect("it is open");
    }

    /// Asks for another view, or for an image alone.
    pub(crate) fn change(&mut self, open: usize, view: Option<bool>, log: &mut Log) {
        let count = self.seen.len().max(1);
        let Some(seen) = self.seen.get_mut(open % count).filter(|seen| !seen.is_snapshot) else {
            return;
        };
        // One change at a time: else nobody knows of which one an image is.
        if seen.is_changing() {
            return;
        }
        log.note(format_args!("consumer {}: {}, view {view:?}", self.index, seen.item));
        if let Some(has_view) = view {
            seen.change_view(has_view);
        }
        let handle = seen.handle;
        let view = view.map(|is_some| is_some.then(|| View::of_fields(SOME)));
        let change = ItemChange { view, refresh: true, ..ItemChange::default() };
        self.consumer.with(|requests| requests.change(handle, change)).expect("it is open");
    }

    pub(crate) fn turn(
        &mut self,
        now: Time,
        truth: &Truth,
        log: &mut Log,
        violations: &mut Vec<String>,
    ) -> usize {
        if now < self.stalled_until {
            return 0;
        }
        let Self { index, consumer, seen, hearing, heard, posts, acks, .. } = self;
        let mut hear = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            *heard += 1;
            if hearing.misses(&event) {
                return;
            }
            let answered = judge_ack(*index, &event, posts, acks, log);
            if let Err(what) = answered.and_then(|()| judge(*index, &event, seen, truth, log)) {
                log.note(format_args!("consumer {index}: BROKEN: {what}"));
                violations.push(format!("consumer {index}: {what}"));
            }
        };
        consumer.poll(Some(Duration::ZERO), &mut hear)
    }
}

fn words(state: State<'_>) -> String {
    format!("{} {} {} `{}`", state.stream, state.data, state.code, state.text_lossy())
}

/// Whether an answer to a post, if an event is one, is to one that was made and
/// not answered.
fn judge_ack(
    index: usize,
    event: &ConsumerEvent<'_>,
    posts: &mut BTreeMap<u32, Handle>,
    acks: &mut u64,
    log: &mut Log,
) -> Result<(), String> {
    let ConsumerEvent::Ack { handle, msg } = event else { return Ok(()) };
    let AckMsg { ack_id, nak_code, .. } = msg;
    log.note(format_args!("consumer {index}: answer to post {ack_id}: {nak_code:?}"));
    let Some(posted_on) = posts.remove(ack_id) else {
        return Err(format!("an answer to post {ack_id}, which waits for none"));
    };
    *acks += u64::from(nak_code.is_none());
    match handle {
        Some(handle) if *handle != posted_on => {
            Err(format!("the answer to post {ack_id} is on another stream"))
        }
        _ => Ok(()),
    }
}

/// Whether the reference allows an event.
fn judge(
    index: usize,
    event: &ConsumerEvent<'_>,
    open: &mut Vec<Seen>,
    truth: &Truth,
    log: &mut Log,
) -> Result<(), String> {
    let (handle, kind) = match event {
        ConsumerEvent::Down { reason, server, .. } => {
            log.note(format_args!("consumer {index}: lost server {server}: {reason}"));
            open.iter_mut().for_each(Seen::disconnected);
            return Ok(());
        }
        ConsumerEvent::Login { state, .. } => {
            log.note(format_args!("consumer {index}: login {}", words(*state)));
            return Ok(());
        }
        ConsumerEvent::Refresh { handle, .. } => (handle, "an image"),
        ConsumerEvent::Update { handle, .. } => (handle, "an update"),
        ConsumerEvent::Status { handle, .. } => (handle, "a state"),
        _ => return Ok(()),
    };
    let Some(place) = open.iter().position(|seen| seen.handle == *handle) else {
        return Err(format!("{kind} for handle {}, which is closed", handle.index()));
    };
    let seen = &mut open[place];
    seen.unanswered_since = None;
    let item = seen.item;
    let about = |what: String| format!("{item}: {what}");
    match event {
        ConsumerEvent::Refresh { msg, .. } => {
            let fields = numbers(&msg.payload).map_err(about)?;
            let (state, seq) = (words(msg.state), fields.get(&SEQ));
            log.note(format_args!("consumer {index}: {item} image {seq:?} {state}"));
            let (is_snapshot, is_over) = (seen.is_snapshot, is_final(msg.state.stream));
            if is_over && !is_snapshot {
                return Err(about("a stream is over with an image".to_owned()));
            }
            seen.refresh(truth, msg.state, fields).map_err(about)?;
            if is_over {
                open.swap_remove(place);
            }
            Ok(())
        }
        ConsumerEvent::Update { msg, .. } => {
            let fields = numbers(&msg.payload).map_err(about)?;
            log.note(format_args!("consumer {index}: {item} update {fields:?}"));
            seen.update(truth, fields).map_err(about)
        }
        ConsumerEvent::Status { msg, .. } => {
            let Some(state) = msg.state else { return Ok(()) };
            log.note(format_args!("consumer {index}: {item} {}", words(state)));
            if seen.status(state).map_err(about)? {
                if !seen.is_snapshot {
                    return Err(about(format!("it is closed: {}", words(state))));
                }
                open.swap_remove(place);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
