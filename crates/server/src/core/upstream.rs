//! Requests to hubs: opened in turn, asked again when there is no answer,
//! closed when nobody watches any more.

use tapeline_backbone::{FrameHeader, Kind, Published};
use tapeline_omm::Scratch;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::pages::Line;
use tapeline_omm::qos::QosWish;
use tapeline_rwf::{Msg, MsgKey, RequestFlags, RequestMsg};
use tapeline_time::Time;

use super::image_due::ImageDue;
use super::item::{HubIndex, Item, Upstream};
use super::{Core, DUE_PER_TURN, millis};
use crate::Outputs;

/// An item to look at again when its time has come, unless it went on to
/// another attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: Time,
    pub(super) slot: u32,
    pub(super) attempt: u32,
    /// Whether it is an image that was asked for, rather than the item.
    pub(super) is_image: bool,
}

/// The requests to all hubs: their serials, and when to look what became of them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    last_serial: u32,
    /// Items to look at again, first one first: all wait equally long.
    due: Line<Due>,
}

impl Requests {
    /// The serial of the last request.
    pub(super) const fn last_serial(&self) -> u32 {
        self.last_serial
    }

    /// The serial of a new one.
    const fn next_serial(&mut self) -> u32 {
        self.last_serial = self.last_serial.wrapping_add(1);
        self.last_serial
    }

    /// When the first item is to be looked at again.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.due.front().map(|due| due.at)
    }

    /// All items to look at again.
    pub(super) fn due(&self) -> impl Iterator<Item = &Due> {
        self.due.iter()
    }

    /// Takes out an item whose time has come.
    fn pop_due(&mut self, now: Time) -> Option<Due> {
        let is_due = self.deadline().is_some_and(|at| at <= now);
        if is_due { self.due.pop_front() } else { None }
    }

    /// Forgets those at the front that are settled, a few at a time.
    fn forget(&mut self, is_settled: impl Fn(&Due) -> bool) {
        // Each image settles one; a few more make up for those that came late.
        for _ in 0..4 {
            if !self.due.front().is_some_and(&is_settled) {
                break;
            }
            self.due.pop_front();
        }
    }
}

impl Core {
    /// Asks the best hub for an item, now or when it is its turn. Whether there
    /// is a hub for it.
    pub(super) fn open_upstream<O: Outputs>(&mut self, slot: u32, out: &mut O) -> bool {
        // Its last watcher may have left with the state that it was told.
        let Some(item) = self.items.get(slot) else { return false };
        let Some((hub, _)) = self.services.choose(&self.hubs, &item.key.as_ref()) else {
            self.items.forget_upstream(slot);
            return false;
        };
        self.items.set_upstream(slot, Upstream::Queued { hub });
        if let Some(hub) = self.hubs.get_mut(hub) {
            hub.queue.push_back(slot);
        }
        self.pump(hub, out);
        true
    }

    /// Requests on their way to the hub that has most of them.
    pub(super) fn requests_open(&self) -> usize {
        let awaited = &self.items.awaited;
        self.hubs.most(|index, hub| hub.unanswered + awaited.due(index))
    }

