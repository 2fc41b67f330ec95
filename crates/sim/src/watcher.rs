//! A consumer of the world, and the reference of what it may see.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, GenericHead, Handle, ItemChange, ItemSpec, Login,
    PostHead, Protocol, Requests, Server as Address,
};
use tapeline_channel::sim::{Host, Network};
use tapeline_channel::{ConnectConfig, ReactorConfig};
use tapeline_omm::login::WarmStandbyMode;
use tapeline_omm::market::Part;
use tapeline_omm::state::is_final;
use tapeline_omm::view::View;
use tapeline_rwf::{AckMsg, DataState, Priority, RefreshFlags, State, StreamState, UpdateType};
use tapeline_time::Time;

use crate::item::{Changes, Content, Item, SOME, Truth};
use crate::log::Log;
use crate::model::{ImageHead, Phase, Seen, Wish};
use crate::planted::Planted;
use crate::rights::{Sight, is_masked, user};

pub(crate) struct Watcher {
    pub(crate) index: usize,
    consumer: Consumer<Host>,
    config: ConsumerConfig,
    pub(crate) seen: Open,
    pub(crate) stalled_until: Time,
    hearing: Hearing,
    pub(crate) heard: u64,
    /// Posts that have no answer: their ids, and which items they were on.
    posts: BTreeMap<u32, Option<Handle>>,
    /// Posts that were taken.
    acks: u64,
    /// It takes its data from elsewhere.
    stands_by: bool,
    pub(crate) sight: Sight,
    /// Not all fields are shown to it, or were not until a moment ago: since when.
    mask: (bool, Option<Time>),
    /// Since when it is logged in nowhere.
    pub(crate) down_since: Option<Time>,
}

/// The open items of a consumer.
#[derive(Debug, Default)]
pub(crate) struct Open {
    all: Vec<Seen>,
    places: BTreeMap<Handle, usize>,
    /// Those with updates that others may join.
    items: BTreeSet<Item>,
}

impl Open {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Seen> {
        self.all.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Seen> {
        self.all.iter_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn has(&self, item: Item) -> bool {
        self.items.contains(&item)
    }

    fn push(&mut self, seen: Seen) {
        if is_shared(&seen) {
            self.items.insert(seen.item);
        }
        self.places.insert(seen.handle, self.all.len());
        self.all.push(seen);
    }

    fn place(&self, handle: Handle) -> Option<usize> {
        self.places.get(&handle).copied()
    }

    /// One of those that are not over with their image.
    fn streaming(&mut self, open: usize) -> Option<&mut Seen> {
        let count = self.all.len().max(1);
        self.all.get_mut(open % count).filter(|seen| !seen.is_snapshot)
    }

    fn remove(&mut self, place: usize) -> Seen {
        let seen = self.all.swap_remove(place);
        self.places.remove(&seen.handle);
        if is_shared(&seen) {
            self.items.remove(&seen.item);
        }
        if let Some(moved) = self.all.get(place) {
            self.places.insert(moved.handle, place);
        }
        seen
    }
}

/// A server that stood still may answer by the policy of before for so long.
const MASKED_WITHIN: Duration = Duration::from_secs(10);

const fn is_shared(seen: &Seen) -> bool {
    !seen.is_snapshot && !seen.is_private
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
        (is_json, says_types): (bool, bool),
        network: &Network,
        (seed, planted): (u64, Planted),
    ) -> Self {
        let protocol = if is_json { Protocol::Json } else { Protocol::Rssl };
        let mut login = Login::new(user(index));
        if says_types {
            login.attributes.update_type_filter = Some(1 << UpdateType::QUOTE.0);
        }
        let config = ConsumerConfig { protocol, ..ConsumerConfig::new(servers, login) };
        Self {
            index,
            consumer: start(&config, index, network, seed),
            config,
            seen: Open::default(),
            stalled_until: Time::ZERO,
            hearing: Hearing { planted, ..Hearing::default() },
            heard: 0,
            posts: BTreeMap::new(),
            acks: 0,
            stands_by: false,
            sight: Sight::default(),
            mask: (false, None),
            down_since: Some(Time::ZERO),
        }
    }

    /// What it may see is something else from now on. Returns the number of this change.
    pub(crate) fn set_rights(&mut self, now: Time, rights: u8) -> u64 {
        let is_masked = is_masked(rights);
        if self.mask.0 != is_masked {
            self.mask = (is_masked, Some(now));
            self.seen.iter_mut().for_each(|seen| seen.change_mask(is_masked));
        }
        self.sight.set(now, rights)
    }

