//! Images on their way to servers: which part is for whom.
//!
//! An image that answers a request is for those who wait for one, and others
//! do not see it, nor do the mounts of a server that have one already; unless
//! nobody has one yet, then it goes to all. An image that was not asked for goes
//! to all. Who is the audience of the first part stays it for the others.

use tapeline_backbone::FrameFlags;
use tapeline_planted::planted;
use tapeline_rwf::{DataState, RefreshFlags, RefreshMsg, State, StateCode, StreamState};
use tapeline_time::Time;

use super::Core;
use super::downstream::accept;
use super::item::{Avoided, Interest, Item, Stage, Void};
use super::servers::Servers;
use super::timers::ms;
use crate::{HubConfig, Outputs};

/// The time for an image doubles no more often.
const MAX_DOUBLINGS: u8 = 3;

/// An item that was published has no image that can be given out.
const NO_IMAGE: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::NONE,
    "No image is kept until the next is published.",
);

/// An image began and did not end.
const UNFINISHED: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::NONE,
    "Image was not completed by its provider.",
);

impl Item {
    /// The first part of an image is here: who is it for? For all, if it says
    /// of the data what they do not know.
    fn begin_image(&mut self, is_answer: bool, data: DataState) {
        let is_known = data == DataState::NO_CHANGE || data == self.state.data;
        let is_held = self.live && !self.recovering && is_known;
        self.to_all = !is_answer || !is_held;
        if !is_answer && !self.published {
            return;
        }
        self.to_all |= self.published;
        for interest in &mut self.interests {
            if interest.stage == Stage::Waiting || self.private {
                interest.stage = Stage::Receiving;
            }
        }
    }

    /// Whether an image is one of its own, in the middle of one that answers a
    /// request: whole, and not asked for.
    pub(super) fn is_aside(&self, refresh: &RefreshMsg<'_>) -> bool {
        let flags = refresh.flags & (RefreshFlags::REFRESH_COMPLETE | RefreshFlags::SOLICITED);
        self.in_parts
            && self.is_answer
            && self.streaming
            && flags == RefreshFlags::REFRESH_COMPLETE
            && refresh.part_num.unwrap_or(0) == 0
    }

    /// Whether the image that a non-interactive provider began was given up,
    /// and may still be completed.
    pub(super) fn is_unfinished(&self) -> bool {
        self.published && self.void == Some(Void::Unasked)
    }

    /// Those who came in the middle of an image are told which item they have
    /// asked for.
    pub(super) fn accept_late(&mut self, id: u32, servers: &Servers, out: &mut impl Outputs) {
        for interest in self.interests.iter_mut().filter(|one| one.stage == Stage::Late) {
            if let Some(server) = servers.there(interest.server)
                && !std::mem::replace(&mut interest.accepted, true)
            {
                accept(server, id, interest.request, out);
            }
        }
    }

    /// Whether this is a part of an image that does not count any more.
    fn is_void(&self, refresh: &RefreshMsg<'_>) -> bool {
        let is_answer = refresh.flags.contains(RefreshFlags::SOLICITED);
        match (self.void, refresh.part_num) {
            (None, _) | (_, Some(0)) => false,
            // Nobody can be asked for another: this one may still be completed.
            _ if self.published => false,
            (Some(Void::Answer), _) => is_answer,
            (Some(Void::Unasked), _) => !is_answer && continues(refresh),
        }
    }

    /// The number of a part: its own or, where an image in parts comes without
    /// numbers, its place. Without one, whoever misses a part cannot tell the rest
    /// from an image.
    fn number_part(&mut self, part: &RefreshMsg<'_>, is_first: bool, is_last: bool) -> Option<u16> {
        let place = if is_first { 0 } else { self.next_part };
        self.next_part = place.saturating_add(1);
        part.part_num.or_else(|| (!is_first || !is_last).then_some(place))
    }

    /// How long something of an image may take. That doubles with each in a row that was
    /// given up: where all are slow because there are many of them, asking for each anew
    /// before it is there would have none ever be.
    fn patience(&self, at_first_ms: u64) -> u64 {
        at_first_ms << self.given_up.min(MAX_DOUBLINGS)
    }

    /// The image that is coming is due in whole after a while.
    fn await_end(&mut self, now_ms: u64, config: &HubConfig) {
        self.image_end_ms = now_ms.saturating_add(self.patience(config.image_timeout_ms));
    }

