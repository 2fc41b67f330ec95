//! The items of a feed handler at a hub.

use std::collections::{HashMap, HashSet};

use tapeline_api::{
    ApiError, ItemHandle, PublishSpec, PublisherEvent, PublisherHandler, RefreshHead, StatusHead,
    Submissions,
};
use tapeline_feed::{FeedError, Update, UpdateKind};
use tapeline_rwf::{DataState, DataType, Domain, Encoded, State, StateCode, StreamState};
use tapeline_time::Time;

use super::handler::FeedHandler;

/// What every instrument is published as.
const DOMAINS: [Domain; 3] =
    [Domain::MARKET_BY_ORDER, Domain::MARKET_BY_PRICE, Domain::MARKET_PRICE];

const LOSS: &str = "market data of the exchange is missing";

/// An instrument's items.
struct Items {
    /// Of each domain that there are items of.
    handles: [Option<ItemHandle>; DOMAINS.len()],
    /// Each for itself, whatever all are.
    is_suspect: bool,
}

/// What has been published at a hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Items.
    pub items: usize,
    /// Times that all items became suspect.
    pub stales: u64,
    /// Times that an instrument's items did, for themselves.
    pub item_stales: u64,
    /// Images sent.
    pub images: u64,
    /// Updates sent.
    pub updates: u64,
}

/// What decides, whichever exchange it reads.
pub trait Handler {
    /// What it counts.
    type Counts;

    /// Whether nothing that is published may be what it should.
    fn is_stale(&self, now: Time) -> bool;

    /// Whether an item for itself may not be what it should.
    fn is_item_stale(&self, _: &str) -> bool {
        false
    }

    /// Gives the items that, each for itself, have become so or good since the last call,
    /// with whether they are.
    fn turned(&mut self, _: impl FnMut(&str, bool)) {}

    /// What it has counted, and what was published of it.
    fn counts(&self, now: Time, published: &Published) -> Self::Counts;

    /// Gives what has changed since the last call, item by item.
    fn publish(&mut self, each: impl FnMut(&str, &Update<'_>)) -> Result<(), FeedError>;

    /// Appends an item as it is now; `None` if there is no such item.
    fn image(
        &self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError>;

    /// Whether there are items of a domain.
    fn has(&self, _: Domain) -> bool {
        true
    }
}

/// A feed handler, and what of it a hub has.
pub struct Feeding<H = FeedHandler> {
    /// What decides.
    pub handler: H,
    published: Published,
    service: String,
    items: HashMap<String, Items>,
    /// What the hub was told of all of them.
    is_suspect: bool,
    refusal: Option<String>,
    failure: Option<String>,
    buffer: Vec<u8>,
}

const fn state(is_suspect: bool) -> State<'static> {
    match is_suspect {
        true => State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, LOSS),
        false => State::open_ok(""),
    }
}

impl Items {
    /// What an image of one begins with, while all are suspect or not.
    fn head(&self, are_suspect: bool) -> RefreshHead<'static> {
        let state = state(are_suspect || self.is_suspect);
        RefreshHead { state, ..RefreshHead::default() }
    }

    fn say_suspect(&self, submissions: &mut Submissions<'_>) {
        for handle in self.handles.iter().flatten() {
            let _ = submissions.status(*handle, &StatusHead::of(state(true)));
        }
    }
}

impl<H: Handler> Feeding<H> {
    /// A feed handler that publishes to a service.
    pub fn new(handler: H, service: &str) -> Self {
        Self {
            handler,
            published: Published::default(),
            service: service.to_owned(),
            items: HashMap::new(),
            is_suspect: true,
            refusal: None,
            failure: None,
            buffer: Vec::new(),
        }
    }

    /// Why it cannot go on: the hub refused the login, or an item cannot be written.
    pub fn failure(&self) -> Option<&str> {
        self.refusal.as_deref().or(self.failure.as_deref())
    }

    /// What it has counted.
    pub fn counts(&self, now: Time) -> H::Counts {
        self.handler.counts(now, &Published { items: self.item_count(), ..self.published })
    }

    fn item_count(&self) -> usize {
        let domains = DOMAINS.iter().filter(|domain| self.handler.has(**domain)).count();
        self.items.len() * domains
    }

    /// Publishes what has changed, and whether it is good.
    pub fn publish(&mut self, now: Time, submissions: &mut Submissions<'_>) {
        let is_suspect = self.handler.is_stale(now);
        let was_suspect = std::mem::replace(&mut self.is_suspect, is_suspect);
        if is_suspect && !was_suspect {
            tracing::warn!("items are suspect");
            self.published.stales += 1;
            self.items.values().for_each(|items| items.say_suspect(submissions));
        }
        let good = self.turn(submissions);
        match self.publish_changes(submissions) {
            Err(error) => self.failure = Some(error.to_string()),
            Ok(imaged) if !was_suspect => {
                for name in good.difference(&imaged) {
                    self.images_of(name, submissions);
                }
            }
            Ok(_) => {}
        }
        if was_suspect && !is_suspect {
            tracing::info!(items = self.item_count(), "items are good");
            self.images(submissions);
        }
    }