    /// Sends the next requests to a hub, as far as its window allows.
    pub(super) fn pump<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        let window = self.config.limits.open_window;
        while let Some(hub) = self.hubs.get_mut(index) {
            if hub.unanswered + self.items.awaited.due(index) >= window {
                return;
            }
            if hub.queue.is_empty() {
                return;
            }
            if out.is_congested() {
                return self.pump_later(index);
            }
            let Some(slot) = hub.queue.pop_front() else { return };
            // Closed, or moved to another hub meanwhile.
            let queued = self.items.get(slot).map(Item::upstream);
            if queued == Some(Upstream::Queued { hub: index })
                && self.send_open(slot, index, out) == Published::Dropped
            {
                self.not_asked(slot, index);
                return self.pump_later(index);
            }
        }
    }

    /// The backbone took no request: it goes back to the head of the queue.
    fn not_asked(&mut self, slot: u32, index: HubIndex) {
        self.items.set_upstream(slot, Upstream::Queued { hub: index });
        if let Some(hub) = self.hubs.get_mut(index) {
            hub.unanswered = hub.unanswered.saturating_sub(1);
            hub.queue.push_front(slot);
        }
    }

    fn send_open<O: Outputs>(&mut self, slot: u32, index: HubIndex, out: &mut O) -> Published {
        let (Some(item), Some(hub)) = (self.items.known(slot), self.hubs.get_mut(index)) else {
            return Published::NoPeer;
        };
        let name = self.services.name(item.service_id());
        let Some(service_id) = name.and_then(|name| hub.directory.service_id(name)) else {
            self.items.forget_upstream(slot);
            return Published::NoPeer;
        };
        self.items.set_upstream(slot, Upstream::Asked { hub: index, holds_place: true });
        let Some(item) = self.items.known_mut(slot) else { return Published::NoPeer };
        item.attempt = self.requests.next_serial();
        item.has_image = false;
        item.image_due = ImageDue::after(hub.inquiry.round());
        hub.unanswered += 1;
        let header = FrameHeader {
            item_seq: item.attempt,
            ..FrameHeader::new(Kind::Open, hub.incarnation, slot)
        };
        let _ = item.take_unsent();
        let request = request(item, service_id, true, &mut self.scratch);
        let published = request.map(|request| out.publish(header, &[request]));
        let published = published.unwrap_or(Published::TooLarge);
        // What is tried again in a millisecond leaves no entry each time.
        if published != Published::Dropped {
            self.look_again(slot, false);
        }
        published
    }

    /// Has an item looked at again, when its hub has had the time to answer.
    pub(super) fn look_again(&mut self, slot: u32, is_image: bool) {
        let Some(item) = self.items.known(slot) else { return };
        let at = self.now.after(millis(self.config.limits.open_timeout_ms));
        self.requests.due.push_back(Due { at, slot, attempt: item.attempt, is_image });
    }

    /// Asks the hub of an item for another image, or only tells it the priority.
    pub(super) fn reissue_upstream<O: Outputs>(
        &mut self,
        slot: u32,
        with_image: bool,
        out: &mut O,
    ) {
        let Some(item) = self.items.known_mut(slot) else { return };
        let Upstream::Accepted { hub, .. } = item.upstream() else { return };
        if with_image && item.pauses_itself() {
            // A request that pauses brings no image.
            return self.lose_private(slot, out);
        }
        let Some(hub) = self.hubs.get(hub) else { return };
        let name = self.services.name(item.service_id());
        let Some(service_id) = name.and_then(|name| hub.directory.service_id(name)) else { return };
        if with_image {
            item.image_due = ImageDue::after(hub.inquiry.round());
        }
        let header = FrameHeader::new(Kind::Reissue, hub.incarnation, slot);
        if let Some(request) = request(item, service_id, with_image, &mut self.scratch) {
            out.publish(header, &[request]);
        }
        let _ = item.take_unsent();
        if with_image {
            self.look_again(slot, true);
        }
    }

    /// Asks for an image if somebody waits for one and none is on its way.
    pub(super) fn ask_image<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(item) = self.items.known(slot) else { return };
        let is_accepted = matches!(item.upstream(), Upstream::Accepted { .. });
        if is_accepted && !item.image_due.is_due() && !item.in_parts {
            self.reissue_upstream(slot, true, out);
        }
    }

    /// Nobody watches an item any more: tells its hub, and forgets it.
    pub(super) fn close_item<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(item) = self.items.known(slot) else { return };
        if let Some(hub) = item.upstream().told() {
            self.close_at_hub(slot, hub, out);
        }
        self.forget_item(slot);
    }

    /// Forgets an item that its hub has ended, or that no hub has.
    pub(super) fn forget_item(&mut self, slot: u32) {
        let Some(item) = self.items.known(slot) else { return };
        let upstream = item.upstream();
        if let Upstream::Accepted { hub, hub_item } = upstream
            && let Some(hub) = self.hubs.get_mut(hub)
        {
            hub.unbind(hub_item);
        }
        let unanswered_at = match upstream {
            // One that is gone will answer nothing.
            Upstream::Asked { hub, .. } => Some(hub).filter(|hub| !self.hubs.is_lost(*hub)),
            _ => None,
        };
        self.items.remove(slot, unanswered_at);
    }

    /// The item is to be asked for again after a while: its hub refused it for
    /// now, or ended it.
    pub(super) fn retry_later(&mut self, slot: u32) {
        self.items.forget_upstream(slot);
        let Some(item) = self.items.known_mut(slot) else { return };
        item.attempt = self.requests.next_serial();
        self.look_again(slot, false);
    }

    /// Forgets when to look at items that have what they were asked for, as
    /// far as they are next: a burst of requests leaves nothing behind.
    pub(super) fn forget_settled(&mut self) {
        let Self { requests, items, .. } = self;
        requests.forget(|due| {
            let Some(item) = items.get(due.slot) else { return false };
            let is_had = matches!(item.upstream(), Upstream::Accepted { .. }) && item.has_image;
            item.attempt != due.attempt || is_had && !item.image_due.is_due() && !item.needs_repair
        });
    }

    /// Looks at items whose hub had time to answer.
    pub(super) fn check_due<O: Outputs>(&mut self, out: &mut O) {
        for _ in 0..DUE_PER_TURN {
            let Some(due) = self.requests.pop_due(self.now) else { return };
            let Some(item) = self.items.get(due.slot) else {
                let expired = self.items.expire(due.slot, due.attempt);
                if let Some(hub) = expired {
                    self.answered(hub, out);
                }
                continue;
            };
            if item.attempt != due.attempt {
                continue;
            }
            match item.upstream() {
                Upstream::Accepted { .. }
                    if due.is_image && (item.image_due.is_due() || item.needs_repair) =>
                {
                    self.ask_image_again(due.slot, out);
                }
                Upstream::Accepted { .. } | Upstream::Queued { .. } => {}
                Upstream::Nowhere => {
                    self.open_upstream(due.slot, out);
                }
                Upstream::Asked { hub, .. } => {
                    self.ask_again(due.slot, hub, out);
                }
            }
        }
    }

    /// An image that was asked for did not come: the request or the image was
    /// lost.
    fn ask_image_again<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(item) = self.items.known_mut(slot) else { return };
        item.image_due = ImageDue::NONE;
        if item.needs_repair || item.is_wanted() {
            self.ask_image(slot, out);
        }
        // It has had its time: others do not wait for it.
        self.image_came(slot, out);
    }

    /// Withdraws a request that was not answered and sends it once more: one of
    /// the two may have been lost.
    pub(super) fn ask_again<O: Outputs>(&mut self, slot: u32, index: HubIndex, out: &mut O) {
        let asked = self.items.get(slot).and_then(|item| item.upstream().asked_at(index));
        let holds_place = asked == Some(true);
        if let Some(hub) = self.hubs.get_mut(index) {
            hub.unanswered = hub.unanswered.saturating_sub(usize::from(holds_place));
        }
        self.close_at_hub(slot, index, out);
        if self.send_open(slot, index, out) == Published::Dropped {
            self.look_again(slot, false);
        }
    }
}