    /// The next part of the image that is coming is due after a while, and the
    /// whole of it.
    fn await_part(&mut self, now_ms: u64, is_first: bool, config: &HubConfig) {
        if is_first {
            self.await_end(now_ms, config);
        }
        let due = now_ms.saturating_add(self.patience(config.request_timeout_ms));
        self.part_due_ms = Some(due.min(self.image_end_ms)).filter(|_| !planted!(EndlessImage));
    }

    /// Whether a part of the present image goes to this one alone.
    fn is_sent_apart(&self, interest: &Interest) -> bool {
        interest.stage == Stage::Receiving
            && (!self.to_all || (interest.snapshot && self.streaming))
    }
}

/// Whether a part says that it begins no image. Without numbers, it is the first
/// one that has what is kept cleared.
fn continues(part: &RefreshMsg<'_>) -> bool {
    let is_cleared = part.flags.contains(RefreshFlags::CLEAR_CACHE);
    part.part_num.map_or(!is_cleared, |number| number > 0)
}

impl Core {
    /// A part of an image, with the state that servers are to see.
    pub(super) fn image_part(
        &mut self,
        now: Time,
        id: u32,
        refresh: &RefreshMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known_mut(id) else { return };
        let is_complete = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        if item.is_void(refresh) {
            item.void = item.void.filter(|_| !is_complete);
            return;
        }
        if item.is_unfinished() && continues(refresh) {
            // It goes on after all.
            item.void = None;
            item.in_parts = true;
            item.await_end(ms(now), &self.config);
        }
        // A provider that gave up an image in the middle may begin another.
        let is_first = !item.in_parts || !continues(refresh);
        let mut part = RefreshMsg { stream_id: 0, key: None, ..*refresh };
        part.part_num = item.number_part(refresh, is_first, is_complete);
        if is_first {
            let is_answer = refresh.flags.contains(RefreshFlags::SOLICITED);
            item.void = item.void.filter(|void| (*void == Void::Unasked) == is_answer);
            item.begin_image(refresh.flags.contains(RefreshFlags::SOLICITED), part.state.data);
            if item.recovering {
                part.flags |= RefreshFlags::CLEAR_CACHE;
            }
        }
        item.live = true;
        item.in_parts = !is_complete;
        match is_complete {
            true => (item.part_due_ms, item.given_up) = (None, 0),
            false => item.await_part(ms(now), is_first, &self.config),
        }
        if item.failing_over && part.state.code == StateCode::NONE {
            part.state.code = StateCode::FAILOVER_COMPLETED;
        }
        item.set_state(&part.state);
        let lock = item.lock_to_say(&part);
        if let Some(lock) = &lock {
            part.perm_data = Some(lock);
        }
        self.counters.refreshes += 1;
        if is_first || !refresh.group_id.is_empty() {
            self.set_group(id, refresh.group_id.try_into().unwrap_or_default());
        }
        self.keep_image(id, &part);
        self.send_part(id, &part, out);
        match is_complete {
            true => self.image_complete(now, id, out),
            false => self.arm(id),
        }
    }

    /// A whole image came in the middle of another one: it takes its place, for
    /// all, whoever the other one was for.
    pub(super) fn supersede_image(&mut self, id: u32, out: &mut impl Outputs) {
        self.all_wait(id, out);
        let Some(item) = self.items.known_mut(id) else { return };
        item.in_parts = false;
        item.void = Some(Void::Answer);
        item.recovering = true;
        for interest in &mut item.interests {
            interest.stage = Stage::Receiving;
        }
    }

    /// The end of an image did not come in time. It is asked for anew, where
    /// somebody can be asked; whoever waits is told.
    pub(super) fn give_up_image(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        self.counters.images_given_up += 1;
        item.part_due_ms = None;
        item.given_up = item.given_up.saturating_add(1);
        if !item.published && item.stream.awaits_image() {
            let reaction = item.stream.give_up();
            self.unanswered(now, id, &reaction, out);
            return;
        }
        item.in_parts = false;
        item.void = Some(Void::Unasked);
        if item.published {
            // It may still be completed: who waits is told, and waits on.
            item.accept_late(id, &self.servers, out);
            self.tell_all(id, &UNFINISHED, out);
            return;
        }
        item.recovering = true;
        self.all_wait(id, out);
        self.tell_all(id, &UNFINISHED, out);
        self.ask_image(now, id, out);
    }

