//! What was lost on the way from or to a hub is found and asked for again.
//!
//! The exchange is that of [`tapeline_backbone::repair`]: here is the side that
//! wants.

use std::time::Duration;

use tapeline_backbone::repair::{Held, HeldFlags, Page, Stretch, Wanted, WantedFlags};
use tapeline_backbone::{FrameFlags, FrameHeader, Kind, Published};
use tapeline_planted::planted;
use tapeline_rwf::{DataState, State, StreamState};

use super::frame::GAP;
use super::item::{HubIndex, Upstream};
use super::{Core, millis};
use crate::Outputs;

/// Pages of one list that are written at a time.
const PAGES_PER_SLICE: usize = 16;

/// Closes that are sent at a time, of those that had to wait.
const CLOSES_PER_SLICE: usize = 256;

/// How long what can wait does, when the backbone takes no more.
const CONGESTED_WAIT: Duration = Duration::from_millis(1);

impl Core {
    /// Frames of a hub were lost: it is asked what it has open for this server,
    /// and for its services. Where they are lost all the time, that must not
    /// make it worse: it is asked every now and then.
    pub(super) fn on_gap<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        let interval = millis(self.config.limits.resync_interval_ms);
        if let Some(hub) = self.hubs.get_mut(index) {
            hub.inquiry.hole(self.now, interval);
            hub.gaps = hub.gaps.wrapping_add(1);
        }
        self.inquire(index, out);
    }

    /// Goes on with what is owed to hubs, or due from them.
    pub(super) fn work_repairs<O: Outputs>(&mut self, out: &mut O) {
        for index in self.hubs.indexes() {
            // What is wanted says up to which request a hub has heard of all.
            self.work_backlog(index, out);
            self.inquire(index, out);
        }
    }

    /// Whether pages of what a hub holds are due.
    pub(crate) fn awaits_lists(&self) -> bool {
        self.hubs.owe_lists()
    }

    fn inquire<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        let interval = millis(self.config.limits.resync_interval_ms);
        let len = self.items.slots().end;
        let Some(hub) = self.hubs.known_mut(index) else { return };
        let Some(round) = hub.inquiry.due(self.now, interval) else { return };
        let peer = hub.incarnation;
        out.publish(FrameHeader::new(Kind::DirectoryRequest, peer, 0), &[]);
        let header =
            FrameHeader { item_seq: len, ..FrameHeader::new(Kind::HeldRequest, peer, round) };
        out.publish(header, &[]);
    }

    /// Sends some of what waits for a hub, unless the backbone takes no more.
    fn work_backlog<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        let Some(hub) = self.hubs.known_mut(index) else { return };
        if !hub.has_backlog() || hub.backlog_at > self.now {
            return;
        }
        for _ in 0..CLOSES_PER_SLICE {
            if self.waits_for_backbone(index, out) {
                return;
            }
            let Some(hub) = self.hubs.known_mut(index) else { return };
            let Some((slot, serial)) = hub.closes.pop_front() else { break };
            if !self.publish_close(slot, serial, index, out) {
                return;
            }
        }
        for _ in 0..PAGES_PER_SLICE {
            if self.waits_for_backbone(index, out) {
                return;
            }
            let len = self.items.slots().end;
            let stretch = self.hubs.get_mut(index).and_then(|hub| hub.walk.next_page(len));
            let Some(stretch) = stretch else { break };
            self.list_wanted(index, &stretch, out);
        }
        if let Some(hub) = self.hubs.get_mut(index)
            && std::mem::take(&mut hub.is_pump_due)
        {
            self.pump(index, out);
        }
    }

    /// Whether what can wait for a hub does so for now.
    pub(super) fn waits_for_backbone<O: Outputs>(&mut self, index: HubIndex, out: &O) -> bool {
        let is_congested = out.is_congested();
        if let Some(hub) = self.hubs.get_mut(index).filter(|_| is_congested) {
            hub.backlog_at = self.now.after(CONGESTED_WAIT);
        }
        is_congested
    }

    /// Requests wait for the backbone.
    pub(super) fn pump_later(&mut self, index: HubIndex) {
        if let Some(hub) = self.hubs.get_mut(index) {
            hub.is_pump_due = true;
            hub.backlog_at = self.now.after(CONGESTED_WAIT);
        }
    }

    /// Tells a hub that a request is over; later, if the backbone takes no more.
    /// Its number may be another request's by then: the serial tells them apart.
    pub(super) fn close_at_hub<O: Outputs>(&mut self, slot: u32, index: HubIndex, out: &mut O) {
        let Some(serial) = self.items.known(slot).map(|item| item.attempt) else { return };
        if planted!(LostClose) {
            return;
        }
        let waits = self.hubs.get(index).is_some_and(|hub| !hub.closes.is_empty());
        if !waits && !self.waits_for_backbone(index, out) {
            self.publish_close(slot, serial, index, out);
        } else if let Some(hub) = self.hubs.get_mut(index) {
            hub.closes.push_back((slot, serial));
        }
    }

    /// Whether the backbone took it. If not, it waits with the others: a network
    /// that is away takes nothing, and has no queue that would say so.
    fn publish_close<O: Outputs>(
        &mut self,
        slot: u32,
        serial: u32,
        index: HubIndex,
        out: &mut O,
    ) -> bool {
        // One that is gone has nothing to close.
        let Some(hub) = self.hubs.get_mut(index) else { return true };
        let header = FrameHeader {
            item_seq: serial,
            ..FrameHeader::new(Kind::Close, hub.incarnation, slot)
        };
        let is_taken = out.publish(header, &[]) != Published::Dropped;
        if !is_taken {
            hub.closes.push_front((slot, serial));
            hub.backlog_at = self.now.after(CONGESTED_WAIT);
        }
        is_taken
    }

    /// A hub lost frames of this server and asks what it wants.
    pub(super) fn on_wanted_request(&mut self, index: HubIndex, header: &FrameHeader) -> bool {
        let is_unlisted = self.items.all_unanswered().any(|(_, hub, _)| hub == index);
        let interval = millis(self.config.limits.resync_interval_ms);
        let Some(hub) = self.hubs.known_mut(index) else { return false };
        hub.walk.ask(header.item, header.item_seq);
        if is_unlisted {
            // The request of an item that is closed is in no list. If it was lost, it
            // holds its place until the hub says what it has.
            hub.inquiry.hole(self.now, interval);
        }
        true
    }

    /// Publishes a page of what this server wants of a hub.
    fn list_wanted<O: Outputs>(&mut self, index: HubIndex, stretch: &Stretch, out: &mut O) {
        let Some(peer) = self.hubs.known(index).map(|hub| hub.incarnation) else { return };
        let (mut body, mut private) = (Vec::new(), Vec::new());
        Page { from: stretch.from, to: stretch.to, as_of: self.requests.last_serial() }
            .write(&mut body);
        for slot in stretch.from..stretch.to.min(self.items.slots().end) {
            let Some(item) = self.items.get(slot) else { continue };
            if item.upstream().told() != Some(index) || planted!(ShortPage) {
                continue;
            }
            let is_accepted = matches!(item.upstream(), Upstream::Accepted { .. });
            let mut flags = WantedFlags::empty();
            flags.set(WantedFlags::IMAGE, is_accepted && item.image_due.is_due());
            if is_accepted && item.is_private {
                private.push(slot);
            }
            let priority = item.priority();
            let wanted = Wanted {
                request: slot,
                serial: item.attempt,
                priority_count: priority.count,
                priority_class: priority.class,
                flags,
            };
            wanted.write(&mut body);
        }
        let mut header = FrameHeader::new(Kind::Wanted, peer, stretch.round);
        header.flags.set(FrameFlags::LAST, stretch.is_last);
        out.publish(header, &[&body]);
        for slot in private {
            self.say_again(slot, out);
        }
    }

    /// What a private stream asks for is in its last request alone, which may be one of
    /// those that the hub has lost: that it pauses, or does not any more. An image that
    /// came meanwhile is no sign of the contrary.
    fn say_again<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        if let Some(item) = self.items.get(slot) {
            let with_image = !item.pauses_itself();
            self.reissue_upstream(slot, with_image, out);
        }
    }

    /// A page of what a hub has open for this server.
    pub(super) fn on_held<O: Outputs>(
        &mut self,
        index: HubIndex,
        header: &FrameHeader,
        body: &[u8],
        out: &mut O,
    ) -> bool {
        let Some((page, entries)) = Page::read(body) else { return false };
        let Some(hub) = self.hubs.known_mut(index) else { return false };
        let is_last = header.flags.contains(FrameFlags::LAST);
        let interval = millis(self.config.limits.resync_interval_ms);
        hub.inquiry.page(header.item, is_last, self.now, interval);
        let mut entries = Held::entries(entries).peekable();
        for slot in page.from..page.to.min(self.items.slots().end) {
            while entries.next_if(|entry| entry.request < slot).is_some() {}
            let entry = entries.next_if(|entry| entry.request == slot);
            self.compare(slot, index, (header.item, &page), entry, out);
        }
        self.pump(index, out);
        true
    }

    /// Compares what this server knows of a request with what its hub has.
    fn compare<O: Outputs>(
        &mut self,
        slot: u32,
        index: HubIndex,
        (round, page): (u32, &Page),
        entry: Option<Held>,
        out: &mut O,
    ) {
        let Some(item) = self.items.get(slot) else {
            return self.unanswered_there(slot, index, page);
        };
        if item.upstream().told() != Some(index) {
            return;
        }
        let held = entry.filter(|entry| entry.serial == item.attempt);
        match (item.upstream(), held) {
            (Upstream::Asked { holds_place, .. }, None) if page.counts(item.attempt) => {
                self.ask_once_more(slot, index, holds_place);
            }
            (Upstream::Accepted { .. }, None) => self.lost_at_hub(slot, out),
            (Upstream::Accepted { hub_item, .. }, Some(held)) if held.item == hub_item => {
                self.compare_item(slot, round, &held, out);
            }
            (_, Some(held)) if held.flags.contains(HeldFlags::ACCEPTED) => {
                self.accepted_unheard(slot, index, &held, out);
            }
            // It waits there, and the frame that said so was lost.
            (Upstream::Asked { .. }, Some(_)) => _ = self.on_defer(index, slot, out),
            _ => {}
        }
    }

    /// The request of an item that is closed is not answered yet. A hub that has
    /// had it by the time of its list has answered, and that was lost.
    fn unanswered_there(&mut self, slot: u32, index: HubIndex, page: &Page) {
        let attempt = self.items.unanswered(slot, index);
        if attempt.is_some_and(|attempt| page.counts(attempt))
            && self.items.answered(slot, index) == Some(true)
            && let Some(hub) = self.hubs.get_mut(index)
        {
            hub.unanswered = hub.unanswered.saturating_sub(1);
        }
    }

    /// A hub has not got a request, or its answer was lost: it is made again, in
    /// its turn.
    fn ask_once_more(&mut self, slot: u32, index: HubIndex, holds_place: bool) {
        self.statistics.requests_lost += 1;
        self.items.set_upstream(slot, Upstream::Queued { hub: index });
        if let Some(hub) = self.hubs.get_mut(index) {
            hub.unanswered = hub.unanswered.saturating_sub(usize::from(holds_place));
            hub.queue.push_back(slot);
        }
    }

    /// The answer to a request was lost: the hub has its item.
    fn accepted_unheard<O: Outputs>(
        &mut self,
        slot: u32,
        index: HubIndex,
        held: &Held,
        out: &mut O,
    ) {
        self.accepted(index, held.item, slot, out);
        // What it sent since could not be told for what it was.
        if held.flags.intersects(HeldFlags::LIVE | HeldFlags::SUSPECT) {
            self.reissue_upstream(slot, true, out);
        }
    }

    /// The end of an item was lost, and with it the reason: the hub is asked for
    /// it again, and says.
    pub(super) fn lost_at_hub<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        self.let_go(slot);
        let Some(item) = self.items.known(slot) else { return };
        if item.is_private {
            return self.fan_state(slot, &GAP_PRIVATE, out);
        }
        if item.is_streaming {
            self.fan_state(slot, &GAP, out);
        }
        self.open_upstream(slot, out);
    }

    /// A private stream of which something was lost that nobody can make good: the
    /// consumer is told that it is over.
    pub(super) fn lose_private<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        self.detach(slot, out);
        self.fan_state(slot, &GAP_PRIVATE, out);
    }

    /// Both have the item: was anything of it missed?
    fn compare_item<O: Outputs>(&mut self, slot: u32, round: u32, held: &Held, out: &mut O) {
        let has_gap = self.is_torn(slot);
        let Some(item) = self.items.known_mut(slot) else { return };
        let is_behind = item.last_seq != held.item_seq;
        item.last_seq = held.item_seq;
        let is_suspect = held.flags.contains(HeldFlags::SUSPECT);
        let is_told = item.standing() == Some(DataState::SUSPECT);
        // A part of an image for this server alone leaves no trace in the
        // sequence, nor does a state. If no frames were lost since it began, and the
        // hub has not sent all of it, the rest is on its way.
        let is_torn = item.in_parts && (has_gap || held.flags.contains(HeldFlags::LIVE));
        let is_hit = !planted!(UnrepairedItem)
            && item.has_image
            && (is_behind || is_torn || is_suspect && !is_told);
        let is_sent = held.flags.intersects(HeldFlags::LIVE | HeldFlags::SUSPECT);
        let is_due = !item.has_image || item.image_due.is_due();
        if is_hit {
            let _ = self.on_hole(slot, out);
        } else if is_sent && is_due && item.image_due.is_known_to(round) && !(is_suspect && is_told)
        {
            self.reissue_upstream(slot, true, out);
        }
    }
}

const GAP_PRIVATE: State<'static> = State { stream: StreamState::CLOSED_RECOVER, ..GAP };
