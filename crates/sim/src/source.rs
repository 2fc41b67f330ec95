//! An interactive provider of the world.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    ApiError, Provider, ProviderConfig, ProviderEvent, RefreshHead, Responses, ServiceSpec,
    StatusHead, StreamHandle, UpdateHead,
};
use tapeline_channel::ReactorConfig;
use tapeline_channel::sim::Network;
use tapeline_omm::directory::{FilterContent, FilterEntry, ServiceEntry, ServiceState};
use tapeline_omm::market::ItemRequest;
use tapeline_rwf::{DataState, State, StateCode, StreamState};
use tapeline_time::Time;

use crate::log::Log;
use crate::model::{self, Item, Truth};
use crate::planted::Planted;

/// A provider of all services, and what it has open.
pub(crate) struct Source {
    pub(crate) index: usize,
    pub(crate) at: SocketAddr,
    services: usize,
    provider: Option<Provider<tapeline_channel::sim::Host>>,
    streams: Vec<(StreamHandle, Item)>,
    /// Changes that it has not sent, as it stands still.
    unsent: Vec<(Item, u64)>,
    pub(crate) stalled_until: Time,
    planted: Planted,
    sent: u64,
    /// A change that a planted fault sends later.
    kept: Option<(Item, u64)>,
    images: u64,
    /// The number of each service, which changes when it was withdrawn; none
    /// while it is.
    ids: Vec<Option<u16>>,
    /// The number that each had when it was withdrawn.
    withdrawn: Vec<u16>,
    pub(crate) down_since: Time,
}

impl Source {
    pub(crate) fn new(index: usize, at: SocketAddr, services: usize, planted: Planted) -> Self {
        Self {
            index,
            at,
            services,
            provider: None,
            streams: Vec::new(),
            unsent: Vec::new(),
            stalled_until: Time::ZERO,
            planted,
            sent: 0,
            kept: None,
            images: 0,
            ids: (0..services).map(|index| Some(index as u16 + 1)).collect(),
            withdrawn: vec![0; services],
            down_since: Time::ZERO,
        }
    }

    pub(crate) fn start(&mut self, network: &Network, seed: u64) {
        let ids = self.ids.iter().enumerate();
        let services: Vec<_> =
            ids.filter_map(|(index, id)| Some(spec((*id)?, index).entry())).collect();
        let reactor = ReactorConfig { seed, ..ReactorConfig::default() };
        let system = network.host(self.at.ip());
        let mut provider = Provider::with_system(ProviderConfig::new(services), reactor, system);
        provider.listen(self.at).expect("nobody else listens there");
        self.provider = Some(provider);
    }

    pub(crate) fn crash(&mut self, now: Time) {
        if self.is_up() {
            self.down_since = now;
        }
        self.provider = None;
        self.streams.clear();
        self.unsent.clear();
        self.kept = None;
    }

    /// Ends the streams of an item, which may be asked for again.
    pub(crate) fn end_item(&mut self, item: Item) {
        let Some(provider) = &mut self.provider else { return };
        let ended = self.streams.extract_if(.., |(_, its)| *its == item);
        let ended: Vec<_> = ended.map(|(stream, _)| stream).collect();
        let state = State::new(
            StreamState::CLOSED_RECOVER,
            DataState::SUSPECT,
            StateCode::NONE,
            "ended by its source",
        );
        provider.with(|responses| {
            for stream in ended {
                // It may be gone, and nobody heard of that yet.
                let _ = responses.status(stream, &StatusHead::of(state));
            }
        });
    }

    /// Says that a service is up, or is not.
    pub(crate) fn set_service(&mut self, service: usize, is_up: bool) {
        let service = service % self.services;
        let (Some(id), Some(provider)) = (self.ids[service], &mut self.provider) else { return };
        let state = FilterEntry::set(FilterContent::State(ServiceState::new(is_up, is_up)));
        let entry = ServiceEntry::update(id, vec![state]);
        provider.with(|responses| responses.update_directory(vec![entry]));
    }

    /// Takes a service away, or has it again by another number.
    pub(crate) fn withdraw(&mut self, service: usize, is_gone: bool) {
        let service = service % self.services;
        let (entry, id) = match (self.ids[service], is_gone) {
            (Some(id), true) => {
                self.withdrawn[service] = id;
                (ServiceEntry::delete(id), None)
            }
            (None, false) => {
                let id = next_id(self.withdrawn[service]);
                (spec(id, service).entry(), Some(id))
            }
            _ => return,
        };
        self.ids[service] = id;
        if let Some(provider) = &mut self.provider {
            provider.with(|responses| responses.update_directory(vec![entry]));
        }
    }

    /// Since when it is gone, if it is.
    pub(crate) fn gone_since(&self) -> Option<Time> {
        (!self.is_up()).then_some(self.down_since)
    }