    /// Sends a part of an image to whom it is for.
    fn send_part(&mut self, id: u32, part: &RefreshMsg<'_>, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        item.flush_merges(id, out);
        let mut flags = FrameFlags::IMAGE;
        if item.to_all {
            let is_last = item.stream.is_over() && !item.in_parts && !item.published;
            flags.set(FrameFlags::LAST, is_last);
            if let Ok(bytes) = self.scratch.message(&(*part).into()) {
                item.publish_all(id, flags, bytes, out);
            }
        }
        if !item.interests.iter().any(|interest| item.is_sent_apart(interest)) {
            return;
        }
        for is_snapshot in [false, true] {
            let mut part = *part;
            let mut flags = FrameFlags::IMAGE;
            if is_snapshot {
                flags |= FrameFlags::SNAPSHOT;
                part.state.stream = StreamState::NON_STREAMING;
            }
            let Ok(bytes) = self.scratch.message(&part.into()) else { continue };
            for interest in &item.interests {
                if interest.snapshot == is_snapshot
                    && item.is_sent_apart(interest)
                    && let Some(target) = self.servers.target(interest.server)
                {
                    item.publish_to(id, target, flags, bytes, out);
                }
            }
        }
    }

    /// The last part is out.
    fn image_complete(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        item.recovering = false;
        item.failing_over = false;
        item.avoid = Avoided::default();
        if item.stream.is_over() && !item.published {
            // Those who had an image and did not get this one are told.
            match item.to_all {
                true => self.forget(id),
                false => {
                    let state = item.state.clone();
                    self.end_with(id, &state.as_state(), out);
                }
            }
            return;
        }
        debug_assert!(item.stale_at_ms.is_none(), "it has a provider again");
        let mut done = Vec::new();
        for interest in &mut item.interests {
            match (interest.stage, interest.snapshot) {
                (Stage::Receiving, true) => done.push((interest.server, interest.request)),
                (Stage::Receiving, false) => interest.stage = Stage::Live,
                _ => {}
            }
        }
        for (server, request) in done {
            self.drop_interest(id, server, request);
        }
        self.admit_late(now, id, out);
        self.end_if_unwanted(now, id, out);
    }

    /// Requests that came in the middle of an image are accepted, and an image
    /// of their own is asked for.
    fn admit_late(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        item.accept_late(id, &self.servers, out);
        let mut late = Vec::new();
        for interest in &mut item.interests {
            if interest.stage == Stage::Late {
                interest.stage = Stage::Waiting;
                late.push((interest.server, interest.request));
            }
        }
        for (server, request) in late {
            self.want_image(now, id, server, request, out);
        }
    }

    /// A request that is accepted gets its image: the kept one at once, or one
    /// from the provider.
    pub(super) fn want_image(
        &mut self,
        now: Time,
        id: u32,
        server: u32,
        request: u32,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known_mut(id) else { return };
        if item.can_serve() {
            if self.image_waits(server, request, out) {
                self.set_stage(id, server, request, Stage::Waiting);
                return;
            }
            if !planted!(UngivenImage) {
                self.serve_image(id, server, request, out);
            }
            self.end_if_unwanted(now, id, out);
            return;
        }
        let suspect = item.state.data == DataState::SUSPECT;
        let is_unkept = item.published && item.live && !item.in_parts;
        // The image that is coming is of no use to who has missed a part.
        let is_late = item.in_parts || item.is_unfinished();
        let stage = if is_late { Stage::Late } else { Stage::Waiting };
        if let Some(interest) = item.interest_mut(server, request) {
            interest.stage = stage;
        }
        if suspect {
            self.tell_one(id, server, out);
        } else if is_unkept {
            // Nothing was kept, and the provider cannot be asked.
            self.tell_one_state(id, server, NO_IMAGE, out);
        }
        let Some(item) = self.items.known_mut(id) else { return };
        if item.published || !item.live || item.in_parts {
            return;
        }
        self.ask_image(now, id, out);
    }

    fn set_stage(&mut self, id: u32, server: u32, request: u32, stage: Stage) {
        let item = self.items.get_mut(id);
        if let Some(interest) = item.and_then(|item| item.interest_mut(server, request)) {
            interest.stage = stage;
        }
    }

    /// A server no longer wants what it asked for with this request.
    pub(super) fn drop_interest(&mut self, id: u32, server: u32, request: u32) {
        if let Some(item) = self.items.get_mut(id) {
            item.interests.retain(|one| (one.server, one.request) != (server, request));
            if item.interests.is_empty() {
                // What comes now is sent to nobody. A server that was given up, and has
                // not learned it yet, may hear what is sent once another one asks: it
                // is to see the hole.
                item.seq = item.seq.wrapping_add(1);
            }
        }
        self.rank_anew(id);
        if let Some(server) = self.servers.get_mut(server) {
            server.clear(request);
        }
    }
}
