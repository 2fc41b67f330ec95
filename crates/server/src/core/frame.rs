//! Frames from hubs.

use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_omm::directory::DirectoryMsg;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, Msg, MsgClass, MsgHeader, RefreshFlags, RefreshMsg, State, StateCode, StatusMsg,
    StreamState,
};

use super::Core;
use super::backlog::Job;
use super::image_due::ImageDue;
use super::item::{HubIndex, Item, Upstream};
use crate::Outputs;

impl Core {
    pub(super) fn on_frame<O: Outputs>(&mut self, header: &FrameHeader, body: &[u8], out: &mut O) {
        let Some(hub) = self.hubs.find(header.sender) else {
            self.statistics.frames_ignored += 1;
            return;
        };
        if header.kind != Kind::Item {
            self.copies_first(out);
        }
        let is_used = match header.kind {
            Kind::Item => self.on_item(hub, header, body, out),
            Kind::Accept => self.on_accept(hub, header, body, out),
            // The answer to an earlier request that had the number.
            Kind::Defer | Kind::Refuse if !self.items.is_asked_as(header.item, header.item_seq) => {
                true
            }
            Kind::Defer => self.on_defer(hub, header.item, out),
            Kind::Refuse => self.on_refuse(hub, header.item, body, out),
            Kind::Ack => self.on_hub_ack(header.item, body, out),
            Kind::Directory => self.on_hub_directory(hub, body, out),
            Kind::Held => self.on_held(hub, header, body, out),
            Kind::WantedRequest => self.on_wanted_request(hub, header),
            _ => false,
        };
        self.statistics.frames_ignored += u64::from(!is_used);
    }

    fn on_hub_directory<O: Outputs>(&mut self, index: HubIndex, body: &[u8], out: &mut O) -> bool {
        let Some(hub) = self.hubs.get_mut(index) else {
            debug_assert!(false, "who sends a frame is found before");
            return false;
        };
        let Ok(msg) = Msg::decode(body) else { return false };
        let changes = match DirectoryMsg::decode(&msg) {
            Ok(DirectoryMsg::Refresh(mut refresh)) => {
                // A hub sends all that it has.
                refresh.clear_cache = true;
                hub.directory.apply_refresh(&refresh)
            }
            Ok(DirectoryMsg::Update(update)) => hub.directory.apply_update(&update),
            Ok(DirectoryMsg::Status(status)) => hub.directory.apply_status(&status),
            _ => return false,
        };
        let known = self.services.names().len();
        let changes = self.services.changed(&self.hubs, index, &changes);
        self.note_services(known);
        self.tell_services(&changes, out);
        if self.services.names().len() > 0 {
            self.waiting.note_services(self.now);
        }
        if self.services.names().len() > known && self.waiting.has_unplaced() {
            self.backlog.add(Job::RetryUnplaced { next: None });
        }
        true
    }

    fn on_accept<O: Outputs>(
        &mut self,
        index: HubIndex,
        header: &FrameHeader,
        body: &[u8],
        out: &mut O,
    ) -> bool {
        let Some(reference) = body.first_chunk() else { return false };
        let slot = u32::from_le_bytes(*reference);
        // Of an earlier request that had the number: its item is another one.
        if !self.items.is_asked_as(slot, header.item_seq) {
            return true;
        }
        self.accepted(index, header.item, slot, out)
    }

