//! What was lost on the way from or to a server is found and made good.
//!
//! The exchange is that of [`tapeline_backbone::repair`]: here is the side that
//! holds. Closes and images that follow from it are owed, and done in slices.

use std::time::Duration;

use tapeline_backbone::repair::{
    Held, HeldFlags, Page, REQUESTS_PER_PAGE, Stretch, Wanted, WantedFlags,
};
use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_planted::planted;
use tapeline_rwf::{DataState, Priority};
use tapeline_time::Time;

use super::Core;
use super::item::Stage;
use crate::Outputs;
use tapeline_omm::pages::Line;

/// Pages of all lists that are written at a time.
const PAGES_PER_SLICE: usize = 16;

/// Requests that are closed at a time.
const CLOSES_PER_SLICE: usize = 128;

/// Kept images that are given out at a time.
const IMAGES_PER_SLICE: usize = 64;

/// How long what can wait does, when the backbone takes no more.
const CONGESTED_WAIT: Duration = Duration::from_millis(1);

/// A request of a server, as it was at some time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    server: u32,
    incarnation: Incarnation,
    request: u32,
    serial: u32,
}

/// What is owed to servers.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    /// Requests that are no more.
    closes: Line<Asked>,
    /// Requests whose image is kept and to be given out.
    images: Line<Asked>,
    /// Not before this, as the backbone took no more.
    not_before: Time,
    /// The server to which a page of its list was written last.
    listed: u32,
}

impl Owed {
    pub(crate) fn len(&self) -> usize {
        self.closes.len() + self.images.len()
    }
}

impl Core {
    fn interval(&self) -> Duration {
        Duration::from_millis(self.config.limits.resync_interval_ms)
    }

    /// Frames of a server were lost. A `DirectoryRequest` among them is answered
    /// without having been seen, and the server is asked what it wants.
    pub(super) fn server_gap(&mut self, now: Time, peer: Incarnation, out: &mut impl Outputs) {
        self.counters.gaps += 1;
        let interval = self.interval();
        let Some(index) = self.servers.find(peer) else { return };
        if let Some(server) = self.servers.get_mut(index) {
            server.inquiry.hole(now, interval);
            self.servers.note_work();
        }
        self.inquire(now, index, out);
    }

    fn inquire(&mut self, now: Time, index: u32, out: &mut impl Outputs) {
        let interval = self.interval();
        let Some(server) = self.servers.get_mut(index) else { return };
        let Some(round) = server.inquiry.due(now, interval) else { return };
        let (peer, len) = (server.incarnation, server.len());
        self.whole_directory(peer, out);
        let header =
            FrameHeader { item_seq: len, ..FrameHeader::new(Kind::WantedRequest, peer, round) };
        out.publish(header, &[]);
    }

    /// When there is something to repair.
    pub(super) fn next_repair(&self) -> Option<Time> {
        let is_owed = self.owed.len() > 0 || self.servers.has_work();
        let owed = is_owed.then_some(self.owed.not_before);
        self.servers.next_inquiry().into_iter().chain(owed).min()
    }

    /// Goes on with what is owed to servers, or due from them: a slice of each.
    pub(super) fn work_repairs(&mut self, now: Time, out: &mut impl Outputs) {
        if self.next_repair().is_none_or(|at| at > now) {
            return;
        }
        let mut indexes: Vec<_> = self.servers.iter().map(|(index, _)| index).collect();
        for index in &indexes {
            self.inquire(now, *index, out);
        }
        if self.owed.not_before > now {
            return;
        }
        self.close_leftovers(now, out);
        let next = indexes.iter().position(|index| *index > self.owed.listed);
        indexes.rotate_left(next.unwrap_or(0));
        self.list_some(now, &indexes, out);
        self.give_out_images(now, out);
        self.servers.look_for_work();
    }

    /// Whether what can wait does so for now.
    fn waits_for_backbone(&mut self, now: Time, out: &impl Outputs) -> bool {
        let is_congested = out.is_congested();
        if is_congested {
            self.owed.not_before = now.after(CONGESTED_WAIT);
        }
        is_congested
    }

