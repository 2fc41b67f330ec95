//! An interactive provider that is driven by its sinks: it has every item that
//! is asked for, and updates those that are open.

use std::collections::HashMap;

use tapeline_api::{ApiError, ProviderEvent, ProviderHandler, Responses, StreamHandle};
use tapeline_feed::FeedError;
use tapeline_rssl::Time;
use tapeline_rwf::{Domain, StateCode};

use super::Counts;
use super::drive::{Interactive, Playing};
use super::stock::Stock;
use super::turns::{Item, Turns};
use crate::pace::Pace;

/// Who has an item open, and its place among the open ones.
#[derive(Default)]
struct Audience {
    streams: Vec<StreamHandle>,
    place: usize,
}

/// The open items, and what is due when.
pub(crate) struct Publishing {
    stock: Stock,
    items: Vec<Item<Audience>>,
    by_key: HashMap<(Domain, String), usize>,
    /// The item of each stream, by the index of its handle.
    by_stream: Vec<usize>,
    /// Items with at least one stream.
    open: Vec<usize>,
    turns: Turns,
    counts: Counts,
}

/// Instead of an item, where there is none.
const NONE: usize = usize::MAX;

impl Publishing {
    /// A source with a pace of updates, of which so many carry the time.
    pub(crate) fn new(stock: Stock, pace: Pace, stamps: Pace) -> Self {
        Self {
            stock,
            items: Vec::new(),
            by_key: HashMap::new(),
            by_stream: Vec::new(),
            open: Vec::new(),
            turns: Turns::new(pace, stamps),
            counts: Counts::default(),
        }
    }

    fn request(
        &mut self,
        stream: StreamHandle,
        (domain, name, is_streaming): (Domain, &str, bool),
        responses: &mut Responses<'_>,
    ) -> Result<(), ApiError> {
        let Some(item) = self.item(domain, name) else {
            let text = "this source has no data of that domain";
            let _ = responses.close(stream, StateCode::NOT_FOUND, text)?;
            return Ok(());
        };
        if is_streaming {
            self.add(item, stream);
        }
        self.image(item, stream, responses)
    }

    fn image(
        &mut self,
        item: usize,
        stream: StreamHandle,
        responses: &mut Responses<'_>,
    ) -> Result<(), ApiError> {
        for part in &self.items[item].template.image {
            let _ = responses.send(stream, part)?;
        }
        self.counts.images += 1;
        Ok(())
    }

    /// The item of a name, which there is as soon as it is asked for.
    fn item(&mut self, domain: Domain, name: &str) -> Option<usize> {
        let key = (domain, name.to_owned());
        if let Some(item) = self.by_key.get(&key) {
            return Some(*item);
        }
        let template = self.stock.template(domain, name)?;
        let item = self.items.len();
        self.items.push(Item::new(template, Audience::default()));
        self.by_key.insert(key, item);
        Some(item)
    }

    fn add(&mut self, item: usize, stream: StreamHandle) {
        let index = stream.index();
        if self.by_stream.len() <= index {
            self.by_stream.resize(index + 1, NONE);
        }
        self.by_stream[index] = item;
        let audience = &mut self.items[item].to;
        if audience.streams.is_empty() {
            audience.place = self.open.len();
            self.open.push(item);
        }
        audience.streams.push(stream);
    }

    fn remove(&mut self, stream: StreamHandle) {
        let Some(place) = self.by_stream.get_mut(stream.index()) else { return };
        let item = std::mem::replace(place, NONE);
        let Some(audience) = self.items.get_mut(item).map(|item| &mut item.to) else { return };
        audience.streams.retain(|other| *other != stream);
        if audience.streams.is_empty() {
            let place = audience.place;
            self.open.swap_remove(place);
            if let Some(moved) = self.open.get(place) {
                self.items[*moved].to.place = place;
            }
        }
    }
}

impl Playing for Publishing {
    fn counts(&self) -> Counts {
        Counts {
            open_items: self.open.len() as u64,
            rate: self.turns.pace().rate(),
            updates: self.turns.updates,
            missed: self.turns.pace().missed(),
            ..self.counts
        }
    }

    fn set_rate(&mut self, now: Time, rate: u64) {
        self.turns.set_rate(now, rate);
    }

    fn next(&self) -> Option<Time> {
        if self.open.is_empty() { None } else { self.turns.pace().next() }
    }
}

impl Interactive for Publishing {
    fn send_due(&mut self, now: Time, responses: &mut Responses<'_>) -> Result<u64, FeedError> {
        Ok(self.turns.send_due(now, &mut self.items, &self.open, |audience, message| {
            // Who does not take it is cut off, which comes as an event.
            let _ = responses.update_all(&audience.streams, message);
        }))
    }
}

impl ProviderHandler for Publishing {
    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        match event {
            ProviderEvent::Request { stream, .. } => {
                let Some(info) = responses.stream(stream) else { return };
                let (domain, name) = (info.domain, info.name.to_string());
                let request = (domain, name.as_str(), info.streaming);
                // Why a message was not sent is an event of its own.
                let _ = self.request(stream, request, responses);
            }
            ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                let item = self.by_stream.get(stream.index()).copied().unwrap_or(NONE);
                if item < self.items.len() {
                    let _ = self.image(item, stream, responses);
                }
            }
            ProviderEvent::Close { stream } => self.remove(stream),
            ProviderEvent::Post { receipt, .. } => {
                self.counts.posts += 1;
                let _ = responses.ack(receipt);
            }
            _ => {}
        }
    }
}
