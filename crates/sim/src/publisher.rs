//! A non-interactive provider of the world.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

use tapeline_api::{
    ApiError, ItemHandle, Login, PublishSpec, Publisher as Party, PublisherConfig, PublisherEvent,
    RefreshHead, Server as Address, ServiceSpec, StatusHead, Submissions, UpdateHead,
};
use tapeline_channel::sim::{Host, Network};
use tapeline_channel::{ConnectConfig, ReactorConfig};
use tapeline_rwf::{DataState, Domain, State, StateCode, StreamState};
use tapeline_time::Time;

use crate::images::{Groups, Images};
use crate::item::{Content, Item, Truth};
use crate::log::Log;
use crate::plan::Shape;
use crate::planted::Planted;
use crate::random::Random;
use crate::rights::Locks;
use crate::source::output_limits;

/// A publisher of all items of its services.
pub(crate) struct Publisher {
    pub(crate) index: usize,
    party: Option<Party<Host>>,
    config: PublisherConfig,
    connect: ConnectConfig,
    items: Vec<Item>,
    handles: BTreeMap<Item, ItemHandle>,
    images: Images<ItemHandle>,
    /// Items that it has ended, and not begun again.
    ended: BTreeSet<Item>,
    unsent: Vec<(Item, u64)>,
    record: Record,
    down_since: Time,
    /// Since when it is at a hub.
    ready_since: Option<Time>,
}

/// What became of what it had to send.
#[derive(Debug, Default)]
struct Record {
    now: Time,
    /// Items of which there was no room for something.
    unfit: BTreeSet<Item>,
    /// When the last image of an item was sent, or a part of one.
    sent: BTreeMap<Item, Time>,
}

impl Publisher {
    pub(crate) fn new(
        index: usize,
        hubs: Vec<Address>,
        services: Range<usize>,
        shape: &Shape,
        chance: (Planted, Random),
    ) -> Self {
        let spec = |service: usize| {
            let spec = ServiceSpec::new(service as u16 + 1, format!("S{service}"));
            spec.domain(Domain::MARKET_BY_PRICE).entry()
        };
        let config = PublisherConfig::new(
            hubs,
            Login::new(format!("publisher{index}")),
            services.clone().map(spec).collect::<Vec<_>>(),
        );
        // The rest of an image without numbers of one that stood by until then
        // looks like an image; so does the next one, if there was no room for a
        // part of this one.
        let is_numbered = shape.publishers > 1 || shape.provider_output_bytes > 0;
        let numbered_percent = if is_numbered { 100 } else { shape.images.numbered_percent };
        let style = crate::plan::Images { numbered_percent, ..shape.images };
        let mut connect = ConnectConfig::default();
        if let Some(output) = output_limits(shape.provider_output_bytes) {
            connect.session.output = output;
        }
        Self {
            index,
            party: None,
            config,
            connect,
            items: services.flat_map(|service| shape.items_of(service)).collect(),
            handles: BTreeMap::new(),
            images: Images::new(style, (Groups::new(shape), Locks::new(shape)), chance),
            ended: BTreeSet::new(),
            unsent: Vec::new(),
            record: Record::default(),
            down_since: Time::ZERO,
            ready_since: None,
        }
    }

    pub(crate) fn start(&mut self, now: Time, network: &Network, seed: u64, truth: &Truth) {
        let reactor = ReactorConfig { seed, ..ReactorConfig::default() };
        let system = network.host([10, 0, 5, self.index as u8 + 1]);
        let party = Party::with_system(self.config.clone(), reactor, self.connect.clone(), system);
        self.party = Some(party.expect("a hub is named"));
        for item in self.items.clone() {
            self.publish(now, item, truth);
        }
    }

    pub(crate) fn crash(&mut self, now: Time) {
        if self.party.take().is_some() {
            self.down_since = now;
        }
        self.handles.clear();
        self.images.forget_all();
        self.unsent.clear();
        self.ended.clear();
        self.record = Record::default();
        self.ready_since = None;
    }

    pub(crate) fn gone_since(&self) -> Option<Time> {
        self.party.is_none().then_some(self.down_since)
    }

    /// Since when it is at a hub, if it is.
    pub(crate) const fn ready_since(&self) -> Option<Time> {
        self.ready_since
    }