    fn asked(&self, server: u32, request: u32, serial: u32) -> Option<Asked> {
        let incarnation = self.servers.target(server)?;
        Some(Asked { server, incarnation, request, serial })
    }

    /// The item of a request, if that is still what it was.
    fn still_asked(&self, asked: &Asked) -> Option<u32> {
        let server = self.servers.get(asked.server)?;
        let is_same = server.incarnation == asked.incarnation;
        server.item_of(asked.request, asked.serial).filter(|_| is_same)
    }

    /// Closes requests that are no more: of servers that are gone, and those
    /// whose close was lost.
    pub(super) fn close_leftovers(&mut self, now: Time, out: &mut impl Outputs) {
        for _ in 0..CLOSES_PER_SLICE {
            if let Some((server, request)) = self.servers.next_of_gone() {
                self.close(now, server, request, out);
            } else if let Some(asked) = self.owed.closes.pop_front() {
                if self.still_asked(&asked).is_some() {
                    self.counters.leftovers += 1;
                    self.close(now, asked.server, asked.request, out);
                }
            } else {
                return;
            }
        }
    }

    /// A request gets its image out of those that are kept when its turn has
    /// come. Whether it has to wait.
    pub(super) fn image_waits(&mut self, server: u32, request: u32, out: &impl Outputs) -> bool {
        if self.owed.images.is_empty() && !out.is_congested() {
            return false;
        }
        let serial = self.servers.get(server).map_or(0, |server| server.serial(request));
        self.owed.images.extend(self.asked(server, request, serial));
        true
    }

    fn give_out_images(&mut self, now: Time, out: &mut impl Outputs) {
        for _ in 0..IMAGES_PER_SLICE {
            if self.owed.images.is_empty() || self.waits_for_backbone(now, out) {
                return;
            }
            let Some(asked) = self.owed.images.pop_front() else { return };
            let Some(id) = self.still_asked(&asked) else { continue };
            let Some(item) = self.items.get_mut(id) else { continue };
            let can_serve = item.can_serve();
            let interest = item.interest_mut(asked.server, asked.request);
            if interest.is_none_or(|interest| interest.stage != Stage::Waiting) {
                // It got one that was for all.
                continue;
            }
            match can_serve {
                true => {
                    self.serve_image(id, asked.server, asked.request, out);
                    self.end_if_unwanted(now, id, out);
                }
                false => self.want_image(now, id, asked.server, asked.request, out),
            }
        }
    }

    /// A server lost frames of this hub and asks what is open for it.
    pub(super) fn held_request(&mut self, server: u32, header: &FrameHeader) {
        if let Some(server) = self.servers.get_mut(server) {
            server.walk.ask(header.item, header.item_seq);
            self.servers.note_work();
        }
    }

    /// Writes some pages of the lists of these servers, one of each in turn: frames may
    /// be lost at all of them at once.
    fn list_some(&mut self, now: Time, indexes: &[u32], out: &mut impl Outputs) {
        let mut left = PAGES_PER_SLICE;
        loop {
            let before = left;
            for index in indexes {
                if left == 0 {
                    return;
                }
                if self.list_held(now, *index, out) {
                    self.owed.listed = *index;
                    left -= 1;
                }
            }
            if left == before {
                return;
            }
        }
    }

    /// Writes the next page of a list. Whether there was one.
    fn list_held(&mut self, now: Time, index: u32, out: &mut impl Outputs) -> bool {
        let is_walking = self.servers.get(index).is_some_and(|server| server.walk.is_walking());
        if !is_walking || self.waits_for_backbone(now, out) {
            return false;
        }
        let Some(server) = self.servers.get_mut(index) else { return false };
        let len = server.len();
        let Some(stretch) = server.walk.next_page(len) else { return false };
        self.publish_held(index, &stretch, out);
        true
    }

