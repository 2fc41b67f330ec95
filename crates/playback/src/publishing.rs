//! An interactive provider that is driven by its sinks: it has every item that
//! is asked for, and updates those that are open.

use std::collections::HashMap;

use tapeline_api::{ApiError, ProviderEvent, ProviderHandler, Responses, StreamHandle};
use tapeline_feed::FeedError;
use tapeline_rwf::{Domain, StateCode};
use tapeline_time::Time;

use crate::drive::Interactive;
use crate::pace::Pace;
use crate::stamps::Stamps;
use crate::stock::Stock;
use crate::turns::{TakesTurns, Turns};
use tapeline_api::ByHandle;

/// The open items, and what is due when.
pub struct Publishing {
    stock: Stock,
    /// The items, each with the streams that have it open.
    turns: Turns<Vec<StreamHandle>>,
    by_key: HashMap<(Domain, String), usize>,
    by_stream: ByHandle,
}

impl Publishing {
    /// A source with a pace of updates, of which so many carry the time.
    pub fn new(stock: Stock, (pace, stamps): (Pace, Stamps)) -> Self {
        Self {
            stock,
            turns: Turns::new(pace, stamps),
            by_key: HashMap::new(),
            by_stream: ByHandle::default(),
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
        let Some(item) = self.turns.get(item) else { return Ok(()) };
        for part in &item.template.image {
            let _ = responses.send(stream, part)?;
        }
        self.turns.note_image();
        Ok(())
    }

    /// The item of a name, which there is as soon as it is asked for.
    fn item(&mut self, domain: Domain, name: &str) -> Option<usize> {
        let key = (domain, name.to_owned());
        if let Some(item) = self.by_key.get(&key) {
            return Some(*item);
        }
        let template = self.stock.template(domain, name)?;
        let item = self.turns.add(name, template, Vec::new());
        self.by_key.insert(key, item);
        Some(item)
    }

    fn add(&mut self, number: usize, stream: StreamHandle) {
        let Some(item) = self.turns.get_mut(number) else { return };
        item.to.push(stream);
        self.by_stream.set(stream.index(), number);
        self.turns.open(number);
    }

    fn remove(&mut self, stream: StreamHandle) {
        let Some(number) = self.by_stream.take(stream.index()) else { return };
        let Some(item) = self.turns.get_mut(number) else { return };
        item.to.retain(|other| *other != stream);
        if item.to.is_empty() {
            self.turns.close(number);
        }
    }
}

impl TakesTurns for Publishing {
    type To = Vec<StreamHandle>;

    fn turns(&self) -> &Turns<Self::To> {
        &self.turns
    }

    fn turns_mut(&mut self) -> &mut Turns<Self::To> {
        &mut self.turns
    }
}

impl Interactive for Publishing {
    fn send_due(&mut self, now: Time, responses: &mut Responses<'_>) -> Result<u64, FeedError> {
        Ok(self.turns.send_due(now, |streams, message| {
            // Who does not take it is cut off, which comes as an event.
            let _ = responses.update_all(streams, message);
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
                if let Some(item) = self.by_stream.get(stream.index()) {
                    let _ = self.image(item, stream, responses);
                }
            }
            ProviderEvent::Close { stream } => self.remove(stream),
            ProviderEvent::Post { receipt, .. } => {
                self.turns.note_post();
                let _ = responses.ack(receipt);
            }
            _ => {}
        }
    }
}