    /// When it sent the last image of each item that it has.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (Item, Time)> {
        let sent = self.record.sent.iter().filter(|(item, _)| self.has(**item));
        sent.map(|(item, at)| (*item, *at))
    }

    /// Whether all that it had to send of an item was taken.
    pub(crate) fn has_room_for(&self, item: Item) -> bool {
        !self.record.unfit.contains(&item)
    }

    pub(crate) const fn is_up(&self) -> bool {
        self.party.is_some()
    }

    /// Whether it publishes an item.
    pub(crate) fn has(&self, item: Item) -> bool {
        self.handles.contains_key(&item)
    }

    pub(crate) fn calm(&mut self, now: Time) {
        self.images.calm(now);
    }

    /// Sends an image of all that it has: nobody can ask it for one, so an item
    /// that it stood by for waits for that.
    pub(crate) fn send_all(&mut self, now: Time, truth: &Truth) {
        for item in self.items.clone() {
            self.send_unasked(now, item, truth);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.images.deadline()
    }

    /// Publishes an item that it has not.
    pub(crate) fn publish(&mut self, now: Time, item: Item, truth: &Truth) {
        let Self { party: Some(party), handles, images, record, .. } = self else { return };
        record.now = now;
        self.ended.remove(&item);
        if handles.contains_key(&item) {
            return;
        }
        let (service, name) = (item.service(), item.name());
        let spec = PublishSpec::new(service.as_str(), &name).domain(item.domain());
        party.with(|submissions| {
            let handle = submissions.open(&spec).expect("there is room");
            handles.insert(item, handle);
            images.begin(now, (handle, item), truth, sending(submissions, record));
        });
    }

    /// Ends an item, which may come again.
    pub(crate) fn end(&mut self, item: Item) {
        let Self { party: Some(party), handles, images, .. } = self else { return };
        let Some(handle) = handles.remove(&item) else { return };
        images.forget(handle);
        self.ended.insert(item);
        let (data, code) = (DataState::SUSPECT, StateCode::NONE);
        let state = State::new(StreamState::CLOSED_RECOVER, data, code, "ended by its publisher");
        // What there is no room for is sent later.
        let _ = party.with(|submissions| submissions.status(handle, &StatusHead::of(state)));
    }

    pub(crate) fn send_unasked(&mut self, now: Time, item: Item, truth: &Truth) {
        let Self { party: Some(party), handles, images, record, .. } = self else { return };
        record.now = now;
        let Some(handle) = handles.get(&item) else { return };
        party.with(|submissions| {
            images.begin(now, (*handle, item), truth, sending(submissions, record));
        });
    }

    pub(crate) fn change(&mut self, item: Item, seq: u64) {
        if self.is_up() && self.handles.contains_key(&item) {
            self.unsent.push((item, seq));
            self.send_unsent();
        }
    }

    fn send_unsent(&mut self) {
        let Self { party: Some(party), handles, unsent, record, images, .. } = self else { return };
        party.with(|submissions| {
            for (item, seq) in unsent.drain(..) {
                let Some(handle) = handles.get(&item) else { continue };
                if record.unfit.contains(&item) {
                    // An update was left out: the image that comes has this one too.
                    continue;
                }
                let content = Content::update(item, seq);
                match submissions.update(*handle, &UpdateHead::QUOTE, &content) {
                    // The image that is sent again is not the last word then,
                    // and it is asked for another.
                    Ok(_) => images.note_update(*handle, seq),
                    Err(ApiError::Held(_) | ApiError::NotConnected | ApiError::Void) => {}
                    Err(ApiError::Full) => _ = record.unfit.insert(item),
                    Err(error) => panic!("a publisher cannot send: {error}"),
                }
            }
        });
    }

    pub(crate) fn turn(&mut self, now: Time, truth: &Truth, log: &mut Log) -> usize {
        let Self { party: Some(party), handles, images, index, record, ready_since, .. } = self
        else {
            return 0;
        };
        record.now = now;
        let mut work = usize::from(images.deadline().is_some_and(|due| due <= now));
        party.with(|submissions| images.send_due(now, truth, sending(submissions, record)));
        work += party.poll(
            Some(Duration::ZERO),
            &mut |event: PublisherEvent<'_>, submissions: &mut Submissions<'_>| match event {
                PublisherEvent::RefreshWanted { item: handle } => {
                    let item = handles.iter().find(|(_, its)| **its == handle);
                    let Some((item, _)) = item else { return };
                    log.note(format_args!("publisher {index}: another image of {item}"));
                    // One that has begun is of before.
                    images.forget(handle);
                    images.begin(now, (handle, *item), truth, sending(submissions, record));
                }
                PublisherEvent::Down { reason, server, .. } => {
                    log.note(format_args!("publisher {index}: lost hub {server}: {reason}"));
                    *ready_since = None;
                }
                PublisherEvent::Drained => {
                    for item in std::mem::take(&mut record.unfit) {
                        let Some(handle) = handles.get(&item) else { continue };
                        images.forget(*handle);
                        images.begin(now, (*handle, item), truth, sending(submissions, record));
                    }
                }
                PublisherEvent::Ready => {
                    log.note(format_args!("publisher {index}: ready"));
                    *ready_since = Some(now);
                }
                _ => {}
            },
        );
        work
    }
}

/// How an image is sent of an item.
fn sending<'a>(
    submissions: &'a mut Submissions<'_>,
    record: &'a mut Record,
) -> impl FnMut(ItemHandle, Item, &RefreshHead<'_>, &Content) -> Result<(), ApiError> + 'a {
    |handle, item, head, content| {
        let sent = submissions.refresh(handle, head, content).map(drop);
        match sent {
            Ok(()) => _ = record.sent.insert(item, record.now),
            Err(ApiError::Full) => _ = record.unfit.insert(item),
            Err(_) => {}
        }
        sent
    }
}
