//! A provider that answers whatever it is asked for.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    Provider, ProviderConfig, ProviderEvent, ProviderHandler, RefreshHead, Responses, ServiceSpec,
    StreamHandle, UpdateHead, encode_update,
};
use tapeline_omm::directory::{
    FilterContent, FilterEntry, ServiceEntry, ServiceLoad, ServiceState,
};
use tapeline_rwf::{Domain, Primitive, Real};

use crate::Failure;

/// The name of a service, of which there are so many.
pub(crate) fn service_name(service: usize) -> String {
    format!("FEED{service:02}")
}

/// The fields of an image, and of an update.
fn fields(value: i64) -> [(i16, Primitive<'static>); 6] {
    [
        (6, Real::decimal(101_234_567 + value, 4).into()),
        (22, Real::decimal(101_234_500 + value, 4).into()),
        (25, Real::decimal(101_234_600 + value, 4).into()),
        (32, Real::decimal(987_654_321, 0).into()),
        (30, Real::decimal(1_200, 0).into()),
        (31, Real::decimal(1_300, 0).into()),
    ]
}

/// A source, with the streams that are open at it.
pub(crate) struct Source {
    provider: Provider,
    book: Book,
    address: SocketAddr,
    services: usize,
    update: Vec<u8>,
    /// The next stream to get an update.
    next: usize,
}

#[derive(Default)]
struct Book {
    open: Vec<StreamHandle>,
    places: HashMap<StreamHandle, usize>,
}

impl ProviderHandler for Book {
    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        match event {
            ProviderEvent::Request { stream, request, .. } => {
                image(stream, responses);
                if request.streaming {
                    self.places.insert(stream, self.open.len());
                    self.open.push(stream);
                }
            }
            ProviderEvent::Reissue { stream, wants_image: true, .. } => image(stream, responses),
            ProviderEvent::Close { stream } => {
                let Some(place) = self.places.remove(&stream) else { return };
                self.open.swap_remove(place);
                if let Some(moved) = self.open.get(place) {
                    self.places.insert(*moved, place);
                }
            }
            _ => {}
        }
    }
}

fn image(stream: StreamHandle, responses: &mut Responses<'_>) {
    // A client that is gone needs none.
    let _ = responses.refresh(stream, &RefreshHead::default(), &fields(0));
}

impl Source {
    /// A source of so many services, which listens at this port, or at one that
    /// is free.
    pub(crate) fn listen(
        services: usize,
        open_limit: Option<u64>,
        port: u16,
    ) -> Result<Self, Failure> {
        let entry = |service: usize| {
            let mut entry = ServiceSpec::new(service as u16 + 1, service_name(service)).entry();
            if open_limit.is_some() {
                let load = ServiceLoad { open_limit, ..ServiceLoad::default() };
                entry.filters.push(FilterEntry::set(FilterContent::Load(load)));
            }
            entry
        };
        let mut config = ProviderConfig::new((0..services).map(entry));
        config.max_streams_per_client = 16_000_000;
        let mut provider = Provider::new(config)?;
        let address = provider.listen(SocketAddr::from(([127, 0, 0, 1], port)))?;
        let mut update = Vec::new();
        let length =
            encode_update(&mut update, Domain::MARKET_PRICE, &UpdateHead::QUOTE, &fields(1))?;
        update.truncate(length);
        Ok(Self { provider, book: Book::default(), address, services, update, next: 0 })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Items that are open.
    pub(crate) fn open(&self) -> usize {
        self.book.open.len()
    }

    pub(crate) fn poll(&mut self) {
        self.provider.poll(Some(Duration::ZERO), &mut self.book);
    }

    /// Sends so many updates, of one item after the other.
    pub(crate) fn update(&mut self, count: usize) {
        let Self { provider, book, update, next, .. } = self;
        if book.open.is_empty() {
            return;
        }
        provider.with(|responses| {
            for _ in 0..count {
                *next = (*next + 1) % book.open.len();
                // A stream that waits for its image takes none.
                let _ = responses.send(book.open[*next], update);
            }
        });
        provider.flush();
    }

    /// Tells another load factor of every service, in one message.
    pub(crate) fn change_load(&mut self, load_factor: u16) {
        self.tell(|| {
            let load =
                ServiceLoad { load_factor: Some(load_factor.into()), ..ServiceLoad::default() };
            FilterEntry::update(FilterContent::Load(load))
        });
    }

    /// Tells that every service is up or down, in one message.
    pub(crate) fn change_state(&mut self, is_up: bool) {
        let state = || FilterEntry::update(FilterContent::State(ServiceState::new(is_up, is_up)));
        self.tell(state);
    }

    fn tell(&mut self, filter: impl Fn() -> FilterEntry) {
        let entries = (1..=self.services as u16)
            .map(|service| ServiceEntry::update(service, vec![filter()]))
            .collect();
        self.provider.with(|responses| responses.update_directory(entries));
        self.provider.flush();
    }
}
