//! A non-interactive provider of a recording: it publishes all items of the
//! recording, and plays it as soon as a hub takes it.

use std::collections::HashMap;

use tapeline_api::{
    ApiError, ItemHandle, PublishSpec, PublisherEvent, PublisherHandler, RefreshHead, Submissions,
};
use tapeline_feed::{FeedError, UpdateKind};
use tapeline_rwf::{Domain, Encoded, Msg};
use tapeline_time::Time;

use crate::Counts;
use crate::drive::{NonInteractive, Playing, refusal_of};
use crate::replay::{Replay, Sent};

/// The items, by their name.
type Handles = HashMap<String, Vec<(Domain, ItemHandle)>>;

/// The items of a recording at a hub.
pub struct Rebroadcasting {
    replay: Replay,
    handles: Handles,
    is_up: bool,
    counts: Counts,
    image: Vec<u8>,
    failure: Option<FeedError>,
    refusal: Option<String>,
}

impl Rebroadcasting {
    /// Publishes the images of all items, which go out as soon as there is a
    /// hub.
    pub fn new(
        service: &str,
        replay: Replay,
        submissions: &mut Submissions<'_>,
    ) -> Result<Self, ApiError> {
        let names = replay.names();
        let mut handles = Handles::new();
        for name in &names {
            for domain in Replay::DOMAINS {
                let spec = PublishSpec::new(service, name.as_str()).domain(domain);
                let handle = submissions.open(&spec)?;
                handles.entry(name.clone()).or_default().push((domain, handle));
            }
        }
        let mut rebroadcasting = Self {
            replay,
            handles,
            is_up: false,
            counts: Counts::default(),
            image: Vec::new(),
            failure: None,
            refusal: None,
        };
        for name in &names {
            for domain in Replay::DOMAINS {
                rebroadcasting.image(domain, name, submissions)?;
            }
        }
        Ok(rebroadcasting)
    }

    /// Sends the image of an item.
    fn image(
        &mut self,
        domain: Domain,
        name: &str,
        submissions: &mut Submissions<'_>,
    ) -> Result<(), ApiError> {
        let Some(handle) = handle_of(&self.handles, domain, name) else { return Ok(()) };
        self.image.clear();
        let handles = &self.handles;
        let image = self.replay.image(domain, name, &mut self.image, &mut |sent| {
            send(handles, &sent, submissions);
        });
        match image {
            Ok(Some(data_type)) => {
                let payload = Encoded::new(data_type, &self.image);
                let _ = submissions.refresh(handle, &RefreshHead::default(), &payload)?;
                self.counts.images += 1;
            }
            Ok(None) => {}
            Err(failure) => self.failure = Some(failure),
        }
        Ok(())
    }
}

fn handle_of(handles: &Handles, domain: Domain, name: &str) -> Option<ItemHandle> {
    let of_name = handles.get(name)?;
    of_name.iter().find(|(other, _)| *other == domain).map(|(_, handle)| *handle)
}

fn send(handles: &Handles, sent: &Sent<'_>, submissions: &mut Submissions<'_>) {
    let Some(handle) = handle_of(handles, sent.domain, sent.name) else { return };
    // A hub that does not take it gets a new image later.
    match sent.kind {
        UpdateKind::Changes(_) => {
            let _ = submissions.send(handle, sent.message);
        }
        UpdateKind::Image => {
            if let Ok(Msg::Refresh(msg)) = Msg::decode(sent.message) {
                let _ = submissions.refresh(handle, &RefreshHead::default(), &msg.payload);
            }
        }
    }
}

impl Playing for Rebroadcasting {
    fn counts(&self) -> Counts {
        Counts {
            open_items: (self.handles.len() * Replay::DOMAINS.len()) as u64,
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
        if self.is_up { self.replay.next() } else { None }
    }
}

impl NonInteractive for Rebroadcasting {
    fn send_due(&mut self, now: Time, submissions: &mut Submissions<'_>) -> Result<u64, FeedError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if !self.is_up {
            return Ok(0);
        }
        let handles = &self.handles;
        self.replay.send_due(now, &mut |sent| send(handles, &sent, submissions))
    }

    fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }
}

impl PublisherHandler for Rebroadcasting {
    fn event(&mut self, event: PublisherEvent<'_>, submissions: &mut Submissions<'_>) {
        match event {
            PublisherEvent::Ready => self.is_up = true,
            PublisherEvent::Down { .. } => self.is_up = false,
            PublisherEvent::Login { state, .. } => self.refusal = refusal_of(&state),
            PublisherEvent::RefreshWanted { item } => {
                let key = self.handles.iter().find_map(|(name, handles)| {
                    let (domain, _) = handles.iter().find(|(_, handle)| *handle == item)?;
                    Some((*domain, name.clone()))
                });
                if let Some((domain, name)) = key {
                    let _ = self.image(domain, &name, submissions);
                }
            }
            _ => {}
        }
    }
}