    /// It takes its data from elsewhere, or from its server again.
    pub(crate) fn set_role(&mut self, stands_by: bool, log: &mut Log) {
        if self.stands_by == stands_by {
            return;
        }
        self.stands_by = stands_by;
        log.note(format_args!("consumer {}: stands by: {stands_by}", self.index));
        let mode = if stands_by { WarmStandbyMode::Standby } else { WarmStandbyMode::Active };
        self.consumer.with(|requests| requests.set_role(Some(mode)));
        self.seen.iter_mut().for_each(|seen| seen.set_role(stands_by));
    }

    /// It is gone without a word, and another one is there.
    pub(crate) fn restart(&mut self, now: Time, network: &Network, seed: u64) {
        self.consumer = start(&self.config, self.index, network, seed);
        self.seen = Open::default();
        self.posts.clear();
        self.stands_by = false;
        self.down_since = Some(now);
    }

    pub(crate) fn open(&mut self, item: Item, wish: Wish, log: &mut Log) {
        if !wish.snapshot && !wish.private && self.seen.has(item) {
            return;
        }
        let (service, name) = (item.service(), item.name());
        let mut spec = ItemSpec::new(service.as_str(), &name).domain(item.domain());
        if wish.view {
            spec = spec.fields(SOME);
        }
        // It has to be resumed.
        spec.paused = wish.paused;
        spec.streaming = !wish.snapshot;
        spec.private = wish.private;
        let handle = self.consumer.open(&spec).expect("there is room");
        let (index, place) = (self.index, handle.index());
        log.note(format_args!("consumer {index}: opens {item} as {place}, {wish:?}"));
        self.push(Seen::new(handle, item, wish, log.now));
    }

    fn push(&mut self, mut seen: Seen) {
        let (is_masked, changed_at) = self.mask;
        let is_settled = changed_at.is_none_or(|at| seen.opened_at.since(at) > MASKED_WITHIN);
        seen.set_mask(is_masked, is_settled);
        if self.stands_by {
            seen.set_role(true);
            seen.ask();
        }
        self.seen.push(seen);
    }

    /// Opens all of these that are not open, in as few requests as it can.
    pub(crate) fn open_batch(&mut self, items: impl IntoIterator<Item = Item>, log: &mut Log) {
        let mut by_domain: BTreeMap<u8, Vec<Item>> = BTreeMap::new();
        for item in items.into_iter().filter(|item| !self.seen.has(*item)) {
            by_domain.entry(item.domain().0).or_default().push(item);
        }
        for items in by_domain.into_values() {
            let Some(first) = items.first() else { continue };
            log.note(format_args!(
                "consumer {}: opens {} items of {first}",
                self.index,
                items.len()
            ));
            let (service, names) = (first.service(), items.iter().map(Item::name));
            let names: Vec<_> = names.collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let spec = ItemSpec::new(service.as_str(), "").domain(first.domain());
            let handles = self.consumer.with(|requests| requests.open_batch(&spec, &names));
            for (handle, item) in handles.expect("there is room").into_iter().zip(items) {
                self.push(Seen::new(handle, item, Wish::default(), log.now));
            }
        }
    }

    /// Posts on the stream of an item, if it can.
    pub(crate) fn post(&mut self, open: usize, log: &mut Log) {
        let Some(seen) = self.seen.streaming(open) else { return };
        let (handle, item) = (seen.handle, seen.item);
        let (head, content) = (PostHead::default(), Content::update(item, 1));
        let posted = self.consumer.with(|requests| requests.post(handle, &head, &content));
        if let Ok(id) = posted {
            log.note(format_args!("consumer {}: post {id} on {item}", self.index));
            self.posts.insert(id, Some(handle));
        }
    }

    /// Posts to an item on the stream of the login, if it can.
    pub(crate) fn post_aside(&mut self, item: Item, log: &mut Log) {
        let (head, content) = (PostHead::default(), Content::update(item, 1));
        let (service, name) = (item.service(), item.name());
        let posted = self.consumer.with(|requests| {
            let service = service.as_str().into();
            requests.post_off_stream(service, &name, item.domain(), &head, &content)
        });
        if let Ok(id) = posted {
            log.note(format_args!("consumer {}: post {id} to {item}", self.index));
            self.posts.insert(id, None);
        }
    }

