//! What goes to a provider, as fast as it takes it: requests and images within
//! its window, closes, changes of what is wanted.
//!
//! While a provider does not read, nothing is sent to it that a consumer has
//! caused. Closes wait and go first; requests and images wait for their turn,
//! changes are said as they are then; posts are refused and generic messages
//! dropped. Of much that waits one slice is sent in a turn.

use std::collections::VecDeque;

use tapeline_channel::Sent;
use tapeline_omm::is_administrative;
use tapeline_omm::stream::{Reissue, ToProvider};
use tapeline_planted::planted;
use tapeline_rwf::{CloseMsg, Domain, EncodeError, Encoder, RequestFlags, RequestMsg};
use tapeline_time::Time;

use super::Core;
use super::item::{Binding, Item, Stage, Void};
use super::source::{Source, Wish};
use super::timers::ms;
use crate::Outputs;

/// How many messages go to sources in one turn, when many wait.
const SLICE: usize = 128;

/// How many of them go with the event that makes room for them. Many events may
/// be of one turn.
const AT_ONCE: usize = 4;

/// Sources that take more than was sent to them, in the order of their turns.
#[derive(Debug, Default)]
pub(crate) struct Behind(VecDeque<u32>);

impl Behind {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, source: u32) {
        // There are few sources.
        if !self.0.contains(&source) {
            self.0.push_back(source);
        }
    }

    fn remove(&mut self, source: u32) {
        self.0.retain(|one| *one != source);
    }
}

impl Core {
    /// Writes a message of the connection itself and sends it to a source.
    pub(super) fn send_written(
        &mut self,
        index: u32,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
        out: &mut impl Outputs,
    ) {
        let mut scratch = self.scratch.take();
        if let Ok(bytes) = scratch.encode(write) {
            self.send(index, bytes, out);
        }
        self.scratch = scratch;
    }

    /// Sends what a consumer caused to a source, unless that does not fit now.
    /// Whether it went.
    pub(super) fn offer(&mut self, index: u32, bytes: &[u8], out: &mut impl Outputs) -> bool {
        let Some(source) = self.sources.known_mut(index) else { return false };
        let Some(session) = source.session else { return false };
        let sent = out.send(session, bytes);
        source.is_slow |= matches!(sent, Sent::Slow | Sent::Full);
        matches!(sent, Sent::Queued | Sent::Slow)
    }

    /// Writes what a consumer caused and sends it to a source, unless it does
    /// not fit now. Whether it went.
    pub(super) fn offer_written(
        &mut self,
        index: u32,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
        out: &mut impl Outputs,
    ) -> bool {
        let mut scratch = self.scratch.take();
        let is_sent = scratch.encode(write).is_ok_and(|bytes| self.offer(index, bytes, out));
        self.scratch = scratch;
        is_sent
    }

    /// Whether a source has been sent more than it has read.
    pub(super) fn is_slow(&self, index: u32) -> bool {
        self.sources.get(index).is_some_and(|source| source.is_slow)
    }

    /// A source has room for requests again.
    pub(super) fn drained(&mut self, now: Time, index: u32, out: &mut impl Outputs) {
        if let Some(source) = self.sources.get_mut(index) {
            source.is_slow = false;
            self.catch_up(now, index, SLICE, out);
        }
    }

    /// Sends one slice of what waits for the sources that take it.
    pub(super) fn catch_up_some(&mut self, now: Time, out: &mut impl Outputs) {
        let mut most = SLICE;
        for _ in 0..self.behind.0.len() {
            let Some(index) = self.behind.0.front().copied().filter(|_| most > 0) else { return };
            most -= self.catch_up(now, index, most, out);
        }
    }

    /// Sends what waits for a source, as long as it takes it, at most so many
    /// messages. Returns how many.
    fn catch_up(&mut self, now: Time, index: u32, most: usize, out: &mut impl Outputs) -> usize {
        self.behind.remove(index);
        let mut count = 0;
        while count < most {
            let Some(source) = self.sources.get_mut(index).filter(|source| !source.is_slow) else {
                return count;
            };
            count += 1;
            if let Some((domain, stream_id)) = source.unclosed.pop_front() {
                self.write_close(index, domain, stream_id, out);
            } else if let Some(id) = source.untold.pop_first() {
                if let Some(reissue) = self.items.get_mut(id).and_then(|item| item.untold.take()) {
                    self.send_reissue(index, id, reissue, out);
                }
            } else {
                return count + self.pump_all(now, index, most - count, out);
            }
        }
        self.behind.add(index);
        count
    }

