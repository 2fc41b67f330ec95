//! A non-interactive provider: it has a list of items, and publishes all of
//! them whether somebody wants them or not.

use tapeline_api::{
    ApiError, ItemHandle, PublishSpec, PublisherEvent, PublisherHandler, RefreshHead, Submissions,
};
use tapeline_feed::FeedError;
use tapeline_omm::market::Part;
use tapeline_rwf::{Domain, Msg, RefreshFlags};
use tapeline_time::Time;

use crate::drive::{NonInteractive, refusal_of};
use crate::pace::Pace;
use crate::stamps::Stamps;
use crate::stock::Stock;
use crate::turns::{TakesTurns, Turns};
use tapeline_api::ByHandle;

/// The items, and what is due when.
pub struct Broadcasting {
    turns: Turns<ItemHandle>,
    by_handle: ByHandle,
    refusal: Option<String>,
}

impl Broadcasting {
    /// Publishes the images of these items, which go out as soon as there is a
    /// hub.
    pub fn new(
        (service, domain, names): (&str, Domain, &[String]),
        stock: &mut Stock,
        (pace, stamps): (Pace, Stamps),
        submissions: &mut Submissions<'_>,
    ) -> Result<Self, ApiError> {
        let mut broadcasting =
            Self { turns: Turns::new(pace, stamps), by_handle: ByHandle::default(), refusal: None };
        for name in names {
            let Some(template) = stock.template(domain, name) else { continue };
            let spec = PublishSpec::new(service, name.as_str()).domain(domain);
            let handle = submissions.open(&spec)?;
            let item = broadcasting.turns.add(name, template, handle);
            broadcasting.by_handle.set(handle.index(), item);
            broadcasting.image(item, submissions)?;
        }
        Ok(broadcasting)
    }

    /// Sends the image of an item.
    fn image(&mut self, item: usize, submissions: &mut Submissions<'_>) -> Result<(), ApiError> {
        let Some(item) = self.turns.get(item) else { return Ok(()) };
        for part in &item.template.image {
            let Ok(Msg::Refresh(msg)) = Msg::decode(part) else { continue };
            let is_last = msg.flags.contains(RefreshFlags::REFRESH_COMPLETE);
            let part = Part { number: msg.part_num, is_last };
            let head = RefreshHead { state: msg.state, part, ..RefreshHead::default() };
            let _ = submissions.refresh(item.to, &head, &msg.payload)?;
        }
        self.turns.note_image();
        Ok(())
    }
}

impl TakesTurns for Broadcasting {
    type To = ItemHandle;

    fn turns(&self) -> &Turns<Self::To> {
        &self.turns
    }

    fn turns_mut(&mut self) -> &mut Turns<Self::To> {
        &mut self.turns
    }
}

impl NonInteractive for Broadcasting {
    fn send_due(&mut self, now: Time, submissions: &mut Submissions<'_>) -> Result<u64, FeedError> {
        Ok(self.turns.send_due(now, |handle, message| {
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
            PublisherEvent::Ready => self.turns.open_all(),
            PublisherEvent::Down { .. } => self.turns.close_all(),
            PublisherEvent::Login { state, .. } => self.refusal = refusal_of(&state),
            PublisherEvent::RefreshWanted { item } => {
                if let Some(item) = self.by_handle.get(item.index()) {
                    let _ = self.image(item, submissions);
                }
            }
            _ => {}
        }
    }
}
