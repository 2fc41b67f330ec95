//! An interactive provider of a recording: it has the items of the recording,
//! and plays it from the first request on.

use std::collections::HashMap;

use tapeline_api::{
    ApiError, ProviderEvent, ProviderHandler, RefreshHead, Responses, StreamHandle,
};
use tapeline_feed::FeedError;
use tapeline_rwf::{Domain, Encoded, StateCode};
use tapeline_time::Time;

use crate::Counts;
use crate::drive::{Interactive, Playing};
use crate::replay::{Replay, Sent};

/// Who has which item open.
#[derive(Default)]
struct Audiences {
    by_name: HashMap<String, Vec<(Domain, StreamHandle)>>,
    /// The name of the item of each stream, by the index of its handle.
    by_stream: Vec<Option<String>>,
    open: u64,
}

impl Audiences {
    fn add(&mut self, domain: Domain, name: String, stream: StreamHandle) {
        let index = stream.index();
        if self.by_stream.len() <= index {
            self.by_stream.resize(index + 1, None);
        }
        self.by_stream[index] = Some(name.clone());
        self.by_name.entry(name).or_default().push((domain, stream));
        self.open += 1;
    }

    fn remove(&mut self, stream: StreamHandle) {
        let name = self.by_stream.get_mut(stream.index()).and_then(Option::take);
        let Some(streams) = name.and_then(|name| self.by_name.get_mut(&name)) else { return };
        streams.retain(|(_, other)| *other != stream);
        self.open -= 1;
    }

    fn send(&self, sent: &Sent<'_>, responses: &mut Responses<'_>) {
        let streams = self.by_name.get(sent.name).map(Vec::as_slice).unwrap_or_default();
        for (_, stream) in streams.iter().filter(|(domain, _)| *domain == sent.domain) {
            // Who does not take it is cut off, which comes as an event.
            let _ = responses.send(*stream, sent.message);
        }
    }
}

/// A recording and those who listen to it.
pub struct Replaying {
    replay: Replay,
    audiences: Audiences,
    has_begun: bool,
    counts: Counts,
    image: Vec<u8>,
    failure: Option<FeedError>,
}

impl Replaying {
    /// Of this recording, from the first request on.
    pub fn new(replay: Replay) -> Self {
        Self {
            replay,
            audiences: Audiences::default(),
            has_begun: false,
            counts: Counts::default(),
            image: Vec::new(),
            failure: None,
        }
    }

    fn image(
        &mut self,
        stream: StreamHandle,
        (domain, name): (Domain, &str),
        responses: &mut Responses<'_>,
    ) -> Result<bool, ApiError> {
        self.image.clear();
        let audiences = &self.audiences;
        let image = self.replay.image(domain, name, &mut self.image, &mut |sent| {
            audiences.send(&sent, responses);
        });
        match image {
            Ok(Some(data_type)) => {
                let payload = Encoded::new(data_type, &self.image);
                let _ = responses.refresh(stream, &RefreshHead::default(), &payload)?;
                self.counts.images += 1;
                Ok(true)
            }
            Ok(None) => {
                let text = "the item is not in the recording";
                let _ = responses.close(stream, StateCode::NOT_FOUND, text)?;
                Ok(false)
            }
            Err(failure) => {
                self.failure = Some(failure);
                Ok(false)
            }
        }
    }
}

impl Playing for Replaying {
    fn counts(&self) -> Counts {
        Counts {
            open_items: self.audiences.open,
            rate: self.replay.rate(),
            updates: self.replay.updates,
            missed: self.replay.missed,
            ..self.counts
        }
    }

    fn set_rate(&mut self, now: Time, rate: u64) {
        self.replay.set_rate(now, rate);
    }

    fn next(&self) -> Option<Time> {
        self.replay.next()
    }
}

impl Interactive for Replaying {
    fn send_due(&mut self, now: Time, responses: &mut Responses<'_>) -> Result<u64, FeedError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if !self.has_begun {
            return Ok(0);
        }
        let audiences = &self.audiences;
        self.replay.send_due(now, &mut |sent| audiences.send(&sent, responses))
    }
}

impl ProviderHandler for Replaying {
    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        match event {
            ProviderEvent::Request { stream, .. } => {
                let Some(info) = responses.stream(stream) else { return };
                let (domain, name, streaming) =
                    (info.domain, info.name.to_string(), info.streaming);
                // Why a message was not sent is an event of its own.
                let is_there = self.image(stream, (domain, &name), responses).unwrap_or(false);
                if is_there && streaming {
                    self.audiences.add(domain, name, stream);
                    self.has_begun = true;
                }
            }
            ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                let Some(info) = responses.stream(stream) else { return };
                let (domain, name) = (info.domain, info.name.to_string());
                let _ = self.image(stream, (domain, &name), responses);
            }
            ProviderEvent::Close { stream } => self.audiences.remove(stream),
            ProviderEvent::Post { receipt, .. } => {
                self.counts.posts += 1;
                let _ = responses.ack(receipt);
            }
            _ => {}
        }
    }
}