    /// Sends what waits at a source, of each service in turn, at most so many
    /// messages. Returns how many.
    fn pump_all(&mut self, now: Time, index: u32, most: usize, out: &mut impl Outputs) -> usize {
        let Some(source) = self.sources.known(index) else { return 0 };
        let mut services: Vec<_> = source.offers.keys().copied().collect();
        let turn = source.service_turn;
        let first = services.iter().position(|service_id| *service_id > turn);
        services.rotate_left(first.unwrap_or(0));
        let mut count = 0;
        for service_id in services {
            if count >= most {
                self.behind.add(index);
                break;
            }
            count += self.pump_some(now, (index, service_id), most - count, out);
            if let Some(source) = self.sources.get_mut(index) {
                source.service_turn = service_id;
            }
        }
        count
    }

    /// Sends what waits at a source, as far as its window has room.
    pub(super) fn pump(&mut self, now: Time, index: u32, service_id: u16, out: &mut impl Outputs) {
        self.pump_some(now, (index, service_id), AT_ONCE, out);
    }

    /// Sends what waits at the sources of a service.
    pub(super) fn pump_service(&mut self, now: Time, service: u16, out: &mut impl Outputs) {
        let offers: Vec<_> =
            self.sources.offering(service).map(|(index, id, _)| (index, id)).collect();
        for (index, service_id) in offers {
            self.pump(now, index, service_id, out);
        }
    }

    /// The same, at most so many messages; a source that takes more is to be
    /// sent them in the next turn. Returns how many.
    fn pump_some(
        &mut self,
        now: Time,
        (index, service_id): (u32, u16),
        most: usize,
        out: &mut impl Outputs,
    ) -> usize {
        let max_window = self.config.limits.max_window;
        if let Some(source) = self.sources.known_mut(index) {
            source.preference.refill(ms(now));
        }
        for count in 0..most {
            let Some(source) = self.sources.known_mut(index) else { return count };
            match source.next_wish(service_id, max_window) {
                Some(Wish::Item(id)) => {
                    let binding = self.items.get(id).and_then(|item| item.binding);
                    if binding.is_some_and(|it| it.waits_at(index, service_id)) {
                        self.ask(now, id, out);
                    }
                }
                Some(Wish::Image(id)) => self.ask_image_now(now, (index, service_id), id, out),
                None if self.ask_mirror(index, service_id, out) => {}
                None => return count,
            }
        }
        self.behind.add(index);
        most
    }

    /// Asks the provider of an item for another image, when its window has
    /// room. One that is on its way is for all who wait.
    pub(super) fn ask_image(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        let Some(Binding { source: index, service_id, .. }) = item.binding else { return };
        let is_coming = item.stream.awaits_image() && item.void != Some(Void::Answer);
        if is_coming || std::mem::replace(&mut item.wants_image, true) {
            return;
        }
        let source = self.sources.get_mut(index);
        if let Some(offer) = source.and_then(|source| source.offers.get_mut(&service_id)) {
            offer.images.push_back(id);
        }
        self.pump(now, index, service_id, out);
    }

    fn ask_image_now(&mut self, now: Time, place: (u32, u16), id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        let is_here =
            item.binding.is_some_and(|binding| (binding.source, binding.service_id) == place);
        if !is_here || !std::mem::take(&mut item.wants_image) {
            return;
        }
        // Who wanted it may be gone, or have it by now.
        if item.interests.iter().any(|interest| interest.stage == Stage::Waiting) {
            let reaction = item.stream.reissue(ms(now), true);
            self.act(id, reaction.send, out);
        } else {
            self.priority_changed(now, id, out);
        }
    }

