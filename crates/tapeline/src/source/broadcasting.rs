//! A non-interactive provider: it has a list of items, and publishes all of
//! them whether somebody wants them or not.

use tapeline_api::{
    ApiError, ItemHandle, PublishSpec, PublisherEvent, PublisherHandler, RefreshHead, Submissions,
};
use tapeline_feed::FeedError;
use tapeline_omm::market::Part;
use tapeline_rssl::Time;
use tapeline_rwf::{Domain, Msg, RefreshFlags, StreamState};

use super::Counts;
use super::drive::{NonInteractive, Playing};
use super::stock::Stock;
use super::turns::{Item, Turns};
use crate::pace::Pace;

/// The items, and what is due when.
pub(crate) struct Broadcasting {
    items: Vec<Item<ItemHandle>>,
    /// The item of each handle, by its index.
    by_handle: Vec<usize>,
    /// All items, once they are submitted.
    open: Vec<usize>,
    turns: Turns,
    counts: Counts,
    refusal: Option<String>,
}

impl Broadcasting {
    /// Publishes the images of these items, which go out as soon as there is a
    /// hub.
    pub(crate) fn new(
        (service, domain, names): (&str, Domain, &[String]),
        stock: &mut Stock,
        (pace, stamps): (Pace, Pace),
        submissions: &mut Submissions<'_>,
    ) -> Result<Self, ApiError> {
        let mut broadcasting = Self {
            items: Vec::with_capacity(names.len()),
            by_handle: Vec::new(),
            open: Vec::new(),
            turns: Turns::new(pace, stamps),
            counts: Counts::default(),
            refusal: None,
        };
        for name in names {
            let Some(template) = stock.template(domain, name) else { continue };
            let spec = PublishSpec::new(service, name.as_str()).domain(domain);
            let handle = submissions.open(&spec)?;
            let index = handle.index();
            if broadcasting.by_handle.len() <= index {
                broadcasting.by_handle.resize(index + 1, usize::MAX);
            }
            broadcasting.by_handle[index] = broadcasting.items.len();
            broadcasting.items.push(Item::new(template, handle));
            broadcasting.image(index, submissions)?;
        }
        Ok(broadcasting)
    }

    /// Sends the image of an item.
    fn image(&mut self, index: usize, submissions: &mut Submissions<'_>) -> Result<(), ApiError> {
        let Some(item) = self.by_handle.get(index).and_then(|item| self.items.get(*item)) else {
            return Ok(());
        };
        for part in &item.template.image {
            let Ok(Msg::Refresh(msg)) = Msg::decode(part) else { continue };
            let is_last = msg.flags.contains(RefreshFlags::REFRESH_COMPLETE);
            let part = Part { number: msg.part_num, is_last };
            let head = RefreshHead { state: msg.state, part, ..RefreshHead::default() };
            let _ = submissions.refresh(item.to, &head, &msg.payload)?;
        }
        self.counts.images += 1;
        Ok(())
    }
}

impl Playing for Broadcasting {
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

impl NonInteractive for Broadcasting {
    fn send_due(&mut self, now: Time, submissions: &mut Submissions<'_>) -> Result<u64, FeedError> {
        Ok(self.turns.send_due(now, &mut self.items, &self.open, |handle, message| {
            // A hub that does not take it gets a new image later.
            let _ = submissions.send(*handle, message);
        }))
    }

    fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }
}

impl PublisherHandler for Broadcasting {
    fn event(&mut self, event: PublisherEvent<'_>, submissions: &mut Submissions<'_>) {
        match event {
            PublisherEvent::Ready => self.open = (0..self.items.len()).collect(),
            PublisherEvent::Down { .. } => self.open.clear(),
            PublisherEvent::Login { state, .. } if state.stream == StreamState::CLOSED => {
                let text = String::from_utf8_lossy(state.text);
                self.refusal = Some(format!("{text} ({})", state.code));
            }
            PublisherEvent::RefreshWanted { item } => {
                let _ = self.image(item.index(), submissions);
            }
            _ => {}
        }
    }
}