    /// Publishes a page of what is open for a server.
    fn publish_held(&mut self, index: u32, stretch: &Stretch, out: &mut impl Outputs) {
        let Some(server) = self.servers.get(index) else { return };
        let mut body = Vec::new();
        let Stretch { from, to, .. } = *stretch;
        Page { from, to, as_of: server.last_serial }.write(&mut body);
        for (request, serial, item) in server.requests(from, to) {
            let flags = self.held_flags(item, index, request);
            let item_seq = self.items.seq(item);
            Held { request, serial, item, item_seq, flags }.write(&mut body);
        }
        let mut header = FrameHeader::new(Kind::Held, server.incarnation, stretch.round);
        header.flags.set(FrameFlags::LAST, stretch.is_last);
        out.publish(header, &[&body]);
    }

    fn held_flags(&self, id: u32, server: u32, request: u32) -> HeldFlags {
        let mut flags = HeldFlags::empty();
        let Some(item) = self.items.known(id) else { return flags };
        let interest = item.interest(server, request);
        flags.set(HeldFlags::ACCEPTED, interest.is_some_and(|interest| interest.accepted));
        let is_live = interest.is_some_and(|interest| interest.stage == Stage::Live);
        flags.set(HeldFlags::LIVE, is_live);
        flags.set(HeldFlags::SUSPECT, item.state.data == DataState::SUSPECT);
        flags
    }

    /// A page of what a server wants. What it does not want is closed; what it
    /// wants and is not there, or has no image of, it is told.
    pub(super) fn wanted_page(
        &mut self,
        now: Time,
        index: u32,
        header: &FrameHeader,
        body: &[u8],
        out: &mut impl Outputs,
    ) {
        let interval = self.interval();
        let page = Page::read(body);
        let (Some((page, entries)), Some(server)) = (page, self.servers.get_mut(index)) else {
            self.counters.bad_frames += 1;
            return;
        };
        let to = page.to.min(server.len().max(page.from));
        if to.saturating_sub(page.from) > REQUESTS_PER_PAGE {
            // It was told how many numbers there are, and makes no such page.
            self.counters.bad_frames += 1;
            return;
        }
        server.last_serial = page.as_of;
        let is_last = header.flags.contains(FrameFlags::LAST);
        server.inquiry.page(header.item, is_last, now, interval);
        let held: Vec<_> = server.requests(page.from, to).collect();
        let mut held = held.into_iter().peekable();
        let mut is_amiss = false;
        for wanted in Wanted::entries(entries) {
            while let Some((request, serial, _)) = held.next_if(|it| it.0 < wanted.request) {
                self.owed.closes.extend(self.asked(index, request, serial));
            }
            match held.next_if(|it| it.0 == wanted.request) {
                Some((_, serial, item)) if serial == wanted.serial => {
                    is_amiss |= !self.is_as_wanted(now, index, item, &wanted, out);
                }
                Some((request, serial, _)) => {
                    self.owed.closes.extend(self.asked(index, request, serial));
                    is_amiss = true;
                }
                None => is_amiss = true,
            }
        }
        for (request, serial, _) in held.filter(|_| !planted!(StaysOpen)) {
            self.owed.closes.extend(self.asked(index, request, serial));
        }
        if is_amiss {
            let stretch = Stretch { round: 0, from: page.from, to: page.to, is_last: false };
            self.publish_held(index, &stretch, out);
        }
    }

    /// Takes over how much a server wants an item. Whether nothing else of the
    /// request was lost, as far as it can be told here.
    fn is_as_wanted(
        &mut self,
        now: Time,
        server: u32,
        id: u32,
        wanted: &Wanted,
        out: &mut impl Outputs,
    ) -> bool {
        let Some(item) = self.items.known_mut(id) else { return false };
        let private = item.private;
        let Some(interest) = item.interest_mut(server, wanted.request) else { return false };
        let is_live = interest.stage == Stage::Live;
        let priority = Priority { class: wanted.priority_class, count: wanted.priority_count };
        if !private && std::mem::replace(&mut interest.priority, priority) != priority {
            self.rank_anew(id);
            self.priority_changed(now, id, out);
        }
        !(is_live && wanted.flags.contains(WantedFlags::IMAGE))
    }
}