    /// A hub has a request as this item of its own.
    pub(super) fn accepted<O: Outputs>(
        &mut self,
        index: HubIndex,
        hub_item: u32,
        slot: u32,
        out: &mut O,
    ) -> bool {
        if self.closed_is_answered(slot, index, out) {
            return true;
        }
        if hub_item > self.config.limits.max_hub_item {
            return false;
        }
        self.orphan(index, hub_item, slot, out);
        let (Some(item), Some(hub)) = (self.items.get_mut(slot), self.hubs.get_mut(index)) else {
            return false;
        };
        let holds_place = match item.upstream() {
            Upstream::Asked { hub, holds_place } if hub == index => holds_place,
            // Said again, as a hub does before an image that had to wait.
            Upstream::Accepted { hub: at, hub_item: old } if at == index && old == hub_item => {
                return true;
            }
            // It is another item there by now.
            Upstream::Accepted { hub: at, hub_item: old } if at == index => {
                hub.unbind(old);
                false
            }
            // It was given up, and its place with it, or is asked for elsewhere
            // by now.
            _ => return true,
        };
        hub.bind(hub_item, slot);
        // Lists that come behind this know of the request.
        let before = hub.inquiry.round().saturating_sub(1);
        self.abandon_image(slot);
        self.items.set_upstream(slot, Upstream::Accepted { hub: index, hub_item });
        let Some(item) = self.items.known_mut(slot) else { return false };
        item.has_image = false;
        item.image_due = ImageDue::after(before);
        item.last_seq = 0;
        // A private stream has its image from the provider, which may take its
        // time.
        let is_private = item.is_private;
        // What its consumer asked for since then.
        let unsent = item.take_unsent();
        if !is_private {
            self.look_again(slot, true);
            self.items.awaited.add(slot, index);
        }
        if let Some(with_image) = unsent {
            self.reissue_upstream(slot, with_image, out);
        }
        if holds_place {
            self.answered(index, out);
        }
        true
    }

    /// A hub uses the number of an item for another one: the end of the first
    /// was lost on the way. Where a hub does nothing else, two items would take
    /// their number from each other at the pace of the network: so many are
    /// asked for again at once, and others after a while.
    fn orphan<O: Outputs>(&mut self, index: HubIndex, hub_item: u32, slot: u32, out: &mut O) {
        let known = self.hubs.get(index).and_then(|hub| hub.slot(hub_item));
        if let Some(orphan) = known.filter(|known| *known != slot) {
            self.statistics.orphans += 1;
            self.detach(orphan, out);
            self.fan_state(orphan, &GAP, out);
            let now = self.now;
            match self.hubs.get_mut(index).is_some_and(|hub| hub.may_ask_for_orphan(now)) {
                true => _ = self.open_upstream(orphan, out),
                false => self.wait_for_another_try(orphan),
            }
        }
    }

    /// A hub answered a request. Whether the item of that is closed.
    fn closed_is_answered<O: Outputs>(&mut self, slot: u32, index: HubIndex, out: &mut O) -> bool {
        let holds_place = self.items.answered(slot, index);
        if holds_place == Some(true) {
            self.answered(index, out);
        }
        holds_place.is_some()
    }

    /// A hub has a request wait for the end of an image that is coming. That
    /// may take a while, and holds up no other requests.
    pub(super) fn on_defer<O: Outputs>(&mut self, index: HubIndex, slot: u32, out: &mut O) -> bool {
        let holds_place = match self.items.get(slot) {
            Some(item) => item.upstream().asked_at(index) == Some(true),
            None => self.items.deferred(slot, index),
        };
        let holds_place = holds_place && !planted!(LateHoldsPlace);
        if holds_place && self.items.get(slot).is_some() {
            self.items.set_upstream(slot, Upstream::Asked { hub: index, holds_place: false });
        }
        if holds_place {
            self.answered(index, out);
        }
        true
    }