    /// Tells of the items that have become suspect each for itself; gives the names of
    /// those that have become good.
    fn turn(&mut self, submissions: &mut Submissions<'_>) -> HashSet<String> {
        let Self { handler, items, is_suspect, published, .. } = self;
        let mut good = HashSet::new();
        handler.turned(|name, is_stale| {
            let Some(items) = items.get_mut(name) else { return };
            let was_suspect = std::mem::replace(&mut items.is_suspect, is_stale);
            if !is_stale {
                good.insert(name.to_owned());
                return;
            }
            good.remove(name);
            published.item_stales += u64::from(!was_suspect);
            if !was_suspect && !*is_suspect {
                tracing::warn!(item = name, "an item is suspect");
                items.say_suspect(submissions);
            }
        });
        good
    }

    /// The names of the items that had images by it.
    fn publish_changes(
        &mut self,
        submissions: &mut Submissions<'_>,
    ) -> Result<HashSet<String>, FeedError> {
        let Self { handler, published, items, is_suspect, buffer, .. } = self;
        let (mut images, mut updates) = (0, 0);
        let mut imaged = HashSet::new();
        let mut new = Vec::new();
        handler.publish(|name, update| {
            let Some(items) = items.get(name) else {
                if new.last().is_none_or(|last| last != name) {
                    new.push(name.to_owned());
                }
                return;
            };
            let at = DOMAINS.iter().position(|domain| *domain == update.domain).unwrap_or(0);
            let Some(handle) = items.handles[at] else { return };
            // A hub that does not take it asks for an image later.
            match update.kind {
                UpdateKind::Image => {
                    let _ = submissions.refresh(handle, &items.head(*is_suspect), &update.payload);
                    if !imaged.contains(name) {
                        imaged.insert(name.to_owned());
                    }
                    images += 1;
                }
                UpdateKind::Changes(_) => {
                    buffer.clear();
                    if update.append(0, None, buffer).is_ok() {
                        let _ = submissions.send(handle, buffer);
                        updates += 1;
                    }
                }
            }
        })?;
        published.images += images;
        published.updates += updates;
        for name in new {
            let is_suspect = self.handler.is_item_stale(&name);
            match open(&self.handler, &self.service, &name, submissions) {
                Ok(handles) => self.items.insert(name.clone(), Items { handles, is_suspect }),
                Err(error) => {
                    tracing::error!(item = name, %error, "an item is not published");
                    continue;
                }
            };
            self.images_of(&name, submissions);
        }
        Ok(imaged)
    }

    /// Sends the images of all items.
    fn images(&mut self, submissions: &mut Submissions<'_>) {
        let names: Vec<String> = self.items.keys().cloned().collect();
        for name in &names {
            self.images_of(name, submissions);
        }
    }

    fn images_of(&mut self, name: &str, submissions: &mut Submissions<'_>) {
        for domain in DOMAINS {
            self.image(domain, name, submissions);
        }
    }

    fn image(&mut self, domain: Domain, name: &str, submissions: &mut Submissions<'_>) {
        let Self { handler, published, items, is_suspect, buffer, .. } = self;
        let at = DOMAINS.iter().position(|known| *known == domain).unwrap_or(0);
        let Some(items) = items.get(name) else { return };
        let Some(handle) = items.handles[at] else { return };
        buffer.clear();
        match handler.image(domain, name, buffer) {
            Ok(Some(kind)) => {
                let payload = Encoded::new(kind, buffer);
                let _ = submissions.refresh(handle, &items.head(*is_suspect), &payload);
                published.images += 1;
            }
            Ok(None) => {}
            Err(error) => self.failure = Some(error.to_string()),
        }
    }
}

fn open(
    handler: &impl Handler,
    service: &str,
    name: &str,
    submissions: &mut Submissions<'_>,
) -> Result<[Option<ItemHandle>; DOMAINS.len()], ApiError> {
    let mut open = |domain| {
        let spec = PublishSpec::new(service, name).domain(domain);
        handler.has(domain).then(|| submissions.open(&spec)).transpose()
    };
    Ok([open(DOMAINS[0])?, open(DOMAINS[1])?, open(DOMAINS[2])?])
}

impl<H: Handler> PublisherHandler for Feeding<H> {
    fn event(&mut self, event: PublisherEvent<'_>, submissions: &mut Submissions<'_>) {
        match event {
            PublisherEvent::Ready => tracing::info!(service = self.service, "published at the hub"),
            PublisherEvent::Login { state, .. } if state.stream != StreamState::OPEN => {
                self.refusal = Some(format!("the hub refuses: {}", state.text_lossy()));
            }
            PublisherEvent::RefreshWanted { item } => {
                let found = self.items.iter().find_map(|(name, items)| {
                    let at = items.handles.iter().position(|handle| *handle == Some(item))?;
                    Some((DOMAINS[at], name.clone()))
                });
                if let Some((domain, name)) = found {
                    self.image(domain, &name, submissions);
                }
            }
            _ => {}
        }
    }
}