    /// Does what the stream of an item wants done at the provider.
    pub(super) fn act(&mut self, id: u32, send: Option<ToProvider>, out: &mut impl Outputs) {
        self.account(id);
        self.arm(id);
        let Some(binding) = self.items.get(id).and_then(|item| item.binding) else { return };
        match send {
            Some(ToProvider::Reissue(reissue)) => {
                self.send_reissue(binding.source, id, reissue, out);
            }
            Some(ToProvider::Close) => self.send_close(id, out),
            Some(ToProvider::Request { .. }) | None => {}
        }
    }

    /// A request goes to a source.
    fn count_request(&mut self, index: u32) {
        if let Some(source) = self.sources.get_mut(index) {
            source.preference.asked();
            self.counters.requests_paced +=
                u64::from(source.preference.may_be_asked_ms().is_some());
        }
    }

    /// Sources that had as many requests as they may have are asked again, as soon as
    /// they may be.
    pub(super) fn refill_rates(&mut self, now: Time) {
        let due = |source: &Source| {
            source.preference.may_be_asked_ms().is_some_and(|due_ms| due_ms <= ms(now))
        };
        let all = self.sources.iter();
        let due: Vec<u32> = all.filter(|(_, it)| due(it)).map(|(index, _)| index).collect();
        for index in due {
            let source = self.sources.get_mut(index);
            if source.is_some_and(|source| source.preference.refill(ms(now))) {
                self.behind.add(index);
            }
        }
    }

    /// Sends a request on the stream of an item. One that does not fit is made
    /// again when it has had no answer in time.
    pub(super) fn send_request(
        &mut self,
        index: u32,
        id: u32,
        (pause, refresh): (bool, bool),
        out: &mut impl Outputs,
    ) {
        self.count_request(index);
        let mut scratch = self.scratch.take();
        if let Some(item) = self.items.get(id)
            && let Some(Binding { service_id, stream_id: Some(stream_id), .. }) = item.binding
            && let Ok(bytes) = scratch.encode(|encoder| {
                write_request(item, (service_id, stream_id), (pause, refresh), encoder)
            })
            && !self.offer(index, bytes, out)
        {
            self.counters.requests_dropped += 1;
        }
        self.scratch = scratch;
    }

    /// Tells a provider of a change, now or when it has read.
    fn send_reissue(&mut self, index: u32, id: u32, reissue: Reissue, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        let Some(source) = self.sources.known_mut(index) else { return };
        if source.is_slow {
            let wants_image = item.untold.is_some_and(|untold| untold.refresh);
            let refresh = !reissue.pause && (reissue.refresh || wants_image);
            item.untold = Some(Reissue { refresh, ..reissue });
            source.untold.insert(id);
            return;
        }
        self.counters.reissues_upstream += 1;
        item.is_reissued = true;
        item.told_priority = item.priority();
        self.send_request(index, id, (reissue.pause, reissue.refresh), out);
    }

    /// Closes the stream of an item at its provider.
    pub(super) fn send_close(&mut self, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known(id) else { return };
        let Some(Binding { source: index, stream_id: Some(stream_id), .. }) = item.binding else {
            return;
        };
        let domain = item.key.as_ref().domain;
        self.close_stream(index, domain, stream_id, out);
    }

    /// Closes a stream at a source in the next turn.
    pub(super) fn close_later(&mut self, index: u32, domain: Domain, stream_id: i32) {
        let source = self.sources.get_mut(index).filter(|source| source.session.is_some());
        if let Some(source) = source {
            source.unclosed.push_back((domain, stream_id));
            self.behind.add(index);
        }
    }

    /// Closes a stream at a source, now or when it has read.
    fn close_stream(&mut self, index: u32, domain: Domain, stream_id: i32, out: &mut impl Outputs) {
        match self.sources.get_mut(index) {
            Some(source) if source.is_held() => source.unclosed.push_back((domain, stream_id)),
            _ => self.write_close(index, domain, stream_id, out),
        }
    }