    pub(crate) const fn is_up(&self) -> bool {
        self.provider.is_some()
    }

    pub(crate) fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// An item has changed.
    pub(crate) fn change(&mut self, now: Time, item: Item, seq: u64) {
        if !self.is_up() {
            return;
        }
        self.unsent.push((item, seq));
        if now >= self.stalled_until {
            self.send_unsent();
        }
    }

    fn send_unsent(&mut self) {
        for (item, seq) in std::mem::take(&mut self.unsent) {
            self.sent += 1;
            let is_chosen = self.sent % 16 == 7;
            match self.planted {
                Planted::LostUpdate if is_chosen => continue,
                Planted::RepeatedUpdate if is_chosen => self.send(item, seq),
                Planted::FalseValue if is_chosen => {
                    self.send(item, seq + 1000);
                    continue;
                }
                Planted::SwappedUpdates if is_chosen && self.kept.is_none() => {
                    self.kept = Some((item, seq));
                    continue;
                }
                _ => {}
            }
            self.send(item, seq);
            if let Some((kept, seq)) = self.kept.take_if(|(kept, _)| *kept == item) {
                self.send(kept, seq);
            }
        }
    }

    fn send(&mut self, item: Item, seq: u64) {
        let Some(provider) = &mut self.provider else { return };
        let streams = &self.streams;
        provider.with(|responses| {
            for (stream, _) in streams.iter().filter(|(_, its)| *its == item) {
                match responses.update(*stream, &UpdateHead::QUOTE, &model::update(seq)) {
                    // Whoever waits for an image, or is gone, needs no update.
                    Ok(_) | Err(ApiError::Held(_) | ApiError::Void) => {}
                    Err(error) => panic!("a source cannot send: {error}"),
                }
            }
        });
    }

    pub(crate) fn turn(&mut self, now: Time, truth: &Truth, log: &mut Log) -> usize {
        if now < self.stalled_until {
            return 0;
        }
        self.send_unsent();
        let Self { provider: Some(provider), streams, planted, images, index, .. } = self else {
            return 0;
        };
        provider.poll(
            Some(Duration::ZERO),
            &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
                ProviderEvent::Request { stream, request, .. } => {
                    let Some(item) = item_of(request) else {
                        panic!("a request for no item: {request:?}")
                    };
                    log.note(format_args!("source {index}: request for {item}"));
                    // That of a snapshot is over with its image.
                    if request.streaming {
                        streams.push((stream, item));
                    }
                    *images += 1;
                    if *planted == Planted::Silence && item.name == 0 {
                        return;
                    }
                    answer(responses, stream, item, truth, *planted, *images);
                }
                ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                    let item = streams.iter().find(|(its, _)| *its == stream);
                    let Some((_, item)) = item else { panic!("a reissue of no stream") };
                    log.note(format_args!("source {index}: another image of {item}"));
                    *images += 1;
                    answer(responses, stream, *item, truth, *planted, *images);
                }
                ProviderEvent::Post { receipt, .. } => {
                    // Whoever posted may be gone.
                    let _ = responses.ack(receipt);
                }
                ProviderEvent::Close { stream } => {
                    log.note(format_args!("source {index}: close of {}", stream.index()));
                    streams.retain(|(its, _)| *its != stream);
                }
                ProviderEvent::Connected { client } => {
                    log.note(format_args!("source {index}: {client:?} connected"));
                }
                ProviderEvent::Disconnected { client, reason } => {
                    log.note(format_args!("source {index}: {client:?} gone: {reason}"));
                }
                _ => {}
            },
        )
    }
}

fn answer(
    responses: &mut Responses<'_>,
    stream: StreamHandle,
    item: Item,
    truth: &Truth,
    planted: Planted,
    images: u64,
) {
    let mut seq = truth.get(&item).copied().unwrap_or_default();
    if planted == Planted::OldImage && images % 4 == 3 {
        seq = seq.saturating_sub(3);
    }
    match responses.refresh(stream, &RefreshHead::default(), &model::image(seq)) {
        Ok(_) | Err(ApiError::Void) => {}
        Err(error) => panic!("a source cannot answer: {error}"),
    }
}

/// Services have numbers below this, and later ones that much apart.
const MOST_SERVICES: usize = 10;

const fn next_id(id: u16) -> u16 {
    (id + MOST_SERVICES as u16) % 10_000
}

fn spec(id: u16, service: usize) -> ServiceSpec {
    ServiceSpec::new(id, format!("S{service}"))
}

fn item_of(request: &ItemRequest<'_>) -> Option<Item> {
    let name = std::str::from_utf8(request.key.name?).ok()?;
    let name = name.strip_prefix('I')?.parse().ok()?;
    let service = usize::from(request.key.service_id?).checked_sub(1)? % MOST_SERVICES;
    Some(Item { service, name })
}