    /// Its shared items that are OK.
    pub(crate) fn ok(&self) -> impl Iterator<Item = Handle> {
        let ok = self.seen.iter().filter(|seen| is_shared(seen) && seen.phase == Phase::Ok);
        ok.map(|seen| seen.handle)
    }

    pub(crate) fn unanswered_posts(&self) -> usize {
        self.posts.len()
    }

    /// Sends a generic message with a number that no other has.
    pub(crate) fn send_generic(&mut self, open: usize, number: u64, log: &mut Log) {
        let Some(seen) = self.seen.streaming(open) else { return };
        let (handle, item) = (seen.handle, seen.item);
        log.note(format_args!("consumer {}: generic {number} on {item}", self.index));
        let content = Content::part(item, number, (0, 1), 0);
        // There may be no connection.
        let _ = self
            .consumer
            .with(|requests| requests.generic(handle, &GenericHead::default(), &content));
    }

    /// Another priority.
    pub(crate) fn rank(&mut self, open: usize, class: u8, log: &mut Log) {
        let Some(seen) = self.seen.streaming(open) else { return };
        log.note(format_args!("consumer {}: {}, class {class}", self.index, seen.item));
        let (handle, priority) = (seen.handle, Some(Priority { class, count: 1 }));
        let change = ItemChange { priority, ..ItemChange::default() };
        self.consumer.with(|requests| requests.change(handle, change)).expect("it is open");
    }

    pub(crate) fn close(&mut self, open: usize, log: &mut Log) {
        if self.seen.len() == 0 {
            return;
        }
        let seen = self.seen.remove(open % self.seen.len());
        log.note(format_args!("consumer {}: closes {}", self.index, seen.item));
        self.hearing.closes += 1;
        if self.hearing.planted == Planted::DeafClose && self.hearing.closes % 4 == 1 {
            return;
        }
        self.consumer.close(seen.handle);
    }

    pub(crate) fn close_all(&mut self, log: &mut Log) {
        while self.seen.len() > 0 {
            self.close(0, log);
        }
    }

    pub(crate) fn pause(&mut self, open: usize, is_paused: bool, log: &mut Log) {
        let index = self.index;
        let Some(seen) = self.seen.streaming(open) else { return };
        // The image of a view comes with the resume, if it was changed meanwhile.
        if seen.is_paused == is_paused || is_paused && seen.is_changing() {
            return;
        }
        seen.pause(is_paused);
        if !is_paused {
            seen.ask();
        }
        log.note(format_args!("consumer {index}: {}, paused: {is_paused}", seen.item));
        let handle = seen.handle;
        let asked = self.consumer.with(|requests| match is_paused {
            true => requests.pause(handle),
            false => requests.resume(handle),
        });
        asked.expect("it is open");
    }

    /// Asks for another view, or for an image alone.
    pub(crate) fn change(&mut self, open: usize, view: Option<bool>, log: &mut Log) {
        let index = self.index;
        let Some(seen) = self.seen.streaming(open) else { return };
        // One change at a time: else nobody knows of which one an image is.
        if seen.is_changing() {
            return;
        }
        log.note(format_args!("consumer {index}: {}, view {view:?}", seen.item));
        if let Some(has_view) = view {
            seen.change_view(has_view);
        }
        seen.ask();
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
        if self.mask.1.is_some_and(|at| now.since(at.max(self.stalled_until)) > MASKED_WITHIN) {
            self.seen.iter_mut().for_each(Seen::settle_mask);
        }
        let Self { index, consumer, seen, hearing, heard, posts, acks, sight, down_since, .. } =
            self;
        let mut hear = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            *heard += 1;
            if hearing.misses(&event) {
                return;
            }
            let answered = judge_ack(*index, &event, posts, acks, log);
            note_login(&event, now, down_since);
            let known = (truth, &*sight);
            if let Err(what) = answered.and_then(|()| judge(*index, &event, seen, known, log)) {
                log.note(format_args!("consumer {index}: BROKEN: {what}"));
                violations.push(format!("consumer {index}: {what}"));
            }
        };
        consumer.poll(Some(Duration::ZERO), &mut hear)
    }
}