    /// Asks a source for an item with which it is to stand by.
    pub(super) fn send_mirror_request(
        &mut self,
        index: u32,
        stream: (u16, i32),
        id: u32,
        out: &mut impl Outputs,
    ) {
        self.count_request(index);
        let mut scratch = self.scratch.take();
        if let Some(item) = self.items.get(id)
            && let Ok(bytes) =
                scratch.encode(|encoder| write_request(item, stream, (false, true), encoder))
            && !self.offer(index, bytes, out)
        {
            self.counters.requests_dropped += 1;
        }
        self.scratch = scratch;
    }

    /// The provider of an item has ended its stream. A change that was on its
    /// way to it then is a new request there, which would keep every later one
    /// from being taken.
    pub(super) fn close_reopened(&mut self, id: u32, out: &mut impl Outputs) {
        if self.items.get(id).is_some_and(|item| item.is_reissued) {
            self.send_close(id, out);
        }
    }

    fn write_close(&mut self, index: u32, domain: Domain, stream_id: i32, out: &mut impl Outputs) {
        if planted!(LostUpstreamClose) {
            return;
        }
        let close = CloseMsg::new(domain, stream_id);
        if self.offer_written(index, |encoder| encoder.message(&close.into()), out) {
            self.counters.closes_upstream += 1;
        } else if let Some(source) = self.sources.get_mut(index).filter(|source| source.is_slow) {
            source.unclosed.push_front((domain, stream_id));
        }
    }

    /// Keeps the count of requests without image in step with an item's
    /// stream. Dictionaries do not count.
    pub(super) fn account(&mut self, id: u32) {
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(binding) = item.binding else { return };
        let is_counted = item.stream.is_in_window()
            && !item.published
            && !is_administrative(item.key.as_ref().domain);
        if is_counted == item.in_window {
            return;
        }
        item.in_window = is_counted;
        if let Some(offer) = self.sources.offer_of(&binding) {
            match is_counted {
                true => offer.in_window += 1,
                false => {
                    offer.in_window =
                        offer.in_window.saturating_sub(u64::from(!planted!(LeakedWindow)));
                    self.follow_ups.add_window_room(binding.source, binding.service_id);
                }
            }
        }
    }

    /// Tells the provider how much an item is wanted, if that changed.
    pub(super) fn priority_changed(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        let is_told = item.priority() == item.told_priority;
        // With the request for an image it is told anyway.
        if item.published || item.interests.is_empty() || item.wants_image || is_told {
            return;
        }
        let reaction = item.stream.reissue(ms(now), false);
        self.act(id, reaction.send, out);
    }

    /// Pauses or resumes at the provider, when all who want the item, or not
    /// all any more, have paused it.
    pub(super) fn pause_changed(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        if item.published || item.interests.is_empty() || !self.config.pause_upstream {
            return;
        }
        let is_paused = item.interests.iter().all(|interest| interest.paused);
        let reaction = match (is_paused, item.stream.is_paused()) {
            (true, false) => item.stream.pause(ms(now)),
            (false, true) => item.stream.resume(ms(now)),
            _ => return,
        };
        self.act(id, reaction.send, out);
    }

    /// How much waits until a source takes it.
    pub(super) fn unsent(&self) -> usize {
        self.sources.iter().map(|(_, source)| source.unsent()).sum()
    }
}

/// The request for an item on a stream of a source.
fn write_request(
    item: &Item,
    (service_id, stream_id): (u16, i32),
    (pause, refresh): (bool, bool),
    encoder: &mut Encoder<'_>,
) -> Result<(), EncodeError> {
    let key = item.key.as_ref();
    let mut flags = item.request_flags;
    flags.set(RequestFlags::STREAMING, item.streaming);
    flags.set(RequestFlags::PRIVATE_STREAM, item.private);
    if pause {
        flags |= RequestFlags::PAUSE;
    }
    flags.set(RequestFlags::NO_REFRESH, !refresh);
    let mut msg = RequestMsg {
        flags,
        priority: Some(item.priority()),
        qos: key.qos.filter(|_| !is_administrative(key.domain)),
        key: key.msg_key(),
        ..RequestMsg::new(key.domain, stream_id)
    };
    msg.key.service_id = Some(service_id);
    if let Some(payload) = &item.payload {
        msg.payload = payload.as_encoded();
    }
    encoder.message(&msg.into())
}