    /// The first image of an item came, or a part of it, or a state in its place, or it is
    /// not waited for any longer: its hub may have another request.
    pub(super) fn image_came<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let hub = self.items.get(slot).and_then(|item| item.upstream().told());
        if let Some(hub) = hub
            && self.items.awaited.remove(slot, hub)
        {
            self.pump(hub, out);
        }
    }

    /// Asks hubs whose items went before they had their images.
    pub(super) fn pump_freed<O: Outputs>(&mut self, out: &mut O) {
        while let Some(hub) = self.items.awaited.take_freed() {
            self.pump(hub, out);
        }
    }

    /// A hub answered a request: it may have another one.
    pub(super) fn answered<O: Outputs>(&mut self, index: HubIndex, out: &mut O) {
        if planted!(LeakedPlace) {
            return;
        }
        if let Some(hub) = self.hubs.get_mut(index) {
            hub.unanswered = hub.unanswered.saturating_sub(1);
        }
        self.pump(index, out);
    }

    fn on_refuse<O: Outputs>(
        &mut self,
        index: HubIndex,
        slot: u32,
        body: &[u8],
        out: &mut O,
    ) -> bool {
        if self.closed_is_answered(slot, index, out) {
            return true;
        }
        // What a hub refuses need not have been asked of it.
        let Some(item) = self.items.get(slot) else { return false };
        // It may be given up, and its place with it.
        let Some(holds_place) = item.upstream().asked_at(index) else { return true };
        let domain = item.key.as_ref().domain;
        self.items.forget_upstream(slot);
        let status = match Msg::decode(body) {
            Ok(Msg::Status(status)) if status.state.is_some() => status,
            _ => StatusMsg { state: Some(REFUSED), ..StatusMsg::new(domain, 0) },
        };
        self.fan_status(slot, &status, out);
        self.wait_for_another_try(slot);
        if holds_place {
            self.answered(index, out);
        }
        true
    }

    /// Those who still watch an item that its hub does not have leave its
    /// recovery to the server.
    pub(super) fn wait_for_another_try(&mut self, slot: u32) {
        if self.items.get(slot).is_some() {
            self.retry_later(slot);
        }
    }

    #[inline]
    fn on_item<O: Outputs>(
        &mut self,
        index: HubIndex,
        header: &FrameHeader,
        body: &[u8],
        out: &mut O,
    ) -> bool {
        // Closed here while this was on its way, most likely.
        let Some(slot) = self.hubs.get(index).and_then(|hub| hub.slot(header.item)) else {
            return true;
        };
        let Ok(head) = MsgHeader::decode(body) else { return false };
        if body.len() > self.config.limits.max_image_bytes {
            self.copies_first(out);
            self.end_too_long(slot, body.len(), out);
            return true;
        }
        let Some(item) = self.items.known_mut(slot) else { return false };
        let is_for_all = header.target == Incarnation::ALL;
        let mut is_missing = false;
        if is_for_all {
            is_missing = header.item_seq != item.last_seq.wrapping_add(1);
            item.last_seq = header.item_seq;
        } else if matches!(head.class, MsgClass::Refresh | MsgClass::Status) {
            is_missing = header.item_seq != item.last_seq;
            item.last_seq = header.item_seq;
        }
        if head.class == MsgClass::Update {
            let has_hole = is_missing && item.has_image && !planted!(MissedHole);
            let service_id = item.service_id();
            self.items.updates.add(service_id);
            if has_hole {
                self.copies_first(out);
            }
            if !has_hole || self.on_hole(slot, out) {
                self.on_update(slot, &head, body, out);
            }
            return true;
        }
        self.copies_first(out);
        self.on_rare(slot, header, body, is_missing, out)
    }

    /// Everything but updates.
    fn on_rare<O: Outputs>(
        &mut self,
        slot: u32,
        header: &FrameHeader,
        body: &[u8],
        is_missing: bool,
        out: &mut O,
    ) -> bool {
        let Ok(msg) = Msg::decode(body) else { return false };
        let is_last = header.flags.contains(FrameFlags::LAST);
        let is_for_all = header.target == Incarnation::ALL;
        match msg {
            // Of a snapshot that has become a stream since: its image comes.
            Msg::Refresh(_)
                if header.flags.contains(FrameFlags::SNAPSHOT)
                    && self.items.get(slot).is_some_and(|item| item.is_streaming) => {}
            Msg::Refresh(refresh) => {
                // Of an image for this server alone, the rest may be of another one: parts
                // between them leave no trace in the sequence.
                let is_torn = !is_for_all && self.is_torn(slot);
                if !self.continues(slot, &refresh, is_missing || is_torn) {
                    let is_complete = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
                    match is_complete && header.flags.contains(FrameFlags::SNAPSHOT) {
                        // The hub has done with a snapshot, and can send no image.
                        true => {
                            self.statistics.gaps += 1;
                            self.lost_at_hub(slot, out);
                        }
                        false => _ = self.on_hole(slot, out),
                    }
                    return true;
                }
                if let Some(item) = self.items.get_mut(slot) {
                    // What was missed is not to be merged with.
                    item.needs_repair |= is_missing && item.has_image;
                }
                self.on_image(slot, &refresh, is_for_all || is_missing, is_last, out);
            }
            Msg::Status(status) => {
                let has_hole =
                    is_missing && self.items.get(slot).is_some_and(|item| item.has_image);
                match has_hole {
                    true if is_for_all && !self.on_hole(slot, out) => return true,
                    true if !is_for_all => self.await_repair(slot),
                    _ => {}
                }
                self.on_status(slot, &status, is_last, out);
            }
            Msg::Generic(generic) => {
                let has_hole =
                    is_missing && self.items.get(slot).is_some_and(|item| item.has_image);
                if !has_hole || self.on_hole(slot, out) {
                    self.on_provider_generic(slot, &generic, body, out);
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether an image, or a part of one, begins an image or continues the one
    /// that is coming.
    fn continues(&mut self, slot: u32, refresh: &RefreshMsg<'_>, is_missing: bool) -> bool {
        let in_parts = self.items.get(slot).is_some_and(|item| item.in_parts);
        // Hubs number parts that their providers do not.
        let begins = refresh.part_num.is_none_or(|number| number == 0);
        if in_parts && (begins || is_missing) {
            self.abandon_image(slot);
        }
        begins || in_parts && !is_missing
    }

    /// Whether frames of the hub were lost since the image began that is coming.
    pub(super) fn is_torn(&self, slot: u32) -> bool {
        let item = self.items.get(slot).filter(|item| item.in_parts);
        item.is_some_and(|item| item.gaps_at_begin() != Some(self.gaps_of(slot)))
    }

    pub(super) fn gaps_of(&self, slot: u32) -> u8 {
        match self.items.get(slot).map(Item::upstream) {
            Some(Upstream::Accepted { hub, .. }) => self.hubs.get(hub).map_or(0, |hub| hub.gaps),
            _ => 0,
        }
    }

    /// Messages of an item were lost on the way: it is suspect until there is
    /// another image. Whether it is still there: a private stream that is paused
    /// gets no image, and is over.
    #[cold]
    pub(super) fn on_hole<O: Outputs>(&mut self, slot: u32, out: &mut O) -> bool {
        self.statistics.gaps += 1;
        self.abandon_image(slot);
        if let Some(item) = self.items.get_mut(slot) {
            item.needs_repair = true;
            item.image_due = ImageDue::NONE;
        }
        self.drop_holed_merges(slot);
        self.fan_state(slot, &GAP, out);
        self.ask_image(slot, out);
        self.items.get(slot).is_some()
    }

    /// Messages of an item were lost, and its hub, which was asked, has no
    /// image now: it sends one when it has.
    fn await_repair(&mut self, slot: u32) {
        self.statistics.gaps += 1;
        self.abandon_image(slot);
        if let Some(item) = self.items.get_mut(slot) {
            item.needs_repair = true;
            self.look_again(slot, true);
        }
        self.drop_holed_merges(slot);
    }

    /// Lets go of an item at its hub without telling it, as it knows.
    pub(super) fn let_go(&mut self, slot: u32) {
        self.abandon_image(slot);
        let Some(item) = self.items.known(slot) else { return };
        if let Upstream::Accepted { hub, hub_item } = item.upstream()
            && let Some(hub) = self.hubs.get_mut(hub)
        {
            hub.unbind(hub_item);
        }
        self.items.forget_upstream(slot);
    }

    /// Lets go of an item at its hub, telling it. A request that it has not
    /// answered holds no place any more: the answer may have been lost.
    pub(super) fn detach<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(upstream) = self.items.known(slot).map(Item::upstream) else { return };
        if let Some(hub) = upstream.told() {
            self.close_at_hub(slot, hub, out);
        }
        self.let_go(slot);
        if let Upstream::Asked { hub, holds_place: true } = upstream {
            self.answered(hub, out);
        }
    }
}

const REFUSED: State<'static> = State::new(
    StreamState::CLOSED_RECOVER,
    DataState::SUSPECT,
    StateCode::NONE,
    "Request refused by hub",
);

pub(super) const GAP: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::GAP_DETECTED,
    "Messages were lost between hub and server",
);