fn start(config: &ConsumerConfig, index: usize, network: &Network, seed: u64) -> Consumer<Host> {
    let reactor = ReactorConfig { seed, ..ReactorConfig::default() };
    let system = network.host([10, 0, 3, index as u8 + 1]);
    let connect = ConnectConfig::default();
    Consumer::with_system(config.clone(), reactor, connect, system).expect("a server is named")
}

fn words(state: State<'_>) -> String {
    format!("{} {} {} `{}`", state.stream, state.data, state.code, state.text_lossy())
}

/// Takes note of whether it is logged in.
fn note_login(event: &ConsumerEvent<'_>, now: Time, down_since: &mut Option<Time>) {
    match event {
        ConsumerEvent::Down { .. } => _ = down_since.get_or_insert(now),
        ConsumerEvent::Login { state, .. } if state.data == DataState::OK => *down_since = None,
        _ => {}
    }
}

/// Whether an answer to a post, if an event is one, is to one that was made and
/// not answered.
fn judge_ack(
    index: usize,
    event: &ConsumerEvent<'_>,
    posts: &mut BTreeMap<u32, Option<Handle>>,
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
    match (handle, posted_on) {
        (Some(handle), Some(posted_on)) if *handle != posted_on => {
            Err(format!("the answer to post {ack_id} is on another stream"))
        }
        _ => Ok(()),
    }
}

/// Whether the reference allows an event.
fn judge(
    index: usize,
    event: &ConsumerEvent<'_>,
    open: &mut Open,
    known: (&Truth, &Sight),
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
        ConsumerEvent::Generic { handle: Some(handle), .. } => (handle, "a generic message"),
        _ => return Ok(()),
    };
    let Some(place) = open.place(*handle) else {
        return Err(format!("{kind} for handle {}, which is closed", handle.index()));
    };
    let seen = &mut open.all[place];
    seen.unanswered_since = None;
    let item = seen.item;
    let is_over = judge_item(index, event, seen, known, log);
    if is_over.map_err(|what| format!("{item}: {what}"))? {
        open.remove(place);
    }
    Ok(())
}

/// The same of an event of an item. Whether that is over.
fn judge_item(
    index: usize,
    event: &ConsumerEvent<'_>,
    seen: &mut Seen,
    (truth, sight): (&Truth, &Sight),
    log: &mut Log,
) -> Result<bool, String> {
    let item = seen.item;
    let may_end =
        seen.is_snapshot || seen.is_private || truth.was_ended(item) || sight.was_missing(item);
    match event {
        ConsumerEvent::Refresh { msg, .. } => {
            let changes = Changes::read(&msg.payload)?;
            let is_last = msg.flags.contains(RefreshFlags::REFRESH_COMPLETE);
            let part = Part { number: msg.part_num, is_last };
            let (state, seq) = (words(msg.state), changes.seq());
            log.note(format_args!("consumer {index}: {item} image {seq:?} {part:?} {state}"));
            let is_over = is_final(msg.state.stream)
                && (is_last || msg.state.stream != StreamState::NON_STREAMING);
            if is_over && !may_end {
                return Err("a stream is over with an image".to_owned());
            }
            if !changes.is_empty() {
                sight.check(item, seen.opened_at, seq)?;
            }
            let is_cleared = msg.flags.contains(RefreshFlags::CLEAR_CACHE);
            let is_answer = msg.flags.contains(RefreshFlags::SOLICITED);
            let head = ImageHead { part, is_cleared, is_answer };
            seen.refresh(truth, head, msg.state, changes)?;
            Ok(is_over)
        }
        ConsumerEvent::Update { msg, .. } => {
            let changes = Changes::read(&msg.payload)?;
            log.note(format_args!("consumer {index}: {item} update {changes:?}"));
            sight.check(item, seen.opened_at, changes.seq())?;
            seen.update(truth, changes)?;
            Ok(false)
        }
        ConsumerEvent::Status { msg, .. } => {
            let Some(state) = msg.state else { return Ok(false) };
            log.note(format_args!("consumer {index}: {item} {}", words(state)));
            let is_over = seen.status(state)?;
            if is_over && !may_end {
                return Err(format!("it is closed: {}", words(state)));
            }
            Ok(is_over)
        }
        ConsumerEvent::Generic { msg, .. } => {
            let number = Changes::read(&msg.payload)?.seq();
            log.note(format_args!("consumer {index}: {item} generic {number:?}"));
            seen.generic(number.ok_or("a generic message without its number")?)?;
            Ok(false)
        }
        _ => Ok(false),
    }
}