/// The request for an item as its hub understands it. That of a private stream
/// is the consumer's own: what it asks for is between its two ends.
fn request<'s>(
    item: &Item,
    service_id: u16,
    with_image: bool,
    scratch: &'s mut Scratch,
) -> Option<&'s [u8]> {
    if let Some(bytes) = item.request() {
        let Ok(Msg::Request(request)) = Msg::decode(bytes) else { return None };
        let key = MsgKey { service_id: Some(service_id), ..request.key };
        // What it last asked for may have been something else than an image.
        let mut flags = request.flags;
        flags.set(RequestFlags::NO_REFRESH, !with_image);
        let request = RequestMsg { flags, stream_id: 0, key, ..request };
        return scratch.message(&request.into()).ok();
    }
    let key = item.key.as_ref();
    let msg_key = MsgKey { service_id: Some(service_id), ..key.msg_key() };
    let request = ItemRequest {
        streaming: item.is_streaming,
        no_refresh: !with_image,
        priority: Some(item.priority()),
        qos: key.qos.map_or(QosWish::Best, QosWish::Exact),
        ..ItemRequest::new(key.domain, 0, msg_key)
    };
    scratch.encode(|encoder| request.encode(encoder, &RequestPayload::NONE)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_slots(slots: impl IntoIterator<Item = u32>) -> Requests {
        let mut requests = Requests::default();
        for slot in slots {
            let at = Time::from_nanos(u64::from(slot));
            let attempt = requests.next_serial();
            requests.due.push_back(Due { at, slot, attempt, is_image: false });
        }
        requests
    }

    #[test]
    fn items_come_due_one_after_the_other() {
        let mut requests = of_slots(1..=3);
        assert_eq!((requests.last_serial(), requests.deadline()), (3, Some(Time::from_nanos(1))));
        assert!(requests.pop_due(Time::ZERO).is_none());
        let now = Time::from_nanos(2);
        let due: Vec<_> = std::iter::from_fn(|| requests.pop_due(now))
            .map(|due| (due.slot, due.attempt))
            .collect();
        assert_eq!(due, [(1, 1), (2, 2)]);
        assert_eq!(requests.deadline(), Some(Time::from_nanos(3)));
    }

    #[test]
    fn what_is_settled_is_forgotten_up_to_the_first_that_is_not() {
        let mut requests = of_slots(0..10);
        for left in [6, 2, 2] {
            requests.forget(|due| due.slot != 8);
            assert_eq!(requests.due().count(), left);
        }
    }
}
